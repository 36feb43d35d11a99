"""BTF bytes to types and back.  include/uapi/linux/btf.h, Documentation/bpf/btf.rst.

Reading is for trusted layout only: it refuses what cannot be decoded (`BtfError`), not what makes no sense; the
kernel's own judgement is check.py.  Type ids are indexes; id 0 is void.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import Any, Literal

from arch.records import dataclass, field

ByteOrder = Literal["little", "big"]

MAGIC = 0xEB9F
VERSION = 1
HEADER = "HBBIIIII"  # magic, version, flags, hdr_len, type_off, type_len, str_off, str_len
BTF_HEADER_SIZE = 24
MAX_RESOLVE_DEPTH = 32

INT_SIGNED, INT_CHAR, INT_BOOL = 1, 2, 4
STATIC, GLOBAL, EXTERN = 0, 1, 2  # linkage of FUNC (vlen) and VAR


class Kind(IntEnum):
    VOID = 0  # the kernel says UNKN
    INT = 1
    PTR = 2
    ARRAY = 3
    STRUCT = 4
    UNION = 5
    ENUM = 6
    FWD = 7
    TYPEDEF = 8
    VOLATILE = 9
    CONST = 10
    RESTRICT = 11
    FUNC = 12
    FUNC_PROTO = 13
    VAR = 14
    DATASEC = 15
    FLOAT = 16
    DECL_TAG = 17
    TYPE_TAG = 18
    ENUM64 = 19


# What follows the 12 bytes of a type: bytes in all, and bytes per vlen.
TRAILER = {Kind.INT: (4, 0), Kind.ARRAY: (12, 0), Kind.STRUCT: (0, 12), Kind.UNION: (0, 12), Kind.ENUM: (0, 8),
            Kind.FUNC_PROTO: (0, 8), Kind.VAR: (4, 0), Kind.DATASEC: (0, 12), Kind.DECL_TAG: (4, 0),
            Kind.ENUM64: (0, 12)}  # fmt: skip
KINDS = 32  # kinds that fit into the word of a type's head
SIZED = frozenset({Kind.INT, Kind.STRUCT, Kind.UNION, Kind.ENUM, Kind.DATASEC, Kind.FLOAT, Kind.ENUM64})
MODIFIERS = frozenset({Kind.VOLATILE, Kind.CONST, Kind.RESTRICT, Kind.TYPE_TAG, Kind.TYPEDEF})
QUALIFIERS = MODIFIERS - {Kind.TYPEDEF}
COMPOSITES = frozenset({Kind.STRUCT, Kind.UNION})
ENUMS = frozenset({Kind.ENUM, Kind.ENUM64})


class BtfError(ValueError):
    """Bytes that are no BTF, or a type that is not there."""


@dataclass(slots=True)
class Member:
    """Of a struct or union; `bit_offset` and `bit_size` (0: no bit-field) in bits."""

    name: str
    type: int
    bit_offset: int
    bit_size: int = 0


@dataclass(slots=True)
class Param:
    """Of a function prototype; name "" and type 0 at the end means `...`."""

    name: str
    type: int


@dataclass(slots=True)
class Secinfo:
    """One variable of a DATASEC; offset and size in bytes."""

    type: int
    offset: int
    size: int


@dataclass(slots=True)
class BtfType:
    """One type.  `type` is the type id that PTR, TYPEDEF, FUNC, VAR ... refer to; `size` in bytes."""

    kind: Kind
    name: str = ""
    size: int = 0
    type: int = 0
    kflag: bool = False  # FWD: union; ENUM: signed; STRUCT: members carry bit-field sizes
    encoding: int = 0  # INT
    bits: int = 0  # INT
    bit_offset: int = 0  # INT
    nelems: int = 0  # ARRAY
    index_type: int = 0  # ARRAY
    linkage: int = 0  # FUNC, VAR
    component_idx: int = -1  # DECL_TAG
    members: list[Member] = field(default_factory=list)
    values: list[tuple[str, int]] = field(default_factory=list)  # ENUM, ENUM64
    params: list[Param] = field(default_factory=list)
    secinfos: list[Secinfo] = field(default_factory=list)
    id: int = 0

    @property
    def vlen(self) -> int:
        return len(self.members or self.values or self.params or self.secinfos)


class Strings:
    """A string section being built; equal strings are stored once."""

    def __init__(self) -> None:
        self.data = bytearray(b"\0")
        self._offsets: dict[str, int] = {"": 0}

    def add(self, text: str) -> int:
        found = self._offsets.get(text)
        if found is None:
            found = self._offsets[text] = len(self.data)
            self.data += text.encode("utf-8", "surrogateescape") + b"\0"
        return found


class Btf:
    """All types of one object or kernel."""

    def __init__(self, byteorder: ByteOrder = "little", pointer_size: int = 8) -> None:
        self.byteorder: ByteOrder = byteorder
        self.pointer_size = pointer_size
        self.types: Sequence[BtfType] = [BtfType(Kind.VOID, "void")]
        self.raw_strings = b"\0"
        self._by_name: dict[tuple[str, Kind], int] | None = None
        self._essential: dict[str, list[int]] | None = None

    # Reading

    @classmethod
    def parse(cls, data: bytes, pointer_size: int = 8) -> Btf:
        """Decode a .BTF section; the byte order is the magic's."""
        order, types, strings = sections(data)
        btf = cls(order, pointer_size)
        btf.raw_strings = strings
        btf._read_types(types)
        btf._check_references()
        return btf

    def _check_references(self) -> None:
        """Every type that is referred to exists."""
        count = len(self.types)
        for t in self.types:
            highest = max(t.type, t.index_type)
            for rows in (t.members, t.params, t.secinfos):
                for row in rows:
                    highest = max(highest, row.type)
            if highest >= count:
                raise BtfError(f"type [{t.id}] refers to [{highest}], which is not there")

    def string(self, offset: int) -> str:
        if offset >= len(self.raw_strings):
            raise BtfError(f"string offset {offset} outside the string section")
        end = self.raw_strings.index(b"\0", offset)
        return self.raw_strings[offset:end].decode("utf-8", "surrogateescape")

    def _read_types(self, data: bytes) -> None:
        position = 0
        names: dict[int, str] = {}

        def name_of(offset: int) -> str:
            found = names.get(offset)
            if found is None:
                found = names[offset] = self.string(offset)
            return found

        while position < len(data):
            new, position = self.read_type(data, position, name_of)
            self.append(new)

    def read_type(self, data: bytes, position: int, name_of: Callable[[int], str]) -> tuple[BtfType, int]:
        """The type at a position of the type section, and where it ends."""
        if position + 12 > len(data):
            raise BtfError("BTF type section ends inside a type")
        name_off, info, size = struct.unpack_from(mark(self.byteorder) + "III", data, position)
        position += 12
        number, vlen = info >> 24 & 0x1F, info & 0xFFFF
        if not 0 < number <= Kind.ENUM64:
            raise BtfError(f"type {len(self.types)} is of unknown kind {number}")
        kind = Kind(number)
        fixed, each = TRAILER.get(kind, (0, 0))
        length = fixed + each * vlen
        if position + length > len(data):
            raise BtfError("BTF type section ends inside a type")
        new = BtfType(kind, name_of(name_off), kflag=bool(info >> 31))
        if kind in SIZED:
            new.size = size
        elif kind is not Kind.ARRAY:
            new.type = size
        self._read_trailer(new, data[position : position + length], vlen, name_of)
        return new, position + length

    def _read_trailer(self, new: BtfType, data: bytes, vlen: int, name: Callable[[int], str]) -> None:
        m = mark(self.byteorder)
        match new.kind:
            case Kind.INT:
                (word,) = struct.unpack(m + "I", data)
                new.encoding, new.bit_offset, new.bits = word >> 24 & 0xF, word >> 16 & 0xFF, word & 0xFF
            case Kind.ARRAY:
                new.type, new.index_type, new.nelems = struct.unpack(m + "III", data)
            case Kind.STRUCT | Kind.UNION:
                for off, typ, where in struct.iter_unpack(m + "III", data):
                    if new.kflag:
                        new.members.append(Member(name(off), typ, where & 0xFFFFFF, where >> 24))
                    else:
                        new.members.append(Member(name(off), typ, where))
            case Kind.ENUM:
                form = m + ("Ii" if new.kflag else "II")
                # Before 6.0 enumerators were always signed, and the flag was clear: such values read as unsigned.
                new.values = [(name(off), value) for off, value in struct.iter_unpack(form, data)]
            case Kind.ENUM64:
                for off, low, high in struct.iter_unpack(m + "III", data):
                    value = high << 32 | low
                    new.values.append((name(off), value - (1 << 64) if new.kflag and value >> 63 else value))
            case Kind.FUNC_PROTO:
                new.params = [Param(name(off), typ) for off, typ in struct.iter_unpack(m + "II", data)]
            case Kind.VAR:
                (new.linkage,) = struct.unpack(m + "I", data)
            case Kind.DATASEC:
                new.secinfos = [Secinfo(*row) for row in struct.iter_unpack(m + "III", data)]
            case Kind.DECL_TAG:
                (new.component_idx,) = struct.unpack(m + "i", data)
            case Kind.FUNC:
                new.linkage = vlen
            case _:
                pass

    # Writing

    def encode(self, byteorder: ByteOrder | None = None, strings: Strings | None = None) -> bytes:
        """The bytes of a .BTF section."""
        m = mark(byteorder or self.byteorder)
        strings = strings or Strings()
        out = bytearray()
        for each in self.types[1:]:
            out += _encode_type(each, m, strings)
        header = struct.pack(m + HEADER, MAGIC, VERSION, 0, BTF_HEADER_SIZE, 0, len(out), len(out), len(strings.data))
        return header + bytes(out) + bytes(strings.data)

    # Building

    def append(self, new: BtfType) -> int:
        """Add a type; its id."""
        new.id = len(self.types)
        assert isinstance(self.types, list)
        self.types.append(new)
        self._by_name = self._essential = None
        return new.id

    # Asking

    def __len__(self) -> int:
        return len(self.types)

    def __getitem__(self, type_id: int) -> BtfType:
        if not 0 <= type_id < len(self.types):
            raise BtfError(f"no type [{type_id}]")
        return self.types[type_id]

    def find(self, name: str, kind: Kind | None = None) -> int:
        """Id of the first type of that name (and kind), or 0."""
        if self._by_name is None:
            self._by_name = {}
            for each in self.types[1:]:
                if each.name:
                    self._by_name.setdefault((each.name, each.kind), each.id)
        if kind is not None:
            return self._by_name.get((name, kind), 0)
        return min((i for (n, _), i in self._by_name.items() if n == name), default=0)

    def skip(self, type_id: int, kinds: frozenset[Kind] = MODIFIERS) -> int:
        """Follow typedefs and qualifiers."""
        for _ in range(MAX_RESOLVE_DEPTH * 8):
            each = self[type_id]
            if each.kind not in kinds:
                return type_id
            type_id = each.type
        raise BtfError(f"type [{type_id}] refers to itself")

    def resolved(self, type_id: int) -> BtfType:
        return self[self.skip(type_id)]

    def size_of(self, type_id: int) -> int:
        """Size in bytes; BtfError for what has none."""
        count = 1
        for _ in range(MAX_RESOLVE_DEPTH):
            each = self[type_id]
            if each.kind in SIZED:
                return each.size * count
            if each.kind is Kind.PTR:
                return self.pointer_size * count
            if each.kind is Kind.ARRAY:
                count *= each.nelems
            elif each.kind not in MODIFIERS and each.kind is not Kind.VAR:
                break
            type_id = each.type
        raise BtfError(f"type [{type_id}] has no size")

    def align_of(self, type_id: int, depth: int = 0) -> int:
        """Natural alignment in bytes, as libbpf's btf__align_of() guesses it."""
        each = self.resolved(type_id)
        if depth > MAX_RESOLVE_DEPTH:
            raise BtfError(f"type [{type_id}] nests too deep")
        if each.kind in (Kind.INT, Kind.ENUM, Kind.ENUM64, Kind.FLOAT):
            return min(self.pointer_size, each.size) or 1
        if each.kind is Kind.PTR:
            return self.pointer_size
        if each.kind is Kind.ARRAY:
            return self.align_of(each.type, depth + 1)
        if each.kind in COMPOSITES:
            align = max((self.align_of(m.type, depth + 1) for m in each.members), default=1)
            packed = each.size % align or any(
                not m.bit_size and m.bit_offset % (8 * self.align_of(m.type, depth + 1)) for m in each.members
            )
            return 1 if packed else align
        return 1

    def name_of(self, type_id: int) -> str:
        return self[type_id].name

    def members_of(self, type_id: int) -> Iterator[tuple[str, int, int, int]]:
        """(name, type, bit offset, bit size) with those of anonymous structs and unions included."""
        stack = [(type_id, 0, 0)]
        while stack:
            current, base, depth = stack.pop()
            inner = []
            for member in self.resolved(current).members:
                target = self.resolved(member.type)
                if not member.name and target.kind in COMPOSITES and depth < MAX_RESOLVE_DEPTH:
                    inner.append((member.type, base + member.bit_offset, depth + 1))
                else:
                    yield member.name, member.type, base + member.bit_offset, member.bit_size
            stack.extend(reversed(inner))

    def candidates(self, name: str) -> list[int]:
        """Types with this name, or with it and a ___flavor, in id order (for CO-RE)."""
        if self._essential is None:
            self._essential = {}
            for each in self.types[1:]:
                if each.name:
                    self._essential.setdefault(essential_name(each.name), []).append(each.id)
        return self._essential.get(name, [])

    def functions(self) -> Iterator[BtfType]:
        return (each for each in self.types if each.kind is Kind.FUNC)


