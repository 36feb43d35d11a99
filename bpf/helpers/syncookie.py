"""SYN cookies that programs make and check, for a listener and without one.  net/core/filter.c, net/ipv4/syncookies.c of Linux 6.1."""

from __future__ import annotations

from arch.abi.errno import EACCES, EINVAL, ENOENT, EPROTONOSUPPORT
from arch.abi.inet import IPPROTO_TCP, TCP_HEADER_SIZE, TCP_LISTEN
from arch.abi.limits import U32_MAX
from arch.abi.socket import AF_INET6
from bpf.helpers import Runtime, prototype
from bpf.packet.skbuff import Sock
from bpf.packet.syncookie import IPV4, IPV6, Sizes, check_cookie, make_cookie
from bpf.socket_face import SynQueue

COOKIES_ALWAYS = 2  # net.ipv4.tcp_syncookies


def _make(rt: Runtime, addresses: bytes, th: int, length: int, sizes: Sizes) -> int:
    """The cookie, and above it the segment size.  EINVAL."""
    header = bytes(rt.mem.read(th, min(length & U32_MAX, 60)))
    if len(header) < TCP_HEADER_SIZE or length & U32_MAX != (header[12] >> 4) * 4:
        return -EINVAL
    size, cookie = make_cookie(addresses, header, sizes, rt.host.now_ns())
    return size << 32 | cookie


def _check(rt: Runtime, addresses: bytes, th: int, sizes: Sizes) -> int:
    """EACCES."""
    header = bytes(rt.mem.read(th, TCP_HEADER_SIZE))
    return 0 if check_cookie(addresses, header, sizes, rt.host.now_ns()) else -EACCES


TCPHDR_FIN, TCPHDR_SYN, TCPHDR_RST, TCPHDR_ACK = 1, 2, 4, 16
IP_HEADER_SIZES = {4: 20, 6: 40}  # bytes of a header
ADDRESS_PLACES = {4: (12, 8), 6: (8, 32)}  # where they are in it, and how long


def _is_listener(rt: Runtime, sk: int) -> bool:
    kern = Sock(rt.host, sk)
    return (
        bool(sk)
        and kern.read(sk, "sock_common.skc_state") == TCP_LISTEN
        and kern.read(sk, "sock.sk_protocol") == IPPROTO_TCP
    )


def _queue(rt: Runtime, sk: int, overflows: bool) -> SynQueue:
    return rt.host.sockets.syn_queue(sk, overflows) if rt.host.sockets is not None else (0, False, False, False)


def _version(rt: Runtime, sk: int, iph: int, size: int, v6only: bool) -> int:
    """Of the IP header: 4, 6 or -errno where the listener takes no such packets."""
    if size < IP_HEADER_SIZES[4]:
        return -EINVAL
    version = rt.mem.read_uint(iph, 1) >> 4
    over6 = Sock(rt.host, sk).read(sk, "sock_common.skc_family") == AF_INET6
    if version == 4:
        return -EINVAL if over6 and v6only else 4
    if version == 6:
        return 6 if size >= IP_HEADER_SIZES[6] and over6 else -EINVAL
    return -EPROTONOSUPPORT


def _addresses(rt: Runtime, iph: int, version: int) -> bytes:
    at, size = ADDRESS_PLACES[version]
    return bytes(rt.mem.read(iph + at, size))


@prototype(
    "tcp_check_syncookie",
    100,
    "5.2",
    args="PTR_TO_BTF_ID_SOCK_COMMON PTR_TO_MEM|MEM_RDONLY CONST_SIZE PTR_TO_MEM|MEM_RDONLY CONST_SIZE",
    flags="gpl_only pkt_access",
    given="tc_cls_act xdp",
)
def bpf_tcp_check_syncookie(rt: Runtime, sk: int, iph: int, iph_len: int, th: int, th_len: int) -> int:
    """Does an ACK bring a cookie of a listener back that had to give some lately?  EINVAL, ENOENT, EPROTONOSUPPORT."""
    if not sk or th_len & U32_MAX < TCP_HEADER_SIZE or not _is_listener(rt, sk):
        return -EINVAL
    wanted, _, overflowed, v6only = _queue(rt, sk, False)
    if not wanted:
        return -EINVAL
    if rt.mem.read_uint(th + 13, 1) & (TCPHDR_ACK | TCPHDR_RST | TCPHDR_SYN) != TCPHDR_ACK:
        return -ENOENT
    if iph_len & U32_MAX < IP_HEADER_SIZES[4]:
        return -EINVAL
    if not overflowed:
        return -ENOENT
    version = _version(rt, sk, iph, iph_len & U32_MAX, v6only)
    if version < 0:
        return version
    return -ENOENT if _check(rt, _addresses(rt, iph, version), th, IPV4 if version == 4 else IPV6) else 0


