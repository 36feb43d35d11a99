"""Writes docs/reliability.md from the last recorded run of the fuzzer (tests/fuzz/last_run.json)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.fuzz.faults import STORIES
from tests.fuzz.kinds import CALLS, CHAINS, KINDS, LINKS

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "tests" / "fuzz" / "last_run.json"
PAGE = ROOT / "docs" / "reliability.md"

HEAD = """# Reliability

What a program, a file or a mistake of the verifier cannot do to the host is promised in [SECURITY.md](../SECURITY.md). This page says
how it is attacked, and what came of it; it is made by `docs/reliability_page.py`.

`make fuzz MINUTES=10` (`python -m tests.fuzz`) gives each kind of attack an equal share of the time. Cases are made from a seed and a
number, so each can be had again (`--only KIND:SEED:CASE`); they run in child processes, some in each. A finding is an exception that is
no refusal, an oops, a signal, or no end. `--seed` is the date unless given; a night's run is `make fuzz MINUTES=480`, with `--record` it
renews the table, with `--add` it adds to it. Each finding becomes a test.

"""

SWEEP = """
Failures in turn (`python -m tests.fuzz.faults`): {stories} stories, in which each allocation of simulated memory and each call of the host
fails once (an I/O error, a full disk); the recorded run took {every}: {tried:,} failures, {failed} findings ({ended}). After each
the machine still runs a program.
"""

LONG = """
With `--calls {calls}` (seed {seed}): {tried} cases, {total:,} system calls; findings: {findings}.
"""

TAIL = """
A failed case is told with its number. One case of `syscalls` and of `sequences` is {calls} calls on a fresh machine, one of `chains` {chains} sequences of {links}, one of `binds` 60.

Besides the fuzzer:

| what | how |
|---|---|
| a signal ends a command and its workers | `tests/simkernel/matrix/test_matrix.py`, kind `interrupts` |
| what is lost is counted | `tests/simkernel/unit/test_lost.py` |
| the same bytes each time | `make determinism` |
| a run ends at its time, whatever the program does | `tests/simkernel/test_deadlines.py`, `tests/arch/test_hosttime.py` |
| what was closed is given back | `tests/simkernel/test_growth.py`; `make growth`: 10,000 rounds |
| a program that takes the host's memory is ended | `tests/arch/test_hostmemory.py`, `tests/simkernel/test_host_memory.py` |
| names do not command the terminal | `tests/simkernel/cli/test_terminal.py` |
| results are whole or marked | `tests/simkernel/cli/test_run.py` |
| programs that no verifier would let pass | `make hostile`: 20,000, each in a process of its own |
| programs that the verifier let pass | `make soundness`: 20,000, run with every check on; `make tiers`: 20,000, by Python and by machine code |
| binds | `tests/simkernel/fs/test_host_attacks.py` |
"""


def long_cases(run: dict[str, Any]) -> str:
    """Cases of more calls than usual."""
    row = run.get("long cases")
    if row is None:
        return ""
    tried = " and ".join(f"{count} {kind}" for kind, count in row["tried"].items())
    total = row["calls"] * sum(row["tried"].values())
    return LONG.format(
        calls=row["calls"], seed=row["seed"], tried=tried, total=total, findings="; ".join(row["findings"]) or "none"
    )


def sweep(run: dict[str, Any]) -> str:
    """What came of the failures in turn."""
    row = run.get("faults in turn")
    if row is None:
        return ""
    ended = ", ".join(f"{outcome}: {count}" for outcome, count in row["outcomes"].items())
    every = "every call" if row["every"] == 1 else f"every {row['every']}th call"
    return SWEEP.format(stories=len(STORIES), every=every, tried=row["tried"], failed=len(row["findings"]), ended=ended)


def text() -> str:
    """The page."""
    run = json.loads(RECORD.read_text())
    lines = [
        "The last recorded run of each kind:\n",
        "| kind | attacked | minutes | seed | tried | failed | how cases ended |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in run["kinds"].items():
        ended = ", ".join(f"{outcome}: {count}" for outcome, count in row["outcomes"].items())
        lines.append(
            f"| {name} | {KINDS[name][0]} | {row['minutes']:g} | {row['seed']} | {row['tried']:,} | {len(row['findings'])} | {ended} |"
        )
    return (
        HEAD
        + "\n".join(lines)
        + "\n"
        + sweep(run)
        + long_cases(run)
        + TAIL.format(calls=CALLS, chains=CHAINS, links=LINKS)
    )


if __name__ == "__main__":
    PAGE.write_text(text())
