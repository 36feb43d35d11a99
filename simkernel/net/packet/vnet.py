"""Headers of virtual machines in front of frames: PACKET_VNET_HDR.  include/linux/virtio_net.h, struct virtio_net_hdr.

A frame that is several segments (gso_type) cannot be sent: EINVAL.
"""

from __future__ import annotations

import struct

from arch.abi.errno import EINVAL
from arch.abi.limits import U16_MAX
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.net.core.skb import CHECKSUM_PARTIAL, CHECKSUM_UNNECESSARY, Skb
from simkernel.net.face import NetKernel

VNET_HDR = 10  # bytes
VIRTIO_NET_HDR_F_NEEDS_CSUM, VIRTIO_NET_HDR_F_DATA_VALID = 1, 2
SUM = 2  # bytes of a checksum


@dataclass(frozen=True, slots=True)
class Vnet:
    """struct virtio_net_hdr."""

    flags: int
    gso_type: int
    hdr_len: int
    gso_size: int
    csum_start: int
    csum_offset: int


def _order(k: NetKernel) -> str:
    return "<" if k.mem.byteorder == "little" else ">"


def parse(k: NetKernel, data: bytes) -> Vnet:
    """packet_snd_vnet_parse(): what stands in front of a frame.  EINVAL."""
    if len(data) < VNET_HDR:
        raise KernelError(EINVAL)
    found = Vnet(*struct.unpack(_order(k) + "2B4H", data[:VNET_HDR]))
    least = found.hdr_len
    if found.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM:
        least = max(least, found.csum_start + found.csum_offset + SUM)
    if least > len(data) - VNET_HDR:
        raise KernelError(EINVAL)
    return found


def apply(packet: Skb, found: Vnet) -> None:
    """virtio_net_hdr_to_skb(): the device is to finish a checksum.  EINVAL."""
    if found.gso_type:
        raise KernelError(EINVAL, "segments")
    packet.reset_mac_header()
    if found.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM:
        start = packet.data - packet.get("head") + found.csum_start
        if found.csum_start + found.csum_offset + SUM > packet.len or start > U16_MAX:
            raise KernelError(EINVAL)
        packet.set_checksum(CHECKSUM_PARTIAL, start, found.csum_offset)
        packet.set("transport_header", start)


def describe(k: NetKernel, packet: Skb) -> bytes:
    """virtio_net_hdr_from_skb(): what a receiver is told."""
    flags = start = offset = 0
    if packet.ip_summed() == CHECKSUM_PARTIAL:
        flags, offset = VIRTIO_NET_HDR_F_NEEDS_CSUM, packet.get("csum_offset")
        start = packet.get("csum_start") - (packet.data - packet.get("head"))
    elif packet.ip_summed() == CHECKSUM_UNNECESSARY:
        flags = VIRTIO_NET_HDR_F_DATA_VALID
    return struct.pack(_order(k) + "2B4H", flags, 0, 0, 0, start & U16_MAX, offset)
