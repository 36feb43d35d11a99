"""Queues of packets: filling one through the socket's filter, waiting for one, emptying one.  net/core/{datagram,sock}.c."""

from __future__ import annotations

from arch.abi.errno import EAGAIN, EOPNOTSUPP
from arch.abi.socket import MSG_DONTWAIT, MSG_PEEK
from simkernel.kernel.face import Body, KernelFace, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.message import Message
from simkernel.net.core.security import unwanted
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import SKB_DROP_REASON_SOCKET_FILTER, SKB_DROP_REASON_SOCKET_RCVBUFF, drop
from simkernel.net.core.sock import RCV_SHUTDOWN, Sock, sleep, until
from simkernel.net.face import NetKernel


def queue_or_drop(k: NetKernel, sock: Sock, packet: Skb) -> Body:
    """sk_filter() and sock_queue_rcv_skb(): the filter's answer is the number of bytes to keep, 0 drops."""
    if unwanted(k, sock, packet):
        yield drop(k, packet, SKB_DROP_REASON_SOCKET_FILTER, sock.addr)
        return 0
    if sock.filter is not None and filtered(sock, packet, 1):
        yield drop(k, packet, SKB_DROP_REASON_SOCKET_FILTER, sock.addr)
        return 0
    if sock.rmem >= sock.rcvbuf:
        sock.dropped()
        k.trace("sock_rcvqueue_full", sock.addr, packet.addr)
        yield drop(k, packet, SKB_DROP_REASON_SOCKET_RCVBUFF, sock.addr)
        return 0
    yield from deliver(k, sock, packet)
    return 0


def deliver(k: NetKernel, sock: Sock, packet: Skb) -> Steps[None]:
    """To its reader, or to the programs of the socket maps that it is in (`yield from`)."""
    if sock.judges_received:
        yield from k.net.programs.judge(sock, packet)
        return
    sock.queue(packet)
    yield k.call("sock_def_readable", sock.addr)


def stolen(k: NetKernel, packet: Skb) -> Sock | None:
    """skb_steal_sock(): the one that a program has chosen."""
    chosen, packet.assigned = packet.assigned, None
    return k.net.socks.get(chosen.addr) if chosen is not None else None


def filtered(sock: Sock, packet: Skb, least: int) -> bool:
    """sk_filter_trim_cap(): the program's answer is how many bytes to keep, `least` at least; 0: True, the packet is not wanted."""
    assert sock.filter is not None
    keep = sock.filter(packet)
    if keep and keep < packet.len:
        packet.trim(max(keep, min(least, packet.len)))
    return keep == 0


def kept_of(k: KernelFace, sock: Sock, data: bytes) -> bytes | None:
    """sk_filter() of what is no packet here: what the receiver's program keeps of a datagram; None: it does not want it."""
    if sock.filter is None:
        return data
    packet = Skb.alloc(k, len(data))
    try:
        packet.set_protocol(0)
        packet.set_owner(sock)
        packet.put_data(data)
        return None if filtered(sock, packet, 1) else packet.packet()
    finally:
        packet.release()


@kernel_function("void sk_error_report(struct sock *sk)", source="net/core/sock.c", since="5.15")
def sk_error_report(k: NetKernel, sk: int) -> Body:
    """Wake who waits for errors."""
    k.trace("inet_sk_error_report", sk)
    yield k.wake(k.net.socks[sk].wq)
    return 0


@kernel_function("void sock_def_readable(struct sock *sk)", source="net/core/sock.c")
def sock_def_readable(k: NetKernel, sk: int) -> Body:
    """Wake who waits to read."""
    k.trace("sk_data_ready", sk)
    yield k.wake(k.net.socks[sk].wq)
    return 0


def wait_for_packet(k: NetKernel, sk: Sock, flags: int) -> Steps[Skb | int]:
    """__skb_recv_datagram(): the first queued packet, or -errno; sleeps unless MSG_DONTWAIT (`yield from`)."""
    end = until(sk)
    while not sk.receive_queue:
        if sk.err:
            return -sk.take_error()
        if sk.shutdown & RCV_SHUTDOWN or sk.judged:
            return 0
        if flags & MSG_DONTWAIT:
            return -EAGAIN
        ret = yield from sleep(k, sk.wq, end, exclusive=True)
        if ret < 0:
            return ret
    return sk.receive_queue[0]


def wait_for_datagram(k: NetKernel, sk: Sock, message: Message, length: int, flags: int) -> Steps[Skb | int]:
    """udp_bpf_recvmsg(): a packet; what programs of socket maps let through comes first: so many bytes of it (`yield from`)."""
    if not length and (sk.judged or sk.judges_received):
        return 0
    packet = 0 if sk.judged else (yield from wait_for_packet(k, sk, flags))
    return hear_judged(sk, message, length, flags) if sk.judged else packet


def hear_judged(sk: Sock, message: Message, length: int, flags: int) -> int:
    """sk_msg_recvmsg(): it has no borders, and no sender."""
    data = b"".join(sk.judged)
    message.scatter(data[:length])
    if not flags & MSG_PEEK:
        sk.judged.clear()
        if data[length:]:
            sk.judged.append(data[length:])
    return min(len(data), length)


def drain_and_free(k: NetKernel, sk: Sock) -> Steps[None]:
    """Throw away what was not read, then the sock."""
    while sk.receive_queue:
        yield k.call("consume_skb", sk.receive_queue.popleft().addr)
    sk.free()


@kernel_function("int sock_no_sendmsg(struct socket *sock, struct msghdr *m, size_t len)", source="net/core/sock.c")
def sock_no_sendmsg(k: NetKernel, sock: int, m: int, length: int) -> int:
    """Of sockets that nothing is sent through."""
    return -EOPNOTSUPP


@kernel_function(
    "int sock_no_recvmsg(struct socket *sock, struct msghdr *m, size_t len, int flags)", source="net/core/sock.c"
)
def sock_no_recvmsg(k: NetKernel, sock: int, m: int, length: int, flags: int) -> int:
    """Of sockets that nothing comes out of."""
    return -EOPNOTSUPP
