"""File handles: numbers that name a file without its path.  fs/fhandle.c; those of kernfs, which name control groups."""

from __future__ import annotations

from arch.abi.errno import EINVAL, EOPNOTSUPP, EOVERFLOW
from arch.abi.fcntl import AT_EMPTY_PATH, AT_SYMLINK_FOLLOW
from arch.errors import KernelError
from simkernel.fs.face import FsKernel
from simkernel.fs.namei import LOOKUP_FOLLOW
from simkernel.fs.open_walk import get_path_name
from simkernel.kernel.kfunc import syscall

MAX_HANDLE_SZ = 128
KERNFS = ("cgroup", "cgroup2", "sysfs")
FILEID_KERNFS, KERNFS_BYTES = 0xFE, 8


@syscall(
    "name_to_handle_at",
    "int dfd, const char *name, struct file_handle *handle, int *mnt_id, int flag",
    source="fs/fhandle.c",
)
def sys_name_to_handle_at(k: FsKernel, dfd: int, name: int, handle: int, mnt_id: int, flag: int) -> int:
    """The handle of a file and the number of its mount; EOVERFLOW tells how long the handle is.  EOPNOTSUPP: it has none."""
    if flag & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH):
        raise KernelError(EINVAL, "unknown flags")
    text = get_path_name(k, name, empty_ok=bool(flag & AT_EMPTY_PATH))
    lookup = LOOKUP_FOLLOW if flag & AT_SYMLINK_FOLLOW else 0
    path = k.vfs.user_path(dfd, text, lookup, empty=bool(flag & AT_EMPTY_PATH))
    inode = path.dentry.inode
    if inode.i_sb.fs_name not in KERNFS or not k.version.at_least("5.5"):
        raise KernelError(EOPNOTSUPP, "files of this file system have no handles here")
    room = k.usercopy.get_user(handle, 4)
    if room > MAX_HANDLE_SZ:
        raise KernelError(EINVAL, "more than a handle can have")
    fits = room >= KERNFS_BYTES
    words = (KERNFS_BYTES, FILEID_KERNFS)
    order = k.mem.byteorder
    data = b"".join(word.to_bytes(4, order) for word in words)
    k.usercopy.put_user(mnt_id, 4, path.mnt.mnt_id)
    k.usercopy.copy_to_user(handle, data + (inode.i_ino.to_bytes(KERNFS_BYTES, order) if fits else b""))
    return 0 if fits else -EOVERFLOW
