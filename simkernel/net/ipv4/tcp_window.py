"""How much a segment holds and how much the peer may send: segment sizes and windows.  net/ipv4/tcp_{output,input,minisocks}.c."""

from __future__ import annotations

from arch.abi.inet import IN6_ADDR_SIZE
from arch.abi.limits import U32_MAX
from arch.abi.rtnetlink import RTAX_ADVMSS, RTAX_INITRWND, RTAX_WINDOW
from arch.errors import KernelError
from simkernel.net.core.netns import Net
from simkernel.net.core.skb import Dst
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.tcp_sock import (
    MAX_SEGMENT,
    NS_PER_US,
    TCP_HEADER,
    TCP_INIT_CWND,
    TCP_MSS_DEFAULT,
    TCPOLEN_TSTAMP_ALIGNED,
    TcpSock,
    is_timewait,
)

U16_MAX = 0xFFFF
TCP_MAX_WSCALE = 14
TCP_MIN_MSS = 88
LEAST_ADVMSS = {4: 256, IN6_ADDR_SIZE: 1220}  # net.ipv4.route.min_adv_mss, net.ipv6.route.min_adv_mss
MOST_ADVMSS = {4: U16_MAX - 40, IN6_ADDR_SIZE: U16_MAX - 20}
HEADERS = {4: 40, IN6_ADDR_SIZE: 60}  # bytes: of network and transport
MAX_TCP_OPTION_SPACE = 40
LEAST_MTU = 1280  # where no route says more
GROWS_FROM = 128  # bytes of a segment that lets the window grow
MAX_TCP_HEADER = 320  # include/net/tcp.h, with Debian's configuration
EMPTY_TRUESIZE = 576  # SKB_TRUESIZE(0) of 6.1 on x86-64


def win_from_space(net: Net, space: int) -> int:
    """tcp_win_from_space(): as much of a buffer as is for data."""
    scale = int(net.sysctl["ipv4.tcp_adv_win_scale"])
    return space >> -scale if scale <= 0 else space - (space >> scale)


def _most_buffer(net: Net) -> int:
    """tcp_rmem[2]."""
    return int(str(net.sysctl["ipv4.tcp_rmem"]).split()[2])


def full_space(sk: TcpSock) -> int:
    """tcp_full_space()."""
    return win_from_space(sk.net, sk.rcvbuf)


def _space(sk: TcpSock) -> int:
    """tcp_space()."""
    return win_from_space(sk.net, sk.rcvbuf - sk.rmem - sk.fin_truesize)


def _metric(way: Dst | None, which: int) -> int:
    return way.route.metrics.get(which, 0) if way is not None and way.route is not None else 0


# -- the size of a segment ------------------------------------------------------------------------------------------------


def way_of(k: NetKernel, sk: TcpSock) -> Dst | None:
    """The way to the peer, whose largest packet is remembered; None: there is none."""
    width = len(sk.raddr)
    try:
        way = k.net.ways_out[width](sk.net, sk.laddr, sk.raddr, sk.route_device(sk.raddr), sk.tos, sk.mark)
    except KernelError:
        sk.path_mtu = sk.path_mtu or LEAST_MTU
        return None
    sk.path_mtu = way.mtu if width == IN6_ADDR_SIZE else way.mtu_capped
    return way


def mss_clamp(sk: TcpSock, mss: int) -> int:
    """tcp_mss_clamp(): no more than TCP_MAXSEG."""
    wanted = sk.options.get(MAX_SEGMENT, 0)
    return wanted if wanted and wanted < mss else mss


def _advertised(sk: TcpSock, way: Dst | None) -> int:
    """dst_metric_advmss(): what a packet holds that arrives the way that ours leave."""
    width = len(sk.raddr)
    usual = min(max(sk.path_mtu - HEADERS[width], LEAST_ADVMSS[width]), MOST_ADVMSS[width])
    return _metric(way, RTAX_ADVMSS) or usual


def sync_mss(sk: TcpSock) -> None:
    """tcp_sync_mss(): what the way, the peer and half of its largest window let into a segment."""
    mss = min(sk.path_mtu - HEADERS[len(sk.raddr)], sk.rx_opt.mss_clamp)
    mss = max(mss, int(sk.net.sysctl["ipv4.tcp_min_snd_mss"])) - (sk.header_len - TCP_HEADER)
    half = sk.max_window >> 1 if sk.max_window > TCP_MSS_DEFAULT else sk.max_window
    sk.mss = max(half, 68 - sk.header_len) if half and mss > half else mss


def follow_path(k: NetKernel, sk: TcpSock) -> None:
    """tcp_current_mss(): the way may hold less than it did."""
    if sk.net.inet(8 * len(sk.raddr)).path_mtus:
        known = sk.path_mtu
        way_of(k, sk)
        if sk.path_mtu != known:
            sync_mss(sk)


