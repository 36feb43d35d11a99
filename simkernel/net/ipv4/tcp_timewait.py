"""What stays of a connection that nobody has open any more: a minisock that answers late segments.  net/ipv4/tcp_minisocks.c."""

from __future__ import annotations

from functools import partial

from arch.abi.inet import TCP_CLOSE, TCP_FIN_WAIT2, TCP_TIME_WAIT
from arch.abi.limits import U32_MAX
from arch.abi.socket import SOL_TCP, TCP_LINGER2
from arch.abi.time import NSEC_PER_SEC
from simkernel.kernel.face import Steps
from simkernel.net.core.skb import Skb
from simkernel.net.core.sock import TimeWait
from simkernel.net.core.state import Flow
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import addresses
from simkernel.net.ipv4.tcp_output import RstReason, send_alone, send_reset
from simkernel.net.ipv4.tcp_sock import ACK, FIN, RST, SYN, TIME_WAIT_NS, Segment, TcpSock, before, header_of, key_of
from simkernel.net.ipv4.tcp_wire import no_options, stamps_at


def fin_time_ns(sk: TcpSock) -> int:
    """tcp_fin_time(): how long the peer's FIN is waited for; negative: not at all."""
    wanted = sk.options.get((SOL_TCP, TCP_LINGER2)) or int(sk.net.sysctl["ipv4.tcp_fin_timeout"])
    return wanted * NSEC_PER_SEC if wanted < 0 else max(wanted * NSEC_PER_SEC, (sk.rto_ns << 2) - (sk.rto_ns >> 1))


def time_wait(k: NetKernel, sk: TcpSock, state: int = TCP_TIME_WAIT) -> Steps[None]:
    """tcp_time_wait(): a minisock holds the four-tuple for a minute (in TCP_FIN_WAIT2 until the peer's FIN); the full sock is closed."""
    wait = TIME_WAIT_NS if state == TCP_TIME_WAIT else fin_time_ns(sk)
    closed = TimeWait(
        sk.snd_nxt, sk.rcv_nxt, k.clock.now_ns + wait, min(sk.rcv_wnd >> sk.rx_opt.rcv_wscale, 0xFFFF),
        partial(stamps_at, sk.tsoffset, sk.rx_opt.ts_recent) if sk.rx_opt.tstamp_ok else no_options, state,
    )  # fmt: skip
    key = key_of(sk)
    yield k.call("tcp_set_state", sk.addr, TCP_CLOSE)
    if sk.dead:
        sk.free()
    k.net.time_wait[key] = closed
    _forget_later(k, key, closed)


def _forget_later(k: NetKernel, key: Flow, closed: TimeWait) -> None:
    """inet_twsk_schedule()."""
    ends = closed.ends_ns

    def forget() -> None:
        if k.net.time_wait.get(key) is closed and closed.ends_ns == ends:
            del k.net.time_wait[key]

    k.clock.add(ends, forget)


def answer_for_closed(k: NetKernel, packet: Skb, key: Flow) -> Steps[None]:
    """tcp_timewait_state_process(): the peer's FIN, which may come again if the last acknowledgement was lost."""
    closed = k.net.time_wait[key]
    segment = Segment(packet.packet())
    if closed.state == TCP_FIN_WAIT2:
        yield from _awaits_fin(k, packet, segment, key, closed)
    elif not segment.flags & (RST | SYN) and (segment.data or segment.flags & FIN):
        yield from _acknowledge(k, packet, closed)


def _awaits_fin(k: NetKernel, packet: Skb, segment: Segment, key: Flow, closed: TimeWait) -> Steps[None]:
    """Of what comes now nobody reads anything: data are refused."""
    if segment.flags & RST:
        del k.net.time_wait[key]
        return
    end = (segment.seq + len(segment.data) + bool(segment.flags & FIN)) & U32_MAX
    if not segment.flags & ACK or end == segment.seq or not before(closed.rcv_nxt, end):
        return
    if not segment.flags & FIN or end != (closed.rcv_nxt + 1) & U32_MAX:
        del k.net.time_wait[key]
        yield from send_reset(k, packet, RstReason.TCP_TIMEWAIT_SOCKET)
        return
    closed.state, closed.rcv_nxt, closed.ends_ns = TCP_TIME_WAIT, end, k.clock.now_ns + TIME_WAIT_NS
    _forget_later(k, key, closed)
    yield from _acknowledge(k, packet, closed)


def _acknowledge(k: NetKernel, packet: Skb, closed: TimeWait) -> Steps[None]:
    body = packet.packet()
    source, destination = addresses(packet)
    sport, dport = int.from_bytes(body[:2], "big"), int.from_bytes(body[2:4], "big")
    answer = header_of(
        dport, sport, closed.snd_nxt, closed.rcv_nxt, ACK, closed.window, 0, closed.options(k.clock.now_ns)
    )
    yield from send_alone(k, packet, source, destination, answer)
