"""Static linking: several BPF objects become one.  tools/lib/bpf/linker.c.

Sections of the same name are put one after the other; global symbols are resolved (one strong definition, or the
first weak one); BTF is appended type by type, without deduplication, and its data sections merged.
"""

from __future__ import annotations

import struct
from dataclasses import replace

from arch.abi.elf import (
    EM_BPF,
    SHF_ALLOC,
    SHN_ABS,
    SHN_UNDEF,
    SHT_NOBITS,
    SHT_PROGBITS,
    SHT_REL,
    SHT_STRTAB,
    SHT_SYMTAB,
    STB_GLOBAL,
    STB_LOCAL,
    STB_WEAK,
    STT_SECTION,
)
from arch.abi.errno import EEXIST
from arch.records import dataclass, field
from bpf.btf import Btf, BtfError, BtfType, Kind, Secinfo
from bpf.btf.codec import EXTERN, GLOBAL, STATIC, ByteOrder, Strings, mark
from bpf.btf.ext import BtfExt, CoreRelo, FuncInfo, LineInfo
from bpf.loader.elf import (
    R_BPF_64_32,
    R_BPF_64_64,
    R_BPF_64_ABS64,
    ElfObject,
    ElfSection,
    Relocation,
    Symbol,
    read_object,
)
from bpf.loader.errors import LoadError

_ONCE = ("license", "version")  # the same in all objects


@dataclass
class _Section:
    """One output section."""

    name: str
    type: int
    flags: int
    align: int
    data: bytearray = field(default_factory=bytearray)
    relocations: list[tuple[int, int, int]] = field(default_factory=list)  # (offset, symbol, type)


@dataclass
class _Input:
    elf: ElfObject
    btf: Btf | None
    ext: BtfExt | None
    name: str
    places: dict[int, tuple[int, int]] = field(default_factory=dict)  # section -> (output section, offset)
    symbols: dict[int, int] = field(default_factory=dict)  # symbol -> output symbol


def link_objects(objects: list[bytes], names: list[str] | None = None) -> bytes:
    """One relocatable object out of several; LoadError where they do not fit together."""
    if not objects:
        raise LoadError("no objects to link")
    inputs = [_read(data, (names or [])[i : i + 1]) for i, data in enumerate(objects)]
    order = inputs[0].elf.byteorder
    if any(i.elf.byteorder != order for i in inputs):
        raise LoadError("linker: objects of different byte orders")
    return _Linker(inputs, order).link()


def _read(data: bytes, name: list[str]) -> _Input:
    elf = read_object(data, name[0] if name else "object")
    section, ext = elf.section(".BTF"), elf.section(".BTF.ext")
    try:
        btf = Btf.parse(section.data) if section is not None else None
        return _Input(elf, btf, BtfExt.parse(ext.data, btf) if ext is not None and btf is not None else None,
                      name[0] if name else "object")  # fmt: skip
    except (BtfError, struct.error) as error:
        raise LoadError(f"linker: broken BTF: {error}") from None


