"""C types with their layout, and typed views of simulated memory.

One `TypeTable` holds the types of one kernel: a data model, a version and an architecture.  It is filled from C
text (arch/cparse.py); struct and union definitions are laid out when first asked for, as gcc does.  A `View` is a
window on memory: attribute access reads and writes there.  For hot code take a `getter`/`setter` once.

Sizes, offsets and alignments are in bytes; names with `bit` are in bits.  A bit-field's `bit_offset` counts from
the first bit of its byte `offset`: from the least significant bit on little endian, from the most significant bit
on big endian (as DWARF 4's DW_AT_data_bit_offset and BTF do).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from arch.abi.version import NEWEST, KernelVersion
from arch.datamodel import CHAR_IS_UNSIGNED, LP64_LE, ByteOrder, DataModel

Getter = Callable[[Any, int], Any]
Setter = Callable[[Any, int, Any], None]


class MemoryLike(Protocol):
    """What a view needs of memory (arch/memory.py has the full Protocol)."""

    @property
    def byteorder(self) -> ByteOrder: ...

    def read(self, addr: int, size: int) -> bytes: ...

    def write(self, addr: int, data: bytes) -> None: ...

    def read_uint(self, addr: int, size: int) -> int: ...

    def write_uint(self, addr: int, size: int, value: int) -> None: ...


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

    __slots__ = ("_align", "_members", "_size", "complete_with", "is_union", "name")

    def __init__(self, name: str, is_union: bool, members: tuple[Member, ...] | None = None,
                 size: int = 0, align: int = 1) -> None:  # fmt: skip
        self.name = name
        self.is_union = is_union
        self._members = members
        self._size = size
        self._align = align
        self.complete_with: Callable[[StructType], None] | None = None

    def define(self, members: tuple[Member, ...], size: int, align: int) -> None:
        self._members, self._size, self._align = members, size, align

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
        for member in self.flat_members():
            if member.name == name:
                return member
        raise CTypeError(f"{self.kind} {self.name} has no member {name}")


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


# ---------------------------------------------------------------------------------------------------- table

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

KERNEL_HEADERS = Path(__file__).resolve().parent.parent / "simkernel" / "include"


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


class TypeTable:
    """All C types of one kernel."""

    def __init__(self, model: DataModel = LP64_LE, version: KernelVersion = NEWEST, arch: str = "x86_64") -> None:
        self.model = model
        self.version = version
        self.arch = arch
        self.names = Names()
        self.void = VoidType()
        self.integers = {row[0]: self._integer(*row) for row in _INTEGERS}
        self.floats = {
            "float": FloatType("float", 4, 4),
            "double": FloatType("double", 8, model.long_long_align),
            "long double": FloatType("long double", 16, 16) if model.word == 8 else FloatType("long double", 12, 4),
        }
        self._resolved: dict[str, CType] = {}
        from arch.cparse import Source  # the parser builds this module's types

        self._source = Source(self)

    def _integer(self, name: str, size: int, signed: bool, kind: str) -> IntType:
        if name == "char" and self.arch in CHAR_IS_UNSIGNED:
            signed = False
        size = size or self.model.word
        align = self.model.long_long_align if name.startswith("long long") else min(size, 16)
        return IntType(name, size, signed, kind, align)

    # Filling

    def parse(self, text: str, filename: str = "<text>") -> None:
        """Add the declarations of C text, all at once; raises CTypeError for what it cannot understand."""
        self._source.parse(self._source.add(text, filename))

    def load_headers(self, directory: Path = KERNEL_HEADERS) -> None:
        """Index every header of the directory; each declaration is parsed when first needed."""
        for path in sorted(directory.rglob("*.h")):
            self._source.add(path.read_text(), path.name)

    def parse_all(self) -> None:
        """Parse everything indexed so far (BTF wants all of it)."""
        self._source.parse_all()

    # Asking

    def type(self, name: str) -> CType:
        """`"struct task_struct"`, `"u32"`, `"const char *"`: any C type name."""
        found = self._resolved.get(name)
        if found is None:
            found = self._resolved[name] = self._source.type_name(name)
        return found

    def struct(self, name: str) -> StructType:
        found = self.type(name).strip
        if not isinstance(found, StructType) or not found.is_complete:
            raise CTypeError(f"{name} is not a complete struct or union")
        return found

    def prototype(self, text: str) -> FuncDecl:
        """One function prototype, `"int f(struct file *file)"`."""
        return self._source.prototype(text)

    def function(self, name: str) -> FuncDecl:
        """A function declared in the headers."""
        return self._source.function(name)

    def constant(self, name: str) -> int:
        """An enumerator or a `#define`d number."""
        return self._source.constant(name)

    def evaluate(self, expression: str) -> int:
        """A constant C expression."""
        return self._source.evaluate(expression)

    def sizeof(self, name: str) -> int:
        return self.type(name).size

    def alignof(self, name: str) -> int:
        return self.type(name).align

    def offsetof(self, name: str | CType, path: str) -> int:
        """Byte offset of `"a.b[2].c"` in the type."""
        return self.resolve(name, path).offset

    def has_member(self, name: str | CType, path: str) -> bool:
        try:
            self.resolve(name, path)
        except CTypeError:
            return False
        return True

    def resolve(self, name: str | CType, path: str) -> Member:
        """The member at the end of a path, with its offset from the outermost type."""
        return resolve_path(self.type(name) if isinstance(name, str) else name, path)

    def getter(self, name: str | CType, path: str) -> Getter:
        """A compiled reader `get(mem, addr)` of one member."""
        member = self.resolve(name, path)
        return compile_getter(member, self.model)

    def setter(self, name: str | CType, path: str) -> Setter:
        """A compiled writer `set(mem, addr, value)` of one member."""
        member = self.resolve(name, path)
        return compile_setter(member, self.model)

    def view(self, mem: MemoryLike, addr: int, name: str | CType) -> Any:
        """A View (struct), ArrayView, or for a scalar type its value."""
        ctype = self.type(name) if isinstance(name, str) else name
        return view_of(mem, addr, ctype)


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


# ------------------------------------------------------------------------------------------------ accessors


def is_signed(ctype: CType) -> bool:
    inner = ctype.strip
    return isinstance(inner, IntType | EnumType) and inner.signed


def compile_getter(member: Member, model: DataModel | None = None) -> Getter:
    """`get(mem, addr)` for one member.  Scalars give ints, structs and arrays give views."""
    inner, offset = member.type.strip, member.offset
    if isinstance(inner, StructType):
        cls = view_class(inner)
        return lambda mem, addr: cls(mem, addr + offset)
    if isinstance(inner, ArrayType):
        return lambda mem, addr: ArrayView(mem, addr + offset, inner)
    if member.bit_size:
        return _bitfield_getter(member)
    size = inner.size
    if isinstance(inner, FloatType | VoidType | FuncType):
        return lambda mem, addr: mem.read(addr + offset, size)
    if is_signed(inner):
        sign = 1 << (8 * size - 1)

        def signed(mem: MemoryLike, addr: int) -> int:
            return (mem.read_uint(addr + offset, size) ^ sign) - sign

        return signed
    return lambda mem, addr: mem.read_uint(addr + offset, size)


def compile_setter(member: Member, model: DataModel | None = None) -> Setter:
    """`set(mem, addr, value)`: ints wrap to the member's size; arrays take bytes, str or sequences; structs views."""
    inner, offset = member.type.strip, member.offset
    if isinstance(inner, StructType | ArrayType):
        return lambda mem, addr, value: _store(mem, addr + offset, inner, value)
    if member.bit_size:
        return _bitfield_setter(member)
    size = inner.size
    if isinstance(inner, FloatType | VoidType | FuncType):
        return lambda mem, addr, value: mem.write(addr + offset, value)
    if isinstance(inner, IntType) and inner.kind == "bool":
        return lambda mem, addr, value: mem.write_uint(addr + offset, size, 1 if value else 0)
    mask = (1 << (8 * size)) - 1

    def store(mem: MemoryLike, addr: int, value: int) -> None:
        mem.write_uint(addr + offset, size, value & mask)

    return store


