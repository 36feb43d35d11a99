"""File handles: numbers that name a file without its path.  fs/fhandle.c; those of kernfs, which name control groups."""

from __future__ import annotations

from arch.abi.errno import EINVAL, EOPNOTSUPP, EOVERFLOW
from arch.abi.fcntl import AT_EMPTY_PATH, AT_SYMLINK_FOLLOW
from arch.abi.stat import new_encode_dev
from arch.errors import KernelError
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import Inode, SuperBlock
from simkernel.fs.namei import LOOKUP_FOLLOW
from simkernel.fs.open_walk import get_path_name
from simkernel.kernel.kfunc import syscall

MAX_HANDLE_SZ = 128
KERNFS = ("cgroup", "cgroup2", "sysfs")
FILEID_KERNFS, KERNFS_BYTES = 0xFE, 8
FILEID_INO32_GEN = 1


def fsid(sb: SuperBlock) -> tuple[int, int]:
    """f_fsid of statfs(2)."""
    return new_encode_dev(sb.s_dev), 0


def encode_fh(k: FsKernel, inode: Inode) -> tuple[bytes, int] | None:
    """exportfs_encode_fh(): the handle of a file and its type; None where the file system makes none."""
    order, name = k.mem.byteorder, inode.i_sb.fs_name
    if name in KERNFS and k.version.at_least("5.5"):
        return inode.i_ino.to_bytes(KERNFS_BYTES, order), FILEID_KERNFS
    if name in ("tmpfs", "devtmpfs"):  # shmem_encode_fh(): generation, both halves of the number
        words = (inode.i_ino >> 32 ^ 0x5EED, inode.i_ino & 0xFFFFFFFF, inode.i_ino >> 32)
        return b"".join(word.to_bytes(4, order) for word in words), FILEID_INO32_GEN
    return None


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
    encoded = encode_fh(k, inode)
    if encoded is None:
        raise KernelError(EOPNOTSUPP, "files of this file system have no handles here")
    room = k.usercopy.get_user(handle, 4)
    if room > MAX_HANDLE_SZ:
        raise KernelError(EINVAL, "more than a handle can have")
    raw, kind = encoded
    fits = room >= len(raw)
    order = k.mem.byteorder
    data = b"".join(word.to_bytes(4, order) for word in (len(raw), kind))
    k.usercopy.put_user(mnt_id, 4, path.mnt.mnt_id)
    k.usercopy.copy_to_user(handle, data + (raw if fits else b""))
    return 0 if fits else -EOVERFLOW
