"""Sizes of files and syncing: truncate, fallocate, fsync, sync.  fs/open.c, fs/sync.c."""

from __future__ import annotations

from arch.abi.errno import (  # fmt: skip
    EBADF,
    EFBIG,
    EINVAL,
    EISDIR,
    ENODEV,
    ENOSPC,
    EOPNOTSUPP,
    EPERM,
    EROFS,
    ESPIPE,
    ETXTBSY,
)
from arch.abi.fcntl import (
    AT_FDCWD,
    F_SEAL_GROW,
    FALLOC_FL_COLLAPSE_RANGE,
    FALLOC_FL_INSERT_RANGE,
    FALLOC_FL_KEEP_SIZE,
    FALLOC_FL_PUNCH_HOLE,
    FALLOC_FL_UNSHARE_RANGE,
    FALLOC_FL_ZERO_RANGE,
    O_WRONLY,
    WRITE_SEALS,
)  # fmt: skip
from arch.abi.limits import MAX_LFS_FILESIZE, PAGE_SHIFT, PAGE_SIZE, S64_MAX
from arch.abi.resource import RLIMIT_FSIZE
from arch.abi.signal import SIGXFSZ
from arch.abi.stat import S_IFBLK, S_IFDIR, S_IFLNK, S_IFMT, S_IFREG
from arch.errors import KernelError
from arch.hosttime import check
from simkernel.fs import constants as c
from simkernel.fs.face import FsKernel
from simkernel.fs.fsnotify import FS_MODIFY
from simkernel.fs.inode import Inode, SuperBlock, inode_permission
from simkernel.fs.leases import break_lease
from simkernel.fs.open_walk import get_path_name
from simkernel.fs.proc_task_mmu import page_facts
from simkernel.fs.security import ATTR_FILE, ATTR_SIZE
from simkernel.fs.tmpfs import TmpfsSuper
from simkernel.fs.xattr import drop_capability
from simkernel.kernel.areas import page_up
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function, syscall


def truncate_inode(k: FsKernel, inode: Inode, size: int) -> Steps[None]:
    """do_truncate(): limits and seals, then the file system, then the times.  fs/open.c."""
    old = inode.i_size
    inode.setattr_size(size)
    if old > page_up(size):  # shmem_setattr(): before its pages go, and again for copies that were made meanwhile
        for _ in range(2):
            yield k.call("unmap_mapping_range", k.vfs.mirror.mapping(k.vfs.mirror.inode(inode)), page_up(size), 0, 1)
    drop_capability(k, inode)
    now = k.vfs.now()
    inode.mtime = inode.ctime = now
    k.vfs.dirty.attributes_set(inode)
    k.vfs.mirror.inode_changed(inode)


@kernel_function(
    "void unmap_mapping_range(struct address_space *mapping, loff_t const holebegin, loff_t const holelen, int even_cows)",
    source="mm/memory.c",
)
def unmap_mapping_range(k: FsKernel, mapping: int, holebegin: int, holelen: int, even_cows: int) -> int:
    """Whole pages of a file leave the address spaces that show them; private copies stay unless `even_cows`.

    Bytes; a length of 0 is all that follows.
    """
    inode = k.vfs.mirror.host_of(mapping)
    if inode.mapped:
        first = holebegin // PAGE_SIZE
        last = first + page_up(holelen) // PAGE_SIZE if holelen else S64_MAX // PAGE_SIZE
        _unmap_mapping_pages(k, inode, first, last, bool(even_cows))
    return 0


