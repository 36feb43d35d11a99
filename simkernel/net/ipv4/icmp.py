"""ICMP: echo replies, and errors about packets.  net/ipv4/icmp.c."""

from __future__ import annotations

from arch.abi.errno import (
    ECONNREFUSED,
    EHOSTDOWN,
    EHOSTUNREACH,
    EMSGSIZE,
    ENETUNREACH,
    ENONET,
    ENOPROTOOPT,
    EOPNOTSUPP,
    EPROTO,
)
from arch.abi.inet import (
    ICMP_DEST_UNREACH,
    ICMP_ECHO,
    ICMP_ECHOREPLY,
    ICMP_FRAG_NEEDED,
    ICMP_PARAMETERPROB,
    ICMP_REDIRECT,
    ICMP_SOURCE_QUENCH,
    ICMP_SR_FAILED,
    ICMP_TIME_EXCEEDED,
    ICMP_TIMESTAMP,
    ICMP_TIMESTAMPREPLY,
    IP_OFFSET,
    IPPROTO_ICMP,
    IPPROTO_TCP,
    IPPROTO_UDP,
    IPPROTO_UDPLITE,
    NR_ICMP_TYPES,
    PACKET_HOST,
)
from arch.abi.rtnetlink import RTN_BROADCAST, RTN_LOCAL, RTN_MULTICAST, RTN_UNICAST
from arch.errors import KernelError
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core import protocols
from simkernel.net.core.errqueue import SO_EE_ORIGIN_ICMP, SkError, queue_error
from simkernel.net.core.message import sockaddr_in
from simkernel.net.core.netns import Net
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import SKB_DROP_REASON_ICMP_CSUM, clone, drop
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.fib import address_type
from simkernel.net.ipv4.header import ICMP_HEADER, IP_HEADER, addresses, checksum, with_checksum
from simkernel.net.ipv4.ip_output import ip_send
from simkernel.net.ipv4.ping import ping_rcv
from simkernel.net.ipv4.route import simple_output

QUOTE = 576  # bytes of an error in all
# icmp_err_convert[]: code of ICMP_DEST_UNREACH -> (errno, fatal)
CONVERT = (
    (ENETUNREACH, 0), (EHOSTUNREACH, 0), (ENOPROTOOPT, 1), (ECONNREFUSED, 1), (EMSGSIZE, 0), (EOPNOTSUPP, 0), (ENETUNREACH, 1),
    (EHOSTDOWN, 1), (ENONET, 1), (ENETUNREACH, 1), (EHOSTUNREACH, 1), (ENETUNREACH, 0), (EHOSTUNREACH, 0), (EHOSTUNREACH, 1),
    (EHOSTUNREACH, 1), (EHOSTUNREACH, 1),
)  # fmt: skip
ERRORS = (ICMP_DEST_UNREACH, ICMP_SOURCE_QUENCH, ICMP_REDIRECT, ICMP_TIME_EXCEEDED, ICMP_PARAMETERPROB)
ERR_HANDLERS = {
    IPPROTO_UDP: "udp_err", IPPROTO_UDPLITE: "udplite_err", IPPROTO_TCP: "tcp_v4_err", IPPROTO_ICMP: "icmp_err",
}  # fmt: skip


def verdict(kind: int, code: int) -> tuple[int, bool]:
    """What an ICMP error means to a socket: (errno, it ends a connection)."""
    if kind == ICMP_DEST_UNREACH:
        errno, fatal = CONVERT[code] if code < len(CONVERT) else (EHOSTUNREACH, 0)
        return errno, bool(fatal)
    return (EPROTO, True) if kind == ICMP_PARAMETERPROB else (EHOSTUNREACH, False)


