"""Tracked numbers: which bits of a 64-bit value are known, and what they are.  Mirrors kernel/bpf/tnum.c.

A tnum is a pair (value, mask): a bit set in `mask` is unknown, and its bit in `value` is then 0.  It is a plain
tuple because the verifier makes millions of them.
"""

from __future__ import annotations

from typing import Final

Tnum = tuple[int, int]

U64: Final = (1 << 64) - 1
U32: Final = (1 << 32) - 1
SIGN32: Final = 1 << 31
SIGN64: Final = 1 << 63

TNUM_UNKNOWN: Final[Tnum] = (0, U64)


def tnum_const(value: int) -> Tnum:
    """A number of which every bit is known."""
    return (value & U64, 0)


def tnum_range(low: int, high: int) -> Tnum:
    """The smallest tnum holding every unsigned number from `low` to `high`."""
    differing = (low ^ high).bit_length()
    if differing > 63:
        return TNUM_UNKNOWN
    mask = (1 << differing) - 1
    return (low & ~mask & U64, mask)


def tnum_lshift(a: Tnum, shift: int) -> Tnum:
    """a << shift."""
    return ((a[0] << shift) & U64, (a[1] << shift) & U64)


def tnum_rshift(a: Tnum, shift: int) -> Tnum:
    """a >> shift, unsigned."""
    return (a[0] >> shift, a[1] >> shift)


def tnum_arshift(a: Tnum, shift: int, bits: int) -> Tnum:
    """a >> shift, signed, as a number of 32 or 64 bits."""
    if bits == 32:
        value, mask = a[0] & U32, a[1] & U32
        return (
            (((value ^ SIGN32) - SIGN32) >> shift) & U32,
            (((mask ^ SIGN32) - SIGN32) >> shift) & U32,
        )
    return (
        (((a[0] ^ SIGN64) - SIGN64) >> shift) & U64,
        (((a[1] ^ SIGN64) - SIGN64) >> shift) & U64,
    )


def tnum_add(a: Tnum, b: Tnum) -> Tnum:
    """a + b: a bit is unknown where a carry may or may not arrive."""
    if not a[1] and not b[1]:
        return ((a[0] + b[0]) & U64, 0)
    return add_uncertain(a, b)


def add_uncertain(a: Tnum, b: Tnum) -> Tnum:
    """The same for any two numbers: whatever carry an unknown bit can cause, its sum can show."""
    value = a[0] + b[0]
    carries = (a[1] + b[1] + value) ^ value
    mask = (carries | a[1] | b[1]) & U64
    return (value & ~mask & U64, mask)


def tnum_sub(a: Tnum, b: Tnum) -> Tnum:
    """a - b."""
    value = (a[0] - b[0]) & U64
    mask = ((((value + a[1]) & U64) ^ ((value - b[1]) & U64)) | a[1] | b[1]) & U64
    return (value & ~mask & U64, mask)


def tnum_and(a: Tnum, b: Tnum) -> Tnum:
    """a & b."""
    value = a[0] & b[0]
    return (value, (a[0] | a[1]) & (b[0] | b[1]) & ~value)


def tnum_or(a: Tnum, b: Tnum) -> Tnum:
    """a | b."""
    value = a[0] | b[0]
    return (value, (a[1] | b[1]) & ~value)


def tnum_xor(a: Tnum, b: Tnum) -> Tnum:
    """a ^ b."""
    mask = a[1] | b[1]
    return ((a[0] ^ b[0]) & ~mask, mask)


def tnum_mul(a: Tnum, b: Tnum) -> Tnum:
    """a * b, by long multiplication over the certain and the uncertain bits of a."""
    if _products_united:
        return _united_product(a, b)
    product = (a[0] * b[0]) & U64
    uncertain: Tnum = (0, 0)
    (value, mask), (b_value, b_mask) = a, b
    while value or mask:
        if value & 1:
            uncertain = tnum_add(uncertain, (0, b_mask))
        elif mask & 1:
            uncertain = tnum_add(uncertain, (0, b_value | b_mask))
        value >>= 1
        mask >>= 1
        b_value = (b_value << 1) & U64
        b_mask = (b_mask << 1) & U64
    return tnum_add((product, 0), uncertain)


