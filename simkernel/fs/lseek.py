"""Positions of files.  fs/read_write.c:vfs_llseek() and the llseek operations of fs/read_write.c and fs/libfs.c."""

from __future__ import annotations

from arch.abi.errno import EINVAL, ENXIO, EOVERFLOW, ESPIPE  # fmt: skip
from arch.abi.fcntl import SEEK_CUR, SEEK_DATA, SEEK_END, SEEK_HOLE, SEEK_SET
from arch.abi.limits import U32_MAX
from simkernel.fs import constants as c
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import File
from simkernel.fs.kmsg import kmsg_seek
from simkernel.fs.operations import MAX_NON_LFS
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall


@kernel_function("loff_t vfs_llseek(struct file *file, loff_t offset, int whence)", source="fs/read_write.c")
def vfs_llseek(k: FsKernel, file_addr: int, offset: int, whence: int) -> int:
    """Move the position; ESPIPE for what has none."""
    return llseek(k, k.vfs.files[file_addr], offset, whence)


TRACING = ("tracing_lseek", "tracing_lseek_seq")  # what these give goes through an int


def llseek(k: FsKernel, file: File, offset: int, whence: int) -> int:
    """The llseek operations of fs/read_write.c and fs/libfs.c."""
    kind = file.f_op.llseek
    if kind == "no_llseek" or not file.f_mode & c.FMODE_LSEEK:
        return -ESPIPE
    if kind == "noop_llseek":
        return file.f_pos
    if kind == "null_lseek":
        k.vfs.mirror.set_pos(file, 0)
        return 0
    inode = file.f_inode
    if kind == "dcache_dir_lseek" and whence not in (SEEK_SET, SEEK_CUR):
        return -EINVAL
    if kind in ("memory_lseek", "mem_lseek", "seq_lseek") and whence not in (SEEK_SET, SEEK_CUR):
        return -EINVAL
    if kind == "mem_lseek" and whence == SEEK_SET:  # any address
        k.vfs.mirror.set_pos(file, offset)
        return offset
    if kind in TRACING:
        if not file.f_mode & c.FMODE_READ:
            k.vfs.mirror.set_pos(file, 0)
            return 0
        if whence not in (SEEK_SET, SEEK_CUR):
            return -EINVAL
        offset, whence = offset + (file.f_pos if whence == SEEK_CUR else 0), SEEK_SET
    if kind == "devkmsg_llseek":
        return kmsg_seek(k, file, offset, whence)
    inode.getattr()
    size = inode.i_size
    if whence == SEEK_CUR:
        if not offset:
            return file.f_pos
        offset += file.f_pos
    elif whence == SEEK_END:
        offset += size
    elif whence in (SEEK_DATA, SEEK_HOLE):
        if offset < 0 or offset >= size:
            return -ENXIO
        offset = _seek_data_hole(file, offset, whence, size)
        if offset < 0:
            return offset
    elif whence != SEEK_SET:
        return -EINVAL
    limit = MAX_NON_LFS if kind == "generic_file_llseek" and inode.i_sb.fs_name == "tracefs" else inode.i_sb.s_maxbytes
    if offset < 0 or offset > limit:
        return -EINVAL
    if offset != file.f_pos:
        k.vfs.mirror.set_pos(file, offset)
        if file.f_op.iterate:
            file.readdir_list = None
    return (offset + (1 << 31) & U32_MAX) - (1 << 31) if kind in TRACING else offset


def _seek_data_hole(file: File, offset: int, whence: int, size: int) -> int:
    mapping = file.f_mapping
    if mapping is None:
        return offset if whence == SEEK_DATA else size
    if whence == SEEK_HOLE:
        return mapping.seek_hole(offset, size)
    found = mapping.seek_data(offset, size)
    return -ENXIO if found is None else found


@syscall("lseek", "unsigned int fd, off_t offset, unsigned int whence", source="fs/read_write.c", jumps=True)
def sys_lseek(k: FsKernel, fd: int, offset: int, whence: int) -> Body:
    """lseek(2)."""
    if k.version.at_least("4.17"):
        return (yield k.call("ksys_lseek", fd, offset, whence))
    return _seek(k, fd, offset, whence)


@kernel_function(
    "off_t ksys_lseek(unsigned int fd, off_t offset, unsigned int whence)", source="fs/read_write.c", since="4.17"
)
def ksys_lseek(k: FsKernel, fd: int, offset: int, whence: int) -> int:
    """The call without its wrapper; vfs_llseek() is a part of it."""
    return _seek(k, fd, offset, whence)


def _seek(k: FsKernel, fd: int, offset: int, whence: int) -> int:
    file = k.vfs.fget(fd)
    if whence > SEEK_HOLE:
        return -EINVAL
    ret = llseek(k, file, offset, whence)
    return -EOVERFLOW if ret > k.vfs.word_mask >> 1 else ret
