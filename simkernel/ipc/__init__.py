"""System V IPC (message queues, semaphore sets, shared memory) and POSIX message queues.  Mirrors ipc/.

util.py has what they share: tables of identifiers, rights, the numbers of *ctl(2).
"""

from __future__ import annotations

from simkernel.fs.nsproxy import in_use
from simkernel.ipc import mqueue, msg, sem, shm, syscall
from simkernel.ipc.face import IpcKernel
from simkernel.ipc.proc import install_proc
from simkernel.ipc.util import IpcNamespace

# The modules whose kernel functions and system calls a kernel with System V IPC has.
DECLARED = (mqueue, msg, sem, shm, syscall)

__all__ = ["DECLARED", "install"]


def sweep(k: IpcKernel) -> None:
    """free_ipc_ns(): what namespaces had that nobody is in any more."""
    for gone in [each for each in k.ipc_namespaces if not in_use(k, each)]:
        k.ipc_namespaces.remove(gone)
        assert isinstance(gone.state, IpcNamespace)
        for table in (gone.state.msg, gone.state.sem):
            for item in table:
                table.remove(item)
        for segment in gone.state.shm:
            shm.forget(k, segment)
            gone.state.shm.remove(segment)


def install(k: IpcKernel) -> None:
    """The tables of a booting kernel, /proc/sysvipc and the sysctls."""
    k.init_ipc = IpcNamespace()
    k.ipc_namespaces = []
    k.vfs.namespaces.when_released.append(lambda: sweep(k))
    install_proc(k)
    mqueue.install(k)
