"""Rewriting a verified program into what runs.  The end of kernel/bpf/verifier.c:bpf_check(), Linux 6.1.

`rewrite(env)` runs the kernel's passes in its order over `env.insns` and `env.aux`; `dump()` shows the result as
user space sees it.
"""

from __future__ import annotations

from arch.abi.errno import EFAULT, EINVAL
from bpf.isa.insn import BPF_LD_IMM64, BPF_PSEUDO_FUNC
from bpf.verifier.env import Env
from bpf.verifier.rewrite.bpf_loop import optimize_bpf_loop
from bpf.verifier.rewrite.ctx_access import convert_ctx_accesses
from bpf.verifier.rewrite.dead_code import (
    hard_wire_dead_code_branches,
    remove_dead_code,
    remove_nops,
    sanitize_dead_code,
)
from bpf.verifier.rewrite.dump import dump
from bpf.verifier.rewrite.misc_fixups import do_misc_fixups
from bpf.verifier.rewrite.zext import opt_subreg_zext_lo32_rnd_hi32

__all__ = ["dump", "rewrite"]

LOOP_INLINE = "6.0"  # 1ade23711971
DEAD_CODE_REMOVAL = "5.1"  # 52875a04f4b2; before, unreached code of anyone became traps


def _convert_pseudo_ld_imm64(env: Env) -> None:
    """What an address stands for is forgotten; the address stays.  convert_pseudo_ld_imm64()."""
    for i, insn in enumerate(env.insns):
        if insn.code == BPF_LD_IMM64 and insn.src_reg not in (0, BPF_PSEUDO_FUNC):
            env.insns[i] = insn.replace(src_reg=0)


def _check_callbacks(env: Env) -> None:
    """A callback that no path came to was removed; its address is that of nothing: jit_subprogs().

    Interpreted programs have no addresses of their functions at all: fixup_call_args().
    """
    if env.subprog_cnt <= 1:
        return
    for i, insn in enumerate(env.insns):
        if insn.code != BPF_LD_IMM64 or insn.src_reg != BPF_PSEUDO_FUNC:
            continue
        if not env.request.jit_requested:
            env.reject(EINVAL, "callbacks are not allowed in non-JITed programs")
        if env.find_subprog(i + insn.imm + 1) < 0:
            what = f"verifier bug: No program to jit at insn {i} (subprog < 0)" if env.rules.bugs_named else ""
            env.reject(EFAULT, what)


def rewrite(env: Env) -> None:
    """All passes.  A pass that cannot do its work refuses the program: env.reject()."""
    if env.version.at_least(LOOP_INLINE):
        optimize_bpf_loop(env)
    if env.bpf_capable and env.version.at_least(DEAD_CODE_REMOVAL):
        hard_wire_dead_code_branches(env)
        remove_dead_code(env)
        remove_nops(env)
    else:
        sanitize_dead_code(env)
    convert_ctx_accesses(env)
    do_misc_fixups(env)
    opt_subreg_zext_lo32_rnd_hi32(env)
    _check_callbacks(env)
    _convert_pseudo_ld_imm64(env)
