"""What can be asked of io_uring, one row each.  io_uring/opdef.c, rw.c, fs.c, openclose.c, xattr.c, msg_ring.c, sync.c, splice.c.

A row's `check` refuses what the request may not say, before it is begun (io_*_prep()); `body` does it and gives the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from arch.abi import io_uring as abi
from arch.abi.errno import EBADF, EBADFD, EFAULT, EOPNOTSUPP, ESPIPE
from arch.abi.fcntl import AT_FDCWD, O_CLOEXEC, O_NONBLOCK, RWF_NOWAIT
from arch.abi.internal import READ, WRITE
from arch.abi.signal import SIGPIPE, SIGXFSZ
from arch.abi.stat import S_IFMT, S_IFSOCK
from simkernel.fs import constants as c
from simkernel.fs.aio import RWF_SUPPORTED
from simkernel.fs.eventpoll import sys_epoll_ctl
from simkernel.fs.fcntl import sys_fadvise64
from simkernel.fs.inode import File, Path
from simkernel.fs.namei_calls import sys_linkat, sys_mkdirat, sys_symlinkat, sys_unlinkat
from simkernel.fs.open import sys_openat, sys_openat2
from simkernel.fs.open_walk import get_path_name
from simkernel.fs.read_write import ScratchPos, loop_rw, minds_nowait, sync_iter, verify_area
from simkernel.fs.rename import sys_renameat2
from simkernel.fs.select import vfs_poll
from simkernel.fs.splice import SPLICE_F_ALL, sys_splice, sys_tee
from simkernel.fs.stat import sys_statx
from simkernel.fs.truncate import sys_sync_file_range
from simkernel.fs.uio import import_iovec
from simkernel.fs.xattr import XATTR_CREATE, XATTR_REPLACE, getxattr, setxattr
from simkernel.io_uring.net import NET_OPS
from simkernel.io_uring.op import IN, OUT, Op, not_waiting, refuse, result_or_later, signed, there
from simkernel.io_uring.request import Request
from simkernel.io_uring.ring import IO_URING_FOPS, ring_in
from simkernel.io_uring.rsrc import (
    check_close,
    check_files_update,
    check_provide,
    close,
    files_update,
    import_fixed,
    install_fixed,
    into_slot,
    lent,
    numbered,
    provide,
    remove_buffers,
)
from simkernel.io_uring.waits import (
    cancel,
    check_cancel,
    check_poll_remove,
    check_timeout,
    check_timeout_remove,
    link_timeout,
    poll_add,
    poll_remove,
    timeout,
    timeout_remove,
)
from simkernel.kernel.body import Body, Steps
from simkernel.kernel.calls.ioprio import check_ioprio
from simkernel.kernel.calls.mm import sys_madvise
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.sigpending import bits
from simkernel.net.face import NetKernel

CURRENT_POS = (1 << 64) - 1

# -- reading and writing -------------------------------------------------------------------------------------------


def _segments(k: NetKernel, request: Request, vector: bool) -> list[tuple[int, int]]:
    if request.flags & abi.IOSQE_BUFFER_SELECT:
        return [request.take_buffer()]
    if request.opcode in (abi.IORING_OP_READ_FIXED, abi.IORING_OP_WRITE_FIXED):
        return [import_fixed(request)]
    return _pieces(k, request) if vector else [(request.addr, request.len)]


def _pieces(k: NetKernel, request: Request) -> list[tuple[int, int]]:
    """io_import_iovec() of a vector.  EINVAL, EFAULT."""
    if request.pieces is None:
        request.pieces = import_iovec(k, request.addr, request.len)
    return request.pieces


def _transfer(k: NetKernel, request: Request, direction: int) -> Body:
    """io_read(), io_write() (`yield from`)."""
    file = request.take_file()
    reads = direction == READ
    refuse(request.op_flags & ~RWF_SUPPORTED, EOPNOTSUPP)
    nowait = bool(request.op_flags & RWF_NOWAIT)
    refuse(nowait and not minds_nowait(k, file), EOPNOTSUPP)
    if file.f_flags & O_NONBLOCK and not there(k, abi.NONBLOCK_RETRIED):
        nowait = True
    refuse(not file.f_mode & (c.FMODE_READ if reads else c.FMODE_WRITE), EBADF)
    segments = _segments(k, request, request.opcode in (abi.IORING_OP_READV, abi.IORING_OP_WRITEV))
    refuse(any(base + length > k.vfs.user_end for base, length in segments), EFAULT)
    refuse(request.ring.flags & abi.IORING_SETUP_IOPOLL, EOPNOTSUPP)  # no device here is polled
    request.expected = sum(length for _, length in segments)
    own = None if file.f_mode & c.FMODE_STREAM or request.off == CURRENT_POS else ScratchPos(k, request.off)
    pos = own.addr if own is not None else 0 if file.f_mode & c.FMODE_STREAM else file.pos_addr
    events = IN if reads else OUT
    if reads and file.f_op.poll is not None and not nowait and not vfs_poll(k, file, None) & ~OUT:
        if own is not None:
            own.free()
        return request.arm(events)
    try:
        with not_waiting(file):
            ret = yield from _move(k, file, direction, segments, pos, request)
    finally:
        if own is not None:
            own.free()
    return result_or_later(request, ret, nowait, events)


def _move(
    k: NetKernel, file: File, direction: int, segments: list[tuple[int, int]], pos: int, request: Request
) -> Body:
    reads = direction == READ
    total = request.expected or 0
    ret = yield from verify_area(k, file, direction, pos, total)
    if ret < 0:
        return ret
    function = file.f_op.read_iter if reads else file.f_op.write_iter
    if function is not None:
        return (yield from sync_iter(k, file, function, segments, pos, request.op_flags))
    return (yield from loop_rw(k, "vfs_read" if reads else "vfs_write", file.addr, segments, pos))


def _check_rw(request: Request) -> None:
    """io_prep_rw().  EFAULT, EINVAL, EPERM."""
    if request.opcode in (abi.IORING_OP_READ_FIXED, abi.IORING_OP_WRITE_FIXED):
        refuse(request.buf_index >= len(request.ring.buffers or ()), EFAULT)
    if request.ioprio:
        check_ioprio(request.k, request.ioprio)


def _read(k: NetKernel, request: Request) -> Body:
    return (yield from _transfer(k, request, READ))


def _write(k: NetKernel, request: Request) -> Body:
    return (yield from _transfer(k, request, WRITE))


def _fsync(k: NetKernel, request: Request) -> Body:
    file = request.take_file()
    return (yield k.call("vfs_fsync", file.addr, request.op_flags & abi.IORING_FSYNC_DATASYNC))


def _fallocate(k: NetKernel, request: Request) -> Body:
    file = request.take_file()
    return (yield k.call("vfs_fallocate", file.addr, request.len, request.off, request.addr))


def _check_fsync(request: Request) -> None:
    refuse(request.op_flags & ~abi.IORING_FSYNC_DATASYNC)


@contextmanager
def _positions(k: NetKernel, places: Sequence[tuple[File, int]]) -> Iterator[None]:
    """Files at other positions than their own, for one call."""
    kept = [(file, file.f_pos) for file, off in places if off != CURRENT_POS]
    for file, off in places:
        if off != CURRENT_POS:
            k.vfs.mirror.set_pos(file, off)
    try:
        yield
    finally:
        for file, pos in kept:
            k.vfs.mirror.set_pos(file, pos)


def _splice(k: NetKernel, request: Request) -> Body:
    """io_splice(): from and to places of files, but not of pipes.  EBADF, ESPIPE."""
    with numbered(request) as fd, _spliced_from(request) as fd_in:
        source, dest = k.vfs.fget(fd_in), k.vfs.fget(fd)
        places = [(source, request.addr), (dest, request.off)]
        refuse(
            request.len and any(off != CURRENT_POS and file.f_inode.i_pipe is not None for file, off in places), ESPIPE
        )
        with _positions(k, places):
            ret = yield from sys_splice(k, fd_in, 0, fd, 0, request.len, request.op_flags & SPLICE_F_ALL)
    request.expected = request.len
    return ret


def _tee(k: NetKernel, request: Request) -> Body:
    with numbered(request) as fd, _spliced_from(request) as fd_in:
        request.expected = request.len
        return (yield from sys_tee(k, fd_in, fd, request.len, request.op_flags & SPLICE_F_ALL))


def _spliced_from(request: Request) -> AbstractContextManager[int]:
    """A descriptor of what is read from, which may be a registered file."""
    if request.op_flags & abi.SPLICE_F_FD_IN_FIXED:
        return lent(request.k, request.ring.fixed_file(request.splice_fd_in))
    return nullcontext(request.splice_fd_in)


def _check_splice(request: Request) -> None:
    """__io_splice_prep().  EINVAL."""
    refuse(request.op_flags & ~(SPLICE_F_ALL | abi.SPLICE_F_FD_IN_FIXED))


# -- opening -------------------------------------------------------------------------------------------------------


def _check_path(request: Request) -> None:
    refuse(request.flags & abi.IOSQE_FIXED_FILE, EBADF)


def _check_open(request: Request) -> None:
    """__io_openat_prep(): a slot is nobody's to inherit.  EBADF, EINVAL."""
    _check_path(request)
    refuse(request.splice_fd_in and request.op_flags & O_CLOEXEC)


