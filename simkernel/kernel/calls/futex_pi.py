"""Futexes that have an owner, and waiting for one of several.  kernel/futex/{pi,waitwake,syscalls}.c.

The word of a lock holds its owner's number.  The kernel knows a lock while somebody waits for it; who unlocks it or ends
hands it to the waiter of the highest priority.  The owner itself is not raised to that priority.
"""

from __future__ import annotations

from collections.abc import Hashable

from arch.abi.errno import (
    EAGAIN,
    EDEADLK,
    EINVAL,
    EPERM,
    ERESTARTNOINTR,
    ERESTARTSYS,
    ESRCH,
    ETIME,
    ETIMEDOUT,
)
from arch.abi.futex import (
    FUTEX_32,
    FUTEX_OWNER_DIED,
    FUTEX_PRIVATE_FLAG,
    FUTEX_TID_MASK,
    FUTEX_WAITERS,
    FUTEX_WAITV_MAX,
)
from arch.abi.time import CLOCK_MONOTONIC, CLOCK_REALTIME
from arch.errors import KernelError
from simkernel.kernel.calls.time import read_timespec
from simkernel.kernel.face import Body, KernelFace
from simkernel.kernel.futexes import FLAGS_SHARED, FutexWaiter, PiLock, enqueue, forget, key_of
from simkernel.kernel.kfunc import kernel_function, syscall
from simkernel.kernel.namespaces import timens_ktime_to_host
from simkernel.kernel.task import Task


def take_lock(k: KernelFace, uaddr: int, lock: PiLock | None, task: Task, waiters: bool = False) -> bool:
    """futex_lock_pi_atomic(): the lock for a task, if nobody has it; `waiters`: others will wait for it.  EDEADLK, ESRCH, EPERM."""
    value, me = k.usercopy.get_user(uaddr, 4), k.tasks.vnr(task.pid)
    if value & FUTEX_TID_MASK == me:
        raise KernelError(EDEADLK)
    if lock is not None or value & FUTEX_TID_MASK:
        k.usercopy.put_user(uaddr, 4, value | FUTEX_WAITERS)  # whatever comes of it
        owner = lock.owner if lock is not None else k.tasks.find(value & FUTEX_TID_MASK)
        if owner is None or owner.exit_state:
            raise KernelError(ESRCH)
        if owner.is_kernel:
            raise KernelError(EPERM)
        return False
    k.usercopy.put_user(uaddr, 4, value & FUTEX_OWNER_DIED | me | (FUTEX_WAITERS if waiters else 0))
    return True


def lock_of(k: KernelFace, uaddr: int, key: Hashable) -> PiLock:
    """attach_to_pi_owner(): the lock that the word's owner has, to wait for."""
    value, lock = k.usercopy.get_user(uaddr, 4), k.pi_locks.get(key)
    if lock is None:
        owner = k.tasks.find(value & FUTEX_TID_MASK)
        assert owner is not None
        lock = k.pi_locks[key] = PiLock(owner)
    k.usercopy.put_user(uaddr, 4, value | FUTEX_WAITERS)
    return lock


@kernel_function(
    "int futex_lock_pi(u32 *uaddr, unsigned int flags, ktime_t *time, int trylock)", source="kernel/futex/pi.c"
)
def futex_lock_pi(k: KernelFace, uaddr: int, flags: int, until: int, trylock: int) -> Body:
    """Become the owner, or wait for it.  EDEADLK, ESRCH, ETIMEDOUT, EAGAIN.  `until`: monotonic ns, 0 for ever."""
    key = key_of(k, uaddr, flags)
    if take_lock(k, uaddr, k.pi_locks.get(key), k.current):
        return 0
    if trylock:
        raise KernelError(EAGAIN)
    lock = lock_of(k, uaddr, key)
    waiter = FutexWaiter(k.current, key, 0)
    lock.waiters.append(waiter)
    return (yield from wait_for_lock(k, uaddr, lock, waiter, until, ERESTARTNOINTR))


def wait_for_lock(k: KernelFace, uaddr: int, lock: PiLock, waiter: FutexWaiter, until: int, interrupted: int) -> Body:
    """rt_mutex_wait_proxy_lock() and what comes behind it: the owner of the lock, or ETIMEDOUT, or `interrupted`."""
    result = 0
    while lock.owner is not k.current:
        result = yield k.wait(None, timeout_ns=until - k.clock.now_ns if until else None)
        if lock.owner is k.current or result < 0:
            break
    if waiter in lock.waiters:
        lock.waiters.remove(waiter)
    if lock.owner is not k.current:
        if not lock.waiters:
            k.pi_locks.pop(waiter.key, None)
        raise KernelError(ETIMEDOUT if result == -ETIME else interrupted)
    k.usercopy.put_user(uaddr, 4, k.tasks.vnr(k.current.pid) | FUTEX_WAITERS | (FUTEX_OWNER_DIED if lock.died else 0))
    lock.died = False
    if not lock.waiters:
        k.pi_locks.pop(waiter.key, None)
    return 0


