"""TCP over IPv4: connections, streams, flow control, orderly and abortive close.  net/ipv4/tcp*.c.

Frames are not lost on the simulated links, so there is no retransmission and no congestion window: a segment goes out
when the peer's receive window has room.  States and the functions on the way are Linux's.
"""

from __future__ import annotations

from typing import Any

from arch.abi.errno import EAGAIN, ECONNREFUSED, ECONNRESET, EINPROGRESS, EISCONN, ENOTCONN, EPIPE
from arch.abi.inet import (
    INADDR_ANY,
    IPPROTO_TCP,
    TCP_CLOSE,
    TCP_CLOSE_WAIT,
    TCP_CLOSING,
    TCP_ESTABLISHED,
    TCP_FIN_WAIT1,
    TCP_FIN_WAIT2,
    TCP_LAST_ACK,
    TCP_LISTEN,
    TCP_SYN_RECV,
    TCP_SYN_SENT,
    TCP_TIME_WAIT,
)
from arch.abi.limits import U32_MAX
from arch.abi.socket import MSG_DONTWAIT, MSG_PEEK, MSG_WAITALL
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.ipv4 import addresses, ip_queue, ip_send, source_for
from simkernel.net.skb import Skb, drop, new_skb
from simkernel.net.sock import Sock, unbind
from simkernel.net.state import RCV_SHUTDOWN, SEND_SHUTDOWN, SHUTDOWN_MASK, SKB_DROP_REASON_NO_SOCKET

FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10
TCP_HEADER = 20
MSS = 65483 - 20  # what lo's MTU leaves after IP and TCP headers with timestamps
MSS_ETHERNET = 1460
WINDOW_SCALE = 7
TIME_WAIT_NS = 60 * 10**9


def key_of(sk: Sock) -> tuple[bytes, int, bytes, int]:
    """The four-tuple of a connection, from its own side."""
    return (sk.laddr, sk.lport, sk.raddr, sk.rport)


@kernel_function("void tcp_set_state(struct sock *sk, int state)", source="net/ipv4/tcp.c")
def tcp_set_state(k: Any, sk: int, state: int) -> int:
    """Change the state, visibly: tracepoint sock:inet_sock_set_state."""
    sock = k.net.socks[sk]
    k.trace("inet_sock_set_state", sk, sock.state, state)
    sock.state = state
    sock.view["__sk_common"].skc_state = state
    if state == TCP_CLOSE and sock.listener is None:
        unhash(k, sock)
    return 0


def unhash(k: Any, sk: Sock) -> None:
    """Take a sock out of the lookup tables."""
    if k.net.tcp_established.get(key_of(sk)) is sk:
        del k.net.tcp_established[key_of(sk)]
    unbind(k.net.tcp_listen, sk)
    unbind(k.net.tcp_bound, sk)


# -------------------------------------------------------------------------------------------------------------- output


def header(sk: Sock, flags: int, seq: int) -> bytes:
    """A 20-byte TCP header; the window is advertised scaled by WINDOW_SCALE."""
    window = min(max(sk.rcvbuf - sk.rmem, 0) >> WINDOW_SCALE, 0xFFFF)
    ack = sk.rcv_nxt if flags & ACK else 0
    return (
        sk.lport.to_bytes(2, "big")
        + sk.rport.to_bytes(2, "big")
        + (seq & U32_MAX).to_bytes(4, "big")
        + (ack & U32_MAX).to_bytes(4, "big")
        + bytes((5 << 4, flags))
        + window.to_bytes(2, "big")
        + b"\0\0\0\0"
    )


def transmit(k: Any, sk: Sock, flags: int, data: bytes = b"") -> Any:
    """`yield from`: one segment at snd_nxt through __tcp_transmit_skb."""
    skb = yield from new_skb(k, len(data), sk)
    skb.put(data)
    skb.push(header(sk, flags, sk.snd_nxt))
    sk.snd_nxt = (sk.snd_nxt + len(data) + bool(flags & (SYN | FIN))) & U32_MAX
    return (yield k.call("__tcp_transmit_skb", sk.addr, skb.addr, 1, 0, sk.rcv_nxt))


