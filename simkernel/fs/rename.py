"""rename(2) and its kin.  fs/namei.c."""

from __future__ import annotations

from arch.abi.errno import EBUSY, EEXIST, EINVAL, ENOENT, ENOTDIR, ENOTEMPTY, EXDEV
from arch.abi.fcntl import AT_FDCWD, RENAME_EXCHANGE, RENAME_NOREPLACE, RENAME_WHITEOUT
from arch.abi.stat import S_IFCHR
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import Dentry, Path, inode_permission
from simkernel.fs.landlock_access import check_refer
from simkernel.fs.namei import LAST_NORM, may_create, may_delete
from simkernel.fs.namei_calls import find_victim, forget
from simkernel.fs.open_walk import get_path_name
from simkernel.fs.pending import Pending
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.security import ask


class Renaming:
    """The arguments of one rename, found by the address of its struct renamedata."""

    __slots__ = ("arguments", "flags", "new_name", "new_parent", "old", "old_parent", "target")

    def __init__(self, old_parent: Dentry, old: Dentry, new_parent: Dentry, new_name: str, target: Dentry | None,
                 flags: int) -> None:  # fmt: skip
        self.old_parent = old_parent
        self.old = old
        self.new_parent = new_parent
        self.new_name = new_name
        self.target = target
        self.flags = flags
        self.arguments = (0, 0, 0, 0)  # both directories and both dentries, where programs see them


def _vfs_rename(k: FsKernel, r: Renaming) -> int:
    """The rules of vfs_rename(), then the file system."""
    cred = k.vfs.cred()
    source = r.old.inode
    is_dir = source.is_dir
    if r.target is not None and r.target.inode is source:
        return 0
    may_delete(r.old_parent, r.old, is_dir, cred)
    if r.target is None:
        may_create(r.new_parent.inode, cred)
    elif r.flags & RENAME_EXCHANGE:
        may_delete(r.new_parent, r.target, r.target.inode.is_dir, cred)
    else:
        may_delete(r.new_parent, r.target, is_dir, cred)
    if is_dir and r.new_parent is not r.old_parent:
        inode_permission(source, c.MAY_WRITE, cred)
    if r.old.mounts or (r.target is not None and r.target.mounts):
        return -EBUSY
    if r.flags & RENAME_EXCHANGE:
        ask(k, "inode_rename", *r.arguments[2:], *r.arguments[:2])
    ask(k, "inode_rename", *r.arguments)
    old_name = r.old.name
    r.old_parent.inode.rename(r.old_parent, r.old, r.new_parent, r.new_name, r.flags)
    if r.flags & RENAME_WHITEOUT:
        r.old_parent.inode.mknod(r.old_parent, old_name, S_IFCHR, 0, cred)
    if k.vfs.fsnotify.active:
        k.vfs.fsnotify.moved(r.old_parent.inode, old_name, r.new_parent.inode, r.old)
        if r.target is not None and r.flags & RENAME_EXCHANGE:
            k.vfs.fsnotify.moved(r.new_parent.inode, r.old.name, r.old_parent.inode, r.target)
        elif r.target is not None:
            k.vfs.fsnotify.replaced(r.target)
    mirror = k.vfs.mirror
    mirror.dentry_moved(r.old)
    for inode in (r.old_parent.inode, r.new_parent.inode, source):
        mirror.inode_changed(inode)
    if r.target is not None:
        if r.flags & RENAME_EXCHANGE:
            mirror.dentry_moved(r.target)
        else:
            forget(k, r.new_parent, r.target)
    return 0


@kernel_function("int vfs_rename(struct renamedata *rd)", source="fs/namei.c", since="5.12")
def vfs_rename(k: FsKernel, rd: int) -> int:
    """Move a name."""
    return _vfs_rename(k, k.vfs.passed(rd, Renaming))


@kernel_function(
    "int vfs_rename(struct inode *old_dir, struct dentry *old_dentry, struct inode *new_dir, "
    "struct dentry *new_dentry, struct inode **delegated_inode, unsigned int flags)", source="fs/namei.c", until="5.12",
)  # fmt: skip
def vfs_rename_5_11(k: FsKernel, old_dir: int, old: int, new_dir: int, new: int, delegated: int, flags: int) -> int:
    """Move a name."""
    return _vfs_rename(k, k.vfs.passed(-new, Renaming))


def _check_flags(flags: int) -> None:
    """EINVAL: unknown flags, or such as contradict each other."""
    if flags & ~7 or (flags & 5 and flags & RENAME_EXCHANGE):
        raise KernelError(EINVAL, "unknown or conflicting flags")


