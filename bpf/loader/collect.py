"""What an object file holds: its BTF, maps, functions and programs.  Needs no kernel.

tools/lib/bpf/libbpf.c: bpf_object__elf_collect(), bpf_object__add_programs(), bpf_object__init_maps().
"""

from __future__ import annotations

import struct

from arch.abi.elf import SHN_UNDEF, STB_GLOBAL, STB_LOCAL, STT_FUNC, STT_SECTION, STV_HIDDEN, STV_INTERNAL
from arch.abi.errno import EOPNOTSUPP
from arch.abi.limits import U32_MAX
from bpf import uapi
from bpf.btf import Btf, BtfError, Kind
from bpf.btf.codec import GLOBAL
from bpf.btf.ext import BtfExt
from bpf.isa.insn import decode
from bpf.loader import defs, sections
from bpf.loader.defs import MapDef
from bpf.loader.elf import ElfObject, ElfSection
from bpf.loader.errors import LoadError
from bpf.loader.maps import Map
from bpf.loader.program import Code, Program

_DATA_KINDS = (".rodata", ".data", ".bss")


def read_btf(elf: ElfObject, messages: list[str]) -> tuple[Btf | None, BtfExt | None]:
    section, ext_section = elf.section(".BTF"), elf.section(".BTF.ext")
    if section is None:
        return None, None
    try:
        btf = Btf.parse(section.data)
        _fix_datasecs(elf, btf)
        ext = BtfExt.parse(ext_section.data, btf) if ext_section is not None else None
    except (BtfError, struct.error) as error:
        if elf.section(".maps") is not None:
            raise LoadError(f"Error loading ELF section .BTF: {error}") from None
        messages.append(f"Error loading ELF section .BTF: {error}. Ignored and continue.")
        return None, None
    return btf, ext


def _fix_datasecs(elf: ElfObject, btf: Btf) -> None:
    """The compiler leaves sizes of sections and places of variables to the loader.  btf_fixup_datasec()."""
    places = {s.name: s for s in elf.symbols if s.section not in (SHN_UNDEF,) and s.name}
    for t in btf.types[1:]:
        if t.kind is not Kind.DATASEC or t.name in (".kconfig", ".ksyms"):
            continue
        section = elf.section(t.name)
        if section is None:
            continue
        t.size = (t.size or section.size) & U32_MAX  # __u32 in BTF
        for row in t.secinfos:
            symbol = places.get(btf[row.type].name)
            if symbol is not None and symbol.section == section.index:
                row.offset = symbol.value & U32_MAX
        t.secinfos.sort(key=lambda row: row.offset)


def collect_maps(name: str, elf: ElfObject, btf: Btf | None, kconfig_size: int) -> dict[str, Map]:
    """Maps as the object defines them, and one for each section of global variables."""
    maps: dict[str, Map] = {}
    found = defs.legacy_maps(elf) + defs.btf_maps(elf, btf)
    for section in elf.sections:
        kind = next((k for k in _DATA_KINDS if section.name == k or section.name.startswith(k + ".")), "")
        if kind and section.size and not section.name.startswith(".rodata.str") and section.flags & 2:
            if section.size > 1 << 26:
                raise LoadError(f"section {section.name} of {section.size} bytes is too large")
            found.append(defs.data_map(name, section, kind))
        elif section.name.startswith(".rodata.str") and section.size:
            found.append(defs.data_map(name, section, ".rodata"))
    if kconfig_size:
        empty = ElfSection(-2, ".kconfig", 1, 2, kconfig_size, bytes(kconfig_size))
        found.append(defs.data_map(name, empty, ".kconfig"))
    for d in found:
        if d.name in maps:
            raise LoadError(f"map '{d.name}' is defined twice")
        maps[d.name] = Map(d, btf)
        if d.kind != "map" and btf is not None:
            d.value_type_id = btf.find(d.data_section, Kind.DATASEC)
            if d.kind != ".kconfig" and d.value_type_id and not _is_mmapable(btf, d):
                d.flags &= ~uapi.BPF_F_MMAPABLE
    return maps


def _is_mmapable(btf: Btf, d: MapDef) -> bool:
    """Only sections with a variable that is not static are worth mapping.  libbpf.c: map_is_mmapable()."""
    return any(btf[row.type].linkage == GLOBAL for row in btf[d.value_type_id].secinfos)


