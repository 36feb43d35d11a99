"""IPv4, on the way out.  net/ipv4/ip_output.c."""

from __future__ import annotations

from arch.abi.errno import EACCES, EMSGSIZE, ENOBUFS
from arch.abi.inet import (
    ETH_P_IP,
    ICMP_DEST_UNREACH,
    ICMP_FRAG_NEEDED,
    INADDR_ANY,
    IP_DF,
    IP_MF,
    IP_OFFSET,
    IPPROTO_ICMP,
    IPPROTO_TCP,
    IPPROTO_UDP,
)
from arch.abi.rtnetlink import RTN_BROADCAST, RTN_MULTICAST
from arch.abi.socket import SO_BROADCAST, SO_NO_CHECK, SOL_SOCKET
from arch.errors import KernelError
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.lwtunnel import LWTUNNEL_XMIT_CONTINUE, before_neighbour, dst_output
from simkernel.net.core.netns import Net
from simkernel.net.core.output import ask_programs, copy_for_ourselves, to_neighbour
from simkernel.net.core.skb import CHECKSUM_NONE, CHECKSUM_PARTIAL, Dst, Skb
from simkernel.net.core.skbuff import drop, new_skb
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import IP_HEADER, checksum, header_length, ip_header, pseudo_sum
from simkernel.net.ipv4.route import simple_output
from simkernel.net.ipv4.udp_offload import make_several, pieces

CHECKSUM_AT = {6: 16, 17: 6}  # where TCP and UDP keep theirs


def source_for(k: NetKernel, net: Net, destination: bytes, oif: int = 0) -> bytes:
    """The local address that a packet to `destination` leaves from.  ENETUNREACH and others."""
    return simple_output(k, net, destination, INADDR_ANY, oif).source


def ip_send(
    k: NetKernel, net: Net, source: bytes, destination: bytes, protocol: int, body: bytes, sk: Sock | None = None,
    oif: int = 0, ttl: int = 0, tos: int = 0, several: int = 0,
) -> Body:  # fmt: skip
    """Build one packet around a transport segment and send it (`yield from`); 0 or -errno."""
    try:
        way = simple_output(k, net, destination, source, oif)
    except KernelError as error:
        net.ipv4.mib["OutNoRoutes"] += 1
        return -error.errno
    if way.kind == RTN_BROADCAST and sk is not None and not sk.options.get((SOL_SOCKET, SO_BROADCAST)):
        return -EACCES
    skb = yield from new_skb(k, len(body), sk, k.net.charges.datagram(IP_HEADER, protocol, len(body)))
    skb.put_data(body)
    if several and sk is not None and (refused := make_several(skb, sk, way.mtu - IP_HEADER, several)):
        yield drop(k, skb)
        return refused
    return (yield from ip_queue(k, skb, way, protocol, sk, ttl, tos))


def reply(k: NetKernel, net: Net, source: bytes, destination: bytes, protocol: int, body: bytes, iif: int) -> Body:
    """ip_send_unicast_reply(): an answer of no sock."""
    return (yield from ip_send(k, net, source, destination, protocol, body))


def identifier(k: NetKernel, net: Net, sk: Sock | None, fragment: int) -> int:
    """ip_select_ident(): connected socks count their own packets; who may not be cut needs no number."""
    if fragment & IP_DF:
        if sk is None or sk.raddr == INADDR_ANY:
            return 0
        sk.inet_id = (sk.inet_id + 1) & 0xFFFF
        return sk.inet_id
    net.ipv4.ident = (net.ipv4.ident + 1) & 0xFFFF
    return net.ipv4.ident


