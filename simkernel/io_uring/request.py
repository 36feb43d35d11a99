"""One request from submission to completion, and the chain it may be part of.  io_uring/io_uring.c, poll.c, timeout.c."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial

from arch.abi import io_uring as abi
from arch.abi.errno import EAGAIN, ECANCELED, ENOBUFS, ETIME
from arch.abi.poll import POLLERR, POLLHUP
from arch.errors import KernelError
from simkernel.fs.inode import File
from simkernel.fs.select import PollWait, vfs_poll
from simkernel.io_uring.kbuf import Buffer
from simkernel.io_uring.ring import Begun, Ring, fput
from simkernel.kernel.body import Steps
from simkernel.kernel.clock import Event
from simkernel.kernel.task import Cred, Task, WaitQueue

PENDING = -529  # IOU_ISSUE_SKIP_COMPLETE: the result will come
APOLL_MAX_RETRY = 128  # of a file that says it is ready and is not; then a worker waits for it, here the request itself


class Request:
    """struct io_kiocb."""

    # struct io_uring_sqe
    opcode: int
    flags: int
    ioprio: int
    fd: int
    off: int  # and addr2
    addr: int
    len: int
    op_flags: int
    user_data: int
    buf_index: int  # and buf_group
    personality: int
    splice_fd_in: int  # and file_index
    addr3: int
    pad: int

    def __init__(self, ring: Ring, sqe: bytes) -> None:
        self.ring, self.k = ring, ring.k
        order = "<" if ring.k.mem.byteorder == "little" else ">"
        (self.opcode, self.flags, self.ioprio, self.fd, self.off, self.addr, self.len, self.op_flags, self.user_data,
         self.buf_index, self.personality, self.splice_fd_in, self.addr3, self.pad) = struct.unpack(order + "BBHiQQIIQHHIQQ", sqe)  # fmt: skip
        self.task: Task = ring.k.current
        self.sequence, self.drains = ring.taken, False  # requests laid down before it; whether these must be done first
        ring.taken += 1
        self.file: File | None = None
        self.next: Request | None = None  # what it is linked to
        self.begin: Callable[[Request], Steps[int]] = _nothing
        self.error: int | None = None  # it was refused when it was laid down
        self.cqe_flags = 0
        self.expected: int | None = None  # bytes: fewer break a chain
        self.moved = 0  # bytes that a socket's request has done before it had to wait for more
        self.name: bytes | None = None  # the address to send to, once it was read
        self.pieces: list[tuple[int, int]] | None = None  # and so the pieces of memory, (address, bytes)
        self.told: bool | None = None  # a chain that broke says whether it is told of; None: its own flags
        self.taken: Buffer | None = None  # the provided buffer it took
        self.notified = False  # IORING_OP_SEND_ZC
        self.creds: Cred | None = None  # a personality
        self.done = self.queued = False  # queued: work of its is left to do
        # while it waits
        self.events, self.retries = 0, APOLL_MAX_RETRY
        self.woken: Callable[[], None] = self._ready
        self.waiting = PollWait(lambda: self.woken())  # ops.py exchanges it
        self.timer: Event | None = None
        self.target: int | None = None  # IORING_OP_TIMEOUT: as many completions
        self.guard: Request | None = None  # IORING_OP_LINK_TIMEOUT that watches it
        self.watches: Request | None = None  # what this one, being that, watches

    @property
    def linked(self) -> bool:
        """The next one follows it."""
        return bool(self.flags & (abi.IOSQE_IO_LINK | abi.IOSQE_IO_HARDLINK))

    def take_file(self) -> File:
        """io_assign_file().  EBADF."""
        if self.file is None:
            if self.flags & abi.IOSQE_FIXED_FILE:
                self.file = self.ring.fixed_file(self.fd).get()
            else:
                self.file = self.k.vfs.fget(self.fd).get()
        return self.file

    def take_buffer(self) -> tuple[int, int]:
        """io_buffer_select(): one that was provided: (address, bytes).  ENOBUFS."""
        group = self.ring.provided.get(self.buf_index)
        if group is None:
            raise KernelError(ENOBUFS)
        self.taken = address, length, number = self.taken or group.take()
        self.cqe_flags |= abi.IORING_CQE_F_BUFFER | number << abi.IORING_CQE_BUFFER_SHIFT
        return address, min(length, self.len) if self.len else length

    def give_buffer_back(self) -> None:
        """io_kbuf_recycle(): nothing came into it."""
        if self.taken is not None and not self.moved:
            group = self.ring.provided.get(self.buf_index)
            if group is not None:
                group.give_back(self.taken)
            self.taken, self.cqe_flags = None, 0

    def _used(self) -> None:
        """io_put_kbuf(): the buffer is the reader's."""
        group = self.ring.provided.get(self.buf_index) if self.taken is not None else None
        if group is not None:
            group.used()
        self.taken, self.cqe_flags = None, 0

    def post_more(self, result: int) -> bool:
        """One completion of several, unless there is no room for it, and it is the last; a buffer that it used is the reader's."""
        if not self.ring.has_room:
            return False
        self.ring.post(self.user_data, result, self.cqe_flags | abi.IORING_CQE_F_MORE)
        self._used()
        return True

    def notifies(self) -> None:
        """io_notif_flush(): behind the result comes word that its memory is not used any more."""
        self.notified = True

    # -- running ---------------------------------------------------------------------------------------------------

    def run(self) -> Steps[None]:
        """io_queue_sqe() (`yield from`): begin it, and what follows it as long as nothing has to wait."""
        request: Request | None = self
        while request is not None:
            request = yield from request.step()

    def step(self) -> Steps[Request | None]:
        """Begin it; what is to be begun next."""
        if self.done:
            return None
        if self.error is not None:
            return self.finish(self.error)
        try:
            result = yield from self.begin(self)
        except KernelError as error:
            result = -error.errno
        if result == PENDING:
            if self.done:
                return None
            self.ring.pending[self] = None
            if self.guard is not None and self.guard.timer is None:
                yield from self.guard.begin(self.guard)
            return None
        return self.finish(result)

    def fails(self, result: int) -> bool:
        """req_set_fail(): the chain ends here."""
        if (
            result == -ETIME
            and self.opcode == abi.IORING_OP_TIMEOUT
            and self.op_flags & abi.IORING_TIMEOUT_ETIME_SUCCESS
        ):
            return False
        return result < 0 or (self.expected is not None and result != self.expected)

    def finish(self, result: int, more: int = 0) -> Request | None:
        """io_req_complete_post(): tell it, and give what is to be begun next; a chain that broke is told of to its end."""
        if self.done:
            return None
        self.done = True
        self.detach()
        failed = self.fails(result)
        if self.is_told(failed):
            more |= abi.IORING_CQE_F_MORE if self.notified else 0
            self.ring.post(self.user_data, result, self.cqe_flags | more, self.opcode != abi.IORING_OP_TIMEOUT)
            if self.notified:
                self.ring.post(self.user_data, 0, abi.IORING_CQE_F_NOTIF)
        self._used()
        self.put_file()
        self.ring.finished += 1
        for begun in self.ring.undeferred():
            self.later(begun)
        following, self.next = self.next, None
        guard, self.guard = self.guard, None
        if guard is not None and not guard.done:
            guard.finish(-ECANCELED)
        if following is not None and failed and not self.flags & abi.IOSQE_IO_HARDLINK:
            following.fail_links(not self.flags & abi.IOSQE_CQE_SKIP_SUCCESS)
            return None
        return following

    def is_told(self, failed: bool) -> bool:
        """Whether there is a completion: what failed is told of, whatever it asked for, but a time-out of another."""
        if self.told is not None:
            return self.told
        return not self.flags & abi.IOSQE_CQE_SKIP_SUCCESS or (failed and self.watches is None)

    def fail_links(self, told: bool) -> None:
        """io_fail_links(): the rest of a chain that broke, all of it told of or nothing, as its head asked."""
        request: Request | None = self
        while request is not None:
            after, request.next = request.next, None
            request.told = told
            if request.guard is not None:
                request.guard.told = told
            request.finish(-ECANCELED if request.error is None else request.error)
            request = after

    def later(self, following: Begun | None) -> None:
        """io_req_task_work_add(): the submitter goes on with it on its way back to user mode."""
        if following is None or self.ring.closed:
            return
        if self.task.past_works:  # io_fallback_tw(): nobody is there to go on with it
            return following.cancel()
        if self.ring.defers:
            self.ring.add_local_work(self, following.run)
            return None
        self.task.task_works.append(following.run)
        self.k.cpus.wake_signal(self.task, False)
        return None

    def end(self, result: int) -> None:
        """io_req_task_complete() as work of the submitter: told of at once, where it does not ask for that (DEFER_TASKRUN)."""
        if not self.ring.defers or self.task.past_works or self.ring.closed:
            self.later(self.finish(result))
        elif not self.done:
            self.detach()
            self.ring.add_local_work(self, partial(self._end, result))

    def _end(self, result: int) -> Steps[None]:
        following = self.finish(result)
        if following is not None:
            yield from following.run()

    # -- waiting ---------------------------------------------------------------------------------------------------

    def arm(self, events: int) -> int:
        """io_arm_poll_handler(): begun again when the file says one of these events; PENDING, or EAGAIN if it never will."""
        file = self.take_file()
        if file.f_op.poll is None:
            return -EAGAIN
        self.give_buffer_back()
        self.events = events | POLLERR | POLLHUP
        queues: list[WaitQueue] = []
        if vfs_poll(self.k, file, queues) & self.events and self.retries:  # IO_APOLL_READY
            self.retries -= 1
            self.later(self)
        else:
            self.waiting.hang(queues)
        return PENDING

    def detach(self) -> None:
        """Nothing wakes it any more."""
        self.waiting.drop()
        self.k.clock.cancel(self.timer)
        self.timer = None
        self.ring.pending.pop(self, None)
        if self in self.ring.timeouts:
            self.ring.timeouts.remove(self)

    def _ready(self) -> None:
        assert self.file is not None
        if vfs_poll(self.k, self.file, None) & self.events and self.waiting.queues:
            self.waiting.drop()
            self.later(self)

    def counted(self) -> None:
        """A time-out that also ends when so many others are done."""
        if self.target is not None and self.ring.completed >= self.target:
            self.end(0)

    def expired(self) -> None:
        """io_timeout_fn(), io_link_timeout_fn()."""
        self.timer = None
        watched = self.watches
        if watched is not None:
            watched.guard = None
            watched.cancel()
        self.end(-ETIME)

    def expires_at(self, at: int) -> None:
        """io_timeout_update(): another time, and no number of completions any more."""
        self.k.clock.cancel(self.timer)
        self.target = None
        self.timer = self.k.clock.add(at, self.expired)

    def cancel(self) -> None:
        """io_cancel_req(): it ends without having been done."""
        self.end(-ECANCELED)

    def drop(self) -> None:
        """The instance goes."""
        self.done = True
        self.detach()
        self.put_file()

    def put_file(self) -> None:
        """io_put_file()."""
        file, self.file = self.file, None
        if file is not None:
            fput(file, self.task)


def _nothing(request: Request) -> Steps[int]:
    yield from ()
    return 0
