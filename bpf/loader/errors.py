"""What goes wrong while loading."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from arch.abi.errno import EINVAL, errno_name

NOTED_LINES = 20  # of the log, in a traceback


class LoadError(Exception):
    """An object that cannot be opened, loaded or attached: errno, why, and the verifier's log if there is one.

    A traceback shows the end of the log as the exception's note.
    """

    def __init__(self, why: str, errno: int = EINVAL, log: str = "") -> None:
        super().__init__(why, errno)
        self.why = why
        self.errno = errno
        self.log = log
        if log.strip():
            lines = log.rstrip("\n").split("\n")
            before = [f"... ({len(lines) - NOTED_LINES} lines before)"] if len(lines) > NOTED_LINES else []
            self.add_note("\n".join(["the verifier's log:", *before, *lines[-NOTED_LINES:]]))

    def __str__(self) -> str:
        name = errno_name(self.errno)
        return self.why if self.why.endswith(name) else f"{self.why} ({name})"


def nearest(name: str, candidates: Iterable[str], count: int = 5) -> str:
    """`" (did you mean vfs_write, vfs_writev?)"`, or nothing."""
    found = difflib.get_close_matches(name, list(candidates), count, 0.75)
    return f" (did you mean {', '.join(found)}?)" if found else ""
