"""Classic BPF on sockets: SO_ATTACH_FILTER, as tcpdump and ping bring it.  net/core/filter.c, include/uapi/linux/filter.h.

The instructions and their meaning are classic_bpf.py's; here they read a packet, and what the kernel knows of it at offsets
below zero.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import EACCES, EINVAL, ENOENT, EPERM
from arch.abi.limits import U32_MAX
from arch.abi.netlink import NLA_HDRLEN
from arch.abi.socket import SO_ATTACH_BPF, SO_ATTACH_FILTER, SO_LOCK_FILTER, SOL_SOCKET
from arch.errors import KernelError
from simkernel.kernel.classic_bpf import (
    ABS,
    IND,
    JA,
    LD_IMM,
    LD_MEM,
    LD_W_LEN,
    LDX_B_MSH,
    LDX_IMM,
    LDX_MEM,
    LDX_W_LEN,
    LOADS,
    RET_A,
    RET_K,
    ST,
    STX,
    TAX,
    TXA,
    Insn,
    check_classic,
    known_arithmetic,
    read_program,
    run,
)
from simkernel.net.core.flow_dissector import payload_offset
from simkernel.net.core.skb import Skb
from simkernel.net.core.sock import Filter, Sock
from simkernel.net.face import NetKernel

SKF_AD_OFF = -0x1000

Ancillary = Callable[
    [NetKernel, Skb, int, int], "int | None"
]  # (k, packet, A, X) -> A, or None: the packet is not wanted


def _find_attribute(k: NetKernel, packet: Skb, at: int, end: int, kind: int) -> int:
    """nla_find(): where the attribute of a kind begins; 0: nowhere."""
    data = packet.packet()
    while end - at >= NLA_HDRLEN:
        length, found = (int.from_bytes(data[at + i : at + i + 2], k.mem.byteorder) for i in (0, 2))
        if length < NLA_HDRLEN or length > end - at:
            return 0
        if found & 0x3FFF == kind:
            return at
        at += length + 3 & ~3
    return 0


def _attribute(k: NetKernel, packet: Skb, a: int, x: int) -> int:
    fits = packet.len >= NLA_HDRLEN and a <= packet.len - NLA_HDRLEN
    return _find_attribute(k, packet, a, packet.len, x) if fits else 0


def _nested_attribute(k: NetKernel, packet: Skb, a: int, x: int) -> int:
    if packet.len < NLA_HDRLEN or a > packet.len - NLA_HDRLEN:
        return 0
    length = int.from_bytes(packet.packet()[a : a + 2], k.mem.byteorder)
    if length > packet.len - a:
        return 0
    return _find_attribute(k, packet, a + NLA_HDRLEN, a + length, x)


# SKF_AD_*: what a load of four bytes from there tells.
ANCILLARY: dict[int, Ancillary] = {
    0: lambda k, packet, a, x: packet.protocol(),
    4: lambda k, packet, a, x: packet.pkt_type(),
    8: lambda k, packet, a, x: packet.dev.ifindex if packet.dev is not None else None,
    12: _attribute,
    16: _nested_attribute,
    20: lambda k, packet, a, x: packet.get("mark"),
    24: lambda k, packet, a, x: packet.get("queue_mapping"),
    28: lambda k, packet, a, x: packet.dev.hardware_type if packet.dev is not None else None,
    32: lambda k, packet, a, x: packet.get("hash"),
    36: lambda k, packet, a, x: k.current.cpu,
    40: lambda k, packet, a, x: a ^ x,
    44: lambda k, packet, a, x: packet.get("vlan_tci"),
    48: lambda k, packet, a, x: int(packet.get("vlan_proto") != 0),
    52: lambda k, packet, a, x: payload_offset(k, packet),
    56: lambda k, packet, a, x: k.random.getrandbits(32),
    60: lambda k, packet, a, x: packet.get("vlan_proto"),
}


def _known(insn: Insn) -> bool:
    """chk_code_allowed() and the operands' limits."""
    code, k = insn.code, insn.k
    if code in LOADS:
        offset = k - (1 << 32)
        return not code & ABS or k <= U32_MAX + SKF_AD_OFF or offset - SKF_AD_OFF in ANCILLARY  # of any size
    if code in (LD_W_LEN, LDX_W_LEN, LD_IMM, LDX_IMM, RET_K, RET_A, TAX, TXA, JA, LDX_B_MSH):
        return True
    if code in (LD_MEM, LDX_MEM, ST, STX):
        return k < 16
    return known_arithmetic(insn)


