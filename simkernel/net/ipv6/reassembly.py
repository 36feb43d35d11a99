"""Pieces of IPv6 packets are put together.  net/ipv6/reassembly.c."""

from __future__ import annotations

from arch.abi.in6 import ICMPV6_EXC_FRAGTIME, ICMPV6_TIME_EXCEED
from arch.abi.inet import ETH_P_IPV6
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.fragments import IPV6
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import drop, new_skb
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.inet_fragment import end, find
from simkernel.net.ipv6.header import FRAGMENT_HEADER, IPV6_HEADER


def defrag(k: NetKernel, packet: Skb) -> Steps[tuple[Skb, int] | None]:
    """ipv6_frag_rcv(): the whole packet and its protocol, when this was the piece that it lacked (`yield from`)."""
    net, raw = packet.device.net, packet.packet()
    mib = net.ipv6.mib
    mib["ReasmReqds"] += 1
    if len(raw) < FRAGMENT_HEADER:
        mib["InHdrErrors"] += 1
        yield drop(k, packet)
        return None
    word, body = int.from_bytes(raw[2:4], "big"), raw[FRAGMENT_HEADER:]
    head = bytes(packet.mem.read(packet.network_header(), IPV6_HEADER))
    at, more = word & ~7, word & 1
    key = (net, head[8:24], head[24:40], int.from_bytes(raw[4:8], "big"), raw[0], packet.iif)
    queue = find(k, IPV6, key)
    if queue is None:
        mib["ReasmFails"] += 1
        yield drop(k, packet)
        return None
    if not more:
        queue.total = at + len(body)
    if not queue.takes(at, body) or (more and len(body) & 7) or (not body and at):
        if queue.parts.get(at) != body:
            yield from end(k, queue)
            mib["ReasmFails"] += 1
        yield drop(k, packet)
        return None
    queue.parts[at] = body
    k.net.fragments.charge(queue, packet.truesize)
    if at == 0 or queue.first is None:
        packet, queue.first = queue.first or packet, packet
    if queue.first is not packet:
        yield k.call("consume_skb", packet.addr)
    whole = queue.whole()
    if whole is None:
        return None
    first = queue.first
    made = yield from new_skb(k, len(whole))
    made.put_data(whole)
    made.reset_transport_header()
    made.push_data(head[:4] + len(whole).to_bytes(2, "big") + raw[:1] + head[7:])
    made.reset_network_header()
    made.pull(IPV6_HEADER)
    made.set_protocol(ETH_P_IPV6)
    made.set_dev(first.device)
    made.dst, made.iif = first.dst, first.iif
    made.set_pkt_type(first.pkt_type())
    made.set("mac_header", made.get("network_header"))
    yield from end(k, queue)
    mib["ReasmOKs"] += 1
    return made, raw[0]


@kernel_function("void ip6_frag_expire(struct timer_list *t)", source="net/ipv6/reassembly.c")
def ip6_frag_expire(k: NetKernel, t: int) -> Body:
    """The rest did not come in time; who sent the first piece is told."""
    queue = k.net.fragments.by_timer.get(t)
    if queue is None:
        return 0
    mib = queue.key[0].ipv6.mib
    mib["ReasmTimeout"] += 1
    mib["ReasmFails"] += 1
    first, queue.first = queue.first, None
    if first is not None:
        if 0 in queue.parts:
            first.push(first.data - first.network_header())
            yield k.call("icmp6_send", first.addr, ICMPV6_TIME_EXCEED, ICMPV6_EXC_FRAGTIME, 0, 0, 0)
        yield drop(k, first)
    yield from end(k, queue)
    return 0
