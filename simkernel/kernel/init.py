"""The bodies of the first kernel threads."""

from __future__ import annotations

from arch.abi.wait import WALL, WEXITED
from simkernel.kernel.face import KernelFace, Steps
from simkernel.kernel.task import EXIT_ZOMBIE, WaitRequest


def sleep_forever(k: KernelFace) -> Steps[None]:
    """A kernel thread without work."""
    while True:
        yield k.wait(None, interruptible=False)


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
        yield k.wait(task.signal.wait_chldexit, interruptible=False)
