"""Timers of a process, as its struct signal_struct holds them.  kernel/time/itimer.c, posix-cpu-timers.c."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from simkernel.kernel.clock import Event


class IntervalTimer(Protocol):
    """One of setitimer(2)'s three (calls/time.py)."""

    event: Event | None
    expires: int  # ns
    interval_ns: int

    def now(self) -> int:
        """Of what it counts."""
        ...

    def disarm(self) -> None:
        """It will not come."""

    def requeue(self) -> None:
        """Its signal was taken: a periodic one goes on."""

    def left(self) -> int:
        """ns to its expiry."""
        ...


class CpuEvent:
    """Something that happens when some CPU time is used up; looked at when the time of a task is accounted."""

    __slots__ = ("expires", "fire", "used")

    def __init__(self, used: Callable[[], int], expires: int, fire: Callable[[], object]) -> None:
        self.used, self.expires, self.fire = used, expires, fire
