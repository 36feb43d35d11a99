"""Code of the host that the machine calls: workloads, sinks, whatever a person gave.  Its exceptions are its own.

    with host_code():
        request = next(program)

An exception that leaves the block is marked, and leaves the machine as it is: only what nobody else raised is a bug of
ours (oops.py).
"""

from __future__ import annotations

from types import TracebackType

from arch.abi.errno import EIO
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


def host_failure(error: OSError) -> int:
    """The errno of a call of the host that failed where no body has an answer to it, such as a read of our own data from a
    disk that fails: the function fails the same way.  Raises what code of the host raised.
    """
    if is_host_code(error):
        raise error
    return error.errno or EIO