@kernel_function(
    "int __tcp_transmit_skb(struct sock *sk, struct sk_buff *skb, int clone_it, gfp_t gfp_mask, u32 rcv_nxt)",
    source="net/ipv4/tcp_output.c",
    names={None: "tcp_transmit_skb", "4.15": "__tcp_transmit_skb"},
)
def __tcp_transmit_skb(k: Any, sk: int, skb: int, clone_it: int, gfp_mask: int, rcv_nxt: int) -> Any:
    """Hand a segment to IP."""
    return (yield k.call("__ip_queue_xmit", sk, skb, 0, 0))


@kernel_function(
    "int __ip_queue_xmit(struct sock *sk, struct sk_buff *skb, struct flowi *fl, __u8 tos)",
    source="net/ipv4/ip_output.c",
    names={None: "ip_queue_xmit", "5.0": "__ip_queue_xmit"},
)
def __ip_queue_xmit(k: Any, sk: int, skb: int, fl: int, tos: int) -> Any:
    """Route by the connection and put the IP header on."""
    sock = k.net.socks[sk]
    return (yield from ip_queue(k, k.net.skbs[skb], sock.laddr, sock.raddr, IPPROTO_TCP))


def send_reset(k: Any, packet: Skb) -> Any:
    """tcp_v4_send_reset(): refuse a segment that belongs to no connection."""
    body = packet.payload
    flags = body[13]
    if flags & RST:
        return
    source, destination = addresses(packet)
    seq = body[8:12] if flags & ACK else bytes(4)
    length = len(body) - (body[12] >> 4) * 4 + bool(flags & SYN) + bool(flags & FIN)
    ack = (int.from_bytes(body[4:8], "big") + length) & U32_MAX
    answer = body[2:4] + body[0:2] + seq + (bytes(4) if flags & ACK else ack.to_bytes(4, "big"))
    answer += bytes((5 << 4, RST if flags & ACK else RST | ACK)) + bytes(6)
    yield from ip_send(k, destination, source, IPPROTO_TCP, answer)


# ------------------------------------------------------------------------------------------------------------- connect


@kernel_function(
    "int tcp_v4_connect(struct sock *sk, struct sockaddr *uaddr, int addr_len)", source="net/ipv4/tcp_ipv4.c"
)
def tcp_v4_connect(k: Any, sk: int, uaddr: int, addr_len: int) -> Any:
    """Choose addresses and ports, send the SYN."""
    sock = k.net.socks[sk]
    raw = k.mem.read(uaddr, 8)
    sock.rport, sock.raddr = int.from_bytes(raw[2:4], "big"), bytes(raw[4:8])
    if sock.raddr == INADDR_ANY:
        sock.raddr = bytes((127, 0, 0, 1))
    if sock.laddr == INADDR_ANY:
        sock.laddr = source_for(k, sock.raddr)
    if not sock.lport:
        sock.lport = k.net.ephemeral_port(k.net.tcp_bound)
        k.net.tcp_bound.setdefault(sock.lport, []).append(sock)
    sock.sync_addresses()
    yield k.call("tcp_set_state", sk, TCP_SYN_SENT)
    k.net.tcp_established[key_of(sock)] = sock
    sock.iss = sock.snd_nxt = sock.snd_una = k.random.getrandbits(32)
    return (yield k.call("tcp_connect", sk))


@kernel_function("int tcp_connect(struct sock *sk)", source="net/ipv4/tcp_output.c")
def tcp_connect(k: Any, sk: int) -> Any:
    """Send the SYN."""
    yield from transmit(k, k.net.socks[sk], SYN)
    return 0


# --------------------------------------------------------------------------------------------------------------- input


