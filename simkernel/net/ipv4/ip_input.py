"""IPv4, on the way in.  net/ipv4/ip_input.c."""

from __future__ import annotations

from arch.abi.errno import EHOSTUNREACH, ENETUNREACH, EXDEV
from arch.abi.inet import (
    ICMP_DEST_UNREACH,
    ICMP_HOST_UNREACH,
    ICMP_NET_UNREACH,
    ICMP_PROT_UNREACH,
    IP_MF,
    IP_OFFSET,
    IPPROTO_ICMP,
    IPPROTO_IGMP,
    IPPROTO_TCP,
    IPPROTO_UDP,
    IPPROTO_UDPLITE,
    PACKET_HOST,
    PACKET_MULTICAST,
    PACKET_OTHERHOST,
)
from arch.abi.rtnetlink import RTN_BROADCAST, RTN_MULTICAST
from arch.errors import KernelError
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core import protocols
from simkernel.net.core.lwtunnel import dst_input
from simkernel.net.core.skbuff import (
    SKB_DROP_REASON_IP_CSUM,
    SKB_DROP_REASON_IP_INHDR,
    SKB_DROP_REASON_IP_NOPROTO,
    SKB_DROP_REASON_IP_RPFILTER,
    SKB_DROP_REASON_OTHERHOST,
    SKB_DROP_REASON_PKT_TOO_SMALL,
    SKB_DROP_REASON_UNICAST_IN_L2_MULTICAST,
    drop,
)
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import IP_HEADER, checksum, header_length
from simkernel.net.ipv4.ip_fragment import ip_defrag
from simkernel.net.ipv4.raw import raw_deliver
from simkernel.net.ipv4.route import forwarding, route_input

# inet_protos[]: who receives which protocol.
PROTOCOLS = {
    IPPROTO_ICMP: "icmp_rcv", IPPROTO_IGMP: "igmp_rcv", IPPROTO_TCP: "tcp_v4_rcv", IPPROTO_UDP: "udp_rcv",
    IPPROTO_UDPLITE: "udplite_rcv",
}  # fmt: skip


@kernel_function(
    "int ip_rcv(struct sk_buff *skb, struct net_device *dev, struct packet_type *pt, struct net_device *orig_dev)",
    source="net/ipv4/ip_input.c",
)
def ip_rcv(k: NetKernel, skb: int, dev: int, pt: int, orig_dev: int) -> Body:
    """ip_rcv_core(): check the header; then where it goes."""
    packet, device = k.net.skbs[skb], k.net.devices[dev]
    mib = device.net.ipv4.mib
    if packet.pkt_type() == PACKET_OTHERHOST:
        yield drop(k, packet, SKB_DROP_REASON_OTHERHOST)
        return 1
    mib["InReceives"] += 1
    packet.reset_network_header()
    have = packet.len
    header = packet.mem.read(packet.data, min(have, 60))
    reason, size = SKB_DROP_REASON_IP_INHDR, (header[0] & 15) * 4 if header else 0
    if have < IP_HEADER or header[0] >> 4 != 4 or size < IP_HEADER or size > have:
        length = -1
    elif checksum(header[:size]):
        reason, length = SKB_DROP_REASON_IP_CSUM, -1
    else:
        length = int.from_bytes(header[2:4], "big")
        if have < length:
            reason = SKB_DROP_REASON_PKT_TOO_SMALL
    if not size <= length <= have:
        mib["InHdrErrors"] += 1
        yield drop(k, packet, reason)
        return 1
    if length < have:
        packet.trim(length)  # Ethernet padding
    packet.set("transport_header", packet.get("network_header") + size)
    return (yield k.call("ip_rcv_finish", device.net.addr, 0, skb))


@kernel_function(
    "int ip_rcv_finish(struct net *net, struct sock *sk, struct sk_buff *skb)", source="net/ipv4/ip_input.c"
)
def ip_rcv_finish(k: NetKernel, net: int, sk: int, skb: int) -> Body:
    """Find the way of a packet: up, or on."""
    packet = k.net.skbs[skb]
    dev = packet.device
    header = packet.mem.read(packet.network_header(), IP_HEADER)
    try:
        way = route_input(k, dev, header[16:20], header[12:16], header[1] & 0x1E, packet.get("mark"))
    except KernelError as error:
        return (yield from _no_way(k, packet.addr, error.errno))
    packet.dst = way
    if packet.metadata:
        packet.drop_metadata()
    if way.kind in (RTN_BROADCAST, RTN_MULTICAST):
        word = "Mcast" if way.kind == RTN_MULTICAST else "Bcast"
        dev.net.mib[f"In{word}Pkts"] += 1
    elif packet.pkt_type() not in (PACKET_HOST, PACKET_MULTICAST) and not dev.loopback:
        if dev.conf["ipv4"]["drop_unicast_in_l2_multicast"]:
            yield drop(k, packet, SKB_DROP_REASON_UNICAST_IN_L2_MULTICAST)
            return 1
    return (yield dst_input(k, packet))


def _no_way(k: NetKernel, skb: int, errno: int) -> Body:
    """ip_error(), or the packet is just dropped (`yield from`)."""
    packet = k.net.skbs[skb]
    net = packet.device.net
    if errno == EXDEV:
        net.mib["IPReversePathFilter"] += 1
        yield drop(k, packet, SKB_DROP_REASON_IP_RPFILTER)
        return 1
    code = {EHOSTUNREACH: ICMP_HOST_UNREACH, ENETUNREACH: ICMP_NET_UNREACH}.get(errno)
    if code is None or not forwarding(packet.device):
        net.ipv4.mib["InAddrErrors"] += 1
    else:
        net.mib["InNoRoutes"] += 1
        yield k.call("__icmp_send", skb, ICMP_DEST_UNREACH, code, 0)
    yield drop(k, packet)
    return 1


@kernel_function("int ip_local_deliver(struct sk_buff *skb)", source="net/ipv4/ip_input.c")
def ip_local_deliver(k: NetKernel, skb: int) -> Body:
    """Put pieces together, strip the header."""
    packet = k.net.skbs[skb]
    header = packet.mem.read(packet.network_header(), IP_HEADER)
    if int.from_bytes(header[6:8], "big") & (IP_MF | IP_OFFSET):
        whole = yield from ip_defrag(k, packet)
        if whole is None:
            return 0
        packet = whole
    packet.pull(header_length(packet))
    packet.reset_transport_header()
    yield k.call("ip_protocol_deliver_rcu", packet.device.net.addr, packet.addr, header[9])
    return 0


@kernel_function(
    "void ip_protocol_deliver_rcu(struct net *net, struct sk_buff *skb, int protocol)", source="net/ipv4/ip_input.c"
)
def ip_protocol_deliver_rcu(k: NetKernel, net: int, skb: int, protocol: int) -> Body:
    """Raw sockets get a copy, then the protocol's handler the packet."""
    packet = k.net.skbs[skb]
    mib = packet.device.net.ipv4.mib
    taken = bool(k.net.raw) and (yield from raw_deliver(k, packet, protocol))
    handler = protocols.handler(k, PROTOCOLS, protocol) or k.net.tunnel_protocols.get(protocol)
    if handler:
        mib["InDelivers"] += 1
        yield k.call(handler, skb)
    elif taken:
        mib["InDelivers"] += 1
        yield k.call("consume_skb", skb)
    else:
        mib["InUnknownProtos"] += 1
        yield k.call("__icmp_send", skb, ICMP_DEST_UNREACH, ICMP_PROT_UNREACH, 0)
        yield drop(k, packet, SKB_DROP_REASON_IP_NOPROTO)
    return 0
