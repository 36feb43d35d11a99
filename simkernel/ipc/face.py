"""The kernel as ipc/ sees it."""

from __future__ import annotations

from simkernel.fs.face import FsKernel
from simkernel.ipc.util import IpcNamespace, MqNamespace
from simkernel.kernel.namespaces import Namespace


class IpcKernel(FsKernel):
    """A kernel with System V IPC."""

    init_ipc: IpcNamespace
    ipc_namespaces: list[Namespace]  # the others
    mqueue: MqNamespace

    @property
    def ipc(self) -> IpcNamespace:
        """Of the current task's namespace."""
        found = self.current.namespaces.get("ipc")
        if found is None:
            return self.init_ipc
        if found.state is None:
            found.state = IpcNamespace()
            self.ipc_namespaces.append(found)
        assert isinstance(found.state, IpcNamespace)
        return found.state
