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
from bpf.verifier.classic.state import PTR_TO_CTX

# Where the fields are in the struct sk_buff of an x86-64 4.1 without lock debugging, in bytes; a machine with another
# layout says so in its request.  include/linux/skbuff.h.
SK_BUFF_4_1 = {
    "len": 128,
    "__pkt_type_offset": 145,
    "queue_mapping": 140,
    "vlan_proto": 164,
    "vlan_tci": 166,
    "priority": 152,
    "mark": 172,
    "protocol": 180,
}

_PLAIN = {0: "len", 8: "mark", 32: "priority"}  # u32
_HALVES = {12: "queue_mapping", 16: "protocol", 28: "vlan_proto"}  # u16, in the order of the network
VLAN_TAG_PRESENT = 0x1000


def convert_load(insn: Insn, offsets: Mapping[str, int]) -> list[Insn]:
    """The one to three instructions a load from struct __sk_buff becomes."""
    dst, src, field = insn.dst_reg, insn.src_reg, insn.off
    if field in _PLAIN:
        return [Insn(BPF_LDX | BPF_MEM | BPF_W, dst, src, offsets[_PLAIN[field]], 0)]
    if field in _HALVES:
        return [Insn(BPF_LDX | BPF_MEM | BPF_H, dst, src, offsets[_HALVES[field]], 0)]
    if field == 4:
        return [
            Insn(BPF_LDX | BPF_MEM | BPF_B, dst, src, offsets["__pkt_type_offset"], 0),
            Insn(BPF_ALU | BPF_AND, dst, 0, 0, 7),
        ]
    load = Insn(BPF_LDX | BPF_MEM | BPF_H, dst, src, offsets["vlan_tci"], 0)
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


def convert_context(
    insns: list[Insn], base_types: Mapping[int, int], offsets: Mapping[str, int] | None = None
) -> list[Insn]:
    """The program with every word load through the context replaced."""
    program = list(insns)
    position = 0
    for index, insn in enumerate(insns):
        new = [insn]
        if insn.code == BPF_LDX | BPF_MEM | BPF_W and base_types.get(index) == PTR_TO_CTX:
            new = convert_load(insn, offsets or SK_BUFF_4_1)
            program[position : position + 1] = new
            if len(new) > 1:
                _adjust_branches(program, position, len(new) - 1)
        position += len(new)
    return program
