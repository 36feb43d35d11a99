"""The network emulator: delay, loss, duplicates, corruption, reordering, a rate.  net/sched/sch_netem.c.

What happens to which packet is decided by a generator of its own, made of the machine's seed and the device: the same seed,
the same losses, and nothing else in the machine gets other numbers because of it.
"""

from __future__ import annotations

import heapq
import random

from arch.abi.limits import U32_MAX
from arch.records import dataclass
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.device import NET_TX_SOFTIRQ
from simkernel.net.core.netns import NetDevice
from simkernel.net.core.programs import NET_XMIT_SUCCESS
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import SKB_DROP_REASON_QDISC_DROP, clone, drop
from simkernel.net.face import NetKernel

DEFAULT_LIMIT = 1000
NETEM_STRUCT = 64  # bytes: the address is all that is used of struct Qdisc


@dataclass
class Options:
    """struct tc_netem_qopt and the attributes beside it.  Probabilities and correlations are of 2**32 - 1; times in ns."""

    latency_ns: int = 0
    jitter_ns: int = 0
    delay_corr: int = 0
    limit: int = DEFAULT_LIMIT  # packets
    loss: int = 0
    loss_corr: int = 0
    duplicate: int = 0
    dup_corr: int = 0
    gap: int = 0  # every so many packets one goes out at once
    reorder: int = 0
    reorder_corr: int = 0
    corrupt: int = 0
    corrupt_corr: int = 0
    rate: int = 0  # bytes a second; 0: any


class Correlated:
    """get_crandom(): numbers of 32 bits that resemble the one before them as much as is asked."""

    def __init__(self, source: random.Random) -> None:
        self.source, self.last = source, 0

    def next(self, rho: int) -> int:
        """One more."""
        value = self.source.getrandbits(32)
        if rho:
            part = rho + 1
            value = (value * ((1 << 32) - part) + self.last * part) >> 32
            self.last = value
        return value

    def happens(self, probability: int, rho: int) -> bool:
        """With this probability."""
        return bool(probability) and probability >= self.next(rho)


class Netem:
    """One netem at a device's root."""

    kind = "netem"

    def __init__(self, k: NetKernel, dev: NetDevice, handle: int, options: Options) -> None:
        self.k, self.dev, self.handle, self.options = k, dev, handle, options
        self.addr = k.mem.alloc(NETEM_STRUCT)
        k.net.qdiscs[self.addr] = self
        source = random.Random(f"netem {k.seed} {dev.ifindex}")
        self.delays, self.losses, self.doubles, self.orders, self.spoils = (Correlated(source) for _ in range(5))
        self.source = source
        self.queue: list[tuple[int, int, Skb]] = []  # tfifo: by the time to send, then by arrival
        self.arrivals = 0
        self.counter = 0  # packets since the last that went out at once
        self.free_ns = 0  # with a rate: when the last queued packet is out
        self.watch_ns = 0  # when the watchdog looks
        self.dropped = self.sent_packets = self.sent_bytes = 0

    def enqueue(self, skb: int) -> Body:
        """A packet of __dev_queue_xmit() (`yield from`)."""
        k = self.k
        ret = yield k.call("netem_enqueue", skb, self.addr, 0)
        yield k.call("__qdisc_run", self.addr)
        return ret

    def change(self, options: Options) -> None:
        """tc qdisc change: packets that are queued keep their times."""
        self.options = options

    def destroy(self) -> None:
        """The discipline goes away, with what is in it."""
        del self.k.net.qdiscs[self.addr]
        while self.queue:
            packet = heapq.heappop(self.queue)[2]
            del self.k.net.skbs[packet.addr]
        self.k.mem.free(self.addr)

    def due_ns(self, size: int, now: int) -> int:
        """When a packet goes out: tabledist() without a table is uniform."""
        o = self.options
        delay = o.latency_ns
        if o.jitter_ns:
            delay += self.delays.next(o.delay_corr) % (2 * o.jitter_ns) - o.jitter_ns
        when = now + max(delay, 0)
        if o.rate:
            begin = max(now, self.free_ns)
            when = max(when, begin) + size * 10**9 // o.rate
            self.free_ns = when
        return when

    def put(self, packet: Skb, when: int) -> None:
        """Into the queue."""
        self.arrivals += 1
        heapq.heappush(self.queue, (when, self.arrivals, packet))

    def spoil(self, packet: Skb) -> None:
        """One bit of one byte behind the link header."""
        data = packet.packet()
        at = self.source.randrange(len(data))
        flipped = data[at] ^ 1 << self.source.randrange(8)
        packet.mem.write(packet.get("data") + at, bytes((flipped,)))


