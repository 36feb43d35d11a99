"""Map definitions in an object: `struct bpf_map_def` of section "maps" (2014 on), and BTF-defined ones of ".maps".

tools/lib/bpf/libbpf.c: bpf_object__init_user_maps() (until 1.0), parse_btf_map_def().
"""

from __future__ import annotations

import struct
from dataclasses import replace

from arch.abi.elf import STB_LOCAL, STT_SECTION
from arch.abi.errno import EINVAL, ENOENT, ENOTSUP
from arch.records import dataclass, field
from bpf import uapi
from bpf.btf import Btf, BtfError, BtfType, Kind
from bpf.btf.codec import mark
from bpf.loader.elf import ElfObject, ElfSection, Symbol
from bpf.loader.errors import LoadError
from bpf.maps.types import row_of

PIN_NONE, PIN_BY_NAME = 0, 1


@dataclass
class MapDef:
    """What an object says about one map; sizes in bytes."""

    name: str
    type: int = 0
    key_size: int = 0
    value_size: int = 0
    max_entries: int = 0
    flags: int = 0
    numa_node: int = 0
    map_extra: int = 0
    pinning: int = PIN_NONE
    key_type_id: int = 0
    value_type_id: int = 0
    inner: MapDef | None = None
    section: int = -1  # where it is defined, for relocations
    offset: int = 0
    kind: str = "map"  # or ".rodata", ".data", ".bss", ".kconfig": the object's own global variables
    data: bytearray = field(default_factory=bytearray)
    values_offset: int = -1  # where `values` begins within the definition
    init_slots: list[tuple[int, Symbol]] = field(default_factory=list)  # slot -> map or program
    has_values_of_programs: bool = False
    data_section: str = ""  # ELF section of global variables


def legacy_maps(elf: ElfObject) -> list[MapDef]:
    """Section "maps": an array of numbers per symbol."""
    found = []
    for section in elf.sections:
        if section.name == "maps" or section.name.startswith("maps/"):
            found += _legacy_section(elf, section)
    return found


def _legacy_section(elf: ElfObject, section: ElfSection) -> list[MapDef]:
    symbols = [s for s in elf.symbols if s.section == section.index and s.type != STT_SECTION and s.name]
    if not symbols:
        return []
    if section.size % len(symbols):
        raise LoadError(f"unable to determine legacy map definition size in section {section.name}")
    each = section.size // len(symbols)
    if each < 16:
        raise LoadError(f"legacy map definitions of {each} bytes in section {section.name} are too short")
    defs = []
    for symbol in sorted(symbols, key=lambda s: s.value):
        if symbol.value + each > section.size:
            raise LoadError(f'corrupted maps section: last map "{symbol.name}" too small')
        raw = section.data[symbol.value : symbol.value + each]
        if any(raw[20:]):
            raise LoadError(f"maps section has unrecognized, non-zero options ({symbol.name})")
        numbers = struct.unpack(mark(elf.byteorder) + "5I", raw[:20].ljust(20, b"\0"))
        kind, key_size, value_size, max_entries, flags = numbers
        d = MapDef(symbol.name, kind, key_size, value_size, max_entries, flags)
        d.section, d.offset = section.index, symbol.value
        defs.append(d)
    return defs


def btf_maps(elf: ElfObject, btf: Btf | None) -> list[MapDef]:
    """Section ".maps": each variable is a struct whose member types say it."""
    section = elf.section(".maps")
    if section is None:
        return []
    if btf is None:
        raise LoadError("BTF is required, but is missing or corrupted.", ENOENT)
    datasec = btf.find(".maps", Kind.DATASEC)
    if not datasec:
        raise LoadError("DATASEC '.maps' not found.", ENOENT)
    defs = [_btf_map(elf, section, btf, row.type) for row in btf[datasec].secinfos]
    _initial_values(section, defs, btf)
    return defs


