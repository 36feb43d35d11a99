"""Ten thousand rounds of what is begun and ended: memory of the host and pages of the machine stay as they are.

    python -m tests.simkernel.growth [STORY ...] [--rounds 10000]

Each story has a process of its own.  After a tenth of the rounds, which warm up, nothing may grow: a line for each story says
what it had then and what it has at the end.  Exit status 1 when a story has grown.
"""

from __future__ import annotations

import argparse
import gc
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import simkernel
from simkernel.machine import Machine
from tests.simkernel.test_growth import STORIES, prepare

ROOT = Path(__file__).parents[2]
KIB_MORE = 4096  # of the host, for all rounds together: what the allocator of C keeps
PAGES_MORE = 30  # names that are gone are forgotten by the dozen (simkernel/fs/pseudo.py)


def boot_close(m: Machine) -> None:
    """A machine beside the first one."""
    with simkernel.boot() as other:
        other.session.read_file("/proc/uptime")


WHAT: dict[str, Callable[[Machine], None]] = {story.__name__: story for story in (*STORIES, boot_close)}


def resident_kib() -> int:
    """Memory of this process that no file gives, and that holds no translated code: that lies in a buffer of unicorn's, of fixed size
    (64 MiB), which is begun anew when it is full.
    """
    total, counts = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if area := re.match(r"[0-9a-f]+-[0-9a-f]+ (\S+) \S+ \S+ \d+", line):
            counts = "x" not in area[1]
        elif counts and line.startswith("Anonymous:"):
            total += int(line.split()[1])
    return total


def grown(name: str, rounds: int) -> bool:
    """Whether a story has grown; prints its line."""
    m = prepare(WHAT[name])
    begin = time.process_time()
    warm = max(rounds // 10, 10)
    marks = []
    for number in range(rounds + 1):
        if number in (warm, rounds):
            gc.collect()
            marks.append((resident_kib(), len(gc.get_objects()), m.kernel.physical.free_pages))
        WHAT[name](m)
    (kib, objects, pages), (kib_end, objects_end, pages_end) = marks
    cost = (time.process_time() - begin) / rounds * 1000
    print(
        f"{name:20} {rounds} rounds of {cost:.1f} ms: {kib} -> {kib_end} KiB, {objects} -> {objects_end} objects,"
        f" {pages} -> {pages_end} free pages",
        flush=True,
    )
    return kib_end - kib > KIB_MORE or pages - pages_end > PAGES_MORE


def main() -> int:
    """Exit status 1 when a story has grown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stories", nargs="*", choices=[[], *WHAT], default=[])
    parser.add_argument("--rounds", type=int, default=10_000)
    options = parser.parse_args()
    if len(options.stories) == 1:
        return int(grown(options.stories[0], options.rounds))
    command = [sys.executable, "-m", "tests.simkernel.growth", f"--rounds={options.rounds}"]
    return max(subprocess.run([*command, name], cwd=ROOT).returncode for name in options.stories or WHAT)


if __name__ == "__main__":
    sys.exit(main())
