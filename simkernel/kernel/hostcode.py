"""Code of the host that the machine calls: workloads, sinks, whatever a person gave.  Its exceptions are its own.

    with host_code():
        request = next(program)

An exception that leaves the block is marked, and leaves the machine as it is: only what nobody else raised is a bug of
ours (oops.py).
"""

from __future__ import annotations

from types import TracebackType

from arch.errors import KernelError

NOTE = "raised by code of the host that the simulated machine called"


class host_code:
    """Marks exceptions; a KernelError stays what it is, an answer."""

    __slots__ = ()

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if error is not None and not isinstance(error, KernelError | StopIteration):
            error.add_note(NOTE)


def is_host_code(error: BaseException) -> bool:
    """The exception came out of code of the host."""
    return NOTE in vars(error).get("__notes__", ())
