"""What a shell's work costs: a program started, a file found, a megabyte between two programs.

    python -m bench work [--json]

Processor time of us; beside it the real kernel, where SIMKERNEL_BENCH_KERNEL says how to run one (machine.py), in rounds of its own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable

from bench._rows import Row, report

ROUNDS = 5
SETUP = "mkdir /tmp/many /tmp/none; cd /tmp/many; i=0; while [ $i -lt 1000 ]; do : > f$i; i=$((i+1)); done"
LOOP = "i=0; while [ $i -lt {} ]; do {}; i=$((i+1)); done"
PIPE = "dd if=/dev/zero bs=4k count={} 2>/dev/null | dd of=/dev/null bs=4k 2>/dev/null"
# name, unit, what is done, the same without it, how often that is, its unit in nanoseconds
WORK = (
    ("fork, exec of busybox, exit, wait", "us", LOOP.format(200, "busybox true"), LOOP.format(200, ":"), 200, 1e3),
    ("find: a file", "us", LOOP.format(20, "find /tmp/many > /dev/null"), LOOP.format(20, "find /tmp/none > /dev/null"), 20000, 1e3),
    ("a megabyte through a pipe, blocks of 4 KiB", "ms", LOOP.format(10, PIPE.format(1024)), LOOP.format(10, PIPE.format(1)), 40, 1e6),
)  # fmt: skip


def samples(measure: Callable[[str], float]) -> list[list[float]]:
    """Of each row, in its unit: `measure` gives seconds of a script."""
    found: list[list[float]] = [[] for _ in WORK]
    for _ in range(ROUNDS):
        for own, (_, _, work, base, count, unit) in zip(found, WORK, strict=True):
            without = measure(base)
            own.append(max(measure(work) - without, 0.0) / count * 1e9 / unit)
    return found


def ours() -> list[list[float]]:
    """Processor time in this process, native code warm."""
    import simkernel

    machine = simkernel.boot()
    busybox = machine.install(shutil.which("busybox") or "busybox")

    def seconds(script: str) -> float:
        start = time.process_time()
        assert machine.run([busybox, "sh", "-c", script]).status == 0
        return time.process_time() - start

    seconds(SETUP)
    for _, _, work, _, _, _ in WORK:
        seconds(work)
    return samples(seconds)


def real() -> list[list[float]]:
    """Time by the clock of a real kernel, of which one hears how long its scripts took; nothing where there is none."""
    command = os.environ.get("SIMKERNEL_BENCH_KERNEL")
    if not command:
        return [[] for _ in WORK]
    scripts: list[str] = []
    samples(lambda script: scripts.append(script) or 0.0)  # type: ignore[func-returns-value]
    text = "; ".join([SETUP, *(f"time sh -c '{script}'" for script in scripts)])
    done = subprocess.run([*command.split(), "run", text], capture_output=True, text=True)
    times = iter(re.findall(r"^real\s+(\d+)m ?([\d.]+)s", done.stdout + done.stderr, re.M))
    return samples(lambda script: _seconds(*next(times)))


def _seconds(minutes: str, seconds: str) -> float:
    return int(minutes) * 60 + float(seconds)


def main() -> None:
    """Print the rows."""
    rows = []
    for (name, unit, *_), own, peer in zip(WORK, ours(), real(), strict=True):
        rows.append(Row(name, own, unit, {"the real kernel": peer} if peer else {}))
    report(rows)


if __name__ == "__main__":
    main()
