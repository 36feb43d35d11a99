"""Conditional jumps: which way they can go, and what each way teaches about the operands.

is_branch_taken(), reg_set_min_max(), try_match_pkt_pointers(), mark_ptr_or_null_regs(), find_equal_scalars() and
check_cond_jmp_op() of kernel/bpf/verifier.c.
"""

from __future__ import annotations

from typing import Final

from arch.abi.errno import EACCES, EINVAL
from arch.abi.limits import U32_MAX, U64_MAX
from bpf.isa.insn import (
    BPF_JA,
    BPF_JCOND,
    BPF_JEQ,
    BPF_JGE,
    BPF_JGT,
    BPF_JLE,
    BPF_JLT,
    BPF_JMP32,
    BPF_JNE,
    BPF_JSET,
    BPF_JSGE,
    BPF_JSGT,
    BPF_JSLE,
    BPF_JSLT,
    BPF_K,
    BPF_X,
    Insn,
)
from bpf.verifier.access.precision import mark_chain_precision
from bpf.verifier.access.precision_by_frame import DST_ON_STACK, SRC_ON_STACK, collect_linked, note
from bpf.verifier.access.regs import check_src, is_pointer_value, settle_bounds
from bpf.verifier.access.trust import may_hold_lock
from bpf.verifier.domain import arcs, since_6_8
from bpf.verifier.domain.bounds import (
    learn_6_8,
    reg_bounds_sync,
    reg_combine_32_into_64,
    reg_combine_64_into_32,
    s32,
    s64,
)
from bpf.verifier.domain.null import not_null, not_null_if_equal
from bpf.verifier.domain.scalar import with_fixed_offset
from bpf.verifier.domain.state import (
    AT_PKT_END,
    BEYOND_PKT_END,
    FuncState,
    LinkedReg,
    Reg,
    Value,
    VerifierState,
    known_scalar,
)
from bpf.verifier.domain.tnum import (
    tnum_and,
    tnum_clear_subreg,
    tnum_const_subreg,
    tnum_intersect,
    tnum_or,
    tnum_subreg,
)
from bpf.verifier.domain.types import (
    BPF_REG_TRUSTED_MODIFIERS,
    CONST_PTR_TO_MAP,
    MAX_PACKET_OFF,
    PTR_MAYBE_NULL,
    PTR_TO_BTF_ID,
    PTR_TO_MAP_KEY,
    PTR_TO_MAP_VALUE,
    PTR_TO_MEM,
    PTR_TO_PACKET,
    PTR_TO_PACKET_END,
    PTR_TO_PACKET_META,
    PTR_TO_SOCK_COMMON,
    PTR_TO_SOCKET,
    PTR_TO_STACK,
    PTR_TO_TCP_SOCK,
    PTR_UNTRUSTED,
    SCALAR_VALUE,
    base_type,
    has_unsafe_modifiers,
    is_ptr_alloc_obj,
)
from bpf.verifier.env import Env, release_reference_state
from bpf.verifier.lines.state import print_after_jump
from bpf.verifier.paths.alu import sanitize_speculative_path
from bpf.verifier.paths.linked import sync_linked
from bpf.verifier.paths.may_goto import check_may_goto

_NEVER_NULL: Final = frozenset({PTR_TO_SOCKET, PTR_TO_TCP_SOCK, PTR_TO_MAP_VALUE, PTR_TO_MAP_KEY, PTR_TO_SOCK_COMMON})
_PACKET_ANY: Final = frozenset({PTR_TO_PACKET, PTR_TO_PACKET_META, PTR_TO_PACKET_END})

# a op b is b FLIPPED[op] a
FLIPPED: Final = {
    BPF_JEQ: BPF_JEQ,
    BPF_JNE: BPF_JNE,
    BPF_JSET: BPF_JSET,
    BPF_JGE: BPF_JLE,
    BPF_JGT: BPF_JLT,
    BPF_JLE: BPF_JGE,
    BPF_JLT: BPF_JGT,
    BPF_JSGE: BPF_JSLE,
    BPF_JSGT: BPF_JSLT,
    BPF_JSLE: BPF_JSGE,
    BPF_JSLT: BPF_JSGT,
}


# ---- which way ----


def _decided(always: bool, never: bool) -> int:
    return 1 if always else 0 if never else -1


