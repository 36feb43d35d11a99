"""What tracing does when tasks come, switch and go: the options event-fork and function-fork, and names of tasks.

kernel/trace/trace_events.c:trace_event_follow_fork(), ftrace.c:ftrace_pid_follow_fork(), trace_sched_switch.c.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Protocol

from arch.abi.limits import TASK_COMM_LEN
from tracing.board import Board
from tracing.buffer.tasks import TaskSet
from tracing.buffer.trace import TraceArray
from tracing.face import TraceHost
from tracing.record.assign import Assign, compile_assign, split_proto
from tracing.tracers.function import FunctionTracer

WAKEUPS = ("sched_wakeup", "sched_wakeup_new")


class Point(Protocol):
    """A tracepoint."""

    @property
    def proto(self) -> str:
        """Its arguments, as C declares them."""

    def add(self, callback: Callable[..., object]) -> None:
        """Call back from now on."""

    def remove(self, callback: Callable[..., object]) -> None:
        """No more."""


class TaskFollower:
    """Of one trace array."""

    def __init__(
        self, host: TraceHost, array: TraceArray, function: FunctionTracer, points: Mapping[str, Point]
    ) -> None:  # fmt: skip
        self.host = host
        self.array = array
        self.function = function
        self.points = points
        self.on: set[str] = set()  # event-fork, function-fork
        self._fork: Assign | None = None
        self._exit: Assign | None = None
        array.on_flag["event-fork"] = lambda on: self.follow("event-fork", on)
        array.on_flag["function-fork"] = lambda on: self.follow("function-fork", on)

    def follow(self, option: str, on: bool) -> None:
        """The option was changed."""
        before = bool(self.on)
        self.on = self.on | {option} if on else self.on - {option}
        fork, exit_ = self.points.get("sched_process_fork"), self.points.get("sched_process_exit")
        if before == bool(self.on) or fork is None or exit_ is None:
            return
        if self.on:
            self._fork = compile_assign(["parent->pid", "child->pid"], fork.proto, self.host)
            self._exit = compile_assign(["p->pid"], exit_.proto, self.host)
            fork.add(self.forked)
            exit_.add(self.exited)
        else:
            fork.remove(self.forked)
            exit_.remove(self.exited)

    def release(self) -> None:
        """The trace array goes."""
        for option in list(self.on):
            self.follow(option, False)

    def sets(self) -> list[TaskSet]:
        """The sets that follow."""
        array, function = self.array, self.function
        out = [array.pids, array.no_pids] if "event-fork" in self.on else []
        return out + ([function.pids, function.no_pids] if "function-fork" in self.on else [])

    def forked(self, *args: int) -> None:
        """A child is traced as its parent is."""
        assert self._fork is not None
        parent, child = self._fork(*args)
        for pids in self.sets():
            pids.fork(int(parent), int(child))

    def exited(self, *args: int) -> None:
        """Its number may be another task's soon."""
        assert self._exit is not None
        (pid,) = self._exit(*args)
        for pids in self.sets():
            pids.exit(int(pid), self.host.cpu_id())


class TaskNames:
    """Notes the names of tasks while somebody wants them (board.SavedTasks); trace_sched_switch.c."""

    def __init__(self, board: Board, points: Mapping[str, Point]) -> None:
        self.tasks = board.tasks
        self.host = board.host
        self.points = points
        self._places: tuple[int, int, int] | None = None  # of pid, comm and tgid in a struct task_struct
        self._both = slice(0)  # the two tasks among the arguments of sched_switch
        board.tasks.watch = self.watch

    def watch(self, on: bool) -> None:
        """Begin, or end."""
        switch = self.points.get("sched_switch")
        if switch is None:
            return
        if self._places is None:
            pid, comm, tgid = (self.host.types.offsetof("struct task_struct", name) for name in ("pid", "comm", "tgid"))
            self._places = pid, comm, tgid
            first = [name for _, name in split_proto(switch.proto)].index("prev")
            self._both = slice(first, first + 2)
        for point, callback in ((switch, self.switched), *((self.points.get(name), self.woken) for name in WAKEUPS)):
            if point is not None:
                (point.add if on else point.remove)(callback)

    def switched(self, *args: int) -> None:
        """probe_sched_switch(): both tasks, if this CPU has written an entry since."""
        tasks, cpu = self.tasks, self.host.cpu_id()
        if not tasks.fresh[cpu]:
            return
        tasks.fresh[cpu] = False
        assert self._places is not None
        at_pid, at_comm, at_tgid = self._places
        mem = self.host.mem
        for task in args[self._both]:
            pid = mem.read_uint(task + at_pid, 4)
            if pid:
                tgid = mem.read_uint(task + at_tgid, 4) if tasks.tgid_users else 0
                tasks.remember(pid, text_of(mem.read(task + at_comm, TASK_COMM_LEN)), tgid)

    def woken(self, *args: int) -> None:
        """probe_sched_wakeup(): the task that wakes."""
        self.tasks.note(self.host)


@lru_cache(maxsize=1024)
def text_of(comm: bytes) -> str:
    """Of a name as a task has it."""
    return comm.partition(b"\0")[0].decode("latin-1")
