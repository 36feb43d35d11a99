"""tracex4: a histogram of write sizes by a program in the filter file of a kprobe event."""

from __future__ import annotations

from typing import TextIO

from bpf.loader.bpf_load import DEBUGFS

from ..histogram import histogram
from ..tool import Tool, command_line

SLOTS = 64


def main(arch: str = "x86_64", seed: int = 0, out: TextIO | None = None) -> Tool:
    """Two seconds of writes, then the histogram."""
    tool = Tool(arch, "3.20-rfc", seed, out)
    tool.task.write_file(DEBUGFS + "kprobe_events", "p:sys_write sys_write\n")
    tool.load("rfc_tracex4")
    tool.start("writer")
    tool.sleep(2)
    tool.print()
    tool.print(histogram(tool.slots(0, SLOTS), "kprobe sys_write() stats"), end="")
    return tool


if __name__ == "__main__":
    command_line(main)
