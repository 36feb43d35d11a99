"""Calls of bpf_loop() with a known callback become loops.  kernel/bpf/verifier.c:optimize_bpf_loop()."""

from __future__ import annotations

from arch.abi.errno import E2BIG
from bpf import uapi
from bpf.isa.insn import BPF_ADD, BPF_CALL, BPF_JEQ, BPF_JGE, BPF_JLE, BPF_JMP, BPF_PSEUDO_CALL, Insn
from bpf.verifier.env import Env
from bpf.verifier.rewrite import emit
from bpf.verifier.rewrite.patch import patch_insns

BPF_FUNC_LOOP = 181
CALL_AT = 12  # index of the callback's call in the loop


def loop_insns(stack_base: int) -> list[Insn]:
    """The loop; R6 to R8 hold bound, counter and context, and are kept at `stack_base` meanwhile."""
    saved = (stack_base, stack_base + 8, stack_base + 16)
    return [
        emit.jmp_imm(BPF_JLE, 1, uapi.BPF_MAX_LOOPS, 2),
        emit.mov32_imm(0, -E2BIG),
        emit.ja(16),
        emit.stx(8, 10, 6, saved[0]),
        emit.stx(8, 10, 7, saved[1]),
        emit.stx(8, 10, 8, saved[2]),
        emit.mov64(6, 1),
        emit.mov32_imm(7, 0),
        emit.mov64(8, 3),
        emit.jmp(BPF_JGE, 7, 6, 5),
        emit.mov64(1, 7),
        emit.mov64(2, 8),
        Insn(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 0),
        emit.alu64_imm(BPF_ADD, 7, 1),
        emit.jmp_imm(BPF_JEQ, 0, 0, -6),
        emit.mov64(0, 7),
        emit.ldx(8, 6, 10, saved[0]),
        emit.ldx(8, 7, 10, saved[1]),
        emit.ldx(8, 8, 10, saved[2]),
    ]


def _is_loop_call(insn: Insn) -> bool:
    return insn.code == BPF_JMP | BPF_CALL and insn.src_reg == 0 and insn.imm == BPF_FUNC_LOOP


def optimize_bpf_loop(env: Env) -> None:
    """Inline what can be; each function with such a loop needs 24 bytes more of stack."""
    patches: dict[int, list[Insn]] = {}
    callbacks: list[tuple[int, int]] = []
    calls = [i for i, insn in enumerate(env.insns) if _is_loop_call(insn) and env.aux[i].loop_fit_for_inline]
    for number in range(env.subprog_cnt if calls else 0):
        subprog, end = env.subprogs[number], env.subprogs[number + 1].start
        extra = 0
        for i in calls:
            if subprog.start <= i < end:
                extra = 24 + (-subprog.stack_depth) % 8
                patches[i] = loop_insns(-(subprog.stack_depth + extra))
                callbacks.append((i, env.aux[i].loop_callback))
        subprog.stack_depth += extra
    patch_insns(env, patches)
    grown = 0
    for i, callback in callbacks:  # in program order: earlier loops have moved the later ones
        at = i + grown + CALL_AT
        env.insns[at] = env.insns[at].replace(imm=env.subprogs[callback].start - at - 1)
        grown += len(patches[i]) - 1
    if env.subprogs:
        env.facts.stack_depth = env.subprogs[0].stack_depth
