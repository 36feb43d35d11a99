"""NETLINK_SOCK_DIAG: which sockets there are, as ss asks.  net/core/sock_diag.c, net/{unix,netlink,packet}/*diag.c.

Sockets of IPv4 and IPv6 are inet_diag.py's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from arch.abi.errno import EINVAL, ENOENT, EOPNOTSUPP
from arch.abi.inet import IPPROTO_DCCP, IPPROTO_TCP, TCP_ESTABLISHED, TCP_LISTEN
from arch.abi.limits import U32_MAX
from arch.abi.netlink import NETLINK_SOCK_DIAG, NLM_F_DUMP, NLM_F_MULTI
from arch.abi.sock_diag import (
    DCCPDIAG_GETSOCK,
    NDIAG_PROTO_ALL,
    NDIAG_SHOW_GROUPS,
    NDIAG_SHOW_MEMINFO,
    NETLINK_DIAG_GROUPS,
    NETLINK_DIAG_MEMINFO,
    PACKET_DIAG_INFO,
    PACKET_DIAG_MEMINFO,
    PACKET_DIAG_UID,
    PACKET_SHOW_INFO,
    PACKET_SHOW_MEMINFO,
    SOCK_DESTROY,
    SOCK_DIAG_BY_FAMILY,
    TCPDIAG_GETSOCK,
    UDIAG_SHOW_ICONS,
    UDIAG_SHOW_MEMINFO,
    UDIAG_SHOW_NAME,
    UDIAG_SHOW_PEER,
    UDIAG_SHOW_RQLEN,
    UDIAG_SHOW_UID,
    UDIAG_SHOW_VFS,
    UNIX_DIAG_ICONS,
    UNIX_DIAG_MEMINFO,
    UNIX_DIAG_NAME,
    UNIX_DIAG_PEER,
    UNIX_DIAG_RQLEN,
    UNIX_DIAG_SHUTDOWN,
    UNIX_DIAG_UID,
    UNIX_DIAG_VFS,
)
from arch.abi.socket import AF_INET, AF_INET6, AF_NETLINK, AF_PACKET, AF_UNIX
from arch.errors import KernelError
from simkernel.kernel.call_costs import SOCK_DUMP_NS
from simkernel.kernel.face import Steps
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel
from simkernel.net.netlink.inet_diag import destroy_inet, dump_inet, inode_of, meminfo, one_inet, owner_of
from simkernel.net.netlink.message import Request, Wire
from simkernel.net.netlink.sock import PROTOCOLS, SKB_OVERHEAD, NetlinkSock, Protocol, kernel_socks
from simkernel.net.unix.sock import UnixSock

Dump = Callable[[NetKernel, Wire, Request], Iterable[bytes]]


def cookie(k: NetKernel, wire: Wire, sk: Sock) -> bytes:
    """sock_diag_save_cookie()."""
    number = k.net.programs.cookie(sk)
    return wire.pack("2I", number & U32_MAX, number >> 32)


# -- unix --------------------------------------------------------------------------------------------------------------


def _unix_state(sk: UnixSock) -> int:
    return sk.state if sk.state in (TCP_LISTEN, TCP_ESTABLISHED) else 7


def dump_unix(k: NetKernel, wire: Wire, request: Request) -> Iterator[bytes]:
    """unix_diag_dump()."""
    states, number, show = (wire.number(request.body[at : at + 4]) for at in (4, 8, 12))
    for sk in list(k.net.socks.values()):
        if not isinstance(sk, UnixSock) or sk.net is not request.net or not states >> _unix_state(sk) & 1:
            continue
        if number in (0, inode_of(sk)):
            yield fill_unix(k, wire, sk, show)


def one_unix(k: NetKernel, wire: Wire, request: Request) -> bytes:
    """unix_diag_get_exact().  EINVAL, ENOENT."""
    number, show = wire.number(request.body[8:12]), wire.number(request.body[12:16])
    if not number:
        raise KernelError(EINVAL)
    for sk in list(k.net.socks.values()):
        if isinstance(sk, UnixSock) and sk.net is request.net and inode_of(sk) == number:
            return fill_unix(k, wire, sk, show)
    raise KernelError(ENOENT)


def fill_unix(k: NetKernel, wire: Wire, sk: UnixSock, show: int) -> bytes:
    """sk_diag_fill()."""
    listens = sk.state == TCP_LISTEN
    out = wire.pack("4BI", AF_UNIX, sk.type, _unix_state(sk), 0, inode_of(sk)) + cookie(k, wire, sk)
    if show & UDIAG_SHOW_NAME and sk.name:
        out += wire.attribute(UNIX_DIAG_NAME, sk.name.rstrip(b"\0") + b"\0" if sk.name[0] else sk.name)
    if show & UDIAG_SHOW_VFS and sk.inode is not None:
        device = sk.inode.i_sb.s_dev
        out += wire.attribute(UNIX_DIAG_VFS, wire.pack("2I", sk.inode.i_ino & U32_MAX, device))
    if show & UDIAG_SHOW_PEER and sk.peer is not None:
        out += wire.u32(UNIX_DIAG_PEER, inode_of(sk.peer))
    if show & UDIAG_SHOW_ICONS and listens:
        waiting = [inode_of(other.peer) if other.peer is not None else 0 for other in sk.pending]
        out += wire.attribute(UNIX_DIAG_ICONS, wire.pack(f"{len(waiting)}I", *waiting))
    if show & UDIAG_SHOW_RQLEN:
        lengths = (len(sk.pending), sk.backlog) if listens else (sk.queued, sk.wmem)
        out += wire.attribute(UNIX_DIAG_RQLEN, wire.pack("2I", *lengths))
    out += wire.attribute(UNIX_DIAG_MEMINFO, meminfo(wire, sk)) if show & UDIAG_SHOW_MEMINFO else b""
    out += wire.u8(UNIX_DIAG_SHUTDOWN, sk.shutdown)
    return out + (wire.u32(UNIX_DIAG_UID, owner_of(sk)) if show & UDIAG_SHOW_UID else b"")


# -- netlink, packet ---------------------------------------------------------------------------------------------------


def _under_way(sk: NetlinkSock, request: Request) -> int:
    """What socks are charged with while a dump is made: the kernel's with the request, the asker's with the first answer (truesize)."""
    if sk.protocol != NETLINK_SOCK_DIAG:
        return 0
    return SKB_OVERHEAD if not sk.portid else ANSWER_TRUESIZE if sk.portid == request.portid else 0


def dump_netlink(k: NetKernel, wire: Wire, request: Request) -> Iterator[bytes]:
    """netlink_diag_dump()."""
    protocol, show = request.body[1], wire.number(request.body[8:12])
    shown: list[object] = [*kernel_socks(k, request.net), *k.net.netlink]
    mine = [sk for sk in shown if isinstance(sk, NetlinkSock) and sk.net is request.net]
    for sk in sorted(mine, key=lambda sk: sk.protocol):
        if protocol not in (NDIAG_PROTO_ALL, sk.protocol):
            continue
        out = wire.pack("4B4I", AF_NETLINK, sk.type, sk.protocol, 0, sk.portid, sk.rport, 0, inode_of(sk)) + cookie(
            k, wire, sk
        )
        if show & NDIAG_SHOW_MEMINFO:
            out += wire.attribute(NETLINK_DIAG_MEMINFO, meminfo(wire, sk, _under_way(sk, request)))
        if show & NDIAG_SHOW_GROUPS and sk.groups:
            out += wire.attribute(NETLINK_DIAG_GROUPS, wire.pack("Q", sk.groups))
        yield out


def dump_packet(k: NetKernel, wire: Wire, request: Request) -> Iterator[bytes]:
    """packet_diag_dump()."""
    show = wire.number(request.body[8:12])
    for sk in k.net.packet:
        if sk.net is not request.net:
            continue
        out = wire.pack("2BHI", AF_PACKET, sk.type, sk.protocol, inode_of(sk)) + cookie(k, wire, sk)
        if show & PACKET_SHOW_INFO:
            out += wire.attribute(PACKET_DIAG_INFO, wire.pack("6I", sk.bound_ifindex, 0, 0, 0, 0, 0)[:20])
            out += wire.u32(PACKET_DIAG_UID, owner_of(sk))
        out += wire.attribute(PACKET_DIAG_MEMINFO, meminfo(wire, sk)) if show & PACKET_SHOW_MEMINFO else b""
        yield out


# -- requests ----------------------------------------------------------------------------------------------------------

LEAST = {AF_INET: 56, AF_INET6: 56, AF_UNIX: 24, AF_NETLINK: 20, AF_PACKET: 20}  # bytes of a request
DUMPS: dict[int, Dump] = {
    AF_INET: dump_inet, AF_INET6: dump_inet, AF_UNIX: dump_unix, AF_NETLINK: dump_netlink, AF_PACKET: dump_packet,
}  # fmt: skip
ONE: dict[int, Callable[[NetKernel, Wire, Request], bytes]] = {AF_INET: one_inet, AF_INET6: one_inet, AF_UNIX: one_unix}


ANSWER_TRUESIZE = 4096 + 256  # of a NLMSG_GOODSIZE packet
COMPAT = {TCPDIAG_GETSOCK: IPPROTO_TCP, DCCPDIAG_GETSOCK: IPPROTO_DCCP}
OLD_REQUEST_SIZE, OLD_STATES = 60, 52  # struct inet_diag_req, and where its idiag_states are


def _compat(wire: Wire, request: Request) -> Request:
    """inet_diag_rcv_msg_compat(): what was asked before there was SOCK_DIAG_BY_FAMILY.  EINVAL."""
    old = request.body
    if len(old) < OLD_REQUEST_SIZE:
        raise KernelError(EINVAL)
    states = wire.number(old[OLD_STATES : OLD_STATES + 4])
    body = bytes((old[0], COMPAT[request.kind], old[3], 0)) + wire.pack("I", states) + old[4:OLD_STATES]
    return replace(request, kind=SOCK_DIAG_BY_FAMILY, body=body + old[OLD_REQUEST_SIZE:])


def sock_diag_rcv_msg(k: NetKernel, wire: Wire, request: Request) -> Steps[tuple[list[bytes], bool]]:
    """One request: its answers, and whether the last of them ends it (`yield from`).  EINVAL, ENOENT, EOPNOTSUPP."""
    yield from ()
    asked = request.kind
    if request.kind in COMPAT:
        request = _compat(wire, request)
    if request.kind not in (SOCK_DIAG_BY_FAMILY, SOCK_DESTROY) or not request.body:
        raise KernelError(EINVAL)
    family = request.body[0]
    if family not in DUMPS:
        raise KernelError(ENOENT)
    if len(request.body) < LEAST[family]:
        raise KernelError(EINVAL)
    if request.kind == SOCK_DESTROY:
        if family not in (AF_INET, AF_INET6):
            raise KernelError(EOPNOTSUPP)
        yield from destroy_inet(k, wire, request)
        return [], False
    if request.flags & NLM_F_DUMP:
        k.clock.advance(SOCK_DUMP_NS)
        rows = [
            wire.message(asked, NLM_F_MULTI, request.seq, request.portid, body)
            for body in DUMPS[family](k, wire, request)
        ]
        return [*rows, wire.done(request, request.portid)], True
    if family not in ONE:
        raise KernelError(EOPNOTSUPP)
    return [wire.message(asked, 0, request.seq, request.portid, ONE[family](k, wire, request))], False


PROTOCOLS[NETLINK_SOCK_DIAG] = Protocol(4, sock_diag_rcv_msg)
