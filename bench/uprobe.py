"""What a user probe costs: a uprobe, a uretprobe with it, and a static probe with three arguments fetched.

    python bench/uprobe.py [--json]

Nanoseconds of the host per hit: the median of three rounds of the sample server, less the same run without probes.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

import simkernel

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
REQUESTS, ROUNDS = 2000, 3


def run_ns(name: str | None, program: str | None = None) -> float:
    """Median time of one run of the server with some programs of an object attached."""
    machine = simkernel.boot(binds=[(str(SAMPLES / "bin" / "x86_64"), "/samples", False)])
    if name is not None:
        obj = machine.session.open(str(SAMPLES / "obj" / "x86_64" / f"{name}.bpf.o"))
        for each in obj.programs.values():
            each.autoload = program is None or each.name == program
        machine.load(obj)
        obj.attach()
    rounds = []
    for _ in range(ROUNDS + 1):
        start = time.perf_counter_ns()
        machine.run(["/samples/server", str(REQUESTS)])
        rounds.append(time.perf_counter_ns() - start)
    machine.close()
    return statistics.median(rounds[1:])


def results() -> dict[str, float]:
    """Name -> nanoseconds per hit."""
    bare = run_ns(None)
    return {
        "uprobe with a program (two map operations)": (run_ns("functions", "answer_begins") - bare) / REQUESTS,
        "uretprobe with a program": (run_ns("functions", "answer_ends") - bare) / REQUESTS,
        "static probe, two arguments and a string": (run_ns("requests", "request") - bare) / REQUESTS,
    }


if __name__ == "__main__":
    found = results()
    if "--json" in sys.argv:
        print(json.dumps(found, indent=1))
    else:
        for what, nanoseconds in found.items():
            print(f"{nanoseconds:10.0f} ns  {what}")
