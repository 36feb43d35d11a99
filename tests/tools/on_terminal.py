"""A terminal that a command writes to, and what it saw."""

import os
import pty
import select
from collections.abc import Callable
from subprocess import Popen


def seen_by_a_terminal(start: Callable[[int], Popen[bytes]]) -> tuple[Popen[bytes], str]:
    """The process that `start` makes with the terminal's descriptor, and all that was written there until everybody closed it."""
    ours, theirs = pty.openpty()
    process = start(theirs)
    os.close(theirs)
    seen = b""
    while select.select([ours], [], [], 60)[0]:
        try:
            seen += os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
    os.close(ours)
    return process, seen.decode()
