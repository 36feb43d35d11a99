"""IPv6, on the way out.  net/ipv6/{ip6_output,output_core,inet6_connection_sock}.c."""

from __future__ import annotations

from arch.abi.errno import EMSGSIZE
from arch.abi.in6 import (
    ICMPV6_PKT_TOOBIG,
    IPV6_MIN_MTU,
    NEXTHDR_FRAGMENT,
)
from arch.abi.inet import ETH_P_IPV6, IN6_ADDR_SIZE, IP_PMTUDISC_DO, IP_PMTUDISC_PROBE, IPPROTO_TCP
from arch.abi.rtnetlink import RTN_MULTICAST
from arch.errors import KernelError
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.lwtunnel import LWTUNNEL_XMIT_CONTINUE, before_neighbour, dst_output
from simkernel.net.core.message import scope_of
from simkernel.net.core.netns import Net
from simkernel.net.core.output import ask_programs, copy_for_ourselves, to_neighbour
from simkernel.net.core.security import classify_flow
from simkernel.net.core.skb import CHECKSUM_PARTIAL, Dst, Skb
from simkernel.net.core.skbuff import drop, new_skb
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import pseudo_sum
from simkernel.net.ipv4.ip_output import CHECKSUM_AT, finish_checksum, several_out
from simkernel.net.ipv4.udp_offload import make_several
from simkernel.net.ipv6.header import FRAGMENT_HEADER, IPV6_HEADER, ipv6_header
from simkernel.net.ipv6.route import route_output

MAX_PAYLOAD = 65535


def hops(sk: Sock | None, way: Dst, net: Net) -> int:
    """ip6_sk_dst_hoplimit()."""
    if sk is not None and sk.ip6 is not None:
        if way.kind == RTN_MULTICAST:
            return sk.ip6.mcast_hops
        if sk.ip6.hop_limit >= 0:
            return sk.ip6.hop_limit
    dev = way.device or way.dev
    return 1 if way.kind == RTN_MULTICAST else dev.conf["ipv6"]["hop_limit"]


def ip6_send(
    k: NetKernel, net: Net, source: bytes, destination: bytes, protocol: int, body: bytes, sk: Sock | None = None,
    oif: int = 0, hop_limit: int = -1, tclass: int = 0, several: int = 0,
) -> Body:  # fmt: skip
    """Build one packet around a transport segment and send it (`yield from`); 0 or -errno."""
    try:
        bound = sk is not None and bool(sk.bound_ifindex)
        way = route_output(k, net, destination, source, oif, sk.mark if sk is not None else 0, bound)
    except KernelError as error:
        net.ipv6.mib["OutNoRoutes"] += 1
        return -error.errno
    skb = yield from new_skb(k, len(body), sk, k.net.charges.datagram(IPV6_HEADER, protocol, len(body)))
    skb.put_data(body)
    if several and sk is not None and (refused := make_several(skb, sk, way.mtu - IPV6_HEADER, several)):
        yield drop(k, skb)
        return refused
    return (yield from ip6_queue(k, skb, way, protocol, sk, hop_limit, tclass))


def reply(k: NetKernel, net: Net, source: bytes, destination: bytes, protocol: int, body: bytes, iif: int) -> Body:
    """tcp_v6_send_response(): an answer of no sock; a link-local address is on the device that the question came by."""
    return (yield from ip6_send(k, net, source, destination, protocol, body, oif=scope_of(destination, iif)))


