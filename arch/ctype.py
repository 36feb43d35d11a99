"""C types with their layout, as gcc lays them out.

Sizes, offsets and alignments are in bytes; names with `bit` are in bits.  A bit-field's `bit_offset` counts from
the first bit of its byte `offset`: from the least significant bit on little endian, from the most significant bit
on big endian (as DWARF 4's DW_AT_data_bit_offset and BTF do).

From here up: cscan.py cuts C text into declarations, cparse.py parses them, typetable.py holds all types of one
kernel, cview.py reads and writes them in memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from arch.datamodel import DataModel
from arch.records import dataclass, field


class CTypeError(Exception):
    """A C declaration that cannot be understood, or a type or member that does not exist."""


# ---------------------------------------------------------------------------------------------------- types


class CType:
    """Base of all types: `size` and `align` in bytes (an incomplete type has size 0)."""

    size: int
    align: int

    @property
    def strip(self) -> CType:
        """Without typedefs and qualifiers."""
        return self


@dataclass(frozen=True, eq=False)
class VoidType(CType):
    size: int = 0
    align: int = 1


@dataclass(frozen=True, eq=False)
class IntType(CType):
    """`kind` is "int", "char" or "bool"."""

    name: str
    size: int
    signed: bool
    kind: str = "int"
    align: int = 0

    def __post_init__(self) -> None:
        if not self.align:
            object.__setattr__(self, "align", self.size)


@dataclass(frozen=True, eq=False)
class FloatType(CType):
    name: str
    size: int
    align: int


@dataclass(frozen=True, eq=False)
class PointerType(CType):
    target: CType
    size: int = 8

    @property
    def align(self) -> int:  # type: ignore[override]
        return self.size


@dataclass(frozen=True, eq=False)
class ArrayType(CType):
    """`count` 0 is a flexible array member."""

    elem: CType
    count: int

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.elem.size * self.count

    @property
    def align(self) -> int:  # type: ignore[override]
        return self.elem.align


@dataclass(frozen=True, eq=False)
class EnumType(CType):
    name: str
    size: int
    values: tuple[tuple[str, int], ...]
    signed: bool = False
    align: int = 0

    def __post_init__(self) -> None:
        if not self.align:
            object.__setattr__(self, "align", self.size)


@dataclass(frozen=True, eq=False)
class TypedefType(CType):
    name: str
    target: CType
    min_align: int = 0

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.target.size

    @property
    def align(self) -> int:  # type: ignore[override]
        return self.min_align or self.target.align

    @property
    def strip(self) -> CType:
        return self.target.strip


@dataclass(frozen=True, eq=False)
class QualifiedType(CType):
    """`qualifier` is "const", "volatile" or "restrict"."""

    qualifier: str
    target: CType

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.target.size

    @property
    def align(self) -> int:  # type: ignore[override]
        return self.target.align

    @property
    def strip(self) -> CType:
        return self.target.strip


@dataclass(frozen=True, eq=False)
class FuncType(CType):
    ret: CType
    params: tuple[tuple[str, CType], ...]
    variadic: bool = False
    size: int = 1
    align: int = 1


@dataclass(frozen=True, eq=False)
class Member:
    """One member; `name` is "" for an anonymous struct or union, `bit_size` 0 for anything but a bit-field."""

    name: str
    type: CType
    offset: int
    bit_offset: int = 0
    bit_size: int = 0

    @property
    def bit_position(self) -> int:
        return self.offset * 8 + self.bit_offset


@dataclass(frozen=True, eq=False)
class MemberDecl:
    """A member as declared, before layout."""

    name: str
    type: CType
    bit_size: int | None = None
    align: int = 0
    packed: bool = False


class StructType(CType):
    """A struct or union.  May be named before it is defined; `members` looks the definition up when needed."""

    __slots__ = ("_align", "_members", "_named", "_size", "complete_with", "is_union", "name")

    def __init__(self, name: str, is_union: bool, members: tuple[Member, ...] | None = None,
                 size: int = 0, align: int = 1) -> None:  # fmt: skip
        self.name = name
        self.is_union = is_union
        self._members = members
        self._size = size
        self._align = align
        self._named: dict[str, Member] | None = None
        self.complete_with: Callable[[StructType], None] | None = None

    def define(self, members: tuple[Member, ...], size: int, align: int) -> None:
        self._members, self._size, self._align, self._named = members, size, align, None

    def _load(self) -> None:
        if self._members is None and self.complete_with is not None:
            self.complete_with(self)

    @property
    def members(self) -> tuple[Member, ...]:
        self._load()
        return self._members or ()

    @property
    def size(self) -> int:  # type: ignore[override]
        self._load()
        return self._size

    @property
    def align(self) -> int:  # type: ignore[override]
        self._load()
        return self._align

    @property
    def is_complete(self) -> bool:
        self._load()
        return self._members is not None

    @property
    def kind(self) -> str:
        return "union" if self.is_union else "struct"

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name or '(anonymous)'}>"

    def flat_members(self, base: int = 0) -> Iterator[Member]:
        """The members as C expressions see them: those of anonymous structs and unions included, at their offset."""
        for member in self.members:
            inner = member.type.strip
            if not member.name and isinstance(inner, StructType):
                yield from inner.flat_members(base + member.offset)
            elif member.name:
                yield Member(member.name, member.type, base + member.offset, member.bit_offset, member.bit_size)

    def member(self, name: str) -> Member:
        named = self._named
        if named is None:
            named = {}
            for member in self.flat_members():
                named.setdefault(member.name, member)  # of two, C takes the first
            self._named = named
        found = named.get(name)
        if found is None:
            raise CTypeError(f"{self.kind} {self.name} has no member {name}")
        return found


@dataclass(frozen=True, eq=False)
class FuncDecl:
    """A function's prototype: what kallsyms, BTF and argument passing are made from."""

    name: str
    ret: CType
    params: tuple[tuple[str, CType], ...]
    variadic: bool = False
    static: bool = False


