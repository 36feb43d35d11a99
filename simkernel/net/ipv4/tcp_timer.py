"""What happens when no acknowledgement comes: segments are sent again, later and later, until it is given up.  net/ipv4/tcp_timer.c."""

from __future__ import annotations

from arch.abi.errno import ETIMEDOUT
from arch.abi.inet import TCP_CLOSE, TCP_LISTEN, TCP_SYN_RECV, TCP_SYN_SENT
from arch.abi.limits import U32_MAX
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.skb import Skb
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.tcp_output import TCP_RTO_MAX_NS, arm_retransmit, send_segment, transmit
from simkernel.net.ipv4.tcp_sock import ACK, PSH, CaEvent, CaState, Pending, TcpSock, tcp_sk
from simkernel.net.reuseport import migrate

TCP_SYN_RETRIES = 6  # net.ipv4.tcp_syn_retries: 127 s in all
TCP_SYNACK_RETRIES = 5
TCP_RETRIES2 = 15  # net.ipv4.tcp_retries2: about 15 minutes
ORPHAN_RETRIES = 8  # nobody has the socket any more


@kernel_function("void tcp_write_timer(struct timer_list *t)", source="net/ipv4/tcp_timer.c", since="4.15")
def tcp_write_timer(k: NetKernel, t: int) -> Body:
    """The retransmission timer of a sock."""
    offset = k.types.offsetof("struct tcp_sock", "inet_conn.icsk_retransmit_timer")
    yield k.call("tcp_write_timer_handler", t - offset)
    return 0


@kernel_function("void tcp_write_timer(unsigned long data)", source="net/ipv4/tcp_timer.c", until="4.15")
def tcp_write_timer_data(k: NetKernel, data: int) -> Body:
    """Before 4.15 a timer's function got its data."""
    yield k.call("tcp_write_timer_handler", data)
    return 0


@kernel_function("void tcp_write_timer_handler(struct sock *sk)", source="net/ipv4/tcp_timer.c")
def tcp_write_timer_handler(k: NetKernel, sk: int) -> Body:
    """Which of the timers that share it has run out; none, if what it was set for has happened meanwhile."""
    sock = tcp_sk(k, sk)
    pending, sock.pending = sock.pending, Pending.NOTHING
    if sock.state in (TCP_CLOSE, TCP_LISTEN):
        return 0
    if pending == Pending.RETRANS and sock.sent:
        yield k.call("tcp_retransmit_timer", sk)
    elif pending == Pending.PROBE0 and sock.unsent:
        yield k.call("tcp_send_probe0", sk)
    return 0


def retries(sk: TcpSock) -> int:
    """tcp_write_timeout(): after how many it is given up."""
    if sk.state == TCP_SYN_SENT:
        return TCP_SYN_RETRIES
    if sk.state == TCP_SYN_RECV:
        return TCP_SYNACK_RETRIES
    return ORPHAN_RETRIES if sk.dead else TCP_RETRIES2


@kernel_function("void tcp_retransmit_timer(struct sock *sk)", source="net/ipv4/tcp_timer.c")
def tcp_retransmit_timer(k: NetKernel, sk: int) -> Body:
    """Nothing came back in time: as if all on the way were lost."""
    sock = tcp_sk(k, sk)
    if sock.is_request and not (yield from still_wanted(k, sock, None)):  # reqsk_timer_handler()
        return 0
    if sock.retransmits >= retries(sock):
        yield from give_up(k, sock)
        return 0
    enter_loss(sock)
    sock.retransmits += 1
    sock.backoff += 1
    yield k.call("tcp_retransmit_skb", sk, 0, 1)
    if k.net.socks.get(sk) is sock and sock.sent:
        arm_retransmit(k, sock)
        sock.store()
    return 0


def still_wanted(k: NetKernel, sk: Sock, packet: Skb | None) -> Steps[bool]:
    """A request whose listener has stopped goes on at another of its group, or goes (`yield from`)."""
    if not isinstance(sk, TcpSock) or not sk.is_request or sk.listener is None or sk.listener.state == TCP_LISTEN:
        return True
    other = yield from migrate(k, sk.listener, sk, packet)
    if other is not None:
        sk.listener = other
        sk.net.mib["TCPMigrateReqSuccess"] += 1
        return True
    sk.dead = True  # inet_csk_reqsk_queue_drop()
    yield k.call("tcp_done", sk.addr)
    return False


def enter_loss(sk: TcpSock) -> None:
    """tcp_enter_loss()."""
    if sk.state in (TCP_SYN_SENT, TCP_SYN_RECV):
        return
    if sk.ca_state != CaState.LOSS or sk.snd_una == sk.high_seq:
        sk.ssthresh = sk.congestion.ssthresh(sk)
        sk.congestion.cwnd_event(sk, CaEvent.LOSS)
    sk.cwnd, sk.cwnd_acked = 1, 0
    sk.set_ca_state(CaState.LOSS)
    sk.high_seq, sk.dupacks = sk.snd_nxt, 0


def give_up(k: NetKernel, sk: TcpSock) -> Steps[None]:
    """tcp_write_err()."""
    if sk.is_request:
        sk.dead = True
    else:
        sk.set_error(ETIMEDOUT)
    yield k.call("tcp_done", sk.addr)


@kernel_function("void tcp_send_probe0(struct sock *sk)", source="net/ipv4/tcp_output.c")
def tcp_send_probe0(k: NetKernel, sk: int) -> Body:
    """The peer's window is closed: ask, with a sequence number that it has to answer, or with as much as it takes."""
    sock = tcp_sk(k, sk)
    if sock.probes > retries(sock):
        yield from give_up(k, sock)
        return 0
    sock.probes += 1
    sock.backoff += 1
    if sock.snd_wnd and sock.state != TCP_CLOSE:  # tcp_write_wakeup()
        part = bytes(sock.unsent[: min(sock.snd_wnd, sock.mss)])
        del sock.unsent[: len(part)]
        yield from transmit(k, sock, ACK | PSH, part)
        return 0
    yield from send_segment(k, sock, ACK, (sock.snd_una - 1) & U32_MAX, b"")
    if k.net.socks.get(sk) is sock and sock.unsent and not sock.sent:
        sock.pending = Pending.PROBE0
        k.timers.mod(sock.timer, k.clock.now_ns + min(sock.rto_ns << sock.backoff, TCP_RTO_MAX_NS))
    return 0
