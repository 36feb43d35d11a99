"""Moving and growing areas.  mm/mremap.c."""

from __future__ import annotations

from itertools import pairwise

from arch.abi.errno import EFAULT, EINVAL, ENOMEM
from arch.abi.limits import PAGE_SIZE
from arch.abi.mman import MREMAP_DONTUNMAP, MREMAP_FIXED, MREMAP_MAYMOVE, PROT_WRITE
from arch.errors import KernelError
from simkernel.kernel.anon_vma import anon_vma_prepare
from simkernel.kernel.areas import Vma, page_up
from simkernel.kernel.broken_pages import poison
from simkernel.kernel.mm import Mm
from simkernel.kernel.watching import tell


def remap(mm: Mm, old: int, old_size: int, new_size: int, flags: int, fixed: int) -> int:
    """mremap(2).  EINVAL, EFAULT, ENOMEM."""
    if old & (PAGE_SIZE - 1) or flags & ~7 or (flags & MREMAP_FIXED and not flags & MREMAP_MAYMOVE):
        raise KernelError(EINVAL)
    if flags & MREMAP_DONTUNMAP and (not flags & MREMAP_MAYMOVE or old_size != new_size):
        raise KernelError(EINVAL)
    end_of_user = mm.home.layout.task_size
    words = (1 << (32 if end_of_user <= 1 << 32 else 64)) - 1  # PAGE_ALIGN() may wrap to 0
    old_size, new_size = page_up(old_size) & words, page_up(new_size) & words
    if not new_size:
        raise KernelError(EINVAL)
    vma = mm.find(old)
    if vma is None:
        raise KernelError(EFAULT)
    if flags & (MREMAP_FIXED | MREMAP_DONTUNMAP):  # mremap_to()
        outside = fixed & (PAGE_SIZE - 1) or new_size > end_of_user - fixed
        if outside or (old < fixed + new_size and fixed < old + old_size):  # onto itself
            raise KernelError(EINVAL)
        if flags & MREMAP_FIXED:
            mm.unmap(fixed, new_size)
        if old_size > new_size:  # what lies behind is nobody's concern
            mm.unmap(old + new_size, old_size - new_size)
            old_size = new_size
        vma = mm.find(old)
        if vma is None:
            raise KernelError(EFAULT)
    if new_size <= old_size and not flags & (MREMAP_FIXED | MREMAP_DONTUNMAP):  # whatever lies there
        if new_size < old_size:
            mm.unmap(old + new_size, old_size - new_size)
        return old
    if not old_size and not vma.shared:  # only a shared mapping can be had a second time
        raise KernelError(EINVAL)
    if old_size > vma.end - old or (new_size > old_size and vma.dontexpand):
        raise KernelError(EFAULT)
    if not old_size:
        return _again(mm, vma, old, new_size, fixed if flags & MREMAP_FIXED else None, bool(flags & MREMAP_MAYMOVE))
    if flags & MREMAP_FIXED:
        return _move(mm, old, old_size, new_size, fixed, bool(flags & MREMAP_DONTUNMAP))
    if flags & MREMAP_DONTUNMAP:
        return _move(mm, old, old_size, new_size, mm.home.ask_address(mm.free_range(new_size, page_up(fixed))), True)
    end = old + old_size
    if vma.end == end and not mm.overlaps(end, old + new_size) and old + new_size <= mm.home.layout.task_size:
        vma.end = old + new_size
        mm.merge_anonymous(vma)
        return old
    if not flags & MREMAP_MAYMOVE:
        raise KernelError(ENOMEM)
    return _move(
        mm, old, old_size, new_size, mm.home.ask_address(mm.free_range(new_size)), bool(flags & MREMAP_DONTUNMAP)
    )


def _again(mm: Mm, vma: Vma, old: int, size: int, fixed: int | None, may_move: bool) -> int:
    """Of nothing: a second mapping of what is shared.  ENOMEM."""
    if not may_move:
        raise KernelError(ENOMEM)
    new = mm.home.ask_address(mm.free_range(size)) if fixed is None else fixed
    mm.check_count(1)
    second = vma.clone(old, vma.end)
    second.start, second.end = new, new + size
    mm.insert(second)
    if second.ops is not None:
        second.ops.opened()
    return new


def _move(mm: Mm, old: int, old_size: int, new_size: int, new: int, keep: bool) -> int:
    mm.check_count(4)
    if not keep:
        mm.split_at(old)
        mm.split_at(old + old_size)
    vma = mm.find(old)
    assert vma is not None
    if vma.ops is not None:
        vma.ops.moves(mm, new)
    anon_vma_prepare(mm, vma)
    moved = vma.clone(old, old + old_size)
    moved.start, moved.end = new, new + new_size
    moved.moved = vma.moved + old - new if vma.anon_chain else 0
    mm.insert(moved)
    if moved.ops is not None:
        moved.ops.opened()
    for page in mm.present(old, old + min(old_size, new_size)):
        mm.space.unmap(page)
        mm.pages[new + page - old] = mm.pages.pop(page)
        if mm.soft_dirty is not None:  # move_soft_dirty_pte()
            mm.soft_dirty.discard(page)
            mm.soft_dirty.add(new + page - old)
    for page in [page for page in mm.poisoned if old <= page < old + min(old_size, new_size)]:
        poison(mm, new + page - old)
    if moved.watcher is not None:
        told = moved.watcher.mremap_userfaultfd(old, new, old_size)
        if told is None:
            moved.userfault, moved.watcher = 0, None
        tell(mm.told, told)
    if not keep:
        mm.unmap(old, old_size)
    if moved.file is None and not moved.shared:
        mm.merge_anonymous(moved)
    return new


def remap_pages(mm: Mm, start: int, size: int, pgoff: int) -> int:
    """remap_file_pages(2): areas of one shared mapping become one that shows the file from `pgoff` (in pages).  EINVAL."""
    end = start + size
    vmas = mm.overlaps(start, end)
    first = vmas[0] if vmas else None
    if first is None or first.start > start or vmas[-1].end < end or not first.shared or not first.may & PROT_WRITE:
        raise KernelError(EINVAL)
    for before, vma in pairwise(vmas):
        same = vma.file is first.file and vma.private is first.private and vma.vm_flags == first.vm_flags
        if vma.start != before.end or not same:
            raise KernelError(EINVAL)
    part = first.clone(first.start, first.end)
    part.start, part.end, part.pgoff = start, end, pgoff
    if part.file is not None:
        part.file.get()  # while the old area goes
    mm.unmap(start, size)
    mm.insert(part)
    if part.file is not None:
        part.file.put()
    if part.ops is not None:
        part.ops.opened()
    mm.populate(start, size, "write" if part.prot & PROT_WRITE and not part.shared else "read")
    return 0
