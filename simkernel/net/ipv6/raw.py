"""Raw IPv6 sockets.  net/ipv6/raw.c.  What they receive begins behind the IPv6 header."""

from __future__ import annotations

from arch.abi.errno import EINVAL, EMSGSIZE
from arch.abi.in6 import IPV6_RECVERR
from arch.abi.inet import ETH_P_IPV6, IN6ADDR_ANY, IPPROTO_ICMPV6
from arch.abi.socket import MSG_ERRQUEUE, SOL_IPV6
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.datagram import queue_or_drop, wait_for_packet
from simkernel.net.core.errqueue import receive_error
from simkernel.net.core.netns import Net
from simkernel.net.core.security import classify_flow
from simkernel.net.core.skb import Dst, Skb
from simkernel.net.core.skbuff import clone, new_skb
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import addresses, checksum
from simkernel.net.ipv6.addr import is_group
from simkernel.net.ipv6.ip6_output import ip6_send
from simkernel.net.ipv6.ipv6_sockglue import destination6, ip6_datagram_recv_ctl, ip6_datagram_send_ctl
from simkernel.net.ipv6.route import route_output


@kernel_function("int rawv6_sendmsg(struct sock *sk, struct msghdr *msg, size_t len)", source="net/ipv6/raw.c")
def rawv6_sendmsg(k: NetKernel, sk: int, msg: int, length: int) -> Body:
    """The caller wrote everything after the IPv6 header, or that too (IPV6_HDRINCL)."""
    sock, message = k.net.socks[sk], k.net.messages[msg]
    if length > 0x7FFFFFFF:
        return -EMSGSIZE
    destination, _, scope = destination6(k, sock, message)
    if len(destination) != len(IN6ADDR_ANY):
        return -EINVAL
    extra = ip6_datagram_send_ctl(k, sock, message)
    oif = extra.ifindex or scope or sock.route_device(destination)
    classify_flow(k, sock)
    way = route_output(k, sock.net, destination, extra.source or sock.laddr, oif, sock.mark, bool(sock.bound_ifindex))
    if sock.hdrincl:
        return (yield from _with_header(k, sock, sock.net, way, message.data))
    body, at = message.data, sock.np.checksum_at
    if at >= 0:
        if at + 2 > len(body):
            return -EINVAL
        pseudo = way.source + destination + len(body).to_bytes(4, "big") + sock.protocol.to_bytes(4, "big")
        blank = body[:at] + b"\0\0" + body[at + 2 :]
        body = body[:at] + (checksum(pseudo + blank) or 0xFFFF).to_bytes(2, "big") + body[at + 2 :]
    if sock.protocol == IPPROTO_ICMPV6 and body:
        sock.net.ipv6.mib["Icmp6OutMsgs"] += 1
        sock.net.ipv6.mib[f"Icmp6OutType{body[0]}"] += 1
    ret = yield from ip6_send(
        k, sock.net, way.source, destination, sock.protocol, body, sock, oif, extra.hop_limit, extra.tclass
    )
    return length if ret >= 0 else ret


def _with_header(k: NetKernel, sk: Sock, net: Net, way: Dst, data: bytes) -> Body:
    """rawv6_send_hdrinc() (`yield from`).  EMSGSIZE, EINVAL."""
    if len(data) > way.mtu:
        return -EMSGSIZE
    if len(data) < 40:
        return -EINVAL
    skb = yield from new_skb(k, len(data), sk)
    skb.put_data(data)
    skb.reset_network_header()
    skb.set_protocol(ETH_P_IPV6)
    skb.dst = way
    skb.set_dev(way.dev)
    ret = yield k.call("ip6_output", net.addr, sk.addr, skb.addr)
    return len(data) if ret >= 0 else ret


def raw6_deliver(k: NetKernel, packet: Skb, protocol: int) -> Steps[bool]:
    """ipv6_raw_deliver(): a copy to every matching raw sock (`yield from`); says whether there was one."""
    taken = False
    source, destination = addresses(packet)
    for sk in list(k.net.raw):
        if sk.ip6 is None or sk.net is not packet.device.net or sk.protocol != protocol:
            continue
        if sk.raddr not in (IN6ADDR_ANY, source) or sk.bound_ifindex not in (0, packet.iif):
            continue
        if sk.laddr not in (IN6ADDR_ANY, destination) and not is_group(destination):
            continue
        if is_group(destination) and not sk.joined(destination, source, packet.device):
            continue
        taken = True
        if protocol == IPPROTO_ICMPV6 and packet.len and sk.ip6.icmp_filter >> packet.packet()[0] & 1:
            continue
        copy = yield from clone(k, packet)
        yield k.call("rawv6_rcv", sk.addr, copy.addr)
    return taken


@kernel_function("int rawv6_rcv(struct sock *sk, struct sk_buff *skb)", source="net/ipv6/raw.c")
def rawv6_rcv(k: NetKernel, sk: int, skb: int) -> Body:
    """Queue it like a datagram."""
    return (yield from queue_or_drop(k, k.net.socks[sk], k.net.skbs[skb]))


@kernel_function(
    "int rawv6_recvmsg(struct sock *sk, struct msghdr *msg, size_t len, int flags, int *addr_len)",
    source="net/ipv6/raw.c",
)
def rawv6_recvmsg(k: NetKernel, sk: int, msg: int, length: int, flags: int, addr_len: int) -> Body:
    """One packet from its transport header on."""
    sock, message = k.net.socks[sk], k.net.messages[msg]
    if flags & MSG_ERRQUEUE:
        return (yield from receive_error(k, sock, message, length, SOL_IPV6, IPV6_RECVERR))
    packet = yield from wait_for_packet(k, sock, flags)
    if isinstance(packet, int):
        return packet
    message.set_source(sock, addresses(packet)[0], 0, packet.iif)
    ip6_datagram_recv_ctl(k, message, sock, packet)
    return (yield from message.take_packet(sock, packet, packet.packet(), length, flags))
