"""Names and numbers at the beginning of what is written to trace files.  lib/vsprintf.c."""

from __future__ import annotations

import re

BLANKS = " \t\n\v\f\r\xa0"  # isspace() of lib/ctype.c
UNLIMITED = -1  # a count that is not given


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
