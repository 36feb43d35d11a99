"""C strings and numbers, read as the kernel reads what is written to its files.  lib/kstrtox.c, lib/vsprintf.c."""

from __future__ import annotations

import re

from arch.abi.errno import EINVAL, ERANGE
from arch.errors import KernelError

BLANKS = " \t\n\v\f\r\xa0"  # isspace() of lib/ctype.c
UNLIMITED = -1  # a count that is not given


def c_string(data: bytes) -> str:
    """Up to the first NUL; bytes are shown as Latin-1 so that any byte survives."""
    return data.split(b"\0", 1)[0].decode("latin-1")


def kstrto(text: str, base: int, bits: int, signed: bool) -> int:
    """kstrtoul()/kstrtol(): the whole text, one trailing newline allowed.  EINVAL, ERANGE."""
    text = text.removesuffix("\n")
    negative = signed and text.startswith("-")
    digits = text[1:] if text[:1] == "+" or negative else text
    if base == 0:
        base = 10
        if digits[:1] == "0":
            base = 16 if re.match(r"0[xX][0-9a-fA-F]", digits) else 8
    if base == 16 and digits[:2].lower() == "0x":
        digits = digits[2:]
    allowed = "0123456789abcdef"[:base]
    if not digits or any(char not in allowed for char in digits.lower()):
        raise KernelError(EINVAL, f"not a number: {text!r}")
    value = int(digits, base)
    if value >> 64:
        raise KernelError(ERANGE, f"{text} is too big")
    if signed:
        if value > (1 << (bits - 1)) - (0 if negative else 1):
            raise KernelError(ERANGE, f"{text} is too big")
        return -value if negative else value
    if value >> bits:
        raise KernelError(ERANGE, f"{text} is too big")
    return value


def simple_strtoul(text: str) -> tuple[int, str]:
    """Value and rest; base from the prefix."""
    match = re.match(r"0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*", text)
    if match is None:
        return 0, text
    digits = match[0]
    return int(digits, 8 if re.fullmatch(r"0[0-7]+", digits) else 0), text[match.end() :]


def is_good_name(name: str) -> bool:
    """A C identifier, as names of events and of their arguments must be."""
    return re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is not None