@kernel_function("int icmp_rcv(struct sk_buff *skb)", source="net/ipv4/icmp.c")
def icmp_rcv(k: NetKernel, skb: int) -> Body:
    """Answer echo requests; hand replies to pings and errors to the sockets they are about."""
    packet = k.net.skbs[skb]
    net = packet.device.net
    body, mib = packet.packet(), net.ipv4.mib
    mib["IcmpInMsgs"] += 1
    if len(body) < ICMP_HEADER or checksum(body):
        mib["IcmpInErrors"] += 1
        mib["IcmpInCsumErrors"] += len(body) >= ICMP_HEADER
        yield drop(k, packet, SKB_DROP_REASON_ICMP_CSUM)
        return 0
    kind, code = body[0], body[1]
    mib[f"IcmpInType{kind}"] += 1
    packet.pull(ICMP_HEADER)
    if kind > NR_ICMP_TYPES:
        mib["IcmpInErrors"] += 1
        yield drop(k, packet)
        return 0
    way = packet.dst
    if way is not None and way.kind in (RTN_BROADCAST, RTN_MULTICAST):
        if kind in (ICMP_ECHO, ICMP_TIMESTAMP) and net.sysctl["ipv4.icmp_echo_ignore_broadcasts"]:
            yield drop(k, packet)
            return 0
    if kind == ICMP_ECHO:
        if not net.sysctl["ipv4.icmp_echo_ignore_all"]:
            yield k.call("icmp_echo", skb)
    elif kind == ICMP_ECHOREPLY:
        yield from ping_rcv(k, packet, body)
    elif kind == ICMP_TIMESTAMP:
        yield from _timestamp(k, packet, body)
    elif kind in ERRORS:
        yield from _error(k, packet, net, kind, code, body)
    yield k.call("consume_skb", skb)
    return 0


@kernel_function("bool icmp_echo(struct sk_buff *skb)", source="net/ipv4/icmp.c")
def icmp_echo(k: NetKernel, skb: int) -> Body:
    """An echo request: send its reply."""
    packet = k.net.skbs[skb]
    packet.push(ICMP_HEADER)
    body = packet.packet()
    packet.pull(ICMP_HEADER)
    yield from _reply(k, packet, b"\0\0\0\0" + body[4:])
    return 1