def _check_open2(request: Request) -> None:
    _check_path(request)
    k = request.k
    refuse(request.splice_fd_in and k.usercopy.get_user(request.off, 8) & O_CLOEXEC)


def _openat(k: NetKernel, request: Request) -> Body:
    ret = yield from sys_openat(k, request.fd, request.addr, request.op_flags, request.len)
    return into_slot(k, request, ret) if ret >= 0 and request.splice_fd_in else ret


def _openat2(k: NetKernel, request: Request) -> Body:
    ret = yield from sys_openat2(k, request.fd, request.addr, request.off, request.len)
    return into_slot(k, request, ret) if ret >= 0 and request.splice_fd_in else ret


# -- attributes, messages, commands --------------------------------------------------------------------------------


def _named(request: Request) -> Path:
    return request.k.vfs.user_path(AT_FDCWD, get_path_name(request.k, request.addr3))


def _setxattr(k: NetKernel, request: Request) -> int:
    refuse(request.op_flags & ~(XATTR_CREATE | XATTR_REPLACE))
    return setxattr(k, _named(request), request.addr, request.off, request.len, request.op_flags)


def _fsetxattr(k: NetKernel, request: Request) -> int:
    refuse(request.op_flags & ~(XATTR_CREATE | XATTR_REPLACE))
    return setxattr(k, request.take_file().f_path, request.addr, request.off, request.len, request.op_flags)