def ip6_queue(
    k: NetKernel, skb: Skb, way: Dst, protocol: int, sk: Sock | None, hop_limit: int = -1, tclass: int = 0
) -> Body:  # fmt: skip
    """Put the IPv6 header before a transport segment and send the packet (`yield from`); 0 or -errno."""
    net, length = way.dev.net, skb.len
    skb.reset_transport_header()
    if length > MAX_PAYLOAD or (length + IPV6_HEADER > way.mtu and not skb.segment_size and _must_be_whole(sk)):
        yield drop(k, skb)
        return -EMSGSIZE
    at, pseudo = CHECKSUM_AT.get(protocol), (way.source, way.destination, protocol, length)
    if at is not None:
        skb.mem.write(skb.data + at, pseudo_sum(*pseudo).to_bytes(2, "big"))
        skb.set_checksum(CHECKSUM_PARTIAL, skb.data - skb.get("head"), at)
    np = sk.ip6 if sk is not None else None
    limit = hop_limit if hop_limit >= 0 else hops(sk, way, net)
    label = np.flow_label if np is not None else 0
    tclass = tclass or (np.tclass if np is not None else 0)
    skb.push_data(ipv6_header(way.source, way.destination, protocol, length, limit, tclass, label))
    skb.reset_network_header()
    skb.set_protocol(ETH_P_IPV6)
    skb.dst = way
    if sk is not None and sk.mark:
        skb.set("mark", sk.mark)
    k.net.counters["bytes_sent"] += length
    net.ipv6.mib["OutRequests"] += 1
    return (yield k.call("ip6_local_out", net.addr, skb.sk.addr if skb.sk else 0, skb.addr))


def _must_be_whole(sk: Sock | None) -> bool:
    """IPV6_DONTFRAG, IPV6_MTU_DISCOVER."""
    if sk is None or sk.ip6 is None or sk.protocol == IPPROTO_TCP:
        return False
    return sk.ip6.dontfrag or sk.ip6.pmtudisc in (IP_PMTUDISC_DO, IP_PMTUDISC_PROBE)


@kernel_function(
    "int ip6_local_out(struct net *net, struct sock *sk, struct sk_buff *skb)", source="net/ipv6/output_core.c"
)
def ip6_local_out(k: NetKernel, net: int, sk: int, skb: int) -> Body:
    """A packet of this machine enters the output path."""
    return (yield dst_output(k, net, sk, k.net.skbs[skb]))


@kernel_function(
    "int ip6_output(struct net *net, struct sock *sk, struct sk_buff *skb)", source="net/ipv6/ip6_output.c"
)
def ip6_output(k: NetKernel, net: int, sk: int, skb: int) -> Body:
    """Ask the programs of the sender's control group, then finish."""
    return (yield from ask_programs(k, net, sk, k.net.skbs[skb], finish))


def _fragment_size(k: NetKernel, sk: int, way: Dst) -> int:
    """The way's MTU, or less where its sender wants so (IPV6_MTU)."""
    sock = k.net.socks.get(sk)
    size = sock.ip6.frag_size if sock is not None and sock.ip6 is not None else 0
    return min(way.mtu, size) if size else way.mtu


def finish(k: NetKernel, net: int, sk: int, packet: Skb) -> Body:
    """__ip6_finish_output(): packets that are too long for the way are cut (`yield from`)."""
    way = packet.dst
    assert way is not None
    if packet.segment_size:
        return (yield from several_out(k, net, sk, packet, "ip6_finish_output2"))
    if packet.len > _fragment_size(k, sk, way):
        return (yield k.call("ip6_fragment", net, sk, packet.addr, 0))
    return (yield k.call("ip6_finish_output2", net, sk, packet.addr))


@kernel_function(
    "int ip6_finish_output2(struct net *net, struct sock *sk, struct sk_buff *skb)", source="net/ipv6/ip6_output.c"
)
def ip6_finish_output2(k: NetKernel, net: int, sk: int, skb: int) -> Body:
    """Link layer header and the device queue; of what goes to a group we belong to a copy for ourselves."""
    packet, sock = k.net.skbs[skb], k.net.socks.get(sk)
    way = packet.dst
    assert way is not None
    dev = way.dev
    packet.set_dev(dev)
    if way.kind == RTN_MULTICAST:
        mib, dst = dev.net.ipv6.mib, packet.mem.read(packet.network_header() + 24, 16)
        mib["OutMcastPkts"] += 1
        if way.loops and (sock is None or sock.ip6 is None or sock.ip6.mc_loop):
            yield from copy_for_ourselves(k, net, sk, packet, ETH_P_IPV6)
        if packet.mem.read(packet.network_header() + 7, 1)[0] == 0 or (dst[1] & 15 == 1 and not dev.loopback):
            yield k.call("consume_skb", skb)
            return 0
    ret = yield from before_neighbour(k, packet, way)
    if ret != LWTUNNEL_XMIT_CONTINUE:
        return ret
    return (yield to_neighbour(k, packet, way, 24, IN6_ADDR_SIZE))


