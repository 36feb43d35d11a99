"""tracex1: the event net:netif_receive_skb, let through only where skb->dev->name is "lo"."""

from __future__ import annotations

from typing import TextIO

from simkernel import net

from ..tool import Tool, command_line


def main(arch: str = "x86_64", seed: int = 0, out: TextIO | None = None) -> Tool:
    """Ping localhost five times, and let frames arrive at eth0, too; print trace_pipe."""
    tool = Tool(arch, "3.20-rfc", seed, out)
    tool.load("rfc_tracex1")
    tool.start("ping")
    for _ in range(3):
        frame = bytes.fromhex("525400123456 525500010202 0800") + bytes(46)
        net.inject(tool.machine.kernel, frame)
    tool.finish()
    tool.print(tool.session.trace_pipe())
    return tool


if __name__ == "__main__":
    command_line(main)
