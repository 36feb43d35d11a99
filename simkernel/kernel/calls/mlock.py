"""Locked memory: mlock, mlock2, munlock, mlockall, munlockall.  mm/mlock.c.

Nothing is ever swapped, so locking changes what is counted (RLIMIT_MEMLOCK, VmLck), what mincore finds present, and
what other calls refuse.
"""

from __future__ import annotations

from arch.abi.errno import EINVAL, ENOMEM, EPERM
from arch.abi.limits import PAGE_SIZE
from arch.abi.mman import MCL_CURRENT, MCL_FUTURE, MCL_ONFAULT, MLOCK_ONFAULT
from arch.errors import KernelError
from arch.hosttime import check
from simkernel.kernel.areas import LOCKED, LOCKED_ONFAULT, page_down, page_up
from simkernel.kernel.calls.mm import can_do_mlock, current_mm, over_lock_limit
from simkernel.kernel.face import KernelFace
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.mm import Mm


@kernel_function("int do_mlock(unsigned long start, size_t len, vm_flags_t flags)", source="mm/mlock.c")
def do_mlock(k: KernelFace, start: int, length: int, flags: int) -> int:
    """Lock the pages of a range.  EPERM, ENOMEM, EINVAL, EAGAIN."""
    mm = current_mm(k)
    if not can_do_mlock(k):
        raise KernelError(EPERM)
    length = page_up(length + (start & (PAGE_SIZE - 1))) & (1 << 8 * k.arch.word) - 1
    start = page_down(start)
    _check_end(k, start, length)
    wanted = mm.locked_pages() + length // PAGE_SIZE
    if over_lock_limit(k, wanted) and over_lock_limit(k, wanted - mm.locked_pages(start, start + length)):
        raise KernelError(ENOMEM)
    _apply(mm, start, length, LOCKED_ONFAULT if flags & MLOCK_ONFAULT else LOCKED)
    if not flags & MLOCK_ONFAULT:
        populate(mm, start, start + length)
    return 0


def _check_end(k: KernelFace, start: int, length: int) -> None:
    """A range that ends before it begins, in words of the machine.  EINVAL."""
    mask = (1 << 8 * k.arch.word) - 1
    if page_down(start) + length & mask < page_down(start):
        raise KernelError(EINVAL)


def _apply(mm: Mm, start: int, length: int, locked: int) -> None:
    """apply_vma_lock_flags(): up to the first hole.  EINVAL, ENOMEM."""
    end = start + length
    if end < start or end > mm.home.layout.task_size:
        raise KernelError(EINVAL if end < start else ENOMEM)
    if not length:
        return
    position = start
    for vma in mm.overlaps(start, end):
        if vma.start > position:
            break
        position = vma.end
        if (
            vma.locked == locked or vma.dontexpand or vma.secret
        ):  # mlock_fixup(): what the kernel shows is never counted
            continue
        first, last = max(start, vma.start), min(end, vma.end)
        mm.split_at(first)
        mm.split_at(last)
        part = mm.find(first)
        assert part is not None
        part.locked = locked
    for vma in mm.overlaps(start, end):
        if vma in mm.vmas:
            mm.merge_anonymous(vma)
    if position < end:
        raise KernelError(ENOMEM)


def populate(mm: Mm, start: int, end: int) -> None:
    """mm_populate(): bring the pages in; one that cannot come is ENOMEM."""
    for vma in mm.overlaps(start, end):
        if vma.secret:
            raise KernelError(ENOMEM)
        if not vma.prot:
            if vma.locked:
                raise KernelError(ENOMEM)
            continue
        for page in range(max(vma.start, start), min(vma.end, end), PAGE_SIZE):
            if page not in mm.pages and not mm.on_fault(page, "write" if vma.prot & 2 and not vma.shared else "read"):
                raise KernelError(ENOMEM)
            check()


@syscall("mlock", "unsigned long start, size_t len", source="mm/mlock.c")
def sys_mlock(k: KernelFace, start: int, length: int) -> int:
    """EPERM, ENOMEM, EINVAL."""
    return do_mlock(k, start, length, 0)


@syscall("mlock2", "unsigned long start, size_t len, int flags", source="mm/mlock.c", since="4.4")
def sys_mlock2(k: KernelFace, start: int, length: int, flags: int) -> int:
    """With MLOCK_ONFAULT pages are locked when they come.  EINVAL and those of mlock."""
    if flags & ~MLOCK_ONFAULT:
        raise KernelError(EINVAL)
    return do_mlock(k, start, length, flags)


@syscall("munlock", "unsigned long start, size_t len", source="mm/mlock.c")
def sys_munlock(k: KernelFace, start: int, length: int) -> int:
    """ENOMEM, EINVAL."""
    length = page_up(length + (start & (PAGE_SIZE - 1))) & (1 << 8 * k.arch.word) - 1
    _check_end(k, start, length)
    _apply(current_mm(k), page_down(start), length, 0)
    return 0


@syscall("mlockall", "int flags", source="mm/mlock.c")
def sys_mlockall(k: KernelFace, flags: int) -> int:
    """What is mapped now (MCL_CURRENT) and later (MCL_FUTURE).  EINVAL, EPERM, ENOMEM."""
    if not flags or flags & ~(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) or flags == MCL_ONFAULT:
        raise KernelError(EINVAL)
    if not can_do_mlock(k):
        raise KernelError(EPERM)
    mm = current_mm(k)
    if flags & MCL_CURRENT and over_lock_limit(k, mm.total_pages()):
        raise KernelError(ENOMEM)
    mm.lock_future = bool(flags & MCL_FUTURE)
    if flags & MCL_CURRENT:
        for vma in mm.vmas:
            vma.locked = 0 if vma.secret else LOCKED_ONFAULT if flags & MCL_ONFAULT else LOCKED
            if not flags & MCL_ONFAULT and vma.prot and not vma.secret:
                for page in range(vma.start, vma.end, PAGE_SIZE):
                    if page not in mm.pages:
                        mm.on_fault(page, "write" if vma.prot & 2 and not vma.shared else "read")
                    check()
    return 0


@syscall("munlockall", "", source="mm/mlock.c")
def sys_munlockall(k: KernelFace) -> int:
    """Nothing is locked any more, now and later."""
    mm = current_mm(k)
    mm.lock_future = False
    for vma in mm.vmas:
        vma.locked = 0
    return 0
