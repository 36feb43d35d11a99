"""Headers as bytes: IPv4's, its checksum, and an ICMP echo's.  RFC 791, 792, 1071."""

from __future__ import annotations

from simkernel.net.core.skb import Skb

IP_HEADER = 20


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071) of some bytes."""
    if len(data) & 1:
        data += b"\0"
    total = sum(int.from_bytes(data[i : i + 2], "big") for i in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ip_header(source: bytes, destination: bytes, protocol: int, length: int, ident: int, ttl: int = 64) -> bytes:
    """A 20-byte IPv4 header with its checksum for `length` bytes of payload."""
    head = bytes((0x45, 0)) + (IP_HEADER + length).to_bytes(2, "big") + ident.to_bytes(2, "big") + b"\x40\0"
    head += bytes((ttl, protocol))
    full = head + b"\0\0" + source + destination
    return head + checksum(full).to_bytes(2, "big") + source + destination


def addresses(packet: Skb) -> tuple[bytes, bytes]:
    """(source, destination) of a received packet."""
    header = packet.mem.read(packet.network_header() + 12, 8)
    return header[:4], header[4:]


def icmp_reply(body: bytes) -> bytes:
    """An echo request turned into its reply."""
    reply = b"\0\0\0\0" + body[4:]
    return reply[:2] + checksum(reply).to_bytes(2, "big") + reply[4:]
