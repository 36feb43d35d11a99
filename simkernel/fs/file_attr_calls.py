"""file_getattr(2), file_setattr(2): what chattr(1) changes, of a file by its name.  fs/file_attr.c, since 6.17."""

from __future__ import annotations

import struct

from arch.abi.errno import E2BIG, EINVAL
from arch.abi.fcntl import AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW
from arch.abi.limits import PAGE_SIZE
from arch.errors import KernelError
from simkernel.fs.face import FsKernel
from simkernel.fs.fileattr import get_xflags, set_xflags
from simkernel.fs.inode import Path
from simkernel.fs.namei import LOOKUP_FOLLOW
from simkernel.fs.open_walk import get_path_name
from simkernel.kernel.kfunc import syscall

# struct file_attr: fa_xflags, fa_extsize, fa_nextents, fa_projid, fa_cowextsize
FILE_ATTR_SIZE_VER0 = 24
# FS_XFLAG_*: all of them, and those that a file system tells and nobody sets
KNOWN, TOLD_ONLY = 0x8001FFFB, 0x80000002


def _check(usize: int, at_flags: int) -> None:
    if at_flags & ~(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH):
        raise KernelError(EINVAL)
    if usize > PAGE_SIZE:
        raise KernelError(E2BIG)
    if usize < FILE_ATTR_SIZE_VER0:
        raise KernelError(EINVAL)


def _path(k: FsKernel, dfd: int, name: int, at_flags: int) -> Path:
    """The file; a descriptor alone, which is none of O_PATH, where the name is empty."""
    empty = bool(at_flags & AT_EMPTY_PATH)
    text = get_path_name(k, name, empty_ok=empty) if name or not empty else ""
    if not text and 0 <= dfd < 1 << 31:
        return k.vfs.fget(dfd).f_path
    return k.vfs.user_path(dfd, text, 0 if at_flags & AT_SYMLINK_NOFOLLOW else LOOKUP_FOLLOW, empty=empty)


@syscall(
    "file_getattr",
    "int dfd, const char *filename, struct file_attr *ufattr, size_t usize, unsigned int at_flags",
    source="fs/file_attr.c",
    since="6.17",
)
def sys_file_getattr(k: FsKernel, dfd: int, filename: int, ufattr: int, usize: int, at_flags: int) -> int:
    """EINVAL, E2BIG, EFAULT, EOPNOTSUPP and what the walk says."""
    _check(usize, at_flags)
    xflags = get_xflags(k, _path(k, dfd, filename, at_flags).dentry.inode)
    k.usercopy.copy_to_user(ufattr, xflags.to_bytes(8, k.mem.byteorder).ljust(usize, b"\0"))
    return 0


@syscall(
    "file_setattr",
    "int dfd, const char *filename, struct file_attr *ufattr, size_t usize, unsigned int at_flags",
    source="fs/file_attr.c",
    since="6.17",
)
def sys_file_setattr(k: FsKernel, dfd: int, filename: int, ufattr: int, usize: int, at_flags: int) -> int:
    """EINVAL, E2BIG, EFAULT, EOPNOTSUPP, EPERM, EROFS and what the walk says."""
    _check(usize, at_flags)
    raw = k.usercopy.copy_struct_from_user(ufattr, usize, FILE_ATTR_SIZE_VER0)
    mark = "<" if k.mem.byteorder == "little" else ">"
    xflags, extsize, _, projid, cowextsize = struct.unpack_from(f"{mark}QIIII", raw)
    if xflags & ~KNOWN:
        return -EINVAL
    path = _path(k, dfd, filename, at_flags)
    return set_xflags(k, path, xflags & ~TOLD_ONLY, extsize, projid, cowextsize)