class ClassicFilter:
    """A classic program on a socket."""

    def __init__(self, k: NetKernel, insns: list[Insn], raw: bytes) -> None:
        self.k, self.insns, self.raw = k, insns, raw

    def __call__(self, packet: Skb) -> int:
        """How many bytes to keep."""
        return run(self.insns, packet.len, lambda code, k, a, x: self._load(packet, code, k, a, x))

    def _load(self, packet: Skb, code: int, k: int, a: int, x: int) -> int | None:
        offset = (k + x if code in LOADS and code & IND else k) & U32_MAX
        offset -= (offset >> 31) << 32
        ancillary = ANCILLARY.get(offset - SKF_AD_OFF) if code in LOADS and code & ABS else None
        if ancillary is not None:
            value = ancillary(self.k, packet, a, x)
            return None if value is None else value & U32_MAX
        return packet.load(offset, 1 if code == LDX_B_MSH else LOADS[code])

    def share(self) -> ClassicFilter:
        """Nothing changes in it."""
        return self

    def release(self) -> None:
        """Nothing is held."""


def not_locked(sk: Sock) -> None:
    """EPERM once SO_LOCK_FILTER is set."""
    if sk.options.get((SOL_SOCKET, SO_LOCK_FILTER)):
        raise KernelError(EPERM, "the filter is locked")


def attach_classic(k: NetKernel, sk: Sock, data: bytes) -> ClassicFilter:
    """sk_attach_filter(): a struct sock_fprog.  EINVAL, EFAULT, EPERM."""
    word = k.arch.model.word
    if len(data) != 2 * word:
        raise KernelError(EINVAL)
    not_locked(sk)
    count, at = int.from_bytes(data[:2], k.mem.byteorder), int.from_bytes(data[word:], k.mem.byteorder)
    if not count or count > 4096 or not at:
        raise KernelError(EINVAL)
    raw = bytes(k.usercopy.copy_from_user(at, 8 * count))
    insns = read_program(raw, k.mem.byteorder)
    check_classic(insns, _known)
    return ClassicFilter(k, insns, raw)


def get_filter(k: NetKernel, sk: Sock, at: int, room: int) -> int:
    """SO_GET_FILTER: the instructions into user memory; how many.  EACCES for a program of BPF's, EINVAL for too little room."""
    if sk.filter is None:
        return 0
    if not isinstance(sk.filter, ClassicFilter):
        raise KernelError(EACCES)
    count = len(sk.filter.insns)
    if room:
        if room < count:
            raise KernelError(EINVAL)
        k.usercopy.copy_to_user(at, sk.filter.raw)
    return count


def set_filter(k: NetKernel, sk: Sock, optname: int, data: bytes) -> int:
    """SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_DETACH_FILTER (= SO_DETACH_BPF).  EINVAL, EPERM, ENOENT, EBADF."""
    new: Filter | None = None
    if optname == SO_ATTACH_FILTER:
        new = attach_classic(k, sk, data)
    elif optname == SO_ATTACH_BPF:
        if len(data) != 4 or k.net.attach_filter is None:
            raise KernelError(EINVAL)
        not_locked(sk)
        new = k.net.attach_filter(int.from_bytes(data, k.mem.byteorder))
    else:
        not_locked(sk)
        if sk.filter is None:
            raise KernelError(ENOENT)
    if sk.filter is not None:
        sk.filter.release()
    sk.filter = new
    return 0
