"""Requests that wait for events, time or each other, and those that end or change them.  io_uring/poll.c, timeout.c, cancel.c."""

from __future__ import annotations

from collections.abc import Sequence

from arch.abi import io_uring as abi
from arch.abi.errno import ENOENT
from arch.abi.limits import U32_MAX
from arch.abi.poll import POLLERR, POLLHUP
from simkernel.fs.select import vfs_poll
from simkernel.io_uring.op import refuse
from simkernel.io_uring.request import PENDING, Request
from simkernel.io_uring.ring import Begun, Ring
from simkernel.kernel.body import Steps
from simkernel.kernel.calls.time import read_pair
from simkernel.kernel.task import WaitQueue
from simkernel.net.face import NetKernel

NSEC = 10**9


def poll_add(k: NetKernel, request: Request) -> int:
    """IORING_OP_POLL_ADD: until the file says one of these events, or each time it does."""
    file = request.take_file()
    request.events = poll_events(k, request) | POLLERR | POLLHUP
    multi = bool(request.len & abi.IORING_POLL_ADD_MULTI)

    def look() -> None:
        mask = vfs_poll(k, file, None) & request.events
        if not mask or request.done:
            return
        if request.task.past_works:
            request.cancel()
        elif not multi or not request.post_more(mask):
            request.end(mask)

    def deferred() -> Steps[None]:
        request.queued = False
        look()
        yield from ()

    def woken() -> None:
        if not request.queued:
            request.queued = True
            request.ring.add_local_work(request, deferred)

    request.woken = woken if request.ring.defers else look
    mask = vfs_poll(k, file, None) & request.events
    if mask and (not multi or not request.post_more(mask)):
        return mask
    if file.f_op.poll is not None:
        queues: list[WaitQueue] = []
        vfs_poll(k, file, queues)
        request.waiting.hang(queues)
    return PENDING


def poll_events(k: NetKernel, request: Request) -> int:
    """poll32_events: its halves are the other way round on a big-endian machine."""
    events = request.op_flags
    return events if k.mem.byteorder == "little" else (events << 16 | events >> 16) & U32_MAX


def _found(ring: Ring, user_data: int, opcodes: Sequence[int] = ()) -> list[Begun]:
    return [r for r in ring.pending if r.user_data == user_data and (not opcodes or r.opcode in opcodes)]


def check_poll_remove(request: Request) -> None:
    """io_poll_remove_prep().  EINVAL."""
    flags = request.len
    refuse(flags & ~(abi.POLL_UPDATES | abi.IORING_POLL_ADD_MULTI) or flags == abi.IORING_POLL_ADD_MULTI)
    refuse(request.off and not flags & abi.IORING_POLL_UPDATE_USER_DATA)
    refuse(request.op_flags and not flags & abi.IORING_POLL_UPDATE_EVENTS)


def poll_remove(k: NetKernel, request: Request) -> int:
    """IORING_OP_POLL_REMOVE: end a poll, or let it wait for other events, under another number.  ENOENT."""
    found = _found(request.ring, request.addr, (abi.IORING_OP_POLL_ADD,))
    refuse(not found, ENOENT)
    poll, flags = found[0], request.len
    if not flags & abi.POLL_UPDATES:
        poll.cancel()
        return 0
    if flags & abi.IORING_POLL_UPDATE_USER_DATA:
        poll.user_data = request.off
    if flags & abi.IORING_POLL_UPDATE_EVENTS:
        poll.events = poll_events(k, request) | POLLERR | POLLHUP
    poll.woken()
    return 0


def _when(k: NetKernel, addr: int, flags: int) -> int:
    """When a time-out is over, by the machine's clock; more nanoseconds than a second has are taken.  EFAULT, EINVAL."""
    seconds, ns = read_pair(k, addr, 8)
    refuse(seconds < 0 or ns < 0)
    asked = seconds * NSEC + ns
    if not flags & abi.IORING_TIMEOUT_ABS:
        return int(k.clock.now_ns + asked)
    return int(asked - k.clock.realtime_ns + k.clock.now_ns) if flags & abi.IORING_TIMEOUT_REALTIME else asked


