"""BPF object files.  tools/lib/bpf/libbpf.c: bpf_object__elf_init(), elf_collect().

pyelftools reads the file; whatever it, or we, stumble over in a broken file becomes a LoadError.
"""

from __future__ import annotations

import io
import struct
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile

from arch.abi.elf import (
    EM_BPF,
    ET_REL,
    SHF_EXECINSTR,
    SHN_ABS,
    SHN_COMMON,
    SHT_NOBITS,
    SHT_PROGBITS,
)
from arch.abi.errno import EBADF, EINVAL, ENOENT
from arch.records import dataclass, field
from bpf.btf.codec import ByteOrder
from bpf.loader.errors import LoadError

R_BPF_64_64, R_BPF_64_ABS64, R_BPF_64_ABS32, R_BPF_64_NODYLD32, R_BPF_64_32 = 1, 2, 3, 4, 10
MAX_FILE = 64 << 20


@dataclass(slots=True)
class Symbol:
    name: str
    value: int
    size: int
    section: int
    bind: int
    type: int
    visibility: int
    index: int


@dataclass(slots=True)
class Relocation:
    offset: int
    symbol: Symbol
    type: int
    addend: int = 0


@dataclass(slots=True)
class ElfSection:
    index: int
    name: str
    type: int
    flags: int
    size: int
    data: bytes
    align: int = 1
    relocations: list[Relocation] = field(default_factory=list)

    @property
    def is_exec(self) -> bool:
        return self.type == SHT_PROGBITS and bool(self.flags & SHF_EXECINSTR) and self.size > 0


@dataclass(slots=True)
class ElfObject:
    byteorder: ByteOrder
    sections: list[ElfSection]
    symbols: list[Symbol]

    def section(self, name: str) -> ElfSection | None:
        return next((s for s in self.sections if s.name == name), None)

    def at(self, index: int) -> ElfSection | None:
        return self.sections[index] if 0 <= index < len(self.sections) else None


def read_object(data: bytes, name: str = "<object>") -> ElfObject:
    """Sections, symbols and relocations of a relocatable BPF object."""
    if len(data) > MAX_FILE:
        raise LoadError(f"{name} is larger than {MAX_FILE >> 20} MiB", EINVAL)
    if data[:4] != b"\x7fELF":
        raise LoadError(f"elf: '{name}' is not a proper ELF object", EINVAL)
    try:
        return _read(data, name)
    except LoadError:
        raise
    except (ELFError, ConstructError, struct.error, ValueError, KeyError, IndexError, AttributeError, TypeError,
            AssertionError, OverflowError, UnicodeDecodeError, MemoryError, RecursionError) as error:  # fmt: skip
        raise LoadError(f"elf: '{name}' is broken: {error or type(error).__name__}", EINVAL) from None


def _read(data: bytes, name: str) -> ElfObject:
    elf = ELFFile(io.BytesIO(data))
    header = elf.header
    if header["e_type"] not in ("ET_REL", ET_REL) or header["e_machine"] not in ("EM_BPF", EM_BPF, "EM_NONE", 0):
        raise LoadError(f"elf: {name} is not a valid eBPF object file", EBADF)
    if elf.elfclass != 64:
        raise LoadError(f"elf: {name} is not a valid eBPF object file (a 32-bit ELF)", EBADF)
    if elf.num_sections() > 0xFF00:
        raise LoadError(f"elf: {name} has {elf.num_sections()} sections", EINVAL)
    obj = ElfObject("little" if elf.little_endian else "big", [], [])
    raw = list(elf.iter_sections())
    total = 0
    for index, section in enumerate(raw):
        kind = _number(section.header["sh_type"])
        size = section["sh_size"]
        if kind != SHT_NOBITS:
            if section["sh_offset"] + size > len(data) and kind:
                raise LoadError(f"elf: section({index}) {section.name} of {name} lies outside the file", EINVAL)
            total += size
            if total > 4 * MAX_FILE:
                raise LoadError(f"elf: the sections of {name} overlap beyond reason", EINVAL)
        body = data[section["sh_offset"] : section["sh_offset"] + size] if kind not in (SHT_NOBITS, 0) else b""
        align = section["sh_addralign"]
        if align & (align - 1) or align > 1 << 16:
            raise LoadError(f"elf: section({index}) {section.name} of {name} has alignment {align}", EINVAL)
        if kind == SHT_NOBITS and size > MAX_FILE:
            raise LoadError(f"elf: section({index}) {section.name} of {name} has {size} bytes", EINVAL)
        obj.sections.append(ElfSection(index, section.name, kind, section["sh_flags"], size, body, align))
    symtab: Any = next((s for s in raw if s.header["sh_type"] == "SHT_SYMTAB"), None)
    if symtab is None:
        raise LoadError(f"elf: couldn't find symbol table in {name}, stripped object file?", ENOENT)
    obj.symbols = [_symbol(symbol, index) for index, symbol in enumerate(symtab.iter_symbols())]
    for section in raw:
        if section.header["sh_type"] in ("SHT_REL", "SHT_RELA"):
            _relocations(obj, section)
    return obj


def _number(value: object) -> int:
    names = {"SHT_NULL": 0, "SHT_PROGBITS": 1, "SHT_SYMTAB": 2, "SHT_STRTAB": 3, "SHT_RELA": 4, "SHT_NOTE": 7,
             "SHT_NOBITS": 8, "SHT_REL": 9}  # fmt: skip
    return value if isinstance(value, int) else names.get(str(value), 0x7FFFFFFF)


_BIND = {"STB_LOCAL": 0, "STB_GLOBAL": 1, "STB_WEAK": 2}
_TYPE = {"STT_NOTYPE": 0, "STT_OBJECT": 1, "STT_FUNC": 2, "STT_SECTION": 3, "STT_FILE": 4}
_SHN = {"SHN_UNDEF": 0, "SHN_ABS": SHN_ABS, "SHN_COMMON": SHN_COMMON}
_VISIBILITY = {"STV_DEFAULT": 0, "STV_INTERNAL": 1, "STV_HIDDEN": 2, "STV_PROTECTED": 3}


def _symbol(symbol, index: int) -> Symbol:  # type: ignore[no-untyped-def]
    def number(value: object, table: dict[str, int]) -> int:
        return value if isinstance(value, int) else table.get(str(value), 0xFF)

    entry = symbol.entry
    return Symbol(
        symbol.name,
        entry["st_value"],
        entry["st_size"],
        number(entry["st_shndx"], _SHN),
        number(entry["st_info"]["bind"], _BIND),
        number(entry["st_info"]["type"], _TYPE),
        number(entry["st_other"]["visibility"], _VISIBILITY),
        index,
    )


def _relocations(obj: ElfObject, section) -> None:  # type: ignore[no-untyped-def]
    target = obj.at(section["sh_info"])
    if target is None:
        raise LoadError(f"elf: relocation section {section.name} refers to no section", EINVAL)
    if section["sh_entsize"] not in (16, 24):
        raise LoadError(f"elf: relocation section {section.name} has entries of {section['sh_entsize']} bytes", EINVAL)
    for entry in section.iter_relocations():
        number = entry["r_info_sym"]
        if number >= len(obj.symbols):
            raise LoadError(f"elf: {section.name}: symbol {number} isn't found", EINVAL)
        target.relocations.append(
            Relocation(entry["r_offset"], obj.symbols[number], entry["r_info_type"],
                       entry["r_addend"] if entry.is_RELA() else 0)
        )  # fmt: skip
