"""What a user probe costs: a uprobe, a uretprobe with it, and a static probe with three arguments fetched.

    python -m bench.uprobe [--json]

Nanoseconds of processor time per hit: each round of the sample server, less the middle one without probes.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path

import simkernel
from bench._rows import Row, report

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
REQUESTS, ROUNDS = 2000, 3


def runs_ns(name: str | None, program: str | None = None) -> list[float]:
    """Rounds of the server with some programs of an object attached."""
    machine = simkernel.boot(binds=[(str(SAMPLES / "bin" / "x86_64"), "/samples", False)])
    if name is not None:
        obj = machine.session.open(str(SAMPLES / "obj" / "x86_64" / f"{name}.bpf.o"))
        for each in obj.programs.values():
            each.autoload = program is None or each.name == program
        machine.load(obj)
        obj.attach()
    rounds = []
    for _ in range(ROUNDS + 1):
        start = time.process_time_ns()
        machine.run(["/samples/server", str(REQUESTS)])
        rounds.append(float(time.process_time_ns() - start))
    machine.close()
    return rounds[1:]


ROWS = (
    # name                                           object       program
    ("uprobe with a program (two map operations)", "functions", "answer_begins"),
    ("uretprobe with a program", "functions", "answer_ends"),
    ("static probe, two arguments and a string", "requests", "request"),
)


def main() -> None:
    """Print the rows."""
    bare = statistics.median(runs_ns(None))
    report([Row(name, [(took - bare) / REQUESTS for took in runs_ns(*what)]) for name, *what in ROWS])


if __name__ == "__main__":
    main()
