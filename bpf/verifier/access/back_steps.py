"""The way back for precision: what the usual instructions do to the registers that are followed, decoded once.

Loops go back over the same instructions again and again; backtrack_insn() of kernel/bpf/verifier.c decodes them each time.
"""

from __future__ import annotations

from typing import Final

from bpf.isa.insn import (
    BPF_ALU,
    BPF_ALU64,
    BPF_CALL,
    BPF_END,
    BPF_EXIT,
    BPF_IMM,
    BPF_JMP,
    BPF_JMP32,
    BPF_K,
    BPF_LD,
    BPF_MOV,
    BPF_NEG,
    BPF_REG_FP,
    BPF_X,
    Insn,
)
from bpf.verifier.env import Env

# How an instruction changes the masks on the way back: (kind, bit of destination, bit of source)
BackStep = tuple[int, int, int]
NO_STEP: Final = 0
ADD_SOURCE: Final = 1
FROM_CONSTANT: Final = 2
FROM_SOURCE: Final = 3
OTHER_STEP: Final = 4  # nothing of these: decoded when it is met


_KNOWN: Final[tuple[dict[int, BackStep], dict[int, BackStep]]] = (
    {},
    {},
)  # by opcode and registers, which is all that counts


def back_steps(insns: list[Insn], by_frame: bool) -> list[BackStep]:
    """Of all instructions; `by_frame`: since 6.5 nobody follows the frame pointer."""
    known = _KNOWN[by_frame]
    steps: list[BackStep] = []
    for insn in insns:
        key = insn.code << 8 | insn.dst_reg << 4 | insn.src_reg
        step = known.get(key)
        if step is None:
            step = known[key] = _back_step(insn, by_frame)
        steps.append(step)
    return steps


def steps_of(env: Env) -> list[BackStep]:
    """Of the program that is walked, worked out when a path goes back for the first time."""
    if not env.back_steps:
        env.back_steps = back_steps(env.insns, env.rules.stack_in_history)
    return env.back_steps


def _back_step(insn: Insn, by_frame: bool) -> BackStep:
    class_, op = insn.cls, insn.op
    dst, src = 1 << insn.dst_reg, 1 << insn.src_reg
    if insn.code == 0:
        return NO_STEP, 0, 0
    if by_frame and insn.src_reg == BPF_REG_FP:
        src = 0
    if class_ in (BPF_ALU, BPF_ALU64):
        if op == BPF_MOV:
            return (FROM_SOURCE if insn.src_kind == BPF_X and src else FROM_CONSTANT), dst, src
        if insn.src_kind == BPF_X and src and op not in (BPF_END, BPF_NEG):
            return ADD_SOURCE, dst, src
        return NO_STEP, 0, 0
    if class_ in (BPF_JMP, BPF_JMP32) and op not in (BPF_CALL, BPF_EXIT) and insn.src_kind == BPF_K:
        return NO_STEP, 0, 0
    if by_frame and class_ == BPF_LD and insn.mode == BPF_IMM:
        return FROM_CONSTANT, dst, 0
    return OTHER_STEP, 0, 0
