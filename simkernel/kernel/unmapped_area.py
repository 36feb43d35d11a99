"""Where a new area goes.  mm/mmap.c:get_unmapped_area()."""

from __future__ import annotations

from bisect import bisect_right
from typing import Protocol

from arch.abi.errno import EEXIST, EINVAL, ENOMEM, EPERM, MAX_ERRNO
from arch.abi.limits import PAGE_SIZE
from arch.abi.mman import MAP_32BIT, MAP_FIXED, MAP_FIXED_NOREPLACE
from arch.errors import KernelError
from simkernel.kernel.areas import Layout, Vma, page_up


class PlaceRules(Protocol):
    """Which addresses somebody may have."""

    @property
    def layout(self) -> Layout: ...
    def ask_address(self, addr: int) -> int: ...  # the address, which nobody refuses: mmap_addr
    def lowest_fixed(self) -> int: ...  # the lowest address that the current task may ask for


class Places(Protocol):
    """An address space that is searched."""

    @property
    def home(self) -> PlaceRules: ...
    @property
    def vmas(self) -> list[Vma]: ...
    @property
    def starts(self) -> list[int]: ...
    def free_range(self, size: int, hint: int = 0) -> int: ...
    def overlaps(self, start: int, end: int) -> list[Vma]: ...


def get_unmapped_area(mm: Places, addr: int, size: int, flags: int) -> int:
    """The address for `size` bytes (whole pages); nothing is taken yet.  ENOMEM, EINVAL, EPERM, EEXIST.

    An address that is asked for and that IS_ERR_VALUE() takes for an errno is refused with that.
    """
    home = mm.home
    if size > home.layout.task_size:
        raise KernelError(ENOMEM)
    if not flags & (MAP_FIXED | MAP_FIXED_NOREPLACE):
        if flags & MAP_32BIT and home.layout.low_mappings is not None:
            return home.ask_address(_free_low(mm, size, page_up(addr), *home.layout.low_mappings))
        return home.ask_address(mm.free_range(size, page_up(addr)))
    if addr + MAX_ERRNO >= home.layout.addresses:
        raise KernelError(home.layout.addresses - addr)
    if addr + size > home.layout.task_size:
        raise KernelError(ENOMEM)
    if addr & (PAGE_SIZE - 1):
        raise KernelError(EINVAL)
    if addr < home.lowest_fixed():
        raise KernelError(EPERM)
    if flags & MAP_FIXED_NOREPLACE and mm.overlaps(addr, addr + size):
        raise KernelError(EEXIST)
    return home.ask_address(addr)


def _free_low(mm: Places, size: int, hint: int, begin: int, end: int) -> int:
    """arch_get_unmapped_area() for MAP_32BIT: the lowest free place in a range, or the hint below its end.  ENOMEM."""
    if hint and mm.home.layout.mmap_min <= hint <= end - size and not mm.overlaps(hint, hint + size):
        return hint
    place = begin
    for vma in mm.vmas[max(0, bisect_right(mm.starts, begin) - 1) :]:
        if vma.start >= place + size:
            break
        place = max(place, vma.end)
    if place + size > end:
        raise KernelError(ENOMEM)
    return place
