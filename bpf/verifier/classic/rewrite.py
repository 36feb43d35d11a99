"""Context loads of socket programs become loads from the real struct sk_buff.  Linux 4.1.

kernel/bpf/verifier.c:convert_ctx_accesses(), adjust_branches(), and net/core/filter.c:sk_filter_convert_ctx_access().
"""

from __future__ import annotations

from collections.abc import Mapping

from bpf.isa.insn import (
    BPF_ALU,
    BPF_AND,
    BPF_B,
    BPF_CALL,
    BPF_EXIT,
    BPF_H,
    BPF_JMP,
    BPF_LDX,
    BPF_MEM,
    BPF_RSH,
    BPF_W,
    Insn,
)
from bpf.layout import KernelLayout
from bpf.verifier.classic.state import PTR_TO_CTX

_PLAIN = {0: "sk_buff.len", 8: "sk_buff.mark", 32: "sk_buff.priority"}  # u32
_HALVES = {
    12: "sk_buff.queue_mapping",
    16: "sk_buff.protocol",
    28: "sk_buff.vlan_proto",
}  # u16, in the order of the network
VLAN_TAG_PRESENT = 0x1000


def convert_load(insn: Insn, kernel: KernelLayout) -> list[Insn]:
    """The one to three instructions a load from struct __sk_buff becomes."""
    dst, src, field = insn.dst_reg, insn.src_reg, insn.off
    if field in _PLAIN:
        return [Insn(BPF_LDX | BPF_MEM | BPF_W, dst, src, kernel.offset(_PLAIN[field]), 0)]
    if field in _HALVES:
        return [Insn(BPF_LDX | BPF_MEM | BPF_H, dst, src, kernel.offset(_HALVES[field]), 0)]
    if field == 4:
        kind = kernel.place("sk_buff.pkt_type")
        insns = [
            Insn(BPF_LDX | BPF_MEM | BPF_B, dst, src, kind.offset, 0),
            Insn(BPF_ALU | BPF_AND, dst, 0, 0, kind.mask),
        ]
        if kind.shift:
            insns.append(Insn(BPF_ALU | BPF_RSH, dst, 0, 0, kind.shift))
        return insns
    load = Insn(BPF_LDX | BPF_MEM | BPF_H, dst, src, kernel.offset("sk_buff.vlan_tci"), 0)
    if field == 24:
        return [load, Insn(BPF_ALU | BPF_AND, dst, 0, 0, ~VLAN_TAG_PRESENT)]
    return [load, Insn(BPF_ALU | BPF_RSH, dst, 0, 0, 12), Insn(BPF_ALU | BPF_AND, dst, 0, 0, 1)]


def _adjust_branches(insns: list[Insn], position: int, delta: int) -> None:
    """Jumps over the place where `delta` slots came in.

    The second test should compare with position + delta; Linux 4.1 up to 4.1.x stable does not, and a backward jump
    that ends close before `position` may land wrongly.  Kept on purpose.
    """
    for i, insn in enumerate(insns):
        if insn.cls != BPF_JMP or insn.op in (BPF_CALL, BPF_EXIT):
            continue
        target = i + insn.off + 1
        if i < position < target:
            insns[i] = insn.replace(off=insn.off + delta)
        elif i > position > target:
            insns[i] = insn.replace(off=insn.off - delta)


def convert_context(insns: list[Insn], base_types: Mapping[int, int], kernel: KernelLayout) -> list[Insn]:
    """The program with every word load through the context replaced."""
    program = list(insns)
    position = 0
    for index, insn in enumerate(insns):
        new = [insn]
        if insn.code == BPF_LDX | BPF_MEM | BPF_W and base_types.get(index) == PTR_TO_CTX:
            new = convert_load(insn, kernel)
            program[position : position + 1] = new
            if len(new) > 1:
                _adjust_branches(program, position, len(new) - 1)
        position += len(new)
    return program
