"""How much memory was promised, and how much may be (vm.overcommit_memory).  mm/util.c.

Promised are the pages of private areas that can be written, or once could, and of shared memory without a name; counted when
somebody asks, not kept.
"""

from __future__ import annotations

from arch.abi.capability import CAP_OPT_NOAUDIT, CAP_SYS_ADMIN
from arch.abi.errno import ENOMEM
from arch.abi.limits import PAGE_SIZE
from arch.abi.mman import MAP_NORESERVE
from arch.errors import KernelError
from simkernel.kernel.areas import SharedAnonymous, page_up
from simkernel.kernel.face import KernelFace
from simkernel.kernel.mm import Mm

OVERCOMMIT_ALWAYS, OVERCOMMIT_NEVER = 1, 2
PAGES_PER_KB = PAGE_SIZE // 1024
ADMIN_RESERVE_PAGES = 8192 // PAGES_PER_KB  # vm.admin_reserve_kbytes
USER_RESERVE_SHARE = 32  # of an address space, at most vm.user_reserve_kbytes
ASKS_SINCE = "6.14"  # with a call of cap_capable(), which before was part of cap_vm_enough_memory() itself
USER_RESERVE_PAGES = 131072 // PAGES_PER_KB


def accounted_pages(mm: Mm) -> int:
    """Pages of an address space's own areas (VM_ACCOUNT)."""
    return sum(vma.end - vma.start for vma in mm.vmas if vma.account) // PAGE_SIZE


def committed_pages(k: KernelFace) -> int:
    """vm_memory_committed()."""
    spaces = {id(task.mm): task.mm for task in k.tasks.by_pid.values() if task.mm is not None}
    shared: dict[int, int] = {}
    for mm in spaces.values():
        for vma in mm.vmas:
            if isinstance(vma.private, SharedAnonymous):
                whole = vma.pgoff + (vma.end - vma.start) // PAGE_SIZE
                shared[id(vma.private)] = max(whole, shared.get(id(vma.private), 0))
    return sum(accounted_pages(mm) for mm in spaces.values()) + sum(shared.values())


def commit_limit(k: KernelFace) -> int:
    """vm_commit_limit(), in pages."""
    if k.mm.overcommit_kbytes:
        return k.mm.overcommit_kbytes // PAGES_PER_KB
    return k.mm.total_ram_pages * k.mm.overcommit_ratio // 100


def _admin(k: KernelFace) -> bool:
    """cap_vm_enough_memory()."""
    if k.version.at_least(ASKS_SINCE):
        return k.has_capability(CAP_SYS_ADMIN, CAP_OPT_NOAUDIT)
    return k.holds(CAP_SYS_ADMIN)


def enough_memory(k: KernelFace, length: int) -> None:
    """__vm_enough_memory(): guessing, not more at once than there is; strictly, not more in all than the limit.  ENOMEM."""
    admin = _admin(k)
    mode, pages = k.mm.overcommit_memory, page_up(length) // PAGE_SIZE
    if mode == OVERCOMMIT_ALWAYS:
        return
    if mode != OVERCOMMIT_NEVER:
        if pages > k.mm.total_ram_pages:
            raise KernelError(ENOMEM, "more than there is memory")
        return
    allowed, mm = commit_limit(k), k.current.mm
    if not admin:
        allowed -= ADMIN_RESERVE_PAGES
    if mm is not None:
        allowed -= min(mm.total_pages() // USER_RESERVE_SHARE, USER_RESERVE_PAGES)
    if committed_pages(k) + pages >= allowed:
        raise KernelError(ENOMEM, "more than may be promised")


def enough_for_copy(k: KernelFace, mm: Mm) -> None:
    """dup_mmap(): a child's areas are promised once more.  ENOMEM."""
    if k.mm.overcommit_memory == OVERCOMMIT_NEVER:
        enough_memory(k, accounted_pages(mm) * PAGE_SIZE)
    elif k.capable_watched:
        for vma in mm.vmas:
            if vma.account:
                enough_memory(k, vma.end - vma.start)


def enough_to_write(k: KernelFace, mm: Mm, start: int, end: int) -> None:
    """mprotect_fixup(): areas that become writable are promised then.  ENOMEM."""
    if k.mm.overcommit_memory != OVERCOMMIT_NEVER:
        return
    areas = [vma for vma in mm.overlaps(start, end) if not (vma.account or vma.shared or vma.flags & MAP_NORESERVE)]
    enough_memory(k, sum(min(vma.end, end) - max(vma.start, start) for vma in areas))
