"""TCP segments on the way in: data, acknowledgements, and the state machine.  net/ipv4/{tcp_input,tcp_ipv4,tcp_minisocks}.c."""

from __future__ import annotations

from arch.abi.errno import ECONNREFUSED, ECONNRESET, EPIPE
from arch.abi.inet import (
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
)
from arch.abi.limits import U32_MAX
from arch.abi.socket import AF_INET
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.datagram import deliver, filtered, stolen
from simkernel.net.core.programs import (
    BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB,
    BPF_SOCK_OPS_NEEDS_ECN,
    BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB,
    BPF_SOCK_OPS_RTT_CB,
)
from simkernel.net.core.security import allowed, unwanted
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import SKB_DROP_REASON_NO_SOCKET, SKB_DROP_REASON_SOCKET_FILTER, drop
from simkernel.net.core.sock import RCV_SHUTDOWN, SHUTDOWN_MASK, Sock
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import addresses
from simkernel.net.ipv4.inet_hashtables import lookup_listener
from simkernel.net.ipv4.syncookies import comes_back, flood_action, init_sequence
from simkernel.net.ipv4.tcp_fastopen import accepts, answers_syn
from simkernel.net.ipv4.tcp_hdr_opt import show, show_header
from simkernel.net.ipv4.tcp_keepalive import connected
from simkernel.net.ipv4.tcp_minisocks import from_cookie, make_request, wait_for_ack
from simkernel.net.ipv4.tcp_output import RstReason, arm_retransmit, initial_timeout, push, send_reset, transmit
from simkernel.net.ipv4.tcp_rtt import measure
from simkernel.net.ipv4.tcp_sock import (
    ACK,
    FIN,
    IN_ACK_SLOW,
    IN_ACK_WINDOW_UPDATE,
    NS_PER_US,
    RST,
    SYN,
    TCP_HEADER,
    CaEvent,
    CaState,
    Pending,
    Segment,
    TcpSock,
    before,
    key_of,
    tcp_sk,
)
from simkernel.net.ipv4.tcp_timer import still_wanted
from simkernel.net.ipv4.tcp_timewait import answer_for_closed, fin_time_ns, time_wait
from simkernel.net.ipv4.tcp_urgent import show_copied, take_urgent
from simkernel.net.ipv4.tcp_validate import Verdict, may_update_window, validate
from simkernel.net.ipv4.tcp_window import agreed, data_received, init_buffer_space, sync_mss
from simkernel.net.ipv4.tcp_wire import (
    forget_sacked,
    note_beyond,
    note_twice,
    read_syn,
    take_stamps,
)
from simkernel.net.reuseport import queue

DUPACKS = 3  # as many duplicate acknowledgements mean a loss (net.ipv4.tcp_reordering)
CLONE_HAS_ADDRESSES_SINCE = "7.2"  # seen there: inet_csk_clone_lock() copies them before it tells of the state


@kernel_function("int tcp_v4_rcv(struct sk_buff *skb)", source="net/ipv4/tcp_ipv4.c")
def tcp_v4_rcv(k: NetKernel, skb: int) -> Body:
    """A segment arrives: find its connection or listener."""
    return (yield from receive(k, skb, "tcp_v4_do_rcv"))


def receive(k: NetKernel, skb: int, do_rcv: str) -> Body:
    """tcp_v4_rcv(), tcp_v6_rcv() (`yield from`)."""
    packet = k.net.skbs[skb]
    body = packet.packet()
    if len(body) < TCP_HEADER:
        yield drop(k, packet, SKB_DROP_REASON_NO_SOCKET)
        return 0
    source, destination = addresses(packet)
    sport, dport = int.from_bytes(body[:2], "big"), int.from_bytes(body[2:4], "big")
    net = packet.device.net
    net.mib["TcpInSegs"] += 1
    key = (net, destination, dport, source, sport)
    sk = stolen(k, packet) or k.net.tcp_established.get(key)
    if sk is None and key in k.net.time_wait and not body[13] & SYN:
        yield from answer_for_closed(k, packet, key)
        yield k.call("consume_skb", skb)
        return 0
    if sk is not None and not body[13] & (SYN | RST) and not (yield from still_wanted(k, sk, packet)):
        sk = None
    if sk is None:
        sk = lookup_listener(k, net, (source, sport, destination, dport), packet.iif, packet)
    if sk is None:
        yield from send_reset(k, packet, RstReason.NO_SOCKET)
        yield drop(k, packet, SKB_DROP_REASON_NO_SOCKET)
        return 0
    if unwanted(k, sk, packet) or (sk.filter is not None and filtered(sk, packet, (body[12] >> 4) * 4)):
        yield drop(k, packet, SKB_DROP_REASON_SOCKET_FILTER, sk.addr)
        return 0
    k.mirror.set_field(skb, "sk_buff", "dev", 0)
    if sk.held is not None:  # tcp_add_backlog()
        sk.held.append((do_rcv, skb))
        return 0
    return (yield k.call(do_rcv, sk.addr, skb))


