"""IPv6, on the way in, and on to the next device.  net/ipv6/{ip6_input,ip6_output,exthdrs}.c."""

from __future__ import annotations

from arch.abi.errno import EACCES, EHOSTUNREACH
from arch.abi.in6 import (
    ICMPV6_ADDR_UNREACH,
    ICMPV6_ADM_PROHIBITED,
    ICMPV6_DEST_UNREACH,
    ICMPV6_EXC_HOPLIMIT,
    ICMPV6_NOROUTE,
    ICMPV6_PARAMPROB,
    ICMPV6_PKT_TOOBIG,
    ICMPV6_TIME_EXCEED,
    ICMPV6_UNK_NEXTHDR,
    NEXTHDR_DEST,
    NEXTHDR_FRAGMENT,
    NEXTHDR_HOP,
    NEXTHDR_NONE,
    NEXTHDR_ROUTING,
)
from arch.abi.inet import (
    IN6ADDR_LOOPBACK,
    IPPROTO_ICMPV6,
    IPPROTO_TCP,
    IPPROTO_UDP,
    IPPROTO_UDPLITE,
    PACKET_HOST,
    PACKET_LOOPBACK,
    PACKET_OTHERHOST,
)
from arch.errors import KernelError
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core import protocols
from simkernel.net.core.lwtunnel import dst_input, dst_output
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import (
    SKB_DROP_REASON_IP_INHDR,
    SKB_DROP_REASON_IP_NOPROTO,
    SKB_DROP_REASON_IPV6DISABLED,
    SKB_DROP_REASON_OTHERHOST,
    SKB_DROP_REASON_PKT_TOO_SMALL,
    drop,
)
from simkernel.net.core.sock import V4MAPPED
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import addresses
from simkernel.net.ipv6.addr import is_group
from simkernel.net.ipv6.header import IPV6_HEADER
from simkernel.net.ipv6.raw import raw6_deliver
from simkernel.net.ipv6.reassembly import defrag
from simkernel.net.ipv6.route import route_input

# inet6_protos[]: who receives which protocol.
PROTOCOLS = {
    IPPROTO_ICMPV6: "icmpv6_rcv", IPPROTO_TCP: "tcp_v6_rcv", IPPROTO_UDP: "udpv6_rcv", IPPROTO_UDPLITE: "udplitev6_rcv",
}  # fmt: skip


def _wrong(packet: Skb, header: bytes) -> bool:
    """Addresses that no packet of that kind may have."""
    dev, source, destination = packet.device, header[8:24], header[24:40]
    inside = dev.loopback
    return (
        header[0] >> 4 != 6
        or (not inside and IN6ADDR_LOOPBACK in (source, destination))
        or is_group(source)
        or (is_group(destination) and destination[1] & 15 == 0)
        or (is_group(destination) and destination[1] & 15 == 1 and not inside and packet.pkt_type() != PACKET_LOOPBACK)
        or source[:12] == V4MAPPED
    )


@kernel_function(
    "int ipv6_rcv(struct sk_buff *skb, struct net_device *dev, struct packet_type *pt, struct net_device *orig_dev)",
    source="net/ipv6/ip6_input.c",
)
def ipv6_rcv(k: NetKernel, skb: int, dev: int, pt: int, orig_dev: int) -> Body:
    """ip6_rcv_core(): check the header; then where it goes."""
    packet, device = k.net.skbs[skb], k.net.devices[dev]
    mib = device.net.ipv6.mib
    if packet.pkt_type() == PACKET_OTHERHOST:
        yield drop(k, packet, SKB_DROP_REASON_OTHERHOST)
        return 1
    mib["InReceives"] += 1
    if not device.has_ipv6 or device.conf["ipv6"]["disable_ipv6"]:
        mib["InDiscards"] += 1
        yield drop(k, packet, SKB_DROP_REASON_IPV6DISABLED)
        return 1
    packet.reset_network_header()
    header = packet.packet()[:IPV6_HEADER]
    if len(header) < IPV6_HEADER or _wrong(packet, header):
        mib["InHdrErrors"] += 1
        yield drop(k, packet, SKB_DROP_REASON_IP_INHDR)
        return 1
    mib["InNoECTPkts"] += 1
    length = int.from_bytes(header[4:6], "big") + IPV6_HEADER
    if length > packet.len:
        mib["InTruncatedPkts"] += 1
        yield drop(k, packet, SKB_DROP_REASON_PKT_TOO_SMALL)
        return 1
    if length < packet.len:
        packet.trim(length)
    packet.set("transport_header", packet.get("network_header") + IPV6_HEADER)
    return (yield k.call("ip6_rcv_finish", device.net.addr, 0, skb))


@kernel_function(
    "int ip6_rcv_finish(struct net *net, struct sock *sk, struct sk_buff *skb)", source="net/ipv6/ip6_input.c"
)
def ip6_rcv_finish(k: NetKernel, net: int, sk: int, skb: int) -> Body:
    """Find the way of a packet: up, or on."""
    packet = k.net.skbs[skb]
    dev = packet.device
    source, destination = addresses(packet)
    try:
        packet.dst = route_input(k, dev, destination, source, packet.get("mark"))
        if packet.metadata:
            packet.drop_metadata()
    except KernelError as error:
        return (yield from _no_way(k, packet, error.errno))
    return (yield dst_input(k, packet))


