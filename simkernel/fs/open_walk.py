"""What open(2) asks for and the walk to it: flags, the last component, creation.  fs/open.c:build_open_flags(), fs/namei.c:open_last_lookups()."""

from __future__ import annotations

from arch.abi.errno import EEXIST, EINVAL, EISDIR, ENOENT, ENOTDIR, EROFS  # fmt: skip
from arch.abi.fcntl import (
    O_ACCMODE,
    O_APPEND,
    O_CLOEXEC,
    O_CREAT,
    O_DIRECTORY,
    O_DSYNC,
    O_EXCL,
    O_LARGEFILE,
    O_NOFOLLOW,
    O_PATH,
    O_RDONLY,
    O_SYNC_BIT,
    O_TMPFILE_BIT,
    O_TRUNC,
)
from arch.abi.limits import PATH_MAX
from arch.abi.stat import S_IALLUGO, S_IFBLK, S_IFCHR, S_IFMT, S_IFREG, dev_major, dev_minor
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.dirty import I_LINKABLE
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import fs_of
from simkernel.fs.hooks import ACCESS_READ, ACCESS_WRITE, DEVICE_BLOCK, DEVICE_CHARACTER
from simkernel.fs.inode import (
    Dentry,
    FileOperations,
    Inode,
    Path,
    inode_permission,
    to_bytes,
    to_str,
)
from simkernel.fs.landlock_access import check_make
from simkernel.fs.namei import (
    LAST_NORM,
    LAST_ROOT,
    LOOKUP_DIRECTORY,
    LOOKUP_FOLLOW,
    NameData,
    may_create,
    may_open,
    mode_strip_sgid,
)  # fmt: skip
from simkernel.fs.pending import Pending
from simkernel.fs.posix_acl import umasked
from simkernel.fs.vfs import Vfs

MAY_EXEC, MAY_WRITE, MAY_OPEN = c.MAY_EXEC, c.MAY_WRITE, c.MAY_OPEN
ACC_MODE = (c.MAY_READ, c.MAY_WRITE, c.MAY_READ | c.MAY_WRITE, c.MAY_READ | c.MAY_WRITE)  # by flags & O_ACCMODE
O_PATH_FLAGS = O_DIRECTORY | O_NOFOLLOW | O_PATH | O_CLOEXEC

GETNAME = "getname_flags.part.0"  # where names are allocated
PATH_FOPS = FileOperations("empty_fops", llseek="no_llseek")


def get_path_name(k: FsKernel, addr: int, empty_ok: bool = False, putter: str = "user_path_at_empty") -> str:
    """getname(): the path at a user address; ENOENT when empty, ENAMETOOLONG from 4096 bytes on.

    `putter` is the function that gives its memory back, none where a Filename is made of it.
    """
    raw = k.usercopy.strncpy_from_user(addr, PATH_MAX)
    if not raw and not empty_ok:
        raise KernelError(ENOENT, "empty path")
    if putter:
        k.objects.passing("names_cache", GETNAME, putter)
    return to_str(raw)


class Filename:
    """struct filename and, behind it, struct open_flags, in kernel memory for the time of one system call."""

    __slots__ = ("addr", "k", "name", "op_addr", "putter")

    def __init__(self, k: FsKernel, name: str, uptr: int, op: OpenFlags, putter: str) -> None:
        self.k = k
        self.putter = putter  # the function that calls putname()
        self.name = name
        mirror = k.vfs.mirror
        layout, op_layout = mirror.struct("struct filename"), mirror.struct("struct open_flags")
        raw = to_bytes(name)
        at = layout.size
        op_at = (at + len(raw) + 8) & ~7
        self.addr = k.mem.alloc(op_at + op_layout.size)
        self.op_addr = self.addr + op_at
        head = layout.packer("name", "uptr", "refcnt.counter")(self.addr + at, uptr, 1)
        tail = op_layout.packer("open_flag", "mode", "acc_mode", "intent", "lookup_flags")(
            op.flags, op.mode, op.acc_mode, 0x100, op.lookup
        )
        k.mem.write(self.addr, (head + raw).ljust(op_at, b"\0") + tail)
        k.vfs.objects[self.addr] = self
        k.vfs.objects[self.op_addr] = op
        k.objects.made("names_cache", self.addr, GETNAME if uptr else "getname_kernel")

    @classmethod
    def known(cls, k: FsKernel, addr: int, name: str) -> Filename:
        """One that has its place already, which is not given back."""
        made = cls.__new__(cls)
        made.k, made.addr, made.name, made.op_addr, made.putter = k, addr, name, 0, ""
        return made

    def put(self) -> None:
        """putname()."""
        self.k.objects.gone("names_cache", self.addr, self.putter)
        del self.k.vfs.objects[self.addr], self.k.vfs.objects[self.op_addr]
        self.k.mem.free(self.addr)


