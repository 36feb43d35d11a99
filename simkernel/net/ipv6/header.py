"""Headers as bytes: IPv6's, and the checksum of ICMPv6.  RFC 8200, 4443."""

from __future__ import annotations

import struct

from arch.abi.in6 import IPV6_DEFAULT_HOPLIMIT, NEXTHDR_DEST, NEXTHDR_FRAGMENT, NEXTHDR_HOP, NEXTHDR_ROUTING
from arch.abi.inet import IPPROTO_ICMPV6
from simkernel.net.ipv4.header import checksum

IPV6_HEADER, FRAGMENT_HEADER = 40, 8
_IPV6 = struct.Struct(">IHBB16s16s")
EXTENSIONS = (NEXTHDR_HOP, NEXTHDR_ROUTING, NEXTHDR_FRAGMENT, NEXTHDR_DEST)


def ipv6_header(
    source: bytes, destination: bytes, protocol: int, length: int, hops: int = IPV6_DEFAULT_HOPLIMIT, tclass: int = 0,
    label: int = 0,
) -> bytes:  # fmt: skip
    """The header for `length` bytes behind it."""
    first = 6 << 28 | tclass << 20 | label & 0xFFFFF
    return _IPV6.pack(first, length if length <= 0xFFFF else 0, protocol, hops, source, destination)


def icmpv6_checksum(source: bytes, destination: bytes, body: bytes) -> bytes:
    """An ICMPv6 message with its checksum."""
    pseudo = source + destination + len(body).to_bytes(4, "big") + IPPROTO_ICMPV6.to_bytes(4, "big")
    return body[:2] + checksum(pseudo + body[:2] + b"\0\0" + body[4:]).to_bytes(2, "big") + body[4:]


def transport(packet: bytes) -> tuple[int, int]:
    """ipv6_skip_exthdr() of a packet from its IPv6 header on: (protocol, where it begins); -1: it is not in there."""
    protocol, at = packet[6], IPV6_HEADER
    while protocol in EXTENSIONS:
        if at + 8 > len(packet):
            return -1, at
        if protocol == NEXTHDR_FRAGMENT and int.from_bytes(packet[at + 2 : at + 4], "big") & ~7:
            return -1, at
        size = FRAGMENT_HEADER if protocol == NEXTHDR_FRAGMENT else 8 * (packet[at + 1] + 1)
        protocol, at = packet[at], at + size
    return protocol, at
