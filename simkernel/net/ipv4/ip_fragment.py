"""Pieces of IPv4 packets are put together.  net/ipv4/ip_fragment.c, inet_fragment.c."""

from __future__ import annotations

from arch.abi.inet import ICMP_EXC_FRAGTIME, ICMP_TIME_EXCEEDED, IP_MF, IP_OFFSET
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.fragments import IPV4
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import drop, new_skb
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import header_length, ip_header
from simkernel.net.ipv4.inet_fragment import end, find

MAX_PACKET = 65535


def ip_defrag(k: NetKernel, packet: Skb) -> Steps[Skb | None]:
    """The whole packet, when this was the piece that it lacked (`yield from`)."""
    net = packet.device.net
    size = header_length(packet)
    raw = packet.packet()
    word = int.from_bytes(raw[6:8], "big")
    key = (net, raw[12:16], raw[16:20], int.from_bytes(raw[4:6], "big"), raw[9], 0)
    net.ipv4.mib["ReasmReqds"] += 1
    queue = find(k, IPV4, key)
    if queue is None:
        net.ipv4.mib["ReasmFails"] += 1
        yield drop(k, packet)
        return None
    at, body = (word & IP_OFFSET) << 3, raw[size:]
    if not word & IP_MF:
        queue.total = at + len(body)
    elif len(body) & 7:
        body = body[: len(body) & ~7]
    if not queue.takes(at, body) or not body or at + len(body) + size > MAX_PACKET:
        if queue.parts.get(at) != body:
            yield from end(k, queue)
            net.ipv4.mib["ReasmFails"] += 1
        yield drop(k, packet)
        return None
    queue.parts[at] = body
    k.net.fragments.charge(queue, packet.truesize)
    if at == 0 or queue.first is None:
        packet, queue.first = queue.first or packet, packet
    whole = queue.whole()
    if queue.first is not packet:
        yield k.call("consume_skb", packet.addr)
    if whole is None:
        return None
    first = queue.first
    head = bytes(first.mem.read(first.network_header(), header_length(first)))
    made = yield from new_skb(k, len(whole))
    made.put_data(whole)
    made.push_data(ip_header(head[12:16], head[16:20], head[9], len(whole), key[3], head[8], head[1], 0, head[20:]))
    made.reset_network_header()
    made.set_dev(first.device)
    made.dst, made.iif = first.dst, first.iif
    made.set_pkt_type(first.pkt_type())
    made.set("mac_header", made.get("network_header"))
    yield from end(k, queue)
    net.ipv4.mib["ReasmOKs"] += 1
    return made


@kernel_function("void ip_expire(struct timer_list *t)", source="net/ipv4/ip_fragment.c")
def ip_expire(k: NetKernel, t: int) -> Body:
    """The rest did not come in time; who sent the first piece is told."""
    queue = k.net.fragments.by_timer.get(t)
    if queue is None:
        return 0
    mib = queue.key[0].ipv4.mib
    mib["ReasmTimeout"] += 1
    mib["ReasmFails"] += 1
    first, queue.first = queue.first, None
    if first is not None:
        if 0 in queue.parts:
            yield k.call("__icmp_send", first.addr, ICMP_TIME_EXCEEDED, ICMP_EXC_FRAGTIME, 0)
        yield drop(k, first)
    yield from end(k, queue)
    return 0
