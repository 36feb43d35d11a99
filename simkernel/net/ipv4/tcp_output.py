"""TCP segments on the way out.  net/ipv4/tcp_output.c."""

from __future__ import annotations

from enum import IntEnum

from arch.abi.inet import IN6_ADDR_SIZE, IPPROTO_TCP, TCP_SYN_RECV, TCP_SYN_SENT
from arch.abi.limits import U32_MAX
from arch.abi.time import TICK_NSEC
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.programs import (
    BPF_SOCK_OPS_NEEDS_ECN,
    BPF_SOCK_OPS_RWND_INIT,
    BPF_SOCK_OPS_TCP_CONNECT_CB,
    BPF_SOCK_OPS_TIMEOUT_INIT,
)
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import new_skb
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import addresses
from simkernel.net.ipv4.tcp_hdr_opt import put_header, special_room
from simkernel.net.ipv4.tcp_sock import (
    ACK,
    FIN,
    PSH,
    RST,
    SYN,
    CaEvent,
    Pending,
    Sent,
    TcpSock,
    before,
    tcp_sk,
)
from simkernel.net.ipv4.tcp_window import begin_connect, follow_path, room_of_syn, way_of
from simkernel.net.ipv4.tcp_wire import header

TCP_RTO_MAX_NS = 120 * 10**9
TCP_NODELAY, TCP_REPAIR_OPTION = (6, 1), (6, 19)  # SOL_TCP
TCP_NAGLE_CORK = 2


class RstReason(IntEnum):
    """enum sk_rst_reason: why a connection is reset.  include/net/rstreason.h, since 6.10."""

    NO_SOCKET = 1
    TCP_FLAGS = 6
    TCP_ABORT_ON_DATA = 8
    TCP_TIMEWAIT_SOCKET = 9
    TCP_ABORT_ON_CLOSE = 11
    TCP_ABORT_ON_LINGER = 12
    TCP_STATE = 14
    TCP_KEEPALIVE_TIMEOUT = 15


def transmit(k: NetKernel, sk: TcpSock, flags: int, data: bytes = b"") -> Body:
    """`yield from`: one segment at snd_nxt; what has to arrive is kept until it is acknowledged."""
    seq = sk.snd_nxt
    kept = bool(data) or bool(flags & (SYN | FIN))
    if kept:
        if data and not sk.sent:
            sk.congestion.cwnd_event(sk, CaEvent.TX_START)
        sent = Sent(seq, data, flags, k.clock.now_ns)
        sk.sent.append(sent)
        sk.sent_bytes += len(data)
        sk.snd_nxt = sent.end
        if data:
            sk.validate_cwnd()
        sk.store()
    if kept and sk.pending != Pending.RETRANS:  # before what it is for can come back
        arm_retransmit(k, sk)
    return (yield from send_segment(k, sk, flags, seq, data))


def send_segment(k: NetKernel, sk: TcpSock, flags: int, seq: int, data: bytes) -> Body:
    """`yield from`: build a segment and send it through __tcp_transmit_skb."""
    skb = yield from new_skb(k, len(data), sk)
    skb.put_data(data)
    put_header(k, sk, skb, header(sk, flags, seq))
    return (yield k.call("__tcp_transmit_skb", sk.addr, skb.addr, 1, 0, sk.rcv_nxt))


def arm_retransmit(k: NetKernel, sk: TcpSock) -> None:
    """tcp_rearm_rto(): from now on the oldest segment has the time-out to be acknowledged in."""
    sk.pending = Pending.RETRANS
    k.timers.mod(sk.timer, k.clock.now_ns + min(sk.rto_ns << sk.backoff, TCP_RTO_MAX_NS))


@kernel_function(
    "int __tcp_transmit_skb(struct sock *sk, struct sk_buff *skb, int clone_it, gfp_t gfp_mask, u32 rcv_nxt)",
    source="net/ipv4/tcp_output.c",
    names={None: "tcp_transmit_skb", "4.15": "__tcp_transmit_skb"},
)
def __tcp_transmit_skb(k: NetKernel, sk: int, skb: int, clone_it: int, gfp_mask: int, rcv_nxt: int) -> Body:
    """Hand a segment to IP."""
    sock = tcp_sk(k, sk)
    sock.segs_out += 1
    sock.net.mib["TcpOutSegs"] += 1
    packet = k.net.skbs[skb]
    length = packet.len - (packet.mem.read_uint(packet.data + 12, 1) >> 4) * 4
    if length > 0:
        sock.data_segs_out += 1
        sock.bytes_sent += length
        sock.last_sent_ns = k.clock.now_ns
    if len(sock.raddr) == IN6_ADDR_SIZE:
        return (yield k.call("inet6_csk_xmit", sk, skb, 0))
    return (yield k.call("__ip_queue_xmit", sk, skb, 0, 0))


