"""Functions that headers declare and no body of ours is behind: hooks of security modules, functions for programs to call.

They have symbols and text as all others, so that programs can be attached to them and call them by address; unless
something is attached, calling one from the kernel does nothing.  Each gets its place when somebody asks for its name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from arch.abi.limits import PAGE_SIZE
from arch.ctype import CType, CTypeError, EnumType, FuncDecl, IntType, PointerType
from arch.symbols import Symbol
from bpf.btf import Btf, Kind
from bpf.btf.codec import INT_SIGNED
from bpf.btf.recorded import machine_btf
from bpf.helpers import HELPERS
from simkernel.fs.procfs import version_text
from simkernel.kernel.banner import PROC_BANNER
from simkernel.kernel.calls.system import uname_fields
from simkernel.kernel.kfunc import Param, Prototype
from simkernel.kernel.statics import STATICS
from simkernel.observe import bpf_files
from simkernel.observe.face import WatchedKernel
from simkernel.observe.percpu import PerCpu
from tracing.tracers.recorded import PADDING, all_letters, labels

TEXT_LETTERS = "tTwW"
VOID = Param("", "void", 0, False, False)
PADDING_BYTES = 16  # in front of a function, where it has a name: CONFIG_FUNCTION_PADDING_BYTES
CALL_BASE = "__bpf_call_base"
CALL_BASE_BYTES = 0x100  # so many that the distance to what comes behind it is no helper's number


def install(k: WatchedKernel, percpu: PerCpu) -> None:
    """Names that are asked for and declared are there; the kernel's own variables are already."""
    statics = k.symbols.add_missing
    assert statics is not None

    def missing(name: str) -> None:
        if not statics(name) and not add_variable(k, name) and not add(k, name) and not percpu.add_symbol(name):
            add_recorded(k, name)
            if name not in k.symbols and name in all_letters(k.arch.name, k.version):
                add_all(k, percpu)  # data has its place behind all others

    k.symbols.add_missing = missing


def _banner(k: WatchedKernel, name: str) -> None:
    """The text that /proc/version is made from, and what that makes of it at boot."""
    text = PROC_BANNER if name == "linux_proc_banner" else version_text(k, lambda: uname_fields(k))
    data = text.encode() + b"\0"
    address = k.mem.alloc(len(data))
    k.mem.write(address, data)
    k.symbols.add(name, address, len(data), "D")


def _btf(k: WatchedKernel, name: str) -> None:
    """Where the kernel's own types lie, for a kernel whose BTF is recorded."""
    btf = machine_btf(k.arch.name, k.version)
    if btf is None:
        return
    data = btf.data
    start = k.mem.alloc(len(data), PAGE_SIZE)
    k.mem.write(start, data)
    k.symbols.add("__start_BTF", start, 0, "R")
    k.symbols.add("__stop_BTF", start + len(data), 0, "R")


def _file_operations(k: WatchedKernel, name: str) -> None:
    """A struct file_operations of BPF's files."""
    fops, letter = bpf_files.SYMBOLS[name]
    k.symbols.add(name, k.vfs.mirror.file_operations(fops), k.types.sizeof("struct file_operations"), letter)


def _per_cpu_start(k: WatchedKernel, name: str) -> None:
    """Offsets of per-CPU variables begin at zero."""
    k.symbols.add(name, 0, 0, "A")


def _avenrun(k: WatchedKernel, name: str) -> None:
    """Load averages over 1, 5 and 15 minutes, as /proc/loadavg shows them: load is not simulated."""
    size = 3 * k.arch.word
    k.symbols.add(name, k.mem.alloc(size), size, "D")


VARIABLES: dict[str, Callable[[WatchedKernel, str], None]] = {
    "linux_banner": _banner, "linux_proc_banner": _banner, "__start_BTF": _btf, "__stop_BTF": _btf, "__per_cpu_start": _per_cpu_start,
    "avenrun": _avenrun,
    **dict.fromkeys(bpf_files.SYMBOLS, _file_operations),
}  # fmt: skip


def add_variable(k: WatchedKernel, name: str) -> bool:
    """Data that has a name; False for another name."""
    if name not in VARIABLES:
        return False
    VARIABLES[name](k, name)
    return True


