"""The part of memory that engines reach without asking it."""

from __future__ import annotations

import mmap

from arch.memory import FlatMemory, KernelMemory, Memory, PhysicalMemory
from arch.records import dataclass


@dataclass(frozen=True)
class Window:
    """The part of memory that is one buffer: direct map addresses from `base` on."""

    buffer: bytearray | mmap.mmap
    base: int
    size: int
    physical: PhysicalMemory | None = None  # whose buffer it is


def window_of(mem: Memory) -> Window | None:
    """The buffer behind a KernelMemory or FlatMemory; other memories have none."""
    if isinstance(mem, KernelMemory):
        return Window(mem.phys.buf, mem.map.direct_map, mem.phys.size, mem.phys)
    if isinstance(mem, FlatMemory):
        return Window(mem.data, mem.base, mem.size)
    return None
