"""What arithmetic does to the bounds and bits of scalars.

scalar_min_max_*() and adjust_scalar_min_max_vals() of kernel/bpf/verifier.c.  Each function changes `d`, a Value
that its caller has just copied, by `s`, the second operand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from arch.abi.limits import S32_MAX, S64_MAX, U16_MAX, U32_MAX, U64_MAX
from bpf.isa.insn import (
    BPF_ADD,
    BPF_AND,
    BPF_ARSH,
    BPF_DIV,
    BPF_LSH,
    BPF_MUL,
    BPF_OR,
    BPF_RSH,
    BPF_SUB,
    BPF_XOR,
)
from bpf.verifier.domain import arcs
from bpf.verifier.domain.bounds import (
    reg_bounds_sync,
    s32,
    s64,
    update_reg32_bounds,
    update_reg_bounds,
    zext_32_to_64,
)
from bpf.verifier.domain.products import signed_product, unsigned_product
from bpf.verifier.domain.state import S32_MIN, S64_MIN, UNKNOWN, Value, known_scalar
from bpf.verifier.domain.tnum import (
    TNUM_UNKNOWN,
    tnum_add,
    tnum_and,
    tnum_arshift,
    tnum_const_subreg,
    tnum_lshift,
    tnum_mul,
    tnum_or,
    tnum_rshift,
    tnum_sub,
    tnum_subreg,
    tnum_xor,
)
from bpf.versions.verifier_rules import Rules


def set_known32(d: Value, imm: int) -> None:
    """The low half is this number: __mark_reg32_known()."""
    d.var_off = tnum_const_subreg(d.var_off, imm)
    d.s32_min = d.s32_max = s32(imm)
    d.u32_min = d.u32_max = imm & U32_MAX


def _set_known(d: Value, imm: int) -> None:
    """__mark_reg_known()."""
    d.clear_identity()
    d.set_known(imm)


def add_bounds(d: Value, s: Value) -> None:
    """scalar_min_max_add(), scalar32_min_max_add(): the bits learn nothing of it yet."""
    low, high = d.s32_min + s.s32_min, d.s32_max + s.s32_max
    if S32_MIN <= low <= S32_MAX and S32_MIN <= high <= S32_MAX:
        d.s32_min, d.s32_max = low, high
    else:
        d.s32_min, d.s32_max = S32_MIN, S32_MAX
    low, high = d.u32_min + s.u32_min, d.u32_max + s.u32_max
    if low <= U32_MAX and high <= U32_MAX:
        d.u32_min, d.u32_max = low, high
    else:
        d.u32_min, d.u32_max = 0, U32_MAX
    low, high = d.smin + s.smin, d.smax + s.smax
    if S64_MIN <= low <= S64_MAX and S64_MIN <= high <= S64_MAX:
        d.smin, d.smax = low, high
    else:
        d.smin, d.smax = S64_MIN, S64_MAX
    low, high = d.umin + s.umin, d.umax + s.umax
    if low <= U64_MAX and high <= U64_MAX:
        d.umin, d.umax = low, high
    else:
        d.umin, d.umax = 0, U64_MAX
    d.var_off = tnum_add(d.var_off, s.var_off)


def with_fixed_offset(v: Value) -> Value:
    """A pointer whose fixed offset is part of its bounds, as it is kept since 7.1."""
    if not v.off:
        return v
    new = v.copy()
    new.off = 0
    add_bounds(new, known_scalar(v.off & U64_MAX))
    new.set_unbounded32()
    reg_bounds_sync(new)
    return new


def _sub(d: Value, s: Value) -> None:
    low, high = d.s32_min - s.s32_max, d.s32_max - s.s32_min
    if S32_MIN <= low <= S32_MAX and S32_MIN <= high <= S32_MAX:
        d.s32_min, d.s32_max = low, high
    else:
        d.s32_min, d.s32_max = S32_MIN, S32_MAX
    if d.u32_min < s.u32_max:
        d.u32_min, d.u32_max = 0, U32_MAX
    else:
        d.u32_min, d.u32_max = d.u32_min - s.u32_max, (d.u32_max - s.u32_min) & U32_MAX
    low, high = d.smin - s.smax, d.smax - s.smin
    if S64_MIN <= low <= S64_MAX and S64_MIN <= high <= S64_MAX:
        d.smin, d.smax = low, high
    else:
        d.smin, d.smax = S64_MIN, S64_MAX
    if d.umin < s.umax:
        d.umin, d.umax = 0, U64_MAX
    else:
        d.umin, d.umax = d.umin - s.umax, (d.umax - s.umin) & U64_MAX
    d.var_off = tnum_sub(d.var_off, s.var_off)


def _mul(d: Value, s: Value) -> None:
    d.var_off = tnum_mul(d.var_off, s.var_off)
    if s.s32_min < 0 or d.s32_min < 0 or s.u32_max > U16_MAX or d.u32_max > U16_MAX:
        d.set_unbounded32()
    else:
        # both fit 16 bits, so the products fit 32
        d.u32_min = d.u32_min * s.u32_min & U32_MAX
        d.u32_max *= s.u32_max
        if d.u32_max > S32_MAX:
            d.s32_min, d.s32_max = S32_MIN, S32_MAX
        else:
            d.s32_min, d.s32_max = s32(d.u32_min), d.u32_max
    if s.smin < 0 or d.smin < 0 or s.umax > U32_MAX or d.umax > U32_MAX:
        d.set_unbounded64()
    else:
        d.umin = d.umin * s.umin & U64_MAX
        d.umax *= s.umax
        if d.umax > S64_MAX:
            d.smin, d.smax = S64_MIN, S64_MAX
        else:
            d.smin, d.smax = s64(d.umin), d.umax


def _signed32_follows(d: Value, positive: bool) -> None:
    """Signed 32-bit bounds after a bitwise operation: the unsigned ones if no operand can be negative."""
    if positive:
        d.s32_min, d.s32_max = s32(d.u32_min), s32(d.u32_max)
    else:
        d.s32_min, d.s32_max = S32_MIN, S32_MAX


def _signed64_follows(d: Value, positive: bool) -> None:
    if positive:
        d.smin, d.smax = s64(d.umin), s64(d.umax)
    else:
        d.smin, d.smax = S64_MIN, S64_MAX


def _low_known(d: Value, s: Value) -> bool:
    """The low half of the result and of the operand are single numbers."""
    return not s.var_off[1] & U32_MAX and not d.var_off[1] & U32_MAX


def _and(d: Value, s: Value) -> None:
    # d.var_off is the result's already; the operand being known and the result being known is the kernel's test
    d.var_off = tnum_and(d.var_off, s.var_off)
    low_value = d.var_off[0] & U32_MAX
    if _low_known(d, s):
        set_known32(d, low_value)
    else:
        positive = d.s32_min >= 0 and s.s32_min >= 0
        d.u32_min = low_value
        d.u32_max = min(d.u32_max, s.u32_max)
        _signed32_follows(d, positive)
    if not s.var_off[1] and not d.var_off[1]:
        _set_known(d, d.var_off[0])
        return
    positive = d.smin >= 0 and s.smin >= 0
    d.umin = d.var_off[0]
    d.umax = min(d.umax, s.umax)
    _signed64_follows(d, positive)
    update_reg_bounds(d)


def _or(d: Value, s: Value) -> None:
    d.var_off = tnum_or(d.var_off, s.var_off)
    low_value, low_mask = tnum_subreg(d.var_off)
    if _low_known(d, s):
        set_known32(d, low_value)
    else:
        positive = d.s32_min >= 0 and s.s32_min >= 0
        d.u32_min = max(d.u32_min, s.u32_min)
        d.u32_max = low_value | low_mask
        _signed32_follows(d, positive)
    if not s.var_off[1] and not d.var_off[1]:
        _set_known(d, d.var_off[0])
        return
    positive = d.smin >= 0 and s.smin >= 0
    d.umin = max(d.umin, s.umin)
    d.umax = d.var_off[0] | d.var_off[1]
    _signed64_follows(d, positive)
    update_reg_bounds(d)


def _xor(d: Value, s: Value) -> None:
    d.var_off = tnum_xor(d.var_off, s.var_off)
    low_value, low_mask = tnum_subreg(d.var_off)
    if _low_known(d, s):
        set_known32(d, low_value)
    else:
        positive = d.s32_min >= 0 and s.s32_min >= 0
        d.u32_min = low_value
        d.u32_max = low_value | low_mask
        _signed32_follows(d, positive)
    if not s.var_off[1] and not d.var_off[1]:
        _set_known(d, d.var_off[0])
        return
    positive = d.smin >= 0 and s.smin >= 0
    d.umin = d.var_off[0]
    d.umax = d.var_off[0] | d.var_off[1]
    _signed64_follows(d, positive)
    update_reg_bounds(d)


def _lsh_bounds32(d: Value, low: int, high: int) -> None:
    d.s32_min, d.s32_max = S32_MIN, S32_MAX
    # no bit may be shifted out, and (the kernel's caution) none into the sign
    if high > 31 or d.u32_max > 1 << (31 - high):
        d.u32_min, d.u32_max = 0, U32_MAX
    else:
        d.u32_min = d.u32_min << low & U32_MAX
        d.u32_max = d.u32_max << high & U32_MAX


def _lsh32(d: Value, s: Value) -> None:
    subreg = tnum_subreg(d.var_off)
    _lsh_bounds32(d, s.u32_min, s.u32_max)
    d.var_off = tnum_subreg(tnum_lshift(subreg, s.u32_min & 0xFF))
    d.set_unbounded64()
    update_reg32_bounds(d)


def _lsh64(d: Value, s: Value) -> None:
    low, high = s.umin, s.umax
    if low == 32 and high == 32:
        # the usual way to sign-extend: r <<= 32; r s>>= 32
        d.smax = d.s32_max << 32
        d.smin = d.s32_min << 32
    else:
        d.smin, d.smax = S64_MIN, S64_MAX
    if d.umax > 1 << (63 - high):
        d.umin, d.umax = 0, U64_MAX
    else:
        d.umin = d.umin << low & U64_MAX
        d.umax = d.umax << high & U64_MAX
    _lsh_bounds32(d, low, high)
    d.var_off = tnum_lshift(d.var_off, low)
    update_reg_bounds(d)


def _rsh32(d: Value, s: Value) -> None:
    subreg = tnum_subreg(d.var_off)
    d.s32_min, d.s32_max = S32_MIN, S32_MAX
    d.var_off = tnum_rshift(subreg, s.u32_min & 0xFF)
    d.u32_min >>= s.u32_max
    d.u32_max >>= s.u32_min
    d.set_unbounded64()
    update_reg32_bounds(d)


def _rsh64(d: Value, s: Value) -> None:
    d.smin, d.smax = S64_MIN, S64_MAX
    d.var_off = tnum_rshift(d.var_off, s.umin & 0xFF)
    d.umin >>= s.umax
    d.umax >>= s.umin
    d.set_unbounded32()
    update_reg_bounds(d)


def _arsh32(d: Value, s: Value) -> None:
    d.s32_min >>= s.u32_min
    d.s32_max >>= s.u32_min
    d.var_off = tnum_arshift(tnum_subreg(d.var_off), s.u32_min, 32)
    d.u32_min, d.u32_max = 0, U32_MAX
    d.set_unbounded64()
    update_reg32_bounds(d)


def _arsh64(d: Value, s: Value) -> None:
    d.smin >>= s.umin
    d.smax >>= s.umin
    d.var_off = tnum_arshift(d.var_off, s.umin, 64)
    d.umin, d.umax = 0, U64_MAX
    d.set_unbounded32()
    update_reg_bounds(d)


_BOTH_WIDTHS: Final[dict[int, Callable[[Value, Value], None]]] = {
    BPF_ADD: add_bounds,
    BPF_SUB: _sub,
    BPF_MUL: _mul,
    BPF_AND: _and,
    BPF_OR: _or,
    BPF_XOR: _xor,
}
# operation: (on 64 bits, on 32 bits)
_SHIFTS: Final[dict[int, tuple[Callable[[Value, Value], None], Callable[[Value, Value], None]]]] = {
    BPF_LSH: (_lsh64, _lsh32),
    BPF_RSH: (_rsh64, _rsh32),
    BPF_ARSH: (_arsh64, _arsh32),
}
_UNKNOWN_OPERAND_OK: Final = frozenset({BPF_ADD, BPF_SUB, BPF_AND})


def operand_is_contradictory(s: Value, alu32: bool) -> tuple[bool, bool]:
    """(the operand is one known number, its bounds contradict themselves)."""
    if alu32:
        known = not s.var_off[1] & U32_MAX
        return known, (
            (known and (s.s32_min != s.s32_max or s.u32_min != s.u32_max))
            or s.s32_min > s.s32_max
            or s.u32_min > s.u32_max
        )
    known = not s.var_off[1]
    return known, ((known and (s.smin != s.smax or s.umin != s.umax)) or s.smin > s.smax or s.umin > s.umax)


def is_tracked(op: int, s: Value, alu32: bool, more: bool = False) -> bool:
    """Whether anything can be said about the result of `op` with this operand; `more`: as since 6.10."""
    if more:
        if op in _BOTH_WIDTHS:
            return True
        known, contradictory = operand_is_contradictory(s, alu32)
        return op in _SHIFTS and known and not contradictory and s.umax < (32 if alu32 else 64)
    known, contradictory = operand_is_contradictory(s, alu32)
    return not contradictory and (known or op in _UNKNOWN_OPERAND_OK)


def _bitwise(op: int, d: Value, s: Value) -> None:
    """And, or, xor since 6.10: signed ranges follow from unsigned ones that do not cross the sign."""
    combine = {BPF_AND: tnum_and, BPF_OR: tnum_or, BPF_XOR: tnum_xor}[op]
    d.var_off = combine(d.var_off, s.var_off)
    value, mask = d.var_off
    low_value, low_mask = tnum_subreg(d.var_off)
    if _low_known(d, s):
        set_known32(d, low_value)
    else:
        d.u32_min = max(d.u32_min, s.u32_min) if op == BPF_OR else low_value
        d.u32_max = min(d.u32_max, s.u32_max) if op == BPF_AND else low_value | low_mask
        _signed32_follows(d, s32(d.u32_min) <= s32(d.u32_max))
    if not s.var_off[1] and not mask:
        _set_known(d, value)
        return
    d.umin = max(d.umin, s.umin) if op == BPF_OR else value
    d.umax = min(d.umax, s.umax) if op == BPF_AND else value | mask
    _signed64_follows(d, s64(d.umin) <= s64(d.umax))
    update_reg_bounds(d)


def apply(op: int, d: Value, s: Value, alu32: bool, more: bool = False) -> bool:
    """d = d op s, for an operand that is_tracked().  False: the caller must mark the whole register unknown."""
    if more and op in (BPF_AND, BPF_OR, BPF_XOR):
        _bitwise(op, d, s)
        if alu32:
            zext_32_to_64(d)
        reg_bounds_sync(d)
        return True
    both = _BOTH_WIDTHS.get(op)
    if both is not None:
        both(d, s)
    else:
        shift = _SHIFTS.get(op)
        if shift is None or s.umax >= (32 if alu32 else 64):
            return False
        shift[alu32](d, s)
    if alu32:
        zext_32_to_64(d)
    reg_bounds_sync(d)
    return True


def apply_as(rules: Rules, op: int, d: Value, s: Value, alu32: bool) -> bool:
    """The same as a version reckons."""
    if rules.ranges_are_arcs:
        return arcs.apply(op, d, s, alu32)
    if op == BPF_MUL and rules.signed_products:
        multiply(d, s, alu32)
        return True
    return apply(op, d, s, alu32, rules.more_operators_tracked)


def multiply(d: Value, s: Value, alu32: bool) -> None:
    """d = d * s, where negative factors have ranges, too: since 6.14."""
    d.var_off = tnum_mul(d.var_off, s.var_off)
    d.u32_min, d.u32_max = unsigned_product((d.u32_min, d.u32_max), (s.u32_min, s.u32_max), U32_MAX)
    d.s32_min, d.s32_max = signed_product((d.s32_min, d.s32_max), (s.s32_min, s.s32_max), S32_MIN, S32_MAX)
    d.umin, d.umax = unsigned_product((d.umin, d.umax), (s.umin, s.umax), U64_MAX)
    d.smin, d.smax = signed_product((d.smin, d.smax), (s.smin, s.smax), S64_MIN, S64_MAX)
    if alu32:
        zext_32_to_64(d)
    reg_bounds_sync(d)


def divide(op: int, d: Value, s: Value, alu32: bool, signed: bool) -> None:
    """d = d / s or d % s, for a constant s; only the width in which it is done keeps its range."""
    low = _Narrow(d, s) if alu32 else _Wide(d, s)
    if low.divisor == 0:
        if op == BPF_DIV:
            d.set_known(0)
    elif op == BPF_DIV:
        low.set(*(low.quotients_signed() if signed else (low.umin // low.divisor, low.umax // low.divisor)), signed)
    elif not signed and low.umax >= low.divisor:
        low.set(0, min(low.umax, low.divisor - 1), signed)
    elif signed:
        low.set_remainder_signed()
    if alu32:
        zext_32_to_64(d)
    reg_bounds_sync(d)


class _Wide:
    """The 64-bit ranges of a dividend, and its divisor."""

    bits = 64

    def __init__(self, d: Value, s: Value) -> None:
        self.d = d
        self.umin, self.umax, self.smin, self.smax = d.umin, d.umax, d.smin, d.smax
        self.divisor, self.signed_divisor = s.umin, s.smin

    def set(self, low: int, high: int, signed: bool) -> None:
        """The result's range; everything else is forgotten."""
        d = self.d
        d.var_off = TNUM_UNKNOWN
        d.set_unbounded64()
        d.set_unbounded32()
        if signed:
            d.smin, d.smax = low, high
        else:
            d.umin, d.umax = low, high

    def quotients_signed(self) -> tuple[int, int]:
        """The least number divided by -1 is itself."""
        least = -(1 << self.bits - 1)
        if self.smin == least and self.signed_divisor == -1:
            return (least, least) if self.smax == least else (least, -least - 1)
        ends = [_toward_zero(one, self.signed_divisor) for one in (self.smin, self.smax)]
        return min(ends), max(ends)

    def set_remainder_signed(self) -> None:
        """It has the dividend's sign."""
        most = abs(self.signed_divisor) - 1
        if self.smin >= -most and self.smax <= most:
            return
        self.set(
            max(self.smin, -most) if self.smin < 0 and self.smax <= 0 else 0 if self.smin >= 0 else -most,
            min(self.smax, most) if self.smin >= 0 else 0 if self.smax <= 0 else most,
            True,
        )


class _Narrow(_Wide):
    """The same of 32 bits."""

    bits = 32

    def __init__(self, d: Value, s: Value) -> None:
        self.d = d
        self.umin, self.umax, self.smin, self.smax = d.u32_min, d.u32_max, d.s32_min, d.s32_max
        self.divisor, self.signed_divisor = s.u32_min, s.s32_min

    def set(self, low: int, high: int, signed: bool) -> None:
        d = self.d
        d.var_off = TNUM_UNKNOWN
        d.set_unbounded64()
        d.set_unbounded32()
        if signed:
            d.s32_min, d.s32_max = low, high
        else:
            d.u32_min, d.u32_max = low, high


def _toward_zero(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def unknown_result(alu32: bool) -> Value:
    """Any number, or any that fits 32 bits."""
    if not alu32:
        return UNKNOWN
    return _UNKNOWN32


def _unknown32() -> Value:
    v = UNKNOWN.copy()
    zext_32_to_64(v)
    reg_bounds_sync(v)
    return v


_UNKNOWN32: Final = _unknown32()
