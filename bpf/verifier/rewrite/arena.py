"""Pointers into an arena are 32 bits wide: what computes with them becomes so.  kernel/bpf/verifier.c:do_misc_fixups()."""

from __future__ import annotations

from bpf import uapi
from bpf.isa.insn import BPF_ADDR_SPACE_CAST, BPF_ALU, BPF_ALU64, BPF_MOV, BPF_X
from bpf.verifier.env import Env


def narrow_arena_pointers(env: Env) -> None:
    """Casts to the program's pointers clear the upper half, and so does arithmetic; back to user space the engine casts."""
    if env.arena is None:
        return
    unconverted = bool(env.arena.map_flags & uapi.BPF_F_NO_USER_CONV)
    for i, insn in enumerate(env.insns):
        if insn.code == BPF_ALU64 | BPF_MOV | BPF_X and insn.imm:
            if unconverted or (insn.off == BPF_ADDR_SPACE_CAST and insn.imm == 1):
                env.insns[i] = insn.replace(code=BPF_ALU | BPF_MOV | BPF_X, off=0, imm=0)
        elif env.aux[i].narrowed:
            env.insns[i] = insn.replace(code=BPF_ALU | insn.op | insn.src_kind)
