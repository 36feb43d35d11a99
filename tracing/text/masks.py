"""Sets of CPUs as text: groups of eight hexadecimal digits.  lib/bitmap-str.c."""

from __future__ import annotations

import re
from string import hexdigits

from arch.abi.errno import EINVAL, EOVERFLOW
from arch.errors import KernelError

GROUP_BITS = 32
GROUP_DIGITS = 8
SEPARATORS = re.compile(r"[\s,]+")


def mask_text(mask: int, bits: int) -> str:
    """%*pb: every digit that `bits` need."""
    groups: list[str] = []
    for low in range(0, bits, GROUP_BITS):
        width = min(bits - low, GROUP_BITS)
        groups.append(f"{mask >> low & (1 << GROUP_BITS) - 1:0{-(-width // 4)}x}")
    return ",".join(reversed(groups))


def parse_mask(text: str, bits: int) -> int:
    """bitmap_parse(): from the end; nothing is an empty set.  EINVAL, EOVERFLOW."""
    mask, room = 0, -(-bits // GROUP_BITS)
    for index, group in enumerate(reversed([group for group in SEPARATORS.split(text) if group])):
        if index >= room:
            raise KernelError(EOVERFLOW, f"more than {bits} CPUs: {text!r}")
        mask |= parse_group(group) << index * GROUP_BITS
    if mask >> bits:
        raise KernelError(EOVERFLOW, f"more than {bits} CPUs: {text!r}")
    return mask


def parse_group(text: str) -> int:
    """bitmap_get_x32_reverse()."""
    last = text[-GROUP_DIGITS - 1 :]
    if not all(digit in hexdigits for digit in last[-GROUP_DIGITS:]):
        raise KernelError(EINVAL, f"not a mask: {text!r}")
    if len(last) > GROUP_DIGITS:
        raise KernelError(EOVERFLOW if last[0] in hexdigits else EINVAL, f"more than {GROUP_DIGITS} digits: {text!r}")
    return int(last, 16)
