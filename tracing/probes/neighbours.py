"""Who else has a probe at a function, and which of them have to know.  kernel/kprobes.c, kernel/trace/ftrace.c

A thousand probes may be at one address, so nothing here walks all of them: those that care for others, and those that stand for uses of
ftrace, are kept beside the list of all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol


class Neighbour(Protocol):
    """A probe, as its neighbours see it."""

    addr: int
    disabled: bool
    registered: bool
    stays: bool
    users: Callable[[], Sequence[str]] | None
    neighbours_changed: Callable[[], None]


def indifferent() -> None:
    """Of a probe that does not care."""


class Neighbours:
    """By address."""

    def __init__(self) -> None:
        self.curious: dict[int, list[Neighbour]] = {}  # those that want to hear of others
        self.by_ftrace: dict[int, list[Neighbour]] = {}  # those that stand for uses of ftrace
        self.said: dict[int, bool] = {}  # what listed() was when they heard of it

    def come(self, kp: Neighbour) -> None:
        """It is registered."""
        if kp.neighbours_changed is not indifferent:
            self.curious.setdefault(kp.addr, []).insert(0, kp)
        if kp.users is not None:
            self.by_ftrace.setdefault(kp.addr, []).insert(0, kp)

    def go(self, kp: Neighbour, last: bool) -> None:
        """It is no more; was it the last one there?"""
        if kp.neighbours_changed is not indifferent:
            self.curious[kp.addr].remove(kp)
        if kp.users is not None:
            self.by_ftrace[kp.addr].remove(kp)
        if last:
            for by_address in (self.curious, self.by_ftrace, self.said):
                by_address.pop(kp.addr, None)

    def listed(self, addr: int, everybody: Sequence[Neighbour]) -> bool:
        """Several struct ftrace_ops are at a function: what calls them one after the other holds preemption.

        All kprobes have one together.
        """
        ops = 0
        for kp in self.by_ftrace.get(addr, ()):
            if kp.users is not None and (kp.stays or not kp.disabled):
                ops += len(kp.users())
        return ops > 1 or (ops == 1 and any(kp.users is None and not kp.disabled for kp in everybody))

    def tell(self, changed: Neighbour, everybody: Sequence[Neighbour]) -> None:
        """All of them when it changes how they are called, else the one that came, or is enabled or disabled."""
        listed = self.listed(changed.addr, everybody)
        if everybody and listed != self.said.get(changed.addr, False):
            self.said[changed.addr] = listed
            for kp in tuple(self.curious.get(changed.addr, ())):
                kp.neighbours_changed()
        elif changed.registered:
            changed.neighbours_changed()
