"""Sockets for echo requests: SOCK_DGRAM with IPPROTO_ICMPV6.  net/ipv6/ping.c."""

from __future__ import annotations

from arch.abi.errno import EINVAL, EMSGSIZE
from arch.abi.in6 import ICMPV6_ECHO_REQUEST
from arch.abi.inet import IN6ADDR_ANY, IPPROTO_ICMPV6, TCP_ESTABLISHED
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.security import classify_flow
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import clone
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import ICMP_HEADER, addresses
from simkernel.net.ipv4.ping import get_port
from simkernel.net.ipv6.header import icmpv6_checksum
from simkernel.net.ipv6.ip6_output import ip6_send
from simkernel.net.ipv6.ipv6_sockglue import destination6, ip6_datagram_send_ctl
from simkernel.net.ipv6.route import route_output


@kernel_function("int ping_v6_sendmsg(struct sock *sk, struct msghdr *msg, size_t len)", source="net/ipv6/ping.c")
def ping_v6_sendmsg(k: NetKernel, sk: int, msg: int, length: int) -> Body:
    """An echo request whose identifier and checksum are the kernel's."""
    sock, message = k.net.socks[sk], k.net.messages[msg]
    if length > 0xFFFF:
        return -EMSGSIZE
    if length < ICMP_HEADER or message.data[0] != ICMPV6_ECHO_REQUEST or message.data[1]:
        return -EINVAL
    destination, _, scope = destination6(k, sock, message)
    if len(destination) != len(IN6ADDR_ANY):
        return -EINVAL
    extra = ip6_datagram_send_ctl(k, sock, message)
    oif = extra.ifindex or scope or sock.route_device(destination)
    if not sock.lport:
        get_port(k, sock, 0)
    classify_flow(k, sock)
    way = route_output(k, sock.net, destination, extra.source or sock.laddr, oif, sock.mark)
    body = message.data[:4] + sock.lport.to_bytes(2, "big") + message.data[6:]
    body = icmpv6_checksum(way.source, destination, body)
    sock.net.ipv6.mib["Icmp6OutMsgs"] += 1
    sock.net.ipv6.mib[f"Icmp6OutType{body[0]}"] += 1
    ret = yield from ip6_send(
        k, sock.net, way.source, destination, IPPROTO_ICMPV6, body, sock, oif, extra.hop_limit, extra.tclass
    )
    return length if ret >= 0 else ret


def ping6_rcv(k: NetKernel, packet: Skb, body: bytes) -> Steps[None]:
    """ping_rcv(): an echo reply for whoever asked (`yield from`)."""
    net, (source, destination) = packet.device.net, addresses(packet)
    for sk in list(k.net.ping.get((net, int.from_bytes(body[4:6], "big")), ())):
        if sk.ip6 is None or sk.laddr not in (IN6ADDR_ANY, destination):
            continue
        if (sk.state == TCP_ESTABLISHED and sk.raddr != source) or sk.bound_ifindex not in (0, packet.iif):
            continue
        copy = yield from clone(k, packet)
        yield k.call("ping_queue_rcv_skb", sk.addr, copy.addr)
