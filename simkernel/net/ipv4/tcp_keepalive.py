"""Is the other end still there?  A connection on which nothing comes is asked, at SO_KEEPALIVE's wish.  net/ipv4/tcp_timer.c, tcp.c.

The timer (sk_timer) is set up when it is first needed: most socks never have it.
"""

from __future__ import annotations

from arch.abi.inet import TCP_CLOSE, TCP_LISTEN, TCP_SYN_SENT
from arch.abi.limits import U32_MAX
from arch.abi.socket import (
    SO_KEEPALIVE,
    SOL_SOCKET,
    SOL_TCP,
    TCP_KEEPCNT,
    TCP_KEEPIDLE,
    TCP_KEEPINTVL,
    TCP_USER_TIMEOUT,
)
from arch.abi.time import NSEC_PER_SEC
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.neighbour import NS_PER_MS
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.tcp_output import RstReason, send_active_reset, send_segment
from simkernel.net.ipv4.tcp_sock import ACK, TcpSock, tcp_sk
from simkernel.net.ipv4.tcp_timer import give_up


def _setting(sk: TcpSock, option: int, name: str) -> int:
    """The sock's own, or the namespace's: in seconds, or a number."""
    return sk.options.get((SOL_TCP, option)) or int(sk.net.sysctl[f"ipv4.{name}"])


def keeps_alive(sk: TcpSock) -> bool:
    """sock_flag(sk, SOCK_KEEPOPEN)."""
    return bool(sk.options.get((SOL_SOCKET, SO_KEEPALIVE)))


def idle_ns(sk: TcpSock) -> int:
    """keepalive_time_when()."""
    return _setting(sk, TCP_KEEPIDLE, "tcp_keepalive_time") * NSEC_PER_SEC


def elapsed_ns(k: NetKernel, sk: TcpSock) -> int:
    """keepalive_time_elapsed(): since something came."""
    return k.clock.now_ns - max(sk.last_received_ns, sk.last_ack_ns)


def reset_timer(k: NetKernel, sk: TcpSock, after_ns: int) -> None:
    """inet_csk_reset_keepalive_timer()."""
    if sk.keepalive_timer is None:
        sk.keepalive_timer = sk.addr + k.types.offsetof("struct tcp_sock", "inet_conn.icsk_inet.sk.sk_timer")
        k.timers.setup(sk.keepalive_timer, "tcp_keepalive_timer", sk.addr, told=True)
    k.timers.mod(sk.keepalive_timer, k.clock.now_ns + after_ns)


def connected(k: NetKernel, sk: TcpSock) -> None:
    """tcp_finish_connect(), tcp_create_openreq_child(): from now on it is watched, if somebody wanted that."""
    if keeps_alive(sk):
        reset_timer(k, sk, idle_ns(sk))


def set_keepalive(k: NetKernel, sk: TcpSock, wanted: bool, was: bool) -> None:
    """tcp_set_keepalive(): SO_KEEPALIVE."""
    if sk.state in (TCP_CLOSE, TCP_LISTEN):
        return
    if wanted and not was:
        reset_timer(k, sk, idle_ns(sk))
    elif not wanted and sk.keepalive_timer is not None:
        k.timers.delete(sk.keepalive_timer)


def idle_changed(k: NetKernel, sk: TcpSock) -> None:
    """tcp_sock_set_keepidle_locked(): TCP_KEEPIDLE counts from when something came last."""
    if keeps_alive(sk) and sk.state not in (TCP_CLOSE, TCP_LISTEN):
        reset_timer(k, sk, max(idle_ns(sk) - elapsed_ns(k, sk), 0))


@kernel_function("void tcp_keepalive_timer(struct timer_list *t)", source="net/ipv4/tcp_timer.c", since="4.15")
def tcp_keepalive_timer(k: NetKernel, t: int) -> Body:
    """The time of a connection without a word is over."""
    return (yield from _ask(k, tcp_sk(k, t - k.types.offsetof("struct tcp_sock", "inet_conn.icsk_inet.sk.sk_timer"))))


@kernel_function("void tcp_keepalive_timer(unsigned long data)", source="net/ipv4/tcp_timer.c", until="4.15")
def tcp_keepalive_timer_data(k: NetKernel, data: int) -> Body:
    """Before 4.15 a timer's function got its data."""
    return (yield from _ask(k, tcp_sk(k, data)))


def _ask(k: NetKernel, sk: TcpSock) -> Body:
    """`yield from`: look how long it was; ask, or give it up when nobody has answered often enough."""
    if sk.state in (TCP_LISTEN, TCP_CLOSE, TCP_SYN_SENT) or not keeps_alive(sk):
        return 0
    idle, elapsed = idle_ns(sk), elapsed_ns(k, sk)
    if sk.sent or sk.unsent:  # its acknowledgement is waited for: that tells as much
        reset_timer(k, sk, idle)
        return 0
    if elapsed < idle:
        reset_timer(k, sk, idle - elapsed)
        return 0
    patience = sk.options.get((SOL_TCP, TCP_USER_TIMEOUT), 0) * NS_PER_MS
    asked = sk.probes >= _setting(sk, TCP_KEEPCNT, "tcp_keepalive_probes")
    if (patience and elapsed >= patience and sk.probes) or (not patience and asked):
        yield from send_active_reset(k, sk, RstReason.TCP_KEEPALIVE_TIMEOUT)
        yield from give_up(k, sk)
        return 0
    sk.probes += 1  # before the answer can come
    reset_timer(k, sk, _setting(sk, TCP_KEEPINTVL, "tcp_keepalive_intvl") * NSEC_PER_SEC)
    yield from send_segment(k, sk, ACK, (sk.snd_una - 1) & U32_MAX, b"")
    return 0
