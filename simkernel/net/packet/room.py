"""Has a packet socket room for one more frame?  net/packet/af_packet.c."""

from __future__ import annotations

from simkernel.net.core.skb import Skb
from simkernel.net.packet.ring import ROOM_LOW, ROOM_NONE, ROOM_NORMAL, ROOM_POW_OFF
from simkernel.net.packet.sock import PacketSock


def has_room(po: PacketSock, packet: Skb | None) -> int:
    """__packet_rcv_has_room(): ROOM_*."""
    if po.rx is not None:
        return po.rx.room()
    free = po.rcvbuf - po.rmem - (packet.truesize if packet is not None else 0)
    if free > po.rcvbuf >> ROOM_POW_OFF:
        return ROOM_NORMAL
    return ROOM_LOW if free > 0 else ROOM_NONE


def rcv_has_room(po: PacketSock, packet: Skb) -> int:
    """packet_rcv_has_room(): and remember whether there is little."""
    room = has_room(po, packet)
    po.pressure = room != ROOM_NORMAL
    return room


def try_clear_pressure(po: PacketSock) -> None:
    """packet_rcv_try_clear_pressure(): somebody has read."""
    if po.pressure and has_room(po, None) == ROOM_NORMAL:
        po.pressure = False
