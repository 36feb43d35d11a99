"""Where a real kernel keeps its members: simkernel/include/recorded/ARCH-VERSION.layout.

The headers in simkernel/include name the members that something here fills or reads, and so a struct laid out from them
alone is smaller than the kernel's.  For a kernel whose own types are recorded (bpf/btf/recorded/), each struct has the size,
and each of its members the place, that they have there; docs/layouts.py writes the table.

    task_struct 9792            a struct or union, its size in bytes
     on_cpu 52                  a member, at a byte
     policy.low 60:3            at a bit of a byte; a member of an unnamed struct that is called `policy`
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

from arch.abi.version import KernelVersion
from arch.ctype import (
    CTypeError,
    Member,
    MemberDecl,
    QualifiedType,
    StructType,
    align_up,
    bitfield_member,
)

FOLDER = Path(__file__).resolve().parent.parent / "simkernel" / "include" / "recorded"


class Recorded:
    """One struct: its size in bytes, and the first bit of each member by path."""

    def __init__(self, size: int, bits: dict[str, int]) -> None:
        self.size = size
        self.bits = bits


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
            byte, _, bit = place.partition(":")
            row.bits[name] = 8 * int(byte) + int(bit or 0)
        elif line and not line.startswith("#"):
            kind, _, tag = name.partition(" ")
            row = found[kind == "union", tag] = Recorded(int(place), {})
    return found


def place(struct: StructType, recorded: Recorded) -> None:
    """Move a struct's members to where the kernel has them.  CTypeError for one that it has not."""

    def bit_of(path: str) -> int:
        found = recorded.bits.get(path)
        if found is None:
            raise CTypeError(f"no {path} in the recorded {struct.kind} {struct.name}")
        return found

    members = _placed(struct, "", 0, bit_of)
    struct.define(members, recorded.size, struct.align)


def paths(struct: StructType, prefix: str = "") -> list[str]:
    """Of all members that have a place of their own."""
    found = []
    for member in struct.members:
        inner = unnamed(member)
        if inner is not None and inner.members:
            found += paths(inner, f"{prefix}{member.name}." if member.name else prefix)
        elif member.name:
            found.append(prefix + member.name)
    return found


def unnamed(member: Member) -> StructType | None:
    """The struct without a tag that is a member's type."""
    inner = member.type
    while isinstance(inner, QualifiedType):
        inner = inner.target
    return inner if isinstance(inner, StructType) and not inner.name else None


def _placed(struct: StructType, prefix: str, base: int, bit_of: Callable[[str], int]) -> tuple[Member, ...]:
    """The members of a struct that begins at bit `base`; structs without a tag in it are moved, too."""
    members = []
    for member in struct.members:
        inner = unnamed(member)
        if inner is None or not inner.members:
            position = bit_of(prefix + member.name) - base
            if member.bit_size:
                members.append(bitfield_member(MemberDecl(member.name, member.type, member.bit_size), position))
            else:
                members.append(Member(member.name, member.type, position // 8))
            continue
        path = f"{prefix}{member.name}." if member.name else prefix
        start = min(bit_of(each) for each in paths(inner, path)) // 8 * 8
        moved = _placed(inner, path, start, bit_of)
        end = max(m.bit_position + (m.bit_size or 8 * m.type.size) for m in moved)
        inner.define(moved, align_up((end + 7) // 8, inner.align), inner.align)
        members.append(Member(member.name, member.type, (start - base) // 8))
    return tuple(members)
