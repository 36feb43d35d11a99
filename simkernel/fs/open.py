"""open(2) and close(2), and what changes a file without reading or writing it.  fs/open.c, fs/file_table.c, fs/namei.c.

The path of an open is do_sys_openat2 (do_sys_open before 5.6), do_filp_open, path_openat, vfs_open, do_dentry_open;
of a close filp_close, fput, __fput.  Unlike on Linux __fput runs inside fput, not when the task returns to user mode.
"""

from __future__ import annotations

from typing import NamedTuple

from arch.abi.errno import E2BIG, EAGAIN, EBADF, EINVAL, EROFS, ETXTBSY  # fmt: skip
from arch.abi.fcntl import (
    AT_FDCWD,
    O_CLOEXEC,
    O_CREAT,
    O_DIRECT,
    O_DIRECTORY,
    O_EXCL,
    O_LARGEFILE,
    O_NOCTTY,
    O_PATH,
    O_TMPFILE_BIT,
    O_TRUNC,
    O_WRONLY,
    VALID_OPEN_FLAGS,
)
from arch.abi.limits import PAGE_SIZE
from arch.abi.stat import S_IALLUGO, S_IFDIR, S_IFLNK, S_IFMT, S_IFREG
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.exec_file import make_executed
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import files_of, publish_task_files
from simkernel.fs.fsnotify import FS_MODIFY, FS_OPEN, FS_OPEN_PERM
from simkernel.fs.inode import Dentry, File, Inode, inode_permission
from simkernel.fs.landlock_access import check_open
from simkernel.fs.leases import break_lease
from simkernel.fs.namei import RESOLVE_ALL, RESOLVE_BENEATH, RESOLVE_CACHED, RESOLVE_IN_ROOT, NameData
from simkernel.fs.open_walk import (
    O_PATH_FLAGS,
    PATH_FOPS,
    ExecFlags,
    Filename,
    OpenFlags,
    get_path_name,
    plan_open,
)
from simkernel.fs.security import ATTR_CTIME, ATTR_FILE, ATTR_MTIME, ATTR_OPEN, ATTR_SIZE
from simkernel.fs.truncate import truncate_inode
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.locks import inode_lock
from simkernel.kernel.security import may, tell_subject

# --- the kernel functions of an open ---


@kernel_function(
    "long do_sys_openat2(int dfd, const char *filename, struct open_how *how)", source="fs/open.c", since="5.6"
)
def do_sys_openat2(k: FsKernel, dfd: int, filename: int, how: int) -> Body:
    """Flags to struct open_flags, the name from user space, a descriptor, the open."""
    known = k.vfs.objects.get(how)
    asked = known if isinstance(known, OpenHow) else _read_how(k, how)
    return (yield from _sys_open(k, dfd, filename, asked))


class Walk(NamedTuple):
    """struct nameidata, and the name to be walked."""

    nd: NameData
    name: str


class OpenHow:
    """struct open_how."""

    __slots__ = ("flags", "mode", "resolve")

    def __init__(self, flags: int, mode: int, resolve: int = 0) -> None:
        self.flags = flags
        self.mode = mode
        self.resolve = resolve


def _read_how(k: FsKernel, how: int) -> OpenHow:
    return OpenHow(k.mem.read_uint(how, 8), k.mem.read_uint(how + 8, 8), k.mem.read_uint(how + 16, 8))


def _sys_open(k: FsKernel, dfd: int, filename: int, how: OpenHow) -> Body:
    vfs = k.vfs
    if (
        how.flags & O_CREAT and how.flags & O_DIRECTORY and k.version.at_least("6.1")
    ):  # Linux: 6.3, and 6.1's later releases
        return -EINVAL
    op = OpenFlags(how.flags, how.mode, how.resolve)
    name = Filename(k, get_path_name(k, filename, putter=""), filename, op, "do_sys_openat2")
    try:
        fd: int = files_of(k.current).get_unused_fd(bool(how.flags & O_CLOEXEC))
        ret = yield k.call("do_filp_open", dfd, name.addr, name.op_addr)
        if vfs.is_error(ret):
            files_of(k.current).put_unused_fd(fd)
            return vfs.error(ret)
        file = vfs.files[ret & vfs.word_mask]
        if vfs.fsnotify.active:
            vfs.fsnotify.file(file, FS_OPEN)
        files_of(k.current).install(fd, file)
        return fd
    finally:
        name.put()


