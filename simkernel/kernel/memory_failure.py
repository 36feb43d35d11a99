"""Pages that are said to be broken: nobody gets them any more, and who had them hears of it at the next look.  mm/memory-failure.c.

Asked for by madvise(2) alone (MADV_HWPOISON, MADV_SOFT_OFFLINE).  A page of tmpfs or of shared memory stays where it is, and
answers EIO, until the file is cut there; a page of another file is read anew.
"""

from __future__ import annotations

from collections.abc import Iterator

from arch.abi.capability import CAP_SYS_ADMIN
from arch.abi.errno import EBUSY, EFAULT, EIO, EPERM
from arch.abi.limits import PAGE_SHIFT, PAGE_SIZE
from arch.abi.mman import MADV_HWPOISON, PROT_EXEC, PROT_READ, PROT_WRITE
from arch.abi.prctl import PR_MCE_KILL_DEFAULT, PR_MCE_KILL_EARLY
from arch.abi.signal import BUS_MCEERR_AO, SIGBUS
from arch.errors import KernelError
from simkernel.kernel.areas import SharedAnonymous, Vma
from simkernel.kernel.broken_pages import poison
from simkernel.kernel.face import Body, KernelFace
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.mm import Mm
from simkernel.kernel.task import Task

MF_COUNT_INCREASED, MF_SW_SIMULATED = 1 << 0, 1 << 7


def madvise_inject_error(k: KernelFace, mm: Mm, start: int, end: int, behavior: int) -> Body:
    """Page by page.  EPERM, EFAULT: nothing there, EBUSY or EIO: the zero page (`yield from`)."""
    if not k.capable(CAP_SYS_ADMIN):
        return -EPERM
    for page in range(start, end, PAGE_SIZE):
        phys = _get_page(mm, page)
        if phys is None:
            return -EBUSY if behavior == MADV_HWPOISON else -EIO
        if behavior == MADV_HWPOISON:
            ret = yield k.call("memory_failure", phys >> PAGE_SHIFT, MF_COUNT_INCREASED | MF_SW_SIMULATED)
        else:
            ret = yield k.call("soft_offline_page", phys >> PAGE_SHIFT, MF_COUNT_INCREASED)
        if ret:
            return ret
    return 0


def _get_page(mm: Mm, page: int) -> int | None:
    """get_user_pages_fast(): the page there, brought if need be; None for what is only zeros yet.  EFAULT."""
    vma = mm.find(page)
    if vma is None or not vma.prot & (PROT_READ | PROT_WRITE | PROT_EXEC):
        raise KernelError(EFAULT)
    if page not in mm.pages:
        if vma.file is None and not vma.shared and page not in mm.poisoned:
            return None
        try:
            there = mm.fault(page, "read")
        except KernelError:
            there = False
        if not there:
            raise KernelError(EFAULT)
    return mm.pages[page]


def _spaces(k: KernelFace) -> Iterator[tuple[Mm, Task]]:
    """Every address space, with a task that has it."""
    seen: set[Mm] = set()
    for task in list(k.tasks.by_pid.values()):
        if task.mm is not None and task.mm not in seen:
            seen.add(task.mm)
            yield task.mm, task


def _is_cached(vma: Vma, page: int, phys: int) -> bool:
    """The page is the file's, or that of shared memory, not a copy."""
    index = vma.pgoff + (page - vma.start) // PAGE_SIZE
    if isinstance(vma.private, SharedAnonymous):
        return vma.private.cached(index) == phys
    return (
        vma.file is not None and vma.file.inode.i_mapping is not None and vma.file.inode.i_mapping.cached(index) == phys
    )


def _poison_cached(vma: Vma, page: int) -> None:
    """me_pagecache_clean(), me_swapcache...: the cache has it no more."""
    index = vma.pgoff + (page - vma.start) // PAGE_SIZE
    if isinstance(vma.private, SharedAnonymous):
        vma.private.poison(index)
    elif vma.file is not None and vma.file.inode.i_mapping is not None:
        vma.file.inode.i_mapping.poison(index)


@kernel_function("int memory_failure(unsigned long pfn, int flags)", source="mm/memory-failure.c", since="4.17")
def memory_failure(k: KernelFace, pfn: int, flags: int) -> int:
    """Take a page from all who have it."""
    return _fail(k, pfn << PAGE_SHIFT)


@kernel_function(
    "int memory_failure(unsigned long pfn, int trapno, int flags)", source="mm/memory-failure.c", until="4.17"
)
def memory_failure_trap(k: KernelFace, pfn: int, trapno: int, flags: int) -> int:
    """The form with a trap's number."""
    return _fail(k, pfn << PAGE_SHIFT)


def _fail(k: KernelFace, phys: int) -> int:
    frames = k.mm.frames
    frames.get_page(phys)  # for ever
    frames.corrupted += 1
    cached: tuple[Vma, int] | None = None
    for mm, task in _spaces(k):
        for page in [page for page, at in mm.pages.items() if at == phys]:
            vma = mm.find(page)
            assert vma is not None
            if _is_cached(vma, page, phys):
                cached = vma, page
            else:
                poison(mm, page)
            mm.unmap_pages(page, page + PAGE_SIZE, keep_poison=True)
            policy = task.group_leader.mce_kill
            if policy == PR_MCE_KILL_EARLY or (policy == PR_MCE_KILL_DEFAULT and k.memory_failure_early_kill):
                k.signals.send(task.group_leader, SIGBUS, BUS_MCEERR_AO, addr=page, lsb=PAGE_SHIFT)
    if cached is not None:
        _poison_cached(*cached)
    return 0


@kernel_function("int soft_offline_page(unsigned long pfn, int flags)", source="mm/memory-failure.c", since="5.6")
def soft_offline_page(k: KernelFace, pfn: int, flags: int) -> int:
    """A page goes out of use, what it held goes elsewhere, which nobody sees: the machine has one page less."""
    k.mm.frames.alloc_page()
    k.mm.frames.corrupted += 1
    return 0


@kernel_function("int soft_offline_page(struct page *page, int flags)", source="mm/memory-failure.c", until="5.6")
def soft_offline_page_struct(k: KernelFace, page: int, flags: int) -> int:
    """The form with a struct page (here its number)."""
    return soft_offline_page(k, page, flags)