def timeout(k: NetKernel, request: Request) -> int:
    """IORING_OP_TIMEOUT: until a time, or until so many completions."""
    at = _when(k, request.addr, request.op_flags)
    ring = request.ring
    if request.off:
        request.target = ring.completed + request.off
        ring.timeouts.append(request)
    request.timer = k.clock.add(at, request.expired)
    return PENDING


def check_timeout(request: Request) -> None:
    """__io_timeout_prep().  EINVAL, EFAULT."""
    flags = request.op_flags
    refuse(request.len != 1)
    refuse(flags & ~(abi.IORING_TIMEOUT_ABS | abi.TIMEOUT_CLOCKS | abi.IORING_TIMEOUT_ETIME_SUCCESS))
    refuse((flags & abi.TIMEOUT_CLOCKS).bit_count() > 1)
    _when(request.k, request.addr, flags)


def check_timeout_remove(request: Request) -> None:
    """io_timeout_remove_prep().  EINVAL, EFAULT."""
    flags = request.op_flags
    refuse(request.flags & (abi.IOSQE_FIXED_FILE | abi.IOSQE_BUFFER_SELECT))
    if not flags & abi.TIMEOUT_UPDATES:
        return refuse(flags)
    refuse((flags & abi.TIMEOUT_CLOCKS).bit_count() > 1)
    refuse(flags & ~(abi.TIMEOUT_UPDATES | abi.IORING_TIMEOUT_ABS))
    _when(request.k, request.off, flags)
    return None


def timeout_remove(k: NetKernel, request: Request) -> int:
    """IORING_OP_TIMEOUT_REMOVE: end a time-out, or give it another time.  ENOENT."""
    flags = request.op_flags
    linked = flags & abi.IORING_LINK_TIMEOUT_UPDATE
    found = _found(request.ring, request.addr, (abi.IORING_OP_LINK_TIMEOUT if linked else abi.IORING_OP_TIMEOUT,))
    refuse(not found, ENOENT)
    if flags & abi.TIMEOUT_UPDATES:
        found[0].expires_at(_when(k, request.off, flags))
    else:
        found[0].cancel()
    return 0


def link_timeout(k: NetKernel, request: Request) -> int:
    """Begun when what it watches waits."""
    request.timer = k.clock.add(_when(k, request.addr, request.op_flags), request.expired)
    request.ring.pending[request] = None
    return PENDING


def check_cancel(request: Request) -> None:
    """io_async_cancel_prep().  EINVAL."""
    refuse(request.flags & abi.IOSQE_BUFFER_SELECT or request.op_flags & ~abi.CANCEL_FLAGS)
    refuse(request.op_flags & abi.IORING_ASYNC_CANCEL_FD and request.op_flags & abi.IORING_ASYNC_CANCEL_ANY)


def cancel(k: NetKernel, request: Request) -> int:
    """IORING_OP_ASYNC_CANCEL: by user data, by descriptor, or any; 0 or with ALL how many.  ENOENT, EBADF."""
    return try_cancel(k, request.ring, request.addr, request.fd, request.op_flags)


def try_cancel(k: NetKernel, ring: Ring, user_data: int, fd: int, flags: int) -> int:
    """__io_async_cancel().  ENOENT, EBADF."""
    every = flags & (abi.IORING_ASYNC_CANCEL_ALL | abi.IORING_ASYNC_CANCEL_ANY)
    if flags & abi.IORING_ASYNC_CANCEL_ANY:
        found = list(ring.pending)
    elif flags & abi.IORING_ASYNC_CANCEL_FD:
        file = ring.fixed_file(fd) if flags & abi.IORING_ASYNC_CANCEL_FD_FIXED else k.vfs.fget(fd)
        found = [r for r in ring.pending if r.file is file]
    else:
        found = _found(ring, user_data)
    if not found and not every:
        return -ENOENT
    for each in found if every else found[:1]:
        each.cancel()
    return len(found) if every else 0