@kernel_function("long do_sys_open(int dfd, const char *filename, int flags, umode_t mode)", source="fs/open.c")
def do_sys_open(k: FsKernel, dfd: int, filename: int, flags: int, mode: int) -> Body:
    """open(2) and openat(2)."""
    how = OpenHow(flags & VALID_OPEN_FLAGS & 0xFFFFFFFF, mode & S_IALLUGO)
    if not k.vfs.names.openat2:
        return (yield from _sys_open(k, dfd, filename, how))
    return (yield from _call_openat2(k, dfd, filename, how))


def _call_openat2(k: FsKernel, dfd: int, filename: int, how: OpenHow) -> Body:
    addr = k.mem.alloc(24)
    for at, value in ((0, how.flags), (8, how.mode), (16, how.resolve)):
        if value:
            k.mem.write_uint(addr + at, 8, value)
    try:
        return (yield k.call("do_sys_openat2", dfd, filename, addr))
    finally:
        k.mem.free(addr)


def _sys_openat(k: FsKernel, dfd: int, filename: int, flags: int, mode: int) -> Body:
    flags = k.vfs.abi.flags_from_user(flags & 0xFFFFFFFF) | (O_LARGEFILE if k.arch.model.word == 8 else 0)
    if not k.vfs.names.openat2:
        return (yield k.call("do_sys_open", dfd, filename, flags, mode))
    if flags & (O_CREAT | O_TMPFILE_BIT):
        mode &= S_IALLUGO
    else:
        mode = 0
    if flags & O_PATH:
        flags &= O_PATH_FLAGS
    return (yield from _call_openat2(k, dfd, filename, OpenHow(flags & VALID_OPEN_FLAGS, mode)))


@syscall("open", "const char *filename, int flags, umode_t mode", source="fs/open.c")
def sys_open(k: FsKernel, filename: int, flags: int, mode: int) -> Body:
    """open(2)."""
    return (yield from _sys_openat(k, AT_FDCWD, filename, flags, mode))


@syscall("openat", "int dfd, const char *filename, int flags, umode_t mode", source="fs/open.c")
def sys_openat(k: FsKernel, dfd: int, filename: int, flags: int, mode: int) -> Body:
    """openat(2)."""
    return (yield from _sys_openat(k, dfd, filename, flags, mode))


@syscall("creat", "const char *pathname, umode_t mode", source="fs/open.c")
def sys_creat(k: FsKernel, pathname: int, mode: int) -> Body:
    """creat(2)."""
    return (yield from _sys_openat(k, AT_FDCWD, pathname, O_CREAT | O_WRONLY | O_TRUNC, mode))


@syscall(
    "openat2", "int dfd, const char *filename, struct open_how *how, size_t usize", source="fs/open.c", since="5.6"
)
def sys_openat2(k: FsKernel, dfd: int, filename: int, how: int, usize: int) -> Body:
    """openat2(2): strict about flags, and RESOLVE_* say which ways may be gone.  EINVAL, E2BIG, EXDEV, ELOOP, EAGAIN."""
    if usize < 24:
        return -EINVAL
    if usize > PAGE_SIZE:
        return -E2BIG
    raw = k.usercopy.copy_struct_from_user(how, usize, 24)
    order = k.mem.byteorder
    flags, mode, resolve = (int.from_bytes(raw[i : i + 8], order) for i in (0, 8, 16))
    flags = k.vfs.abi.flags_from_user(flags)
    if flags & ~VALID_OPEN_FLAGS or resolve & ~RESOLVE_ALL:
        return -EINVAL
    if resolve & RESOLVE_BENEATH and resolve & RESOLVE_IN_ROOT:
        return -EINVAL
    if resolve & RESOLVE_CACHED and flags & (O_TRUNC | O_CREAT | O_TMPFILE_BIT):
        return -EAGAIN
    creating = flags & (O_CREAT | O_TMPFILE_BIT)
    if (mode and not creating) or mode & ~S_IALLUGO:
        return -EINVAL
    if flags & O_PATH and flags & ~O_PATH_FLAGS:
        return -EINVAL
    return (yield from _call_openat2(k, dfd, filename, OpenHow(flags | O_LARGEFILE, mode, resolve)))