def _unmap_mapping_pages(k: FsKernel, inode: Inode, first: int, last: int, even_cows: bool) -> None:
    for mm in {id(t.mm): t.mm for t in k.tasks.by_pid.values() if t.mm is not None}.values():
        for vma in mm.vmas:
            if vma.file is None or vma.file.inode is not inode:
                continue
            low = max(first, vma.pgoff) - vma.pgoff
            high = min(last - vma.pgoff, (vma.end - vma.start) // PAGE_SIZE)
            if low >= high:
                continue
            bounds = vma.start + low * PAGE_SIZE, vma.start + high * PAGE_SIZE
            if even_cows or vma.shared:
                mm.unmap_pages(*bounds)
                continue
            for page in mm.present(*bounds):
                if not page_facts(mm, vma, page)[0]:
                    mm.unmap_pages(page, page + PAGE_SIZE)


@kernel_function("int vfs_fsync_range(struct file *file, loff_t start, loff_t end, int datasync)", source="fs/sync.c")
def vfs_fsync_range(k: FsKernel, file_addr: int, start: int, end: int, datasync: int) -> Body:
    """Memory is all there is: nothing to write."""
    file = k.vfs.files[file_addr]
    if file.f_op.fsync is None:
        return -EINVAL
    ret = file.f_op.fsync(k, file)
    return ret if isinstance(ret, int) else (yield from ret)


@kernel_function("int vfs_fsync(struct file *file, int datasync)", source="fs/sync.c", jumps=True)
def vfs_fsync(k: FsKernel, file_addr: int, datasync: int) -> Body:
    """The whole file."""
    return (yield k.call("vfs_fsync_range", file_addr, 0, S64_MAX, datasync))


@syscall("fsync", "unsigned int fd", source="fs/sync.c")
def sys_fsync(k: FsKernel, fd: int) -> Body:
    """fsync(2)."""
    return (yield k.call("vfs_fsync", k.vfs.fget(fd).addr, 0))


@syscall("fdatasync", "unsigned int fd", source="fs/sync.c")
def sys_fdatasync(k: FsKernel, fd: int) -> Body:
    """fdatasync(2)."""
    return (yield k.call("vfs_fsync", k.vfs.fget(fd).addr, 1))


@syscall("sync", "", source="fs/sync.c")
def sys_sync(k: FsKernel) -> Body:
    """sync(2)."""
    return (yield k.call("ksys_sync"))


@kernel_function("void ksys_sync(void)", source="fs/sync.c")
def ksys_sync(k: FsKernel) -> Body:
    """Every super block that has something to write."""
    for sb in dict.fromkeys(mnt.mnt_sb for mnt in k.vfs.mounts):
        yield from _sync_filesystem(k, sb)
    return 0


def _sync_filesystem(k: FsKernel, sb: SuperBlock) -> Steps[None]:
    steps = sb.sync_fs(k)
    if steps is not None:
        yield from steps


@syscall("syncfs", "int fd", source="fs/sync.c")
def sys_syncfs(k: FsKernel, fd: int) -> Body:
    """syncfs(2)."""
    yield from _sync_filesystem(k, k.vfs.fget(fd).f_inode.i_sb)
    return 0


@syscall("sync_file_range", "int fd, loff_t offset, loff_t nbytes, unsigned int flags", source="fs/sync.c")
def sys_sync_file_range(k: FsKernel, fd: int, offset: int, nbytes: int, flags: int) -> int:
    """sync_file_range(2)."""
    file = k.vfs.fget(fd)
    if flags & ~7 or offset < 0 or nbytes < 0:
        return -EINVAL
    kind = file.f_inode.i_mode & S_IFMT
    return 0 if kind in (S_IFREG, S_IFBLK, S_IFDIR, S_IFLNK) else -ESPIPE


FALLOC_FL_SUPPORTED_MASK = (
    FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_ZERO_RANGE | FALLOC_FL_INSERT_RANGE
    | FALLOC_FL_UNSHARE_RANGE
)  # fmt: skip
# a mode, and what may be asked for with it
FALLOC_ALONE = (
    (FALLOC_FL_COLLAPSE_RANGE, FALLOC_FL_COLLAPSE_RANGE),
    (FALLOC_FL_INSERT_RANGE, FALLOC_FL_INSERT_RANGE),
    (FALLOC_FL_UNSHARE_RANGE, FALLOC_FL_UNSHARE_RANGE | FALLOC_FL_KEEP_SIZE),
)


@kernel_function("int vfs_fallocate(struct file *file, int mode, loff_t offset, loff_t len)", source="fs/open.c")
def vfs_fallocate(k: FsKernel, file_addr: int, mode: int, offset: int, length: int) -> Body:
    """Reserve or punch."""
    file = k.vfs.files[file_addr]
    if offset < 0 or length <= 0:
        return -EINVAL
    if mode & ~FALLOC_FL_SUPPORTED_MASK:
        return -EOPNOTSUPP
    both = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE
    if mode & both == both or (mode & FALLOC_FL_PUNCH_HOLE and not mode & FALLOC_FL_KEEP_SIZE):
        return -EOPNOTSUPP
    for alone, others in FALLOC_ALONE:
        if mode & alone and mode & ~others:
            return -EINVAL
    if not file.f_mode & c.FMODE_WRITE:
        return -EBADF
    inode = file.f_inode
    if (mode & ~FALLOC_FL_KEEP_SIZE and inode.i_flags & c.S_APPEND) or inode.i_flags & c.S_IMMUTABLE:
        return -EPERM
    k.vfs.security.ask("file_permission", file, c.MAY_WRITE)
    if inode.i_pipe is not None:
        return -ESPIPE
    if inode.is_dir:
        return -EISDIR
    if not inode.is_reg:
        return -ENODEV
    if offset + length > inode.i_sb.s_maxbytes:
        return -EFBIG
    mapping = inode.i_mapping
    if (
        inode.i_fop is None
        or mapping is None
        or mapping.filler is not None
        or mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE)
    ):
        return -EOPNOTSUPP
    if mode & FALLOC_FL_PUNCH_HOLE:
        if inode.seals & WRITE_SEALS:
            return -EPERM
        before = mapping.nrpages
        start, end = page_up(offset), (offset + length) & -PAGE_SIZE
        if end > start:
            yield k.call("unmap_mapping_range", k.vfs.mirror.mapping(inode.addr), start, end - start, 0)
        mapping.punch(offset, offset + length)
        inode.i_sb.give_blocks(before - mapping.nrpages)
    else:
        if exceeds_fsize(k, offset + length, inode.i_size):
            return -EFBIG
        if inode.seals & F_SEAL_GROW and offset + length > inode.i_size:
            return -EPERM
        pages = range(offset >> PAGE_SHIFT, page_up(offset + length) >> PAGE_SHIFT)
        if isinstance(inode.i_sb, TmpfsSuper) and 0 < inode.i_sb.max_blocks < len(pages):
            return -ENOSPC
        made: list[int] = []
        try:
            for index in pages:
                if mapping.give(index):
                    made.append(index)
                check()
        except KernelError:  # shmem_fallocate(): what was taken goes back
            for index in made:
                mapping.punch(index << PAGE_SHIFT, (index + 1) << PAGE_SHIFT)
            inode.i_sb.give_blocks(len(made))
            raise
        if not mode & FALLOC_FL_KEEP_SIZE and offset + length > inode.i_size:
            inode.i_size = offset + length
    drop_capability(k, inode)
    inode.mtime = inode.ctime = k.vfs.now()
    k.vfs.mirror.inode_changed(inode)
    if k.vfs.fsnotify.active:
        k.vfs.fsnotify.file(file, FS_MODIFY)
    return 0


