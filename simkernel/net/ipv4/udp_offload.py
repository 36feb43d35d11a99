"""Datagrams that go through the stack as one packet (UDP_SEGMENT, UDP_GRO), and where they are cut.  net/ipv4/{udp,udp_offload}.c.

Linux leaves the cutting to the device; here only the loopback's packets stay in one piece.
"""

from __future__ import annotations

from arch.abi.errno import EINVAL, EIO, EMSGSIZE
from arch.abi.inet import IPPROTO_UDP, IPPROTO_UDPLITE
from arch.abi.socket import SO_NO_CHECK, SOL_SOCKET, SOL_UDP, UDP_GRO, UDP_SEGMENT
from arch.errors import KernelError
from simkernel.kernel.face import Steps
from simkernel.net.core.message import Message
from simkernel.net.core.skb import CHECKSUM_PARTIAL, Skb
from simkernel.net.core.skbuff import new_skb
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import addresses, ip_header, pseudo_sum
from simkernel.net.ipv4.udp_coverage import UDP_HEADER

UDP_MAX_SEGMENTS, SKB_GSO_UDP_L4, CHECKSUM_AT = 128, 1 << 17, 6


def segment_size(sk: Sock, message: Message) -> int:
    """udp_cmsg_send(): what the message says, or the socket.  EINVAL."""
    size = sk.options.get((SOL_UDP, UDP_SEGMENT), 0)
    for level, kind, data in message.controls():
        if level == SOL_UDP:
            if kind != UDP_SEGMENT or len(data) != 2:
                raise KernelError(EINVAL)
            size = int.from_bytes(data, message.k.mem.byteorder)
    return size


def make_several(skb: Skb, sk: Sock, room: int, size: int) -> int:
    """udp_send_skb(): the packet stands for datagrams of this size, which fit into `room` bytes.  EMSGSIZE, EINVAL, EIO."""
    length = skb.len - UDP_HEADER
    if UDP_HEADER + min(length, size) > room:
        return -EMSGSIZE
    if length > size * UDP_MAX_SEGMENTS:
        return -EINVAL
    if sk.options.get((SOL_SOCKET, SO_NO_CHECK)):
        return -EINVAL
    if sk.protocol == IPPROTO_UDPLITE:
        return -EIO
    if length > size:
        skb.segment_size = size
        skb.set_shared("gso_size", size)
        skb.set_shared("gso_type", SKB_GSO_UDP_L4)
        skb.set_shared("gso_segs", -(-length // size))
    return 0


def is_expected(sk: Sock, packet: Skb) -> bool:
    """!udp_unexpected_gso(): one datagram, or a socket that takes many."""
    return not packet.segment_size or bool(sk.options.get((SOL_UDP, UDP_GRO)))


def tell_segments(k: NetKernel, message: Message, sk: Sock, packet: Skb) -> None:
    """udp_cmsg_recv()."""
    if packet.segment_size and sk.options.get((SOL_UDP, UDP_GRO)):
        message.put_control(SOL_UDP, UDP_GRO, packet.segment_size.to_bytes(4, k.mem.byteorder))


def _header(head: bytes, index: int, length: int) -> bytes:
    """The network header of one piece: its length, IPv4's number and sum."""
    if head[0] >> 4 == 6:
        return head[:4] + length.to_bytes(2, "big") + head[6:]
    number = int.from_bytes(head[4:6], "big") + index & 0xFFFF
    return ip_header(
        head[12:16], head[16:20], head[9], length, number, head[8], head[1], int.from_bytes(head[6:8], "big"), head[20:]
    )


def pieces(k: NetKernel, packet: Skb) -> Steps[list[Skb]]:
    """__udp_gso_segment(): a packet for each datagram, its data at the network header (`yield from`)."""
    network, transport = packet.network_header(), packet.get("head") + packet.get("transport_header")
    head = bytes(packet.mem.read(network, transport - network))
    body = bytes(packet.mem.read(transport, packet.data + packet.len - transport))
    size, found = packet.segment_size, []
    for index, start in enumerate(range(UDP_HEADER, len(body), size)):
        part = body[start : start + size]
        length = UDP_HEADER + len(part)
        piece = yield from new_skb(k, length, packet.sk)
        begun = pseudo_sum(*addresses(packet), IPPROTO_UDP, length).to_bytes(2, "big")
        piece.put_data(body[:4] + length.to_bytes(2, "big") + begun + part)
        piece.reset_transport_header()
        piece.set_checksum(CHECKSUM_PARTIAL, piece.data - piece.get("head"), CHECKSUM_AT)
        piece.push_data(_header(head, index, length))
        piece.reset_network_header()
        piece.set_protocol(packet.protocol())
        piece.set("mark", packet.get("mark"))
        piece.dst, piece.iif, piece.stamp_ns = packet.dst, packet.iif, packet.stamp_ns
        if packet.dev is not None:
            piece.set_dev(packet.dev)
        found.append(piece)
    return found
