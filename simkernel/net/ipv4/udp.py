"""UDP over IPv4, and what UDP over IPv6 shares with it.  net/ipv4/udp.c."""

from __future__ import annotations

from arch.abi.errno import EINVAL, EIO, EMSGSIZE, ENETUNREACH, ENOMEM, EOPNOTSUPP
from arch.abi.inet import (
    ICMP_DEST_UNREACH,
    ICMP_FRAG_NEEDED,
    ICMP_PORT_UNREACH,
    INADDR_ANY,
    IP_RECVERR,
    IPPROTO_UDP,
    IPPROTO_UDPLITE,
    TCP_ESTABLISHED,
)
from arch.abi.rtnetlink import RTN_BROADCAST, RTN_MULTICAST
from arch.abi.socket import AF_INET, MSG_ERRQUEUE, MSG_MORE, MSG_OOB, MSG_PEEK, SOL_IP, SOL_UDP, UDP_CORK, UDP_SEGMENT
from bpf import uapi
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.datagram import deliver, filtered, stolen, wait_for_datagram
from simkernel.net.core.errqueue import SO_EE_ORIGIN_ICMP, SkError, queue_error, receive_error
from simkernel.net.core.message import sockaddr_in
from simkernel.net.core.netns import Net, NetDevice
from simkernel.net.core.security import classify_flow, unwanted
from simkernel.net.core.skb import CHECKSUM_PARTIAL, CHECKSUM_UNNECESSARY, Skb
from simkernel.net.core.skbuff import (
    SKB_DROP_REASON_NO_SOCKET,
    SKB_DROP_REASON_NOT_SPECIFIED,
    SKB_DROP_REASON_PKT_TOO_SMALL,
    SKB_DROP_REASON_SOCKET_FILTER,
    SKB_DROP_REASON_SOCKET_RCVBUFF,
    SKB_DROP_REASON_UDP_CSUM,
    clone,
    drop,
)
from simkernel.net.core.sock import Sock, is_any
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.fib import is_local
from simkernel.net.ipv4.header import addresses, checksum
from simkernel.net.ipv4.icmp import error_header, quoted_ports, verdict
from simkernel.net.ipv4.ip_output import ip_send, source_for
from simkernel.net.ipv4.ip_sockglue import ip_cmsg_recv, ip_cmsg_send
from simkernel.net.ipv4.udp_coverage import UDP_HEADER, enough_covered, sum_holds, summed
from simkernel.net.ipv4.udp_offload import is_expected, pieces, segment_size
from simkernel.net.reuseport import choose, select

UDP_MAX = 65507  # largest payload of one datagram


def mib_name(address: bytes, protocol: int) -> str:
    """What the counters of a protocol over a family are called before their own names."""
    return ("UdpLite" if protocol == IPPROTO_UDPLITE else "Udp") + ("" if len(address) == len(INADDR_ANY) else "6")


def _scored(sk: Sock, address: bytes, source: bytes, sport: int, iif: int) -> int:
    """compute_score() of a sock whose own address fits."""
    if sk.v6only and len(address) == 4:
        return -1
    score = 2 if sk.family == AF_INET else 1
    if sk.rport or not is_any(sk.raddr):
        if sk.raddr != source or sk.rport not in (0, sport):
            return -1
        score += 8
    if sk.bound_ifindex:
        if sk.bound_ifindex != iif:
            return -1
        score += 4
    return score


def lookup(
    k: NetKernel, net: Net, address: bytes, port: int, source: bytes, sport: int, iif: int, packet: Skb | None = None,
    protocol: int = IPPROTO_UDP,
) -> Sock | None:  # fmt: skip
    """__udp4_lib_lookup(), __udp6_lib_lookup(): bound to this very address first, else to any; the best match of them."""
    socks, four = k.net.datagrams(protocol).get((net, port), ()), (source, sport, address, port)
    for exact in (True, False):
        best, best_score = None, -1
        for sk in socks:
            fits = sk.laddr == address if exact else is_any(sk.laddr) and (len(address) == 4 or len(sk.laddr) == 16)
            if not fits:
                continue
            score = _scored(sk, address, source, sport, iif)
            if score > best_score:
                best, best_score = sk, score
        if exact and protocol == IPPROTO_UDP and (best is None or best.state != TCP_ESTABLISHED):
            found = k.net.programs.sk_lookup(net, IPPROTO_UDP, source, sport, address, port, iif)
            if found is not None:
                return choose(k, found, k.net.udp, four, packet)
        if best is not None:
            grouped = best.reuseport and best.state != TCP_ESTABLISHED
            return select(k, best, socks, four, packet) if grouped else best
    return None


