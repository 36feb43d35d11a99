"""What can be asked of io_uring, one row each.  io_uring/opdef.c, rw.c, net.c, fs.c, openclose.c, poll.c, timeout.c, cancel.c, kbuf.c.

A row's `check` refuses what the request may not say, before it is begun (io_*_prep()); `body` does it and gives the result.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from arch.abi import io_uring as abi
from arch.abi.errno import (
    E2BIG,
    EAGAIN,
    EBADF,
    EFAULT,
    EINPROGRESS,
    EINTR,
    EINVAL,
    ENOENT,
    ENOTSOCK,
    ENXIO,
    ERESTARTNOHAND,
    ERESTARTSYS,
)
from arch.abi.fcntl import O_NONBLOCK
from arch.abi.internal import READ, WRITE
from arch.abi.limits import U32_MAX
from arch.abi.poll import POLLERR, POLLHUP, POLLIN, POLLOUT, POLLPRI, POLLRDHUP, POLLRDNORM, POLLWRNORM
from arch.abi.socket import MSG_DONTWAIT, MSG_NOSIGNAL
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.fs import constants as c
from simkernel.fs.eventpoll import sys_epoll_ctl
from simkernel.fs.fcntl import sys_fadvise64
from simkernel.fs.inode import File
from simkernel.fs.namei_calls import sys_linkat, sys_mkdirat, sys_symlinkat, sys_unlinkat
from simkernel.fs.open import sys_close, sys_openat, sys_openat2
from simkernel.fs.read_write import ScratchPos, loop_rw, sync_iter, verify_area
from simkernel.fs.rename import sys_renameat2
from simkernel.fs.select import vfs_poll
from simkernel.fs.splice import sys_splice, sys_tee
from simkernel.fs.stat import sys_statx
from simkernel.fs.truncate import sys_sync_file_range
from simkernel.fs.uio import import_iovec
from simkernel.io_uring.request import PENDING, Request
from simkernel.io_uring.ring import Begun, Ring
from simkernel.kernel.body import Body, Steps
from simkernel.kernel.calls.mm import sys_madvise
from simkernel.kernel.calls.time import read_pair
from simkernel.kernel.kfunc import kernel_function
from simkernel.kernel.task import WaitQueue
from simkernel.net.calls.socket import shutdown, socket
from simkernel.net.calls.transfer import ___sys_recvmsg, ___sys_sendmsg, receive, send
from simkernel.net.core.sock import Socket
from simkernel.net.face import NetKernel

NSEC = 10**9
CURRENT_POS = (1 << 64) - 1
IN, OUT = POLLIN | POLLRDNORM | POLLRDHUP | POLLPRI, POLLOUT | POLLWRNORM
OpBody = Callable[[NetKernel, Request], "Body | int"]


@dataclass(frozen=True, slots=True)
class Op:
    """One row: the kernel function that does it, since when, its source; which words of a request must be 0."""

    name: str
    since: str
    source: str
    body: OpBody
    zero: tuple[str, ...] = ()
    check: Callable[[Request], None] = lambda request: None
    selects: bool = False  # may take a provided buffer


def _refuse(condition: object, errno: int = EINVAL) -> None:
    if condition:
        raise KernelError(errno)


@contextmanager
def not_waiting(file: File) -> Iterator[bool]:
    """While a request is begun its file is one that makes nobody wait; gives whether it always is."""
    always = bool(file.f_flags & O_NONBLOCK)
    file.f_flags |= O_NONBLOCK
    try:
        yield always
    finally:
        if not always:
            file.f_flags &= ~O_NONBLOCK


def _later(request: Request, result: int, always: bool, events: int) -> int:
    """A file that is not ready is asked again when it is."""
    if result != -EAGAIN or always:
        return -EINTR if result in (-ERESTARTSYS, -ERESTARTNOHAND) else result
    return request.arm(events)


# -- reading and writing -------------------------------------------------------------------------------------------


def _fixed(request: Request) -> list[tuple[int, int]]:
    """io_import_fixed(): a piece of a registered buffer.  EFAULT."""
    buffers = request.ring.buffers or []
    _refuse(request.buf_index >= len(buffers), EFAULT)
    base, length = buffers[request.buf_index]
    _refuse(request.addr < base or request.addr + request.len > base + length, EFAULT)
    return [(request.addr, request.len)]


def _segments(k: NetKernel, request: Request, vector: bool) -> list[tuple[int, int]]:
    if request.flags & abi.IOSQE_BUFFER_SELECT:
        return [request.take_buffer()]
    if request.opcode in (abi.IORING_OP_READ_FIXED, abi.IORING_OP_WRITE_FIXED):
        return _fixed(request)
    return import_iovec(k, request.addr, request.len) if vector else [(request.addr, request.len)]


def _transfer(k: NetKernel, request: Request, direction: int) -> Body:
    """io_read(), io_write() (`yield from`)."""
    file = request.take_file()
    reads = direction == READ
    _refuse(not file.f_mode & (c.FMODE_READ if reads else c.FMODE_WRITE), EBADF)
    segments = _segments(k, request, request.opcode in (abi.IORING_OP_READV, abi.IORING_OP_WRITEV))
    _refuse(any(base + length > k.vfs.user_end for base, length in segments), EFAULT)
    request.expected = sum(length for _, length in segments)
    own = None if file.f_mode & c.FMODE_STREAM or request.off == CURRENT_POS else ScratchPos(k, request.off)
    pos = own.addr if own is not None else 0 if file.f_mode & c.FMODE_STREAM else file.pos_addr
    events = IN if reads else OUT
    if reads and file.f_op.poll is not None and not file.f_flags & O_NONBLOCK and not vfs_poll(k, file, None) & ~OUT:
        if own is not None:
            own.free()
        return request.arm(events)
    try:
        with not_waiting(file) as always:
            ret = yield from _move(k, file, direction, segments, pos, request)
    finally:
        if own is not None:
            own.free()
    return _later(request, ret, always, events)


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
    _refuse(request.op_flags & ~abi.IORING_FSYNC_DATASYNC)


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
    source, dest = k.vfs.fget(request.splice_fd_in), k.vfs.fget(request.fd)
    with _positions(k, [(source, request.addr), (dest, request.off)]):
        ret = yield from sys_splice(k, request.splice_fd_in, 0, request.fd, 0, request.len, request.op_flags)
    request.expected = request.len
    return ret


# -- sockets -------------------------------------------------------------------------------------------------------


def _socket(request: Request) -> Socket:
    found = request.take_file().private_data
    if not isinstance(found, Socket):
        raise KernelError(ENOTSOCK)
    return found


def _number(request: Request) -> int:
    """A descriptor, where the call behind it takes no other."""
    _refuse(request.flags & abi.IOSQE_FIXED_FILE)
    request.take_file()
    return request.fd


def _send(k: NetKernel, request: Request) -> Body:
    sock = _socket(request)
    flags = request.op_flags | MSG_NOSIGNAL
    data = k.usercopy.copy_from_user(request.addr, request.len) if request.len else b""
    ret = yield from send(k, sock, data, b"", flags | MSG_DONTWAIT)
    return _later(request, ret, bool(sock.flags & O_NONBLOCK or flags & MSG_DONTWAIT), OUT)


def _recv(k: NetKernel, request: Request) -> Body:
    sock = _socket(request)
    always = bool(sock.flags & O_NONBLOCK or request.op_flags & MSG_DONTWAIT)
    chosen = (request.addr, request.len)
    if request.flags & abi.IOSQE_BUFFER_SELECT:
        if not always and not vfs_poll(k, request.take_file(), None) & IN:
            return request.arm(IN)
        chosen = request.take_buffer()
    ret, _ = yield from receive(k, sock, [chosen], request.op_flags | MSG_DONTWAIT)
    return _later(request, ret, always, IN)


def _sendmsg(k: NetKernel, request: Request) -> Body:
    sock = _socket(request)
    ret = yield from ___sys_sendmsg(k, sock, request.addr, request.op_flags | MSG_NOSIGNAL | MSG_DONTWAIT)
    return _later(request, ret, bool((sock.flags & O_NONBLOCK) or request.op_flags & MSG_DONTWAIT), OUT)


def _recvmsg(k: NetKernel, request: Request) -> Body:
    sock = _socket(request)
    ret = yield from ___sys_recvmsg(k, sock, request.addr, request.op_flags | MSG_DONTWAIT)
    return _later(request, ret, bool((sock.flags & O_NONBLOCK) or request.op_flags & MSG_DONTWAIT), IN)


def _accept(k: NetKernel, request: Request) -> Body:
    fd, file = _number(request), request.take_file()
    _refuse(not isinstance(file.private_data, Socket), ENOTSOCK)
    with not_waiting(file) as always:
        ret = yield k.call("__sys_accept4", fd, request.addr, request.off, request.op_flags)
    return _later(request, ret, always, IN)


def _connect(k: NetKernel, request: Request) -> Body:
    sock, file = _socket(request), request.take_file()
    if request.events:  # it was begun: what became of it
        if sock.sk.err:
            return -sock.sk.take_error()
        sock.sk.connecting = False
        return 0
    with not_waiting(file) as always:
        ret = yield k.call("__sys_connect", _number(request), request.addr, request.off)
    return _later(request, -EAGAIN if ret == -EINPROGRESS and not always else ret, always, OUT)


# -- polls, time-outs, cancelling ----------------------------------------------------------------------------------


def _poll_add(k: NetKernel, request: Request) -> int:
    file = request.take_file()
    request.events = _poll_events(k, request) | POLLERR | POLLHUP
    multi = bool(request.len & abi.IORING_POLL_ADD_MULTI)

    def look() -> None:
        mask = vfs_poll(k, file, None) & request.events
        if not mask or request.done:
            return
        if multi:
            request.ring.post(request.user_data, mask, abi.IORING_CQE_F_MORE)
        else:
            request.later(request.finish(mask))

    request.woken = look
    mask = vfs_poll(k, file, None) & request.events
    if mask and not multi:
        return mask
    if mask:
        request.ring.post(request.user_data, mask, abi.IORING_CQE_F_MORE)
    if file.f_op.poll is not None:
        queues: list[WaitQueue] = []
        vfs_poll(k, file, queues)
        request.waiting.hang(queues)
    return PENDING


def _poll_events(k: NetKernel, request: Request) -> int:
    """poll32_events: its halves are the other way round on a big-endian machine."""
    events = request.op_flags
    return events if k.mem.byteorder == "little" else (events << 16 | events >> 16) & U32_MAX


def _found(ring: Ring, user_data: int, opcodes: Sequence[int] = ()) -> list[Begun]:
    return [r for r in ring.pending if r.user_data == user_data and (not opcodes or r.opcode in opcodes)]


def _poll_remove(k: NetKernel, request: Request) -> int:
    found = _found(request.ring, request.addr, (abi.IORING_OP_POLL_ADD,))
    _refuse(not found, ENOENT)
    found[0].cancel()
    return 0


def _when(k: NetKernel, request: Request) -> int:
    """When a time-out is over, by the machine's clock.  EFAULT, EINVAL."""
    seconds, ns = read_pair(k, request.addr, 8)
    _refuse(seconds < 0 or not 0 <= ns < NSEC)
    asked = seconds * NSEC + ns
    if not request.op_flags & abi.IORING_TIMEOUT_ABS:
        return int(k.clock.now_ns + asked)
    return (
        int(asked - k.clock.realtime_ns + k.clock.now_ns) if request.op_flags & abi.IORING_TIMEOUT_REALTIME else asked
    )


