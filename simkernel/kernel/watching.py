"""Who watches areas of memory for user space, and what he is told of them.  fs/userfaultfd.c has them: simkernel/fs/userfaultfd.py."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from simkernel.kernel.body import Steps


class Told(Protocol):
    """struct userfaultfd_wait_queue of an event."""

    def wait(self) -> Steps[None]:
        """userfaultfd_event_wait_completion(): who brought it about sleeps until it has been read."""
        raise NotImplementedError


def wait_for(told: list[Told]) -> Steps[None]:
    """`yield from`: until what a system call did with watched areas has been read."""
    while told:
        yield from told.pop(0).wait()


def tell(told: list[Told], event: Told | None) -> None:
    """Who is in a system call waits at its end until a watcher has read it."""
    if event is not None:
        told.append(event)


def tell_unmapped(told: list[Told], watchers: Iterable[Watcher | None], start: int, end: int) -> None:
    """userfaultfd_unmap_prep(): each watcher hears once of a range."""
    for watcher in dict.fromkeys(watchers):
        if watcher is not None:
            tell(told, watcher.userfaultfd_unmap(start, end))


class Watcher(Protocol):
    """struct userfaultfd_ctx: what it is told of its areas, the name of each being the kernel's; None: it does not want that."""

    def dup_userfaultfd(self, mm: object) -> tuple[Watcher, Told] | None:
        """A child has the areas, too: who watches them there."""

    def mremap_userfaultfd(self, start: int, to: int, length: int) -> Told | None:
        """An area has moved."""

    def userfaultfd_remove(self, start: int, end: int) -> Told | None:
        """Pages will be dropped."""

    def userfaultfd_unmap(self, start: int, end: int) -> Told | None:
        """Areas in this range are gone."""