def _bit_window(member: Member) -> tuple[int, int, int]:
    """(first byte, byte count, bits above or below): the bytes that hold a bit-field."""
    first = member.offset + member.bit_offset // 8
    skip = member.bit_offset % 8
    return first, (skip + member.bit_size + 7) // 8, skip


def _bitfield_getter(member: Member) -> Getter:
    first, count, skip = _bit_window(member)
    width = member.bit_size
    mask, big_shift = (1 << width) - 1, 8 * count - skip - width
    sign = 1 << (width - 1) if is_signed(member.type) else 0

    def get(mem: MemoryLike, addr: int) -> int:
        order = mem.byteorder
        raw = int.from_bytes(mem.read(addr + first, count), order)
        value = (raw >> (skip if order == "little" else big_shift)) & mask
        return (value ^ sign) - sign

    return get


def _bitfield_setter(member: Member) -> Setter:
    first, count, skip = _bit_window(member)
    width = member.bit_size
    mask, big_shift = (1 << width) - 1, 8 * count - skip - width

    def store(mem: MemoryLike, addr: int, value: int) -> None:
        order = mem.byteorder
        shift = skip if order == "little" else big_shift
        raw = int.from_bytes(mem.read(addr + first, count), order)
        raw = (raw & ~(mask << shift)) | ((int(value) & mask) << shift)
        mem.write(addr + first, raw.to_bytes(count, order))

    return store