def scalar_branch_taken(v: Value, number: int, op: int, jmp32: bool) -> int:
    """1: always taken, 0: never, -1: both ways are possible."""
    if jmp32:
        number &= U32_MAX
        signed = s32(number)
        value, mask = v.var_off[0] & U32_MAX, v.var_off[1] & U32_MAX
        umin, umax, smin, smax = v.u32_min, v.u32_max, v.s32_min, v.s32_max
    else:
        number &= U64_MAX
        signed = s64(number)
        value, mask = v.var_off
        umin, umax, smin, smax = v.umin, v.umax, v.smin, v.smax
    match op:
        case 0x10:  # BPF_JEQ
            return -1 if mask else int(value == number)
        case 0x50:  # BPF_JNE
            return -1 if mask else int(value != number)
        case 0x40:  # BPF_JSET
            return _decided(bool(~mask & value & number), not (mask | value) & number)
        case 0x20:  # BPF_JGT
            return _decided(umin > number, umax <= number)
        case 0x30:  # BPF_JGE
            return _decided(umin >= number, umax < number)
        case 0xA0:  # BPF_JLT
            return _decided(umax < number, umin >= number)
        case 0xB0:  # BPF_JLE
            return _decided(umax <= number, umin > number)
        case 0x60:  # BPF_JSGT
            return _decided(smin > signed, smax <= signed)
        case 0x70:  # BPF_JSGE
            return _decided(smin >= signed, smax < signed)
        case 0xC0:  # BPF_JSLT
            return _decided(smax < signed, smin >= signed)
        case 0xD0:  # BPF_JSLE
            return _decided(smax <= signed, smin > signed)
    return -1


def _branch_taken(v: Value, number: int, op: int, jmp32: bool) -> int:
    """is_branch_taken()."""
    if v.type != SCALAR_VALUE:
        if v.type in _NEVER_NULL and number & U64_MAX == 0:
            return 0 if op == BPF_JEQ else 1 if op == BPF_JNE else -1
        return -1
    return scalar_branch_taken(v, number, op, jmp32)


def _packet_branch_taken(dst: Value, src: Value, op: int) -> int:
    """is_pkt_ptr_branch_taken(): a pointer already compared with the packet's end."""
    if src.type == PTR_TO_PACKET_END:
        pkt = dst
    elif dst.type == PTR_TO_PACKET_END:
        pkt = src
        op = FLIPPED[op]
    else:
        return -1
    if pkt.raw1 >= 0:
        return -1
    if op in (BPF_JLE, BPF_JGT) and pkt.raw1 == BEYOND_PKT_END:
        return int(op == BPF_JGT)
    if op in (BPF_JLT, BPF_JGE) and pkt.raw1 in (BEYOND_PKT_END, AT_PKT_END):
        return int(op == BPF_JGE)
    return -1


def _predict(dst: Value, src: Value | None, imm: int, op: int, jmp32: bool) -> int:
    if src is None:
        return _branch_taken(dst, imm, op, jmp32)
    if src.type == SCALAR_VALUE and jmp32 and not src.var_off[1] & U32_MAX:
        return _branch_taken(dst, src.var_off[0] & U32_MAX, op, jmp32)
    if src.type == SCALAR_VALUE and not jmp32 and not src.var_off[1]:
        return _branch_taken(dst, src.var_off[0], op, jmp32)
    if dst.type in _PACKET_ANY and src.type in _PACKET_ANY and not jmp32:
        return _packet_branch_taken(dst, src, op)
    return -1


# ---- what a comparison with a number teaches ----


def _learn_unsigned(true: Value, false: Value, number: int, op: int, jmp32: bool) -> None:
    limit = U32_MAX if jmp32 else U64_MAX
    if op in (BPF_JGE, BPF_JGT):
        false_max = number if op == BPF_JGT else (number - 1) & limit
        true_min = (number + 1) & limit if op == BPF_JGT else number
        _lower_umax(false, false_max, jmp32)
        _raise_umin(true, true_min, jmp32)
    else:
        false_min = number if op == BPF_JLT else (number + 1) & limit
        true_max = (number - 1) & limit if op == BPF_JLT else number
        _raise_umin(false, false_min, jmp32)
        _lower_umax(true, true_max, jmp32)


