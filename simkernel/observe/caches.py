"""The slab's caches as programs walk over them.  kernel/bpf/kmem_cache_iter.c, mm/slab_common.c."""

from __future__ import annotations

from simkernel.kernel.objects import CACHES
from simkernel.observe.face import WatchedKernel


def all_caches(k: WatchedKernel) -> list[int]:
    """Their struct kmem_cache, the newest first."""
    own = [k.objects.cache(name) for name in CACHES if name not in k.slab.caches]
    return [*reversed(k.slab.caches.values()), *own]


def cache_of(k: WatchedKernel, address: int) -> int:
    """virt_to_cache(), of objects that are known by their address; 0: of none."""
    if address in k.tasks.by_address:
        return k.slab.caches["task_struct"]
    return k.slab.live.get(address, 0)
