"""UDP over IPv4.  net/ipv4/udp.c."""

from __future__ import annotations

from arch.abi.errno import EMSGSIZE
from arch.abi.inet import ICMP_DEST_UNREACH, ICMP_PORT_UNREACH, INADDR_ANY, IPPROTO_UDP, TCP_ESTABLISHED
from bpf import uapi
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.datagram import wait_for_packet
from simkernel.net.core.skbuff import (
    SKB_DROP_REASON_IP_INHDR,
    SKB_DROP_REASON_NO_SOCKET,
    SKB_DROP_REASON_SOCKET_FILTER,
    SKB_DROP_REASON_SOCKET_RCVBUFF,
    drop,
)
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import addresses
from simkernel.net.ipv4.ip_output import ip_send, source_for

UDP_HEADER = 8
UDP_MAX = 65507  # largest payload of one datagram


def lookup(k: NetKernel, address: bytes, port: int, source: bytes, sport: int) -> Sock | None:
    """__udp4_lib_lookup(): the sock whose bindings match best."""
    best, best_score = None, -1
    for sk in k.net.udp.get(port, ()):
        score = 0
        if sk.laddr != INADDR_ANY:
            if sk.laddr != address:
                continue
            score += 4
        if sk.state == TCP_ESTABLISHED:
            if (sk.raddr, sk.rport) != (source, sport):
                continue
            score += 8
        if score > best_score:
            best, best_score = sk, score
    return best


@kernel_function("int udp_sendmsg(struct sock *sk, struct msghdr *msg, size_t len)", source="net/ipv4/udp.c")
def udp_sendmsg(k: NetKernel, sk: int, msg: int, length: int) -> Body:
    """One datagram out; the address comes from the message or from connect()."""
    sock, message = k.net.socks[sk], k.net.messages[msg]
    if length > 0xFFFF:
        return -EMSGSIZE
    destination, port = message.destination(sock)
    if length > UDP_MAX:
        return -EMSGSIZE
    source = sock.laddr
    if message.name or sock.state != TCP_ESTABLISHED:
        error, name, source = k.net.programs.sendmsg(sock, message.name, source, uapi.BPF_CGROUP_UDP4_SENDMSG)
        if error:
            return error
        if name != message.name:
            message.name = name
            destination, port = message.destination(sock)
    source = source if source != INADDR_ANY else source_for(k, destination)
    head = sock.lport.to_bytes(2, "big") + port.to_bytes(2, "big") + (UDP_HEADER + length).to_bytes(2, "big") + b"\0\0"
    ret = yield from ip_send(k, source, destination, IPPROTO_UDP, head + message.data, sock)
    return length if ret >= 0 else ret


@kernel_function("int udp_rcv(struct sk_buff *skb)", source="net/ipv4/udp.c")
def udp_rcv(k: NetKernel, skb: int) -> Body:
    """A datagram arrives."""
    return (yield k.call("__udp4_lib_rcv", skb, 0, IPPROTO_UDP))


@kernel_function(
    "int __udp4_lib_rcv(struct sk_buff *skb, struct udp_table *udptable, int proto)", source="net/ipv4/udp.c"
)
def __udp4_lib_rcv(k: NetKernel, skb: int, udptable: int, proto: int) -> Body:
    """Find the sock; without one tell the sender and drop."""
    packet = k.net.skbs[skb]
    header = packet.packet()[:UDP_HEADER]
    length = int.from_bytes(header[4:6], "big")
    if len(header) < UDP_HEADER or length < UDP_HEADER or length > packet.len:
        yield drop(k, packet, SKB_DROP_REASON_IP_INHDR)
        return 0
    packet.trim(length)
    sport, dport = int.from_bytes(header[:2], "big"), int.from_bytes(header[2:4], "big")
    source, destination = addresses(packet)
    sk = lookup(k, destination, dport, source, sport)
    if sk is None:
        yield k.call("__icmp_send", skb, ICMP_DEST_UNREACH, ICMP_PORT_UNREACH, 0)
        yield drop(k, packet, SKB_DROP_REASON_NO_SOCKET)
        return 0
    return (yield k.call("udp_queue_rcv_skb", sk.addr, skb))


@kernel_function("int udp_queue_rcv_skb(struct sock *sk, struct sk_buff *skb)", source="net/ipv4/udp.c")
def udp_queue_rcv_skb(k: NetKernel, sk: int, skb: int) -> Body:
    """Filter, charge to the receive buffer, queue, wake."""
    sock, packet = k.net.socks[sk], k.net.skbs[skb]
    if k.net.programs.ingress(sock, packet) or (sock.filter is not None and sock.filter(packet) == 0):
        yield drop(k, packet, SKB_DROP_REASON_SOCKET_FILTER, sk)
        return -1
    if sock.rmem + packet.truesize > sock.rcvbuf:
        sock.drops += 1
        sock.view.sk_drops.counter = sock.drops
        yield drop(k, packet, SKB_DROP_REASON_SOCKET_RCVBUFF, sk)
        return -1
    sock.queue(packet)
    yield k.call("sock_def_readable", sk)
    return 0


@kernel_function(
    "int udp_recvmsg(struct sock *sk, struct msghdr *msg, size_t len, int flags, int *addr_len)",
    source="net/ipv4/udp.c",
)
def udp_recvmsg(k: NetKernel, sk: int, msg: int, length: int, flags: int, addr_len: int) -> Body:
    """One datagram in; what does not fit is lost (MSG_TRUNC)."""
    sock, message = k.net.socks[sk], k.net.messages[msg]
    packet = yield from wait_for_packet(k, sock, flags)
    if isinstance(packet, int):
        return packet
    body = packet.packet()
    source, _ = addresses(packet)
    message.set_source(source, int.from_bytes(body[:2], "big"))
    _, message.source, _ = k.net.programs.sock_addr(sock, message.source, uapi.BPF_CGROUP_UDP4_RECVMSG)
    return (yield from message.take_packet(sock, packet, body[UDP_HEADER:], length, flags))