# --------------------------------------------------------------------------------------------------- layout


def align_up(value: int, to: int) -> int:
    return (value + to - 1) // to * to


def lay_out(decls: Sequence[MemberDecl], is_union: bool, packed: bool = False,
            min_align: int = 0) -> tuple[tuple[Member, ...], int, int]:  # fmt: skip
    """Place members as gcc does (PCC_BITFIELD_TYPE_MATTERS): members, size, alignment."""
    members: list[Member] = []
    end_bit, align, position = 0, max(1, min_align), 0
    for decl in decls:
        if is_union:
            position = 0
        tight = packed or decl.packed
        natural = max(1 if tight else decl.type.align, decl.align)
        if decl.bit_size is None:
            position = align_up(position, natural * 8)
            members.append(Member(decl.name, decl.type, position // 8))
            position += decl.type.size * 8
            align = max(align, natural)
        else:
            position, aligns = place_bitfield(decl, position, tight)
            if aligns:
                align = max(align, natural)
            if decl.bit_size and decl.name:
                members.append(bitfield_member(decl, position))
            position += decl.bit_size
        end_bit = max(end_bit, position)
    return tuple(members), align_up((end_bit + 7) // 8, align), align


def place_bitfield(decl: MemberDecl, position: int, tight: bool) -> tuple[int, bool]:
    """Where a bit-field starts, and whether it raises the struct's alignment."""
    unit = decl.type.align * 8
    if not decl.bit_size:
        return align_up(position, decl.type.size * 8), False
    if decl.align:
        position = align_up(position, decl.align * 8)
    spanned = (position % unit + decl.bit_size + unit - 1) // unit
    if not tight and spanned > decl.type.size * 8 // unit:
        position = align_up(position, unit)
    return position, bool(decl.name)


def bitfield_member(decl: MemberDecl, position: int) -> Member:
    """Give the byte offset of the storage unit where the field fits in one, else of its first byte."""
    unit = decl.type.size * 8
    start = position // unit * unit
    width = decl.bit_size or 0
    if position + width > start + unit:
        start = position // 8 * 8
    return Member(decl.name, decl.type, start // 8, position - start, width)


_PATH = re.compile(r"\.?([A-Za-z_]\w*)|\[(\d+)\]")


def resolve_path(ctype: CType, path: str) -> Member:
    here = Member("", ctype, 0)
    position = 0
    while position < len(path):
        match = _PATH.match(path, position)
        if match is None:
            raise CTypeError(f"bad member path {path!r}")
        position = match.end()
        inner = here.type.strip
        if match[1]:
            if not isinstance(inner, StructType):
                raise CTypeError(f"{path!r}: {match[1]} is asked of something that is no struct")
            found = inner.member(match[1])
            here = Member(found.name, found.type, here.offset + found.offset, found.bit_offset, found.bit_size)
        else:
            if not isinstance(inner, ArrayType):
                raise CTypeError(f"{path!r}: index into something that is no array")
            here = Member(here.name, inner.elem, here.offset + int(match[2]) * inner.elem.size)
    return here


# --------------------------------------------------------------------------------------- what a compiler brings

_INTEGERS = (
    # name                      size (0: long)  signed  kind
    ("char", 1, True, "char"),
    ("signed char", 1, True, "char"),
    ("unsigned char", 1, False, "char"),
    ("short int", 2, True, "int"),
    ("short unsigned int", 2, False, "int"),
    ("int", 4, True, "int"),
    ("unsigned int", 4, False, "int"),
    ("long int", 0, True, "int"),
    ("long unsigned int", 0, False, "int"),
    ("long long int", 8, True, "int"),
    ("long long unsigned int", 8, False, "int"),
    ("__int128", 16, True, "int"),
    ("__int128 unsigned", 16, False, "int"),
    ("_Bool", 1, False, "bool"),
)


class BaseTypes:
    """The types that need no declaration, in one data model."""

    def __init__(self, model: DataModel) -> None:
        self.model = model
        self.void = VoidType()
        self.integers = {row[0]: self._integer(*row) for row in _INTEGERS}
        self.floats = {
            "float": FloatType("float", 4, 4),
            "double": FloatType("double", 8, model.long_long_align),
            "long double": FloatType("long double", 16, 16) if model.word == 8 else FloatType("long double", 12, 4),
        }

    def _integer(self, name: str, size: int, signed: bool, kind: str) -> IntType:
        if name == "char":
            signed = self.model.char_signed
        size = size or self.model.word
        align = self.model.long_long_align if name.startswith("long long") else min(size, 16)
        return IntType(name, size, signed, kind, align)


@dataclass
class Names:
    """The name spaces of C."""

    typedefs: dict[str, CType] = field(default_factory=dict)
    structs: dict[tuple[bool, str], StructType] = field(default_factory=dict)  # (is_union, tag)
    enums: dict[str, EnumType] = field(default_factory=dict)
    anonymous_enums: list[EnumType] = field(default_factory=list)
    constants: dict[str, int] = field(default_factory=dict)  # enumerators and object-like macros
    functions: dict[str, FuncDecl] = field(default_factory=dict)
    variables: dict[str, CType] = field(default_factory=dict)
