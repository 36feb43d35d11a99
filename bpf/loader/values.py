"""Bytes of map values and keys as Python values, and back, by BTF type; and as text for people.

Integers and enums are ints, structs dicts, arrays lists, character arrays strings, pointers ints.
"""

from __future__ import annotations

import struct
from typing import Any

from bpf.btf import Btf, BtfError, BtfType, Kind
from bpf.btf.codec import ENUMS, INT_BOOL, INT_SIGNED

MAX_NESTING = 32


def decode(btf: Btf, type_id: int, data: bytes, depth: int = 0) -> Any:
    """The value of a type in these bytes."""
    t = btf.resolved(type_id)
    if depth > MAX_NESTING:
        raise BtfError(f"type [{type_id}] nests too deep")
    match t.kind:
        case Kind.INT:
            return _integer(btf, data[: t.size], bool(t.encoding & INT_SIGNED), bool(t.encoding & INT_BOOL))
        case Kind.ENUM | Kind.ENUM64:
            return _integer(btf, data[: t.size], t.kflag, False)
        case Kind.PTR:
            return _integer(btf, data[: btf.pointer_size], False, False)
        case Kind.FLOAT:
            form = {2: "e", 4: "f", 8: "d"}.get(t.size)
            order = "<" if btf.byteorder == "little" else ">"
            return struct.unpack(order + form, data[: t.size])[0] if form else data[: t.size]
        case Kind.ARRAY:
            if is_text(btf, t):
                return data[: t.nelems].split(b"\0", 1)[0].decode(errors="replace")
            size = btf.size_of(t.type)
            return [decode(btf, t.type, data[i * size : i * size + size], depth + 1) for i in range(t.nelems)]
        case Kind.STRUCT | Kind.UNION:
            return _struct(btf, t, data, depth)
        case Kind.VAR:
            return decode(btf, t.type, data, depth + 1)
        case Kind.DATASEC:
            return {
                btf[v.type].name: decode(btf, btf[v.type].type, data[v.offset : v.offset + v.size], depth + 1)
                for v in t.secinfos
            }
        case _:
            raise BtfError(f"a {t.kind.name} has no value")


def _integer(btf: Btf, data: bytes, signed: bool, is_bool: bool) -> int:
    value = int.from_bytes(data, btf.byteorder, signed=signed)
    return bool(value) if is_bool else value


def _struct(btf: Btf, t: BtfType, data: bytes, depth: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for m in t.members:
        if m.bit_size:
            value: Any = read_bits(btf, m.type, m.bit_offset, m.bit_size, data)
        else:
            value = decode(btf, m.type, data[m.bit_offset // 8 :], depth + 1)
        if m.name:
            out[m.name] = value
        elif isinstance(value, dict):
            out.update(value)
    return out


def read_bits(btf: Btf, type_id: int, offset: int, width: int, data: bytes) -> int:
    """A bit-field; `offset` in bits from the struct's start."""
    first, last = offset // 8, (offset + width + 7) // 8
    raw = int.from_bytes(data[first:last], btf.byteorder)
    shift = offset % 8 if btf.byteorder == "little" else 8 * (last - first) - offset % 8 - width
    value = raw >> shift & ((1 << width) - 1)
    t = btf.resolved(type_id)
    signed = t.encoding & INT_SIGNED if t.kind is Kind.INT else t.kflag
    return value - (1 << width) if signed and value >> (width - 1) else value


def is_text(btf: Btf, t: BtfType) -> bool:
    """char[n]."""
    elem = btf.resolved(t.type)
    return t.kind is Kind.ARRAY and elem.kind is Kind.INT and elem.size == 1 and elem.name in ("char", "signed char")


def encode(btf: Btf, type_id: int, value: Any, depth: int = 0) -> bytes:
    """The bytes of a value; what a dict or list does not mention is zero."""
    t = btf.resolved(type_id)
    if depth > MAX_NESTING:
        raise BtfError(f"type [{type_id}] nests too deep")
    size = btf.size_of(type_id) if t.kind is not Kind.DATASEC else t.size
    if isinstance(value, bytes | bytearray):
        if len(value) > size:
            raise ValueError(f"{len(value)} bytes do not fit into {size}")
        return bytes(value).ljust(size, b"\0")
    match t.kind:
        case Kind.INT | Kind.ENUM | Kind.ENUM64 | Kind.PTR:
            if isinstance(value, str) and t.kind in ENUMS:
                value = dict(t.values)[value]
            return (int(value) & ((1 << (8 * size)) - 1)).to_bytes(size, btf.byteorder)
        case Kind.FLOAT:
            return struct.pack(("<" if btf.byteorder == "little" else ">") + {4: "f", 8: "d"}[size], value)
        case Kind.ARRAY:
            if isinstance(value, str):
                return encode(btf, type_id, value.encode(), depth)
            each = b"".join(encode(btf, t.type, item, depth + 1) for item in value)
            if len(each) > size:
                raise ValueError(f"{len(value)} items do not fit into {t.nelems}")
            return each.ljust(size, b"\0")
        case Kind.STRUCT | Kind.UNION:
            out = bytearray(size)
            _fill(btf, t.id, dict(value), out, 0, depth)
            return bytes(out)
        case _:
            raise BtfError(f"a {t.kind.name} has no value")


def _fill(btf: Btf, type_id: int, value: dict[str, Any], out: bytearray, base: int, depth: int) -> None:
    known = {name: (typ, where, bits) for name, typ, where, bits in btf.members_of(type_id)}
    for name, item in value.items():
        if name not in known:
            raise KeyError(f"no member {name} in {btf[type_id].name or '(anonymous)'}")
        typ, where, bits = known[name]
        if bits:
            _write_bits(btf, out, base * 8 + where, bits, int(item))
        else:
            raw = encode(btf, typ, item, depth + 1)
            out[base + where // 8 : base + where // 8 + len(raw)] = raw


def _write_bits(btf: Btf, out: bytearray, offset: int, width: int, value: int) -> None:
    first, last = offset // 8, (offset + width + 7) // 8
    shift = offset % 8 if btf.byteorder == "little" else 8 * (last - first) - offset % 8 - width
    raw = int.from_bytes(out[first:last], btf.byteorder)
    mask = (1 << width) - 1
    raw = raw & ~(mask << shift) | (value & mask) << shift
    out[first:last] = raw.to_bytes(last - first, btf.byteorder)


def text(btf: Btf, type_id: int, data: bytes) -> str:
    """A value on one line: `{.count = 3, .comm = "sh"}`."""
    return _text(btf, type_id, decode(btf, type_id, data))


def _text(btf: Btf, type_id: int, value: Any) -> str:
    t = btf.resolved(type_id)
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in escaped) + '"'
    if isinstance(value, dict):
        types = {name: typ for name, typ, _, _ in btf.members_of(type_id)}
        return "{" + ", ".join(f".{k} = {_text(btf, types[k], v)}" for k, v in value.items() if k in types) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_text(btf, t.type, item) for item in value) + "]"
    if t.kind in ENUMS:
        return next((name for name, number in t.values if number == value), str(value))
    if t.kind is Kind.PTR:
        return hex(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
