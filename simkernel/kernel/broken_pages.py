"""Addresses behind which a page of one's own is broken: swap entries of SWP_HWPOISON.  include/linux/swapops.h, mm/memory-failure.c."""

from __future__ import annotations

from typing import Protocol


class Broken(Protocol):
    """An address space (mm.py)."""

    poisoned: set[int]
    userfault_wp: set[int]


def poison(mm: Broken, page: int) -> None:
    """Whoever looks there gets SIGBUS, until the address is used anew."""
    mm.poisoned.add(page)
    mm.userfault_wp.add(page)  # native code leaves all faults of an address space with such pages to Mm.bring()


def forget(mm: Broken, start: int, end: int) -> None:
    """zap_pte_range(): the addresses [start, end) are used anew."""
    for page in [page for page in mm.poisoned if start <= page < end]:
        mm.poisoned.remove(page)
        mm.userfault_wp.discard(page)
