"""Types of a program: numbers, structs, arrays and pointers.  Sizes and offsets in bytes, as BPF lays them out.

A kernel struct is its name and the members that the program uses: their places come from the running kernel (CO-RE).
"""

from __future__ import annotations

from typing import Literal

from arch.records import dataclass, field

# How what a pointer points to is reached.
Space = Literal["memory", "kernel", "btf"]  # by load and store; by probe_read_kernel(); by load, relocated


class Type:
    """Base of all; `size` and `align` in bytes."""

    size: int
    align: int

    @property
    def ir(self) -> str:
        """The type in memory, as LLVM writes it."""
        raise NotImplementedError


@dataclass(frozen=True)
class Int(Type):
    name: str  # "u32", "char"
    size: int
    signed: bool

    @property
    def align(self) -> int:  # type: ignore[override]
        return self.size

    @property
    def ir(self) -> str:
        return f"i{8 * self.size}"


@dataclass(frozen=True)
class Array(Type):
    elem: Type
    count: int

    @property
    def size(self) -> int:  # type: ignore[override]
        return self.elem.size * self.count

    @property
    def align(self) -> int:  # type: ignore[override]
        return self.elem.align

    @property
    def ir(self) -> str:
        return f"[{self.count} x {self.elem.ir}]"


@dataclass(eq=False)
class Member:
    name: str
    type: Type
    offset: int


@dataclass(eq=False)
class Struct(Type):
    """A struct of the program."""

    name: str
    members: dict[str, Member] = field(default_factory=dict)
    size: int = 0
    align: int = 1

    def add(self, name: str, kind: Type) -> None:
        """The next member, where C would put it; the size stays rounded up."""
        end = max((member.offset + member.type.size for member in self.members.values()), default=0)
        offset = -(-end // kind.align) * kind.align
        self.members[name] = Member(name, kind, offset)
        self.align = max(self.align, kind.align)
        self.size = -(-(offset + kind.size) // self.align) * self.align

    @property
    def ir(self) -> str:
        return f"[{self.size} x i8]"

    @property
    def padded(self) -> bool:
        """Whether there are bytes that no member fills."""
        return sum(member.type.size for member in self.members.values()) != self.size


@dataclass(eq=False)
class KernelStruct(Type):
    """A struct of the kernel: `members` are those that the program has used, in that order."""

    name: str
    size: int
    align: int = 8
    members: dict[str, Type] = field(default_factory=dict)

    @property
    def ir(self) -> str:
        return f"[{self.size} x i8]"


@dataclass(frozen=True)
class Pointer(Type):
    target: Type | None  # None: void
    space: Space = "memory"
    size: int = 8
    align: int = 8

    @property
    def ir(self) -> str:
        return "i64"


INTS = {
    name: Int(name, size, signed)
    for name, size, signed in (
        ("u8", 1, False), ("u16", 2, False), ("u32", 4, False), ("u64", 8, False),
        ("s8", 1, True), ("s16", 2, True), ("s32", 4, True), ("s64", 8, True), ("char", 1, True), ("int", 4, True),
    )
}  # fmt: skip
U8, U32, U64, S64, CHAR = (INTS[name] for name in ("u8", "u32", "u64", "s64", "char"))


def describe(kind: Type | None) -> str:
    """For error messages."""
    match kind:
        case Int(name):
            return name
        case Struct() | KernelStruct():
            return f"struct {kind.name}"
        case Array(elem, count):
            return f"array({describe(elem)}, {count})"
        case Pointer(target, _):
            return f"ptr[{describe(target)}]"
    return "nothing"
