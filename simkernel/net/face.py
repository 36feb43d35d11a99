"""The kernel as net/ sees it: the network itself, the slab that packets come from, and the files that sockets are."""

from __future__ import annotations

from simkernel.fs.face import FsKernel
from simkernel.mm.slab import SlabKernel
from simkernel.net.core.state import Net


class NetKernel(SlabKernel, FsKernel):
    """A kernel with a network."""

    net: Net
