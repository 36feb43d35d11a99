"""ioctl(2) on sockets: what is queued, who is told, when the last packet came.  net/socket.c: sock_ioctl() and the families' own.

All numbers that are answered are ints of 4 bytes; times are structs of the caller's.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from arch.abi.capability import CAP_NET_ADMIN
from arch.abi.errno import EADDRNOTAVAIL, EINVAL, ENOENT, EOPNOTSUPP, EPERM
from arch.abi.inet import TCP_LISTEN
from arch.abi.ioctl import (
    FIOGETOWN,
    FIOSETOWN,
    SIOCATMARK,
    SIOCGETSGCNT,
    SIOCGETVIFCNT,
    SIOCGPGRP,
    SIOCGSTAMP,
    SIOCGSTAMP_NEW,
    SIOCGSTAMPNS,
    SIOCGSTAMPNS_NEW,
    SIOCINQ,
    SIOCOUTQ,
    SIOCOUTQNSD,
    SIOCSPGRP,
    SIOCUNIXFILE,
)
from arch.abi.socket import AF_ALG, AF_NETLINK, AF_UNIX, AF_XDP, SOCK_RAW, SOCK_STREAM
from arch.abi.time import NSEC_PER_SEC
from arch.errors import KernelError
from simkernel.fs.fasync import get_owner, set_owner
from simkernel.fs.fdtable import files_of
from simkernel.fs.fsopen import path_file
from simkernel.fs.inode import File
from simkernel.net.core.control import keep_stamping
from simkernel.net.core.sock import INET, Sock
from simkernel.net.face import NetKernel
from simkernel.net.interfaces import interface_ioctl
from simkernel.net.ipv4 import tcp_urgent as urgent
from simkernel.net.ipv4.tcp_sock import TcpSock
from simkernel.net.ipv4.udp_coverage import UDP_HEADER
from simkernel.net.unix.sock import UnixSock, readable_bytes

STAMPS = {
    SIOCGSTAMP: (False, 1000),
    SIOCGSTAMPNS: (False, 1),
    SIOCGSTAMP_NEW: (True, 1000),
    SIOCGSTAMPNS_NEW: (True, 1),
}
Number = Callable[[Sock], "int | None"]  # None: this kind of socket does not know the request


def _stream(sk: Sock) -> TcpSock:
    """EINVAL of one that listens."""
    assert isinstance(sk, TcpSock)
    if sk.state == TCP_LISTEN:
        raise KernelError(EINVAL)
    return sk


def _readable(sk: Sock) -> int | None:
    if isinstance(sk, UnixSock):
        if sk.state == TCP_LISTEN:
            raise KernelError(EINVAL)
        return readable_bytes(sk)
    if isinstance(sk, TcpSock):
        return urgent.readable_bytes(_stream(sk))
    if not sk.receive_queue:
        return 0
    return sk.receive_queue[0].len - (UDP_HEADER if sk.is_udp else 0)


def _unsent(sk: Sock) -> int | None:
    """Bytes of a stream that are not acknowledged, or what datagrams on their way are charged with."""
    if isinstance(sk, TcpSock):
        return _stream(sk).queued
    return sk.wmem


def _not_on_the_way(sk: Sock) -> int | None:
    return len(_stream(sk).unsent) if isinstance(sk, TcpSock) else None


def _at_mark(sk: Sock) -> int | None:
    """Is the urgent byte what would be read next?"""
    if isinstance(sk, UnixSock):
        if sk.type != SOCK_STREAM:
            raise KernelError(EOPNOTSUPP)
        return int(bool(sk.parcels) and sk.parcels[0] is sk.oob)
    return int(urgent.to_the_mark(sk) == 0) if isinstance(sk, TcpSock) else None


def _routed(sk: Sock) -> int | None:
    """ipmr_ioctl(): nothing is routed to groups."""
    if sk.type == SOCK_RAW and sk.family in INET:
        raise KernelError(EINVAL)
    return None


def _no_route(sk: Sock) -> int | None:
    if sk.type == SOCK_RAW and sk.family in INET:
        raise KernelError(EADDRNOTAVAIL)
    return None


NUMBERS: dict[int, Number] = {
    SIOCINQ: _readable,
    SIOCOUTQ: _unsent,
    SIOCOUTQNSD: _not_on_the_way,
    SIOCATMARK: _at_mark,
    SIOCGETVIFCNT: _routed,
    SIOCGETSGCNT: _no_route,
}
WITHOUT_NUMBERS = (AF_NETLINK, AF_ALG)


def _stamp(k: NetKernel, sk: Sock, cmd: int, arg: int) -> int:
    """sock_gettstamp(): from now on packets are stamped.  ENOENT before the first."""
    keep_stamping(k, sk)
    if sk.last_stamp_ns is None:
        raise KernelError(ENOENT)
    sk.last_stamp_ns = sk.last_stamp_ns or k.clock.realtime_ns
    wide, unit = STAMPS[cmd]
    seconds, ns = divmod(sk.last_stamp_ns, NSEC_PER_SEC)
    form = "q" if wide or k.arch.word == 8 else "i"
    order = "<" if k.mem.byteorder == "little" else ">"
    k.usercopy.copy_to_user(arg, struct.pack(f"{order}2{form}", seconds, ns // unit))
    return 0


def _file_of(k: NetKernel, sk: UnixSock) -> int:
    """unix_open_file(): a descriptor, opened with O_PATH, of what a socket is bound to.  EPERM, ENOENT."""
    if not sk.capable(k, CAP_NET_ADMIN):
        raise KernelError(EPERM)
    if sk.path is None:
        raise KernelError(ENOENT)
    files = files_of(k.current)
    with files.unused_fd(True) as fd:
        files.install(fd, path_file(k, sk.path))
    return fd


def sock_ioctl(k: NetKernel, sk: Sock, file: File, cmd: int, arg: int) -> int:
    """By request, then by interface.  ENOTTY, EINVAL, ENOENT, EOPNOTSUPP, EFAULT, ESRCH."""
    if cmd in (FIOSETOWN, SIOCSPGRP):
        return set_owner(k, file, k.usercopy.get_user(arg, 4))
    if cmd in (FIOGETOWN, SIOCGPGRP):
        k.usercopy.put_user(arg, 4, get_owner(k, file))
        return 0
    if sk.family == AF_XDP:
        return -EOPNOTSUPP
    if cmd in STAMPS and sk.family not in (*WITHOUT_NUMBERS, AF_UNIX):
        return _stamp(k, sk, cmd, arg)
    if cmd == SIOCUNIXFILE and isinstance(sk, UnixSock):
        return _file_of(k, sk)
    if cmd in NUMBERS and sk.family not in WITHOUT_NUMBERS:
        number = NUMBERS[cmd](sk)
        if number is not None:
            k.usercopy.put_user(arg, 4, number)
            return 0
    return interface_ioctl(k, sk.net, cmd, arg)
