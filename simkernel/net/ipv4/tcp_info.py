"""What a TCP socket tells of itself.  net/ipv4/tcp.c: tcp_get_info(), include/uapi/linux/tcp.h."""

from __future__ import annotations

import struct

from arch.abi.inet import TCP_LISTEN
from arch.abi.limits import U32_MAX
from arch.abi.socket import SOCK_RAW
from arch.abi.time import USER_TICK_NSEC
from simkernel.net.core.neighbour import NS_PER_MS
from simkernel.net.core.sock import Sock
from simkernel.net.ipv4.tcp_sock import NS_PER_US, CaState, Pending, TcpSock

TIMERS, KEEPALIVE, TIMEWAIT = {Pending.RETRANS: 1, Pending.PROBE0: 4}, 2, 3
TCPI_OPT_TIMESTAMPS, TCPI_OPT_SACK, TCPI_OPT_WSCALE = 1, 2, 4
TCP_FASTRETRANS_THRESH = 3
TCP_ATO_MIN_US = 40_000


def tcp_info(sk: TcpSock) -> bytes:
    """struct tcp_info of 6.1: 232 bytes."""
    order = "<" if sk.k.mem.byteorder == "little" else ">"
    listens, now = sk.state == TCP_LISTEN, sk.k.clock.now_ns
    opt = sk.rx_opt
    low, high = (opt.snd_wscale, opt.rcv_wscale) if order == "<" else (opt.rcv_wscale, opt.snd_wscale)
    options = TCPI_OPT_TIMESTAMPS * opt.tstamp_ok | TCPI_OPT_SACK * opt.sack_ok | TCPI_OPT_WSCALE * opt.wscale_ok
    limited = not listens and not sk.cwnd_was_full  # tcpi_delivery_rate_app_limited, a bit
    head = (
        sk.state, sk.ca_state, sk.retransmits & 0xFF, sk.probes & 0xFF, sk.backoff & 0xFF, options, low | high << 4,
        limited if order == "<" else limited << 7,
    )  # fmt: skip
    unacked, sacked = (len(sk.accept_queue), sk.backlog) if listens else (len(sk.sent), 0)
    lost = len(sk.sent) if sk.ca_state == CaState.LOSS else 0
    mss = sk.mss
    words = (
        sk.rto_ns // NS_PER_US, TCP_ATO_MIN_US if sk.bytes_received else 0, mss, sk.rcv_mss,
        unacked, sacked, lost, sum(1 for s in sk.sent if s.tries), 0,
        _ago(now, sk.last_sent_ns), 0, _ago(now, sk.last_received_ns), _ago(now, sk.last_ack_ns),
        sk.path_mtu, sk.rcv_ssthresh, sk.srtt_us >> 3, sk.mdev_us >> 2, sk.ssthresh, sk.cwnd, sk.advmss, TCP_FASTRETRANS_THRESH,
        sk.rcv_rtt_us >> 3, sk.rcvq_space, sk.total_retrans,
    )  # fmt: skip
    rate = mss * sk.cwnd * 8 * 1_000_000 // sk.srtt_us if sk.srtt_us else 0
    return b"".join((
        struct.pack(f"{order}8B{len(words)}I", *head, *(word & U32_MAX for word in words)),
        struct.pack(order + "4Q", rate, 2**64 - 1, sk.bytes_acked, sk.bytes_received),
        struct.pack(order + "6I", sk.segs_out, sk.segs_in, len(sk.unsent), sk.min_rtt_us, sk.data_segs_in, sk.data_segs_out),
        struct.pack(order + "4Q2I", 0, 0, 0, 0, sk.delivered, 0),
        struct.pack(order + "2Q4I", sk.bytes_sent, sk.bytes_retrans, 0, 0, sk.rcv_ooopack, sk.snd_wnd & U32_MAX),
    ))  # fmt: skip


def unread(sk: TcpSock) -> int:
    """tcp_rcv_nxt - copied_seq: sequence numbers that nobody has read, a FIN's among them."""
    return sum(packet.len for packet in sk.receive_queue) + sk.fin_unread


def unacknowledged(sk: TcpSock) -> int:
    """write_seq - snd_una."""
    return len(sk.unsent) + (sk.snd_nxt - sk.snd_una & U32_MAX)


def running_timer(sk: TcpSock) -> tuple[int, int, int]:
    """What a sock waits for, as sock_diag and /proc/net/tcp number it: (which, how often, ns left)."""
    timers, now = sk.k.timers, sk.k.clock.now_ns
    if sk.pending in TIMERS:
        often = sk.retransmits if sk.pending == Pending.RETRANS else sk.probes
        return TIMERS[sk.pending], often, max(timers.expires_ns(sk.timer) - now, 0)
    if sk.keepalive_timer is not None and timers.pending(sk.keepalive_timer):
        return KEEPALIVE, sk.probes, max(timers.expires_ns(sk.keepalive_timer) - now, 0)
    return 0, 0, 0


def shown_port(sk: Sock) -> int:
    """inet_num: of a raw sock its protocol."""
    return sk.protocol if sk.type == SOCK_RAW else sk.lport


def columns(sk: Sock) -> str:
    """Of a line in /proc/net/tcp and its like: bytes to send and to read, timer, time-outs, owner, probes."""
    which, often, left_ns, send, receive = 0, 0, 0, sk.wmem, sk.rmem
    if isinstance(sk, TcpSock):
        listens = sk.state == TCP_LISTEN
        send, receive = (0, len(sk.accept_queue)) if listens else (unacknowledged(sk), unread(sk))
        which, often, left_ns = running_timer(sk)
    file = sk.socket.file if sk.socket is not None else None
    owner = file.f_inode.i_uid if file is not None else 0
    retransmits, probes = (0, often) if which == KEEPALIVE else (often, 0)
    return f"{send:08X}:{receive:08X} {which:02X}:{-(-left_ns // USER_TICK_NSEC):08X} {retransmits:08X} {owner:5d} {probes:8d}"


def _ago(now: int, then: int) -> int:
    """In ms."""
    return (now - then) // NS_PER_MS
