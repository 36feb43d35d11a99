"""Options of IPPROTO_IPV6 that are structs or belong to one kind of socket.  net/ipv6/{ipv6_sockglue,anycast,ip6_flowlabel,mcast}.c.

Extension headers can be taken away and asked for, never set (ENOPROTOOPT); no address here is anycast, no flow label is leased.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.abi import in6
from arch.abi.capability import CAP_NET_ADMIN
from arch.abi.errno import (
    EADDRINUSE,
    EADDRNOTAVAIL,
    EINVAL,
    ENODEV,
    ENOENT,
    ENOPROTOOPT,
    ENOTCONN,
    EPERM,
    ESRCH,
)
from arch.abi.inet import (
    INADDR_ANY,
    IPPROTO_RAW,
    IPPROTO_TCP,
    IPPROTO_UDP,
    IPPROTO_UDPLITE,
    MCAST_BLOCK_SOURCE,
    MCAST_EXCLUDE,
    MCAST_INCLUDE,
    MCAST_JOIN_GROUP,
    MCAST_JOIN_SOURCE_GROUP,
    MCAST_LEAVE_GROUP,
    MCAST_LEAVE_SOURCE_GROUP,
    MCAST_MSFILTER,
    MCAST_UNBLOCK_SOURCE,
    TCP_ESTABLISHED,
)
from arch.abi.socket import AF_INET, AF_INET6, SOCK_RAW
from arch.errors import KernelError
from simkernel.net.core.group_filter import family, group_filter, storages
from simkernel.net.core.memberships import Membership
from simkernel.net.core.message import Message, sockaddr_in6
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.af_inet import INET_DGRAM, INET_STREAM
from simkernel.net.ipv4.ip_sockglue import set_ipsec_policy
from simkernel.net.ipv6.addr import is_group
from simkernel.net.ipv6.ip6_fib import is_local
from simkernel.net.ipv6.ipv6_sockglue import ip6_datagram_send_ctl, join_group6, leave_all, leave_group6
from simkernel.net.ipv6.route import route_output

EXTENSIONS = (in6.IPV6_HOPOPTS, in6.IPV6_RTHDRDSTOPTS, in6.IPV6_RTHDR, in6.IPV6_DSTOPTS)
FLOWLABEL_REQ = 32  # struct in6_flowlabel_req
IPV6_FL_A_PUT, IPV6_FL_A_RENEW = 1, 2
PREFER_SRC_TMP, PREFER_SRC_PUBLIC, PREFER_SRC_COA, PREFER_SRC_CGA = 1, 2, 4, 8
PREFER_SRC_PUBTMP_DEFAULT, PREFER_SRC_HOME, PREFER_SRC_NONCGA = 0x100, 0x400, 0x800
MTUINFO = 32  # struct ip6_mtuinfo

Setter = Callable[[NetKernel, Sock, bytes], int]
Getter = Callable[[NetKernel, Sock, int], "bytes | int"]  # of so many bytes of room


def _int(k: NetKernel, data: bytes) -> int:
    """EINVAL: less than four bytes."""
    if len(data) < 4:
        raise KernelError(EINVAL)
    return int.from_bytes(data[:4], k.mem.byteorder, signed=True)


def _extension(k: NetKernel, sk: Sock, data: bytes) -> int:
    """ipv6_set_opt_hdr()."""
    if not data:
        return 0
    if len(data) < 8 or len(data) & 7 or (data[1] + 1) * 8 > len(data):
        return -EINVAL
    return -ENOPROTOOPT


def _routing_header(k: NetKernel, sk: Sock, data: bytes) -> int:
    """The kinds that programs may still send are those of mobile IPv6 and of segments."""
    kept = _extension(k, sk, data)
    return kept if kept != -ENOPROTOOPT or data[2] in (in6.IPV6_SRCRT_TYPE_2, in6.IPV6_SRCRT_TYPE_4) else -EINVAL


def _address_form(k: NetKernel, sk: Sock, data: bytes) -> int:
    """A connection over IPv4 becomes a socket of AF_INET.  EINVAL, ENOPROTOOPT, ENOTCONN, EADDRNOTAVAIL: one over IPv6."""
    if _int(k, data) != AF_INET:
        return -EINVAL
    if sk.type == SOCK_RAW or sk.protocol not in (IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDPLITE):
        return -ENOPROTOOPT
    if sk.state != TCP_ESTABLISHED:
        return -ENOTCONN
    if sk.v6only or len(sk.raddr) != len(INADDR_ANY):
        return -EADDRNOTAVAIL
    leave_all(k, sk)
    sk.become_inet(INET_STREAM if sk.protocol == IPPROTO_TCP else INET_DGRAM)
    return 0


def _get_address_form(k: NetKernel, sk: Sock, room: int) -> bytes | int:
    if sk.protocol not in (IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDPLITE):
        return -ENOPROTOOPT
    return sk.family.to_bytes(4, k.mem.byteorder) if sk.state == TCP_ESTABLISHED else -ENOTCONN


def _packet_options(k: NetKernel, sk: Sock, data: bytes) -> int:
    """IPV6_2292PKTOPTIONS: control messages, which are checked; there are no headers to keep of them."""
    message = Message(k)
    try:
        message.control = data
        ip6_datagram_send_ctl(k, sk, message)
    finally:
        message.free()
    return 0


def _router_alert(k: NetKernel, sk: Sock, data: bytes) -> int:
    """ip6_ra_control()."""
    wanted = _int(k, data)
    if sk.type != SOCK_RAW or sk.protocol != IPPROTO_RAW:
        return -ENOPROTOOPT
    held = in6.IPV6_ROUTER_ALERT in sk.np.options
    if wanted >= 0 and held:
        return -EADDRINUSE
    if wanted >= 0:
        sk.np.options[in6.IPV6_ROUTER_ALERT] = wanted
    else:
        sk.np.options.pop(in6.IPV6_ROUTER_ALERT, None)
    return 0


def _mtu(k: NetKernel, sk: Sock, data: bytes) -> int:
    """How long the fragments of what is sent may be."""
    value = _int(k, data)
    if value and value < in6.IPV6_MIN_MTU:
        return -EINVAL
    sk.np.frag_size = value
    return 0


def _join_anycast(k: NetKernel, sk: Sock, data: bytes) -> int:
    """ipv6_sock_ac_join()."""
    if len(data) < 20:
        return -EINVAL
    address, index = data[:16], int.from_bytes(data[16:20], k.mem.byteorder, signed=True)
    if not sk.capable(k, CAP_NET_ADMIN):
        return -EPERM
    if is_group(address) or is_local(sk.net, address):
        return -EINVAL
    return -ENODEV if index and index not in sk.net.devices else -EADDRNOTAVAIL


def _flow_label(k: NetKernel, sk: Sock, data: bytes) -> int:
    """ipv6_flowlabel_opt()."""
    if len(data) < FLOWLABEL_REQ:
        return -EINVAL
    return -ESRCH if data[20] in (IPV6_FL_A_PUT, IPV6_FL_A_RENEW) else -EINVAL


def _addr_preferences(k: NetKernel, sk: Sock, data: bytes) -> int:
    """__ip6_sock_set_addr_preferences(): at most one of each group; what is not named stays."""
    value, kept, added = _int(k, data), ~0, 0
    named = value & (PREFER_SRC_TMP | PREFER_SRC_PUBLIC | PREFER_SRC_PUBTMP_DEFAULT)
    if named & named - 1:
        return -EINVAL
    if named:
        kept, added = kept & ~(PREFER_SRC_TMP | PREFER_SRC_PUBLIC), named & ~PREFER_SRC_PUBTMP_DEFAULT
    named = value & (PREFER_SRC_HOME | PREFER_SRC_COA)
    if named & named - 1:
        return -EINVAL
    if named:
        kept, added = kept & ~PREFER_SRC_COA, added | named & PREFER_SRC_COA
    if value & PREFER_SRC_CGA and value & PREFER_SRC_NONCGA:
        return -EINVAL
    sk.np.options[in6.IPV6_ADDR_PREFERENCES] = sk.np.options.get(in6.IPV6_ADDR_PREFERENCES, 0) & kept | added
    return 0


def _get_addr_preferences(k: NetKernel, sk: Sock, room: int) -> bytes:
    kept = sk.np.options.get(in6.IPV6_ADDR_PREFERENCES, 0)
    value = kept & (PREFER_SRC_TMP | PREFER_SRC_PUBLIC) or PREFER_SRC_PUBTMP_DEFAULT
    value |= kept & PREFER_SRC_COA or PREFER_SRC_HOME
    return value.to_bytes(4, k.mem.byteorder)


def _get_path_mtu(k: NetKernel, sk: Sock, room: int) -> bytes | int:
    """struct ip6_mtuinfo of the connected way."""
    if room < MTUINFO:
        return -EINVAL
    if (sk.state != TCP_ESTABLISHED and not sk.rport) or len(sk.raddr) != 16:
        return -ENOTCONN
    way = route_output(k, sk.net, sk.raddr, sk.laddr, sk.route_device(sk.raddr))
    return sockaddr_in6(k, sk.raddr, 0) + way.mtu.to_bytes(4, k.mem.byteorder)


# -- groups by struct group_req -------------------------------------------------------------------------------------------


def _storage(k: NetKernel, data: bytes, count: int) -> tuple[int, list[bytes]]:
    """struct group_req, group_source_req: the interface and the addresses.  EINVAL, EADDRNOTAVAIL."""
    raws = storages(data, k.arch.word, count)
    if any(family(k, raw) != AF_INET6 for raw in raws):
        raise KernelError(EADDRNOTAVAIL)
    return int.from_bytes(data[:4], k.mem.byteorder), [raw[8:24] for raw in raws]


def _join(k: NetKernel, sk: Sock, data: bytes) -> int:
    index, (group,) = _storage(k, data, 1)
    return join_group6(k, sk, group, index)


def _leave(k: NetKernel, sk: Sock, data: bytes) -> int:
    index, (group,) = _storage(k, data, 1)
    return leave_group6(k, sk, group, index)


def _find(sk: Sock, group: bytes, index: int) -> Membership | None:
    return next((m for m in sk.memberships if m.group == group and index in (0, m.dev.ifindex)), None)


def _source(k: NetKernel, sk: Sock, name: int, data: bytes) -> int:
    """ip6_mc_source().  EINVAL, EADDRNOTAVAIL."""
    index, (group, source) = _storage(k, data, 2)
    adds = name in (MCAST_JOIN_SOURCE_GROUP, MCAST_BLOCK_SOURCE)
    include = name in (MCAST_JOIN_SOURCE_GROUP, MCAST_LEAVE_SOURCE_GROUP)
    if name == MCAST_JOIN_SOURCE_GROUP:
        refused = join_group6(k, sk, group, index, include=True)
        if refused and refused != -EADDRINUSE:
            return refused
    found = _find(sk, group, index)
    if not is_group(group) or found is None:
        return -EINVAL
    if found.include != include:
        if found.sources:
            return -EINVAL
        found.include = include
    if adds:
        if source in found.sources:
            return -EADDRNOTAVAIL
        found.sources.append(source)
        return 0
    if source not in found.sources:
        return -EADDRNOTAVAIL
    if include and len(found.sources) == 1:
        return leave_group6(k, sk, group, index)
    found.sources.remove(source)
    return 0


def _filter(k: NetKernel, sk: Sock, data: bytes) -> int:
    """ip6_mc_msfilter(), which looks at no address's family."""
    asked = group_filter(k, data, int(k.net.sysctl["ipv6.mld_max_msf"]))
    group, *sources = (raw[8:24] for raw in asked.addresses)
    if not is_group(group) or asked.mode not in (MCAST_EXCLUDE, MCAST_INCLUDE):
        return -EINVAL
    if asked.mode == MCAST_INCLUDE and not sources:
        return leave_group6(k, sk, group, asked.ifindex)
    found = _find(sk, group, asked.ifindex)
    if found is None:
        return -EINVAL
    found.include, found.sources = asked.mode == MCAST_INCLUDE, sources
    return 0


