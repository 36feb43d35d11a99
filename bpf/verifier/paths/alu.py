"""Arithmetic instructions: on scalars, on pointers, and what unprivileged programs must not speculate about.

check_alu_op(), adjust_reg_min_max_vals(), adjust_ptr_min_max_vals() and the sanitize_*() functions of
kernel/bpf/verifier.c.
"""

from __future__ import annotations

import operator
from typing import Final

from arch.abi.errno import EACCES, EINVAL
from arch.abi.limits import S32_MAX, S64_MAX, U32_MAX, U64_MAX
from bpf.isa.disasm import ALU_OPS
from bpf.isa.insn import (
    BPF_ADD,
    BPF_ALU64,
    BPF_AND,
    BPF_ARSH,
    BPF_DIV,
    BPF_END,
    BPF_K,
    BPF_LSH,
    BPF_MOD,
    BPF_MOV,
    BPF_NEG,
    BPF_OR,
    BPF_RSH,
    BPF_SIGNED,
    BPF_SUB,
    BPF_TO_LE,
    BPF_X,
    BPF_XOR,
    Insn,
)
from bpf.verifier.access.map_access import check_map_access
from bpf.verifier.access.precision import mark_chain_precision
from bpf.verifier.access.regs import check_dst, check_src, is_pointer_value, mark_unknown, settle_bounds
from bpf.verifier.domain import scalar
from bpf.verifier.domain.bounds import coerce_reg_to_size, reg_bounds_sync, s32, s64
from bpf.verifier.domain.state import (
    ADD_CONST,
    ADD_CONST32,
    ADD_CONST64,
    AT_PKT_END,
    BEYOND_PKT_END,
    MAX_BPF_STACK,
    S64_MIN,
    Reg,
    Value,
    is_number,
    known_scalar,
)
from bpf.verifier.domain.tnum import tnum_add, tnum_bswap, tnum_sub, tnum_text
from bpf.verifier.domain.types import (
    CONST_PTR_TO_MAP,
    PTR_MAYBE_NULL,
    PTR_TO_ARENA,
    PTR_TO_FLOW_KEYS,
    PTR_TO_INSN,
    PTR_TO_MAP_VALUE,
    PTR_TO_MEM,
    PTR_TO_PACKET,
    PTR_TO_PACKET_END,
    PTR_TO_PACKET_META,
    PTR_TO_SOCK_COMMON,
    PTR_TO_SOCKET,
    PTR_TO_STACK,
    PTR_TO_TCP_SOCK,
    PTR_TO_XDP_SOCK,
    PTR_UNTRUSTED,
    SCALAR_VALUE,
    base_type,
)
from bpf.verifier.env import (
    BPF_ALU_IMMEDIATE,
    BPF_ALU_NEG_VALUE,
    BPF_ALU_NON_POINTER,
    BPF_ALU_SANITIZE_DST,
    BPF_ALU_SANITIZE_SRC,
    BPF_MAX_VAR_OFF,
    Env,
    Rejected,
)
from bpf.verifier.paths.mov import check_mov

_NO_ARITHMETIC: Final = frozenset(
    {PTR_TO_INSN, PTR_TO_PACKET_END, PTR_TO_SOCKET, PTR_TO_SOCK_COMMON, PTR_TO_TCP_SOCK, PTR_TO_XDP_SOCK}
)
_PACKET: Final = (PTR_TO_PACKET, PTR_TO_PACKET_META)
_OF_NUMBERS: Final = {
    BPF_ADD: operator.add, BPF_SUB: operator.sub, BPF_AND: operator.and_, BPF_OR: operator.or_, BPF_XOR: operator.xor,
}  # fmt: skip
_UNARY: Final = frozenset({BPF_END, BPF_NEG})
_PROHIBITED: Final = "pointer arithmetic with it prohibited for !root"


