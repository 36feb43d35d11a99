"""System calls of memory: mmap, munmap, mprotect, brk, mremap, madvise and their kin.  mm/{mmap,mprotect,mremap,madvise}.c."""

from __future__ import annotations

from arch.abi.capability import CAP_IPC_LOCK
from arch.abi.errno import EACCES, EAGAIN, EBUSY, EINVAL, ENOMEM, ENOSPC, ENOSYS, EOPNOTSUPP, EOVERFLOW, EPERM
from arch.abi.fcntl import FALLOC_FL_KEEP_SIZE, FALLOC_FL_PUNCH_HOLE
from arch.abi.limits import MAX_LFS_FILESIZE, PAGE_SIZE
from arch.abi.mman import (
    LEGACY_MAP_MASK,
    MADV_DONTFORK,
    MADV_DONTNEED,
    MADV_DONTNEED_LOCKED,
    MADV_FREE,
    MADV_HWPOISON,
    MADV_REMOVE,
    MADV_SOFT_OFFLINE,
    MADV_WIPEONFORK,
    MAP_ANONYMOUS,
    MAP_FIXED,
    MAP_GROWSDOWN,
    MAP_HUGE_SHIFT,
    MAP_HUGETLB,
    MAP_LOCKED,
    MAP_NORESERVE,
    MAP_PRIVATE,
    MAP_SHARED_VALIDATE,
    MAP_TYPE,
    MS_INVALIDATE,
    PKEY_ACCESS_MASK,
    PROT_GROWSDOWN,
    PROT_GROWSUP,
    PROT_WRITE,
)
from arch.abi.resource import RLIMIT_AS, RLIMIT_DATA, RLIMIT_MEMLOCK
from arch.errors import KernelError
from arch.hosttime import check
from simkernel.kernel.areas import SharedAnonymous, Vma, page_up
from simkernel.kernel.commit import OVERCOMMIT_NEVER, enough_memory, enough_to_write
from simkernel.kernel.face import Body, KernelFace
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.locks import mmap_lock, mmap_locking, mmap_unlocked, under_mmap_lock
from simkernel.kernel.madvise import do_madvise
from simkernel.kernel.memory_failure import madvise_inject_error
from simkernel.kernel.mm import Mm
from simkernel.kernel.mprotect import protect as change_rights
from simkernel.kernel.mremap import remap, remap_pages
from simkernel.kernel.security import ask, ask_mmap
from simkernel.kernel.unmapped_area import get_unmapped_area
from simkernel.kernel.watching import tell, wait_for

GROWS = PROT_GROWSDOWN | PROT_GROWSUP
NO_PKEY = -1


def current_mm(k: KernelFace) -> Mm:
    """The current task's address space."""
    mm = k.current.mm
    if mm is None:
        raise KernelError(EINVAL)
    return mm


def refuse_sealed(mm: Mm, start: int, length: int) -> None:
    """EPERM where mseal(2) forbids a change."""
    if any(low < start + page_up(length) and start < high for low, high in mm.sealed):
        raise KernelError(EPERM)


def can_do_mlock(k: KernelFace) -> bool:
    """The task may lock at least something."""
    return k.current.rlimits[RLIMIT_MEMLOCK][0] != 0 or k.capable(CAP_IPC_LOCK)


def over_lock_limit(k: KernelFace, pages: int) -> bool:
    """More than may be locked: only then one looks at the capability."""
    limit = k.current.rlimits[RLIMIT_MEMLOCK][0]
    return 0 <= limit // PAGE_SIZE < pages and not k.capable(CAP_IPC_LOCK)


