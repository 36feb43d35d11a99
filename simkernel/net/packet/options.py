"""Options of SOL_PACKET.  net/packet/af_packet.c: packet_setsockopt(), packet_getsockopt()."""

from __future__ import annotations

from arch.abi.errno import EBUSY, EINVAL, ENODEV, ENOPROTOOPT
from arch.abi.packet import (
    PACKET_ADD_MEMBERSHIP,
    PACKET_AUXDATA,
    PACKET_COPY_THRESH,
    PACKET_DROP_MEMBERSHIP,
    PACKET_FANOUT,
    PACKET_FANOUT_DATA,
    PACKET_HDRLEN,
    PACKET_IGNORE_OUTGOING,
    PACKET_LOSS,
    PACKET_MR_ALLMULTI,
    PACKET_MR_MULTICAST,
    PACKET_MR_PROMISC,
    PACKET_MR_UNICAST,
    PACKET_MREQ,
    PACKET_MREQ_MAX,
    PACKET_ORIGDEV,
    PACKET_QDISC_BYPASS,
    PACKET_RESERVE,
    PACKET_ROLLOVER_STATS,
    PACKET_RX_RING,
    PACKET_STATISTICS,
    PACKET_TIMESTAMP,
    PACKET_TX_HAS_OFF,
    PACKET_TX_RING,
    PACKET_VERSION,
    PACKET_VNET_HDR,
)
from arch.abi.socket import SOCK_RAW, SOL_PACKET
from arch.records import dataclass
from simkernel.net.core.netns import NetDevice
from simkernel.net.core.registry import set_allmulti, set_promiscuity
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel
from simkernel.net.packet import fanout
from simkernel.net.packet.blocks import Blocks
from simkernel.net.packet.headers import header
from simkernel.net.packet.mapping import V3, set_ring
from simkernel.net.packet.sock import PacketSock, packet_sk

MAC = 6  # bytes of an address of Ethernet and of the loopback device


@dataclass(frozen=True, slots=True)
class Number:
    """An option that is a number: how wide it is to be set with, which values there are, and whether it can be asked for."""

    exact: bool = True  # of 4 bytes; else at least
    least: int = -(1 << 31)
    most: int = (1 << 31) - 1
    flag: bool = False
    told: bool = True
    before: bool = False  # only until there is a ring


NUMBERS = {
    PACKET_COPY_THRESH: Number(told=False),
    PACKET_AUXDATA: Number(exact=False, flag=True),
    PACKET_ORIGDEV: Number(exact=False, flag=True),
    PACKET_VERSION: Number(least=0, most=2, before=True),  # TPACKET_V1 to TPACKET_V3
    PACKET_RESERVE: Number(least=0, before=True),
    PACKET_LOSS: Number(flag=True, before=True),
    PACKET_TIMESTAMP: Number(),
    PACKET_TX_HAS_OFF: Number(flag=True),
    PACKET_QDISC_BYPASS: Number(flag=True),
    PACKET_IGNORE_OUTGOING: Number(least=0, most=1),
    PACKET_VNET_HDR: Number(exact=False, flag=True, before=True),
}


def set_packet_option(k: NetKernel, sk: Sock, name: int, data: bytes) -> int:
    """EINVAL, ENODEV, ENOPROTOOPT, EBUSY: there is a ring."""
    po = packet_sk(sk)
    if name in (PACKET_RX_RING, PACKET_TX_RING):
        return set_ring(k, po, data, name == PACKET_TX_RING)
    if name == PACKET_FANOUT:
        return fanout.add(k, po, data)
    if name in (PACKET_ADD_MEMBERSHIP, PACKET_DROP_MEMBERSHIP):
        return _membership(k, po, name == PACKET_ADD_MEMBERSHIP, data)
    if name == PACKET_FANOUT_DATA:
        return fanout.set_data(k, po, data)
    row = NUMBERS.get(name)
    if row is None:
        return -ENOPROTOOPT
    if name == PACKET_VNET_HDR and sk.type != SOCK_RAW:
        return -EINVAL
    if len(data) < 4 or (row.exact and len(data) != 4):
        return -EINVAL
    value = int.from_bytes(data[:4], k.mem.byteorder, signed=True)
    if not row.least <= value <= row.most:
        return -EINVAL
    if po.has_ring and row.before:
        return -EBUSY
    if po.has_ring and name == PACKET_TX_HAS_OFF:
        return 0  # kept as it was
    if name == PACKET_VNET_HDR:
        po.vnet = bool(value)
    sk.options[SOL_PACKET, name] = int(bool(value)) if row.flag else value
    return 0