@syscall("fallocate", "int fd, int mode, loff_t offset, loff_t len", source="fs/open.c")
def sys_fallocate(k: FsKernel, fd: int, mode: int, offset: int, length: int) -> Body:
    """fallocate(2)."""
    return (yield k.call("vfs_fallocate", k.vfs.fget(fd).addr, mode, offset, length))


@syscall("ftruncate", "unsigned int fd, off_t length", source="fs/open.c", jumps=True)
def sys_ftruncate(k: FsKernel, fd: int, length: int) -> Body:
    """ftruncate(2)."""
    return (yield k.call("do_sys_ftruncate", fd, length, 1))


@kernel_function("long do_sys_ftruncate(unsigned int fd, loff_t length, int small)", source="fs/open.c")
def do_sys_ftruncate(k: FsKernel, fd: int, length: int, small: int) -> Body:
    """EINVAL, EBADF, and what the file system says."""
    if length < 0:
        return -EINVAL
    file = k.vfs.fget(fd)
    if not file.f_inode.is_reg or not file.f_mode & c.FMODE_WRITE:
        return -EINVAL
    if file.f_inode.i_flags & c.S_APPEND:
        return -EPERM
    k.vfs.security.ask("path_truncate", file.f_path)
    return (yield k.call("do_truncate", *k.vfs.userns_arg(file.f_path), file.f_path.dentry.addr, length, 0x60,
                         file.addr))  # fmt: skip