@kernel_function("int tcp_v4_rcv(struct sk_buff *skb)", source="net/ipv4/tcp_ipv4.c")
def tcp_v4_rcv(k: Any, skb: int) -> Any:
    """A segment arrives: find its connection or listener."""
    packet = k.net.skbs[skb]
    body = packet.payload
    if len(body) < TCP_HEADER:
        yield drop(k, packet, SKB_DROP_REASON_NO_SOCKET)
        return 0
    source, destination = addresses(packet)
    sport, dport = int.from_bytes(body[:2], "big"), int.from_bytes(body[2:4], "big")
    sk = k.net.tcp_established.get((destination, dport, source, sport))
    if sk is None:
        listeners = k.net.tcp_listen.get(dport, ())
        sk = next((s for s in listeners if s.laddr in (destination, INADDR_ANY)), None)
    if sk is None:
        yield from send_reset(k, packet)
        yield drop(k, packet, SKB_DROP_REASON_NO_SOCKET)
        return 0
    return (yield k.call("tcp_v4_do_rcv", sk.addr, skb))


@kernel_function("int tcp_v4_do_rcv(struct sock *sk, struct sk_buff *skb)", source="net/ipv4/tcp_ipv4.c")
def tcp_v4_do_rcv(k: Any, sk: int, skb: int) -> Any:
    """The fast path for established connections, the state machine for all others."""
    if k.net.socks[sk].state == TCP_ESTABLISHED:
        yield k.call("tcp_rcv_established", sk, skb)
        return 0
    packet = k.net.skbs[skb]
    ret = yield k.call("tcp_rcv_state_process", sk, skb)
    if k.net.skbs.get(skb) is packet:  # still the same packet at this address, and nobody's
        if ret:
            yield from send_reset(k, packet)
        if packet.sk is None:
            yield k.call("consume_skb", skb)
    return 0


class Segment:
    """The header fields of a received segment, and its data."""

    __slots__ = ("ack", "data", "flags", "seq", "window")

    def __init__(self, body: bytes) -> None:
        self.seq = int.from_bytes(body[4:8], "big")
        self.ack = int.from_bytes(body[8:12], "big")
        self.flags = body[13]
        self.window = int.from_bytes(body[14:16], "big") << WINDOW_SCALE
        self.data = body[(body[12] >> 4) * 4 :]


def take_ack(k: Any, sk: Sock, segment: Segment) -> None:
    """tcp_ack(): what the peer has, and how much more it takes."""
    if segment.flags & ACK:
        sk.snd_una = segment.ack
        sk.snd_wnd = segment.window
        k.wake_up(sk.wq, 0)


@kernel_function("void tcp_rcv_established(struct sock *sk, struct sk_buff *skb)", source="net/ipv4/tcp_input.c")
def tcp_rcv_established(k: Any, sk: int, skb: int) -> Any:
    """Data and acknowledgements of an established connection."""
    sock, packet = k.net.socks[sk], k.net.skbs[skb]
    segment = Segment(packet.payload)
    if segment.flags & RST:
        yield k.call("tcp_reset", sk, skb)
        yield k.call("consume_skb", skb)
        return 0
    take_ack(k, sock, segment)
    yield from receive_data(k, sock, packet, segment)
    return 0


def receive_data(k: Any, sk: Sock, packet: Skb, segment: Segment) -> Any:
    """tcp_data_queue(): in-order data to the receive queue, a FIN to the state machine, and the ACK for both."""
    length = len(segment.data)
    if segment.seq != sk.rcv_nxt or not (length or segment.flags & FIN):
        yield k.call("consume_skb", packet.addr)
        return
    sk.rcv_nxt = (sk.rcv_nxt + length) & U32_MAX
    if length:
        packet.pull(packet.len - length)
        packet.sync()
        if sk.shutdown & RCV_SHUTDOWN and sk.dead:
            yield k.call("consume_skb", packet.addr)
        else:
            sk.queue(packet)
            yield k.call("sock_def_readable", sk.addr)
    if segment.flags & FIN:
        sk.rcv_nxt = (sk.rcv_nxt + 1) & U32_MAX
        yield k.call("tcp_fin", sk.addr)
        if not length:
            yield k.call("consume_skb", packet.addr)
    if k.net.socks.get(sk.addr) is sk and sk.state != TCP_CLOSE:  # else the FIN was acknowledged on the way out
        yield k.call("__tcp_send_ack", sk.addr, sk.rcv_nxt)


