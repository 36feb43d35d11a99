"""open(2) and close(2), and what changes a file without reading or writing it.  fs/open.c, fs/file_table.c, fs/namei.c.

The path of an open is do_sys_openat2 (do_sys_open before 5.6), do_filp_open, path_openat, vfs_open, do_dentry_open;
of a close filp_close, fput, __fput.  Unlike on Linux __fput runs inside fput, not when the task returns to user mode.
"""

from __future__ import annotations

import inspect
from typing import Any

from arch.errors import (
    E2BIG,
    EACCES,
    EBADF,
    EEXIST,
    EFAULT,
    EINVAL,
    EISDIR,
    ELOOP,
    ENAMETOOLONG,
    ENOENT,
    ENOTDIR,
    ENOTTY,
    ENXIO,
    EPERM,
    EROFS,
    ETXTBSY,
    KernelError,
)  # fmt: skip
from simkernel.fs import constants as c
from simkernel.fs.fops import EMPTY_FOPS, FileOperations
from simkernel.fs.inode import ACC_MODE, Dentry, File, Inode, Mount, Path, inode_permission, to_bytes, to_str
from simkernel.fs.namei import (
    LAST_NORM,
    LAST_ROOT,
    LOOKUP_DIRECTORY,
    LOOKUP_FOLLOW,
    NameData,
    may_create,
    mode_strip_sgid,
)  # fmt: skip
from simkernel.kernel.kfunc import kernel_function, syscall

MAY_EXEC, MAY_WRITE, MAY_OPEN = c.MAY_EXEC, c.MAY_WRITE, c.MAY_OPEN
O_PATH_FLAGS = c.O_DIRECTORY | c.O_NOFOLLOW | c.O_PATH | c.O_CLOEXEC
RESOLVE_MASK = 0x3F  # RESOLVE_* of openat2

PATH_FOPS = FileOperations("empty_fops", llseek="no_llseek")


def get_path_name(k: Any, addr: int, empty_ok: bool = False) -> str:
    """getname(): the path at a user address; ENOENT when empty, ENAMETOOLONG from 4096 bytes on."""
    raw = k.strncpy_from_user(addr, c.PATH_MAX)
    if not raw and not empty_ok:
        raise KernelError(ENOENT, "empty path")
    return to_str(raw)


class Filename:
    """struct filename and, behind it, struct open_flags, in kernel memory for the time of one system call."""

    __slots__ = ("addr", "k", "name", "op_addr")

    def __init__(self, k: Any, name: str, uptr: int, op: OpenFlags) -> None:
        self.k = k
        self.name = name
        mirror = k.vfs.mirror
        layout, op_layout = mirror.struct("struct filename"), mirror.struct("struct open_flags")
        raw = to_bytes(name)
        at = layout.size
        op_at = (at + len(raw) + 8) & ~7
        self.addr = k.mem.alloc(op_at + op_layout.size)
        self.op_addr = self.addr + op_at
        head = layout.pack({"name": self.addr + at, "uptr": uptr, "refcnt.counter": 1})
        tail = op_layout.pack({
            "open_flag": op.flags, "mode": op.mode, "acc_mode": op.acc_mode, "intent": 0x100, "lookup_flags": op.lookup,
        })  # fmt: skip
        k.mem.write(self.addr, (bytes(head) + raw).ljust(op_at, b"\0") + bytes(tail))
        k.vfs.objects[self.addr] = self
        k.vfs.objects[self.op_addr] = op

    def put(self) -> None:
        """putname()."""
        del self.k.vfs.objects[self.addr], self.k.vfs.objects[self.op_addr]
        self.k.mem.free(self.addr)


class OpenFlags:
    """struct open_flags: what the flags of open(2) mean for the walk."""

    __slots__ = ("acc_mode", "flags", "lookup", "mode")

    def __init__(self, flags: int, mode: int) -> None:
        if flags & (c.O_CREAT | c.O_TMPFILE_BIT):
            self.mode = mode & c.S_IALLUGO | c.S_IFREG
        else:
            self.mode = 0
        if flags & c.O_SYNC_BIT:
            flags |= c.O_DSYNC
        acc = ACC_MODE[flags & c.O_ACCMODE]
        if flags & c.O_TMPFILE_BIT:
            if not flags & c.O_DIRECTORY or flags & c.O_CREAT or not acc & MAY_WRITE:
                raise KernelError(EINVAL, "O_TMPFILE rules")
        if flags & c.O_PATH:
            flags &= O_PATH_FLAGS
            acc = 0
        if flags & c.O_TRUNC:
            acc |= MAY_WRITE
        if flags & c.O_APPEND:
            acc |= c.MAY_APPEND
        self.lookup = 0
        if flags & c.O_CREAT and flags & c.O_EXCL:
            flags |= c.O_NOFOLLOW
        if flags & c.O_DIRECTORY:
            self.lookup |= LOOKUP_DIRECTORY
        if not flags & c.O_NOFOLLOW:
            self.lookup |= LOOKUP_FOLLOW
        self.flags = flags
        self.acc_mode = acc


