"""Sockets of IPv4 and IPv6 as sock_diag tells of them.  net/ipv4/{inet_diag,tcp_diag,udp_diag,raw_diag}.c."""

from __future__ import annotations

from collections.abc import Iterator

from arch.abi.errno import EINVAL, ENOENT
from arch.abi.inet import (
    IPPROTO_RAW,
    IPPROTO_TCP,
    IPPROTO_UDP,
    IPPROTO_UDPLITE,
    TCP_CLOSE,
    TCP_LISTEN,
    TCP_TIME_WAIT,
)
from arch.abi.limits import U32_MAX
from arch.abi.sock_diag import (
    INET_DIAG_CGROUP_ID,
    INET_DIAG_CLASS_ID,
    INET_DIAG_CONG,
    INET_DIAG_INFO,
    INET_DIAG_MARK,
    INET_DIAG_MEMINFO,
    INET_DIAG_SHUTDOWN,
    INET_DIAG_SKMEMINFO,
    INET_DIAG_SKV6ONLY,
    INET_DIAG_SOCKOPT,
    INET_DIAG_TCLASS,
    INET_DIAG_TOS,
)
from arch.abi.socket import AF_INET, AF_INET6, SO_PRIORITY, SOL_SOCKET
from arch.errors import KernelError
from simkernel.net.core.netns import Net
from simkernel.net.core.sock import Sock, mapped
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.tcp_info import tcp_info
from simkernel.net.ipv4.tcp_sock import Pending, TcpSock
from simkernel.net.netlink.message import Request, Wire

PROTOCOLS = (IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDPLITE, IPPROTO_RAW)
TIMERS = {Pending.RETRANS: 1, Pending.PROBE0: 4}


def inode_of(sk: Sock) -> int:
    """sock_i_ino()."""
    file = sk.socket.file if sk.socket is not None else None
    return int(file.f_inode.i_ino) if file is not None else 0


def owner_of(sk: Sock) -> int:
    """sock_i_uid()."""
    file = sk.socket.file if sk.socket is not None else None
    return int(file.f_inode.i_uid) if file is not None else 0


def meminfo(wire: Wire, sk: Sock) -> bytes:
    """sk_get_meminfo(): SK_MEMINFO_."""
    queued = sk.queued if isinstance(sk, TcpSock) else 0
    return wire.pack("9I", sk.rmem, sk.rcvbuf, sk.wmem, sk.sndbuf, 0, queued, 0, 0, sk.drops)


def _padded(address: bytes) -> bytes:
    return address.ljust(16, b"\0")


def _shown(sk: Sock, address: bytes) -> bytes:
    """An address as its sock's family has it."""
    return mapped(address) if sk.family == AF_INET6 else _padded(address)


def _timer(k: NetKernel, sk: Sock) -> tuple[int, int, int]:
    """(which, how often, ms left)."""
    if not isinstance(sk, TcpSock) or sk.pending not in TIMERS:
        return 0, 0, 0
    left = max(k.timers.expires_ns(sk.timer) - k.clock.now_ns, 0) // 1_000_000
    return TIMERS[sk.pending], sk.retransmits if sk.pending == Pending.RETRANS else sk.probes, left


def _queues(sk: Sock) -> tuple[int, int]:
    """tcp_diag_get_info(), udp_diag_get_info()."""
    if sk.state == TCP_LISTEN:
        return len(sk.accept_queue), sk.backlog
    if isinstance(sk, TcpSock):
        return sum(p.len for p in sk.receive_queue), len(sk.unsent) + (sk.snd_nxt - sk.snd_una & U32_MAX)
    return sk.rmem, 0


def fill(k: NetKernel, wire: Wire, sk: Sock, ext: int) -> bytes:
    """inet_sk_diag_fill()."""
    which, often, left = _timer(k, sk)
    number = k.net.programs.cookie(sk)
    out = wire.pack("4B", sk.family, sk.state, which, often)
    out += sk.lport.to_bytes(2, "big") + sk.rport.to_bytes(2, "big") + _shown(sk, sk.laddr) + _shown(sk, sk.raddr)
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


def _of(k: NetKernel, net: Net, protocol: int, family: int, number: int) -> list[Sock]:
    """The socks of one protocol and family."""
    if protocol == IPPROTO_TCP:
        rows = [*k.net.in_order(net, k.net.tcp_listen), *k.net.connections(net)]
    elif protocol in (IPPROTO_UDP, IPPROTO_UDPLITE):
        rows = k.net.in_order(net, k.net.datagrams(protocol))
    elif protocol == IPPROTO_RAW:
        rows = [sk for sk in k.net.raw if sk.net is net and number in (IPPROTO_RAW, sk.protocol)]
    else:
        rows = []
    return [sk for sk in rows if sk.family == family]


def dump_inet(k: NetKernel, wire: Wire, request: Request) -> Iterator[bytes]:
    """inet_diag_dump().  ENOENT for a protocol that nobody tells of."""
    family, protocol, ext, number = request.body[:4]
    if protocol not in PROTOCOLS:
        raise KernelError(ENOENT)
    states, sport, dport = wire.number(request.body[4:8]), request.body[8:10], request.body[10:12]
    wanted = (int.from_bytes(sport, "big"), int.from_bytes(dport, "big"))
    for sk in _of(k, request.net, protocol, family, number):
        if states >> sk.state & 1 and wanted[0] in (0, sk.lport) and wanted[1] in (0, sk.rport):
            yield fill(k, wire, sk, ext)
    if protocol == IPPROTO_TCP and states >> TCP_TIME_WAIT & 1:
        yield from _time_wait(k, wire, request.net, family, wanted)


def _time_wait(k: NetKernel, wire: Wire, net: Net, family: int, wanted: tuple[int, int]) -> Iterator[bytes]:
    """inet_twsk_diag_fill()."""
    for key in sorted((key for key in k.net.time_wait if key[0] is net), key=lambda key: key[1:]):
        _, laddr, lport, raddr, rport = key
        if (
            (AF_INET if len(laddr) == 4 else AF_INET6) != family
            or wanted[0] not in (0, lport)
            or wanted[1] not in (0, rport)
        ):
            continue
        left = max(k.net.time_wait[key].ends_ns - k.clock.now_ns, 0) // 1_000_000
        out = wire.pack("4B", family, TCP_TIME_WAIT, 3, 0) + lport.to_bytes(2, "big") + rport.to_bytes(2, "big")
        yield out + _padded(laddr) + _padded(raddr) + wire.pack("3I", 0, 0, 0) + wire.pack("5I", left, 0, 0, 0, 0)


def one_inet(k: NetKernel, wire: Wire, request: Request) -> bytes:
    """inet_diag_find_one_icsk() and its like: the sock with these addresses.  EINVAL, ENOENT."""
    family, protocol, ext, number = request.body[:4]
    if protocol not in PROTOCOLS:
        raise KernelError(ENOENT)
    sport, dport = int.from_bytes(request.body[8:10], "big"), int.from_bytes(request.body[10:12], "big")
    size = 4 if family == AF_INET else 16
    source, destination = request.body[12 : 12 + size], request.body[28 : 28 + size]
    if not sport:
        raise KernelError(EINVAL)
    best = None
    for sk in _of(k, request.net, protocol, family, number):
        if sk.lport != sport or (sk.rport and (sk.rport != dport or sk.raddr != destination)):
            continue
        if sk.laddr in (source, sk.any_address) and (best is None or sk.rport):
            best = sk
    if best is None:
        raise KernelError(ENOENT)
    return fill(k, wire, best, ext)
