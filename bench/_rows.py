"""What benchmarks that can be read by machines have in common: rows, printed as a table or as JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


@dataclass
class Row:
    """One measurement: its samples, and those of peers in the same rounds, all in `unit`; lower is better."""

    name: str
    samples: list[float]
    unit: str = "ns"
    peers: dict[str, list[float]] = field(default_factory=dict)
    at: str = ""  # in a row of growth, how many there were; its peers are the same with fewer

    def ratios(self, peer: str) -> tuple[float, float, float]:
        """Ours over the peer's: of the minima, the lowest and the highest of the rounds."""
        pairs = [ours / theirs for ours, theirs in zip(self.samples, self.peers[peer], strict=False) if theirs > 0]
        return min(self.samples) / min(self.peers[peer]), min(pairs), max(pairs)

    def text(self) -> str:
        line = f"{self.name:<44} {min(self.samples):12,.1f} {self.unit:3} (to {max(self.samples):,.1f})"
        for peer in self.peers:
            middle, low, high = self.ratios(peer)
            line += f"   {middle:.2f} of {peer} ({low:.2f} to {high:.2f})"
        return line


def report(rows: list[Row]) -> None:
    """To standard output; `--json` on the command line chooses the form."""
    if "--json" in sys.argv[1:]:
        print(json.dumps([asdict(row) for row in rows], indent=1))
    else:
        for row in rows:
            print(row.text())
        print(plot([asdict(row) for row in rows if row.at]), end="")


BAR = 40  # characters of the longest


def plot(rows: list[dict[str, Any]]) -> str:
    """Growth, as bars: for each row a line for each number of things, as long as what one of them costs then."""
    out = []
    for row in rows:
        costs = {**{at: min(samples) for at, samples in row["peers"].items()}, row["at"]: min(row["samples"])}
        most = max(costs.values())
        out.append(f"{row['name']}, {row['unit']}")
        for at, cost in costs.items():
            out.append(
                f"{at:>12} {'#' * max(1, round(cost / most * BAR)):<{BAR}} {f'{cost:,.0f}' if cost >= 100 else f'{cost:.3g}'}"
            )
    return "".join(f"{line}\n" for line in out)


def cpu_ns(work: Callable[[], object]) -> float:
    """Processor time of this process, which other load disturbs least."""
    start = time.process_time_ns()
    work()
    return float(time.process_time_ns() - start)


def each_ns(work: Callable[[], object], turns: int, count: int = 7) -> list[float]:
    """Nanoseconds of processor time that one turn takes, in each of some rounds."""
    samples = []
    for _ in range(count):
        start = time.process_time_ns()
        for _ in range(turns):
            work()
        samples.append((time.process_time_ns() - start) / turns)
    return samples


def rounds(count: int, *works: Callable[[], float]) -> list[list[float]]:
    """Samples of several measurements, taken in turn."""
    samples: list[list[float]] = [[] for _ in works]
    for _ in range(count):
        for own, work in zip(samples, works, strict=True):
            own.append(work())
    return samples


def compare(file: str, measured: Callable[[list[str]], dict[str, float]]) -> None:
    """The main() of a benchmark that can stand beside another checkout: `--against FOLDER`, SIMKERNEL_BENCH_ROUNDS (5).

    Each round is a new process, of this code and of the other in turn, which runs the same file: rows that became slower are
    seen, whatever else the host does.  What other words choose is `measured`'s.
    """
    words = sys.argv[1:]
    if words[:1] == ["--round"]:
        print(json.dumps(measured(words[1:])))
        return
    other = Path(words.pop(words.index("--against") + 1)).resolve() if "--against" in words else None
    words = [word for word in words if not word.startswith("-")]
    own: dict[str, list[float]] = {}
    peer: dict[str, list[float]] = {}
    for _ in range(int(os.environ.get("SIMKERNEL_BENCH_ROUNDS", 5))):
        for folder, samples in ((ROOT, own), (other, peer)):
            if folder is not None:
                for name, value in _round(file, folder, words).items():
                    samples.setdefault(name, []).append(value)
    report(
        [
            Row(name, values, peers={"the other code": peer[name]} if name in peer else {})
            for name, values in own.items()
        ]
    )


def _round(file: str, folder: Path, words: list[str]) -> dict[str, float]:
    source = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import bench; sys.path[0] = {str(folder)!r}; "
        f"import runpy; runpy.run_path({file!r}, run_name='__main__')"
    )
    command = [sys.executable, "-c", source, "--round", *words]
    done = subprocess.run(command, check=True, cwd=folder, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found
