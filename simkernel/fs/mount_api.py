"""Trees of mounts by descriptor: open_tree, move_mount, mount_setattr.  fs/namespace.c."""

from __future__ import annotations

import struct

from arch.abi.capability import CAP_SYS_ADMIN
from arch.abi.errno import E2BIG, EBADF, EBUSY, EINVAL, EPERM
from arch.abi.fcntl import AT_EMPTY_PATH, AT_NO_AUTOMOUNT, AT_SYMLINK_NOFOLLOW, O_CLOEXEC
from arch.abi.limits import INT_MAX, PAGE_SIZE
from arch.abi.mount import (
    AT_RECURSIVE,
    MOUNT_ATTR_ATIME,
    MOUNT_ATTR_IDMAP,
    MOVE_MOUNT_F_EMPTY_PATH,
    MOVE_MOUNT_F_SYMLINKS,
    MOVE_MOUNT_MASK,
    MOVE_MOUNT_SET_GROUP,
    MOVE_MOUNT_T_EMPTY_PATH,
    MOVE_MOUNT_T_SYMLINKS,
    MS_RDONLY,
    OPEN_TREE_CLONE,
)
from arch.errors import KernelError
from simkernel.fs import pnode
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import files_of
from simkernel.fs.fsopen import ATIME_OF_ATTR, MNT_OF_ATTR, attr_flags, detached_fd, path_file
from simkernel.fs.inode import Mount, Path
from simkernel.fs.landlock_access import check_mounts
from simkernel.fs.mounts import top_of
from simkernel.fs.namei import LOOKUP_FOLLOW
from simkernel.fs.namespace import (
    can_change_locked,
    check_mnt,
    clone_tree,
    do_move_mount,
    may_mount,
    writers_on,
)
from simkernel.fs.nsfs import NS_FILE_OPERATIONS, namespace_of
from simkernel.fs.open import close_fd
from simkernel.fs.open_walk import get_path_name
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import syscall
from simkernel.kernel.user_namespace import ns_capable

MOUNT_ATTR_SIZE_VER0 = 32
SETATTR_FLAGS = MOUNT_ATTR_ATIME | MOUNT_ATTR_IDMAP | sum(attr for attr, _ in MNT_OF_ATTR)


def _at(k: FsKernel, dfd: int, name: int, follow: bool, empty: bool) -> Path:
    lookup = LOOKUP_FOLLOW if follow else 0
    return k.vfs.user_path(dfd, get_path_name(k, name, empty_ok=empty), lookup, empty=empty)


@syscall("open_tree", "int dfd, const char *filename, unsigned flags", source="fs/namespace.c", since="5.2")
def sys_open_tree(k: FsKernel, dfd: int, filename: int, flags: int) -> Body:
    """A descriptor of a mount, or of a copy that is attached nowhere.  EINVAL, EPERM."""
    return (yield from _open_tree(k, dfd, filename, flags))


def _open_tree(k: FsKernel, dfd: int, filename: int, flags: int) -> Body:
    known = AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW | OPEN_TREE_CLONE | O_CLOEXEC
    if flags & ~known or flags & (AT_RECURSIVE | OPEN_TREE_CLONE) == AT_RECURSIVE:
        return -EINVAL
    if flags & OPEN_TREE_CLONE and not (yield from may_mount(k)):
        return -EPERM
    path = _at(k, dfd, filename, not flags & AT_SYMLINK_NOFOLLOW, bool(flags & AT_EMPTY_PATH))
    cloexec = bool(flags & O_CLOEXEC)
    if flags & OPEN_TREE_CLONE:
        if path.mnt.unbindable or (not check_mnt(k, path.mnt) and path.mnt.mnt_sb.fs_name != "nsfs"):
            return -EINVAL
        copies = clone_tree(k.vfs.mounts, path, bool(flags & AT_RECURSIVE))
        return detached_fd(k, copies[path.mnt], cloexec)
    files = files_of(k.current)
    with files.unused_fd(cloexec) as fd:
        files.install(fd, path_file(k, path))
    return int(fd)


@syscall("move_mount", "int from_dfd, const char *from_pathname, int to_dfd, const char *to_pathname, unsigned int flags",
         source="fs/namespace.c", since="5.2")  # fmt: skip
