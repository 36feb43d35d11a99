"""The Internet checksum: sums of 16-bit words in ones' complement.  lib/checksum.c, include/net/checksum.h.

A partial sum is 32 bits; folding makes it the 16 bits that packets carry.  Words are in the byte order of the packet
as the little-endian kernel reads them.
"""

from __future__ import annotations

from arch.abi.limits import U32_MAX, U64_MAX


def _add_chain(total: int, words: bytes) -> int:
    """64-bit words added one after the other, each carry into the next."""
    carry = 0
    for i in range(0, len(words), 8):
        total += int.from_bytes(words[i : i + 8], "little") + carry
        carry, total = total >> 64, total & U64_MAX
    return (total + carry) & U64_MAX


def csum_partial(data: bytes, start: int) -> int:
    """The sum over `data`, added to a sum so far; the same 32 bits as arch/x86/lib/csum-partial_64.c gives.

    The order of the additions decides which of two equal sums comes out.
    """
    total, at, end = start, 0, len(data)
    while end - at >= 64:
        total, at = _add_chain(total, data[at : at + 64]), at + 64
    for size in (32, 16, 8):
        if (end - at) & size:
            total, at = _add_chain(total, data[at : at + size]), at + size
    if at < end:
        total = _add_chain(total, data[at:].ljust(8, b"\0"))
    result = (total >> 32) + (total & U32_MAX)
    return (result + (result >> 32)) & U32_MAX


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
    return (total + (total >> 32)) & U32_MAX


def csum_sub(one: int, other: int) -> int:
    """One sum without another."""
    return csum_add(one, ~other & U32_MAX)


def csum_replace_by_diff(check: int, diff: int) -> int:
    """A checksum field after its data changed by `diff`."""
    return csum_fold(csum_add(diff, ~csum_unfold(check) & U32_MAX))


def csum_replace2(check: int, old: int, new: int) -> int:
    """A checksum field after a 16-bit word changed."""
    total = (~check & 0xFFFF) + (~old & 0xFFFF)
    total = (total & 0xFFFF) + (total >> 16) + new
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def csum_replace4(check: int, old: int, new: int) -> int:
    """A checksum field after a 32-bit word changed."""
    total = csum_sub(~csum_unfold(check) & U32_MAX, old)
    return csum_fold(csum_add(total, new))
