"""The tasks that wait for one simulated CPU: struct rq.  kernel/sched/sched.h."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable

from arch.abi.sched import SCHED_DEADLINE, SCHED_RR
from arch.context import Context
from simkernel.kernel.task import Task

END_OF_TIME_NS = 1 << 63
WAKEUP_PREEMPTS_NS = 1_000_000  # sched_wakeup_granularity: lagging behind by more, who is woken runs at once


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
        self._turns = 0  # given to real-time tasks so far
        self.skip: Task | None = None  # the fair task that yields
        self.behind = False  # the current one goes behind its equals: it yields, or its time is up
        self.told: Callable[[RunQueue, Task], None] | None = (
            None  # who keeps struct rq: of a task that came, or runs now
        )

    @property
    def busy(self) -> bool:
        """Something other than idling to do."""
        return not self.halted or bool(self.tasks)

    def update_min_vruntime(self, vruntime: int) -> None:
        """Of what runs at `vruntime` and what waits the one that had least; never back."""
        if self.tasks and self.tasks[0].prio_class and self.tasks[0].vruntime < vruntime:
            vruntime = self.tasks[0].vruntime
        if vruntime > self.min_vruntime:
            self.min_vruntime = vruntime

    def stay(self) -> None:
        """A switch that was begun is not made: who was picked waits again, the current task does not."""
        if self.current in self.tasks:
            self.tasks.remove(self.current)
        if self.next not in (self.current, self.idle, *self.tasks):
            self.add(self.next)
        self.next = self.current

    def pick(self) -> Task:
        """pick_next_task()."""
        if self.skip is not None:
            return self._pick_but(self.skip)
        return self.tasks[0] if self.tasks else self.idle

    def _pick_but(self, skip: Task) -> Task:
        """pick_next_entity(): who yields lets the next one run, if that is not far behind."""
        self.skip, first = None, self.tasks[0]
        if first is skip and len(self.tasks) > 1 and self.tasks[1].vruntime - skip.vruntime <= WAKEUP_PREEMPTS_NS:
            return self.tasks[1]
        return first

    def add(self, task: Task, in_front: bool = False) -> None:
        """Behind those of the same rank, which stays what it is while the task is here.

        A real-time task that had to stop for a better one goes `in_front` of them.
        """
        self._turns += 1
        task.turn = -self._turns if in_front else self._turns
        insort(self.tasks, task, key=_rank)
        if self.told is not None:
            self.told(self, task)

    def check_preempt(self, task: Task, now_ns: int, fair_ns: int, rr_ns: int) -> None:
        """check_preempt_curr(): it came, and runs at once or when the current one's time is up."""
        current = self.current
        if current is not self.idle and outranks(task, current):
            self.need_resched, self.slice_end_ns = True, now_ns
        elif current.prio_class or task.prio == current.prio:
            length = self.slice_of(current, fair_ns, rr_ns)
            if length is not None:
                self.slice_end_ns = min(self.slice_end_ns, max(self.last_ns + length, now_ns))

    def check_preempt_wakeup(self, task: Task) -> bool:
        """Who comes runs at once if it lags far enough behind the current task."""
        behind = self.current is not self.idle and task.vruntime + WAKEUP_PREEMPTS_NS < self.current.vruntime
        self.need_resched |= behind
        return behind

    def rank_anew(self, task: Task, in_front: bool, now_ns: int, fair_ns: int, rr_ns: int) -> None:
        """Its policy or priority is another one: who is picked, and how long the current one runs, may be, too."""
        if task in self.tasks:
            self.tasks.remove(task)
            self.add(task, in_front)
        if self.current is task:
            length = self.slice_of(task, fair_ns, rr_ns)
            self.slice_end_ns = END_OF_TIME_NS if length is None else min(self.slice_end_ns, now_ns + length)
        if self.tasks:
            self.check_preempt(self.tasks[0], now_ns, fair_ns, rr_ns)

    def slice_of(self, task: Task, fair_ns: int, rr_ns: int) -> int | None:
        """How long it runs before others that wait have their turn; None: as long as it likes."""
        if task.prio_class:
            return fair_ns if self.tasks else None
        equals = task.policy == SCHED_RR and any(not t.prio_class and t.prio == task.prio for t in self.tasks)
        return rr_ns if equals else None


def outranks(task: Task, other: Task) -> bool:
    """Does it run at once, whatever the other one does?  By class and priority; among deadline tasks by what is due first."""
    return _class(task) < _class(other)


def _class(task: Task) -> tuple[int, int]:
    if task.policy == SCHED_DEADLINE:
        return 0, task.deadline[1]
    return (2, 0) if task.prio_class else (1, task.prio)


def _rank(task: Task) -> tuple[int, int, int]:
    """Who runs first: deadline tasks, the real-time classes by priority and turn, then who had least."""
    return *_class(task), task.vruntime if task.prio_class else task.turn