def _hand_on(lock: PiLock) -> Task:
    """The waiter of the highest priority, the one who waits longest among equals."""
    following = min(lock.waiters, key=lambda w: w.task.prio)
    lock.waiters.remove(following)
    lock.owner = following.task
    return following.task


@kernel_function("int futex_unlock_pi(u32 *uaddr, unsigned int flags)", source="kernel/futex/pi.c", since="5.16")
def futex_unlock_pi(k: KernelFace, uaddr: int, flags: int) -> int:
    """Give the lock to the next, or free it.  EPERM for who does not own it."""
    key, value = key_of(k, uaddr, flags), k.usercopy.get_user(uaddr, 4)
    if value & FUTEX_TID_MASK != k.tasks.vnr(k.current.pid):
        raise KernelError(EPERM)
    lock = k.pi_locks.get(key)
    if lock is None or not lock.waiters:
        k.usercopy.put_user(uaddr, 4, 0)
        return 0
    task = _hand_on(lock)
    k.usercopy.put_user(uaddr, 4, FUTEX_WAITERS | k.tasks.vnr(task.pid))
    k.cpus.activate(task, 0)
    return 0


def exit_pi_state_list(k: KernelFace, task: Task) -> None:
    """A task ends that owns locks for which others wait."""
    for key, lock in list(k.pi_locks.items()):
        if lock.owner is task:
            if lock.waiters:
                lock.died = True
                k.cpus.activate(_hand_on(lock), 0)
            else:
                del k.pi_locks[key]


def futex_deadline(k: KernelFace, utime: int, size: int | None, realtime: bool) -> int:
    """futex_init_timeout(): an absolute time as ns of the machine's monotonic clock; 0 without one.  EINVAL, EFAULT."""
    if not utime:
        return 0
    until = read_timespec(k, utime, size)
    if realtime:
        k.cpus.charge_user()
        until += k.clock.now_ns - k.clock.realtime_ns
    else:
        until = timens_ktime_to_host(k.current.namespaces.get("time"), CLOCK_MONOTONIC, until)
    return max(until, 1)


# -- one of several --------------------------------------------------------------------------------------------------------

WAITV_SIZE = 24  # struct futex_waitv: val, uaddr, flags, reserved


@syscall(
    "futex_waitv",
    "struct futex_waitv *waiters, unsigned int nr_futexes, unsigned int flags, struct timespec *timeout, clockid_t clockid",
    source="kernel/futex/syscalls.c",
    since="5.16",
)
def sys_futex_waitv(k: KernelFace, waiters: int, count: int, flags: int, timeout: int, clock: int) -> Body:
    """The index of the futex that was woken.  EINVAL, EAGAIN, ETIMEDOUT, EFAULT."""
    if flags or not 1 <= count <= FUTEX_WAITV_MAX or not waiters:
        raise KernelError(EINVAL)
    until = 0
    k.cpus.charge_user()
    if timeout:
        if clock not in (CLOCK_REALTIME, CLOCK_MONOTONIC):
            raise KernelError(EINVAL)
        until = futex_deadline(k, timeout, 8, clock == CLOCK_REALTIME)
    order, asked = k.mem.byteorder, []
    raw = k.usercopy.copy_from_user(waiters, WAITV_SIZE * count)
    for at in range(0, len(raw), WAITV_SIZE):
        value, uaddr = (int.from_bytes(raw[at + i : at + i + 8], order) for i in (0, 8))
        kind, reserved = (int.from_bytes(raw[at + i : at + i + 4], order) for i in (16, 20))
        if reserved or kind & ~(FUTEX_32 | FUTEX_PRIVATE_FLAG) or not kind & FUTEX_32:
            raise KernelError(EINVAL)
        asked.append((uaddr, value, 0 if kind & FUTEX_PRIVATE_FLAG else FLAGS_SHARED))
    queued = [FutexWaiter(k.current, key_of(k, uaddr, shared), 0xFFFFFFFF) for uaddr, _, shared in asked]
    for uaddr, value, _ in asked:
        if k.usercopy.get_user(uaddr, 4) != value & 0xFFFFFFFF:
            raise KernelError(EAGAIN)
    for waiter in queued:
        enqueue(k, waiter)
    try:
        while True:
            result = yield k.wait(None, timeout_ns=until - k.clock.now_ns if until else None)
            woken = next((index for index, waiter in enumerate(queued) if waiter.woken), None)
            if woken is not None:
                return woken
            if result == -ETIME:
                raise KernelError(ETIMEDOUT)
            if result == -ERESTARTSYS:
                raise KernelError(ERESTARTSYS)
    finally:
        for waiter in queued:
            forget(k, waiter)
