"""Packets for somebody else: on to the next device.  net/ipv4/ip_forward.c."""

from __future__ import annotations

from arch.abi.inet import ICMP_DEST_UNREACH, ICMP_EXC_TTL, ICMP_FRAG_NEEDED, ICMP_TIME_EXCEEDED, IP_DF, PACKET_HOST
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.lwtunnel import dst_output
from simkernel.net.core.skbuff import SKB_DROP_REASON_IP_INHDR, SKB_DROP_REASON_PKT_TOO_BIG, drop
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import IP_HEADER, checksum, header_length


@kernel_function("int ip_forward(struct sk_buff *skb)", source="net/ipv4/ip_forward.c")
def ip_forward(k: NetKernel, skb: int) -> Body:
    """One hop less to live, and out by the device that its way says."""
    packet = k.net.skbs[skb]
    way = packet.dst
    assert way is not None
    mib = packet.device.net.ipv4.mib
    if packet.pkt_type() != PACKET_HOST:
        yield drop(k, packet)
        return 1
    at, size = packet.network_header(), header_length(packet)
    head = bytes(packet.mem.read(at, size))
    if head[8] <= 1:
        mib["InHdrErrors"] += 1
        yield k.call("__icmp_send", skb, ICMP_TIME_EXCEEDED, ICMP_EXC_TTL, 0)
        yield drop(k, packet, SKB_DROP_REASON_IP_INHDR)
        return 1
    if packet.len > way.mtu and int.from_bytes(head[6:8], "big") & IP_DF:
        mib["FragFails"] += 1
        yield k.call("__icmp_send", skb, ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED, way.mtu)
        yield drop(k, packet, SKB_DROP_REASON_PKT_TOO_BIG)
        return 1
    fresh = head[:8] + bytes((head[8] - 1,)) + head[9:10] + b"\0\0" + head[12:]
    packet.mem.write(at, fresh[:10] + checksum(fresh).to_bytes(2, "big") + fresh[12:IP_HEADER])
    mib["OutForwDatagrams"] += 1
    mib["OutRequests"] += 1
    return (yield k.call("ip_forward_finish", packet.device.net.addr, 0, skb))


@kernel_function(
    "int ip_forward_finish(struct net *net, struct sock *sk, struct sk_buff *skb)", source="net/ipv4/ip_forward.c"
)
def ip_forward_finish(k: NetKernel, net: int, sk: int, skb: int) -> Body:
    """dst_output()."""
    return (yield dst_output(k, net, sk, k.net.skbs[skb]))
