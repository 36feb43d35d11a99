"""Who ran where: the scheduler's tracepoints, listened to from outside the machine.

No real kernel can be watched for nothing.  This one can: a callback of the host on a tracepoint takes no virtual time,
writes into no buffer of the machine, and nothing inside can tell that it is there.
"""

from __future__ import annotations

from collections.abc import Callable

from simkernel.kernel.kernel import Kernel
from simkernel.kernel.task import Task
from simkernel.recording.rows import Slice, TaskInfo, Wakeup

MOST = 1_000_000  # slices and wakeups that are kept
# prev_state of sched_switch.  include/trace/events/sched.h
STATES = ((1, "S"), (2, "D"), (4, "T"), (8, "t"), (16, "X"), (32, "Z"), (64, "P"), (128, "I"))


class Watch:
    """Listens from its making to stop()."""

    def __init__(self, kernel: Kernel) -> None:
        self.k = kernel
        self.begin = kernel.clock.now_ns
        self.slices: list[Slice] = []
        self.wakeups: list[Wakeup] = []
        self.refused = 0
        self._running: dict[int, tuple[int, int]] = {}  # CPU -> (pid, since)
        self._tasks: dict[Task, TaskInfo] = {}
        for task in kernel.tasks.by_pid.values():
            self._info(task).begin = 0
        for cpu, queue in enumerate(kernel.cpus.rqs):
            self._running[cpu] = (queue.current.pid, self.begin)
        self._listening: list[tuple[str, Callable[..., object]]] = [
            ("sched_switch", self._switched), ("sched_wakeup", self._woken), ("sched_wakeup_new", self._woken),
            ("sched_process_fork", self._forked), ("sched_process_exit", self._exited), ("task_rename", self._renamed),
        ]  # fmt: skip
        for name, callback in self._listening:
            point = kernel.observer.tracing.tracepoint(name)
            if point is not None:
                point.add(callback)

    def stop(self) -> None:
        """Listen no longer; who runs now has run until now."""
        listening, self._listening = self._listening, []
        for name, callback in listening:
            point = self.k.observer.tracing.tracepoint(name)
            if point is not None:
                point.remove(callback)
        if listening:
            now = self.k.clock.now_ns
            for cpu, (pid, since) in sorted(self._running.items()):
                self._slice(cpu, pid, since, now, "")
            self.slices.sort(key=lambda each: (each.begin, each.cpu))

    @property
    def tasks(self) -> list[TaskInfo]:
        """Every task that was there, in the order of their beginnings."""
        for task, info in self._tasks.items():
            if info.end is None:
                info.comm = task.comm
        return sorted(self._tasks.values(), key=lambda info: (info.begin, info.pid))

    # Callbacks

    def _now(self) -> int:
        return self.k.observer.now_ns()

    def _argument(self, tracepoint: str, name: str, args: tuple[int, ...]) -> int:
        point = self.k.observer.tracing.tracepoints[tracepoint]
        names = [known for _, known in point.params]
        return args[names.index(name)]

    def _info(self, task: Task) -> TaskInfo:
        info = self._tasks.get(task)
        if info is None:
            ppid = task.real_parent.pid if task.real_parent is not task else 0
            info = self._tasks[task] = TaskInfo(task.pid, task.tgid, ppid, task.comm, task.start_time_ns)
        return info

    def _slice(self, cpu: int, pid: int, begin: int, end: int, state: str) -> None:
        if not pid:
            return  # nobody: that is what is left
        if len(self.slices) < MOST:
            self.slices.append(Slice(cpu, pid, begin, end, state))
        else:
            self.refused += 1

    def _switched(self, *args: int) -> None:
        now, cpu = self._now(), self.k.cpus.rq.cpu
        following = self.k.tasks.by_address.get(self._argument("sched_switch", "next", args))
        pid, since = self._running.get(cpu, (0, now))
        leaving = self.k.tasks.by_address.get(self._argument("sched_switch", "prev", args))
        self._slice(cpu, pid, since, now, state_of(leaving) if leaving is not None else "")
        if following is not None:
            if following.pid:
                self._info(following)
            self._running[cpu] = (following.pid, now)

    def _woken(self, *args: int) -> None:
        task = self.k.tasks.by_address.get(args[0])
        if task is None or not task.pid:
            return
        if len(self.wakeups) < MOST:
            self.wakeups.append(Wakeup(self._now(), task.pid, task.cpu))
        else:
            self.refused += 1

    def _forked(self, *args: int) -> None:
        child = self.k.tasks.by_address.get(self._argument("sched_process_fork", "child", args))
        if child is not None:
            self._info(child).begin = self._now()

    def _exited(self, *args: int) -> None:
        task = self.k.tasks.by_address.get(args[0])
        if task is not None:
            info = self._info(task)
            info.comm, info.end = task.comm, self._now()

    def _renamed(self, *args: int) -> None:
        task = self.k.tasks.by_address.get(self._argument("task_rename", "task", args))
        if task is not None:
            self._info(task)


def state_of(task: Task) -> str:
    """As sched_switch prints prev_state: of several bits the first; R for one that was preempted."""
    bits = task.state | task.exit_state
    if task.exit_state:
        return "Z" if task.exit_state & 0x20 else "X"
    return next((letter for bit, letter in STATES if bits & bit), "R")
