"""Who drops packets, and how large are writes?  samples/v41/tracex2.bpf.c, on x86-64: the caller is on top of the stack."""

from simkernel import bpf
from simkernel.bpf import u32, u64

drops = bpf.Hash(u64, u64, max_entries=1024)
sizes = bpf.Array(u32, u64, max_entries=64)


def log2_of(v: u64) -> u32:
    r: u32 = 0
    if v >> 32:
        r += 32
        v >>= 32
    if v >> 16:
        r += 16
        v >>= 16
    if v >> 8:
        r += 8
        v >>= 8
    if v >> 4:
        r += 4
        v >>= 4
    if v >> 2:
        r += 2
        v >>= 2
    if v >> 1:
        r += 1
    return r


@bpf.kprobe("kfree_skb")
def drop(ctx):
    place: u64 = 0
    bpf.probe_read(bpf.addressof(place), 8, bpf.cast(bpf.ptr[u64], ctx.sp))
    count = drops.lookup(place)
    if count:
        bpf.atomic_add(count[0], 1)
    else:
        drops.update(place, 1)
    return 0


@bpf.kprobe("sys_write")
def size(ctx, fd, buf, count):
    slot = sizes.lookup(log2_of(count))
    if slot:
        bpf.atomic_add(slot[0], 1)
    return 0
