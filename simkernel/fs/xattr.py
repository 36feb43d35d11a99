"""Extended attributes.  fs/xattr.c: the calls, who may, and the simple store that tmpfs has (simple_xattr_get and its kin)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from arch.abi.capability import CAP_FOWNER, CAP_FSETID, CAP_OPT_NOAUDIT, CAP_SETFCAP, CAP_SYS_ADMIN
from arch.abi.errno import E2BIG, EACCES, EEXIST, EINVAL, ENODATA, EOPNOTSUPP, EPERM, ERANGE, EROFS
from arch.abi.fcntl import AT_EMPTY_PATH, AT_FDCWD, AT_SYMLINK_NOFOLLOW
from arch.abi.limits import PAGE_SIZE, XATTR_NAME_MAX
from arch.abi.stat import S_IRWXUGO, S_ISGID, S_ISVTX
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.face import FsKernel
from simkernel.fs.fsnotify import FS_ATTRIB
from simkernel.fs.inode import Inode, Path, inode_permission
from simkernel.fs.namei import LOOKUP_FOLLOW
from simkernel.fs.open_walk import get_path_name
from simkernel.fs.pagecache import xattr_room
from simkernel.fs.posix_acl import (
    ACL_ACCESS,
    ACL_DEFAULT,
    ACL_NAMES,
    acl_of,
    as_kept,
    check_valid,
    in_group,
    mode_of,
    pack,
    says_more,
    unpack,
)
from simkernel.kernel import file_caps
from simkernel.kernel.kfunc import syscall
from simkernel.kernel.user_namespace import from_kernel, to_kernel, user_ns

XATTR_CREATE, XATTR_REPLACE = 1, 2
XATTR_SIZE_MAX = 65536
SECURITY_PREFIX, SYSTEM_PREFIX, TRUSTED, USER = b"security.", b"system.", b"trusted.", b"user."

Find = Callable[[FsKernel, int], Path]  # (kernel, path or descriptor) -> the file


def _permission(k: FsKernel, inode: Inode, name: bytes, write: bool) -> None:
    """xattr_permission().  EPERM, ENODATA, EACCES."""
    if name.startswith((SECURITY_PREFIX, SYSTEM_PREFIX)):
        return
    cred = k.vfs.cred()
    refusal = EPERM if write else ENODATA
    if name.startswith(TRUSTED):
        if not cred.capable(CAP_SYS_ADMIN):
            raise KernelError(refusal)
        return
    if name.startswith(USER):
        if not inode.is_reg and not inode.is_dir:
            raise KernelError(refusal)
        sticky = inode.is_dir and inode.i_mode & S_ISVTX and write
        if sticky and cred.fsuid != inode.i_uid and not cred.capable(CAP_FOWNER):
            raise KernelError(EPERM)
    inode_permission(inode, c.MAY_WRITE if write else c.MAY_READ, cred)


SOCKPROTONAME = b"system.sockprotoname"  # what only sockets have: the name of their protocol


def _store(inode: Inode, name: bytes) -> dict[bytes, bytes]:
    """xattr_resolve_name(): where the file system keeps names of this kind.  EOPNOTSUPP, EINVAL."""
    kinds = inode.i_sb.xattr_kinds
    prefix = next((kind for kind in kinds if name.startswith(kind)), None)
    if prefix is None:
        raise KernelError(EOPNOTSUPP)
    if name == prefix:
        raise KernelError(EINVAL)
    if inode.xattrs is None:
        inode.xattrs = {}
    return inode.xattrs


def _name(k: FsKernel, address: int) -> bytes:
    """The name from user space.  ERANGE."""
    name = k.usercopy.copy_from_user_string(address, XATTR_NAME_MAX + 1)
    if not 0 < len(name) <= XATTR_NAME_MAX:
        raise KernelError(ERANGE)
    return name


def vfs_getxattr(k: FsKernel, path: Path, name: bytes) -> bytes:
    """The value.  ENODATA, EOPNOTSUPP, EPERM, EACCES."""
    inode = path.dentry.inode
    _permission(k, inode, name, False)
    if name == SOCKPROTONAME and inode.i_sb.fs_name == "sockfs":
        return path.dentry.name.encode() + b"\0"
    k.vfs.security.ask("inode_getxattr", path.dentry, name)
    if name in ACL_NAMES:
        return _get_acl(k, inode, name)
    if name.startswith(SECURITY_PREFIX) and SECURITY_PREFIX not in inode.i_sb.xattr_kinds:
        raise KernelError(EOPNOTSUPP)
    value = _store(inode, name).get(name)
    if value is None:
        raise KernelError(ENODATA)
    return file_caps.as_seen(k.current, value) if name == CAPABILITY else value


def _may_change(inode: Inode) -> None:
    """xattr_permission() begins so.  EPERM."""
    if inode.i_flags & (c.S_IMMUTABLE | c.S_APPEND):
        raise KernelError(EPERM)


CAPABILITY = b"security.capability"


def drop_capability(k: FsKernel, inode: Inode) -> None:
    """cap_inode_killpriv(): who changes a program takes what it could."""
    if inode.xattrs and CAPABILITY in inode.xattrs:
        k.mm.charge(-xattr_room({CAPABILITY: inode.xattrs.pop(CAPABILITY)}))


def vfs_setxattr(k: FsKernel, path: Path, name: bytes, value: bytes | None, flags: int) -> int:
    """Store a value; None removes it.  EEXIST, ENODATA, EROFS and those of getting."""
    inode = path.dentry.inode
    if value and name == CAPABILITY:
        value = file_caps.as_stored(k.current, value, k.vfs.cred().capable(CAP_SETFCAP, inode))
    if path.mnt.read_only:
        raise KernelError(EROFS)
    _may_change(inode)
    _permission(k, inode, name, True)
    ask = k.vfs.security.ask
    if value is None:
        ask("inode_removexattr", k.vfs.init_user_ns, path.dentry, name)
    else:
        ask("inode_setxattr", k.vfs.init_user_ns, path.dentry, name, value, len(value), flags)
    if name in ACL_NAMES:
        _set_acl(k, inode, name, value)
    else:
        _replace(k, inode, name, value, flags)
    inode.ctime = k.vfs.now()
    k.vfs.fsnotify.dentry(path.dentry, FS_ATTRIB)
    if value is not None:
        ask("inode_post_setxattr", path.dentry, name, value, len(value), flags)
    return 0


def _replace(k: FsKernel, inode: Inode, name: bytes, value: bytes | None, flags: int) -> None:
    """shmem_xattr_handler_set(), simple_xattr_set(): room comes first.  ENOSPC, EEXIST, ENODATA, ENOMEM."""
    store = _store(inode, name)
    count = inode.i_sb.count_xattrs
    more = {} if value is None else {name: value}
    count(more, 1)
    try:
        if name in store and flags & XATTR_CREATE:
            raise KernelError(EEXIST)
        if name not in store and (flags & XATTR_REPLACE or value is None):
            raise KernelError(ENODATA)
        less = {name: store[name]} if name in store else {}
        k.mm.charge(xattr_room(more) - xattr_room(less))
    except KernelError:
        count(more, -1)
        raise
    count(less, -1)
    store.pop(name, None)
    store.update(more)


def _get_acl(k: FsKernel, inode: Inode, name: bytes) -> bytes:
    """posix_acl_xattr_get(): with ids as the caller's user namespace has them.  EOPNOTSUPP, ENODATA."""
    if not inode.i_sb.acls or inode.is_link:
        raise KernelError(EOPNOTSUPP)
    acl = acl_of(inode.xattrs, name)
    if not acl:
        raise KernelError(ENODATA)
    return pack(acl, partial(from_kernel, user_ns(k.current)))