def _timestamp(k: NetKernel, packet: Skb, body: bytes) -> Steps[None]:
    """icmp_timestamp(): milliseconds since midnight UT (`yield from`)."""
    now = (k.clock.realtime_ns // 1_000_000 % 86_400_000).to_bytes(4, "big")
    yield from _reply(k, packet, bytes((ICMP_TIMESTAMPREPLY, 0, 0, 0)) + body[4:12] + now + now)


def _reply(k: NetKernel, packet: Skb, body: bytes) -> Steps[None]:
    """icmp_reply()."""
    net = packet.device.net
    source, destination = addresses(packet)
    way = packet.dst
    own = bytes(4) if way is not None and way.kind != RTN_LOCAL else destination
    tos = packet.mem.read(packet.network_header() + 1, 1)[0]
    net.ipv4.mib["IcmpOutMsgs"] += 1
    net.ipv4.mib[f"IcmpOutType{body[0]}"] += 1
    yield from ip_send(k, net, own, source, IPPROTO_ICMP, with_checksum(body), tos=tos)


@kernel_function("void __icmp_send(struct sk_buff *skb_in, int type, int code, u32 info)", source="net/ipv4/icmp.c")
def __icmp_send(k: NetKernel, skb_in: int, type_: int, code: int, info: int) -> Body:
    """An ICMP error about a packet, quoting as much of it as fits; none about groups, later pieces and other errors."""
    packet = k.net.skbs[skb_in]
    if packet.dev is None:
        return 0
    net, start = packet.device.net, packet.network_header()
    end = packet.data + packet.len
    quote = bytes(packet.mem.read(start, max(end - start, 0)))
    way = packet.dst
    refused = (
        len(quote) < IP_HEADER
        or packet.pkt_type() not in (PACKET_HOST, 4)
        or (way is not None and way.kind in (RTN_BROADCAST, RTN_MULTICAST))
        or int.from_bytes(quote[6:8], "big") & IP_OFFSET
    )
    if refused or (type_ in ERRORS and _is_error(quote)):
        return 0
    source, destination = quote[12:16], quote[16:20]
    if address_type(net, source) not in (RTN_UNICAST, RTN_LOCAL):
        return 0
    own = destination if address_type(net, destination) == RTN_LOCAL and way is not None and way.input else bytes(4)
    if way is not None and not way.input:
        own = source
    try:
        route = simple_output(k, net, source, own)
    except KernelError:
        return 0
    room = min(route.mtu, QUOTE) - IP_HEADER - ICMP_HEADER
    body = with_checksum(bytes((type_, code)) + b"\0\0" + info.to_bytes(4, "big") + quote[:room])
    net.ipv4.mib["IcmpOutMsgs"] += 1
    net.ipv4.mib[f"IcmpOutType{type_}"] += 1
    tos = quote[1] & 0x1E | 0xC0
    k.trace("icmp_send", skb_in, type_, code)
    yield from ip_send(k, net, route.source, source, IPPROTO_ICMP, body, tos=tos)
    return 0


def _is_error(quote: bytes) -> bool:
    """An ICMP error, about which no other is sent."""
    size = (quote[0] & 15) * 4
    if quote[9] != IPPROTO_ICMP or len(quote) <= size:
        return False
    return quote[size] in ERRORS or quote[size] > NR_ICMP_TYPES


def _error(k: NetKernel, packet: Skb, net: Net, kind: int, code: int, body: bytes) -> Steps[None]:
    """icmp_unreach(): the packet that it quotes, and the protocol that sent it (`yield from`)."""
    quote = body[ICMP_HEADER:]
    if len(quote) < IP_HEADER or (quote[0] & 15) * 4 > len(quote):
        net.ipv4.mib["IcmpInErrors"] += 1
        return
    info = 0
    if (kind, code) == (ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED):
        info = int.from_bytes(body[6:8], "big")
    elif (kind, code) == (ICMP_DEST_UNREACH, ICMP_SR_FAILED):
        return
    elif kind == ICMP_PARAMETERPROB:
        info = body[4]
    if kind == ICMP_REDIRECT:
        return
    protocol = quote[9]
    for sk in raw_socks(k, net, quote, protocol):
        yield from told(k, sk, packet, kind, code, info, quote)
    handler = protocols.handler(k, ERR_HANDLERS, protocol)
    if handler is not None:
        yield k.call(handler, packet.addr, info)


def raw_socks(k: NetKernel, net: Net, quote: bytes, protocol: int) -> list[Sock]:
    """raw_icmp_error(): sockets that sent such packets."""
    found = []
    for sk in k.net.raw:
        if sk.net is net and sk.protocol == protocol and sk.laddr in (bytes(4), quote[12:16]) and sk.raddr in (bytes(4), quote[16:20]):  # fmt: skip
            found.append(sk)
    return found


def told(
    k: NetKernel, sk: Sock, packet: Skb, kind: int, code: int, info: int, quote: bytes
) -> Steps[None]:  # fmt: skip
    """raw_err(), ping_err(): a socket that only hears of errors if it asked to, or is connected (`yield from`)."""
    errno, fatal = verdict(kind, code)
    if kind == ICMP_SOURCE_QUENCH:
        return
    if sk.recverr:
        size = (quote[0] & 15) * 4
        name = sockaddr_in(k, quote[16:20], 0)
        offender = sockaddr_in(k, addresses(packet)[0], 0)
        made = SkError(k, packet, errno, SO_EE_ORIGIN_ICMP, kind, code, info, 0, name, offender)
        copy = yield from clone(k, packet)
        copy.pull(min(0 if sk.hdrincl else size, copy.len))
        yield from queue_error(k, sk, copy, made, copy=False)
    elif not fatal or sk.raddr == bytes(4):
        return
    sk.set_error(errno)


@kernel_function("int icmp_err(struct sk_buff *skb, u32 info)", source="net/ipv4/icmp.c")
def icmp_err(k: NetKernel, skb: int, info: int) -> Body:
    """An error about an echo request of a ping socket."""
    packet = k.net.skbs[skb]
    quote = packet.packet()
    size = (quote[0] & 15) * 4
    if len(quote) < size + ICMP_HEADER:
        return 0
    ident = int.from_bytes(quote[size + 4 : size + 6], "big")
    packet.push(ICMP_HEADER)
    kind, code = packet.packet()[:2]
    packet.pull(ICMP_HEADER)
    for sk in list(k.net.ping.get((packet.device.net, ident), ())):
        yield from told(k, sk, packet, kind, code, info, quote)
    return 0


def error_header(packet: Skb) -> tuple[int, int, bytes]:
    """(type, code, the quoted packet) of an ICMP error whose own header is taken off."""
    at = packet.data - ICMP_HEADER
    kind, code = packet.mem.read(at, 2)
    return kind, code, packet.packet()


def quoted_ports(quote: bytes) -> tuple[bytes, int, bytes, int]:
    """Of a quoted UDP or TCP packet: its source and destination."""
    size = (quote[0] & 15) * 4
    ports = quote[size : size + 4].ljust(4, b"\0")
    return quote[12:16], int.from_bytes(ports[:2], "big"), quote[16:20], int.from_bytes(ports[2:], "big")