def _plan_rename(
    k: FsKernel, old_dfd: int, old_name: str, new_dfd: int, new_name: str, flags: int
) -> tuple[Renaming, tuple[Path, Path]]:
    """do_renameat2() up to vfs_rename(): both walks and every check between them."""
    vfs = k.vfs
    _check_flags(flags)
    old_nd, new_nd = vfs.nameidata(old_dfd, old_name), vfs.nameidata(new_dfd, new_name)
    old_nd.start(old_name)
    new_nd.start(new_name)
    if old_nd.path.mnt is not new_nd.path.mnt:
        raise KernelError(EXDEV, "different mounts")
    if old_nd.last_type != LAST_NORM:
        raise KernelError(EBUSY, "cannot rename . or ..")
    if new_nd.last_type != LAST_NORM:
        raise KernelError(EEXIST if flags & RENAME_NOREPLACE else EBUSY, "cannot become . or ..")
    old = find_victim(old_nd)
    if old is None:
        raise KernelError(ENOENT, "no such file")
    target = find_victim(new_nd)
    if flags & RENAME_NOREPLACE and target is not None:
        raise KernelError(EEXIST, "target exists")
    if flags & RENAME_EXCHANGE and target is None:
        raise KernelError(ENOENT, "nothing to exchange with")
    if flags & RENAME_EXCHANGE and target is not None and not target.inode.is_dir and new_nd.trailing:
        raise KernelError(ENOTDIR, "a slash after what is no directory")
    if not old.inode.is_dir and (old_nd.trailing or (not flags & RENAME_EXCHANGE and new_nd.trailing)):
        raise KernelError(ENOTDIR, "a slash after what is no directory")
    if old.inode.is_dir and old.is_ancestor_of(new_nd.path.dentry):
        raise KernelError(EINVAL, "into its own subdirectory")
    if target is not None and target.is_ancestor_of(old_nd.path.dentry) and target.inode.is_dir:
        raise KernelError(EINVAL if flags & RENAME_EXCHANGE else ENOTEMPTY, "target holds the source")
    check_refer(k, old, new_nd.path, target, removable=True, flags=flags)
    return Renaming(old_nd.path.dentry, old, new_nd.path.dentry, new_nd.last, target, flags), (old_nd.path, new_nd.path)


def _rename(k: FsKernel, old_dfd: int, old_name: str, new_dfd: int, new_name: str, flags: int) -> Body:
    r, (old_path, new_path) = _plan_rename(k, old_dfd, old_name, new_dfd, new_name, flags)
    vfs = k.vfs
    mirror = vfs.mirror
    new = Pending(vfs, r.new_parent, r.new_name)
    new_addr = mirror.dentry(r.target) if r.target is not None else new.addr
    values = {
        "old_dir": mirror.inode(r.old_parent.inode), "old_dentry": mirror.dentry(r.old),
        "new_dir": mirror.inode(r.new_parent.inode), "new_dentry": new_addr, "flags": flags,
    }  # fmt: skip
    r.arguments = (values["old_dir"], values["old_dentry"], values["new_dir"], new_addr)
    rd = 0
    try:
        vfs.security.ask("path_rename", old_path, values["old_dentry"], new_path, new_addr, flags)
        if k.vfs.names.user_ns_args:
            rd = mirror.struct("struct renamedata").new(values)
            vfs.objects[rd] = r
            return (yield k.call("vfs_rename", rd))
        vfs.objects[-new_addr] = r
        return (yield k.call(
            "vfs_rename", values["old_dir"], values["old_dentry"], values["new_dir"], new_addr, 0, flags
        ))  # fmt: skip
    finally:
        new.put()
        vfs.objects.pop(rd or -new_addr, None)
        if rd:
            k.mem.free(rd)


@syscall(
    "renameat2", "int olddfd, const char *oldname, int newdfd, const char *newname, unsigned int flags",
    source="fs/namei.c",
)  # fmt: skip
def sys_renameat2(k: FsKernel, olddfd: int, oldname: int, newdfd: int, newname: int, flags: int) -> Body:
    """renameat2(2)."""
    _check_flags(flags)
    old, new = (get_path_name(k, name, putter="do_renameat2") for name in (oldname, newname))
    return (yield from _rename(k, olddfd, old, newdfd, new, flags))


@syscall("renameat", "int olddfd, const char *oldname, int newdfd, const char *newname", source="fs/namei.c")
def sys_renameat(k: FsKernel, olddfd: int, oldname: int, newdfd: int, newname: int) -> Body:
    """renameat(2)."""
    return (yield from sys_renameat2(k, olddfd, oldname, newdfd, newname, 0))


@syscall("rename", "const char *oldname, const char *newname", source="fs/namei.c")
def sys_rename(k: FsKernel, oldname: int, newname: int) -> Body:
    """rename(2)."""
    return (yield from sys_renameat2(k, AT_FDCWD, oldname, AT_FDCWD, newname, 0))