def _store(mem: MemoryLike, addr: int, ctype: CType, value: Any) -> None:
    """Assign to a whole struct or array; what the value does not fill becomes zero."""
    if isinstance(value, View | ArrayView):
        value = value.bytes()
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes | bytearray):
        if len(value) > ctype.size:
            raise ValueError(f"{len(value)} bytes do not fit into {ctype.size}")
        mem.write(addr, bytes(value).ljust(ctype.size, b"\0"))
        return
    if not isinstance(ctype, ArrayType):
        raise TypeError(f"cannot assign {type(value).__name__} to {ctype!r}")
    view = ArrayView(mem, addr, ctype)
    for index, item in enumerate(value):
        view[index] = item


# ---------------------------------------------------------------------------------------------------- views


class View:
    """A struct in memory.  `View(mem, addr, ctype)`; members are attributes, or items by path: `v["a.b[1]"]`.

    Scalars are ints (pointers too), structs are views, arrays are ArrayViews.  Where a struct has a member named
    like one of these methods, the attribute is the member; `address_of()` and `v[...]` always work.
    """

    __slots__ = ("_addr", "_mem")
    _type: StructType

    def __new__(cls, mem: MemoryLike, addr: int, ctype: CType | None = None) -> View:
        if ctype is not None:
            inner = ctype.strip
            if not isinstance(inner, StructType):
                raise CTypeError(f"{ctype!r} is no struct")
            cls = view_class(inner)
        return object.__new__(cls)

    def __init__(self, mem: MemoryLike, addr: int, ctype: CType | None = None) -> None:
        self._mem = mem
        self._addr = addr

    @property
    def addr(self) -> int:
        return self._addr

    def address_of(self, path: str = "") -> int:
        """Address of a member (of the struct itself without a path)."""
        return self._addr + resolve_path(self._type, path).offset

    def bytes(self) -> bytes:
        return self._mem.read(self._addr, self._type.size)

    def follow(self, path: str) -> Any:
        """The View a pointer member points to."""
        member = resolve_path(self._type, path)
        pointer = member.type.strip
        if not isinstance(pointer, PointerType):
            raise CTypeError(f"{path} is no pointer")
        return view_of(self._mem, compile_getter(member)(self._mem, self._addr), pointer.target)

    def __getitem__(self, path: str) -> Any:
        return compile_getter(resolve_path(self._type, path))(self._mem, self._addr)

    def __setitem__(self, path: str, value: Any) -> None:
        compile_setter(resolve_path(self._type, path))(self._mem, self._addr, value)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{self._type!r} has no member {name}")

    def __setattr__(self, name: str, value: Any) -> None:
        if name[0] != "_" and not hasattr(type(self), name):
            raise AttributeError(f"{self._type!r} has no member {name}")
        object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        return f"<{self._type.kind} {self._type.name} at {self._addr:#x}>"