def _timeout(k: NetKernel, request: Request) -> int:
    at = _when(k, request)
    ring = request.ring
    if request.off:
        request.target = ring.completed + request.off
        ring.timeouts.append(request)
    request.timer = k.clock.add(at, request.expired)
    return PENDING


def _check_timeout(request: Request) -> None:
    _refuse(request.len != 1)
    _refuse(request.op_flags & ~(abi.IORING_TIMEOUT_ABS | abi.IORING_TIMEOUT_BOOTTIME | abi.IORING_TIMEOUT_REALTIME | abi.IORING_TIMEOUT_ETIME_SUCCESS))  # fmt: skip


def _timeout_remove(k: NetKernel, request: Request) -> int:
    found = _found(request.ring, request.addr, (abi.IORING_OP_TIMEOUT,))
    _refuse(not found, ENOENT)
    found[0].cancel()
    return 0


def _link_timeout(k: NetKernel, request: Request) -> int:
    """Begun when what it watches waits."""
    request.timer = k.clock.add(_when(k, request), request.expired)
    request.ring.pending[request] = None
    return PENDING


def _cancel(k: NetKernel, request: Request) -> int:
    """IORING_OP_ASYNC_CANCEL: by user data, by descriptor, or any; 0 or with ALL how many."""
    ring, flags = request.ring, request.op_flags
    every = flags & (abi.IORING_ASYNC_CANCEL_ALL | abi.IORING_ASYNC_CANCEL_ANY)
    if flags & abi.IORING_ASYNC_CANCEL_ANY:
        found = list(ring.pending)
    elif flags & abi.IORING_ASYNC_CANCEL_FD:
        file = k.vfs.fget(request.fd)
        found = [r for r in ring.pending if r.file is file]
    else:
        found = _found(ring, request.addr)
    if not found and not every:
        return -ENOENT
    for each in found if every else found[:1]:
        each.cancel()
    return len(found) if every else 0


