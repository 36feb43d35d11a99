"""Attributes that chattr(1) changes, and commands of ioctl(2) that every file knows.  fs/ioctl.c, mm/shmem.c."""

from __future__ import annotations

from arch.abi.capability import CAP_FOWNER, CAP_LINUX_IMMUTABLE, CAP_SYS_ADMIN, CAP_SYS_RAWIO
from arch.abi.errno import EBADF, EINVAL, EISDIR, EOPNOTSUPP, EPERM, EROFS, EXDEV
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import File, Inode, Path
from simkernel.fs.tmpfs import TmpfsInode

# include/uapi/linux/fs.h
FIBMAP, FIFREEZE, FITHAW, FS_IOC_FIEMAP = 1, 0xC0045877, 0xC0045878, 0xC020660B
FICLONE, FICLONERANGE = 0x40049409, 0x4020940D
GET_FLAGS, SET_FLAGS = {8: 0x80086601, 4: 0x80046601}, {8: 0x40086602, 4: 0x40046602}  # by the size of a long
FS_IOC_FSGETXATTR, FS_IOC_FSSETXATTR = 0x801C581F, 0x401C5820
FSXATTR_SIZE, CLONE_RANGE_SIZE = 28, 32
FS_XFLAG_SYNC, FS_XFLAG_EXTSIZE, FS_XFLAG_EXTSZINHERIT, FS_XFLAG_DAX, FS_XFLAG_COWEXTSIZE = (
    0x20,
    0x800,
    0x1000,
    0x8000,
    0x10000,
)
FS_IMMUTABLE_FL, FS_APPEND_FL, FS_NODUMP_FL, FS_NOATIME_FL = 0x10, 0x20, 0x40, 0x80
MODIFIABLE = FS_IMMUTABLE_FL | FS_APPEND_FL | FS_NODUMP_FL | FS_NOATIME_FL
# flag, as struct inode has it, as struct fsxattr has it, as statx(2) tells it
FLAGS = (
    (FS_IMMUTABLE_FL, c.S_IMMUTABLE, 0x8, 0x10),
    (FS_APPEND_FL, c.S_APPEND, 0x10, 0x20),
    (FS_NODUMP_FL, c.S_NODUMP, 0x80, 0x40),
    (FS_NOATIME_FL, c.S_NOATIME, 0x40, 0),
)


def _has_attributes(k: FsKernel, inode: Inode) -> bool:
    """Files and directories of tmpfs have shmem_fileattr_get()."""
    return isinstance(inode, TmpfsInode) and (inode.is_reg or inode.is_dir) and k.vfs.names.shmem_fileattr


def check_changeable(inode: Inode, touched: bool = False) -> None:
    """notify_change(): what may not change, or is only added to, but for its times when it is `touched`.  EPERM."""
    if inode.i_flags & (c.S_IMMUTABLE if touched else c.S_IMMUTABLE | c.S_APPEND):
        raise KernelError(EPERM)


def statx_attributes(k: FsKernel, inode: Inode) -> tuple[int, int]:
    """(stx_attributes, stx_attributes_mask) that the file system adds."""
    if not isinstance(inode, TmpfsInode) or not k.vfs.names.shmem_fileattr:
        return 0, 0
    return sum(told for _, own, _, told in FLAGS if inode.i_flags & own), sum(row[3] for row in FLAGS)


def shown_xflags(inode: Inode) -> int:
    """As struct fsxattr and struct file_attr tell them."""
    return sum(shown for _, own, shown, _ in FLAGS if inode.i_flags & own)


def get_xflags(k: FsKernel, inode: Inode) -> int:
    """vfs_fileattr_get().  EOPNOTSUPP."""
    if not _has_attributes(k, inode):
        raise KernelError(EOPNOTSUPP)
    return shown_xflags(inode)


def set_xflags(k: FsKernel, path: Path, xflags: int, extsize: int, projid: int, cowextsize: int) -> int:
    """vfs_fileattr_set() of what struct fsxattr or struct file_attr says.  EPERM, EROFS, EOPNOTSUPP, EINVAL."""
    inode = path.dentry.inode
    if path.mnt.read_only:
        return -EROFS
    if not _has_attributes(k, inode):
        return -EOPNOTSUPP
    _may_set(k, inode)
    xflags = _prepared(inode, xflags, extsize, cowextsize)
    if (
        xflags & ~(sum(row[2] for row in FLAGS) | FS_XFLAG_SYNC) or extsize or projid or cowextsize
    ):  # fileattr_has_fsx()
        return -EOPNOTSUPP
    flags = sum(flag for flag, _, shown, _ in FLAGS if xflags & shown)
    return _set_flags(k, path, flags, unknown=bool(xflags & FS_XFLAG_SYNC))


