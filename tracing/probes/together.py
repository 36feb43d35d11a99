"""Several compiled handlers on one address, in their order."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache

from arch.native import Block, Native, Word
from arch.native.handler import NO_FRAME, NO_GUARDS, READ_ONLY, NativeHandler, all_sights
from arch.native.library import Library
from arch.native.subset import Words, attempt, native, shared

AT_MOST = 16  # handlers; where there are more, Python runs them

# Words: which handler ran last and the status it left, how many there are, function and data of each.
AT, STATUS, COUNT, FIRST = range(4)


@native
def run_together(d: Words, regs: int) -> int:
    """0 if all did all that there was to do; else which one did not is noted, and those behind it have not run."""
    for i in range(d[COUNT]):
        answer = attempt(d[FIRST + 2 * i], d[FIRST + 2 * i + 1], regs)
        status = shared[Word.NATIVE_STATUS]
        if answer or status:
            if i == 0 and status == Native.DECLINED:
                return 0  # nothing was done: as if this one had declined
            d[AT] = i
            d[STATUS] = status
            shared[Word.NATIVE_STATUS] = Native.DONE
            return 1
    return 0


@cache
def library(big_endian: bool) -> Library:
    """Compiled when two compiled handlers meet at an address."""
    return Library([run_together], big_endian)


def together(
    handlers: Sequence[NativeHandler | None], block: Block, big_endian: bool, run: Callable[[int, int], object]
) -> NativeHandler | None:
    """One compiled handler for these; None if one of them is not compiled.  `run(i, regs)` is the i-th one in Python."""
    if not 1 < len(handlers) <= AT_MOST:
        return None
    found = [handler for handler in handlers if handler is not None]
    if len(found) != len(handlers):
        return None
    words = [word for handler in found for word in (handler.function, handler.data)]
    data = (ctypes.c_uint64 * (FIRST + len(words)))(0, 0, len(found), *words)

    def after(regs: int) -> None:
        at, status = data[AT], data[STATUS]
        if status == Native.DECLINED:
            run(at, regs)
        else:
            block.words[Word.NATIVE_STATUS] = status
            found[at].after(regs)
        for later in range(at + 1, len(found)):
            run(later, regs)

    flags = READ_ONLY | NO_FRAME
    for handler in found:
        flags &= handler.flags
    function = library(big_endian).address["run_together"]
    returning = [handler.at_return for handler in found if handler.returns]
    at_return = returning[0] if len(returning) == 1 else None
    sight, elsewhere = all_sights(handler.sight for handler in found), any(handler.elsewhere for handler in found)
    keep = (data, tuple(found))
    return NativeHandler(
        function, ctypes.addressof(data), after, keep, flags, sight, elsewhere, bool(returning), at_return,
        any(handler.shows_caller for handler in found), NO_GUARDS.union(*(handler.guards for handler in found)),
    )  # fmt: skip
