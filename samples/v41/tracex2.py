"""tracex2: who calls kfree_skb, and a histogram of write sizes, by kprobes."""

from __future__ import annotations

from typing import TextIO

from ..histogram import histogram
from ..tool import Tool, command_line

SLOTS = 64


def main(arch: str = "x86_64", seed: int = 0, out: TextIO | None = None) -> Tool:
    """Five rounds of drop locations, a second apart, while packets and writes go by; then the histogram."""
    tool = Tool(arch, "4.1", seed, out)
    tool.load("tracex2")
    tool.start("udp", "writer")
    for _ in range(5):
        tool.sleep(1)
        drops = list(tool.keys(0, bytes(8)))
        for key in drops:
            location, count = tool.task.unpack("QQ", key + tool.lookup(0, key, 8))
            tool.print(f"location 0x{location:x} count {count}")
        if drops:
            tool.print()
    tool.print(histogram(tool.slots(1, SLOTS), "syscall write() stats"), end="")
    return tool


if __name__ == "__main__":
    command_line(main)
