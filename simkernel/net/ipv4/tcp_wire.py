"""The header of a segment with TCP's own options, written and read.  net/ipv4/tcp_{output,input}.c: tcp_options_write(), tcp_parse_options()."""

from __future__ import annotations

from typing import NamedTuple

from arch.abi.inet import TCPOPT_MSS, TCPOPT_NOP
from arch.abi.limits import U32_MAX
from bpf.packet.syncookie import tcp_options
from simkernel.net.core.neighbour import NS_PER_MS
from simkernel.net.core.netns import Net
from simkernel.net.ipv4.tcp_sock import ACK, MAX_SEGMENT, SYN, URG, RxOpt, Segment, TcpSock, before, header_of
from simkernel.net.ipv4.tcp_window import MAX_TCP_OPTION_SPACE, TCP_MAX_WSCALE, select_window

TCPOPT_WINDOW, TCPOPT_SACK_PERM, TCPOPT_SACK, TCPOPT_TIMESTAMP = 3, 4, 5, 8
SACK_BASE, SACK_BLOCK, MOST_SACKS = 4, 8, 4  # bytes, and as many as are remembered
ALIGNED_TIMESTAMP = bytes((TCPOPT_NOP, TCPOPT_NOP, TCPOPT_TIMESTAMP, 10))
TS_BITS, TS_SACK, TS_NO_SCALE = 6, 1 << 4, 0xF  # what a cookie hides in a timestamp


def timestamp_offset(ours: bytes, peers: bytes) -> int:
    """secure_tcp_ts_off(): Linux's has a key that is drawn at boot."""
    import hashlib  # reads OpenSSL: only where there is a connection

    return int.from_bytes(hashlib.blake2s(ours + peers, digest_size=4).digest(), "little")


