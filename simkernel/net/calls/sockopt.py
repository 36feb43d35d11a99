"""setsockopt and getsockopt.  net/core/sock.c, net/ipv4/ip_sockglue.c."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import EINVAL, ENOENT, ENOPROTOOPT
from arch.abi.inet import TCP_LISTEN
from arch.abi.socket import (
    AF_NETLINK,
    SO_ACCEPTCONN,
    SO_ATTACH_BPF,
    SO_BROADCAST,
    SO_DEBUG,
    SO_DETACH_FILTER,
    SO_DOMAIN,
    SO_ERROR,
    SO_KEEPALIVE,
    SO_LINGER,
    SO_PASSCRED,
    SO_PEERCRED,
    SO_PROTOCOL,
    SO_RCVBUF,
    SO_RCVTIMEO,
    SO_REUSEADDR,
    SO_REUSEPORT,
    SO_SNDBUF,
    SO_SNDTIMEO,
    SO_TIMESTAMP,
    SO_TYPE,
    SOL_IP,
    SOL_NETLINK,
    SOL_SOCKET,
    SOL_TCP,
)
from simkernel.kernel.kfunc import syscall
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel
from simkernel.net.files import socket_of
from simkernel.net.unix.sock import UnixSock

PLAIN_OPTIONS = {SO_DEBUG, SO_REUSEADDR, SO_BROADCAST, SO_KEEPALIVE, SO_REUSEPORT, SO_TIMESTAMP, SO_PASSCRED}
BUFFER_MAX = 212992


@syscall("setsockopt", "int fd, int level, int optname, char *user_optval, int optlen", source="net/socket.c")
def setsockopt(k: NetKernel, fd: int, level: int, optname: int, optval: int, optlen: int) -> int:
    """Socket options; ENOPROTOOPT for unknown ones."""
    sk = socket_of(k, fd).sk
    if optlen < 0:
        return -EINVAL
    if level == SOL_SOCKET and optname in (SO_ATTACH_BPF, SO_DETACH_FILTER):
        return attach_or_detach(k, sk, optname, optval, optlen)
    if optname in (SO_LINGER, SO_RCVTIMEO, SO_SNDTIMEO) and level == SOL_SOCKET:
        sk.options[level, optname] = 0
        return 0
    if level == SOL_NETLINK:
        return 0 if sk.family == AF_NETLINK and optlen >= 4 else -ENOPROTOOPT
    if optlen < 4:
        return -EINVAL
    value = k.usercopy.get_user(optval, 4, signed=True)
    if level == SOL_SOCKET and optname in (SO_RCVBUF, SO_SNDBUF):
        size = max(2 * min(value, BUFFER_MAX), 2304)
        if optname == SO_RCVBUF:
            sk.rcvbuf = size
            sk.view.sk_rcvbuf = size
        else:
            sk.sndbuf = size
            sk.view.sk_sndbuf = size
        return 0
    if level == SOL_SOCKET and optname not in PLAIN_OPTIONS:
        return -ENOPROTOOPT
    if level not in (SOL_SOCKET, SOL_IP, SOL_TCP):
        return -ENOPROTOOPT
    sk.options[level, optname] = value
    return 0


def attach_or_detach(k: NetKernel, sk: Sock, optname: int, optval: int, optlen: int) -> int:
    """SO_ATTACH_BPF and SO_DETACH_FILTER (= SO_DETACH_BPF)."""
    if optname == SO_DETACH_FILTER:
        if sk.filter is None:
            return -ENOENT
        sk.filter.release()
        sk.filter = None
        return 0
    if optlen != 4:
        return -EINVAL
    if k.net.attach_filter is None:
        return -EINVAL
    attached = k.net.attach_filter(k.usercopy.get_user(optval, 4))
    if sk.filter is not None:
        sk.filter.release()
    sk.filter = attached
    return 0


@syscall("getsockopt", "int fd, int level, int optname, char *optval, int *optlen", source="net/socket.c")
def getsockopt(k: NetKernel, fd: int, level: int, optname: int, optval: int, optlen: int) -> int:
    """Read an option."""
    socket_ = socket_of(k, fd)
    sk = socket_.sk
    room = k.usercopy.get_user(optlen, 4, signed=True)
    if room < 0:
        return -EINVAL
    if level == SOL_SOCKET and optname == SO_PEERCRED:
        cred = sk.peer_cred if isinstance(sk, UnixSock) else (0, 0xFFFFFFFF, 0xFFFFFFFF)
        raw = b"".join((value & 0xFFFFFFFF).to_bytes(4, k.mem.byteorder) for value in cred)[:room]
        k.usercopy.copy_to_user(optval, raw)
        k.usercopy.put_user(optlen, 4, len(raw))
        return 0
    computed: dict[int, Callable[[], int]] = {
        SO_TYPE: lambda: socket_.type,
        SO_ERROR: sk.take_error,
        SO_RCVBUF: lambda: sk.rcvbuf,
        SO_SNDBUF: lambda: sk.sndbuf,
        SO_PROTOCOL: lambda: sk.protocol,
        SO_DOMAIN: lambda: socket_.family,
        SO_ACCEPTCONN: lambda: int(sk.state == TCP_LISTEN),
    }
    if level == SOL_SOCKET and optname in computed:
        value = computed[optname]()
    elif level == SOL_SOCKET and optname not in PLAIN_OPTIONS:
        return -ENOPROTOOPT
    else:
        value = sk.options.get((level, optname), 0)
    k.usercopy.copy_to_user(optval, (value & 0xFFFFFFFF).to_bytes(4, k.mem.byteorder)[:room])
    k.usercopy.put_user(optlen, 4, min(room, 4))
    return 0
