"""Where a task stands, and mode, owner and access of files: chdir, chroot, getcwd, umask, chmod, chown, access.  fs/open.c, fs/d_path.c."""

from __future__ import annotations

from collections.abc import Collection

from arch.abi.capability import CAP_CHOWN, CAP_FOWNER, CAP_FSETID, CAP_SYS_CHROOT
from arch.abi.errno import EACCES, EINVAL, ENAMETOOLONG, ENOENT, ENOTDIR, EOPNOTSUPP, EPERM, ERANGE, EROFS  # fmt: skip
from arch.abi.fcntl import AT_EACCESS, AT_EMPTY_PATH, AT_FDCWD, AT_SYMLINK_NOFOLLOW
from arch.abi.limits import PATH_MAX
from arch.abi.mount import MS_NOEXEC
from arch.abi.stat import S_IALLUGO, S_IFBLK, S_IFCHR, S_IFIFO, S_IFMT, S_IFSOCK, S_IRWXUGO, S_ISGID, S_ISUID
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import fs_of
from simkernel.fs.fileattr import check_changeable
from simkernel.fs.fsnotify import FS_ATTRIB
from simkernel.fs.inode import Dentry, Inode, Mount, Path, inode_permission, to_bytes
from simkernel.fs.namei import (
    LOOKUP_DIRECTORY,
    LOOKUP_FOLLOW,
)  # fmt: skip
from simkernel.fs.open_walk import MAY_EXEC, MAY_WRITE, get_path_name
from simkernel.fs.posix_acl import ACL_ACCESS, acl_of, as_kept, in_group, pack, with_mode
from simkernel.fs.security import ATTR_CTIME, ATTR_GID, ATTR_KILL_SGID, ATTR_KILL_SUID, ATTR_MODE, ATTR_UID
from simkernel.fs.xattr import drop_capability
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.security import prepare_creds
from simkernel.kernel.user_namespace import ns_address, ns_capable, to_kernel, user_ns

# --- chdir and friends ---


@syscall("chdir", "const char *filename", source="fs/open.c")
def sys_chdir(k: FsKernel, filename: int) -> int:
    """chdir(2)."""
    path = k.vfs.user_path(AT_FDCWD, get_path_name(k, filename), LOOKUP_FOLLOW | LOOKUP_DIRECTORY)
    inode_permission(path.dentry.inode, MAY_EXEC | c.MAY_CHDIR, k.vfs.cred())
    fs_of(k.current).set_pwd(path)
    return 0


@syscall("fchdir", "unsigned int fd", source="fs/open.c")
def sys_fchdir(k: FsKernel, fd: int) -> int:
    """fchdir(2)."""
    file = k.vfs.file_of(k, k.current, fd)
    if file.f_path.dentry.children is None:
        return -ENOTDIR
    inode_permission(file.f_inode, MAY_EXEC | c.MAY_CHDIR, k.vfs.cred())
    fs_of(k.current).set_pwd(file.f_path)
    return 0


@syscall("chroot", "const char *filename", source="fs/open.c")
def sys_chroot(k: FsKernel, filename: int) -> Body:
    """chroot(2)."""
    path = k.vfs.user_path(AT_FDCWD, get_path_name(k, filename), LOOKUP_FOLLOW | LOOKUP_DIRECTORY)
    inode_permission(path.dentry.inode, MAY_EXEC | c.MAY_CHDIR, k.vfs.cred())
    mine = user_ns(k.current)
    if k.vfs.probed:
        allowed = yield k.call("ns_capable", ns_address(k, mine), CAP_SYS_CHROOT)
    else:
        allowed = ns_capable(k.current, mine, CAP_SYS_CHROOT) and k.granted(ns_address(k, mine), CAP_SYS_CHROOT)
    if not allowed:
        return -EPERM
    k.vfs.security.ask("path_chroot", path)
    fs_of(k.current).set_root(path)
    return 0


@syscall("getcwd", "char *buf, unsigned long size", source="fs/d_path.c")
def sys_getcwd(k: FsKernel, buf: int, size: int) -> int:
    """getcwd(2): the length with the NUL."""
    from simkernel.fs.inode import prepend_path

    fs = fs_of(k.current)
    if not fs.pwd.dentry.hashed:
        return -ENOENT
    text, reachable = prepend_path(fs.pwd, fs.root)
    raw = to_bytes(text if reachable else "(unreachable)" + text) + b"\0"
    if len(raw) > PATH_MAX:
        return -ENAMETOOLONG
    if len(raw) > size:
        return -ERANGE
    k.usercopy.copy_to_user(buf, raw)
    return len(raw)