@kernel_function(
    "struct file *do_filp_open(int dfd, struct filename *pathname, const struct open_flags *op)",
    source="fs/namei.c",
    names={None: "do_filp_open", "7.0": "do_file_open"},
)
def do_filp_open(k: FsKernel, dfd: int, pathname: int, op: int) -> Body:
    """Set up the walk, and walk."""
    vfs = k.vfs
    name, flags = vfs.passed(pathname, Filename), vfs.passed(op, OpenFlags)
    scoped = flags.resolve & (RESOLVE_BENEATH | RESOLVE_IN_ROOT)  # also an absolute name begins at `dfd` then
    nd = vfs.nameidata(dfd, "" if scoped else name.name)
    if flags.resolve:
        nd.scope(flags.resolve)
    layout = vfs.mirror.struct("struct nameidata")
    addr = layout.new({"name": pathname, "dfd": dfd, "flags": flags.lookup})
    vfs.objects[addr] = Walk(nd, name.name)
    try:
        return (yield k.call("path_openat", addr, op, flags.lookup))
    finally:
        del vfs.objects[addr]
        k.mem.free(addr)


@kernel_function(
    "struct file *path_openat(struct nameidata *nd, const struct open_flags *op, unsigned int flags)",
    source="fs/namei.c",
)
def path_openat(k: FsKernel, nd_addr: int, op_addr: int, lookup: int) -> Body:
    """Walk to the file, create it if asked, open it, truncate it if asked."""
    vfs = k.vfs
    nd, name = vfs.passed(nd_addr, Walk)
    op = vfs.passed(op_addr, OpenFlags)
    vfs.security.alloc_early_file()
    try:
        if isinstance(op, ExecFlags):
            file = vfs.exec_file(op.dfd, op.name, op.lookup, op.empty)
            path, truncate = file.f_path, False
        else:
            path, _, truncate = plan_open(vfs, nd, name, op)
    except KernelError:
        vfs.security.free_early_file()
        raise
    if isinstance(op, ExecFlags):
        make_executed(k, file)
        k.vfs.mirror.file_flags(file)
    else:
        if vfs.probed and op.flags & O_CREAT:
            yield from _creation_seen(k, path.dentry)
        file = vfs.new_file(path, op.flags & ~O_CLOEXEC, PATH_FOPS)
    if nd.created:
        file.f_mode |= c.FMODE_CREATED
        vfs.mirror.file_flags(file)
    layout = vfs.mirror.struct("struct file")
    path_addr = file.addr + layout.offset("f_path")
    cred = (0,) if not vfs.names.vfs_open_two_args else ()
    ret = yield k.call("vfs_open", path_addr, file.addr, *cred)
    if not ret and vfs.security.watched and not isinstance(op, ExecFlags):
        ret = _opened_watched(k, nd, file, op)
    if not ret and truncate:
        try:
            if path.dentry.inode.i_writecount < 0:
                raise KernelError(ETXTBSY, "being executed")
            vfs.security.ask("path_truncate", path)
            valid = ATTR_SIZE | ATTR_MTIME | ATTR_CTIME | ATTR_FILE | ATTR_OPEN
            vfs.security.setattr(path.dentry, valid, file=file.addr)
            yield from truncate_inode(k, file.f_inode, 0)
            if vfs.fsnotify.active:
                vfs.fsnotify.dentry(path.dentry, FS_MODIFY)
        except KernelError as error:
            ret = -error.errno
    if ret < 0:
        vfs.put_file(file)
        return ret
    return file.addr


def _opened_watched(k: FsKernel, nd: NameData, file: File, op: OpenFlags) -> int:
    """may_open() of a file without a name; ima_file_check(), which asks who opens, and has no rules."""
    try:
        if op.flags & O_TMPFILE_BIT:
            inode_permission(file.f_inode, c.MAY_OPEN, nd.cred)
        elif not op.flags & O_PATH:
            tell_subject(k)
    except KernelError as refused:
        return -refused.errno
    return 0


def _creation_seen(k: FsKernel, dentry: Dentry) -> Steps[None]:
    """The lock of lookup_open(), for those who probe it."""
    lock = inode_lock(k, dentry.parent.inode)
    yield k.call("down_write", lock)
    yield k.call("up_write", lock)