def netem_at(k: NetKernel, sch: int) -> Netem:
    """The discipline at an address."""
    q = k.net.qdiscs[sch]
    assert isinstance(q, Netem)
    return q


@kernel_function(
    "int netem_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)",
    source="net/sched/sch_netem.c",
)
def netem_enqueue(k: NetKernel, skb: int, sch: int, to_free: int) -> Body:
    """What becomes of one packet."""
    q, packet = netem_at(k, sch), k.net.skbs[skb]
    o, now = q.options, k.clock.now_ns
    count = 1 + q.doubles.happens(o.duplicate, o.dup_corr) - q.losses.happens(o.loss, o.loss_corr)
    if count == 0:
        q.dropped += 1
        yield drop(k, packet, SKB_DROP_REASON_QDISC_DROP)
        return NET_XMIT_SUCCESS  # with __NET_XMIT_BYPASS: the sender is not told
    packet.set_owner(None)
    copies = [packet]
    if count == 2:
        copies.append((yield from clone(k, packet)))
    if q.spoils.happens(o.corrupt, o.corrupt_corr):
        q.spoil(packet)
    for each in copies:
        if len(q.queue) >= o.limit:
            q.dropped += 1
            yield drop(k, each, SKB_DROP_REASON_QDISC_DROP)
            continue
        early = o.gap and q.counter >= o.gap - 1 and q.orders.happens(o.reorder, o.reorder_corr)
        if early:
            q.counter = 0
            q.put(each, now)
        else:
            q.counter += 1
            q.put(each, q.due_ns(each.len, now))
    return NET_XMIT_SUCCESS


@kernel_function("void __qdisc_run(struct Qdisc *q)", source="net/sched/sch_generic.c")
def __qdisc_run(k: NetKernel, q: int) -> Body:
    """Send what is due; the watchdog comes back for the rest."""
    while (sch := k.net.qdiscs.get(q)) is not None:
        skb = yield k.call("netem_dequeue", q)
        if not skb:
            break
        yield k.call("dev_hard_start_xmit", skb, sch.dev.addr, 0, 0)
    return 0


@kernel_function("struct sk_buff *netem_dequeue(struct Qdisc *sch)", source="net/sched/sch_netem.c")
def netem_dequeue(k: NetKernel, sch: int) -> int:
    """The first packet whose time has come; else the watchdog is set for it."""
    q = netem_at(k, sch)
    if not q.queue:
        return 0
    when = q.queue[0][0]
    if when > k.clock.now_ns:
        if q.watch_ns != when:
            q.watch_ns = when
            cpu = k.cpus.id()
            k.clock.add(when, lambda: k.irqs.raise_local_timer(cpu, "qdisc_watchdog", sch))
        return 0
    packet = heapq.heappop(q.queue)[2]
    q.sent_packets += 1
    q.sent_bytes += packet.len
    return packet.addr


@kernel_function("int qdisc_watchdog(struct hrtimer *timer)", source="net/sched/sch_api.c")
def qdisc_watchdog(k: NetKernel, timer: int) -> int:
    """The time of a delayed packet has come: NET_TX_SOFTIRQ sends it.  __netif_schedule()."""
    q = k.net.qdiscs.get(timer)
    if isinstance(q, Netem):
        q.watch_ns = 0
        if q not in k.net.output_queue:
            k.net.output_queue.append(q)
        k.softirqs.raise_softirq(NET_TX_SOFTIRQ)
    return 0


@kernel_function("void net_tx_action(struct softirq_action *h)", source="net/core/dev.c")
def net_tx_action(k: NetKernel, h: int) -> Body:
    """The NET_TX softirq: disciplines with something to send."""
    while k.net.output_queue:
        yield k.call("__qdisc_run", k.net.output_queue.pop(0).addr)
    return 0


def probability(share: float) -> int:
    """0 to 1 as netem counts it."""
    return round(share * U32_MAX)