def _check_map_locked(k: KernelFace, mm: Mm, length: int) -> None:
    """mlock_future_check() for a new mapping that is to be locked.  EPERM, EAGAIN."""
    if not can_do_mlock(k):
        raise KernelError(EPERM)
    if over_lock_limit(k, mm.locked_pages() + page_up(length) // PAGE_SIZE):
        raise KernelError(EAGAIN)


def may_expand(k: KernelFace, mm: Mm, length: int, data: bool) -> None:
    """may_expand_vm(): RLIMIT_AS, and for private memory that can be written RLIMIT_DATA.  ENOMEM."""
    rlimits = k.current.rlimits
    limit = rlimits[RLIMIT_AS][0]
    if limit >= 0 and mm.total_pages() * PAGE_SIZE + length > limit:
        raise KernelError(ENOMEM)
    limit = rlimits[RLIMIT_DATA][0]
    if data and limit >= 0 and mm.data_bytes() + page_up(length) > limit:
        raise KernelError(ENOMEM)


def _no_huge_pages(k: KernelFace, flags: int) -> None:
    """hugetlb_reserve_pages(): the pool of huge pages is empty.  EINVAL for a size that the CPU does not know, else ENOMEM."""
    if flags >> MAP_HUGE_SHIFT & 0x3F not in (0, *k.arch.calls.huge_page_sizes):
        raise KernelError(EINVAL)
    if not flags & MAP_NORESERVE:
        raise KernelError(ENOMEM)


@syscall("brk", "unsigned long brk", source="mm/mmap.c")
def sys_brk(k: KernelFace, brk: int) -> Body:
    """Move the end of the heap; the (possibly old) end."""
    mm = current_mm(k)
    if page_up(brk) > page_up(mm.brk) and brk >= mm.start_brk:
        try:
            grown = page_up(brk) - page_up(mm.brk)
            limit = k.current.rlimits[RLIMIT_DATA][0]
            if 0 <= limit < brk - mm.start_brk + mm.end_data - mm.start_data:
                return mm.brk
            may_expand(k, mm, grown, True)
            enough_memory(k, grown)
            k.mm.ask_address(page_up(mm.brk))
        except KernelError:
            return mm.brk
    value: int = yield from under_mmap_lock(k, lambda: mm.set_brk(brk))
    if mm.told:
        yield from wait_for(mm.told)
    k.mirror.set_field(mm.addr, "mm_struct", "brk", value)
    return value


@kernel_function(
    "unsigned long vm_mmap_pgoff(struct file *file, unsigned long addr, unsigned long len, unsigned long prot, "
    "unsigned long flag, unsigned long pgoff)",
    source="mm/util.c",
)
def vm_mmap_pgoff(k: KernelFace, file: int, addr: int, length: int, prot: int, flags: int, pgoff: int) -> Body:
    """Map a file or anonymous memory; the address."""
    ask_mmap(k, file, prot, flags)
    lock = mmap_lock(k)
    mmap_locking(k, True)
    if lock:
        yield k.call("down_write_killable" if k.version.at_least("4.7") else "down_write", lock)
    more = (0,) if k.version.at_least("6.6") else ()
    ret: int = yield k.call("do_mmap", file, addr, length, prot, flags, *more, pgoff, *_on_the_stack(k))
    mmap_unlocked(k, True)
    if lock:
        yield k.call("up_write", lock)
    return ret


def _on_the_stack(k: KernelFace) -> tuple[int, int]:
    """`populate`, which is 0, and `uf`, an empty list."""
    at, word = k.mirror.scratch(b""), k.arch.word
    head = (at + 2 * word).to_bytes(word, k.mem.byteorder)
    k.mirror.scratch(bytes(2 * word) + head + head)
    return at, at + 2 * word


@kernel_function(
    "unsigned long do_mmap(struct file *file, unsigned long addr, unsigned long len, unsigned long prot, unsigned long flags, "
    "unsigned long pgoff, unsigned long *populate, struct list_head *uf)",
    source="mm/mmap.c",
    until="6.6",
    names={None: "do_mmap_pgoff", "4.2": "do_mmap"},
)
def do_mmap(
    k: KernelFace, file: int, addr: int, length: int, prot: int, flags: int, pgoff: int, populate: int, uf: int
) -> int:
    """EINVAL, ENOMEM, EACCES, ENODEV, EEXIST."""
    return _do_mmap(k, file, addr, length, prot, flags, pgoff)


@kernel_function(
    "unsigned long do_mmap(struct file *file, unsigned long addr, unsigned long len, unsigned long prot, unsigned long flags, "
    "vm_flags_t vm_flags, unsigned long pgoff, unsigned long *populate, struct list_head *uf)",
    source="mm/mmap.c",
    since="6.6",
)
def do_mmap_vm_flags(
    k: KernelFace,
    file: int,
    addr: int,
    length: int,
    prot: int,
    flags: int,
    vm_flags: int,
    pgoff: int,
    populate: int,
    uf: int,
) -> int:
    """The same, with flags that no caller of ours gives."""
    return _do_mmap(k, file, addr, length, prot, flags, pgoff)


def _do_mmap(k: KernelFace, file: int, addr: int, length: int, prot: int, flags: int, pgoff: int) -> int:
    if not length:
        raise KernelError(EINVAL)
    size = page_up(length)
    if size >= 1 << 8 * k.arch.word:
        raise KernelError(ENOMEM, "more than all addresses")
    if pgoff + size // PAGE_SIZE >= 1 << 8 * k.arch.word:
        raise KernelError(EOVERFLOW)
    mm = current_mm(k)
    mm.check_count(0)
    place = get_unmapped_area(mm, addr, size, flags)
    locked = mm.lock_future or bool(flags & MAP_LOCKED)
    if locked:
        _check_map_locked(k, mm, length)
    if file and pgoff * PAGE_SIZE + size > MAX_LFS_FILESIZE:
        raise KernelError(EOVERFLOW)
    if flags & MAP_TYPE == MAP_SHARED_VALIDATE:
        if not file:
            raise KernelError(EINVAL)
        if flags & ~LEGACY_MAP_MASK:
            raise KernelError(EOPNOTSUPP, "a flag that the file does not know")
    may_expand(k, mm, length, flags & MAP_TYPE == MAP_PRIVATE and bool(prot & PROT_WRITE) and not flags & MAP_GROWSDOWN)
    if flags & MAP_GROWSDOWN and (file or flags & MAP_TYPE != MAP_PRIVATE):
        raise KernelError(EINVAL, "only private memory grows")
    target, k.mm.mapping_file = k.mm.mapping_file, None
    if flags & MAP_FIXED:
        refuse_sealed(mm, addr, length)
    if not file and flags & MAP_HUGETLB:
        _no_huge_pages(k, flags)
    private = flags & MAP_TYPE == MAP_PRIVATE
    promised = not flags & MAP_NORESERVE or k.mm.overcommit_memory == OVERCOMMIT_NEVER
    if promised:
        flags &= ~MAP_NORESERVE
        if prot & PROT_WRITE if private else not file:
            enough_memory(k, length)
    return mm.map(addr, length, prot, flags, target if file else None, pgoff, locked=locked, place=place)


def _mmap(k: KernelFace, addr: int, length: int, prot: int, flags: int, fd: int, pgoff: int) -> Body:
    file = None if flags & MAP_ANONYMOUS else k.vfs.fget(fd)
    if file is not None and flags & MAP_HUGETLB:
        raise KernelError(EINVAL, "none of hugetlbfs")
    k.mm.mapping_file = file
    mm = k.current.mm
    address = file.addr if file is not None else 0
    ret: int = yield k.call("vm_mmap_pgoff", address, addr, length, prot, flags, pgoff)
    if mm is not None and mm.told:
        yield from wait_for(mm.told)
    return ret


@syscall(
    "mmap",
    "unsigned long addr, unsigned long len, unsigned long prot, unsigned long flags, unsigned long fd, unsigned long off",
    source="arch/*/kernel/sys.c",
)
def sys_mmap(k: KernelFace, addr: int, length: int, prot: int, flags: int, fd: int, off: int) -> Body:
    """Map; EINVAL for an offset inside a page."""
    if k.abi.mmap_takes_block:
        raw = k.usercopy.copy_from_user(addr, 6 * k.arch.word)
        word = k.arch.word
        addr, length, prot, flags, fd, off = (
            int.from_bytes(raw[i * word : (i + 1) * word], k.mem.byteorder) for i in range(6)
        )
    if off & (PAGE_SIZE - 1):
        raise KernelError(EINVAL)
    return (yield from _mmap(k, addr, length, prot, flags, _int(fd), off // PAGE_SIZE))


@syscall(
    "mmap2",
    "unsigned long addr, unsigned long len, unsigned long prot, unsigned long flags, unsigned long fd, unsigned long pgoff",
    source="arch/*/kernel/sys.c",
)
def sys_mmap2(k: KernelFace, addr: int, length: int, prot: int, flags: int, fd: int, pgoff: int) -> Body:
    """The same with the offset in pages (32-bit machines)."""
    return (yield from _mmap(k, addr, length, prot, flags, _int(fd), pgoff))


def _int(value: int) -> int:
    return ((value & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000


@syscall("munmap", "unsigned long addr, size_t len", source="mm/mmap.c")
def sys_munmap(k: KernelFace, addr: int, length: int) -> Body:
    """EINVAL."""
    mm = current_mm(k)
    if addr % PAGE_SIZE == 0:
        refuse_sealed(mm, addr, length)
    ret: int = yield from under_mmap_lock(k, lambda: mm.unmap(addr, length))
    if mm.told:
        yield from wait_for(mm.told)
    return ret


@syscall("mprotect", "unsigned long start, size_t len, unsigned long prot", source="mm/mprotect.c")
def sys_mprotect(k: KernelFace, start: int, length: int, prot: int) -> Body:
    """EINVAL, ENOMEM, EACCES."""
    return (yield k.call("do_mprotect_pkey", start, length, prot, -1))


def _protect(k: KernelFace, mm: Mm, start: int, length: int, prot: int) -> None:
    """Each area that it touches is asked about."""
    if prot & PROT_WRITE:
        enough_to_write(k, mm, start, start + page_up(length))
    if "file_mprotect" in k.security_hooks.watched:
        for vma in mm.overlaps(start, start + page_up(length)):
            ask(k, "file_mprotect", k.mirror.vma_struct(mm, vma), prot, prot)
    change_rights(mm, start, length, prot)


@kernel_function(
    "int do_mprotect_pkey(unsigned long start, size_t len, unsigned long prot, int pkey)",
    source="mm/mprotect.c",
    since="4.9",
)
def do_mprotect_pkey(k: KernelFace, start: int, length: int, prot: int, pkey: int) -> Body:
    """mprotect(2) and pkey_mprotect(2)."""
    if prot & ~(GROWS | 0xF) or prot & GROWS == GROWS or pkey != NO_PKEY:
        raise KernelError(EINVAL)
    if length:
        if start % PAGE_SIZE == 0:
            refuse_sealed(current_mm(k), start, length)
        return (yield from under_mmap_lock(k, lambda: _protect(k, current_mm(k), start, length, prot)))
    elif start & (PAGE_SIZE - 1):
        raise KernelError(EINVAL)
    return 0


@syscall(
    "pkey_mprotect",
    "unsigned long start, size_t len, unsigned long prot, int pkey",
    source="mm/mprotect.c",
    since="4.9",
)
def sys_pkey_mprotect(k: KernelFace, start: int, length: int, prot: int, pkey: int) -> Body:
    """mprotect(2) with no key; there are no others.  EINVAL."""
    _has_pkeys(k)
    return (yield k.call("do_mprotect_pkey", start, length, prot, pkey))


@syscall("pkey_alloc", "unsigned long flags, unsigned long init_val", source="mm/mprotect.c", since="4.9")
def sys_pkey_alloc(k: KernelFace, flags: int, init_val: int) -> int:
    """The CPU has no keys: ENOSPC.  EINVAL."""
    _has_pkeys(k)
    return -EINVAL if flags or init_val & ~PKEY_ACCESS_MASK else -ENOSPC


@syscall("pkey_free", "int pkey", source="mm/mprotect.c", since="4.9")
def sys_pkey_free(k: KernelFace, pkey: int) -> int:
    """None was allocated: EINVAL."""
    _has_pkeys(k)
    return -EINVAL


def _has_pkeys(k: KernelFace) -> None:
    """CONFIG_ARCH_HAS_PKEYS."""
    if not k.arch.calls.has_pkeys:
        raise KernelError(ENOSYS)


@syscall(
    "mremap",
    "unsigned long addr, unsigned long old_len, unsigned long new_len, unsigned long flags, unsigned long new_addr",
    source="mm/mremap.c",
)
def sys_mremap(k: KernelFace, addr: int, old_len: int, new_len: int, flags: int, new_addr: int) -> Body:
    """EINVAL, EFAULT, ENOMEM."""
    mm = current_mm(k)
    if addr % PAGE_SIZE == 0:
        refuse_sealed(mm, addr, old_len)
    more = (page_up(new_len) & (1 << 8 * k.arch.word) - 1) - page_up(old_len)
    grows = mm.find(addr) if more > 0 else None
    if grows is not None and not grows.dontexpand and not flags & ~7:
        may_expand(k, mm, more, grows.account)
        if grows.account:
            enough_memory(k, more)
    ret: int = yield from under_mmap_lock(k, lambda: remap(mm, addr, old_len, new_len, flags, new_addr))
    if mm.told:
        yield from wait_for(mm.told)
    return ret


@syscall(
    "remap_file_pages", "unsigned long start, unsigned long size, unsigned long prot, unsigned long pgoff, unsigned long flags",
    source="mm/mmap.c",
)  # fmt: skip
def sys_remap_file_pages(k: KernelFace, start: int, size: int, prot: int, pgoff: int, flags: int) -> Body:
    """Other pages of the file there: a mapping of its own (since 4.0).  EINVAL."""
    mm = current_mm(k)
    start, size = start & -PAGE_SIZE, size & -PAGE_SIZE
    top = 1 << 8 * k.arch.word
    if prot or not size or start + size >= top or pgoff + size // PAGE_SIZE >= top:
        raise KernelError(EINVAL)
    refuse_sealed(mm, start, size)
    return (yield from under_mmap_lock(k, lambda: remap_pages(mm, start, size, pgoff)))


DROPPING = (MADV_DONTNEED, MADV_FREE, MADV_DONTNEED_LOCKED)  # pages of which watchers hear before
DISCARDS = (MADV_DONTNEED, MADV_FREE, MADV_REMOVE, MADV_DONTFORK, MADV_WIPEONFORK, MADV_DONTNEED_LOCKED)


@syscall("madvise", "unsigned long start, size_t len_in, int behavior", source="mm/madvise.c")
def sys_madvise(k: KernelFace, start: int, length: int, behavior: int) -> Body:
    """EINVAL, ENOMEM, EFAULT; EACCES: what is to be emptied (MADV_REMOVE) is no file that can be written."""
    mm = current_mm(k)
    if behavior in (MADV_HWPOISON, MADV_SOFT_OFFLINE) and not start % PAGE_SIZE:
        return (yield from madvise_inject_error(k, mm, start, start + length, behavior)) if length else 0
    if behavior == MADV_REMOVE and not start % PAGE_SIZE:
        return (yield from _remove(k, mm, start, start + page_up(length)))
    if behavior in DISCARDS and mm.sealed:
        end = start + page_up(length)
        for vma in mm.overlaps(start, end):
            if vma.file is None and not vma.prot & PROT_WRITE:  # what could not be written is not to be emptied
                refuse_sealed(mm, max(start, vma.start), min(end, vma.end) - max(start, vma.start))
    if behavior in DROPPING and not start % PAGE_SIZE:
        for vma in mm.overlaps(start, start + page_up(length)):
            if vma.watcher is not None and not vma.locked:
                tell(
                    mm.told,
                    vma.watcher.userfaultfd_remove(max(start, vma.start), min(start + page_up(length), vma.end)),
                )
        yield from wait_for(mm.told)
    do_madvise(mm, start, length, behavior, k.arch.word)
    return 0


def _remove(k: KernelFace, mm: Mm, start: int, end: int) -> Body:
    """madvise_remove(), area by area."""
    covered = 0
    for vma in mm.overlaps(start, end):
        low, high = max(start, vma.start), min(end, vma.end)
        if vma.locked:
            return -EINVAL
        if isinstance(vma.private, SharedAnonymous):
            first = vma.pgoff + (low - vma.start) // PAGE_SIZE
            vma.private.clear(first, first + (high - low) // PAGE_SIZE)
            covered += high - low
            continue
        if vma.file is None:
            return -EINVAL
        if not vma.shared or not vma.prot & PROT_WRITE:
            return -EACCES
        at, how = vma.pgoff * PAGE_SIZE + low - vma.start, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE
        ret = yield k.call("vfs_fallocate", vma.file.addr, how, at, high - low)
        if ret < 0:
            return ret
        covered += high - low
    return 0 if covered == end - start else -ENOMEM


@syscall("msync", "unsigned long start, size_t len, int flags", source="mm/msync.c")
def sys_msync(k: KernelFace, start: int, length: int, flags: int) -> int:
    """File pages are written in place: nothing to do but to check."""
    if flags & ~7 or start & (PAGE_SIZE - 1) or flags & 5 == 5:
        raise KernelError(EINVAL)
    end = start + (page_up(length) & (1 << 8 * k.arch.word) - 1)
    covered = 0
    for vma in current_mm(k).overlaps(start, end):
        if flags & MS_INVALIDATE and vma.locked:
            raise KernelError(EBUSY)
        covered += min(vma.end, end) - max(vma.start, start)
    if covered < end - start:
        raise KernelError(ENOMEM)
    return 0


MINCORE_STEP = PAGE_SIZE * PAGE_SIZE  # bytes of memory that a page of answers is about


def in_memory(vma: Vma, page: int) -> bool:
    """mincore_page(): a page of a file, or of shared memory, that somebody has used."""
    index = vma.pgoff + (page - vma.start) // PAGE_SIZE
    if isinstance(vma.private, SharedAnonymous):
        return vma.private.cached(index) is not None
    pages = vma.file.inode.i_mapping if vma.file is not None else None
    return pages is not None and pages.cached(index) is not None


@syscall("mincore", "unsigned long start, size_t len, unsigned char *vec", source="mm/mincore.c")
def sys_mincore(k: KernelFace, start: int, length: int, vec: int) -> int:
    """Which pages are present, and of a file which are in memory.  EINVAL, ENOMEM, EFAULT."""
    mm = current_mm(k)
    if start & (PAGE_SIZE - 1):
        raise KernelError(EINVAL)
    end = start + page_up(length)
    if sum(min(v.end, end) - max(v.start, start) for v in mm.overlaps(start, end)) < end - start:
        raise KernelError(ENOMEM)
    for at in range(start, end, MINCORE_STEP):
        upper = min(at + MINCORE_STEP, end)
        chunk = bytearray((upper - at) // PAGE_SIZE)
        for page in (*mm.present(at, upper), *(page for page in mm.poisoned if at <= page < upper)):
            chunk[(page - at) // PAGE_SIZE] = 1
        for vma in mm.overlaps(at, upper):
            for page in range(max(vma.start, at), min(vma.end, upper), PAGE_SIZE):
                if not chunk[(page - at) // PAGE_SIZE]:
                    chunk[(page - at) // PAGE_SIZE] = in_memory(vma, page)
        k.usercopy.copy_to_user(vec + (at - start) // PAGE_SIZE, bytes(chunk))
        check()
    return 0
