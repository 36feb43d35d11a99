"""Instructions in the log's words, with the names of kernel functions: print_bpf_insn() as the verifier calls it."""

from __future__ import annotations

from bpf.btf.codec import Kind
from bpf.helpers.table import ROWS
from bpf.isa.disasm import insn_line
from bpf.isa.insn import BPF_LD_IMM64, BPF_PSEUDO_CALL, BPF_PSEUDO_KFUNC_CALL, Insn
from bpf.uapi import HELPER_NAMES
from bpf.verifier.env import Env


def helper_name(env: Env, number: int) -> str | None:
    """A helper as this version's log names it; None: it has none of that number."""
    row = ROWS.get(number)
    if number and (row is None or not env.version.at_least(row.since)):
        return None
    return f"bpf_{HELPER_NAMES[number]}"


def _call_name(env: Env, insn: Insn) -> str | None:
    """__func_get_name() of kernel/bpf/disasm.c; before kernel functions the number alone decided."""
    if insn.src_reg == 0 or (insn.src_reg != BPF_PSEUDO_CALL and not env.rules.kfunc):
        return helper_name(env, insn.imm) or "unknown"
    return _kfunc_name(env, insn)


def _kfunc_name(env: Env, insn: Insn) -> str | None:
    """disasm_kfunc_name()."""
    if insn.src_reg != BPF_PSEUDO_KFUNC_CALL:
        return None
    if insn.off:
        return "<error>"  # of a module, and no module here has BTF
    func = env.vmlinux[insn.imm]
    return "" if func.kind is Kind.VOID else str(func.name)


def insn_text(env: Env, idx: int) -> str:
    """The instruction's line, without newline; kept, as loops print the same line many times."""
    text = env.insn_texts.get(idx)
    if text is None:
        insn = env.insns[idx]
        high = env.insns[idx + 1].imm if insn.code == BPF_LD_IMM64 else 0
        text = insn_line(
            insn,
            high,
            version=env.version,
            call_name=lambda call: _call_name(env, call),
            allow_ptr_leaks=env.allow_ptr_leaks,
        )
        env.insn_texts[idx] = text
    return text
