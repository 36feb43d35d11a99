"""What goes wrong while loading."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from arch.abi.errno import EINVAL, errno_name


class LoadError(Exception):
    """An object that cannot be opened, loaded or attached: errno, why, and the verifier's log if there is one."""

    def __init__(self, why: str, errno: int = EINVAL, log: str = "") -> None:
        super().__init__(why, errno)
        self.why = why
        self.errno = errno
        self.log = log

    def __str__(self) -> str:
        return f"{self.why} ({errno_name(self.errno)})"


def nearest(name: str, candidates: Iterable[str], count: int = 5) -> str:
    """`" (did you mean vfs_write, vfs_writev?)"`, or nothing."""
    found = difflib.get_close_matches(name, list(candidates), count, 0.75)
    return f" (did you mean {', '.join(found)}?)" if found else ""