def add(k: WatchedKernel, name: str) -> bool:
    """Text and symbol for a declared function; False for another name."""
    try:
        declared = k.types.function(name)
    except CTypeError:
        return False
    if not declared.static:
        k.text.add_late(prototype_of(declared), do_nothing)
    return True


def add_recorded(k: WatchedKernel, name: str) -> None:
    """Text and symbol for a function that the real kernel has, with the arguments that its BTF tells."""
    btf = machine_btf(k.arch.name, k.version)
    found = btf.find(name, Kind.FUNC) if btf is not None else 0
    if btf is None or not found:
        letter = all_letters(k.arch.name, k.version).get(name, "d")[0]
        if letter in TEXT_LETTERS and name not in labels(k.arch.name, k.version):
            k.text.add_late(Prototype(name, name, VOID, ()), do_nothing)
        return
    proto = btf[btf[found].type]
    params = ", ".join(
        f"{_word_of(btf, param.type)} {param.name or f'arg{n}'}" for n, param in enumerate(proto.params) if param.type
    )
    prototype = Prototype.parse(f"{_word_of(btf, proto.type)} {name}({params or 'void'})")
    k.text.add_late(prototype, do_nothing, CALL_BASE_BYTES if name == CALL_BASE else 0)


def add_all(k: WatchedKernel, percpu: PerCpu) -> None:
    """For who lists all symbols."""
    for name in percpu.places:
        if name not in k.symbols:
            percpu.add_symbol(name)
    for name in VARIABLES:
        if name not in k.symbols:
            add_variable(k, name)
    for name in STATICS:
        k.symbols.address(name)
    k.types.parse_all()
    for name in sorted(k.types.names.functions):
        if name not in k.symbols:
            add(k, name)
    for name in (CALL_BASE, *HELPERS):
        if name not in k.symbols:
            add_recorded(k, name)
    keep_places(k)


def keep_places(k: WatchedKernel) -> None:
    """All other symbols of the real kernel: text at the end of this one's, data behind it, where there is no memory."""
    letters = all_letters(k.arch.name, k.version)
    if not letters or k.symbols.place(next(reversed(letters))) is not None:
        return
    text: list[tuple[str, str]] = []
    marks: list[tuple[str, str]] = []
    data: list[tuple[str, str]] = []
    offsets: list[tuple[str, str]] = []
    padded: dict[str, str] = {}
    small = labels(k.arch.name, k.version)
    for name, found in letters.items():
        if name.startswith(PADDING):
            padded[name.removeprefix(PADDING)] = found
            continue
        for letter in found[name in k.symbols :]:
            (
                marks if name in small else text if letter in TEXT_LETTERS else offsets if letter in "Aa" else data
            ).append((name, letter))
    size, word = k.text.image.small, k.arch.word
    end = k.mem.map.text_base + k.mem.map.text_size
    end -= PADDING_BYTES * len(marks)
    k.symbols.keep(_spread(marks, end, PADDING_BYTES))
    kept = list(_spread(text, end - size * len(text), size))
    k.symbols.keep(kept)
    k.symbols.keep(_paddings(padded, k, kept))
    k.symbols.keep(_spread(data, k.mem.map.text_base + k.mem.map.text_size + word, word))
    last = max((symbol.end for symbol in k.symbols if symbol.kind == "A"), default=0)
    k.symbols.keep(_spread(offsets, last, word))


def _spread(rows: list[tuple[str, str]], start: int, size: int) -> Iterator[Symbol]:
    return (Symbol(name, start + size * n, size, letter) for n, (name, letter) in enumerate(rows))


def _paddings(padded: dict[str, str], k: WatchedKernel, kept: list[Symbol]) -> Iterator[Symbol]:
    """What lies in front of functions, this machine's own and kept ones; it ends where they begin."""
    left = {name: iter(letters) for name, letters in padded.items()}
    here: Counter[int] = Counter()  # names of one function
    for symbol in (*k.symbols, *kept):
        letter = next(left.get(symbol.name, iter(())), None)
        if letter is not None:
            here[symbol.address] += 1
            start = PADDING_BYTES + 1 - here[symbol.address]
            yield Symbol(PADDING + symbol.name, symbol.address - start, start, letter)


def do_nothing(k: WatchedKernel, *args: int) -> int:
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
