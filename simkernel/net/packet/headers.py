"""What stands in front of a frame in shared memory, by version.  include/uapi/linux/if_packet.h.  Offsets and sizes in bytes."""

from __future__ import annotations

from typing import Literal

from arch.abi.packet import TP_STATUS_VLAN_TPID_VALID, TP_STATUS_VLAN_VALID, TPACKET_ALIGNMENT
from arch.abi.socket import SOCKADDR_LL_SIZE
from arch.records import dataclass
from simkernel.net.core.skb import Skb


@dataclass(frozen=True, slots=True)
class Stamped:
    """What a header says of a frame; `mac` and `net`: where its link and network headers begin."""

    length: int
    kept: int
    mac: int
    net: int
    seconds: int
    ns: int


@dataclass(frozen=True, slots=True)
class Header:
    """struct tpacket_hdr, tpacket2_hdr or tpacket3_hdr."""

    size: int
    status_at: int
    status_size: int
    length_at: int
    mac_at: int
    net_at: int

    @property
    def room(self) -> int:
        """The header with its padding: where the struct sockaddr_ll begins."""
        return -(-self.size // TPACKET_ALIGNMENT) * TPACKET_ALIGNMENT

    @property
    def tp_hdrlen(self) -> int:
        """TPACKET_HDRLEN: with the address."""
        return self.room + SOCKADDR_LL_SIZE


def header(version: int, word: int) -> Header:
    """The header of a version; the first has a long in front."""
    if version == 0:
        size = -(-(word + 20) // word) * word
        return Header(size, 0, word, word, word + 8, word + 10)
    if version == 1:
        return Header(32, 0, 4, 4, 12, 14)
    return Header(48, 20, 4, 16, 24, 26)


def fields(version: int, word: int, said: Stamped, byteorder: Literal["little", "big"]) -> list[tuple[int, bytes]]:
    """(offset, bytes) of all that a receiver's header has but the status and what a ring of blocks has written before."""

    def u32(*values: int) -> bytes:
        return b"".join(value.to_bytes(4, byteorder) for value in values)

    places = said.mac.to_bytes(2, byteorder) + said.net.to_bytes(2, byteorder)
    if version == 0:
        return [(word, u32(said.length, said.kept) + places + u32(said.seconds, said.ns // 1000))]
    if version == 1:
        return [(4, u32(said.length, said.kept) + places + u32(said.seconds, said.ns)), (28, bytes(4))]
    return [(4, u32(said.seconds, said.ns, said.kept, said.length)), (24, places), (40, bytes(8))]


def vlan_of(packet: Skb) -> tuple[int, int, int]:
    """The tag that a device has taken off: number, protocol, and the bits of the status."""
    if not packet.tagged():
        return 0, 0, 0
    return packet.get("vlan_tci"), packet.get("vlan_proto"), TP_STATUS_VLAN_VALID | TP_STATUS_VLAN_TPID_VALID
