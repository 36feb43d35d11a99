"""A frame for a packet socket with a ring.  net/packet/af_packet.c: tpacket_rcv()."""

from __future__ import annotations

from arch.abi.inet import PACKET_LOOPBACK, PACKET_OUTGOING
from arch.abi.limits import U16_MAX
from arch.abi.packet import (
    PACKET_COPY_THRESH,
    PACKET_ORIGDEV,
    PACKET_TIMESTAMP,
    TP_STATUS_COPY,
    TP_STATUS_CSUM_VALID,
    TP_STATUS_CSUMNOTREADY,
    TP_STATUS_KERNEL,
    TP_STATUS_LOSING,
    TP_STATUS_TS_SOFTWARE,
    TP_STATUS_USER,
    TPACKET_ALIGNMENT,
)
from arch.abi.socket import SOCK_DGRAM, SOF_TIMESTAMPING_SOFTWARE
from arch.abi.time import NSEC_PER_SEC
from arch.records import dataclass
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.message import link_address
from simkernel.net.core.security import unwanted
from simkernel.net.core.skb import CHECKSUM_PARTIAL, CHECKSUM_UNNECESSARY, Skb
from simkernel.net.face import NetKernel
from simkernel.net.packet.blocks import Blocks
from simkernel.net.packet.fanout import flow_hash
from simkernel.net.packet.headers import Stamped, fields, header, vlan_of
from simkernel.net.packet.mapping import rearm
from simkernel.net.packet.ring import ROOM_NONE, Ring
from simkernel.net.packet.room import rcv_has_room, try_clear_pressure
from simkernel.net.packet.sock import PacketSock, packet_sk
from simkernel.net.packet.vnet import VNET_HDR, describe

LEAST_LINK = 16  # bytes in front of the network header, at least


def begin(packet: Skb, sock: PacketSock) -> None:
    """Where the frame begins for the socket: at the link header, or behind it."""
    if packet.dev is None or not packet.dev.ethernet:
        return
    if sock.type != SOCK_DGRAM:
        if packet.data > packet.mac_header():
            packet.push(packet.data - packet.mac_header())
    elif packet.pkt_type() == PACKET_OUTGOING:
        packet.pull(packet.network_header() - packet.data)


def checksum_status(packet: Skb) -> int:
    """TP_STATUS_CSUMNOTREADY, TP_STATUS_CSUM_VALID."""
    if packet.ip_summed() == CHECKSUM_PARTIAL:
        return TP_STATUS_CSUMNOTREADY
    if packet.ip_summed() == CHECKSUM_UNNECESSARY and packet.pkt_type() != PACKET_OUTGOING:
        return TP_STATUS_CSUM_VALID
    return 0


@dataclass(slots=True)
class Place:
    """Where a frame goes: its link and network headers from the slot's begin, and how many bytes."""

    mac: int
    net: int
    kept: int
    vnet: bool


def _place(k: NetKernel, sock: PacketSock, packet: Skb, kept: int) -> Place:
    room = header(sock.version, k.arch.model.word).tp_hdrlen
    if sock.type == SOCK_DGRAM:
        both = _aligned(room) + LEAST_LINK + sock.reserve
        return Place(both, both, kept, False)
    link = packet.network_header() - packet.data
    network = _aligned(room + max(link, LEAST_LINK)) + sock.reserve + (VNET_HDR if sock.vnet else 0)
    return Place(network - link, network, kept, sock.vnet)