@kernel_function(
    "int ip6_xmit(const struct sock *sk, struct sk_buff *skb, struct flowi6 *fl6, __u32 mark, struct ipv6_txoptions *opt, "
    "int tclass, u32 priority)",
    source="net/ipv6/ip6_output.c",
)
def ip6_xmit(k: NetKernel, sk: int, skb: int, fl6: int, mark: int, opt: int, tclass: int, priority: int) -> Body:
    """A segment of a connection, whose way is found already."""
    sock, packet = k.net.socks[sk], k.net.skbs[skb]
    way = packet.dst
    assert way is not None
    return (yield from ip6_queue(k, packet, way, IPPROTO_TCP, sock, tclass=tclass))


@kernel_function(
    "int inet6_csk_xmit(struct sock *sk, struct sk_buff *skb, struct flowi *fl_unused)",
    source="net/ipv6/inet6_connection_sock.c",
)
def inet6_csk_xmit(k: NetKernel, sk: int, skb: int, fl_unused: int) -> Body:
    """Route by the connection."""
    sock, packet = k.net.socks[sk], k.net.skbs[skb]
    oif = sock.bound_ifindex or sock.np.scope_id
    classify_flow(k, sock)
    try:
        packet.dst = route_output(k, sock.net, sock.raddr, sock.laddr, oif, sock.mark, bool(sock.bound_ifindex))
    except KernelError as error:
        sock.net.ipv6.mib["OutNoRoutes"] += 1
        yield drop(k, packet)
        return -error.errno
    return (yield k.call("ip6_xmit", sk, skb, 0, sock.mark, 0, sock.np.tclass, 0))


# -- pieces ------------------------------------------------------------------------------------------------------------


@kernel_function(
    "int ip6_fragment(struct net *net, struct sock *sk, struct sk_buff *skb, "
    "int (*output)(struct net *, struct sock *, struct sk_buff *))",
    source="net/ipv6/ip6_output.c",
)
def ip6_fragment(k: NetKernel, net: int, sk: int, skb: int, output: int) -> Body:
    """Cut a packet into pieces that fit; only who sent it may."""
    packet = k.net.skbs[skb]
    way = packet.dst
    assert way is not None
    mib, mtu = way.dev.net.ipv6.mib, max(_fragment_size(k, sk, way), IPV6_MIN_MTU)
    if way.input or packet.must_be_whole:
        mib["FragFails"] += 1
        yield k.call("icmp6_send", skb, ICMPV6_PKT_TOOBIG, 0, way.mtu, 0, 0)
        yield drop(k, packet)
        return -EMSGSIZE
    finish_checksum(packet)
    raw = packet.packet()
    head, body, at = raw[:IPV6_HEADER], raw[IPV6_HEADER:], 0
    room = (mtu - IPV6_HEADER - FRAGMENT_HEADER) & ~7
    inet = way.dev.net.ipv6
    inet.ident = inet.ident + 1 & 0xFFFFFFFF
    while body:
        part, body = body[:room], body[room:]
        front = bytes((head[6], 0)) + (at | bool(body)).to_bytes(2, "big") + inet.ident.to_bytes(4, "big")
        piece = yield from new_skb(k, len(part) + FRAGMENT_HEADER, packet.sk)
        piece.put_data(front + part)
        piece.reset_transport_header()
        length = (FRAGMENT_HEADER + len(part)).to_bytes(2, "big")
        piece.push_data(head[:4] + length + bytes((NEXTHDR_FRAGMENT,)) + head[7:])
        piece.reset_network_header()
        piece.set_protocol(ETH_P_IPV6)
        piece.dst, piece.iif = way, packet.iif
        piece.set_dev(way.dev)
        piece.set("mark", packet.get("mark"))
        at += len(part)
        mib["FragCreates"] += 1
        ret = yield k.call("ip6_finish_output2", net, sk, piece.addr)
        if ret < 0:
            mib["FragFails"] += 1
            yield drop(k, packet)
            return ret
    mib["FragOKs"] += 1
    yield k.call("consume_skb", skb)
    return 0
