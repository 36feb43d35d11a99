"""What UDP-Lite does otherwise than UDP: a sum over the first bytes of a packet, however many its length says.  include/net/udplite.h."""

from __future__ import annotations

from arch.abi.inet import IPPROTO_UDPLITE
from arch.abi.socket import SOL_UDP, UDPLITE_RECV_CSCOV, UDPLITE_SEND_CSCOV
from simkernel.net.core.sock import Sock
from simkernel.net.ipv4.header import checksum

UDP_HEADER = 8  # bytes, which the sum is over at least
NO_SUM = 0xFFFF  # CSUM_MANGLED_0: 0 would say that there is none


def covered(value: int) -> int:
    """What an option of coverage keeps of a number: 0 is all, less than the header is the header."""
    return 0 if value == 0 else min(max(value, UDP_HEADER), 0xFFFF)


def _sum(source: bytes, destination: bytes, body: bytes, length: int) -> int:
    pseudo = source + destination + len(body).to_bytes(4, "big") + IPPROTO_UDPLITE.to_bytes(4, "big")
    return checksum(pseudo + body[:length])


def summed(sk: Sock, source: bytes, destination: bytes, body: bytes) -> bytes:
    """udplite_csum(): no device makes it."""
    asked, length = sk.options.get((SOL_UDP, UDPLITE_SEND_CSCOV)), len(body)
    if asked is not None and asked < length:
        body = body[:4] + asked.to_bytes(2, "big") + body[6:]
        length = asked or length
    return body[:6] + (_sum(source, destination, body, length) or NO_SUM).to_bytes(2, "big") + body[8:]


def coverage(body: bytes) -> int:
    """UDP_SKB_CB(skb)->cscov: how many bytes the sum of a packet is over."""
    return int.from_bytes(body[4:6], "big") or len(body)


def sum_holds(body: bytes, source: bytes, destination: bytes) -> bool:
    """udplite_checksum_init(), udp_lib_checksum_complete(): there must be a sum, over the header at least."""
    length = coverage(body)
    return body[6:8] != b"\0\0" and UDP_HEADER <= length <= len(body) and not _sum(source, destination, body, length)


def enough_covered(sk: Sock, body: bytes) -> bool:
    """udp_queue_rcv_one_skb(): a receiver may ask for a sum over so much, or all (0), of what has one over a part."""
    asked, length = sk.options.get((SOL_UDP, UDPLITE_RECV_CSCOV)), coverage(body)
    return asked is None or length >= len(body) or 0 < asked <= length