# -- buffers and registered files ----------------------------------------------------------------------------------


def _provide(k: NetKernel, request: Request) -> int:
    """So many buffers, one behind the other, for a group."""
    group = request.ring.provided.setdefault(request.buf_index, deque())
    for i in range(request.fd):
        group.append((request.addr + i * request.len, request.len, (request.off + i) & 0xFFFF))
    return 0


def _check_provide(request: Request) -> None:
    _refuse(not 0 < request.fd <= 0xFFFF, E2BIG if request.fd > 0xFFFF else EINVAL)
    _refuse(request.addr + request.len * request.fd > request.k.vfs.user_end, EFAULT)
    _refuse(request.off + request.fd > 0x10000, E2BIG)


def _remove_buffers(k: NetKernel, request: Request) -> int:
    group = request.ring.provided.get(request.buf_index)
    _refuse(group is None, ENOENT)
    assert group is not None
    count = min(len(group), request.fd)
    for _ in range(count):
        group.popleft()
    return count


def update_files(k: NetKernel, ring: Ring, offset: int, fds: int, count: int) -> int:
    """__io_sqe_files_update(): -1 takes one out, -2 leaves it.  ENXIO, EINVAL, EBADF, EFAULT."""
    files = ring.files
    _refuse(files is None, ENXIO)
    assert files is not None
    _refuse(not count or offset + count > len(files))
    done = 0
    for done in range(count):
        try:
            fd = k.usercopy.get_user(fds + 4 * done, 4, signed=True)
            new = None if fd == -1 else k.vfs.fget(fd) if fd != -2 else files[offset + done]
            _refuse(new is not None and isinstance(new.private_data, Ring), EBADF)
        except KernelError as error:
            return done or -error.errno
        if fd != -2:
            old, files[offset + done] = files[offset + done], new.get() if new is not None else None
            if old is not None:
                old.put()
    return done + 1


