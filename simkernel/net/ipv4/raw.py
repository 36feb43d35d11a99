"""Raw IPv4 sockets, as ping uses them.  net/ipv4/raw.c."""

from __future__ import annotations

from arch.abi.inet import INADDR_ANY
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.datagram import queue_or_drop, wait_for_packet
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import clone
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import addresses
from simkernel.net.ipv4.ip_output import ip_send, source_for


@kernel_function("int raw_sendmsg(struct sock *sk, struct msghdr *msg, size_t len)", source="net/ipv4/raw.c")
def raw_sendmsg(k: NetKernel, sk: int, msg: int, length: int) -> Body:
    """The caller wrote everything after the IP header."""
    sock, message = k.net.socks[sk], k.net.messages[msg]
    destination, _ = message.destination(sock)
    source = sock.laddr if sock.laddr != INADDR_ANY else source_for(k, destination)
    ret = yield from ip_send(k, source, destination, sock.protocol, message.data, sock)
    return length if ret >= 0 else ret


def raw_deliver(k: NetKernel, packet: Skb, protocol: int) -> Steps[bool]:
    """raw_local_deliver(): a copy, with its IP header, to every matching raw sock; says whether there was one."""
    taken = False
    for sk in list(k.net.raw):
        if sk.protocol != protocol:
            continue
        if sk.raddr != INADDR_ANY and sk.raddr != addresses(packet)[0]:
            continue
        copy = yield from clone(k, packet)
        copy.push(copy.data - copy.network_header())
        yield k.call("raw_rcv", sk.addr, copy.addr)
        taken = True
    return taken


@kernel_function("int raw_rcv(struct sock *sk, struct sk_buff *skb)", source="net/ipv4/raw.c")
def raw_rcv(k: NetKernel, sk: int, skb: int) -> Body:
    """Queue it like a datagram."""
    return (yield from queue_or_drop(k, k.net.socks[sk], k.net.skbs[skb]))


@kernel_function(
    "int raw_recvmsg(struct sock *sk, struct msghdr *msg, size_t len, int flags, int *addr_len)",
    source="net/ipv4/raw.c",
)
def raw_recvmsg(k: NetKernel, sk: int, msg: int, length: int, flags: int, addr_len: int) -> Body:
    """One packet with its IP header."""
    sock, message = k.net.socks[sk], k.net.messages[msg]
    packet = yield from wait_for_packet(k, sock, flags)
    if isinstance(packet, int):
        return packet
    message.set_source(addresses(packet)[0], 0)
    return (yield from message.take_packet(sock, packet, packet.packet(), length, flags))
