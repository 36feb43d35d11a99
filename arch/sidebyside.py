"""Numbers that are stored together: members of a structure that follow each other take one call of struct."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from itertools import pairwise
from mmap import mmap
from operator import itemgetter

CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}  # of numbers of so many bytes, for struct
Place = tuple[int, int, int]  # which number, its offset and size in bytes


def side_by_side(places: Sequence[Place]) -> list[list[Place]]:
    """Places that follow each other in memory, together; in their order where two overlap."""
    runs: list[list[Place]] = []
    by_offset = sorted(places, key=lambda place: place[1])
    if any(a[1] + a[2] > b[1] for a, b in pairwise(by_offset)):
        return [[place] for place in places]
    for place in by_offset:
        if runs and runs[-1][-1][1] + runs[-1][-1][2] == place[1]:
            runs[-1].append(place)
        else:
            runs.append([place])
    return runs


def storer_of_many(
    places: Sequence[Place], order: str, buf: mmap, base: int, size: int, write: Callable[[int, int, int], None]
) -> Callable[[int, Sequence[int]], None]:
    """KernelMemory.storer_of_many(): `buf` has `size` bytes from the address `base` on, others are reached by `write`."""
    code = "<" if order == "little" else ">"
    apart: list[tuple[int, int, Callable[..., None], int]] = []
    runs: list[tuple[Callable[..., None], int, Callable[[Sequence[int]], Sequence[int]], list[Place]]] = []
    for run in side_by_side(places):
        pack = struct.Struct(code + "".join(CODES[width] for _, _, width in run)).pack_into
        if len(run) == 1:
            apart.append((*run[0][:2], pack, (1 << 8 * run[0][2]) - 1))
        else:
            runs.append((pack, run[0][1], itemgetter(*(which for which, _, _ in run)), run))
    top = size - max((offset + width for _, offset, width in places), default=0)

    def store(addr: int, values: Sequence[int]) -> None:
        at = addr - base
        if not 0 <= at <= top:
            for which, offset, width in places:
                write(addr + offset, width, values[which])
            return
        for which, offset, pack, mask in apart:
            pack(buf, at + offset, values[which] & mask)
        for pack, offset, chosen, run in runs:
            try:
                pack(buf, at + offset, *chosen(values))
            except struct.error:  # a negative number, or more than has room there
                for which, begin, width in run:
                    write(addr + begin, width, values[which])

    return store
