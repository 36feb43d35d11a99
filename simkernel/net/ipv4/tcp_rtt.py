"""How long the way there and back takes, and how long to wait for an answer.  net/ipv4/tcp_input.c."""

from __future__ import annotations

from arch.abi.time import TICK_NSEC
from simkernel.net.ipv4.tcp_sock import NS_PER_US, TcpSock, before


def measure(sk: TcpSock, rtt_ns: int) -> bool:
    """tcp_rtt_estimator() and tcp_set_rto(): the smoothed round-trip time (8 times it), its deviation (4 times it), the time-out.

    Whether a round is over: all that was under way when the last one began is acknowledged.
    """
    rtt = max(rtt_ns // NS_PER_US, 1)
    sk.min_rtt_us = min(sk.min_rtt_us or rtt, rtt)
    if not sk.srtt_us:
        sk.srtt_us, sk.mdev_us = rtt << 3, rtt << 1
        sk.mdev_max_us = sk.rttvar_us = max(sk.mdev_us, sk.rto_min_ns // NS_PER_US)
    else:
        error = rtt - (sk.srtt_us >> 3)
        sk.srtt_us += error
        further = abs(error) - (sk.mdev_us >> 2)
        sk.mdev_us += further >> 3 if error < 0 and further > 0 else further  # a way that got shorter is no uncertainty
        sk.mdev_max_us = max(sk.mdev_max_us, sk.mdev_us)
        sk.rttvar_us = max(sk.rttvar_us, sk.mdev_max_us)
    over = sk.rtt_seq is None or before(sk.rtt_seq, sk.snd_una)
    if over:
        if sk.rtt_seq is not None:
            sk.rttvar_us -= (sk.rttvar_us - sk.mdev_max_us) >> 2
            sk.mdev_max_us = sk.rto_min_ns // NS_PER_US
        sk.rtt_seq = sk.snd_nxt
    sk.rto_ns = -(-((sk.srtt_us >> 3) + sk.rttvar_us) * NS_PER_US // TICK_NSEC) * TICK_NSEC  # usecs_to_jiffies()
    return over