def may_open(path: Path, acc_mode: int, flags: int, cred: Any) -> int:
    """may_open(): by kind of file; gives the flags without O_TRUNC where it means nothing."""
    inode = path.dentry.inode
    kind = inode.i_mode & c.S_IFMT
    if kind == c.S_IFLNK:
        raise KernelError(ELOOP, "a symbolic link cannot be opened")
    if kind == c.S_IFDIR:
        if acc_mode & MAY_WRITE:
            raise KernelError(EISDIR, "a directory cannot be written")
        if acc_mode & MAY_EXEC:
            raise KernelError(EACCES, "a directory cannot be executed")
    elif kind != c.S_IFREG:
        if kind in (c.S_IFBLK, c.S_IFCHR) and path.mnt.mnt_flags & c.MS_NODEV:
            raise KernelError(EACCES, "mounted nodev")
        if acc_mode & MAY_EXEC:
            raise KernelError(EACCES, "not a regular file")
        flags &= ~c.O_TRUNC
    elif acc_mode & MAY_EXEC and path.mnt.mnt_flags & c.MS_NOEXEC:
        raise KernelError(EACCES, "mounted noexec")
    inode_permission(inode, MAY_OPEN | acc_mode, cred)
    if flags & c.O_NOATIME and cred.fsuid != inode.i_uid and not cred.capable(c.CAP_FOWNER):
        raise KernelError(EPERM, "O_NOATIME is the owner's")
    return flags


def fops_for(vfs: Any, inode: Inode) -> FileOperations:
    """inode->i_fop: by file system, or by kind for special files."""
    if inode.i_fop is not None:
        return inode.i_fop
    kind = inode.i_mode & c.S_IFMT
    if kind == c.S_IFCHR:
        found: FileOperations | None = vfs.char_devices.get(inode.i_rdev)
        if found is None:
            raise KernelError(ENXIO, "no such device")
        return found
    if kind == c.S_IFIFO:
        fifo: FileOperations = vfs.fifo_fops
        return fifo
    block = getattr(vfs.k, "block", None)
    if kind == c.S_IFBLK and block is not None and hasattr(block, "fops_for"):
        ops: FileOperations | None = block.fops_for(inode.i_rdev)
        if ops is not None:
            return ops
    if kind in (c.S_IFBLK, c.S_IFSOCK):
        raise KernelError(ENXIO, "no such device")
    return EMPTY_FOPS


class NameLookup:
    """Result of walk_to_open(): what to open."""

    __slots__ = ("created", "flags", "path")

    def __init__(self, path: Path, created: bool, flags: int) -> None:
        self.path = path
        self.created = created
        self.flags = flags


def walk_to_open(vfs: Any, nd: NameData, name: str, op: OpenFlags) -> NameLookup:
    """link_path_walk() and open_last_lookups(): find the file, or create it."""
    nd.flags = op.lookup
    nd.start(name)
    flags = op.flags
    while True:
        if nd.last_type != LAST_NORM:
            if nd.last_type != LAST_ROOT:
                nd.handle_dots()
            return NameLookup(nd.path, False, flags)
        child, created = _lookup_open(vfs, nd, op)
        if created:
            return NameLookup(Path(nd.path.mnt, child), True, flags)
        link = nd.step_into(child, trailing=True)
        if link is None:
            return NameLookup(nd.path, False, flags)
        nd.walk_to_parent(link)


def _lookup_open(vfs: Any, nd: NameData, op: OpenFlags) -> tuple[Dentry, bool]:
    """lookup_open(): the last component, created when O_CREAT says so."""
    creating = op.flags & c.O_CREAT
    if not creating and nd.trailing:
        nd.flags |= LOOKUP_FOLLOW | LOOKUP_DIRECTORY
    parent = nd.path.dentry
    inode_permission(parent.inode, MAY_EXEC, nd.cred)
    if creating and nd.trailing:
        raise KernelError(EISDIR, "cannot create a name with a slash")
    child = nd.lookup_last_name()
    if child is not None:
        return child, False
    if not creating:
        raise KernelError(ENOENT, f"no {nd.last}")
    if parent.inode.i_nlink == 0:
        raise KernelError(ENOENT, "directory was removed")
    if nd.path.mnt.read_only:
        raise KernelError(EROFS, "read-only mount")
    may_create(parent.inode, nd.cred)
    mode = mode_strip_sgid(parent.inode, op.mode & ~vfs.k.current.fs.umask, nd.cred)
    child = parent.inode.create(parent, nd.last, mode, nd.cred)
    vfs.mirror.inode_changed(parent.inode)
    return child, True