def check_alu_op(env: Env, insn: Insn) -> None:
    """One instruction of class ALU or ALU64."""
    op = insn.op
    if op == BPF_MOV:
        check_mov(env, insn)
    elif op in _UNARY:
        _check_unary(env, insn, op)
    elif op > BPF_END:
        env.reject(EINVAL, f"invalid BPF_ALU opcode {op:x}")
    else:
        _check_binary(env, insn, op)


def _check_unary(env: Env, insn: Insn, op: int) -> None:
    if op == BPF_NEG:
        if insn.src_kind == BPF_X or insn.src_reg or insn.off or insn.imm:
            env.reject(EINVAL, "BPF_NEG uses reserved fields")
    elif insn.src_reg or insn.off or insn.imm not in (16, 32, 64) or not _may_swap(env, insn):
        env.reject(EINVAL, "BPF_END uses reserved fields")
    check_src(env, insn.dst_reg)
    if is_pointer_value(env, env.regs[insn.dst_reg].value):
        env.reject(EACCES, f"R{insn.dst_reg} pointer arithmetic prohibited")
    dst = check_dst(env, insn.dst_reg)
    if op == BPF_NEG and env.rules.negation_tracked and dst.value.type == SCALAR_VALUE:
        operand, dst.value = dst.value, known_scalar(0)
        _adjust_scalar(env, insn, BPF_SUB, dst, operand)
    elif op == BPF_END and env.rules.swaps_tracked and dst.value.type == SCALAR_VALUE:
        _swap(env, insn, dst)
    else:
        mark_unknown(env, dst)


def _swap(env: Env, insn: Insn, dst: Reg) -> None:
    """scalar_byte_swap(): the range is forgotten, but for what the bits tell of it."""
    swapped = insn.cls == BPF_ALU64 or (insn.src_kind == BPF_TO_LE) == (env.request.byteorder == "big")
    size = insn.imm // 8
    if not swapped and size == 8:
        return
    v = dst.value.copy()
    v.clear_identity()
    if swapped:
        v.var_off = tnum_bswap(v.var_off, size)
        v.set_unbounded64()
        v.set_unbounded32()
    if size < 8:
        coerce_reg_to_size(v, size)
    reg_bounds_sync(v)
    dst.value = v


def _may_swap(env: Env, insn: Insn) -> bool:
    """Of 64-bit instructions one swaps: to little endian, which stands for to the other one."""
    return insn.cls != BPF_ALU64 or (env.rules.byte_swap and insn.src_kind == BPF_TO_LE)


def _check_binary(env: Env, insn: Insn, op: int) -> None:
    signed = insn.off == BPF_SIGNED and op in (BPF_DIV, BPF_MOD) and env.rules.signed_division
    if insn.src_kind == BPF_X:
        if insn.imm or (insn.off and not signed):
            env.reject(EINVAL, "BPF_ALU uses reserved fields")
        check_src(env, insn.src_reg)
    elif insn.src_reg or (insn.off and not signed):
        env.reject(EINVAL, "BPF_ALU uses reserved fields")
    check_src(env, insn.dst_reg)
    if insn.src_kind == BPF_K:
        if op in (BPF_MOD, BPF_DIV) and insn.imm == 0:
            env.reject(EINVAL, "div by zero")
        if op in (BPF_LSH, BPF_RSH, BPF_ARSH):
            size = 64 if insn.cls == BPF_ALU64 else 32
            if insn.imm < 0 or insn.imm >= size:
                env.reject(EINVAL, f"invalid shift {insn.imm}")
    dst = check_dst(env, insn.dst_reg)
    _adjust_reg(env, insn, op, dst)


