"""ICMPv6: echo replies, and errors about packets.  net/ipv6/icmp.c, RFC 4443."""

from __future__ import annotations

from arch.abi.errno import (
    EACCES,
    ECONNREFUSED,
    EHOSTUNREACH,
    EMSGSIZE,
    ENETUNREACH,
    EPROTO,
)
from arch.abi.in6 import (
    ICMPV6_DEST_UNREACH,
    ICMPV6_ECHO_REPLY,
    ICMPV6_ECHO_REQUEST,
    ICMPV6_INFOMSG_MASK,
    ICMPV6_PARAMPROB,
    ICMPV6_PKT_TOOBIG,
    ICMPV6_TIME_EXCEED,
    ICMPV6_UNK_OPTION,
    IPV6_MIN_MTU,
    NDISC_NEIGHBOUR_ADVERTISEMENT,
    NDISC_ROUTER_SOLICITATION,
)
from arch.abi.inet import IN6ADDR_ANY, IPPROTO_ICMPV6, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDPLITE
from arch.errors import KernelError
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core import protocols
from simkernel.net.core.errqueue import SO_EE_ORIGIN_ICMP6, SkError, queue_error
from simkernel.net.core.message import sockaddr_in6
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import SKB_DROP_REASON_ICMP_CSUM, clone, drop
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import ICMP_HEADER, addresses, checksum
from simkernel.net.ipv6.addr import is_group, needs_device
from simkernel.net.ipv6.header import IPV6_HEADER, icmpv6_checksum, transport
from simkernel.net.ipv6.ip6_fib import is_local
from simkernel.net.ipv6.ip6_output import ip6_send
from simkernel.net.ipv6.ping import ping6_rcv
from simkernel.net.ipv6.route import route_output

# tab_unreach[]: code of ICMPV6_DEST_UNREACH -> (errno, fatal)
UNREACHABLE = (
    (ENETUNREACH, False), (EACCES, True), (EHOSTUNREACH, False), (EHOSTUNREACH, False), (ECONNREFUSED, True), (EACCES, True),
    (EACCES, True),
)  # fmt: skip
ERR_HANDLERS = {
    IPPROTO_UDP: "udpv6_err", IPPROTO_UDPLITE: "udplitev6_err", IPPROTO_TCP: "tcp_v6_err", IPPROTO_ICMPV6: "icmpv6_err",
}  # fmt: skip


def verdict(kind: int, code: int) -> tuple[int, bool]:
    """icmpv6_err_convert(): (errno, it ends a connection)."""
    if kind == ICMPV6_DEST_UNREACH:
        return UNREACHABLE[code] if code < len(UNREACHABLE) else (EPROTO, True)
    if kind == ICMPV6_PKT_TOOBIG:
        return EMSGSIZE, False
    if kind == ICMPV6_TIME_EXCEED:
        return EHOSTUNREACH, False
    return EPROTO, kind == ICMPV6_PARAMPROB


@kernel_function("int icmpv6_rcv(struct sk_buff *skb)", source="net/ipv6/icmp.c")
def icmpv6_rcv(k: NetKernel, skb: int) -> Body:
    """Answer echo requests; hand replies to pings, errors to the sockets they are about, the rest to neighbour discovery."""
    packet = k.net.skbs[skb]
    mib, body = packet.device.net.ipv6.mib, packet.packet()
    mib["Icmp6InMsgs"] += 1
    source, destination = addresses(packet)
    pseudo = source + destination + len(body).to_bytes(4, "big") + IPPROTO_ICMPV6.to_bytes(4, "big")
    if len(body) < ICMP_HEADER or checksum(pseudo + body):
        mib["Icmp6InCsumErrors"] += len(body) >= ICMP_HEADER
        mib["Icmp6InErrors"] += 1
        yield drop(k, packet, SKB_DROP_REASON_ICMP_CSUM)
        return 0
    kind = body[0]
    mib[f"Icmp6InType{kind}"] += 1
    if kind == ICMPV6_ECHO_REQUEST:
        if not packet.device.net.sysctl["ipv6.icmp.echo_ignore_all"]:
            yield k.call("icmpv6_echo_reply", skb)
    elif kind == ICMPV6_ECHO_REPLY:
        yield from ping6_rcv(k, packet, body)
    elif NDISC_ROUTER_SOLICITATION <= kind <= NDISC_NEIGHBOUR_ADVERTISEMENT + 1:
        yield k.call("ndisc_rcv", skb)
    elif not kind & ICMPV6_INFOMSG_MASK and 1 <= kind <= ICMPV6_PARAMPROB:
        yield from _notify(k, packet, body)
    yield k.call("consume_skb", skb)
    return 0


@kernel_function("void icmpv6_echo_reply(struct sk_buff *skb)", source="net/ipv6/icmp.c")
def icmpv6_echo_reply(k: NetKernel, skb: int) -> Body:
    """An echo request: send its reply, from the address it was sent to."""
    packet = k.net.skbs[skb]
    source, destination = addresses(packet)
    own = destination if not is_group(destination) else IN6ADDR_ANY
    body = bytes((ICMPV6_ECHO_REPLY,)) + packet.packet()[1:]
    yield from _send(k, packet, own, source, body)
    return 0


