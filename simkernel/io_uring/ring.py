"""One instance: the memory of its rings, what is on its way, and its file.  io_uring/io_uring.c."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from arch.abi import io_uring as abi
from arch.abi.errno import EBADF, EFAULT, EINVAL, ENFILE, ENOMEM
from arch.abi.limits import PAGE_SIZE
from arch.abi.poll import POLLIN, POLLOUT, POLLRDNORM, POLLWRNORM
from arch.abi.resource import RLIMIT_NPROC
from arch.errors import KernelError
from arch.records import dataclass, field
from simkernel.fs.inode import File, FileOperations
from simkernel.io_uring.kbuf import BufferGroup, Tags
from simkernel.kernel.areas import Vma
from simkernel.kernel.body import Steps
from simkernel.kernel.task import Cred, Task, WaitQueue
from simkernel.net.face import NetKernel


class Polls(Protocol):
    """Who takes an instance's requests of its own accord (sqpoll.py)."""

    stopped: bool

    def wake(self) -> None:
        """There are some."""

    def leave(self, ring: Ring) -> bool:
        """The instance goes; False: its memory is needed until what is begun just now is done."""


class Begun(Protocol):
    """A request, as its instance knows it (request.py)."""

    user_data: int
    opcode: int
    task: Task
    sequence: int
    drains: bool
    file: File | None
    events: int
    woken: Callable[[], None]

    def expires_at(self, at: int) -> None:
        """Another time, in ns of the machine's clock."""

    def run(self) -> Steps[None]:
        """Begin it."""

    def counted(self) -> None:
        """One more completion came."""

    def cancel(self) -> None:
        """It ends without having been done."""

    def drop(self) -> None:
        """The instance goes."""


@dataclass(slots=True)
class Restrictions:
    """struct io_restriction: what may be asked of an instance once it is enabled."""

    register_ops: set[int] = field(default_factory=set)
    sqe_ops: set[int] = field(default_factory=set)
    flags_allowed: int = 0
    flags_required: int = 0

    def allow(self, opcode: int, flags: int) -> bool:
        """io_check_restriction()."""
        return (
            opcode in self.sqe_ops
            and flags & self.flags_required == self.flags_required
            and not flags & ~(self.flags_allowed | self.flags_required)
        )


def fput(file: File, task: Task) -> None:
    """One reference less, from plain code: what the last one ends (a socket takes calls for that) a task does on its way to user mode."""
    k = file.vfs.k
    if file.f_count > 1 or task.past_works:
        return file.put()
    file.f_count = 0

    def work() -> Steps[None]:
        yield k.call("____fput", file.addr)

    task.task_works.appendleft(work)
    task.work = True
    return None


