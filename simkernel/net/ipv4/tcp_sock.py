"""TCP over IPv4: what its parts share: segments, states, the tables that connections are found in.  net/ipv4/tcp.c.

A `TcpSock` keeps what was sent and not acknowledged (`sent`), what waits for a window (`unsent`) and what came too early
(`early`); tcp_output.py sends, tcp_input.py takes acknowledgements, tcp_timer.py sends again, tcp_cong.py says how much may be on
the way, tcp_window.py how large segments and windows are, tcp_wire.py writes and reads headers with their options.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import cache
from typing import Protocol

from arch.abi.inet import (
    IPPROTO_TCP,
    TCP_CLOSE,
    TCP_CLOSE_WAIT,
    TCP_ESTABLISHED,
    TCP_FIN_WAIT2,
    TCP_LISTEN,
    TCP_SYN_RECV,
    TCP_SYN_SENT,
    TCP_TIME_WAIT,
)
from arch.abi.limits import U32_MAX
from arch.abi.socket import SOCK_STREAM, SOL_TCP
from arch.abi.time import CLOCK_MONOTONIC, INITIAL_JIFFIES, TICK_NSEC
from arch.cview import Setter
from arch.records import dataclass
from arch.typetable import TypeTable
from simkernel.kernel.clock import HRTIMER_MODE_ABS, HRTIMER_MODE_PINNED, HRTIMER_MODE_REL, HRTIMER_MODE_SOFT, HrTimer
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.netns import Net
from simkernel.net.core.programs import BPF_SOCK_OPS_STATE_CB
from simkernel.net.core.skb import Skb
from simkernel.net.core.sock import TCP_SNDBUF, Sock, unbind
from simkernel.net.core.state import Flow
from simkernel.net.face import NetKernel

FIN, SYN, RST, PSH, ACK, URG = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
TCP_HEADER = 20
TCPOLEN_TSTAMP_ALIGNED = 12
TCP_MSS_DEFAULT = 536
MAX_SEGMENT = (SOL_TCP, 2)  # TCP_MAXSEG
TIME_WAIT_NS = 60 * 10**9
TCP_INIT_CWND = 10
TCP_RTO_MIN_NS = TCP_DELACK_MAX_NS = 200_000_000
TCP_INFINITE_SSTHRESH = 0x7FFFFFFF
TCP_TIMEOUT_INIT_NS = 10**9
NS_PER_US = 1000


class CaState:
    """enum tcp_ca_state: what the sender believes of the way.  include/uapi/linux/tcp.h."""

    OPEN, DISORDER, CWR, RECOVERY, LOSS = range(5)


class Pending:
    """icsk_pending: what the retransmission timer stands for.  include/net/inet_connection_sock.h."""

    NOTHING, RETRANS, _, PROBE0 = range(4)


class Segment:
    """The header fields of a received segment, its options and its data."""

    __slots__ = ("ack", "data", "flags", "options", "seq", "urgent", "window")

    def __init__(self, body: bytes) -> None:
        self.seq = int.from_bytes(body[4:8], "big")
        self.ack = int.from_bytes(body[8:12], "big")
        self.flags = body[13]
        self.window = int.from_bytes(body[14:16], "big")  # as it is written there
        self.urgent = int.from_bytes(body[18:20], "big") if self.flags & URG else None
        size = (body[12] >> 4) * 4
        self.options = body[TCP_HEADER:size]
        self.data = body[size:]


@dataclass(slots=True)
class Sent:
    """A segment that is not acknowledged: a packet of the retransmission queue."""

    seq: int
    data: bytes
    flags: int
    when_ns: int
    tries: int = 0  # how often it was sent again

    @property
    def end(self) -> int:
        """TCP_SKB_CB(skb)->end_seq."""
        return (self.seq + len(self.data) + bool(self.flags & (SYN | FIN))) & U32_MAX


@dataclass(slots=True)
class RxOpt:
    """struct tcp_options_received: what both ends have agreed on."""

    tstamp_ok: bool = False
    sack_ok: bool = False
    wscale_ok: bool = False
    snd_wscale: int = 0
    rcv_wscale: int = 0
    mss_clamp: int = TCP_MSS_DEFAULT  # what the peer takes
    ts_recent: int = 0  # the peer's clock, to be echoed
    saw_unknown: bool = False  # the last options held one that TCP does not know


class CaEvent:
    """enum tcp_ca_event.  include/net/tcp.h."""

    TX_START, CWND_RESTART, COMPLETE_CWR, LOSS, ECN_NO_CE, ECN_IS_CE = range(6)


IN_ACK_SLOW, IN_ACK_WINDOW_UPDATE = 1, 2  # enum tcp_ca_ack_event_flags


class Congestion(Protocol):
    """struct tcp_congestion_ops: how many segments may be on the way."""

    name: str
    restricted: bool  # TCP_CONG_NON_RESTRICTED is missing: it takes CAP_NET_ADMIN

    def init(self, sk: TcpSock) -> None:
        """The connection is there, or this is its control from now on."""

    def release(self, sk: TcpSock) -> None:
        """It is over, or has another control."""

    def drop(self) -> None:
        """bpf_module_put(): the sock has it no more, whether it was ever in use or not."""

    def ssthresh(self, sk: TcpSock) -> int:
        """A segment was lost: slow start ends here from now on."""

    def cong_avoid(self, sk: TcpSock, acked: int, now_ns: int) -> None:
        """So many segments were acknowledged: change sk.cwnd."""

    def set_state(self, sk: TcpSock, state: int) -> None:
        """sk.ca_state is about to become this (CaState)."""

    def cwnd_event(self, sk: TcpSock, event: int) -> None:
        """Of CaEvent."""

    def in_ack_event(self, sk: TcpSock, flags: int) -> None:
        """An acknowledgement has come."""

    def pkts_acked(self, sk: TcpSock, acked: int, rtt_us: int) -> None:
        """It took so many segments off the way; -1 where their time is not known."""


def before(a: int, b: int) -> bool:
    """before(): sequence numbers, which wrap."""
    return (a - b) & 0x80000000 != 0


class TcpSock(Sock):
    """A struct tcp_sock."""

    def __init__(self, k: NetKernel, net: Net, family: int, congestion: Congestion) -> None:
        super().__init__(k, net, family, SOCK_STREAM, IPPROTO_TCP)
        self.timers = k.timers
        self.writers = writers(k.types)
        self.written = [0] * len(self.writers)
        self.unsent: bytearray = bytearray()
        self.rx_opt: RxOpt = RxOpt()
        self.path_mtu: int = 0  # icsk_pmtu_cookie
        self.mss: int = TCP_MSS_DEFAULT  # mss_cache: bytes of data in a segment
        self.advmss: int = TCP_MSS_DEFAULT  # what the peer is told
        self.rcv_mss: int = 0  # how large its segments are
        self.header_len: int = TCP_HEADER  # of segments without anything special
        self.max_window: int = 0  # the peer's largest
        self.window_clamp: int = 0  # the most that is advertised
        self.rcv_wnd: int = 0  # what was told last, and where that was
        self.rcv_wup: int = 0
        self.rcv_ssthresh: int = 0
        self.rcvq_space: int = 0
        self.rcv_rtt_us: int = 0
        self.rcvq_copied = self.rcvq_ns = 0
        self.rcv_rtt_last_tsecr = 0
        self.tsoffset: int = 0
        self.snd_sml: int = 0  # the end of the last small segment
        self.snd_wl1: int = 0  # where the segment began that told the window
        self.last_oow_ns: int | None = None  # when a segment was answered that nobody understood
        self.fin_truesize = 0  # of the peer's FIN, as long as it is to be read
        self.fin_unread = self.fin_had_data = False  # the FIN counts among what can be read; it came with data
        self.sacks: list[tuple[int, int]] = []  # selective_acks: what has come beyond a hole, the latest first
        self.dsack: tuple[int, int] | None = None  # duplicate_sack: what came twice
        self.fin_wanted = False  # a FIN goes out behind what is unsent
        self.sent: deque[Sent] = deque()
        self.sent_bytes = 0
        self.early: list[tuple[int, Skb, Segment]] = []  # out_of_order_queue, by sequence number
        self.congestion = congestion
        self.congestion_ready = False  # icsk_ca_initialized
        self.changing_congestion = False  # bpf_chg_cc_inprogress
        self.cwnd: int = TCP_INIT_CWND
        self.cwnd_acked = 0  # snd_cwnd_cnt
        self.cwnd_clamp: int = U32_MAX
        self.snd_up: int | None = None  # behind the urgent byte that was written last, until it is acknowledged
        self.urg_data: int = 0  # tcp_urgent.py
        self.urg_seq: int = 0
        self.cwnd_was_full = False  # is_cwnd_limited, and what else says how much of the window was used
        self.max_packets_out = self.cwnd_usage_seq = 0
        self.ssthresh: int = TCP_INFINITE_SSTHRESH
        self.ca_state: int = CaState.OPEN
        self.high_seq = 0  # recovery ends when this is acknowledged
        self.dupacks = 0
        self.srtt_us: int = 0  # 8 times the smoothed round-trip time
        self.rtt_seq: int | None = None  # the round that is measured is over when this is acknowledged
        self.delivered: int = 0  # segments that were acknowledged
        self.mdev_us: int = 0  # 4 times its deviation
        self.mdev_max_us: int = 0  # the largest of this round
        self.rttvar_us: int = 0  # what the time-out goes by
        self.rto_min_ns: int = TCP_RTO_MIN_NS
        self.delack_max_ns: int = TCP_DELACK_MAX_NS  # nothing is delayed here
        self.rto_ns: int = TCP_TIMEOUT_INIT_NS
        self.backoff: int = 0
        self.retransmits: int = 0
        self.probes = 0
        self.total_retrans: int = 0
        self.bytes_acked: int = 0
        self.bytes_received: int = 0
        self.segs_in: int = 0
        self.segs_out: int = 0
        self.data_segs_in: int = 0
        self.data_segs_out: int = 0
        self.bytes_sent: int = 0
        self.bytes_retrans: int = 0
        self.rcv_ooopack: int = 0
        self.min_rtt_us = 0
        self.last_sent_ns: int = k.clock.now_ns
        self.last_received_ns = self.last_ack_ns = self.last_sent_ns
        self.overflowed_ns: int | None = None  # of a listener: when it gave a SYN cookie last
        self.syn_data = b""  # what goes with our SYN
        self.deferred = False  # connect(2) was called, the SYN waits for the first send
        self.fast_opened = False  # a connection from its SYN on: what came with that can be read already
        self.syn: Skb | None = None  # of a request: while it is answered for the first time
        self.from_cookie = False  # of a request: nothing of it is kept but what its answer says
        self.saved_syn_length = 0  # of those without the device's
        self.saved_syn: bytes | None = None  # TCP_SAVED_SYN: the headers that the connection began with
        self.pending: int = Pending.NOTHING
        self.timer = self.addr + k.types.offsetof("struct tcp_sock", "inet_conn.icsk_retransmit_timer")
        k.timers.setup(self.timer, "tcp_write_timer", self.addr)
        self.keepalive_timer: int | None = None  # sk_timer, since it was first needed
        self._init_other_timers()
        self.store()

    @property
    def is_request(self) -> bool:
        """As yet a struct request_sock (TCP_NEW_SYN_RECV)."""
        return self.state == TCP_SYN_RECV and not self.fast_opened

    def _init_other_timers(self) -> None:
        """tcp_init_xmit_timers(): those that nothing here starts, for who listens."""
        k, types = self.k, self.k.types
        if k.tracepoints.point("timer_init").active:
            for member in ("inet_conn.icsk_delack_timer", "inet_conn.icsk_inet.sk.sk_timer"):
                k.trace("timer_init", self.addr + types.offsetof("struct tcp_sock", member))
        if k.hrtimers.told_of_new and k.version.at_least("4.13"):
            for member, function, mode in (
                ("pacing_timer", "tcp_pace_kick", HRTIMER_MODE_ABS),
                ("compressed_ack_timer", "tcp_compressed_ack_kick", HRTIMER_MODE_REL),
            ):
                at = self.addr + types.offsetof("struct tcp_sock", member)
                k.hrtimers.init(HrTimer(at, function, CLOCK_MONOTONIC, mode | HRTIMER_MODE_PINNED | HRTIMER_MODE_SOFT))

    def inherit(self, listener: Sock) -> None:
        """tcp_create_openreq_child(): and which callbacks programs want."""
        super().inherit(listener)
        if isinstance(listener, TcpSock):
            self.rto_min_ns, self.delack_max_ns = listener.rto_min_ns, listener.delack_max_ns
            self.cwnd_clamp = listener.cwnd_clamp
        place, mem = callback_flags(self.k.types), self.k.mem
        if place is not None:
            mem.write_uint(self.addr + place, 1, mem.read_uint(listener.addr + place, 1))

    @property
    def is_cwnd_limited(self) -> bool:
        """tcp_is_cwnd_limited(): a sender that had little to send learns nothing of the way."""
        return self.cwnd_was_full or (self.cwnd < self.ssthresh and self.cwnd < 2 * self.max_packets_out)

    def validate_cwnd(self) -> None:
        """tcp_cwnd_validate(): after sending."""
        full = len(self.sent) >= self.cwnd
        if not before(self.snd_una, self.cwnd_usage_seq) or full or (
            not self.cwnd_was_full and len(self.sent) > self.max_packets_out
        ):  # fmt: skip
            self.cwnd_was_full, self.max_packets_out, self.cwnd_usage_seq = full, len(self.sent), self.snd_nxt

    @property
    def queued(self) -> int:
        """sk_wmem_queued: bytes that are unsent or not acknowledged."""
        return len(self.unsent) + self.sent_bytes

    @property
    def writable(self) -> bool:
        """sk_stream_is_writeable()."""
        return self.sndbuf - self.queued >= self.queued >> 1

    @property
    def all_acked(self) -> bool:
        """Everything that was written has arrived, a FIN included."""
        return not self.sent and not self.unsent and not self.fin_wanted

    def grow_buffers(self) -> None:
        """tcp_init_buffer_space(): a connection may send more than a fresh sock, unless somebody said how much."""
        if not self.sndbuf_locked:
            self.sndbuf = TCP_SNDBUF
            self.view.sk_sndbuf = TCP_SNDBUF

    def store(self) -> None:
        """Counters and windows, where programs read them."""
        mem, addr, written = self.k.mem, self.addr, self.written
        for index, (write, value) in enumerate(self.writers):
            now = value(self)
            if written[index] != now:
                written[index] = now
                write(mem, addr, now)

    def set_ca_state(self, state: int) -> None:
        """tcp_set_ca_state()."""
        self.congestion.set_state(self, state)
        self.ca_state = state

    def init_window(self) -> None:
        """tcp_init_transfer(), tcp_init_metrics(): as a connection begins; programs are told behind it."""
        self.cwnd, self.ssthresh = min(TCP_INIT_CWND, self.cwnd_clamp), TCP_INFINITE_SSTHRESH

    def init_congestion(self) -> None:
        """tcp_init_congestion_control(), if that was not yet done."""
        if not self.congestion_ready:
            self.congestion.init(self)
            self.congestion_ready = True

    def leave_congestion(self) -> None:
        """tcp_cleanup_congestion_control()."""
        if self.congestion_ready:
            self.congestion.release(self)
            self.congestion_ready = False
        self.congestion.drop()

    def set_congestion(self, congestion: Congestion) -> None:
        """tcp_reinit_congestion_control()."""
        self.leave_congestion()
        self.congestion, self.congestion_name = congestion, congestion.name
        if self.state not in (TCP_CLOSE, TCP_LISTEN):
            self.init_congestion()

    def free(self) -> None:
        """The timer goes with the sock."""
        if self.addr in self.tables.socks:
            self.timers.delete(self.timer)  # tcp_clear_xmit_timers()
            self.leave_congestion()
            self.k.trace("tcp_destroy_sock", self.addr)
        self.timers.forget(self.timer)
        self.stop_keepalive(forget=True)
        super().free()

    def stop_keepalive(self, forget: bool = False) -> None:
        """inet_csk_delete_keepalive_timer()."""
        if self.keepalive_timer is not None:
            self.timers.delete(self.keepalive_timer)
            if forget:
                self.timers.forget(self.keepalive_timer)
                self.keepalive_timer = None


# Members of struct tcp_sock that programs look at, and where their values come from.
MEMBERS: tuple[tuple[str, Callable[[TcpSock], int]], ...] = (
    ("rcv_nxt", lambda sk: sk.rcv_nxt),
    ("snd_nxt", lambda sk: sk.snd_nxt),
    ("snd_una", lambda sk: sk.snd_una),
    ("snd_wnd", lambda sk: sk.snd_wnd),
    ("rcv_wnd", lambda sk: sk.rcv_wnd),
    ("snd_wl1", lambda sk: sk.snd_wl1),
    ("rcv_wup", lambda sk: sk.rcv_wup),
    ("rcv_ssthresh", lambda sk: sk.rcv_ssthresh),
    ("max_window", lambda sk: sk.max_window),
    ("mss_cache", lambda sk: sk.mss),
    ("advmss", lambda sk: sk.advmss),
    ("tcp_header_len", lambda sk: sk.header_len),
    ("tsoffset", lambda sk: sk.tsoffset),
    ("rx_opt.ts_recent", lambda sk: sk.rx_opt.ts_recent),
    ("rx_opt.tstamp_ok", lambda sk: sk.rx_opt.tstamp_ok),
    ("rx_opt.wscale_ok", lambda sk: sk.rx_opt.wscale_ok),
    ("rx_opt.sack_ok", lambda sk: sk.rx_opt.sack_ok),
    ("rx_opt.snd_wscale", lambda sk: sk.rx_opt.snd_wscale),
    ("rx_opt.rcv_wscale", lambda sk: sk.rx_opt.rcv_wscale),
    ("rx_opt.mss_clamp", lambda sk: sk.rx_opt.mss_clamp),
    ("rx_opt.user_mss", lambda sk: sk.options.get(MAX_SEGMENT, 0)),
    ("snd_cwnd", lambda sk: sk.cwnd),
    ("snd_cwnd_clamp", lambda sk: sk.cwnd_clamp),
    ("snd_ssthresh", lambda sk: sk.ssthresh),
    ("srtt_us", lambda sk: sk.srtt_us),
    ("mdev_us", lambda sk: sk.mdev_us),
    ("mdev_max_us", lambda sk: sk.mdev_max_us),
    ("rttvar_us", lambda sk: sk.rttvar_us),
    ("packets_out", lambda sk: len(sk.sent)),
    ("total_retrans", lambda sk: sk.total_retrans),
    ("bytes_acked", lambda sk: sk.bytes_acked),
    ("bytes_sent", lambda sk: sk.bytes_sent),
    ("bytes_retrans", lambda sk: sk.bytes_retrans),
    ("rcv_ooopack", lambda sk: sk.rcv_ooopack),
    ("write_seq", lambda sk: sk.snd_nxt + len(sk.unsent) & U32_MAX),
    ("segs_in", lambda sk: sk.segs_in),
    ("segs_out", lambda sk: sk.segs_out),
    ("data_segs_in", lambda sk: sk.data_segs_in),
    ("data_segs_out", lambda sk: sk.data_segs_out),
    ("delivered", lambda sk: sk.delivered),
    ("bytes_received", lambda sk: sk.bytes_received),
    ("window_clamp", lambda sk: sk.window_clamp),
    ("snd_up", lambda sk: sk.snd_una if sk.snd_up is None else sk.snd_up),
    ("urg_data", lambda sk: sk.urg_data),
    ("urg_seq", lambda sk: sk.urg_seq),
    ("lsndtime", lambda sk: (INITIAL_JIFFIES + sk.last_sent_ns // TICK_NSEC) & U32_MAX),
    ("rcvq_space.space", lambda sk: sk.rcvq_space),
    ("rcv_rtt_est.rtt_us", lambda sk: sk.rcv_rtt_us),
    ("inet_conn.icsk_pmtu_cookie", lambda sk: sk.path_mtu),
    ("inet_conn.icsk_ack.rcv_mss", lambda sk: sk.rcv_mss),
    ("inet_conn.icsk_rto", lambda sk: sk.rto_ns // TICK_NSEC),
    ("inet_conn.icsk_rto_min", lambda sk: sk.rto_min_ns // TICK_NSEC),
    ("inet_conn.icsk_delack_max", lambda sk: sk.delack_max_ns // TICK_NSEC),
    ("inet_conn.icsk_retransmits", lambda sk: sk.retransmits),
    ("inet_conn.icsk_pending", lambda sk: sk.pending),
    ("inet_conn.icsk_backoff", lambda sk: sk.backoff),
)


@cache
def callback_flags(types: TypeTable) -> int | None:
    """Where bpf_sock_ops_cb_flags is, a byte; None before it was there."""
    known = types.has_member("struct tcp_sock", "bpf_sock_ops_cb_flags")
    return types.offsetof("struct tcp_sock", "bpf_sock_ops_cb_flags") if known else None


@cache
def writers(types: TypeTable) -> tuple[tuple[Setter, Callable[[TcpSock], int]], ...]:
    """MEMBERS, as far as this version has them."""
    known = (row for row in MEMBERS if types.has_member("struct tcp_sock", row[0]))
    return tuple((types.setter("struct tcp_sock", member), value) for member, value in known)


def tcp_sk(k: NetKernel, sk: int) -> TcpSock:
    """The sock at an address."""
    sock = k.net.socks[sk]
    assert isinstance(sock, TcpSock)
    return sock


def is_timewait(sk: TcpSock) -> bool:
    """Nobody has it open and it waits for the peer's end: Linux keeps a struct tcp_timewait_sock."""
    return sk.dead and sk.state in (TCP_FIN_WAIT2, TCP_TIME_WAIT, TCP_CLOSE)


