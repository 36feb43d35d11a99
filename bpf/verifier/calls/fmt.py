"""Is a format string one that bpf_snprintf() and bpf_trace_printk() take?

bpf_bprintf_prepare() of kernel/bpf/helpers.c, without its arguments.
"""

from __future__ import annotations

from typing import Final

from arch.abi.errno import EINVAL

_SPACES: Final = frozenset(b" \t\n\v\f\r")
_TEXT: Final = frozenset(range(0x20, 0x7F)) | _SPACES | frozenset(range(0x80, 0x100))
_PUNCTUATION: Final = frozenset(b"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_ENDS_WORD: Final = _SPACES | _PUNCTUATION | {0}


class _Format:
    """The string and where we are in it; beyond its end everything is NUL."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.at = 0

    def peek(self, ahead: int = 0) -> int:
        at = self.at + ahead
        return self.text[at] if at < len(self.text) else 0

    def conversion(self) -> bool:
        """Go over what follows a per cent sign; `at` stays on its last character."""
        if self.peek() >= 0x80:
            return False
        while self.peek() in b"0+- ":
            self.at += 1
        if self.peek() in b"123456789":
            while 0x30 <= self.peek() <= 0x39:
                self.at += 1
        match chr(self.peek()):
            case "p":
                return self._pointer()
            case "s":
                return self.peek(1) in _ENDS_WORD
            case "c":
                return True
        for _ in range(2):
            if self.peek() == ord("l"):
                self.at += 1
        return self.peek() in b"diuxX"

    def _pointer(self) -> bool:
        kind = self.peek(1)
        if kind in _ENDS_WORD:
            return True
        if kind in b"ku" and self.peek(2) == ord("s"):
            self.at += 2
            return self.peek(1) in _ENDS_WORD
        if kind in b"KxsSB":
            self.at += 1
            return True
        if kind in b"iI" and self.peek(2) in b"46":
            self.at += 2
            return True
        return False


def bprintf_is_valid(text: bytes, num_args: int) -> int:
    """0, or the errno for a format (without its NUL) that is given `num_args` arguments."""
    fmt = _Format(text)
    used = 0
    while fmt.at < len(text):
        if fmt.peek() not in _TEXT:
            return EINVAL
        if fmt.peek() == ord("%"):
            fmt.at += 1
            if fmt.peek() != ord("%"):
                if used >= num_args or not fmt.conversion():
                    return EINVAL
                used += 1
        fmt.at += 1
    return 0