def ip_queue(
    k: NetKernel, skb: Skb, way: Dst, protocol: int, sk: Sock | None, ttl: int = 0, tos: int = 0
) -> Body:  # fmt: skip
    """Put the IP header before a transport segment and send the packet (`yield from`); 0 or -errno."""
    net, length = way.dev.net, skb.len
    skb.reset_transport_header()
    whole = bool(skb.segment_size) or length + IP_HEADER <= way.mtu
    fragment = IP_DF if (whole or protocol == IPPROTO_TCP) and not way.locked else 0
    if sk is None and protocol == IPPROTO_ICMP:
        fragment = 0  # icmp_sk_init(): IP_PMTUDISC_DONT
    if sk is not None:
        ttl, tos = ttl or sk.ttl(way.kind), tos or sk.tos
        fragment = sk.may_fragment(fragment, whole)
        if fragment & IP_DF and not whole and protocol != IPPROTO_TCP:
            yield drop(k, skb)
            return -EMSGSIZE
    at = CHECKSUM_AT.get(protocol)
    if at is not None and not (
        protocol == IPPROTO_UDP and sk is not None and sk.options.get((SOL_SOCKET, SO_NO_CHECK))
    ):
        _partial(skb, way.source, way.destination, protocol, length, at)
    head = ip_header(
        way.source, way.destination, protocol, length, identifier(k, net, sk, fragment), ttl or 64, tos, fragment
    )
    skb.push_data(head)
    skb.reset_network_header()
    skb.dst = way
    if sk is not None and sk.mark:
        skb.set("mark", sk.mark)
    k.net.counters["bytes_sent"] += length
    return (yield k.call("ip_local_out", net.addr, skb.sk.addr if skb.sk else 0, skb.addr))


def _partial(skb: Skb, source: bytes, destination: bytes, protocol: int, length: int, at: int) -> None:
    """udp4_hwcsum(), __tcp_v4_send_check(): the device finishes the sum."""
    data = skb.data
    skb.mem.write(data + at, pseudo_sum(source, destination, protocol, length).to_bytes(2, "big"))
    skb.set_checksum(CHECKSUM_PARTIAL, data - skb.get("head"), at)


def finish_checksum(skb: Skb) -> None:
    """skb_checksum_help(): the sum of all that follows, where somebody needs it now."""
    if skb.get("ip_summed") != CHECKSUM_PARTIAL:
        return
    start = skb.get("head") + skb.get("csum_start")
    end = skb.data + skb.len
    place = start + skb.get("csum_offset")
    total = checksum(bytes(skb.mem.read(start, end - start)))
    skb.mem.write(place, (total or 0xFFFF).to_bytes(2, "big"))
    skb.set("ip_summed", CHECKSUM_NONE)


@kernel_function(
    "int ip_local_out(struct net *net, struct sock *sk, struct sk_buff *skb)", source="net/ipv4/ip_output.c", jumps=True
)
def ip_local_out(k: NetKernel, net: int, sk: int, skb: int) -> Body:
    """A packet of this machine enters the output path."""
    packet = k.net.skbs[skb]
    way = packet.dst
    assert way is not None
    way.dev.net.ipv4.mib["OutRequests"] += 1
    return (yield dst_output(k, net, sk, packet))


@kernel_function("int ip_output(struct net *net, struct sock *sk, struct sk_buff *skb)", source="net/ipv4/ip_output.c")
def ip_output(k: NetKernel, net: int, sk: int, skb: int) -> Body:
    """Choose the device, ask the programs of the sender's control group, then finish."""
    return (yield from ask_programs(k, net, sk, k.net.skbs[skb], finish))


def finish(k: NetKernel, net: int, sk: int, packet: Skb) -> Body:
    """__ip_finish_output(): packets that are too long for the way are cut (`yield from`)."""
    way = packet.dst
    assert way is not None
    if packet.segment_size:
        return (yield from several_out(k, net, sk, packet, "ip_finish_output2"))
    if packet.len > way.mtu:
        return (yield k.call("ip_do_fragment", net, sk, packet.addr, 0))
    return (yield k.call("ip_finish_output2", net, sk, packet.addr))


def several_out(k: NetKernel, net: int, sk: int, packet: Skb, output: str) -> Body:
    """ip_finish_output_gso(), and what a device would do: one by one, or together where they only loop (`yield from`)."""
    way, ret = packet.dst, 0
    assert way is not None
    if way.dev.loopback:
        return (yield k.call(output, net, sk, packet.addr))
    for piece in (yield from pieces(k, packet)):
        error = yield k.call(output, net, sk, piece.addr)
        ret = error or ret
    yield k.call("consume_skb", packet.addr)
    return ret


