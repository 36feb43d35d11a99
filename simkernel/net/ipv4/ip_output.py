"""IPv4, on the way out.  net/ipv4/ip_output.c."""

from __future__ import annotations

from arch.abi.errno import ENETUNREACH
from arch.abi.inet import IPPROTO_TCP
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.device import route, send_frame
from simkernel.net.core.programs import NET_XMIT_CN, NET_XMIT_SUCCESS
from simkernel.net.core.skb import Owner, Skb
from simkernel.net.core.skbuff import SKB_DROP_REASON_BPF_CGROUP_EGRESS, drop, new_skb
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import ip_header


def source_for(k: NetKernel, destination: bytes) -> bytes:
    """The local address that a packet to `destination` leaves from; KernelError-free: None becomes ENETUNREACH above."""
    dev = route(k, destination)
    if dev is None:
        return bytes(4)
    return destination if dev.ifindex == 1 and destination[0] != 127 else dev.address


def ip_send(
    k: NetKernel, source: bytes, destination: bytes, protocol: int, body: bytes, sk: Owner | None = None
) -> Body:
    """Build one packet around a transport segment and send it (`yield from`); 0 or -errno."""
    skb = yield from new_skb(k, len(body), sk)
    skb.put_data(body)
    return (yield from ip_queue(k, skb, source, destination, protocol))


def ip_queue(k: NetKernel, skb: Skb, source: bytes, destination: bytes, protocol: int) -> Body:
    """Put the IP header before a transport segment and send the packet (`yield from`); 0 or -errno."""
    dev = route(k, destination)
    if dev is None:
        yield drop(k, skb)
        return -ENETUNREACH
    length = skb.len
    skb.reset_transport_header()
    k.net.ip_id = (k.net.ip_id + 1) & 0xFFFF
    skb.push_data(ip_header(source, destination, protocol, length, k.net.ip_id))
    skb.reset_network_header()
    skb.set_dev(dev)
    k.net.counters["bytes_sent"] += length
    return (yield k.call("ip_local_out", k.net.init_net, skb.sk.addr if skb.sk else 0, skb.addr))


@kernel_function(
    "int ip_local_out(struct net *net, struct sock *sk, struct sk_buff *skb)", source="net/ipv4/ip_output.c"
)
def ip_local_out(k: NetKernel, net: int, sk: int, skb: int) -> Body:
    """A packet of this machine enters the output path."""
    return (yield k.call("ip_output", net, sk, skb))


@kernel_function("int ip_output(struct net *net, struct sock *sk, struct sk_buff *skb)", source="net/ipv4/ip_output.c")
def ip_output(k: NetKernel, net: int, sk: int, skb: int) -> Body:
    """Choose the device, ask the programs of the sender's control group, then finish."""
    packet, sock = k.net.skbs[skb], k.net.socks.get(sk)
    told = NET_XMIT_SUCCESS
    if sock is not None and packet.sk is sock:
        told = k.net.programs.egress(sock, packet)
        if told not in (NET_XMIT_SUCCESS, NET_XMIT_CN):
            yield drop(k, packet, SKB_DROP_REASON_BPF_CGROUP_EGRESS)
            return told
    return (yield k.call("ip_finish_output2", net, sk, skb)) or told


@kernel_function(
    "int ip_finish_output2(struct net *net, struct sock *sk, struct sk_buff *skb)", source="net/ipv4/ip_output.c"
)
def ip_finish_output2(k: NetKernel, net: int, sk: int, skb: int) -> Body:
    """Link layer header and the device queue."""
    packet = k.net.skbs[skb]
    return (yield from send_frame(k, packet, packet.device))


@kernel_function(
    "int __ip_queue_xmit(struct sock *sk, struct sk_buff *skb, struct flowi *fl, __u8 tos)",
    source="net/ipv4/ip_output.c",
    names={None: "ip_queue_xmit", "5.0": "__ip_queue_xmit"},
)
def __ip_queue_xmit(k: NetKernel, sk: int, skb: int, fl: int, tos: int) -> Body:
    """Route by the connection and put the IP header on."""
    sock = k.net.socks[sk]
    return (yield from ip_queue(k, k.net.skbs[skb], sock.laddr, sock.raddr, IPPROTO_TCP))
