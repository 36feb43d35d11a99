"""Bounds as the verifier reasons about them since 6.8: every range tells every other one, in both branches.

kernel/bpf/verifier.c of 6.12: __reg32_deduce_bounds(), __reg64_deduce_bounds(), __reg_deduce_mixed_bounds(),
is_scalar_branch_taken(), regs_refine_cond_op().  Each function changes a `Value` that its caller has just copied.
"""

from __future__ import annotations

from typing import Final

from arch.abi.limits import S32_MAX, U32_MAX, U64_MAX
from bpf.isa.insn import (
    BPF_JEQ,
    BPF_JGE,
    BPF_JGT,
    BPF_JLE,
    BPF_JLT,
    BPF_JNE,
    BPF_JSET,
    BPF_JSGE,
    BPF_JSGT,
    BPF_JSLE,
    BPF_JSLT,
)
from bpf.verifier.domain.state import S32_MIN, Value
from bpf.verifier.domain.tnum import Tnum, tnum_intersect, tnum_range

_HIGH: Final = U64_MAX ^ U32_MAX
NOT_JSET: Final = BPF_JSET | 0x08  # none of the bits is set: the reverse of BPF_JSET
REVERSE: Final = {
    BPF_JEQ: BPF_JNE, BPF_JNE: BPF_JEQ, BPF_JSET: NOT_JSET, BPF_JGE: BPF_JLT, BPF_JGT: BPF_JLE, BPF_JLE: BPF_JGT,
    BPF_JLT: BPF_JGE, BPF_JSGE: BPF_JSLT, BPF_JSGT: BPF_JSLE, BPF_JSLE: BPF_JSGT, BPF_JSLT: BPF_JSGE,
}  # fmt: skip
FLIPPED: Final = {BPF_JGE: BPF_JLE, BPF_JGT: BPF_JLT, BPF_JSGE: BPF_JSLE, BPF_JSGT: BPF_JSLT}


def _s64(number: int) -> int:
    number &= U64_MAX
    return number - (1 << 64) if number >> 63 else number


def _s32(number: int) -> int:
    number &= U32_MAX
    return number - (1 << 32) if number >> 31 else number


# ---- what one value's ranges tell each other ----


def _narrow_s32(v: Value, low: int, high: int) -> None:
    v.s32_min = max(v.s32_min, low)
    v.s32_max = min(v.s32_max, high)


def _narrow_u32(v: Value, low: int, high: int) -> None:
    v.u32_min = max(v.u32_min, low)
    v.u32_max = min(v.u32_max, high)


def deduce32(v: Value) -> None:
    """__reg32_deduce_bounds()."""
    umin, umax, smin, smax = v.umin, v.umax, v.smin & U64_MAX, v.smax & U64_MAX
    if umin >> 32 == umax >> 32:
        _narrow_u32(v, umin & U32_MAX, umax & U32_MAX)
        if _s32(umin) <= _s32(umax):
            _narrow_s32(v, _s32(umin), _s32(umax))
    if smin >> 32 == smax >> 32:
        if smin & U32_MAX <= smax & U32_MAX:
            _narrow_u32(v, smin & U32_MAX, smax & U32_MAX)
        if _s32(smin) <= _s32(smax):
            _narrow_s32(v, _s32(smin), _s32(smax))
    for low, high in ((umin, umax), (smin, smax)):
        if ((low >> 32) + 1) & U32_MAX == high >> 32 and _s32(low) < 0 <= _s32(high):
            _narrow_s32(v, _s32(low), _s32(high))
    if _s32(v.u32_min) <= _s32(v.u32_max):
        _narrow_s32(v, _s32(v.u32_min), _s32(v.u32_max))
    low, high = v.s32_min & U32_MAX, v.s32_max & U32_MAX
    if low <= high:
        _narrow_u32(v, low, high)
    elif v.u32_max < low:
        v.s32_min = _s32(v.u32_min)
        v.u32_max = min(v.u32_max, high)
    elif high < v.u32_min:
        v.s32_max = _s32(v.u32_max)
        v.u32_min = max(v.u32_min, low)


def deduce64(v: Value) -> None:
    """__reg64_deduce_bounds()."""
    if _s64(v.umin) <= _s64(v.umax):
        v.smin = max(v.smin, _s64(v.umin))
        v.smax = min(v.smax, _s64(v.umax))
    low, high = v.smin & U64_MAX, v.smax & U64_MAX
    if low <= high:
        v.umin = max(v.umin, low)
        v.umax = min(v.umax, high)
    elif v.umax < low:
        v.smin = _s64(v.umin)
        v.umax = min(v.umax, high)
    elif high < v.umin:
        v.smax = _s64(v.umax)
        v.umin = max(v.umin, low)


def _mix(v: Value, low: int, high: int) -> None:
    """The low halves of 64-bit bounds are within [low, high]."""
    v.umin = max(v.umin, (v.umin & _HIGH) | low)
    v.umax = min(v.umax, (v.umax & _HIGH) | high)
    v.smin = max(v.smin, _s64((v.smin & _HIGH) | low))
    v.smax = min(v.smax, _s64((v.smax & _HIGH) | high))