def room_of_syn(sk: TcpSock) -> int:
    """tcp_send_syn_data(): what goes with a SYN, which may have all options."""
    return max(
        min(sk.path_mtu - HEADERS[len(sk.raddr)], mss_clamp(sk, _advertised(sk, None))) - MAX_TCP_OPTION_SPACE, 0
    )


def initialize_rcv_mss(sk: TcpSock) -> None:
    """tcp_initialize_rcv_mss()."""
    hint = min(sk.advmss, sk.mss, sk.rcv_wnd // 2, TCP_MSS_DEFAULT)
    sk.rcv_mss = max(hint, TCP_MIN_MSS)


# -- the first windows ----------------------------------------------------------------------------------------------------


def _select_initial(sk: TcpSock, space: int, mss: int, clamp: int, scaled: bool, first: int) -> None:
    """tcp_select_initial_window(): rcv_wnd, window_clamp and rcv_wscale."""
    sysctl = sk.net.sysctl
    clamp = clamp or U16_MAX << TCP_MAX_WSCALE
    space = max(min(clamp, space), 0)
    if space > mss:
        space -= space % mss
    sk.rcv_wnd = min(space, 32767 if int(sysctl["ipv4.tcp_workaround_signed_windows"]) else U16_MAX)
    if first:
        sk.rcv_wnd = min(sk.rcv_wnd, first * mss)
    scale = 0
    if scaled:
        most = max(space, _most_buffer(sk.net))
        scale = min(max(min(most, clamp).bit_length() - 16, 0), TCP_MAX_WSCALE)
    sk.rx_opt.rcv_wscale = scale
    sk.window_clamp = min(U16_MAX << scale, clamp)


def _clamp_of(sk: TcpSock, holder: TcpSock, way: Dst | None, full: int) -> int:
    """A buffer whose size somebody chose is a limit, too."""
    clamp = holder.window_clamp or _metric(way, RTAX_WINDOW)
    return full if holder.rcvbuf_locked and (clamp > full or not clamp) else clamp


def begin_connect(sk: TcpSock, way: Dst | None, first: int) -> None:
    """tcp_connect_init(): `first` is what a program says of the first window, in segments, or 0."""
    sysctl = sk.net.sysctl
    sk.header_len = TCP_HEADER + TCPOLEN_TSTAMP_ALIGNED * bool(int(sysctl["ipv4.tcp_timestamps"]))
    sk.rx_opt.mss_clamp = sk.options.get(MAX_SEGMENT) or TCP_MSS_DEFAULT
    sk.max_window = 0
    sync_mss(sk)
    sk.advmss = mss_clamp(sk, _advertised(sk, way))
    full = full_space(sk)
    _select_initial(
        sk, full, sk.advmss, _clamp_of(sk, sk, way, full), bool(int(sysctl["ipv4.tcp_window_scaling"])),
        max(first, 0) or _metric(way, RTAX_INITRWND),
    )  # fmt: skip
    sk.rcv_ssthresh, sk.rcv_wup = sk.rcv_wnd, sk.rcv_nxt


def begin_request(sk: TcpSock, listener: TcpSock, way: Dst | None, first: int) -> None:
    """tcp_openreq_init_rwin(): of a request, whose options are known."""
    full, sk.advmss = full_space(listener), mss_clamp(listener, _advertised(sk, way))
    clamp = _clamp_of(sk, listener, way, full)
    if first > 0:
        full = max(full, first * sk.advmss)
    first = max(first, 0) or _metric(way, RTAX_INITRWND)
    room = sk.advmss - TCPOLEN_TSTAMP_ALIGNED * sk.rx_opt.tstamp_ok
    _select_initial(sk, full, room, clamp, sk.rx_opt.wscale_ok, first)
    sk.rcv_ssthresh, sk.rcv_wup = sk.rcv_wnd, sk.rcv_nxt
    sk.header_len = TCP_HEADER + TCPOLEN_TSTAMP_ALIGNED * sk.rx_opt.tstamp_ok


def agreed(sk: TcpSock) -> None:
    """Both ends have said what they know: what was not answered is not used."""
    if not sk.rx_opt.wscale_ok:
        sk.rx_opt.snd_wscale = sk.rx_opt.rcv_wscale = 0
        sk.window_clamp = min(sk.window_clamp, U16_MAX)
    sk.header_len = TCP_HEADER + TCPOLEN_TSTAMP_ALIGNED * sk.rx_opt.tstamp_ok
    sk.advmss -= TCPOLEN_TSTAMP_ALIGNED * sk.rx_opt.tstamp_ok
    sync_mss(sk)
    initialize_rcv_mss(sk)


def init_buffer_space(sk: TcpSock, now_ns: int) -> None:
    """tcp_init_buffer_space(): as a connection begins."""
    most = full_space(sk)
    if sk.window_clamp >= most:
        sk.window_clamp = most
    if sk.window_clamp > 2 * sk.advmss and sk.window_clamp + sk.advmss > most:
        sk.window_clamp = max(2 * sk.advmss, most - sk.advmss)
    sk.rcv_ssthresh = min(sk.rcv_ssthresh, sk.window_clamp)
    sk.rcvq_space = min(sk.rcv_ssthresh, sk.rcv_wnd, TCP_INIT_CWND * sk.advmss)
    sk.rcvq_copied, sk.rcvq_ns = 0, now_ns


# -- windows of a connection ----------------------------------------------------------------------------------------------


def receive_window(sk: TcpSock) -> int:
    """tcp_receive_window(): what is left of the window that the peer knows of."""
    left = (sk.rcv_wup + sk.rcv_wnd - sk.rcv_nxt) & U32_MAX
    return left if left < 1 << 31 else 0


def new_window(sk: TcpSock) -> int:
    """__tcp_select_window(): what the buffer has room for, without shreds of segments."""
    mss, free, allowed = sk.rcv_mss, _space(sk), full_space(sk)
    full = min(sk.window_clamp, allowed)
    mss = min(mss, full)
    if mss <= 0:
        return 0
    scale = sk.rx_opt.rcv_wscale
    if free < full >> 1:
        free = free >> scale << scale
        if free < allowed >> 4 or free < mss:
            return 0
    free = min(free, sk.rcv_ssthresh)
    if scale:
        return -(-free >> scale) << scale
    window = sk.rcv_wnd
    if window <= free - mss or window > free:
        return free - free % mss
    return free if mss == full and free > window + (full >> 1) else window


def select_window(sk: TcpSock) -> int:
    """tcp_select_window(): what a segment says, scaled; a window that was offered is never taken back."""
    scale = sk.rx_opt.rcv_wscale
    if is_timewait(sk):
        return min(sk.rcv_wnd >> scale, U16_MAX)
    left, window = receive_window(sk), new_window(sk)
    if window < left:
        window = -(-left >> scale) << scale
    sk.rcv_wnd, sk.rcv_wup = window, sk.rcv_nxt
    return min(window, U16_MAX << scale) >> scale


def wants_update(sk: TcpSock) -> bool:
    """tcp_cleanup_rbuf(): what was read has made so much room that the peer should know."""
    left = receive_window(sk)
    if 2 * left > sk.window_clamp:
        return False
    window = new_window(sk)
    return bool(window) and window >= 2 * left


def data_received(sk: TcpSock, length: int, truesize: int) -> None:
    """tcp_event_data_recv(): the size of the peer's segments, and how much of the buffer is told of."""
    if length >= sk.rcv_mss:
        sk.rcv_mss = min(length, sk.advmss)
    if length < GROWS_FROM:
        return
    room = min(sk.window_clamp, _space(sk)) - sk.rcv_ssthresh
    if room > 0:
        more = 2 * sk.advmss if win_from_space(sk.net, truesize) <= length else _grow(sk, length, truesize)
        sk.rcv_ssthresh += min(room, max(more, 2 * length)) if more else 0


def _grow(sk: TcpSock, length: int, truesize: int) -> int:
    """__tcp_grow_window()."""
    most = _most_buffer(sk.net)
    truesize, window = win_from_space(sk.net, truesize) >> 1, win_from_space(sk.net, most) >> 1
    while sk.rcv_ssthresh <= window:
        if truesize <= length:
            return 2 * sk.rcv_mss
        truesize, window = truesize >> 1, window >> 1
    return 0


def space_adjust(sk: TcpSock, copied: int, now_ns: int) -> None:
    """tcp_rcv_space_adjust(): a reader that keeps up gets a larger buffer."""
    sk.rcvq_copied += copied
    if not sk.rcv_rtt_us or (now_ns - sk.rcvq_ns) // NS_PER_US < sk.rcv_rtt_us >> 3:
        return
    got, advmss = sk.rcvq_copied, max(sk.advmss, 1)
    if got > sk.rcvq_space:
        if int(sk.net.sysctl["ipv4.tcp_moderate_rcvbuf"]) and not sk.rcvbuf_locked:
            wanted = 2 * got + 16 * advmss
            wanted += 2 * (wanted * (got - sk.rcvq_space) // max(sk.rcvq_space, 1))
            each = advmss + MAX_TCP_HEADER + EMPTY_TRUESIZE
            while win_from_space(sk.net, each) < advmss:
                each += 128
            most = _most_buffer(sk.net)
            size = min(wanted // advmss * each, most)
            if size > sk.rcvbuf:
                sk.rcvbuf = sk.view.sk_rcvbuf = size
                sk.window_clamp = win_from_space(sk.net, size)
        sk.rcvq_space = got
    sk.rcvq_copied, sk.rcvq_ns = 0, now_ns
