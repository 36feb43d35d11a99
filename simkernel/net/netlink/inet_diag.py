"""Sockets of IPv4 and IPv6 as sock_diag tells of them.  net/ipv4/{inet_diag,tcp_diag,udp_diag,raw_diag}.c."""

from __future__ import annotations

from collections.abc import Iterator

from arch.abi.capability import CAP_NET_ADMIN
from arch.abi.errno import ECONNABORTED, EINVAL, ENOENT, EPERM, ESTALE
from arch.abi.inet import (
    IN6_ADDR_SIZE,
    IN_ADDR_SIZE,
    IPPROTO_RAW,
    IPPROTO_TCP,
    IPPROTO_UDP,
    IPPROTO_UDPLITE,
    TCP_CLOSE,
    TCP_LISTEN,
)
from arch.abi.limits import U32_MAX
from arch.abi.sock_diag import (
    INET_DIAG_CGROUP_ID,
    INET_DIAG_CLASS_ID,
    INET_DIAG_CONG,
    INET_DIAG_INFO,
    INET_DIAG_MARK,
    INET_DIAG_MEMINFO,
    INET_DIAG_NOCOOKIE,
    INET_DIAG_REQ_PROTOCOL,
    INET_DIAG_SHUTDOWN,
    INET_DIAG_SKMEMINFO,
    INET_DIAG_SKV6ONLY,
    INET_DIAG_SOCKOPT,
    INET_DIAG_TCLASS,
    INET_DIAG_TOS,
)
from arch.abi.socket import AF_INET, AF_INET6, SO_PRIORITY, SOL_SOCKET
from arch.errors import KernelError
from simkernel.kernel.face import Steps
from simkernel.kernel.user_namespace import ns_capable
from simkernel.net.core.neighbour import NS_PER_MS
from simkernel.net.core.netns import Net
from simkernel.net.core.sock import Sock, mapped
from simkernel.net.core.state import Flow
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.tcp_info import TIMEWAIT, running_timer, shown_port, tcp_info, unacknowledged, unread
from simkernel.net.ipv4.tcp_sock import TcpSock
from simkernel.net.netlink.message import Request, Wire

PROTOCOLS = (IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDPLITE, IPPROTO_RAW)
ABORTS = {IPPROTO_TCP: "tcp_abort", IPPROTO_UDP: "udp_abort", IPPROTO_UDPLITE: "udp_abort", IPPROTO_RAW: "raw_abort"}
REQUEST_SIZE, REQUEST_ID = 56, 8  # struct inet_diag_req_v2, and its inet_diag_sockid


def inode_of(sk: Sock) -> int:
    """sock_i_ino()."""
    file = sk.socket.file if sk.socket is not None else None
    return int(file.f_inode.i_ino) if file is not None else 0


def owner_of(sk: Sock) -> int:
    """sock_i_uid()."""
    file = sk.socket.file if sk.socket is not None else None
    return int(file.f_inode.i_uid) if file is not None else 0


def meminfo(wire: Wire, sk: Sock, more: int = 0) -> bytes:
    """sk_get_meminfo(): SK_MEMINFO_."""
    queued = sk.queued if isinstance(sk, TcpSock) else 0
    return wire.pack("9I", sk.rmem + more, sk.rcvbuf, sk.wmem, sk.sndbuf, 0, queued, 0, 0, sk.drops)


def _padded(address: bytes) -> bytes:
    return address.ljust(16, b"\0")


def _shown(sk: Sock, address: bytes) -> bytes:
    """An address as its sock's family has it."""
    return mapped(address) if sk.family == AF_INET6 else _padded(address)


def _timer(sk: Sock) -> tuple[int, int, int]:
    """(which, how often, ms left)."""
    which, often, left_ns = running_timer(sk) if isinstance(sk, TcpSock) else (0, 0, 0)
    return which, often, left_ns // NS_PER_MS


def _queues(sk: Sock) -> tuple[int, int]:
    """tcp_diag_get_info(), udp_diag_get_info()."""
    if sk.state == TCP_LISTEN:
        return len(sk.accept_queue), sk.backlog
    if isinstance(sk, TcpSock):
        return unread(sk), unacknowledged(sk)
    return sk.rmem, 0


