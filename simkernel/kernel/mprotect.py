"""Other rights for what is mapped.  mm/mprotect.c."""

from __future__ import annotations

from arch.abi.errno import EACCES, EINVAL, ENOMEM
from arch.abi.limits import PAGE_SIZE
from arch.abi.mman import MAP_GROWSDOWN, MAP_NORESERVE, PROT_GROWSDOWN, PROT_GROWSUP, PROT_WRITE
from arch.errors import KernelError
from simkernel.kernel.areas import Vma, page_up
from simkernel.kernel.mm import Mm


def protect(mm: Mm, start: int, length: int, prot: int) -> None:
    """mprotect(2): area by area, so those before a hole or one that may not have changed when it fails.  EINVAL, ENOMEM, EACCES."""
    if start & (PAGE_SIZE - 1):
        raise KernelError(EINVAL)
    end = start + page_up(length)
    if end < start or end > mm.home.layout.task_size:
        raise KernelError(ENOMEM)
    first = next(iter(mm.overlaps(start, end)), None)
    if first is None:
        raise KernelError(ENOMEM)
    if prot & PROT_GROWSDOWN:
        start = first.start
        if not first.flags & MAP_GROWSDOWN:
            raise KernelError(EINVAL)
    elif first.start > start:
        raise KernelError(ENOMEM)
    elif prot & PROT_GROWSUP:  # no stack grows up here
        raise KernelError(EINVAL)
    prot &= 7
    position = start
    changed: list[Vma] = []
    try:
        for vma in mm.overlaps(start, end):
            if vma.start > position:
                break
            if prot & ~vma.may:
                raise KernelError(EACCES)
            position = vma.end
            changed.append(_change(mm, vma, start, end, prot))
    finally:
        for vma in changed:
            if mm.find(vma.start) is vma:
                mm.merge_anonymous(vma)
    if position < end:
        raise KernelError(ENOMEM)


def _change(mm: Mm, vma: Vma, start: int, end: int, prot: int) -> Vma:
    """mprotect_fixup(): the part of an area between two addresses; the area that it is then."""
    if vma.prot == prot:
        return vma
    for border in [border for border in (start, end) if vma.start < border < vma.end]:  # before the area is cut
        mm.check_count()
        mm.split_at(border)
    found = mm.find(max(vma.start, start))
    assert found is not None
    found.prot = prot
    found.account |= bool(prot & PROT_WRITE) and not found.shared and not found.flags & MAP_NORESERVE
    mm.reprotect(found)
    if mm.home.events is not None and mm.present(found.start, found.end):
        mm.home.events.tlb_flush((found.end - found.start) // PAGE_SIZE)
    mm.merge_anonymous(found)
    whole = mm.find(max(vma.start, start))
    assert whole is not None
    mm.home.mmap_changed(mm, whole)
    return whole
