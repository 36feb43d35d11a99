"""File handles: numbers that name a file without its path.  fs/fhandle.c; those of kernfs, which name control groups."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from arch.abi.capability import CAP_DAC_READ_SEARCH
from arch.abi.errno import EINVAL, ELOOP, ENOTDIR, EOPNOTSUPP, EOVERFLOW, EPERM, ESTALE
from arch.abi.fcntl import AT_EMPTY_PATH, AT_FDCWD, AT_SYMLINK_FOLLOW, O_CLOEXEC, O_DIRECTORY, O_PATH
from arch.abi.limits import U32_MAX
from arch.abi.stat import new_encode_dev
from arch.errors import KernelError
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import files_of, fs_of
from simkernel.fs.inode import Dentry, Inode, Path, SuperBlock
from simkernel.fs.namei import LOOKUP_FOLLOW, may_open
from simkernel.fs.open_walk import PATH_FOPS, OpenFlags, get_path_name
from simkernel.kernel.face import Body
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
    if name in ("tmpfs", "devtmpfs", "rootfs"):  # shmem_encode_fh(): generation, both halves of the number
        words = (
            (inode.i_ino >> 32 ^ inode.i_sb.s_dev << 8 ^ 0x5EED) & U32_MAX,
            inode.i_ino & 0xFFFFFFFF,
            inode.i_ino >> 32,
        )
        return b"".join(word.to_bytes(4, order) for word in words), FILEID_INO32_GEN
    return None


def shown_handle(k: FsKernel, inode: Inode) -> str:
    """show_mark_fhandle(): the handle as fdinfo of who watches a file has it; its number where the file system makes none."""
    plain = b"".join(word.to_bytes(4, k.mem.byteorder) for word in (inode.i_ino & U32_MAX, 0))
    raw, kind = encode_fh(k, inode) or (plain, FILEID_INO32_GEN)
    return f"fhandle-bytes:{len(raw):x} fhandle-type:{kind:x} f_handle:{raw.hex()}"


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


def _dentries(top: Dentry) -> Iterator[Dentry]:
    """All names of a file system that has them in memory."""
    stack = [top]
    while stack:
        dentry = stack.pop()
        yield dentry
        stack += (dentry.children or {}).values()


def _decode_fh(k: FsKernel, path: Path, kind: int, raw: bytes) -> Dentry:
    """exportfs_decode_fh(): the file that a handle names.  ESTALE."""
    sb = path.mnt.mnt_sb
    opened = (file.f_path.dentry for file in k.vfs.files.values() if file.f_inode.i_sb is sb)  # also without a name
    for dentry in chain(_dentries(sb.s_root), opened):
        encoded = encode_fh(k, dentry.inode)
        if encoded is None:
            break
        if encoded[0] == raw[: len(encoded[0])] and (kind == encoded[1] or sb.fs_name not in KERNFS):
            return dentry
    raise KernelError(ESTALE)


@syscall("open_by_handle_at", "int mountdirfd, struct file_handle *handle, int flags", source="fs/fhandle.c")
def sys_open_by_handle_at(k: FsKernel, mountdirfd: int, handle: int, flags: int) -> Body:
    """Open the file that a handle names, on the mount of a descriptor.  EPERM, EFAULT, EINVAL, EBADF, ESTALE."""
    if not k.capable(CAP_DAC_READ_SEARCH):
        raise KernelError(EPERM)
    head, order = k.usercopy.copy_from_user(handle, 8), k.mem.byteorder
    size, kind = int.from_bytes(head[:4], order), int.from_bytes(head[4:], order, signed=True)
    if not 0 < size <= MAX_HANDLE_SZ:
        raise KernelError(EINVAL)
    raw = k.usercopy.copy_from_user(handle + 8, size)
    where = fs_of(k.current).pwd if mountdirfd == AT_FDCWD else k.vfs.fget(mountdirfd).f_path
    path = Path(where.mnt, _decode_fh(k, where, kind, raw))
    return (yield from _open_found(k, path, flags))


def _open_found(k: FsKernel, path: Path, flags: int) -> Body:
    """file_open_root() of a file that needs no walk."""
    op, vfs = OpenFlags(flags, 0), k.vfs
    if path.dentry.inode.is_link and not flags & O_PATH:
        raise KernelError(ELOOP)
    if flags & O_DIRECTORY and not path.dentry.inode.is_dir:
        raise KernelError(ENOTDIR)
    if not flags & O_PATH:
        may_open(path, op.acc_mode, op.flags, vfs.cred())
    files = files_of(k.current)
    with files.unused_fd(bool(flags & O_CLOEXEC)) as fd:
        file = vfs.new_file(path, op.flags & ~O_CLOEXEC, PATH_FOPS)
        cred = (0,) if not vfs.names.vfs_open_two_args else ()
        ret = yield k.call("vfs_open", file.addr + vfs.mirror.struct("struct file").offset("f_path"), file.addr, *cred)
        if ret < 0:
            vfs.put_file(file)
            raise KernelError(-ret)
        files.install(fd, file)
    return int(fd)