@kernel_function("int tcp_v4_do_rcv(struct sock *sk, struct sk_buff *skb)", source="net/ipv4/tcp_ipv4.c")
def tcp_v4_do_rcv(k: NetKernel, sk: int, skb: int) -> Body:
    """The fast path for established connections, the state machine for all others."""
    return (yield from do_rcv(k, sk, skb))


def do_rcv(k: NetKernel, sk: int, skb: int) -> Body:
    """tcp_v4_do_rcv(), tcp_v6_do_rcv() (`yield from`)."""
    tcp_sk(k, sk).segs_in += 1
    if k.net.socks[sk].state == TCP_ESTABLISHED:
        yield k.call("tcp_rcv_established", sk, skb)
        return 0
    packet = k.net.skbs[skb]
    listener = tcp_sk(k, sk)
    if listener.state == TCP_LISTEN and (mss := comes_back(k, listener, packet)):
        connection = from_cookie(k, listener, packet, mss)
        if connection is not None:
            return (yield from do_rcv(k, connection.addr, skb))
        yield k.call("consume_skb", skb)
        return 0
    refusal = RstReason.TCP_FLAGS if listener.state == TCP_LISTEN else RstReason.TCP_ABORT_ON_DATA
    ret = yield k.call("tcp_rcv_state_process", sk, skb)
    if k.net.skbs.get(skb) is packet:  # still the same packet at this address, and nobody's
        if ret:
            yield from send_reset(k, packet, refusal, sk)
        if packet.sk is None:
            yield k.call("consume_skb", skb)
    return 0


def take_ack(k: NetKernel, sk: TcpSock, segment: Segment) -> Steps[None]:
    """tcp_ack(): what the peer has, how much more it takes, and what that says of the way; then send what may go now."""
    ack, sk.last_ack_ns = segment.ack, k.clock.now_ns
    if not segment.flags & ACK or before(ack, sk.snd_una) or before(sk.snd_nxt, ack):
        return
    window = segment.window if segment.flags & SYN else segment.window << sk.rx_opt.snd_wscale
    before_that = sk.snd_wnd
    if segment.flags & SYN or sk.state == TCP_SYN_RECV or may_update_window(sk, segment, window):
        sk.snd_wnd, sk.snd_wl1 = window, segment.seq
    window_changed = before_that != sk.snd_wnd
    if sk.snd_wnd > sk.max_window:
        sk.max_window = sk.snd_wnd
        sync_mss(sk)
    sk.probes = 0
    if not sk.sent:
        sk.backoff = 0  # a probe was answered
    if ack != sk.snd_una:
        yield from _acknowledged(k, sk, ack)
    elif sk.sent and not segment.data and not segment.flags & (SYN | FIN) and not window_changed:
        yield from _same_again(k, sk)
    if k.net.socks.get(sk.addr) is not sk:
        return
    sk.store()
    k.wake_up(sk.wq, 0)
    if (sk.unsent or sk.fin_wanted) and sk.state != TCP_CLOSE:
        yield from push(k, sk)


