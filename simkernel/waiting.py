"""Letting the machine run until something has happened, so that nobody has to guess how long that takes.

    m.run_until_idle()                                     everything that was started has ended or waits for ever
    m.wait_until(lambda: counts[1] >= 3)                    a condition of the caller's, asked between two slices
    m.wait_for_map(obj.maps["starts"], entries=2)           a map has so many entries
    m.wait_for_line("sched_switch", count=5)                the trace has lines like this
    m.wait_for_event("sched:sched_process_exit")            an event fires

All limits are virtual time.  What does not come raises NeverHappened, which says what the tasks are doing instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Protocol

from arch.abi.time import NSEC_PER_MSEC, NSEC_PER_SEC
from simkernel.kernel.kernel import Kernel
from simkernel.kernel.task import Task

if TYPE_CHECKING:
    from simkernel.session import Session

LIMIT_NS = 10 * NSEC_PER_SEC
SLICE_NS = NSEC_PER_MSEC  # between two looks at a condition
MOST_TASKS = 12  # that a message names


class NeverHappened(Exception):
    """What was waited for did not come within the limit, or can never come."""


class Entries(Protocol):
    """A map of a loaded object."""

    name: str

    def items(self) -> Iterable[tuple[object, object]]: ...


class Waiting:
    """The waiting half of a Machine."""

    kernel: Kernel

    @property
    def session(self) -> Session:
        raise NotImplementedError

    def run_until_idle(self, limit_ns: int = LIMIT_NS) -> None:
        """Run until no task runs and none sleeps for a time that will be over: nothing more can happen by itself."""
        k = self.kernel
        end = k.clock.now_ns + limit_ns
        k.cpus.run(lambda: False, end)
        if k.clock.now_ns >= end:
            raise NeverHappened(f"not idle after {seconds(limit_ns)}; {self.what_tasks_do()}")

    def wait_until(
        self, condition: Callable[[], object], limit_ns: int = LIMIT_NS, what: str = "the condition"
    ) -> None:
        """Run until `condition()` is true.  It may use the machine: look into maps, read files, make calls."""
        k = self.kernel
        end = k.clock.now_ns + limit_ns
        while not condition():
            begin = k.clock.now_ns
            if begin >= end:
                raise NeverHappened(f"{what} did not come within {seconds(limit_ns)}; {self.what_tasks_do()}")
            if not k.cpus.busy and not k.cpus.run(partial(self._moved, begin), end):
                raise NeverHappened(f"{what} cannot come any more: nothing is left to happen; {self.what_tasks_do()}")
            k.cpus.run(lambda: not k.cpus.busy, min(k.clock.now_ns + SLICE_NS, end))

    def _moved(self, since_ns: int) -> bool:
        """Time has passed, or something has woken."""
        return self.kernel.clock.now_ns > since_ns or self.kernel.cpus.busy

    def wait_for_map(self, bpf_map: Entries, entries: int = 1, limit_ns: int = LIMIT_NS) -> list[tuple[object, object]]:
        """Run until a map has at least so many entries; gives them."""
        what = f"entry number {entries} of map {bpf_map.name}"
        self.wait_until(lambda: len(list(bpf_map.items())) >= entries, limit_ns, what)
        return list(bpf_map.items())

    def wait_for_line(self, pattern: str, count: int = 1, limit_ns: int = LIMIT_NS) -> list[str]:
        """Run until the trace has `count` new lines in which the regular expression is found; gives them.

        Lines are consumed, as reading trace_pipe does.
        """
        wanted, found = re.compile(pattern), list[str]()
        rest = ""

        def look() -> bool:
            nonlocal rest
            *lines, rest = (rest + self.session.trace_chunk()).split("\n")
            found.extend(line for line in lines if wanted.search(line))
            return len(found) >= count

        self.wait_until(look, limit_ns, f"line number {count} with {pattern!r} in the trace")
        return found

    def wait_for_event(self, spec: str, count: int = 1, limit_ns: int = LIMIT_NS) -> list[str]:
        """Turn a trace event on (as enable_event does) and run until it has fired so often; gives its lines."""
        name = self.session.enable_event(spec).partition(":")[2]
        return self.wait_for_line(line_of(name), count, limit_ns)

    def what_tasks_do(self) -> str:
        """The user tasks that are alive and what they wait for, in a line."""
        alive = sorted(self.kernel.tasks.by_pid.items())
        tasks = [task for _, task in alive if task.mm is not None and not task.exit_state]
        shown = [f"{task.comm}[{task.pid}] {doing(task)}" for task in tasks[:MOST_TASKS]]
        more = f" and {len(tasks) - MOST_TASKS} more" if len(tasks) > MOST_TASKS else ""
        return "tasks: " + ", ".join(shown) + more if shown else "no program is running"


def line_of(event: str) -> str:
    """The regular expression of an event's lines in the trace; those of system calls show the call, not the event."""
    way, _, call = event.removeprefix("sys_").partition("_")
    if event.startswith("sys_") and way in ("enter", "exit"):
        return rf" sys_{re.escape(call)}" + (r"\(" if way == "enter" else " -> ")
    return rf" {re.escape(event)}: "


def doing(task: Task) -> str:
    """A task's state in a word or two."""
    if task.on_rq:
        return "runs"
    names = [queue.name for queue in task.wait_queues if queue.name]
    return f"sleeps on {', '.join(names)}" if names else "sleeps"


def seconds(ns: int) -> str:
    """A span of virtual time for a person."""
    return f"{ns / NSEC_PER_SEC:g} s of virtual time"