def deduce_mixed(v: Value) -> None:
    """__reg_deduce_mixed_bounds()."""
    _mix(v, v.u32_min, v.u32_max)
    low, high = v.s32_min & U32_MAX, v.s32_max & U32_MAX
    if low <= high:
        _mix(v, low, high)
    if v.s32_min >= 0 and v.smin >= S32_MIN and v.smax <= S32_MAX:
        # sign-extended, and the sign is known
        v.smin = v.umin = v.s32_min
        v.smax = v.umax = v.s32_max
        v.var_off = tnum_intersect(v.var_off, tnum_range(v.umin, v.umax))


def deduce(v: Value) -> None:
    """__reg_deduce_bounds(), as often as reg_bounds_sync() does it."""
    for _ in range(3):
        deduce32(v)
        deduce64(v)
        deduce_mixed(v)


def is_contradictory(v: Value) -> bool:
    """A path that never runs: reg_bounds_sanity_check() forgets what it learnt."""
    value, mask = v.var_off
    if not mask:
        low = value & U32_MAX
        return (
            v.umin != value or v.umax != value or v.u32_min != low or v.u32_max != low
            or v.smin != v.smax or v.smin & U64_MAX != value or v.s32_min != v.s32_max or v.s32_min & U32_MAX != low
        )  # fmt: skip
    if v.umin > v.umax or v.smin > v.smax or v.u32_min > v.u32_max or v.s32_min > v.s32_max:
        return True
    low = value & U32_MAX
    return not mask & U32_MAX and not (v.u32_min == v.u32_max == low and v.s32_min == v.s32_max == _s32(low))


def violation_text(v: Value) -> str:
    """What reg_bounds_sanity_check() says of it."""
    value, mask = v.var_off
    if v.umin > v.umax or v.smin > v.smax or v.u32_min > v.u32_max or v.s32_min > v.s32_max:
        what = "range bounds violation"
    elif not mask and not (v.umin == v.umax == value and v.smin == v.smax == _s64(value)):
        what = "const tnum out of sync with range bounds"
    else:
        what = "const subreg tnum out of sync with range bounds"
    return (
        f"{what} u64=[{v.umin:#x}, {v.umax:#x}] s64=[{v.smin & U64_MAX:#x}, {v.smax & U64_MAX:#x}] "
        f"u32=[{v.u32_min:#x}, {v.u32_max:#x}] s32=[{v.s32_min & U32_MAX:#x}, {v.s32_max & U32_MAX:#x}] "
        f"var_off=({value:#x}, {mask:#x})"
    )


# ---- which way ----


def _overlap(a: Tnum, b: Tnum) -> bool:
    """Some number fits both: tnum_overlap()."""
    known = ~a[1] & ~b[1]
    return a[0] & known == b[0] & known


def branch_taken(a: Value, b: Value, op: int, jmp32: bool) -> int:
    """1: always taken, 0: never, -1: both ways are possible; is_scalar_branch_taken()."""
    t1, t2 = a.var_off, b.var_off
    if jmp32:
        t1, t2 = (t1[0] & U32_MAX, t1[1] & U32_MAX), (t2[0] & U32_MAX, t2[1] & U32_MAX)
        umin1, umax1, smin1, smax1 = a.u32_min, a.u32_max, a.s32_min, a.s32_max
        umin2, umax2, smin2, smax2 = b.u32_min, b.u32_max, b.s32_min, b.s32_max
    else:
        umin1, umax1, smin1, smax1 = a.umin, a.umax, a.smin, a.smax
        umin2, umax2, smin2, smax2 = b.umin, b.umax, b.smin, b.smax
    if op in (BPF_JEQ, BPF_JNE):
        if not t1[1] and not t2[1]:
            equal = t1[0] == t2[0]
            return int(equal if op == BPF_JEQ else not equal)
        apart = not _overlap(t1, t2) or umin1 > umax2 or umax1 < umin2 or smin1 > smax2 or smax1 < smin2
        if not apart and not jmp32:
            apart = a.u32_min > b.u32_max or a.u32_max < b.u32_min or a.s32_min > b.s32_max or a.s32_max < b.s32_min
        return int(op == BPF_JNE) if apart else -1
    if op == BPF_JSET:
        if t2[1]:
            t1, t2 = t2, t1
        if t2[1]:
            return -1
        if ~t1[1] & t1[0] & t2[0]:
            return 1
        return -1 if (t1[1] | t1[0]) & t2[0] else 0
    return _ordered(op, (umin1, umax1, umin2, umax2), (smin1, smax1, smin2, smax2))


def own_branch_taken(v: Value, op: int, jmp32: bool) -> int:
    """A number compared with itself."""
    if op != BPF_JSET:
        return int(op in (BPF_JEQ, BPF_JGE, BPF_JLE, BPF_JSGE, BPF_JSLE))
    if _is_const(v, jmp32):
        return int(v.var_off[0] & (U32_MAX if jmp32 else U64_MAX) != 0)
    low, high = (v.s32_min, v.s32_max) if jmp32 else (v.smin, v.smax)
    return -1 if low <= 0 <= high else 1


