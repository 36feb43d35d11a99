"""What a debugger costs: steps back, and a run under it beside the same run without.

    python -m bench debug_back [--json]

Real time, and beside it the CPU time of the debugger and of all copies of the machine: a busy host makes only the first longer.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import simkernel
from bench._rows import Row, report

ROUNDS = 12
SCRIPT = "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); echo $i; done > /tmp/x"


def worked() -> dict[int, int]:
    """Nanoseconds that this process and all its descendants have run, by pid."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # it has ended
                continue
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    found = {}
    for pid in ours:
        try:
            found[pid] = int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])
        except OSError:
            continue
    return found


def samples(function: Callable[[], object], count: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each round: real ones, and of CPU time."""
    times, cpu = [], []
    for _ in range(count):
        before = worked()
        begin = time.perf_counter()
        function()
        times.append((time.perf_counter() - begin) * 1e3)
        cpu.append(sum(ns - before.get(pid, 0) for pid, ns in worked().items()) / 1e6)
    return times, cpu


def main() -> None:
    """Print the rows."""
    busybox = shutil.which("busybox")
    if busybox is None:
        raise SystemExit("busybox-static is not installed")
    machine = simkernel.boot(memory=256 << 20)
    machine.install(busybox)
    command = ["/bin/busybox", "sh", "-c", SCRIPT]
    rows = []
    with machine.debugger(command) as d:
        under, _ = samples(d.go, 1)
        ticks = d.stop.place.tick
        for name, place in (("end", ticks - 1), ("middle", ticks // 2), ("beginning", 5000)):
            d.goto(place)
            real, cpu = samples(d.back, ROUNDS)
            rows.append(Row(f"a step back near the {name} of {ticks} ticks", real, "ms"))
            rows.append(Row("  of CPU time", cpu, "ms"))
    without, _ = samples(lambda: machine.run(command), 1)
    rows.append(Row(f"a run of {ticks} ticks", under, "ms", {"without a debugger": without}))
    report(rows)


if __name__ == "__main__":
    main()