@prototype(
    "tcp_gen_syncookie",
    110,
    "5.4",
    args="PTR_TO_BTF_ID_SOCK_COMMON PTR_TO_MEM|MEM_RDONLY CONST_SIZE PTR_TO_MEM|MEM_RDONLY CONST_SIZE",
    flags="gpl_only pkt_access",
    given="tc_cls_act xdp",
)
def bpf_tcp_gen_syncookie(rt: Runtime, sk: int, iph: int, iph_len: int, th: int, th_len: int) -> int:
    """A cookie of a listener that is full, or gives always some.  EINVAL, ENOENT, EPROTONOSUPPORT."""
    size = th_len & U32_MAX
    if not sk or size < TCP_HEADER_SIZE or size != (rt.mem.read_uint(th + 12, 1) >> 4) * 4:
        return -EINVAL
    if not _is_listener(rt, sk):
        return -EINVAL
    wanted, full, _, v6only = _queue(rt, sk, False)
    if not wanted:
        return -ENOENT
    if rt.mem.read_uint(th + 13, 1) & (TCPHDR_SYN | TCPHDR_ACK | TCPHDR_FIN | TCPHDR_RST) != TCPHDR_SYN:
        return -EINVAL
    version = _version(rt, sk, iph, iph_len & U32_MAX, v6only)
    if version < 0:
        return version
    if wanted != COOKIES_ALWAYS and not full:
        return -ENOENT
    _queue(rt, sk, True)
    return _make(rt, _addresses(rt, iph, version), th, size, IPV4 if version == 4 else IPV6)


@prototype(
    "tcp_raw_gen_syncookie_ipv4",
    204,
    "6.0",
    args="PTR_TO_FIXED_SIZE_MEM:20 PTR_TO_MEM CONST_SIZE",
    flags="gpl_only pkt_access",
    given="tc_cls_act xdp",
)
def bpf_tcp_raw_gen_syncookie_ipv4(rt: Runtime, iph: int, th: int, length: int) -> int:
    """A cookie for a SYN of IPv4."""
    return _make(rt, bytes(rt.mem.read(iph + 12, 8)), th, length, IPV4)


@prototype(
    "tcp_raw_gen_syncookie_ipv6",
    205,
    "6.0",
    args="PTR_TO_FIXED_SIZE_MEM:40 PTR_TO_MEM CONST_SIZE",
    flags="gpl_only pkt_access",
    given="tc_cls_act xdp",
)
def bpf_tcp_raw_gen_syncookie_ipv6(rt: Runtime, iph: int, th: int, length: int) -> int:
    """A cookie for a SYN of IPv6."""
    return _make(rt, bytes(rt.mem.read(iph + 8, 32)), th, length, IPV6)


@prototype(
    "tcp_raw_check_syncookie_ipv4",
    206,
    "6.0",
    args="PTR_TO_FIXED_SIZE_MEM:20 PTR_TO_FIXED_SIZE_MEM:20",
    flags="gpl_only pkt_access",
    given="tc_cls_act xdp",
)
def bpf_tcp_raw_check_syncookie_ipv4(rt: Runtime, iph: int, th: int) -> int:
    """Does an ACK of IPv4 bring a cookie back?"""
    return _check(rt, bytes(rt.mem.read(iph + 12, 8)), th, IPV4)


@prototype(
    "tcp_raw_check_syncookie_ipv6",
    207,
    "6.0",
    args="PTR_TO_FIXED_SIZE_MEM:40 PTR_TO_FIXED_SIZE_MEM:20",
    flags="gpl_only pkt_access",
    given="tc_cls_act xdp",
)
def bpf_tcp_raw_check_syncookie_ipv6(rt: Runtime, iph: int, th: int) -> int:
    """Does an ACK of IPv6 bring a cookie back?"""
    return _check(rt, bytes(rt.mem.read(iph + 8, 32)), th, IPV6)
