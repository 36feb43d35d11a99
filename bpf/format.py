"""Which formats BPF's print helpers take, and what each asks for.  kernel/bpf/helpers.c:bpf_bprintf_prepare(), lib/vsprintf.c.

The verifier asks when a program is loaded, the helpers when it prints.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from arch.abi.errno import EINVAL
from arch.errors import KernelError

FORMAT_SPACES = b" \t\n\v\f\r"
# isspace() and ispunct() of lib/ctype.c, which is about Latin 1
_ENDS_BEHIND_POINTER = FORMAT_SPACES + b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~" + bytes(range(0xA0, 0xC0)) + b"\xd7\xf7"
_CONVERSION = re.compile(rb"%([0+\- ]*)([1-9][0-9]*)?(p(?:[ku]s|[iI][46]|[KxsSB])?|s|c|l{0,2}[diuxX])")
_BEHIND_POINTER = re.compile(rb"[0-9A-Za-z\xc0-\xd6\xd8-\xf6\xf8-\xff]*")  # isalnum()


@dataclass(frozen=True, slots=True)
class Conversion:
    """One of a format: `kind` is what stands behind flags and width."""

    start: int
    end: int  # what the first pass looks at next; the second one goes over letters and digits behind pointers
    flags: bytes
    width: int  # -1: none
    kind: bytes

    @property
    def is_text(self) -> bool:
        """The first pass has made a text of the argument, and it stands as it is."""
        return self.kind in (b"pks", b"pus", b"pB", b"pI4", b"pi4", b"pI6", b"pi6")


@lru_cache(256)  # programs print the same again and again
def conversions(fmt: bytes, given: int) -> tuple[Conversion, ...]:
    """What a format (without its NUL) asks for.  EINVAL: it is none, or asks for more than `given` arguments."""
    found: list[Conversion] = []
    at = 0
    while at < len(fmt):
        if fmt[at] < 128 and not (32 <= fmt[at] < 127 or fmt[at] in FORMAT_SPACES):
            raise KernelError(EINVAL)
        if fmt[at] != 0x25:
            at += 1
        elif fmt[at + 1 : at + 2] == b"%":
            at += 2
        else:
            if len(found) >= given:
                raise KernelError(EINVAL)
            found.append(_conversion(fmt, at))
            at = found[-1].end
    return tuple(found)


def _conversion(fmt: bytes, at: int) -> Conversion:
    m = _CONVERSION.match(fmt, at)
    if m is None:
        raise KernelError(EINVAL)
    flags, digits, kind = m[1], m[2], m[3]
    following = fmt[m.end() : m.end() + 1]
    if kind in (b"p", b"s", b"pks", b"pus") and following and following not in _ENDS_BEHIND_POINTER:
        raise KernelError(EINVAL)
    width = -1 if digits is None else (int(digits) + (1 << 23)) % (1 << 24) - (1 << 23)  # a bit field
    return Conversion(at, m.end(), flags, width, kind)


def after_word(fmt: bytes, at: int) -> int:
    """Where the text goes on behind a pointer's conversion: letters and digits belong to it."""
    m = _BEHIND_POINTER.match(fmt, at)
    return m.end() if m else at
