"""/proc/pressure: who waits for what there is too little of.  kernel/sched/psi.c.

Nobody's waiting is measured: all files say none, and triggers are taken and never fire.
"""

from __future__ import annotations

import re

from arch.abi.errno import EINVAL
from arch.errors import KernelError
from simkernel.fs.face import FsKernel
from simkernel.fs.nodes import Dir, PseudoFile

WINDOW_MIN_US, WINDOW_MAX_US = 500_000, 10_000_000
TRIGGER = re.compile(rb"(?:some|full)\s+(\d+)\s+(\d+)")
NONE = "avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"


def _trigger(k: FsKernel, data: bytes) -> None:
    """psi_trigger_create(): so many microseconds of waiting in a window of so many.  EINVAL."""
    found = TRIGGER.match(data)
    threshold, window = map(int, found.groups()) if found else (0, 0)
    shortest = WINDOW_MIN_US if k.version.before("6.4") else 1
    if not shortest <= window <= WINDOW_MAX_US or not 0 < threshold <= window:
        raise KernelError(EINVAL, "no such trigger")


def make_pressure(k: FsKernel) -> Dir:
    """The directory."""
    folder = Dir()
    for name in ("cpu", "io", "memory"):
        both = name != "cpu" or k.version.at_least("5.13")
        text = f"some {NONE}" + (f"full {NONE}" if both else "")
        mode = 0o666 if k.version.at_least("5.13") else 0o444
        folder.add(name, PseudoFile(lambda text=text: text, lambda data: _trigger(k, data), mode))  # type: ignore[misc]
    return folder
