"""System V IPC (message queues, semaphore sets, shared memory) and POSIX message queues.  Mirrors ipc/.

util.py has what they share: tables of identifiers, rights, the numbers of *ctl(2).
"""

from __future__ import annotations

from simkernel.ipc import mqueue, msg, sem, shm, syscall
from simkernel.ipc.face import IpcKernel
from simkernel.ipc.proc import install_proc
from simkernel.ipc.util import IpcNamespace

# The modules whose kernel functions and system calls a kernel with System V IPC has.
DECLARED = (mqueue, msg, sem, shm, syscall)

__all__ = ["DECLARED", "install"]


def install(k: IpcKernel) -> None:
    """The tables of a booting kernel, /proc/sysvipc and the sysctls."""
    k.init_ipc = IpcNamespace()
    k.tasks.exit_hooks.append(lambda task: sem.exit_sem(k, task))
    install_proc(k)
    mqueue.install(k)