@kernel_function("int tcp_connect(struct sock *sk)", source="net/ipv4/tcp_output.c")
def tcp_connect(k: NetKernel, sk: int) -> Body:
    """Send the SYN."""
    sock = tcp_sk(k, sk)
    k.net.programs.sock_ops(sock, BPF_SOCK_OPS_TCP_CONNECT_CB)
    begin_connect(sock, way_of(k, sock), k.net.programs.sock_ops(sock, BPF_SOCK_OPS_RWND_INIT))
    initial_timeout(k, sock)
    k.net.programs.sock_ops(sock, BPF_SOCK_OPS_NEEDS_ECN)
    if sock.options.get(TCP_REPAIR_OPTION):  # an end of a connection that was elsewhere
        yield k.call("tcp_finish_connect", sk, 0)
        return 0
    sock.net.mib["TcpActiveOpens"] += 1
    sock.syn_data = sock.syn_data[: room_of_syn(sock)]
    if sock.syn_data:
        now = k.clock.now_ns
        syn = Sent(sock.snd_nxt, b"", SYN, now)  # two entries to be acknowledged: what is sent again is the SYN alone
        more = Sent(syn.end, sock.syn_data, ACK | PSH, now)
        sock.sent += (syn, more)
        sock.sent_bytes += len(more.data)
        sock.snd_nxt = more.end
        sock.store()
        arm_retransmit(k, sock)
        yield from send_segment(k, sock, SYN, syn.seq, more.data)
        return 0
    yield from transmit(k, sock, SYN)
    return 0


def initial_timeout(k: NetKernel, sk: TcpSock, fullsock: bool = True) -> None:
    """tcp_timeout_init(): programs may choose the first time-out, in ticks."""
    ticks = k.net.programs.sock_ops(sk, BPF_SOCK_OPS_TIMEOUT_INIT, fullsock=fullsock)
    if ticks > 0:
        sk.rto_ns = min(ticks * TICK_NSEC, TCP_RTO_MAX_NS)


def push(k: NetKernel, sk: TcpSock, more: bool = False) -> Body:
    """`yield from`: send what the windows let through, whole segments only if `more` is to come.  tcp_push()."""
    if sk.unsent or sk.fin_wanted:
        follow_path(k, sk)
        mss = sk.mss - special_room(k, sk)
        yield k.call("tcp_write_xmit", sk.addr, mss, TCP_NAGLE_CORK if more else 0, 0, 0)
        if k.net.socks.get(sk.addr) is sk and sk.unsent and not sk.sent and sk.pending != Pending.PROBE0:
            sk.pending = Pending.PROBE0  # tcp_check_probe_timer(): the window may open unheard
            k.timers.mod(sk.timer, k.clock.now_ns + min(sk.rto_ns << sk.backoff, TCP_RTO_MAX_NS))
    return 0


def _waits(sk: TcpSock, nonagle: int) -> bool:
    """tcp_nagle_test() of a small segment: it waits for a small one before it."""
    if sk.fin_wanted or sk.snd_up is not None:
        return False
    return nonagle == TCP_NAGLE_CORK or bool(
        not nonagle and sk.sent and before(sk.snd_una, sk.snd_sml) and not sk.options.get(TCP_NODELAY)
    )


@kernel_function(
    "bool tcp_write_xmit(struct sock *sk, unsigned int mss_now, int nonagle, int push_one, gfp_t gfp)",
    source="net/ipv4/tcp_output.c",
)
def tcp_write_xmit(k: NetKernel, sk: int, mss_now: int, nonagle: int, push_one: int, gfp: int) -> Body:
    """Send segments while there are some and both windows have room; a small one waits for acknowledgements (Nagle)."""
    sock = tcp_sk(k, sk)
    while sock.unsent:
        room = sock.snd_wnd - ((sock.snd_nxt - sock.snd_una) & U32_MAX)
        size = min(mss_now, len(sock.unsent))
        if size > room or len(sock.sent) >= sock.cwnd:  # tcp_snd_wnd_test()
            break
        if size < mss_now and _waits(sock, nonagle):
            break
        data = bytes(sock.unsent[:size])
        del sock.unsent[:size]
        if size < mss_now:  # tcp_minshall_update()
            sock.snd_sml = (sock.snd_nxt + size) & U32_MAX
        yield from transmit(k, sock, ACK | PSH, data)
        if k.net.socks.get(sk) is not sock:  # the answer ended it
            return 0
    sock.store()  # what was counted of them
    if sock.fin_wanted and not sock.unsent:
        sock.fin_wanted = False
        yield from transmit(k, sock, FIN | ACK)
    return int(not sock.sent and bool(sock.unsent))