@kernel_function("int udp_sendmsg(struct sock *sk, struct msghdr *msg, size_t len)", source="net/ipv4/udp.c")
def udp_sendmsg(k: NetKernel, sk: int, msg: int, length: int) -> Body:
    """One datagram out; the address comes from the message or from connect()."""
    sock, message = k.net.socks[sk], k.net.messages[msg]
    if length > 0xFFFF:
        return -EMSGSIZE
    if message.flags & MSG_OOB:
        return -EOPNOTSUPP
    if sock.corked is not None:
        return (yield from _send_corked(k, sock, message.data, message.flags))
    destination, port = message.destination(sock)
    if length > UDP_MAX:
        return -EMSGSIZE
    source, size = sock.laddr if len(sock.laddr) == len(INADDR_ANY) else INADDR_ANY, segment_size(sock, message)
    extra = ip_cmsg_send(k, sock, message)
    if message.name or sock.state != TCP_ESTABLISHED:
        error, name, source = k.net.programs.sendmsg(sock, message.name, source, uapi.BPF_CGROUP_UDP4_SENDMSG)
        if error:
            return error
        if name != message.name:
            message.name = name
            destination, port = message.destination(sock)
    source = extra.source or (source if not is_any(source) else INADDR_ANY)
    oif = extra.ifindex or sock.route_device(destination)
    if extra.source and not sock.transparent and not is_local(sock.net, extra.source):
        return -ENETUNREACH  # ip_route_output_key_hash_rcu()
    if source == INADDR_ANY and sock.mc_addr != INADDR_ANY and 224 <= destination[0] <= 239:
        source = sock.mc_addr
    if source == INADDR_ANY:
        source = source_for(k, sock.net, destination, oif)
    if message.name or sock.state != TCP_ESTABLISHED:  # connect() has found the way of others
        classify_flow(k, sock)
    if message.flags & MSG_MORE or sock.options.get((SOL_UDP, UDP_CORK)):
        sock.corked = (source, destination, port, oif, extra.ttl, extra.tos, message.data, size)
        return length
    ret = yield from _send(k, sock, source, destination, port, message.data, oif, extra.ttl, extra.tos, size)
    return length if ret >= 0 else ret


def _send(
    k: NetKernel, sk: Sock, source: bytes, destination: bytes, port: int, data: bytes, oif: int, ttl: int, tos: int,
    size: int,
) -> Body:  # fmt: skip
    """udp_send_skb() (`yield from`)."""
    body = segment(sk, source, destination, port, data)
    if body is None:
        return -EIO
    ret = yield from ip_send(k, sk.net, source, destination, sk.protocol, body, sk, oif, ttl, tos, size)
    sk.net.ipv4.mib[mib_name(source, sk.protocol) + ("OutDatagrams" if ret >= 0 else "SndbufErrors")] += 1
    return ret


def segment(sk: Sock, source: bytes, destination: bytes, port: int, data: bytes) -> bytes | None:
    """Header and data; UDP's sum is made when the packet leaves.  None: cut up for a device, which UDP-Lite is not (EIO)."""
    head = sk.lport.to_bytes(2, "big") + port.to_bytes(2, "big") + (UDP_HEADER + len(data)).to_bytes(2, "big") + b"\0\0"
    if sk.protocol != IPPROTO_UDPLITE:
        return head + data
    return None if sk.options.get((SOL_UDP, UDP_SEGMENT)) else summed(sk, source, destination, head + data)


