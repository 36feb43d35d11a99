"""Sleepers on words of user memory: `k.futexes`, by the key of calls/futex.py.  kernel/futex/futex.h."""

from __future__ import annotations

from bisect import insort
from collections.abc import Hashable
from typing import Protocol

from arch.abi.errno import EFAULT, EINVAL
from arch.abi.sched import MAX_RT_PRIO
from arch.errors import KernelError
from simkernel.kernel.task import Task
from simkernel.kernel.usercopy import UserCopy

ANY = 0xFFFFFFFF  # FUTEX_BITSET_MATCH_ANY
FLAGS_SHARED = 1  # kernel/futex/futex.h; 0x10 since 6.7
FUT_OFF_MMSHARED = 2


class FutexWaiter:
    """struct futex_q: one sleeper."""

    __slots__ = ("bitset", "key", "lock", "pi_key", "task", "woken")

    def __init__(self, task: Task, key: Hashable, bitset: int) -> None:
        self.task, self.key, self.bitset = task, key, bitset
        self.woken = False
        self.pi_key: Hashable = None  # requeue_pi_key: the lock that it will be moved to, and no other
        self.lock: PiLock | None = None  # the lock that it was moved to


class PiLock:
    """struct futex_pi_state: a lock that somebody waits for."""

    __slots__ = ("died", "owner", "waiters")

    def __init__(self, owner: Task) -> None:
        self.owner = owner
        self.waiters: list[FutexWaiter] = []
        self.died = False  # the last owner ended with it


class Waker(Protocol):
    """`k.cpus`, as far as waking goes."""

    def activate(self, task: Task, wait_result: int) -> bool: ...


class FutexBoard(Protocol):
    """What looking for a futex needs of the kernel."""

    current: Task
    usercopy: UserCopy
    futexes: dict[Hashable, list[FutexWaiter]]


def key_of(k: FutexBoard, addr: int, flags: int = FLAGS_SHARED) -> tuple[int, int]:
    """get_futex_key(): the physical place, so that shared mappings meet.  EINVAL, EFAULT.

    A private futex's is its address, whatever lies there; a shared one's in private memory is another one (FUT_OFF_MMSHARED).
    """
    if addr & 3:
        raise KernelError(EINVAL)
    mm = k.current.mm
    if mm is None or addr + 4 > mm.home.layout.task_size:
        raise KernelError(EFAULT)
    if not flags & FLAGS_SHARED:
        return (mm.addr, addr)
    k.usercopy.get_user(addr, 4)
    vma = mm.find(addr)
    if vma is not None and vma.shared:
        return (mm.pages[addr & ~4095], addr & 4095)
    return (mm.addr, addr | FUT_OFF_MMSHARED)


def queue_of(k: FutexBoard, key: Hashable) -> list[FutexWaiter]:
    """The sleepers of a key, in order."""
    return k.futexes.setdefault(key, [])


def enqueue(k: FutexBoard, waiter: FutexWaiter) -> None:
    """__futex_queue(): real-time tasks by priority, in front of all others, who wait in order."""
    insort(queue_of(k, waiter.key), waiter, key=lambda each: min(each.task.normal_prio, MAX_RT_PRIO))


def forget(k: FutexBoard, waiter: FutexWaiter) -> None:
    """It no longer waits."""
    waiters = k.futexes.get(waiter.key)
    if waiters and waiter in waiters:
        waiters.remove(waiter)
        if not waiters:
            del k.futexes[waiter.key]


class WakingBoard(FutexBoard, Protocol):
    """And what waking its sleepers needs."""

    @property
    def cpus(self) -> Waker: ...


def wake(k: WakingBoard, key: Hashable, count: int, bitset: int = ANY) -> int:
    """futex_wake(): wake at most `count`.  EINVAL for one that waits to be moved to a lock."""
    waiters = k.futexes.get(key)
    woken = 0
    if waiters:
        for waiter in list(waiters):
            if woken >= count:
                break
            if waiter.pi_key is not None:
                raise KernelError(EINVAL)
            if waiter.bitset & bitset:
                waiters.remove(waiter)
                waiter.woken = True
                k.cpus.activate(waiter.task, 0)
                woken += 1
        if not waiters:
            del k.futexes[key]
    return woken