def _united_product(a: Tnum, b: Tnum) -> Tnum:
    """Where a bit of a is uncertain, either what there is so far or that and one b more: since 6.18."""
    if not a[1] and not b[1]:
        return (a[0] * b[0]) & U64, 0
    (value, mask), total = a, (0, 0)
    while value or mask:
        if value & 1:
            total = tnum_add(total, b)
        elif mask & 1:
            total = tnum_union(total, tnum_add(total, b))
        value, mask, b = value >> 1, mask >> 1, tnum_lshift(b, 1)
    return total


def tnum_union(a: Tnum, b: Tnum) -> Tnum:
    """What is known when a or b holds."""
    mask = (a[0] ^ b[0]) | a[1] | b[1]
    return a[0] & b[0] & ~mask, mask


def tnum_step(a: Tnum, number: int) -> int:
    """The smallest value of a above a number, or else its largest."""
    value, mask = a
    most = value | mask
    if number >= most:
        return most
    if number < value:
        return value
    away = number - value
    filled = away | ((1 << (away & ~mask).bit_length()) - 1) | ~mask
    return value | (filled + 1) & mask


def tnum_bswap(a: Tnum, size: int) -> Tnum:
    """The low `size` bytes of a in the other order; the rest becomes zero."""
    value, mask = tnum_cast(a, size)
    return int.from_bytes(value.to_bytes(size, "little"), "big"), int.from_bytes(mask.to_bytes(size, "little"), "big")


def tnum_intersect(a: Tnum, b: Tnum) -> Tnum:
    """What is known when both a and b hold."""
    mask = a[1] & b[1]
    return ((a[0] | b[0]) & ~mask, mask)


def tnum_cast(a: Tnum, size: int) -> Tnum:
    """The low `size` bytes of a; the rest becomes zero."""
    keep = (1 << (size * 8)) - 1
    return (a[0] & keep, a[1] & keep)


def tnum_subreg(a: Tnum) -> Tnum:
    """The low 32 bits of a."""
    return (a[0] & U32, a[1] & U32)


def tnum_clear_subreg(a: Tnum) -> Tnum:
    """a with its low 32 bits zero."""
    return (a[0] >> 32 << 32, a[1] >> 32 << 32)


def tnum_const_subreg(a: Tnum, value: int) -> Tnum:
    """a with `value` for its low 32 bits, which must fit them."""
    return tnum_or(tnum_clear_subreg(a), (value & U64, 0))


def tnum_is_aligned(a: Tnum, size: int) -> bool:
    """Every value a can have is a multiple of `size`, a power of two (or 0: any)."""
    return not size or not (a[0] | a[1]) & (size - 1)


def tnum_in(a: Tnum, b: Tnum) -> bool:
    """Every value b can have, a can have too."""
    if b[1] & ~a[1]:
        return False
    return a[0] == b[0] & ~a[1]


# Rules of the version that verifies: follow().
_constants_as_numbers = False
_products_united = False


def follow(constants_as_numbers: bool, products_united: bool) -> None:
    """Write and multiply tnums as this version does from now on; bounds.follow() calls it."""
    global _constants_as_numbers, _products_united
    _constants_as_numbers, _products_united = constants_as_numbers, products_united


def tnum_text(a: Tnum) -> str:
    """tnum_strn(): the kernel's %#llx gives zero a prefix, too."""
    if _constants_as_numbers and not a[1]:
        return str(a[0]) if a[0] <= 0xFFFF else f"{a[0]:#x}"
    return f"({a[0]:#x}; {a[1]:#x})"
