"""SYN cookies that programs make and check, for a listener and without one.  net/core/filter.c, net/ipv4/syncookies.c of Linux 6.1.

A cookie holds the number of a segment size, hidden by a hash of the addresses, the ports and the first sequence number.
The hash is ours: Linux's has a key that is drawn at boot.
"""

from __future__ import annotations

import hashlib

from arch.abi.errno import EACCES, EINVAL, ENOENT, EPROTONOSUPPORT
from arch.abi.inet import IPPROTO_TCP, TCP_HEADER_SIZE, TCP_LISTEN, TCPOPT_EOL, TCPOPT_MSS, TCPOPT_NOP
from arch.abi.limits import U32_MAX
from arch.abi.socket import AF_INET6
from bpf.face import SynQueue
from bpf.helpers import Runtime, prototype
from bpf.packet.skbuff import Sock

COOKIEBITS = 24
COOKIEMASK = (1 << COOKIEBITS) - 1
MAX_SYNCOOKIE_AGE = 2
COOKIES_ALWAYS = 2  # net.ipv4.tcp_syncookies
MINUTE_NS = 60 * 1_000_000_000
# Segment sizes that a cookie can say, and what is taken where the SYN has none.
IPV4 = ((536, 1300, 1440, 1460), 536)
IPV6 = ((1220, 1420, 1440, 8940), 1220)
Sizes = tuple[tuple[int, ...], int]


def _hash(addresses: bytes, ports: bytes, count: int, which: int) -> int:
    raw = addresses + ports + count.to_bytes(8, "little") + bytes([which])
    return int.from_bytes(hashlib.blake2s(raw, digest_size=4).digest(), "little")


def _minutes(rt: Runtime) -> int:
    """tcp_cookie_time()."""
    return rt.host.now_ns() // MINUTE_NS


def _mss_option(options: bytes) -> int:
    """tcp_parse_mss_option(): 0 without."""
    at = 0
    while at < len(options) and options[at] != TCPOPT_EOL:
        if options[at] == TCPOPT_NOP:
            at += 1
            continue
        length = options[at + 1] if at + 1 < len(options) else 0
        if length < 2 or at + length > len(options):
            return 0
        if options[at] == TCPOPT_MSS and length == 4:
            return int.from_bytes(options[at + 2 : at + 4], "big")
        at += length
    return 0


def _make(rt: Runtime, addresses: bytes, th: int, length: int, sizes: Sizes) -> int:
    """secure_tcp_syn_cookie(): the cookie, and above it the segment size.  EINVAL."""
    header = bytes(rt.mem.read(th, min(length & U32_MAX, 60)))
    if len(header) < TCP_HEADER_SIZE or length & U32_MAX != (header[12] >> 4) * 4:
        return -EINVAL
    table, usual = sizes
    wanted = _mss_option(header[TCP_HEADER_SIZE:]) or usual
    index = next((i for i in range(len(table) - 1, 0, -1) if wanted >= table[i]), 0)
    sequence, count = int.from_bytes(header[4:8], "big"), _minutes(rt)
    hidden = _hash(addresses, header[:4], count, 1) + index & COOKIEMASK
    cookie = _hash(addresses, header[:4], 0, 0) + sequence + (count << COOKIEBITS) + hidden & U32_MAX
    return table[index] << 32 | cookie


def _check(rt: Runtime, addresses: bytes, th: int, sizes: Sizes) -> int:
    """check_tcp_syn_cookie() of what an ACK says.  EACCES."""
    header = bytes(rt.mem.read(th, TCP_HEADER_SIZE))
    sequence, cookie = int.from_bytes(header[4:8], "big") - 1, int.from_bytes(header[8:12], "big") - 1
    left = cookie - _hash(addresses, header[:4], 0, 0) - sequence & U32_MAX
    count = _minutes(rt)
    age = count - (left >> COOKIEBITS) & U32_MAX >> COOKIEBITS
    if age >= MAX_SYNCOOKIE_AGE:
        return -EACCES
    index = left - _hash(addresses, header[:4], count - age, 1) & COOKIEMASK
    return 0 if index < len(sizes[0]) else -EACCES


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
