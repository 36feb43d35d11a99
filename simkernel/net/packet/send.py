"""Frames that a program has made go out: one by one, or those that stand in a ring.  net/packet/af_packet.c."""

from __future__ import annotations

from arch.abi.errno import EINVAL, EMSGSIZE, ENETDOWN, ENOBUFS, ENXIO
from arch.abi.inet import (
    ETH_HLEN,
    ETH_P_8021Q,
    ETH_P_ALL,
    ETH_P_IP,
    ETH_P_IPV6,
    IFF_LOOPBACK,
    IFF_NOARP,
    IFF_UP,
    VLAN_HLEN,
)
from arch.abi.packet import (
    PACKET_QDISC_BYPASS,
    PACKET_TX_HAS_OFF,
    TP_STATUS_AVAILABLE,
    TP_STATUS_SEND_REQUEST,
    TP_STATUS_WRONG_FORMAT,
)
from arch.abi.socket import SOCK_DGRAM, SOCK_RAW, SOCKADDR_LL_SIZE, SOL_PACKET
from arch.errors import KernelError
from arch.records import dataclass
from simkernel.kernel.face import Body, Steps
from simkernel.net.core.flow_dissector import probe_transport_header
from simkernel.net.core.message import Message
from simkernel.net.core.netns import NetDevice
from simkernel.net.core.programs import NET_XMIT_DROP
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import new_skb
from simkernel.net.face import NetKernel
from simkernel.net.packet import vnet
from simkernel.net.packet.mapping import V3
from simkernel.net.packet.ring import Ring
from simkernel.net.packet.sock import PacketSock

SLL_ADDR = 12  # offsetof(struct sockaddr_ll, sll_addr)


@dataclass(frozen=True, slots=True)
class Way:
    """Out of which device, as what, and to whom (of SOCK_DGRAM, where that was said)."""

    dev: NetDevice
    protocol: int
    address: bytes | None


def way_of(k: NetKernel, po: PacketSock, message: Message) -> Way:
    """EINVAL, ENXIO: no device, ENETDOWN."""
    name, address = message.name, None
    if not name:
        dev, protocol = po.net.devices.get(po.bound_ifindex), po.protocol
    else:
        if len(name) < SOCKADDR_LL_SIZE or len(name) < name[11] + SLL_ADDR:
            raise KernelError(EINVAL)
        dev, protocol = (
            po.net.devices.get(int.from_bytes(name[4:8], k.mem.byteorder, signed=True)),
            int.from_bytes(name[2:4], "big"),
        )
        if po.type == SOCK_DGRAM:
            if dev is not None and len(name) < len(dev.mac) + SLL_ADDR:
                raise KernelError(EINVAL)
            address = name[SLL_ADDR : SLL_ADDR + 6]
    if dev is None:
        raise KernelError(ENXIO, "no such interface")
    if not dev.flags & IFF_UP:
        raise KernelError(ENETDOWN)
    return Way(dev, protocol, address)


def check(way: Way, raw: bool, frame: bytes) -> None:
    """What can be said of a frame before there is a packet.  EINVAL: no whole link header, EMSGSIZE."""
    reserve = way.dev.kind.hard_header_len if raw else 0
    if len(frame) > way.dev.mtu + reserve + VLAN_HLEN:
        raise KernelError(EMSGSIZE)
    if raw and len(frame) < reserve:
        raise KernelError(EINVAL)
    tagged = raw and way.dev.ethernet and frame[12:14] == ETH_P_8021Q.to_bytes(2, "big")
    if len(frame) > way.dev.mtu + reserve and not tagged:
        raise KernelError(EMSGSIZE)
    if not raw and way.dev.ethernet and way.address is None and not way.dev.flags & (IFF_LOOPBACK | IFF_NOARP):
        raise KernelError(EINVAL, "eth_header(): to whom?")


