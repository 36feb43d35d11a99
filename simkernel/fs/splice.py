"""splice(2), tee(2), vmsplice(2): pipes without a detour through user memory.  fs/splice.c.  Bytes are copied, not moved by page."""

from __future__ import annotations

from arch.abi.errno import EAGAIN, EBADF, EINVAL, ESPIPE
from arch.abi.fcntl import O_APPEND, O_NONBLOCK, RWF_NOWAIT
from arch.abi.limits import IOV_MAX, PAGE_SHIFT, PAGE_SIZE
from arch.abi.poll import POLLIN
from arch.abi.stat import S_IFMT, S_IFSOCK
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.copy import kernel_read, kernel_write
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import File
from simkernel.fs.pipe import Pipe, pipe_of, wait_for_room
from simkernel.fs.read_write import sync_iter
from simkernel.fs.splice_pages import paged, splice_pages
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall

SPLICE_F_NONBLOCK, SPLICE_F_ALL = 2, 0xF


def _ipipe_prep(k: FsKernel, pipe: Pipe, nonblock: bool) -> Body:
    """Wait until there is something to take: 1, 0 at the end of the file, or -errno."""
    while not pipe.bufs:
        if not pipe.writers:
            return 0
        if nonblock:
            return -EAGAIN
        ret = yield k.wait(pipe.rd_wait)
        if ret < 0:
            return ret
    return 1


def _between(k: FsKernel, source: File, dest: File, length: int, flags: int, keep: bool) -> Body:
    """splice_pipe_to_pipe(), and with `keep` link_pipe()."""
    here, there = pipe_of(source.f_inode), pipe_of(dest.f_inode)
    if here is there:
        return -EINVAL
    quick = bool(flags & SPLICE_F_NONBLOCK)
    ret = yield from _ipipe_prep(k, here, quick)
    if ret <= 0:
        return ret
    ret = yield from wait_for_room(k, there, quick)
    if ret <= 0:
        return ret
    moved = here.move(there, length, keep)
    if not keep:
        k.wake_up(here.wr_wait, 0)
    k.wake_up(there.rd_wait, 0)
    return moved


def _nonblock(k: FsKernel, *pipes: File) -> int:
    """O_NONBLOCK of a pipe is as the call's own flag, since 5.1."""
    quick = any(file.f_flags & O_NONBLOCK for file in pipes) and k.version.at_least("5.1")
    return SPLICE_F_NONBLOCK if quick else 0


@kernel_function("long do_tee(struct file *in, struct file *out, size_t len, unsigned int flags)", source="fs/splice.c")
def do_tee(k: FsKernel, source: int, dest: int, length: int, flags: int) -> Body:
    """What is in one pipe also into another.  EINVAL, EBADF, EAGAIN."""
    file_in, file_out = k.vfs.files[source], k.vfs.files[dest]
    if not file_in.f_mode & c.FMODE_READ or not file_out.f_mode & c.FMODE_WRITE:
        return -EBADF
    if file_in.f_inode.i_pipe is None or file_out.f_inode.i_pipe is None:
        return -EINVAL
    flags |= _nonblock(k, file_in, file_out)
    return (yield from _between(k, file_in, file_out, length, flags, True))


@syscall("tee", "int fdin, int fdout, size_t len, unsigned int flags", source="fs/splice.c")
def sys_tee(k: FsKernel, fdin: int, fdout: int, length: int, flags: int) -> Body:
    """tee(2)."""
    if flags & ~SPLICE_F_ALL:
        return -EINVAL
    if not length:
        return 0
    source, dest = k.vfs.fget(fdin), k.vfs.fget(fdout)
    return (yield k.call("do_tee", source.addr, dest.addr, length, flags))


@syscall(
    "vmsplice", "int fd, const struct iovec *uiov, unsigned long nr_segs, unsigned int flags", source="fs/splice.c"
)
def sys_vmsplice(k: FsKernel, fd: int, uiov: int, nr_segs: int, flags: int) -> Body:
    """Memory into a pipe, or what is in a pipe into memory.  EBADF, EINVAL, EFAULT, EAGAIN."""
    if flags & ~SPLICE_F_ALL:
        return -EINVAL
    file = k.vfs.fget(fd)
    if not file.f_mode & (c.FMODE_READ | c.FMODE_WRITE):
        return -EBADF
    if nr_segs > IOV_MAX:
        return -EINVAL
    word = k.arch.model.word
    segments = [
        (k.usercopy.get_user(uiov + 2 * i * word, word), k.usercopy.get_user(uiov + (2 * i + 1) * word, word))
        for i in range(nr_segs)
    ]
    if any(size >> (8 * word - 1) for _, size in segments):
        return -EINVAL
    if not sum(size for _, size in segments):
        return 0
    if file.f_inode.i_pipe is None:
        return -EBADF
    writing = bool(file.f_mode & c.FMODE_WRITE)
    pipe, quick = pipe_of(file.f_inode), bool(flags & SPLICE_F_NONBLOCK)
    ret = yield from (wait_for_room if writing else _ipipe_prep)(k, pipe, quick)
    if ret <= 0:
        return ret
    if not writing:
        return (yield from sync_iter(k, file, "pipe_read", segments, 0, RWF_NOWAIT))
    done = iter_to_pipe(k, pipe, segments)
    if done > 0:
        yield k.wake(pipe.rd_wait)
    return done


