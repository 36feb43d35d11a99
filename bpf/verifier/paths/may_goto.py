"""may_goto, since 6.9: a jump that is taken at the latest when the program has gone on long enough.

check_cond_jmp_op() of kernel/bpf/verifier.c, its part for BPF_JCOND.
"""

from __future__ import annotations

from typing import Final

from arch.abi.errno import EINVAL
from bpf.isa.insn import BPF_JCOND, BPF_JMP, BPF_MAY_GOTO, Insn
from bpf.verifier.env import Env
from bpf.verifier.paths.loops import previous_turn, widen

MAY_GOTO: Final = BPF_JMP | BPF_JCOND


def check_may_goto(env: Env, insn: Insn) -> None:
    """The jump is taken; going on is another path, which forgets of numbers what changed since the last turn."""
    if not env.rules.checked_before_walk:
        strange = insn.code != MAY_GOTO or insn.src_reg != BPF_MAY_GOTO or insn.dst_reg
        if strange or insn.imm or insn.off == 0:
            env.reject(EINVAL, f"invalid may_goto off {insn.off} imm {insn.imm}")
    parent = env.cur.parent
    assert parent is not None  # there is always a checkpoint here
    before = previous_turn(env, parent)
    other = env.push_stack(env.insn_idx + 1, env.insn_idx, False)
    other.may_goto_depth += 1
    if before is not None:
        widen(before, other)
    env.insn_idx += insn.off
