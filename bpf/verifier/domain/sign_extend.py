"""What is known of a number whose low bytes are sign-extended: moves and loads since 6.6.

coerce_reg_to_size_sx() and coerce_subreg_to_size_sx() of kernel/bpf/verifier.c.  Each function changes a `Value` that its
caller has just copied.
"""

from __future__ import annotations

from arch.abi.limits import U32_MAX, U64_MAX
from bpf.verifier.domain.state import Value
from bpf.verifier.domain.tnum import TNUM_UNKNOWN, tnum_const, tnum_range


def signed(number: int, bits: int) -> int:
    """The low bits of a number, the highest of them its sign."""
    sign = 1 << bits - 1
    return ((number & (1 << bits) - 1) ^ sign) - sign


def _extended_range(low: int, high: int, bits: int) -> tuple[int, int] | None:
    """The range after extension; None if the low bits may be anything."""
    if low >> bits != high >> bits:
        return None
    ends = signed(low, bits), signed(high, bits)
    low, high = min(ends), max(ends)
    return (low, high) if (low >= 0) == (high >= 0) else None


def extend64(v: Value, size: int) -> None:
    """To 64 bits."""
    bits = 8 * size
    if not v.var_off[1]:
        v.set_known(signed(v.var_off[0], bits) & U64_MAX)
        return
    found = _extended_range(v.smin, v.smax, bits)
    if found is None:
        limit = 1 << bits - 1
        v.smin, v.smax = v.s32_min, v.s32_max = -limit, limit - 1
        v.umin, v.umax, v.u32_min, v.u32_max = 0, U64_MAX, 0, U32_MAX
        v.var_off = TNUM_UNKNOWN
        return
    low, high = found
    v.smin, v.smax = v.s32_min, v.s32_max = low, high
    v.umin, v.umax = low & U64_MAX, high & U64_MAX
    v.u32_min, v.u32_max = low & U32_MAX, high & U32_MAX
    v.var_off = tnum_range(low & U64_MAX, high & U64_MAX)


def extend32(v: Value, size: int) -> None:
    """To 32 bits; what is above is the caller's to clear."""
    bits = 8 * size
    if not v.var_off[1]:
        number = signed(v.var_off[0], bits)
        v.var_off = tnum_const(number & U64_MAX)
        v.s32_min = v.s32_max = number
        v.u32_min = v.u32_max = number & U32_MAX
        return
    found = _extended_range(v.s32_min, v.s32_max, bits)
    if found is None:
        limit = 1 << bits - 1
        v.s32_min, v.s32_max = -limit, limit - 1
        v.u32_min, v.u32_max = 0, U32_MAX
        v.var_off = (0, U32_MAX)
        return
    low, high = found
    v.s32_min, v.s32_max = low, high
    v.u32_min, v.u32_max = low & U32_MAX, high & U32_MAX
    value, mask = tnum_range(low & U64_MAX, high & U64_MAX)
    v.var_off = value & U32_MAX, mask & U32_MAX
