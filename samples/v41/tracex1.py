"""tracex1: packets that come in by `lo`, printed by a kprobe program on __netif_receive_skb_core."""

from __future__ import annotations

from typing import TextIO

from ..tool import Tool, command_line


def main(arch: str = "x86_64", seed: int = 0, out: TextIO | None = None) -> Tool:
    """Ping localhost five times and print what comes out of trace_pipe."""
    tool = Tool(arch, "4.1", seed, out)
    tool.load("tracex1")
    tool.start("ping")
    tool.finish()
    tool.print(tool.session.trace_pipe())  # read_trace_pipe() puts each chunk, with a newline of its own
    return tool


if __name__ == "__main__":
    command_line(main)
