"""Headers as bytes: IPv4's, its checksum, and an ICMP echo's.  RFC 791, 792, 1071."""

from __future__ import annotations

import struct

from arch.abi.inet import IP_DF
from simkernel.net.core.skb import Skb

IP_HEADER, ICMP_HEADER = 20, 8
_IP = struct.Struct(">BBHHHBBH4s4s")


def folded(data: bytes) -> int:
    """The sum of the 16-bit words of some bytes in one's complement."""
    number = int.from_bytes(data if not len(data) & 1 else data + b"\0", "big")
    return (number % 0xFFFF or 0xFFFF) if number else 0


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071) of some bytes."""
    return ~folded(data) & 0xFFFF


def pseudo_sum(source: bytes, destination: bytes, protocol: int, length: int) -> int:
    """~csum_tcpudp_magic(): what a packet whose checksum the device finishes has in the field (CHECKSUM_PARTIAL)."""
    return folded(source + destination + protocol.to_bytes(4, "big") + length.to_bytes(4, "big"))


def ip_header(
    source: bytes, destination: bytes, protocol: int, length: int, ident: int, ttl: int = 64, tos: int = 0,
    fragment: int = IP_DF, options: bytes = b"",
) -> bytes:  # fmt: skip
    """An IPv4 header with its checksum for `length` bytes of payload."""
    size = IP_HEADER + len(options)
    first = 0x40 | size >> 2
    head = _IP.pack(first, tos, size + length, ident, fragment, ttl, protocol, 0, source, destination) + options
    return head[:10] + checksum(head).to_bytes(2, "big") + head[12:]


def addresses(packet: Skb) -> tuple[bytes, bytes]:
    """(source, destination) of a received packet, of either family."""
    at = packet.network_header()
    first = packet.mem.read(at, 40)
    if first[0] >> 4 == 4:
        return first[12:16], first[16:20]
    return first[8:24], first[24:40]


def header_length(packet: Skb) -> int:
    """ip_hdrlen()."""
    return (packet.mem.read(packet.network_header(), 1)[0] & 15) * 4


def icmp_reply(body: bytes) -> bytes:
    """An echo request turned into its reply."""
    reply = b"\0\0\0\0" + body[4:]
    return reply[:2] + checksum(reply).to_bytes(2, "big") + reply[4:]


def with_checksum(body: bytes) -> bytes:
    """An ICMP message with its checksum."""
    empty = body[:2] + b"\0\0" + body[4:]
    return body[:2] + checksum(empty).to_bytes(2, "big") + body[4:]
