"""The kernel as ipc/ sees it."""

from __future__ import annotations

from simkernel.fs.face import FsKernel
from simkernel.ipc.util import IpcNamespace, MqNamespace


class IpcKernel(FsKernel):
    """A kernel with System V IPC."""

    init_ipc: IpcNamespace
    mqueue: MqNamespace

    @property
    def ipc(self) -> IpcNamespace:
        """Of the current task's namespace."""
        found = self.current.namespaces.get("ipc")
        if found is None:
            return self.init_ipc
        if found.state is None:
            found.state = IpcNamespace()
        assert isinstance(found.state, IpcNamespace)
        return found.state
