"""Which segments a connection listens to: old timestamps, sequence numbers beside the window, resets of strangers.  net/ipv4/tcp_input.c: tcp_validate_incoming()."""

from __future__ import annotations

from enum import Enum, auto

from arch.abi.inet import TCP_CLOSE_WAIT, TCP_CLOSING, TCP_LAST_ACK
from arch.abi.limits import U32_MAX
from arch.abi.time import NSEC_PER_MSEC
from simkernel.kernel.face import Steps
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.tcp_sock import ACK, FIN, RST, SYN, Segment, TcpSock, before
from simkernel.net.ipv4.tcp_window import receive_window
from simkernel.net.ipv4.tcp_wire import note_twice, stamps_of


class Verdict(Enum):
    """What becomes of a segment."""

    TAKEN = auto()
    RESET = auto()  # it ends the connection
    DROPPED = auto()  # it was answered, if it is to be


def may_update_window(sk: TcpSock, segment: Segment, window: int) -> bool:
    """tcp_may_update_window(): an older segment says nothing of the window now."""
    return (
        before(sk.snd_una, segment.ack)
        or before(sk.snd_wl1, segment.seq)
        or (segment.seq == sk.snd_wl1 and (window > sk.snd_wnd or not window))
    )


def _end(segment: Segment) -> int:
    return (segment.seq + len(segment.data) + bool(segment.flags & SYN) + bool(segment.flags & FIN)) & U32_MAX


def _too_often(k: NetKernel, sk: TcpSock) -> bool:
    """__tcp_oow_rate_limited(): two ends that disagree do not talk of nothing else."""
    pause = int(sk.net.sysctl["ipv4.tcp_invalid_ratelimit"]) * NSEC_PER_MSEC
    now = k.clock.now_ns
    if sk.last_oow_ns is not None and now - sk.last_oow_ns < pause:
        return True
    sk.last_oow_ns = now
    return False


def challenge(k: NetKernel, sk: TcpSock) -> Steps[None]:
    """tcp_send_challenge_ack(): whoever it was has to prove that it knows the connection."""
    if not _too_often(k, sk):
        sk.net.mib["TCPChallengeACK"] += 1
        yield k.call("__tcp_send_ack", sk.addr, sk.rcv_nxt)


def _duplicate(k: NetKernel, sk: TcpSock, segment: Segment) -> Steps[None]:
    """tcp_send_dupack(), not too often if it holds nothing."""
    end = _end(segment)
    if end == segment.seq and _too_often(k, sk):
        return
    if sk.rx_opt.sack_ok:
        note_twice(sk, segment.seq, end)
    yield k.call("__tcp_send_ack", sk.addr, sk.rcv_nxt)


def _is_old(sk: TcpSock, segment: Segment) -> bool:
    """tcp_paws_discard(): from before its clock went on, and no mere acknowledgement that was overtaken."""
    stamps = stamps_of(segment.options) if sk.rx_opt.tstamp_ok else None
    if stamps is None or not before(stamps[0], sk.rx_opt.ts_recent):
        return False
    window = segment.window << sk.rx_opt.snd_wscale
    overtaken = (
        segment.flags & ACK
        and _end(segment) == segment.seq == sk.rcv_nxt
        and segment.ack == sk.snd_una
        and not may_update_window(sk, segment, window)
        and (sk.rx_opt.ts_recent - stamps[0]) & U32_MAX <= sk.rto_ns // NSEC_PER_MSEC
    )
    return not overtaken


def _ends_here(sk: TcpSock, segment: Segment) -> bool:
    """tcp_reset_check(): a peer that lost track of its own FIN."""
    behind = (segment.seq + 1) & U32_MAX == sk.rcv_nxt
    return behind and sk.state in (TCP_CLOSE_WAIT, TCP_LAST_ACK, TCP_CLOSING)


def validate(k: NetKernel, sk: TcpSock, segment: Segment) -> Steps[Verdict]:
    """`yield from`, of a connection that both ends know of."""
    reset = segment.flags & RST
    if not reset and _is_old(sk, segment):
        sk.net.mib["PAWSEstab"] += 1
        yield from _duplicate(k, sk, segment)
        return Verdict.DROPPED
    beyond = (sk.rcv_nxt + receive_window(sk)) & U32_MAX
    if before(_end(segment), sk.rcv_wup) or before(beyond, segment.seq):
        if reset:
            return Verdict.RESET if _ends_here(sk, segment) else Verdict.DROPPED
        if segment.flags & SYN:
            yield from challenge(k, sk)
        else:
            yield from _duplicate(k, sk, segment)
        return Verdict.DROPPED
    if reset:
        last = max((block[1] for block in sk.sacks), key=lambda edge: (edge - sk.rcv_nxt) & U32_MAX, default=sk.rcv_nxt)
        if segment.seq in (sk.rcv_nxt, last) or _ends_here(sk, segment):
            return Verdict.RESET
        yield from challenge(k, sk)
        return Verdict.DROPPED
    if segment.flags & SYN:
        yield from challenge(k, sk)
        return Verdict.DROPPED
    return Verdict.TAKEN
