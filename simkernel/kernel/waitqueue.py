"""Wait queues: who sleeps on what.  include/linux/wait.h, kernel/sched/wait.c.

A body sleeps with `yield k.wait(queue)` and is woken by `k.wake_up(queue)`, or by a real call of the kernel function
`__wake_up` (what a coroutine should use, so that probes see it: `yield k.wake(queue)`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simkernel.kernel.task import Task


class WaitQueue:
    """A wait_queue_head: sleepers in the order in which they came."""

    __slots__ = ("addr", "name", "on_wake", "waiters")

    def __init__(self, name: str = "", addr: int = 0) -> None:
        self.name = name
        self.addr = addr  # kernel address of the wait_queue_head_t, 0 when it has none
        self.waiters: list[tuple[Task, bool]] = []  # (sleeper, exclusive)
        self.on_wake: list[Callable[[], object]] = []  # callables without arguments (epoll and the like)

    def add(self, task: Task, exclusive: bool = False) -> None:
        """Exclusive waiters go to the end, others to the front, as add_wait_queue() does."""
        if exclusive:
            self.waiters.append((task, True))
        else:
            self.waiters.insert(0, (task, False))

    def remove(self, task: Task) -> None:
        """finish_wait(): forget this sleeper; not an error when it is not there."""
        self.waiters = [w for w in self.waiters if w[0] is not task]

    def __bool__(self) -> bool:
        return bool(self.waiters)
