"""Schedules by seed: what Linux leaves open, decided by a random generator of the machine's seed.

Seed 0 has none of it: quanta and orders are then always the same.  With another seed the CPUs' turns are of other lengths and in
another order, slices and the places of woken tasks vary, sleeps end within their timer's slack, and interrupts arrive a little later;
all within what a real machine does, and the same for the same seed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

TIMER_SLACK_NS = 50_000  # of a task unless it says otherwise: init_task.timer_slack_ns
INTERRUPT_NS = 20_000  # from the device to the CPU, with others in its way
PLACEMENT_NS = 1_000_000  # by how much the virtual runtime of a woken task differs

Item = TypeVar("Item")


class Jitter:
    """One machine's."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(f"{seed} schedule")

    def choose(self, items: Sequence[Item]) -> Item:
        """One of several that are as good."""
        return items[0] if len(items) == 1 else self.random.choice(items)

    def quantum_ns(self, ns: int) -> int:
        """A CPU's turn while others have something to do."""
        return self.random.randint(ns // 8, 2 * ns)

    def slice_ns(self, ns: int) -> int:
        """A task's turn while others wait."""
        return self.random.randint(ns // 2, ns * 3 // 2)

    def up_to(self, ns: int) -> int:
        """A delay."""
        return self.random.randrange(ns)
