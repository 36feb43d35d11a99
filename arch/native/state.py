"""What native functions ask of the running machine."""

from __future__ import annotations

from arch.native.block import Word
from arch.native.subset import (
    Words,
    as_uint,
    decline,
    load8,
    load16,
    load32,
    load64,
    native,
    poke8,
    poke16,
    poke32,
    poke64,
    shared,
)


@native
def word_at(m: Words, index: int) -> int:
    """A word of an array that is known by its address."""
    return m[index]


@native
def load_sized(at: int, size: int) -> int:
    """A number of 8, 4, 2 or 1 bytes."""
    if size == 8:
        return load64(at)
    if size == 4:
        return load32(at)
    return load16(at) if size == 2 else load8(at)


@native
def poke_sized(at: int, size: int, value: int) -> int:
    """Write a number of 8, 4, 2 or 1 bytes where that cannot fail."""
    if size == 8:
        return poke64(at, value)
    if size == 4:
        return poke32(at, value)
    return poke16(at, value) if size == 2 else poke8(at, value)


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
