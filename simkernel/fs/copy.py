"""Copies inside the kernel: sendfile, splice, copy_file_range, and reading and writing for the kernel itself.  fs/read_write.c, fs/splice.c."""

from __future__ import annotations

from arch.abi.errno import EBADF, EFBIG, EINVAL, EISDIR, EOVERFLOW, EPIPE, ESPIPE, EXDEV  # fmt: skip
from arch.abi.fcntl import O_APPEND, O_NONBLOCK
from arch.abi.limits import MAX_RW_COUNT, S64_MAX, U64_MAX
from arch.abi.signal import SIGPIPE
from simkernel.fs import constants as c
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import File
from simkernel.fs.pipe import pipe_of, wait_for_room
from simkernel.fs.pseudo import read_steps, release_node, write_steps
from simkernel.fs.splice_pages import paged, splice_pages
from simkernel.fs.uio import IovIter, Kiocb
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import syscall
from tracing.files.raw_pages import PagedFile


def can_splice_from(k: FsKernel, file: File) -> bool:
    """Has it a splice_read, and a position (before 6.0: is it a regular file)?  Before 5.10 every file could be read."""
    has = k.vfs.names
    if not (file.f_mode & c.FMODE_LSEEK if has.splice_from_devices else file.f_inode.is_reg):
        return False
    ops = file.f_op
    return not has.no_default_splice or (ops.read_iter is not None if ops.splice is None else ops.splice)


def _transfer(
    k: FsKernel, source: File, in_pos: int, dest: File, out_pos: int, count: int
) -> Steps[tuple[int, int, int]]:
    """Move bytes through read_iter/read and write_iter/write in pieces of a pipe's size; (moved, in_pos, out_pos)."""
    moved = 0
    permitted = k.vfs.security.file_permission
    for file, mask in (
        (source, c.MAY_READ),
        (dest, c.MAY_WRITE),
        (dest, c.MAY_WRITE),
    ):  # the last is do_splice_direct()'s
        permitted(file, mask)
    while moved < count:
        permitted(source, c.MAY_READ)
        step = min(count - moved, 65536)
        got = yield from kernel_read(k, source, in_pos, step)
        if isinstance(got, int):
            return (moved or got), in_pos, out_pos
        if not got:
            break
        permitted(dest, c.MAY_WRITE)
        wrote = yield from kernel_write(k, dest, out_pos, got)
        if wrote < 0:
            return (moved or wrote), in_pos, out_pos
        moved += wrote
        in_pos += wrote
        out_pos += wrote
        if wrote < len(got) or len(got) < step:
            break
    return moved, in_pos, out_pos


def kernel_read(k: FsKernel, file: File, pos: int, size: int) -> Steps[bytes | int]:
    """Bytes of an open file for the kernel's own use, or -errno."""
    name = file.f_op.read_iter
    if name is None:
        data = yield from _read_by_kernel(k, file, pos, size)
        return data
    it = IovIter.sink(k, size)
    iocb = Kiocb(file, pos, it)
    kiocb, addr = k.vfs.uio.begin(iocb)
    ret = yield k.call(name, kiocb, addr)
    k.vfs.uio.end(iocb)
    if ret < 0:
        return ret
    assert it.kernel_out is not None
    return b"".join(it.kernel_out)


def _read_by_kernel(k: FsKernel, file: File, pos: int, size: int) -> Steps[bytes | int]:
    """A file with plain read only (proc, sysfs): its node is asked directly."""
    if file.f_op.release is not release_node:
        return -EINVAL
    return (yield from read_steps(k, file, size, pos))


def kernel_write(k: FsKernel, file: File, pos: int, data: bytes) -> Body:
    """Write the kernel's bytes to an open file; how many, or -errno."""
    name = file.f_op.write_iter
    if name is None:
        if file.f_op.write == "write_null":
            return len(data)
        if file.f_op.release is not release_node:
            return -EINVAL
        return (yield from write_steps(k, file, data, pos))
    iocb = Kiocb(file, pos, IovIter.source(k, data))
    kiocb, addr = k.vfs.uio.begin(iocb)
    ret = yield k.call(name, kiocb, addr)
    k.vfs.uio.end(iocb)
    return ret


def _into_pipe(k: FsKernel, source: File, by_pages: PagedFile, dest: File, count: int) -> Body:
    """splice_file_to_pipe(), from a file that gives pages."""
    quick = bool((source.f_flags | dest.f_flags) & O_NONBLOCK)
    ret = yield from wait_for_room(k, pipe_of(dest.f_inode), quick)
    if ret <= 0 or not count:
        return min(ret, 0)
    return (yield from splice_pages(k, source, by_pages, pipe_of(dest.f_inode), count, quick))


