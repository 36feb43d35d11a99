"""Congestion control that programs supply, for one connection.  net/ipv4/bpf_tcp_ca.c.

Programs read struct tcp_sock and write a few members of it: those are put there before a program runs, and what it left in them
is taken over when it is done.
"""

from __future__ import annotations

from arch.abi.time import NSEC_PER_USEC
from simkernel.net.core.programs import CongestionOps
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.tcp_sock import TcpSock

PRIVATE = "inet_conn.icsk_ca_priv"


class ProgramCongestion:
    """A struct tcp_congestion_ops whose functions are programs."""

    def __init__(self, k: NetKernel, ops: CongestionOps) -> None:
        self.k, self.ops = k, ops
        self.name, self.restricted = ops.name, ops.restricted
        self.prior_delivered = 0

    def _call(self, sk: TcpSock, member: str, *args: int) -> int | None:
        """R0 of the program; None where there is none."""
        if not self.ops.has(member):
            return None
        view = self.k.view(sk.addr, "struct tcp_sock")
        sk.store()
        view.snd_cwnd = sk.cwnd  # whatever a program left there
        view.snd_ssthresh = sk.ssthresh
        view.snd_cwnd_cnt = sk.cwnd_acked
        view.max_packets_out, view.is_cwnd_limited = sk.max_packets_out, sk.cwnd_was_full
        view.tcp_mstamp = self.k.clock.now_ns // NSEC_PER_USEC
        view["inet_conn"].icsk_ca_state = sk.ca_state
        answer = self.ops.call(sk.addr, member, *args)
        sk.cwnd, sk.ssthresh, sk.cwnd_acked = view.snd_cwnd, view.snd_ssthresh, view.snd_cwnd_cnt
        return answer

    def init(self, sk: TcpSock) -> None:
        """bpf_tcp_ca's struct has no private area but that of the sock, which begins as zeros."""
        types = self.k.types
        size = types.sizeof("u64") * 13
        self.k.mem.write(sk.addr + types.offsetof("struct tcp_sock", PRIVATE), bytes(size))
        self._call(sk, "init")

    def release(self, sk: TcpSock) -> None:
        self._call(sk, "release")

    def drop(self) -> None:
        self.ops.drop()

    def ssthresh(self, sk: TcpSock) -> int:
        return self._call(sk, "ssthresh") or 0

    def cong_avoid(self, sk: TcpSock, acked: int, now_ns: int) -> None:
        """tcp_cong_control(): one of two."""
        if not self.ops.has("cong_control"):
            self._call(sk, "cong_avoid", sk.snd_una, acked)
            return
        types, mem = self.k.types, self.k.mem
        sample = mem.alloc(types.sizeof("struct rate_sample"))
        try:
            view = self.k.view(sample, "struct rate_sample")
            view.delivered, view.acked_sacked, view.prior_delivered = acked, acked, self.prior_delivered
            view.rtt_us, view.interval_us = sk.srtt_us >> 3, max(sk.srtt_us >> 3, 1)
            self.prior_delivered = sk.delivered
            self._call(sk, "cong_control", sample)
        finally:
            mem.free(sample)

    def set_state(self, sk: TcpSock, state: int) -> None:
        self._call(sk, "set_state", state)

    def cwnd_event(self, sk: TcpSock, event: int) -> None:
        self._call(sk, "cwnd_event", event)

    def in_ack_event(self, sk: TcpSock, flags: int) -> None:
        self._call(sk, "in_ack_event", flags)

    def pkts_acked(self, sk: TcpSock, acked: int, rtt_us: int) -> None:
        if not self.ops.has("pkts_acked"):
            return
        mem = self.k.mem
        sample = mem.alloc(self.k.types.sizeof("struct ack_sample"))
        try:
            view = self.k.view(sample, "struct ack_sample")
            view.pkts_acked, view.rtt_us, view.in_flight = acked, rtt_us, len(sk.sent) * sk.mss
            self._call(sk, "pkts_acked", sample)
        finally:
            mem.free(sample)
