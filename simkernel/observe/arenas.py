"""Mappings of arenas: pages come when they are touched, and go when a program gives them back.  kernel/bpf/arena.c."""

from __future__ import annotations

from bpf.maps.arena import ArenaMap
from simkernel.kernel.areas import Vma, VmOperations
from simkernel.kernel.mm import Mm
from simkernel.observe.face import WatchedKernel


class Shown(VmOperations):
    """One area that shows an arena, and what fork and splits made of it."""

    def __init__(self, arena: ArenaMap, mm: Mm) -> None:
        self.arena, self.mm, self.areas = arena, mm, 1
        arena.areas.append(self)

    def zap(self, start: int, end: int) -> None:
        """zap_page_range_single(): of the address space that mapped it, as on Linux; its children keep their pages."""
        self.mm.unmap_pages(start, end)

    def opened(self) -> None:
        """arena_vm_open()."""
        self.areas += 1

    def closed(self) -> None:
        """arena_vm_close()."""
        self.areas -= 1
        if not self.areas:
            self.arena.areas.remove(self)


def map_arena(k: WatchedKernel, vma: Vma, arena: ArenaMap) -> None:
    """arena_map_mmap()."""
    arena.check_area(vma.start, vma.end, vma.pgoff, vma.asked)
    mm = k.current.mm
    assert mm is not None
    mem = k.mem

    def fault(vma: Vma, pgoff: int) -> int:
        return mem.translate(arena.fault(pgoff))

    vma.fault, vma.ops = fault, Shown(arena, mm)
    vma.dontexpand = True
