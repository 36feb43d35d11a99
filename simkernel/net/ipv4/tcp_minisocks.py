"""Requests for connections: what a listener makes of a SYN, or of an ACK that brings a cookie back.  net/ipv4/tcp_minisocks.c, tcp_input.c."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.inet import TCP_SYN_RECV
from arch.abi.limits import U32_MAX
from arch.abi.socket import SOL_TCP, TCP_SAVE_SYN
from arch.errors import KernelError
from simkernel.net.core.message import scope_of
from simkernel.net.core.programs import BPF_SOCK_OPS_RWND_INIT
from simkernel.net.core.security import connection_asked, connection_made
from simkernel.net.core.skb import Skb
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import addresses
from simkernel.net.ipv4.tcp_cong import inherited_control
from simkernel.net.ipv4.tcp_hdr_opt import headers_of
from simkernel.net.ipv4.tcp_sock import Segment, TcpSock, key_of


def wait_for_ack(child: TcpSock) -> None:
    """It is known to others, and waits for the end of its handshake."""
    child.state = TCP_SYN_RECV
    child.view["__sk_common"].skc_state = TCP_SYN_RECV


def from_cookie(k: NetKernel, listener: TcpSock, packet: Skb, is_own: Callable[[TcpSock], bool]) -> TcpSock | None:
    """cookie_v4_check(), tcp_get_cookie_sock(): the request that an ACK tells of, as if it had been kept."""
    if len(listener.accept_queue) > listener.backlog:
        listener.net.mib["ListenOverflows"] += 1
        listener.net.mib["ListenDrops"] += 1
        return None
    child = make_request(k, listener, packet, is_own)
    if child is not None:
        child.saved_syn = None  # the SYN was not kept
        segment = Segment(packet.packet())
        child.rcv_nxt = segment.seq
        child.iss = child.snd_una = (segment.ack - 1) & U32_MAX
        child.snd_nxt = segment.ack
        wait_for_ack(child)
        k.net.tcp_established[key_of(child)] = child
    return child


def make_request(k: NetKernel, listener: TcpSock, packet: Skb, is_own: Callable[[TcpSock], bool]) -> TcpSock | None:
    """inet_reqsk_alloc(): a request by what a segment says; None: refused."""
    body = packet.packet()
    try:
        connection_asked(k, listener, packet)
        child = TcpSock(k, listener.net, listener.family, inherited_control(k, listener.congestion_name))
    except KernelError:
        return None
    child.raddr, child.laddr = addresses(packet)
    connection_made(k, listener, child, len(child.raddr) == 16)
    child.rport, child.lport = int.from_bytes(body[:2], "big"), int.from_bytes(body[2:4], "big")
    child.inherit(listener)
    child.congestion_name = child.congestion.name
    child.listener = listener
    child.filter = listener.filter.share() if listener.filter is not None else None
    k.net.programs.sock_cloned(listener, child)
    child.sync_addresses()
    if child.ip6 is not None:
        child.np.scope_id = scope_of(child.raddr, packet.iif)
        child.bound_ifindex = child.bound_ifindex or child.np.scope_id
    child.loops = is_own(child)
    segment = Segment(body)
    child.rcv_nxt = (segment.seq + 1) & U32_MAX
    child.snd_wnd = segment.window
    k.net.programs.sock_ops(child, BPF_SOCK_OPS_RWND_INIT, fullsock=False)
    if listener.options.get((SOL_TCP, TCP_SAVE_SYN)):
        child.saved_syn = headers_of(packet, listener.options[SOL_TCP, TCP_SAVE_SYN])
        child.saved_syn_length = len(headers_of(packet, 1))
    return child
