"""Who is woken of those on a wait queue, also by a function of their own, as epoll's.  kernel/sched/wait.c."""

from __future__ import annotations

from collections.abc import Callable

from simkernel.kernel.task import Task, WaitQueue


def tell(queue: WaitQueue, nr: int) -> int:
    """They hear of a wake-up of `nr` exclusive ones (0: all), and say whether they have woken somebody.

    How many exclusive ones are still to be woken; -1: none.
    """
    for fn, exclusive in list(queue.on_wake.items()):
        if not (exclusive and nr < 0) and fn() and exclusive and nr:
            nr = nr - 1 or -1
    return nr


def wake_sleepers(queue: WaitQueue, nr: int, activate: Callable[[Task, int], bool]) -> int:
    """__wake_up_common(): all that are not exclusive and `nr` exclusive ones (0: all); how many."""
    count = 0
    if queue.on_wake:
        nr = tell(queue, nr)
    for task, exclusive in list(queue.waiters):
        if exclusive and nr < 0:
            continue
        if activate(task, 0):
            count += 1
            if exclusive:
                if nr == 1:
                    break
                nr = max(nr - 1, 0)
    return count
