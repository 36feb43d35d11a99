"""Data that comes with the SYN, between ends that ask for no cookie.  net/ipv4/tcp_fastopen.c; cookies themselves are not there."""

from __future__ import annotations

from arch.abi.inet import TCP_SYN_RECV
from arch.abi.socket import SOL_TCP
from simkernel.net.core.sock import Sock
from simkernel.net.ipv4.tcp_options import TCP_FASTOPEN, TCP_FASTOPEN_CONNECT, TCP_FASTOPEN_NO_COOKIE
from simkernel.net.ipv4.tcp_sock import Segment, TcpSock, before

# net.ipv4.tcp_fastopen: TFO_*
CLIENT_ENABLE, SERVER_ENABLE, CLIENT_NO_COOKIE, SERVER_COOKIE_NOT_REQD, SERVER_WO_SOCKOPT1 = 1, 2, 4, 0x200, 0x400


def switches(sk: Sock) -> int:
    """net.ipv4.tcp_fastopen."""
    return int(sk.net.sysctl["ipv4.tcp_fastopen"])


def _no_cookie(sk: Sock, flag: int) -> bool:
    """tcp_fastopen_no_cookie()."""
    return bool(switches(sk) & flag or sk.options.get((SOL_TCP, TCP_FASTOPEN_NO_COOKIE)))


def data_of_syn(sk: TcpSock, data: bytes) -> bytes:
    """tcp_fastopen_cookie_check(): what is to go with the SYN, which has yet to be shown the way."""
    return data if _no_cookie(sk, CLIENT_NO_COOKIE) else b""


def waits_for_data(sk: TcpSock) -> bool:
    """tcp_fastopen_defer_connect(): connect(2) leaves the SYN to the first send."""
    wanted = sk.options.get((SOL_TCP, TCP_FASTOPEN_CONNECT)) and switches(sk) & CLIENT_ENABLE
    return bool(wanted and _no_cookie(sk, CLIENT_NO_COOKIE))


def answers_syn(sk: TcpSock, ack: int) -> bool:
    """tcp_rcv_synsent_state_process(): an acknowledgement of the SYN, and perhaps of what came with it."""
    return before(sk.snd_una, ack) and not before(sk.snd_nxt, ack)


def accepts(listener: Sock, segment: Segment) -> bool:
    """tcp_try_fastopen(), as far as no cookie is asked for: the listener has room, and takes data at once."""
    usual = listener.backlog if switches(listener) & SERVER_WO_SOCKOPT1 else 0
    room = listener.options.get((SOL_TCP, TCP_FASTOPEN), usual)
    waiting = sum(
        isinstance(one, TcpSock) and one.fast_opened and one.state == TCP_SYN_RECV for one in listener.accept_queue
    )
    return bool(
        switches(listener) & SERVER_ENABLE
        and segment.data
        and waiting < room
        and _no_cookie(listener, SERVER_COOKIE_NOT_REQD)
    )