def _getxattr(k: NetKernel, request: Request) -> int:
    return getxattr(k, _named(request), request.addr, request.off, request.len)


def _fgetxattr(k: NetKernel, request: Request) -> int:
    return getxattr(k, request.take_file().f_path, request.addr, request.off, request.len)


def _check_msg_ring(request: Request) -> None:
    """io_msg_ring_prep().  EINVAL."""
    refuse(request.op_flags & ~abi.IORING_MSG_RING_CQE_SKIP)


def _msg_ring(k: NetKernel, request: Request) -> int:
    """A completion in another instance's ring, its number and result as asked, before it perhaps a registered file.  EBADFD, EINVAL."""
    file = request.take_file()
    refuse(file.f_op is not IO_URING_FOPS, EBADFD)
    target, ret = ring_in(file), 0
    sends = request.addr == abi.IORING_MSG_SEND_FD and there(k, "6.0")
    refuse(not sends and (request.addr != abi.IORING_MSG_DATA or request.addr3 or request.splice_fd_in))
    refuse(target.flags & abi.IORING_SETUP_R_DISABLED, EBADFD)
    if sends:
        refuse(target is request.ring)
        ret = install_fixed(target, request.ring.fixed_file(request.addr3).get(), request.splice_fd_in)
    if not request.op_flags & abi.IORING_MSG_RING_CQE_SKIP:
        target.post(request.off, ret if sends else request.len)
    return ret


def _command(k: NetKernel, request: Request) -> int:
    """io_uring_cmd(): no file here takes any.  EOPNOTSUPP."""
    request.take_file()
    refuse(True, EOPNOTSUPP)
    return 0


# -- the table -----------------------------------------------------------------------------------------------------

