"""What perf learns from tracepoints: software counters, and where tasks go.

The kernel calls perf directly at context switches, forks and page faults; here perf listens to the tracepoints of
those places while somebody counts or follows a task, so nobody else has to know.  Only an exec has none at the right
moment: the kernel calls PerfCore.task_exec().  A tracepoint that this kernel never
fires leaves its counter at zero.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Protocol

from arch.abi.limits import TASK_COMM_LEN
from arch.abi.perf_event import (
    PERF_COUNT_SW_CONTEXT_SWITCHES,
    PERF_COUNT_SW_CPU_MIGRATIONS,
    PERF_COUNT_SW_PAGE_FAULTS,
    PERF_COUNT_SW_PAGE_FAULTS_MIN,
)
from tracing.board import Board
from tracing.events.tracepoints import Tracepoint
from tracing.face import Mapping as FileMapping
from tracing.perf.sample import Switched
from tracing.probes.uprobes import Uprobes
from tracing.record.reader import Reader

# software event -> tracepoints that count one each
COUNTED: dict[int, tuple[str, ...]] = {
    PERF_COUNT_SW_CONTEXT_SWITCHES: ("sched_switch",),
    PERF_COUNT_SW_CPU_MIGRATIONS: ("sched_migrate_task",),
    PERF_COUNT_SW_PAGE_FAULTS: ("page_fault_user", "page_fault_kernel"),
    PERF_COUNT_SW_PAGE_FAULTS_MIN: ("page_fault_user", "page_fault_kernel"),
}
Callback = Callable[..., object]


class Told(Protocol):
    """Who is told of what happens: the machine's PerfCore."""

    board: Board
    knows_switches: bool

    def sw_event(self, number: int, nr: int = 1, regs: int = 0, addr: int = 0) -> None:
        """A software event of this number happened `nr` times."""

    def task_switch(self, previous: Hashable, following: Hashable) -> None:
        """The CPU goes from one task to another."""

    def task_fork(self, parent: Hashable, child: Hashable, thread: bool = True) -> None:
        """A task has a child."""

    def switch_event(self, leaving: Switched, coming: Switched, preempted: bool) -> None:
        """The CPU goes from one task to another, for those who want it recorded."""

    def comm_event(self, tgid: int, pid: int, comm: str) -> None:
        """A task has another name."""

    def fork_event(self, tgid: int, ppid: int, pid: int, ptid: int, exiting: bool = False) -> None:
        """A task began, or ends."""

    def namespaces_event(self, tgid: int, pid: int, task: Hashable) -> None:
        """A new task is in these namespaces."""

    def mmap_event(self, area: FileMapping) -> None:
        """The running task mapped a file."""


