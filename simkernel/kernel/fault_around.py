"""The pages beside the one that is missing: mm/memory.c:do_fault_around(), mm/filemap.c:filemap_map_pages().

A read of a file's page that is not mapped yet maps with it what the page cache has of the sixteen around.
"""

from __future__ import annotations

from typing import Protocol

from arch.abi.limits import PAGE_SIZE
from arch.abi.mman import PROT_WRITE
from arch.mmu import PTE_EXEC, PTE_READ, PTE_WRITE, AddressSpace
from simkernel.kernel.areas import PMD_SHIFT, Frames, SharedAnonymous, Space, SpaceListener, Vma

# x86-like CPUs have no execute-only or write-only pages: any right brings reading.
PTE_OF_PROT = tuple(
    (PTE_READ if prot else 0) | (PTE_WRITE if prot & 2 else 0) | (PTE_EXEC if prot & 4 else 0) for prot in range(8)
)
FAULT_AROUND = 16 * PAGE_SIZE  # fault_around_bytes


class FilledSpace(Space, Protocol):
    """An address space that can be filled."""

    space: AddressSpace

    def watches_writes(self) -> bool:
        """Somebody is told of first writes: pages are entered one at a time."""

    def show(self, vma: Vma, page: int) -> None:
        """A page of `pages` may be used as its area says."""


def window(vma: Vma, page: int, size: int) -> tuple[int, int]:
    """The addresses around a page that a file of so many bytes may be mapped at: first, and behind the last."""
    first = max(page & -FAULT_AROUND, vma.start)
    table_end = ((first >> PMD_SHIFT) + 1) << PMD_SHIFT
    base = vma.start - vma.pgoff * PAGE_SIZE  # where the file's first page would be
    return first, min(first + FAULT_AROUND, table_end, vma.end, base + size)


def map_around(mm: FilledSpace, vma: Vma, page: int, frames: Frames, events: SpaceListener | None) -> None:
    """Map the neighbours of a page that was just made present for a read; what no cache has stays away."""
    private = vma.private
    if private is not None and isinstance(private, SharedAnonymous):
        cached, size, there = private.cached, 1 << 64, private.pages
    elif vma.file is None or vma.fault is not None or (cache := vma.file.inode.i_mapping) is None:
        return
    else:
        cached, size, there = cache.cached, vma.file.inode.size, cache.pages
    first, end = window(vma, page, size)
    pages, counts = mm.pages, frames.refcounts
    near: dict[int, int] = {}
    index = vma.pgoff + (first - vma.start) // PAGE_SIZE
    for addr in range(first, end, PAGE_SIZE):
        if addr not in pages:
            phys = there.get(index) or cached(index)
            if phys is not None:
                counts[phys >> 12] += 1
                near[addr] = phys
        index += 1
    pages.update(near)
    if events is not None:
        for addr in near:
            events.mapped(mm, vma, addr, None)
    if mm.watches_writes():
        for addr in near:
            mm.show(vma, addr)
    elif near:  # the cache has them as well, so they are not to be written in place
        mm.space.add(near, PTE_OF_PROT[vma.prot if vma.shared else vma.prot & ~PROT_WRITE])