def _learn_signed(true: Value, false: Value, number: int, op: int, jmp32: bool) -> None:
    wrap = s32 if jmp32 else s64
    if op in (BPF_JSGE, BPF_JSGT):
        false_max = number if op == BPF_JSGT else wrap(number - 1)
        true_min = wrap(number + 1) if op == BPF_JSGT else number
        _lower_smax(false, false_max, jmp32)
        _raise_smin(true, true_min, jmp32)
    else:
        false_min = number if op == BPF_JSLT else wrap(number + 1)
        true_max = wrap(number - 1) if op == BPF_JSLT else number
        _raise_smin(false, false_min, jmp32)
        _lower_smax(true, true_max, jmp32)


def _lower_umax(v: Value, number: int, jmp32: bool) -> None:
    if jmp32:
        v.u32_max = min(v.u32_max, number)
    else:
        v.umax = min(v.umax, number)


def _raise_umin(v: Value, number: int, jmp32: bool) -> None:
    if jmp32:
        v.u32_min = max(v.u32_min, number)
    else:
        v.umin = max(v.umin, number)


def _lower_smax(v: Value, number: int, jmp32: bool) -> None:
    if jmp32:
        v.s32_max = min(v.s32_max, number)
    else:
        v.smax = min(v.smax, number)


def _raise_smin(v: Value, number: int, jmp32: bool) -> None:
    if jmp32:
        v.s32_min = max(v.s32_min, number)
    else:
        v.smin = max(v.smin, number)


def _set_equal(v: Value, number: int, jmp32: bool) -> None:
    if jmp32:
        v.var_off = tnum_const_subreg(v.var_off, number)
        v.s32_min = v.s32_max = s32(number)
        v.u32_min = v.u32_max = number
    else:
        v.set_known(number)


def _learn_bits(true: Value, false: Value, number: int, jmp32: bool) -> None:
    """BPF_JSET: not taken, none of these bits is set; taken, one is."""
    false.set_unbounded64()
    false.set_unbounded32()
    true_off, false_off = true.var_off, false.var_off
    one_bit = number != 0 and number & (number - 1) == 0
    if jmp32:
        low = tnum_and(tnum_subreg(false_off), (~number & U32_MAX, 0))
        false.var_off = tnum_or(tnum_clear_subreg(false_off), low)
        if one_bit:
            low = tnum_or(tnum_subreg(true_off), (number, 0))
            true.var_off = tnum_or(tnum_clear_subreg(true_off), low)
    else:
        false.var_off = tnum_and(false_off, (~number & U64_MAX, 0))
        if one_bit:
            true.var_off = tnum_or(true_off, (number, 0))


def reg_set_min_max(true: Value, false: Value, number: int, op: int, jmp32: bool) -> None:
    """`v op number` holds for `true` and does not for `false`; both are copies that may be changed."""
    number &= U32_MAX if jmp32 else U64_MAX
    if op == BPF_JEQ:
        _set_equal(true, number, jmp32)
    elif op == BPF_JNE:
        _set_equal(false, number, jmp32)
    elif op == BPF_JSET:
        _learn_bits(true, false, number, jmp32)
    elif op in (BPF_JGE, BPF_JGT, BPF_JLE, BPF_JLT):
        _learn_unsigned(true, false, number, op, jmp32)
    else:
        _learn_signed(true, false, s32(number) if jmp32 else s64(number), op, jmp32)
    combine = reg_combine_32_into_64 if jmp32 else reg_combine_64_into_32
    combine(false)
    combine(true)


def _learn(true_reg: Reg, false_reg: Reg, number: int, op: int, jmp32: bool) -> None:
    true, false = true_reg.value.copy(), false_reg.value.copy()
    reg_set_min_max(true, false, number, op, jmp32)
    true_reg.value, false_reg.value = true, false


def _make_equal(a_reg: Reg, b_reg: Reg) -> None:
    """Two scalars are equal, so all that holds for one holds for the other: __reg_combine_min_max()."""
    a, b = a_reg.value.copy(), b_reg.value.copy()
    a.umin = b.umin = max(a.umin, b.umin)
    a.umax = b.umax = min(a.umax, b.umax)
    a.smin = b.smin = max(a.smin, b.smin)
    a.smax = b.smax = min(a.smax, b.smax)
    a.var_off = b.var_off = tnum_intersect(a.var_off, b.var_off)
    reg_bounds_sync(a)
    reg_bounds_sync(b)
    a_reg.value, b_reg.value = a, b


def _find_equal_scalars(state: VerifierState, known: Reg) -> None:
    """Copies of a scalar share what was learnt about it."""
    number = known.value.id
    for reg in state.each_reg():
        if reg.value.id == number and reg.value.type == SCALAR_VALUE:
            subreg_def = reg.subreg_def
            reg.copy_register_state(known)
            reg.subreg_def = subreg_def


