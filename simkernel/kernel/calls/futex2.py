"""Futexes by calls of their own: futex_wake(2), futex_wait(2), futex_requeue(2), since 6.7.  kernel/futex/syscalls.c."""

from __future__ import annotations

import struct

from arch.abi.errno import EINVAL
from arch.abi.time import CLOCK_MONOTONIC, CLOCK_REALTIME
from arch.errors import KernelError
from simkernel.kernel.calls.futex import FLAGS_STRICT
from simkernel.kernel.calls.futex_pi import futex_deadline
from simkernel.kernel.calls.futex_requeue import CMP_VALUE
from simkernel.kernel.face import Body, KernelFace
from simkernel.kernel.futexes import FLAGS_SHARED
from simkernel.kernel.kfunc import syscall

FUTEX2_SIZE_U32, FUTEX2_PRIVATE = 2, 128
U32_MAX = (1 << 32) - 1
WAITV = 24  # sizeof(struct futex_waitv): value, address, flags, zero


def _checked(flags: int, *values: int) -> None:
    """futex_flags_valid(), futex_validate_input(): words of 32 bits only, on no node of their own.  EINVAL."""
    if flags & ~FUTEX2_PRIVATE != FUTEX2_SIZE_U32 or any(value > U32_MAX for value in values):
        raise KernelError(EINVAL)


def _shared(flags: int) -> int:
    return 0 if flags & FUTEX2_PRIVATE else FLAGS_SHARED


@syscall(
    "futex_wake",
    "void *uaddr, unsigned long mask, int nr, unsigned int flags",
    source="kernel/futex/syscalls.c",
    since="6.7",
)
def sys_futex_wake(k: KernelFace, uaddr: int, mask: int, nr: int, flags: int) -> Body:
    """How many were woken.  EINVAL, EFAULT."""
    k.cpus.charge_user()
    _checked(flags, mask)
    return (yield k.call("futex_wake", uaddr, FLAGS_STRICT | _shared(flags), nr, mask))


@syscall(
    "futex_wait",
    "void *uaddr, unsigned long val, unsigned long mask, unsigned int flags, struct __kernel_timespec *timeout, clockid_t clockid",
    source="kernel/futex/syscalls.c",
    since="6.7",
)
def sys_futex_wait(k: KernelFace, uaddr: int, val: int, mask: int, flags: int, timeout: int, clockid: int) -> Body:
    """Sleep while the word is `val`, until an absolute time.  EAGAIN, EINVAL, EFAULT, ETIMEDOUT."""
    k.cpus.charge_user()
    _checked(flags, val, mask)
    until = 0
    if timeout:
        if clockid not in (CLOCK_REALTIME, CLOCK_MONOTONIC):
            raise KernelError(EINVAL)
        until = futex_deadline(k, timeout, 8, clockid == CLOCK_REALTIME)
    return (yield k.call("__futex_wait", uaddr, _shared(flags), val, until, mask))


@syscall(
    "futex_requeue",
    "struct futex_waitv *waiters, unsigned int flags, int nr_wake, int nr_requeue",
    source="kernel/futex/syscalls.c",
    since="6.7",
)
def sys_futex_requeue(k: KernelFace, waiters: int, flags: int, nr_wake: int, nr_requeue: int) -> Body:
    """Wake some at the first word, if it is what is said, and let others wait at the second.  EAGAIN, EINVAL, EFAULT."""
    k.cpus.charge_user()
    if flags or not waiters:
        raise KernelError(EINVAL)
    order = "<" if k.mem.byteorder == "little" else ">"
    rows = list(struct.iter_unpack(f"{order}QQII", k.usercopy.copy_from_user(waiters, 2 * WAITV)))
    for value, _, kind, reserved in rows:
        _checked(kind, value)
        if reserved:
            raise KernelError(EINVAL)
    (value, first, kind, _), (_, second, other, _) = rows
    if kind != other:
        raise KernelError(EINVAL)
    return (yield k.call("futex_requeue", first, CMP_VALUE | _shared(kind), second, nr_wake, nr_requeue, value))
