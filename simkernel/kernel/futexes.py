"""Sleepers on words of user memory: `k.futexes`, by the key of calls/futex.py.  kernel/futex/futex.h."""

from __future__ import annotations

from collections.abc import Hashable

from simkernel.kernel.task import Task


class FutexWaiter:
    """struct futex_q: one sleeper."""

    __slots__ = ("bitset", "key", "task", "woken")

    def __init__(self, task: Task, key: Hashable, bitset: int) -> None:
        self.task, self.key, self.bitset = task, key, bitset
        self.woken = False
