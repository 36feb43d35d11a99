"""User memory as native code reaches it: the page tables of the current address space (arch/mmu.py)."""

from __future__ import annotations

from arch.abi.limits import PAGE_SIZE
from arch.mmu import PTE_FLAGS, PTE_READ, PTE_WRITE
from arch.native.block import Word
from arch.native.state import word_at
from arch.native.subset import load64le, native, shared


@native
def step(table: int, index: int) -> int:
    """The next table of a walk; 0 where there is none."""
    entry = load64le(shared[Word.DIRECT] + table + (index & 511) * 8)
    return entry if entry < shared[Word.PHYS_SIZE] else 0


@native
def user_entry(address: int) -> int:
    """The page-table entry of a user address; 0 where nothing is mapped."""
    if address >= shared[Word.USER_END] or not shared[Word.USER_ROOT]:
        return 0
    entry = step(shared[Word.USER_ROOT], address >> 39)
    if entry:
        entry = step(entry & ~PTE_FLAGS, address >> 30)
    if entry:
        entry = step(entry & ~PTE_FLAGS, address >> 21)
    if entry:
        entry = step(entry & ~PTE_FLAGS, address >> 12)
    return entry


@native
def user_readable(address: int) -> int:
    """Kernel address of a byte of user memory that is present and may be read, with the rest of its page; else 0."""
    entry = user_entry(address)
    if not entry & PTE_READ:
        return 0
    return shared[Word.DIRECT] + (entry & ~PTE_FLAGS) + (address & (PAGE_SIZE - 1))


@native
def user_writable(address: int, size: int) -> int:
    """Kernel address of some bytes of one page of user memory that may be written now; 0 where a fault would be taken, or where
    translated code has to go.
    """
    if (address & (PAGE_SIZE - 1)) + size > PAGE_SIZE:
        return 0
    entry = user_entry(address)
    page = entry // PAGE_SIZE
    if not entry & PTE_WRITE or word_at(shared[Word.CODE_PAGES] + (page & ~7), 0) >> 8 * (page & 7) & 255:
        return 0
    return shared[Word.DIRECT] + page * PAGE_SIZE + (address & (PAGE_SIZE - 1))


@native
def in_direct_map(address: int, size: int) -> int:
    """Can it be read without page tables?"""
    return size <= shared[Word.PHYS_SIZE] and address - shared[Word.DIRECT] <= shared[Word.PHYS_SIZE] - size
