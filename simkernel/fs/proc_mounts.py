"""/proc/PID/mounts, mountinfo and mountstats: files that tell who polls them of other mounts.  fs/proc_namespace.c."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.poll import POLLERR, POLLIN, POLLPRI, POLLRDNORM
from simkernel.fs.inode import Mount
from simkernel.fs.mounts import top_of
from simkernel.fs.nodes import OpenNode, OpenText, PseudoFile
from simkernel.fs.pseudo import node_fops

MOUNTS_FOPS = node_fops("proc_mounts_operations", splice=True)


class MountsFile(PseudoFile):
    """One of them."""

    def __init__(self, show: Callable[[], str], mode: int, mount: Callable[[], Mount]) -> None:
        super().__init__(show, None, mode, fops=MOUNTS_FOPS)
        self.mount = mount

    def open(self, flags: int) -> OpenNode:
        """mounts_open_common(): what has happened so far is no news."""
        return OpenMounts(self, top_of(self.mount()))


class OpenMounts(OpenText):
    """An open one: mounts_poll()."""

    def __init__(self, node: MountsFile, top: Mount) -> None:
        super().__init__(node)
        self.top, self.seen, self.poll_key = top, top.event, top

    def poll(self) -> int:
        """POLLPRI, once: other mounts than before."""
        news = self.seen != self.top.event
        self.seen = self.top.event
        return POLLIN | POLLRDNORM | (POLLERR | POLLPRI if news else 0)
