"""What a SYN cookie is: the number of a segment size, hidden by a hash of addresses, ports and the first sequence number.  net/ipv4/syncookies.c.

The hash is ours: Linux's has a key that is drawn at boot.  Headers are bytes from the port of the source on.
"""

from __future__ import annotations

from collections.abc import Iterator

from arch.abi.inet import TCP_HEADER_SIZE, TCPOPT_EOL, TCPOPT_MSS, TCPOPT_NOP
from arch.abi.limits import U32_MAX

COOKIEBITS = 24
COOKIEMASK = (1 << COOKIEBITS) - 1
MAX_SYNCOOKIE_AGE = 2
MINUTE_NS = 60 * 1_000_000_000
# Segment sizes that a cookie can say, and what is taken where the SYN has none.
IPV4 = ((536, 1300, 1440, 1460), 536)
IPV6 = ((1220, 1420, 1440, 8940), 1220)
Sizes = tuple[tuple[int, ...], int]


def _hash(addresses: bytes, ports: bytes, count: int, which: int) -> int:
    import hashlib  # reads OpenSSL: only where there is a cookie

    raw = addresses + ports + count.to_bytes(8, "little") + bytes([which])
    return int.from_bytes(hashlib.blake2s(raw, digest_size=4).digest(), "little")


def tcp_options(options: bytes) -> Iterator[tuple[int, bytes]]:
    """Kinds and values of a header's options, until the end or until one that is none; the walk of tcp_parse_options()."""
    at = 0
    while at < len(options) and options[at] != TCPOPT_EOL:
        if options[at] == TCPOPT_NOP:
            at += 1
            continue
        length = options[at + 1] if at + 1 < len(options) else 0
        if length < 2 or at + length > len(options):
            return
        yield options[at], options[at + 2 : at + length]
        at += length


def _mss_option(options: bytes) -> int:
    """tcp_parse_mss_option(): 0 without."""
    sizes = (
        int.from_bytes(value, "big") for kind, value in tcp_options(options) if kind == TCPOPT_MSS and len(value) == 2
    )
    return next(sizes, 0)


def make_cookie(addresses: bytes, header: bytes, sizes: Sizes, now_ns: int) -> tuple[int, int]:
    """secure_tcp_syn_cookie() of a SYN, whose header has its options: the segment size, and the cookie."""
    table, usual = sizes
    wanted = _mss_option(header[TCP_HEADER_SIZE:]) or usual
    index = next((i for i in range(len(table) - 1, 0, -1) if wanted >= table[i]), 0)
    sequence, count = int.from_bytes(header[4:8], "big"), now_ns // MINUTE_NS
    hidden = _hash(addresses, header[:4], count, 1) + index & COOKIEMASK
    return table[index], _hash(addresses, header[:4], 0, 0) + sequence + (count << COOKIEBITS) + hidden & U32_MAX


def check_cookie(addresses: bytes, header: bytes, sizes: Sizes, now_ns: int) -> int:
    """check_tcp_syn_cookie() of what an ACK says: the segment size, 0: it is none."""
    sequence, cookie = int.from_bytes(header[4:8], "big") - 1, int.from_bytes(header[8:12], "big") - 1
    left = cookie - _hash(addresses, header[:4], 0, 0) - sequence & U32_MAX
    count = now_ns // MINUTE_NS
    age = count - (left >> COOKIEBITS) & U32_MAX >> COOKIEBITS
    if age >= MAX_SYNCOOKIE_AGE:
        return 0
    index = left - _hash(addresses, header[:4], count - age, 1) & COOKIEMASK
    return sizes[0][index] if index < len(sizes[0]) else 0
