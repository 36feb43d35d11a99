"""The vDSO: the shared library that the kernel maps into every program, built from rows.  arch/*/{entry/,kernel/}vdso*, Documentation/ABI/stable/vdso.

Its functions are those of a machine whose clock user code cannot read (VDSO_CLOCKMODE_NONE): each makes the system call, as the
real ones do there.  The image is one page: ELF header, two program headers, a hash table of the System V kind, symbols, their
versions, the dynamic section and the code.  It has no sections.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from arch.abi.elf import (
    ET_DYN,
    PF_R,
    PF_X,
    PT_DYNAMIC,
    PT_LOAD,
    SHN_ABS,
    STB_GLOBAL,
    STB_WEAK,
    STT_FUNC,
    STT_OBJECT,
)
from arch.abi.limits import PAGE_SIZE
from arch.datamodel import ByteOrder
from arch.records import dataclass

(DT_NULL, DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SYMENT, DT_SONAME) = (0, 4, 5, 6, 10, 11, 14)
DT_VERSYM, DT_VERDEF, DT_VERDEFNUM = 0x6FFFFFF0, 0x6FFFFFFC, 0x6FFFFFFD
VER_FLG_BASE, VER_NDX_BASE, VER_NDX_OURS = 1, 1, 2
EHDR_SIZE, PHDR_SIZE, SYM_SIZE = 64, 56, 24
CODE_SECTION = 1  # no section has a number here, but a symbol that is there needs one


@dataclass(frozen=True)
class VdsoFacts:
    """One CPU's column."""

    soname: str
    version: str
    functions: tuple[tuple[str, str], ...]  # (symbol, the system call it makes)
    call: Callable[[int], bytes]  # a number -> code that makes the call and returns
    weak: tuple[tuple[str, str], ...] = ()  # (other name, symbol)
    trampolines: tuple[tuple[str, int], ...] = ()  # (symbol, bytes into the code of TextFacts.vdso)
    hash_word: int = 4  # bytes of a word of DT_HASH


@dataclass(frozen=True)
class VdsoImage:
    """The page, and where the code for the return from signals lies in it."""

    page: bytes
    trampoline: int


def elf_hash(name: bytes) -> int:
    """The System V ABI's hash of a name."""
    h = 0
    for byte in name:
        h = (h << 4) + byte
        high = h & 0xF0000000
        h = (h ^ high >> 24) & ~high & 0xFFFFFFFF
    return h


class _Strings:
    def __init__(self) -> None:
        self.raw = b"\0"

    def add(self, text: str) -> int:
        at = len(self.raw)
        self.raw += text.encode() + b"\0"
        return at


def _align(data: bytes, to: int = 16) -> bytes:
    return data + bytes(-len(data) % to)


def build(facts: VdsoFacts, trampoline: bytes, numbers: Mapping[str, int], machine: int, order: ByteOrder) -> VdsoImage:
    """An ELF64 image of one page."""
    e = "<" if order == "little" else ">"
    code = _align(trampoline)
    symbols: list[tuple[str, int, int, int]] = [(name, at, 0, STB_GLOBAL) for name, at in facts.trampolines]
    place = {}
    for name, call in facts.functions:
        body = facts.call(numbers[call])
        place[name] = (len(code), len(body))
        symbols.append((name, *place[name], STB_GLOBAL))
        code = _align(code + body)
    symbols += [(name, *place[target], STB_WEAK) for name, target in facts.weak]
    strings = _Strings()
    soname, version = strings.add(facts.soname), strings.add(facts.version)
    names = [strings.add(name) for name, *_ in symbols]
    count = len(symbols) + 2  # the first is nothing, the last the version itself
    hashes = _hash_table(["", *(name for name, *_ in symbols), facts.version], facts.hash_word, e)
    versyms = struct.pack(f"{e}{count}H", 0, *[VER_NDX_OURS] * (count - 1))
    verdefs = b""
    for flags, index, text, offset, following in (
        (VER_FLG_BASE, VER_NDX_BASE, facts.soname, soname, 28), (0, VER_NDX_OURS, facts.version, version, 0),
    ):  # fmt: skip
        verdefs += struct.pack(e + "4H3I", 1, flags, index, 1, elf_hash(text.encode()), 20, following)
        verdefs += struct.pack(e + "2I", offset, 0)

    at, places = EHDR_SIZE + 2 * PHDR_SIZE, {}
    parts = [
        ("hash", hashes),
        ("sym", bytes(count * SYM_SIZE)),
        ("str", strings.raw),
        ("versym", versyms),
        ("verdef", verdefs),
    ]
    for key, part in parts:
        at += -at % 16
        places[key] = at
        at += len(part)
    at += -at % 16
    entries = (
        (DT_SONAME, soname), (DT_HASH, places["hash"]), (DT_STRTAB, places["str"]), (DT_SYMTAB, places["sym"]),
        (DT_STRSZ, len(strings.raw)), (DT_SYMENT, SYM_SIZE), (DT_VERSYM, places["versym"]), (DT_VERDEF, places["verdef"]),
        (DT_VERDEFNUM, 2), (DT_NULL, 0),
    )  # fmt: skip
    dynamic = b"".join(struct.pack(e + "2Q", *entry) for entry in entries)
    text_at = at + len(dynamic) + -(at + len(dynamic)) % 64
    table = bytes(SYM_SIZE)
    for (_, offset, size, binding), name_at in zip(symbols, names, strict=True):
        table += struct.pack(e + "IBBHQQ", name_at, binding << 4 | STT_FUNC, 0, CODE_SECTION, text_at + offset, size)
    table += struct.pack(e + "IBBHQQ", version, STB_GLOBAL << 4 | STT_OBJECT, 0, SHN_ABS, 0, 0)

    page = bytearray(PAGE_SIZE)
    end = text_at + len(code)
    ident = b"\x7fELF" + bytes((2, 1 if order == "little" else 2, 1)) + bytes(9)
    page[:EHDR_SIZE] = ident + struct.pack(
        e + "2HI3QI6H", ET_DYN, machine, 1, text_at, EHDR_SIZE, 0, 0, EHDR_SIZE, PHDR_SIZE, 2, 64, 0, 0
    )
    load = struct.pack(e + "2I6Q", PT_LOAD, PF_R | PF_X, 0, 0, 0, end, end, PAGE_SIZE)
    dyn = struct.pack(e + "2I6Q", PT_DYNAMIC, PF_R, at, at, at, len(dynamic), len(dynamic), 8)
    page[EHDR_SIZE : EHDR_SIZE + 2 * PHDR_SIZE] = load + dyn
    for key, part in parts:
        page[places[key] : places[key] + len(part)] = table if key == "sym" else part
    page[at : at + len(dynamic)] = dynamic
    page[text_at:end] = code
    return VdsoImage(bytes(page), text_at)


def _hash_table(names: list[str], word: int, e: str) -> bytes:
    """nbucket, nchain, buckets, chains: one bucket for two symbols or so."""
    buckets = [0] * max(len(names) // 2, 1)
    chains = [0] * len(names)
    for index, name in enumerate(names):
        if name:
            bucket = elf_hash(name.encode()) % len(buckets)
            chains[index], buckets[bucket] = buckets[bucket], index
    values = (len(buckets), len(names), *buckets, *chains)
    return struct.pack(f"{e}{len(values)}{'I' if word == 4 else 'Q'}", *values)
