"""Options of IPPROTO_TCP.  net/ipv4/tcp.c: do_tcp_setsockopt(), do_tcp_getsockopt()."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.capability import CAP_NET_ADMIN
from arch.abi.errno import EINVAL, ENOENT, ENOPROTOOPT, EPERM
from arch.abi.inet import TCP_CLOSE, TCP_LISTEN
from arch.abi.limits import U32_MAX
from arch.abi.socket import (
    SOL_TCP,
    TCP_KEEPCNT,
    TCP_KEEPIDLE,
    TCP_KEEPINTVL,
    TCP_LINGER2,
    TCP_SAVE_SYN,
    TCP_SAVED_SYN,
    TCP_USER_TIMEOUT,
)
from simkernel.kernel.user_namespace import ns_capable
from simkernel.net.core.sock import SOCK_MIN_RCVBUF, Sock
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.tcp_info import tcp_info
from simkernel.net.ipv4.tcp_keepalive import idle_changed
from simkernel.net.ipv4.tcp_sock import TcpSock
from simkernel.net.ipv4.tcp_window import TCP_MIN_MSS
from simkernel.net.ipv4.tcp_wire import timestamp

# include/uapi/linux/tcp.h
TCP_NODELAY, TCP_MAXSEG, TCP_CORK, TCP_SYNCNT = 1, 2, 3, 7
TCP_DEFER_ACCEPT, TCP_WINDOW_CLAMP, TCP_INFO, TCP_QUICKACK = range(9, 13)
TCP_REPAIR_OFF, TCP_REPAIR_ON, TCP_REPAIR_OFF_NO_WP = 0, 1, -1
TCP_THIN_LINEAR_TIMEOUTS, TCP_THIN_DUPACK, TCP_REPAIR, TCP_REPAIR_QUEUE, TCP_QUEUE_SEQ = 16, 17, 19, 20, 21
TCP_FASTOPEN, TCP_TIMESTAMP, TCP_NOTSENT_LOWAT, TCP_FASTOPEN_CONNECT = 23, 24, 25, 30
TCP_FASTOPEN_NO_COOKIE, TCP_INQ, TCP_TX_DELAY = 34, 36, 37
TCP_REPAIR_OPTIONS, TCP_CC_INFO, TCP_REPAIR_WINDOW, TCP_ULP, TCP_FASTOPEN_KEY = 22, 26, 29, 31, 33
TCP_MD5SIG, TCP_MD5SIG_EXT = 14, 32
MD5SIG_SIZE, MD5SIG_KEYLEN = 216, 132  # struct tcp_md5sig, and where its length of the key is
REPAIR_WINDOW_SIZE, FASTOPEN_KEY_SIZE = 20, 16  # bytes
MAX_TCP_WINDOW, MAX_TCP_KEEPIDLE, MAX_TCP_KEEPCNT = 32767, 32767, 127  # include/net/tcp.h
TCP_FIN_TIMEOUT_MAX_S, TCP_RTO_MAX_S, MOST_RETRIES = 120, 120, 255


Setter = Callable[[TcpSock, int], int | None]  # what is kept, or None: EINVAL


def _flag(sk: TcpSock, value: int) -> int:
    return int(bool(value))


def _within(low: int, high: int) -> Setter:
    return lambda sk, value: value if low <= value <= high else None


def _any(sk: TcpSock, value: int) -> int:
    return value


def _max_segment(sk: TcpSock, value: int) -> int | None:
    return value if not value or TCP_MIN_MSS <= value <= MAX_TCP_WINDOW else None


def _linger2(sk: TcpSock, value: int) -> int:
    return -1 if value < 0 else min(value, TCP_FIN_TIMEOUT_MAX_S)


def _defer(sk: TcpSock, seconds: int) -> int:
    """secs_to_retrans(): as many time-outs as are needed."""
    count = 0
    while seconds > _period(count) and count < MOST_RETRIES:
        count += 1
    return count


def _period(retries: int) -> int:
    """retrans_to_secs(): each time-out is twice the last one, up to a limit."""
    period, timeout = 0, 1
    for _ in range(retries):
        period, timeout = period + timeout, min(timeout << 1, TCP_RTO_MAX_S)
    return period


def _clamp(sk: TcpSock, value: int) -> int | None:
    """tcp_set_window_clamp()."""
    if not value and sk.state != TCP_CLOSE:
        return None
    sk.window_clamp = max(value & U32_MAX, SOCK_MIN_RCVBUF // 2) if value else 0
    if value:
        sk.rcv_ssthresh = min(sk.rcv_wnd, sk.window_clamp)
    return sk.window_clamp


def _fast_open(sk: TcpSock, value: int) -> int | None:
    if value < 0 or sk.state not in (TCP_CLOSE, TCP_LISTEN):
        return None
    return min(value, int(sk.net.sysctl["core.somaxconn"]))


SETTERS: dict[int, Setter] = {
    TCP_NODELAY: _flag, TCP_MAXSEG: _max_segment, TCP_CORK: _flag, TCP_KEEPIDLE: _within(1, MAX_TCP_KEEPIDLE),
    TCP_KEEPINTVL: _within(1, MAX_TCP_KEEPIDLE), TCP_KEEPCNT: _within(1, MAX_TCP_KEEPCNT), TCP_SYNCNT: _within(1, MAX_TCP_KEEPCNT),
    TCP_LINGER2: _linger2, TCP_DEFER_ACCEPT: _defer, TCP_WINDOW_CLAMP: _clamp, TCP_QUICKACK: _flag,
    TCP_THIN_LINEAR_TIMEOUTS: _within(0, 1), TCP_THIN_DUPACK: lambda sk, value: 0 if value in (0, 1) else None,
    TCP_USER_TIMEOUT: _within(0, (1 << 31) - 1), TCP_FASTOPEN: _fast_open, TCP_NOTSENT_LOWAT: _any, TCP_SAVE_SYN: _within(0, 2),
    TCP_FASTOPEN_CONNECT: _within(0, 1), TCP_FASTOPEN_NO_COOKIE: _within(0, 1), TCP_INQ: _within(0, 1), TCP_TX_DELAY: _any,
}  # fmt: skip


def set_tcp_option(k: NetKernel, sk: TcpSock, name: int, data: bytes) -> int:
    """ENOPROTOOPT, EINVAL, EPERM, ENOENT."""
    if name == TCP_ULP:  # what lies above TCP is modules'
        return -ENOENT if data else -EINVAL
    if name == TCP_FASTOPEN_KEY:
        if len(data) not in (FASTOPEN_KEY_SIZE, 2 * FASTOPEN_KEY_SIZE):
            return -EINVAL
        sk.structs[SOL_TCP, name] = data
        return 0
    if len(data) < 4:
        return -EINVAL
    if name in (TCP_MD5SIG, TCP_MD5SIG_EXT):
        return _md5_key(k, sk, data)
    if name == TCP_REPAIR_OPTIONS:
        return -EPERM if sk.options.get((SOL_TCP, TCP_REPAIR)) else -EINVAL
    if name in (TCP_REPAIR_QUEUE, TCP_TIMESTAMP, TCP_REPAIR_WINDOW):
        return -EPERM
    if name == TCP_REPAIR:
        return _repair(k, sk, int.from_bytes(data[:4], k.mem.byteorder, signed=True))
    setter = SETTERS.get(name)
    if setter is None:
        return -EINVAL if name == TCP_QUEUE_SEQ else -ENOPROTOOPT
    kept = setter(sk, int.from_bytes(data[:4], k.mem.byteorder, signed=True))
    if kept is None:
        return -EINVAL
    sk.options[SOL_TCP, name] = kept
    if name == TCP_KEEPIDLE:
        idle_changed(k, sk)
    sk.store()
    return 0


def _repair(k: NetKernel, sk: TcpSock, value: int) -> int:
    """TCP_REPAIR: while it is on, connect() needs no peer.  EPERM: not so much right, or it listens; EINVAL."""
    if sk.state == TCP_LISTEN or not ns_capable(k.current, sk.net.namespace.owner, CAP_NET_ADMIN):
        return -EPERM
    if value not in (TCP_REPAIR_OFF, TCP_REPAIR_ON, TCP_REPAIR_OFF_NO_WP):
        return -EINVAL
    sk.options[SOL_TCP, TCP_REPAIR] = int(value == TCP_REPAIR_ON)
    return 0


def _md5_key(k: NetKernel, sk: TcpSock, data: bytes) -> int:
    """tcp_v4_parse_md5_keys(): segments are not signed here, so there is no key to add (ENOPROTOOPT) and none to take away."""
    if len(data) < MD5SIG_SIZE or int.from_bytes(data[:2], k.mem.byteorder) != sk.family:
        return -EINVAL
    length = int.from_bytes(data[MD5SIG_KEYLEN : MD5SIG_KEYLEN + 2], k.mem.byteorder)
    return -ENOPROTOOPT if length else -ENOENT


def _sysctl(sk: Sock, name: str) -> int:
    return int(sk.net.sysctl[f"ipv4.{name}"])


def _maxseg(sk: TcpSock) -> int:
    """mss_cache, or what is wanted of a connection to come."""
    return (sk.state in (TCP_CLOSE, TCP_LISTEN) and sk.options.get((SOL_TCP, TCP_MAXSEG))) or sk.mss


def _saved_syn(sk: TcpSock, room: int) -> bytes | int:
    """TCP_SAVED_SYN: told once.  EINVAL where it does not fit."""
    saved = sk.saved_syn
    if saved is not None and room < len(saved):
        return -EINVAL
    sk.saved_syn = None
    return saved or b""


def get_tcp_option(k: NetKernel, sk: TcpSock, name: int, room: int = 4) -> bytes | int:
    """The value, or -errno."""
    if name == TCP_INFO:
        return tcp_info(sk)
    if name == TCP_SAVED_SYN:
        return _saved_syn(sk, room)
    if name in (TCP_REPAIR_QUEUE, TCP_QUEUE_SEQ):
        return -EINVAL
    if name == TCP_REPAIR_WINDOW:
        return -EINVAL if room != REPAIR_WINDOW_SIZE else -EPERM
    if name in (TCP_CC_INFO, TCP_ULP):
        return b""
    if name == TCP_FASTOPEN_KEY:
        return sk.structs.get((SOL_TCP, name), b"")
    kept = sk.options.get((SOL_TCP, name))
    first: dict[int, Callable[[], int]] = {
        TCP_KEEPIDLE: lambda: _sysctl(sk, "tcp_keepalive_time"),
        TCP_KEEPINTVL: lambda: _sysctl(sk, "tcp_keepalive_intvl"),
        TCP_KEEPCNT: lambda: _sysctl(sk, "tcp_keepalive_probes"),
        TCP_SYNCNT: lambda: _sysctl(sk, "tcp_syn_retries"),
        TCP_QUICKACK: lambda: 1,
    }
    if name == TCP_MAXSEG:
        value = _maxseg(sk)
    elif name == TCP_LINGER2:
        value = kept or _sysctl(sk, "tcp_fin_timeout")
    elif name == TCP_DEFER_ACCEPT:
        value = _period(kept or 0)
    elif name == TCP_TIMESTAMP:
        value = timestamp(sk)
    elif name == TCP_WINDOW_CLAMP:
        value = sk.window_clamp
    elif name == TCP_REPAIR:
        value = kept or 0
    elif name not in SETTERS:
        return -ENOPROTOOPT
    else:
        value = kept if kept is not None else first[name]() if name in first else 0
    return (value & U32_MAX).to_bytes(4, k.mem.byteorder)
