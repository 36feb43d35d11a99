"""Static probes: how many requests does each route of the server get, and how long do they take?  samples/requests.bpf.c"""

from simkernel import bpf
from simkernel.bpf import array, char, u32, u64


@bpf.struct
class Route:
    name: array(char, 16)


requests = bpf.Hash(Route, u64, max_entries=64)
begun = bpf.Hash(u64, u64, max_entries=1024)  # number of the request -> when it began
latency = bpf.Array(u32, u64, max_entries=40)  # log2 of nanoseconds

missing: u64 = 0


def log2_of(v: u64) -> u32:
    r = 0
    while v > 1 and r < 63:
        v >>= 1
        r += 1
    return r


@bpf.usdt("/samples/server:server:request")
def request(ctx, number, path):
    route = Route()
    bpf.probe_read_user_str(route.name, 16, path)
    count = requests.lookup(route)
    if count:
        bpf.atomic_add(count[0], 1)
    else:
        requests.update(route, 1)
    begun.update(number, bpf.ktime_get_ns())
    return 0


@bpf.usdt("/samples/server:server:answer")
def answered(ctx, number, path, status):
    if status == 404:
        bpf.atomic_add(missing, 1)
    begin = begun.lookup(number)
    if not begin:
        return 0
    slot = log2_of(bpf.ktime_get_ns() - begin[0])
    begun.delete(number)
    count = latency.lookup(slot)
    if count:
        bpf.atomic_add(count[0], 1)
    return 0