def _acknowledged(k: NetKernel, sk: TcpSock, ack: int) -> Steps[None]:
    """tcp_clean_rtx_queue() and what follows: round-trip time, timer, congestion window."""
    now, count, measured_ns = k.clock.now_ns, 0, 0
    sk.bytes_acked += (ack - sk.snd_una) & U32_MAX
    sk.snd_una = ack
    sk.congestion.in_ack_event(sk, IN_ACK_WINDOW_UPDATE)
    if sk.snd_up is not None and not before(ack, sk.snd_up):
        sk.snd_up = None
    while sk.sent and not before(ack, sk.sent[0].end):
        sent = sk.sent.popleft()
        sk.sent_bytes -= len(sent.data)
        count += bool(sent.data)
        sk.delivered += 1
        if not sent.tries:  # Karn's rule: nobody knows which of the two is acknowledged
            measured_ns = max(now - sent.when_ns, 1)
    if sk.sent and before(sk.sent[0].seq, ack):  # tcp_trim_head()
        part, taken = sk.sent[0], (ack - sk.sent[0].seq) & U32_MAX
        part.data, part.seq = part.data[taken:], ack
        sk.sent_bytes -= taken
    if measured_ns:
        if measure(sk, measured_ns):
            sk.store()
            k.net.programs.sock_ops(sk, BPF_SOCK_OPS_RTT_CB)
        sk.backoff = 0
    sk.retransmits = sk.dupacks = 0
    sk.congestion.pkts_acked(sk, count, measured_ns // NS_PER_US if measured_ns else -1)
    recovering = sk.ca_state in (CaState.RECOVERY, CaState.LOSS)
    if recovering and not before(ack, sk.high_seq):
        if sk.ca_state == CaState.RECOVERY:
            sk.cwnd = sk.ssthresh
            sk.congestion.cwnd_event(sk, CaEvent.COMPLETE_CWR)
        sk.set_ca_state(CaState.OPEN)
    elif sk.ca_state == CaState.RECOVERY:
        yield k.call("tcp_retransmit_skb", sk.addr, 0, 1)  # a partial acknowledgement: the next hole
    if count and sk.ca_state in (CaState.OPEN, CaState.LOSS):
        sk.congestion.cong_avoid(sk, count, now)
    if sk.ca_state == CaState.LOSS and sk.sent and k.net.socks.get(sk.addr) is sk:
        yield k.call("tcp_retransmit_skb", sk.addr, 0, 1)
    if k.net.socks.get(sk.addr) is sk:
        sk.pending = Pending.NOTHING
        if sk.sent:
            arm_retransmit(k, sk)


def _same_again(k: NetKernel, sk: TcpSock) -> Steps[None]:
    """A duplicate acknowledgement: something came behind a hole; the third says that it is one."""
    sk.congestion.in_ack_event(sk, IN_ACK_SLOW)
    sk.dupacks += 1
    if sk.ca_state == CaState.RECOVERY:
        sk.cwnd += 1  # one more has left the network
    elif sk.dupacks == DUPACKS and sk.ca_state == CaState.OPEN:
        sk.ssthresh = sk.congestion.ssthresh(sk)
        sk.set_ca_state(CaState.RECOVERY)
        sk.high_seq = sk.snd_nxt
        sk.cwnd, sk.cwnd_acked = sk.ssthresh + DUPACKS, 0
        yield k.call("tcp_retransmit_skb", sk.addr, 0, 1)


@kernel_function("void tcp_rcv_established(struct sock *sk, struct sk_buff *skb)", source="net/ipv4/tcp_input.c")
def tcp_rcv_established(k: NetKernel, sk: int, skb: int) -> Body:
    """Data and acknowledgements of an established connection."""
    k.trace("tcp_probe", sk, skb)
    sock, packet = tcp_sk(k, sk), k.net.skbs[skb]
    segment = Segment(packet.packet())
    verdict = yield from validate(k, sock, segment)
    if verdict != Verdict.TAKEN:
        if verdict == Verdict.RESET:
            yield k.call("tcp_reset", sk, skb)
        yield k.call("consume_skb", skb)
        return 0
    show_header(k, sock, packet)
    take_stamps(sock, segment)
    yield from take_ack(k, sock, segment)
    if k.net.socks.get(sk) is sock:
        if segment.urgent is not None or sock.urg_data:
            yield from take_urgent(k, sock, segment)
        yield from receive_data(k, sock, packet, segment)
    else:
        yield k.call("consume_skb", skb)
    return 0


def receive_data(k: NetKernel, sk: TcpSock, packet: Skb, segment: Segment) -> Steps[None]:
    """tcp_data_queue(): in-order data to the receive queue, a FIN to the state machine, and the ACK for both."""
    length = len(segment.data)
    if segment.seq != sk.rcv_nxt:
        yield from _out_of_order(k, sk, packet, segment)
        return
    if not (length or segment.flags & FIN):
        yield k.call("consume_skb", packet.addr)
        return
    yield from _in_order(k, sk, packet, segment)
    while sk.early and not before(sk.rcv_nxt, sk.early[0][0]):
        _, later, following = sk.early.pop(0)
        passed = (sk.rcv_nxt - following.seq) & U32_MAX
        if passed and sk.rx_opt.sack_ok:
            note_twice(sk, following.seq, (following.seq + len(following.data)) & U32_MAX)
        if passed > len(following.data) or (passed == len(following.data) and not following.flags & FIN):
            yield k.call("consume_skb", later.addr)
            continue
        following.data = following.data[passed:]
        yield from _in_order(k, sk, later, following)
    if k.net.socks.get(sk.addr) is sk and sk.state != TCP_CLOSE:  # else the FIN was acknowledged on the way out
        yield k.call("__tcp_send_ack", sk.addr, sk.rcv_nxt)


def _in_order(k: NetKernel, sk: TcpSock, packet: Skb, segment: Segment) -> Steps[None]:
    """A segment that begins where the last one ended."""
    length = len(segment.data)
    sk.rcv_nxt = (sk.rcv_nxt + length) & U32_MAX
    sk.bytes_received += length
    sk.data_segs_in += bool(length)
    sk.last_received_ns = k.clock.now_ns
    if length:
        packet.pull(packet.len - length)
        if sk.shutdown & RCV_SHUTDOWN and sk.dead:
            yield k.call("consume_skb", packet.addr)
        else:
            sk.store()
            yield from deliver(k, sk, packet)
            if sk.early:
                forget_sacked(sk)
            data_received(sk, length, packet.truesize)
            sk.store()
    if segment.flags & FIN:
        sk.rcv_nxt = (sk.rcv_nxt + 1) & U32_MAX
        sk.bytes_received += 1  # tcp_rcv_nxt_update() counts sequence numbers
        sk.fin_truesize = 0 if length or sk.dead else packet.truesize
        sk.fin_unread, sk.fin_had_data = True, bool(length)
        yield k.call("tcp_fin", sk.addr)
        if not length and not sk.dead and k.net.socks.get(sk.addr) is sk:  # tcp_data_ready()
            yield k.call("sock_def_readable", sk.addr)
        if not length:
            yield k.call("consume_skb", packet.addr)


def _out_of_order(k: NetKernel, sk: TcpSock, packet: Skb, segment: Segment) -> Steps[None]:
    """tcp_data_queue_ofo(): what comes too early is kept; old and early segments both are answered with where we are."""
    ahead = before(sk.rcv_nxt, segment.seq)
    if not ahead and before(sk.rcv_nxt, (segment.seq + len(segment.data) + bool(segment.flags & FIN)) & U32_MAX):
        if sk.rx_opt.sack_ok:
            note_twice(sk, segment.seq, sk.rcv_nxt)
        segment.data = segment.data[(sk.rcv_nxt - segment.seq) & U32_MAX :]  # its end is new
        segment.seq = sk.rcv_nxt
        yield from receive_data(k, sk, packet, segment)
        return
    known, end = any(seq == segment.seq for seq, _, _ in sk.early), (segment.seq + len(segment.data)) & U32_MAX
    if sk.rx_opt.sack_ok and (segment.data or segment.flags & FIN):
        note_beyond(sk, segment.seq, end) if ahead else note_twice(sk, segment.seq, end)
    fits = ((segment.seq - sk.rcv_nxt) & U32_MAX) < max(sk.rcvbuf - sk.rmem, 0)
    if ahead and not known and fits and (segment.data or segment.flags & FIN):
        packet.set_owner(sk)
        sk.rcv_ooopack += 1
        sk.early.append((segment.seq, packet, segment))
        sk.early.sort(key=lambda row: (row[0] - sk.rcv_nxt) & U32_MAX)
    else:
        yield k.call("consume_skb", packet.addr)
    if not ahead or segment.data or segment.flags & FIN:
        yield k.call("__tcp_send_ack", sk.addr, sk.rcv_nxt)


@kernel_function("void tcp_fin(struct sock *sk)", source="net/ipv4/tcp_input.c")
def tcp_fin(k: NetKernel, sk: int) -> Body:
    """The peer will send no more."""
    sock = tcp_sk(k, sk)
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


@kernel_function("void tcp_reset(struct sock *sk, struct sk_buff *skb)", source="net/ipv4/tcp_input.c")
def tcp_reset(k: NetKernel, sk: int, skb: int) -> Body:
    """The peer aborted."""
    k.trace("tcp_receive_reset", sk)
    sock = k.net.socks[sk]
    errors = {TCP_SYN_SENT: ECONNREFUSED, TCP_CLOSE_WAIT: EPIPE}
    sock.set_shutdown(SHUTDOWN_MASK)
    error = errors.get(sock.state, ECONNRESET)
    yield k.call("tcp_set_state", sk, TCP_CLOSE)
    yield from purge(k, tcp_sk(k, sk))
    sock.set_error(error)
    if sock.dead:
        sock.free()
    else:
        yield k.call("sk_error_report", sk)
    return 0


@kernel_function("int tcp_rcv_state_process(struct sock *sk, struct sk_buff *skb)", source="net/ipv4/tcp_input.c")
def tcp_rcv_state_process(k: NetKernel, sk: int, skb: int) -> Body:
    """Every state but ESTABLISHED.  Returns 1 when a reset has to be sent; the packet stays the caller's."""
    sock, packet = tcp_sk(k, sk), k.net.skbs[skb]
    segment = Segment(packet.packet())
    if sock.state == TCP_LISTEN:
        if segment.flags & (ACK | RST) or segment.flags & (SYN | FIN) != SYN:
            return 1 if segment.flags & (ACK | RST) == ACK else 0
        yield k.call("tcp_v4_conn_request" if sock.family == AF_INET else "tcp_v6_conn_request", sk, skb)
        return 0
    if sock.state != TCP_SYN_SENT and not sock.is_request:
        verdict = yield from validate(k, sock, segment)
        if verdict == Verdict.DROPPED:
            return 0
    if segment.flags & RST:
        yield k.call("tcp_reset", sk, skb)
        return 0
    if sock.state == TCP_SYN_SENT:
        if segment.flags & (SYN | ACK) == SYN | ACK and answers_syn(sock, segment.ack):
            sock.rcv_nxt = sock.rcv_wup = (segment.seq + 1) & U32_MAX
            read_syn(sock.net, sock, sock, segment.options, sock.rx_opt.mss_clamp)
            yield from take_ack(k, sock, segment)
            agreed(sock)
            yield k.call("tcp_finish_connect", sk, skb)
            if sock.sent:  # tcp_rcv_fastopen_synack(): what came with the SYN was not taken
                yield k.call("tcp_retransmit_skb", sk, 0, 1)
            else:
                yield k.call("__tcp_send_ack", sk, sock.rcv_nxt)
        return 0
    if segment.flags & SYN:  # tcp_check_req(): our SYN-ACK was lost
        if sock.sent:
            yield k.call("tcp_retransmit_skb", sk, 0, 1)
        return 0
    show_header(k, sock, packet)
    take_stamps(sock, segment)
    yield from take_ack(k, sock, segment)
    if k.net.socks.get(sk) is not sock:
        return 0
    acked = segment.flags & ACK and sock.all_acked
    if sock.state == TCP_SYN_RECV and acked and sock.fast_opened:  # tcp_rcv_synrecv_state_fastopen()
        yield k.call("tcp_set_state", sk, TCP_ESTABLISHED)
        yield k.wake(sock.wq)
    elif sock.state == TCP_SYN_RECV and acked:
        assert sock.listener is not None
        if sock.family == AF_INET:
            yield k.call("tcp_v4_syn_recv_sock", sock.listener.addr, skb, sk)
        else:
            yield k.call("tcp_v6_syn_recv_sock", sock.listener.addr, skb, sk, 0, 0, 0)
    elif sock.state == TCP_FIN_WAIT1 and acked:
        yield k.call("tcp_set_state", sk, TCP_FIN_WAIT2)
        if sock.dead and not segment.flags & FIN:
            if segment.data or fin_time_ns(sock) < 0:
                yield k.call("tcp_done", sk)
                return 1
            yield from time_wait(k, sock, TCP_FIN_WAIT2)
            return 0
        yield k.wake(sock.wq)
    elif sock.state == TCP_CLOSING and acked:
        yield from time_wait(k, sock)
        return 0
    elif sock.state == TCP_LAST_ACK and acked:
        yield k.call("tcp_done", sk)
        return 0
    if sock.state in (TCP_CLOSE_WAIT, TCP_CLOSING, TCP_LAST_ACK):  # nothing new can come: an old FIN is answered again
        if segment.seq != sock.rcv_nxt:
            yield k.call("__tcp_send_ack", sk, sock.rcv_nxt)
        return 0
    if sock.state in (TCP_ESTABLISHED, TCP_FIN_WAIT1, TCP_FIN_WAIT2) and (segment.data or segment.flags & FIN):
        if sock.dead and segment.data:
            yield k.call("tcp_set_state", sk, TCP_CLOSE)
            return 1
        packet.set_owner(sock)
        if segment.urgent is not None or sock.urg_data:
            yield from take_urgent(k, sock, segment)
        yield from receive_data(k, sock, packet, segment)
    return 0


@kernel_function("void tcp_finish_connect(struct sock *sk, struct sk_buff *skb)", source="net/ipv4/tcp_input.c")
def tcp_finish_connect(k: NetKernel, sk: int, skb: int) -> Body:
    """SYN-ACK received: the active side is connected."""
    sock = tcp_sk(k, sk)
    sock.grow_buffers()
    init_buffer_space(sock, k.clock.now_ns)
    sock.last_sent_ns = k.clock.now_ns
    if "inet_conn_established" in k.security_hooks.watched:
        allowed(k, "inet_conn_established", sk, skb)
    yield k.call("tcp_set_state", sk, TCP_ESTABLISHED)
    sock.store()
    show_copied(k, sock)
    connected(k, sock)
    sock.init_window()
    show(k, sock, BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB, k.net.skbs.get(skb))
    sock.init_congestion()
    yield k.wake(k.net.socks[sk].wq)
    return 0


@kernel_function("int tcp_v4_conn_request(struct sock *sk, struct sk_buff *skb)", source="net/ipv4/tcp_ipv4.c")
def tcp_v4_conn_request(k: NetKernel, sk: int, skb: int) -> Body:
    """A SYN for a listener."""
    return (yield from new_request(k, sk, skb))


def new_request(k: NetKernel, sk: int, skb: int) -> Body:
    """tcp_conn_request() (`yield from`): make the child (as yet a request) and answer SYN-ACK; a full backlog ignores it."""
    listener, packet = tcp_sk(k, sk), k.net.skbs[skb]
    cookie = flood_action(k, listener)
    full = cookie is not None and len(listener.accept_queue) > listener.backlog
    listener.net.mib["ListenOverflows"] += full
    child = None if cookie is None or full else make_request(k, listener, packet)
    if child is None:
        listener.net.mib["ListenDrops"] += 1
        return 0
    segment = Segment(packet.packet())
    initial_timeout(k, child, fullsock=False)
    k.net.programs.sock_ops(child, BPF_SOCK_OPS_NEEDS_ECN, fullsock=False)
    child.iss = init_sequence(k, listener, packet) if cookie else k.random.getrandbits(32)
    child.snd_nxt = child.snd_una = child.snd_sml = child.iss
    wait_for_ack(child)
    if not cookie:
        k.net.tcp_established[key_of(child)] = child
    child.syn, child.from_cookie = packet, bool(cookie)
    if not cookie and accepts(listener, segment):
        yield from _open_fast(k, child, packet, segment)
    yield from transmit(k, child, SYN | ACK)
    child.syn = None
    if child.fast_opened:
        queue(listener, child)
        yield k.call("sock_def_readable", sk)
    if cookie:
        child.free()  # nothing of it is kept
    return 0


def _open_fast(k: NetKernel, child: TcpSock, packet: Skb, segment: Segment) -> Steps[None]:
    """tcp_fastopen_create_child(): a connection at once, with what came with its SYN to be read."""
    child.fast_opened = True
    child.net.mib["TcpPassiveOpens"] += 1
    child.net.mib["TCPFastOpenPassive"] += 1
    _accepted(child, k.clock.now_ns)
    child.init_window()
    show(k, child, BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB, packet)
    child.init_congestion()
    packet.set_owner(child)
    yield from _in_order(k, child, packet, segment)


@kernel_function(
    "struct sock *tcp_v4_syn_recv_sock(const struct sock *sk, struct sk_buff *skb, struct request_sock *req)",
    source="net/ipv4/tcp_ipv4.c",
)
def tcp_v4_syn_recv_sock(k: NetKernel, sk: int, skb: int, req: int) -> Body:
    """The handshake is complete."""
    return (yield from request_done(k, sk, req, skb))


def _clone_seen(k: NetKernel, listener: Sock, child: TcpSock) -> None:
    """inet_csk_clone_lock(): as yet the child has its listener's addresses, before 7.2."""
    if k.version.at_least(CLONE_HAS_ADDRESSES_SINCE):
        k.trace("inet_sock_set_state", child.addr, TCP_LISTEN, TCP_SYN_RECV)
        return
    own = child.laddr, child.lport, child.raddr, child.rport
    child.laddr, child.lport, child.raddr, child.rport = listener.laddr, listener.lport, listener.raddr, 0
    child.sync_addresses()
    k.trace("inet_sock_set_state", child.addr, TCP_LISTEN, TCP_SYN_RECV)
    child.laddr, child.lport, child.raddr, child.rport = own
    child.sync_addresses()


def _accepted(child: TcpSock, now_ns: int) -> None:
    """tcp_create_openreq_child() and tcp_init_transfer(): sizes of a connection."""
    agreed(child)
    child.grow_buffers()
    init_buffer_space(child, now_ns)


def request_done(k: NetKernel, sk: int, req: int, skb: int) -> Body:
    """The child becomes a connection in its listener's accept queue (`yield from`)."""
    listener, child = k.net.socks[sk], tcp_sk(k, req)
    if k.tracepoints.point("inet_sock_set_state").active:
        _clone_seen(k, listener, child)
    child.net.mib["TcpPassiveOpens"] += 1
    _accepted(child, k.clock.now_ns)
    child.last_sent_ns = k.clock.now_ns
    child.segs_in, child.segs_out, child.bytes_acked = child.segs_in + 1, 0, 0  # the request had the rest
    k.trace("tcp_cong_state_set", req, CaState.OPEN)
    yield k.call("tcp_set_state", req, TCP_ESTABLISHED)
    child.store()
    show_copied(k, child)
    connected(k, child)
    child.init_window()
    show(k, child, BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB, k.net.skbs.get(skb))
    child.init_congestion()
    queue(listener, child)
    yield k.call("sock_def_readable", sk)
    return req


@kernel_function("void tcp_done(struct sock *sk)", source="net/ipv4/tcp.c")
def tcp_done(k: NetKernel, sk: int) -> Body:
    """The connection is over."""
    sock = k.net.socks[sk]
    yield k.call("tcp_set_state", sk, TCP_CLOSE)
    sock.set_shutdown(SHUTDOWN_MASK)
    yield from purge(k, tcp_sk(k, sk))
    yield k.wake(sock.wq)
    if sock.dead:
        sock.free()
    return 0


def purge(k: NetKernel, sk: TcpSock) -> Steps[None]:
    """tcp_write_queue_purge(), and what came too early: nobody will want them."""
    sk.sent.clear()
    sk.unsent.clear()
    sk.fin_wanted, sk.sent_bytes, sk.pending = False, 0, Pending.NOTHING
    sk.stop_keepalive()
    while sk.early:
        yield k.call("consume_skb", sk.early.pop()[1].addr)