@kernel_function(
    "int vfs_open(const struct path *path, struct file *file)", source="fs/open.c", since="4.19", jumps=True
)
def vfs_open(k: FsKernel, path: int, file_addr: int) -> Body:
    """Open the dentry of a path."""
    file = k.vfs.files[file_addr]
    return (yield k.call("do_dentry_open", file_addr, file.f_inode.addr, 0))


@kernel_function(
    "int vfs_open(const struct path *path, struct file *file, const struct cred *cred)", source="fs/open.c",
    until="4.19",
)  # fmt: skip
def vfs_open_4_18(k: FsKernel, path: int, file_addr: int, cred: int) -> Body:
    """Open the dentry of a path."""
    file = k.vfs.files[file_addr]
    return (yield k.call("do_dentry_open", file_addr, file.f_inode.addr, 0))


@kernel_function(
    "int do_dentry_open(struct file *f, struct inode *inode, int (*open)(struct inode *, struct file *))",
    source="fs/open.c",
)
def do_dentry_open(k: FsKernel, file_addr: int, inode_addr: int, open_: int) -> Body:
    """Give the file its operations and mode, and let them open."""
    vfs = k.vfs
    file: File = vfs.files[file_addr]
    inode = file.f_inode
    if file.f_flags & O_PATH:
        file.f_mode = c.FMODE_PATH | c.FMODE_OPENED
        vfs.mirror.file_flags(file)
        return 0
    if file.f_mode & c.FMODE_EXEC:
        return (yield from _asked(k, file))
    kind = inode.i_mode & S_IFMT
    if file.f_mode & c.FMODE_WRITE and kind in (S_IFREG, S_IFDIR, S_IFLNK):
        if inode.i_writecount < 0:
            file.f_mode &= ~c.FMODE_WRITE
            return -ETXTBSY
        if file.f_path.mnt.read_only:
            file.f_mode &= ~c.FMODE_WRITE
            return -EROFS
    if file.f_mode & c.FMODE_WRITE:
        inode.i_writecount += 1
    file.f_op = vfs.fops_for(inode)
    if k.current.cred.domain is not None:
        try:
            check_open(k, file)
        except KernelError as error:
            return _undo_write_access(file, inode, -error.errno)
    if vfs.probed:
        ret = yield from _asked(k, file)
        if ret < 0:
            return _undo_write_access(file, inode, ret)
    if vfs.fsnotify.groups:
        ret = yield from vfs.fsnotify.ask(file, FS_OPEN_PERM)
        if ret < 0:
            return _undo_write_access(file, inode, ret)
    if vfs.leases.held:
        ret = yield from break_lease(k, inode, file.f_flags)
        if ret < 0:
            return _undo_write_access(file, inode, ret)
    file.f_mode |= c.FMODE_LSEEK | c.FMODE_PREAD | c.FMODE_PWRITE
    if file.f_op.open is not None:
        opened = file.f_op.open(k, inode, file)
        ret = opened if isinstance(opened, int) else (yield from opened)
        if ret:
            return _undo_write_access(file, inode, ret)
    ops = file.f_op
    direct = ops.direct_io != "" and k.version.at_least(ops.direct_io)
    mode = file.f_mode | c.FMODE_OPENED
    if direct and k.version.at_least("6.0"):
        mode |= c.FMODE_CAN_ODIRECT
    if ops.llseek == "no_llseek":
        mode &= ~c.FMODE_LSEEK
    if mode & c.FMODE_READ and (ops.read or ops.read_iter):
        mode |= c.FMODE_CAN_READ
    if mode & c.FMODE_WRITE and (ops.write or ops.write_iter):
        mode |= c.FMODE_CAN_WRITE
    if ops.stream:
        mode = mode & ~(c.FMODE_LSEEK | c.FMODE_PREAD | c.FMODE_PWRITE) | c.FMODE_STREAM
    if kind in (S_IFREG, S_IFDIR):
        mode |= c.FMODE_ATOMIC_POS
    file.f_mode = mode
    file.f_flags &= ~(O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC)
    vfs.mirror.file_flags(file)
    return -EINVAL if file.f_flags & O_DIRECT and not direct else 0


def _asked(k: FsKernel, file: File) -> Steps[int]:
    """security_file_open()."""
    cred = () if k.version.at_least("4.19") else (k.current.cred.addr,)
    ret: int = yield from may(k, "security_file_open", file.addr, *cred)
    return ret


