"""Raw IPv4 sockets, as ping uses them.  net/ipv4/raw.c."""

from __future__ import annotations

from arch.abi.errno import EINVAL, EMSGSIZE
from arch.abi.inet import INADDR_ANY, IP_RECVERR
from arch.abi.socket import MSG_ERRQUEUE, SOL_IP
from arch.errors import KernelError
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.datagram import queue_or_drop, wait_for_packet
from simkernel.net.core.errqueue import receive_error
from simkernel.net.core.security import classify_flow
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import clone, new_skb
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import IP_HEADER, addresses, checksum
from simkernel.net.ipv4.ip_output import identifier, ip_send, source_for
from simkernel.net.ipv4.ip_sockglue import ip_cmsg_recv
from simkernel.net.ipv4.route import simple_output


@kernel_function("int raw_sendmsg(struct sock *sk, struct msghdr *msg, size_t len)", source="net/ipv4/raw.c")
def raw_sendmsg(k: NetKernel, sk: int, msg: int, length: int) -> Body:
    """The caller wrote everything after the IP header, or that too (IP_HDRINCL)."""
    sock, message = k.net.socks[sk], k.net.messages[msg]
    if length > 0xFFFF:
        return -EMSGSIZE
    destination, _ = message.destination(sock)
    source = sock.laddr
    if source == INADDR_ANY:
        source = source_for(k, sock.net, destination, sock.bound_ifindex)
    classify_flow(k, sock)
    if sock.hdrincl:
        return (yield from _with_header(k, sock, destination, source, message.data))
    ret = yield from ip_send(k, sock.net, source, destination, sock.protocol, message.data, sock, sock.bound_ifindex)
    return length if ret >= 0 else ret


def _with_header(k: NetKernel, sk: Sock, destination: bytes, source: bytes, data: bytes) -> Body:
    """raw_send_hdrinc() (`yield from`): source, number, length and checksum are filled in where they are 0.  EINVAL, EMSGSIZE."""
    try:
        way = simple_output(k, sk.net, destination, sk.laddr, sk.bound_ifindex)
    except KernelError as error:
        return -error.errno
    if len(data) > way.mtu:
        return -EMSGSIZE
    if len(data) < IP_HEADER:
        return -EINVAL
    size = (data[0] & 15) * 4
    if size > len(data):
        return -EINVAL
    if size >= IP_HEADER:
        head = bytearray(data[:size])
        if head[12:16] == INADDR_ANY:
            head[12:16] = source
        head[10:12], head[2:4] = b"\0\0", len(data).to_bytes(2, "big")
        if head[4:6] == b"\0\0":
            head[4:6] = identifier(k, sk.net, None, 0).to_bytes(2, "big")
        head[10:12] = checksum(bytes(head)).to_bytes(2, "big")
        data = bytes(head) + data[size:]
    skb = yield from new_skb(k, len(data), sk)
    skb.put_data(data)
    skb.reset_network_header()
    skb.set("transport_header", skb.get("network_header") + size)
    skb.dst = way
    skb.set_dev(way.dev)
    ret = yield k.call("ip_local_out", sk.net.addr, sk.addr, skb.addr)
    return len(data) if ret >= 0 else ret


def matches(sk: Sock, packet: Skb, protocol: int, source: bytes, destination: bytes) -> bool:
    """raw_v4_match()."""
    return (
        sk.net is packet.device.net
        and sk.protocol == protocol
        and sk.raddr in (INADDR_ANY, source)
        and sk.laddr in (INADDR_ANY, destination)
        and sk.bound_ifindex in (0, packet.iif)
    )


def raw_deliver(k: NetKernel, packet: Skb, protocol: int) -> Steps[bool]:
    """raw_local_deliver(): a copy, with its IP header, to every matching raw sock; says whether there was one."""
    taken = False
    source, destination = addresses(packet)
    for sk in list(k.net.raw):
        if len(sk.any_address) != 4 or not matches(sk, packet, protocol, source, destination):
            continue
        if sk.icmp_filter and protocol == 1 and packet.len and sk.icmp_filter >> packet.packet()[0] & 1:
            continue
        copy = yield from clone(k, packet)
        yield k.call("raw_rcv", sk.addr, copy.addr)
        taken = True
    return taken


@kernel_function("int raw_rcv(struct sock *sk, struct sk_buff *skb)", source="net/ipv4/raw.c")
def raw_rcv(k: NetKernel, sk: int, skb: int) -> Body:
    """With its IP header, queue it like a datagram."""
    sock, packet = k.net.socks[sk], k.net.skbs[skb]
    packet.push(packet.data - packet.network_header())
    return (yield from queue_or_drop(k, sock, packet))


@kernel_function(
    "int raw_recvmsg(struct sock *sk, struct msghdr *msg, size_t len, int flags, int *addr_len)",
    source="net/ipv4/raw.c",
)
def raw_recvmsg(k: NetKernel, sk: int, msg: int, length: int, flags: int, addr_len: int) -> Body:
    """One packet with its IP header."""
    sock, message = k.net.socks[sk], k.net.messages[msg]
    if flags & MSG_ERRQUEUE:
        return (yield from receive_error(k, sock, message, length, SOL_IP, IP_RECVERR))
    packet = yield from wait_for_packet(k, sock, flags)
    if isinstance(packet, int):
        return packet
    message.set_source(sock, addresses(packet)[0], 0)
    ip_cmsg_recv(k, message, sock, packet)
    return (yield from message.take_packet(sock, packet, packet.packet(), length, flags))
