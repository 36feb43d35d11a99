"""What a row of the operations says, and what their bodies share.  io_uring/opdef.h, io_uring/poll.c:io_arm_poll_handler()."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from arch.abi.errno import EAGAIN, EINTR, EINVAL, ERESTARTNOHAND, ERESTARTSYS
from arch.abi.fcntl import O_NONBLOCK
from arch.abi.poll import POLLIN, POLLOUT, POLLPRI, POLLRDHUP, POLLRDNORM, POLLWRNORM
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.fs.inode import File
from simkernel.io_uring.request import Request
from simkernel.kernel.body import Body
from simkernel.net.face import NetKernel

IN, OUT = POLLIN | POLLRDNORM | POLLRDHUP | POLLPRI, POLLOUT | POLLWRNORM
OpBody = Callable[[NetKernel, Request], "Body | int"]


@dataclass(frozen=True, slots=True)
class Op:
    """One row: the kernel function that does it, since when, its source; which words of a request must be 0."""

    name: str
    since: str
    source: str
    body: OpBody
    zero: tuple[str, ...] = ()
    check: Callable[[Request], None] = lambda request: None
    selects: bool = False  # may take a provided buffer
    ioprio: bool = False  # may have a priority, or flags in its place
    polls: bool = False  # there on an instance that polls its devices
    has_file: bool = True  # its first word is a descriptor that it needs


def refuse(condition: object, errno: int = EINVAL) -> None:
    if condition:
        raise KernelError(errno)


@contextmanager
def not_waiting(file: File) -> Iterator[bool]:
    """While a request is begun its file is one that makes nobody wait; gives whether it always is."""
    always = bool(file.f_flags & O_NONBLOCK)
    file.f_flags |= O_NONBLOCK
    try:
        yield always
    finally:
        if not always:
            file.f_flags &= ~O_NONBLOCK


def result_or_later(request: Request, result: int, always: bool, events: int) -> int:
    """A file that is not ready is asked again when it is."""
    if result != -EAGAIN or always:
        return -EINTR if result in (-ERESTARTSYS, -ERESTARTNOHAND) else result
    return request.arm(events)