@syscall("umask", "int mask", source="kernel/sys.c")
def sys_umask(k: FsKernel, mask: int) -> int:
    """umask(2)."""
    old: int = fs_of(k.current).umask
    fs_of(k.current).set_umask(mask & S_IRWXUGO)
    return old


# --- mode, owner, access ---


def _setattr_allowed(mnt: Mount) -> None:
    if mnt.read_only:
        raise KernelError(EROFS, "read-only mount")


def chmod_path(k: FsKernel, path: Path, mode: int) -> int:
    """chmod_common()."""
    _setattr_allowed(path.mnt)
    inode, cred = path.dentry.inode, k.vfs.cred()
    k.vfs.security.ask("path_chmod", path, mode & S_IALLUGO)
    if cred.fsuid != inode.i_uid and not cred.capable(CAP_FOWNER, inode):
        return -EPERM
    check_changeable(inode)
    if inode.i_sb.fs_name == "proc":  # proc_setattr(), proc_sys_setattr()
        return -EPERM
    k.vfs.security.setattr(path.dentry, ATTR_MODE | ATTR_CTIME, mode & S_IALLUGO | inode.i_mode & S_IFMT)
    if inode.is_link and k.vfs.names.link_modes_fixed:
        return -EOPNOTSUPP
    mode = mode & S_IALLUGO | inode.i_mode & S_IFMT
    if not in_group(cred, inode.i_gid) and not cred.capable(CAP_FSETID, inode):
        mode &= ~S_ISGID
    inode.i_mode = mode
    if inode.xattrs is not None and ACL_ACCESS in inode.xattrs:
        inode.xattrs[ACL_ACCESS] = pack(with_mode(acl_of(inode.xattrs), mode), as_kept)
    inode.attr_changed()
    k.vfs.dirty.attributes_set(inode)
    inode.ctime = k.vfs.now()
    k.vfs.mirror.inode_changed(inode)
    k.vfs.fsnotify.dentry(path.dentry, FS_ATTRIB)
    return 0


@kernel_function("int chmod_common(const struct path *path, umode_t mode)", source="fs/open.c")
def chmod_common(k: FsKernel, path: int, mode: int) -> int:
    """Change the mode of what a path names."""
    return chmod_path(k, k.vfs.paths[path], mode)


def with_path(k: FsKernel, path: Path, name: str, *args: int) -> Body:
    """Call a kernel function whose first argument is a struct path of its own."""
    layout = k.vfs.mirror.struct("struct path")
    addr = layout.new({"mnt": k.vfs.mirror.vfsmount(path.mnt), "dentry": k.vfs.mirror.dentry(path.dentry)})
    k.vfs.paths[addr] = path
    try:
        return (yield k.call(name, addr, *args))
    finally:
        del k.vfs.paths[addr]
        k.mem.free(addr)


@syscall("chmod", "const char *filename, umode_t mode", source="fs/open.c")
def sys_chmod(k: FsKernel, filename: int, mode: int) -> Body:
    """chmod(2)."""
    path = k.vfs.user_path(AT_FDCWD, get_path_name(k, filename))
    return (yield from with_path(k, path, "chmod_common", mode))


@syscall("fchmodat", "int dfd, const char *filename, umode_t mode", source="fs/open.c")
def sys_fchmodat(k: FsKernel, dfd: int, filename: int, mode: int) -> Body:
    """fchmodat(2)."""
    path = k.vfs.user_path(dfd, get_path_name(k, filename))
    return (yield from with_path(k, path, "chmod_common", mode))


@syscall(
    "fchmodat2", "int dfd, const char *filename, umode_t mode, unsigned int flags", source="fs/open.c", since="6.6"
)
def sys_fchmodat2(k: FsKernel, dfd: int, filename: int, mode: int, flags: int) -> Body:
    """fchmodat2(2): of the link itself, of what a descriptor names.  EINVAL."""
    if flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH):
        return -EINVAL
    empty = bool(flags & AT_EMPTY_PATH)
    follow = 0 if flags & AT_SYMLINK_NOFOLLOW else LOOKUP_FOLLOW
    path = k.vfs.user_path(dfd, get_path_name(k, filename, empty), follow, empty)
    return (yield from with_path(k, path, "chmod_common", mode))