_NO_INDEX = ("buf_index", "splice_fd_in")
OPS: dict[int, Op] = {
    abi.IORING_OP_NOP: Op("io_nop", "5.1", "nop.c", lambda k, r: 0, has_file=False, polls=True),
    abi.IORING_OP_READV: Op("io_read", "5.1", "rw.c", _read, (), _check_rw, _pieces, selects=True, ioprio=True, polls=True),
    abi.IORING_OP_WRITEV: Op("io_write", "5.1", "rw.c", _write, (), _check_rw, _pieces, ioprio=True, polls=True),
    abi.IORING_OP_FSYNC: Op("io_fsync", "5.1", "sync.c", _fsync, ("addr", *_NO_INDEX), _check_fsync, punts=True),
    abi.IORING_OP_READ_FIXED: Op("io_read", "5.1", "rw.c", _read, (), _check_rw, ioprio=True, polls=True),
    abi.IORING_OP_WRITE_FIXED: Op("io_write", "5.1", "rw.c", _write, (), _check_rw, ioprio=True, polls=True),
    abi.IORING_OP_POLL_ADD: Op("iopoll_add", "5.1", "poll.c", poll_add, ("buf_index", "off", "addr")),
    abi.IORING_OP_POLL_REMOVE: Op("io_poll_remove", "5.1", "poll.c", poll_remove, _NO_INDEX, check_poll_remove, has_file=False),
    abi.IORING_OP_SYNC_FILE_RANGE: Op("io_sync_file_range", "5.2", "sync.c", lambda k, r: sys_sync_file_range(k, r.fd, r.off, r.len, r.op_flags), ("addr", *_NO_INDEX), punts=True),
    abi.IORING_OP_TIMEOUT: Op("io_timeout", "5.4", "timeout.c", timeout, _NO_INDEX, check_timeout, has_file=False),
    abi.IORING_OP_TIMEOUT_REMOVE: Op("io_timeout_remove", "5.5", "timeout.c", timeout_remove, ("buf_index", "len", "splice_fd_in"), check_timeout_remove, has_file=False),
    abi.IORING_OP_ASYNC_CANCEL: Op("io_async_cancel", "5.5", "cancel.c", cancel, ("off", "len", "splice_fd_in"), check_cancel, has_file=False),
    abi.IORING_OP_LINK_TIMEOUT: Op("io_link_timeout", "5.5", "timeout.c", link_timeout, _NO_INDEX, check_timeout, has_file=False),
    abi.IORING_OP_FALLOCATE: Op("io_fallocate", "5.6", "sync.c", _fallocate, ("buf_index", "op_flags", "splice_fd_in"), punts=True),
    abi.IORING_OP_OPENAT: Op("io_openat", "5.6", "openclose.c", _openat, ("buf_index",), _check_open, has_file=False),
    abi.IORING_OP_CLOSE: Op("io_close", "5.6", "openclose.c", close, ("off", "addr", "len", "op_flags", "buf_index"), check_close, has_file=False),
    abi.IORING_OP_FILES_UPDATE: Op("io_files_update", "5.6", "rsrc.c", files_update, ("op_flags", "splice_fd_in"), check_files_update, has_file=False, polls=True),
    abi.IORING_OP_STATX: Op("io_statx", "5.6", "statx.c", lambda k, r: sys_statx(k, r.fd, r.addr, r.op_flags, r.len, r.off), _NO_INDEX, has_file=False),
    abi.IORING_OP_READ: Op("io_read", "5.6", "rw.c", _read, (), _check_rw, selects=True, ioprio=True, polls=True),
    abi.IORING_OP_WRITE: Op("io_write", "5.6", "rw.c", _write, (), _check_rw, ioprio=True, polls=True),
    abi.IORING_OP_FADVISE: Op("io_fadvise", "5.6", "advise.c", lambda k, r: sys_fadvise64(k, r.fd, r.off, r.len, r.op_flags), ("addr", *_NO_INDEX)),
    abi.IORING_OP_MADVISE: Op("io_madvise", "5.6", "advise.c", lambda k, r: sys_madvise(k, r.addr, r.len, r.op_flags), ("off", *_NO_INDEX), has_file=False),
    abi.IORING_OP_OPENAT2: Op("io_openat2", "5.6", "openclose.c", _openat2, ("buf_index",), _check_open2, has_file=False),
    abi.IORING_OP_EPOLL_CTL: Op("io_epoll_ctl", "5.6", "epoll.c", lambda k, r: sys_epoll_ctl(k, r.fd, r.len, r.off, r.addr), _NO_INDEX, has_file=False),
    abi.IORING_OP_SPLICE: Op("io_splice", "5.7", "splice.c", _splice, (), _check_splice, punts=True),
    abi.IORING_OP_PROVIDE_BUFFERS: Op("io_provide_buffers", "5.7", "kbuf.c", provide, ("op_flags", "splice_fd_in"), check_provide, has_file=False, polls=True),
    abi.IORING_OP_REMOVE_BUFFERS: Op("io_remove_buffers", "5.7", "kbuf.c", remove_buffers, ("op_flags", "addr", "len", "off", "splice_fd_in"), polls=True, has_file=False),
    abi.IORING_OP_TEE: Op("io_tee", "5.8", "splice.c", _tee, ("addr", "off"), _check_splice, punts=True),
    abi.IORING_OP_RENAMEAT: Op("io_renameat", "5.11", "fs.c", lambda k, r: sys_renameat2(k, r.fd, r.addr, signed(r.len), r.off, r.op_flags), _NO_INDEX, has_file=False),
    abi.IORING_OP_UNLINKAT: Op("io_unlinkat", "5.11", "fs.c", lambda k, r: sys_unlinkat(k, r.fd, r.addr, r.op_flags), ("off", "len", *_NO_INDEX), has_file=False),
    abi.IORING_OP_MKDIRAT: Op("io_mkdirat", "5.15", "fs.c", lambda k, r: sys_mkdirat(k, r.fd, r.addr, r.len), ("off", "op_flags", *_NO_INDEX), has_file=False),
    abi.IORING_OP_SYMLINKAT: Op("io_symlinkat", "5.15", "fs.c", lambda k, r: sys_symlinkat(k, r.addr, r.fd, r.off), ("len", "op_flags", *_NO_INDEX), has_file=False),
    abi.IORING_OP_LINKAT: Op("io_linkat", "5.15", "fs.c", lambda k, r: sys_linkat(k, r.fd, r.addr, signed(r.len), r.off, r.op_flags), _NO_INDEX, has_file=False),
    abi.IORING_OP_MSG_RING: Op("io_msg_ring", "5.18", "msg_ring.c", _msg_ring, ("buf_index", "personality"), _check_msg_ring, polls=True),
    abi.IORING_OP_FSETXATTR: Op("io_fsetxattr", "5.19", "xattr.c", _fsetxattr),
    abi.IORING_OP_SETXATTR: Op("io_setxattr", "5.19", "xattr.c", _setxattr, (), _check_path, has_file=False),
    abi.IORING_OP_FGETXATTR: Op("io_fgetxattr", "5.19", "xattr.c", _fgetxattr, ("op_flags",)),
    abi.IORING_OP_GETXATTR: Op("io_getxattr", "5.19", "xattr.c", _getxattr, ("op_flags",), _check_path, has_file=False),
    abi.IORING_OP_URING_CMD: Op("io_uring_cmd", "5.19", "uring_cmd.c", _command, polls=True),
    **NET_OPS,
}  # fmt: skip


