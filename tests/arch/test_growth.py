"""What must not cost more when there is more of it: free pages, probes, cancelled events.  Counted, not timed."""

from __future__ import annotations

import random

import pytest

from arch.memory import OutOfMemory, PhysicalMemory


def test_runs_and_pages_come_lowest_first() -> None:
    """Against the plain meaning: the set of free pages."""
    rng = random.Random(1)
    phys = PhysicalMemory(256 * 4096)
    held: list[int] = []
    freed: set[int] = set()
    top = 0
    for _ in range(4000):
        count = rng.choice((1, 1, 1, 2, 4))
        if rng.random() < 0.5 and held:
            pfn = held.pop(rng.randrange(len(held)))
            phys.put_page(pfn)
            freed.add(pfn)
            continue
        runs = [first for first in sorted(freed) if all(first + i in freed for i in range(count))]
        if not runs and top + count > phys.nr_pages:
            with pytest.raises(OutOfMemory):
                phys.alloc_pages(count)
            continue
        expected = runs[0] if runs else top
        top = max(top, expected + count)
        assert phys.alloc_pages(count) == expected
        taken = range(expected, expected + count)
        freed.difference_update(taken)
        held += taken
        assert not any(phys.read(expected << 12, count << 12))
        phys.write(expected << 12, b"x")
        assert phys.free_pages == phys.nr_pages - len(held)