@syscall("fchmod", "unsigned int fd, umode_t mode", source="fs/open.c")
def sys_fchmod(k: FsKernel, fd: int, mode: int) -> Body:
    """fchmod(2)."""
    return (yield from with_path(k, k.vfs.fget(fd).f_path, "chmod_common", mode))


@kernel_function("int chown_common(const struct path *path, uid_t user, gid_t group)", source="fs/open.c")
def chown_common(k: FsKernel, path_addr: int, user: int, group: int) -> int:
    """Change owner and group; -1 leaves one alone; set-id bits fall."""
    path = k.vfs.paths[path_addr]
    _setattr_allowed(path.mnt)
    inode, cred = path.dentry.inode, k.vfs.cred()
    nobody, space = 0xFFFFFFFF, user_ns(k.current)
    new = (to_kernel(space, "uid", user), to_kernel(space, "gid", group))
    if (new[0] == nobody != user) or (new[1] == nobody != group):
        return -EINVAL
    user, group = new
    k.vfs.security.ask("path_chown", path, user, group)
    valid = ATTR_CTIME | (ATTR_UID if user != nobody else 0) | (ATTR_GID if group != nobody else 0)
    if not inode.is_dir:
        sgid = inode.i_mode & (S_ISGID | 0o010) == S_ISGID | 0o010
        valid |= ATTR_KILL_SUID | (ATTR_KILL_SGID if sgid else 0) | (ATTR_MODE if sgid or inode.i_mode & S_ISUID else 0)
    k.vfs.security.setattr(path.dentry, valid, inode.i_mode, user, group)
    if valid & (ATTR_UID | ATTR_GID):
        check_changeable(inode)
    if valid & (ATTR_UID | ATTR_GID) and inode.i_fop is not None and inode.i_fop.name == "proc_sys_file_operations":
        return -EPERM  # proc_sys_setattr()
    mine = cred.fsuid == inode.i_uid
    if user != nobody and not (mine and user == inode.i_uid) and not cred.capable(CAP_CHOWN, inode):
        return -EPERM
    if (
        group != nobody
        and not (mine and (in_group(cred, group) or group == inode.i_gid))
        and not cred.capable(CAP_CHOWN, inode)
    ):
        return -EPERM
    if user != nobody:
        inode.i_uid = user
    if group != nobody:
        inode.i_gid = group
    if not inode.is_dir:
        drop_capability(k, inode)
        if inode.i_mode & 0o010:
            inode.i_mode &= ~S_ISGID
        inode.i_mode &= ~S_ISUID
    inode.ctime = k.vfs.now()
    k.vfs.mirror.inode_changed(inode)
    k.vfs.fsnotify.dentry(path.dentry, FS_ATTRIB)
    return 0


@syscall("chown", "const char *filename, uid_t user, gid_t group", source="fs/open.c")
def sys_chown(k: FsKernel, filename: int, user: int, group: int) -> Body:
    """chown(2)."""
    path = k.vfs.user_path(AT_FDCWD, get_path_name(k, filename))
    return (yield from with_path(k, path, "chown_common", user, group))


@syscall("lchown", "const char *filename, uid_t user, gid_t group", source="fs/open.c")
def sys_lchown(k: FsKernel, filename: int, user: int, group: int) -> Body:
    """lchown(2)."""
    path = k.vfs.user_path(AT_FDCWD, get_path_name(k, filename), 0)
    return (yield from with_path(k, path, "chown_common", user, group))


@syscall("fchown", "unsigned int fd, uid_t user, gid_t group", source="fs/open.c")
def sys_fchown(k: FsKernel, fd: int, user: int, group: int) -> Body:
    """fchown(2)."""
    return (yield from with_path(k, k.vfs.fget(fd).f_path, "chown_common", user, group))


@syscall("fchownat", "int dfd, const char *filename, uid_t user, gid_t group, int flag", source="fs/open.c")
def sys_fchownat(k: FsKernel, dfd: int, filename: int, user: int, group: int, flag: int) -> Body:
    """fchownat(2)."""
    if flag & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH):
        return -EINVAL
    empty = bool(flag & AT_EMPTY_PATH)
    lookup = 0 if flag & AT_SYMLINK_NOFOLLOW else LOOKUP_FOLLOW
    path = k.vfs.user_path(dfd, get_path_name(k, filename, empty), lookup, empty)
    return (yield from with_path(k, path, "chown_common", user, group))