def collect_codes(elf: ElfObject, ext: BtfExt | None) -> list[Code]:
    """Every function of the executable sections, with its relocations and BTF records."""
    codes: list[Code] = []
    for section in elf.sections:
        if section.is_exec:
            _collect_section(elf, section, codes)
    _attach_records(elf, ext, codes)
    return codes


def collect_programs(elf: ElfObject, codes: list[Code]) -> dict[str, Program]:
    """The functions that are loaded on their own; those of .text are called by others, if there are others."""
    programs: dict[str, Program] = {}
    text = elf.section(".text")
    in_programs = any(c.section_name != ".text" for c in codes)
    for code in codes:
        if text is not None and code.section_index == text.index and in_programs:
            continue
        programs[code.name] = Program(code, sections.find(code.section_name))
    return programs


def _collect_section(elf: ElfObject, section: ElfSection, codes: list[Code]) -> None:
    """bpf_object__add_programs(): every function symbol of an executable section."""
    if section.size % 8:
        raise LoadError(f"sec '{section.name}': size {section.size} isn't a multiple of 8")
    symbols = [s for s in elf.symbols if s.section == section.index and s.type == STT_FUNC]
    if not symbols:  # objects of old compilers: the label alone
        symbols = [s for s in elf.symbols if s.section == section.index and s.type != STT_SECTION
                   and s.bind == STB_GLOBAL and s.name]  # fmt: skip
    starts = sorted({s.value for s in symbols})
    for symbol in sorted(symbols, key=lambda s: s.value):
        end = symbol.value + symbol.size
        if not symbol.size:
            end = next((v for v in starts if v > symbol.value), section.size)
        if symbol.value >= section.size or end > section.size or symbol.value % 8 or end % 8:
            raise LoadError(f"sec '{section.name}': program at offset {symbol.value} crosses section boundary")
        if section.name != ".text" and symbol.bind == STB_LOCAL:
            text = f"sec '{section.name}': func '{symbol.name}' is static and not supported"
            raise LoadError(text, EOPNOTSUPP)
        code = Code(
            symbol.name, section.index, section.name, symbol.value // 8,
            decode(section.data[symbol.value : end], elf.byteorder),
            symbol.bind != STB_LOCAL and symbol.visibility not in (STV_HIDDEN, STV_INTERNAL),
        )  # fmt: skip
        if any(other.name == code.name for other in codes):
            raise LoadError(f"sec '{section.name}': function '{code.name}' is defined twice")
        codes.append(code)


def _attach_records(elf: ElfObject, ext: BtfExt | None, codes: list[Code]) -> None:
    """Hand relocations and BTF records to the functions they are in."""
    by_section: dict[str, list[Code]] = {}
    for code in codes:
        by_section.setdefault(code.section_name, []).append(code)

    def owner(section: str, insn: int) -> Code | None:
        rows = by_section.get(section, [])
        return next((c for c in rows if c.offset <= insn < c.offset + len(c.insns)), None)

    for section in elf.sections:
        for r in section.relocations if section.is_exec else ():
            if r.offset % 8 and r.offset % 4:
                raise LoadError(f"sec '{section.name}': invalid relocation offset {r.offset:#x}")
            holder = owner(section.name, r.offset // 8)
            if holder is None:
                raise LoadError(f"sec '{section.name}': relo at offset {r.offset} is in no function")
            holder.relocations.append((r.offset // 8 - holder.offset, r))
    if ext is None:
        return
    for name, functions in ext.func_info.items():
        for function in functions:
            holder = owner(name, function.insn_off // 8)
            if holder is not None:
                holder.func_info.append((function.insn_off // 8 - holder.offset, function))
    for name, lines in ext.line_info.items():
        for line in lines:
            holder = owner(name, line.insn_off // 8)
            if holder is not None:
                holder.line_info.append((line.insn_off // 8 - holder.offset, line))
    for name, relos in ext.core_relo.items():
        for number, relo in enumerate(relos):
            holder = owner(name, relo.insn_off // 8)
            if holder is not None:
                holder.core_relos.append((relo.insn_off // 8 - holder.offset, number, relo))
