"""Python's search for circles of garbage, and when it is left out."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")
KEPT_BETWEEN = 8  # what is kept without a search until all is searched: dead machines, about 3 MB each
_kept = count(1)
# An item for each hold() that goes on: to ask Python how much is frozen is a walk over all of it.
_held: list[None] = []


def hold() -> None:
    """What there is now is not searched until release(): a search writes into every object, and so copies the page that
    a child of fork(2) shares."""
    _held.append(None)
    gc.freeze()


def release() -> None:
    """The end of a hold(); what others hold is searched only when the last of them ends."""
    _held.pop()
    if not _held:
        gc.unfreeze()


def without_search(work: Callable[[A], B], argument: A) -> B:
    """work(argument), during which nothing is searched."""
    searched = gc.isenabled()
    gc.disable()
    try:
        return work(argument)
    finally:
        if searched:
            gc.enable()


@contextmanager
def unsearched() -> Iterator[None]:
    """No search here.  What is made stays (a boot's hundred thousand objects), so that it counts as searched.

    What was garbage by then counts as searched, too, and Python would never look at it again: we do, now and then.
    """
    searched = gc.isenabled()
    if searched and next(_kept) % KEPT_BETWEEN == 0:
        gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if searched:
            # What was made counts as old: else the next object made begins the search.
            if not _held:
                gc.freeze()
                gc.unfreeze()
            gc.enable()
