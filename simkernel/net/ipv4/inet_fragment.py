"""A packet's pieces wait for the ones that lack, for both families.  net/ipv4/inet_fragment.c."""

from __future__ import annotations

from arch.abi.time import NSEC_PER_SEC
from simkernel.kernel.face import Steps
from simkernel.net.core.fragments import Family, Key, Pieces
from simkernel.net.face import NetKernel


def find(k: NetKernel, family: Family, key: Key) -> Pieces | None:
    """inet_frag_find(): the packet's queue, a new one at its first piece; None where the namespace holds too much already."""
    there = k.net.fragments.queues.get(key)
    if there is not None:
        return there
    net = key[0]
    limit = int(net.sysctl[f"{family.sysctls}_high_thresh"])
    if not limit or k.net.fragments.memory.get((net, family), 0) > limit:
        return None
    timer = k.mem.alloc(k.types.sizeof("struct timer_list"))
    queue = Pieces(family, key, timer)
    k.net.fragments.add(queue)
    k.timers.setup(timer, family.expire, timer)
    k.timers.mod(timer, k.clock.now_ns + int(net.sysctl[f"{family.sysctls}_time"]) * NSEC_PER_SEC)
    return queue


def end(k: NetKernel, queue: Pieces) -> Steps[None]:
    """inet_frag_kill() (`yield from`)."""
    k.net.fragments.remove(queue)
    k.timers.forget(queue.timer)
    k.mem.free(queue.timer)
    if queue.first is not None:
        yield k.call("consume_skb", queue.first.addr)
        queue.first = None