@kernel_function(
    "long do_faccessat(int dfd, const char *filename, int mode, int flags)", source="fs/open.c", since="5.8"
)
def do_faccessat(k: FsKernel, dfd: int, filename: int, mode: int, flags: int) -> int:
    """Check access with the real (or, AT_EACCESS, the effective) ids."""
    return _faccessat(k, dfd, filename, mode, flags)


@kernel_function(
    "long do_faccessat(int dfd, const char *filename, int mode)", source="fs/open.c", since="4.17", until="5.8"
)
def do_faccessat_5_7(k: FsKernel, dfd: int, filename: int, mode: int) -> int:
    """Check access with the real ids."""
    return _faccessat(k, dfd, filename, mode, 0)


class RealCred:
    """override_creds() of access(2): the real ids, and capabilities only for real root."""

    def __init__(self, k: FsKernel) -> None:
        task = k.current
        self.k = k
        cred = task.cred
        self.fsuid: int = cred.uid
        self.fsgid: int = cred.gid
        self.groups = cred.groups

    @property
    def watched(self) -> Collection[str]:
        """As of the task's own."""
        return self.k.security_hooks.watched

    def ask(self, hook: str, *about: int | Dentry | Inode) -> None:
        """Likewise."""
        self.k.vfs.security.ask(hook, *about)

    def capable(self, cap: int, inode: Inode | None = None) -> bool:
        """Only for uid 0."""
        root = to_kernel(user_ns(self.k.current), "uid", 0)
        return self.fsuid == root and self.k.vfs.cred().capable(cap, inode)


def _faccessat(k: FsKernel, dfd: int, filename: int, mode: int, flags: int) -> int:
    if mode & ~7 or flags & ~(AT_EACCESS | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH):
        return -EINVAL
    if not flags & AT_EACCESS:
        prepare_creds(k)
    cred = k.vfs.cred() if flags & AT_EACCESS else RealCred(k)
    empty = bool(flags & AT_EMPTY_PATH)
    lookup = 0 if flags & AT_SYMLINK_NOFOLLOW else LOOKUP_FOLLOW
    name = get_path_name(k, filename, empty)
    if not name:
        path = k.vfs.user_path(dfd, name, lookup, True)
    else:
        path = k.vfs.nameidata(dfd, name, lookup, cred).lookup(name)
    inode = path.dentry.inode
    if mode & MAY_EXEC and inode.is_reg and path.mnt.mnt_flags & MS_NOEXEC:
        return -EACCES
    inode_permission(inode, mode | c.MAY_ACCESS, cred)
    special = inode.i_mode & S_IFMT in (S_IFCHR, S_IFBLK, S_IFIFO, S_IFSOCK)
    if mode & MAY_WRITE and not special and path.mnt.read_only:
        return -EROFS
    return 0


def _access(k: FsKernel, dfd: int, filename: int, mode: int, flags: int) -> Body:
    if k.vfs.names.ksys:
        args = (dfd, filename, mode, flags) if k.vfs.names.faccessat2 else (dfd, filename, mode)
        return (yield k.call("do_faccessat", *args))
    return _faccessat(k, dfd, filename, mode, flags)


@syscall("access", "const char *filename, int mode", source="fs/open.c", jumps=True)
def sys_access(k: FsKernel, filename: int, mode: int) -> Body:
    """access(2)."""
    return (yield from _access(k, AT_FDCWD, filename, mode, 0))


@syscall("faccessat", "int dfd, const char *filename, int mode", source="fs/open.c", jumps=True)
def sys_faccessat(k: FsKernel, dfd: int, filename: int, mode: int) -> Body:
    """faccessat(2)."""
    return (yield from _access(k, dfd, filename, mode, 0))


@syscall(
    "faccessat2", "int dfd, const char *filename, int mode, int flags", source="fs/open.c", since="5.8", jumps=True
)
def sys_faccessat2(k: FsKernel, dfd: int, filename: int, mode: int, flags: int) -> Body:
    """faccessat2(2)."""
    return (yield from _access(k, dfd, filename, mode, flags))