def _send_corked(k: NetKernel, sk: Sock, data: bytes, flags: int) -> Body:
    """udp_push_pending_frames(): more for a datagram that is not sent yet (`yield from`)."""
    assert sk.corked is not None
    source, destination, port, oif, ttl, tos, before, size = sk.corked
    if len(before) + len(data) > UDP_MAX:
        return -EMSGSIZE
    sk.corked = (source, destination, port, oif, ttl, tos, before + data, size)
    if flags & MSG_MORE or sk.options.get((SOL_UDP, UDP_CORK)):
        return len(data)
    ret = yield k.call("udp_push_pending_frames", sk.addr)
    return len(data) if ret >= 0 else ret


@kernel_function("int udp_push_pending_frames(struct sock *sk)", source="net/ipv4/udp.c")
def udp_push_pending_frames(k: NetKernel, sk: int) -> Body:
    """What was held back goes out."""
    sock = k.net.socks[sk]
    if sock.corked is None:
        return 0
    (source, destination, port, oif, ttl, tos, data, size), sock.corked = sock.corked, None
    return (yield from _send(k, sock, source, destination, port, data, oif, ttl, tos, size))


@kernel_function("int udp_rcv(struct sk_buff *skb)", source="net/ipv4/udp.c", jumps=True)
def udp_rcv(k: NetKernel, skb: int) -> Body:
    """A datagram arrives."""
    return (yield k.call("__udp4_lib_rcv", skb, 0, IPPROTO_UDP))


def checked(k: NetKernel, packet: Skb, header: bytes, source: bytes, destination: bytes, protocol: int) -> bool:
    """udp4_csum_init(), udp_lib_checksum_complete(): 0 means that there is none."""
    if protocol == IPPROTO_UDPLITE:
        return sum_holds(packet.packet(), source, destination)
    if header[6:8] == b"\0\0" or packet.ip_summed() in (CHECKSUM_PARTIAL, CHECKSUM_UNNECESSARY):
        return header[6:8] != b"\0\0" or len(source) == 4 or _without_sums(k, packet, header)
    pseudo = source + destination + packet.len.to_bytes(4, "big") + IPPROTO_UDP.to_bytes(4, "big")
    return checksum(pseudo + packet.packet()) == 0


def _without_sums(k: NetKernel, packet: Skb, header: bytes) -> bool:
    """udp_get_no_check6_rx() of who has the port."""
    net, port = packet.device.net, int.from_bytes(header[2:4], "big")
    return any(sk.no_check6_rx for sk in k.net.udp.get((net, port), ()))


def start(k: NetKernel, packet: Skb, protocol: int) -> Steps[tuple[bytes, bytes, bytes] | None]:
    """The checks of both families: (header, source, destination), or None for a packet that was dropped (`yield from`)."""
    header = packet.packet()[:UDP_HEADER]
    length = int.from_bytes(header[4:6], "big")
    source, destination = addresses(packet)
    mib, name = packet.device.net.ipv4.mib, mib_name(source, protocol)
    lite = protocol == IPPROTO_UDPLITE  # its length says over how much the sum is
    if len(header) < UDP_HEADER or (length < UDP_HEADER and not lite) or length > packet.len:
        mib[f"{name}InErrors"] += 1
        yield drop(k, packet, SKB_DROP_REASON_PKT_TOO_SMALL)
        return None
    if length < packet.len and not lite:
        packet.trim(length)
    if not checked(k, packet, header, source, destination, protocol):
        mib[f"{name}InCsumErrors"] += 1
        mib[f"{name}InErrors"] += 1
        yield drop(k, packet, SKB_DROP_REASON_UDP_CSUM)
        return None
    return header, source, destination


@kernel_function(
    "int __udp4_lib_rcv(struct sk_buff *skb, struct udp_table *udptable, int proto)", source="net/ipv4/udp.c"
)
def __udp4_lib_rcv(k: NetKernel, skb: int, udptable: int, proto: int) -> Body:
    """Find the sock; without one tell the sender and drop."""
    packet = k.net.skbs[skb]
    group = packet.dst is not None and packet.dst.kind in (RTN_BROADCAST, RTN_MULTICAST)
    unreachable = ("__icmp_send", skb, ICMP_DEST_UNREACH, ICMP_PORT_UNREACH, 0)
    return (yield from receive(k, packet, group, "udp_queue_rcv_skb", unreachable, proto))


