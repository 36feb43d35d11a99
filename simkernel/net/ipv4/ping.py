"""Sockets for echo requests: SOCK_DGRAM with IPPROTO_ICMP, for those whose group may.  net/ipv4/ping.c."""

from __future__ import annotations

from arch.abi.errno import EACCES, EADDRINUSE, EINVAL, EMSGSIZE
from arch.abi.inet import ICMP_ECHO, INADDR_ANY, IPPROTO_ICMP, TCP_ESTABLISHED
from arch.errors import KernelError
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.control import receive_control
from simkernel.net.core.datagram import queue_or_drop, wait_for_packet
from simkernel.net.core.netns import Net
from simkernel.net.core.security import classify_flow
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import clone
from simkernel.net.core.sock import Sock, hash_port
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import ICMP_HEADER, addresses, with_checksum
from simkernel.net.ipv4.ip_output import ip_send, source_for


def may_ping(k: NetKernel, net: Net) -> None:
    """ping_init_sock(): net.ipv4.ping_group_range.  EACCES."""
    low, high = map(int, str(net.sysctl["ipv4.ping_group_range"]).split())
    cred = k.current.cred
    if not any(low <= group <= high for group in (cred.egid, *cred.groups)):
        raise KernelError(EACCES)


def get_port(k: NetKernel, sk: Sock, wanted: int) -> None:
    """ping_get_port(): the identifier of its requests.  EADDRINUSE."""
    table = k.net.ping
    if wanted and any(not (o.reuse and sk.reuse) for o in table.get((sk.net, wanted), ()) if o is not sk):
        raise KernelError(EADDRINUSE)
    if not wanted:
        wanted = next(n for n in range(1, 0x10000) if (sk.net, n) not in table)
    sk.lport = wanted
    hash_port(table, sk)
    sk.sync_addresses()


@kernel_function("int ping_v4_sendmsg(struct sock *sk, struct msghdr *msg, size_t len)", source="net/ipv4/ping.c")
def ping_v4_sendmsg(k: NetKernel, sk: int, msg: int, length: int) -> Body:
    """An echo request whose identifier and checksum are the kernel's."""
    sock, message = k.net.socks[sk], k.net.messages[msg]
    if length > 0xFFFF:
        return -EMSGSIZE
    if length < ICMP_HEADER:
        return -EINVAL
    body = message.data
    if body[0] != ICMP_ECHO or body[1]:
        return -EINVAL
    destination, _ = message.destination(sock)
    if not sock.lport:
        get_port(k, sock, 0)
    body = with_checksum(body[:4] + sock.lport.to_bytes(2, "big") + body[6:])
    source = sock.laddr if sock.laddr != INADDR_ANY else source_for(k, sock.net, destination, sock.bound_ifindex)
    classify_flow(k, sock)
    ret = yield from ip_send(k, sock.net, source, destination, IPPROTO_ICMP, body, sock, sock.bound_ifindex)
    return length if ret >= 0 else ret


def ping_rcv(k: NetKernel, packet: Skb, body: bytes) -> Steps[None]:
    """An echo reply for whoever asked (`yield from`)."""
    net, (source, destination) = packet.device.net, addresses(packet)
    for sk in list(k.net.ping.get((net, int.from_bytes(body[4:6], "big")), ())):
        if sk.laddr not in (INADDR_ANY, destination) or (sk.state == TCP_ESTABLISHED and sk.raddr != source):
            continue
        if sk.bound_ifindex not in (0, packet.iif):
            continue
        copy = yield from clone(k, packet)
        copy.push(ICMP_HEADER)
        yield k.call("ping_queue_rcv_skb", sk.addr, copy.addr)


@kernel_function("int ping_queue_rcv_skb(struct sock *sk, struct sk_buff *skb)", source="net/ipv4/ping.c")
def ping_queue_rcv_skb(k: NetKernel, sk: int, skb: int) -> Body:
    """Queue it like a datagram."""
    return (yield from queue_or_drop(k, k.net.socks[sk], k.net.skbs[skb]))


@kernel_function(
    "int ping_recvmsg(struct sock *sk, struct msghdr *msg, size_t len, int flags, int *addr_len)",
    source="net/ipv4/ping.c",
)
def ping_recvmsg(k: NetKernel, sk: int, msg: int, length: int, flags: int, addr_len: int) -> Body:
    """One reply from its ICMP header on."""
    sock, message = k.net.socks[sk], k.net.messages[msg]
    packet = yield from wait_for_packet(k, sock, flags)
    if isinstance(packet, int):
        return packet
    message.set_source(sock, addresses(packet)[0], 0)
    receive_control(k, message, sock, packet)
    return (yield from message.take_packet(sock, packet, packet.packet(), length, flags))