def fill(k: NetKernel, wire: Wire, sk: Sock, ext: int) -> bytes:
    """inet_sk_diag_fill()."""
    which, often, left = _timer(sk)
    number = k.net.programs.cookie(sk)
    out = wire.pack("4B", sk.family, sk.state, which, often)
    out += shown_port(sk).to_bytes(2, "big") + sk.rport.to_bytes(2, "big") + _shown(sk, sk.laddr) + _shown(sk, sk.raddr)
    out += wire.pack("3I", sk.bound_ifindex, number & U32_MAX, number >> 32)
    out += wire.pack("5I", left, *_queues(sk), owner_of(sk), inode_of(sk))
    return out + _attributes(wire, sk, ext)


def _attributes(wire: Wire, sk: Sock, ext: int) -> bytes:
    """inet_diag_msg_attrs_fill() and what else is asked for."""
    out = wire.u8(INET_DIAG_SHUTDOWN, sk.shutdown)
    if ext >> INET_DIAG_TOS - 1 & 1:
        out += wire.u8(INET_DIAG_TOS, sk.tos)
    if sk.ip6 is not None:
        if ext >> INET_DIAG_TCLASS - 1 & 1:
            out += wire.u8(INET_DIAG_TCLASS, sk.ip6.tclass)
        if sk.state in (TCP_LISTEN, TCP_CLOSE):
            out += wire.u8(INET_DIAG_SKV6ONLY, int(sk.v6only))
    out += wire.u32(INET_DIAG_MARK, sk.mark)
    if ext >> INET_DIAG_CLASS_ID - 1 & 1 or ext >> INET_DIAG_TCLASS - 1 & 1:
        out += wire.u32(INET_DIAG_CLASS_ID, sk.options.get((SOL_SOCKET, SO_PRIORITY), 0))
    out += wire.attribute(INET_DIAG_CGROUP_ID, wire.pack("Q", sk.cgroup.ino if sk.cgroup is not None else 1))
    out += wire.attribute(INET_DIAG_SOCKOPT, _flags(sk))
    if ext >> INET_DIAG_MEMINFO - 1 & 1:
        out += wire.attribute(INET_DIAG_MEMINFO, wire.pack("4I", sk.rmem, 0, 0, 0))
    if ext >> INET_DIAG_SKMEMINFO - 1 & 1:
        out += wire.attribute(INET_DIAG_SKMEMINFO, meminfo(wire, sk))
    if not isinstance(sk, TcpSock):
        return out
    if ext >> INET_DIAG_INFO - 1 & 1:
        out += wire.attribute(INET_DIAG_INFO, tcp_info(sk))
    if ext >> INET_DIAG_CONG - 1 & 1:
        out += wire.text(INET_DIAG_CONG, sk.congestion_name)
    return out


def _flags(sk: Sock) -> bytes:
    """struct inet_diag_sockopt."""
    first = (
        sk.recverr, sk.protocol == IPPROTO_TCP, sk.freebind, sk.hdrincl, sk.mc_loop, sk.transparent, True, False,
    )  # fmt: skip
    return bytes((sum(bool(bit) << at for at, bit in enumerate(first)), 0))


def _of(k: NetKernel, net: Net, protocol: int, family: int, number: int | None = None) -> list[Sock]:
    """The socks of one protocol and family; of raw ones those of a `number`."""
    if protocol == IPPROTO_TCP:
        rows = [*k.net.in_order(net, k.net.tcp_listen), *k.net.connections(net)]
    elif protocol in (IPPROTO_UDP, IPPROTO_UDPLITE):
        rows = k.net.in_order(net, k.net.datagrams(protocol))
    elif protocol == IPPROTO_RAW:
        rows = [sk for sk in k.net.raw if sk.net is net and number in (None, sk.protocol)]
    else:
        rows = []
    return [sk for sk in rows if sk.family == family]


def dump_inet(k: NetKernel, wire: Wire, request: Request) -> Iterator[bytes]:
    """inet_diag_dump().  ENOENT for a protocol that nobody tells of."""
    family, _, ext = request.body[:3]
    protocol = _protocol(wire, request)
    states, sport, dport = wire.number(request.body[4:8]), request.body[8:10], request.body[10:12]
    wanted = (int.from_bytes(sport, "big"), int.from_bytes(dport, "big"))
    for sk in _of(k, request.net, protocol, family):
        if states >> sk.state & 1 and wanted[0] in (0, shown_port(sk)) and wanted[1] in (0, sk.rport):
            yield fill(k, wire, sk, ext)
    if protocol == IPPROTO_TCP:
        yield from _time_wait(k, wire, request.net, family, wanted, states)


