"""What a task, a process or its children have used: struct rusage, before it is bytes."""

from __future__ import annotations

from typing import NamedTuple

RUSAGE_SELF, RUSAGE_CHILDREN, RUSAGE_BOTH, RUSAGE_THREAD = 0, -1, -2, 1


class Counts(NamedTuple):
    """Page faults without and with a disk, switches that a task asked for and others."""

    min_flt: int = 0
    maj_flt: int = 0
    nvcsw: int = 0
    nivcsw: int = 0

    def plus(self, other: Counts) -> Counts:
        """Both."""
        return Counts(*(a + b for a, b in zip(self, other, strict=True)))


class Usage(NamedTuple):
    """Processor time in ns, the most pages that were present at a time, counts."""

    utime_ns: int = 0
    stime_ns: int = 0
    maxrss: int = 0
    counts: Counts = Counts()
