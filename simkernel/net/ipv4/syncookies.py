"""Listeners that keep nothing of who asks: what they would have to know comes back with the ACK.  net/ipv4/syncookies.c, tcp_input.c."""

from __future__ import annotations

from arch.abi.inet import TCP_HEADER_SIZE, TCP_SYN_RECV
from bpf.packet.syncookie import IPV4, IPV6, Sizes, check_cookie, make_cookie
from simkernel.net.core.skb import Skb
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import addresses
from simkernel.net.ipv4.tcp_sock import ACK, RST, SYN, TcpSock
from simkernel.net.reuseport import group_of, in_group

SYNCOOKIE_VALID_NS = 2 * 60 * 10**9
ALWAYS = 2  # net.ipv4.tcp_syncookies


def _wanted(listener: TcpSock) -> int:
    return int(listener.net.sysctl["ipv4.tcp_syncookies"])


def requests(k: NetKernel, listener: TcpSock) -> int:
    """reqsk_queue_len(): who has asked and was answered."""
    asking = (other for other in k.net.tcp_established.values() if other.state == TCP_SYN_RECV)
    return sum(other.listener is listener for other in asking)


def _together(k: NetKernel, listener: TcpSock) -> list[TcpSock]:
    """Who was full when it was: all of its SO_REUSEPORT group."""
    group = group_of(listener, k.net.tcp_listen.get((listener.net, listener.lport), ())) if in_group(listener) else ()
    return [listener, *(one for one in group if isinstance(one, TcpSock))]


def was_full(k: NetKernel, listener: TcpSock) -> None:
    """tcp_synq_overflow()."""
    for one in _together(k, listener):
        one.overflowed_ns = k.clock.now_ns


def lately_full(k: NetKernel, listener: TcpSock) -> bool:
    """!tcp_synq_no_recent_overflow()."""
    since = k.clock.now_ns - SYNCOOKIE_VALID_NS
    return any(one.overflowed_ns is not None and one.overflowed_ns >= since for one in _together(k, listener))


def flood_action(k: NetKernel, listener: TcpSock) -> bool | None:
    """tcp_syn_flood_action(): whether a SYN is answered with a cookie; None: not at all."""
    if _wanted(listener) != ALWAYS and requests(k, listener) <= listener.backlog:
        return False
    mib = listener.net.mib
    if not _wanted(listener):
        mib["TCPReqQFullDrop"] += 1
        return None
    mib["TCPReqQFullDoCookies"] += 1
    return True


def _of(packet: Skb) -> tuple[bytes, Sizes]:
    source, destination = addresses(packet)
    return source + destination, IPV4 if len(source) == 4 else IPV6


def init_sequence(k: NetKernel, listener: TcpSock, packet: Skb) -> int:
    """cookie_init_sequence()."""
    was_full(k, listener)
    listener.net.mib["SyncookiesSent"] += 1
    who, sizes = _of(packet)
    return make_cookie(who, packet.packet(), sizes, k.clock.now_ns)[1]


def comes_back(k: NetKernel, listener: TcpSock, packet: Skb) -> int:
    """cookie_v4_check(), cookie_v6_check(): an ACK at a listener is of a connection that it has allowed: its segment size, else 0."""
    body = packet.packet()
    if body[13] & (SYN | RST | ACK) != ACK or not _wanted(listener) or not lately_full(k, listener):
        return 0
    who, sizes = _of(packet)
    good = check_cookie(who, body[:TCP_HEADER_SIZE], sizes, k.clock.now_ns)
    listener.net.mib["SyncookiesRecv" if good else "SyncookiesFailed"] += 1
    return good