def sys_move_mount(k: FsKernel, from_dfd: int, from_path: int, to_dfd: int, to_path: int, flags: int) -> Body:
    """A mount to another place, or into another's peer group.  EPERM, EINVAL, ELOOP."""
    if not (yield from may_mount(k)):
        return -EPERM
    if flags & ~MOVE_MOUNT_MASK:
        return -EINVAL
    source = _at(k, from_dfd, from_path, bool(flags & MOVE_MOUNT_F_SYMLINKS), bool(flags & MOVE_MOUNT_F_EMPTY_PATH))
    target = _at(k, to_dfd, to_path, bool(flags & MOVE_MOUNT_T_SYMLINKS), bool(flags & MOVE_MOUNT_T_EMPTY_PATH))
    check_mounts(k)
    k.vfs.security.ask("move_mount", source, target)
    if flags & MOVE_MOUNT_SET_GROUP:
        return _set_group(k, source, target)
    return do_move_mount(k, source, target)


def _set_group(k: FsKernel, source: Path, target: Path) -> int:
    """do_set_group(): a private mount takes another's peers and masters.  EINVAL, EPERM."""
    old, new, mounts = source.mnt, target.mnt, k.vfs.mounts
    for mnt in (old, new):
        top = top_of(mnt)
        if mnt not in mounts.all or top in mounts.detached:
            return -EINVAL
        if not ns_capable(k.current, mounts.owners.get(top), CAP_SYS_ADMIN):
            return -EPERM
    if source.dentry is not old.mnt_root or target.dentry is not new.mnt_root:
        return -EINVAL
    if new.group_id or new.master_id or not (old.group_id or old.master_id):
        return -EINVAL
    if new.mnt_sb is not old.mnt_sb or not old.mnt_root.is_ancestor_of(new.mnt_root):
        return -EINVAL
    if any(
        member.locked and not new.mnt_root.is_ancestor_of(member.mountpoint) for member in k.vfs.mounts.children_of(old)
    ):
        return -EINVAL
    new.group_id, new.master_id = old.group_id, old.master_id
    return 0


class MountKattr:
    """struct mount_kattr: what mount_setattr(2) changes."""

    def __init__(self, attr_set: int, attr_clr: int, propagation: int) -> None:
        self.set, self.clear, self.propagation = attr_flags(attr_set), attr_flags(attr_clr), propagation
        if attr_clr & MOUNT_ATTR_ATIME:
            if attr_clr & MOUNT_ATTR_ATIME != MOUNT_ATTR_ATIME or attr_set & MOUNT_ATTR_ATIME not in ATIME_OF_ATTR:
                raise KernelError(EINVAL)
            self.clear |= sum(ATIME_OF_ATTR.values())
            self.set |= ATIME_OF_ATTR[attr_set & MOUNT_ATTR_ATIME]
        elif attr_set & MOUNT_ATTR_ATIME:
            raise KernelError(EINVAL)

    def flags(self, mnt: Mount) -> int:
        """recalc_flags()."""
        return mnt.mnt_flags & ~self.clear | self.set


def _check_idmap(k: FsKernel, attr_set: int, attr_clr: int, userns_fd: int) -> bool:
    """build_mount_idmapped(): is an id mapping asked for?  EINVAL, EBADF, EPERM."""
    if not (attr_set | attr_clr) & MOUNT_ATTR_IDMAP:
        return False
    if attr_clr & MOUNT_ATTR_IDMAP or userns_fd > INT_MAX:
        raise KernelError(EINVAL)
    if userns_fd not in files_of(k.current).fds:
        raise KernelError(EBADF)
    file = k.vfs.fget(userns_fd)
    if file.f_op is not NS_FILE_OPERATIONS or namespace_of(file.f_inode).kind != "user":
        raise KernelError(EINVAL)
    if namespace_of(file.f_inode).state is None:
        raise KernelError(EPERM, "the initial user namespace maps nothing")
    return True


@syscall("mount_setattr", "int dfd, const char *path, unsigned int flags, struct mount_attr *uattr, size_t usize",
         source="fs/namespace.c", since="5.12")  # fmt: skip