@kernel_function(
    "void __tcp_send_ack(struct sock *sk, u32 rcv_nxt)",
    source="net/ipv4/tcp_output.c",
    names={None: "tcp_send_ack", "4.18": "__tcp_send_ack"},
)
def __tcp_send_ack(k: Any, sk: int, rcv_nxt: int) -> Any:
    """Acknowledge, and tell the window."""
    if sk in k.net.socks:  # the answer to the packet before may have ended it
        yield from transmit(k, k.net.socks[sk], ACK)
    return 0


@kernel_function("void tcp_fin(struct sock *sk)", source="net/ipv4/tcp_input.c")
def tcp_fin(k: Any, sk: int) -> Any:
    """The peer will send no more."""
    sock = k.net.socks[sk]
    sock.fin_queued = True
    sock.set_shutdown(RCV_SHUTDOWN)
    following = {TCP_ESTABLISHED: TCP_CLOSE_WAIT, TCP_SYN_RECV: TCP_CLOSE_WAIT, TCP_FIN_WAIT1: TCP_CLOSING}
    if sock.state in following:
        yield k.call("tcp_set_state", sk, following[sock.state])
    elif sock.state == TCP_FIN_WAIT2:
        yield k.call("__tcp_send_ack", sk, sock.rcv_nxt)
        yield from time_wait(k, sock)
    yield k.wake(sock.wq)
    return 0


def time_wait(k: Any, sk: Sock) -> Any:
    """tcp_time_wait(): a minisock holds the four-tuple for a minute; the full sock is closed."""
    key = key_of(sk)
    yield k.call("tcp_set_state", sk.addr, TCP_CLOSE)
    if sk.dead:
        sk.free()
    k.net.time_wait[key] = TCP_TIME_WAIT
    k.add_timer(k.clock.now_ns + TIME_WAIT_NS, lambda: k.net.time_wait.pop(key, None))


@kernel_function("void tcp_reset(struct sock *sk, struct sk_buff *skb)", source="net/ipv4/tcp_input.c")
def tcp_reset(k: Any, sk: int, skb: int) -> Any:
    """The peer aborted."""
    sock = k.net.socks[sk]
    errors = {TCP_SYN_SENT: ECONNREFUSED, TCP_CLOSE_WAIT: EPIPE}
    sock.set_shutdown(SHUTDOWN_MASK)
    error = errors.get(sock.state, ECONNRESET)
    yield k.call("tcp_set_state", sk, TCP_CLOSE)
    sock.set_error(error)
    if sock.dead:
        sock.free()
    return 0


@kernel_function("int tcp_rcv_state_process(struct sock *sk, struct sk_buff *skb)", source="net/ipv4/tcp_input.c")
def tcp_rcv_state_process(k: Any, sk: int, skb: int) -> Any:
    """Every state but ESTABLISHED.  Returns 1 when a reset has to be sent; the packet stays the caller's."""
    sock, packet = k.net.socks[sk], k.net.skbs[skb]
    segment = Segment(packet.payload)
    if sock.state == TCP_LISTEN:
        if segment.flags & (ACK | RST) or not segment.flags & SYN:
            return 0 if segment.flags & RST else 1
        yield k.call("tcp_v4_conn_request", sk, skb)
        return 0
    if segment.flags & RST:
        yield k.call("tcp_reset", sk, skb)
        return 0
    if sock.state == TCP_SYN_SENT:
        if segment.flags & (SYN | ACK) == SYN | ACK and segment.ack == sock.snd_nxt:
            sock.rcv_nxt = (segment.seq + 1) & U32_MAX
            take_ack(k, sock, segment)
            yield k.call("tcp_finish_connect", sk, skb)
            yield k.call("__tcp_send_ack", sk, sock.rcv_nxt)
        return 0
    take_ack(k, sock, segment)
    acked = segment.flags & ACK and sock.snd_una == sock.snd_nxt
    if sock.state == TCP_SYN_RECV and acked:
        yield k.call("tcp_v4_syn_recv_sock", sock.listener.addr, skb, sk)
    elif sock.state == TCP_FIN_WAIT1 and acked:
        yield k.call("tcp_set_state", sk, TCP_FIN_WAIT2)
        yield k.wake(sock.wq)
    elif sock.state == TCP_CLOSING and acked:
        yield from time_wait(k, sock)
        return 0
    elif sock.state == TCP_LAST_ACK and acked:
        yield k.call("tcp_done", sk)
        return 0
    if sock.state in (TCP_ESTABLISHED, TCP_FIN_WAIT1, TCP_FIN_WAIT2) and (segment.data or segment.flags & FIN):
        if sock.dead and segment.data:
            yield k.call("tcp_set_state", sk, TCP_CLOSE)
            return 1
        packet.set_owner(sock)
        yield from receive_data(k, sock, packet, segment)
    return 0