def _set_acl(k: FsKernel, inode: Inode, name: bytes, value: bytes | None) -> None:
    """posix_acl_xattr_set(), simple_set_acl(): a list that a mode can say becomes the mode.  EOPNOTSUPP, EINVAL, EACCES, EPERM."""
    if not inode.i_sb.acls:
        raise KernelError(EOPNOTSUPP)
    acl = () if value is None else unpack(value, partial(to_kernel, user_ns(k.current)))
    if inode.is_link:
        raise KernelError(EOPNOTSUPP)
    if name == ACL_DEFAULT and not inode.is_dir:
        if acl:
            raise KernelError(EACCES)
        return
    cred = k.vfs.cred()
    if cred.fsuid != inode.i_uid and not cred.capable(CAP_FOWNER, inode):
        raise KernelError(EPERM)
    if acl:
        check_valid(acl)
    if acl and name == ACL_ACCESS:
        mode = inode.i_mode & ~S_IRWXUGO | mode_of(acl)
        if not in_group(cred, inode.i_gid) and not cred.capable(CAP_FSETID, inode):
            mode &= ~S_ISGID
        inode.i_mode = mode
        k.vfs.mirror.inode_changed(inode)
        acl = acl if says_more(acl) else ()
    store = {} if inode.xattrs is None else inode.xattrs
    more = {name: pack(acl, as_kept)} if acl else {}
    k.mm.charge(xattr_room(more) - xattr_room({name: store[name]} if name in store else {}))
    store.pop(name, None)
    store.update(more)
    inode.xattrs = store


