"""Which slab objects live long?  samples/v41/tracex4.bpf.c, without their allocators: a kretprobe and a kprobe."""

from simkernel import bpf
from simkernel.bpf import u64

objects = bpf.Hash(u64, u64, max_entries=1000000)  # address -> when it was made


@bpf.kprobe("kmem_cache_free")
def freed(ctx, cache, address):
    objects.delete(address)
    return 0


@bpf.kretprobe("kmem_cache_alloc_node")
def allocated(ctx, address):
    objects.update(address, bpf.ktime_get_ns())
    return 0
