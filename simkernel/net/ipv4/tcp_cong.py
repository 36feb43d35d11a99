"""Congestion control: slow start, and CUBIC as Linux has it by default.  net/ipv4/{tcp_cong,tcp_cubic}.c, RFC 9438.

All in integers: segments, and 1/1024 of a second.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.errors import KernelError
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.bpf_tcp_ca import ProgramCongestion
from simkernel.net.ipv4.tcp_sock import Congestion, TcpSock

UNITS = 1024  # of a second, and of BETA
BETA = 717  # multiplicative decrease, in UNITS
SCALE = 41  # bic_scale: C is 0.4, SCALE * 10 / 1024
CUBE_RTT_SCALE = SCALE * 10
CUBE_FACTOR = (1 << 40) // CUBE_RTT_SCALE


def slow_start(sk: TcpSock, acked: int) -> int:
    """tcp_slow_start(): one segment more for each that was acknowledged; what is left for cong_avoid."""
    cwnd = min(sk.cwnd + acked, sk.ssthresh)
    left = acked - (cwnd - sk.cwnd)
    sk.cwnd = min(cwnd, sk.cwnd_clamp)
    return left


def additive_increase(sk: TcpSock, every: int, acked: int) -> None:
    """tcp_cong_avoid_ai(): one segment more for `every` acknowledged."""
    if sk.cwnd_acked >= every:
        sk.cwnd_acked = 0
        sk.cwnd += 1
    sk.cwnd_acked += acked
    if sk.cwnd_acked >= every:
        delta = sk.cwnd_acked // every
        sk.cwnd_acked -= delta * every
        sk.cwnd += delta
    sk.cwnd = min(sk.cwnd, sk.cwnd_clamp)


def cube_root(value: int) -> int:
    """The integer below the cube root."""
    root = 0
    for shift in range((value.bit_length() + 2) // 3, -1, -1):
        if (root | 1 << shift) ** 3 <= value:
            root |= 1 << shift
    return root


class Plain:
    """What controls of the kernel's own leave out."""

    name = ""
    restricted = False

    def init(self, sk: TcpSock) -> None:
        """Nothing to begin with."""

    def release(self, sk: TcpSock) -> None:
        """Nothing is held."""

    def drop(self) -> None:
        """They are always there."""

    def set_state(self, sk: TcpSock, state: int) -> None:
        """Not of interest."""

    def cwnd_event(self, sk: TcpSock, event: int) -> None:
        """Not of interest."""

    def in_ack_event(self, sk: TcpSock, flags: int) -> None:
        """Not of interest."""

    def pkts_acked(self, sk: TcpSock, acked: int, rtt_us: int) -> None:
        """Not of interest."""


class Growing(Plain):
    """Slow start, then one segment more after so many acknowledged ones."""

    def every(self, sk: TcpSock, acked: int, now_ns: int) -> int:
        """After how many acknowledged segments the window grows by one."""
        raise NotImplementedError

    def cong_avoid(self, sk: TcpSock, acked: int, now_ns: int) -> None:
        """tcp_reno_cong_avoid(), cubictcp_cong_avoid()."""
        if not sk.is_cwnd_limited:
            return
        if sk.cwnd < sk.ssthresh:
            acked = slow_start(sk, acked)
            if not acked:
                return
        additive_increase(sk, self.every(sk, acked, now_ns), acked)


class Reno(Growing):
    """tcp_reno: one segment more for each round, half as many after a loss."""

    name = "reno"

    def ssthresh(self, sk: TcpSock) -> int:
        """tcp_reno_ssthresh()."""
        return max(sk.cwnd >> 1, 2)

    def every(self, sk: TcpSock, acked: int, now_ns: int) -> int:
        """Once a window."""
        return sk.cwnd


class Cubic(Growing):
    """struct bictcp of one connection."""

    name = "cubic"

    def __init__(self) -> None:
        self.last_max = 0
        self.origin = 0
        self.k = 0  # when the window is where it was at the last loss, in 1/1024 s after the epoch began
        self.epoch_ns = 0
        self.friendly = self.acks = 0  # what Reno would have

    def ssthresh(self, sk: TcpSock) -> int:
        """cubictcp_recalc_ssthresh(), with fast convergence."""
        self.epoch_ns = 0
        smaller = sk.cwnd < self.last_max
        self.last_max = sk.cwnd * (UNITS + BETA) // (2 * UNITS) if smaller else sk.cwnd
        return max(sk.cwnd * BETA // UNITS, 2)

    def every(self, sk: TcpSock, acked: int, now_ns: int) -> int:
        """bictcp_update(): after how many acknowledged segments the window grows by one."""
        self.acks += acked
        if not self.epoch_ns:
            self.epoch_ns, self.acks, self.friendly = max(now_ns, 1), acked, sk.cwnd
            if self.last_max <= sk.cwnd:
                self.k, self.origin = 0, sk.cwnd
            else:
                self.k, self.origin = cube_root(CUBE_FACTOR * (self.last_max - sk.cwnd)), self.last_max
        rtt_ns = sk.srtt_us // 8 * 1000
        passed = (now_ns - self.epoch_ns + rtt_ns) * UNITS // 10**9
        distance = passed - self.k
        delta = CUBE_RTT_SCALE * abs(distance) ** 3 >> 40
        target = self.origin - delta if distance < 0 else self.origin + delta
        every = sk.cwnd // (target - sk.cwnd) if target > sk.cwnd else 100 * sk.cwnd
        if self.last_max == 0:
            every = min(every, 20)
        per_reno = max((sk.cwnd * (8 * (UNITS + BETA) // 3 // (UNITS - BETA))) >> 3, 1)
        while self.acks > per_reno:
            self.acks -= per_reno
            self.friendly += 1
        if self.friendly > sk.cwnd:
            every = min(every, sk.cwnd // (self.friendly - sk.cwnd))
        return max(every, 2)


CONTROLS: dict[str, Callable[[], Congestion]] = {"reno": Reno, "cubic": Cubic}


def find_control(k: NetKernel, name: str) -> Congestion:
    """tcp_ca_find_autoload(): for one sock.  ENOENT."""
    return CONTROLS[name]() if name in CONTROLS else ProgramCongestion(k, k.net.programs.congestion(name))


def inherited_control(k: NetKernel, name: str) -> Congestion:
    """tcp_ca_openreq_child(): the listener's, or the usual one where that is gone."""
    try:
        return find_control(k, name)
    except KernelError:
        return Cubic()