def _adjust_reg(env: Env, insn: Insn, op: int, dst: Reg) -> None:
    """adjust_reg_min_max_vals(): pointer or scalar, by what the two operands are."""
    if _is_of_arena(env, insn, dst):
        return
    dst_is_pointer = dst.value.type != SCALAR_VALUE
    before = dst.value
    links = env.rules.constants_linked
    if not dst_is_pointer and before.id and not links:
        dst.value = before.with_id(0)
    if insn.src_kind == BPF_K:
        operand = known_scalar(insn.imm & U64_MAX)
        if dst_is_pointer:
            _adjust_ptr(env, insn, op, dst, dst, operand)
        else:
            _adjust_scalar(env, insn, op, dst, operand)
            if links:
                _link(env, insn, op, dst, before, operand)
        return
    src = env.regs[insn.src_reg]
    if src.value.type != SCALAR_VALUE:
        if not dst_is_pointer:
            mark_chain_precision(env, insn.dst_reg)
            _adjust_ptr(env, insn, op, dst, src, dst.value)
        elif op == BPF_SUB and env.allow_ptr_leaks:
            mark_unknown(env, dst)
        else:
            env.reject(EACCES, f"R{insn.dst_reg} pointer {_op_name(op)} pointer prohibited")
        return
    if dst_is_pointer:
        mark_chain_precision(env, insn.src_reg)
        _adjust_ptr(env, insn, op, dst, dst, src.value)
        return
    if dst.precise:
        # what is added to a precise scalar must be precise, too
        mark_chain_precision(env, insn.src_reg)
    operand = src.value
    _adjust_scalar(env, insn, op, dst, operand)
    if links:
        _link(env, insn, op, dst, before, operand)


def _is_of_arena(env: Env, insn: Insn, dst: Reg) -> bool:
    """Any arithmetic makes another pointer into the arena, of 32 bits."""
    src = env.regs[insn.src_reg] if insn.src_kind == BPF_X else dst
    if PTR_TO_ARENA not in (dst.value.type, src.value.type):
        return False
    if dst.value.type != PTR_TO_ARENA:
        dst.copy_register_state(src)
    dst.subreg_def = env.insn_idx + 1
    env.aux[env.insn_idx].narrowed |= insn.cls == BPF_ALU64
    return True


def _link(env: Env, insn: Insn, op: int, dst: Reg, before: Value, operand: Value) -> None:
    """A copy of a number plus a constant is still known by what is learnt about the other."""
    v = dst.value
    if not v.id:  # an unknown result has lost it
        if v.off:
            dst.value = v.without_id()
        return
    delta = _constant_added(env, insn, op, before, operand)
    if delta is None or v.id & ADD_CONST:
        dst.value = v.without_id()
        return
    dst.value = v.with_id(v.id | (ADD_CONST64 if insn.cls == BPF_ALU64 else ADD_CONST32))
    dst.value.off = delta


def _constant_added(env: Env, insn: Insn, op: int, before: Value, operand: Value) -> int | None:
    narrow = insn.cls != BPF_ALU64
    own = insn.src_kind == BPF_X and insn.src_reg == insn.dst_reg
    if not env.bpf_capable or own or operand.var_off[1] & (U32_MAX if narrow else U64_MAX):
        return None
    number = operand.var_off[0]
    if not env.rules.differences_linked:
        return number if op == BPF_ADD and not narrow and number <= S32_MAX else None
    delta = s32(number) if narrow else s64(number)
    if op not in (BPF_ADD, BPF_SUB) or not -(1 << 31) <= delta <= S32_MAX or (narrow and before.umax > U32_MAX):
        return None
    if op == BPF_ADD:
        return delta
    return -delta if delta != -(1 << 31) else None


def _op_name(op: int) -> str:
    return ALU_OPS[op >> 4]


