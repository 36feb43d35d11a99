"""Options of SOL_SOCKET whose values are more, or less, than one number that is kept.  net/core/sock.c: sk_setsockopt(), sk_getsockopt()."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.capability import CAP_NET_ADMIN
from arch.abi.errno import EINVAL, ENODATA, ENOPROTOOPT, ENOTCONN, EOPNOTSUPP, EPERM, ERANGE
from arch.abi.limits import U16_MAX, U32_MAX, U64_MAX
from arch.abi.socket import (
    SO_BINDTODEVICE,
    SO_BUF_LOCK,
    SO_BUSY_POLL_BUDGET,
    SO_CNX_ADVICE,
    SO_COOKIE,
    SO_INCOMING_NAPI_ID,
    SO_MAX_PACING_RATE,
    SO_MEMINFO,
    SO_NETNS_COOKIE,
    SO_PEERGROUPS,
    SO_PEERNAME,
    SO_PREFER_BUSY_POLL,
    SO_RESERVE_MEM,
    SO_TIMESTAMPING,
    SO_TIMESTAMPING_NEW,
    SO_TXTIME,
    SOL_SOCKET,
)
from simkernel.net.calls.patience import bound_device
from simkernel.net.core.message import sockaddr
from simkernel.net.core.sock import INET, Sock
from simkernel.net.face import NetKernel
from simkernel.net.unix.sock import UnixSock

BUSY_POLL_BUDGET = 8  # of the sockets that ask for none
SOF_TXTIME_FLAGS_MASK = 3  # SOF_TXTIME_DEADLINE_MODE, SOF_TXTIME_REPORT_ERRORS
SOCK_SNDBUF_LOCK, SOCK_RCVBUF_LOCK = 1, 2

Set = Callable[[NetKernel, Sock, bytes], int]
Get = Callable[[NetKernel, Sock, int], bytes | int]  # of so many bytes of room


def _number(k: NetKernel, data: bytes) -> int:
    return int.from_bytes(data[:4], k.mem.byteorder, signed=True)


def _set_txtime(k: NetKernel, sk: Sock, data: bytes) -> int:
    """struct sock_txtime; which times packets leave at is for disciplines that are not here.  EINVAL, EPERM."""
    if len(data) != 8 or int.from_bytes(data[4:], k.mem.byteorder) & ~SOF_TXTIME_FLAGS_MASK:
        return -EINVAL
    if _number(k, data) != 1 and not sk.capable(k, CAP_NET_ADMIN):  # CLOCK_MONOTONIC
        return -EPERM
    sk.structs[SOL_SOCKET, SO_TXTIME] = data
    return 0


def _set_buf_lock(k: NetKernel, sk: Sock, data: bytes) -> int:
    locks = _number(k, data)
    if locks & ~(SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK):
        return -EINVAL
    sk.sndbuf_locked, sk.rcvbuf_locked = bool(locks & SOCK_SNDBUF_LOCK), bool(locks & SOCK_RCVBUF_LOCK)
    return 0


def _get_buf_lock(k: NetKernel, sk: Sock, room: int) -> bytes:
    locks = SOCK_SNDBUF_LOCK * sk.sndbuf_locked | SOCK_RCVBUF_LOCK * sk.rcvbuf_locked
    return locks.to_bytes(4, k.mem.byteorder)


def _reserve_mem(k: NetKernel, sk: Sock, data: bytes) -> int:
    """sock_reserve_memory(): sockets are charged to no control group."""
    return -EINVAL if _number(k, data) < 0 else -EOPNOTSUPP


def _set_prefer_busy_poll(k: NetKernel, sk: Sock, data: bytes) -> int:
    wanted = bool(_number(k, data))
    if wanted and not sk.capable(k, CAP_NET_ADMIN):
        return -EPERM
    sk.options[SOL_SOCKET, SO_PREFER_BUSY_POLL] = int(wanted)
    return 0


def _set_busy_poll_budget(k: NetKernel, sk: Sock, data: bytes) -> int:
    budget = _number(k, data)
    kept = sk.options.get((SOL_SOCKET, SO_BUSY_POLL_BUDGET), BUSY_POLL_BUDGET)
    if budget > kept and not sk.capable(k, CAP_NET_ADMIN):
        return -EPERM
    if not 0 <= budget <= U16_MAX:
        return -EINVAL
    sk.options[SOL_SOCKET, SO_BUSY_POLL_BUDGET] = budget
    return 0


def _get_pacing_rate(k: NetKernel, sk: Sock, room: int) -> bytes:
    """As wide as there is room; ~0 is no limit."""
    rate, wide = sk.options.get((SOL_SOCKET, SO_MAX_PACING_RATE), U32_MAX) & U32_MAX, k.arch.word == 8 and room >= 8
    if wide and rate == U32_MAX:
        rate = U64_MAX
    return rate.to_bytes(8 if wide else 4, k.mem.byteorder)


def _get_meminfo(k: NetKernel, sk: Sock, room: int) -> bytes:
    """sk_get_meminfo()."""
    values = (sk.rmem, sk.rcvbuf, sk.wmem, sk.sndbuf, 0, 0, 0, 0, sk.drops)
    return b"".join(value.to_bytes(4, k.mem.byteorder) for value in values)


def _get_peer_groups(k: NetKernel, sk: Sock, room: int) -> bytes | int:
    """ENODATA without a peer; ERANGE (and the size) where there is too little room."""
    groups = sk.peer_groups if isinstance(sk, UnixSock) else None
    if groups is None:
        return -ENODATA
    return b"".join(g.to_bytes(4, k.mem.byteorder) for g in groups) if room >= 4 * len(groups) else -ERANGE


def _get_cookie(k: NetKernel, sk: Sock, room: int) -> bytes | int:
    return k.net.programs.cookie(sk).to_bytes(8, k.mem.byteorder) if room >= 8 else -EINVAL


def _get_netns_cookie(k: NetKernel, sk: Sock, room: int) -> bytes | int:
    if k.version.before("5.14"):
        return -ENOPROTOOPT
    return sk.net.cookie.to_bytes(8, k.mem.byteorder) if room == 8 else -EINVAL


def _get_timestamping(option: int) -> Get:
    """struct so_timestamping."""
    return lambda k, sk, room: sk.options.get((SOL_SOCKET, option), 0).to_bytes(4, k.mem.byteorder) + bytes(4)


SETTERS: dict[int, Set] = {  # of at least 4 bytes
    SO_CNX_ADVICE: lambda k, sk, data: 0,  # dst_negative_advice(): ways are looked up for each packet anyway
    SO_TXTIME: _set_txtime,
    SO_BUF_LOCK: _set_buf_lock,
    SO_RESERVE_MEM: _reserve_mem,
    SO_PREFER_BUSY_POLL: _set_prefer_busy_poll,
    SO_BUSY_POLL_BUDGET: _set_busy_poll_budget,
}


def _get_peer_name(k: NetKernel, sk: Sock, room: int) -> bytes | int:
    """As getpeername(2), but a name shorter than the room is refused.  ENOTCONN, EINVAL."""
    if isinstance(sk, UnixSock):
        name = sk.peer.address if sk.peer is not None else b""
    else:
        name = sockaddr(k, sk, sk.raddr, sk.rport, sk.bound_ifindex) if sk.family in INET and sk.rport else b""
    if not name:
        return -ENOTCONN
    return -EINVAL if len(name) < room else name[:room]


GETTERS: dict[int, Get] = {
    SO_BINDTODEVICE: lambda k, sk, room: bound_device(sk, room),
    SO_MAX_PACING_RATE: _get_pacing_rate,
    SO_MEMINFO: _get_meminfo,
    SO_INCOMING_NAPI_ID: lambda k, sk, room: bytes(4),  # no device is polled by sockets
    SO_COOKIE: _get_cookie,
    SO_PEERGROUPS: _get_peer_groups,
    SO_PEERNAME: _get_peer_name,
    SO_NETNS_COOKIE: _get_netns_cookie,
    SO_TIMESTAMPING: _get_timestamping(SO_TIMESTAMPING),
    SO_TIMESTAMPING_NEW: _get_timestamping(SO_TIMESTAMPING_NEW),
    SO_TXTIME: lambda k, sk, room: sk.structs.get((SOL_SOCKET, SO_TXTIME), bytes(8)),
    SO_BUF_LOCK: _get_buf_lock,
    SO_RESERVE_MEM: lambda k, sk, room: bytes(4),
    SO_PREFER_BUSY_POLL: lambda k, sk, room: sk.options.get((SOL_SOCKET, SO_PREFER_BUSY_POLL), 0).to_bytes(
        4, k.mem.byteorder
    ),
}