def receive(
    k: NetKernel, packet: Skb, group: bool, queue: str, unreachable: tuple[str, *tuple[int, ...]], protocol: int
) -> Body:
    """Both families: to every sock of a group, to one by the function `queue`, or a word to the sender (`yield from`)."""
    begun = yield from start(k, packet, protocol)
    if begun is None:
        return 0
    header, source, destination = begun
    sport, dport = int.from_bytes(header[:2], "big"), int.from_bytes(header[2:4], "big")
    net = packet.device.net
    if group:
        return (yield from to_group(k, packet, (source, sport, destination, dport), protocol))
    sk = stolen(k, packet) or lookup(k, net, destination, dport, source, sport, packet.iif, packet, protocol)
    if sk is None:
        net.ipv4.mib[mib_name(source, protocol) + "NoPorts"] += 1
        yield k.call(*unreachable)
        yield drop(k, packet, SKB_DROP_REASON_NO_SOCKET)
        return 0
    return (yield k.call(queue, sk.addr, packet.addr))


def to_group(k: NetKernel, packet: Skb, four: tuple[bytes, int, bytes, int], protocol: int) -> Body:
    """__udp4_lib_mcast_deliver(): every sock that wants it gets a copy (`yield from`)."""
    source, sport, destination, dport = four
    wanted = [
        sk for sk in k.net.datagrams(protocol).get((packet.device.net, dport), ())
        if hears(sk, destination, source, sport, packet.device)
    ]  # fmt: skip
    for sk in wanted[1:]:
        copy = yield from clone(k, packet)
        yield k.call("udp_queue_rcv_skb", sk.addr, copy.addr)
    if wanted:
        yield k.call("udp_queue_rcv_skb", wanted[0].addr, packet.addr)
    else:
        packet.device.net.ipv4.mib[mib_name(source, protocol) + "IgnoredMulti"] += 1
        yield k.call("consume_skb", packet.addr)
    return 0


def hears(sk: Sock, destination: bytes, source: bytes, sport: int, dev: NetDevice) -> bool:
    """__udp_is_mcast_sock(), ip_mc_sf_allow()."""
    if (sk.rport and sk.rport != sport) or (not is_any(sk.raddr) and sk.raddr != source):
        return False
    if not is_any(sk.laddr) and sk.laddr != destination:
        return False
    if (sk.v6only and len(destination) == 4) or (len(destination) == 16 and len(sk.any_address) == 4):
        return False
    if sk.bound_ifindex not in (0, dev.ifindex):
        return False
    group = len(destination) == 16 or 224 <= destination[0] <= 239
    return not group or sk.joined(destination, source, dev)


@kernel_function("int udp_queue_rcv_skb(struct sock *sk, struct sk_buff *skb)", source="net/ipv4/udp.c")
def udp_queue_rcv_skb(k: NetKernel, sk: int, skb: int) -> Body:
    """Filter, charge to the receive buffer, queue, wake; several that come as one are cut first."""
    sock, packet = k.net.socks[sk], k.net.skbs[skb]
    if is_expected(sock, packet):
        return (yield from _queue_one(k, sock, packet))
    for piece in (yield from pieces(k, packet)):
        piece.pull(piece.get("transport_header") - piece.get("network_header"))
        yield from _queue_one(k, sock, piece)
    yield k.call("consume_skb", skb)
    return 0