@kernel_function(
    "int ip_mc_output(struct net *net, struct sock *sk, struct sk_buff *skb)", source="net/ipv4/ip_output.c"
)
def ip_mc_output(k: NetKernel, net: int, sk: int, skb: int) -> Body:
    """To a group or everybody: a copy for ourselves, if we belong to them."""
    packet = k.net.skbs[skb]
    way, sock = packet.dst, k.net.socks.get(sk)
    assert way is not None
    packet.set_dev(way.dev)
    if way.loops and (way.kind == RTN_BROADCAST or sock is None or sock.mc_loop):
        yield from copy_for_ourselves(k, net, sk, packet, ETH_P_IP)
    if way.kind == RTN_MULTICAST and packet.mem.read(packet.network_header() + 8, 1)[0] == 0:
        yield drop(k, packet)
        return 0
    return (yield from ask_programs(k, net, sk, packet, finish))


@kernel_function(
    "int ip_finish_output2(struct net *net, struct sock *sk, struct sk_buff *skb)", source="net/ipv4/ip_output.c"
)
def ip_finish_output2(k: NetKernel, net: int, sk: int, skb: int) -> Body:
    """Link layer header and the device queue."""
    packet = k.net.skbs[skb]
    way = packet.dst
    assert way is not None
    packet.set_dev(way.dev)
    ret = yield from before_neighbour(k, packet, way)
    if ret != LWTUNNEL_XMIT_CONTINUE:
        return ret
    return (yield to_neighbour(k, packet, way, 16, 4))


@kernel_function(
    "int __ip_queue_xmit(struct sock *sk, struct sk_buff *skb, struct flowi *fl, __u8 tos)",
    source="net/ipv4/ip_output.c",
    names={None: "ip_queue_xmit", "5.0": "__ip_queue_xmit"},
)
def __ip_queue_xmit(k: NetKernel, sk: int, skb: int, fl: int, tos: int) -> Body:
    """Route by the connection and put the IP header on."""
    sock, packet = k.net.socks[sk], k.net.skbs[skb]
    try:
        way = simple_output(k, sock.net, sock.raddr, sock.laddr, sock.bound_ifindex, sock.mark)
    except KernelError as error:
        sock.net.ipv4.mib["OutNoRoutes"] += 1
        yield drop(k, packet)
        return -error.errno
    return (yield from ip_queue(k, packet, way, IPPROTO_TCP, sock))


# -- pieces ------------------------------------------------------------------------------------------------------------


@kernel_function(
    "int ip_do_fragment(struct net *net, struct sock *sk, struct sk_buff *skb, "
    "int (*output)(struct net *, struct sock *, struct sk_buff *))",
    source="net/ipv4/ip_output.c",
    names={None: "ip_fragment", "4.2": "ip_do_fragment"},
)
def ip_do_fragment(k: NetKernel, net: int, sk: int, skb: int, output: int) -> Body:
    """Cut a packet into pieces that fit; one that must not be cut is told of."""
    packet = k.net.skbs[skb]
    way = packet.dst
    assert way is not None
    mib, mtu = way.dev.net.ipv4.mib, way.mtu
    size = header_length(packet)
    finish_checksum(packet)
    raw = packet.packet()
    word = int.from_bytes(raw[6:8], "big")
    if word & IP_DF:
        mib["FragFails"] += 1
        yield k.call("__icmp_send", skb, ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED, mtu)
        yield drop(k, packet)
        return -EMSGSIZE
    ident = int.from_bytes(raw[4:6], "big")
    room, at, body = (mtu - size) & ~7, (word & IP_OFFSET) << 3, raw[size:]
    while body:
        part, body = body[:room], body[room:]
        if not part:
            return -ENOBUFS
        more = IP_MF if body or word & IP_MF else 0
        piece = yield from new_skb(k, len(part), packet.sk)
        piece.put_data(part)
        piece.reset_transport_header()
        head = ip_header(raw[12:16], raw[16:20], raw[9], len(part), ident, raw[8], raw[1], at >> 3 | more, raw[20:size])
        piece.push_data(head)
        piece.reset_network_header()
        piece.dst, piece.iif = way, packet.iif
        piece.set_dev(way.dev)
        piece.set("mark", packet.get("mark"))
        at += len(part)
        mib["FragCreates"] += 1
        ret = yield k.call("ip_finish_output2", net, sk, piece.addr)
        if ret < 0:
            mib["FragFails"] += 1
            yield drop(k, packet)
            return ret
    mib["FragOKs"] += 1
    yield k.call("consume_skb", skb)
    return 0
