"""Reading and writing files of the page cache.  mm/shmem.c, mm/filemap.c.

shmem_file_read_iter serves tmpfs, generic_file_read_iter (filemap_read) files from the host.
"""

from __future__ import annotations

from arch.abi.capability import CAP_FSETID
from arch.abi.errno import EFAULT, EFBIG, EINVAL, EISDIR, ENOSPC, EPERM
from arch.abi.fcntl import F_SEAL_GROW, O_APPEND, O_NOATIME, WRITE_SEALS
from arch.abi.stat import S_ISGID, S_ISUID
from arch.errors import KernelError
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import File
from simkernel.fs.truncate import fsize_limit
from simkernel.fs.uio import IovIter, Kiocb
from simkernel.fs.xattr import drop_capability
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.locks import under_inode_lock

COPY_CHUNK = 1 << 20  # bytes copied in one go


def _file_read(k: FsKernel, iocb_addr: int, to: int) -> int:
    """Copy from the pages to where the reader wants it."""
    vfs = k.vfs
    iocb: Kiocb = vfs.kiocbs[iocb_addr]
    it = vfs.iters[to]
    file = iocb.file
    inode, mapping = file.f_inode, file.f_mapping
    if mapping is None:
        return -EISDIR if inode.is_dir else -EINVAL
    done = 0
    pos = iocb.pos
    while it.count:
        size = min(it.count, inode.i_size - pos, COPY_CHUNK)
        if size <= 0:
            break
        copied = it.copy_to(mapping.read(pos, size))
        done += copied
        pos += copied
        if copied < size:
            if not done:
                return -EFAULT
            break
    iocb.pos = pos
    if not file.f_flags & O_NOATIME:
        vfs.mounts.touch_atime(file.f_path)
    return done


@kernel_function("ssize_t shmem_file_read_iter(struct kiocb *iocb, struct iov_iter *to)", source="mm/shmem.c")
def shmem_file_read_iter(k: FsKernel, iocb: int, to: int) -> int:
    """Read a file of tmpfs."""
    return _file_read(k, iocb, to)


@kernel_function("ssize_t generic_file_read_iter(struct kiocb *iocb, struct iov_iter *iter)", source="mm/filemap.c")
def generic_file_read_iter(k: FsKernel, iocb: int, to: int) -> int:
    """Read a file whose pages are all at hand."""
    return _file_read(k, iocb, to)


@kernel_function("ssize_t generic_file_write_iter(struct kiocb *iocb, struct iov_iter *from)", source="mm/filemap.c")
def generic_file_write_iter(k: FsKernel, iocb_addr: int, from_: int) -> Body:
    """Check position and limits, then write."""
    vfs = k.vfs
    iocb: Kiocb = vfs.kiocbs[iocb_addr]
    it = vfs.iters[from_]
    file = iocb.file
    inode = file.f_inode
    if not it.count:
        return 0
    if file.f_flags & O_APPEND or iocb.flags & 16:
        iocb.pos = inode.i_size
    if iocb.pos >= inode.i_sb.s_maxbytes:
        return -EFBIG
    limit = fsize_limit(k)
    if limit is not None:
        if iocb.pos >= limit:
            k.signals.send(k.current, 25)  # SIGXFSZ
            return -EFBIG
        if iocb.pos + it.count > limit:
            _limit_iter(it, limit - iocb.pos)
    if inode.seals & WRITE_SEALS or (inode.seals & F_SEAL_GROW and iocb.pos + it.count > inode.i_size):
        return -EPERM
    return (yield from under_inode_lock(k, inode, "__generic_file_write_iter", iocb_addr, from_))


def _limit_iter(it: IovIter, size: int) -> None:
    """iov_iter_truncate()."""
    it.count = min(it.count, size)


@kernel_function("ssize_t __generic_file_write_iter(struct kiocb *iocb, struct iov_iter *from)", source="mm/filemap.c")
def __generic_file_write_iter(k: FsKernel, iocb_addr: int, from_: int) -> Body:
    """Drop set-id bits, set the times, copy."""
    vfs = k.vfs
    inode = vfs.kiocbs[iocb_addr].file.f_inode
    mode = inode.i_mode
    if mode & (S_ISUID | S_ISGID) and not k.capable(CAP_FSETID):
        inode.i_mode &= ~S_ISUID
        if mode & 0o010:
            inode.i_mode &= ~S_ISGID
    if inode.xattrs:
        drop_capability(k, inode)
    vfs.file_update_time(inode)
    if k.vfs.names.perform_write_iocb:
        return (yield k.call("generic_perform_write", iocb_addr, from_))
    iocb = vfs.kiocbs[iocb_addr]
    ret = yield k.call("generic_perform_write", iocb.file.addr, from_, iocb.pos)
    if ret > 0:
        iocb.pos += ret
    return ret


@kernel_function(
    "ssize_t generic_perform_write(struct kiocb *iocb, struct iov_iter *i)", source="mm/filemap.c", since="5.18"
)
def generic_perform_write(k: FsKernel, iocb_addr: int, from_: int) -> int:
    """Copy to the pages; ENOSPC when the file system is full."""
    iocb: Kiocb = k.vfs.kiocbs[iocb_addr]
    ret = _perform_write(k, iocb.file, k.vfs.iters[from_], iocb.pos)
    if ret > 0:
        iocb.pos += ret
    return ret


@kernel_function(
    "ssize_t generic_perform_write(struct file *file, struct iov_iter *i, loff_t pos)", source="mm/filemap.c",
    until="5.18",
)  # fmt: skip
def generic_perform_write_5_17(k: FsKernel, file: int, from_: int, pos: int) -> int:
    """Copy to the pages; ENOSPC when the file system is full."""
    return _perform_write(k, k.vfs.files[file], k.vfs.iters[from_], pos)


def _perform_write(k: FsKernel, file: File, it: IovIter, pos: int) -> int:
    inode, mapping = file.f_inode, file.f_mapping
    if mapping is None:
        return -EISDIR if inode.is_dir else -EINVAL
    done = 0
    error = 0
    while it.count:
        data = it.copy_from(COPY_CHUNK)
        if not data:
            error = -EFAULT
            break
        try:
            wrote = mapping.write(pos, data)
        except KernelError as refused:
            error = -refused.errno
            break
        pos += wrote
        done += wrote
        if pos > inode.i_size:
            inode.i_size = pos
        if wrote < len(data):
            error = -ENOSPC
            break
    k.vfs.mirror.inode_size(inode)
    return done or error
