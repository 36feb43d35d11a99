"""TCP segments on the way in: data, acknowledgements, and the state machine.  net/ipv4/{tcp_input,tcp_ipv4,tcp_minisocks}.c."""

from __future__ import annotations

from arch.abi.errno import ECONNREFUSED, ECONNRESET, EPIPE
from arch.abi.inet import (
    INADDR_ANY,
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
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import SKB_DROP_REASON_NO_SOCKET, drop
from simkernel.net.core.sock import RCV_SHUTDOWN, SHUTDOWN_MASK, Sock
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import addresses
from simkernel.net.ipv4.tcp_output import send_reset, transmit
from simkernel.net.ipv4.tcp_sock import ACK, FIN, RST, SYN, TCP_HEADER, TIME_WAIT_NS, Segment, key_of


@kernel_function("int tcp_v4_rcv(struct sk_buff *skb)", source="net/ipv4/tcp_ipv4.c")
def tcp_v4_rcv(k: NetKernel, skb: int) -> Body:
    """A segment arrives: find its connection or listener."""
    packet = k.net.skbs[skb]
    body = packet.packet()
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
def tcp_v4_do_rcv(k: NetKernel, sk: int, skb: int) -> Body:
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


def take_ack(k: NetKernel, sk: Sock, segment: Segment) -> None:
    """tcp_ack(): what the peer has, and how much more it takes."""
    if segment.flags & ACK:
        sk.snd_una = segment.ack
        sk.snd_wnd = segment.window
        k.wake_up(sk.wq, 0)


@kernel_function("void tcp_rcv_established(struct sock *sk, struct sk_buff *skb)", source="net/ipv4/tcp_input.c")
def tcp_rcv_established(k: NetKernel, sk: int, skb: int) -> Body:
    """Data and acknowledgements of an established connection."""
    sock, packet = k.net.socks[sk], k.net.skbs[skb]
    segment = Segment(packet.packet())
    if segment.flags & RST:
        yield k.call("tcp_reset", sk, skb)
        yield k.call("consume_skb", skb)
        return 0
    take_ack(k, sock, segment)
    yield from receive_data(k, sock, packet, segment)
    return 0


def receive_data(k: NetKernel, sk: Sock, packet: Skb, segment: Segment) -> Steps[None]:
    """tcp_data_queue(): in-order data to the receive queue, a FIN to the state machine, and the ACK for both."""
    length = len(segment.data)
    if segment.seq != sk.rcv_nxt or not (length or segment.flags & FIN):
        yield k.call("consume_skb", packet.addr)
        return
    sk.rcv_nxt = (sk.rcv_nxt + length) & U32_MAX
    if length:
        packet.pull(packet.len - length)
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


@kernel_function("void tcp_fin(struct sock *sk)", source="net/ipv4/tcp_input.c")
def tcp_fin(k: NetKernel, sk: int) -> Body:
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


def time_wait(k: NetKernel, sk: Sock) -> Steps[None]:
    """tcp_time_wait(): a minisock holds the four-tuple for a minute; the full sock is closed."""
    key = key_of(sk)
    yield k.call("tcp_set_state", sk.addr, TCP_CLOSE)
    if sk.dead:
        sk.free()
    k.net.time_wait[key] = TCP_TIME_WAIT

    def forget() -> None:
        k.net.time_wait.pop(key, None)

    k.clock.add(k.clock.now_ns + TIME_WAIT_NS, forget)


@kernel_function("void tcp_reset(struct sock *sk, struct sk_buff *skb)", source="net/ipv4/tcp_input.c")
def tcp_reset(k: NetKernel, sk: int, skb: int) -> Body:
    """The peer aborted."""
    k.trace("tcp_receive_reset", sk)
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
def tcp_rcv_state_process(k: NetKernel, sk: int, skb: int) -> Body:
    """Every state but ESTABLISHED.  Returns 1 when a reset has to be sent; the packet stays the caller's."""
    sock, packet = k.net.socks[sk], k.net.skbs[skb]
    segment = Segment(packet.packet())
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
        assert sock.listener is not None
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
def tcp_finish_connect(k: NetKernel, sk: int, skb: int) -> Body:
    """SYN-ACK received: the active side is connected."""
    yield k.call("tcp_set_state", sk, TCP_ESTABLISHED)
    yield k.wake(k.net.socks[sk].wq)
    return 0


@kernel_function("int tcp_v4_conn_request(struct sock *sk, struct sk_buff *skb)", source="net/ipv4/tcp_ipv4.c")
def tcp_v4_conn_request(k: NetKernel, sk: int, skb: int) -> Body:
    """A SYN for a listener: make the child (as yet a request) and answer SYN-ACK; a full backlog ignores it."""
    listener, packet = k.net.socks[sk], k.net.skbs[skb]
    if len(listener.accept_queue) > listener.backlog:
        return 0
    body = packet.packet()
    child = Sock(k, k.net, listener.family, listener.type, listener.protocol)
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
def tcp_v4_syn_recv_sock(k: NetKernel, sk: int, skb: int, req: int) -> Body:
    """The handshake is complete: the child becomes a connection in its listener's accept queue."""
    listener, child = k.net.socks[sk], k.net.socks[req]
    yield k.call("tcp_set_state", req, TCP_ESTABLISHED)
    listener.accept_queue.append(child)
    listener.view.sk_ack_backlog = len(listener.accept_queue)
    yield k.call("sock_def_readable", sk)
    return req


@kernel_function("void tcp_done(struct sock *sk)", source="net/ipv4/tcp.c")
def tcp_done(k: NetKernel, sk: int) -> Body:
    """The connection is over."""
    sock = k.net.socks[sk]
    yield k.call("tcp_set_state", sk, TCP_CLOSE)
    sock.set_shutdown(SHUTDOWN_MASK)
    yield k.wake(sock.wq)
    if sock.dead:
        sock.free()
    return 0
