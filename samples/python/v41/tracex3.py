"""How long do block requests take?  samples/v41/tracex3.bpf.c: about ten slots per power of ten."""

from simkernel import bpf
from simkernel.bpf import u32, u64

SLOTS = 100

started = bpf.Hash(u64, u64, max_entries=4096)
cells = bpf.Array(u32, u64, max_entries=SLOTS)


def log2_of(v: u64) -> u64:
    """Without a loop: the verifier of that time refuses those."""
    r: u64 = 0
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


@bpf.kprobe("blk_mq_start_request")
def start(ctx, request):
    started.update(request, bpf.ktime_get_ns())
    return 0


@bpf.kprobe("blk_update_request")
def done(ctx, request):
    now = bpf.ktime_get_ns()
    begin = started.lookup(request)
    if not begin:
        return 0
    delta = now - begin[0]
    power = log2_of(delta)
    slot = (power * 64 + ((delta - (u64(1) << power)) * 64 >> power)) * 3 // 64
    if slot >= SLOTS:
        slot = SLOTS - 1
    count = cells.lookup(slot)
    if count:
        bpf.atomic_add(count[0], 1)
    started.delete(request)
    return 0
