"""Upper halves after 32-bit operations.  kernel/bpf/verifier.c:opt_subreg_zext_lo32_rnd_hi32().

Where a CPU's 32-bit operations do not clear the upper half, an instruction that does so follows each of them whose
result is used as 64 bits.  With BPF_F_TEST_RND_HI32 the other results get a random upper half, to prove that
nothing uses it.
"""

from __future__ import annotations

from random import Random

from bpf.isa.insn import (
    BPF_CALL,
    BPF_IMM,
    BPF_JMP,
    BPF_LD,
    BPF_LDX,
    BPF_LSH,
    BPF_OR,
    BPF_PSEUDO_KFUNC_CALL,
    BPF_REG_AX,
    Insn,
)
from bpf.verifier.domain import types as t
from bpf.verifier.env import BPF_F_TEST_RND_HI32, Env, InsnAux, _wide_operands
from bpf.verifier.rewrite import emit
from bpf.verifier.rewrite.patch import BPF_ATOMIC_MODE, BPF_CMPXCHG_OP, BPF_STX_CLASS, insn_def_regno, patch_insns


def _is_cmpxchg(insn: Insn) -> bool:
    return insn.cls == BPF_STX_CLASS and insn.mode == BPF_ATOMIC_MODE and insn.imm == BPF_CMPXCHG_OP


def zext_reg(reg: int) -> Insn:
    """Clear the upper half, marked by imm 1 as the verifier's own.  BPF_ZEXT_REG()."""
    return emit.mov32(reg, reg).replace(imm=1)


def _random_hi32(insn: Insn, aux: InsnAux, reg: int, random: Random) -> list[Insn]:
    """The instruction and a random upper half, if nobody may read that half."""
    if reg == -1 or _wide_operands(insn)[1]:
        return []
    if insn.cls == BPF_LDX and aux.ptr_type == t.PTR_TO_CTX:
        return []  # the load may have become a wider one
    return [
        insn,
        emit.mov64_imm(BPF_REG_AX, random.getrandbits(32)),
        emit.alu64_imm(BPF_LSH, BPF_REG_AX, 32),
        emit.alu64(BPF_OR, reg, BPF_REG_AX),
    ]


def _zero_hi32(env: Env, insn: Insn, reg: int) -> list[Insn]:
    """The instruction and a zero upper half, if the CPU does not clear it anyway."""
    if not env.request.jit_needs_zext and not _is_cmpxchg(insn):
        return []
    if insn.code == BPF_JMP | BPF_CALL and insn.src_reg == BPF_PSEUDO_KFUNC_CALL:
        return []  # the caller extends
    return [insn, zext_reg(reg)]


def opt_subreg_zext_lo32_rnd_hi32(env: Env) -> None:
    """Insert what the CPU and the test flag ask for."""
    patches: dict[int, list[Insn]] = {}
    randomise = bool(env.request.prog_flags & BPF_F_TEST_RND_HI32)
    random = Random(env.request.seed)
    skip = False
    looked_at = range(len(env.insns)) if randomise else [i for i, aux in enumerate(env.aux) if aux.zext_dst]
    for i in looked_at:
        if skip:
            skip = False
            continue
        insn, aux = env.insns[i], env.aux[i]
        if aux.zext_dst:
            patch = _zero_hi32(env, insn, insn_def_regno(insn))
        elif randomise:
            skip = insn.cls == BPF_LD and insn.mode == BPF_IMM and insn.code != 0
            patch = _random_hi32(insn, aux, insn_def_regno(insn), random)
        else:
            continue
        if patch:
            patches[i] = patch
    patch_insns(env, patches)
