"""Starts: the command with an empty program, a boot in a process that has booted before, a copy of a template.

    python -m bench start [--json]

The command's peer is the same with nothing kept from earlier runs (SIMKERNEL_CACHE=0).
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys

import simkernel
from bench._rows import Row, cpu_ns, report, rounds
from bench.machine import ROOT, program
from simkernel.machine import Machine

ROUNDS = 5


def command(cache: bool) -> float:
    """Processor time of `simkernel run -- PROGRAM`."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, **({} if cache else {"SIMKERNEL_CACHE": "0"})}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    run = [sys.executable, "-m", "simkernel", "run", "--", str(program()), "g", "0"]
    subprocess.run(run, check=True, cwd=ROOT, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


def nothing(machine: Machine) -> None:
    """What a copy does here."""


def main() -> None:
    """Print the rows."""
    command(True)
    warm, cold = rounds(ROUNDS, lambda: command(True), lambda: command(False))
    simkernel.boot().close()
    again = rounds(ROUNDS, lambda: cpu_ns(lambda: simkernel.boot().close()) / 1e6)[0]
    template = simkernel.template()
    copies = rounds(4 * ROUNDS, lambda: _children(lambda: template.run(nothing)))[0]
    report(
        [
            Row("simkernel run -- empty program", warm, "ms", {"one without the cache": cold}),
            Row("a second boot in a process", again, "ms"),
            Row("a copy of a template that does nothing", copies, "ms"),
        ]
    )


def _children(work: object) -> float:
    """Processor time of a piece of work, its processes' among it, in ms."""
    assert callable(work)
    total = 0.0
    for who, sign in ((resource.RUSAGE_SELF, -1), (resource.RUSAGE_CHILDREN, -1)):
        usage = resource.getrusage(who)
        total += sign * (usage.ru_utime + usage.ru_stime)
    work()
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        total += usage.ru_utime + usage.ru_stime
    return total * 1e3


if __name__ == "__main__":
    main()
