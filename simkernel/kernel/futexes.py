"""Sleepers on words of user memory: `k.futexes`, by the key of calls/futex.py.  kernel/futex/futex.h."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from arch.abi.errno import EFAULT, EINVAL
from arch.errors import KernelError
from simkernel.kernel.task import Task
from simkernel.kernel.usercopy import UserCopy


class FutexWaiter:
    """struct futex_q: one sleeper."""

    __slots__ = ("bitset", "key", "task", "woken")

    def __init__(self, task: Task, key: Hashable, bitset: int) -> None:
        self.task, self.key, self.bitset = task, key, bitset
        self.woken = False


class PiLock:
    """struct futex_pi_state: a lock that somebody waits for."""

    __slots__ = ("died", "owner", "waiters")

    def __init__(self, owner: Task) -> None:
        self.owner = owner
        self.waiters: list[FutexWaiter] = []
        self.died = False  # the last owner ended with it


class FutexBoard(Protocol):
    """What looking for a futex needs of the kernel."""

    current: Task
    usercopy: UserCopy
    futexes: dict[Hashable, list[FutexWaiter]]


def key_of(k: FutexBoard, addr: int) -> tuple[int, int]:
    """get_futex_key(): the physical place, so that shared mappings meet.  EINVAL, EFAULT."""
    if addr & 3:
        raise KernelError(EINVAL)
    mm = k.current.mm
    if mm is None:
        raise KernelError(EFAULT)
    k.usercopy.get_user(addr, 4)
    vma = mm.find(addr)
    if vma is not None and vma.shared:
        return (mm.pages[addr & ~4095], addr & 4095)
    return (mm.addr, addr)


def queue_of(k: FutexBoard, key: Hashable) -> list[FutexWaiter]:
    """The sleepers of a key, in order."""
    return k.futexes.setdefault(key, [])


def forget(k: FutexBoard, waiter: FutexWaiter) -> None:
    """It no longer waits."""
    waiters = k.futexes.get(waiter.key)
    if waiters and waiter in waiters:
        waiters.remove(waiter)
        if not waiters:
            del k.futexes[waiter.key]