def plan_open(vfs: Any, nd: NameData, name: str, op: OpenFlags) -> tuple[Path, int, bool]:
    """Everything of path_openat() before vfs_open(): (path, flags, truncate)."""
    if op.flags & c.O_TMPFILE_BIT:
        return _tmpfile(vfs, nd, name, op)
    if op.flags & c.O_PATH:
        nd.flags = op.lookup
        return nd.lookup(name), op.flags, False
    found = walk_to_open(vfs, nd, name, op)
    path, flags = found.path, found.flags
    inode = path.dentry.inode
    if op.flags & c.O_CREAT:
        if op.flags & c.O_EXCL and not found.created:
            raise KernelError(EEXIST, "exists")
        if inode.is_dir:
            raise KernelError(EISDIR, "is a directory")
    if nd.flags & LOOKUP_DIRECTORY and path.dentry.children is None:
        raise KernelError(ENOTDIR, "not a directory")
    acc_mode = op.acc_mode
    truncate = False
    if found.created:
        flags &= ~c.O_TRUNC
        acc_mode = 0
    elif inode.is_reg and flags & c.O_TRUNC:
        if path.mnt.read_only:
            raise KernelError(EROFS, "read-only mount")
        truncate = True
    flags = may_open(path, acc_mode, flags, nd.cred)
    return path, flags, truncate and bool(flags & c.O_TRUNC)


def _tmpfile(vfs: Any, nd: NameData, name: str, op: OpenFlags) -> tuple[Path, int, bool]:
    nd.flags = op.lookup
    where = nd.lookup(name)
    if where.mnt.read_only:
        raise KernelError(EROFS, "read-only mount")
    dir_ = where.dentry.inode
    inode_permission(dir_, MAY_WRITE | MAY_EXEC, nd.cred)
    inode = dir_.tmpfile(where.dentry, op.mode & ~vfs.k.current.fs.umask, nd.cred)
    dentry = Dentry(f"#{inode.i_ino}", where.dentry, inode)
    dentry.hashed = False
    return Path(where.mnt, dentry), op.flags & ~(c.O_TRUNC | c.O_CREAT | c.O_EXCL), False


# --- the kernel functions of an open ---


@kernel_function(
    "long do_sys_openat2(int dfd, const char *filename, struct open_how *how)", source="fs/open.c", since="5.6"
)
def do_sys_openat2(k: Any, dfd: int, filename: int, how: int) -> Any:
    """Flags to struct open_flags, the name from user space, a descriptor, the open."""
    asked = k.vfs.objects.get(how) or _read_how(k, how)
    return (yield from _sys_open(k, dfd, filename, asked))


class OpenHow:
    """struct open_how."""

    __slots__ = ("flags", "mode", "resolve")

    def __init__(self, flags: int, mode: int, resolve: int = 0) -> None:
        self.flags = flags
        self.mode = mode
        self.resolve = resolve


def _read_how(k: Any, how: int) -> OpenHow:
    return OpenHow(k.mem.read_uint(how, 8), k.mem.read_uint(how + 8, 8), k.mem.read_uint(how + 16, 8))


def _sys_open(k: Any, dfd: int, filename: int, how: OpenHow) -> Any:
    vfs = k.vfs
    op = OpenFlags(how.flags, how.mode)
    name = Filename(k, get_path_name(k, filename), filename, op)
    try:
        fd = k.current.files.get_unused_fd(bool(how.flags & c.O_CLOEXEC))
        ret = yield k.call("do_filp_open", dfd, name.addr, name.op_addr)
        if vfs.is_error(ret):
            k.current.files.put_unused_fd(fd)
            return vfs.error(ret)
        k.current.files.install(fd, vfs.files[ret & vfs.word_mask])
        return fd
    finally:
        name.put()


@kernel_function("long do_sys_open(int dfd, const char *filename, int flags, umode_t mode)", source="fs/open.c")
def do_sys_open(k: Any, dfd: int, filename: int, flags: int, mode: int) -> Any:
    """open(2) and openat(2)."""
    how = OpenHow(flags & c.VALID_OPEN_FLAGS & 0xFFFFFFFF, mode & c.S_IALLUGO)
    if not k.vfs.names.openat2:
        return (yield from _sys_open(k, dfd, filename, how))
    return (yield from _call_openat2(k, dfd, filename, how))


def _call_openat2(k: Any, dfd: int, filename: int, how: OpenHow) -> Any:
    addr = k.mem.alloc(24)
    for at, value in ((0, how.flags), (8, how.mode), (16, how.resolve)):
        if value:
            k.mem.write_uint(addr + at, 8, value)
    try:
        return (yield k.call("do_sys_openat2", dfd, filename, addr))
    finally:
        k.mem.free(addr)


def _sys_openat(k: Any, dfd: int, filename: int, flags: int, mode: int) -> Any:
    flags = k.vfs.abi.flags_from_user(flags & 0xFFFFFFFF) | (c.O_LARGEFILE if k.arch.model.word == 8 else 0)
    if not k.vfs.names.openat2:
        return (yield k.call("do_sys_open", dfd, filename, flags, mode))
    if flags & (c.O_CREAT | c.O_TMPFILE_BIT):
        mode &= c.S_IALLUGO
    else:
        mode = 0
    if flags & c.O_PATH:
        flags &= O_PATH_FLAGS
    return (yield from _call_openat2(k, dfd, filename, OpenHow(flags & c.VALID_OPEN_FLAGS, mode)))


@syscall("open", "const char *filename, int flags, umode_t mode", source="fs/open.c")
def sys_open(k: Any, filename: int, flags: int, mode: int) -> Any:
    """open(2)."""
    return (yield from _sys_openat(k, c.AT_FDCWD, filename, flags, mode))


