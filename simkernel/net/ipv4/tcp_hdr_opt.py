"""Options in TCP headers that programs write and read.  net/ipv4/tcp_{output,input}.c: bpf_skops_hdr_opt_len() and its like.

A program that has asked for it is asked twice about a segment that goes out: for how much of the room that TCP's own options
leave it wants, and to fill it.
"""

from __future__ import annotations

from arch.abi.inet import (
    TCP_ESTABLISHED,
    TCP_LISTEN,
    TCP_SYN_RECV,
    TCP_SYN_SENT,
    TCPOPT_NOP,
)
from bpf.packet.syncookie import tcp_options
from simkernel.net.core.programs import HeaderCall
from simkernel.net.core.skb import Skb
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.tcp_sock import ACK, PSH, TCP_HEADER, TcpSock, is_timewait
from simkernel.net.ipv4.tcp_window import MAX_TCP_OPTION_SPACE
from simkernel.net.ipv4.tcp_wire import ALIGNED_TIMESTAMP, sack_room

BPF_SOCK_OPS_PARSE_HDR_OPT_CB, BPF_SOCK_OPS_HDR_OPT_LEN_CB, BPF_SOCK_OPS_WRITE_HDR_OPT_CB = 13, 14, 15
PARSE_ALL_FLAG, PARSE_UNKNOWN_FLAG, WRITE_FLAG = 1 << 4, 1 << 5, 1 << 6  # of bpf_sock_ops_cb_flags
BPF_WRITE_HDR_TCP_CURRENT_MSS, BPF_WRITE_HDR_TCP_SYNACK_COOKIE = 1, 2
TCPOPT_EXP, FASTOPEN_MAGIC = 254, b"\xf9\x89"
KNOWN = (2, 3, 4, 5, 8, 19, 34)  # MSS, window, SACK permitted, SACK, timestamps, MD5, fast open


def headers_of(packet: Skb, kind: int) -> bytes:
    """tcp_reqsk_record_syn(): the headers of network and transport, with kind 2 that of the device before them."""
    at = packet.network_header() if kind == 1 else packet.mac_header()
    end = packet.data + (packet.packet()[12] >> 4) * 4
    return bytes(packet.mem.read(at, end - at))


def _note_flags(packet: Skb, flags: int) -> None:
    """TCP_SKB_CB(skb)->tcp_flags."""
    packet.mem.write_uint(packet.at("cb") + packet.kernel.offset("tcp_skb_cb.tcp_flags"), 1, flags)


def _asked(sk: TcpSock) -> Sock:
    """A request is asked about on behalf of its listener, one with data in its SYN on its own."""
    return sk.listener if sk.is_request and sk.listener is not None else sk


def _ask(k: NetKernel, sk: TcpSock, operation: int, packet: Skb | None, end: int, room: int) -> int:
    """How much of the room is left."""
    why = BPF_WRITE_HDR_TCP_SYNACK_COOKIE if sk.from_cookie else 0
    if packet is None:
        why = BPF_WRITE_HDR_TCP_CURRENT_MSS
    request, syn = (sk, sk.syn) if sk.is_request or sk.syn is not None else (None, None)
    return k.net.programs.header(_asked(sk), HeaderCall(operation, packet, end, room, why, request, syn))


def _program_room(k: NetKernel, sk: TcpSock, packet: Skb | None, flags: int, room: int) -> int:
    """Bytes of options that programs want in a segment, a multiple of 4."""
    if is_timewait(sk) or not k.net.programs.wants_headers(_asked(sk), WRITE_FLAG):
        return 0
    if packet is not None:
        _note_flags(packet, flags)
    left = _ask(k, sk, BPF_SOCK_OPS_HDR_OPT_LEN_CB, packet, 0, room)
    return room - left + 3 & ~3


def special_room(k: NetKernel, sk: TcpSock) -> int:
    """tcp_current_mss(): bytes of options that segments to come have beside the usual ones."""
    holes = sack_room(sk)
    return holes + _program_room(k, sk, None, 0, MAX_TCP_OPTION_SPACE - (sk.header_len - TCP_HEADER) - holes)


def put_header(k: NetKernel, sk: TcpSock, packet: Skb, header: bytes) -> None:
    """The header goes before the data, with the options that programs want behind TCP's own."""
    size = _program_room(k, sk, packet, header[13], MAX_TCP_OPTION_SPACE + TCP_HEADER - len(header))
    if not size:
        packet.push_data(header)
        return
    words = (len(header) + size) // 4
    packet.push_data(header[:12] + bytes((words << 4,)) + header[13:] + bytes((TCPOPT_NOP,)) * size)
    _ask(k, sk, BPF_SOCK_OPS_WRITE_HDR_OPT_CB, packet, len(header), size)


def _has_unknown(options: bytes) -> bool:
    """rx_opt.saw_unknown, by tcp_parse_options()."""
    return any(
        kind not in KNOWN and not (kind == TCPOPT_EXP and value.startswith(FASTOPEN_MAGIC))
        for kind, value in tcp_options(options)
    )


def show_header(k: NetKernel, sk: TcpSock, packet: Skb) -> None:
    """bpf_skops_parse_hdr(): of what comes to a connection; the fast path of plain segments does not look."""
    programs = k.net.programs
    wants_all = programs.wants_headers(sk, PARSE_ALL_FLAG)
    if sk.state in (TCP_SYN_RECV, TCP_SYN_SENT, TCP_LISTEN) or is_timewait(sk):
        return
    if not wants_all and not programs.wants_headers(sk, PARSE_UNKNOWN_FLAG):
        return
    body = packet.packet()
    size = (body[12] >> 4) * 4
    aligned = sk.rx_opt.tstamp_ok and size == sk.header_len and body[TCP_HEADER:].startswith(ALIGNED_TIMESTAMP)
    usual = aligned if sk.rx_opt.tstamp_ok else size == TCP_HEADER
    if sk.state == TCP_ESTABLISHED and usual and not body[13] & ~(ACK | PSH):
        return
    if size > TCP_HEADER and not aligned:  # what has no others leaves what was known
        sk.rx_opt.saw_unknown = _has_unknown(body[TCP_HEADER:size])
    if wants_all or sk.rx_opt.saw_unknown:
        show(k, sk, BPF_SOCK_OPS_PARSE_HDR_OPT_CB, packet)


def show(k: NetKernel, sk: TcpSock, operation: int, packet: Skb | None) -> None:
    """A program sees the header of what came: bpf_skops_established(), too."""
    size = 0
    if packet is not None:
        body = packet.packet()
        _note_flags(packet, body[13])
        size = (body[12] >> 4) * 4
    k.net.programs.header(sk, HeaderCall(operation, packet, size))
