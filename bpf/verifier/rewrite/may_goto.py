"""may_goto becomes a counter below the function's stack.  kernel/bpf/verifier.c:do_misc_fixups().

Since 6.15 the counter is small, and when it is used up the clock is asked, where the JIT can call for that.
"""

from __future__ import annotations

from bpf import uapi
from bpf.isa.callees import BPF_MAX_TIMED_LOOPS, TIMED_MAY_GOTO
from bpf.isa.insn import BPF_CALL, BPF_EXIT, BPF_JA, BPF_JEQ, BPF_JMP, BPF_JMP32, BPF_JNE, BPF_REG_AX, BPF_SUB, Insn
from bpf.verifier.env import Env
from bpf.verifier.paths.may_goto import MAY_GOTO
from bpf.verifier.rewrite import emit
from bpf.verifier.rewrite.patch import patch_insns


def _counted(insn: Insn, depth: int) -> list[Insn]:
    at = -depth - 8
    over = insn.off + 2 if insn.off >= 0 else insn.off - 1
    return [
        emit.ldx(8, BPF_REG_AX, 10, at),
        emit.jmp_imm(BPF_JEQ, BPF_REG_AX, 0, over),
        emit.alu64_imm(BPF_SUB, BPF_REG_AX, 1),
        emit.stx(8, 10, BPF_REG_AX, at),
    ]


def _timed(insn: Insn, depth: int) -> list[Insn]:
    at = -depth - 16
    over = insn.off + 5 if insn.off >= 0 else insn.off - 1
    return [
        emit.ldx(8, BPF_REG_AX, 10, at),
        emit.jmp_imm(BPF_JEQ, BPF_REG_AX, 0, over),
        emit.alu64_imm(BPF_SUB, BPF_REG_AX, 1),
        emit.jmp_imm(BPF_JNE, BPF_REG_AX, 0, 2),
        emit.mov64_imm(BPF_REG_AX, at),
        emit.call(TIMED_MAY_GOTO),
        emit.stx(8, 10, BPF_REG_AX, at),
    ]


def expand_may_goto(env: Env) -> None:
    """Each becomes a few instructions; its function begins by setting the counter."""
    if not any(insn.code == MAY_GOTO for insn in env.insns):
        return
    timed = env.rules.may_goto_timed and env.request.jit_requested
    extra = 16 if timed else 8
    for number in range(env.subprog_cnt):
        subprog = env.subprogs[number]
        count = 0
        i = subprog.start
        while i < env.subprogs[number + 1].start:
            insn = env.insns[i]
            if insn.code == MAY_GOTO:
                patch = (_timed if timed else _counted)(insn, subprog.stack_depth)
                patch_insns(env, {i: patch})
                i += len(patch) - 1
                count += 1
            i += 1
        if count:
            subprog.stack_depth += extra
            _prologue(env, subprog.start, subprog.stack_depth, timed)
    env.facts.stack_depth = env.subprogs[0].stack_depth


def _prologue(env: Env, start: int, depth: int, timed: bool) -> None:
    if timed:
        first = [emit.st(8, 10, -depth, BPF_MAX_TIMED_LOOPS), emit.st(8, 10, -depth + 8, 0)]
    else:
        first = [emit.st(8, 10, -depth, uapi.BPF_MAX_LOOPS)]
    patch_insns(env, {start: [*first, env.insns[start]]})
    for i, insn in enumerate(env.insns):
        if insn.cls not in (BPF_JMP, BPF_JMP32) or insn.op in (BPF_CALL, BPF_EXIT):
            continue
        by_imm = insn.code == BPF_JMP32 | BPF_JA
        if i + 1 + (insn.imm if by_imm else insn.off) == start:
            # a loop to the function's first instruction must not begin anew
            more = len(first)
            env.insns[i] = insn.replace(imm=insn.imm + more) if by_imm else insn.replace(off=insn.off + more)