# ---- null pointers ----


def _null_or_not(env: Env, v: Value, is_null: bool, keeps_id: bool) -> Value:
    if v.smin or v.smax or v.var_off != (0, 0) or (v.off and not is_ptr_alloc_obj(v.type)):
        return v  # arithmetic on it was not allowed, so this does not happen
    if is_null:
        new = v.with_type(SCALAR_VALUE)
        new.id = 0
        new.ref_obj_id = 0
        return new
    new = not_null(v)
    if not keeps_id and not may_hold_lock(env, new):
        new.id = 0  # only values with a lock must be told from each other
    return new


def _mark_ptr_or_null_regs(env: Env, state: VerifierState, regno: int, is_null: bool) -> None:
    frame: FuncState = state.frame
    v = frame.regs[regno].value
    number = v.id
    if v.ref_obj_id and v.ref_obj_id == number and is_null:
        release_reference_state(frame, number, env.rules.references_in_order)  # there is nothing to release
    for reg in state.each_reg():
        if reg.value.type & PTR_MAYBE_NULL and reg.value.id == number:
            reg.value = _null_or_not(env, reg.value, is_null, env.rules.id_kept_when_not_null)


# ---- packet pointers ----


def _find_good_pkt_pointers(env: Env, state: VerifierState, ptr: Value, right_open: bool) -> None:
    """Everything up to `ptr` is inside the packet."""
    if env.rules.offsets_in_bounds:
        far = with_fixed_offset(ptr).umax
        if far <= MAX_PACKET_OFF and (far or not right_open):
            _give_range(state, ptr, far + right_open)
        return
    if ptr.off < 0 or (ptr.off == 0 and right_open):
        return
    if ptr.umax > MAX_PACKET_OFF or ptr.umax + ptr.off > MAX_PACKET_OFF:
        return
    _give_range(state, ptr, ptr.off + right_open)


def _give_range(state: VerifierState, ptr: Value, new_range: int) -> None:
    for reg in state.each_reg():
        v = reg.value
        if v.type == ptr.type and v.id == ptr.id and v.raw1 < new_range:
            reg.value = v.copy()
            reg.value.raw1 = new_range


def _mark_pkt_end(state: VerifierState, regno: int, range_open: bool) -> None:
    reg = state.frame.regs[regno]
    if reg.value.type == PTR_TO_PACKET:
        reg.value = reg.value.copy()
        reg.value.raw1 = BEYOND_PKT_END if range_open else AT_PKT_END


def _is_packet_start(v: Value) -> bool:
    return v.type == PTR_TO_PACKET and v.id == 0 and v.off == 0 and v.var_off == (0, 0)


def _is_before_end(a: Value, b: Value) -> bool:
    """a points into what b is the end of."""
    return (a.type == PTR_TO_PACKET and b.type == PTR_TO_PACKET_END) or (
        a.type == PTR_TO_PACKET_META and _is_packet_start(b)
    )


# jump: (with the pointer on the left, the bytes before it exist where the jump is not taken,
#        they exist if it equals the end)
_PACKET_JUMPS: Final = {
    BPF_JGT: (True, False),
    BPF_JLT: (False, True),
    BPF_JGE: (True, True),
    BPF_JLE: (False, False),
}


def _try_match_pkt_pointers(
    env: Env, insn: Insn, dst: Value, src: Value, this: VerifierState, other: VerifierState
) -> bool:
    """A comparison of packet pointer and end; the kernel spells out all eight cases."""
    op = insn.op
    if insn.src_kind == BPF_K or insn.cls == BPF_JMP32 or op not in _PACKET_JUMPS:
        return False
    if _is_before_end(dst, src):
        good_here, right_open = _PACKET_JUMPS[op]
        ptr, regno = dst, insn.dst_reg
    elif _is_before_end(src, dst):
        good_here, right_open = _PACKET_JUMPS[FLIPPED[op]]
        ptr, regno = src, insn.src_reg
    else:
        return False
    good, bad = (this, other) if good_here else (other, this)
    _find_good_pkt_pointers(env, good, ptr, right_open)
    _mark_pkt_end(bad, regno, not right_open)
    return True


# ---- the instruction ----


