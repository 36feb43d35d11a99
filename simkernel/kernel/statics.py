"""Structures that the kernel has as variables, which pointers in other structures lead to: tables of operations, protocols, scheduling classes.

A program that reads inode->i_op or sk->sk_prot prints its name, compares it or reads a member that stands in a row here; functions
in tables of operations are left out.  Each gets its memory when somebody asks for its symbol.  Names and letters are those of 6.1's
kallsyms, without the number that a compiler puts behind a name it met before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from arch.abi.socket import AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_UNIX
from arch.memory import KernelMemory
from arch.symbols import Symbols
from arch.typetable import TypeTable


class Static(NamedTuple):
    """One variable."""

    struct: str
    letter: str  # in kallsyms
    member: str = ""
    value: int | bytes = 0


# struct -> (letter, names)
_PLAIN: Mapping[str, tuple[tuple[str, str], ...]] = {
    "sched_class": (("D", "fair_sched_class rt_sched_class dl_sched_class idle_sched_class stop_sched_class"),),
    "address_space_operations": (("D", "shmem_aops ram_aops empty_aops"), ("d", "anon_aops")),
    "inode_operations": (
        ("D", "simple_dir_inode_operations kernfs_dir_iops kernfs_symlink_iops simple_symlink_inode_operations"),
        ("d", "shmem_inode_operations shmem_dir_inode_operations shmem_special_inode_operations shmem_short_symlink_operations"),
        ("d", "proc_file_inode_operations proc_dir_inode_operations kernfs_iops bpf_dir_iops sockfs_inode_ops empty_iops"),
    ),
    "dentry_operations": (
        ("D", "simple_dentry_operations kernfs_dops"),
        ("d", "pipefs_dentry_operations sockfs_dentry_operations anon_inodefs_dentry_operations proc_misc_dentry_ops"),
    ),
    "super_operations": (
        ("D", "proc_sops kernfs_sops"),
        ("d", "shmem_ops simple_super_operations tracefs_super_operations debugfs_super_operations bpf_super_ops pipefs_ops sockfs_ops"),
    ),
    "linux_binfmt": (("d", "elf_format"),),
    "backing_dev_info": (("B", "noop_backing_dev_info"),),
}  # fmt: skip
# struct proto -> what /proc/net/protocols calls it
_PROTOCOLS: Mapping[str, bytes] = {
    "tcp_prot": b"TCP", "tcpv6_prot": b"TCPv6", "udp_prot": b"UDP", "udpv6_prot": b"UDPv6", "udplite_prot": b"UDP-Lite",
    "udplitev6_prot": b"UDPLITEv6", "raw_prot": b"RAW", "rawv6_prot": b"RAWv6", "ping_prot": b"PING", "pingv6_prot": b"PINGv6",
    "netlink_proto": b"NETLINK", "packet_proto": b"PACKET", "unix_stream_proto": b"UNIX-STREAM", "unix_dgram_proto": b"UNIX",
}  # fmt: skip
_LOCAL = ("netlink_proto", "packet_proto")
# struct proto_ops -> (letter, its family)
_SOCKET_OPS: Mapping[str, tuple[str, int]] = {
    "inet_stream_ops": ("D", AF_INET), "inet_dgram_ops": ("D", AF_INET), "inet_sockraw_ops": ("d", AF_INET),
    "inet6_stream_ops": ("D", AF_INET6), "inet6_dgram_ops": ("D", AF_INET6), "inet6_sockraw_ops": ("D", AF_INET6),
    "unix_stream_ops": ("d", AF_UNIX), "unix_dgram_ops": ("d", AF_UNIX), "unix_seqpacket_ops": ("d", AF_UNIX),
    "netlink_ops": ("d", AF_NETLINK), "packet_ops": ("d", AF_PACKET),
}  # fmt: skip

STATICS: Mapping[str, Static] = {
    **{
        name: Static(struct, letter)
        for struct, rows in _PLAIN.items()
        for letter, names in rows
        for name in names.split()
    },
    **{name: Static("proto", "d" if name in _LOCAL else "D", "name", text) for name, text in _PROTOCOLS.items()},
    **{name: Static("proto_ops", letter, "family", family) for name, (letter, family) in _SOCKET_OPS.items()},
}


class Statics:
    """Gives them their memory."""

    def __init__(self, symbols: Symbols, types: TypeTable, mem: KernelMemory) -> None:
        self.symbols, self.types, self.mem = symbols, types, mem
        symbols.add_missing = self.add

    def add(self, name: str) -> bool:
        """The symbol of one; False for another name."""
        row = STATICS.get(name)
        if row is None:
            return False
        struct = f"struct {row.struct}"
        size = self.types.sizeof(struct)
        address = self.mem.alloc(size, 64)
        if row.member and self.types.has_member(struct, row.member):
            place = self.types.resolve(struct, row.member)
            value = (
                row.value if isinstance(row.value, bytes) else row.value.to_bytes(place.type.size, self.mem.byteorder)
            )
            self.mem.write(address + place.offset, value)
        self.symbols.add(name, address, size, row.letter)
        return True

    def address(self, name: str) -> int:
        """Of one that is there."""
        return self.symbols.address(name) or 0
