"""Asynchronous I/O.  fs/aio.c, include/uapi/linux/aio_abi.h.

Reads and writes are done when they are submitted, as Linux does those of files that are not opened for direct access; a poll waits.
What is done lies as an event in a ring that the process has mapped: the C library's half looks there itself.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from arch.abi.capability import CAP_SYS_ADMIN
from arch.abi.errno import (
    EAGAIN,
    EBADF,
    EFAULT,
    EINPROGRESS,
    EINTR,
    EINVAL,
    ENOMEM,
    EOPNOTSUPP,
    EPERM,
    ERESTARTNOHAND,
    ERESTARTSYS,
    ETIME,
)
from arch.abi.fcntl import O_LARGEFILE
from arch.abi.internal import READ, WRITE
from arch.abi.limits import PAGE_SIZE
from arch.abi.mman import MAP_SHARED, PROT_READ, PROT_WRITE
from arch.abi.poll import POLLERR, POLLHUP, POLLIN, POLLOUT, POLLRDNORM, POLLWRNORM
from arch.errors import KernelError
from simkernel.fs import constants as c
from simkernel.fs.eventfd import EventFd, unlinked_file
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import Dentry, File
from simkernel.fs.read_write import ScratchPos, sync_iter, verify_area
from simkernel.fs.select import PollWait, read_timespec, set_mask, vfs_poll
from simkernel.fs.uio import import_iovec
from simkernel.kernel.areas import Space, VmOperations
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.mm import Mm
from simkernel.kernel.task import WaitQueue

AIO_RING_MAGIC = 0xA10A10A1
RING_HEAD = 32  # sizeof(struct aio_ring): id, nr, head, tail, magic, compat_features, incompat_features, header_length
IO_EVENT_SIZE, IOCB_SIZE = 32, 64
CMD_PREAD, CMD_PWRITE, CMD_FSYNC, CMD_FDSYNC, CMD_POLL, CMD_PREADV, CMD_PWRITEV = 0, 1, 2, 3, 5, 7, 8
FLAG_RESFD, FLAG_IOPRIO = 1, 2
RWF_SUPPORTED = 0x1F
KIOCB_KEY = 0
EIOCBQUEUED = 529
SIDES = (POLLIN | POLLRDNORM, POLLOUT | POLLWRNORM)


class Iocb:
    """struct iocb: what user space asks."""

    def __init__(self, k: FsKernel, addr: int) -> None:
        raw = k.usercopy.copy_from_user(addr, IOCB_SIZE)
        order = "<" if k.mem.byteorder == "little" else ">"
        self.addr = addr
        self.data, first, second = struct.unpack(order + "QII", raw[:16])
        self.key_at, self.rw_flags = (addr + 8, second) if order == "<" else (addr + 12, first)
        rest = struct.unpack(order + "HhiQQqQII", raw[16:])
        self.opcode, self.prio, self.fd, self.buf, self.nbytes, self.offset, self.reserved, self.flags, self.resfd = (
            rest
        )


class Request:
    """struct aio_kiocb: one that is on its way."""

    def __init__(self, context: Context, iocb: Iocb, file: File, eventfd: File | None) -> None:
        self.context, self.iocb, self.file, self.eventfd = context, iocb, file, eventfd
        self.events = 0
        self.waiting = PollWait(self.woken)

    def complete(self, result: int) -> None:
        """aio_complete(), and the references go."""
        self.waiting.drop()
        self.context.complete(self, result)
        if self.eventfd is not None:
            self.eventfd.private_data.signal(self.context.k)
            self.eventfd.put()
        self.file.put()

    def woken(self) -> None:
        """aio_poll_wake(): the event says all that who woke it says of that direction."""
        found = vfs_poll(self.context.k, self.file, None)
        if found & self.events and self in self.context.polls:
            self.context.polls.remove(self)
            wide = sum(side for side in SIDES if side & self.events)
            self.complete(found & (self.events | wide))


class RingArea(VmOperations):
    """aio_ring_vm_ops: a context is called by where its ring lies."""

    def __init__(self, context: Context) -> None:
        self.context = context

    def moves(self, mm: Space, to: int) -> None:
        """aio_ring_mremap(): only where the context is, while it is there.  EINVAL."""
        context = self.context
        table = context.mm.ioctx_table
        if mm is not context.mm or table.get(context.id) is not context:
            raise KernelError(EINVAL, "not the ring of a context of this address space")
        del table[context.id]
        context.id = to
        table[to] = context


class Places:
    """reqs_available of struct kioctx: places in the ring, which CPUs take and give back by the batch."""

    def __init__(self, count: int, cpus: int) -> None:
        self.free, self.batch = count, max(1, count // (cpus * 4))
        self.of_cpu: dict[int, int] = {}

    def take(self, cpu: int) -> bool:
        """__get_reqs_available(): a place for one request."""
        kept = self.of_cpu.get(cpu, 0)
        if not kept:
            if self.free < self.batch:
                return False
            self.free -= self.batch
            kept = self.batch
        self.of_cpu[cpu] = kept - 1
        return True

    def put(self, cpu: int, count: int) -> None:
        """put_reqs_available(): what a CPU has too much goes back."""
        kept = self.of_cpu.get(cpu, 0) + count
        back = max(0, kept // self.batch - 1) * self.batch
        self.of_cpu[cpu] = kept - back
        self.free += back


class Context:
    """struct kioctx: a ring, and what is on its way to it."""

    def __init__(self, k: FsKernel, mm: Mm, wanted: int) -> None:
        self.k, self.mm = k, mm
        self.max_reqs = wanted
        count = max(wanted, 4 * k.nr_cpus) * 2 + 2
        self.size = -(-(RING_HEAD + IO_EVENT_SIZE * count) // PAGE_SIZE) * PAGE_SIZE
        self.nr_events = (self.size - RING_HEAD) // IO_EVENT_SIZE
        self.places = Places(self.nr_events - 1, k.nr_cpus)
        self.tail = self.completed = 0
        self.wait = WaitQueue("aio")
        self.polls: list[Request] = []
        self.order = "<" if k.mem.byteorder == "little" else ">"
        self.file = unlinked_file(k, "[aio]", O_LARGEFILE, _ring_name)
        self.file.f_inode.i_size = self.size
        self.id = mm.map(0, self.size, PROT_READ | PROT_WRITE, MAP_SHARED, self.file)
        vma = mm.find(self.id)
        assert vma is not None
        vma.ops, vma.dontexpand = RingArea(self), True
        self.put(0, len(mm.ioctx_table), self.nr_events, 0, 0, AIO_RING_MAGIC, 1, 0, RING_HEAD)

    def put(self, at: int, *words: int) -> None:
        """Words of the ring."""
        mapping = self.file.f_mapping
        assert mapping is not None
        mapping.write(at, struct.pack(f"{self.order}{len(words)}I", *words))

    def read(self, at: int, size: int) -> bytes:
        """Bytes of the ring."""
        mapping = self.file.f_mapping
        assert mapping is not None
        return mapping.read(at, size)

    @property
    def head(self) -> int:
        """Where the reader is; user space may have moved it, too."""
        (head,) = struct.unpack(self.order + "I", self.read(8, 4))
        return int(head) % self.nr_events

    @property
    def filled(self) -> int:
        """Events that nobody has taken."""
        return (self.tail - self.head) % self.nr_events

    def take_place(self) -> bool:
        """get_reqs_available(): every request has its place in the ring; what user space has read by itself is looked for at need."""
        cpu = self.k.current.cpu
        if self.places.take(cpu):
            return True
        if self.completed:
            self.refill()
        return self.places.take(cpu)

    def refill(self) -> None:
        """refill_reqs_available(): the places of events that were read."""
        read = max(0, self.completed - self.filled)
        self.completed -= read
        self.places.put(self.k.current.cpu, read)

    def complete(self, request: Request, result: int) -> None:
        """aio_complete(): one more event."""
        mapping = self.file.f_mapping
        assert mapping is not None
        event = struct.pack(self.order + "QQqq", request.iocb.data, request.iocb.addr, result, 0)
        mapping.write(RING_HEAD + IO_EVENT_SIZE * self.tail, event)
        self.tail = (self.tail + 1) % self.nr_events
        self.put(12, self.tail)
        self.completed += 1
        if self.completed > 1:
            self.refill()
        self.k.wake_up(self.wait, 0)

    def take(self, limit: int, events: int) -> int:
        """aio_read_events_ring(): events to user memory.  EFAULT."""
        head, count = self.head, min(limit, self.filled)
        raw = b"".join(
            self.read(RING_HEAD + IO_EVENT_SIZE * ((head + i) % self.nr_events), IO_EVENT_SIZE) for i in range(count)
        )
        if raw:
            self.k.usercopy.copy_to_user(events, raw)
            self.put(8, (head + count) % self.nr_events)
        return count

    def kill(self) -> None:
        """kill_ioctx(): nothing comes any more."""
        for request in self.polls:
            request.waiting.drop()
            request.file.put()
        self.polls.clear()
        self.k.vfs.aio_nr -= self.max_reqs
        self.k.wake_up(self.wait, 0)
        self.file.put()


def _ring_name(dentry: Dentry) -> str:
    return "/[aio] (deleted)"


def _context(k: FsKernel, number: int) -> Context:
    """lookup_ioctx().  EINVAL."""
    mm = k.current.mm
    found = mm.ioctx_table.get(number) if mm is not None else None
    if not isinstance(found, Context):
        raise KernelError(EINVAL, "no such context")
    return found


@syscall("io_setup", "unsigned nr_events, aio_context_t *ctxp", source="fs/aio.c")
def sys_io_setup(k: FsKernel, nr_events: int, ctxp: int) -> int:
    """A new context, with room for so many requests.  EINVAL, EFAULT, EAGAIN, ENOMEM."""
    word = k.arch.model.word
    if k.usercopy.get_user(ctxp, word) or not nr_events:
        raise KernelError(EINVAL)
    if max(nr_events, 4 * k.nr_cpus) * 2 > 0x10000000 // IO_EVENT_SIZE:
        raise KernelError(EINVAL)
    if nr_events > k.vfs.sysctl["fs.aio-max-nr"] or k.vfs.aio_nr + nr_events > k.vfs.sysctl["fs.aio-max-nr"]:
        raise KernelError(EAGAIN)
    mm = k.current.mm
    if mm is None:
        raise KernelError(ENOMEM)
    context = Context(k, mm, nr_events)
    k.vfs.aio_nr += nr_events
    mm.ioctx_table[context.id] = context
    k.usercopy.put_user(ctxp, word, context.id)
    return 0


@syscall("io_destroy", "aio_context_t ctx", source="fs/aio.c")
def sys_io_destroy(k: FsKernel, ctx: int) -> int:
    """The context and its ring go.  EINVAL."""
    context = _context(k, ctx)
    del context.mm.ioctx_table[ctx]
    context.mm.unmap(context.id, context.size)
    context.kill()
    return 0


def exit_aio(k: FsKernel, mm: Mm) -> None:
    """An address space ends."""
    for context in list(mm.ioctx_table.values()):
        assert isinstance(context, Context)
        context.kill()
    mm.ioctx_table.clear()


@syscall("io_submit", "aio_context_t ctx_id, long nr, struct iocb **iocbpp", source="fs/aio.c")
def sys_io_submit(k: FsKernel, ctx_id: int, nr: int, iocbpp: int) -> Body:
    """How many were taken; why the first was not.  EINVAL, EFAULT, EAGAIN, EBADF, EOPNOTSUPP."""
    if nr < 0:
        raise KernelError(EINVAL)
    context, word = _context(k, ctx_id), k.arch.model.word
    done = 0
    for done in range(min(nr, context.nr_events)):
        try:
            yield from _submit(k, context, k.usercopy.get_user(iocbpp + word * done, word))
        except KernelError as error:
            return done or -error.errno
    return min(nr, context.nr_events) and done + 1


def _submit(k: FsKernel, context: Context, addr: int) -> Body:
    """io_submit_one()."""
    iocb = Iocb(k, addr)
    if iocb.reserved:
        raise KernelError(EINVAL)
    word = 1 << 8 * k.arch.model.word
    if iocb.buf >= word or iocb.nbytes >= word >> 1:
        raise KernelError(EINVAL)
    if not context.take_place():
        raise KernelError(EAGAIN)
    try:
        return (yield from _start(k, context, iocb))
    except KernelError:
        context.places.put(k.current.cpu, 1)
        raise


def _start(k: FsKernel, context: Context, iocb: Iocb) -> Body:
    """__io_submit_one()."""
    file = k.vfs.fget(iocb.fd)
    eventfd = None
    if iocb.flags & FLAG_RESFD:
        eventfd = k.vfs.fget(iocb.resfd)
        if not isinstance(eventfd.private_data, EventFd):
            raise KernelError(EINVAL)
    k.usercopy.put_user(iocb.key_at, 4, KIOCB_KEY)
    start = COMMANDS.get(iocb.opcode)
    if start is None:
        raise KernelError(EINVAL, "no such command")
    request = Request(context, iocb, file.get(), eventfd.get() if eventfd is not None else None)
    try:
        result = yield from start(k, request)
    except KernelError:
        if eventfd is not None:
            eventfd.put()
        file.put()
        raise
    if result != -EIOCBQUEUED:
        request.complete(result)
    return 0


Start = Callable[[FsKernel, Request], Body]  # gives the result, or -EIOCBQUEUED while it is not there


def _transfer(k: FsKernel, request: Request, direction: int, vector: bool) -> Body:
    """aio_read(), aio_write(): what the file refuses at once is the call's error, the rest the event's."""
    iocb, file = request.iocb, request.file
    if iocb.rw_flags & ~RWF_SUPPORTED:
        raise KernelError(EOPNOTSUPP)
    if iocb.flags & FLAG_IOPRIO and iocb.prio >> 13 not in (0, 1, 2, 3):
        raise KernelError(EINVAL)
    if iocb.flags & FLAG_IOPRIO and iocb.prio >> 13 == 1 and not k.capable(CAP_SYS_ADMIN):
        raise KernelError(EPERM)
    if not file.f_mode & (c.FMODE_READ if direction == READ else c.FMODE_WRITE):
        raise KernelError(EBADF)
    function = file.f_op.read_iter if direction == READ else file.f_op.write_iter
    if function is None:
        raise KernelError(EINVAL)
    segments = import_iovec(k, iocb.buf, iocb.nbytes) if vector else [(iocb.buf, iocb.nbytes)]
    if any(base + length > k.vfs.user_end for base, length in segments):
        raise KernelError(EFAULT)
    own = ScratchPos(k, iocb.offset)
    try:
        total = sum(length for _, length in segments)
        ret = yield from verify_area(k, file, direction, own.addr, total)
        if ret < 0:
            raise KernelError(-ret)
        ret = yield from sync_iter(k, file, function, segments, own.addr, iocb.rw_flags)
    finally:
        own.free()
    return -EINTR if ret in (-ERESTARTSYS, -ERESTARTNOHAND) else ret


def _fsync(k: FsKernel, request: Request, data_only: int) -> Body:
    """aio_fsync()."""
    iocb = request.iocb
    if iocb.buf or iocb.offset or iocb.nbytes or iocb.rw_flags or request.file.f_op.fsync is None:
        raise KernelError(EINVAL)
    return (yield k.call("vfs_fsync", request.file.addr, data_only))


def _poll(k: FsKernel, request: Request) -> Body:
    """aio_poll(): once, when one of the events is there."""
    yield from ()
    iocb, file = request.iocb, request.file
    if iocb.buf >> 16 or iocb.offset or iocb.nbytes or iocb.rw_flags or file.f_op.poll is None:
        raise KernelError(EINVAL)
    request.events = iocb.buf | POLLERR | POLLHUP
    queues: list[WaitQueue] = []
    mask = vfs_poll(k, file, queues) & request.events
    if mask:
        return mask
    request.waiting.hang(queues)
    request.context.polls.append(request)
    return -EIOCBQUEUED


COMMANDS: dict[int, Start] = {
    CMD_PREAD: lambda k, request: _transfer(k, request, READ, False),
    CMD_PWRITE: lambda k, request: _transfer(k, request, WRITE, False),
    CMD_FSYNC: lambda k, request: _fsync(k, request, 0),
    CMD_FDSYNC: lambda k, request: _fsync(k, request, 1),
    CMD_POLL: _poll,
    CMD_PREADV: lambda k, request: _transfer(k, request, READ, True),
    CMD_PWRITEV: lambda k, request: _transfer(k, request, WRITE, True),
}


@syscall("io_cancel", "aio_context_t ctx_id, struct iocb *iocb, struct io_event *result", source="fs/aio.c")
def sys_io_cancel(k: FsKernel, ctx_id: int, iocb: int, result: int) -> int:
    """A poll that waits ends, with its event.  EINPROGRESS when it did; EINVAL for what is not there, EFAULT."""
    at = iocb + (8 if k.mem.byteorder == "little" else 12)
    if k.usercopy.get_user(at, 4) != KIOCB_KEY:
        raise KernelError(EINVAL)
    context = _context(k, ctx_id)
    for request in context.polls:
        if request.iocb.addr == iocb:
            context.polls.remove(request)
            request.complete(0)
            raise KernelError(EINPROGRESS)
    raise KernelError(EINVAL)


@kernel_function(
    "long read_events(struct kioctx *ctx, long min_nr, long nr, struct io_event *event, ktime_t until)",
    source="fs/aio.c",
)
def read_events(k: FsKernel, ctx: int, min_nr: int, nr: int, events: int, until: int) -> Body:
    """At least `min_nr` events, or what came until the time (ns from now, -1 for ever) was up.  EINTR, EFAULT, EINVAL."""
    context, word = _context(k, ctx), 1 << 63
    limit = None if until < 0 else k.clock.now_ns + until
    done = 0
    while True:
        try:
            done += context.take(nr - done, events + IO_EVENT_SIZE * done)
        except KernelError as error:
            return done or -error.errno
        if done >= min_nr or until == 0 or done == nr or nr >= word:
            return done
        ret = yield k.wait(context.wait, timeout_ns=None if limit is None else max(0, limit - k.clock.now_ns))
        if ret == -ETIME:
            return done + context.take(nr - done, events + IO_EVENT_SIZE * done)
        if ret < 0:
            return done or ret
        if context.id not in context.mm.ioctx_table:
            return done or -EINVAL


def _getevents(k: FsKernel, ctx: int, min_nr: int, nr: int, events: int, timeout: int | None) -> Body:
    """do_io_getevents()."""
    _context(k, ctx)
    if not 0 <= min_nr <= nr:
        raise KernelError(EINVAL)
    return (yield k.call("read_events", ctx, min_nr, nr, events, -1 if timeout is None else timeout))


@syscall(
    "io_getevents", "aio_context_t ctx_id, long min_nr, long nr, struct io_event *events, struct __kernel_timespec *timeout",
    source="fs/aio.c",
)  # fmt: skip
def sys_io_getevents(k: FsKernel, ctx_id: int, min_nr: int, nr: int, events: int, timeout: int) -> Body:
    """How many events came.  EINVAL, EFAULT, EINTR."""
    until = _timeout(k, timeout, k.arch.model.word)
    ret = yield from _getevents(k, ctx_id, min_nr, nr, events, until)
    return -EINTR if ret == -ERESTARTSYS else ret


def _timeout(k: FsKernel, timeout: int, word: int) -> int | None:
    """get_timespec64(): what makes no sense as a time is over at once."""
    try:
        return read_timespec(k, timeout, word)
    except KernelError as error:
        if error.errno == EINVAL:
            return 0
        raise


def pgetevents(k: FsKernel, ctx: int, min_nr: int, nr: int, events: int, timeout: int, usig: int, word: int) -> Body:
    """io_pgetevents() with the size of time_t: struct __aio_sigset is a pointer and a size."""
    until = _timeout(k, timeout, word)
    pointer = k.arch.model.word
    mask, size = (k.usercopy.get_user(usig + i * pointer, pointer) for i in (0, 1)) if usig else (0, 0)
    restore = set_mask(k, mask, size)
    ret = yield from _getevents(k, ctx, min_nr, nr, events, until)
    interrupted = ret == -ERESTARTSYS
    if restore is not None:
        restore(interrupted)
    return -ERESTARTNOHAND if interrupted else ret


_PGETEVENTS = "aio_context_t ctx_id, long min_nr, long nr, struct io_event *events, struct __kernel_timespec *timeout, const struct __aio_sigset *usig"  # fmt: skip


@syscall("io_pgetevents", _PGETEVENTS, source="fs/aio.c", since="4.18")
def sys_io_pgetevents(k: FsKernel, ctx: int, min_nr: int, nr: int, events: int, timeout: int, usig: int) -> Body:
    """With another signal mask meanwhile."""
    return (yield from pgetevents(k, ctx, min_nr, nr, events, timeout, usig, k.arch.model.word))


@syscall("io_pgetevents_time64", _PGETEVENTS, source="fs/aio.c", since="5.1")
def sys_io_pgetevents_time64(k: FsKernel, ctx: int, min_nr: int, nr: int, events: int, timeout: int, usig: int) -> Body:
    """The same with times of 64 bits on a machine of 32."""
    return (yield from pgetevents(k, ctx, min_nr, nr, events, timeout, usig, 8))
