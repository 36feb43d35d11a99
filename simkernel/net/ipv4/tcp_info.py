"""What a TCP socket tells of itself.  net/ipv4/tcp.c: tcp_get_info(), include/uapi/linux/tcp.h."""

from __future__ import annotations

import struct

from arch.abi.inet import TCP_LISTEN
from arch.abi.limits import U32_MAX
from simkernel.net.core.neighbour import NS_PER_MS
from simkernel.net.ipv4.tcp_sock import NS_PER_US, CaState, TcpSock

TCPI_OPT_TIMESTAMPS, TCPI_OPT_SACK, TCPI_OPT_WSCALE = 1, 2, 4
TCP_FASTRETRANS_THRESH = 3


def tcp_info(sk: TcpSock) -> bytes:
    """struct tcp_info of 6.1: 232 bytes."""
    order = "<" if sk.k.mem.byteorder == "little" else ">"
    listens, now = sk.state == TCP_LISTEN, sk.k.clock.now_ns
    opt = sk.rx_opt
    low, high = (opt.snd_wscale, opt.rcv_wscale) if order == "<" else (opt.rcv_wscale, opt.snd_wscale)
    options = TCPI_OPT_TIMESTAMPS * opt.tstamp_ok | TCPI_OPT_SACK * opt.sack_ok | TCPI_OPT_WSCALE * opt.wscale_ok
    head = (
        sk.state, sk.ca_state, sk.retransmits & 0xFF, sk.probes & 0xFF, sk.backoff & 0xFF, options, low | high << 4, 0,
    )  # fmt: skip
    unacked, sacked = (len(sk.accept_queue), sk.backlog) if listens else (len(sk.sent), 0)
    lost = len(sk.sent) if sk.ca_state == CaState.LOSS else 0
    mss = sk.mss
    words = (
        sk.rto_ns // NS_PER_US, 0, mss, sk.rcv_mss,
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


def _ago(now: int, then: int) -> int:
    """In ms."""
    return (now - then) // NS_PER_MS