def _send(k: NetKernel, packet: Skb, source: bytes, destination: bytes, body: bytes) -> Steps[None]:
    """icmpv6_push_pending_frames(): by the device it came by, where that matters."""
    net = packet.device.net
    oif = packet.iif if needs_device(destination) and not packet.device.loopback else 0
    try:
        way = route_output(k, net, destination, source, oif)
    except KernelError:
        return
    net.ipv6.mib["Icmp6OutMsgs"] += 1
    net.ipv6.mib[f"Icmp6OutType{body[0]}"] += 1
    body = icmpv6_checksum(way.source, destination, body)
    yield from ip6_send(k, net, way.source, destination, IPPROTO_ICMPV6, body, oif=oif)


@kernel_function(
    "void icmp6_send(struct sk_buff *skb, u8 type, u8 code, __u32 info, const struct in6_addr *force_saddr, "
    "const struct inet6_skb_parm *parm)",
    source="net/ipv6/icmp.c",
)
def icmp6_send(k: NetKernel, skb: int, type_: int, code: int, info: int, force_saddr: int, parm: int) -> Body:
    """An ICMPv6 error about a packet, quoting as much of it as fits; none about groups and other errors."""
    packet = k.net.skbs[skb]
    if packet.dev is None:
        return 0
    start = packet.network_header()
    quote = bytes(packet.mem.read(start, max(packet.data + packet.len - start, 0)))
    if len(quote) < IPV6_HEADER:
        return 0
    source, destination = quote[8:24], quote[24:40]
    about_group = is_group(destination) or packet.pkt_type() not in (0, 4)
    if about_group and not (type_ == ICMPV6_PKT_TOOBIG or (type_ == ICMPV6_PARAMPROB and code == ICMPV6_UNK_OPTION)):
        return 0
    if source == IN6ADDR_ANY or is_group(source) or _is_error(quote):
        return 0
    own = destination if is_local(packet.device.net, destination) else IN6ADDR_ANY
    way = packet.dst
    if way is not None and not way.input:
        own = source
    body = bytes((type_, code, 0, 0)) + info.to_bytes(4, "big") + quote[: IPV6_MIN_MTU - IPV6_HEADER - ICMP_HEADER]
    yield from _send(k, packet, own, source, body)
    return 0


def _is_error(quote: bytes) -> bool:
    """is_ineligible(): about which no other is sent."""
    protocol, at = transport(quote)
    return protocol == IPPROTO_ICMPV6 and (at >= len(quote) or not quote[at] & ICMPV6_INFOMSG_MASK)


def _notify(k: NetKernel, packet: Skb, body: bytes) -> Steps[None]:
    """icmpv6_notify(): the packet that it quotes, and the protocol that sent it (`yield from`)."""
    quote, info = body[ICMP_HEADER:], int.from_bytes(body[4:8], "big")
    if len(quote) < IPV6_HEADER:
        packet.device.net.ipv6.mib["Icmp6InErrors"] += 1
        return
    protocol, at = transport(quote)
    handler = protocols.handler(k, ERR_HANDLERS, protocol)
    if handler is not None:
        yield k.call(handler, packet.addr, 0, body[0], body[1], ICMP_HEADER + at, info)
    for sk in list(k.net.raw):
        if sk.ip6 is not None and sk.net is packet.device.net and sk.protocol == protocol:
            if sk.laddr in (IN6ADDR_ANY, quote[8:24]) and sk.raddr in (IN6ADDR_ANY, quote[24:40]):
                yield from told(k, sk, packet, body, at, info)


def told(k: NetKernel, sk: Sock, packet: Skb, body: bytes, at: int, info: int, port: int = 0) -> Steps[None]:
    """rawv6_err(), ping_err(), ipv6_icmp_error(): who asked hears of it, who is connected of what is fatal (`yield from`)."""
    errno, fatal = verdict(body[0], body[1])
    if sk.np.recverr:
        quote = body[ICMP_HEADER:]
        name = sockaddr_in6(k, quote[24:40], port)
        offender = sockaddr_in6(k, addresses(packet)[0], 0)
        made = SkError(k, packet, errno, SO_EE_ORIGIN_ICMP6, body[0], body[1], info, 0, name, offender)
        copy = yield from clone(k, packet)
        copy.pull(min(ICMP_HEADER + at, copy.len))
        yield from queue_error(k, sk, copy, made, copy=False)
    elif not fatal or sk.raddr == IN6ADDR_ANY:
        return
    sk.set_error(errno)


@kernel_function(
    "int icmpv6_err(struct sk_buff *skb, struct inet6_skb_parm *opt, u8 type, u8 code, int offset, __be32 info)",
    source="net/ipv6/icmp.c",
)
def icmpv6_err(k: NetKernel, skb: int, opt: int, type_: int, code: int, offset: int, info: int) -> Body:
    """An error about an echo request of a ping socket."""
    packet = k.net.skbs[skb]
    body = packet.packet()
    ident = int.from_bytes(body[offset + 4 : offset + 6], "big")
    for sk in list(k.net.ping.get((packet.device.net, ident), ())):
        if sk.ip6 is not None:
            yield from told(k, sk, packet, body, offset - ICMP_HEADER, info)
    return 0