def _adjust_scalar(env: Env, insn: Insn, op: int, dst: Reg, operand: Value) -> None:
    """adjust_scalar_min_max_vals()."""
    alu32 = insn.cls != BPF_ALU64
    more = env.rules.more_operators_tracked
    if op in (BPF_DIV, BPF_MOD) and env.rules.quotients_tracked:
        _divide(env, insn, op, dst, operand)
        return
    if not scalar.is_tracked(op, operand, alu32, more):
        mark_unknown(env, dst)
        return
    if op in (BPF_ADD, BPF_SUB) and not _can_skip_sanitation(env, insn):
        if not _note_sanitation(env, BPF_ALU_NON_POINTER, 0):
            _reject_paths(env, insn)
    if more and op in _OF_NUMBERS and is_number(operand) and is_number(dst.value):
        number = _OF_NUMBERS[op](dst.value.umin, operand.umin)
        dst.value = dst.value.copy()
        dst.value.set_known(number & U32_MAX if alu32 else number)
        return
    if more and op in (BPF_AND, BPF_OR) and not operand.var_off[1]:
        _maybe_fork(env, insn, dst)
    v = dst.value.copy()
    if scalar.apply_as(env.rules, op, v, operand, alu32):
        dst.value = v
        if more:
            settle_bounds(env, dst, "alu")
    else:
        mark_unknown(env, dst)
        dst.value = scalar.unknown_result(alu32)


def _divide(env: Env, insn: Insn, op: int, dst: Reg, operand: Value) -> None:
    narrow = insn.cls != BPF_ALU64
    if operand.var_off[1] & (U32_MAX if narrow else U64_MAX):
        mark_unknown(env, dst)
        return
    v = dst.value.copy()
    scalar.divide(op, v, operand, narrow, insn.off == BPF_SIGNED)
    dst.value = v
    settle_bounds(env, dst, "alu")


def _maybe_fork(env: Env, insn: Insn, dst: Reg) -> None:
    """A number that is 0 or -1 becomes two paths: maybe_fork_scalars()."""
    v = dst.value
    wide = (v.smin, v.smax) == (-1, 0)
    if not wide and (v.s32_min, v.s32_max) != (-1, 0):
        return
    other = env.push_stack(env.insn_idx, env.insn_idx, False).frame.regs[insn.dst_reg]
    for reg, number in ((other, 0), (dst, -1)):
        reg.value = reg.value.copy()
        if wide:
            reg.value.clear_identity()
            reg.value.set_known(number)
        else:
            scalar.set_known32(reg.value, number & U32_MAX)


# ---- pointers ----


def _check_sane_offset(env: Env, v: Value, word: int) -> None:
    """check_reg_sane_offset(): sums of these stay far from overflow."""
    name = env.type_name(word)
    number = s64(v.var_off[0])
    if not v.var_off[1] and (number >= BPF_MAX_VAR_OFF or number <= -BPF_MAX_VAR_OFF):
        env.reject(EINVAL, f"math between {name} pointer and {number} is not allowed")
    if v.off >= BPF_MAX_VAR_OFF or v.off <= -BPF_MAX_VAR_OFF:
        env.reject(EINVAL, f"{name} pointer offset {v.off} is not allowed")
    if v.smin == S64_MIN:
        env.reject(EINVAL, f"math between {name} pointer and register with unbounded min value is not allowed")
    if v.smin >= BPF_MAX_VAR_OFF or v.smin <= -BPF_MAX_VAR_OFF:
        env.reject(EINVAL, f"value {v.smin} makes {name} pointer be out of bounds")


def _check_sane_pointer(env: Env, v: Value, word: int) -> None:
    """The same of a pointer: check_reg_sane_offset_ptr(), which has the fixed offset in the bounds."""
    if not env.rules.offsets_in_bounds:
        _check_sane_offset(env, v, word)
        return
    least = s64(v.var_off[0]) if not v.var_off[1] else v.smin
    whole = least if least == S64_MIN else least + v.off
    if whole >= BPF_MAX_VAR_OFF or whole <= -BPF_MAX_VAR_OFF:
        env.reject(EINVAL, f"{env.type_name(word)} pointer offset {whole} is not allowed")


