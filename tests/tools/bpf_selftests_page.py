"""What a run of bpf_selftests.py has found so far, kept after every object, test and program; and the page that tells it.

A run that was stopped goes on where it was; only a run that has all of it writes the page.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/bpf-selftests.md"
FIRST, AFTER = "## Objects", "## Random programs"  # the page between these headings is written here

# What is missing here, by the test of test_progs that needs it.
REASONS = {
    "sockmap_ktls": "TLS in the kernel",
    "cgroup_v1v2": "cgroup v1",
    "mptcp": "MPTCP",
}

Result = tuple[str, float]  # what it said, seconds


class Kept:
    """Results by kind ("verdicts", "progs", "runners") and name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.results: dict[str, dict[str, Result]] = {"verdicts": {}, "progs": {}, "runners": {}}
        if path.exists():
            for kind, found in json.loads(path.read_text()).items():
                self.results[kind] = {name: (said, seconds) for name, (said, seconds) in found.items()}

    def put(self, kind: str, name: str, said: str, seconds: float) -> None:
        """At once on the disk, whole or not at all."""
        self.results[kind][name] = said, round(seconds, 1)
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps(self.results, indent=0))
        os.replace(fresh, self.path)

    def left(self, kind: str, names: Iterable[str]) -> list[str]:
        """What has no result yet."""
        return [name for name in names if name not in self.results[kind]]


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} seconds"


def _objects(found: dict[str, Result], programs: int) -> list[str]:
    wrong = {obj: said for obj, (said, _) in found.items() if said}
    lines = [line for said in wrong.values() for line in said.splitlines()]
    unsound = sum(line.endswith("UNSOUND") for line in lines)
    lengths = sum(line.endswith("LENGTH") for line in lines)
    text = [
        "## Objects", "",
        f"{programs} programs of the suite's {len(found)} objects were loaded on the real kernel, each alone, by a small program that is linked statically",
        "with libbpf (`tests/tools/bpf_verdicts.c`). Loaded again by the last whole run,"
        f" {programs - len(lines) + lengths} get the same verdict here; {unsound} are",
        f"accepted that the real kernel rejects; {lengths} lengths after rewriting differ. It took {_minutes(sum(took for _, took in found.values()))}.",
    ]  # fmt: skip
    if lines:
        text += ["", "| object and program | here, on Linux |", "|---|---|"]
        text += [f"| {line.split(': ')[0]} | {line.split(': ')[1]} |" for line in lines]
    return [*text, ""]


def _progs(found: dict[str, Result]) -> list[str]:
    bad = {name: said for name, (said, _) in found.items() if said != "OK"}
    text = [
        "## test_progs, unmodified", "",
        f"The tests that pass on the real kernel in a virtual machine with `ip`, `tc`, `ping` and Debian's network modules ({len(found)}, some with a skipped part)",
        f"are in `tests/data/bpf_selftests_progs_6_1.txt`. Of these {len(found) - len(bad)} pass here, in machines with two CPUs that see the host's `/usr`; all of",
        f"them took {_minutes(sum(took for _, took in found.values()))}. What is left, by cause:",
        "", "| test | missing here |", "|---|---|",
    ]  # fmt: skip
    return [*text, *(f"| {name} | {REASONS.get(name, said)} |" for name, said in sorted(bad.items())), ""]


def _runners(found: dict[str, Result]) -> list[str]:
    text = [
        "## The other programs", "",
        "The suite's other programs, each in a machine of 2 GB; they end with 0 on the real kernel.",
        "", "| program | status here | time |", "|---|---|---|",
    ]  # fmt: skip
    return [*text, *(f"| {name} | {said} | {_minutes(took)} |" for name, (said, took) in found.items()), ""]


def write_page(kept: Kept, programs: int) -> None:
    """The part of docs/bpf-selftests.md that a whole run tells."""
    page = PAGE.read_text()
    before, after = page.index(FIRST), page.index(AFTER)
    results = kept.results
    lines = [*_objects(results["verdicts"], programs), *_progs(results["progs"]), *_runners(results["runners"])]
    PAGE.write_text(page[:before] + "\n".join(lines) + "\n" + page[after:])
