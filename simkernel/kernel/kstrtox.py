"""Numbers in the text that programs write.  lib/kstrtox.c."""

from __future__ import annotations

import re

from arch.abi.errno import EINVAL, ERANGE
from arch.abi.limits import INT_MAX, INT_MIN, U32_MAX, U64_MAX
from arch.errors import KernelError

DIGITS = {8: "[0-7]+", 10: "[0-9]+", 16: "(?:0x)?[0-9a-f]+"}
PROC_NUMBUF = 13  # bytes that fs/proc/internal.h keeps for a number, with the NUL


def kstrto(text: bytes, base: int, low: int, high: int) -> int:
    """A sign, digits of `base` (0: by their prefix) and at most one newline.  EINVAL; ERANGE beyond `low` to `high`.

    A minus sign is one only where `low` is below 0.
    """
    words = text.split(b"\0")[0].decode("latin-1")
    words = words.removesuffix("\n")
    sign = "[+-]?" if low < 0 else "[+]?"
    body = words.lstrip("+-").lower()
    if not base:
        base = 16 if body.startswith("0x") else 8 if body.startswith("0") else 10
    if re.fullmatch(sign + DIGITS[base], words, re.IGNORECASE) is None:
        raise KernelError(EINVAL, f"{words!r} is no number")
    value = int(body, base)
    value = -value if words.startswith("-") else value
    if not low <= value <= high:
        raise KernelError(ERANGE, f"{words!r} is out of range")
    return value


def kstrtoint(text: bytes, base: int) -> int:
    """An int.  EINVAL, ERANGE."""
    return kstrto(text, base, INT_MIN, INT_MAX)


def kstrtouint(text: bytes, base: int) -> int:
    """An unsigned int.  EINVAL, ERANGE."""
    return kstrto(text, base, 0, U32_MAX)


def kstrtoull(text: bytes, base: int) -> int:
    """An unsigned long long.  EINVAL, ERANGE."""
    return kstrto(text, base, 0, U64_MAX)


def proc_number(data: bytes, base: int) -> tuple[int, int]:
    """An int as the files of /proc/PID with PROC_NUMBUF bytes read it, and how many bytes they took.  EINVAL, ERANGE."""
    seen = data[: PROC_NUMBUF - 1]
    return kstrtoint(seen.split(b"\0")[0].strip(), base), len(seen)