def _check_pointer_allows_arithmetic(env: Env, op: int, dst: int, ptr: Value, off: Value) -> None:
    if ptr.type & PTR_MAYBE_NULL:
        name = env.type_name(ptr.type)
        advice = ", null-check it first" if env.rules.composed_types or base_type(ptr.type) == PTR_TO_MAP_VALUE else ""
        env.reject(EACCES, f"R{dst} pointer arithmetic on {name} prohibited{advice}")
    base = base_type(ptr.type)
    known = not off.var_off[1]
    if base == PTR_TO_FLOW_KEYS:
        if known or not env.rules.flow_keys_fixed:
            return
    elif base == CONST_PTR_TO_MAP:
        if known and off.smin == 0 and op == BPF_ADD:
            return
    elif base not in _NO_ARITHMETIC:
        return
    env.reject(EACCES, f"R{dst} pointer arithmetic on {env.type_name(ptr.type)} prohibited")


def _adjust_ptr(env: Env, insn: Insn, op: int, dst: Reg, ptr_reg: Reg, off: Value) -> None:
    """adjust_ptr_min_max_vals(): dst = pointer + or - scalar."""
    ptr = ptr_reg.value
    _, contradictory = scalar.operand_is_contradictory(off, False)
    if contradictory:
        mark_unknown(env, dst)
        return
    if insn.cls != BPF_ALU64:
        if op == BPF_SUB and env.allow_ptr_leaks:
            mark_unknown(env, dst)
            return
        env.reject(EACCES, f"R{insn.dst_reg} 32-bit pointer arithmetic prohibited")
    _check_pointer_allows_arithmetic(env, op, insn.dst_reg, ptr, off)
    v = ptr.copy()
    if dst is not ptr_reg:
        if env.rules.whole_pointer_copied:
            # C's structure assignment: liveness and parent come along
            dst.assign(ptr_reg)
        else:
            v.frameno, v.ref_obj_id = dst.value.frameno, dst.value.ref_obj_id
    if base_type(ptr.type) == PTR_TO_MEM and ptr.type & PTR_UNTRUSTED:
        dst.value = v  # reads of it cannot fail, wherever it points
        return
    _check_sane_offset(env, off, ptr.type)
    _check_sane_pointer(env, ptr, ptr.type)
    v.set_unbounded32()
    window = None
    if op in (BPF_ADD, BPF_SUB) and not _can_skip_sanitation(env, insn):
        dst.value = v
        window = _sanitize_ptr_alu(env, insn, op, dst, ptr_reg, off)
        v = v.copy()
    if op == BPF_ADD:
        _add_to_pointer(env, v, ptr, off)
    elif op == BPF_SUB:
        if dst is not ptr_reg:
            env.reject(EACCES, f"R{insn.dst_reg} tried to subtract pointer from scalar")
        if ptr.type == PTR_TO_STACK:
            env.reject(EACCES, f"R{insn.dst_reg} subtraction from stack pointer prohibited")
        _subtract_from_pointer(env, v, ptr, off)
    elif op in (BPF_AND, BPF_OR, BPF_XOR):
        env.reject(EACCES, f"R{insn.dst_reg} bitwise operator {_op_name(op)} on pointer prohibited")
    else:
        env.reject(EACCES, f"R{insn.dst_reg} pointer arithmetic with {_op_name(op)} operator prohibited")
    _check_sane_pointer(env, v, ptr.type)
    reg_bounds_sync(v)
    dst.value = v
    _sanitize_check_bounds(env, insn, v)
    if window is not None:
        window.commit(env, insn, v)


def _fixed_offset(ptr: Value, number: int) -> bool:
    """A known number goes into the fixed part if that does not overflow it."""
    return s32(ptr.off + number) == ptr.off + number


def _forget_end(env: Env, v: Value) -> None:
    """Where a packet's end lies from a pointer holds of another pointer no more."""
    if v.type in _PACKET and v.raw1 in (AT_PKT_END, BEYOND_PKT_END) and env.rules.packet_ends_forgotten:
        v.raw1 = v.raw2 = 0