def _undo_write_access(file: File, inode: Inode, ret: int) -> int:
    """cleanup_all: of do_dentry_open()."""
    if file.f_mode & c.FMODE_WRITE:
        inode.i_writecount -= 1
        file.f_mode &= ~c.FMODE_WRITE
    return ret


# --- close ---


@kernel_function("int filp_close(struct file *filp, fl_owner_t id)", source="fs/open.c")
def filp_close(k: FsKernel, file_addr: int, owner: int) -> Body:
    """One descriptor less: flush, drop this owner's record locks, fput."""
    file = k.vfs.files[file_addr]
    ret = 0
    if not file.f_mode & c.FMODE_PATH:
        if file.f_op.flush is not None:
            ret = file.f_op.flush(k, file) or 0
        if file.f_inode.locks is not None:
            file.f_inode.locks.drop_owner(k, file, owner)
    yield k.call("fput", file_addr)
    return ret


@kernel_function("void fput(struct file *file)", source="fs/file_table.c")
def fput(k: FsKernel, file_addr: int) -> Body:
    """One reference less.  After the last the task closes the file on its way back to user mode, what came last first."""
    file = k.vfs.files[file_addr]
    file.f_count -= 1
    if file.f_count > 0:
        return 0
    task = k.current
    if task.is_kernel or task.past_works:
        yield k.call("__fput", file_addr)
        return 0

    def work() -> Steps[None]:
        yield k.call("____fput", file_addr)

    task.task_works.appendleft(work)
    task.work = True
    return 0


@kernel_function("void ____fput(struct callback_head *work)", source="fs/file_table.c", jumps=True)
def ____fput(k: FsKernel, work: int) -> Body:
    """As a task's work."""
    return (yield k.call("__fput", work))


@kernel_function("void __fput(struct file *file)", source="fs/file_table.c")
def __fput(k: FsKernel, file_addr: int) -> Body:
    """The last reference is gone: release."""
    yield from k.vfs.fput_steps(k.vfs.files[file_addr])
    return 0


@kernel_function("int close_fd(unsigned int fd)", source="fs/file.c", since="5.10", until="6.6", jumps=True)
def close_fd(k: FsKernel, fd: int) -> Body:
    """Close a descriptor of the running task; EBADF."""
    files = files_of(k.current)
    file = files.remove(fd)
    if file is None:
        return -EBADF
    return (yield k.call("filp_close", file.addr, files.addr))


@kernel_function(
    "int __close_fd(struct files_struct *files, unsigned int fd)", source="fs/file.c", since="3.8", until="5.10"
)
def __close_fd(k: FsKernel, files: int, fd: int) -> Body:
    """The form that is told whose."""
    return (yield from _close(k, fd))


def _close(k: FsKernel, fd: int) -> Steps[int]:
    """The descriptor is free before its file is closed."""
    files = files_of(k.current)
    file = files.remove(fd)
    return -EBADF if file is None else (yield k.call("filp_close", file.addr, files.addr))


@syscall("close", "unsigned int fd", source="fs/open.c")
def sys_close(k: FsKernel, fd: int) -> Body:
    """close(2)."""
    if k.version.at_least("6.6"):
        return (yield from _close(k, fd))
    if k.version.at_least("5.10"):
        return (yield k.call("close_fd", fd))
    return (yield k.call("__close_fd", files_of(k.current).addr, fd))


@syscall("close_range", "unsigned int fd, unsigned int max_fd, unsigned int flags", source="fs/open.c", since="5.9")
def sys_close_range(k: FsKernel, fd: int, max_fd: int, flags: int) -> Body:
    """close_range(2)."""
    if flags & ~6 or fd > max_fd:
        return -EINVAL
    files = files_of(k.current)
    if flags & 2 and files.count > 1:  # CLOSE_RANGE_UNSHARE
        files.count -= 1
        files = k.current.files = files.copy()
        publish_task_files(k.vfs.mirror, k.current)
    for number in [n for n in sorted(files.fds) if fd <= n <= max_fd]:
        if flags & 4:  # CLOSE_RANGE_CLOEXEC
            files.set_cloexec(number, True)
            continue
        file = files.remove(number)
        if file is not None:
            yield k.call("filp_close", file.addr, files.addr)
    return 0