@syscall("openat", "int dfd, const char *filename, int flags, umode_t mode", source="fs/open.c")
def sys_openat(k: Any, dfd: int, filename: int, flags: int, mode: int) -> Any:
    """openat(2)."""
    return (yield from _sys_openat(k, dfd, filename, flags, mode))


@syscall("creat", "const char *pathname, umode_t mode", source="fs/open.c")
def sys_creat(k: Any, pathname: int, mode: int) -> Any:
    """creat(2)."""
    return (yield from _sys_openat(k, c.AT_FDCWD, pathname, c.O_CREAT | c.O_WRONLY | c.O_TRUNC, mode))


@syscall(
    "openat2", "int dfd, const char *filename, struct open_how *how, size_t usize", source="fs/open.c", since="5.6"
)
def sys_openat2(k: Any, dfd: int, filename: int, how: int, usize: int) -> Any:
    """openat2(2): strict about flags; RESOLVE_* other than 0 answers EAGAIN-free EINVAL here."""
    if usize < 24:
        return -EINVAL
    if usize > c.PAGE_SIZE:
        return -E2BIG
    raw = k.copy_from_user(how, usize)
    if any(raw[24:]):
        return -E2BIG
    order = k.mem.byteorder
    flags, mode, resolve = (int.from_bytes(raw[i : i + 8], order) for i in (0, 8, 16))
    flags = k.vfs.abi.flags_from_user(flags)
    if flags & ~c.VALID_OPEN_FLAGS or resolve:
        return -EINVAL
    creating = flags & (c.O_CREAT | c.O_TMPFILE_BIT)
    if (mode and not creating) or mode & ~c.S_IALLUGO:
        return -EINVAL
    if flags & c.O_PATH and flags & ~O_PATH_FLAGS:
        return -EINVAL
    return (yield from _call_openat2(k, dfd, filename, OpenHow(flags | c.O_LARGEFILE, mode)))


@kernel_function(
    "struct file *do_filp_open(int dfd, struct filename *pathname, const struct open_flags *op)", source="fs/namei.c"
)
def do_filp_open(k: Any, dfd: int, pathname: int, op: int) -> Any:
    """Set up the walk, and walk."""
    vfs = k.vfs
    name: Filename = vfs.objects[pathname]
    nd = vfs.nameidata(dfd, name.name)
    layout = vfs.mirror.struct("struct nameidata")
    addr = layout.new({"name": pathname, "dfd": dfd, "flags": vfs.objects[op].lookup})
    vfs.objects[addr] = (nd, name.name)
    try:
        return (yield k.call("path_openat", addr, op, vfs.objects[op].lookup))
    finally:
        del vfs.objects[addr]
        k.mem.free(addr)


@kernel_function(
    "struct file *path_openat(struct nameidata *nd, const struct open_flags *op, unsigned int flags)",
    source="fs/namei.c",
)
def path_openat(k: Any, nd_addr: int, op_addr: int, lookup: int) -> Any:
    """Walk to the file, create it if asked, open it, truncate it if asked."""
    vfs = k.vfs
    nd, name = vfs.objects[nd_addr]
    op: OpenFlags = vfs.objects[op_addr]
    path, _, truncate = plan_open(vfs, nd, name, op)
    file = vfs.new_file(path, op.flags & ~c.O_CLOEXEC, PATH_FOPS)
    layout = vfs.mirror.struct("struct file")
    path_addr = file.addr + layout.offset("f_path")
    cred = (0,) if not vfs.names.vfs_open_two_args else ()
    ret = yield k.call("vfs_open", path_addr, file.addr, *cred)
    if not ret and truncate:
        try:
            if path.dentry.inode.i_writecount < 0:
                raise KernelError(ETXTBSY, "being executed")
            from simkernel.fs.read_write import truncate_path

            truncate_path(k, file, 0)
        except KernelError as error:
            ret = -error.errno
    if ret < 0:
        vfs.put_file(file)
        return ret
    return file.addr


@kernel_function("int vfs_open(const struct path *path, struct file *file)", source="fs/open.c", since="4.19")
def vfs_open(k: Any, path: int, file_addr: int) -> Any:
    """Open the dentry of a path."""
    file = k.vfs.files[file_addr]
    return (yield k.call("do_dentry_open", file_addr, file.f_inode.addr, 0))


@kernel_function(
    "int vfs_open(const struct path *path, struct file *file, const struct cred *cred)", source="fs/open.c",
    until="4.19",
)  # fmt: skip
def vfs_open_4_18(k: Any, path: int, file_addr: int, cred: int) -> Any:
    """Open the dentry of a path."""
    file = k.vfs.files[file_addr]
    return (yield k.call("do_dentry_open", file_addr, file.f_inode.addr, 0))


