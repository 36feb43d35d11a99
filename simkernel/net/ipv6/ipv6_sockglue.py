"""Options, control messages and destinations of AF_INET6 sockets.  net/ipv6/{ipv6_sockglue,datagram}.c."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi import in6
from arch.abi.capability import CAP_NET_ADMIN, CAP_NET_RAW
from arch.abi.errno import (
    EADDRINUSE,
    EADDRNOTAVAIL,
    EAFNOSUPPORT,
    EDESTADDRREQ,
    EINVAL,
    ENODEV,
    ENOPROTOOPT,
    ENOTCONN,
    EPERM,
    EPROTO,
)
from arch.abi.inet import IN6ADDR_ANY, IN6ADDR_LOOPBACK, IP_MTU, IPPROTO_ICMPV6, TCP_ESTABLISHED
from arch.abi.socket import AF_INET6, AF_UNSPEC, SOCK_RAW, SOCK_STREAM, SOL_IPV6, SOL_SOCKET
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.net.core.control import receive_control, sock_cmsg_send
from simkernel.net.core.memberships import Membership
from simkernel.net.core.message import Message, parse_sockaddr_in6, sockaddr_in6
from simkernel.net.core.netns import NetDevice
from simkernel.net.core.skb import Skb
from simkernel.net.core.sock import Sock, mapped
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import addresses
from simkernel.net.ipv4.ip_sockglue import get_ip_option
from simkernel.net.ipv4.udp_offload import tell_segments
from simkernel.net.ipv6 import mcast
from simkernel.net.ipv6.addr import is_group, is_link_local, needs_device
from simkernel.net.ipv6.ip6_fib import is_local
from simkernel.net.ipv6.route import route_output


@dataclass(slots=True)
class Extra6:
    """struct ipcm6_cookie: what the control messages of a sender ask for."""

    source: bytes = b""
    ifindex: int = 0
    hop_limit: int = -1
    tclass: int = 0


def bind_to_scope(sock: Sock, address: bytes, scope_id: int) -> bool:
    """Who connects to a link-local address is bound to its device; False where it is another one, or none is named."""
    if not is_link_local(address):
        return True
    if scope_id and sock.bound_ifindex not in (0, scope_id):
        return False
    sock.bound_ifindex = sock.np.scope_id = sock.bound_ifindex or scope_id
    return bool(sock.bound_ifindex)


def destination6(k: NetKernel, sk: Sock, message: Message) -> tuple[bytes, int, int]:
    """(address, port, device) to send to: the message's, or the connected one; an address of IPv4 has 4 bytes.

    EDESTADDRREQ, EINVAL, EAFNOSUPPORT.
    """
    family = int.from_bytes(message.name[:2], k.mem.byteorder) if message.name else AF_UNSPEC
    if family == AF_UNSPEC:
        if sk.state != TCP_ESTABLISHED:
            raise KernelError(EDESTADDRREQ, "not connected and no address")
        return sk.raddr, sk.rport, sk.np.scope_id
    if family != AF_INET6:
        raise KernelError(EAFNOSUPPORT if sk.type == SOCK_RAW else EINVAL, "an address of another family")
    address, port, scope_id = parse_sockaddr_in6(k, message.name)
    if sk.is_udp and port == 0:
        raise KernelError(EINVAL, "port 0")
    if address == IN6ADDR_ANY:
        address = IN6ADDR_LOOPBACK
    scope_id = scope_id if needs_device(address) and address != IN6ADDR_LOOPBACK else 0
    if scope_id and sk.bound_ifindex not in (0, scope_id):
        raise KernelError(EINVAL, "bound to another device")
    return address, port, scope_id


def ip6_datagram_send_ctl(k: NetKernel, sk: Sock, message: Message) -> Extra6:
    """EINVAL, ENODEV."""
    extra, order = Extra6(), k.mem.byteorder
    if sk.np.pktinfo is not None:
        extra.source, extra.ifindex = sk.np.pktinfo
        extra.source = extra.source if extra.source != IN6ADDR_ANY else b""
    for level, kind, data in message.controls():
        if level == SOL_SOCKET:
            sock_cmsg_send(k, sk, kind, data)
        if level != SOL_IPV6:
            continue
        if kind in (in6.IPV6_PKTINFO, in6.IPV6_2292PKTINFO):
            if len(data) < 20:
                raise KernelError(EINVAL)
            extra.ifindex = int.from_bytes(data[16:20], order) or extra.ifindex
            if extra.ifindex and extra.ifindex not in sk.net.devices:
                raise KernelError(ENODEV)
            if data[:16] != IN6ADDR_ANY:
                if not is_local(sk.net, data[:16]) and not (sk.freebind or sk.transparent):
                    raise KernelError(EINVAL)
                extra.source = data[:16]
        elif kind in (in6.IPV6_HOPLIMIT, in6.IPV6_2292HOPLIMIT, in6.IPV6_TCLASS):
            value = int.from_bytes(data[:4], order, signed=True)
            if len(data) != 4 or not -1 <= value <= 255:
                raise KernelError(EINVAL)
            if kind == in6.IPV6_TCLASS:
                extra.tclass = max(value, 0)
            else:
                extra.hop_limit = value
        elif kind not in (in6.IPV6_DONTFRAG, in6.IPV6_FLOWINFO):
            raise KernelError(EINVAL)
    return extra


def ip6_datagram_recv_ctl(k: NetKernel, message: Message, sk: Sock, packet: Skb, plain: bool = True) -> None:
    """What a receiver wants to know of a packet; `plain`: it is one of IPv6."""
    if plain:
        receive_control(k, message, sk, packet)
        tell_segments(k, message, sk, packet)
    wanted, order = sk.np.received, k.mem.byteorder
    if not wanted:
        return
    destination = mapped(addresses(packet)[1])
    if in6.IPV6_RECVPKTINFO in wanted:
        message.put_control(SOL_IPV6, in6.IPV6_PKTINFO, destination + packet.iif.to_bytes(4, order))
    if not plain:
        return
    head = packet.mem.read(packet.network_header(), 8)
    if in6.IPV6_RECVHOPLIMIT in wanted:
        message.put_control(SOL_IPV6, in6.IPV6_HOPLIMIT, head[7].to_bytes(4, order))
    if in6.IPV6_RECVTCLASS in wanted:
        tclass = (head[0] << 4 | head[1] >> 4) & 0xFF
        message.put_control(SOL_IPV6, in6.IPV6_TCLASS, tclass.to_bytes(4, order))
    if in6.IPV6_FLOWINFO in wanted and any(head[1:4]):
        message.put_control(SOL_IPV6, in6.IPV6_FLOWINFO, bytes((0, *head[1:4])))
    if in6.IPV6_ORIGDSTADDR in wanted:
        port = int.from_bytes(packet.mem.read(packet.get("head") + packet.get("transport_header") + 2, 2), "big")
        message.put_control(SOL_IPV6, in6.IPV6_ORIGDSTADDR, sockaddr_in6(k, destination, port))


# -- options -----------------------------------------------------------------------------------------------------------

RECEIVED = (
    in6.IPV6_RECVPKTINFO, in6.IPV6_RECVHOPLIMIT, in6.IPV6_RECVTCLASS, in6.IPV6_RECVRTHDR, in6.IPV6_RECVHOPOPTS,
    in6.IPV6_RECVDSTOPTS, in6.IPV6_FLOWINFO, in6.IPV6_RECVPATHMTU, in6.IPV6_ORIGDSTADDR, in6.IPV6_RECVFRAGSIZE,
    in6.IPV6_2292PKTINFO, in6.IPV6_2292HOPLIMIT, in6.IPV6_2292RTHDR, in6.IPV6_2292HOPOPTS, in6.IPV6_2292DSTOPTS,
)  # fmt: skip
KEPT = (
    in6.IPV6_FLOWINFO_SEND, in6.IPV6_AUTOFLOWLABEL, in6.IPV6_RECVERR_RFC4884, in6.IPV6_ROUTER_ALERT_ISOLATE,
)  # fmt: skip


def _set_v6only(k: NetKernel, sk: Sock, value: int) -> int:
    if sk.lport or sk.type == SOCK_RAW:
        return -EINVAL
    sk.set_v6only(bool(value))
    return 0


def _ranged(name: str, least: int, most: int, unset: int | None = None) -> Callable[[NetKernel, Sock, int], int]:
    """A setter of a number; -1 is the first value."""

    def setter(k: NetKernel, sk: Sock, value: int) -> int:
        if not least <= value <= most:
            return -EINVAL
        setattr(sk.np, name, unset if value == -1 and unset is not None else value)
        return 0

    return setter


def _set_mc_hops(k: NetKernel, sk: Sock, value: int) -> int:
    if not -1 <= value <= 255:
        return -EINVAL
    sk.np.mcast_hops = in6.IPV6_DEFAULT_MCASTHOPS if value == -1 else value
    return 0


def _set_mc_if(k: NetKernel, sk: Sock, value: int) -> int:
    if value and value not in sk.net.devices:
        return -ENODEV
    if value and sk.bound_ifindex not in (0, value):
        return -EINVAL
    sk.np.mc_index = value
    return 0


def _set_mc_loop(k: NetKernel, sk: Sock, value: int) -> int:
    if value not in (0, 1):
        return -EINVAL
    sk.np.mc_loop = bool(value)
    return 0


def _set_recverr(k: NetKernel, sk: Sock, value: int) -> int:
    sk.np.recverr = bool(value)
    if not value:
        sk.drop_errors(k)
    return 0


def _set_checksum(k: NetKernel, sk: Sock, value: int) -> int:
    if (value > 0 and value & 1) or sk.protocol == IPPROTO_ICMPV6:
        return -EINVAL
    sk.np.checksum_at = max(value, -1)
    return 0


def _set_transparent(k: NetKernel, sk: Sock, value: int) -> int:
    if value and not (sk.capable(k, CAP_NET_RAW) or sk.capable(k, CAP_NET_ADMIN)):
        return -EPERM
    sk.transparent = bool(value)
    return 0


def _set_freebind(k: NetKernel, sk: Sock, value: int) -> int:
    sk.freebind = bool(value)
    return 0


def _set_dontfrag(k: NetKernel, sk: Sock, value: int) -> int:
    sk.np.dontfrag = bool(value)
    return 0


def _set_hdrincl(k: NetKernel, sk: Sock, value: int) -> int:
    sk.hdrincl = bool(value)
    return 0


def _set_tclass(k: NetKernel, sk: Sock, value: int) -> int:
    if not -1 <= value <= 255:
        return -EINVAL
    value = max(value, 0)
    sk.np.tclass = value & ~3 | sk.np.tclass & 3 if sk.type == SOCK_STREAM else value
    return 0


def _set_mc_all(k: NetKernel, sk: Sock, value: int) -> int:
    sk.np.mc_all = bool(value)
    return 0


NUMBERS: dict[int, Callable[[NetKernel, Sock, int], int]] = {
    in6.IPV6_V6ONLY: _set_v6only, in6.IPV6_UNICAST_HOPS: _ranged("hop_limit", -1, 255), in6.IPV6_MULTICAST_HOPS: _set_mc_hops,
    in6.IPV6_MULTICAST_IF: _set_mc_if, in6.IPV6_MULTICAST_LOOP: _set_mc_loop, in6.IPV6_MULTICAST_ALL: _set_mc_all,
    in6.IPV6_RECVERR: _set_recverr, in6.IPV6_MTU_DISCOVER: _ranged("pmtudisc", 0, 5), in6.IPV6_TCLASS: _set_tclass,
    in6.IPV6_CHECKSUM: _set_checksum, in6.IPV6_TRANSPARENT: _set_transparent, in6.IPV6_FREEBIND: _set_freebind,
    in6.IPV6_DONTFRAG: _set_dontfrag, in6.IPV6_HDRINCL: _set_hdrincl, in6.IPV6_MINHOPCOUNT: _ranged("min_hopcount", 0, 255),
}  # fmt: skip


NO_STREAM = (in6.IPV6_MULTICAST_IF, in6.IPV6_MULTICAST_HOPS)
OF_RAW = (in6.IPV6_CHECKSUM, in6.IPV6_HDRINCL)
ANY_LENGTH = (in6.IPV6_DONTFRAG, in6.IPV6_AUTOFLOWLABEL, in6.IPV6_RECVFRAGSIZE)  # less than four bytes are 0


def set_ipv6_option(k: NetKernel, sk: Sock, name: int, data: bytes) -> int:
    """do_ipv6_setsockopt().  ENOPROTOOPT, EINVAL and those of each."""
    if name in (in6.IPV6_ADD_MEMBERSHIP, in6.IPV6_DROP_MEMBERSHIP):
        return _membership(k, sk, name == in6.IPV6_ADD_MEMBERSHIP, data)
    if name == in6.IPV6_PKTINFO:
        return _set_pktinfo(k, sk, data)
    if name == in6.IPV6_UNICAST_IF:
        index = int.from_bytes(data[:4], "big")
        if len(data) != 4:
            return -EINVAL
        if index and index not in sk.net.devices:
            return -EADDRNOTAVAIL
        sk.np.uc_index = index
        return 0
    value = int.from_bytes(data[:4], k.mem.byteorder, signed=True) if len(data) >= 4 else 0
    setter = NUMBERS.get(name)
    if (setter is None and name not in (*RECEIVED, *KEPT)) or (name in NO_STREAM and sk.type == SOCK_STREAM):
        return -ENOPROTOOPT
    if name in OF_RAW and sk.type != SOCK_RAW:
        return -ENOPROTOOPT
    if len(data) < 4 and name not in ANY_LENGTH:
        return -EINVAL
    if name == in6.IPV6_RECVERR_RFC4884 and value not in (0, 1):
        return -EINVAL
    if setter is not None:
        return setter(k, sk, value)
    if name in RECEIVED:
        (sk.np.received.add if value else sk.np.received.discard)(name)
    else:
        sk.np.options[name] = int(bool(value))
    return 0


def _set_pktinfo(k: NetKernel, sk: Sock, data: bytes) -> int:
    if len(data) < 20:
        return -EINVAL
    index = int.from_bytes(data[16:20], k.mem.byteorder)
    if sk.bound_ifindex not in (0, index):
        return -EINVAL
    sk.np.pktinfo = (data[:16], index) if any(data[:20]) else None
    return 0


def _group_device(k: NetKernel, sk: Sock, group: bytes, index: int) -> NetDevice | None:
    """Of a request to join: the one named, or where packets to the group go."""
    if index:
        return sk.net.devices.get(index)
    try:
        return route_output(k, sk.net, group).dev
    except KernelError:
        return next((d for _, d in sorted(sk.net.devices.items()) if d.up and not d.loopback), None)


def _membership(k: NetKernel, sk: Sock, joins: bool, data: bytes) -> int:
    """struct ipv6_mreq.  EPROTO, EINVAL and those of the two below."""
    if len(data) < 20:
        return -EINVAL
    if sk.type == SOCK_STREAM:
        return -EPROTO
    group, index = data[:16], int.from_bytes(data[16:20], k.mem.byteorder)
    return join_group6(k, sk, group, index) if joins else leave_group6(k, sk, group, index)


def join_group6(k: NetKernel, sk: Sock, group: bytes, index: int, include: bool = False) -> int:
    """ipv6_sock_mc_join().  EINVAL, ENODEV, EADDRINUSE."""
    if not is_group(group):
        return -EINVAL
    if any(m.group == group and index in (0, m.dev.ifindex) for m in sk.memberships):
        return -EADDRINUSE
    dev = _group_device(k, sk, group, index)
    if dev is None or not dev.has_ipv6:
        return -ENODEV
    sk.memberships.insert(0, Membership(dev, group, include))
    mcast.join(k, dev, group)
    return 0


def leave_group6(k: NetKernel, sk: Sock, group: bytes, index: int) -> int:
    """ipv6_sock_mc_drop().  EINVAL, EADDRNOTAVAIL."""
    if not is_group(group):
        return -EINVAL
    for found in sk.memberships:
        if found.group == group and index in (0, found.dev.ifindex):
            _leave(k, sk, found)
            return 0
    return -EADDRNOTAVAIL


def _leave(k: NetKernel, sk: Sock, left: Membership) -> None:
    sk.memberships.remove(left)
    if left.dev.registered:
        mcast.leave(k, left.dev, left.group)


def leave_all(k: NetKernel, sk: Sock) -> None:
    """ipv6_sock_mc_close()."""
    for left in [m for m in sk.memberships if len(m.group) == 16]:
        _leave(k, sk, left)


def _hops_now(k: NetKernel, sk: Sock) -> int:
    """IPV6_UNICAST_HOPS that nobody has set: the route's."""
    if sk.np.hop_limit >= 0:
        return sk.np.hop_limit
    return sk.net.conf_all["ipv6"]["hop_limit"]


