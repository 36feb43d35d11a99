"""Requests for connections: what a listener makes of a SYN, or of an ACK that brings a cookie back.  net/ipv4/tcp_minisocks.c, tcp_input.c."""

from __future__ import annotations

from arch.abi.inet import IN6_ADDR_SIZE, TCP_SYN_RECV
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
from simkernel.net.ipv4.tcp_sock import TCP_MSS_DEFAULT, RxOpt, Segment, TcpSock, key_of
from simkernel.net.ipv4.tcp_window import begin_request, way_of
from simkernel.net.ipv4.tcp_wire import options_of_cookie, read_syn, timestamp_offset

TCP_MSS_DEFAULT_V6 = 1220  # of a SYN that says none


def wait_for_ack(child: TcpSock) -> None:
    """It is known to others, and waits for the end of its handshake."""
    child.state = TCP_SYN_RECV
    child.view["__sk_common"].skc_state = TCP_SYN_RECV


def from_cookie(k: NetKernel, listener: TcpSock, packet: Skb, mss: int) -> TcpSock | None:
    """cookie_v4_check(), tcp_get_cookie_sock(): the request that an ACK tells of, as if it had been kept."""
    if len(listener.accept_queue) > listener.backlog:
        listener.net.mib["ListenOverflows"] += 1
        listener.net.mib["ListenDrops"] += 1
        return None
    source, destination = addresses(packet)
    options = Segment(packet.packet()).options
    known = options_of_cookie(listener.net, options, timestamp_offset(destination, source), mss)
    child = make_request(k, listener, packet, known) if known is not None else None
    if child is not None:
        child.saved_syn = None  # the SYN was not kept
        segment = Segment(packet.packet())
        child.rcv_nxt = child.rcv_wup = segment.seq
        child.iss = child.snd_una = child.snd_sml = (segment.ack - 1) & U32_MAX
        child.snd_nxt = segment.ack
        wait_for_ack(child)
        k.net.tcp_established[key_of(child)] = child
    return child


def make_request(k: NetKernel, listener: TcpSock, packet: Skb, known: RxOpt | None = None) -> TcpSock | None:
    """inet_reqsk_alloc(): a request by what a segment says, or by what is `known` of its options; None: refused."""
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
    segment = Segment(body)
    child.rcv_nxt = (segment.seq + 1) & U32_MAX
    child.snd_wnd = segment.window
    width = len(child.raddr)
    if known is not None:
        child.rx_opt = known
    else:
        usual = TCP_MSS_DEFAULT_V6 if width == IN6_ADDR_SIZE else TCP_MSS_DEFAULT
        read_syn(child.net, listener, child, segment.options, usual)
    child.tsoffset = timestamp_offset(child.laddr, child.raddr)
    first = k.net.programs.sock_ops(child, BPF_SOCK_OPS_RWND_INIT, fullsock=False)
    begin_request(child, listener, way_of(k, child), first)
    if listener.options.get((SOL_TCP, TCP_SAVE_SYN)):
        child.saved_syn = headers_of(packet, listener.options[SOL_TCP, TCP_SAVE_SYN])
        child.saved_syn_length = len(headers_of(packet, 1))
    return child