class _Linker:
    def __init__(self, inputs: list[_Input], order: ByteOrder) -> None:
        self.inputs = inputs
        self.order = order
        self.mark = mark(order)
        self.sections: list[_Section] = []
        self.symbols: list[Symbol] = [Symbol("", 0, 0, 0, STB_LOCAL, 0, 0, 0)]
        self.by_name: dict[str, int] = {}

    def link(self) -> bytes:
        for each in self.inputs:
            self._sections(each)
        for each in self.inputs:
            self._symbols(each)
        for each in self.inputs:
            self._relocations(each)
        strings = Strings()
        btf = self._btf()
        ext = self._ext() if btf is not None else None
        if btf is not None and ext is not None:
            tail = ext.encode(strings, self.order)
            self._add(".BTF", btf.encode(self.order, strings))
            self._add(".BTF.ext", tail)
        return _write(self.sections, self.symbols, self.order)

    # Sections

    @staticmethod
    def _wanted(s: ElfSection) -> bool:
        if s.type not in (SHT_PROGBITS, SHT_NOBITS) or not s.size or s.name in (".eh_frame",):
            return False
        return bool(s.flags & SHF_ALLOC) and not s.name.startswith((".debug", ".BTF"))

    def _sections(self, each: _Input) -> None:
        for s in each.elf.sections:
            if not self._wanted(s):
                continue
            number = next((n for n, out in enumerate(self.sections) if out.name == s.name), None)
            if number is None:
                number = len(self.sections)
                self.sections.append(_Section(s.name, s.type, s.flags, max(1, s.align)))
            out = self.sections[number]
            if s.name in _ONCE and out.data:
                if bytes(out.data) != s.data:
                    raise LoadError(f"linker: section '{s.name}' differs between objects")
                each.places[s.index] = (number, 0)
                continue
            align = 8 if s.flags & 4 else max(1, s.align)
            out.align = max(out.align, align)
            out.data += bytes(-len(out.data) % align)
            each.places[s.index] = (number, len(out.data))
            out.data += s.data if s.type != SHT_NOBITS else bytes(s.size)

    def _add(self, name: str, data: bytes) -> None:
        self.sections.append(_Section(name, SHT_PROGBITS, 0, 4, bytearray(data)))

    # Symbols

    def _symbols(self, each: _Input) -> None:
        for s in each.elf.symbols[1:]:
            if s.section == SHN_ABS or (s.section not in each.places and s.section != SHN_UNDEF):
                continue
            if s.section == SHN_UNDEF and s.bind == STB_LOCAL:
                continue
            place = each.places.get(s.section)
            moved = replace(s, section=place[0] + 1, value=s.value + place[1]) if place else s
            if s.type == STT_SECTION:
                each.symbols[s.index] = self._section_symbol(moved)
            elif s.bind == STB_LOCAL:
                each.symbols[s.index] = self._local(moved)
            else:
                each.symbols[s.index] = self._global(moved, each)

    def _new(self, s: Symbol) -> int:
        self.symbols.append(replace(s, index=len(self.symbols)))
        return len(self.symbols) - 1

    def _section_symbol(self, s: Symbol) -> int:
        for n, known in enumerate(self.symbols):
            if known.type == STT_SECTION and known.section == s.section:
                return n
        return self._new(replace(s, value=0))

    def _local(self, s: Symbol) -> int:
        """Static functions may share a name: the second becomes NAME.1."""
        taken = {known.name for known in self.symbols}
        name, count = s.name, 0
        while s.name and name in taken:
            count += 1
            name = f"{s.name}.{count}"
        return self._new(replace(s, name=name))

    def _global(self, s: Symbol, each: _Input) -> int:
        known = self.by_name.get(s.name)
        if known is None:
            self.by_name[s.name] = self._new(s)
            return self.by_name[s.name]
        old = self.symbols[known]
        if s.section == SHN_UNDEF:
            return known
        if old.section == SHN_UNDEF:
            self.symbols[known] = replace(s, index=known)
        elif old.bind == STB_GLOBAL and s.bind == STB_GLOBAL:
            if self._is_once(s):
                return known
            raise LoadError(
                f"linker: conflicting non-weak symbol #{s.index} ({s.name}) definition in '{each.name}'", EEXIST
            )
        elif s.bind == STB_GLOBAL and old.bind == STB_WEAK:
            self._local(replace(old, bind=STB_LOCAL, name=f"{old.name}.weak"))
            self.symbols[known] = replace(s, index=known)
        else:
            self._local(replace(s, bind=STB_LOCAL, name=f"{s.name}.weak"))
        return known

    def _is_once(self, s: Symbol) -> bool:
        return self.sections[s.section - 1].name in _ONCE

    # Relocations

    def _relocations(self, each: _Input) -> None:
        for s in each.elf.sections:
            place = each.places.get(s.index)
            if place is None:
                continue
            for r in s.relocations:
                symbol = each.symbols.get(r.symbol.index)
                if symbol is None:
                    raise LoadError(f"linker: relocation in '{s.name}' against symbol '{r.symbol.name}' of no section")
                self._relocate(each, self.sections[place[0]], place[1] + r.offset, r, symbol)

    def _relocate(self, each: _Input, out: _Section, offset: int, r: Relocation, symbol: int) -> None:
        if r.symbol.type == STT_SECTION:
            base = each.places[r.symbol.section][1]
            self._shift(out, offset, r.type, base)
        out.relocations.append((offset, symbol, r.type))

    def _shift(self, out: _Section, offset: int, kind: int, base: int) -> None:
        """A reference to a section carries its offset in place: in the instruction, or in the word."""
        if not base:
            return
        at, form, step = {
            R_BPF_64_32: (offset + 4, "i", base // 8),
            R_BPF_64_64: (offset + 4, "i", base),
            R_BPF_64_ABS64: (offset, "q", base),
        }.get(kind, (offset, "i", base))
        if at + struct.calcsize(form) > len(out.data):
            raise LoadError("linker: relocation outside its section")
        value = struct.unpack_from(self.mark + form, out.data, at)[0]
        struct.pack_into(self.mark + form, out.data, at, value + step)

    # BTF

    def _btf(self) -> Btf | None:
        if all(each.btf is None for each in self.inputs):
            return None
        out = Btf(self.order)
        sections: dict[str, BtfType] = {}
        self.shifts: list[int] = []
        for each in self.inputs:
            shift = len(out) - 1
            self.shifts.append(shift)
            skipped: list[BtfType] = []
            for t in each.btf.types[1:] if each.btf is not None else ():
                new = _moved(t, shift)
                if t.kind is Kind.DATASEC and t.name in sections:
                    skipped.append(new)
                    new = BtfType(Kind.INT, "merged_section", 1, bits=8)  # keeps the numbering
                elif t.kind is Kind.DATASEC:
                    sections[t.name] = new
                    self._place_rows(each, t.name, new.secinfos, out, shift)
                    new.size = self._section_size(t.name) or new.size
                elif t.kind is Kind.FUNC and t.linkage == EXTERN and self._is_defined(t.name):
                    new.linkage = GLOBAL
                elif t.kind is Kind.FUNC and t.linkage == GLOBAL and self._is_overridden(each, t.name):
                    new.linkage = STATIC
                out.append(new)
            for extra in skipped:
                self._place_rows(each, extra.name, extra.secinfos, out, shift)
                known = {out[row.type].name for row in sections[extra.name].secinfos}
                fresh = [row for row in extra.secinfos if out[row.type].name not in known]
                sections[extra.name].secinfos += fresh
        for t in sections.values():
            self._drop_externs(out, t)
            t.secinfos.sort(key=lambda row: row.offset)
        return out

    def _place_rows(self, each: _Input, name: str, rows: list[Secinfo], out: Btf, shift: int) -> None:
        section = each.elf.section(name)
        base = each.places.get(section.index, (0, 0))[1] if section is not None else 0
        values = {s.name: s.value for s in each.elf.symbols if section is not None and s.section == section.index}
        assert each.btf is not None
        for row in rows:
            variable = each.btf[row.type - shift].name
            row.offset = values.get(variable, row.offset) + base

    def _section_size(self, name: str) -> int:
        return next((len(s.data) for s in self.sections if s.name == name), 0)

    def _is_defined(self, name: str) -> bool:
        known = self.by_name.get(name)
        return known is not None and self.symbols[known].section != SHN_UNDEF

    def _is_overridden(self, each: _Input, name: str) -> bool:
        mine = next((s for s in each.elf.symbols if s.name == name and s.section in each.places), None)
        known = self.by_name.get(name)
        if mine is None or known is None:
            return False
        place = each.places[mine.section]
        chosen = self.symbols[known]
        return (chosen.section, chosen.value) != (place[0] + 1, mine.value + place[1])

    def _drop_externs(self, out: Btf, section: BtfType) -> None:
        """A variable declared in one object and defined in another is the latter."""
        if section.name in (".kconfig", ".ksyms"):
            return
        section.secinfos = [row for row in section.secinfos if out[row.type].linkage != EXTERN]

    def _ext(self) -> BtfExt:
        out = BtfExt()
        for each, shift in zip(self.inputs, self.shifts, strict=True):
            if each.ext is None:
                continue
            base = {s.name: each.places[s.index][1] for s in each.elf.sections if s.index in each.places}
            for name, funcs in each.ext.func_info.items():
                rows = [FuncInfo(r.insn_off + base.get(name, 0), r.type_id + shift) for r in funcs]
                out.func_info.setdefault(name, []).extend(rows)
            for name, lines in each.ext.line_info.items():
                moved = [LineInfo(r.insn_off + base.get(name, 0), r.file, r.line, r.line_col) for r in lines]
                out.line_info.setdefault(name, []).extend(moved)
            for name, relos in each.ext.core_relo.items():
                core = [CoreRelo(r.insn_off + base.get(name, 0), r.type_id + shift, r.access, r.kind) for r in relos]
                out.core_relo.setdefault(name, []).extend(core)
        return out


def _moved(t: BtfType, shift: int) -> BtfType:
    """The same type, with everything it refers to moved up."""

    def at(type_id: int) -> int:
        return type_id + shift if type_id else 0

    refers = t.kind not in (
        Kind.INT,
        Kind.STRUCT,
        Kind.UNION,
        Kind.ENUM,
        Kind.ENUM64,
        Kind.FWD,
        Kind.FLOAT,
        Kind.DATASEC,
    )
    return replace(
        t,
        type=at(t.type) if refers else t.type,
        index_type=at(t.index_type),
        members=[replace(m, type=at(m.type)) for m in t.members],
        params=[replace(p, type=at(p.type)) for p in t.params],
        secinfos=[replace(v, type=at(v.type)) for v in t.secinfos],
    )


# ------------------------------------------------------------------------------------------------- writing


def _write(sections: list[_Section], symbols: list[Symbol], order: ByteOrder) -> bytes:
    """An ELF file of these sections: header, contents, symbol table, relocations, names, section headers."""
    m = mark(order)
    places = _sorted_symbols(symbols)
    names, strtab = bytearray(b"\0"), bytearray(b"\0")
    body = bytearray(64)
    headers = [bytes(64)]

    def name_at(table: bytearray, text: str) -> int:
        if not text:
            return 0
        table += text.encode("utf-8", "surrogateescape") + b"\0"
        return len(table) - len(text.encode("utf-8", "surrogateescape")) - 1

    def put(name: str, kind: int, flags: int, data: bytes, link: int = 0, info: int = 0, align: int = 8, entry: int = 0,
            size: int | None = None) -> None:  # fmt: skip
        body.extend(bytes(-len(body) % 8))
        fields = (name_at(names, name), kind, flags, 0, len(body), len(data) if size is None else size, link, info, align,
                  entry)  # fmt: skip
        headers.append(struct.pack(m + "IIQQQQIIQQ", *fields))
        body.extend(data)

    for s in sections:
        if s.type == SHT_NOBITS:
            put(s.name, s.type, s.flags, b"", align=s.align, size=len(s.data))
        else:
            put(s.name, s.type, s.flags, bytes(s.data), align=s.align)
    table = bytearray()
    ordered = sorted(symbols, key=lambda s: places[s.index])
    for sym in ordered:
        info = sym.bind << 4 | sym.type
        row = (name_at(strtab, sym.name), info, sym.visibility, sym.section, sym.value, sym.size)
        table += struct.pack(m + "IBBHQQ", *row)
    symtab = len(headers)
    locals_count = sum(s.bind == STB_LOCAL for s in symbols)
    put(".symtab", SHT_SYMTAB, 0, bytes(table), symtab + 1, locals_count, 8, 24)
    put(".strtab", SHT_STRTAB, 0, bytes(strtab), align=1)
    for number, s in enumerate(sections, 1):
        rows = [struct.pack(m + "QQ", at, places[symbol] << 32 | kind) for at, symbol, kind in sorted(s.relocations)]
        if rows:
            put(".rel" + s.name, SHT_REL, 0, b"".join(rows), symtab, number, 8, 16)
    name_at(names, ".shstrtab")
    own = len(names) - len(".shstrtab") - 1
    body.extend(bytes(-len(body) % 8))
    headers.append(struct.pack(m + "IIQQQQIIQQ", own, SHT_STRTAB, 0, 0, len(body), len(names), 0, 0, 1, 0))
    body.extend(names)
    body.extend(bytes(-len(body) % 8))
    ident = b"\x7fELF" + bytes([2, 1 if order == "little" else 2, 1]) + bytes(9)
    fields = (ident, 1, EM_BPF, 1, 0, 0, len(body), 0, 64, 0, 0, 64, len(headers), len(headers) - 1)
    body[:64] = struct.pack(m + "16sHHIQQQIHHHHHH", *fields)
    return bytes(body) + b"".join(headers)


def _sorted_symbols(symbols: list[Symbol]) -> dict[int, int]:
    """Local symbols come first in a symbol table: old index -> new index."""
    ordered = sorted(symbols, key=lambda s: (s.bind != STB_LOCAL, s.index))
    return {s.index: n for n, s in enumerate(ordered)}


__all__ = ["link_objects"]
