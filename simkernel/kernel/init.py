"""The bodies of the first kernel threads."""

from __future__ import annotations

from arch.abi.wait import WALL, WEXITED
from simkernel.kernel.body import Call
from simkernel.kernel.face import KernelFace, Steps
from simkernel.kernel.task import EXIT_ZOMBIE, TASK_INTERRUPTIBLE, WaitQueue, WaitRequest


def rest(k: KernelFace, queue: WaitQueue | None) -> Call:
    """Sleep as kernel threads without work do: interruptible, so that they do not count as load, but they take no signal."""
    call = k.wait(queue, interruptible=False)
    k.current.state = TASK_INTERRUPTIBLE
    k.mirror.store_state(k.current)
    return call


def sleep_forever(k: KernelFace) -> Steps[None]:
    """A kernel thread without work."""
    while True:
        yield rest(k, None)


def init_body(k: KernelFace) -> Steps[None]:
    """pid 1: adopts orphans and reaps them."""
    task = k.current
    while True:
        zombies = [c for c in task.children if c.exit_state == EXIT_ZOMBIE and len(c.signal.threads) == 1]
        for child in zombies:
            if child.watched:
                continue
            task.wait_request = WaitRequest("pid", child.pid, WEXITED | WALL)
            yield k.call("do_wait", 0)
        yield rest(k, task.signal.wait_chldexit)
