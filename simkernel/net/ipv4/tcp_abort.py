"""Connections that an administrator ends: `ss -K`.  net/ipv4/{tcp,udp,raw}.c, net/core/sock_diag.c."""

from __future__ import annotations

from arch.abi.inet import (
    TCP_CLOSE,
    TCP_CLOSE_WAIT,
    TCP_ESTABLISHED,
    TCP_FIN_WAIT1,
    TCP_FIN_WAIT2,
    TCP_LISTEN,
    TCP_SYN_RECV,
)
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.af_inet import disconnect
from simkernel.net.ipv4.tcp import stop_listening
from simkernel.net.ipv4.tcp_output import RstReason, send_active_reset
from simkernel.net.ipv4.tcp_sock import tcp_sk

NEED_RESET = (TCP_ESTABLISHED, TCP_CLOSE_WAIT, TCP_FIN_WAIT1, TCP_FIN_WAIT2, TCP_SYN_RECV)  # tcp_need_reset()


@kernel_function("int tcp_abort(struct sock *sk, int err)", source="net/ipv4/tcp.c", since="4.5")
def tcp_abort(k: NetKernel, sk: int, err: int) -> Body:
    """Who has it open reads an error; the peer gets a reset."""
    sock = tcp_sk(k, sk)
    if sock.is_request:
        sock.dead = True
        yield k.call("tcp_done", sk)
        return 0
    if sock.state == TCP_LISTEN:
        yield k.call("tcp_set_state", sk, TCP_CLOSE)
        yield from stop_listening(k, sock)
    sock.set_error(err)
    yield k.call("sk_error_report", sk)
    if sock.state in NEED_RESET:
        yield from send_active_reset(k, sock, RstReason.TCP_STATE)
    if k.net.socks.get(sk) is sock:
        yield k.call("tcp_done", sk)
    return 0


@kernel_function("int udp_abort(struct sock *sk, int err)", source="net/ipv4/udp.c", since="4.9")
def udp_abort(k: NetKernel, sk: int, err: int) -> Body:
    """Who has it open reads an error, and has no peer any more."""
    return (yield from _abort(k, sk, err))


@kernel_function("int raw_abort(struct sock *sk, int err)", source="net/ipv4/raw.c", since="4.10")
def raw_abort(k: NetKernel, sk: int, err: int) -> Body:
    """The same of a raw socket."""
    return (yield from _abort(k, sk, err))


def _abort(k: NetKernel, sk: int, err: int) -> Body:
    sock = k.net.socks[sk]
    sock.set_error(err)
    yield k.call("sk_error_report", sk)
    disconnect(k, sock)
    return 0