def build(k: NetKernel, po: PacketSock, way: Way, frame: bytes) -> Steps[Skb]:
    """The packet of a frame (`yield from`)."""
    dev = way.dev
    skb = yield from new_skb(k, len(frame), po)
    skb.put_data(frame)
    skb.reset_mac_header()
    skb.set_dev(dev)
    if po.type == SOCK_DGRAM:
        skb.reset_network_header()
        skb.set_protocol(way.protocol)
        if dev.ethernet:
            skb.push_header(way.address if way.address is not None else bytes(6), dev.mac)
        return skb
    said = way.protocol if way.protocol != ETH_P_ALL else 0
    if dev.ethernet:
        skb.set_network_header(ETH_HLEN)
        skb.set_protocol(said or int.from_bytes(frame[12:14], "big"))
    else:  # packet_parse_headers(): what the sender says, or what the header in front looks like
        skb.reset_network_header()
        skb.set_protocol(said or {4: ETH_P_IP, 6: ETH_P_IPV6}.get(frame[0] >> 4, 0))
    return skb


def transmit(k: NetKernel, po: PacketSock, skb: Skb) -> Body:
    """packet_xmit(): by the device's queueing discipline, or past it (PACKET_QDISC_BYPASS); 0 or -errno."""
    probe_transport_header(k, skb)
    if po.options.get((SOL_PACKET, PACKET_QDISC_BYPASS)):
        ret = yield k.call("__dev_direct_xmit", skb.addr, 0)
    else:
        ret = yield k.call("__dev_queue_xmit", skb.addr, 0)
    return -ENOBUFS if ret == NET_XMIT_DROP else min(ret, 0)


def packet_snd(k: NetKernel, po: PacketSock, message: Message) -> Body:
    """One frame as the caller built it (`yield from`)."""
    way, frame = way_of(k, po, message), bytes(message.data)
    told = vnet.parse(k, frame) if po.vnet else None
    if told is not None:
        frame = frame[vnet.VNET_HDR :]
    check(way, po.type == SOCK_RAW, frame)
    if not frame:
        return -EINVAL
    skb = yield from build(k, po, way, frame)
    if told is not None:
        try:
            vnet.apply(skb, told)
        except KernelError as refused:
            yield k.call("consume_skb", skb.addr)
            return -refused.errno
    return (yield from transmit(k, po, skb)) or len(message.data)


# -- the ring ----------------------------------------------------------------------------------------------------------


def tpacket_snd(k: NetKernel, po: PacketSock, message: Message) -> Body:
    """All frames that the program has handed over; how many bytes (`yield from`)."""
    ring, sent = po.tx, 0
    assert ring is not None
    way = way_of(k, po, message)
    while ring.status(ring.head) == TP_STATUS_SEND_REQUEST:
        slot = ring.head
        try:
            frame = _frame(k, po, ring, slot, way)
            told = None
            if po.vnet:
                told = vnet.parse(k, frame)
                frame = frame[vnet.VNET_HDR :]
            check(way, po.type == SOCK_RAW, frame)
        except KernelError as refused:
            if not po.loss:
                ring.set_status(slot, TP_STATUS_WRONG_FORMAT)
                return -refused.errno
            ring.set_status(slot, TP_STATUS_AVAILABLE)
            ring.advance()
            continue
        skb = yield from build(k, po, way, frame)
        if told is not None:
            vnet.apply(skb, told)
        yield from transmit(k, po, skb)
        ring.set_status(slot, TP_STATUS_AVAILABLE)
        ring.advance()
        sent += len(frame)
    return sent


def _frame(k: NetKernel, po: PacketSock, ring: Ring, slot: int, way: Way) -> bytes:
    """tpacket_parse_header(): what a slot says is to be sent.  EINVAL, EMSGSIZE."""
    mem, at, head = k.mem, ring.frame(slot), ring.header
    if po.version == V3 and mem.read_uint(at, 4):
        raise KernelError(EINVAL, "slots of variable size")
    least = ring.frame_size - head.room
    reserve = way.dev.kind.hard_header_len if po.type == SOCK_RAW else 0
    most = least if po.vnet else min(least, way.dev.mtu + reserve + VLAN_HLEN)
    length = mem.read_uint(at + head.length_at, 4)
    if length > most:
        raise KernelError(EMSGSIZE)
    offset = head.room
    if po.number(PACKET_TX_HAS_OFF):
        offset = mem.read_uint(at + (head.net_at if po.type == SOCK_DGRAM else head.mac_at), 2)
        if not head.room <= offset <= ring.frame_size - length:
            raise KernelError(EINVAL)
    return bytes(mem.read(at + offset, length))
