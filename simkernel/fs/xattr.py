"""Extended attributes: none are stored.  fs/xattr.c, with the answers of a tmpfs without them."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import ENODATA, EOPNOTSUPP, ERANGE, EROFS
from arch.abi.fcntl import AT_FDCWD
from arch.abi.limits import XATTR_NAME_MAX
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import Path
from simkernel.fs.open_walk import get_path_name
from simkernel.kernel.kfunc import syscall


def _xattr_get(k: FsKernel, path: Path, name: int) -> int:
    text = k.usercopy.strncpy_from_user(name, XATTR_NAME_MAX + 1)
    if not text:
        return -ERANGE
    known = text.startswith((b"security.", b"trusted.", b"system.posix_acl_"))
    return -ENODATA if known and not text.startswith(b"system.") else -EOPNOTSUPP


Find = Callable[[FsKernel, int], Path]  # (kernel, path or descriptor) -> the file


def _declare_xattrs() -> None:
    """The twelve calls differ in how they name the file."""
    by: dict[str, tuple[str, Find]] = {
        "": ("const char *pathname", lambda k, a: k.vfs.user_path(AT_FDCWD, get_path_name(k, a))),
        "l": ("const char *pathname", lambda k, a: k.vfs.user_path(AT_FDCWD, get_path_name(k, a), 0)),
        "f": ("int fd", lambda k, a: k.vfs.fget(a).f_path),
    }
    for prefix, (param, find) in by.items():

        def get(k: FsKernel, where: int, name: int, value: int, size: int, find: Find = find) -> int:
            """getxattr(2): nothing is there."""
            return _xattr_get(k, find(k, where), name)

        def set_(k: FsKernel, where: int, name: int, value: int, size: int, flags: int, find: Find = find) -> int:
            """setxattr(2): cannot be stored."""
            return -EROFS if find(k, where).mnt.read_only else -EOPNOTSUPP

        def list_(k: FsKernel, where: int, buf: int, size: int, find: Find = find) -> int:
            """listxattr(2): an empty list."""
            find(k, where)
            return 0

        def remove(k: FsKernel, where: int, name: int, find: Find = find) -> int:
            """removexattr(2): nothing is there."""
            path = find(k, where)
            return -EROFS if path.mnt.read_only else _xattr_get(k, path, name)

        syscall(f"{prefix}getxattr", f"{param}, const char *name, void *value, size_t size", source="fs/xattr.c")(get)
        syscall(
            f"{prefix}setxattr", f"{param}, const char *name, const void *value, size_t size, int flags",
            source="fs/xattr.c",
        )(set_)  # fmt: skip
        syscall(f"{prefix}listxattr", f"{param}, char *list, size_t size", source="fs/xattr.c")(list_)
        syscall(f"{prefix}removexattr", f"{param}, const char *name", source="fs/xattr.c")(remove)


_declare_xattrs()
