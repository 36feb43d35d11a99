"""Whom signals about a file go to, as the file knows it (fasync.py has the rest)."""

from typing import Protocol


class Owner(Protocol):
    """struct fown_struct."""

    def forget(self) -> None:
        """The file is closed, or O_ASYNC taken back."""

    def disown(self) -> None:
        """Nobody is to be told any more."""