class LazyBtf(Btf):
    """A Btf that is made when something first looks into it: a kernel's, which most programs never need."""

    def __init__(self, make: Callable[[], Btf]) -> None:
        self.__dict__["_make"] = make

    def __getattr__(self, name: str) -> Any:
        make = self.__dict__.get("_make")
        if make is None:
            raise AttributeError(name)
        self.__dict__.update(make().__dict__, _make=None)
        return getattr(self, name)


def essential_name(name: str) -> str:
    """`task_struct___old` is a flavor of `task_struct`.  libbpf's bpf_core_essential_name_len()."""
    for end in range(len(name) - 5, -1, -1):
        if name[end + 1 : end + 4] == "___" and name[end] != "_" and name[end + 4] != "_":
            return name[: end + 1]
    return name


def mark(order: ByteOrder) -> str:
    """struct's character for a byte order."""
    return "<" if order == "little" else ">"


def sections(data: bytes) -> tuple[ByteOrder, bytes, bytes]:
    """The byte order, the types and the strings of a .BTF section.  BtfError."""
    order = byte_order_of(data)
    _, version, _, hdr_len, type_off, type_len, str_off, str_len = struct.unpack_from(mark(order) + HEADER, data)
    if version != VERSION:
        raise BtfError(f"unsupported BTF version {version}")
    if hdr_len < BTF_HEADER_SIZE or max(hdr_len + type_off + type_len, hdr_len + str_off + str_len) > len(data):
        raise BtfError("BTF sections lie outside the data")
    types, strings = data[hdr_len + type_off :][:type_len], data[hdr_len + str_off :][:str_len]
    if not strings or strings[0] or strings[-1]:
        raise BtfError("BTF string section does not begin and end with NUL")
    return order, types, strings