def _ordered(op: int, unsigned: tuple[int, int, int, int], signed: tuple[int, int, int, int]) -> int:
    min1, max1, min2, max2 = unsigned if op in (BPF_JGT, BPF_JGE, BPF_JLT, BPF_JLE) else signed
    if op in (BPF_JGT, BPF_JSGT):
        always, never = min1 > max2, max1 <= min2
    elif op in (BPF_JGE, BPF_JSGE):
        always, never = min1 >= max2, max1 < min2
    elif op in (BPF_JLT, BPF_JSLT):
        always, never = max1 < min2, min1 >= max2
    else:
        always, never = max1 <= min2, min1 > max2
    return 1 if always else 0 if never else -1


# ---- what a comparison teaches ----


def _is_const(v: Value, jmp32: bool) -> bool:
    return not v.var_off[1] & (U32_MAX if jmp32 else U64_MAX)


def _with_subreg(t: Tnum, low: Tnum) -> Tnum:
    value = (t[0] & _HIGH) | low[0]
    return value, ((t[1] & _HIGH) | low[1]) & ~value


def _subreg(t: Tnum) -> Tnum:
    return t[0] & U32_MAX, t[1] & U32_MAX


def refine(a: Value, b: Value, op: int, jmp32: bool) -> None:
    """`a op b` holds: regs_refine_cond_op()."""
    if op in FLIPPED:
        op = FLIPPED[op]
        a, b = b, a
    if op == BPF_JEQ:
        _refine_equal(a, b, jmp32)
    elif op in (BPF_JNE, BPF_JSET, NOT_JSET):
        if not _is_const(b, jmp32):
            a, b = b, a
        if _is_const(b, jmp32):
            _REFINE_BY_NUMBER[op](a, b.var_off[0] & (U32_MAX if jmp32 else U64_MAX), jmp32)
    else:
        strict = int(op in (BPF_JLT, BPF_JSLT))
        _refine_less(a, b, op in (BPF_JLE, BPF_JLT), strict, jmp32)


def _refine_equal(a: Value, b: Value, jmp32: bool) -> None:
    if jmp32:
        a.u32_min = b.u32_min = max(a.u32_min, b.u32_min)
        a.u32_max = b.u32_max = min(a.u32_max, b.u32_max)
        a.s32_min = b.s32_min = max(a.s32_min, b.s32_min)
        a.s32_max = b.s32_max = min(a.s32_max, b.s32_max)
        share_bits(a, b, jmp32)
        return
    a.umin = b.umin = max(a.umin, b.umin)
    a.umax = b.umax = min(a.umax, b.umax)
    a.smin = b.smin = max(a.smin, b.smin)
    a.smax = b.smax = min(a.smax, b.smax)
    share_bits(a, b, jmp32)


def share_bits(a: Value, b: Value, jmp32: bool) -> None:
    """Equal numbers have equal bits."""
    if jmp32:
        low = tnum_intersect(_subreg(a.var_off), _subreg(b.var_off))
        a.var_off, b.var_off = _with_subreg(a.var_off, low), _with_subreg(b.var_off, low)
    else:
        a.var_off = b.var_off = tnum_intersect(a.var_off, b.var_off)


def _refine_not_equal(a: Value, number: int, jmp32: bool) -> None:
    if jmp32:
        a.u32_min += a.u32_min == number
        a.u32_max -= a.u32_max == number
        a.s32_min += a.s32_min == _s32(number)
        a.s32_max -= a.s32_max == _s32(number)
    else:
        a.umin += a.umin == number
        a.umax -= a.umax == number
        a.smin += a.smin == _s64(number)
        a.smax -= a.smax == _s64(number)


def _refine_any_set(a: Value, number: int, jmp32: bool) -> None:
    if number and not number & (number - 1):
        value = a.var_off[0] | number
        a.var_off = value, a.var_off[1] & ~number


def _refine_none_set(a: Value, number: int, jmp32: bool) -> None:
    # ranges first: on a path that never runs they would contradict the bits
    value, mask = a.var_off
    a.set_unbounded64()
    a.set_unbounded32()
    a.var_off = value & ~number, mask & ~number


_REFINE_BY_NUMBER: Final = {BPF_JNE: _refine_not_equal, BPF_JSET: _refine_any_set, NOT_JSET: _refine_none_set}


def _refine_less(a: Value, b: Value, unsigned: bool, strict: int, jmp32: bool) -> None:
    """a < b, or a <= b."""
    if unsigned and jmp32:
        a.u32_max = min(a.u32_max, (b.u32_max - strict) & U32_MAX)
        b.u32_min = max((a.u32_min + strict) & U32_MAX, b.u32_min)
    elif unsigned:
        a.umax = min(a.umax, (b.umax - strict) & U64_MAX)
        b.umin = max((a.umin + strict) & U64_MAX, b.umin)
    elif jmp32:
        a.s32_max = min(a.s32_max, _s32(b.s32_max - strict))
        b.s32_min = max(_s32(a.s32_min + strict), b.s32_min)
    else:
        a.smax = min(a.smax, _s64(b.smax - strict))
        b.smin = max(_s64(a.smin + strict), b.smin)