def _queue_one(k: NetKernel, sock: Sock, packet: Skb) -> Body:
    """udp_queue_rcv_one_skb() (`yield from`)."""
    sk, skb = sock.addr, packet.addr
    mib, name = sock.net.ipv4.mib, mib_name(sock.any_address, sock.protocol)
    if sock.protocol == IPPROTO_UDPLITE and not enough_covered(sock, packet.packet()):
        sock.dropped()
        mib[f"{name}InErrors"] += 1
        yield drop(k, packet, SKB_DROP_REASON_NOT_SPECIFIED)
        return -1
    if unwanted(k, sock, packet) or (sock.filter is not None and filtered(sock, packet, UDP_HEADER)):
        sock.dropped()
        mib[f"{name}InErrors"] += 1
        yield drop(k, packet, SKB_DROP_REASON_SOCKET_FILTER, sk)
        return -1
    if sock.encap_rcv:
        return (yield k.call(sock.encap_rcv, sk, skb))
    if sock.rmem + (0 if k.net.charges.udp_overshoots else packet.truesize) > sock.rcvbuf:
        sock.dropped()
        mib[f"{name}RcvbufErrors"] += 1
        mib[f"{name}InErrors"] += 1
        k.trace("udp_fail_queue_rcv_skb", -ENOMEM, sk, packet.addr)
        yield drop(k, packet, SKB_DROP_REASON_SOCKET_RCVBUFF, sk)
        return -1
    if sock.judges_received:
        packet.pull(UDP_HEADER)
    yield from deliver(k, sock, packet)
    return 0


@kernel_function(
    "int udp_recvmsg(struct sock *sk, struct msghdr *msg, size_t len, int flags, int *addr_len)",
    source="net/ipv4/udp.c",
)
def udp_recvmsg(k: NetKernel, sk: int, msg: int, length: int, flags: int, addr_len: int) -> Body:
    """One datagram in; what does not fit is lost (MSG_TRUNC)."""
    sock, message = k.net.socks[sk], k.net.messages[msg]
    if flags & MSG_ERRQUEUE:
        return (yield from receive_error(k, sock, message, length, SOL_IP, IP_RECVERR))
    packet = yield from wait_for_datagram(k, sock, message, length, flags)
    if isinstance(packet, int):
        return packet
    body = packet.packet()
    source, _ = addresses(packet)
    message.set_source(sock, source, int.from_bytes(body[:2], "big"))
    _, message.source, _ = k.net.programs.sock_addr(sock, message.source, uapi.BPF_CGROUP_UDP4_RECVMSG)
    ip_cmsg_recv(k, message, sock, packet)
    if not flags & MSG_PEEK:
        sock.net.ipv4.mib[mib_name(source, sock.protocol) + "InDatagrams"] += 1
    return (yield from message.take_packet(sock, packet, body[UDP_HEADER:], length, flags))


@kernel_function("int udp_err(struct sk_buff *skb, u32 info)", source="net/ipv4/udp.c")
def udp_err(k: NetKernel, skb: int, info: int) -> Body:
    """An ICMP error about a datagram."""
    return (yield from error_came(k, skb, info, IPPROTO_UDP))


def error_came(k: NetKernel, skb: int, info: int, protocol: int) -> Body:
    """__udp4_lib_err(): the sender hears of it if it is connected, or asked to (`yield from`)."""
    packet = k.net.skbs[skb]
    kind, code, quote = error_header(packet)
    source, sport, destination, dport = quoted_ports(quote)
    net = packet.device.net
    sk = lookup(k, net, source, sport, destination, dport, packet.iif, protocol=protocol)
    if sk is None:
        net.ipv4.mib["IcmpInErrors"] += 1
        return -EINVAL
    errno, fatal = verdict(kind, code)
    if (kind, code) == (ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED):
        if sk.pmtudisc == 0:
            return 0
        errno, fatal = EMSGSIZE, True
    if sk.recverr:
        payload = len(quote) - len(packet.packet())
        offender = sockaddr_in(k, addresses(packet)[0], 0)
        name = sockaddr_in(k, destination, dport)
        made = SkError(k, packet, errno, SO_EE_ORIGIN_ICMP, kind, code, info, payload, name, offender)
        yield from _queue_quote(k, sk, packet, made, (quote[0] & 15) * 4 + UDP_HEADER)
    elif not fatal or sk.state != TCP_ESTABLISHED:
        return 0
    sk.set_error(errno)
    yield k.call("sk_error_report", sk.addr)
    return 0


def _queue_quote(k: NetKernel, sk: Sock, packet: Skb, made: SkError, skip: int) -> Steps[None]:
    """ip_icmp_error(): what was quoted of the datagram's payload (`yield from`)."""
    copy = yield from clone(k, packet)
    copy.pull(min(skip, copy.len))
    yield from queue_error(k, sk, copy, made, copy=False)