def _declare(name: str, source: str) -> None:
    def issue(k: NetKernel, req: int, issue_flags: int) -> Body:
        request = k.vfs.passed(req, Request)
        done = OPS[request.opcode].body(k, request)
        return done if isinstance(done, int) else (yield from done)

    issue.__doc__ = f"The request {name[3:]}, begun so that nobody waits."
    kernel_function(
        f"int {name}(struct io_kiocb *req, unsigned int issue_flags)", source=f"io_uring/{source}", since="5.1"
    )(issue)


for _name, _source in {op.name: op.source for op in OPS.values()}.items():
    _declare(_name, _source)


WORKERS_SIGNALS = bits(SIGPIPE, SIGXFSZ)  # those that who writes is answered with


def _by_worker(k: NetKernel, request: Request) -> bool:
    """Linux gives it to a worker: it was asked to, always does, or the file cannot do it without waiting (io_file_supports_nowait())."""
    if request.flags & abi.IOSQE_ASYNC or OPS[request.opcode].punts:
        return True
    if OPS[request.opcode].body is not _write:
        return False
    file = request.take_file()
    return not (file.f_inode.i_mode & S_IFMT == S_IFSOCK or file.f_flags & O_NONBLOCK or minds_nowait(k, file))


def begin(request: Request) -> Steps[int]:
    """io_issue_sqe() (`yield from`): the request's own function."""
    k = request.k
    addr = k.mem.alloc(232)
    k.vfs.objects[addr] = request
    task, own = k.current, k.current.cred
    if request.creds is not None:  # override_creds()
        task.cred = request.creds
    try:
        task.spared = WORKERS_SIGNALS if _by_worker(k, request) else 0
        return (yield k.call(OPS[request.opcode].name, addr, 1 << 31))
    finally:
        task.spared = 0
        if request.creds is not None:
            task.cred = own
        del k.vfs.objects[addr]
        k.mem.free(addr)
