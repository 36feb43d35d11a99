"""Text for a terminal: what a program, a file or an object chose as a name does not command it.

Sentences, traces and tables of simkernel's own go through `Terminal` where stdout or stderr is a terminal; control
characters are shown as cat -v shows them.  What a program inside writes goes through as it is (simkernel/cli/run.py), and a
file or a pipe gets the bytes of the text.  Who draws (rich) writes to `drawn()`.
"""

from __future__ import annotations

import io
from typing import TextIO

DIRECTIONS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))  # they change the order of what is read
SHOWN = (
    {number: f"^{chr(number ^ 0x40)}" for number in (*range(32), 127) if chr(number) not in "\n\t"}
    | {number: f"\\x{number:02x}" for number in range(0x80, 0xA0)}
    | {number: f"\\u{number:04x}" for number in DIRECTIONS}
)


def shown(text: str) -> str:
    """Without control characters but newline and tabulator."""
    return text.translate(SHOWN)


class Terminal(io.TextIOWrapper):
    """A standard stream that shows control characters."""

    def __init__(self, stream: io.TextIOWrapper) -> None:
        super().__init__(stream.buffer, stream.encoding, stream.errors, line_buffering=True)
        self.stream = stream

    def write(self, text: str) -> int:
        """Returns what the caller counts on: the length of the text."""
        super().write(shown(text))
        return len(text)


def guarded(stream: TextIO) -> TextIO:
    """The stream, or what shows control characters on it if it is a terminal."""
    if isinstance(stream, io.TextIOWrapper) and not isinstance(stream, Terminal) and stream.isatty():
        return Terminal(stream)
    return stream


def drawn(stream: TextIO) -> TextIO:
    """The stream for those who draw on it, and see to names themselves."""
    return stream.stream if isinstance(stream, Terminal) else stream