def pages_of(size: int) -> int:
    """How many pages hold so many bytes."""
    return -(-size // PAGE_SIZE)


class Ring:
    """struct io_ring_ctx."""

    def __init__(self, k: NetKernel, sq_entries: int, cq_entries: int, flags: int) -> None:
        self.k, self.sq_entries, self.cq_entries, self.flags = k, sq_entries, cq_entries, flags
        self.sqe_size = 2 * abi.SQE_SIZE if flags & abi.IORING_SETUP_SQE128 else abi.SQE_SIZE
        wide = bool(
            flags & abi.IORING_SETUP_CQE32
        )  # rings_size() doubles all before the array, not the completions alone
        self.cqe_size = 2 * abi.CQE_SIZE if wide else abi.CQE_SIZE
        self.array = (abi.CQES + abi.CQE_SIZE * cq_entries) << wide
        self.array = -(-self.array // abi.CACHE_LINE) * abi.CACHE_LINE
        self.size = self.array + 4 * sq_entries
        self.rings = k.mem.alloc_pages(pages_of(self.size))
        self.sqes = k.mem.alloc_pages(pages_of(self.sqe_size * sq_entries))
        for at, value in (
            (abi.SQ_RING_MASK, sq_entries - 1), (abi.CQ_RING_MASK, cq_entries - 1), (abi.SQ_RING_ENTRIES, sq_entries),
            (abi.CQ_RING_ENTRIES, cq_entries),
        ):  # fmt: skip
            self.put(at, value)
        self.wait = WaitQueue("cq_wait")
        self.local_work: deque[tuple[Begun, Callable[[], Steps[None]]]] = deque()  # of DEFER_TASKRUN
        self.overflow: deque[tuple[int, int, int]] = deque()
        self.pending: dict[Begun, None] = {}  # begun and not done, oldest first
        self.timeouts: list[Begun] = []  # those among them that also count completions
        self.completed = 0  # completions of anything but time-outs
        self.files: list[File | None] | None = None  # registered ones
        self.alloc_range, self.alloc_hint = (0, 0), 0  # where a slot for one more is looked for
        self.personalities: dict[int, Cred] = {}
        self.next_personality = 1
        self.restrictions: Restrictions | None = None
        self.restricted = False
        self.workers = [min(sq_entries, 4 * k.nr_cpus), k.current.rlimits[RLIMIT_NPROC][0] & 0xFFFFFFFF]
        self.buffers: list[tuple[int, int]] | None = None
        self.provided: dict[int, BufferGroup] = {}
        self.file_tags, self.buffer_tags = Tags(k, self.post), Tags(k, self.post)
        self.eventfd: File | None = None
        self.drain_disabled = self.drain_next = False
        self.deferred: deque[Begun] = deque()  # IOSQE_IO_DRAIN: when all before them are done
        self.taken = self.finished = 0  # requests laid down, and those among them that are done
        self.closed = False
        self.sq_data: Polls | None = None  # IORING_SETUP_SQPOLL
        self.sq_idle_ns, self.sq_wait = 0, WaitQueue("sqo_sq_wait")
        self.creds = k.current.cred
        self.submitter: Task | None = None  # IORING_SETUP_SINGLE_ISSUER: who alone may
        if not flags & abi.IORING_SETUP_R_DISABLED:
            self.enabled()
        k.tasks.exit_hooks.append(self._task_exits)

    def _task_exits(self, task: Task) -> None:
        """io_uring_cancel_generic(): requests at instances end with who made them; nobody would let go of these files."""
        for request in [
            r for r in self.pending if r.task is task and r.file is not None and r.file.f_op is IO_URING_FOPS
        ]:
            request.cancel()

    def enabled(self) -> None:
        """It may be used from now on."""
        self.flags &= ~abi.IORING_SETUP_R_DISABLED
        self.restricted = self.restrictions is not None
        if self.flags & abi.IORING_SETUP_SINGLE_ISSUER:
            self.submitter = self.k.current

    @property
    def defers(self) -> bool:
        """What has become of requests is looked at when the submitter asks for completions, and at no other time."""
        return bool(self.flags & abi.IORING_SETUP_DEFER_TASKRUN)

    def add_local_work(self, request: Begun, work: Callable[[], Steps[None]]) -> None:
        """io_req_local_work_add(): left to do when the submitter asks for completions, of which the first is announced."""
        self.local_work.append((request, work))
        if len(self.local_work) > 1:
            return
        if self.flags & abi.IORING_SETUP_TASKRUN_FLAG:
            self.put(abi.SQ_FLAGS, self.get(abi.SQ_FLAGS) | abi.IORING_SQ_TASKRUN)
        self._signal()
        self.k.wake_up(self.wait, 0)

    def run_local_work(self) -> Steps[None]:
        """io_run_local_work() (`yield from`)."""
        while self.local_work:
            if self.flags & abi.IORING_SETUP_TASKRUN_FLAG:
                self.put(abi.SQ_FLAGS, self.get(abi.SQ_FLAGS) & ~abi.IORING_SQ_TASKRUN)
            works, self.local_work = self.local_work, deque()
            for _, work in works:
                yield from work()

    def _signal(self) -> None:
        """io_eventfd_signal()."""
        if self.eventfd is not None and not self.get(abi.CQ_FLAGS) & abi.IORING_CQ_EVENTFD_DISABLED:
            self.eventfd.private_data.signal(self.k)

    # -- the shared memory -----------------------------------------------------------------------------------------

    def get(self, at: int) -> int:
        """A word of struct io_rings."""
        return self.k.mem.read_uint(self.rings + at, 4)

    def put(self, at: int, value: int) -> None:
        """Store one."""
        self.k.mem.write_uint(self.rings + at, 4, value & 0xFFFFFFFF)

    @property
    def waiting_sqes(self) -> int:
        """io_sqring_entries(): requests that user space has laid down; never more than there is room for."""
        return min((self.get(abi.SQ_TAIL) - self.get(abi.SQ_HEAD)) & 0xFFFFFFFF, self.sq_entries)

    def next_sqe(self) -> bytes | None:
        """io_get_sqe(): 64 bytes, or None for an index that is none, which is dropped."""
        head = self.get(abi.SQ_HEAD)
        index = self.get(self.array + 4 * (head & self.sq_entries - 1))
        self.put(abi.SQ_HEAD, head + 1)
        if index >= self.sq_entries:
            self.put(abi.SQ_DROPPED, self.get(abi.SQ_DROPPED) + 1)
            return None
        return bytes(self.k.mem.read(self.sqes + self.sqe_size * index, abi.SQE_SIZE))

    @property
    def ready(self) -> int:
        """Completions that nobody has taken, in the ring."""
        return (self.get(abi.CQ_TAIL) - self.get(abi.CQ_HEAD)) & 0xFFFFFFFF

    @property
    def has_room(self) -> bool:
        """One more completion goes into the ring itself."""
        return not self.overflow and self.ready < self.cq_entries

    def post(self, user_data: int, result: int, flags: int = 0, counts: bool = True) -> None:
        """io_fill_cqe_aux(): one more completion; what finds no room waits for some."""
        if self.closed:
            return
        if not self.has_room:
            self.overflow.append((user_data, result, flags))
            self.put(abi.SQ_FLAGS, self.get(abi.SQ_FLAGS) | abi.IORING_SQ_CQ_OVERFLOW)
        else:
            self._store(user_data, result, flags)
        if counts:
            self.completed += 1
            for request in list(self.timeouts):
                request.counted()
        self._signal()
        self.k.wake_up(self.wait, 0)

    def _store(self, user_data: int, result: int, flags: int) -> None:
        tail = self.get(abi.CQ_TAIL)
        at, mem = self.rings + abi.CQES + self.cqe_size * (tail & self.cq_entries - 1), self.k.mem
        mem.write_uint(at, 8, user_data)
        mem.write_uint(at + 8, 4, result & 0xFFFFFFFF)
        mem.write_uint(at + 12, 4, flags)
        if self.cqe_size > abi.CQE_SIZE:
            mem.write(at + abi.CQE_SIZE, bytes(abi.CQE_SIZE))
        self.put(abi.CQ_TAIL, tail + 1)

    def flush_overflow(self) -> None:
        """io_cqring_overflow_flush(): as much as there is room for."""
        while self.overflow and self.ready < self.cq_entries:
            self._store(*self.overflow.popleft())
        if not self.overflow:
            self.put(abi.SQ_FLAGS, self.get(abi.SQ_FLAGS) & ~abi.IORING_SQ_CQ_OVERFLOW)

    def need_defer(self, head: Begun) -> bool:
        """req_need_defer(): all that was laid down before it must be done, and is not."""
        return head.drains and self.finished != head.sequence

    def undeferred(self) -> Iterator[Begun]:
        """io_queue_deferred(): what may begin now."""
        while self.deferred and not self.need_defer(self.deferred[0]):
            yield self.deferred.popleft()

    # -- registered files ------------------------------------------------------------------------------------------

    def fixed_file(self, index: int) -> File:
        """io_file_get_fixed().  EBADF."""
        found = self.files[index] if self.files is not None and 0 <= index < len(self.files) else None
        if found is None:
            raise KernelError(EBADF)
        return found

    def free_slot(self) -> int:
        """io_file_bitmap_get(): from where the last one was taken, then from the start.  ENFILE."""
        start, end = self.alloc_range
        for first, last in ((self.alloc_hint, end), (start, self.alloc_hint)):
            for index in range(first, min(last, len(self.files or ()))):
                if self.files is not None and self.files[index] is None:
                    return index
        raise KernelError(ENFILE)

    # -- the end ---------------------------------------------------------------------------------------------------

    def release(self) -> None:
        """io_ring_ctx_wait_and_kill(): nothing is told any more."""
        self.closed = True
        self.k.tasks.exit_hooks.remove(self._task_exits)
        left = [request for request, _ in self.local_work if request not in self.pending]
        self.local_work.clear()
        for request in (*self.pending, *left):
            request.drop()
        for file in self.files or ():
            if file is not None:
                fput(file, self.k.current)
        self.files = None
        for group in self.provided.values():
            group.release()
        self.provided.clear()
        if self.eventfd is not None:
            self.eventfd.put()
            self.eventfd = None
        if self.sq_data is None or self.sq_data.leave(self):
            self.free_memory()

    def free_memory(self) -> None:
        """io_mem_free()."""
        self.k.mem.free_pages(self.rings, pages_of(self.size))
        self.k.mem.free_pages(self.sqes, pages_of(self.sqe_size * self.sq_entries))


@contextmanager
def passed(k: NetKernel, ring: Ring) -> Iterator[int]:
    """Its address, as long as a kernel function is at it."""
    ctx = k.mem.alloc(64)
    k.vfs.objects[ctx] = ring
    try:
        yield ctx
    finally:
        del k.vfs.objects[ctx]
        k.mem.free(ctx)


def ring_in(file: File) -> Ring:
    """The instance that an open file is."""
    assert isinstance(file.private_data, Ring)
    return file.private_data


def _mmap(k: NetKernel, file: File, vma: Vma) -> None:
    """io_uring_mmap(): both rings are one piece; the requests are another.  EINVAL, ENOMEM."""
    ring, offset = ring_in(file), vma.pgoff * PAGE_SIZE
    if offset in (abi.IORING_OFF_SQ_RING, abi.IORING_OFF_CQ_RING):
        start, size = ring.rings, ring.size
    elif offset == abi.IORING_OFF_SQES:
        start, size = ring.sqes, ring.sqe_size * ring.sq_entries
    else:
        # io_uring_mmu_get_unmapped_area(), which long-term kernels got, too
        raise KernelError(ENOMEM if k.version.at_least("6.1") else EINVAL, "nothing is at that offset")
    first = vma.pgoff

    def fault(vma: Vma, pgoff: int) -> int:
        if pgoff - first >= pages_of(size):
            raise KernelError(EFAULT, "behind the ring")
        return k.mem.translate(start + (pgoff - first) * PAGE_SIZE)

    vma.fault = fault
    vma.dontexpand = True


def _poll(k: NetKernel, file: File, queues: list[WaitQueue] | None) -> int:
    """io_uring_poll()."""
    ring = ring_in(file)
    if queues is not None:
        queues.append(ring.wait)
    mask = POLLOUT | POLLWRNORM if ring.waiting_sqes < ring.sq_entries else 0
    return mask | (POLLIN | POLLRDNORM if ring.ready or ring.overflow or ring.local_work else 0)


def _release(k: NetKernel, file: File) -> None:
    ring_in(file).release()


IO_URING_FOPS = FileOperations(
    "io_uring_fops", llseek="no_llseek", sendable=False, mmap=_mmap, poll=_poll, release=_release
)
