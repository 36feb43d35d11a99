"""The slab allocator's face: the functions that observers of allocations watch.  Mirrors mm/slub.c, mm/slab_common.c.

Memory itself is arch.memory's; here are the caches by name, and the kernel functions on the paths that make and free the
objects of packets, tasks and open files.  What the simulator allocates for its own ends does not pass here.
"""

from __future__ import annotations

from simkernel.mm import slab
from simkernel.mm.slab import Slab, SlabKernel

__all__ = ["Slab", "install", "slab"]


def install(k: SlabKernel) -> None:
    """Create the caches of a booting kernel."""
    k.slab = Slab(k)
