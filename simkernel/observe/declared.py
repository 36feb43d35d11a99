"""Functions that headers declare and no body of ours is behind: hooks of security modules, functions for programs to call.

They have symbols and text as all others, so that programs can be attached to them and call them by address; unless
something is attached, calling one from the kernel does nothing.  Each gets its place when somebody asks for its name.
"""

from __future__ import annotations

from arch.ctype import CType, CTypeError, EnumType, FuncDecl, IntType, PointerType
from simkernel.fs.procfs import PROC_BANNER
from simkernel.kernel.face import KernelFace
from simkernel.kernel.kfunc import Prototype
from simkernel.observe.percpu import PerCpu


def install(k: KernelFace, percpu: PerCpu) -> None:
    """Names that are asked for and declared are there."""

    def missing(name: str) -> None:
        if not percpu.add_symbol(name) and not add_banner(k, name):
            add(k, name)

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


def add(k: KernelFace, name: str) -> None:
    """Text and symbol for a declared function."""
    try:
        declared = k.types.function(name)
    except CTypeError:
        return
    if declared.static:
        return
    k.text.add_late(prototype_of(declared), do_nothing)


def add_all(k: KernelFace, percpu: PerCpu) -> None:
    """For who lists all symbols."""
    for name in percpu.offsets:
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


def _word(ctype: CType) -> str:
    bare = ctype.strip
    if bare.size == 0:
        return "void"
    if isinstance(bare, PointerType):
        return "unsigned long"
    signed = isinstance(bare, IntType | EnumType) and bare.signed
    names = ("char", "short", "int", "s64") if signed else ("u8", "u16", "u32", "u64")
    return dict(zip((1, 2, 4), names)).get(bare.size, names[3])
