"""kmalloc() and kfree(): memory without a cache of its own.  mm/slab_common.c, include/linux/slab.h."""

from __future__ import annotations

from arch.abi.internal import NUMA_NO_NODE
from simkernel.kernel.face import KernelFace

SIZES = (8, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096, 8192)  # kmalloc_info[]: the caches behind it


def call_site(k: KernelFace, function: str) -> int:
    """A place in a kernel function, behind its first call."""
    name = k.text.symbol_of[function]
    return k.text.address_of(function) + k.text.image.boundaries(name)[-2]


def kmalloc(k: KernelFace, size: int, gfp: int, function: str) -> int:
    """Zeroed memory for a kernel function; its address."""
    allocated = next((known for known in SIZES if known >= size), size)
    address: int = k.mem.alloc(allocated)
    if k.tracepoints.point("kmalloc").active:
        k.trace("kmalloc", call_site(k, function), address, size, allocated, gfp, NUMA_NO_NODE)
    return address


def kfree(k: KernelFace, address: int, function: str) -> None:
    """And back."""
    if k.tracepoints.point("kfree").active:
        k.trace("kfree", call_site(k, function), address)
    k.mem.free(address)