@kernel_function("void tcp_finish_connect(struct sock *sk, struct sk_buff *skb)", source="net/ipv4/tcp_input.c")
def tcp_finish_connect(k: Any, sk: int, skb: int) -> Any:
    """SYN-ACK received: the active side is connected."""
    yield k.call("tcp_set_state", sk, TCP_ESTABLISHED)
    yield k.wake(k.net.socks[sk].wq)
    return 0


@kernel_function("int tcp_v4_conn_request(struct sock *sk, struct sk_buff *skb)", source="net/ipv4/tcp_ipv4.c")
def tcp_v4_conn_request(k: Any, sk: int, skb: int) -> Any:
    """A SYN for a listener: make the child (as yet a request) and answer SYN-ACK; a full backlog ignores it."""
    listener, packet = k.net.socks[sk], k.net.skbs[skb]
    if len(listener.accept_queue) > listener.backlog:
        return 0
    body = packet.payload
    child = Sock(k, listener.family, listener.type, listener.protocol)
    child.raddr, child.laddr = addresses(packet)
    child.lport, child.rport = listener.lport, int.from_bytes(body[:2], "big")
    child.listener = listener
    child.sync_addresses()
    segment = Segment(body)
    child.rcv_nxt = (segment.seq + 1) & U32_MAX
    child.snd_wnd = segment.window
    child.iss = child.snd_nxt = child.snd_una = k.random.getrandbits(32)
    child.state = TCP_SYN_RECV
    child.view["__sk_common"].skc_state = TCP_SYN_RECV
    k.net.tcp_established[key_of(child)] = child
    yield from transmit(k, child, SYN | ACK)
    return 0


@kernel_function(
    "struct sock *tcp_v4_syn_recv_sock(const struct sock *sk, struct sk_buff *skb, struct request_sock *req)",
    source="net/ipv4/tcp_ipv4.c",
)
def tcp_v4_syn_recv_sock(k: Any, sk: int, skb: int, req: int) -> Any:
    """The handshake is complete: the child becomes a connection in its listener's accept queue."""
    listener, child = k.net.socks[sk], k.net.socks[req]
    yield k.call("tcp_set_state", req, TCP_ESTABLISHED)
    listener.accept_queue.append(child)
    listener.view.sk_ack_backlog = len(listener.accept_queue)
    yield k.call("sock_def_readable", sk)
    return req


@kernel_function("void tcp_done(struct sock *sk)", source="net/ipv4/tcp.c")
def tcp_done(k: Any, sk: int) -> Any:
    """The connection is over."""
    sock = k.net.socks[sk]
    yield k.call("tcp_set_state", sk, TCP_CLOSE)
    sock.set_shutdown(SHUTDOWN_MASK)
    yield k.wake(sock.wq)
    if sock.dead:
        sock.free()
    return 0


# -------------------------------------------------------------------------------------------------------- the user's side


@kernel_function("int tcp_sendmsg(struct sock *sk, struct msghdr *msg, size_t size)", source="net/ipv4/tcp.c")
def tcp_sendmsg(k: Any, sk: int, msg: int, size: int) -> Any:
    """Send a stream of bytes; sleeps while the peer's window is full."""
    return (yield k.call("tcp_sendmsg_locked", sk, msg, size))


