"""Moves: of a number, of a register, of its low half, of its low bits with their sign.

check_alu_op() of kernel/bpf/verifier.c, its part for BPF_MOV.
"""

from __future__ import annotations

from typing import Final

from arch.abi.errno import EACCES, EINVAL
from arch.abi.limits import U32_MAX, U64_MAX
from bpf.isa.insn import BPF_ADDR_SPACE_CAST, BPF_ALU, BPF_ALU64, BPF_X, Insn
from bpf.verifier.access.regs import check_dst, check_src, is_pointer_value, mark_unknown, settle_bounds
from bpf.verifier.access.stack import assign_id
from bpf.verifier.domain.bounds import reg_bounds_sync, zext_32_to_64
from bpf.verifier.domain.sign_extend import extend32, extend64
from bpf.verifier.domain.state import ADD_CONST, DEF_NOT_SUBREG, REG_LIVE_WRITTEN, UNKNOWN, Reg, known_scalar
from bpf.verifier.domain.types import PTR_TO_ARENA, SCALAR_VALUE
from bpf.verifier.env import Env

_RESERVED: Final = "BPF_MOV uses reserved fields"
_NARROW: Final = {BPF_ALU: (8, 16), BPF_ALU64: (8, 16, 32)}  # bits whose sign a move may extend


def check_mov(env: Env, insn: Insn) -> None:
    """dst = src or a number."""
    if insn.src_kind != BPF_X:
        if insn.off or insn.src_reg:
            env.reject(EINVAL, _RESERVED)
        dst = check_dst(env, insn.dst_reg)
        dst.value = known_scalar(insn.imm & (U64_MAX if insn.cls == BPF_ALU64 else U32_MAX))
        dst.precise = not env.bpf_capable
        return
    extends = bool(insn.off) and env.rules.sign_extension and insn.off in _NARROW[insn.cls]
    if insn.off == BPF_ADDR_SPACE_CAST and insn.cls == BPF_ALU64 and env.rules.space_casts:
        _cast_between_spaces(env, insn)
        return
    if (insn.off and not extends) or insn.imm:
        env.reject(EINVAL, _RESERVED)
    check_src(env, insn.src_reg)
    dst = check_dst(env, insn.dst_reg)
    wide = insn.cls == BPF_ALU64
    if extends:
        _mov_signed(env, dst, env.regs[insn.src_reg], insn)
    elif wide:
        _mov64(env, dst, env.regs[insn.src_reg])
    else:
        _mov32(env, dst, env.regs[insn.src_reg], insn)


def _cast_between_spaces(env: Env, insn: Insn) -> None:
    """From an arena's addresses of user space to the program's pointers, or back to numbers."""
    if insn.imm not in (1, 1 << 16):
        env.reject(EINVAL, "addr_space_cast insn can only convert between address space 1 and 0")
    if env.arena is None:
        env.reject(EINVAL, "addr_space_cast insn can only be used in a program that has an associated arena")
    check_src(env, insn.src_reg)
    dst = check_dst(env, insn.dst_reg)
    mark_unknown(env, dst)
    if insn.imm == 1:
        dst.value = UNKNOWN.with_type(PTR_TO_ARENA)
        dst.subreg_def = env.insn_idx + 1  # 32 bits


def _mov64(env: Env, dst: Reg, src: Reg) -> None:
    if src.value.type == SCALAR_VALUE and src.value.id & ADD_CONST:
        src.value = src.value.without_id()
    v = src.value
    if v.type == SCALAR_VALUE and not v.id and (v.var_off[1] or env.rules.ids_of_known_numbers):
        # the same id on both: what is learnt about one holds for the other
        src.value = src.value.with_id(env.new_id())
    dst.copy_register_state(src)
    dst.live |= REG_LIVE_WRITTEN
    dst.subreg_def = DEF_NOT_SUBREG


def _mov_signed(env: Env, dst: Reg, src: Reg, insn: Insn) -> None:
    """The low bits, their sign extended to 64 or 32; a number that does not change stays a copy."""
    wide = insn.cls == BPF_ALU64
    if is_pointer_value(env, src.value):
        text = "sign-extension part of pointer" if wide else "partial copy of pointer"
        env.reject(EACCES, f"R{insn.src_reg} {text}")
    if src.value.type == SCALAR_VALUE:
        unchanged = src.value.umax < 1 << insn.off - 1
        if unchanged:
            assign_id(env, src)
        dst.copy_register_state(src)
        v = src.value.copy() if unchanged else src.value.without_id().copy()
        (extend64 if wide else extend32)(v, insn.off // 8)
        dst.live |= REG_LIVE_WRITTEN
        dst.subreg_def = DEF_NOT_SUBREG if wide else env.insn_idx + 1
    else:
        mark_unknown(env, dst)
        v = UNKNOWN.copy()
    if not wide:
        zext_32_to_64(v)
        reg_bounds_sync(v)
    dst.value = v
    if env.rules.more_operators_tracked:
        settle_bounds(env, dst, "alu")


def _mov32(env: Env, dst: Reg, src: Reg, insn: Insn) -> None:
    v = src.value
    if is_pointer_value(env, v):
        env.reject(EACCES, f"R{insn.src_reg} partial copy of pointer")
    if v.type == SCALAR_VALUE:
        keeps_id = env.rules.id_of_narrow_mov and v.umax <= U32_MAX
        if keeps_id and v.id & ADD_CONST:
            v = src.value = v.without_id()
        if keeps_id and not v.id and v.var_off[1]:
            v = src.value = v.with_id(env.new_id())
        dst.copy_register_state(src)
        v = v.copy() if keeps_id else v.without_id().copy()
        dst.live |= REG_LIVE_WRITTEN
        dst.subreg_def = env.insn_idx + 1
    else:
        mark_unknown(env, dst)
        v = UNKNOWN.copy()
    zext_32_to_64(v)
    reg_bounds_sync(v)
    dst.value = v