# -- what is a system call of its own ------------------------------------------------------------------------------


def _close(k: NetKernel, request: Request) -> Body:
    file = k.vfs.fget(request.fd)
    _refuse(isinstance(file.private_data, Ring), EBADF)
    return (yield from sys_close(k, request.fd))


def _files_update(k: NetKernel, request: Request) -> int:
    return update_files(k, request.ring, request.off, request.addr, request.len)


_NO_INDEX = ("buf_index", "splice_fd_in")
OPS: dict[int, Op] = {
    abi.IORING_OP_NOP: Op("io_nop", "5.1", "nop.c", lambda k, r: 0),
    abi.IORING_OP_READV: Op("io_read", "5.1", "rw.c", _read, selects=True),
    abi.IORING_OP_WRITEV: Op("io_write", "5.1", "rw.c", _write),
    abi.IORING_OP_FSYNC: Op("io_fsync", "5.1", "sync.c", _fsync, ("addr", *_NO_INDEX), _check_fsync),
    abi.IORING_OP_READ_FIXED: Op("io_read", "5.1", "rw.c", _read),
    abi.IORING_OP_WRITE_FIXED: Op("io_write", "5.1", "rw.c", _write),
    abi.IORING_OP_POLL_ADD: Op("io_poll_add", "5.1", "poll.c", _poll_add, ("buf_index", "off", "addr")),
    abi.IORING_OP_POLL_REMOVE: Op("io_poll_remove", "5.1", "poll.c", _poll_remove, _NO_INDEX),
    abi.IORING_OP_SYNC_FILE_RANGE: Op("io_sync_file_range", "5.2", "sync.c", lambda k, r: sys_sync_file_range(k, r.fd, r.off, r.len, r.op_flags), ("addr", *_NO_INDEX)),
    abi.IORING_OP_SENDMSG: Op("io_sendmsg", "5.3", "net.c", _sendmsg, ("addr3",)),
    abi.IORING_OP_RECVMSG: Op("io_recvmsg", "5.3", "net.c", _recvmsg, ("off", "addr3")),
    abi.IORING_OP_TIMEOUT: Op("io_timeout", "5.4", "timeout.c", _timeout, _NO_INDEX, _check_timeout),
    abi.IORING_OP_TIMEOUT_REMOVE: Op("io_timeout_remove", "5.5", "timeout.c", _timeout_remove, ("buf_index", "len", "splice_fd_in")),
    abi.IORING_OP_ACCEPT: Op("io_accept", "5.5", "net.c", _accept, ("len", "buf_index")),
    abi.IORING_OP_ASYNC_CANCEL: Op("io_async_cancel", "5.5", "cancel.c", _cancel, ("off", "len", "splice_fd_in")),
    abi.IORING_OP_LINK_TIMEOUT: Op("io_link_timeout", "5.5", "timeout.c", _link_timeout, _NO_INDEX, _check_timeout),
    abi.IORING_OP_CONNECT: Op("io_connect", "5.5", "net.c", _connect, ("len", "buf_index", "op_flags", "splice_fd_in")),
    abi.IORING_OP_FALLOCATE: Op("io_fallocate", "5.6", "sync.c", _fallocate, ("buf_index", "op_flags", "splice_fd_in")),
    abi.IORING_OP_OPENAT: Op("io_openat", "5.6", "openclose.c", lambda k, r: sys_openat(k, r.fd, r.addr, r.op_flags, r.len), ("buf_index", "splice_fd_in")),
    abi.IORING_OP_CLOSE: Op("io_close", "5.6", "openclose.c", _close, ("off", "addr", "len", "op_flags", "buf_index")),
    abi.IORING_OP_FILES_UPDATE: Op("io_files_update", "5.6", "rsrc.c", _files_update, ("op_flags", "splice_fd_in")),
    abi.IORING_OP_STATX: Op("io_statx", "5.6", "statx.c", lambda k, r: sys_statx(k, r.fd, r.addr, r.op_flags, r.len, r.off), _NO_INDEX),
    abi.IORING_OP_READ: Op("io_read", "5.6", "rw.c", _read, selects=True),
    abi.IORING_OP_WRITE: Op("io_write", "5.6", "rw.c", _write),
    abi.IORING_OP_FADVISE: Op("io_fadvise", "5.6", "advise.c", lambda k, r: sys_fadvise64(k, r.fd, r.off, r.len, r.op_flags), ("addr", *_NO_INDEX)),
    abi.IORING_OP_MADVISE: Op("io_madvise", "5.6", "advise.c", lambda k, r: sys_madvise(k, r.addr, r.len, r.op_flags), ("off", *_NO_INDEX)),
    abi.IORING_OP_SEND: Op("io_send", "5.6", "net.c", _send),
    abi.IORING_OP_RECV: Op("io_recv", "5.6", "net.c", _recv, ("off", "addr3"), selects=True),
    abi.IORING_OP_OPENAT2: Op("io_openat2", "5.6", "openclose.c", lambda k, r: sys_openat2(k, r.fd, r.addr, r.off, r.len), ("buf_index", "splice_fd_in")),
    abi.IORING_OP_EPOLL_CTL: Op("io_epoll_ctl", "5.6", "epoll.c", lambda k, r: sys_epoll_ctl(k, r.fd, r.len, r.off, r.addr), _NO_INDEX),
    abi.IORING_OP_SPLICE: Op("io_splice", "5.7", "splice.c", _splice),
    abi.IORING_OP_PROVIDE_BUFFERS: Op("io_provide_buffers", "5.7", "kbuf.c", _provide, ("op_flags", "splice_fd_in"), _check_provide),
    abi.IORING_OP_REMOVE_BUFFERS: Op("io_remove_buffers", "5.7", "kbuf.c", _remove_buffers, ("op_flags", "addr", "len", "off", "splice_fd_in")),
    abi.IORING_OP_TEE: Op("io_tee", "5.8", "splice.c", lambda k, r: sys_tee(k, r.splice_fd_in, r.fd, r.len, r.op_flags), ("addr", "off")),
    abi.IORING_OP_SHUTDOWN: Op("io_shutdown", "5.11", "net.c", lambda k, r: shutdown(k, r.fd, r.len), ("off", "addr", "op_flags", "buf_index", "splice_fd_in")),
    abi.IORING_OP_RENAMEAT: Op("io_renameat", "5.11", "fs.c", lambda k, r: sys_renameat2(k, r.fd, r.addr, r.len, r.off, r.op_flags), _NO_INDEX),
    abi.IORING_OP_UNLINKAT: Op("io_unlinkat", "5.11", "fs.c", lambda k, r: sys_unlinkat(k, r.fd, r.addr, r.op_flags), ("off", "len", *_NO_INDEX)),
    abi.IORING_OP_MKDIRAT: Op("io_mkdirat", "5.15", "fs.c", lambda k, r: sys_mkdirat(k, r.fd, r.addr, r.len), ("off", "op_flags", *_NO_INDEX)),
    abi.IORING_OP_SYMLINKAT: Op("io_symlinkat", "5.15", "fs.c", lambda k, r: sys_symlinkat(k, r.addr, r.fd, r.off), ("len", "op_flags", *_NO_INDEX)),
    abi.IORING_OP_LINKAT: Op("io_linkat", "5.15", "fs.c", lambda k, r: sys_linkat(k, r.fd, r.addr, r.len, r.off, r.op_flags), _NO_INDEX),
    abi.IORING_OP_SOCKET: Op("io_socket", "5.19", "net.c", lambda k, r: socket(k, r.fd, r.off, r.len), ("addr", "op_flags", "buf_index")),
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


def begin(request: Request) -> Steps[int]:
    """io_issue_sqe() (`yield from`): the request's own function."""
    k = request.k
    addr = k.mem.alloc(232)
    k.vfs.objects[addr] = request
    try:
        return (yield k.call(OPS[request.opcode].name, addr, 1 << 31))
    finally:
        del k.vfs.objects[addr]
        k.mem.free(addr)
