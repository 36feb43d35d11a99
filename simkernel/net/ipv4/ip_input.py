"""IPv4, on the way in.  net/ipv4/ip_input.c."""

from __future__ import annotations

from arch.abi.inet import IPPROTO_ICMP, IPPROTO_TCP, IPPROTO_UDP
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.skbuff import (
    SKB_DROP_REASON_IP_INHDR,
    SKB_DROP_REASON_IP_NOPROTO,
    SKB_DROP_REASON_OTHERHOST,
    drop,
)
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import IP_HEADER, checksum
from simkernel.net.ipv4.raw import raw_deliver

# inet_protos[]: who receives which protocol.
PROTOCOLS = {IPPROTO_ICMP: "icmp_rcv", IPPROTO_TCP: "tcp_v4_rcv", IPPROTO_UDP: "udp_rcv"}


@kernel_function(
    "int ip_rcv(struct sk_buff *skb, struct net_device *dev, struct packet_type *pt, struct net_device *orig_dev)",
    source="net/ipv4/ip_input.c",
)
def ip_rcv(k: NetKernel, skb: int, dev: int, pt: int, orig_dev: int) -> Body:
    """Check the header; packets for this machine go on, others are dropped (no forwarding)."""
    packet = k.net.skbs[skb]
    packet.reset_network_header()
    header = packet.packet()[:IP_HEADER]
    length = int.from_bytes(header[2:4], "big")
    if len(header) < IP_HEADER or header[0] != 0x45 or checksum(header) != 0 or length > packet.len:
        yield drop(k, packet, SKB_DROP_REASON_IP_INHDR)
        return 1
    packet.trim(length)  # Ethernet padding
    destination = header[16:20]
    if destination[0] != 127 and all(d.address != destination for d in k.net.devices.values()):
        yield drop(k, packet, SKB_DROP_REASON_OTHERHOST)
        return 1
    return (yield k.call("ip_local_deliver", skb))


@kernel_function("int ip_local_deliver(struct sk_buff *skb)", source="net/ipv4/ip_input.c")
def ip_local_deliver(k: NetKernel, skb: int) -> Body:
    """Strip the header."""
    packet = k.net.skbs[skb]
    protocol = packet.mem.read(packet.network_header() + 9, 1)[0]
    packet.pull(IP_HEADER)
    packet.reset_transport_header()
    yield k.call("ip_protocol_deliver_rcu", k.net.init_net, skb, protocol)
    return 0


@kernel_function(
    "void ip_protocol_deliver_rcu(struct net *net, struct sk_buff *skb, int protocol)", source="net/ipv4/ip_input.c"
)
def ip_protocol_deliver_rcu(k: NetKernel, net: int, skb: int, protocol: int) -> Body:
    """Raw sockets get a copy, then the protocol's handler the packet."""
    packet = k.net.skbs[skb]
    taken = yield from raw_deliver(k, packet, protocol)
    handler = PROTOCOLS.get(protocol)
    if handler:
        yield k.call(handler, skb)
    elif taken:
        yield k.call("consume_skb", skb)
    else:
        yield drop(k, packet, SKB_DROP_REASON_IP_NOPROTO)
    return 0