def check_cond_jmp_op(env: Env, insn: Insn) -> None:
    """One conditional jump: go on at env.insn_idx, remember the other way if there is one."""
    op = insn.op
    if op == BPF_JCOND and env.rules.may_goto:
        check_may_goto(env, insn)
        return
    if op == BPF_JA or op > BPF_JSLE:
        env.reject(EINVAL, f"invalid BPF_JMP/JMP32 opcode {op:x}")
    dst_first = env.rules.packets_compared
    if dst_first:
        check_src(env, insn.dst_reg)
    dst = env.regs[insn.dst_reg]
    src: Reg | None = None
    if insn.src_kind == BPF_X:
        if insn.imm:
            env.reject(EINVAL, "BPF_JMP/JMP32 uses reserved fields")
        check_src(env, insn.src_reg)
        src = env.regs[insn.src_reg]
        both_packet = dst_first and dst.value.type in _PACKET_ANY and src.value.type in _PACKET_ANY
        if not both_packet and is_pointer_value(env, src.value):
            env.reject(EACCES, f"R{insn.src_reg} pointer comparison prohibited")
    elif insn.src_reg:
        env.reject(EINVAL, "BPF_JMP/JMP32 uses reserved fields")
    if not dst_first:
        check_src(env, insn.dst_reg)
    jmp32 = insn.cls == BPF_JMP32
    if env.rules.stack_in_history:
        flags = SRC_ON_STACK if src is not None and src.value.type == PTR_TO_STACK else 0
        flags |= DST_ON_STACK if dst.value.type == PTR_TO_STACK else 0
        if flags:
            note(env, flags)
    if env.rules.ranges_refined:
        other = src.value if src is not None else known_scalar(insn.imm & U64_MAX)
        own = src is dst and dst.value.type == SCALAR_VALUE and env.rules.own_compared
        taken = since_6_8.own_branch_taken(other, op, jmp32) if own else _predict_6_8(env, dst.value, other, op, jmp32)
    else:
        taken = _predict(dst.value, src.value if src is not None else None, insn.imm, op, jmp32)
    if taken >= 0:
        _follow_only(env, insn, dst, src, bool(taken))
    else:
        _follow_both(env, insn, op, jmp32, dst, src)


def _follow_only(env: Env, insn: Insn, dst: Reg, src: Reg | None, taken: bool) -> None:
    if dst.value.type == SCALAR_VALUE:
        mark_chain_precision(env, insn.dst_reg)
    if src is not None and src.value.type == SCALAR_VALUE:
        mark_chain_precision(env, insn.src_reg)
    here = env.insn_idx
    if not env.bypass_spec_v1:
        sanitize_speculative_path(env, insn, here + 1 if taken else here + insn.off + 1, here)
    if env.level:
        print_after_jump(env, True)
    if taken:
        env.insn_idx += insn.off


def _note_linked(env: Env, dst: Reg, src: Reg | None) -> tuple[LinkedReg, ...]:
    both = [reg.value for reg in (src, dst) if reg is not None and reg.value.type == SCALAR_VALUE]
    ids = [v.base_id for v in both if v.id]
    linked = collect_linked(env, env.cur, ids) if ids else ()
    if len(linked) > 1:
        note(env, 0, linked)
    return linked


def _follow_both(env: Env, insn: Insn, op: int, jmp32: bool, dst: Reg, src: Reg | None) -> None:
    this = env.cur
    linked = _note_linked(env, dst, src) if env.rules.linked_in_history else None

    def share(state: VerifierState, known: Reg) -> None:
        if linked is None:
            _find_equal_scalars(state, known)
        else:
            sync_linked(env, state, known, linked)

    other = env.push_stack(env.insn_idx + insn.off + 1, env.insn_idx, False)
    other_regs = other.frame.regs
    if env.rules.ranges_refined:
        _learn_6_8(env, insn, op, jmp32, dst, src, other_regs)
        if src is not None and src.value.type == SCALAR_VALUE and src.value.id:
            share(this, src)
            share(other, other_regs[insn.src_reg])
    elif src is not None:
        if dst.value.type == SCALAR_VALUE and src.value.type == SCALAR_VALUE:
            _compare_scalars(insn, op, jmp32, dst, src, other_regs)
            if src.value.id:
                _find_equal_scalars(this, src)
                _find_equal_scalars(other, other_regs[insn.src_reg])
    elif dst.value.type == SCALAR_VALUE:
        _learn(other_regs[insn.dst_reg], dst, insn.imm, op, jmp32)
    if dst.value.id and dst.value.type == SCALAR_VALUE:
        share(this, dst)
        share(other, other_regs[insn.dst_reg])
    if src is not None and not jmp32 and op in (BPF_JEQ, BPF_JNE) and env.rules.equal_is_not_null:
        equal = other_regs if op == BPF_JEQ else env.regs
        not_null_if_equal(equal[insn.dst_reg], equal[insn.src_reg])
    null_check = src is None and insn.imm == 0 and not jmp32 and op in (BPF_JEQ, BPF_JNE)
    if null_check and dst.value.type & PTR_MAYBE_NULL:
        _mark_ptr_or_null_regs(env, this, insn.dst_reg, op == BPF_JNE)
        _mark_ptr_or_null_regs(env, other, insn.dst_reg, op == BPF_JEQ)
    elif not (
        src is not None and _try_match_pkt_pointers(env, insn, dst.value, src.value, this, other)
    ) and is_pointer_value(env, dst.value):
        env.reject(EACCES, f"R{insn.dst_reg} pointer comparison prohibited")
    if env.level:
        print_after_jump(env, False)


