"""eventfd(2) and memfd_create(2).  fs/eventfd.c, mm/memfd.c."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import EAGAIN, EFAULT, EINVAL, ENOSPC
from arch.abi.fcntl import (
    EFD_SEMAPHORE,
    F_SEAL_SEAL,
    MFD_ALLOW_SEALING,
    MFD_CLOEXEC,
    O_CLOEXEC,
    O_LARGEFILE,
    O_NONBLOCK,
    O_RDWR,
)
from arch.abi.limits import ULLONG_MAX
from arch.abi.poll import POLLERR, POLLIN, POLLOUT
from arch.abi.stat import S_IFREG
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import files_of
from simkernel.fs.inode import Dentry, File, FileOperations, Path
from simkernel.fs.tmpfs import INODE_SIZE, TmpfsInode, TmpfsSuper, simple_xattr_size
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.task import WaitQueue


class EventFd:
    """struct eventfd_ctx."""

    def __init__(self, count: int, flags: int, number: int) -> None:
        self.count = count
        self.id = number  # eventfd_ida: the lowest number that no other eventfd has
        self.flags = flags
        self.wqh = WaitQueue("eventfd")

    def signal(self, k: FsKernel, n: int = 1) -> None:
        """eventfd_signal(): from inside the kernel."""
        self.count = min(ULLONG_MAX, self.count + n)
        k.wake_up(self.wqh, 0)


@kernel_function("ssize_t eventfd_read(struct kiocb *iocb, struct iov_iter *to)", source="fs/eventfd.c", since="5.8")
def eventfd_read(k: FsKernel, iocb_addr: int, to: int) -> Body:
    """Take the count, or 1 of a semaphore."""
    iocb, it = k.vfs.kiocbs[iocb_addr], k.vfs.iters[to]
    return (yield from _read(k, iocb.file, it.count, it.copy_to))


@kernel_function(
    "ssize_t eventfd_read(struct file *file, char *buf, size_t count, loff_t *ppos)", source="fs/eventfd.c",
    until="5.8",
)  # fmt: skip
def eventfd_read_5_7(k: FsKernel, file: int, buf: int, count: int, ppos: int) -> Body:
    """Take the count, or 1 of a semaphore."""

    def put(data: bytes) -> int:
        k.usercopy.copy_to_user(buf, data)
        return len(data)

    return (yield from _read(k, k.vfs.files[file], count, put))


def _read(k: FsKernel, file: File, size: int, put: Callable[[bytes], int]) -> Body:
    if size < 8:
        return -EINVAL
    ctx: EventFd = file.private_data
    while not ctx.count:
        if file.f_flags & O_NONBLOCK:
            return -EAGAIN
        ret = yield k.wait(ctx.wqh)
        if ret < 0:
            return ret
    value = 1 if ctx.flags & EFD_SEMAPHORE else ctx.count
    ctx.count -= value
    k.wake_up(ctx.wqh, 0)
    return 8 if put(value.to_bytes(8, k.mem.byteorder)) == 8 else -EFAULT


@kernel_function(
    "ssize_t eventfd_write(struct file *file, const char *buf, size_t count, loff_t *ppos)", source="fs/eventfd.c"
)
def eventfd_write(k: FsKernel, file_addr: int, buf: int, count: int, ppos: int) -> Body:
    """Add to the count; waits while that would overflow."""
    file = k.vfs.files[file_addr]
    if count < 8:
        return -EINVAL
    value = k.usercopy.get_user(buf, 8)
    if value == ULLONG_MAX:
        return -EINVAL
    ctx: EventFd = file.private_data
    while ULLONG_MAX - ctx.count <= value:
        if file.f_flags & O_NONBLOCK:
            return -EAGAIN
        ret = yield k.wait(ctx.wqh)
        if ret < 0:
            return ret
    ctx.count += value
    k.wake_up(ctx.wqh, 0)
    return 8


def _poll(k: FsKernel, file: File, queues: list[WaitQueue] | None) -> int:
    ctx: EventFd = file.private_data
    if queues is not None:
        queues.append(ctx.wqh)
    mask = POLLIN if ctx.count else 0
    if ctx.count == ULLONG_MAX:
        mask |= POLLERR
    return mask | (POLLOUT if ctx.count < ULLONG_MAX - 1 else 0)


def _fdinfo(k: FsKernel, file: File) -> str:
    """eventfd_show_fdinfo()."""
    ctx: EventFd = file.private_data
    return f"eventfd-count: {ctx.count:16x}\n" + (f"eventfd-id: {ctx.id}\n" if k.vfs.names.eventfd_id else "")


def _release(k: FsKernel, file: File) -> None:
    """eventfd_free(): the number may be given again."""
    ctx: EventFd = file.private_data
    k.vfs.eventfd_ids.discard(ctx.id)


def _new_id(taken: set[int]) -> int:
    """ida_alloc()."""
    number = 0
    while number in taken:
        number += 1
    taken.add(number)
    return number


EVENTFD_FOPS = FileOperations(
    "eventfd_fops", splice=False, read_iter="eventfd_read", nowait="5.8", write="eventfd_write", llseek="noop_llseek", poll=_poll,
    release=_release, show_fdinfo=_fdinfo,
)  # fmt: skip
EVENTFD_FOPS_5_7 = FileOperations(
    "eventfd_fops", splice=False, read="eventfd_read", write="eventfd_write", llseek="noop_llseek", poll=_poll,
    release=_release, show_fdinfo=_fdinfo,
)  # fmt: skip


@syscall("eventfd2", "unsigned int count, int flags", source="fs/eventfd.c")
def sys_eventfd2(k: FsKernel, count: int, flags: int) -> int:
    """eventfd(2)."""
    if flags & ~(O_CLOEXEC | O_NONBLOCK | EFD_SEMAPHORE):
        return -EINVAL
    fops = EVENTFD_FOPS if k.vfs.names.eventfd_read_iter else EVENTFD_FOPS_5_7
    ctx = EventFd(count, flags, _new_id(k.vfs.eventfd_ids))
    fd: int = k.vfs.anon_inode_getfd(k, "[eventfd]", fops, ctx, O_RDWR | flags & (O_CLOEXEC | O_NONBLOCK))
    return fd


@syscall("eventfd", "unsigned int count", source="fs/eventfd.c")
def sys_eventfd(k: FsKernel, count: int) -> int:
    """eventfd(2) without flags."""
    return sys_eventfd2(k, count, 0)


def _memfd_name(dentry: Dentry) -> str:
    return f"/{dentry.name} (deleted)"


MFD_NAME_MAX_LEN = 249  # NAME_MAX without "memfd:"


@syscall("memfd_create", "const char *uname, unsigned int flags", source="mm/memfd.c")
def sys_memfd_create(k: FsKernel, uname: int, flags: int) -> int:
    """memfd_create(2): a file of an unmounted tmpfs."""
    if flags & ~(MFD_CLOEXEC | MFD_ALLOW_SEALING):
        return -EINVAL
    raw = k.usercopy.copy_from_user_string(uname, MFD_NAME_MAX_LEN + 1)
    if len(raw) > MFD_NAME_MAX_LEN:
        return -EINVAL
    files = files_of(k.current)
    with files.unused_fd(bool(flags & MFD_CLOEXEC)) as fd:
        file = unlinked_file(k, "memfd:" + raw.decode("utf-8", "surrogateescape"), O_LARGEFILE, _memfd_name)
    if flags & MFD_ALLOW_SEALING:
        file.f_inode.seals &= ~F_SEAL_SEAL
    files.install(fd, file)
    return int(fd)


def unlinked_file(k: FsKernel, name: str, flags: int, show: Callable[[Dentry], str], private: bool = False) -> File:
    """shmem_file_setup(): an open file of an unmounted tmpfs that no directory has; `private`: shmem_kernel_file_setup()."""
    vfs = k.vfs
    mnt = vfs.shm_mnt
    if mnt is None:
        new = TmpfsSuper(
            vfs.anon_dev(),
            vfs.now,
            vfs.pool,
            "size=100%",
            "tmpfs",
            k.mm.total_ram_pages,
            xattr_head=simple_xattr_size(vfs.names, k.arch.word),
        )
        mnt = vfs.shm_mnt = vfs.mounts.new(new, "tmpfs", mnt_id=0)  # the first mount of all: shmem_init()
    sb = mnt.mnt_sb
    assert isinstance(sb, TmpfsSuper)
    inode = TmpfsInode(sb, S_IFREG | 0o777)
    sb.take_inode()
    cred = vfs.cred()
    inode.i_uid, inode.i_gid, inode.i_nlink = cred.fsuid, cred.fsgid, 0
    dentry = Dentry(name, None, inode)
    dentry.d_dname = show
    assert inode.i_fop is not None
    try:
        vfs.security.anonymous(dentry, errno=ENOSPC, private=private)
        file = vfs.new_file(Path(mnt, dentry), O_RDWR | flags, inode.i_fop, cred)
    except KernelError:
        sb.give_inode(INODE_SIZE)
        raise
    file.f_mode |= (
        c.FMODE_OPENED | c.FMODE_CAN_READ | c.FMODE_CAN_WRITE | c.FMODE_LSEEK | c.FMODE_PREAD | c.FMODE_PWRITE
    )
    vfs.mirror.file_flags(file)
    return file
