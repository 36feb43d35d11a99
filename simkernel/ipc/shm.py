"""System V shared memory.  ipc/shm.c: a segment is a file of the unmounted tmpfs, attaching maps it."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from arch.abi.capability import CAP_IPC_LOCK
from arch.abi.errno import EEXIST, EINVAL, ENOMEM, ENOSPC, EPERM
from arch.abi.fcntl import O_RDONLY, O_RDWR
from arch.abi.ipc import (
    IPC_INFO,
    IPC_RMID,
    IPC_SET,
    IPC_STAT,
    SHM_DEST,
    SHM_EXEC,
    SHM_HUGETLB,
    SHM_INFO,
    SHM_LOCK,
    SHM_LOCKED,
    SHM_RDONLY,
    SHM_REMAP,
    SHM_RND,
    SHM_STAT,
    SHM_STAT_ANY,
    SHM_UNLOCK,
    SHMMIN,
)
from arch.abi.limits import PAGE_SIZE
from arch.abi.mman import MAP_FIXED, MAP_FIXED_NOREPLACE, MAP_HUGE_SHIFT, MAP_SHARED, PROT_EXEC, PROT_READ, PROT_WRITE
from arch.abi.resource import RLIMIT_MEMLOCK
from arch.abi.stat import S_IRUGO, S_IWUGO, S_IXUGO
from arch.errors import KernelError
from simkernel.fs.eventfd import unlinked_file
from simkernel.fs.inode import Dentry, File, FileOperations
from simkernel.fs.tmpfs import shmem_mmap
from simkernel.ipc.face import IpcKernel
from simkernel.ipc.util import PERM_SIZE, IpcObject, order_of, seconds, times, version_of, words
from simkernel.kernel.areas import Vma, VmOperations, page_up
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.mm import Mm
from simkernel.kernel.security import ask, ask_mmap
from simkernel.kernel.task import Task

SHMLBA = PAGE_SIZE


class Segment(IpcObject):
    """struct shmid_kernel."""

    hooks = "shm"

    def __init__(self, k: IpcKernel, key: int, mode: int, size: int) -> None:
        super().__init__(k, key, mode)
        self.admit(k)
        self.size = size
        self.atime = self.dtime = 0
        self.cpid, self.lpid = k.current.tgid, 0
        self.file = unlinked_file(k, f"SYSV{key & 0xFFFFFFFF:08x}", 0, _name, private=True)
        self.file.f_op = SHM_FILE_OPERATIONS
        self.file.private_data = self
        self.file.f_inode.i_size = size
        self.destroyed = False  # IPC_RMID: goes with the last who has it attached
        self.kept = True  # by the namespace: it stays when nobody has it attached
        self.creator: Task | None = k.current  # until that ends

    def attached(self, k: IpcKernel) -> Iterator[tuple[Mm, Vma]]:
        """Where it is mapped."""
        spaces = {id(t.mm): t.mm for t in k.tasks.by_pid.values() if t.mm is not None}
        for mm in spaces.values():
            for vma in mm.vmas:
                if vma.file is self.file:
                    yield mm, vma

    def nattch(self, k: IpcKernel) -> int:
        """How often it is mapped."""
        return sum(1 for _ in self.attached(k))

    def shmid_ds(self, k: IpcKernel) -> bytes:
        """struct shmid64_ds."""
        pids = struct.pack(order_of(k) + "ii", self.cpid, self.lpid)
        when = times(k, self.atime, self.dtime, self.ctime)
        return self.perm(k) + words(k, self.size) + when + pids + words(k, self.nattch(k), 0, 0)


class Attached(VmOperations):
    """shm_open(), shm_close(): when areas that show a segment came and went, and whose they were."""

    def __init__(self, k: IpcKernel, segment: Segment) -> None:
        self.k, self.segment = k, segment

    def opened(self) -> None:
        """One more."""
        self.segment.atime, self.segment.lpid = seconds(self.k), self.k.current.tgid

    def closed(self) -> None:
        """One less."""
        self.segment.dtime, self.segment.lpid = seconds(self.k), self.k.current.tgid


def _name(dentry: Dentry) -> str:
    return f"/{dentry.name} (deleted)"


def _release(k: IpcKernel, file: File) -> None:
    """shm_destroy(): nobody has it any more."""
    segment = file.private_data
    assert isinstance(segment, Segment)
    k.ipc.shm.remove(segment)


SHM_FILE_OPERATIONS = FileOperations(
    "shm_file_operations", llseek="noop_llseek", mmap=shmem_mmap, release=_release, fsync=lambda k, file: 0
)


def forget(k: IpcKernel, item: IpcObject) -> None:
    """do_shm_rmid(): the namespace is gone; whoever has it attached keeps its pages."""
    assert isinstance(item, Segment)
    item.destroyed = True
    if item.kept:
        item.kept = False
        k.vfs.put_file(item.file)


def _segment(k: IpcKernel, shmid: int) -> Segment:
    found = k.ipc.shm.at(shmid)
    assert isinstance(found, Segment)
    return found


def _new(k: IpcKernel, key: int, size: int, flags: int) -> int:
    """newseg().  EINVAL, ENOSPC, ENOMEM."""
    ns = k.ipc
    pages = _whole_pages(size)
    if not SHMMIN <= size <= ns.shmmax:
        raise KernelError(EINVAL)
    if sum(_whole_pages(s.size) for s in _segments(k)) + pages > ns.shmall:
        raise KernelError(ENOSPC)
    if flags & SHM_HUGETLB and flags >> MAP_HUGE_SHIFT & 0x3F not in (0, *k.arch.calls.huge_page_sizes):
        raise KernelError(EINVAL)
    if flags & SHM_HUGETLB or pages > k.mm.total_ram_pages:
        raise KernelError(ENOMEM)
    segment = Segment(k, key, flags, size)
    try:
        return ns.shm.add(segment, ns.shmmni)
    except KernelError:
        segment.file.put()
        raise


@syscall("shmget", "key_t key, size_t size, int shmflg", source="ipc/shm.c")
def sys_shmget(k: IpcKernel, key: int, size: int, shmflg: int) -> int:
    """EINVAL, ENOENT, EEXIST, EACCES, ENOSPC, ENOMEM."""

    def fits(item: IpcObject) -> None:
        assert isinstance(item, Segment)
        if size > item.size:
            raise KernelError(EINVAL)

    return k.ipc.shm.get(k, key, shmflg, lambda: _new(k, key, size, shmflg), fits)


@kernel_function(
    "long do_shmat(int shmid, char *shmaddr, int shmflg, unsigned long *raddr, unsigned long shmlba)",
    source="ipc/shm.c",
)
def do_shmat(k: IpcKernel, shmid: int, addr: int, flags: int, raddr: int, lba: int) -> int:
    """Map a segment; the address.  EINVAL, EACCES, ENOMEM, EIDRM."""
    if shmid < 0:
        raise KernelError(EINVAL)
    how = MAP_SHARED
    if addr:
        if addr & (lba - 1):
            if not flags & SHM_RND:
                raise KernelError(EINVAL)
            addr &= ~(lba - 1)
            if not addr and flags & SHM_REMAP:
                raise KernelError(EINVAL)
        how |= MAP_FIXED if flags & SHM_REMAP else MAP_FIXED_NOREPLACE
    elif flags & SHM_REMAP:
        raise KernelError(EINVAL)
    prot, mode = (PROT_READ, S_IRUGO) if flags & SHM_RDONLY else (PROT_READ | PROT_WRITE, S_IRUGO | S_IWUGO)
    if flags & SHM_EXEC:
        prot, mode = prot | PROT_EXEC, mode | S_IXUGO
    segment, mm = _segment(k, shmid), k.current.mm
    segment.check(k, mode)
    segment.ask(k, "shmat", addr, flags)
    assert mm is not None
    if how & MAP_FIXED_NOREPLACE and addr + segment.size >> 8 * k.arch.word:
        raise KernelError(EINVAL)
    ask_mmap(k, segment.file.addr, prot, how & 3)
    segment.file.f_flags = O_RDONLY if flags & SHM_RDONLY else O_RDWR
    try:
        where = mm.map(addr, segment.size, prot, how, segment.file)
    except KernelError as error:
        raise KernelError(EINVAL if error.errno == EEXIST else error.errno) from None
    finally:
        segment.file.f_flags = O_RDWR
    vma = mm.find(where)
    assert vma is not None
    vma.ops = Attached(k, segment)
    vma.ops.opened()
    if k.ipc.shm_rmid_forced:
        _let_go(segment)
    return where


@syscall("shmat", "int shmid, char *shmaddr, int shmflg", source="ipc/shm.c")
def sys_shmat(k: IpcKernel, shmid: int, shmaddr: int, shmflg: int) -> Body:
    """The address."""
    return (yield k.call("do_shmat", shmid, shmaddr, shmflg, 0, SHMLBA))


@syscall("shmdt", "char *shmaddr", source="ipc/shm.c")
def sys_shmdt(k: IpcKernel, shmaddr: int) -> int:
    """Unmap the segment that begins there.  EINVAL."""
    mm = k.current.mm
    assert mm is not None
    if shmaddr & (PAGE_SIZE - 1):
        raise KernelError(EINVAL)
    first = mm.find_next(shmaddr)
    while first is not None and not _begins_at(first, shmaddr):
        first = mm.find_next(first.end)
    if first is None or not isinstance(first.file, File):
        raise KernelError(EINVAL)
    segment = first.file.private_data
    segment.dtime, segment.lpid = seconds(k), k.current.tgid
    for vma in mm.overlaps(shmaddr, shmaddr + page_up(segment.size)):
        if vma.file is segment.file and vma.start - shmaddr == vma.pgoff * PAGE_SIZE:
            mm.unmap(vma.start, vma.end - vma.start)
    return 0


def _begins_at(vma: Vma, address: int) -> bool:
    is_segment = isinstance(vma.file, File) and vma.file.f_op is SHM_FILE_OPERATIONS
    return is_segment and vma.start - vma.pgoff * PAGE_SIZE == address


def _segments(k: IpcKernel) -> list[Segment]:
    return [s for s in k.ipc.shm if isinstance(s, Segment)]


def _whole_pages(size: int) -> int:
    return page_up(size) // PAGE_SIZE


def resident_pages(segment: Segment) -> int:
    """Those that somebody has touched."""
    mapping = segment.file.f_inode.i_mapping
    return mapping.nrpages if mapping is not None else 0


def _info(k: IpcKernel, cmd: int, buf: int) -> int:
    """struct shminfo64, or struct shm_info."""
    ns = k.ipc
    if cmd == IPC_INFO:
        k.usercopy.copy_to_user(buf, words(k, ns.shmmax, SHMMIN, ns.shmmni, ns.shmmni, ns.shmall, 0, 0, 0, 0))
        return ns.shm.highest
    segments = _segments(k)
    used, total = len(segments), sum(_whole_pages(s.size) for s in segments)
    head = used.to_bytes(4, k.mem.byteorder) + bytes(k.arch.word - 4)
    k.usercopy.copy_to_user(buf, head + words(k, total, sum(map(resident_pages, segments)), 0, 0, 0))
    return ns.shm.highest


def _lock(k: IpcKernel, segment: Segment, on: bool) -> int:
    """SHM_LOCK and SHM_UNLOCK.  EPERM."""
    if not k.capable(CAP_IPC_LOCK):
        if k.current.cred.euid not in (segment.uid, segment.cuid):
            raise KernelError(EPERM)
        if on and not k.current.rlimits[RLIMIT_MEMLOCK][0]:
            raise KernelError(EPERM)
    segment.mode = segment.mode | SHM_LOCKED if on else segment.mode & ~SHM_LOCKED
    return 0


def do_shm_rmid(k: IpcKernel, segment: Segment) -> None:
    """Gone at once, or with the last who has it attached."""
    if segment.destroyed:
        return
    if segment.nattch(k):
        segment.mode |= SHM_DEST
        k.ipc.shm.hide(segment)
    segment.destroyed = True
    _let_go(segment)


def _let_go(segment: Segment) -> None:
    """It goes with the last who has it attached, or at once."""
    if segment.kept:
        segment.kept = False
        segment.file.put()


def set_rmid_forced(k: IpcKernel, value: int) -> None:
    """proc_ipc_dointvec_minmax_orphans(): kernel.shm_rmid_forced.  EINVAL."""
    if value not in (0, 1):
        raise KernelError(EINVAL)
    k.ipc.shm_rmid_forced = value
    for segment in list(k.ipc.shm):
        assert isinstance(segment, Segment)
        if value and (segment.creator is None or segment.nattch(k)):
            _let_go(segment)
        elif not value and not segment.kept and not segment.destroyed:
            segment.kept = True
            segment.file.get()


@kernel_function("void exit_shm(struct task_struct *task)", source="ipc/shm.c")
def exit_shm(k: IpcKernel, task: int) -> int:
    """Who made segments ends: with kernel.shm_rmid_forced those that nobody has attached go, too."""
    gone = k.tasks.at(task)
    for segment in list(k.ipc.shm):
        assert isinstance(segment, Segment)
        if segment.creator is gone:
            segment.creator = None
            if k.ipc.shm_rmid_forced:
                _let_go(segment)
    return 0


@syscall("shmctl", "int shmid, int cmd, struct shmid_ds *buf", source="ipc/shm.c")
def sys_shmctl(k: IpcKernel, shmid: int, cmd: int, buf: int) -> int:
    """EINVAL, EACCES, EPERM, EIDRM, EFAULT."""
    cmd = version_of(k, cmd)
    if cmd < 0 or shmid < 0:
        raise KernelError(EINVAL)
    if cmd in (IPC_INFO, SHM_INFO):
        ask(k, "shm_shmctl", 0, cmd)
        return _info(k, cmd, buf)
    if cmd in (IPC_STAT, SHM_STAT, SHM_STAT_ANY):
        found = k.ipc.shm.at(shmid) if cmd == IPC_STAT else k.ipc.shm.by_position(shmid)
        assert isinstance(found, Segment)
        if cmd != SHM_STAT_ANY:
            found.check(k, S_IRUGO)
        found.ask(k, "shmctl", cmd)
        k.usercopy.copy_to_user(buf, found.shmid_ds(k))
        return 0 if cmd == IPC_STAT else found.id
    if cmd in (SHM_LOCK, SHM_UNLOCK):
        _segment(k, shmid).ask(k, "shmctl", cmd)
        return _lock(k, _segment(k, shmid), cmd == SHM_LOCK)
    if cmd not in (IPC_SET, IPC_RMID):
        raise KernelError(EINVAL)
    raw = k.usercopy.copy_from_user(buf, PERM_SIZE[k.arch.word]) if cmd == IPC_SET else b""
    segment = _segment(k, shmid)
    segment.check_owner(k)
    segment.ask(k, "shmctl", cmd)
    if cmd == IPC_SET:
        segment.set_perm(k, raw)
    else:
        do_shm_rmid(k, segment)
    return 0
