"""The tasks that wait for one simulated CPU: struct rq.  kernel/sched/sched.h."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable

from arch.context import Context
from simkernel.kernel.task import Task

END_OF_TIME_NS = 1 << 63


class Resched:
    """What native code reads, too."""

    __slots__ = ("need_resched",)

    need_resched: bool


class RunQueue(Resched):
    """struct rq: one simulated CPU."""

    def __init__(self, cpu: int, idle: Task, context: Context) -> None:
        self.cpu = cpu
        self.idle = idle
        self.current = idle
        self.tasks: list[Task] = []  # runnable, not running, by rank
        self.min_vruntime = 0
        self.context = context  # all registers while another simulated CPU runs
        self.need_resched = False
        self.halted = False  # in the idle loop, nothing to do
        self.prev: Task = idle
        self.next: Task = idle
        self.nr_switches = 0
        self.slice_end_ns = END_OF_TIME_NS
        self.last_ns = 0
        self.ran: Callable[[Task, int], None] | None = None  # who keeps what tasks have used: of one, and the time now
        self.told: Callable[[RunQueue, Task], None] | None = (
            None  # who keeps struct rq: of a task that came, or runs now
        )

    @property
    def busy(self) -> bool:
        """Something other than idling to do."""
        return not self.halted or bool(self.tasks)

    def stay(self) -> None:
        """A switch that was begun is not made: who was picked waits again, the current task does not."""
        if self.current in self.tasks:
            self.tasks.remove(self.current)
        if self.next not in (self.current, self.idle, *self.tasks):
            self.add(self.next)
        self.next = self.current

    def pick(self) -> Task:
        """pick_next_task()."""
        return self.tasks[0] if self.tasks else self.idle

    def add(self, task: Task) -> None:
        """Behind those of the same rank, which stays what it is while the task is here."""
        insort(self.tasks, task, key=_rank)
        if self.told is not None:
            self.told(self, task)

    def rank_anew(self) -> None:
        """A task's policy may have changed."""
        self.tasks.sort(key=_rank)


def _rank(task: Task) -> tuple[int, int]:
    """Who runs first: the real-time classes, then who had least."""
    return task.prio_class, task.vruntime