@kernel_function(
    "int do_dentry_open(struct file *f, struct inode *inode, int (*open)(struct inode *, struct file *))",
    source="fs/open.c",
)
def do_dentry_open(k: Any, file_addr: int, inode_addr: int, open_: int) -> Any:
    """Give the file its operations and mode, and let them open."""
    vfs = k.vfs
    file: File = vfs.files[file_addr]
    inode = file.f_inode
    if file.f_flags & c.O_PATH:
        file.f_mode = c.FMODE_PATH | c.FMODE_OPENED
        vfs.mirror.file_flags(file)
        return 0
    kind = inode.i_mode & c.S_IFMT
    if file.f_mode & c.FMODE_WRITE and kind in (c.S_IFREG, c.S_IFDIR, c.S_IFLNK):
        if inode.i_writecount < 0:
            file.f_mode &= ~c.FMODE_WRITE
            return -ETXTBSY
        if file.f_path.mnt.read_only:
            file.f_mode &= ~c.FMODE_WRITE
            return -EROFS
    if file.f_mode & c.FMODE_WRITE:
        inode.i_writecount += 1
    file.f_op = fops_for(vfs, inode)
    file.f_mode |= c.FMODE_LSEEK | c.FMODE_PREAD | c.FMODE_PWRITE
    if file.f_op.open is not None:
        ret = file.f_op.open(k, inode, file)
        if inspect.isgenerator(ret):
            ret = yield from ret
        if ret:
            if file.f_mode & c.FMODE_WRITE:
                inode.i_writecount -= 1
                file.f_mode &= ~c.FMODE_WRITE
            return ret
    ops = file.f_op
    mode = file.f_mode | c.FMODE_OPENED
    if ops.llseek == "no_llseek":
        mode &= ~c.FMODE_LSEEK
    if mode & c.FMODE_READ and (ops.read or ops.read_iter):
        mode |= c.FMODE_CAN_READ
    if mode & c.FMODE_WRITE and (ops.write or ops.write_iter):
        mode |= c.FMODE_CAN_WRITE
    if ops.stream:
        mode = mode & ~(c.FMODE_LSEEK | c.FMODE_PREAD | c.FMODE_PWRITE) | c.FMODE_STREAM
    if kind in (c.S_IFREG, c.S_IFDIR):
        mode |= c.FMODE_ATOMIC_POS
    file.f_mode = mode
    file.f_flags &= ~(c.O_CREAT | c.O_EXCL | c.O_NOCTTY | c.O_TRUNC)
    vfs.mirror.file_flags(file)
    return 0


# --- close ---


@kernel_function("int filp_close(struct file *filp, fl_owner_t id)", source="fs/open.c")
def filp_close(k: Any, file_addr: int, owner: int) -> Any:
    """One descriptor less: flush, drop this owner's record locks, fput."""
    file = k.vfs.files[file_addr]
    ret = 0
    if not file.f_mode & c.FMODE_PATH:
        if file.f_op.flush is not None:
            ret = file.f_op.flush(k, file) or 0
        if file.f_inode.locks is not None:
            file.f_inode.locks.drop_owner(k, owner)
    yield k.call("fput", file_addr)
    return ret


@kernel_function("void fput(struct file *file)", source="fs/file_table.c")
def fput(k: Any, file_addr: int) -> Any:
    """One reference less."""
    file = k.vfs.files[file_addr]
    file.f_count -= 1
    if file.f_count <= 0:
        yield k.call("__fput", file_addr)
    return 0


@kernel_function("void __fput(struct file *file)", source="fs/file_table.c")
def __fput(k: Any, file_addr: int) -> Any:
    """The last reference is gone: release."""
    yield from k.vfs.fput_steps(k.vfs.files[file_addr])
    return 0


@syscall("close", "unsigned int fd", source="fs/open.c")
def sys_close(k: Any, fd: int) -> Any:
    """close(2)."""
    files = k.current.files
    file = files.remove(fd)
    if file is None:
        return -EBADF
    return (yield k.call("filp_close", file.addr, files.addr))


@syscall("close_range", "unsigned int fd, unsigned int max_fd, unsigned int flags", source="fs/open.c", since="5.9")
def sys_close_range(k: Any, fd: int, max_fd: int, flags: int) -> Any:
    """close_range(2)."""
    if flags & ~6 or fd > max_fd:
        return -EINVAL
    files = k.current.files
    if flags & 2 and files.count > 1:  # CLOSE_RANGE_UNSHARE
        files.count -= 1
        files = k.current.files = files.copy()
        k.vfs.mirror.task_files(k.current)
    for number in [n for n in sorted(files.fds) if fd <= n <= max_fd]:
        if flags & 4:  # CLOSE_RANGE_CLOEXEC
            files.set_cloexec(number, True)
            continue
        file = files.remove(number)
        if file is not None:
            yield k.call("filp_close", file.addr, files.addr)
    return 0


# --- opening for execution, and by the kernel ---