@syscall("truncate", "const char *path, long length", source="fs/open.c", jumps=True)
def sys_truncate(k: FsKernel, path: int, length: int) -> Body:
    """truncate(2)."""
    return (yield k.call("do_sys_truncate", path, length))


@kernel_function(
    "long do_sys_truncate(const char *pathname, loff_t length)",
    source="fs/open.c",
    names={None: "do_sys_truncate", "7.0": "ksys_truncate"},
)
def do_sys_truncate(k: FsKernel, path: int, length: int) -> Body:
    """EINVAL, EISDIR, EACCES, EROFS, and what the file system says."""
    if length < 0:
        return -EINVAL
    where = k.vfs.user_path(AT_FDCWD, get_path_name(k, path))
    inode = where.dentry.inode
    if inode.is_dir:
        return -EISDIR
    if not inode.is_reg:
        return -EINVAL
    inode_permission(inode, c.MAY_WRITE, k.vfs.cred())
    if where.mnt.read_only:
        return -EROFS
    if inode.i_flags & c.S_APPEND:
        return -EPERM
    if inode.i_writecount < 0:
        return -ETXTBSY
    if k.vfs.leases.held:
        ret = yield from break_lease(k, inode, O_WRONLY)
        if ret < 0:
            return ret
    k.vfs.mirror.dentry(where.dentry)
    k.vfs.security.ask("path_truncate", where)
    return (yield k.call("do_truncate", *k.vfs.userns_arg(where), where.dentry.addr, length, 0, 0))


@kernel_function(
    "int do_truncate(struct user_namespace *mnt_userns, struct dentry *dentry, loff_t length, "
    "unsigned int time_attrs, struct file *filp)", source="fs/open.c", since="5.12",
)  # fmt: skip
def do_truncate(k: FsKernel, userns: int, dentry: int, length: int, time_attrs: int, filp: int) -> Body:
    """Set the size."""
    return (yield from _do_truncate(k, dentry, length, time_attrs, filp))


@kernel_function(
    "int do_truncate(struct dentry *dentry, loff_t length, unsigned int time_attrs, struct file *filp)",
    source="fs/open.c", until="5.12",
)  # fmt: skip
def do_truncate_5_11(k: FsKernel, dentry: int, length: int, time_attrs: int, filp: int) -> Body:
    """Set the size."""
    return (yield from _do_truncate(k, dentry, length, time_attrs, filp))


def _do_truncate(k: FsKernel, dentry: int, length: int, time_attrs: int, filp: int) -> Body:
    named = k.vfs.mirror.dentries[dentry]
    inode = named.inode
    if exceeds_fsize(k, length, inode.i_size):
        return -EFBIG
    valid = ATTR_SIZE | (ATTR_FILE if filp else 0) | time_attrs
    k.vfs.security.setattr(named, valid, size=length, file=filp)
    yield from truncate_inode(k, inode, length)
    if k.vfs.fsnotify.active:
        k.vfs.fsnotify.dentry(named, FS_MODIFY)
    return 0


def exceeds_fsize(k: FsKernel, size: int, old_size: int) -> bool:
    """RLIMIT_FSIZE; sends SIGXFSZ."""
    limit = fsize_limit(k)
    if limit is None or size <= old_size or size <= limit:
        return False
    k.signals.send(k.current, SIGXFSZ)
    return True


def fsize_limit(k: FsKernel) -> int | None:
    """RLIMIT_FSIZE of the current task, or None without a limit."""
    value = k.current.rlimits[RLIMIT_FSIZE][0]
    return value if 0 <= value < MAX_LFS_FILESIZE else None
