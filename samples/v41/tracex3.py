"""tracex3: a heat map of block I/O latency on a logarithmic scale, by kprobes."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

from ..heatmap import SHADES, cell, png, row
from ..tool import Tool, command_line

SLOTS, FIRST_SHOWN = 100, 29
ROWS_PER_BANNER = 20
BANNER = "|1us      |10us     |100us    |1ms      |10ms     |100ms    |1s       |10s"
WIDE_BANNER = "|1ns     |10ns     |100ns    " + BANNER


def main(
    arch: str = "x86_64", seed: int = 0, out: TextIO | None = None, *, all: bool = False, text: bool = False,
    rows: int = 5, interval: float = 0.1, png_file: str | None = None,
) -> Tool:  # fmt: skip
    """A row of cells per interval, cleared after each, while a program uses the disk.

    The C program prints every two seconds for ever; here the disk's work takes a fraction of a virtual second.
    """
    tool = Tool(arch, "4.1", seed, out)
    tool.load("tracex3")
    tool.print("  heatmap of IO latency")
    tool.print(f"  {cell(len(SHADES) - 1, not text)} - many events with this latency")
    tool.print(f"  {cell(0, not text)} - few events")
    tool.start("disk")
    history = []
    for number in range(rows):
        if number % ROWS_PER_BANNER == 0:
            tool.print(WIDE_BANNER if all else BANNER)
        if number == rows - 1:
            tool.finish()
        else:
            tool.sleep(interval)
        counts = tool.slots(1, SLOTS, clear=True)
        history.append(counts[0 if all else FIRST_SHOWN :])
        tool.print(f"{row(history[-1], not text)} # {sum(counts)}")
    if png_file:
        Path(png_file).write_bytes(png(history))
    return tool


if __name__ == "__main__":
    command_line(
        main, all="display wider latency range", text="text only", png_file="FILE: write the heat map as a picture"
    )
