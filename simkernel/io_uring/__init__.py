"""io_uring: requests that a process lays into a ring that it shares with the kernel, and what became of them in another.

Mirrors io_uring/.  ring.py is one instance: its memory, its completions, its file; request.py one request and its chain; ops.py
the table of what can be asked; register.py, rsrc.py and kbuf.py what a process leaves with an instance; calls.py the three system calls.

A request is begun by who submits it.  One that would have to wait hangs on the wait queues of its file and is begun again,
by the same task on its way back to user mode, when the file is ready (io_arm_poll_handler()); there are no worker threads.
"""

from __future__ import annotations

from simkernel.fs.face import FsKernel
from simkernel.io_uring import calls, ops, register
from simkernel.io_uring.register import forget_ring_fds

DECLARED = (calls, ops, register)

__all__ = ["DECLARED", "install"]


def install(k: FsKernel) -> None:
    """Nothing is there until somebody makes an instance; what a task has numbered goes with it."""
    k.tasks.exit_hooks.append(forget_ring_fds)
