"""tracex2: where packets are dropped, and a histogram of write sizes, by a tracepoint and a system-call event."""

from __future__ import annotations

from typing import TextIO

from ..histogram import histogram
from ..tool import Tool, command_line
from .dropmon import print_drops

SLOTS = 64


def main(arch: str = "x86_64", seed: int = 0, out: TextIO | None = None) -> Tool:
    """Five rounds of drop locations, a second apart, while packets and writes go by; then the histogram."""
    tool = Tool(arch, "3.20-rfc", seed, out)
    tool.load("rfc_tracex2")
    tool.start("udp", "ping", "writer")
    for _ in range(5):
        tool.sleep(1)
        print_drops(tool)
    tool.print(histogram(tool.slots(1, SLOTS), "syscall write() stats"), end="")
    return tool


if __name__ == "__main__":
    command_line(main)
