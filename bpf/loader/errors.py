"""What goes wrong while loading."""

from __future__ import annotations

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
