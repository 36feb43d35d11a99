"""setsockopt and getsockopt.  net/core/sock.c, net/ipv4/ip_sockglue.c."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.capability import CAP_NET_ADMIN, CAP_NET_RAW
from arch.abi.errno import EADDRNOTAVAIL, EFAULT, EINVAL, ENOPROTOOPT, EOPNOTSUPP, EPERM, ERANGE
from arch.abi.in6 import IPV6_FLOWLABEL_MGR
from arch.abi.inet import (
    ICMP_FILTER,
    IP_MSFILTER,
    IP_MULTICAST_IF,
    IP_OPTIONS,
    IP_PKTOPTIONS,
    IPPROTO_TCP,
    IPPROTO_UDP,
    MCAST_MSFILTER,
    TCP_CLOSE,
    TCP_LISTEN,
)
from arch.abi.limits import INT_MAX, U32_MAX
from arch.abi.netlink import NETLINK_LIST_MEMBERSHIPS
from arch.abi.packet import PACKET_HDRLEN, PACKET_RX_RING, PACKET_TX_RING
from arch.abi.socket import (
    AF_ALG,
    AF_INET,
    AF_NETLINK,
    AF_PACKET,
    AF_UNIX,
    SO_ACCEPTCONN,
    SO_ATTACH_BPF,
    SO_ATTACH_FILTER,
    SO_ATTACH_REUSEPORT_EBPF,
    SO_BINDTODEVICE,
    SO_BINDTOIFINDEX,
    SO_BPF_EXTENSIONS,
    SO_BROADCAST,
    SO_BSDCOMPAT,
    SO_BUSY_POLL,
    SO_DEBUG,
    SO_DETACH_FILTER,
    SO_DETACH_REUSEPORT_BPF,
    SO_DOMAIN,
    SO_DONTROUTE,
    SO_ERROR,
    SO_GET_FILTER,
    SO_INCOMING_CPU,
    SO_KEEPALIVE,
    SO_LOCK_FILTER,
    SO_MARK,
    SO_MAX_PACING_RATE,
    SO_NO_CHECK,
    SO_NOFCS,
    SO_OOBINLINE,
    SO_PASSCRED,
    SO_PASSSEC,
    SO_PEEK_OFF,
    SO_PEERCRED,
    SO_PEERGROUPS,
    SO_PEERNAME,
    SO_PRIORITY,
    SO_PROTOCOL,
    SO_RCVBUF,
    SO_RCVBUFFORCE,
    SO_RCVLOWAT,
    SO_RCVMARK,
    SO_REUSEADDR,
    SO_REUSEPORT,
    SO_RXQ_OVFL,
    SO_SELECT_ERR_QUEUE,
    SO_SNDBUF,
    SO_SNDBUFFORCE,
    SO_SNDLOWAT,
    SO_TIMESTAMP,
    SO_TIMESTAMP_NEW,
    SO_TIMESTAMPING,
    SO_TIMESTAMPING_NEW,
    SO_TIMESTAMPNS,
    SO_TIMESTAMPNS_NEW,
    SO_TXREHASH,
    SO_TYPE,
    SO_WIFI_STATUS,
    SO_ZEROCOPY,
    SOCK_DGRAM,
    SOCK_RAW,
    SOCKADDR_STORAGE,
    SOF_TIMESTAMPING_BIND_PHC,
    SOF_TIMESTAMPING_MASK,
    SOF_TIMESTAMPING_OPT_ID,
    SOF_TIMESTAMPING_OPT_ID_TCP,
    SOF_TIMESTAMPING_OPT_STATS,
    SOF_TIMESTAMPING_OPT_TSONLY,
    SOL_ICMPV6,
    SOL_IP,
    SOL_IPV6,
    SOL_NETLINK,
    SOL_PACKET,
    SOL_RAW,
    SOL_SOCKET,
    SOL_TCP,
    SOL_UDP,
    SOL_UDPLITE,
    SOL_XDP,
    TCP_CONGESTION,
)
from arch.cstring import c_string
from arch.errors import KernelError
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import syscall
from simkernel.kernel.security import may
from simkernel.net.alg import set_alg_option
from simkernel.net.calls.patience import PATIENCE, bind_to_device, bind_to_index, patience, set_patience
from simkernel.net.calls.sol_socket import GETTERS, SETTERS
from simkernel.net.core.control import STAMPS, WATCHED, watch_stamps
from simkernel.net.core.filter import get_filter, set_filter
from simkernel.net.core.sock import INET, SOCK_MIN_RCVBUF, Sock
from simkernel.net.face import NetKernel
from simkernel.net.files import socket_of
from simkernel.net.ipv4.ip_sockglue import get_ip_option, knows_ip_option, set_ip_option
from simkernel.net.ipv4.tcp_cong import find_control
from simkernel.net.ipv4.tcp_keepalive import keeps_alive, set_keepalive
from simkernel.net.ipv4.tcp_options import TCP_FASTOPEN_KEY, TCP_ULP, get_tcp_option, set_tcp_option
from simkernel.net.ipv4.tcp_sock import TcpSock
from simkernel.net.ipv4.tcp_zerocopy import TCP_ZEROCOPY_RECEIVE, ZEROCOPY_SIZE, zerocopy_receive
from simkernel.net.ipv6.ip6_options import GETTERS as GETTERS6
from simkernel.net.ipv6.ip6_options import SETTERS as SETTERS6
from simkernel.net.ipv6.ipv6_sockglue import get_ipv6_option, set_ipv6_option
from simkernel.net.netlink.sock import get_netlink_option, set_netlink_option
from simkernel.net.packet.options import get_packet_option, set_packet_option
from simkernel.net.raw_options import get_raw_option, set_raw_option
from simkernel.net.reuseport import set_reuseport_program
from simkernel.net.udp_options import UDP_LEVELS, get_udp_option, set_udp_option, uncorks
from simkernel.net.unix.sock import UnixSock
from simkernel.net.xdp.options import get_xdp_option, set_xdp_option, unread
from simkernel.net.xdp.xsk import XdpSock

ZERO_OR_ONE = {
    SO_DEBUG,
    SO_REUSEADDR,
    SO_BROADCAST,
    SO_KEEPALIVE,
    SO_REUSEPORT,
    SO_TIMESTAMP,
    SO_PASSCRED,
    SO_OOBINLINE,
    SO_DONTROUTE,
    SO_NO_CHECK,
    SO_PASSSEC,
    SO_TIMESTAMPNS,
    SO_RXQ_OVFL,
    SO_ZEROCOPY,
    SO_WIFI_STATUS,
    SO_NOFCS,
    SO_SELECT_ERR_QUEUE,
    SO_LOCK_FILTER,
    SO_TIMESTAMP_NEW,
    SO_TIMESTAMPNS_NEW,
    SO_RCVMARK,
}
PLAIN_OPTIONS = ZERO_OR_ONE | {
    SO_PRIORITY,
    SO_MARK,
    SO_RCVLOWAT,
    SO_BUSY_POLL,
    SO_PEEK_OFF,
    SO_TXREHASH,
    SO_INCOMING_CPU,
    SO_MAX_PACING_RATE,
    SO_BINDTOIFINDEX,
    SO_TIMESTAMPING,
    SO_TIMESTAMPING_NEW,
}
READ_ONLY = {
    SO_TYPE,
    SO_PROTOCOL,
    SO_DOMAIN,
    SO_ERROR,
    SO_ACCEPTCONN,
    SO_SNDLOWAT,
    SO_PEERCRED,
    SO_PEERNAME,
    SO_BPF_EXTENSIONS,
}
# struct sock members that programs read, by option; values that options have at first where that is not 0
COMMON_BITS = {SO_REUSEADDR: "skc_reuse", SO_REUSEPORT: "skc_reuseport"}  # members of struct sock_common
MEMBERS = {SO_PRIORITY: "sk_priority", SO_MARK: "sk_mark", SO_RCVLOWAT: "sk_rcvlowat"}
FIRST = {(SOL_SOCKET, SO_RCVLOWAT): 1, (SOL_SOCKET, SO_INCOMING_CPU): -1}
TCP_CA_NAME_MAX = 16
SOCK_MIN_SNDBUF, TCP_RMEM_MAX = 4608, 6291456
SKF_AD_MAX = 64  # linux/filter.h
WHOLE = (IP_OPTIONS, IP_PKTOPTIONS, IP_MULTICAST_IF, IP_MSFILTER, MCAST_MSFILTER)  # of SOL_IP: never told as a byte
INT_OPTION = 4  # bytes of an option that is one
OF_NUMBERS = (SOL_SOCKET, SOL_TCP, *UDP_LEVELS, SOL_IPV6, SOL_NETLINK)  # levels most of whose options are
OF_NAMES = ((SOL_SOCKET, SO_BINDTODEVICE), (SOL_TCP, TCP_CONGESTION), (SOL_TCP, TCP_ULP), (SOL_TCP, TCP_FASTOPEN_KEY))
OPTION_USED, OPTION_MAX = 264, 1 << 16  # bytes of a value that the kernel looks at, and that programs may


@syscall("setsockopt", "int fd, int level, int optname, char *user_optval, int optlen", source="net/socket.c")
def setsockopt(k: NetKernel, fd: int, level: int, optname: int, optval: int, optlen: int) -> Body:
    """Socket options; ENOPROTOOPT for unknown ones."""
    if optlen < 0:
        return -EINVAL
    socket_ = socket_of(k, fd)
    refused = yield from may(k, "security_socket_setsockopt", socket_.addr, level, optname)
    if refused:
        return refused
    sk = socket_.sk
    refused = unread(level, optname, optlen) if isinstance(sk, XdpSock) and level != SOL_SOCKET else 0
    if refused:
        return -refused
    watched = k.net.programs.watches_options(sk)
    if _is_short(level, optname, optlen) and not watched:
        data = bytes(optlen)
    else:
        try:
            data = k.usercopy.copy_from_user(optval, min(optlen, OPTION_MAX if watched else OPTION_USED))
        except KernelError:
            return -EFAULT if watched else _unread(sk, level, optname)
    error, level, optname, data = k.net.programs.setsockopt(sk, level, optname, data)
    if error:
        return min(error, 0)
    answer = set_option(k, sk, level, optname, data)
    if not answer and level in UDP_LEVELS and uncorks(sk, optname):
        yield k.call("udp_v6_push_pending_frames" if sk.ip6 is not None else "udp_push_pending_frames", sk.addr)
    return answer


def set_option(k: NetKernel, sk: Sock, level: int, optname: int, data: bytes) -> int:
    """sock_setsockopt() and the protocols' own, on bytes of the kernel's."""
    if level == SOL_SOCKET and optname in (SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_DETACH_FILTER):
        if len(data) < 4:
            return -EINVAL
        return set_filter(k, sk, optname, data)
    if level == SOL_SOCKET and optname in (SO_ATTACH_REUSEPORT_EBPF, SO_DETACH_REUSEPORT_BPF):
        return set_reuseport_program(k, sk, optname, data)
    if level == SOL_SOCKET and optname in PATIENCE:
        return set_patience(k, sk, optname, data)
    if level == SOL_SOCKET and optname == SO_BINDTODEVICE:
        return bind_to_device(k, sk, data)
    if (level, optname) == (SOL_TCP, TCP_CONGESTION) and sk.protocol == IPPROTO_TCP:
        return set_congestion(k, sk, data)
    if isinstance(sk, XdpSock) and level != SOL_SOCKET:
        return set_xdp_option(k, sk, level, optname, data)
    if sk.family == AF_ALG and level != SOL_SOCKET:
        return set_alg_option(k, sk, level, optname, data)
    if level != SOL_SOCKET:
        if not _has_level(sk, level):
            return -EOPNOTSUPP if sk.family == AF_UNIX else -ENOPROTOOPT
        return OF_LEVEL[level](k, sk, optname, data)
    if len(data) < 4:
        return -EINVAL
    if optname in SETTERS:
        return SETTERS[optname](k, sk, data)
    return sock_setsockopt(k, sk, optname, int.from_bytes(data[:4], k.mem.byteorder, signed=True))


def _has_level(sk: Sock, level: int) -> bool:
    """A socket of this kind has options of that level."""
    if level == SOL_SOCKET or isinstance(sk, XdpSock) or sk.family == AF_ALG:
        return True
    if level in (SOL_NETLINK, SOL_PACKET):
        return sk.family == (AF_NETLINK if level == SOL_NETLINK else AF_PACKET)
    if level == SOL_IP:
        return sk.family == AF_INET or (sk.ip6 is not None and sk.type != SOCK_RAW)
    if level == SOL_IPV6:
        return sk.ip6 is not None
    if level == SOL_TCP:
        return isinstance(sk, TcpSock)
    return _is_of_raw(sk, level) or (level in UDP_LEVELS and sk.is_udp)


def _is_short(level: int, optname: int, optlen: int) -> bool:
    """Less than a number where a number is asked for: its bytes are not looked at."""
    return optlen < INT_OPTION and level in OF_NUMBERS and (level, optname) not in OF_NAMES


def _unread(sk: Sock, level: int, optname: int) -> int:
    """The value is not there to be read: what is refused before anybody reads it, else EFAULT."""
    if not _has_level(sk, level):
        return -EOPNOTSUPP if sk.family == AF_UNIX else -ENOPROTOOPT
    known = (level != SOL_IP or knows_ip_option(optname)) and (
        level != SOL_RAW or sk.ip6 is not None or optname == ICMP_FILTER
    )
    if level == SOL_PACKET and optname in (PACKET_RX_RING, PACKET_TX_RING):
        return -EINVAL
    return -EFAULT if known else -ENOPROTOOPT


def _set_tcp(k: NetKernel, sk: Sock, optname: int, data: bytes) -> int:
    assert isinstance(sk, TcpSock)  # _has_level()
    return set_tcp_option(k, sk, optname, data)


def _set_ipv6(k: NetKernel, sk: Sock, optname: int, data: bytes) -> int:
    return SETTERS6[optname](k, sk, data) if optname in SETTERS6 else set_ipv6_option(k, sk, optname, data)


def _is_of_raw(sk: Sock, level: int) -> bool:
    """A level that raw sockets of this family have."""
    return (
        sk.type == SOCK_RAW and sk.family in INET and (level == SOL_RAW or (level == SOL_ICMPV6 and sk.ip6 is not None))
    )


def sock_setsockopt(k: NetKernel, sk: Sock, optname: int, value: int) -> int:
    """Options of SOL_SOCKET that are numbers."""
    forced = optname in (SO_RCVBUFFORCE, SO_SNDBUFFORCE)
    if forced:
        if not k.capable(CAP_NET_ADMIN):
            return -EPERM
        optname = SO_RCVBUF if optname == SO_RCVBUFFORCE else SO_SNDBUF
    refused = _refused(k, sk, optname, value)
    if refused:
        return -refused
    if optname == SO_BINDTOIFINDEX:
        return bind_to_index(k, sk, value)
    if optname == SO_MARK:
        sk.mark = value & 0xFFFFFFFF
    if optname in WATCHED:
        (sk.controls.add if value else sk.controls.discard)(optname)
    if optname in ZERO_OR_ONE:
        value = int(bool(value))
    if optname == SO_KEEPALIVE and isinstance(sk, TcpSock):
        set_keepalive(k, sk, bool(value), keeps_alive(sk))
    if optname == SO_TXREHASH and value < 0:
        value = int(sk.net.sysctl["core.txrehash"])
    if optname == SO_RCVLOWAT:
        value = (1 << 31) - 1 if value < 0 else value or 1
        if isinstance(sk, TcpSock):  # tcp_set_rcvlowat()
            value = min(value, (sk.rcvbuf if sk.rcvbuf_locked else TCP_RMEM_MAX) >> 1)
    if optname in (SO_RCVBUF, SO_SNDBUF):
        most = int(k.net.sysctl["core.rmem_max" if optname == SO_RCVBUF else "core.wmem_max"])
        _set_buffer(sk, optname, min(max(value, 0), INT_MAX // 2) if forced else min(value & U32_MAX, most))
        return 0
    if optname == SO_REUSEPORT:
        sk.reuseport = bool(value)
    if optname == SO_BSDCOMPAT:
        return 0
    if optname in STAMPS:  # sock_set_timestamp(): one of them at a time
        for other in STAMPS:
            sk.options.pop((SOL_SOCKET, other), None)
            sk.controls.discard(other)
        if value:
            sk.controls.add(optname)
    sk.options[SOL_SOCKET, optname] = value
    if optname in WATCHED:
        watch_stamps(k, sk)
    member = MEMBERS.get(optname)
    if member is not None and k.types.has_member("struct sock", member):
        setattr(sk.view, member, value & 0xFFFFFFFF)
    common = COMMON_BITS.get(optname)
    if common is not None:
        setattr(sk.view["__sk_common"], common, value)
    return 0


def _peeks(sk: Sock) -> bool:
    """set_peek_off()."""
    return sk.family == AF_UNIX or (sk.family in INET and sk.type == SOCK_DGRAM)


def _refused(k: NetKernel, sk: Sock, optname: int, value: int) -> int:
    """The errno of an option that may not be set so; 0: it may."""
    known = optname in PLAIN_OPTIONS or optname in (SO_RCVBUF, SO_SNDBUF, SO_BSDCOMPAT)
    if optname in READ_ONLY or not known:
        return ENOPROTOOPT
    if optname == SO_PRIORITY and not 0 <= value <= 6 and not k.capable(CAP_NET_ADMIN):
        return EPERM
    if optname in (SO_MARK, SO_RCVMARK) and not (k.capable(CAP_NET_RAW) or k.capable(CAP_NET_ADMIN)):
        return EPERM
    if optname == SO_TXREHASH and not -1 <= value <= 1:
        return EINVAL
    if optname == SO_PEEK_OFF and not _peeks(sk):
        return EOPNOTSUPP
    if optname == SO_ZEROCOPY and not (sk.family in INET and sk.protocol in (IPPROTO_TCP, IPPROTO_UDP)):
        return EOPNOTSUPP
    if optname == SO_ZEROCOPY and value not in (0, 1):
        return EINVAL
    if optname == SO_LOCK_FILTER and not value and sk.options.get((SOL_SOCKET, optname)):
        return EPERM
    if optname == SO_REUSEPORT and value and sk.family not in INET:
        return EOPNOTSUPP
    if optname == SO_BUSY_POLL and value < 0:
        return EINVAL
    return timestamping_refused(sk, value) if optname in (SO_TIMESTAMPING, SO_TIMESTAMPING_NEW) else 0


def timestamping_refused(sk: Sock, value: int) -> int:
    """sock_set_timestamping()."""
    if value & ~SOF_TIMESTAMPING_MASK:
        return EINVAL
    if value & SOF_TIMESTAMPING_OPT_ID_TCP and not value & SOF_TIMESTAMPING_OPT_ID:
        return EINVAL
    fresh = (
        value & SOF_TIMESTAMPING_OPT_ID
        and not sk.options.get((SOL_SOCKET, SO_TIMESTAMPING), 0) & SOF_TIMESTAMPING_OPT_ID
    )
    if fresh and isinstance(sk, TcpSock) and sk.state in (TCP_CLOSE, TCP_LISTEN):
        return EINVAL
    if value & SOF_TIMESTAMPING_OPT_STATS and not value & SOF_TIMESTAMPING_OPT_TSONLY:
        return EINVAL
    return EOPNOTSUPP if value & SOF_TIMESTAMPING_BIND_PHC else 0


def _set_buffer(sk: Sock, optname: int, value: int) -> None:
    """SO_RCVBUF, SO_SNDBUF: twice as much as is said, and not too little."""
    wanted = 2 * value
    if optname == SO_RCVBUF:
        sk.rcvbuf, sk.rcvbuf_locked = max(wanted, SOCK_MIN_RCVBUF), True
        sk.view.sk_rcvbuf = sk.rcvbuf
    else:
        sk.sndbuf, sk.sndbuf_locked = max(wanted, SOCK_MIN_SNDBUF), True
        sk.view.sk_sndbuf = sk.sndbuf


def set_congestion(k: NetKernel, sk: Sock, data: bytes) -> int:
    """tcp_set_congestion_control().  EINVAL, ENOENT, EPERM."""
    if not data:
        return -EINVAL
    name = c_string(data[: TCP_CA_NAME_MAX - 1])
    if name == sk.congestion_name:
        return 0
    control = find_control(k, name)
    if control.restricted and not k.capable(CAP_NET_ADMIN):
        control.drop()
        return -EPERM
    if isinstance(sk, TcpSock):
        sk.set_congestion(control)
    return 0


OF_LEVEL: dict[int, Callable[[NetKernel, Sock, int, bytes], int]] = {
    SOL_IP: set_ip_option, SOL_TCP: _set_tcp, SOL_UDP: set_udp_option, SOL_UDPLITE: set_udp_option, SOL_IPV6: _set_ipv6,
    SOL_ICMPV6: lambda k, sk, name, data: set_raw_option(k, sk, SOL_ICMPV6, name, data), SOL_RAW: lambda k, sk, name, data: set_raw_option(k, sk, SOL_RAW, name, data),
    SOL_PACKET: set_packet_option, SOL_NETLINK: set_netlink_option,
}  # fmt: skip


@syscall("getsockopt", "int fd, int level, int optname, char *optval, int *optlen", source="net/socket.c")
def getsockopt(k: NetKernel, fd: int, level: int, optname: int, optval: int, optlen: int) -> Body:
    """Read an option."""
    socket_ = socket_of(k, fd)
    refused = yield from may(k, "security_socket_getsockopt", socket_.addr, level, optname)
    if refused:
        return refused
    sk = socket_.sk
    if level not in KNOWN_LEVELS and not k.net.programs.watches_answers(sk):
        return _foreign(sk)
    room = k.usercopy.get_user(optlen, 4, signed=True)
    if room < 0:
        if _checks_room(sk, level, optname):
            return -EINVAL
        room = INT_MAX  # min_t(unsigned int, len, ...)
    if (level, optname) == (SOL_SOCKET, SO_GET_FILTER):
        k.usercopy.put_user(optlen, 4, get_filter(k, sk, optval, room))
        return 0
    if (level, optname) == (SOL_TCP, TCP_ZEROCOPY_RECEIVE) and isinstance(sk, TcpSock):
        found = yield from zerocopy_receive(k, sk, optval, optlen, room)
        room = min(room, ZEROCOPY_SIZE)
    else:
        asked = bytes(k.usercopy.copy_from_user(optval, min(room, OPTION_USED))) if _reads(level, optname) else b""
        found = get_option(k, sk, level, optname, room, asked)
    if found == -ERANGE and (level, optname) == (SOL_SOCKET, SO_PEERGROUPS) and isinstance(sk, UnixSock):
        k.usercopy.put_user(optlen, 4, 4 * len(sk.peer_groups or ()))
    answer, data = (found, b"") if isinstance(found, int) else (0, found[:room])
    lists = (level, optname) == (SOL_NETLINK, NETLINK_LIST_MEMBERSHIPS)
    if lists:
        data = data[: len(data) & -4]
    if level == SOL_IP and optname not in WHOLE and 0 < room < 4 and not any(data[1:]):
        data = data[:1]  # a byte, for values that fit
    answer, data = k.net.programs.getsockopt(sk, level, optname, room, answer, data)
    if answer < 0:
        return answer
    k.usercopy.copy_to_user(optval, data)
    k.usercopy.put_user(optlen, 4, len(found) if lists and not isinstance(found, int) else len(data))
    return answer


def _checks_room(sk: Sock, level: int, optname: int) -> bool:
    """Whether less than no room is EINVAL: not of levels that a socket does not have, nor of most that IPv6 has."""
    if level == SOL_IPV6:
        return sk.ip6 is not None and optname in (IPV6_FLOWLABEL_MGR, MCAST_MSFILTER)
    if level in (SOL_RAW, SOL_ICMPV6):
        return _is_of_raw(sk, level) and optname == ICMP_FILTER and (level == SOL_ICMPV6 or sk.ip6 is None)
    if level == SOL_IP:
        return sk.family == AF_INET or (sk.ip6 is not None and sk.type != SOCK_RAW)
    owned = {SOL_TCP: isinstance(sk, TcpSock), SOL_UDP: sk.is_udp, SOL_UDPLITE: sk.is_udp}
    owned |= {
        SOL_NETLINK: sk.family == AF_NETLINK,
        SOL_PACKET: sk.family == AF_PACKET,
        SOL_XDP: isinstance(sk, XdpSock),
    }
    return owned.get(level, level == SOL_SOCKET)


def _reads(level: int, optname: int) -> bool:
    """Options that are asked for by what the buffer holds."""
    return (level == SOL_IP and optname in (IP_MSFILTER, MCAST_MSFILTER)) or (level, optname) == (
        SOL_PACKET,
        PACKET_HDRLEN,
    )


# Levels that some socket has; others are refused before anything is read.
KNOWN_LEVELS = (
    SOL_IP,
    SOL_SOCKET,
    SOL_TCP,
    *UDP_LEVELS,
    SOL_IPV6,
    SOL_ICMPV6,
    SOL_RAW,
    SOL_PACKET,
    SOL_NETLINK,
    SOL_XDP,
)


def _foreign(sk: Sock) -> int:
    """getsockopt() of a level that the socket does not have."""
    return -EOPNOTSUPP if sk.family in (AF_INET, AF_UNIX, AF_ALG) else -ENOPROTOOPT


def get_option(k: NetKernel, sk: Sock, level: int, optname: int, room: int = 4, asked: bytes = b"") -> bytes | int:
    """sock_getsockopt() and the protocols' own: the value, or -errno."""
    order = k.mem.byteorder
    if level == SOL_SOCKET and optname == SO_PEERCRED:
        cred = sk.peer_cred if isinstance(sk, UnixSock) else (0, 0xFFFFFFFF, 0xFFFFFFFF)
        return b"".join((value & 0xFFFFFFFF).to_bytes(4, order) for value in cred)
    if level == SOL_SOCKET and optname in PATIENCE:
        return patience(k, sk, optname)
    if level == SOL_SOCKET and optname in GETTERS:
        return GETTERS[optname](k, sk, room)
    if isinstance(sk, XdpSock) and level != SOL_SOCKET:
        return get_xdp_option(k, sk, level, optname, room)
    if level == SOL_NETLINK and sk.family == AF_NETLINK:
        return get_netlink_option(k, sk, optname, room)
    if level == SOL_PACKET and sk.family == AF_PACKET:
        return get_packet_option(k, sk, optname, asked, room)
    if _is_of_raw(sk, level):
        return get_raw_option(k, sk, level, optname)
    if (level, optname) == (SOL_TCP, TCP_CONGESTION) and sk.protocol == IPPROTO_TCP:
        return sk.congestion_name.encode().ljust(TCP_CA_NAME_MAX, b"\0")
    computed: dict[int, Callable[[], int]] = {
        SO_TYPE: lambda: sk.type,
        SO_ERROR: sk.take_error,
        SO_RCVBUF: lambda: sk.rcvbuf,
        SO_SNDBUF: lambda: sk.sndbuf,
        SO_PROTOCOL: lambda: sk.protocol if sk.family != AF_PACKET else 0,
        SO_REUSEADDR: lambda: sk.options.get(
            (SOL_SOCKET, SO_REUSEADDR), int(sk.family in INET and sk.type == SOCK_RAW)
        ),
        SO_TXREHASH: lambda: sk.options.get((SOL_SOCKET, SO_TXREHASH), int(sk.family in INET)),
        SO_DOMAIN: lambda: sk.family,
        SO_ACCEPTCONN: lambda: int(sk.state == TCP_LISTEN),
        SO_RCVLOWAT: lambda: sk.options.get((SOL_SOCKET, SO_RCVLOWAT), 1),
        SO_SNDLOWAT: lambda: 1,
        SO_BINDTOIFINDEX: lambda: sk.bound_ifindex,
        SO_PEEK_OFF: lambda: sk.options.get((SOL_SOCKET, SO_PEEK_OFF), -1),
        SO_BSDCOMPAT: lambda: 0,
        SO_BPF_EXTENSIONS: lambda: SKF_AD_MAX,
    }
    if level == SOL_TCP and isinstance(sk, TcpSock):
        return get_tcp_option(k, sk, optname, room)
    if level in UDP_LEVELS and sk.is_udp:
        return get_udp_option(k, sk, optname)
    if level == SOL_SOCKET and optname == SO_PEEK_OFF and not _peeks(sk):
        return -EOPNOTSUPP
    if level == SOL_SOCKET and optname in computed:
        value = computed[optname]()
    elif level == SOL_IP and (sk.family == AF_INET or (sk.ip6 is not None and sk.type != SOCK_RAW)):
        return get_ip_option(k, sk, optname, asked)
    elif level == SOL_IPV6 and sk.ip6 is not None:
        if optname == MCAST_MSFILTER:
            return -EINVAL if room < k.arch.word + SOCKADDR_STORAGE + 8 else -EADDRNOTAVAIL
        return GETTERS6[optname](k, sk, room) if optname in GETTERS6 else get_ipv6_option(k, sk, optname)
    elif (level == SOL_IP and sk.ip6 is not None) or (level == SOL_SOCKET and optname not in PLAIN_OPTIONS):
        return -ENOPROTOOPT
    elif level != SOL_SOCKET:
        return _foreign(sk)
    else:
        value = sk.options.get((level, optname), FIRST.get((level, optname), 0))
    return (value & 0xFFFFFFFF).to_bytes(4, order)