@kernel_function(
    "void __tcp_send_ack(struct sock *sk, u32 rcv_nxt)",
    source="net/ipv4/tcp_output.c",
    names={None: "tcp_send_ack", "4.18": "__tcp_send_ack"},
)
def __tcp_send_ack(k: NetKernel, sk: int, rcv_nxt: int) -> Body:
    """Acknowledge, and tell the window."""
    if sk in k.net.socks:  # the answer to the packet before may have ended it
        yield from transmit(k, tcp_sk(k, sk), ACK)
    return 0


@kernel_function("void tcp_send_fin(struct sock *sk)", source="net/ipv4/tcp_output.c")
def tcp_send_fin(k: NetKernel, sk: int) -> Body:
    """No more data from this side: behind what is still to be sent."""
    sock = tcp_sk(k, sk)
    if sock.unsent:
        sock.fin_wanted = True
        yield from push(k, sock)
    else:
        yield from transmit(k, sock, FIN | ACK)
    return 0


@kernel_function(
    "int tcp_retransmit_skb(struct sock *sk, struct sk_buff *skb, int segs)", source="net/ipv4/tcp_output.c"
)
def tcp_retransmit_skb(k: NetKernel, sk: int, skb: int, segs: int) -> Body:
    """The oldest segment that is not acknowledged, once more."""
    sock = tcp_sk(k, sk)
    oldest = sock.sent[0]
    flags = oldest.flags
    if sock.state not in (TCP_SYN_SENT, TCP_SYN_RECV):
        flags |= ACK
    oldest.tries += 1
    oldest.when_ns = k.clock.now_ns
    sock.total_retrans += 1
    sock.net.mib["TcpRetransSegs"] += 1
    sock.bytes_retrans += len(oldest.data)
    sock.store()
    copy = yield from new_skb(k, len(oldest.data), sock)
    copy.put_data(oldest.data)
    put_header(k, sock, copy, header(sock, flags, oldest.seq))
    if sock.state == TCP_SYN_RECV:
        k.trace("tcp_retransmit_synack", sock.listener.addr if sock.listener else sk, sk)
    else:
        k.trace("tcp_retransmit_skb", sk, copy.addr, 0)
    return (yield k.call("__tcp_transmit_skb", sk, copy.addr, 1, 0, sock.rcv_nxt))


def send_active_reset(k: NetKernel, sk: TcpSock, reason: RstReason) -> Steps[None]:
    """tcp_send_active_reset(): this end gives up (`yield from`)."""
    yield from transmit(k, sk, RST | ACK)
    k.trace("tcp_send_reset", sk.addr, 0, reason)


def send_reset(k: NetKernel, packet: Skb, reason: RstReason, sk: int = 0) -> Steps[None]:
    """tcp_v4_send_reset(): refuse a segment that belongs to no connection, or (`sk`) that its socket does not take any more."""
    body = packet.packet()
    flags = body[13]
    if flags & RST:
        return
    source, destination = addresses(packet)
    seq = body[8:12] if flags & ACK else bytes(4)
    length = len(body) - (body[12] >> 4) * 4 + bool(flags & SYN) + bool(flags & FIN)
    ack = (int.from_bytes(body[4:8], "big") + length) & U32_MAX
    answer = body[2:4] + body[0:2] + seq + (bytes(4) if flags & ACK else ack.to_bytes(4, "big"))
    answer += bytes((5 << 4, RST if flags & ACK else RST | ACK)) + bytes(6)
    if sk or k.net.charges.resets_of_nobody:
        k.trace("tcp_send_reset", sk, packet.addr, reason)
    packet.device.net.mib["TcpOutSegs"] += 1
    packet.device.net.mib["TcpOutRsts"] += 1
    yield from send_alone(k, packet, source, destination, answer)


def send_alone(k: NetKernel, packet: Skb, source: bytes, destination: bytes, answer: bytes) -> Steps[None]:
    """ip_send_unicast_reply(), tcp_v6_send_response(): an answer of no sock, to where a packet came from (`yield from`)."""
    net = packet.device.net
    iif = packet.iif if not packet.device.loopback else 0
    yield from k.net.replies[len(source)](net, destination, source, IPPROTO_TCP, answer, iif)