SETTERS: dict[int, Setter] = {
    in6.IPV6_ADDRFORM: _address_form,
    in6.IPV6_2292PKTOPTIONS: _packet_options,
    in6.IPV6_ROUTER_ALERT: _router_alert,
    in6.IPV6_MTU: _mtu,
    in6.IPV6_JOIN_ANYCAST: _join_anycast,
    in6.IPV6_LEAVE_ANYCAST: lambda k, sk, data: -EINVAL if len(data) < 20 else -ENOENT,
    in6.IPV6_FLOWLABEL_MGR: _flow_label,
    in6.IPV6_IPSEC_POLICY: set_ipsec_policy,
    in6.IPV6_XFRM_POLICY: set_ipsec_policy,
    in6.IPV6_ADDR_PREFERENCES: _addr_preferences,
    MCAST_JOIN_GROUP: _join,
    MCAST_LEAVE_GROUP: _leave,
    MCAST_JOIN_SOURCE_GROUP: lambda k, sk, data: _source(k, sk, MCAST_JOIN_SOURCE_GROUP, data),
    MCAST_LEAVE_SOURCE_GROUP: lambda k, sk, data: _source(k, sk, MCAST_LEAVE_SOURCE_GROUP, data),
    MCAST_BLOCK_SOURCE: lambda k, sk, data: _source(k, sk, MCAST_BLOCK_SOURCE, data),
    MCAST_UNBLOCK_SOURCE: lambda k, sk, data: _source(k, sk, MCAST_UNBLOCK_SOURCE, data),
    MCAST_MSFILTER: _filter,
    **dict.fromkeys(EXTENSIONS, _extension),
    in6.IPV6_RTHDR: _routing_header,
}
GETTERS: dict[int, Getter] = {
    in6.IPV6_ADDRFORM: _get_address_form,
    in6.IPV6_2292PKTOPTIONS: lambda k, sk, room: b"" if sk.protocol == IPPROTO_TCP else -ENOPROTOOPT,
    in6.IPV6_FLOWLABEL_MGR: lambda k, sk, room: -EINVAL,
    in6.IPV6_ADDR_PREFERENCES: _get_addr_preferences,
    in6.IPV6_PATHMTU: _get_path_mtu,
    **dict.fromkeys(EXTENSIONS, lambda k, sk, room: b""),
}
