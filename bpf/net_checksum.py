"""The Internet checksum: sums of 16-bit words in ones' complement.  lib/checksum.c, include/net/checksum.h.

A partial sum is 32 bits; folding makes it the 16 bits that packets carry.  Words are in the byte order of the packet
as the little-endian kernel reads them.
"""

from __future__ import annotations

MASK = 0xFFFFFFFF


def _fold64(total: int) -> int:
    while total >> 32:
        total = (total & MASK) + (total >> 32)
    return total


def csum_partial(data: bytes, start: int) -> int:
    """The sum over `data`, added to a sum so far."""
    if len(data) & 1:
        data += b"\0"
    words = sum(int.from_bytes(data[i : i + 2], "little") for i in range(0, len(data), 2))
    return _fold64(start + words)


def csum_fold(total: int) -> int:
    """The checksum field for a sum: its complement in 16 bits."""
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def csum_unfold(check: int) -> int:
    """A sum from a checksum field."""
    return check & 0xFFFF


def csum_add(one: int, other: int) -> int:
    """Two sums together."""
    total = one + other
    return (total + (total >> 32)) & MASK


def csum_sub(one: int, other: int) -> int:
    """One sum without another."""
    return csum_add(one, ~other & MASK)


def csum_replace_by_diff(check: int, diff: int) -> int:
    """A checksum field after its data changed by `diff`."""
    return csum_fold(csum_add(diff, ~csum_unfold(check) & MASK))


def csum_replace2(check: int, old: int, new: int) -> int:
    """A checksum field after a 16-bit word changed."""
    total = (~check & 0xFFFF) + (~old & 0xFFFF)
    total = (total & 0xFFFF) + (total >> 16) + new
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def csum_replace4(check: int, old: int, new: int) -> int:
    """A checksum field after a 32-bit word changed."""
    total = csum_sub(~csum_unfold(check) & MASK, old)
    return csum_fold(csum_add(total, new))
