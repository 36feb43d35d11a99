"""Functions that headers declare and no body of ours is behind: hooks of security modules, functions for programs to call.

They have symbols and text as all others, so that programs can be attached to them and call them by address; unless
something is attached, calling one from the kernel does nothing.  Each gets its place when somebody asks for its name.
"""

from __future__ import annotations

from arch.ctype import CType, CTypeError, EnumType, FuncDecl, IntType, PointerType
from bpf.btf import Btf, Kind
from bpf.btf.codec import INT_SIGNED
from bpf.btf.recorded import recorded_btf
from simkernel.fs.procfs import PROC_BANNER
from simkernel.kernel.face import KernelFace
from simkernel.kernel.kfunc import Prototype
from simkernel.observe.percpu import PerCpu


def install(k: KernelFace, percpu: PerCpu) -> None:
    """Names that are asked for and declared are there."""

    def missing(name: str) -> None:
        if not add_banner(k, name) and not add(k, name) and not percpu.add_symbol(name):
            add_recorded(k, name)

    k.symbols.add_missing = missing


def add_banner(k: KernelFace, name: str) -> bool:
    """The text that /proc/version is made from, as a variable; False for another name."""
    if name != "linux_proc_banner":
        return False
    data = PROC_BANNER.encode() + b"\0"
    address = k.mem.alloc(len(data))
    k.mem.write(address, data)
    k.symbols.add(name, address, len(data), "D")
    return True


def add(k: KernelFace, name: str) -> bool:
    """Text and symbol for a declared function; False for another name."""
    try:
        declared = k.types.function(name)
    except CTypeError:
        return False
    if not declared.static:
        k.text.add_late(prototype_of(declared), do_nothing)
    return True


def add_recorded(k: KernelFace, name: str) -> None:
    """Text and symbol for a function that the real kernel has in its BTF."""
    btf = recorded_btf(k.arch.name, k.version)
    found = btf.find(name, Kind.FUNC) if btf is not None else 0
    if btf is None or not found:
        return
    proto = btf[btf[found].type]
    params = ", ".join(
        f"{_word_of(btf, param.type)} {param.name or f'arg{n}'}" for n, param in enumerate(proto.params) if param.type
    )
    k.text.add_late(Prototype.parse(f"{_word_of(btf, proto.type)} {name}({params or 'void'})"), do_nothing)


def add_all(k: KernelFace, percpu: PerCpu) -> None:
    """For who lists all symbols."""
    for name in percpu.places:
        if name not in k.symbols:
            percpu.add_symbol(name)
    if "linux_proc_banner" not in k.symbols:
        add_banner(k, "linux_proc_banner")
    k.types.parse_all()
    for name in sorted(k.types.names.functions):
        if name not in k.symbols:
            add(k, name)


def do_nothing(k: KernelFace, *args: int) -> int:
    """What a hook answers when no program is attached."""
    return 0


def prototype_of(declared: FuncDecl) -> Prototype:
    """By the widths of its parameters, which is what calling it is about."""
    params = ", ".join(f"{_word(ctype)} {name or f'arg{n}'}" for n, (name, ctype) in enumerate(declared.params))
    return Prototype.parse(f"{_word(declared.ret)} {declared.name}({params or 'void'})")


def _word_of(btf: Btf, type_id: int) -> str:
    """A type of the BTF by its width."""
    bare = btf.resolved(type_id)
    if not bare.id:
        return "void"
    if bare.kind is Kind.PTR:
        return "unsigned long"
    return _sized(bare.size, bare.kind is Kind.INT and bool(bare.encoding & INT_SIGNED))


def _word(ctype: CType) -> str:
    bare = ctype.strip
    if bare.size == 0:
        return "void"
    if isinstance(bare, PointerType):
        return "unsigned long"
    return _sized(bare.size, isinstance(bare, IntType | EnumType) and bare.signed)


def _sized(size: int, signed: bool) -> str:
    names = ("char", "short", "int", "s64") if signed else ("u8", "u16", "u32", "u64")
    return dict(zip((1, 2, 4), names)).get(size, names[3])