def open_exec(k: Any, path: bytes, dfd: int, flags: int) -> File:
    """do_open_execat(): EACCES unless an executable regular file on a mount that allows it."""
    if flags & ~(c.AT_SYMLINK_NOFOLLOW | c.AT_EMPTY_PATH):
        raise KernelError(EINVAL, "unknown flags")
    vfs = k.vfs
    name = to_str(path)
    lookup = 0 if flags & c.AT_SYMLINK_NOFOLLOW else LOOKUP_FOLLOW
    where = vfs.user_path(dfd, name, lookup, empty=bool(flags & c.AT_EMPTY_PATH))
    cred = vfs.cred()
    may_open(where, MAY_EXEC, c.O_RDONLY, cred)
    inode = where.dentry.inode
    if not inode.is_reg or where.mnt.mnt_flags & c.MS_NOEXEC:
        raise KernelError(EACCES, "not executable")
    if inode.i_writecount > 0:
        raise KernelError(ETXTBSY, "open for writing")
    file: File = vfs.new_file(where, c.O_RDONLY | c.O_LARGEFILE, fops_for(vfs, inode), cred)
    file.f_mode |= c.FMODE_OPENED | c.FMODE_CAN_READ | c.FMODE_LSEEK | c.FMODE_PREAD | c.FMODE_EXEC
    inode.i_writecount -= 1  # deny_write_access(), until the file is released
    return file


# --- chdir and friends ---


@syscall("chdir", "const char *filename", source="fs/open.c")
def sys_chdir(k: Any, filename: int) -> int:
    """chdir(2)."""
    path = k.vfs.user_path(c.AT_FDCWD, get_path_name(k, filename), LOOKUP_FOLLOW | LOOKUP_DIRECTORY)
    inode_permission(path.dentry.inode, MAY_EXEC | c.MAY_CHDIR, k.vfs.cred())
    k.current.fs.set_pwd(path)
    return 0


@syscall("fchdir", "unsigned int fd", source="fs/open.c")
def sys_fchdir(k: Any, fd: int) -> int:
    """fchdir(2)."""
    file = k.vfs.file_of(k, k.current, fd)
    if file.f_path.dentry.children is None:
        return -ENOTDIR
    inode_permission(file.f_inode, MAY_EXEC | c.MAY_CHDIR, k.vfs.cred())
    k.current.fs.set_pwd(file.f_path)
    return 0


@syscall("chroot", "const char *filename", source="fs/open.c")
def sys_chroot(k: Any, filename: int) -> int:
    """chroot(2)."""
    path = k.vfs.user_path(c.AT_FDCWD, get_path_name(k, filename), LOOKUP_FOLLOW | LOOKUP_DIRECTORY)
    inode_permission(path.dentry.inode, MAY_EXEC | c.MAY_CHDIR, k.vfs.cred())
    if not k.capable(c.CAP_SYS_CHROOT):
        return -EPERM
    k.current.fs.set_root(path)
    return 0


@syscall("getcwd", "char *buf, unsigned long size", source="fs/d_path.c")
def sys_getcwd(k: Any, buf: int, size: int) -> int:
    """getcwd(2): the length with the NUL."""
    from simkernel.fs.inode import prepend_path

    fs = k.current.fs
    if not fs.pwd.dentry.hashed:
        return -ENOENT
    text, reachable = prepend_path(fs.pwd, fs.root)
    raw = to_bytes(text if reachable else "(unreachable)" + text) + b"\0"
    if len(raw) > c.PATH_MAX:
        return -ENAMETOOLONG
    if len(raw) > size:
        return -34  # ERANGE
    k.copy_to_user(buf, raw)
    return len(raw)


@syscall("umask", "int mask", source="kernel/sys.c")
def sys_umask(k: Any, mask: int) -> int:
    """umask(2)."""
    old: int = k.current.fs.umask
    k.current.fs.set_umask(mask & c.S_IRWXUGO)
    return old


# --- mode, owner, access ---


def _setattr_allowed(mnt: Mount) -> None:
    if mnt.read_only:
        raise KernelError(EROFS, "read-only mount")


def chmod_path(k: Any, path: Path, mode: int) -> int:
    """chmod_common()."""
    _setattr_allowed(path.mnt)
    inode, cred = path.dentry.inode, k.vfs.cred()
    if cred.fsuid != inode.i_uid and not cred.capable(c.CAP_FOWNER):
        return -EPERM
    mode = mode & c.S_IALLUGO | inode.i_mode & c.S_IFMT
    from simkernel.fs.inode import in_group

    if not in_group(cred, inode.i_gid) and not cred.capable(c.CAP_FSETID):
        mode &= ~c.S_ISGID
    inode.i_mode = mode
    inode.attr_changed()
    inode.ctime = k.vfs.now()
    k.vfs.mirror.inode_changed(inode)
    return 0


@kernel_function("int chmod_common(const struct path *path, umode_t mode)", source="fs/open.c")
def chmod_common(k: Any, path: int, mode: int) -> int:
    """Change the mode of what a path names."""
    return chmod_path(k, k.vfs.objects[path], mode)


def with_path(k: Any, path: Path, name: str, *args: int) -> Any:
    """Call a kernel function whose first argument is a struct path of its own."""
    layout = k.vfs.mirror.struct("struct path")
    addr = layout.new({"mnt": k.vfs.mirror.vfsmount(path.mnt), "dentry": k.vfs.mirror.dentry(path.dentry)})
    k.vfs.objects[addr] = path
    try:
        return (yield k.call(name, addr, *args))
    finally:
        del k.vfs.objects[addr]
        k.mem.free(addr)


