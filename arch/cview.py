"""Typed views of simulated memory: attribute access reads and writes there.

A `View` is a window on one struct in memory.  For hot code take a getter or setter once (`TypeTable.getter`), which is
compiled for one member.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from arch.ctype import (
    ArrayType,
    CType,
    CTypeError,
    EnumType,
    FloatType,
    FuncType,
    IntType,
    Member,
    PointerType,
    StructType,
    VoidType,
    resolve_path,
)
from arch.datamodel import ByteOrder
from arch.htmltext import frame, table

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


def is_signed(ctype: CType) -> bool:
    inner = ctype.strip
    return isinstance(inner, IntType | EnumType) and inner.signed


def compile_getter(member: Member) -> Getter:
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


def number_place(member: Member) -> tuple[int, int] | None:
    """(offset, size) of a member that is a plain number: compile_setter() stores it as it is."""
    inner = member.type.strip
    if isinstance(inner, StructType | ArrayType | FloatType | VoidType | FuncType) or member.bit_size:
        return None
    odd = inner.size not in (1, 2, 4, 8) or (isinstance(inner, IntType) and inner.kind == "bool")
    return None if odd else (member.offset, inner.size)


def compile_setter(member: Member) -> Setter:
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

    def store(mem: MemoryLike, addr: int, value: int) -> None:  # wraps
        mem.write_uint(addr + offset, size, value)

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

    def _repr_html_(self) -> str:
        """Its members that are numbers, with their values in hexadecimal too."""
        rows: list[list[object]] = []
        for member in self._type.members:
            value = compile_getter(member)(self._mem, self._addr) if member.name else None
            if isinstance(value, int):
                rows.append([member.name, f"{value:#x}", value])
        title = f"{self._type.kind} {self._type.name} at {self._addr:#x}"
        return frame(title, table(["member", "hexadecimal", "value"], rows))


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
