"""The thread that takes requests of its own accord, for one instance or several (IORING_SETUP_SQPOLL).  io_uring/sqpoll.c.

Linux's is a thread of the process; here it is one of the kernel's that has the process's memory, files and rights.  It looks
for requests at times, rarer and rarer while there are none, and as often as it can on Linux.
"""

from __future__ import annotations

from arch.abi import io_uring as abi
from arch.abi.errno import ENXIO
from arch.errors import KernelError
from simkernel.fs.fdtable import publish_task_files
from simkernel.io_uring.op import refuse
from simkernel.io_uring.ring import IO_URING_FOPS, Ring, passed, ring_in
from simkernel.kernel.body import Steps
from simkernel.kernel.entry import run_task_works
from simkernel.kernel.task import PF_EXITING, Task, WaitQueue
from simkernel.net.face import NetKernel

FIRST_LOOK_NS, RARE_LOOK_NS = 5_000, 200_000
DEFAULT_IDLE_NS = 10**9  # HZ
MSEC = 10**6


class SqData:
    """struct io_sq_data."""

    def __init__(self, k: NetKernel, cpu: int | None) -> None:
        self.k, self.owner = k, k.current
        self.rings: list[Ring] = []
        self.serving: Ring | None = None  # requests of this one are begun just now
        self.wait = WaitQueue("sqd_wait")
        self.stopped = False
        thread = k.threads.make_kernel_thread(f"iou-sqp-{self.owner.pid}", self.io_sq_thread)
        if cpu is not None:
            thread.affinity, thread.cpu = 1 << cpu, cpu
        self._borrow(thread)
        k.tasks.exit_hooks.append(self._task_exits)
        k.cpus.wake_new(thread)

    def _borrow(self, thread: Task) -> None:
        """What create_io_thread() shares with who asks."""
        mm, owner = self.owner.mm, self.owner
        assert mm is not None
        self.k.mm.assign(thread, mm)
        mm.users += 1
        thread.files, thread.fs = owner.files, owner.fs
        thread.namespaces, thread.pid_ns = owner.namespaces, owner.pid_ns
        publish_task_files(self.k.vfs.mirror, thread)

    def add(self, ring: Ring) -> None:
        """One more instance to look after."""
        self.rings.append(ring)
        ring.sq_data = self

    # -- who tells it ----------------------------------------------------------------------------------------------

    def wake(self) -> None:
        """IORING_ENTER_SQ_WAKEUP."""
        self.k.wake_up(self.wait, 0)

    def leave(self, ring: Ring) -> bool:
        """io_sq_thread_finish(): an instance goes, at once or (False) when its request is done; with the last the thread goes."""
        self.rings.remove(ring)
        if not self.rings:
            self._stop()
        return self.serving is not ring

    def _task_exits(self, task: Task) -> None:
        """The process ends: its instances, which others may have, too, are served no more."""
        if task.signal is self.owner.signal and all(each.flags & PF_EXITING for each in task.signal.threads):
            self._stop()

    def _stop(self) -> None:
        """io_sq_thread_stop()."""
        if not self.stopped:
            self.stopped = True
            self.k.tasks.exit_hooks.remove(self._task_exits)
            self.wake()

    # -- the thread ------------------------------------------------------------------------------------------------

    @property
    def _idle_ns(self) -> int:
        """io_sqd_update_thread_idle(): the most patient one's."""
        return max((ring.sq_idle_ns for ring in self.rings), default=0)

    def io_sq_thread(self) -> Steps[None]:
        """Take requests; sleep when there were none for so long."""
        k, task = self.k, self.k.current
        until, look_ns = k.clock.now_ns + self._idle_ns, FIRST_LOOK_NS
        while not self.stopped:
            busy = bool(task.task_works)
            for ring in list(self.rings):
                busy = (yield from self._serve(ring)) or busy
            yield from run_task_works(task)
            if busy:
                until, look_ns = k.clock.now_ns + self._idle_ns, FIRST_LOOK_NS
            elif k.clock.now_ns < until:
                yield k.wait(self.wait, timeout_ns=look_ns)
                look_ns = min(2 * look_ns, RARE_LOOK_NS)
            else:
                yield from self._sleep()
                until = k.clock.now_ns + self._idle_ns
        yield from run_task_works(task)
        task.files = task.fs = None
        k.mm.drop(task)

    def _serve(self, ring: Ring) -> Steps[bool]:
        """__io_sq_thread()."""
        if not ring.waiting_sqes or ring.flags & abi.IORING_SETUP_R_DISABLED:
            return False
        k, task = self.k, self.k.current
        own, task.cred = task.cred, ring.creds
        self.serving = ring
        with passed(k, ring) as ctx:
            yield k.call("io_submit_sqes", ctx, ring.waiting_sqes)
        task.cred, self.serving = own, None
        if ring.closed:
            ring.free_memory()
        else:
            k.wake_up(ring.sq_wait, 0)
        return True

    def _sleep(self) -> Steps[None]:
        """Until somebody wakes it, as the flag asks for."""
        for ring in self.rings:
            ring.put(abi.SQ_FLAGS, ring.get(abi.SQ_FLAGS) | abi.IORING_SQ_NEED_WAKEUP)
        if not self.stopped and not self.k.current.task_works and not any(ring.waiting_sqes for ring in self.rings):
            yield self.k.wait(self.wait)
        for ring in self.rings:
            ring.put(abi.SQ_FLAGS, ring.get(abi.SQ_FLAGS) & ~abi.IORING_SQ_NEED_WAKEUP)


def _instance_at(k: NetKernel, fd: int) -> Ring:
    """Whose workers are to be shared.  ENXIO, EINVAL."""
    try:
        file = k.vfs.fget(fd)
    except KernelError:
        raise KernelError(ENXIO) from None
    refuse(file.f_op is not IO_URING_FOPS)
    return ring_in(file)


def _attached(k: NetKernel, fd: int) -> SqData | None:
    """io_attach_sq_data(): another's thread, or None where that is of another process.  ENXIO, EINVAL."""
    shared = _instance_at(k, fd).sq_data
    refuse(shared is None)
    assert isinstance(shared, SqData)
    return shared if shared.owner.tgid == k.current.tgid else None


def io_sq_offload_create(k: NetKernel, ring: Ring, cpu: int, idle_ms: int, wq_fd: int) -> None:
    """Who takes the instance's requests.  EINVAL, ENXIO."""
    flags = ring.flags
    if not flags & abi.IORING_SETUP_SQPOLL:
        if flags & abi.IORING_SETUP_ATTACH_WQ:
            _instance_at(k, wq_fd)
        return refuse(flags & abi.IORING_SETUP_SQ_AFF)
    ring.sq_idle_ns = idle_ms * MSEC or DEFAULT_IDLE_NS
    shared = _attached(k, wq_fd) if flags & abi.IORING_SETUP_ATTACH_WQ else None
    if shared is not None:
        refuse(shared.stopped, ENXIO)
        return shared.add(ring)
    pinned = bool(flags & abi.IORING_SETUP_SQ_AFF)
    refuse(pinned and cpu >= k.nr_cpus)
    return SqData(k, cpu if pinned else None).add(ring)