@syscall("chmod", "const char *filename, umode_t mode", source="fs/open.c")
def sys_chmod(k: Any, filename: int, mode: int) -> Any:
    """chmod(2)."""
    path = k.vfs.user_path(c.AT_FDCWD, get_path_name(k, filename))
    return (yield from with_path(k, path, "chmod_common", mode))


@syscall("fchmodat", "int dfd, const char *filename, umode_t mode", source="fs/open.c")
def sys_fchmodat(k: Any, dfd: int, filename: int, mode: int) -> Any:
    """fchmodat(2)."""
    path = k.vfs.user_path(dfd, get_path_name(k, filename))
    return (yield from with_path(k, path, "chmod_common", mode))


@syscall("fchmod", "unsigned int fd, umode_t mode", source="fs/open.c")
def sys_fchmod(k: Any, fd: int, mode: int) -> Any:
    """fchmod(2)."""
    return (yield from with_path(k, k.vfs.fget(fd).f_path, "chmod_common", mode))


@kernel_function("int chown_common(const struct path *path, uid_t user, gid_t group)", source="fs/open.c")
def chown_common(k: Any, path_addr: int, user: int, group: int) -> int:
    """Change owner and group; -1 leaves one alone; set-id bits fall."""
    from simkernel.fs.inode import in_group

    path = k.vfs.objects[path_addr]
    _setattr_allowed(path.mnt)
    inode, cred = path.dentry.inode, k.vfs.cred()
    nobody = 0xFFFFFFFF
    capable = cred.capable(c.CAP_CHOWN)
    if user != nobody and not capable and not (cred.fsuid == inode.i_uid and user == inode.i_uid):
        return -EPERM
    if (
        group != nobody
        and not capable
        and not (cred.fsuid == inode.i_uid and (in_group(cred, group) or group == inode.i_gid))
    ):
        return -EPERM
    if user != nobody:
        inode.i_uid = user
    if group != nobody:
        inode.i_gid = group
    if not inode.is_dir:
        if inode.i_mode & 0o010:
            inode.i_mode &= ~c.S_ISGID
        inode.i_mode &= ~c.S_ISUID
    inode.ctime = k.vfs.now()
    k.vfs.mirror.inode_changed(inode)
    return 0


@syscall("chown", "const char *filename, uid_t user, gid_t group", source="fs/open.c")
def sys_chown(k: Any, filename: int, user: int, group: int) -> Any:
    """chown(2)."""
    path = k.vfs.user_path(c.AT_FDCWD, get_path_name(k, filename))
    return (yield from with_path(k, path, "chown_common", user, group))


@syscall("lchown", "const char *filename, uid_t user, gid_t group", source="fs/open.c")
def sys_lchown(k: Any, filename: int, user: int, group: int) -> Any:
    """lchown(2)."""
    path = k.vfs.user_path(c.AT_FDCWD, get_path_name(k, filename), 0)
    return (yield from with_path(k, path, "chown_common", user, group))


@syscall("fchown", "unsigned int fd, uid_t user, gid_t group", source="fs/open.c")
def sys_fchown(k: Any, fd: int, user: int, group: int) -> Any:
    """fchown(2)."""
    return (yield from with_path(k, k.vfs.fget(fd).f_path, "chown_common", user, group))


@syscall("fchownat", "int dfd, const char *filename, uid_t user, gid_t group, int flag", source="fs/open.c")
def sys_fchownat(k: Any, dfd: int, filename: int, user: int, group: int, flag: int) -> Any:
    """fchownat(2)."""
    if flag & ~(c.AT_SYMLINK_NOFOLLOW | c.AT_EMPTY_PATH):
        return -EINVAL
    empty = bool(flag & c.AT_EMPTY_PATH)
    lookup = 0 if flag & c.AT_SYMLINK_NOFOLLOW else LOOKUP_FOLLOW
    path = k.vfs.user_path(dfd, get_path_name(k, filename, empty), lookup, empty)
    return (yield from with_path(k, path, "chown_common", user, group))


@kernel_function(
    "long do_faccessat(int dfd, const char *filename, int mode, int flags)", source="fs/open.c", since="5.8"
)
def do_faccessat(k: Any, dfd: int, filename: int, mode: int, flags: int) -> int:
    """Check access with the real (or, AT_EACCESS, the effective) ids."""
    return _faccessat(k, dfd, filename, mode, flags)


@kernel_function(
    "long do_faccessat(int dfd, const char *filename, int mode)", source="fs/open.c", since="4.17", until="5.8"
)
def do_faccessat_5_7(k: Any, dfd: int, filename: int, mode: int) -> int:
    """Check access with the real ids."""
    return _faccessat(k, dfd, filename, mode, 0)


class RealCred:
    """override_creds() of access(2): the real ids, and capabilities only for real root."""

    def __init__(self, k: Any) -> None:
        task = k.current
        self.k = k
        cred = getattr(task, "cred", task)
        self.fsuid: int = cred.uid
        self.fsgid: int = cred.gid
        self.groups = getattr(cred, "groups", ())

    def capable(self, cap: int) -> bool:
        """Only for uid 0."""
        return self.fsuid == 0 and bool(self.k.capable(cap))


