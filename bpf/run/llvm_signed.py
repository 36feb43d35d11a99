"""Signed division, and moves that extend a sign, as text for LLVM: ALU instructions whose offset says so, since 6.6."""

from __future__ import annotations

from collections.abc import Callable

from bpf.isa.insn import BPF_DIV, BPF_MOD, BPF_MOV, BPF_SIGNED, Insn


class Unsupported(Exception):
    """The program has an instruction that only the interpreter knows."""


def compute_with_offset(let: Callable[[str], str], insn: Insn, kind: str, x: str, y: str) -> str:
    """The value; `let` writes a line and names its value."""
    if insn.op == BPF_MOV and insn.off in (8, 16, 32) and kind != f"i{insn.off}":
        low = let(f"trunc {kind} {y} to i{insn.off}")
        return let(f"sext i{insn.off} {low} to {kind}")
    if insn.op not in (BPF_DIV, BPF_MOD) or insn.off != BPF_SIGNED:
        raise Unsupported(f"operation {insn.op:02x} with offset {insn.off}")
    # by 0 and by -1 no division is made: the least number has no quotient by -1
    division = insn.op == BPF_DIV
    zero, minus = let(f"icmp eq {kind} {y}, 0"), let(f"icmp eq {kind} {y}, -1")
    odd = let(f"or i1 {zero}, {minus}")
    divisor = let(f"select i1 {odd}, {kind} 1, {kind} {y}")
    value = let(f"{'sdiv' if division else 'srem'} {kind} {x}, {divisor}")
    negated = let(f"sub {kind} 0, {x}") if division else "0"
    value = let(f"select i1 {minus}, {kind} {negated}, {kind} {value}")
    return let(f"select i1 {zero}, {kind} {'0' if division else x}, {kind} {value}")
