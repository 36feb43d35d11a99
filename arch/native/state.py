"""What native functions ask of the running machine."""

from __future__ import annotations

from arch.native.block import Word
from arch.native.subset import Words, as_uint, decline, native, shared


@native
def word_at(m: Words, index: int) -> int:
    """A word of an array that is known by its address."""
    return m[index]


@native
def time_now() -> int:
    """The clock's time, and the work of user code that it has not been charged with; it will be, before anybody looks.

    Where several CPUs share the time, each charge is rounded, and where kernel text counts as work, the kernel looks at its
    clock meanwhile: then it matters when a charge is made, and Python makes it.
    """
    pending = shared[Word.WORK] - shared[Word.WORK_SEEN]
    if shared[Word.CLOCK] == 0 or (pending and shared[Word.WORK_SHARE] == 0):
        decline()
    return as_uint(word_at(shared[Word.CLOCK], 0)) + pending * shared[Word.WORK_SHARE]


@native
def current_task() -> int:
    """get_current(); a host without tasks in memory has none."""
    if shared[Word.CURRENT] == 0:
        decline()
    return shared[Word.CURRENT]