def _give(k: FsKernel, data: bytes, address: int, size: int) -> int:
    """To the caller; a size of 0 asks how much there is.  ERANGE."""
    if size:
        if len(data) > size:
            raise KernelError(ERANGE)
        k.usercopy.copy_to_user(address, data)
    return len(data)


AT_FLAGS = AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH
XATTR_ARGS = 16  # sizeof(struct xattr_args): value, size, flags


def _at(k: FsKernel, dfd: int, name: int, flags: int) -> Path:
    """The file of a call with `at`; a descriptor alone where the name is empty.  EINVAL and what the walk says."""
    empty = bool(flags & AT_EMPTY_PATH)
    text = get_path_name(k, name, empty) if name or not empty else ""
    if not text and empty and dfd != AT_FDCWD:
        return k.vfs.fget(dfd).f_path
    return k.vfs.user_path(dfd, text, 0 if flags & AT_SYMLINK_NOFOLLOW else LOOKUP_FOLLOW, empty)


def _xattr_args(k: FsKernel, args: int, usize: int) -> tuple[int, int, int]:
    """(address of the value, its size, flags).  EINVAL, E2BIG, EFAULT."""
    if usize < XATTR_ARGS:
        raise KernelError(EINVAL)
    if usize > PAGE_SIZE:
        raise KernelError(E2BIG)
    raw = k.usercopy.copy_struct_from_user(args, usize, XATTR_ARGS)
    value, rest = int.from_bytes(raw[:8], k.mem.byteorder), raw[8:]
    return value, int.from_bytes(rest[:4], k.mem.byteorder), int.from_bytes(rest[4:8], k.mem.byteorder)


def _at_flags(flags: int) -> None:
    if flags & ~AT_FLAGS:
        raise KernelError(EINVAL)


@syscall(
    "setxattrat",
    "int dfd, const char *pathname, unsigned int at_flags, const char *name, const struct xattr_args *uargs, size_t usize",
    source="fs/xattr.c",
    since="6.13",
)
def sys_setxattrat(k: FsKernel, dfd: int, pathname: int, at_flags: int, name: int, uargs: int, usize: int) -> int:
    """setxattr(2) of what is named by directory, path and flags."""
    value, size, flags = _xattr_args(k, uargs, usize)
    _at_flags(at_flags)
    if flags & ~(XATTR_CREATE | XATTR_REPLACE):
        return -EINVAL
    key = _name(k, name)
    if size > XATTR_SIZE_MAX:
        return -E2BIG
    data = k.usercopy.copy_from_user(value, size) if size else b""
    return vfs_setxattr(k, _at(k, dfd, pathname, at_flags), key, data, flags)


@syscall(
    "getxattrat",
    "int dfd, const char *pathname, unsigned int at_flags, const char *name, struct xattr_args *uargs, size_t usize",
    source="fs/xattr.c",
    since="6.13",
)
def sys_getxattrat(k: FsKernel, dfd: int, pathname: int, at_flags: int, name: int, uargs: int, usize: int) -> int:
    """getxattr(2) likewise."""
    value, size, flags = _xattr_args(k, uargs, usize)
    if flags:
        return -EINVAL
    _at_flags(at_flags)
    key = _name(k, name)
    return _give(k, vfs_getxattr(k, _at(k, dfd, pathname, at_flags), key), value, min(size, XATTR_SIZE_MAX))