def _time_wait(
    k: NetKernel, wire: Wire, net: Net, family: int, wanted: tuple[int, int], states: int
) -> Iterator[bytes]:
    """inet_twsk_diag_fill()."""
    for key in sorted((key for key in k.net.time_wait if key[0] is net), key=lambda key: key[1:]):
        _, laddr, lport, _raddr, rport = key
        if (
            (AF_INET if len(laddr) == IN_ADDR_SIZE else AF_INET6) != family
            or wanted[0] not in (0, lport)
            or wanted[1] not in (0, rport)
            or not states >> k.net.time_wait[key].state & 1
        ):
            continue
        yield _fill_time_wait(k, wire, key)


def _fill_time_wait(k: NetKernel, wire: Wire, key: Flow) -> bytes:
    _, laddr, lport, raddr, rport = key
    closed, family = k.net.time_wait[key], AF_INET if len(laddr) == IN_ADDR_SIZE else AF_INET6
    closed.cookie = closed.cookie or k.net.new_cookie()
    left = max(closed.ends_ns - k.clock.now_ns, 0) // NS_PER_MS
    out = wire.pack("4B", family, closed.state, TIMEWAIT, 0) + lport.to_bytes(2, "big") + rport.to_bytes(2, "big")
    out += _padded(laddr) + _padded(raddr) + wire.pack("3I", 0, closed.cookie & U32_MAX, closed.cookie >> 32)
    return out + wire.pack("5I", left, 0, 0, 0, 0)


def _protocol(wire: Wire, request: Request) -> int:
    """inet_diag_get_protocol(): a number above 255 comes as an attribute.  ENOENT for a protocol that nobody tells of."""
    given = wire.attributes(request.body[REQUEST_SIZE:]).get(INET_DIAG_REQ_PROTOCOL)
    protocol = request.body[1] if given is None else wire.number(given)
    if protocol not in PROTOCOLS:
        raise KernelError(ENOENT)
    return protocol


def _find(k: NetKernel, wire: Wire, request: Request, protocol: int) -> Sock | Flow:
    """inet_diag_find_one_icsk() and its like: the sock with these addresses, or what is left of it.  EINVAL, ENOENT, ESTALE."""
    family, number = request.body[0], request.body[3]
    sport, dport = int.from_bytes(request.body[8:10], "big"), int.from_bytes(request.body[10:12], "big")
    size = IN_ADDR_SIZE if family == AF_INET else IN6_ADDR_SIZE
    source, destination = request.body[12 : 12 + size], request.body[28 : 28 + size]
    low, high = wire.number(request.body[48:52]), wire.number(request.body[52:56])
    cookie = None if (low, high) == (INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE) else low | high << 32
    if not sport:
        raise KernelError(EINVAL)
    best = None
    for sk in _of(k, request.net, protocol, family, number):
        if shown_port(sk) != sport or (sk.rport and (sk.rport != dport or sk.raddr != destination)):
            continue
        if sk.laddr in (source, sk.any_address) and (best is None or sk.rport):
            best = sk
    flow = (request.net, source, sport, destination, dport)
    if protocol == IPPROTO_TCP and (best is None or not best.rport) and flow in k.net.time_wait:
        if cookie not in (None, k.net.time_wait[flow].cookie):
            raise KernelError(ESTALE)
        return flow
    if best is None:
        raise KernelError(ENOENT)
    if cookie not in (None, k.net.programs.cookie(best)):
        raise KernelError(ESTALE)
    return best


def one_inet(k: NetKernel, wire: Wire, request: Request) -> bytes:
    """inet_diag_dump_one_icsk().  EINVAL, ENOENT, ESTALE."""
    found = _find(k, wire, request, _protocol(wire, request))
    return fill(k, wire, found, request.body[2]) if isinstance(found, Sock) else _fill_time_wait(k, wire, found)


def destroy_inet(k: NetKernel, wire: Wire, request: Request) -> Steps[None]:
    """tcp_diag_destroy(), udp_diag_destroy(), raw_diag_destroy() (`yield from`).  EPERM and what _find() says."""
    protocol = _protocol(wire, request)
    found = _find(k, wire, request, protocol)
    if not ns_capable(k.current, request.net.namespace.owner, CAP_NET_ADMIN):
        raise KernelError(EPERM)
    if isinstance(found, Sock):
        yield k.call(ABORTS[protocol], found.addr, ECONNABORTED)
    else:
        del k.net.time_wait[found]
