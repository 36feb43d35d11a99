"""What the bodies of kernel functions are, as types.

A body is a plain function that returns an int, or a generator that yields calls and is sent their results:

    def vfs_read(k: KernelFace, file: int, buf: int, count: int, pos: int) -> Body:
        ret = yield k.call("rw_verify_area", READ, file, pos, count)
        return ret
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

T = TypeVar("T")


class Request:
    """Something yielded that is neither a call of the CPU nor a result: see its subclasses."""

    __slots__ = ()


class Inlined(Request):
    """A request to run another body inside the caller's frame: a function that this version does not have."""

    __slots__ = ("running",)

    def __init__(self, running: Body) -> None:
        self.running = running


# What a body yields: (address, arg0, ...) is a call that the CPU makes, an int is a result that is known already.
Call = tuple[int, ...] | int | Request
# A generator that makes calls on its way to some value, for `yield from`.
Steps = Generator[Call, int, T]
# A generator that is the body of a kernel function: its value is the function's result.
Body = Steps[int]
