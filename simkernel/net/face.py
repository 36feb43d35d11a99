"""The kernel as net/ sees it: the network itself, the slab that packets come from, and the files that sockets are."""

from __future__ import annotations

from simkernel.fs.face import FsKernel
from simkernel.mm.slab import SlabKernel
from simkernel.net.core.netns import Net
from simkernel.net.core.sock import SockKernel
from simkernel.net.core.state import Network


class NetKernel(SlabKernel, FsKernel, SockKernel):
    """A kernel with a network."""

    net: Network


def current_net(k: NetKernel) -> Net:
    """current->nsproxy->net_ns."""
    return k.net.of(k.current)