class ArrayView:
    """An array in memory: index, iterate, assign; `string()` for C strings."""

    __slots__ = ("_addr", "_get", "_mem", "_set", "_step", "_type")

    def __init__(self, mem: MemoryLike, addr: int, ctype: ArrayType) -> None:
        self._mem, self._addr, self._type = mem, addr, ctype
        element = Member("", ctype.elem, 0)
        self._get, self._set = compile_getter(element), compile_setter(element)
        self._step = ctype.elem.size

    @property
    def addr(self) -> int:
        return self._addr

    def __len__(self) -> int:
        return self._type.count

    def _index(self, index: int) -> int:
        """A flexible array (count 0) is not bounds-checked: the kernel's neither."""
        count = self._type.count
        if count and not -count <= index < count:
            raise IndexError(index)
        return self._addr + (index % count if count else index) * self._step

    def __getitem__(self, index: int) -> Any:
        return self._get(self._mem, self._index(index))

    def __setitem__(self, index: int, value: Any) -> None:
        self._set(self._mem, self._index(index), value)

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def bytes(self) -> bytes:
        return self._mem.read(self._addr, self._type.size)

    def string(self) -> str:
        """Text up to the first NUL."""
        return self.bytes().split(b"\0", 1)[0].decode(errors="replace")

    def __repr__(self) -> str:
        return f"<array of {len(self)} at {self._addr:#x}>"


def view_of(mem: MemoryLike, addr: int, ctype: CType) -> Any:
    return compile_getter(Member("", ctype, 0))(mem, addr)


_view_classes: dict[int, tuple[StructType, type[View]]] = {}


def view_class(struct: StructType) -> type[View]:
    """The View subclass of one struct, with a property per member; made once."""
    found = _view_classes.get(id(struct))
    if found is not None:
        return found[1]
    if not struct.is_complete:
        raise CTypeError(f"{struct!r} is incomplete")
    body: dict[str, Any] = {"__slots__": (), "_type": struct}
    for member in struct.flat_members():
        body[member.name] = _member_property(member)
    cls = type(f"View_{struct.kind}_{struct.name or 'anonymous'}", (View,), body)
    _view_classes[id(struct)] = (struct, cls)
    return cls


def _member_property(member: Member) -> property:
    """Scalars get closures of their own (one call less); the rest goes through the compiled accessors."""
    inner, offset, size = member.type.strip, member.offset, member.type.size
    setter = compile_setter(member)

    def store(self: View, value: Any) -> None:
        setter(self._mem, self._addr, value)

    if not member.bit_size and isinstance(inner, IntType | PointerType | EnumType):
        if is_signed(inner):
            sign = 1 << (8 * size - 1)

            def signed(self: View) -> Any:
                return (self._mem.read_uint(self._addr + offset, size) ^ sign) - sign

            return property(signed, store)

        def unsigned(self: View) -> Any:
            return self._mem.read_uint(self._addr + offset, size)

        return property(unsigned, store)
    make: list[Getter] = []  # compiled at first use: a struct may hold an array of its own kind's pointers

    def nested(self: View) -> Any:
        if not make:
            make.append(compile_getter(member))
        return make[0](self._mem, self._addr)

    return property(nested, store)
