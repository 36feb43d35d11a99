"""Files of control groups: those that tell of news, and those that ask who has opened them.  kernel/cgroup/cgroup.c."""

from __future__ import annotations

from arch.abi.errno import ENODEV
from arch.abi.poll import DEFAULT_POLLMASK, POLLERR, POLLPRI
from arch.errors import KernelError
from simkernel.fs.cgroup_css import CgroupFile
from simkernel.fs.cgroup_procs import Opener
from simkernel.fs.nodes import OpenNode, OpenText, PseudoFile
from simkernel.kernel.body import Steps
from simkernel.kernel.face import KernelFace


class CgroupNode(PseudoFile):
    """A file of a group, whose readers can wait for news."""

    def __init__(self, k: KernelFace, file: CgroupFile) -> None:
        self.k = k
        mode = (0o444 if file.show else 0) | (0o200 if file.store or file.store_as else 0)
        super().__init__(file.show, file.store, mode)
        self.events, self.store_as = 0, file.store_as
        self.gone = False  # with its group or its controller

    def open(self, flags: int) -> OpenNode:
        """kernfs_fop_open()."""
        return OpenCgroupFile(self) if self.store_as is None else OpenProcs(self)


class OpenCgroupFile(OpenText):
    """An open one: kernfs_generic_poll()."""

    def __init__(self, node: CgroupNode) -> None:
        super().__init__(node)
        self.file, self.seen, self.poll_key = node, -1, node

    def active(self) -> None:
        """kernfs_get_active().  ENODEV."""
        if self.file.gone:
            raise KernelError(ENODEV, "its group is gone")

    def write(self, data: bytes, pos: int) -> int | Steps[int]:
        """Hand the bytes over.  ENODEV."""
        self.active()
        return super().write(data, pos)

    def read(self, size: int, pos: int) -> bytes:
        """What was read is no news.  ENODEV."""
        self.active()
        self.seen = self.file.events
        return super().read(size, pos)

    def poll(self) -> int:
        """POLLPRI: it says something new."""
        return DEFAULT_POLLMASK | (POLLERR | POLLPRI if self.file.gone or self.seen != self.file.events else 0)


class OpenProcs(OpenCgroupFile):
    """An open cgroup.procs or cgroup.threads: cgroup_file_open()."""

    def __init__(self, node: CgroupNode) -> None:
        super().__init__(node)
        self.opener = Opener(node.k)

    def write(self, data: bytes, pos: int) -> int:
        """Tasks are moved with the rights of who has opened it."""
        self.active()
        assert self.file.store_as is not None
        self.file.store_as(data, self.opener)
        return len(data)
