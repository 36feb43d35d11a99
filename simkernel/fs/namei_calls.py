"""System calls that make, remove and move names, and the vfs_ functions below them.  fs/namei.c.

From 5.12 on the vfs_ functions take the mount's user namespace first; both forms share one body.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.capability import CAP_FOWNER, CAP_MKNOD
from arch.abi.errno import EBUSY, EINVAL, EISDIR, ENOENT, ENOTDIR, ENOTEMPTY, EPERM, EROFS, EXDEV  # fmt: skip
from arch.abi.fcntl import AT_EMPTY_PATH, AT_FDCWD, AT_REMOVEDIR, AT_SYMLINK_FOLLOW
from arch.abi.stat import (
    S_IALLUGO,
    S_IFBLK,
    S_IFCHR,
    S_IFDIR,
    S_IFIFO,
    S_IFLNK,
    S_IFMT,
    S_IFREG,
    S_IFSOCK,
    S_ISGID,
    S_ISUID,
    S_ISVTX,
    S_IXGRP,
    dev_major,
    dev_minor,
    new_decode_dev,
)
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.constants import MAY_READ, MAY_WRITE
from simkernel.fs.dirty import I_LINKABLE
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import fs_of
from simkernel.fs.fsnotify import FS_ATTRIB
from simkernel.fs.hooks import ACCESS_MKNOD, DEVICE_BLOCK, DEVICE_CHARACTER
from simkernel.fs.inode import Cred, Dentry, Inode, Path, inode_permission, to_bytes
from simkernel.fs.landlock_access import check_make, check_refer, check_remove
from simkernel.fs.namei import (
    LAST_DOT,
    LAST_DOTDOT,
    LAST_NORM,
    LOOKUP_FOLLOW,
    NameData,
    lookup_create,
    may_create,
    may_delete,
)  # fmt: skip
from simkernel.fs.open_walk import Filename, get_path_name
from simkernel.fs.pending import Pending
from simkernel.fs.posix_acl import umasked
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.locks import under_inode_lock
from simkernel.kernel.security import ask

USERNS = "struct user_namespace *mnt_userns, "


def _declare(
    prototype: str, body: Callable[..., int | None], since: str | None = None, source: str = "fs/namei.c"
) -> None:
    """Declare a vfs_ function in both forms: with the user namespace from 5.12 on, without before."""
    head, _, params = prototype.partition("(")

    def with_userns(k: FsKernel, userns: int, *args: int) -> int:
        return int(body(k, *args) or 0)

    def without(k: FsKernel, *args: int) -> int:
        return int(body(k, *args) or 0)

    with_userns.__doc__ = without.__doc__ = body.__doc__
    kernel_function(f"{head}({USERNS}{params}", source=source, since="5.12")(with_userns)
    kernel_function(prototype, source=source, since=since, until="5.12")(without)


def _made(k: FsKernel, pending: Pending, made: Dentry, new_inode: bool = True) -> int:
    if new_inode:
        k.vfs.security.made(pending.parent.inode, made, lambda: k.vfs.take_back(pending.parent, made))
    else:
        k.vfs.security.ask("d_instantiate", made, made.inode)
    pending.made = made
    k.vfs.told.made(made, new_inode)
    if k.vfs.fsnotify.active:
        k.vfs.fsnotify.made(pending.parent.inode, pending.name, made.inode)
    k.vfs.mirror.inode_changed(pending.parent.inode)
    return 0


def _vfs_create(k: FsKernel, dir_: int, dentry: int, mode: int, excl: int) -> int:
    """Make a regular file."""
    new = k.vfs.passed(dentry, Pending)
    may_create(new.parent.inode, new.cred)
    mode = mode & S_IALLUGO | S_IFREG
    ask(k, "inode_create", dir_, dentry, mode)
    return _made(k, new, new.parent.inode.create(new.parent, new.name, mode, new.cred))


def _vfs_mkdir(k: FsKernel, dir_: int, dentry: int, mode: int) -> int:
    """Make a directory."""
    new = k.vfs.passed(dentry, Pending)
    may_create(new.parent.inode, new.cred)
    ask(k, "inode_mkdir", dir_, dentry, mode & (0o777 | S_ISVTX))
    return _made(k, new, new.parent.inode.mkdir(new.parent, new.name, mode & (0o777 | S_ISVTX), new.cred))


def _vfs_mknod(k: FsKernel, dir_: int, dentry: int, mode: int, dev: int) -> int:
    """Make a device, a fifo or a socket."""
    new = k.vfs.passed(dentry, Pending)
    may_create(new.parent.inode, new.cred)
    kind = mode & S_IFMT
    if kind in (S_IFCHR, S_IFBLK) and not (kind == S_IFCHR and dev == 0) and not new.cred.capable(CAP_MKNOD):
        return -EPERM
    if kind in (S_IFCHR, S_IFBLK) and not (kind == S_IFCHR and dev == 0):
        device = DEVICE_CHARACTER if kind == S_IFCHR else DEVICE_BLOCK
        error = k.vfs.programs.device(device, dev_major(dev), dev_minor(dev), ACCESS_MKNOD)
        if error:
            return error
    ask(k, "inode_mknod", dir_, dentry, mode, dev)
    return _made(k, new, new.parent.inode.mknod(new.parent, new.name, mode, dev, new.cred))


def _vfs_symlink(k: FsKernel, dir_: int, dentry: int, oldname: int) -> int:
    """Make a symbolic link."""
    new = k.vfs.passed(dentry, Pending)
    may_create(new.parent.inode, new.cred)
    k.vfs.security.ask("inode_symlink", dir_, dentry, to_bytes(new.target))
    return _made(k, new, new.parent.inode.symlink(new.parent, new.name, new.target, new.cred))


def _vfs_link(k: FsKernel, old_dentry: int, dir_: int, new_dentry: int, delegated: int) -> int:
    """Give an inode one more name."""
    new = k.vfs.passed(new_dentry, Pending)
    old = k.vfs.mirror.dentries[old_dentry]
    may_create(new.parent.inode, new.cred)
    if old.inode.i_sb is not new.parent.inode.i_sb:
        return -EXDEV
    if old.inode.is_dir or old.inode.i_flags & (c.S_APPEND | c.S_IMMUTABLE):
        return -EPERM
    ask(k, "inode_link", old_dentry, dir_, new_dentry)
    if old.inode.i_nlink == 0 and not old.inode.i_state & I_LINKABLE:
        return -ENOENT
    made = new.parent.inode.link(new.parent, new.name, old)
    old.inode.i_state &= ~I_LINKABLE
    k.vfs.fsnotify.itself(old.inode, FS_ATTRIB)
    k.vfs.mirror.inode_changed(old.inode)
    return _made(k, new, made, new_inode=False)


def _vfs_unlink(k: FsKernel, dir_: int, dentry: int, delegated: int) -> int:
    """Remove a name that is no directory."""
    victim = k.vfs.mirror.dentries[dentry]
    parent = victim.parent
    may_delete(parent, victim, False, k.vfs.cred())
    if victim.mounts:
        return -EBUSY
    ask(k, "inode_unlink", dir_, dentry)
    parent.inode.unlink(parent, victim)
    _gone(k, parent, victim)
    return 0


def _vfs_rmdir(k: FsKernel, dir_: int, dentry: int) -> int:
    """Remove an empty directory."""
    victim = k.vfs.mirror.dentries[dentry]
    parent = victim.parent
    may_delete(parent, victim, True, k.vfs.cred())
    if victim.mounts:
        return -EBUSY
    ask(k, "inode_rmdir", dir_, dentry)
    parent.inode.rmdir(parent, victim)
    _gone(k, parent, victim)
    return 0


def _gone(k: FsKernel, parent: Dentry, victim: Dentry) -> None:
    if k.vfs.fsnotify.active:
        k.vfs.fsnotify.removed(parent.inode, victim)
    forget(k, parent, victim)


def forget(k: FsKernel, parent: Dentry, victim: Dentry) -> None:
    mirror = k.vfs.mirror
    mirror.inode_changed(parent.inode)
    mirror.inode_changed(victim.inode)
    inode = victim.inode
    if not inode.i_count:
        k.vfs.told.gone(victim)
    k.vfs.evict_if_unused(inode)
    if not inode.i_count and not (inode.is_dir and k.vfs.somebody_is_in(victim)):
        mirror.free_dentry(victim)


_declare("int vfs_create(struct inode *dir, struct dentry *dentry, umode_t mode, bool want_excl)", _vfs_create)
_declare("int vfs_mkdir(struct inode *dir, struct dentry *dentry, umode_t mode)", _vfs_mkdir)
_declare("int vfs_mknod(struct inode *dir, struct dentry *dentry, umode_t mode, dev_t dev)", _vfs_mknod)
_declare("int vfs_symlink(struct inode *dir, struct dentry *dentry, const char *oldname)", _vfs_symlink)
_declare("int vfs_unlink(struct inode *dir, struct dentry *dentry, struct inode **delegated_inode)", _vfs_unlink)
_declare("int vfs_rmdir(struct inode *dir, struct dentry *dentry)", _vfs_rmdir)


@kernel_function(
    "int vfs_link(struct dentry *old_dentry, struct user_namespace *mnt_userns, struct inode *dir, "
    "struct dentry *new_dentry, struct inode **delegated_inode)", source="fs/namei.c", since="5.12",
)  # fmt: skip
def vfs_link(k: FsKernel, old_dentry: int, userns: int, dir_: int, new_dentry: int, delegated: int) -> int:
    """Give an inode one more name."""
    return _vfs_link(k, old_dentry, dir_, new_dentry, delegated)


@kernel_function(
    "int vfs_link(struct dentry *old_dentry, struct inode *dir, struct dentry *new_dentry, "
    "struct inode **delegated_inode)", source="fs/namei.c", until="5.12",
)  # fmt: skip
def vfs_link_5_11(k: FsKernel, old_dentry: int, dir_: int, new_dentry: int, delegated: int) -> int:
    """Give an inode one more name."""
    return _vfs_link(k, old_dentry, dir_, new_dentry, delegated)


# --- making names ---


def _ask_path(k: FsKernel, where: Path, new: Pending, kind: int, args: tuple[int, ...]) -> None:
    """security_path_mkdir(), _symlink() or _mknod()."""
    if kind == S_IFLNK:
        k.vfs.security.ask("path_symlink", where, new.addr, to_bytes(new.target))
    else:
        k.vfs.security.ask("path_mkdir" if kind == S_IFDIR else "path_mknod", where, new.addr, *args)


def _make(
    k: FsKernel,
    dfd: int,
    name: str,
    kind: int,
    function: str,
    *args: int,
    target: str = "",
    asked: tuple[int, ...] = (),
) -> Body:
    """filename_create() of a kind (S_IF), and the vfs_ function that fills the name in; `asked`: what its path hook is told, if not `args`."""
    vfs, want_dir = k.vfs, kind == S_IFDIR
    nd = vfs.nameidata(dfd, name)
    parent = lookup_create(nd, name, want_dir)
    check_make(k, nd.path, kind, args[-1] if function == "vfs_mknod" else 1)
    new = Pending(vfs, parent, nd.last, nd.cred)
    new.target = target
    if kind != S_IFLNK:  # the first argument is the mode
        mode = umasked(parent.inode.xattrs, args[0], fs_of(k.current).umask)
        args, asked = (mode, *args[1:]), (mode, *asked[1:])
    try:
        _ask_path(k, nd.path, new, kind, asked if asked[1:] else args)
        given = (*vfs.userns_arg(nd.path), vfs.mirror.inode(parent.inode), new.addr, *args)
        ret = yield from under_inode_lock(k, parent.inode, function, *given)
    finally:
        new.put()
    return ret


@kernel_function(
    "long do_mkdirat(int dfd, struct filename *name, umode_t mode)",
    source="fs/namei.c",
    since="5.15",
    names={None: "do_mkdirat", "7.0": "filename_mkdirat"},
)
def do_mkdirat(k: FsKernel, dfd: int, name: int, mode: int) -> Body:
    """mkdir(2)."""
    text = k.vfs.passed(name, Filename).name
    return (yield from _make(k, dfd, text, S_IFDIR, "vfs_mkdir", mode))


@kernel_function(
    "long do_mkdirat(int dfd, const char *pathname, umode_t mode)", source="fs/namei.c", since="4.17", until="5.15"
)
def do_mkdirat_5_14(k: FsKernel, dfd: int, pathname: int, mode: int) -> Body:
    """mkdir(2)."""
    return (yield from _make(k, dfd, get_path_name(k, pathname), S_IFDIR, "vfs_mkdir", mode))


def _with_name(k: FsKernel, pathname: int, function: str, dfd: int, *args: int) -> Body:
    """Call function(dfd, struct filename *, ...), as system calls do from 5.15 on."""
    from simkernel.fs.open_walk import Filename, OpenFlags

    name = Filename(k, get_path_name(k, pathname, putter=""), pathname, OpenFlags(0, 0), function)
    try:
        return (yield k.call(function, dfd, name.addr, *args))
    finally:
        name.put()


def _mkdirat(k: FsKernel, dfd: int, pathname: int, mode: int) -> Body:
    if k.vfs.names.mkdirat_filename:
        return (yield from _with_name(k, pathname, "do_mkdirat", dfd, mode))
    if k.vfs.names.do_mkdirat:
        return (yield k.call("do_mkdirat", dfd, pathname, mode))
    return (yield from _make(k, dfd, get_path_name(k, pathname), S_IFDIR, "vfs_mkdir", mode))


@syscall("mkdir", "const char *pathname, umode_t mode", source="fs/namei.c")
def sys_mkdir(k: FsKernel, pathname: int, mode: int) -> Body:
    """mkdir(2)."""
    return (yield from _mkdirat(k, AT_FDCWD, pathname, mode))


@syscall("mkdirat", "int dfd, const char *pathname, umode_t mode", source="fs/namei.c")
def sys_mkdirat(k: FsKernel, dfd: int, pathname: int, mode: int) -> Body:
    """mkdirat(2)."""
    return (yield from _mkdirat(k, dfd, pathname, mode))


def _mknodat(k: FsKernel, dfd: int, filename: int, mode: int, dev: int) -> Body:
    kind = mode & S_IFMT
    if kind not in (0, S_IFREG, S_IFCHR, S_IFBLK, S_IFIFO, S_IFSOCK):
        return -EPERM if kind == S_IFDIR else -EINVAL
    name = get_path_name(k, filename, putter="do_mknodat")
    if kind in (0, S_IFREG):
        mode |= S_IFREG
        return (yield from _make(k, dfd, name, S_IFREG, "vfs_create", mode, 1, asked=(mode, dev)))
    rdev = new_decode_dev(dev) if kind in (S_IFCHR, S_IFBLK) else 0
    return (yield from _make(k, dfd, name, kind, "vfs_mknod", mode, rdev, asked=(mode, dev)))


@syscall("mknod", "const char *filename, umode_t mode, unsigned dev", source="fs/namei.c")
def sys_mknod(k: FsKernel, filename: int, mode: int, dev: int) -> Body:
    """mknod(2)."""
    return (yield from _mknodat(k, AT_FDCWD, filename, mode, dev))


@syscall("mknodat", "int dfd, const char *filename, umode_t mode, unsigned int dev", source="fs/namei.c")
def sys_mknodat(k: FsKernel, dfd: int, filename: int, mode: int, dev: int) -> Body:
    """mknodat(2)."""
    return (yield from _mknodat(k, dfd, filename, mode, dev))


@syscall("symlinkat", "const char *oldname, int newdfd, const char *newname", source="fs/namei.c")
def sys_symlinkat(k: FsKernel, oldname: int, newdfd: int, newname: int) -> Body:
    """symlinkat(2)."""
    target = get_path_name(k, oldname, putter="do_symlinkat")
    name = get_path_name(k, newname, putter="do_symlinkat")
    return (yield from _make(k, newdfd, name, S_IFLNK, "vfs_symlink", oldname, target=target))


@syscall("symlink", "const char *oldname, const char *newname", source="fs/namei.c")
def sys_symlink(k: FsKernel, oldname: int, newname: int) -> Body:
    """symlink(2)."""
    return (yield from sys_symlinkat(k, oldname, AT_FDCWD, newname))


def _may_linkat(k: FsKernel, inode: Inode, cred: Cred) -> None:
    """may_linkat(): only what one owns, or could write, and what is safe to keep a second name of.  EPERM."""
    if not k.vfs.sysctl["fs.protected_hardlinks"]:
        return
    if not _safe_hardlink_source(inode, cred) and cred.fsuid != inode.i_uid and not cred.capable(CAP_FOWNER, inode):
        raise KernelError(EPERM, "not a plain file of one's own, or one that may not be written")


def _safe_hardlink_source(inode: Inode, cred: Cred) -> bool:
    special = S_IFMT & inode.i_mode != S_IFREG or inode.i_mode & S_ISUID
    if special or inode.i_mode & (S_ISGID | S_IXGRP) == S_ISGID | S_IXGRP:
        return False
    try:
        inode_permission(inode, MAY_READ | MAY_WRITE, cred)
    except KernelError:
        return False
    return True


@syscall("linkat", "int olddfd, const char *oldname, int newdfd, const char *newname, int flags", source="fs/namei.c")
def sys_linkat(k: FsKernel, olddfd: int, oldname: int, newdfd: int, newname: int, flags: int) -> Body:
    """linkat(2)."""
    if flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH):
        return -EINVAL
    vfs = k.vfs
    empty = bool(flags & AT_EMPTY_PATH)
    lookup = LOOKUP_FOLLOW if flags & AT_SYMLINK_FOLLOW else 0
    old = vfs.user_path(olddfd, get_path_name(k, oldname, empty, "do_linkat"), lookup, empty)
    name = get_path_name(k, newname, putter="do_linkat")
    nd = vfs.nameidata(newdfd, name)
    parent = lookup_create(nd, name, False)
    if old.mnt is not nd.path.mnt:
        return -EXDEV
    _may_linkat(k, old.dentry.inode, nd.cred)
    check_refer(k, old.dentry, nd.path, None)
    new = Pending(vfs, parent, nd.last, nd.cred)
    try:
        old_addr = vfs.mirror.dentry(old.dentry)
        vfs.security.ask("path_link", old_addr, nd.path, new.addr)
        dir_addr = vfs.mirror.inode(parent.inode)
        return (yield k.call("vfs_link", old_addr, *vfs.userns_arg(nd.path), dir_addr, new.addr, 0))
    finally:
        new.put()


@syscall("link", "const char *oldname, const char *newname", source="fs/namei.c")
def sys_link(k: FsKernel, oldname: int, newname: int) -> Body:
    """link(2)."""
    return (yield from sys_linkat(k, AT_FDCWD, oldname, AT_FDCWD, newname, 0))


# --- removing names ---


def find_victim(nd: NameData) -> Dentry | None:
    """mnt_want_write() and the lookup of the last name."""
    if nd.path.mnt.read_only:
        raise KernelError(EROFS, "read-only mount")
    if nd.path.dentry.children is None:
        raise KernelError(ENOTDIR, "not a directory")
    return nd.lookup_last_name()


def unlink_name(k: FsKernel, dfd: int, name: str) -> Body:
    vfs = k.vfs
    nd = vfs.nameidata(dfd, name)
    nd.start(name)
    if nd.last_type != LAST_NORM:
        return -EISDIR
    victim = find_victim(nd)
    if victim is None:
        return -ENOENT
    if nd.trailing:
        return -EISDIR if victim.inode.is_dir else -ENOTDIR
    check_remove(k, nd.path, False)
    mirror = vfs.mirror
    addr = mirror.dentry(victim)
    vfs.security.ask("path_unlink", nd.path, addr)
    dir_addr = mirror.inode(nd.path.dentry.inode)
    args = (*vfs.userns_arg(nd.path), dir_addr, addr, 0)
    return (yield from under_inode_lock(k, nd.path.dentry.inode, "vfs_unlink", *args))


def _rmdir(k: FsKernel, dfd: int, name: str) -> Body:
    vfs = k.vfs
    nd = vfs.nameidata(dfd, name)
    nd.start(name)
    if nd.last_type != LAST_NORM:
        return -{LAST_DOT: EINVAL, LAST_DOTDOT: ENOTEMPTY}.get(nd.last_type, EBUSY)
    victim = find_victim(nd)
    if victim is None:
        return -ENOENT
    check_remove(k, nd.path, True)
    addr = vfs.mirror.dentry(victim)
    vfs.security.ask("path_rmdir", nd.path, addr)
    dir_addr = vfs.mirror.inode(nd.path.dentry.inode)
    args = (*vfs.userns_arg(nd.path), dir_addr, addr)
    return (yield from under_inode_lock(k, nd.path.dentry.inode, "vfs_rmdir", *args))


@kernel_function(
    "int do_unlinkat(int dfd, struct filename *name)",
    source="fs/namei.c",
    since="4.14",
    names={None: "do_unlinkat", "7.0": "filename_unlinkat"},
)
def do_unlinkat(k: FsKernel, dfd: int, name: int) -> Body:
    """unlink(2)."""
    return (yield from unlink_name(k, dfd, k.vfs.passed(name, Filename).name))


@kernel_function(
    "int do_rmdir(int dfd, struct filename *name)",
    source="fs/namei.c",
    since="5.9",
    names={None: "do_rmdir", "7.0": "filename_rmdir"},
)
def do_rmdir(k: FsKernel, dfd: int, name: int) -> Body:
    """rmdir(2)."""
    return (yield from _rmdir(k, dfd, k.vfs.passed(name, Filename).name))


def _unlinkat(k: FsKernel, dfd: int, pathname: int) -> Body:
    if k.vfs.names.do_unlinkat:
        return (yield from _with_name(k, pathname, "do_unlinkat", dfd))
    return (yield from unlink_name(k, dfd, get_path_name(k, pathname)))


def _rmdirat(k: FsKernel, dfd: int, pathname: int) -> Body:
    if k.vfs.names.do_rmdir:
        return (yield from _with_name(k, pathname, "do_rmdir", dfd))
    return (yield from _rmdir(k, dfd, get_path_name(k, pathname)))


@syscall("unlink", "const char *pathname", source="fs/namei.c")
def sys_unlink(k: FsKernel, pathname: int) -> Body:
    """unlink(2)."""
    return (yield from _unlinkat(k, AT_FDCWD, pathname))


@syscall("unlinkat", "int dfd, const char *pathname, int flag", source="fs/namei.c")
def sys_unlinkat(k: FsKernel, dfd: int, pathname: int, flag: int) -> Body:
    """unlinkat(2)."""
    if flag & ~AT_REMOVEDIR:
        return -EINVAL
    return (yield from (_rmdirat if flag else _unlinkat)(k, dfd, pathname))


@syscall("rmdir", "const char *pathname", source="fs/namei.c")
def sys_rmdir(k: FsKernel, pathname: int) -> Body:
    """rmdir(2)."""
    return (yield from _rmdirat(k, AT_FDCWD, pathname))