def _add_to_pointer(env: Env, v: Value, ptr: Value, off: Value) -> None:
    v.hidden = None
    if not off.var_off[1] and _fixed_offset(ptr, off.smin):
        v.off = ptr.off + off.smin
        _forget_end(env, v)
        return
    low, high = ptr.smin + off.smin, ptr.smax + off.smax
    if S64_MIN <= low <= S64_MAX and S64_MIN <= high <= S64_MAX:
        v.smin, v.smax = low, high
    else:
        v.smin, v.smax = S64_MIN, S64_MAX
    low, high = ptr.umin + off.umin, ptr.umax + off.umax
    if low <= U64_MAX and high <= U64_MAX:
        v.umin, v.umax = low, high
    else:
        v.umin, v.umax = 0, U64_MAX
    v.var_off = tnum_add(ptr.var_off, off.var_off)
    if ptr.type in _PACKET:
        # a new variable offset: ranges found for the old pointer do not hold
        v.id = env.new_id()
        v.raw1 = v.raw2 = 0


def _subtract_from_pointer(env: Env, v: Value, ptr: Value, off: Value) -> None:
    v.hidden = None
    if not off.var_off[1] and _fixed_offset(ptr, -off.smin):
        v.off = ptr.off - off.smin
        _forget_end(env, v)
        return
    low, high = ptr.smin - off.smax, ptr.smax - off.smin
    if S64_MIN <= low <= S64_MAX and S64_MIN <= high <= S64_MAX:
        v.smin, v.smax = low, high
    else:
        v.smin, v.smax = S64_MIN, S64_MAX
    if ptr.umin < off.umax:
        v.umin, v.umax = 0, U64_MAX
    else:
        v.umin, v.umax = ptr.umin - off.umax, (ptr.umax - off.umin) & U64_MAX
    v.var_off = tnum_sub(ptr.var_off, off.var_off)
    if ptr.type in _PACKET:
        v.id = env.new_id()
        if off.smin < 0:
            v.raw1 = v.raw2 = 0


# ---- sanitation: what a mispredicting CPU could do with an unprivileged program's arithmetic ----


def _can_skip_sanitation(env: Env, insn: Insn) -> bool:
    return env.bypass_spec_v1 or insn.src_kind == BPF_K


def _note_sanitation(env: Env, state: int, limit: int) -> bool:
    """Remember how this instruction is to be masked; False if another path wants it otherwise."""
    aux = env.aux[env.insn_idx]
    if aux.alu_state and (aux.alu_state != state or aux.alu_limit != limit):
        return False
    aux.alu_state = state
    aux.alu_limit = limit
    return True


def _reject_paths(env: Env, insn: Insn) -> None:
    verb = "add" if insn.op == BPF_ADD else "sub"
    env.reject(EACCES, f"R{insn.dst_reg} tried to {verb} from different maps, paths or scalars, {_PROHIBITED}")


def _pointer_limit(env: Env, insn: Insn, ptr: Value, ptr_regno: int, mask_to_left: bool) -> int:
    """How far the pointer may move: retrieve_ptr_limit()."""
    if ptr.type == PTR_TO_STACK:
        maximum = MAX_BPF_STACK + mask_to_left
        limit = -(ptr.var_off[0] + ptr.off) & U32_MAX
    elif ptr.type == PTR_TO_MAP_VALUE:
        maximum = ptr.map.value_size
        limit = ((ptr.smin if mask_to_left else ptr.umax) + ptr.off) & U32_MAX
    else:
        env.reject(EACCES, f"R{ptr_regno} has pointer with unsupported alu operation, {_PROHIBITED}")
    if limit >= maximum:
        verb = "add" if insn.op == BPF_ADD else "sub"
        env.reject(EACCES, f"R{insn.dst_reg} tried to {verb} beyond pointer bounds, {_PROHIBITED}")
    return limit


