"""Calls about file systems that are older than statfs(2), and those of quotas, which no file system here has.

fs/statfs.c, fs/filesystems.c, fs/quota/quota.c.
"""

from __future__ import annotations

import struct

from arch.abi.errno import EBADF, EINVAL, ENODEV, ENOENT, ENOSYS, ENOTBLK
from arch.abi.fcntl import AT_FDCWD
from arch.abi.stat import S_IFBLK, S_IFMT, new_encode_dev
from arch.errors import KernelError
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import files_of
from simkernel.fs.namei import LOOKUP_FOLLOW
from simkernel.fs.open_walk import get_path_name
from simkernel.kernel.kfunc import syscall

MAXQUOTAS, SUBCMDSHIFT, Q_SYNC = 3, 8, 0x800001  # include/uapi/linux/quota.h


@syscall("ustat", "unsigned dev, struct ustat *ubuf", source="fs/statfs.c")
def sys_ustat(k: FsKernel, dev: int, ubuf: int) -> int:
    """How much of a mounted file system is free.  EINVAL, EFAULT."""
    supers = {mnt.mnt_sb for mnt in k.vfs.mounts}
    found = next((sb for sb in supers if new_encode_dev(sb.s_dev) == dev), None)
    if found is None:
        raise KernelError(EINVAL, "no such file system")
    free = found.statfs()
    order = "<" if k.mem.byteorder == "little" else ">"
    word = "q" if k.arch.model.word == 8 else "i"
    raw = struct.pack(f"{order}i{word}12x", free.get("f_bfree", 0) & 0x7FFFFFFF, free.get("f_ffree", 0) & 0x7FFFFFFF)
    if word == "q":
        raw = raw[:4] + bytes(4) + raw[4:] + bytes(4)
    k.usercopy.copy_to_user(ubuf, raw)
    return 0


@syscall("sysfs", "int option, unsigned long arg1, unsigned long arg2", source="fs/filesystems.c")
def sys_sysfs(k: FsKernel, option: int, arg1: int, arg2: int) -> int:
    """The kinds of file systems: 1 the number of a name, 2 the name of a number, 3 how many.  EINVAL, EFAULT; ENOSYS where it is not built in."""
    if not k.arch.calls.has_sysfs_call:
        raise KernelError(ENOSYS)
    names = [kind.name for kind in k.vfs.fs_types.values()]
    if option == 1:
        asked = get_path_name(k, arg1, empty_ok=True)
        if asked not in names:
            raise KernelError(EINVAL)
        return names.index(asked)
    if option == 2:
        if arg1 & 0xFFFFFFFF >= len(names):
            raise KernelError(EINVAL)
        k.usercopy.copy_to_user(arg2, names[arg1 & 0xFFFFFFFF].encode() + b"\0")
        return 0
    if option == 3:
        return len(names)
    raise KernelError(EINVAL)


@syscall("quotactl", "unsigned int cmd, const char *special, qid_t id, void *addr", source="fs/quota/quota.c")
def sys_quotactl(k: FsKernel, cmd: int, special: int, ident: int, addr: int) -> int:
    """Quotas of a device; no file system here has them.  EINVAL, ENODEV, ENOTBLK, ENOSYS, EFAULT and those of a walk."""
    if cmd & (1 << SUBCMDSHIFT) - 1 >= MAXQUOTAS:
        raise KernelError(EINVAL)
    if not special:
        if cmd >> SUBCMDSHIFT == Q_SYNC:
            return 0
        raise KernelError(ENODEV)
    name = get_path_name(k, special, empty_ok=True)
    if not name:
        raise KernelError(ENOENT)
    inode = k.vfs.user_path(AT_FDCWD, name, LOOKUP_FOLLOW).dentry.inode
    if not inode.i_mode & S_IFMT == S_IFBLK:
        raise KernelError(ENOTBLK)
    mounted = any(mnt.mnt_sb.s_dev == inode.i_rdev for mnt in k.vfs.mounts)
    raise KernelError(ENOSYS if mounted else ENODEV)


@syscall(
    "quotactl_fd", "unsigned int fd, unsigned int cmd, qid_t id, void *addr", source="fs/quota/quota.c", since="5.14"
)
def sys_quotactl_fd(k: FsKernel, fd: int, cmd: int, ident: int, addr: int) -> int:
    """The same by a file.  EBADF, EINVAL, ENOSYS."""
    if fd not in files_of(k.current).fds:
        raise KernelError(EBADF)
    raise KernelError(EINVAL if cmd & (1 << SUBCMDSHIFT) - 1 >= MAXQUOTAS else ENOSYS)
