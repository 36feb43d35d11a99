"""Code that no path reaches.  kernel/bpf/verifier.c:sanitize_dead_code(), opt_hard_wire_dead_code_branches(),
opt_remove_dead_code(), opt_remove_nops().

A loader with CAP_BPF has such code removed; for anyone else it becomes jumps to themselves, so that nothing is
gained by reaching it speculatively.
"""

from __future__ import annotations

from bpf.isa.insn import BPF_CALL, BPF_EXIT, BPF_JA, BPF_JMP, BPF_JMP32, Insn
from bpf.verifier.env import Env
from bpf.verifier.paths.may_goto import MAY_GOTO
from bpf.verifier.rewrite import emit
from bpf.verifier.rewrite.patch import remove_insns


def sanitize_dead_code(env: Env) -> None:
    """Replace instructions that were never walked by traps."""
    for i, aux in enumerate(env.aux):
        if not aux.seen:
            env.insns[i] = emit.TRAP
            aux.zext_dst = False


def _is_cond_jump(insn: Insn) -> bool:
    op = insn.op
    if insn.cls == BPF_JMP32:
        return op != BPF_JA
    return insn.cls == BPF_JMP and op not in (BPF_JA, BPF_EXIT, BPF_CALL)


def hard_wire_dead_code_branches(env: Env) -> None:
    """A condition of which one side was never walked becomes an unconditional jump."""
    for i, insn in enumerate(env.insns):
        if not _is_cond_jump(insn):
            continue
        if not env.aux[i + 1].seen:
            env.insns[i] = emit.ja(insn.off)
        elif not env.aux[i + 1 + insn.off].seen:
            env.insns[i] = emit.NOP


def remove_dead_code(env: Env) -> None:
    """Remove instructions that were never walked."""
    remove_insns(env, [not aux.seen for aux in env.aux])


_MAY_GOTO_0 = Insn(MAY_GOTO)


def remove_nops(env: Env) -> None:
    """Remove jumps to the next instruction, but not those that only this removing makes so: Linux walks once."""
    if env.rules.empty_may_goto_removed:
        _remove_may_goto_0(env)
    remove_insns(env, [insn.code == emit.NOP.code and insn == emit.NOP for insn in env.insns])


def _remove_may_goto_0(env: Env) -> None:
    """Also where removing one makes the one before it jump to the next instruction."""
    for i in reversed([at for at, insn in enumerate(env.insns) if insn.code == MAY_GOTO]):
        if env.insns[i] == _MAY_GOTO_0:
            remove_insns(env, [at == i for at in range(len(env.insns))])
