"""A counter in assembler, in the manner of dropmon: who calls a kernel function, by kprobe."""

from __future__ import annotations

from typing import TextIO

from arch.abi.version import KernelVersion
from arch.architecture import get
from bpf import uapi
from bpf.isa.asm import assemble
from bpf.loader.bpf_load import DEBUGFS, attach_perf, bpf_prog_load, event_id

from ..tool import Tool, command_line

# Linux 4.1 has the caller's address in a register (LINK) or on top of the stack (probe_read, helper 4).
CALLER = {
    True: "r1 = *(u64 *)(r1 +{at})\n*(u64 *)(r10 -8) = r1",
    False: "r3 = *(u64 *)(r1 +{at})\nr1 = r10\nr1 += -8\nr2 = 8\n*(u64 *)(r10 -8) = r2\ncall 4",
}
COUNT = """
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
    r1 = map[counts]
    r2 = r10
    r2 += -8
    r3 = r10
    r3 += -16
    r4 = 0
    call 2                          ; map_update_elem
  out:
    r0 = 0
    exit
"""


def program_text(arch: str) -> str:
    """The program for one architecture."""
    facts = get(arch)
    layout = facts.pt_regs_for(KernelVersion.parse("4.1"))
    register = facts.link_register or facts.stack_pointer
    at = layout.offset(register)
    return CALLER[facts.link_register is not None].format(at=at) + COUNT


def main(arch: str = "x86_64", seed: int = 0, out: TextIO | None = None, function: str = "kfree_skb") -> Tool:
    """Attach by hand (kprobe_events, perf_event_open, PERF_EVENT_IOC_SET_BPF), let packets drop, print the counts."""
    tool = Tool(arch, "4.1", seed, out)
    task = tool.task
    counts = task.map_create(uapi.BPF_MAP_TYPE_HASH, 8, 8, 1024)
    tool.loader.map_fd.append(counts)
    insns = assemble(program_text(arch), {"counts": counts})
    prog = bpf_prog_load(task, uapi.BPF_PROG_TYPE_KPROBE, insns, "GPL", tool.machine.kernel.version.code)
    tool.loader.prog_fd.append(prog)
    task.write_file(DEBUGFS + "kprobe_events", f"p:{function} {function}\n", append=True)
    tool.loader.event_fd.append(attach_perf(task, event_id(task, f"kprobes/{function}"), prog))
    tool.start("udp")
    tool.finish()
    for key in tool.keys(0, bytes(8)):
        location, count = task.unpack("QQ", key + tool.lookup(0, key, 8))
        tool.print(f"location 0x{location:x} count {count}")
    return tool


if __name__ == "__main__":
    command_line(main)
