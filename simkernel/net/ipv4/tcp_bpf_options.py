"""Options of TCP that only programs set.  net/core/filter.c:bpf_sol_tcp_setsockopt() of Linux 6.1."""

from __future__ import annotations

from arch.abi.errno import EINVAL
from arch.abi.limits import U32_MAX
from arch.abi.time import TICK_NSEC
from bpf.helpers.tcp_header import TCP_BPF_DELACK_MAX, TCP_BPF_IW, TCP_BPF_RTO_MIN, TCP_BPF_SNDCWND_CLAMP
from simkernel.net.ipv4.tcp_sock import TCP_DELACK_MAX_NS, TCP_RTO_MIN_NS, TcpSock

TCP_TIMEOUT_MIN = 2  # ticks


def _window(sk: TcpSock, value: int) -> bool:
    if value <= 0 or sk.data_segs_out > bool(sk.syn_data):
        return False
    sk.cwnd = value
    return True


def _clamp(sk: TcpSock, value: int) -> bool:
    if value <= 0:
        return False
    sk.cwnd_clamp = sk.ssthresh = value
    return True


def _time(value: int, most_ns: int) -> int:
    """usecs_to_jiffies(), in ns; 0 for one that may not be."""
    ns = -(-(value & U32_MAX) * 1000 // TICK_NSEC) * TICK_NSEC
    return ns if TCP_TIMEOUT_MIN * TICK_NSEC <= ns <= most_ns else 0


def _delay(sk: TcpSock, value: int) -> bool:
    ns = _time(value, TCP_DELACK_MAX_NS)
    sk.delack_max_ns = ns or sk.delack_max_ns
    return bool(ns)


def _timeout(sk: TcpSock, value: int) -> bool:
    ns = _time(value, TCP_RTO_MIN_NS)
    sk.rto_min_ns = ns or sk.rto_min_ns
    return bool(ns)


SETTERS = {TCP_BPF_IW: _window, TCP_BPF_SNDCWND_CLAMP: _clamp, TCP_BPF_DELACK_MAX: _delay, TCP_BPF_RTO_MIN: _timeout}


def set_program_option(sk: TcpSock, name: int, value: int) -> int:
    """TCP_BPF_*: 0 or -EINVAL."""
    if not SETTERS[name](sk, value):
        return -EINVAL
    sk.store()
    return 0
