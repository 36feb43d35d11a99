"""kernel/fork.c:dup_mmap(): the address space of a child."""

from __future__ import annotations

from arch.abi.limits import PAGE_SIZE
from arch.abi.mman import PROT_WRITE
from arch.mmu import AddressSpace
from simkernel.kernel.anon_vma import anon_vma_fork
from simkernel.kernel.areas import VM_WIPEONFORK, VMA_SIZE, SharedAnonymous, Vma
from simkernel.kernel.broken_pages import poison
from simkernel.kernel.mm import Mm
from simkernel.kernel.watching import Watcher, tell

COPIED = (
    "start_code", "end_code", "start_data", "end_data", "start_brk", "brk", "start_stack", "arg_start", "arg_end", "env_start",
    "env_end", "auxv", "exe_file", "mmap_base", "vdso", "thp_disabled", "membarrier_state", "dumpable", "dump_filter", "sealed", "ksm_merging_pages", "ksm_rmap_items",
)  # fmt: skip
SMALL = 64 * PAGE_SIZE


def has_pages_of_its_own(vma: Vma) -> bool:
    """mm/memory.c:vma_needs_copy(): what the page cache has, the child finds there when it looks."""
    if vma.fault is not None:
        return not isinstance(vma.private, SharedAnonymous)
    return vma.file is None or vma.anon


def _copy_pinned(new: Mm) -> None:
    """page_try_dup_anon_rmap(): private pages that the kernel uses stay their owner's, the child gets copies."""
    frames = new.home.frames
    for page, phys in new.pages.items():
        vma = new.find(page)
        if phys in frames.pins and vma is not None and not vma.shared:
            new.pages[page] = frames.copy_page(phys)
            frames.put_page(phys)


def _watch(old: Mm, new: Mm, copy: Vma, watcher: Watcher, watchers: dict[Watcher, Watcher | None]) -> None:
    """dup_userfaultfd(): the child's area is watched if its watcher wants to hear of children."""
    if watcher not in watchers:
        made = watcher.dup_userfaultfd(new)
        watchers[watcher] = made[0] if made is not None else None
        tell(old.told, made[1] if made is not None else None)
    copy.watcher = watchers[watcher]
    if copy.watcher is None:
        copy.userfault = 0


def dup_mmap(old: Mm, space: AddressSpace) -> Mm:
    """The child's copy; private pages are shared until written.  KernelError(ENOMEM), and nothing has changed."""
    old.home.charge(VMA_SIZE * sum(1 for vma in old.vmas if not vma.dontfork))
    new = Mm(old.home, space)
    for name in COPIED:
        setattr(new, name, getattr(old, name))
    if new.exe_file is not None:
        new.exe_file.get()
    get = old.home.frames.get_page
    watchers: dict[Watcher, Watcher | None] = {}
    large = set()  # where areas begin that are looked for from the pages' side
    for vma in old.vmas:
        if vma.dontfork:
            continue
        copy = vma.clone(vma.start, vma.end)
        copy.locked = 0
        if copy.watcher is not None:
            _watch(old, new, copy, copy.watcher, watchers)
        anon_vma_fork(old, vma, copy)
        new.vmas.append(copy)
        new.starts.append(copy.start)
        if copy.file is not None:
            copy.file.get()
        if copy.ops is not None:
            copy.ops.opened()
        if copy.advice & VM_WIPEONFORK or not has_pages_of_its_own(vma):
            continue
        if copy.end - copy.start <= SMALL:
            for page in range(copy.start, copy.end, PAGE_SIZE):
                phys = old.pages.get(page)
                if phys is not None:
                    get(phys)
                    new.pages[page] = phys
        else:
            large.add(vma.start)
        if not vma.shared and vma.prot & PROT_WRITE:
            old.write_protect(vma)
    for page, phys in old.pages.items() if large else ():
        there = new.find(page)
        if there is not None and there.start in large:
            get(phys)
            new.pages[page] = phys
    for page in old.poisoned:
        there = new.find(page)
        if there is not None and not there.advice & VM_WIPEONFORK:
            poison(new, page)
    if old.home.frames.pins:
        _copy_pinned(new)
    new.soft_dirty = set(old.soft_dirty) if old.soft_dirty is not None else None
    if old.home.events is not None:
        old.home.events.dup(old, new)
    return new
