"""How much of the host's memory a machine that runs may take, beside the memory that it simulates.

What the simulated kernel keeps for its tasks, files, mounts, queues and traces is in objects of Python: most of it is
counted against simulated memory (`PhysicalMemory.charge`) at Linux's sizes, which are not Python's.  Whatever it is, a run ends when the process has grown by more than the
machine's own memory and `allowed` bytes: HOST_WORD says Why.MEMORY then, as it says Why.TIME when a limit is over.

The run loop asks every LOOK_S (`HOST_MEMORY.due()`); a shorter run never does.  No simulated result depends on any of this,
but that a run was ended.
"""

from __future__ import annotations

import time

from arch.abi.limits import PAGE_SHIFT
from arch.hosttime import HOST

ALLOWED = 2 << 30
LOOK_S = 0.05


class HostMemory:
    """`HOST_MEMORY`: one for the process, as its memory is."""

    def __init__(self) -> None:
        self.allowed = ALLOWED
        self._base = 0  # resident when the run was first looked at
        self._next = 0.0

    def begin(self) -> None:
        """A machine begins to run, and no other does."""
        self._base, self._next = 0, time.monotonic() + LOOK_S

    def due(self) -> bool:
        """Time for look()."""
        return time.monotonic() >= self._next

    def look(self, simulated: int) -> None:
        """End what runs if the process has grown by more than it may; `simulated`: bytes of the machine's own memory."""
        self._next = time.monotonic() + LOOK_S
        now = resident()
        self._base = self._base or now
        if now - self._base > simulated + self.allowed:
            HOST.no_memory()


def resident() -> int:
    """Bytes of memory that this process has; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) << PAGE_SHIFT
    except OSError:
        return 0


HOST_MEMORY = HostMemory()
