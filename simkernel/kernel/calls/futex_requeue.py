"""Moving sleepers from one futex to another, or to a lock that has an owner.  kernel/futex/requeue.c."""

from __future__ import annotations

from collections.abc import Hashable

from arch.abi.errno import EAGAIN, EINVAL, ERESTARTNOINTR, ERESTARTSYS, ETIME, ETIMEDOUT
from arch.errors import KernelError
from simkernel.kernel.calls.futex_pi import lock_of, take_lock, wait_for_lock
from simkernel.kernel.face import Body, KernelFace
from simkernel.kernel.futexes import FutexWaiter, enqueue, forget, key_of, wake
from simkernel.kernel.kfunc import kernel_function

CMP_VALUE, TO_LOCK = (
    0x80000000,
    0x40000000,
)  # of our `flags`: the first word is compared; the second is a lock with an owner


@kernel_function(
    "int futex_requeue(u32 *uaddr1, unsigned int flags, u32 *uaddr2, int nr_wake, int nr_requeue, u32 *cmpval)",
    source="kernel/futex/requeue.c",
)
def futex_requeue(k: KernelFace, uaddr1: int, flags: int, uaddr2: int, nr_wake: int, nr_requeue: int, cmp: int) -> int:
    """Wake some, move others to a second futex.  EINVAL; EAGAIN when the value changed."""
    to_lock = bool(flags & TO_LOCK)
    if nr_wake < 0 or nr_requeue < 0 or (to_lock and (uaddr1 == uaddr2 or nr_wake != 1)):
        raise KernelError(EINVAL)
    first, second = key_of(k, uaddr1, flags), key_of(k, uaddr2, flags)
    if to_lock and first == second:
        raise KernelError(EINVAL)
    if flags & CMP_VALUE and k.usercopy.get_user(uaddr1, 4) != cmp:
        raise KernelError(EAGAIN)
    if to_lock:
        return _to_lock(k, first, uaddr2, second, nr_wake, nr_requeue)
    waiters = k.futexes.get(first, [])
    if any(waiter.pi_key is not None for waiter in waiters[: nr_wake + nr_requeue]):
        raise KernelError(EINVAL)
    done = wake(k, first, nr_wake)
    waiters = k.futexes.get(first, [])
    moved = waiters[:nr_requeue]
    for waiter in moved:
        waiters.remove(waiter)
        waiter.key = second
        enqueue(k, waiter)
    if not waiters:
        k.futexes.pop(first, None)
    return done + len(moved)


def _to_lock(k: KernelFace, first: Hashable, uaddr2: int, second: Hashable, nr_wake: int, nr_requeue: int) -> int:
    """FUTEX_CMP_REQUEUE_PI: the first gets the lock if it is free, the others wait for it."""
    waiters = list(k.futexes.get(first, ()))
    count = 0
    if waiters:  # futex_proxy_trylock_atomic()
        if waiters[0].pi_key != second:
            raise KernelError(EINVAL)
        if take_lock(k, uaddr2, k.pi_locks.get(second), waiters[0].task, bool(nr_requeue)):
            top = waiters.pop(0)
            forget(k, top)
            top.woken = True
            k.cpus.activate(top.task, 0)
            count = 1
    for waiter in waiters:
        if count - nr_wake >= nr_requeue:
            break
        if waiter.pi_key != second:
            raise KernelError(EINVAL)
        forget(k, waiter)
        waiter.lock, waiter.key = lock_of(k, uaddr2, second), second
        waiter.lock.waiters.append(waiter)
        count += 1
    return count


@kernel_function(
    "int futex_wait_requeue_pi(u32 *uaddr, unsigned int flags, u32 val, ktime_t *abs_time, u32 bitset, u32 *uaddr2)",
    source="kernel/futex/requeue.c",
    names={None: "futex_wait_requeue_pi.constprop.0", "5.16": "futex_wait_requeue_pi"},
)
def futex_wait_requeue_pi(
    k: KernelFace, uaddr: int, flags: int, val: int, until: int, bitset: int, uaddr2: int
) -> Body:
    """Sleep while *uaddr == val, then have the lock at uaddr2.  EINVAL, EAGAIN, ETIMEDOUT.  `until`: monotonic ns, 0 for ever."""
    if uaddr == uaddr2 or not bitset:
        raise KernelError(EINVAL)
    second, key = key_of(k, uaddr2, flags), key_of(k, uaddr, flags)
    if k.usercopy.get_user(uaddr, 4) != val:
        raise KernelError(EAGAIN)
    if key == second:
        raise KernelError(EINVAL)
    waiter = FutexWaiter(k.current, key, bitset)
    waiter.pi_key = second
    enqueue(k, waiter)
    try:
        result = 0
        while not waiter.woken and waiter.lock is None:
            result = yield k.wait(None, timeout_ns=until - k.clock.now_ns if until else None)
            if waiter.woken or waiter.lock is not None:
                break
            if result == -ETIME:
                raise KernelError(ETIMEDOUT)
            if result == -ERESTARTSYS and k.signals.pending():
                raise KernelError(ERESTARTNOINTR)
    finally:
        forget(k, waiter)
    if waiter.lock is None:
        return 0
    # Moved: what interrupts from now on cannot be done again, for the first word has another value
    if result == -ERESTARTSYS and waiter.lock.owner is not k.current:
        waiter.lock.waiters.remove(waiter)
        raise KernelError(EAGAIN)
    return (yield from wait_for_lock(k, uaddr2, waiter.lock, waiter, until, EAGAIN))
