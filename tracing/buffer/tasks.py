"""Sets of tasks, as set_event_pid and its like choose them.  kernel/trace/pid_list.c, trace_events.c:event_pid_write()."""

from __future__ import annotations

from collections.abc import Iterator


class TaskSet:
    """struct trace_pid_list, or none: `on` is false while nobody has written to the file.

    Whether a task is in it, the kernel asks when the task is switched in.  So one that ends, and is taken out then, counts
    until it has been switched out for the last time.
    """

    def __init__(self) -> None:
        self.on = False
        self.pids: set[int] = set()
        self.ended: dict[int, int] = {}  # by CPU: the task that ended there last

    def __contains__(self, pid: int) -> bool:
        return pid in self.pids or pid in self.ended.values()

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self.pids))

    def replace(self, pids: set[int]) -> None:
        """The file was written."""
        self.pids, self.on, self.ended = pids, bool(pids), {}

    def fork(self, parent: int, child: int) -> None:
        """trace_filter_add_remove_task(): a child is as its parent."""
        if parent in self:
            self.pids.add(child)

    def exit(self, pid: int, cpu: int) -> None:
        """A task ends on this CPU."""
        if pid in self.pids:
            self.pids.remove(pid)
            self.ended[cpu] = pid