def _aligned(size: int) -> int:
    return -(-size // TPACKET_ALIGNMENT) * TPACKET_ALIGNMENT


@kernel_function(
    "int tpacket_rcv(struct sk_buff *skb, struct net_device *dev, struct packet_type *pt, struct net_device *orig_dev)",
    source="net/packet/af_packet.c",
)
def tpacket_rcv(k: NetKernel, skb: int, dev: int, pt: int, orig_dev: int) -> Body:
    """A frame for the ring of one packet sock."""
    packet, sock = k.net.skbs[skb], packet_sk(k.net.socks[pt])
    begin(packet, sock)
    kept = packet.len
    if packet.pkt_type() == PACKET_LOOPBACK or unwanted(k, sock, packet):
        kept = 0
    elif sock.filter is not None:
        kept = min(kept, sock.filter(packet))
    if not kept:
        yield k.call("consume_skb", skb)
        return 0
    place = _place(k, sock, packet, kept)
    if rcv_has_room(sock, packet) == ROOM_NONE or place.net > U16_MAX:
        sock.ring_drops += 1
        yield k.call("consume_skb", skb)
        return 0
    status = TP_STATUS_USER | checksum_status(packet)
    if isinstance(sock.rx, Blocks):
        return (yield from _into_block(k, sock, sock.rx, packet, place, status))
    assert sock.rx is not None
    return (yield from _into_frame(k, sock, sock.rx, packet, place, status))


def _into_frame(k: NetKernel, sock: PacketSock, ring: Ring, packet: Skb, place: Place, status: int) -> Body:
    """TPACKET_V1 and V2: the next frame, if it is free; what does not fit may be had whole from the socket (PACKET_COPY_THRESH)."""
    whole = False
    if place.mac + place.kept > ring.frame_size:
        whole = bool(sock.number(PACKET_COPY_THRESH)) and sock.rmem < sock.rcvbuf
        place.kept = ring.frame_size - place.mac
        if place.kept < 0:
            place.kept, place.vnet = 0, False
    slot = ring.head
    if ring.status(slot) != TP_STATUS_KERNEL:
        return (yield from _dropped(k, sock, packet))
    if sock.lost:
        status |= TP_STATUS_LOSING
    ring.advance()
    status |= _write(k, sock, packet, ring.frame(slot), place)
    if sock.version:
        tci, tpid, bits = vlan_of(packet)
        k.mem.write_uint(ring.frame(slot) + 24, 2, tci)
        k.mem.write_uint(ring.frame(slot) + 26, 2, tpid)
        status |= bits
    ring.set_status(slot, status | (TP_STATUS_COPY if whole else 0))
    if whole:
        sock.copies.add(packet.addr)
        sock.queue(packet)
    yield k.call("sock_def_readable", sock.addr)
    if not whole:
        yield k.call("consume_skb", packet.addr)
    return 0


def _into_block(k: NetKernel, sock: PacketSock, ring: Blocks, packet: Skb, place: Place, status: int) -> Body:
    """TPACKET_V3: behind the last frame of the open block."""
    if place.mac + place.kept > ring.max_frame:
        place.kept = ring.max_frame - place.mac
        if place.kept < 0:
            place.kept, place.mac, place.vnet = 0, ring.max_frame, False
    at = yield from _in_block(k, sock, ring, packet, place.mac + place.kept)
    if not at:
        return (yield from _dropped(k, sock, packet))
    status |= _write(k, sock, packet, at, place)
    k.mem.write_uint(at + 20, 4, k.mem.read_uint(at + 20, 4) | status)
    yield k.call("consume_skb", packet.addr)
    return 0


def _in_block(k: NetKernel, sock: PacketSock, ring: Blocks, packet: Skb, length: int) -> Steps[int]:
    """__packet_lookup_frame_in_block(): where the frame goes, or 0 (`yield from`)."""
    if ring.frozen:
        if ring.in_use():
            return 0
        ring.open_block()
        rearm(k, sock, ring)
    if not ring.fits(length):
        ring.close_block(0, sock.lost > 0)
        yield k.call("sock_def_readable", sock.addr)
        if not ring.dispatch():
            return 0
        rearm(k, sock, ring)
    return ring.fill(length, flow_hash(k, packet) if ring.wants_hash else 0, vlan_of(packet))


def _write(k: NetKernel, sock: PacketSock, packet: Skb, at: int, place: Place) -> int:
    """The frame and all that stands in front of it but the status; bits of that."""
    mem, version, word = k.mem, sock.version, k.arch.model.word
    sock.packets_seen += 1
    if place.vnet:
        mem.write(at + place.mac - VNET_HDR, describe(k, packet))
    mem.write(at + place.mac, packet.packet()[: place.kept])
    stamp = packet.stamp_ns if sock.number(PACKET_TIMESTAMP) & SOF_TIMESTAMPING_SOFTWARE else 0
    now = stamp or k.clock.realtime_ns
    said = Stamped(packet.len, place.kept, place.mac, place.net, now // NSEC_PER_SEC, now % NSEC_PER_SEC)
    for offset, data in fields(version, word, said, mem.byteorder):
        mem.write(at + offset, data)
    address = link_address(k, packet)
    if sock.number(PACKET_ORIGDEV) and packet.iif:
        address = address[:4] + packet.iif.to_bytes(4, mem.byteorder) + address[8:]
    mem.write(at + header(version, word).room, address)
    return TP_STATUS_TS_SOFTWARE if stamp else 0


def _dropped(k: NetKernel, sock: PacketSock, packet: Skb) -> Body:
    """drop_n_account (`yield from`)."""
    sock.ring_drops += 1
    yield k.call("sock_def_readable", sock.addr)
    yield k.call("kfree_skb_reason", packet.addr, 0) if k.version.at_least("5.17") else k.call("kfree_skb", packet.addr)
    return 0


def polled(sock: PacketSock) -> bool:
    """packet_poll(): something in the ring is for the program."""
    try_clear_pressure(sock)
    return sock.rx is not None and sock.rx.readable()
