"""What a debugger costs: steps back, and a run under it beside the same run without.

    python -m bench debug_back [--json]

Real time, because the work is in other processes.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable

import simkernel
from bench._rows import Row, report

ROUNDS = 12
SCRIPT = "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); echo $i; done > /tmp/x"


def samples(function: Callable[[], object], count: int) -> list[float]:
    """Milliseconds of each round."""
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        function()
        times.append((time.perf_counter() - begin) * 1e3)
    return times


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
        under = samples(d.go, 1)
        ticks = d.stop.place.tick
        for name, place in (("end", ticks - 1), ("middle", ticks // 2), ("beginning", 5000)):
            d.goto(place)
            rows.append(Row(f"a step back near the {name} of {ticks} ticks", samples(d.back, ROUNDS), "ms"))
    without = samples(lambda: machine.run(command), 1)
    rows.append(Row(f"a run of {ticks} ticks", under, "ms", {"without a debugger": without}))
    report(rows)


if __name__ == "__main__":
    main()