def iter_to_pipe(k: FsKernel, pipe: Pipe, segments: list[tuple[int, int]]) -> int:
    """What lies in one page of memory takes a slot of the pipe.  How many bytes; EFAULT, ENOMEM where there are none."""
    done = 0
    for addr, size in segments:
        end = addr + size
        while addr < end and not pipe.full:
            part = min(end - addr, PAGE_SIZE - addr % PAGE_SIZE)
            try:
                pipe.add_pages([k.usercopy.copy_from_user(addr, part)])
            except KernelError as refused:
                return done or -refused.errno
            addr, done = addr + part, done + part
    return done


def _has_splice_read(k: FsKernel, file: File) -> bool:
    """Is there a way to read it into a pipe?"""
    ops = file.f_op
    return not k.vfs.names.no_default_splice or (ops.read_iter is not None if ops.splice is None else ops.splice)


WITHOUT_SPLICE_WRITE = ("zero_fops", "full_fops", "kmsg_fops")


def _has_splice_write(k: FsKernel, file: File) -> bool:
    """Can it be written out of a pipe?"""
    ops = file.f_op
    return not k.vfs.names.no_default_splice or (ops.write_iter is not None and ops.name not in WITHOUT_SPLICE_WRITE)


@syscall(
    "splice", "int fd_in, loff_t *off_in, int fd_out, loff_t *off_out, size_t len, unsigned int flags",
    source="fs/splice.c",
)  # fmt: skip
def sys_splice(k: FsKernel, fd_in: int, off_in: int, fd_out: int, off_out: int, length: int, flags: int) -> Body:
    """splice(2): one end is a pipe; bytes are copied, not moved by page."""
    if flags & ~SPLICE_F_ALL:
        return -EINVAL
    if not length:
        return 0
    source, dest = k.vfs.fget(fd_in), k.vfs.fget(fd_out)
    in_pipe, out_pipe = source.f_inode.i_pipe is not None, dest.f_inode.i_pipe is not None
    if (in_pipe and off_in) or (out_pipe and off_out):
        return -ESPIPE
    for offset in (off_out, off_in):
        if offset:
            k.usercopy.copy_from_user(offset, 8)
    if not source.f_mode & c.FMODE_READ or not dest.f_mode & c.FMODE_WRITE:
        return -EBADF
    if not in_pipe and not out_pipe:
        return -EINVAL
    flags |= _nonblock(k, *(file for file, pipe in ((source, in_pipe), (dest, out_pipe)) if pipe))
    if in_pipe and out_pipe:
        return (yield from _between(k, source, dest, length, flags, False))
    if not out_pipe and (dest.f_flags & O_APPEND or not _has_splice_write(k, dest)):
        return -EINVAL
    if not in_pipe and not _has_splice_read(k, source):
        return -EINVAL
    if (off_in and not source.f_mode & c.FMODE_PREAD) or (off_out and not dest.f_mode & c.FMODE_PWRITE):
        return -EINVAL
    quick = bool(flags & SPLICE_F_NONBLOCK)
    ret = (
        yield from _ipipe_prep(k, pipe_of(source.f_inode), quick)
        if in_pipe
        else wait_for_room(k, pipe_of(dest.f_inode), quick)
    )
    if ret <= 0:
        return ret
    if out_pipe:
        room = pipe_of(dest.f_inode)
        length = min(length, room.slots - len(room.bufs) << PAGE_SHIFT)
    if quick and source.f_inode.i_mode & S_IFMT == S_IFSOCK and source.f_op.poll is not None:
        if not source.f_op.poll(k, source, None) & POLLIN:
            return -EAGAIN
    in_pos = k.usercopy.get_user(off_in, 8, True) if off_in else source.f_pos
    out_pos = k.usercopy.get_user(off_out, 8, True) if off_out else dest.f_pos
    if in_pos < 0 or out_pos < 0:  # rw_verify_area()
        return -EINVAL
    if not in_pipe:
        k.vfs.security.file_permission(source, c.MAY_READ)
    by_pages = paged(source)
    if by_pages is not None:
        return (yield from splice_pages(k, source, by_pages, pipe_of(dest.f_inode), length, quick))
    got = yield from kernel_read(k, source, in_pos, min(length, 65536))
    if isinstance(got, int) or not got:
        return got if isinstance(got, int) else 0
    if not out_pipe:
        k.vfs.security.file_permission(dest, c.MAY_WRITE)
    wrote = yield from kernel_write(k, dest, out_pos, got)
    if wrote <= 0:
        return wrote
    for is_pipe, off, file, pos in ((in_pipe, off_in, source, in_pos), (out_pipe, off_out, dest, out_pos)):
        if off:
            k.usercopy.put_user(off, 8, pos + wrote)
        elif not is_pipe:
            k.vfs.mirror.set_pos(file, pos + wrote)
    return wrote