def _no_way(k: NetKernel, packet: Skb, errno: int) -> Body:
    """ip6_pkt_drop() (`yield from`)."""
    mib = packet.device.net.ipv6.mib
    mib["InNoRoutes"] += 1
    code = {EACCES: ICMPV6_ADM_PROHIBITED, EHOSTUNREACH: ICMPV6_ADDR_UNREACH}.get(errno, ICMPV6_NOROUTE)
    yield k.call("icmp6_send", packet.addr, ICMPV6_DEST_UNREACH, code, 0, 0, 0)
    yield drop(k, packet)
    return 1


@kernel_function("int ip6_mc_input(struct sk_buff *skb)", source="net/ipv6/ip6_input.c")
def ip6_mc_input(k: NetKernel, skb: int) -> Body:
    """To a group: for us if the device belongs to it."""
    packet = k.net.skbs[skb]
    dev = packet.device
    dev.net.ipv6.mib["InMcastPkts"] += 1
    if addresses(packet)[1] in dev.groups or dev.loopback:
        return (yield k.call("ip6_input", skb))
    yield k.call("consume_skb", skb)
    return 0


@kernel_function("int ip6_input(struct sk_buff *skb)", source="net/ipv6/ip6_input.c")
def ip6_input(k: NetKernel, skb: int) -> Body:
    """Strip the header; then what follows it."""
    packet = k.net.skbs[skb]
    protocol = packet.mem.read(packet.network_header() + 6, 1)[0]
    packet.pull(IPV6_HEADER)
    packet.reset_transport_header()
    yield k.call("ip6_protocol_deliver_rcu", packet.device.net.addr, skb, protocol, 0)
    return 0


def _headers(k: NetKernel, packet: Skb, protocol: int) -> Steps[tuple[Skb, int] | None]:
    """Extension headers are passed over, pieces put together: the packet and its protocol (`yield from`)."""
    for _ in range(64):
        if protocol == NEXTHDR_FRAGMENT:
            whole = yield from defrag(k, packet)
            if whole is None:
                return None
            packet, protocol = whole
            continue
        if protocol not in (NEXTHDR_HOP, NEXTHDR_DEST, NEXTHDR_ROUTING):
            return packet, protocol
        head = packet.packet()[:2]
        size = 8 * (head[1] + 1) if len(head) == 2 else 0
        if not size or size > packet.len:
            packet.device.net.ipv6.mib["InHdrErrors"] += 1
            yield drop(k, packet)
            return None
        protocol = head[0]
        packet.pull(size)
        packet.reset_transport_header()
    yield drop(k, packet)
    return None


@kernel_function(
    "void ip6_protocol_deliver_rcu(struct net *net, struct sk_buff *skb, int nexthdr, bool have_final)",
    source="net/ipv6/ip6_input.c",
    since="5.1",
)
def ip6_protocol_deliver_rcu(k: NetKernel, net: int, skb: int, nexthdr: int, have_final: int) -> Body:
    """Raw sockets get a copy, then the protocol's handler the packet."""
    found = yield from _headers(k, k.net.skbs[skb], nexthdr)
    if found is None:
        return 0
    packet, protocol = found
    mib = packet.device.net.ipv6.mib
    taken = bool(k.net.raw) and (yield from raw6_deliver(k, packet, protocol))
    handler = protocols.handler(k, PROTOCOLS, protocol)
    if handler:
        mib["InDelivers"] += 1
        yield k.call(handler, packet.addr)
    elif taken or protocol == NEXTHDR_NONE:
        mib["InDelivers"] += 1
        yield k.call("consume_skb", packet.addr)
    else:
        mib["InUnknownProtos"] += 1
        yield k.call("icmp6_send", packet.addr, ICMPV6_PARAMPROB, ICMPV6_UNK_NEXTHDR, 6, 0, 0)
        yield drop(k, packet, SKB_DROP_REASON_IP_NOPROTO)
    return 0


@kernel_function("int ip6_forward(struct sk_buff *skb)", source="net/ipv6/ip6_output.c")
def ip6_forward(k: NetKernel, skb: int) -> Body:
    """One hop less to live, and out by the device that its way says."""
    packet = k.net.skbs[skb]
    way, dev = packet.dst, packet.device
    assert way is not None
    mib = dev.net.ipv6.mib
    if not dev.net.conf_all["ipv6"]["forwarding"] or packet.pkt_type() != PACKET_HOST:
        mib["InDiscards"] += 1
        yield drop(k, packet)
        return 1
    at = packet.network_header()
    hops = packet.mem.read(at + 7, 1)[0]
    if hops <= 1:
        mib["InHdrErrors"] += 1
        yield k.call("icmp6_send", skb, ICMPV6_TIME_EXCEED, ICMPV6_EXC_HOPLIMIT, 0, 0, 0)
        yield drop(k, packet)
        return 1
    if packet.len > way.mtu:
        mib["InTooBigErrors"] += 1
        mib["FragFails"] += 1
        yield k.call("icmp6_send", skb, ICMPV6_PKT_TOOBIG, 0, way.mtu, 0, 0)
        yield drop(k, packet)
        return 1
    packet.mem.write(at + 7, bytes((hops - 1,)))
    mib["OutForwDatagrams"] += 1
    return (yield dst_output(k, dev.net.addr, 0, packet))