class OpenFlags:
    """struct open_flags: what the flags of open(2) mean for the walk."""

    __slots__ = ("acc_mode", "flags", "lookup", "mode", "resolve")

    def __init__(self, flags: int, mode: int, resolve: int = 0) -> None:
        self.resolve = resolve  # RESOLVE_*: openat2(2)
        if flags & (O_CREAT | O_TMPFILE_BIT):
            self.mode = mode & S_IALLUGO | S_IFREG
        else:
            self.mode = 0
        if flags & O_SYNC_BIT:
            flags |= O_DSYNC
        acc = ACC_MODE[flags & O_ACCMODE]
        if flags & O_TMPFILE_BIT:
            if not flags & O_DIRECTORY or flags & O_CREAT or not acc & MAY_WRITE:
                raise KernelError(EINVAL, "O_TMPFILE rules")
        if flags & O_PATH:
            flags &= O_PATH_FLAGS
            acc = 0
        if flags & O_TRUNC:
            acc |= MAY_WRITE
        if flags & O_APPEND:
            acc |= c.MAY_APPEND
        self.lookup = 0
        if flags & O_CREAT and flags & O_EXCL:
            flags |= O_NOFOLLOW
        if flags & O_DIRECTORY:
            self.lookup |= LOOKUP_DIRECTORY
        if not flags & O_NOFOLLOW:
            self.lookup |= LOOKUP_FOLLOW
        self.flags = flags
        self.acc_mode = acc


class ExecFlags(OpenFlags):
    """The same for a file that is to be executed.  `empty`: no name is needed (AT_EMPTY_PATH)."""

    __slots__ = ("dfd", "empty", "name")

    def __init__(self, dfd: int, name: str, lookup: int, empty: bool) -> None:
        super().__init__(O_RDONLY | O_LARGEFILE | c.FMODE_EXEC, 0)
        self.acc_mode, self.lookup = MAY_EXEC, lookup
        self.dfd, self.name, self.empty = dfd, name, empty


class NameLookup:
    """Result of walk_to_open(): what to open."""

    __slots__ = ("created", "flags", "path")

    def __init__(self, path: Path, created: bool, flags: int) -> None:
        self.path = path
        self.created = created
        self.flags = flags


def walk_to_open(vfs: Vfs, nd: NameData, name: str, op: OpenFlags) -> NameLookup:
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


def _lookup_open(vfs: Vfs, nd: NameData, op: OpenFlags) -> tuple[Dentry, bool]:
    """lookup_open(): the last component, created when O_CREAT says so."""
    creating = op.flags & O_CREAT
    if not creating and nd.trailing:
        nd.flags |= LOOKUP_FOLLOW | LOOKUP_DIRECTORY
    parent = nd.path.dentry
    if creating:
        nd.rcu = 0
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
    check_make(vfs.k, nd.path, S_IFREG)
    mode = mode_strip_sgid(parent.inode, umasked(parent.inode.xattrs, op.mode, fs_of(vfs.k.current).umask), nd.cred)
    if nd.cred.watched:
        return _create_watched(vfs, nd, mode), True
    may_create(parent.inode, nd.cred)
    child = parent.inode.create(parent, nd.last, mode, nd.cred)
    vfs.told.made(child)
    vfs.mirror.inode_changed(parent.inode)
    if vfs.fsnotify.active:
        vfs.fsnotify.made(parent.inode, nd.last, child.inode)
    return child, True