def timestamp(sk: TcpSock) -> int:
    """tcp_time_stamp_raw(), with the connection's offset."""
    return (sk.k.clock.now_ns // NS_PER_MS + sk.tsoffset) & U32_MAX


def stamps_at(offset: int, echo: int, now_ns: int) -> bytes:
    """The options of a connection that is over."""
    value = (now_ns // NS_PER_MS + offset) & U32_MAX
    return _stamp(value, echo, bytes((TCPOPT_NOP, TCPOPT_NOP)))


def no_options(now_ns: int) -> bytes:
    """Of one without timestamps."""
    return b""


def _cookie_timestamp(sk: TcpSock) -> int:
    """cookie_init_timestamp(): the lowest bits say what the SYN asked for."""
    now = sk.k.clock.now_ns // NS_PER_MS & U32_MAX
    hidden = (sk.rx_opt.snd_wscale if sk.rx_opt.wscale_ok else TS_NO_SCALE) | TS_SACK * sk.rx_opt.sack_ok
    then = now >> TS_BITS << TS_BITS | hidden
    return (then - (1 << TS_BITS if then > now else 0) + sk.tsoffset) & U32_MAX


def _stamp(value: int, echo: int, first: bytes) -> bytes:
    return first + bytes((TCPOPT_TIMESTAMP, 10)) + value.to_bytes(4, "big") + echo.to_bytes(4, "big")


def _syn_options(sk: TcpSock, answer: bool) -> bytes:
    """tcp_syn_options(), tcp_synack_options(): what we can, or what of it the peer can, too."""
    opt, sysctl = sk.rx_opt, sk.net.sysctl
    stamps = opt.tstamp_ok if answer else int(sysctl["ipv4.tcp_timestamps"])
    sack = opt.sack_ok if answer else int(sysctl["ipv4.tcp_sack"])
    scaled = opt.wscale_ok if answer else int(sysctl["ipv4.tcp_window_scaling"])
    options = bytes((TCPOPT_MSS, 4)) + sk.advmss.to_bytes(2, "big")
    nops, permitted = bytes((TCPOPT_NOP, TCPOPT_NOP)), bytes((TCPOPT_SACK_PERM, 2))
    if stamps:
        value = _cookie_timestamp(sk) if sk.from_cookie else timestamp(sk)
        options += _stamp(value, opt.ts_recent if answer else 0, permitted if sack else nops)
    elif sack:
        options += nops + permitted
    return options + (bytes((TCPOPT_NOP, TCPOPT_WINDOW, 3, opt.rcv_wscale)) if scaled else b"")


def sack_room(sk: TcpSock) -> int:
    """Bytes that tcp_established_options() adds for holes."""
    blocks = len(sk.sacks) + (sk.dsack is not None)
    room = MAX_TCP_OPTION_SPACE - (sk.header_len - 20) - SACK_BASE
    return SACK_BASE + SACK_BLOCK * min(blocks, room // SACK_BLOCK) if blocks and sk.rx_opt.sack_ok else 0


def _sack_option(sk: TcpSock) -> bytes:
    count = (sack_room(sk) - SACK_BASE) // SACK_BLOCK
    if count <= 0:
        return b""
    blocks = ([sk.dsack] if sk.dsack is not None else []) + sk.sacks
    sk.dsack = None
    said = b"".join(edge.to_bytes(4, "big") for block in blocks[:count] for edge in block)
    return bytes((TCPOPT_NOP, TCPOPT_NOP, TCPOPT_SACK, 2 + len(said))) + said


def options_of(sk: TcpSock, flags: int) -> bytes:
    """TCP's own options of a segment."""
    if flags & SYN:
        return _syn_options(sk, bool(flags & ACK))
    if not sk.rx_opt.tstamp_ok:
        return _sack_option(sk) if sk.sacks or sk.dsack else b""
    stamps = _stamp(timestamp(sk), sk.rx_opt.ts_recent, bytes((TCPOPT_NOP, TCPOPT_NOP)))
    return stamps + _sack_option(sk) if sk.sacks or sk.dsack else stamps


def header(sk: TcpSock, flags: int, seq: int) -> bytes:
    """The header of a segment; the window of a SYN is not scaled."""
    urgent = 0
    if sk.snd_up is not None and before(seq, sk.snd_up):
        ahead = (sk.snd_up - seq) & U32_MAX
        urgent = min(ahead, 0xFFFF)
        flags |= URG
    window = min(sk.rcv_wnd, 0xFFFF) if flags & SYN else select_window(sk)
    ack = sk.rcv_nxt if flags & ACK else 0
    return header_of(sk.lport, sk.rport, seq, ack, flags, window, urgent, options_of(sk, flags))


# -- what arrives ---------------------------------------------------------------------------------------------------------


class Parsed(NamedTuple):
    """What tcp_parse_options() finds."""

    mss: int = 0
    wscale: int | None = None
    sack_ok: bool = False
    stamps: tuple[int, int] | None = None  # the peer's clock, and ours as it was echoed


def stamps_of(options: bytes) -> tuple[int, int] | None:
    """The timestamps of a segment: tcp_parse_aligned_timestamp(), or wherever they are."""
    if not options.startswith(ALIGNED_TIMESTAMP):
        return parse(options).stamps if options else None
    return int.from_bytes(options[4:8], "big"), int.from_bytes(options[8:12], "big")


def parse(options: bytes) -> Parsed:
    """The options of a header."""
    found = Parsed()
    for kind, value in tcp_options(options):
        if kind == TCPOPT_MSS and len(value) == 2:
            found = found._replace(mss=int.from_bytes(value, "big"))
        elif kind == TCPOPT_WINDOW and len(value) == 1:
            found = found._replace(wscale=min(value[0], TCP_MAX_WSCALE))
        elif kind == TCPOPT_SACK_PERM and not value:
            found = found._replace(sack_ok=True)
        elif kind == TCPOPT_TIMESTAMP and len(value) == 8:
            found = found._replace(stamps=(int.from_bytes(value[:4], "big"), int.from_bytes(value[4:], "big")))
    return found


def read_syn(net: Net, asked: TcpSock, sk: TcpSock, options: bytes, usual_mss: int) -> None:
    """What a SYN or its answer says, as far as the system's settings let us hear it; `asked` has said TCP_MAXSEG."""
    said, sysctl, opt = parse(options), net.sysctl, sk.rx_opt
    limit = asked.options.get(MAX_SEGMENT, 0)
    opt.mss_clamp = min(said.mss or usual_mss, limit or U32_MAX)
    opt.wscale_ok = said.wscale is not None and bool(int(sysctl["ipv4.tcp_window_scaling"]))
    opt.snd_wscale = said.wscale or 0 if opt.wscale_ok else 0
    opt.sack_ok = said.sack_ok and bool(int(sysctl["ipv4.tcp_sack"]))
    opt.tstamp_ok = said.stamps is not None and bool(int(sysctl["ipv4.tcp_timestamps"]))
    opt.ts_recent = said.stamps[0] if said.stamps is not None and opt.tstamp_ok else 0


def options_of_cookie(net: Net, options: bytes, offset: int, mss: int) -> RxOpt | None:
    """cookie_timestamp_decode(): what the SYN had asked for; None: that is not to be any more."""
    stamps, opt = parse(options).stamps, RxOpt(mss_clamp=mss)
    if stamps is None:
        return opt
    if not int(net.sysctl["ipv4.tcp_timestamps"]):
        return None
    hidden = (stamps[1] - offset) & U32_MAX
    opt.tstamp_ok, opt.ts_recent, opt.sack_ok = True, stamps[0], bool(hidden & TS_SACK)
    if opt.sack_ok and not int(net.sysctl["ipv4.tcp_sack"]):
        return None
    if hidden & TS_NO_SCALE == TS_NO_SCALE:
        return opt
    opt.wscale_ok, opt.snd_wscale = True, hidden & TS_NO_SCALE
    return opt if int(net.sysctl["ipv4.tcp_window_scaling"]) else None


def take_stamps(sk: TcpSock, segment: Segment) -> None:
    """tcp_replace_ts_recent(), tcp_rcv_rtt_measure_ts(): the peer's clock, and how long its answers take."""
    stamps = stamps_of(segment.options) if sk.rx_opt.tstamp_ok else None
    if stamps is None:
        return
    theirs, ours = stamps
    if not before(sk.rcv_wup, segment.seq) and not before(theirs, sk.rx_opt.ts_recent):
        sk.rx_opt.ts_recent = theirs
    if ours != sk.rcv_rtt_last_tsecr and len(segment.data) >= sk.rcv_mss > 0:
        sk.rcv_rtt_last_tsecr = ours
        passed = (timestamp(sk) - ours) & U32_MAX
        if passed < 1 << 20:
            _round_trip(sk, max(passed, 1) * 1000)


def _round_trip(sk: TcpSock, sample_us: int) -> None:
    """tcp_rcv_rtt_update() of a sample by timestamps: smoothed, an eighth of what is new."""
    sk.rcv_rtt_us = sk.rcv_rtt_us + (sample_us - (sk.rcv_rtt_us >> 3)) if sk.rcv_rtt_us else sample_us << 3


def note_beyond(sk: TcpSock, start: int, end: int) -> None:
    """tcp_sack_new_ofo_skb(): a block of what has come beyond a hole, joined with those that it touches."""
    if any(not before(start, block[0]) and not before(block[1], end) for block in sk.sacks):
        _set_dsack(sk, start, end)
    kept = []
    for block in sk.sacks:
        if before(end, block[0]) or before(block[1], start):
            kept.append(block)
            continue
        start, end = block[0] if before(block[0], start) else start, block[1] if before(end, block[1]) else end
    sk.sacks = [(start, end), *kept][:MOST_SACKS]


def forget_sacked(sk: TcpSock) -> None:
    """tcp_sack_remove(): blocks whose hole is filled."""
    sk.sacks = [block for block in sk.sacks if before(sk.rcv_nxt, block[0])]


def note_twice(sk: TcpSock, start: int, end: int) -> None:
    """tcp_send_dupack(): what came although it was there is told once."""
    if end != start and before(start, sk.rcv_nxt):
        _set_dsack(sk, start, sk.rcv_nxt if before(sk.rcv_nxt, end) else end)


def _set_dsack(sk: TcpSock, start: int, end: int) -> None:
    """tcp_dsack_set(), tcp_dsack_extend(): the first that was not told yet."""
    if sk.dsack is None and int(sk.net.sysctl["ipv4.tcp_dsack"]):
        sk.dsack = start, end
