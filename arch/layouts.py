"""Where a real kernel keeps its members: simkernel/include/recorded/ARCH-VERSION.layout.

The headers in simkernel/include name the members that something here fills or reads, and so a struct laid out from them
alone is smaller than the kernel's.  For a kernel whose own types are recorded (bpf/btf/recorded/), each struct has the size,
and each of its members the place, that they have there; docs/layouts.py writes the table.

    task_struct 9792            a struct or union, its size in bytes
     on_cpu 52                  a member, at a byte
     policy.low 60:3            at a bit of a byte; a member of an unnamed struct that is called `policy`
     on_cpu 52/8                a number or an array that has another width there, in bits
     thread_group -             a member that this kernel has not: the machine has none either
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from arch.abi.version import KernelVersion
from arch.ctype import (
    ArrayType,
    CTypeError,
    EnumType,
    IntType,
    Member,
    MemberDecl,
    QualifiedType,
    StructType,
    align_up,
    bitfield_member,
)

FOLDER = Path(__file__).resolve().parent.parent / "simkernel" / "include" / "recorded"


class Place(NamedTuple):
    """Where a member is, in bits from its struct's start."""

    bit: int
    width: int = 0  # in bits, where it is not the header's


class Recorded:
    """One struct: its size in bytes, and the place of each member by path; None of those that it has not."""

    def __init__(self, size: int, places: dict[str, Place | None]) -> None:
        self.size = size
        self.places = places


ABSENT = "-"  # instead of a place
_NUMBERS = {8: "char", 16: "short int", 32: "int", 64: "long int"}  # by bits

Layouts = dict[tuple[bool, str], Recorded]  # by (is it a union, tag)
NONE: Layouts = {}


def layout_file(arch: str, version: KernelVersion) -> Path:
    """Of a kernel, whether it is there or not."""
    return FOLDER / f"{arch}-{version.major}.{version.minor}.layout"


@cache
def layouts_of(arch: str, version: KernelVersion) -> Layouts:
    """Of a CPU and a version; empty for a kernel whose types nobody recorded."""
    path = layout_file(arch, version)
    return parse(path.read_text()) if path.exists() else NONE


def parse(text: str) -> Layouts:
    """The table."""
    found: Layouts = {}
    row = Recorded(0, {})
    for line in text.splitlines():
        name, _, place = line.strip().rpartition(" ")
        if line.startswith(" "):
            at, _, width = place.partition("/")
            byte, _, bit = at.partition(":")
            row.places[name] = None if at == ABSENT else Place(8 * int(byte) + int(bit or 0), int(width or 0))
        elif line and not line.startswith("#"):
            kind, _, tag = name.partition(" ")
            row = found[kind == "union", tag] = Recorded(int(place), {})
    return found


def place(struct: StructType, recorded: Recorded) -> None:
    """Move a struct's members to where the kernel has them.  CTypeError for one that the table does not know."""

    def place_of(path: str) -> Place | None:
        if path not in recorded.places:
            raise CTypeError(f"no {path} in the recorded {struct.kind} {struct.name}")
        return recorded.places[path]

    members = _placed(struct, "", 0, place_of)
    struct.define(members, recorded.size, struct.align)


def places(struct: StructType, prefix: str = "") -> dict[str, Member]:
    """All members that have a place of their own, by path; of two, C takes the first."""
    found: dict[str, Member] = {}
    for member in struct.members:
        inner = unnamed(member)
        if inner is not None and inner.members:
            for path, each in places(inner, f"{prefix}{member.name}." if member.name else prefix).items():
                found.setdefault(path, each)
        elif member.name:
            found.setdefault(prefix + member.name, member)
    return found


def unnamed(member: Member) -> StructType | None:
    """The struct without a tag that is a member's type."""
    inner = member.type
    while isinstance(inner, QualifiedType):
        inner = inner.target
    return inner if isinstance(inner, StructType) and not inner.name else None


def _placed(struct: StructType, prefix: str, base: int, place_of: Callable[[str], Place | None]) -> tuple[Member, ...]:
    """The members of a struct that begins at bit `base`; structs without a tag in it are moved, too."""
    members = []
    for member in struct.members:
        inner = unnamed(member)
        if inner is None or not inner.members:
            there = place_of(prefix + member.name)
            if there is not None:
                members.append(_moved(member, there.bit - base, there.width))
            continue
        path = f"{prefix}{member.name}." if member.name else prefix
        firsts = [there.bit for each in places(inner, path) if (there := place_of(each)) is not None]
        if not firsts:
            continue
        start = min(firsts) // 8 * 8
        moved = _placed(inner, path, start, place_of)
        end = max(m.bit_position + (m.bit_size or 8 * m.type.size) for m in moved)
        inner.define(moved, align_up((end + 7) // 8, inner.align), inner.align)
        members.append(Member(member.name, member.type, (start - base) // 8))
    return tuple(members)


def _moved(member: Member, bit: int, width: int) -> Member:
    """At its place; a number that has another width there is a bit-field of it, or a number of that many bytes."""
    ctype, bits = member.type, member.bit_size
    inner = ctype.strip
    if width and isinstance(inner, ArrayType):
        ctype = ArrayType(inner.elem, width // (8 * inner.elem.size))
    elif width and bit % 8 == 0 and width in _NUMBERS:
        signed = isinstance(inner, IntType | EnumType) and inner.signed
        ctype, bits = IntType(("" if signed else "unsigned ") + _NUMBERS[width], width // 8, signed), 0
    elif width:
        bits = width
    if bits:
        return bitfield_member(MemberDecl(member.name, ctype, bits), bit)
    return Member(member.name, ctype, bit // 8)