def _btf_map(elf: ElfObject, section: ElfSection, btf: Btf, var_id: int) -> MapDef:
    var = btf[var_id]
    if not var.name:
        raise LoadError("map #0: empty name.")
    symbol = next((s for s in elf.symbols if s.name == var.name and s.section == section.index), None)
    where = symbol.value if symbol else 0
    struct_type = btf.resolved(var.type)
    if var.kind is not Kind.VAR:
        raise LoadError(f"map '{var.name}': unexpected var kind {var.kind.name}.")
    if struct_type.kind is not Kind.STRUCT:
        raise LoadError(f"map '{var.name}': unexpected def kind {struct_type.kind.name}.")
    if struct_type.size > section.size:
        raise LoadError(f"map '{var.name}' BTF data is corrupted.")
    if symbol and symbol.bind == STB_LOCAL and symbol.type == STT_SECTION:
        raise LoadError(f"map '{var.name}' has a section symbol")
    definition = parse_definition(btf, struct_type, MapDef(var.name, section=section.index, offset=where))
    return definition


def parse_definition(btf: Btf, t: BtfType, d: MapDef, inner: bool = False) -> MapDef:
    """libbpf.c: parse_btf_map_def(), and what fill_map_from_def() makes of it."""
    name = d.name
    for member in t.members:
        match member.name:
            case "type":
                d.type = _number(btf, member.type, name, member.name)
            case "max_entries":
                d.max_entries = _number(btf, member.type, name, member.name)
            case "map_flags":
                d.flags = _number(btf, member.type, name, member.name)
            case "numa_node":
                d.numa_node = _number(btf, member.type, name, member.name)
            case "map_extra":
                d.map_extra = _number(btf, member.type, name, member.name)
            case "key_size":
                d.key_size = _same_size(d.key_size, _number(btf, member.type, name, member.name), name, "key")
            case "value_size":
                d.value_size = _same_size(d.value_size, _number(btf, member.type, name, member.name), name, "value")
            case "key":
                d.key_type_id, size = _pointee(btf, member.type, name, "key")
                d.key_size = _same_size(d.key_size, size, name, "key")
            case "value":
                d.value_type_id, size = _pointee(btf, member.type, name, "value")
                d.value_size = _same_size(d.value_size, size, name, "value")
            case "values":
                _values(btf, member.type, d, inner)
                d.values_offset = member.bit_offset // 8
            case "pinning":
                if inner:
                    raise LoadError(f"map '{name}': inner def can't be pinned.")
                d.pinning = _number(btf, member.type, name, member.name)
                if d.pinning not in (PIN_NONE, PIN_BY_NAME):
                    raise LoadError(f"map '{name}': invalid pinning value {d.pinning}.")
            case "":
                raise LoadError(f"map '{name}': invalid field #0.")
            case unknown:
                raise LoadError(f"map '{name}': unknown field '{unknown}'.", ENOTSUP)
    if d.type == uapi.BPF_MAP_TYPE_UNSPEC:
        raise LoadError(f"map '{name}': map type isn't specified.")
    return d


def _number(btf: Btf, type_id: int, map_name: str, what: str) -> int:
    """`int (*name)[5]` says 5.  libbpf.c: get_map_field_int()."""
    pointer = btf.resolved(type_id)
    if pointer.kind is not Kind.PTR:
        raise LoadError(f"map '{map_name}': attr '{what}': expected PTR, got {pointer.kind.name}.")
    array = btf[pointer.type]
    if array.kind is not Kind.ARRAY:
        raise LoadError(f"map '{map_name}': attr '{what}': expected ARRAY, got {array.kind.name}.")
    return array.nelems


def _pointee(btf: Btf, type_id: int, map_name: str, what: str) -> tuple[int, int]:
    pointer = btf[type_id]
    if pointer.kind is not Kind.PTR:
        raise LoadError(f"map '{map_name}': {what} spec is not PTR: {pointer.kind.name}.")
    try:
        return pointer.type, btf.size_of(pointer.type)
    except BtfError:
        raise LoadError(f"map '{map_name}': can't determine {what} size for type [{pointer.type}]: -22.") from None


def _same_size(before: int, now: int, map_name: str, what: str) -> int:
    if before and before != now:
        raise LoadError(f"map '{map_name}': conflicting {what} size {before} != {now}.")
    return now


