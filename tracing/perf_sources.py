"""What perf learns from tracepoints: software counters, and where tasks go.

The kernel calls perf directly at context switches, forks, execs and page faults; here perf listens to the tracepoints of
those places while somebody counts or follows a task, so nobody else has to know.  A tracepoint that this kernel never
fires leaves its counter at zero.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from tracing import perf_attr as pa

if TYPE_CHECKING:
    from tracing.perf import PerfCore

# software event -> tracepoints that count one each
COUNTED: dict[int, tuple[str, ...]] = {
    pa.SW_CONTEXT_SWITCHES: ("sched_switch",),
    pa.SW_CPU_MIGRATIONS: ("sched_migrate_task",),
    pa.SW_PAGE_FAULTS: ("page_fault_user", "page_fault_kernel"),
    pa.SW_PAGE_FAULTS_MIN: ("page_fault_user", "page_fault_kernel"),
}
Callback = Callable[..., None]


class PerfSources:
    """Registers and removes perf's own tracepoint callbacks."""

    def __init__(self, core: PerfCore) -> None:
        self.core = core
        self.counters: dict[int, Callback] = {}
        self.followers = 0
        self.following: dict[str, Callback] = {
            "sched_switch": self._switch,
            "sched_process_fork": self._fork,
            "sched_process_exec": self._exec,
        }

    def count(self, number: int, on: bool) -> None:
        """A software event got its first user, or lost its last."""
        if on == (number in self.counters):
            return
        if on:
            self.counters[number] = self._counter(number)
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

    def _listen(self, name: str, callback: Callback, on: bool) -> None:
        tracepoint = self.core.tracing.tracepoints.get(name)
        if tracepoint is not None:
            (tracepoint.add if on else tracepoint.remove)(callback)

    def _counter(self, number: int) -> Callback:
        core = self.core

        def count(*args: int) -> None:
            core.sw_event(number, 1, core.tracing.caller_regs())

        return count

    def _argument(self, tracepoint: str, name: str, args: tuple[int, ...]) -> int:
        names = [known for _, known in self.core.tracing.tracepoints[tracepoint].params]
        return args[names.index(name)]

    def _token(self, task_struct: int) -> Hashable | None:
        pid = int(self.core.tracing.reader.member("struct task_struct", "pid", task_struct))
        return self.core.host.find_task(pid) if pid else None

    def _switch(self, *args: int) -> None:
        following = self._token(self._argument("sched_switch", "next", args))
        self.core.task_switch(self.core.host.current_task(), following)

    def _fork(self, *args: int) -> None:
        child = self._token(self._argument("sched_process_fork", "child", args))
        if child is not None:
            self.core.task_fork(self.core.host.current_task(), child)

    def _exec(self, *args: int) -> None:
        self.core.task_exec(self.core.host.current_task())