def byte_order_of(data: bytes) -> ByteOrder:
    if len(data) < BTF_HEADER_SIZE:
        raise BtfError("too short for a BTF header")
    if data[:2] == MAGIC.to_bytes(2, "little"):
        return "little"
    if data[:2] == MAGIC.to_bytes(2, "big"):
        return "big"
    raise BtfError(f"bad BTF magic {data[:2].hex()}")


def _encode_type(t: BtfType, m: str, strings: Strings) -> bytes:
    kflag = t.kflag or any(member.bit_size for member in t.members)
    vlen = t.linkage if t.kind is Kind.FUNC else t.vlen
    if vlen > 0xFFFF:
        raise BtfError(f"{t.name}: {vlen} are more than a type can hold")
    last = t.size if t.kind in SIZED else 0 if t.kind is Kind.ARRAY else t.type
    head = struct.pack(m + "III", strings.add(t.name), kflag << 31 | t.kind << 24 | vlen, last & 0xFFFFFFFF)
    match t.kind:
        case Kind.INT:
            return head + struct.pack(m + "I", t.encoding << 24 | t.bit_offset << 16 | t.bits)
        case Kind.ARRAY:
            return head + struct.pack(m + "III", t.type, t.index_type, t.nelems)
        case Kind.STRUCT | Kind.UNION:
            return head + b"".join(
                struct.pack(m + "III", strings.add(x.name), x.type, x.bit_size << 24 | x.bit_offset) for x in t.members
            )
        case Kind.ENUM:
            return head + b"".join(
                struct.pack(m + "II", strings.add(name), value & 0xFFFFFFFF) for name, value in t.values
            )
        case Kind.ENUM64:
            return head + b"".join(
                struct.pack(m + "III", strings.add(name), value & 0xFFFFFFFF, value >> 32 & 0xFFFFFFFF)
                for name, value in t.values
            )
        case Kind.FUNC_PROTO:
            return head + b"".join(struct.pack(m + "II", strings.add(p.name), p.type) for p in t.params)
        case Kind.VAR:
            return head + struct.pack(m + "I", t.linkage)
        case Kind.DATASEC:
            return head + b"".join(struct.pack(m + "III", v.type, v.offset, v.size) for v in t.secinfos)
        case Kind.DECL_TAG:
            return head + struct.pack(m + "i", t.component_idx)
        case _:
            return head