@kernel_function("int tcp_sendmsg_locked(struct sock *sk, struct msghdr *msg, size_t size)", source="net/ipv4/tcp.c")
def tcp_sendmsg_locked(k: Any, sk: int, msg: int, size: int) -> Any:
    """The work of tcp_sendmsg with the sock locked."""
    sock, message = k.net.socks[sk], k.net.messages[msg]
    sent = 0
    while sent < size:
        if sock.err:
            return sent or -sock.take_error()
        if sock.shutdown & SEND_SHUTDOWN:
            return sent or -EPIPE
        if sock.state not in (TCP_ESTABLISHED, TCP_CLOSE_WAIT):
            return sent or (-EPIPE if sock.state != TCP_SYN_SENT else -EAGAIN)
        room = sock.snd_wnd - ((sock.snd_nxt - sock.snd_una) & U32_MAX)
        if room <= 0:
            if message.flags & MSG_DONTWAIT:
                return sent or -EAGAIN
            ret = yield k.wait(sock.wq)
            if ret < 0:
                return sent or ret
            continue
        chunk = message.data[sent : sent + min(room, MSS if sock.raddr[0] == 127 else MSS_ETHERNET)]
        yield k.call("tcp_write_xmit", sk, len(chunk), 0, 1, 0, message.stage(chunk))
        sent += len(chunk)
    return sent


@kernel_function(
    "bool tcp_write_xmit(struct sock *sk, unsigned int mss_now, int nonagle, int push_one, gfp_t gfp, unsigned long data)",
    source="net/ipv4/tcp_output.c",
)
def tcp_write_xmit(k: Any, sk: int, mss_now: int, nonagle: int, push_one: int, gfp: int, data: int) -> Any:
    """Send one segment of staged data."""
    yield from transmit(k, k.net.socks[sk], ACK | PSH, k.net.staged.pop(data))
    return 0


@kernel_function(
    "int tcp_recvmsg(struct sock *sk, struct msghdr *msg, size_t len, int flags, int *addr_len)",
    source="net/ipv4/tcp.c",
)
def tcp_recvmsg(k: Any, sk: int, msg: int, length: int, flags: int, addr_len: int) -> Any:
    """Bytes of the stream: at least one (all with MSG_WAITALL), 0 at its end."""
    sock, message = k.net.socks[sk], k.net.messages[msg]
    if sock.state == TCP_LISTEN:
        return -ENOTCONN
    wanted = length if flags & MSG_WAITALL else min(length, 1)
    copied = bytearray()
    while True:
        if flags & MSG_PEEK:
            copied = bytearray(b"".join(p.payload for p in sock.receive_queue)[:length])
        else:
            yield from take_bytes(k, sock, copied, length)
        if len(copied) >= wanted:
            break
        if sock.err and not copied:
            return -sock.take_error()
        if sock.shutdown & RCV_SHUTDOWN or sock.fin_queued:
            break
        if sock.state == TCP_CLOSE:
            if not copied and not sock.rport:
                return -ENOTCONN
            break
        if flags & MSG_DONTWAIT:
            if not copied:
                return -EAGAIN
            break
        ret = yield k.wait(sock.wq)
        if ret < 0:
            if copied:
                break
            return ret
    message.scatter(bytes(copied))
    if copied and not flags & MSG_PEEK:
        yield k.call("tcp_cleanup_rbuf", sk, len(copied))
    return len(copied)


def take_bytes(k: Any, sk: Sock, into: bytearray, limit: int) -> Any:
    """Move bytes from the receive queue, freeing the packets that are used up."""
    while sk.receive_queue and len(into) < limit:
        packet = sk.receive_queue[0]
        part = packet.payload[: limit - len(into)]
        into += part
        packet.pull(len(part))
        if not packet.len:
            sk.receive_queue.popleft()
            sk.charge(-packet.truesize)
            yield k.call("consume_skb", packet.addr)


@kernel_function("void tcp_cleanup_rbuf(struct sock *sk, int copied)", source="net/ipv4/tcp.c")
def tcp_cleanup_rbuf(k: Any, sk: int, copied: int) -> Any:
    """After reading: tell the peer about the room, if it was short of it."""
    sock = k.net.socks[sk]
    connected = sock.state in (TCP_ESTABLISHED, TCP_FIN_WAIT1, TCP_FIN_WAIT2)
    if connected and sock.rmem + 2 * copied > sock.rcvbuf // 2:
        yield k.call("__tcp_send_ack", sk, sock.rcv_nxt)
    return 0


