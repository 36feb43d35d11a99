"""Keeping signed, unsigned, 64-bit and 32-bit bounds and known bits of a value consistent with each other.

kernel/bpf/verifier.c, from __update_reg32_bounds() to coerce_reg_to_size().  Each function changes a `Value` that
its caller has just copied.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final

from arch.abi.limits import S32_MAX, S64_MAX, U32_MAX, U64_MAX
from bpf.verifier.domain import arcs, since_6_8, tnum
from bpf.verifier.domain.state import S32_MIN, S64_MIN, UNKNOWN, Known, Value
from bpf.verifier.domain.tnum import SIGN32, SIGN64, tnum_range
from bpf.versions.verifier_rules import Rules

# Rules of the version that verifies, set by follow(): these functions know no verification, and are too often called to be told.
_subreg_of_new_bits = True
_ranges_refined = False
_arcs: Callable[[Value], None] | None = None

_TWO32: Final = 1 << 32
_TWO64: Final = 1 << 64


def follow(rules: Rules) -> None:
    """Reason as this version does from now on: called when a verification begins, which nothing interrupts."""
    global _subreg_of_new_bits, _ranges_refined, _arcs
    _subreg_of_new_bits = rules.subreg_of_new_bits
    _ranges_refined = rules.ranges_refined
    _arcs = arcs.sync if rules.ranges_are_arcs else None
    tnum.follow(rules.constants_as_numbers, rules.products_united)


def s64(number: int) -> int:
    """The low 64 bits as a signed number."""
    number &= U64_MAX
    return number - _TWO64 if number & SIGN64 else number


def s32(number: int) -> int:
    """The low 32 bits as a signed number."""
    number &= U32_MAX
    return number - _TWO32 if number & SIGN32 else number


def update_reg32_bounds(v: Value) -> None:
    """Narrow the 32-bit bounds by the known bits."""
    value, mask = v.var_off
    value &= U32_MAX
    mask &= U32_MAX
    # the lowest signed number has the sign bit if it can have it; the highest does not if it can do without
    low = value | (mask & SIGN32)
    high = value | (mask & S32_MAX)
    if low & SIGN32:
        low -= _TWO32
    if high & SIGN32:
        high -= _TWO32
    if low > v.s32_min:
        v.s32_min = low
    if high < v.s32_max:
        v.s32_max = high
    if value > v.u32_min:
        v.u32_min = value
    value |= mask
    if value < v.u32_max:
        v.u32_max = value


def update_reg64_bounds(v: Value) -> None:
    """Narrow the 64-bit bounds by the known bits."""
    value, mask = v.var_off
    low = value | (mask & SIGN64)
    high = value | (mask & S64_MAX)
    if low & SIGN64:
        low -= _TWO64
    if high & SIGN64:
        high -= _TWO64
    if low > v.smin:
        v.smin = low
    if high < v.smax:
        v.smax = high
    if value > v.umin:
        v.umin = value
    value |= mask
    if value < v.umax:
        v.umax = value


def update_reg_bounds(v: Value) -> None:
    """Narrow all bounds by the known bits."""
    update_reg32_bounds(v)
    update_reg64_bounds(v)


def reg32_deduce_bounds(v: Value) -> None:
    """Learn 32-bit signed bounds from unsigned ones and the other way round."""
    if v.s32_min >= 0 or v.s32_max < 0:
        # the sign is known: both orders agree
        low = max(v.s32_min & U32_MAX, v.u32_min)
        high = min(v.s32_max & U32_MAX, v.u32_max)
        v.u32_min, v.u32_max = low, high
        v.s32_min, v.s32_max = s32(low), s32(high)
    elif v.u32_max < SIGN32:
        # no unsigned value has the sign bit
        v.s32_min = s32(v.u32_min)  # contradictory bounds are possible: a path that never runs
        v.s32_max = v.u32_max = min(v.s32_max & U32_MAX, v.u32_max)
    elif v.u32_min >= SIGN32:
        # all have it
        v.u32_min = max(v.s32_min & U32_MAX, v.u32_min)
        v.s32_min = s32(v.u32_min)
        v.s32_max = s32(v.u32_max)


def reg64_deduce_bounds(v: Value) -> None:
    """Learn 64-bit signed bounds from unsigned ones and the other way round."""
    if v.smin >= 0 or v.smax < 0:
        low = max(v.smin & U64_MAX, v.umin)
        high = min(v.smax & U64_MAX, v.umax)
        v.umin, v.umax = low, high
        v.smin = low - _TWO64 if low & SIGN64 else low
        v.smax = high - _TWO64 if high & SIGN64 else high
    elif v.umax < SIGN64:
        v.smin = s64(v.umin)
        v.smax = v.umax = min(v.smax & U64_MAX, v.umax)
    elif v.umin >= SIGN64:
        v.umin = max(v.smin & U64_MAX, v.umin)
        v.smin = s64(v.umin)
        v.smax = s64(v.umax)


def reg_bound_offset(v: Value) -> None:
    """Learn bits from the unsigned bounds."""
    value, mask = v.var_off
    low_bits = mask & U32_MAX
    low = value & U32_MAX
    range_value, range_mask = tnum_range(v.umin, v.umax)
    mask &= range_mask
    value = (value | range_value) & ~mask
    if _subreg_of_new_bits:
        low_bits = mask & U32_MAX
        low = value & U32_MAX
    low_value, low_mask = tnum_range(v.u32_min, v.u32_max)
    low_mask &= low_bits
    low_value = (low | low_value) & ~low_mask
    # tnum_or(tnum_clear_subreg(...), ...)
    high_value, high_mask = value >> 32 << 32, mask >> 32 << 32
    value = high_value | low_value
    v.var_off = (value, (high_mask | low_mask) & ~value)


def reg_bounds_sync(v: Value) -> None:
    """Let bits and bounds tell each other all they know."""
    if not v.var_off[1] and v.umin == v.umax == v.var_off[0] and v.smin == v.smax and v.u32_min == v.u32_max:
        # one number and nothing contradicts it: nothing can change
        if v.s32_min == v.s32_max == s32(v.umin) and v.u32_min == v.umin & U32_MAX and v.smin == s64(v.umin):
            return
    if _arcs is not None:
        _arcs(v)
        return
    if _ranges_refined:
        v.know(_refined(v.known))
        return
    update_reg32_bounds(v)
    update_reg64_bounds(v)
    reg32_deduce_bounds(v)
    reg64_deduce_bounds(v)
    reg_bound_offset(v)
    update_reg32_bounds(v)
    update_reg64_bounds(v)


@lru_cache(maxsize=1 << 13)
def _refined(known: Known) -> Known:
    """The same since 6.8; remembered, because a program has the same few ranges again and again."""
    v = UNKNOWN.copy()
    v.know(known)
    update_reg32_bounds(v)
    update_reg64_bounds(v)
    since_6_8.deduce(v)
    reg_bound_offset(v)
    update_reg32_bounds(v)
    update_reg64_bounds(v)
    return v.known


def learn_6_8(a: Value, b: Value, op: int, jmp32: bool) -> None:
    """`a op b` holds, and what is known of them is settled, as 6.8 to 7.1 reckon; they may be one and the same."""
    since_6_8.refine(a, b, op, jmp32)
    reg_bounds_sync(a)
    reg_bounds_sync(b)


def reg_assign_32_into_64(v: Value) -> None:
    """The upper half is zero: 64-bit bounds follow from 32-bit ones."""
    v.umin = v.u32_min
    v.umax = v.u32_max
    if v.s32_min >= 0 and v.s32_max >= 0:
        v.smin = v.s32_min
        v.smax = v.s32_max
    else:
        v.smin = 0
        v.smax = U32_MAX


def reg_combine_32_into_64(v: Value) -> None:
    """After a 32-bit comparison: carry what it taught into the 64-bit bounds."""
    if v.var_off[0] >> 32 == 0 and v.var_off[1] >> 32 == 0:
        reg_assign_32_into_64(v)
    else:
        v.set_unbounded64()
    reg_bounds_sync(v)


def reg_combine_64_into_32(v: Value) -> None:
    """After a 64-bit comparison: 32-bit bounds follow where the 64-bit ones fit 32 bits."""
    v.set_unbounded32()
    if v.smin >= S32_MIN and v.smin <= S32_MAX and v.smax >= S32_MIN and v.smax <= S32_MAX:
        v.s32_min = v.smin
        v.s32_max = v.smax
    if v.umin <= U32_MAX and v.umax <= U32_MAX:
        v.u32_min = v.umin
        v.u32_max = v.umax
    reg_bounds_sync(v)


def zext_32_to_64(v: Value) -> None:
    """A 32-bit operation cleared the upper half."""
    v.var_off = (v.var_off[0] & U32_MAX, v.var_off[1] & U32_MAX)
    reg_assign_32_into_64(v)


def coerce_reg_to_size(v: Value, size: int) -> None:
    """A load of `size` bytes cleared everything above them."""
    mask = (1 << (size * 8)) - 1
    v.var_off = (v.var_off[0] & mask, v.var_off[1] & mask)
    if v.umin & ~mask == v.umax & ~mask:
        v.umin &= mask
        v.umax &= mask
    else:
        v.umin = 0
        v.umax = mask
    v.smin = v.umin
    v.smax = v.umax
    if _ranges_refined:
        if size < 4:
            v.set_unbounded32()
        reg_bounds_sync(v)
    elif size < 4:
        # a load of 4 bytes leaves the 32-bit bounds as they were
        reg_combine_64_into_32(v)


def is_unbounded(v: Value) -> bool:
    """Nothing at all is known: __is_scalar_unbounded()."""
    return (
        v.var_off == (0, U64_MAX)
        and v.smin == S64_MIN
        and v.smax == S64_MAX
        and v.umin == 0
        and v.umax == U64_MAX
        and v.s32_min == S32_MIN
        and v.s32_max == S32_MAX
        and v.u32_min == 0
        and v.u32_max == U32_MAX
    )
