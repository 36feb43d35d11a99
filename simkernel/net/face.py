"""The kernel as net/ sees it: the network itself and the slab that packets come from."""

from __future__ import annotations

from simkernel.mm.slab import SlabKernel
from simkernel.net.core.state import Net


class NetKernel(SlabKernel):
    """A kernel with a network."""

    net: Net
