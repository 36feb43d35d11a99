"""Kernel objects for a test: zeroed memory of one structure, with members set by name.

Members are those of the simulated kernel's structures (simkernel/include/*.h), typed: a name that is not there is refused,
nested ones are dicts or `a__b=`, pointers take another object, an address, or bytes and text that are put into memory.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from arch.abi.inet import IPPROTO_TCP
from arch.abi.limits import TASK_COMM_LEN
from arch.abi.socket import AF_INET
from arch.ctype import CTypeError, PointerType, StructType
from arch.cview import ArrayView, View
from bpf.layout import layout_of
from bpf.packet.skbuff import PacketMemory, SkBuff
from simkernel.kernel.kernel import Kernel

BUILT_STACK_BYTES = 64  # above and below the stack pointer of built registers

Value = int | str | bytes | View | ArrayView | Sequence[int] | Mapping[str, "Value"]


class BuildError(ValueError):
    """An object that cannot be made: a sentence for a person."""


def address(value: object) -> int:
    """What a pointer to an object is."""
    return value.addr if isinstance(value, View | ArrayView) else value if isinstance(value, int) else 0


class Builder:
    """`m.build`."""

    def __init__(self, kernel: Kernel) -> None:
        self.k = kernel

    # -- any structure -----------------------------------------------------------------------------------------------

    def struct(self, ctype: str, members: Mapping[str, Value] | None = None, /, **fields: Value) -> View:
        """A zeroed `struct NAME` (or another type) with these members set."""
        name = ctype if " " in ctype else f"struct {ctype}"
        try:
            view = self.k.new(name)
        except CTypeError:
            raise BuildError(f"no type is named {name!r} in this kernel") from None
        self.set(view, name, {**(members or {}), **fields})
        return view

    def set(self, view: View, name: str, members: Mapping[str, Value]) -> None:
        """Set members of an object; BuildError for one that its type does not have."""
        for member, value in members.items():
            path = member.replace("__", ".") if not self.has(name, member) else member
            if isinstance(value, Mapping):
                self.set(view, name, {f"{path}.{inner}": each for inner, each in value.items()})
                continue
            self._store(view, name, path, value)

    def has(self, name: str, path: str) -> bool:
        """Whether a type has this member."""
        return self.k.types.has_member(name, path)

    def _store(self, view: View, name: str, path: str, value: Value) -> None:
        types = self.k.types
        if not self.has(name, path):
            raise BuildError(self._unknown(view, name, path))
        inner = types.resolve(name, path).type.strip
        if isinstance(inner, PointerType):
            value = self.register(value)
        try:
            types.setter(name, path)(self.k.mem, view.addr, value)
        except (ValueError, TypeError) as error:
            raise BuildError(f"{name}.{path}: {error}") from None

    def _unknown(self, view: View, name: str, path: str) -> str:
        outer, _, last = path.rpartition(".")
        there = self.k.types.resolve(name, outer).type.strip if outer else self.k.types.type(name).strip
        names = [member.name for member in there.members] if isinstance(there, StructType) else []
        near = difflib.get_close_matches(last, names, n=3, cutoff=0.5)
        return f"{name} has no member {path!r} in Linux {self.k.version}" + (
            f"; near: {', '.join(near)}" if near else ""
        )

    def string(self, text: str | bytes) -> int:
        """Address of a C string."""
        data = (text.encode() if isinstance(text, str) else bytes(text)) + b"\0"
        at = self.k.mem.alloc(len(data))
        self.k.mem.write(at, data)
        return at

    # -- what tracing programs meet --------------------------------------------------------------------------------------

    def task(self, comm: str = "", pid: int = 0, tgid: int | None = None, **fields: Value) -> View:
        """struct task_struct; `tgid` is the pid where it is not given."""
        if len(comm.encode()) >= TASK_COMM_LEN:
            raise BuildError(f"comm {comm!r} is longer than {TASK_COMM_LEN - 1} bytes")
        return self.struct("task_struct", {"comm": comm, "pid": pid, "tgid": pid if tgid is None else tgid}, **fields)

    def inode(self, **fields: Value) -> View:
        """struct inode, of a super block of its own."""
        return self.struct("inode", {"i_sb": self.struct("super_block")}, **fields)

    def dentry(self, name: str, parent: View | None = None, **fields: Value) -> View:
        """struct dentry with a name; `parent` is itself where it is not given, as a root's is."""
        raw = name.encode()
        out = self.struct("dentry", {"d_name": {"name": name, "len": len(raw)}, "d_inode": self.inode()}, **fields)
        self.set(out, "struct dentry", {"d_parent": parent or out})
        return out

    def file(self, path: str = "/file", **fields: Value) -> View:
        """struct file with dentries for every part of a path."""
        dentry = self.dentry("/")
        for part in filter(None, path.split("/")):
            dentry = self.dentry(part, dentry)
        members: dict[str, Value] = {"f_path": {"dentry": dentry}, "f_inode": dentry.d_inode}
        return self.struct("file", members, **fields)

    def sock(
        self, saddr: str = "127.0.0.1", sport: int = 0, daddr: str = "127.0.0.1", dport: int = 0,
        protocol: int = IPPROTO_TCP, ctype: str = "tcp_sock", **fields: Value,
    ) -> View:  # fmt: skip
        """struct sock of an IPv4 socket (within a struct tcp_sock, so that casts find one); addresses in dotted form."""
        import ipaddress

        order = self.k.arch.byteorder
        packed = [int.from_bytes(ipaddress.IPv4Address(text).packed, order) for text in (saddr, daddr)]
        port = int.from_bytes(dport.to_bytes(2, "big"), order)
        whole = self.struct(ctype)
        view = self.k.view(whole.addr, "struct sock")
        common: dict[str, Value] = {
            "skc_family": AF_INET, "skc_rcv_saddr": packed[0], "skc_daddr": packed[1], "skc_num": sport, "skc_dport": port,
        }  # fmt: skip
        self.set(view, "struct sock", {"__sk_common": common, "sk_protocol": protocol, **fields})
        return view

    def sk_buff(self, data: bytes = b"", **fields: Value) -> View:
        """struct sk_buff over these bytes."""
        skb = SkBuff.build(PacketMemory(self.k.mem, layout_of(self.k.types)), data)
        view = self.k.view(skb.addr, "struct sk_buff")
        self.set(view, "struct sk_buff", fields)
        return view

    def request(self, sector: int = 0, nbytes: int = 0, **fields: Value) -> View:
        """struct request of a block device."""
        return self.struct("request", {"__sector": sector, "__data_len": nbytes}, **fields)

    def register(self, value: Value) -> int:
        """A value as a register: an object's address, text and bytes in memory, or a number."""
        return self.string(value) if isinstance(value, str | bytes) else address(value)

    def called(self, function: int, *args: Value) -> View:
        """struct pt_regs as a probe finds them at the entry of a function at this address, with room for a return address."""
        k, arch = self.k, self.k.arch
        regs = self.pt_regs(*args)
        layout = k.cpu.layout
        layout.set(k.mem, regs.addr, arch.instruction_pointer, function + arch.probe_ip_offset(0, k.version))
        layout.set(k.mem, regs.addr, arch.stack_pointer, k.mem.alloc(BUILT_STACK_BYTES) + BUILT_STACK_BYTES // 2)
        arch.set_return_address(k.mem, regs.addr, k.text.address_of("schedule"), layout)
        return regs

    def pt_regs(self, *args: Value, **registers: int) -> View:
        """struct pt_regs as at a function's entry: arguments in their registers, others by name (`ip=`, `ax=`)."""
        arch, layout = self.k.arch, self.k.arch.pt_regs_for(self.k.version)
        view = self.k.new("struct pt_regs")
        if len(args) > len(arch.function_args):
            raise BuildError(f"{arch.name} passes {len(arch.function_args)} arguments in registers, not {len(args)}")
        for field, value in zip(arch.function_args, args):
            layout.set(self.k.mem, view.addr, field, self.register(value) & ((1 << 8 * arch.word) - 1))
        for field, number in registers.items():
            if field not in layout.fields:
                raise BuildError(f"struct pt_regs of {arch.name} has no register {field!r}: {', '.join(layout.fields)}")
            layout.set(self.k.mem, view.addr, field, number)
        return view
