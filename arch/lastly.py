"""What is given back to the host when an object is gone, without a line of Python: `lastly(holder, os.close, fd)`.

A finalizer written in Python can be interrupted before its first line: the KeyboardInterrupt is printed and forgotten, and what it
was to give back is lost.  So the weak reference itself calls, by parts that are all of C.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable
from functools import partial

FIRST_LOOK = 64  # rows


class _Last(weakref.ref[object]):
    """A weak reference that knows what is to be done."""

    __slots__ = ("act",)
    act: Callable[[], object]


_act = operator.methodcaller("act")
_waiting: list[_Last] = []
_next_look = FIRST_LOOK


def lastly(holder: object, function: Callable[..., object], *arguments: object) -> None:
    """Call a function of C, such as os.close or one of ctypes, when nobody has `holder` any more."""
    global _next_look
    last = _Last(holder, _act)
    last.act = partial(function, *arguments)
    _waiting.append(last)
    if len(_waiting) > _next_look:
        _waiting[:] = [each for each in _waiting if each() is not None]
        _next_look = max(2 * len(_waiting), FIRST_LOOK)
