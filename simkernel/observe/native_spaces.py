"""Compiled handlers of user probes: a site is one address for all spaces, so which one is current is asked natively, too."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from functools import cache

from arch.native import Word
from arch.native.handler import NO_FRAME, READ_ONLY, NativeHandler
from arch.native.library import Library
from arch.native.subset import Words, decline, invoke, native, shared
from simkernel.kernel.mm import Mm

# Words: how many address spaces; of each its page-table root, and function and data of its handler.
SPACES, FIRST_SPACE = 0, 1


@native
def in_space(d: Words, regs: int) -> int:
    """The handler of the current address space; where it has none of this kind, Python looks."""
    for i in range(d[SPACES]):
        if d[FIRST_SPACE + 3 * i] == shared[Word.USER_ROOT]:
            return invoke(d[FIRST_SPACE + 3 * i + 1], d[FIRST_SPACE + 3 * i + 2], regs)
    decline()
    return 0


@cache
def library(big_endian: bool) -> Library:
    """Compiled when the first such handler is."""
    return Library([in_space], big_endian)


def site_handler(
    handlers: Mapping[Mm, NativeHandler], current: Callable[[], Mm | None], big_endian: bool
) -> NativeHandler | None:
    """The compiled form of a site with these handlers; None if there are none."""
    if not handlers:
        return None
    rows = [(mm.space.root, found.function, found.data) for mm, found in handlers.items()]
    data = (ctypes.c_uint64 * (FIRST_SPACE + 3 * len(rows)))(len(rows), *(word for row in rows for word in row))
    afters = {mm: found.after for mm, found in handlers.items()}

    def after(regs: int) -> object:
        mm = current()
        assert mm is not None
        return afters[mm](regs)

    flags = READ_ONLY | NO_FRAME
    for found in handlers.values():
        flags &= found.flags
    keep = (data, dict(handlers))
    return NativeHandler(library(big_endian).address["in_space"], ctypes.addressof(data), after, keep, flags)
