"""Those who hang on a wait queue with a function of their own, as epoll does.  kernel/sched/wait.c."""

from __future__ import annotations

from simkernel.kernel.task import WaitQueue


def tell(queue: WaitQueue, nr: int) -> int:
    """They hear of a wake-up of `nr` exclusive ones (0: all), and say whether they have woken somebody.

    How many exclusive ones are still to be woken; -1: none.
    """
    for fn, exclusive in list(queue.on_wake.items()):
        if not (exclusive and nr < 0) and fn() and exclusive and nr:
            nr = nr - 1 or -1
    return nr