def get_ipv6_option(k: NetKernel, sk: Sock, name: int) -> bytes | int:
    """do_ipv6_getsockopt(): the value, or -errno."""
    np = sk.np
    values: dict[int, Callable[[], int]] = {
        in6.IPV6_V6ONLY: lambda: int(sk.v6only),
        in6.IPV6_UNICAST_HOPS: lambda: _hops_now(k, sk),
        in6.IPV6_MULTICAST_HOPS: lambda: np.mcast_hops,
        in6.IPV6_MULTICAST_IF: lambda: np.mc_index,
        in6.IPV6_MULTICAST_LOOP: lambda: int(np.mc_loop),
        in6.IPV6_MULTICAST_ALL: lambda: int(np.mc_all),
        in6.IPV6_RECVERR: lambda: int(np.recverr),
        in6.IPV6_MTU_DISCOVER: lambda: np.pmtudisc,
        in6.IPV6_TCLASS: lambda: np.tclass,
        in6.IPV6_TRANSPARENT: lambda: int(sk.transparent),
        in6.IPV6_FREEBIND: lambda: int(sk.freebind),
        in6.IPV6_DONTFRAG: lambda: int(np.dontfrag),
        in6.IPV6_MINHOPCOUNT: lambda: np.min_hopcount,
    }
    if sk.type == SOCK_RAW:
        values[in6.IPV6_HDRINCL] = lambda: int(sk.hdrincl)
    order = k.mem.byteorder
    if name == in6.IPV6_UNICAST_IF:
        return np.uc_index.to_bytes(4, "big")
    if name == in6.IPV6_CHECKSUM and sk.type == SOCK_RAW:
        return (np.checksum_at & 0xFFFFFFFF).to_bytes(4, order)
    if name == in6.IPV6_MTU:
        if sk.state != TCP_ESTABLISHED and not sk.rport:
            return -ENOTCONN
        if len(sk.raddr) != len(IN6ADDR_ANY):
            return get_ip_option(k, sk, IP_MTU)
        return route_output(k, sk.net, sk.raddr, sk.laddr, sk.route_device(sk.raddr)).mtu.to_bytes(4, order)
    if name in values:
        return (values[name]() & 0xFFFFFFFF).to_bytes(4, order)
    if name in RECEIVED:
        return int(name in np.received).to_bytes(4, order)
    if name in KEPT:
        return np.options.get(name, int(name == in6.IPV6_AUTOFLOWLABEL)).to_bytes(4, order)
    return -ENOPROTOOPT


def scope_to_keep(address: bytes, scope_id: int) -> int:
    """Only link-local addresses keep their device."""
    return scope_id if is_link_local(address) or (is_group(address) and needs_device(address)) else 0
