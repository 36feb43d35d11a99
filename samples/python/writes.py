"""How large are the writes?  samples/writes.bpf.c, in Python:  simkernel build samples/python/writes.py"""

from simkernel import bpf
from simkernel.bpf import s64, u32, u64

asked = bpf.Hash(u32, u64, max_entries=1024)  # thread id -> bytes asked for
sizes = bpf.Array(u32, u64, max_entries=32)  # log2 of the size -> how often


@bpf.struct
class Totals:
    writes: u64
    bytes: u64
    failed: u64


by_process = bpf.Hash(u32, Totals, max_entries=256)


def log2_of(v: u64) -> u32:
    r = 0
    while v > 1 and r < 63:
        v >>= 1
        r += 1
    return r


@bpf.kprobe("vfs_write")
def write_begins(ctx, file, buf, count):
    asked.update(bpf.get_current_pid_tgid(), count)
    return 0


@bpf.kretprobe("vfs_write")
def write_ends(ctx, written: s64):
    id = bpf.get_current_pid_tgid()
    size = asked.lookup(id)
    if not size:
        return 0
    totals = by_process.lookup(id >> 32)
    if not totals:
        by_process.update(id >> 32, Totals(), bpf.BPF_NOEXIST)
        totals = by_process.lookup(id >> 32)
        if not totals:
            return 0
    bpf.atomic_add(totals.writes, 1)
    if written < 0:
        bpf.atomic_add(totals.failed, 1)
        bpf.printk("write of %llu bytes: error %d", size[0], written)
    else:
        bpf.atomic_add(totals.bytes, written)
        bpf.printk("wrote %llu of %llu bytes", written, size[0])
        count = sizes.lookup(log2_of(u64(written)) & 31)
        if count:
            bpf.atomic_add(count[0], 1)
    asked.delete(id)
    return 0


LICENSE = "GPL"