class PerfSources:
    """Registers and removes perf's own tracepoint callbacks."""

    def __init__(self, core: Told, reader: Reader, tracepoints: Mapping[str, Tracepoint], uprobes: Uprobes) -> None:
        self.core = core
        self.host = core.board.host
        self.reader = reader
        self.tracepoints = tracepoints
        self.uprobes = uprobes
        self.counters: dict[int, Callback] = {}
        self.followers = 0
        self.following: dict[str, Callback] = {
            "sched_switch": self._switch,
            "sched_process_fork": self._fork,
        }
        self.describing: dict[str, Callback] = {
            "task_rename": self._renamed,
            "sched_process_fork": self._forked,
            "sched_switch": self._switched,
        }
        self.described = False
        self.new_state = self.host.version.at_least("5.14")  # task->__state

    def count(self, number: int, on: bool) -> None:
        """A software event got its first user, or lost its last."""
        if on == (number in self.counters):
            return
        if on:
            faults = number in (PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_PAGE_FAULTS_MIN)
            self.counters[number] = self._fault_counter(number) if faults else self._counter(number)
        callback = self.counters[number]
        for name in COUNTED.get(number, ()):
            self._listen(name, callback, on)
        if not on:
            del self.counters[number]

    def follow(self, delta: int) -> None:
        """An event of a task came (+1) or went (-1)."""
        before, self.followers = self.followers, self.followers + delta
        if bool(before) != bool(self.followers):
            for name, callback in self.following.items():
                self._listen(name, callback, self.followers > 0)
        if not self.followers:
            self.core.knows_switches = False

    def describe(self, on: bool) -> None:
        """Somebody wants records of names, forks and mappings, or nobody any more."""
        if on == self.described:
            return
        self.described = on
        for name, callback in self.describing.items():
            self._listen(name, callback, on)
        if self.uprobes.spaces is not None:
            self.uprobes.spaces.watch_mappings(self._mapped if on else None)

    def _listen(self, name: str, callback: Callback, on: bool) -> None:
        tracepoint = self.tracepoints.get(name)
        if tracepoint is not None:
            (tracepoint.add if on else tracepoint.remove)(callback)

    def _counter(self, number: int) -> Callback:
        core, caller_regs = self.core, self.host.caller_regs

        def count(*args: int) -> None:
            core.sw_event(number, 1, caller_regs())

        return count

    def _fault_counter(self, number: int) -> Callback:
        core = self.core

        def count(address: int, regs: int, error_code: int) -> None:
            core.sw_event(number, 1, regs, address)

        return count

    def _argument(self, tracepoint: str, name: str, args: tuple[int, ...]) -> int:
        names = [known for _, known in self.tracepoints[tracepoint].params]
        return args[names.index(name)]

    def _token(self, task_struct: int) -> Hashable | None:
        pid = int(self.reader.member("struct task_struct", "pid", task_struct))
        return self.host.find_task(pid) if pid else None

    def _switch(self, *args: int) -> None:
        following = self._token(self._argument("sched_switch", "next", args))
        self.core.task_switch(self.host.current_task(), following)

    def _fork(self, *args: int) -> None:
        struct = self._argument("sched_process_fork", "child", args)
        child = self._token(struct)
        if child is not None:
            self.core.task_fork(
                self.host.current_task(), child, self._number("tgid", struct) == self.host.current_tgid()
            )

    def _switched(self, *args: int) -> None:
        previous, following = (self._argument("sched_switch", name, args) for name in ("prev", "next"))
        running = not self._number("__state" if self.new_state else "state", previous)
        self.core.switch_event(self._whose(previous), self._whose(following), running)

    def _whose(self, task_struct: int) -> Switched:
        return Switched(self._token(task_struct), self._number("tgid", task_struct), self._number("pid", task_struct))

    # Side-band records

    def _number(self, path: str, task_struct: int) -> int:
        return int(self.reader.member("struct task_struct", path, task_struct))

    def _renamed(self, *args: int) -> None:
        task = self._argument("task_rename", "task", args)
        name = self.host.mem.read(self._argument("task_rename", "comm", args), TASK_COMM_LEN).split(b"\0", 1)[0]
        self.core.comm_event(
            self._number("tgid", task), self._number("pid", task), name[: TASK_COMM_LEN - 1].decode("latin-1")
        )

    def _forked(self, *args: int) -> None:
        child, host = self._argument("sched_process_fork", "child", args), self.host
        self.core.fork_event(
            self._number("tgid", child), host.current_tgid(), self._number("pid", child), host.current_pid()
        )
        task = self._token(child)
        if task is not None:
            self.core.namespaces_event(self._number("tgid", child), self._number("pid", child), task)

    def exited(self, task: int) -> None:
        """PERF_RECORD_EXIT of a task_struct."""
        if not self.described:
            return
        parent = int(self.reader.member("struct task_struct", "real_parent", task))
        self.core.fork_event(
            self._number("tgid", task), self._number("tgid", parent), self._number("pid", task),
            self._number("pid", parent), exiting=True,
        )  # fmt: skip

    def _mapped(self, mm: Hashable, start: int) -> None:
        spaces = self.uprobes.spaces
        if spaces is not None and mm == spaces.current_mm():
            found = spaces.mapping(mm, start)
            if found is not None:
                self.core.mmap_event(found)
