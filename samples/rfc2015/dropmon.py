"""dropmon: where packets are dropped, by a program in assembler in the filter file of skb:kfree_skb."""

from __future__ import annotations

from typing import TextIO

from bpf import uapi
from bpf.isa.asm import assemble
from bpf.loader.bpf_load import BPF_PROG_TYPE_TRACING_FILTER, bpf_prog_load, write_filter

from ..tool import Tool, command_line

PROGRAM = """
    r2 = *(u64 *)(r1 +8)            ; bpf_context.arg2: the caller of kfree_skb
    *(u64 *)(r10 -8) = r2
    r2 = r10
    r2 += -8
    r1 = map[counts]
    call 1                          ; map_lookup_elem
    if r0 == 0 goto new
    r1 = 1
    lock *(u64 *)(r0 +0) += r1
    goto out
  new:
    *(u64 *)(r10 -16) = 1
    r4 = 0                          ; BPF_ANY
    r3 = r10
    r3 += -16
    r2 = r10
    r2 += -8
    r1 = map[counts]
    call 2                          ; map_update_elem
  out:
    r0 = 0                          ; discard the event
    exit
"""


def main(arch: str = "x86_64", seed: int = 0, out: TextIO | None = None, rounds: int = 10) -> Tool:
    """Ten rounds, a second apart."""
    tool = Tool(arch, "3.20-rfc", seed, out)
    task = tool.task
    counts = task.map_create(uapi.BPF_MAP_TYPE_HASH, 8, 8, 1024)
    tool.loader.map_fd.append(counts)
    prog = bpf_prog_load(task, BPF_PROG_TYPE_TRACING_FILTER, assemble(PROGRAM, {"counts": counts}))
    tool.loader.prog_fd.append(prog)
    tool.loader.event_fd.append(write_filter(task, "events/skb/kfree_skb", f"bpf_{prog}"))
    tool.start("udp")
    for _ in range(rounds):
        tool.sleep(1)
        print_drops(tool)
    return tool


def print_drops(tool: Tool) -> None:
    """Every location of map 0 with its count; an empty line if there were any."""
    keys = list(tool.keys(0, bytes(8)))
    for key in keys:
        location, count = tool.task.unpack("QQ", key + tool.lookup(0, key, 8))
        tool.print(f"location 0x{location:x} count {count}")
    if keys:
        tool.print()


if __name__ == "__main__":
    command_line(main)
