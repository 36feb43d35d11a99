"""tracex3: a heat map of block I/O latency from 0 to twice the average, in gray shades, by block_rq_issue and _complete."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from ..heatmap import SHADES, cell, png, row
from ..tool import Tool, command_line

SLOTS = 32
GLOBALS, LATENCY = 1, 2  # numbers of the maps
MIN_MISSED, FEW_SLOTS, MIN_CAPTURED = 10, 4, 100  # when the range is moved


@dataclass
class Globals:
    """struct globals of tracex3.bpf.c; microseconds."""

    lat_ave: int
    lat_sum: int
    missed: int
    max_lat: int
    num_samples: int

    FORM = "QQQQi4x"

    @classmethod
    def read(cls, tool: Tool) -> Globals:
        """From map 1."""
        return cls(
            *struct.unpack(tool.task.mark + cls.FORM, tool.lookup(GLOBALS, bytes(4), struct.calcsize("=" + cls.FORM)))
        )

    def write(self, tool: Tool) -> None:
        """To map 1."""
        values = (self.lat_ave, self.lat_sum, self.missed, self.max_lat, self.num_samples)
        tool.update(GLOBALS, bytes(4), struct.pack(tool.task.mark + self.FORM, *values))


@dataclass
class HeatMap:
    """What was printed, for pictures and for tests."""

    tool: Tool
    colour: bool = True
    rows: list[list[int]] = field(default_factory=list)
    learned: int = 0  # completions that went into the average
    missed: int = 0

    def banner(self, average: int) -> None:
        """What the cells mean."""
        many, few = len(SHADES) - 1, 0
        tool, colour = self.tool, self.colour
        tool.print("  IO latency in usec")
        tool.print(f"  {cell(many, colour)} - many events with this latency")
        tool.print(f"  {cell(few, colour)} - few events")
        tool.print(f"0 usec     ...          {2 * average} usec")

    def print_row(self) -> None:
        """One row, and the range moved if it does not fit."""
        tool = self.tool
        counts = tool.slots(LATENCY, SLOTS, clear=True)
        found = Globals.read(tool)
        captured = sum(counts)
        self.rows.append(counts)
        self.missed += found.missed
        tool.print(f"{row(counts, self.colour)} captured={captured} missed={found.missed} max_lat={found.max_lat} usec")
        self.adapt(counts, captured, found)

    def adapt(self, counts: list[int], captured: int, found: Globals) -> None:
        """More than a tenth missed: a larger range.  Only the lowest slots in use: a smaller one."""
        highest = max((slot for slot, count in enumerate(counts) if count), default=-1)
        if found.missed > MIN_MISSED and found.missed > captured // 10:
            self.tool.print("adjusting range UP...")
            found.lat_ave = found.max_lat // 2
            self.banner(found.lat_ave)
        elif highest < FEW_SLOTS and captured > MIN_CAPTURED:
            self.tool.print("adjusting range DOWN...")
            found.lat_ave //= 4
            self.banner(found.lat_ave)
        found.missed = found.max_lat = 0
        found.write(self.tool)


def main(
    arch: str = "x86_64", seed: int = 0, out: TextIO | None = None, *, text: bool = False, rows: int = 5,
    interval: float = 0.07, png_file: str | None = None,
) -> HeatMap:  # fmt: skip
    """Learn the average latency, then a row per interval while programs use the disk.

    The C program polls every second and prints every two; the simulated disk's work is over sooner.
    """
    tool = Tool(arch, "3.20-rfc", seed, out)
    tool.load("rfc_tracex3")
    tool.start("disk")
    tool.print("waiting for events to determine average latency...")
    while Globals.read(tool).lat_ave == 0:
        tool.sleep(interval / 7)
    heatmap = HeatMap(tool, not text)
    found = Globals.read(tool)
    heatmap.learned = found.num_samples
    heatmap.banner(found.lat_ave)
    for number in range(rows):
        tool.finish() if number == rows - 1 else tool.sleep(interval)
        heatmap.print_row()
    if png_file:
        Path(png_file).write_bytes(png(heatmap.rows))
    return heatmap


if __name__ == "__main__":
    command_line(main, text="text only", png_file="FILE: write the heat map as a picture")