def _faccessat(k: Any, dfd: int, filename: int, mode: int, flags: int) -> int:
    if mode & ~7 or flags & ~(c.AT_EACCESS | c.AT_SYMLINK_NOFOLLOW | c.AT_EMPTY_PATH):
        return -EINVAL
    cred = k.vfs.cred() if flags & c.AT_EACCESS else RealCred(k)
    empty = bool(flags & c.AT_EMPTY_PATH)
    lookup = 0 if flags & c.AT_SYMLINK_NOFOLLOW else LOOKUP_FOLLOW
    name = get_path_name(k, filename, empty)
    if not name:
        path = k.vfs.user_path(dfd, name, lookup, True)
    else:
        path = k.vfs.nameidata(dfd, name, lookup, cred).lookup(name)
    inode = path.dentry.inode
    if mode & MAY_EXEC and inode.is_reg and path.mnt.mnt_flags & c.MS_NOEXEC:
        return -EACCES
    inode_permission(inode, mode | c.MAY_ACCESS, cred)
    special = inode.i_mode & c.S_IFMT in (c.S_IFCHR, c.S_IFBLK, c.S_IFIFO, c.S_IFSOCK)
    if mode & MAY_WRITE and not special and path.mnt.read_only:
        return -EROFS
    return 0


def _access(k: Any, dfd: int, filename: int, mode: int, flags: int) -> Any:
    if k.vfs.names.ksys:
        args = (dfd, filename, mode, flags) if k.vfs.names.faccessat2 else (dfd, filename, mode)
        return (yield k.call("do_faccessat", *args))
    return _faccessat(k, dfd, filename, mode, flags)


@syscall("access", "const char *filename, int mode", source="fs/open.c")
def sys_access(k: Any, filename: int, mode: int) -> Any:
    """access(2)."""
    return (yield from _access(k, c.AT_FDCWD, filename, mode, 0))


@syscall("faccessat", "int dfd, const char *filename, int mode", source="fs/open.c")
def sys_faccessat(k: Any, dfd: int, filename: int, mode: int) -> Any:
    """faccessat(2)."""
    return (yield from _access(k, dfd, filename, mode, 0))


@syscall("faccessat2", "int dfd, const char *filename, int mode, int flags", source="fs/open.c", since="5.8")
def sys_faccessat2(k: Any, dfd: int, filename: int, mode: int, flags: int) -> Any:
    """faccessat2(2)."""
    return (yield from _access(k, dfd, filename, mode, flags))


# --- extended attributes: none are stored ---


def _xattr_get(k: Any, path: Path, name: int) -> int:
    text = k.strncpy_from_user(name, c.XATTR_NAME_MAX + 1)
    if not text:
        return -34  # ERANGE
    known = text.startswith((b"security.", b"trusted.", b"system.posix_acl_"))
    return -61 if known and not text.startswith(b"system.") else -95  # ENODATA, EOPNOTSUPP


def _declare_xattrs() -> None:
    """The twelve calls differ in how they name the file."""
    by = {
        "": ("const char *pathname", lambda k, a: k.vfs.user_path(c.AT_FDCWD, get_path_name(k, a))),
        "l": ("const char *pathname", lambda k, a: k.vfs.user_path(c.AT_FDCWD, get_path_name(k, a), 0)),
        "f": ("int fd", lambda k, a: k.vfs.fget(a).f_path),
    }
    for prefix, (param, find) in by.items():

        def get(k: Any, where: int, name: int, value: int, size: int, find: Any = find) -> int:
            """getxattr(2): nothing is there."""
            return _xattr_get(k, find(k, where), name)

        def set_(k: Any, where: int, name: int, value: int, size: int, flags: int, find: Any = find) -> int:
            """setxattr(2): cannot be stored."""
            find(k, where)
            return -95

        def list_(k: Any, where: int, buf: int, size: int, find: Any = find) -> int:
            """listxattr(2): an empty list."""
            find(k, where)
            return 0

        def remove(k: Any, where: int, name: int, find: Any = find) -> int:
            """removexattr(2): nothing is there."""
            return _xattr_get(k, find(k, where), name)

        syscall(f"{prefix}getxattr", f"{param}, const char *name, void *value, size_t size", source="fs/xattr.c")(get)
        syscall(
            f"{prefix}setxattr", f"{param}, const char *name, const void *value, size_t size, int flags",
            source="fs/xattr.c",
        )(set_)  # fmt: skip
        syscall(f"{prefix}listxattr", f"{param}, char *list, size_t size", source="fs/xattr.c")(list_)
        syscall(f"{prefix}removexattr", f"{param}, const char *name", source="fs/xattr.c")(remove)


_declare_xattrs()


def not_a_terminal() -> KernelError:
    """ENOTTY, for ioctl."""
    return KernelError(ENOTTY, "inappropriate ioctl")


def bad_address() -> KernelError:
    """EFAULT."""
    return KernelError(EFAULT, "bad address")