def header_of(
    sport: int, dport: int, seq: int, ack: int, flags: int, window: int, urgent: int = 0, options: bytes = b""
) -> bytes:
    """The header from its fields; the window as it goes over the wire, options a multiple of 4 bytes."""
    return (
        sport.to_bytes(2, "big")
        + dport.to_bytes(2, "big")
        + (seq & U32_MAX).to_bytes(4, "big")
        + (ack & U32_MAX).to_bytes(4, "big")
        + bytes((5 + len(options) // 4 << 4, flags))
        + window.to_bytes(2, "big")
        + b"\0\0"
        + urgent.to_bytes(2, "big")
        + options
    )


def key_of(sk: Sock) -> Flow:
    """The four-tuple of a connection, from its own side, in its namespace."""
    return (sk.net, sk.laddr, sk.lport, sk.raddr, sk.rport)


@kernel_function("void tcp_set_state(struct sock *sk, int state)", source="net/ipv4/tcp.c")
def tcp_set_state(k: NetKernel, sk: int, state: int) -> int:
    """Change the state, visibly: tracepoint sock:inet_sock_set_state."""
    sock = k.net.socks[sk]
    if state == TCP_CLOSE and sock.state in (TCP_ESTABLISHED, TCP_CLOSE_WAIT):
        sock.net.mib["TcpEstabResets"] += 1
    elif state == TCP_CLOSE and sock.state in (TCP_SYN_SENT, TCP_SYN_RECV):
        sock.net.mib["TcpAttemptFails"] += 1
    k.net.programs.sock_ops(sock, BPF_SOCK_OPS_STATE_CB, sock.state, state)
    k.trace("inet_sock_set_state", sk, sock.state, state)
    sock.state = state
    sock.view["__sk_common"].skc_state = state
    if state == TCP_CLOSE:
        k.net.programs.sock_closed(sock)
    if state == TCP_CLOSE and sock.listener is None:
        unhash(k, sock)
    return 0


def unhash(k: NetKernel, sk: Sock) -> None:
    """Take a sock out of the lookup tables."""
    if k.net.tcp_established.get(key_of(sk)) is sk:
        del k.net.tcp_established[key_of(sk)]
    unbind(k.net.tcp_listen, sk)
    unbind(k.net.tcp_bound, sk)