def _predict_6_8(env: Env, a: Value, b: Value, op: int, jmp32: bool) -> int:
    """is_branch_taken() since 6.8: both sides may be ranges."""
    if a.type in _PACKET_ANY and b.type in _PACKET_ANY and not jmp32:
        return _packet_branch_taken(a, b, op)
    if a.type == SCALAR_VALUE and b.type == SCALAR_VALUE:
        follows = arcs.branch_taken if env.rules.ranges_are_arcs else since_6_8.branch_taken
        return follows(a, b, op, jmp32)
    if jmp32:
        return -1
    if b.type != SCALAR_VALUE or b.var_off[1]:
        a, b = b, a
    if b.type != SCALAR_VALUE or b.var_off != (0, 0) or not _is_never_null(env, a):
        return -1
    return 0 if op == BPF_JEQ else 1 if op == BPF_JNE else -1


def _is_never_null(env: Env, v: Value) -> bool:
    """reg_not_null()."""
    if v.type in _NEVER_NULL or (v.type == CONST_PTR_TO_MAP and env.rules.maps_never_null):
        return True
    if base_type(v.type) == PTR_TO_MEM:
        return not v.type & (PTR_MAYBE_NULL | PTR_UNTRUSTED)
    if base_type(v.type) != PTR_TO_BTF_ID or v.type & PTR_MAYBE_NULL:
        return False
    return bool(v.ref_obj_id) or bool(v.type & BPF_REG_TRUSTED_MODIFIERS and not has_unsafe_modifiers(v.type))


def _learn_6_8(env: Env, insn: Insn, op: int, jmp32: bool, dst: Reg, src: Reg | None, other_regs: list[Reg]) -> None:
    """reg_set_min_max() since 6.8: in each branch both sides learn from each other."""
    if dst.value.type != SCALAR_VALUE or (src is not None and src.value.type != SCALAR_VALUE):
        return
    learn = arcs.learn if env.rules.ranges_are_arcs else learn_6_8
    number = known_scalar(insn.imm & U64_MAX)
    other_dst = other_regs[insn.dst_reg]
    other_src = other_regs[insn.src_reg] if src is not None else None
    for a, b, relation, name in ((dst, src, since_6_8.REVERSE[op], "false"), (other_dst, other_src, op, "true")):
        v, w = a.value.copy(), (b.value if b is not None else number).copy()
        if b is a:
            w = v
        learn(v, w, relation, jmp32)
        a.value = v
        settle_bounds(env, a, f"{name}_reg1")
        if b is not None and b is not a:
            b.value = w
        if b is not None:  # a number compared with itself is looked at twice
            settle_bounds(env, b, f"{name}_reg2")


def _compare_scalars(insn: Insn, op: int, jmp32: bool, dst: Reg, src: Reg, other_regs: list[Reg]) -> None:
    low = U32_MAX if jmp32 else U64_MAX
    if not src.value.var_off[1] & low:
        _learn(other_regs[insn.dst_reg], dst, src.value.var_off[0], op, jmp32)
    elif not dst.value.var_off[1] & low:
        _learn(other_regs[insn.src_reg], src, dst.value.var_off[0], FLIPPED[op], jmp32)
    elif not jmp32 and op == BPF_JEQ:
        _make_equal(other_regs[insn.src_reg], other_regs[insn.dst_reg])
    elif not jmp32 and op == BPF_JNE:
        _make_equal(src, dst)