@kernel_function("void tcp_shutdown(struct sock *sk, int how)", source="net/ipv4/tcp.c")
def tcp_shutdown(k: Any, sk: int, how: int) -> Any:
    """shutdown(SHUT_WR): send the FIN."""
    if how & SEND_SHUTDOWN:
        yield from send_fin(k, k.net.socks[sk])
    return 0


def send_fin(k: Any, sk: Sock) -> Any:
    """tcp_close_state() and tcp_send_fin()."""
    following = {TCP_ESTABLISHED: TCP_FIN_WAIT1, TCP_SYN_RECV: TCP_FIN_WAIT1, TCP_CLOSE_WAIT: TCP_LAST_ACK}
    if sk.state in following:
        yield k.call("tcp_set_state", sk.addr, following[sk.state])
        yield k.call("tcp_send_fin", sk.addr)
    elif sk.state in (TCP_SYN_SENT, TCP_LISTEN):
        yield k.call("tcp_set_state", sk.addr, TCP_CLOSE)


@kernel_function("void tcp_send_fin(struct sock *sk)", source="net/ipv4/tcp_output.c")
def tcp_send_fin(k: Any, sk: int) -> Any:
    """No more data from this side."""
    yield from transmit(k, k.net.socks[sk], FIN | ACK)
    return 0


@kernel_function("void tcp_close(struct sock *sk, long timeout)", source="net/ipv4/tcp.c")
def tcp_close(k: Any, sk: int, timeout: int) -> Any:
    """The last descriptor is closed: FIN, or a reset when data was left unread."""
    sock = k.net.socks[sk]
    sock.set_shutdown(SHUTDOWN_MASK)
    unread = bool(sock.receive_queue)
    while sock.receive_queue:
        packet = sock.receive_queue.popleft()
        sock.charge(-packet.truesize)
        yield k.call("consume_skb", packet.addr)
    if sock.state == TCP_LISTEN:
        for child in list(sock.accept_queue):
            child.listener = None
            child.dead = True
            yield from transmit(k, child, RST | ACK)
            yield k.call("tcp_done", child.addr)
        sock.accept_queue.clear()
    sock.dead = True
    if unread and sock.state in (TCP_ESTABLISHED, TCP_CLOSE_WAIT):
        yield from transmit(k, sock, RST | ACK)
        yield k.call("tcp_done", sk)
        return 0
    yield from send_fin(k, sock)
    if sock.addr in k.net.socks and sock.state == TCP_CLOSE:
        unhash(k, sock)
        sock.free()
    return 0


@kernel_function(
    "struct sock *inet_csk_accept(struct sock *sk, int flags, int *err, bool kern)",
    source="net/ipv4/inet_connection_sock.c",
)
def inet_csk_accept(k: Any, sk: int, flags: int, err: int, kern: int) -> Any:
    """The next connection of a listener; sleeps for it."""
    sock = k.net.socks[sk]
    while not sock.accept_queue:
        if flags & MSG_DONTWAIT:
            return -EAGAIN
        ret = yield k.wait(sock.wq, exclusive=True)
        if ret < 0:
            return ret
    child = sock.accept_queue.popleft()
    sock.view.sk_ack_backlog = len(sock.accept_queue)
    child.listener = None
    return child.addr


def connect_and_wait(k: Any, sk: Sock, uaddr: int, addr_len: int, nonblocking: bool) -> Any:
    """__inet_stream_connect(): connect and, unless told otherwise, wait for the answer (`yield from`)."""
    if sk.state == TCP_CLOSE:
        ret = yield k.call("tcp_v4_connect", sk.addr, uaddr, addr_len)
        if ret < 0:
            return ret
    elif sk.state != TCP_SYN_SENT:
        return -EISCONN
    while sk.state == TCP_SYN_SENT:
        if nonblocking:
            return -EINPROGRESS
        ret = yield k.wait(sk.wq)
        if ret < 0:
            return ret
    if sk.err:
        return -sk.take_error()
    return 0 if sk.state != TCP_CLOSE else -ECONNREFUSED
