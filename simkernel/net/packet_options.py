"""Options of SOL_PACKET.  net/packet/af_packet.c: packet_setsockopt(), packet_getsockopt().

Not there, ENOPROTOOPT: rings that are shared with the program (PACKET_RX_RING, PACKET_TX_RING, PACKET_HDRLEN; libraries then read
packets one by one), groups of sockets (PACKET_FANOUT), and headers of virtual machines (PACKET_VNET_HDR).
"""

from __future__ import annotations

from arch.abi.errno import EINVAL, ENODEV, ENOPROTOOPT
from arch.abi.packet import (
    PACKET_ADD_MEMBERSHIP,
    PACKET_AUXDATA,
    PACKET_COPY_THRESH,
    PACKET_DROP_MEMBERSHIP,
    PACKET_FANOUT_DATA,
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
    PACKET_STATISTICS,
    PACKET_TIMESTAMP,
    PACKET_TX_HAS_OFF,
    PACKET_VERSION,
)
from arch.abi.socket import SOL_PACKET
from arch.records import dataclass
from simkernel.net.core.netns import NetDevice
from simkernel.net.core.registry import set_allmulti, set_promiscuity
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel

MAC = 6  # bytes of an address of Ethernet and of the loopback device


@dataclass(frozen=True, slots=True)
class Number:
    """An option that is a number: how wide it is to be set with, which values there are, and whether it can be asked for."""

    exact: bool = True  # of 4 bytes; else at least
    least: int = -(1 << 31)
    most: int = (1 << 31) - 1
    flag: bool = False
    told: bool = True


NUMBERS = {
    PACKET_COPY_THRESH: Number(told=False),
    PACKET_AUXDATA: Number(exact=False, flag=True),
    PACKET_ORIGDEV: Number(exact=False, flag=True),
    PACKET_VERSION: Number(least=0, most=2),  # TPACKET_V1 to TPACKET_V3
    PACKET_RESERVE: Number(least=0),
    PACKET_LOSS: Number(flag=True),
    PACKET_TIMESTAMP: Number(),
    PACKET_TX_HAS_OFF: Number(flag=True),
    PACKET_QDISC_BYPASS: Number(flag=True),
    PACKET_IGNORE_OUTGOING: Number(least=0, most=1),
}


def set_packet_option(k: NetKernel, sk: Sock, name: int, data: bytes) -> int:
    """EINVAL, ENODEV, ENOPROTOOPT."""
    if name in (PACKET_ADD_MEMBERSHIP, PACKET_DROP_MEMBERSHIP):
        return _membership(k, sk, name == PACKET_ADD_MEMBERSHIP, data)
    if name == PACKET_FANOUT_DATA:
        return -EINVAL  # it is in no group
    row = NUMBERS.get(name)
    if row is None:
        return -ENOPROTOOPT
    if len(data) < 4 or (row.exact and len(data) != 4):
        return -EINVAL
    value = int.from_bytes(data[:4], k.mem.byteorder, signed=True)
    if not row.least <= value <= row.most:
        return -EINVAL
    sk.options[SOL_PACKET, name] = int(bool(value)) if row.flag else value
    return 0


def get_packet_option(k: NetKernel, sk: Sock, name: int) -> bytes | int:
    """The value, or -errno."""
    if name == PACKET_STATISTICS:
        return _statistics(k, sk)
    if name == PACKET_ROLLOVER_STATS:
        return -EINVAL  # it is in no group
    row = NUMBERS.get(name)
    if row is None or not row.told:
        return -ENOPROTOOPT
    return (sk.options.get((SOL_PACKET, name), 0) & 0xFFFFFFFF).to_bytes(4, k.mem.byteorder)


def _statistics(k: NetKernel, sk: Sock) -> bytes:
    """struct tpacket_stats: packets since it was asked last, those that were dropped among them."""
    seen, dropped = sk.packets_seen, sk.drops - sk.drops_told
    sk.packets_seen, sk.drops_told = 0, sk.drops
    return (seen + dropped).to_bytes(4, k.mem.byteorder) + dropped.to_bytes(4, k.mem.byteorder)


# -- what a device is to receive ----------------------------------------------------------------------------------------


def _membership(k: NetKernel, sk: Sock, joins: bool, data: bytes) -> int:
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
        left = next((held for held in sk.packet_memberships if held == wanted), None)
        if left is not None:
            sk.packet_memberships.remove(left)
            if left not in sk.packet_memberships:
                _hear(k, sk.net.devices.get(index), kind, -1)
        return 0
    dev = sk.net.devices.get(index)
    if dev is None:
        return -ENODEV
    if size > MAC or (size != MAC and kind in (PACKET_MR_MULTICAST, PACKET_MR_UNICAST)):
        return -EINVAL
    if wanted not in sk.packet_memberships:
        _hear(k, dev, kind, 1)
    sk.packet_memberships.append(wanted)
    return 0


def _hear(k: NetKernel, dev: NetDevice | None, kind: int, change: int) -> None:
    """packet_dev_mc(): no device here filters by address, so single addresses change nothing."""
    if dev is None:
        return
    if kind == PACKET_MR_PROMISC:
        set_promiscuity(k, dev, change)
    elif kind == PACKET_MR_ALLMULTI:
        set_allmulti(k, dev, change)


def leave_all(k: NetKernel, sk: Sock) -> None:
    """packet_flush_mclist()."""
    for index, kind, _ in dict.fromkeys(sk.packet_memberships):
        _hear(k, sk.net.devices.get(index), kind, -1)
    sk.packet_memberships.clear()