def _list(k: FsKernel, path: Path, buf: int, size: int) -> int:
    """Names with their NUL, newest first; trusted ones for those who may read them."""
    k.vfs.security.ask("inode_listxattr", path.dentry)
    kept = path.dentry.inode.xattrs or {}
    names = [*(n for n in ACL_NAMES if n in kept), *(n for n in reversed(kept) if n not in ACL_NAMES)]
    shown = [n for n in names if not n.startswith(TRUSTED) or k.capable(CAP_SYS_ADMIN, CAP_OPT_NOAUDIT)]
    if path.dentry.inode.i_sb.fs_name == "sockfs":  # sockfs_listxattr()
        shown.append(SOCKPROTONAME)
    return _give(k, b"".join(n + b"\0" for n in shown), buf, size)


@syscall(
    "listxattrat",
    "int dfd, const char *pathname, unsigned int at_flags, char *list, size_t size",
    source="fs/xattr.c",
    since="6.13",
)
def sys_listxattrat(k: FsKernel, dfd: int, pathname: int, at_flags: int, buf: int, size: int) -> int:
    """listxattr(2) likewise."""
    _at_flags(at_flags)
    return _list(k, _at(k, dfd, pathname, at_flags), buf, size)


@syscall(
    "removexattrat",
    "int dfd, const char *pathname, unsigned int at_flags, const char *name",
    source="fs/xattr.c",
    since="6.13",
)
def sys_removexattrat(k: FsKernel, dfd: int, pathname: int, at_flags: int, name: int) -> int:
    """removexattr(2) likewise."""
    _at_flags(at_flags)
    key = _name(k, name)
    return vfs_setxattr(k, _at(k, dfd, pathname, at_flags), key, None, 0)


def getxattr(k: FsKernel, path: Path, name: int, value: int, size: int) -> int:
    """do_getxattr(): name and value are the user's; how many bytes.  ERANGE, EFAULT and those of vfs_getxattr()."""
    return _give(k, vfs_getxattr(k, path, _name(k, name)), value, min(size, XATTR_SIZE_MAX))


def setxattr(k: FsKernel, path: Path, name: int, value: int, size: int, flags: int) -> int:
    """do_setxattr(): name and value are the user's.  E2BIG, EFAULT and those of vfs_setxattr()."""
    key = _name(k, name)
    if size > XATTR_SIZE_MAX:
        return -E2BIG
    return vfs_setxattr(k, path, key, k.usercopy.copy_from_user(value, size) if size else b"", flags)


def _declare_xattrs() -> None:
    """The twelve calls differ in how they name the file."""
    by: dict[str, tuple[str, Find]] = {
        "": ("const char *pathname", lambda k, a: k.vfs.user_path(AT_FDCWD, get_path_name(k, a))),
        "l": ("const char *pathname", lambda k, a: k.vfs.user_path(AT_FDCWD, get_path_name(k, a), 0)),
        "f": ("int fd", lambda k, a: k.vfs.fget(a).f_path),
    }
    for prefix, (param, find) in by.items():

        def get(k: FsKernel, where: int, name: int, value: int, size: int, find: Find = find) -> int:
            """getxattr(2)."""
            return getxattr(k, find(k, where), name, value, size)

        def set_(k: FsKernel, where: int, name: int, value: int, size: int, flags: int, find: Find = find) -> int:
            """setxattr(2)."""
            path = find(k, where)
            if flags & ~(XATTR_CREATE | XATTR_REPLACE):
                return -EINVAL
            return setxattr(k, path, name, value, size, flags)

        def list_(k: FsKernel, where: int, buf: int, size: int, find: Find = find) -> int:
            """listxattr(2)."""
            return _list(k, find(k, where), buf, size)

        def remove(k: FsKernel, where: int, name: int, find: Find = find) -> int:
            """removexattr(2)."""
            path = find(k, where)
            return vfs_setxattr(k, path, _name(k, name), None, 0)

        syscall(f"{prefix}getxattr", f"{param}, const char *name, void *value, size_t size", source="fs/xattr.c")(get)
        syscall(
            f"{prefix}setxattr", f"{param}, const char *name, const void *value, size_t size, int flags",
            source="fs/xattr.c",
        )(set_)  # fmt: skip
        syscall(f"{prefix}listxattr", f"{param}, char *list, size_t size", source="fs/xattr.c")(list_)
        syscall(f"{prefix}removexattr", f"{param}, const char *name", source="fs/xattr.c")(remove)


_declare_xattrs()