def get_packet_option(k: NetKernel, sk: Sock, name: int, asked: bytes, room: int) -> bytes | int:
    """The value, or -errno; `asked`: what the buffer of `room` bytes holds."""
    po = packet_sk(sk)
    if name == PACKET_HDRLEN:
        return _header_length(k, asked, room)
    if name == PACKET_FANOUT:
        return fanout.described(po).to_bytes(4, k.mem.byteorder)
    if name == PACKET_STATISTICS:
        return _statistics(k, po)
    if name == PACKET_ROLLOVER_STATS:
        return _rollover(k, po)
    row = NUMBERS.get(name)
    if row is None or not row.told:
        return -ENOPROTOOPT
    return (sk.options.get((SOL_PACKET, name), 0) & 0xFFFFFFFF).to_bytes(4, k.mem.byteorder)


def _header_length(k: NetKernel, asked: bytes, room: int) -> bytes | int:
    """How long the header of a version is.  EINVAL."""
    version = int.from_bytes(asked[:4], k.mem.byteorder)
    if room < 4 or version > V3:
        return -EINVAL
    return header(version, k.arch.model.word).size.to_bytes(4, k.mem.byteorder)


def _rollover(k: NetKernel, po: PacketSock) -> bytes | int:
    """struct tpacket_rollover_stats.  EINVAL: it is in no group that rolls over."""
    if po.rollover is None:
        return -EINVAL
    found = po.rollover
    return b"".join(number.to_bytes(8, k.mem.byteorder) for number in (found.num, found.huge, found.failed))


def _statistics(k: NetKernel, po: PacketSock) -> bytes:
    """struct tpacket_stats, or tpacket_stats_v3: packets since it was asked last, those that were dropped among them."""
    seen, dropped = po.packets_seen, po.lost
    po.packets_seen, po.drops_told, po.ring_drops = 0, po.drops, 0
    numbers = [seen + dropped, dropped]
    if po.version == V3:
        numbers.append(po.rx.freezes if isinstance(po.rx, Blocks) else 0)
        if isinstance(po.rx, Blocks):
            po.rx.freezes = 0
    return b"".join(number.to_bytes(4, k.mem.byteorder) for number in numbers)


# -- what a device is to receive ----------------------------------------------------------------------------------------


def _membership(k: NetKernel, sk: PacketSock, joins: bool, data: bytes) -> int:
    """packet_mc_add(), packet_mc_drop(): struct packet_mreq."""
    order = k.mem.byteorder
    data = data[:PACKET_MREQ_MAX]
    if len(data) < PACKET_MREQ_MAX:
        return -EINVAL
    size = int.from_bytes(data[6:8], order)
    if len(data) < PACKET_MREQ + size:
        return -EINVAL
    index, kind = int.from_bytes(data[:4], order), int.from_bytes(data[4:6], order)
    wanted = (index, kind, data[PACKET_MREQ : PACKET_MREQ + size])
    if not joins:
        left = next((held for held in sk.memberships_of_devices if held == wanted), None)
        if left is not None:
            sk.memberships_of_devices.remove(left)
            if left not in sk.memberships_of_devices:
                _hear(k, sk.net.devices.get(index), kind, -1)
        return 0
    dev = sk.net.devices.get(index)
    if dev is None:
        return -ENODEV
    if size > MAC or (size != MAC and kind in (PACKET_MR_MULTICAST, PACKET_MR_UNICAST)):
        return -EINVAL
    if wanted not in sk.memberships_of_devices:
        _hear(k, dev, kind, 1)
    sk.memberships_of_devices.append(wanted)
    return 0


def _hear(k: NetKernel, dev: NetDevice | None, kind: int, change: int) -> None:
    """packet_dev_mc(): no device here filters by address, so single addresses change nothing."""
    if dev is None:
        return
    if kind == PACKET_MR_PROMISC:
        set_promiscuity(k, dev, change)
    elif kind == PACKET_MR_ALLMULTI:
        set_allmulti(k, dev, change)


def leave_all(k: NetKernel, sk: PacketSock) -> None:
    """packet_flush_mclist()."""
    for index, kind, _ in dict.fromkeys(sk.memberships_of_devices):
        _hear(k, sk.net.devices.get(index), kind, -1)
    sk.memberships_of_devices.clear()
