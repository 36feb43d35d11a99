"""What a row of the operations says, and what their bodies share.  io_uring/opdef.h, io_uring/poll.c:io_arm_poll_handler()."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from arch.abi import io_uring as abi
from arch.abi.errno import EAGAIN, EINTR, EINVAL, ERESTARTNOHAND, ERESTARTSYS
from arch.abi.fcntl import O_NONBLOCK
from arch.abi.limits import S32_MAX
from arch.abi.poll import POLLIN, POLLOUT, POLLPRI, POLLRDHUP, POLLRDNORM, POLLWRNORM
from arch.abi.version import KernelVersion
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
    keeps: Callable[[NetKernel, Request], object] = lambda k, request: None  # prep_async: what it points to is read now
    selects: bool = False  # may take a provided buffer
    ioprio: bool = False  # may have a priority, or flags in its place
    polls: bool = False  # there on an instance that polls its devices
    punts: bool = False  # a worker does it, always
    has_file: bool = True  # its first word is a descriptor that it needs


def there(k: NetKernel, since: str) -> bool:
    """Whether this kernel's io_uring is of that version or later."""
    first, until, age = abi.BACKPORTED
    return k.version.at_least(since) or (k.version.within(first, until) and not KernelVersion.parse(age).before(since))


def known(k: NetKernel, rows: Sequence[tuple[str, int]]) -> int:
    """The bits that this kernel's io_uring knows, of rows (since, bits)."""
    return sum(bits for since, bits in rows if there(k, since))


def signed(word: int) -> int:
    """A 32-bit word of a request that is a descriptor."""
    return word - (1 << 32) if word > S32_MAX else word


def refuse(condition: object, errno: int = EINVAL) -> None:
    if condition:
        raise KernelError(errno)


@contextmanager
def not_waiting(file: File) -> Iterator[None]:
    """IO_URING_F_NONBLOCK: while a request is begun its file is one that makes nobody wait."""
    always = bool(file.f_flags & O_NONBLOCK)
    file.f_flags |= O_NONBLOCK
    try:
        yield
    finally:
        if not always:
            file.f_flags &= ~O_NONBLOCK


def result_or_later(request: Request, result: int, nowait: bool, events: int) -> int:
    """A file that is not ready is asked again when it is, unless the request forbids it (REQ_F_NOWAIT)."""
    if result != -EAGAIN or nowait:
        return -EINTR if result in (-ERESTARTSYS, -ERESTARTNOHAND) else result
    return request.arm(events)
