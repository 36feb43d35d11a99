"""A kernel's BTF, read where somebody looks: of its hundred thousand types a program needs a few dozen.

What is made at first is where each type begins and what its name's offset is; types are decoded when they are asked for.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import overload

from bpf.btf.codec import (
    KINDS,
    TRAILER,
    Btf,
    BtfError,
    BtfType,
    ByteOrder,
    Kind,
    Strings,
    byte_order_of,
    essential_name,
    sections,
)

ASKED_MOST = 4096  # names whose types are remembered, those that are not there included: objects choose them


@lru_cache(maxsize=4)
def read_kernel_btf(data: bytes, pointer_size: int) -> Btf:
    """The BTF that a kernel shows; for the same bytes the same object.  BtfError."""
    btf = IndexedBtf(lambda: data, byte_order_of(data), pointer_size)
    if not len(btf.types):
        raise BtfError("no types")
    return btf


class LazyTypes(Sequence[BtfType]):
    """The types of an IndexedBtf; those that were asked for are kept."""

    def __init__(self, btf: IndexedBtf, starts: array[int]) -> None:
        self.btf = btf
        self.starts = starts  # of each type, in bytes from the type section's
        self.known: dict[int, BtfType] = {0: BtfType(Kind.VOID, "void")}

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, index: int) -> BtfType: ...
    @overload
    def __getitem__(self, index: slice) -> list[BtfType]: ...
    def __getitem__(self, index: int | slice) -> BtfType | list[BtfType]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(len(self)))]
        found = self.known.get(index)
        if found is None:
            number = range(len(self.starts))[index]
            found = self.known[number] = self.btf.decode(number)
        return found

    def __iter__(self) -> Iterator[BtfType]:
        for number in range(len(self.starts)):
            yield self.known.get(number) or self.btf.decode(number)


class IndexedBtf(Btf):
    """All types of a kernel.  Nothing is added to it, and it is trusted: bytes that a kernel shows."""

    data: bytes
    type_bytes: bytes
    names: array[int]  # the offset of each type's name

    def __init__(self, read: Callable[[], bytes], byteorder: ByteOrder = "little", pointer_size: int = 8) -> None:
        self.read = read
        self.byteorder = byteorder
        self.pointer_size = pointer_size

    def __getattr__(self, name: str) -> object:
        """The first look into it reads it."""
        if name not in ("data", "type_bytes", "names", "raw_strings", "types"):
            raise AttributeError(name)
        self.data = self.read()
        _, self.type_bytes, self.raw_strings = sections(self.data)
        self.names = array("I", [0])
        self.types = LazyTypes(self, self._find_types())
        return self.__dict__[name]

    def _find_types(self) -> array[int]:
        """Walk over the heads of all types."""
        words = memoryview(self.type_bytes).cast("I")
        swap = array("I", self.type_bytes)
        if (self.byteorder == "little") != (array("H", b"\1\0")[0] == 1):
            swap.byteswap()
            words = memoryview(swap)
        fixed, each = [3] * KINDS, [0] * KINDS  # in words
        for known, (first, row) in TRAILER.items():
            fixed[known], each[known] = 3 + first // 4, row // 4
        starts, names = array("I", [0]), self.names
        at, end = 0, len(words)
        while at < end:
            starts.append(4 * at)
            names.append(words[at])
            info = words[at + 1]
            kind = info >> 24 & 0x1F
            at += fixed[kind] + each[kind] * (info & 0xFFFF)
        return starts

    def decode(self, number: int) -> BtfType:
        """One type."""
        new, _ = self.read_type(self.type_bytes, self.types_start(number), self.string)
        new.id = number
        return new

    def types_start(self, number: int) -> int:
        """Where a type begins in the type section."""
        assert isinstance(self.types, LazyTypes)
        return self.types.starts[number]

    def kind(self, number: int) -> int:
        """Of a type that need not be decoded."""
        return self.type_bytes[self.types_start(number) + (7 if self.byteorder == "little" else 4)] & 0x1F

    @cached_property
    def _named(self) -> dict[int, list[int]]:
        """Types by the offset of their name."""
        found: dict[int, list[int]] = {}
        for number, name in enumerate(self.names):
            if name:
                found.setdefault(name, []).append(number)
        return found

    @cached_property
    def _asked(self) -> dict[bytes, list[int]]:
        """What `_ids` has answered: each program's verification asks for the same few names."""
        return {}

    def _ids(self, name: bytes) -> list[int]:
        """Types of this name, in the order of ids; each name is in the string section once."""
        known = self._asked.get(name)
        if known is None:
            at = self.raw_strings.find(b"\0" + name + b"\0") if name else -1
            known = self._named.get(at + 1, []) if at >= 0 else []
            if len(self._asked) >= ASKED_MOST:
                self._asked.clear()
            self._asked[name] = known
        return known

    def find(self, name: str, kind: Kind | None = None) -> int:
        ids = self._ids(name.encode("utf-8", "surrogateescape"))
        return next((each for each in ids if kind is None or self.kind(each) == kind), 0)

    @cached_property
    def _flavors(self) -> dict[str, list[str]]:
        """Names with a ___flavor, by what stands before it."""
        found: dict[str, list[str]] = {}
        at = self.raw_strings.find(b"___")
        while at >= 0:
            start = self.raw_strings.rindex(b"\0", 0, at) + 1
            end = self.raw_strings.index(b"\0", at)
            name = self.raw_strings[start:end].decode("utf-8", "surrogateescape")
            if essential_name(name) != name:
                found.setdefault(essential_name(name), []).append(name)
            at = self.raw_strings.find(b"___", end)
        return found

    def candidates(self, name: str) -> list[int]:
        found = [] if name in self._essential_only else self._ids(name.encode("utf-8", "surrogateescape"))
        for flavor in self._flavors.get(name, ()):
            found = found + self._ids(flavor.encode("utf-8", "surrogateescape"))
        return sorted(found)

    @cached_property
    def _essential_only(self) -> frozenset[str]:
        """Names that are flavors themselves: no essential name."""
        return frozenset(name for names in self._flavors.values() for name in names)

    def functions(self) -> Iterator[BtfType]:
        assert isinstance(self.types, LazyTypes)
        return (self.types[each] for each in range(1, len(self.types)) if self.kind(each) == Kind.FUNC)

    def encode(self, byteorder: ByteOrder | None = None, strings: Strings | None = None) -> bytes:
        if strings is None and byteorder in (None, self.byteorder):
            return self.data
        return super().encode(byteorder, strings)
