"""UDP over IPv6; what it shares with IPv4 is in ipv4/udp.py.  net/ipv6/udp.c."""

from __future__ import annotations

from arch.abi.errno import EIO, EMSGSIZE, ENETUNREACH
from arch.abi.in6 import ICMPV6_DEST_UNREACH, ICMPV6_PKT_TOOBIG, ICMPV6_PORT_UNREACH, IPV6_RECVERR
from arch.abi.inet import ETH_P_IP, IN6_ADDR_SIZE, IN6ADDR_ANY, IPPROTO_UDP, TCP_ESTABLISHED
from arch.abi.socket import AF_INET, AF_INET6, MSG_ERRQUEUE, MSG_MORE, MSG_PEEK, SOL_IPV6, SOL_UDP, UDP_CORK
from bpf import uapi
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.datagram import wait_for_datagram
from simkernel.net.core.errqueue import receive_error
from simkernel.net.core.message import sockaddr_in
from simkernel.net.core.security import classify_flow
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import ICMP_HEADER, addresses
from simkernel.net.ipv4.ip_sockglue import ip_cmsg_recv
from simkernel.net.ipv4.udp import UDP_MAX, lookup, mib_name, receive, segment
from simkernel.net.ipv4.udp_coverage import UDP_HEADER
from simkernel.net.ipv4.udp_offload import segment_size
from simkernel.net.ipv6.addr import is_group
from simkernel.net.ipv6.icmp import told, verdict
from simkernel.net.ipv6.ip6_output import ip6_send
from simkernel.net.ipv6.ipv6_sockglue import Extra6, destination6, ip6_datagram_recv_ctl, ip6_datagram_send_ctl
from simkernel.net.ipv6.route import route_output

UDP6_MAX = 65535 - UDP_HEADER


@kernel_function("int udpv6_sendmsg(struct sock *sk, struct msghdr *msg, size_t len)", source="net/ipv6/udp.c")
def udpv6_sendmsg(k: NetKernel, sk: int, msg: int, length: int) -> Body:
    """One datagram out; to an address of IPv4 it goes by IPv4."""
    sock, message = k.net.socks[sk], k.net.messages[msg]
    family = int.from_bytes(message.name[:2], k.mem.byteorder) if message.name else AF_INET6
    if family == AF_INET:
        if sock.v6only:
            return -ENETUNREACH
        return (yield k.call("udp_sendmsg", sk, msg, length))
    destination, port, scope = destination6(k, sock, message)
    if len(destination) != len(IN6ADDR_ANY):
        if sock.v6only:
            return -ENETUNREACH
        if message.name:
            message.name = sockaddr_in(k, destination, port)
        return (yield k.call("udp_sendmsg", sk, msg, length))
    if length > UDP6_MAX:
        return -EMSGSIZE
    if sock.corked is not None:
        if len(sock.corked[1]) != len(IN6ADDR_ANY):
            return (yield k.call("udp_sendmsg", sk, msg, length))
        return (yield from _more(k, sock, message.data, message.flags))
    size = segment_size(sock, message)
    extra = ip6_datagram_send_ctl(k, sock, message)
    if message.name or sock.state != TCP_ESTABLISHED:
        error, name, source = k.net.programs.sendmsg(sock, message.name, sock.laddr, uapi.BPF_CGROUP_UDP6_SENDMSG)
        if error:
            return error
        if name != message.name:
            message.name = name
            destination, port, scope = destination6(k, sock, message)
        extra.source = extra.source or (source if source != sock.laddr else b"")
    extra.ifindex = extra.ifindex or scope or sock.route_device(destination)
    if message.flags & MSG_MORE or sock.options.get((SOL_UDP, UDP_CORK)):
        extra_ttl = max(extra.hop_limit, 0)
        sock.corked = (extra.source, destination, port, extra.ifindex, extra_ttl, extra.tclass, message.data, size)
        return length
    ret = yield from _send(k, sock, destination, port, message.data, extra, size)
    return length if ret >= 0 else ret


def _send(k: NetKernel, sk: Sock, destination: bytes, port: int, data: bytes, extra: Extra6, size: int) -> Body:
    """udp_v6_send_skb() (`yield from`)."""
    source = extra.source or (sk.laddr if len(sk.laddr) == len(IN6ADDR_ANY) else IN6ADDR_ANY)
    classify_flow(k, sk)
    if source == IN6ADDR_ANY:
        way = route_output(k, sk.net, destination, source, extra.ifindex, sk.mark, bool(sk.bound_ifindex))
        source = way.source
    body = segment(sk, source, destination, port, data)
    if body is None:
        return -EIO
    ret = yield from ip6_send(
        k, sk.net, source, destination, sk.protocol, body, sk, extra.ifindex, extra.hop_limit, extra.tclass, size
    )
    sk.net.ipv4.mib[mib_name(source, sk.protocol) + ("OutDatagrams" if ret >= 0 else "SndbufErrors")] += 1
    return ret


def _more(k: NetKernel, sk: Sock, data: bytes, flags: int) -> Body:
    """For a datagram that is not sent yet (`yield from`)."""
    assert sk.corked is not None
    source, destination, port, oif, ttl, tclass, before, size = sk.corked
    if len(before) + len(data) > UDP_MAX:
        return -EMSGSIZE
    sk.corked = (source, destination, port, oif, ttl, tclass, before + data, size)
    if flags & MSG_MORE or sk.options.get((SOL_UDP, UDP_CORK)):
        return len(data)
    ret = yield k.call("udp_v6_push_pending_frames", sk.addr)
    return len(data) if ret >= 0 else ret