@syscall("sendfile", "int out_fd, int in_fd, off_t *offset, size_t count", source="fs/read_write.c")
def sys_sendfile(k: FsKernel, out_fd: int, in_fd: int, offset: int, count: int, width: int = 0) -> Body:
    """sendfile(2); `width` is the size of *offset in bytes."""
    width = width or k.arch.model.word
    in_pos = k.usercopy.get_user(offset, width, True) if offset else 0
    source = k.vfs.fget(in_fd)
    if not source.f_mode & c.FMODE_READ:
        return -EBADF
    dest = k.vfs.fget(out_fd)
    by_pages = paged(source) if dest.f_inode.i_pipe is not None else None
    if count and by_pages is None and not can_splice_from(k, source):
        return -EINVAL
    if offset:
        if not source.f_mode & c.FMODE_PREAD:
            return -ESPIPE
    else:
        in_pos = source.f_pos
    if in_pos < 0 or count >> (8 * k.arch.model.word - 1) or in_pos + count > S64_MAX:  # rw_verify_area()
        return -EINVAL
    if not dest.f_mode & c.FMODE_WRITE:
        return -EBADF
    if source.f_op.iterate or dest.f_flags & O_APPEND:
        return -EINVAL
    if dest.f_inode.i_pipe is not None and not pipe_of(dest.f_inode).readers:
        k.signals.send(k.current, SIGPIPE)
        return -EPIPE
    if count and source.f_op.read_iter is None and source.private_data is None:
        return -EINVAL
    if by_pages is not None:
        return (yield from _into_pipe(k, source, by_pages, dest, count))
    moved, in_pos, out_pos = yield from _transfer(k, source, in_pos, dest, dest.f_pos, min(count, MAX_RW_COUNT))
    if offset:
        k.usercopy.put_user(offset, width, in_pos)
    if moved > 0:
        if not offset:
            k.vfs.mirror.set_pos(source, in_pos)
        if not dest.f_mode & c.FMODE_STREAM:
            k.vfs.mirror.set_pos(dest, out_pos)
    return moved


@syscall(
    "copy_file_range", "int fd_in, loff_t *off_in, int fd_out, loff_t *off_out, size_t len, unsigned int flags",
    source="fs/read_write.c", since="4.5",
)  # fmt: skip
def sys_copy_file_range(
    k: FsKernel, fd_in: int, off_in: int, fd_out: int, off_out: int, length: int, flags: int
) -> Body:
    """copy_file_range(2)."""
    source, dest = k.vfs.fget(fd_in), k.vfs.fget(fd_out)
    in_pos = k.usercopy.get_user(off_in, 8, True) if off_in else source.f_pos
    out_pos = k.usercopy.get_user(off_out, 8, True) if off_out else dest.f_pos
    if flags:
        return -EINVAL
    if source.f_inode.is_dir or dest.f_inode.is_dir:
        return -EISDIR
    if not source.f_inode.is_reg or not dest.f_inode.is_reg:
        return -EINVAL
    if not source.f_mode & c.FMODE_READ or not dest.f_mode & c.FMODE_WRITE or dest.f_flags & O_APPEND:
        return -EBADF
    if source.f_inode.i_sb is not dest.f_inode.i_sb and k.version.at_least("5.19"):
        return -EXDEV
    if any((pos & U64_MAX) + length > U64_MAX for pos in (in_pos, out_pos)):
        return -EOVERFLOW
    if in_pos < 0 or out_pos < 0:
        return -EINVAL
    if in_pos >= source.f_inode.i_size:
        return 0
    if out_pos >= dest.f_inode.i_sb.s_maxbytes:  # generic_write_check_limits()
        return -EFBIG
    length = min(length, source.f_inode.i_size - in_pos, dest.f_inode.i_sb.s_maxbytes - out_pos)
    if source.f_inode is dest.f_inode and in_pos < out_pos + length and out_pos < in_pos + length:
        return -EINVAL
    moved, in_pos, out_pos = yield from _transfer(k, source, in_pos, dest, out_pos, min(length, MAX_RW_COUNT))
    if moved > 0:
        for off, file, pos in ((off_in, source, in_pos), (off_out, dest, out_pos)):
            if off:
                k.usercopy.put_user(off, 8, pos)
            else:
                k.vfs.mirror.set_pos(file, pos)
    return moved
