"""The kernel as ipc/ sees it."""

from __future__ import annotations

from simkernel.fs.face import FsKernel
from simkernel.ipc.util import IpcNamespace


class IpcKernel(FsKernel):
    """A kernel with System V IPC."""

    ipc: IpcNamespace  # of the current task's namespace: there is one