def sys_mount_setattr(k: FsKernel, dfd: int, path: int, flags: int, uattr: int, usize: int) -> Body:
    """Flags and propagation of a mount, or of a whole tree at once or not at all.  EINVAL, E2BIG, EPERM, EBUSY."""
    if flags & ~(AT_EMPTY_PATH | AT_RECURSIVE | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT):
        return -EINVAL
    refused = yield from _may_set(k, usize)
    if refused:
        return refused
    wanted = _wanted(k, uattr, usize)
    if wanted is None:
        return 0
    where = _at(k, dfd, path, not flags & AT_SYMLINK_NOFOLLOW, bool(flags & AT_EMPTY_PATH))
    return _do_mount_setattr(k, where, *wanted, recursive=bool(flags & AT_RECURSIVE))


def _may_set(k: FsKernel, usize: int) -> Body:
    """The first questions of wants_mount_setattr().  E2BIG, EINVAL, EPERM."""
    if usize > PAGE_SIZE:
        return -E2BIG
    if usize < MOUNT_ATTR_SIZE_VER0:
        return -EINVAL
    return 0 if (yield from may_mount(k)) else -EPERM


def _wanted(k: FsKernel, uattr: int, usize: int) -> tuple[MountKattr, bool] | None:
    """wants_mount_setattr(): what is to change, and whether ids are; None for nothing.  E2BIG, EINVAL, EFAULT, EBADF."""
    raw = k.usercopy.copy_struct_from_user(uattr, usize, MOUNT_ATTR_SIZE_VER0)
    order = "<" if k.mem.byteorder == "little" else ">"
    attr_set, attr_clr, propagation, userns_fd = struct.unpack_from(order + "4Q", raw)
    if not attr_set and not attr_clr and not propagation:
        return None
    if propagation and propagation not in pnode.KINDS:
        raise KernelError(EINVAL)
    if (attr_set | attr_clr) & ~SETATTR_FLAGS:
        raise KernelError(EINVAL)
    return MountKattr(attr_set, attr_clr, propagation), _check_idmap(k, attr_set, attr_clr, userns_fd)


@syscall("open_tree_attr", "int dfd, const char *filename, unsigned flags, struct mount_attr *uattr, size_t usize",
         source="fs/namespace.c", since="6.15")  # fmt: skip
def sys_open_tree_attr(k: FsKernel, dfd: int, filename: int, flags: int, uattr: int, usize: int) -> Body:
    """open_tree(2), and mount_setattr(2) of what it opened.  EINVAL, EPERM and those of both."""
    if not uattr and usize:
        return -EINVAL
    fd = yield from _open_tree(k, dfd, filename, flags)
    if fd < 0 or not uattr:
        return int(fd)
    error = yield from _set_opened(k, fd, bool(flags & AT_RECURSIVE), uattr, usize)
    if error < 0:
        yield from close_fd(k, fd)
        return int(error)
    return int(fd)


def _set_opened(k: FsKernel, fd: int, recursive: bool, uattr: int, usize: int) -> Body:
    refused = yield from _may_set(k, usize)
    if refused:
        return refused
    try:
        wanted = _wanted(k, uattr, usize)
        if wanted is None:
            return 0
        return _do_mount_setattr(k, k.vfs.file_of(k, k.current, fd).f_path, *wanted, recursive=recursive)
    except KernelError as error:
        return -error.errno


def _do_mount_setattr(k: FsKernel, where: Path, attr: MountKattr, idmap: bool, recursive: bool) -> int:
    mounts, mnt = k.vfs.mounts, where.mnt
    if where.dentry is not mnt.mnt_root:
        return -EINVAL
    if not check_mnt(k, mnt) and top_of(mnt) not in mounts.detached:
        return -EINVAL
    members = mounts.tree(mnt) if recursive else [mnt]
    for member in members:
        new = attr.flags(member)
        if not can_change_locked(member, new):
            return -EPERM
        if idmap:
            return -EINVAL  # no file system here can be shown with other ids
        if new & MS_RDONLY and not member.mnt_flags & MS_RDONLY and writers_on(k, member):
            return -EBUSY
    for member in members:
        member.mnt_flags = attr.flags(member)
        if attr.propagation:
            pnode.change_propagation(mounts, member, attr.propagation)
    mounts.touch(mnt)
    return 0
