"""C strings, and the numbers that programs write as text.  lib/kstrtox.c."""

from __future__ import annotations

import re

from arch.abi.errno import EINVAL, ERANGE
from arch.abi.limits import U64_MAX
from arch.abi.version import KernelVersion, newest
from arch.errors import KernelError

DIGITS = {8: "[0-7]+", 10: "[0-9]+", 16: "(?:0x)?[0-9a-f]+"}


def c_string(data: bytes) -> str:
    """Up to the first NUL; bytes are shown as Latin-1 so that any byte survives."""
    return data.split(b"\0", 1)[0].decode("latin-1")


def kstrto(text: str, base: int, bits: int, signed: bool) -> int:
    """kstrtouint(), kstrtoll() and their kin: the whole text is a number of so many bits.  EINVAL, ERANGE."""
    return kstrto_within(text, base, -(1 << bits - 1) if signed else 0, (1 << bits - signed) - 1)


def kstrto_within(text: str, base: int = 0, low: int = 0, high: int = U64_MAX) -> int:
    """A sign, digits of `base` (0: by their prefix) and at most one newline.  EINVAL; ERANGE beyond `low` to `high`.

    A minus sign is one only where `low` is below 0.
    """
    text = text.removesuffix("\n")
    body = text.lstrip("+-").lower()
    if not base:
        base = 16 if body.startswith("0x") else 8 if body.startswith("0") else 10
    if re.fullmatch(("[+-]?" if low < 0 else "[+]?") + DIGITS[base], text, re.IGNORECASE) is None:
        raise KernelError(EINVAL, f"not a number: {text!r}")
    value = int(body, base)
    value = -value if text.startswith("-") else value
    if not low <= value <= high:
        raise KernelError(ERANGE, f"{text} is out of range")
    return value


# The letters that say yes or no, and since when.
BOOL_LETTERS = (("6.16", ("yte", "nfd")), ("5.18", ("yt", "nf")), (None, ("y", "n")))
BOOL_WORDS_SINCE = "4.6"  # on, off


def kstrtobool(text: str, version: KernelVersion) -> bool:
    """By its first letter, or two.  EINVAL."""
    yes, no = newest(BOOL_LETTERS, version)
    text = text.lower()
    words = version.at_least(BOOL_WORDS_SINCE)
    if text[:1] in ("1", *yes) or (words and text[:2] == "on"):
        return True
    if text[:1] in ("0", *no) or (words and text[:2] == "of"):
        return False
    raise KernelError(EINVAL, f"neither yes nor no: {text!r}")