def _prepared(inode: Inode, xflags: int, extsize: int, cowextsize: int) -> int:
    """fileattr_set_prepare(): hints of sizes are for some files only, and none without a size.  EINVAL."""
    of_file, of_directory, of_both = FS_XFLAG_EXTSIZE, FS_XFLAG_EXTSZINHERIT, FS_XFLAG_COWEXTSIZE | FS_XFLAG_DAX
    if (not inode.is_reg and xflags & of_file) or (not inode.is_dir and xflags & of_directory):
        raise KernelError(EINVAL)
    if not (inode.is_reg or inode.is_dir) and xflags & of_both:
        raise KernelError(EINVAL)
    if not extsize:
        xflags &= ~(of_file | of_directory)
    return xflags if cowextsize else xflags & ~FS_XFLAG_COWEXTSIZE


def _may_set(k: FsKernel, inode: Inode) -> None:
    """inode_owner_or_capable().  EPERM."""
    cred = k.vfs.cred()
    if cred.fsuid != inode.i_uid and not cred.capable(CAP_FOWNER, inode):
        raise KernelError(EPERM)


def _set_flags(k: FsKernel, path: Path, flags: int, unknown: bool = False) -> int:
    """vfs_fileattr_set(); `unknown`: there are flags beside them.  EPERM, EROFS, EOPNOTSUPP."""
    inode, cred = path.dentry.inode, k.vfs.cred()
    if path.mnt.read_only:
        return -EROFS
    _may_set(k, inode)
    old = sum(flag for flag, own, _, _ in FLAGS if inode.i_flags & own)
    if (old ^ flags) & (FS_IMMUTABLE_FL | FS_APPEND_FL) and not cred.capable(CAP_LINUX_IMMUTABLE):
        return -EPERM
    if flags & ~MODIFIABLE or unknown:
        return -EOPNOTSUPP
    inode.i_flags = sum(own for flag, own, _, _ in FLAGS if flags & flag)
    inode.ctime = k.vfs.now()
    k.vfs.mirror.inode_changed(inode)
    return 0


def _clone(k: FsKernel, source: int, file: File) -> int:
    """ioctl_file_clone(): no file system here shares blocks.  EBADF, EXDEV, EISDIR, EINVAL, EOPNOTSUPP."""
    other = k.vfs.fget(source)
    if other.f_inode.i_sb is not file.f_inode.i_sb:
        return -EXDEV
    if other.f_inode.is_dir or file.f_inode.is_dir:
        return -EISDIR
    if not other.f_inode.is_reg or not file.f_inode.is_reg:
        return -EINVAL
    if not other.f_mode & c.FMODE_READ or not file.f_mode & c.FMODE_WRITE:
        return -EBADF
    return -EOPNOTSUPP


def _attributes(k: FsKernel, file: File, cmd: int, arg: int) -> int | None:
    """FS_IOC_GETFLAGS and its kin; None where the file has none."""
    inode = file.f_inode
    if not _has_attributes(k, inode):
        return None
    if cmd == GET_FLAGS[k.arch.model.word]:
        k.usercopy.put_user(arg, 4, sum(flag for flag, own, _, _ in FLAGS if inode.i_flags & own))
        return 0
    if cmd == SET_FLAGS[k.arch.model.word]:
        return _set_flags(k, file.f_path, k.usercopy.get_user(arg, 4))
    order = k.mem.byteorder
    if cmd == FS_IOC_FSGETXATTR:
        k.usercopy.copy_to_user(arg, shown_xflags(inode).to_bytes(4, order).ljust(FSXATTR_SIZE, b"\0"))
        return 0
    raw = k.usercopy.copy_from_user(arg, FSXATTR_SIZE)
    xflags, extsize, _, projid, cowextsize = (int.from_bytes(raw[at : at + 4], order) for at in range(0, 20, 4))
    return set_xflags(k, file.f_path, xflags, extsize, projid, cowextsize)


def file_ioctl(k: FsKernel, file: File, cmd: int, arg: int) -> int | None:
    """do_vfs_ioctl(), what file systems answer; None: the file's own command."""
    if cmd in (FIFREEZE, FITHAW):
        if not k.capable(CAP_SYS_ADMIN):
            raise KernelError(EPERM)
        return -EOPNOTSUPP if cmd == FIFREEZE else -EINVAL
    if cmd == FS_IOC_FIEMAP:
        return -EOPNOTSUPP
    if cmd == FICLONE:
        return _clone(k, arg & 0xFFFFFFFF, file)
    if cmd == FICLONERANGE:
        raw = k.usercopy.copy_from_user(arg, CLONE_RANGE_SIZE)
        return _clone(k, int.from_bytes(raw[:8], k.mem.byteorder) & 0xFFFFFFFF, file)
    word = k.arch.model.word
    if cmd in (GET_FLAGS[word], SET_FLAGS[word], FS_IOC_FSGETXATTR, FS_IOC_FSSETXATTR):
        return _attributes(k, file, cmd, arg)
    if cmd == FIBMAP and file.f_inode.is_reg:
        if not k.capable(CAP_SYS_RAWIO):
            raise KernelError(EPERM)
        k.usercopy.get_user(arg, 4)
        return -EINVAL
    return None