@kernel_function("int udp_v6_push_pending_frames(struct sock *sk)", source="net/ipv6/udp.c")
def udp_v6_push_pending_frames(k: NetKernel, sk: int) -> Body:
    """What was held back goes out."""
    sock = k.net.socks[sk]
    if sock.corked is None:
        return 0
    if len(sock.corked[1]) != len(IN6ADDR_ANY):
        return (yield k.call("udp_push_pending_frames", sk))
    (source, destination, port, oif, ttl, tclass, data, size), sock.corked = sock.corked, None
    return (yield from _send(k, sock, destination, port, data, Extra6(source, oif, ttl or -1, tclass), size))


@kernel_function("int udpv6_rcv(struct sk_buff *skb)", source="net/ipv6/udp.c")
def udpv6_rcv(k: NetKernel, skb: int) -> Body:
    """A datagram arrives."""
    return (yield k.call("__udp6_lib_rcv", skb, 0, IPPROTO_UDP))


@kernel_function(
    "int __udp6_lib_rcv(struct sk_buff *skb, struct udp_table *udptable, int proto)",
    source="net/ipv6/udp.c",
    until="7.0",
)
def __udp6_lib_rcv(k: NetKernel, skb: int, udptable: int, proto: int) -> Body:
    """Find the sock; without one tell the sender and drop."""
    packet = k.net.skbs[skb]
    group = is_group(bytes(packet.mem.read(packet.network_header() + 24, IN6_ADDR_SIZE)))
    unreachable = ("icmp6_send", skb, ICMPV6_DEST_UNREACH, ICMPV6_PORT_UNREACH, 0, 0, 0)
    return (yield from receive(k, packet, group, "udpv6_queue_rcv_skb", unreachable, proto))


@kernel_function("int udpv6_queue_rcv_skb(struct sock *sk, struct sk_buff *skb)", source="net/ipv6/udp.c")
def udpv6_queue_rcv_skb(k: NetKernel, sk: int, skb: int) -> Body:
    """Filter, charge to the receive buffer, queue, wake."""
    return (yield k.call("udp_queue_rcv_skb", sk, skb))


@kernel_function(
    "int udpv6_recvmsg(struct sock *sk, struct msghdr *msg, size_t len, int flags, int *addr_len)",
    source="net/ipv6/udp.c",
)
def udpv6_recvmsg(k: NetKernel, sk: int, msg: int, length: int, flags: int, addr_len: int) -> Body:
    """One datagram in; what does not fit is lost (MSG_TRUNC)."""
    sock, message = k.net.socks[sk], k.net.messages[msg]
    if flags & MSG_ERRQUEUE:
        return (yield from receive_error(k, sock, message, length, SOL_IPV6, IPV6_RECVERR))
    packet = yield from wait_for_datagram(k, sock, message, length, flags)
    if isinstance(packet, int):
        return packet
    body, old = packet.packet(), packet.protocol() == ETH_P_IP
    message.set_source(sock, addresses(packet)[0], int.from_bytes(body[:2], "big"), packet.iif)
    _, message.source, _ = k.net.programs.sock_addr(sock, message.source, uapi.BPF_CGROUP_UDP6_RECVMSG)
    if old:
        ip_cmsg_recv(k, message, sock, packet)
    ip6_datagram_recv_ctl(k, message, sock, packet, plain=not old)
    if not flags & MSG_PEEK:
        sock.net.ipv4.mib[mib_name(addresses(packet)[0], sock.protocol) + "InDatagrams"] += 1
    return (yield from message.take_packet(sock, packet, body[UDP_HEADER:], length, flags))


@kernel_function(
    "int udpv6_err(struct sk_buff *skb, struct inet6_skb_parm *opt, u8 type, u8 code, int offset, __be32 info)",
    source="net/ipv6/udp.c",
)
def udpv6_err(k: NetKernel, skb: int, opt: int, type_: int, code: int, offset: int, info: int) -> Body:
    """An error about a datagram."""
    return (yield from error_came(k, skb, (type_, code, offset, info), IPPROTO_UDP))


def error_came(k: NetKernel, skb: int, error: tuple[int, int, int, int], protocol: int) -> Body:
    """__udp6_lib_err(): the sender hears of it if it is connected, or asked to (`yield from`)."""
    packet, (type_, code, offset, info) = k.net.skbs[skb], error
    body = packet.packet()
    quote, ports = body[ICMP_HEADER:], body[offset : offset + 4].ljust(4, b"\0")
    sport, dport = int.from_bytes(ports[:2], "big"), int.from_bytes(ports[2:], "big")
    sk = lookup(k, packet.device.net, quote[8:24], sport, quote[24:40], dport, packet.iif, protocol=protocol)
    if sk is None or sk.ip6 is None:
        packet.device.net.ipv6.mib["Icmp6InErrors"] += 1
        return 0
    errno, fatal = verdict(type_, code)
    if type_ == ICMPV6_PKT_TOOBIG and sk.np.pmtudisc:
        errno = EMSGSIZE
    if sk.np.recverr:
        yield from told(k, sk, packet, body, offset - ICMP_HEADER + UDP_HEADER, info, dport)
        return 0
    if not fatal or sk.state != TCP_ESTABLISHED:
        return 0
    sk.set_error(errno)
    yield k.call("sk_error_report", sk.addr)
    return 0
