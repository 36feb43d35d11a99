"""madvise(2): what is kept of advice, pages that go, pages that are brought.  mm/madvise.c."""

from __future__ import annotations

from arch.abi.errno import EFAULT, EHWPOISON, EINVAL, ENOMEM
from arch.abi.limits import PAGE_SIZE
from arch.abi.mman import (
    MADV_COLD,
    MADV_COLLAPSE,
    MADV_DODUMP,
    MADV_DOFORK,
    MADV_DONTDUMP,
    MADV_DONTFORK,
    MADV_DONTNEED,
    MADV_DONTNEED_LOCKED,
    MADV_FREE,
    MADV_HUGEPAGE,
    MADV_HWPOISON,
    MADV_KEEPONFORK,
    MADV_MERGEABLE,
    MADV_NOHUGEPAGE,
    MADV_NORMAL,
    MADV_PAGEOUT,
    MADV_POPULATE_READ,
    MADV_POPULATE_WRITE,
    MADV_RANDOM,
    MADV_SEQUENTIAL,
    MADV_SOFT_OFFLINE,
    MADV_UNMERGEABLE,
    MADV_WILLNEED,
    MADV_WIPEONFORK,
    PROT_READ,
    PROT_WRITE,
)
from arch.errors import KernelError, Poisoned
from arch.hosttime import check
from simkernel.kernel.areas import (
    VM_DONTDUMP,
    VM_HUGEPAGE,
    VM_MERGEABLE,
    VM_NOHUGEPAGE,
    VM_RAND_READ,
    VM_SEQ_READ,
    VM_WIPEONFORK,
    Vma,
    page_up,
)
from simkernel.kernel.mm import Mm

HPAGE_PMD_SIZE = 2 << 20  # bytes
VALID = (
    {MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTNEED, MADV_HWPOISON, MADV_SOFT_OFFLINE}
    | set(range(MADV_FREE, MADV_COLLAPSE + 1))
)  # fmt: skip
# advice -> (bits that go, bits that come)
KEPT = {
    MADV_NORMAL: (VM_SEQ_READ | VM_RAND_READ, 0), MADV_SEQUENTIAL: (VM_RAND_READ, VM_SEQ_READ), MADV_RANDOM: (VM_SEQ_READ, VM_RAND_READ),
    MADV_MERGEABLE: (0, VM_MERGEABLE), MADV_UNMERGEABLE: (VM_MERGEABLE, 0),
    MADV_HUGEPAGE: (VM_NOHUGEPAGE, VM_HUGEPAGE), MADV_NOHUGEPAGE: (VM_HUGEPAGE, VM_NOHUGEPAGE),
    MADV_DONTDUMP: (0, VM_DONTDUMP), MADV_DODUMP: (VM_DONTDUMP, 0),
    MADV_WIPEONFORK: (0, VM_WIPEONFORK), MADV_KEEPONFORK: (VM_WIPEONFORK, 0),
}  # fmt: skip


def do_madvise(mm: Mm, start: int, length: int, advice: int, word: int) -> None:
    """EINVAL; ENOMEM for a range with holes, after what is there was done; EFAULT where bringing a page would be a SIGBUS."""
    end = start + page_up(length)
    if advice not in VALID or start % PAGE_SIZE or end >> 8 * word:
        raise KernelError(EINVAL)
    if advice in (MADV_POPULATE_READ, MADV_POPULATE_WRITE):
        _populate(mm, start, end, advice == MADV_POPULATE_WRITE)
        return
    for vma in mm.overlaps(start, end):
        _apply(mm, vma, max(start, vma.start), min(end, vma.end), advice)
    if sum(min(v.end, end) - max(v.start, start) for v in mm.overlaps(start, end)) < end - start:
        raise KernelError(ENOMEM)


def _apply(mm: Mm, vma: Vma, start: int, end: int, advice: int) -> None:
    """madvise_vma_behavior() for one area."""
    if advice in (MADV_DONTNEED, MADV_FREE, MADV_DONTNEED_LOCKED):
        anonymous = vma.file is None and not vma.shared
        if (vma.locked and advice != MADV_DONTNEED_LOCKED) or (advice == MADV_FREE and not anonymous):
            raise KernelError(EINVAL)
        mm.unmap_pages(start, end)
    elif advice in (MADV_COLD, MADV_PAGEOUT) and vma.locked:
        raise KernelError(EINVAL)
    elif advice == MADV_COLLAPSE:
        last = vma.end - HPAGE_PMD_SIZE & -HPAGE_PMD_SIZE
        if last < vma.start or vma.advice & VM_NOHUGEPAGE:
            raise KernelError(EINVAL)
    elif advice in (MADV_DONTFORK, MADV_DOFORK):
        if vma.dontfork != (advice == MADV_DONTFORK):
            _part(mm, start, end).dontfork = advice == MADV_DONTFORK
            mm.merge_anonymous(_part(mm, start, end))
    elif advice in KEPT:
        if advice == MADV_WIPEONFORK and (vma.file is not None or vma.shared):
            raise KernelError(EINVAL)
        if advice in (MADV_MERGEABLE, MADV_UNMERGEABLE) and vma.shared:
            return
        if advice == MADV_MERGEABLE and not mm.mergeable:
            mm.home.ksm_enter(mm)
        if advice == MADV_UNMERGEABLE:
            mm.home.unmerge(mm, start, end)
        if advice == MADV_DODUMP and vma.dontexpand:
            raise KernelError(EINVAL)
        gone, come = KEPT[advice]
        if vma.advice & ~gone | come != vma.advice:
            part = _part(mm, start, end)
            part.advice = part.advice & ~gone | come
            mm.merge_anonymous(part)


def _part(mm: Mm, start: int, end: int) -> Vma:
    """The area of just these addresses."""
    mm.split_at(start)
    mm.split_at(end)
    part = mm.find(start)
    assert part is not None
    return part


def _populate(mm: Mm, start: int, end: int, write: bool) -> None:
    """madvise_populate(): what cannot be brought ends it, with what was brought before."""
    for page in range(start, end, PAGE_SIZE):
        vma = mm.find(page)
        if vma is None:
            raise KernelError(ENOMEM)
        if not vma.prot & (PROT_WRITE if write else PROT_READ):
            raise KernelError(EINVAL)
        try:
            brought = mm.fault(page, "write" if write else "read")
        except KernelError as error:
            raise KernelError(
                EHWPOISON if isinstance(error, Poisoned) else ENOMEM if error.errno == ENOMEM else EFAULT
            ) from None
        if not brought:
            raise KernelError(EFAULT)
        check()