class _Window:
    """What the first half of sanitize_ptr_alu() leaves for the second: bpf_sanitize_info."""

    __slots__ = ("alu_limit", "alu_state", "mask_to_left")

    def __init__(self, state: int, limit: int, mask_to_left: bool) -> None:
        self.alu_state = state
        self.alu_limit = limit
        self.mask_to_left = mask_to_left

    def commit(self, env: Env, insn: Insn, v: Value) -> None:
        """With the result known: how far the operand may reach at most."""
        limit = _pointer_limit(env, insn, v, insn.dst_reg, self.mask_to_left)
        if not _note_sanitation(env, self.alu_state, abs(s32(self.alu_limit - limit))):
            _reject_paths(env, insn)


def _sanitize_ptr_alu(env: Env, insn: Insn, op: int, dst: Reg, ptr_reg: Reg, off: Value) -> _Window | None:
    """Before the operation; also pushes the path on which the operand was masked to zero."""
    off_is_imm = not off.var_off[1]
    off_is_neg = off.smin < 0
    ptr_is_dst = ptr_reg is dst
    ptr_regno, off_regno = insn.dst_reg, insn.src_reg  # as messages have them, whichever is which where one is copied
    if not ptr_is_dst and (env.rules.operands_in_place or not env.rules.whole_pointer_copied):
        ptr_regno, off_regno = off_regno, ptr_regno
    window = None
    if not env.cur.speculative:
        if not off_is_imm and off_is_neg != (off.smax < 0):
            env.reject(EACCES, f"R{off_regno} has unknown scalar with mixed signed bounds, {_PROHIBITED}")
        mask_to_left = (op == BPF_ADD and off_is_neg) or (op == BPF_SUB and not off_is_neg)
        limit = _pointer_limit(env, insn, ptr_reg.value, ptr_regno, mask_to_left)
        state = (
            (BPF_ALU_NEG_VALUE if off_is_neg else 0)
            | (BPF_ALU_IMMEDIATE if off_is_imm else 0)
            | (BPF_ALU_SANITIZE_SRC if ptr_is_dst else BPF_ALU_SANITIZE_DST)
        )
        if not off_is_imm:
            env.explore_alu_limits = True
        window = _Window(state, limit, mask_to_left)
    if off_is_imm:
        return window
    saved = dst.clone()
    if not ptr_is_dst:
        dst.copy_register_state(ptr_reg)
    try:
        sanitize_speculative_path(env, None, env.insn_idx + 1, env.insn_idx)
    except Rejected:
        env.reject(EACCES, f"R{insn.dst_reg} could not be pushed for speculative verification, {_PROHIBITED}")
    if not ptr_is_dst:
        dst.assign(saved)
    return window


def sanitize_speculative_path(env: Env, insn: Insn | None, next_idx: int, curr_idx: int) -> None:
    """Walk the way that is impossible but may be predicted; its operands can be anything."""
    branch = env.push_stack(next_idx, curr_idx, True)
    if insn is not None:
        regs = branch.frame.regs
        mark_unknown(env, regs[insn.dst_reg])
        if insn.src_kind == BPF_X:
            mark_unknown(env, regs[insn.src_reg])


def _sanitize_check_bounds(env: Env, insn: Insn, v: Value) -> None:
    """For the unprivileged a pointer may not even be made that points outside."""
    if env.bypass_spec_v1:
        return
    if v.type == PTR_TO_STACK:
        off = s32(v.off + v.var_off[0])
        if v.var_off[1]:
            env.reject(
                EACCES,
                f"R{insn.dst_reg} variable stack access prohibited for !root, var_off={tnum_text(v.var_off)} off={off}",
            )
        if off >= 0 or off < -MAX_BPF_STACK:
            env.reject(
                EACCES,
                f"R{insn.dst_reg} stack pointer arithmetic goes out of range, prohibited for !root; off={off}",
            )
    elif v.type == PTR_TO_MAP_VALUE:
        try:
            check_map_access(env, insn.dst_reg, v.off, 1, False, direct=False)
        except Rejected:
            env.reject(
                EACCES,
                f"R{insn.dst_reg} pointer arithmetic of map value goes out of range, prohibited for !root",
            )