def _values(btf: Btf, type_id: int, d: MapDef, inner: bool) -> None:
    """`struct inner *values[]` describes inner maps, `int (*values[])()` programs of a prog array."""
    map_in_map, is_prog_array = row_of(d.type).map_in_map, d.type == uapi.BPF_MAP_TYPE_PROG_ARRAY
    if inner:
        raise LoadError(f"map '{d.name}': multi-level inner maps not supported.", ENOTSUP)
    if not map_in_map and not is_prog_array:
        raise LoadError(f"map '{d.name}': should be map-in-map or prog-array.", ENOTSUP)
    d.value_size = _same_size(d.value_size, 4, d.name, "value")
    array = btf[type_id]
    if array.kind is not Kind.ARRAY or array.nelems:
        raise LoadError(f"map '{d.name}': 'values' spec is not a zero-sized array.")
    pointer = btf.resolved(array.type)
    if pointer.kind is not Kind.PTR:
        kind = "map-in-map inner" if map_in_map else "prog-array value"
        raise LoadError(f"map '{d.name}': {kind} def is of unexpected kind {pointer.kind.name}.")
    target = btf.resolved(pointer.type)
    if is_prog_array:
        if target.kind is not Kind.FUNC_PROTO:
            raise LoadError(f"map '{d.name}': prog-array value def is of unexpected kind {target.kind.name}.")
        d.has_values_of_programs = True
        return
    if target.kind is not Kind.STRUCT:
        raise LoadError(f"map '{d.name}': map-in-map inner def is of unexpected kind {target.kind.name}.")
    d.inner = parse_definition(btf, target, MapDef(f"{d.name}.inner"), inner=True)


def _initial_values(section: ElfSection, defs: list[MapDef], btf: Btf) -> None:
    """Relocations in .maps fill slots of `values`.  libbpf.c: bpf_object__collect_map_relos()."""
    word = 8
    for relocation in section.relocations:
        owners = [d for d in defs if d.offset <= relocation.offset]
        owner = max(owners, key=lambda d: d.offset, default=None)
        if owner is None or owner.values_offset < 0 or relocation.offset < owner.offset + owner.values_offset:
            raise LoadError(f".maps relo: no map's values found at offset {relocation.offset}")
        at = relocation.offset - owner.offset - owner.values_offset
        if at % word:
            raise LoadError(f".maps relo: offset {relocation.offset} isn't a multiple of {word}")
        owner.init_slots.append((at // word, relocation.symbol))
    for d in defs:
        slots = max((slot for slot, _ in d.init_slots), default=-1) + 1
        if d.max_entries == 0 and slots:
            d.max_entries = slots


def data_map(object_name: str, section: ElfSection, kind: str) -> MapDef:
    """The array map that holds a section of global variables."""
    frozen = kind in (".rodata", ".kconfig")
    return MapDef(
        internal_map_name(object_name, section.name, kind),
        uapi.BPF_MAP_TYPE_ARRAY,
        4,
        section.size,
        1,
        (uapi.BPF_F_RDONLY_PROG if frozen else 0) | uapi.BPF_F_MMAPABLE,
        section=section.index,
        kind=kind,
        data=bytearray(section.data if section.data else bytes(section.size)),
        data_section=section.name,
    )


def internal_map_name(object_name: str, section: str, kind: str) -> str:
    """`writes` + `.rodata`; at most 15 characters, the section whole.  libbpf.c: internal_map_name()."""
    if section != kind:
        text = section[:15]
    else:
        keep = max(7, len(kind))
        text = object_name[: max(0, 15 - keep)] + kind
    return "".join(c if c.isascii() and (c.isalnum() or c in "_.") else "_" for c in text)


def with_inner(d: MapDef) -> MapDef | None:
    """The definition to create an inner map template from."""
    if d.inner is None:
        return None
    return replace(d.inner, name=d.inner.name)


__all__ = ["EINVAL", "MapDef", "btf_maps", "data_map", "internal_map_name", "legacy_maps", "with_inner"]