def _create_watched(vfs: Vfs, nd: NameData, mode: int) -> Dentry:
    """may_o_create() and ->create() with the security hooks on the way."""
    parent = nd.path.dentry
    new = Pending(vfs, parent, nd.last, nd.cred)
    try:
        vfs.security.ask("path_mknod", nd.path, new.addr, mode, 0)
        may_create(parent.inode, nd.cred)
        vfs.security.ask("inode_create", parent.inode, new.addr, mode)
    finally:
        new.put()
    child = parent.inode.create(parent, nd.last, mode, nd.cred)
    vfs.told.made(child)
    vfs.mirror.inode_changed(parent.inode)
    vfs.security.made(parent.inode, child, lambda: vfs.take_back(parent, child))
    if vfs.fsnotify.active:
        vfs.fsnotify.made(parent.inode, nd.last, child.inode)
    return child


def plan_open(vfs: Vfs, nd: NameData, name: str, op: OpenFlags) -> tuple[Path, int, bool]:
    """Everything of path_openat() before vfs_open(): (path, flags, truncate)."""
    if op.flags & O_TMPFILE_BIT:
        return _tmpfile(vfs, nd, name, op)
    if op.flags & O_PATH:
        nd.flags = op.lookup
        return nd.lookup(name), op.flags, False
    found = walk_to_open(vfs, nd, name, op)
    path, flags = found.path, found.flags
    inode = path.dentry.inode
    if op.flags & O_CREAT:
        if op.flags & O_EXCL and not found.created:
            raise KernelError(EEXIST, "exists")
        if inode.is_dir:
            raise KernelError(EISDIR, "is a directory")
    if nd.flags & LOOKUP_DIRECTORY and path.dentry.children is None:
        raise KernelError(ENOTDIR, "not a directory")
    acc_mode = op.acc_mode
    truncate = False
    nd.created = found.created
    if found.created:
        flags &= ~O_TRUNC
        acc_mode = 0
    elif inode.is_reg and flags & O_TRUNC:
        if path.mnt.read_only:
            raise KernelError(EROFS, "read-only mount")
        truncate = True
    flags = may_open(path, acc_mode, flags, nd.cred)
    if inode.i_rdev:
        _may_use_device(vfs, inode, acc_mode)
    return path, flags, truncate and bool(flags & O_TRUNC)


def _may_use_device(vfs: Vfs, inode: Inode, acc_mode: int) -> None:
    """devcgroup_inode_permission(): EPERM."""
    kinds = {S_IFBLK: DEVICE_BLOCK, S_IFCHR: DEVICE_CHARACTER}
    kind = kinds.get(inode.i_mode & S_IFMT)
    access = (ACCESS_READ if acc_mode & c.MAY_READ else 0) | (ACCESS_WRITE if acc_mode & c.MAY_WRITE else 0)
    if kind is not None and access:
        error = vfs.programs.device(kind, dev_major(inode.i_rdev), dev_minor(inode.i_rdev), access)
        if error:
            raise KernelError(-error, "a program of the control group forbids it")


def _tmpfile(vfs: Vfs, nd: NameData, name: str, op: OpenFlags) -> tuple[Path, int, bool]:
    nd.flags = op.lookup
    where = nd.lookup(name)
    if where.mnt.read_only:
        raise KernelError(EROFS, "read-only mount")
    dir_ = where.dentry.inode
    inode_permission(dir_, MAY_WRITE | MAY_EXEC, nd.cred)
    inode = dir_.tmpfile(where.dentry, umasked(dir_.xattrs, op.mode, fs_of(vfs.k.current).umask), nd.cred)
    dentry = Dentry(f"#{inode.i_ino}", where.dentry, inode)
    dentry.hashed = False
    if not op.flags & O_EXCL:
        inode.i_state |= I_LINKABLE
    vfs.security.made(dir_, dentry, lambda: vfs.evict_if_unused(inode), tmpfile=True)
    return Path(where.mnt, dentry), op.flags & ~(O_TRUNC | O_CREAT | O_EXCL), False
