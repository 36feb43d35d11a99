"""The .BTF.ext section: what belongs to which instruction.  tools/lib/bpf/libbpf_internal.h, kernel's struct bpf_func_info,
bpf_line_info and bpf_core_relo.

Instruction offsets in the file are bytes from the section's start; here too.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum

from arch.records import dataclass, field
from bpf.btf.codec import MAGIC, Btf, BtfError, ByteOrder, Strings, byte_order_of, mark


class CoreKind(IntEnum):
    """enum bpf_core_relo_kind."""

    FIELD_BYTE_OFFSET = 0
    FIELD_BYTE_SIZE = 1
    FIELD_EXISTS = 2
    FIELD_SIGNED = 3
    FIELD_LSHIFT_U64 = 4
    FIELD_RSHIFT_U64 = 5
    TYPE_ID_LOCAL = 6
    TYPE_ID_TARGET = 7
    TYPE_EXISTS = 8
    TYPE_SIZE = 9
    ENUMVAL_EXISTS = 10
    ENUMVAL_VALUE = 11
    TYPE_MATCHES = 12


@dataclass(frozen=True, slots=True)
class FuncInfo:
    insn_off: int
    type_id: int


@dataclass(frozen=True, slots=True)
class LineInfo:
    """`line_col` is line << 10 | column."""

    insn_off: int
    file: str
    line: str
    line_col: int
    file_off: int = 0
    line_off: int = 0


@dataclass(frozen=True, slots=True)
class CoreRelo:
    insn_off: int
    type_id: int
    access: str
    kind: int


@dataclass
class BtfExt:
    """Records by section name."""

    func_info: dict[str, list[FuncInfo]] = field(default_factory=dict)
    line_info: dict[str, list[LineInfo]] = field(default_factory=dict)
    core_relo: dict[str, list[CoreRelo]] = field(default_factory=dict)

    @classmethod
    def parse(cls, data: bytes, btf: Btf) -> BtfExt:
        """Decode; strings are those of the object's .BTF."""
        order = byte_order_of(data)
        m = mark(order)
        hdr_len = struct.unpack_from(m + "I", data, 4)[0]
        count = min(3, (hdr_len - 8) // 8)
        if hdr_len < 24 or len(data) < 8 + 8 * count:
            raise BtfError(f".BTF.ext header of {hdr_len} bytes")
        parts = [struct.unpack_from(m + "II", data, 8 + 8 * i) for i in range(count)] + [(0, 0)] * (3 - count)
        ext = cls()
        for section, row in _records(data, m, hdr_len, parts[0], 8, btf):
            ext.func_info.setdefault(section, []).append(FuncInfo(*struct.unpack_from(m + "II", row)))
        for section, row in _records(data, m, hdr_len, parts[1], 16, btf):
            insn_off, file_off, line_off, line_col = struct.unpack_from(m + "IIII", row)
            info = LineInfo(insn_off, btf.string(file_off), btf.string(line_off), line_col, file_off, line_off)
            ext.line_info.setdefault(section, []).append(info)
        for section, row in _records(data, m, hdr_len, parts[2], 16, btf):
            insn_off, type_id, access_off, kind = struct.unpack_from(m + "IIII", row)
            ext.core_relo.setdefault(section, []).append(CoreRelo(insn_off, type_id, btf.string(access_off), kind))
        return ext

    def encode(self, strings: Strings, byteorder: ByteOrder = "little") -> bytes:
        """The bytes of a .BTF.ext section; names go to the given string section."""
        m = mark(byteorder)
        funcs = _encode(m, 8, strings, self.func_info, lambda x: struct.pack(m + "II", x.insn_off, x.type_id))
        lines = _encode(
            m,
            16,
            strings,
            self.line_info,
            lambda x: struct.pack(m + "IIII", x.insn_off, strings.add(x.file), strings.add(x.line), x.line_col),
        )
        relos = _encode(
            m,
            16,
            strings,
            self.core_relo,
            lambda x: struct.pack(m + "IIII", x.insn_off, x.type_id, strings.add(x.access), x.kind),
        )
        header = struct.pack(
            m + "HBBIIIIIII",
            *(MAGIC, 1, 0, 32, 0, len(funcs), len(funcs), len(lines), len(funcs) + len(lines), len(relos)),
        )
        return header + funcs + lines + relos


def _records(
    data: bytes, m: str, hdr_len: int, part: tuple[int, ...], smallest: int, btf: Btf
) -> Iterator[tuple[str, bytes]]:
    """(section, record) of one sub-section: record size, then per section name, count and records."""
    off, length = part
    if not length:
        return
    position, end = hdr_len + off, hdr_len + off + length
    if end > len(data) or length < 4:
        raise BtfError(".BTF.ext sub-section outside the data")
    (size,) = struct.unpack_from(m + "I", data, position)
    if size < smallest or size % 4:
        raise BtfError(f".BTF.ext record size {size}")
    position += 4
    while position < end:
        if position + 8 > end:
            raise BtfError(".BTF.ext sub-section ends inside a header")
        name_off, count = struct.unpack_from(m + "II", data, position)
        position += 8
        if not count or position + count * size > end:
            raise BtfError(".BTF.ext sub-section ends inside its records")
        name = btf.string(name_off)
        for _ in range(count):
            yield name, data[position : position + size]
            position += size


def _encode(m: str, size: int, strings: Strings, table: dict, pack) -> bytes:  # type: ignore[no-untyped-def,type-arg]
    if not table:
        return b""
    out = bytearray(struct.pack(m + "I", size))
    for section, rows in table.items():
        out += struct.pack(m + "II", strings.add(section), len(rows))
        for row in rows:
            out += pack(row)
    return bytes(out)
