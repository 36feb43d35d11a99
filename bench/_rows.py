"""What benchmarks that can be read by machines have in common: rows, printed as a table or as JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field


@dataclass
class Row:
    """One measurement: its samples, and those of peers in the same rounds, all in `unit`; lower is better."""

    name: str
    samples: list[float]
    unit: str = "ns"
    peers: dict[str, list[float]] = field(default_factory=dict)

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


def cpu_ns(work: Callable[[], object]) -> float:
    """Processor time of this process, which other load disturbs least."""
    start = time.process_time_ns()
    work()
    return float(time.process_time_ns() - start)


def rounds(count: int, *works: Callable[[], float]) -> list[list[float]]:
    """Samples of several measurements, taken in turn."""
    samples: list[list[float]] = [[] for _ in works]
    for _ in range(count):
        for own, work in zip(samples, works, strict=True):
            own.append(work())
    return samples
