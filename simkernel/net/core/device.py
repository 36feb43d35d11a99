"""The path between devices and protocols.  net/core/dev.c, the half with packets; the devices themselves are in devices/.

A frame that arrives waits in the CPU's backlog; the NET_RX softirq
takes it up through the layers.
"""

from __future__ import annotations

from arch.abi.inet import (
    ETH_HLEN,
    ETH_P_802_2,
    ETH_P_802_3_MIN,
    ETH_P_ALL,
    PACKET_BROADCAST,
    PACKET_HOST,
    PACKET_LOOPBACK,
    PACKET_MULTICAST,
    PACKET_OTHERHOST,
    PACKET_OUTGOING,
    VLAN_HLEN,
)
from arch.abi.packet import PACKET_IGNORE_OUTGOING
from arch.abi.socket import SOL_PACKET
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.netns import Net, NetDevice
from simkernel.net.core.programs import NET_XMIT_CN, NET_XMIT_DROP
from simkernel.net.core.skb import CHECKSUM_UNNECESSARY, Skb
from simkernel.net.core.skbuff import SKB_DROP_REASON_UNHANDLED_PROTO, clone, drop, register, release
from simkernel.net.core.taps import Tap, TapGroup
from simkernel.net.core.tc import handle_egress, handle_ingress
from simkernel.net.core.xdp import do_xdp_generic
from simkernel.net.face import NetKernel

NET_TX_SOFTIRQ, NET_RX_SOFTIRQ = 2, 3
BACKLOG_LIMIT = 1000  # net.core.netdev_max_backlog
NIC_IRQ = 11
WEIGHT = 64  # net.core.dev_weight: packets that one poll of the backlog takes


def device_named(net: Net, name: str) -> NetDevice | None:
    """dev_get_by_name()."""
    return net.named(name)


@kernel_function("int __dev_queue_xmit(struct sk_buff *skb, struct net_device *sb_dev)", source="net/core/dev.c")
def __dev_queue_xmit(k: NetKernel, skb: int, sb_dev: int) -> Body:
    """Give a frame to its device; ends by running the receive softirq when lo made one pending."""
    packet = k.net.skbs[skb]
    if (k.net.clsact or k.net.tcx) and not (yield from handle_egress(k, packet)):
        return 0
    k.trace("net_dev_queue", skb)
    qdisc = packet.device.qdisc
    if not (
        packet.device.up and packet.device.carrier
    ):  # noop_enqueue(): until there is a carrier a device has noop_qdisc
        yield drop(k, packet)
        ret = NET_XMIT_CN
    elif qdisc is None:
        yield k.call("dev_hard_start_xmit", skb, packet.device.addr, 0, 0)
        ret = k.net.tx_result
    else:
        ret = yield from qdisc.enqueue(skb)
    if k.softirqs.due():
        yield k.call("do_softirq")
    return ret


@kernel_function(
    "struct sk_buff *dev_hard_start_xmit(struct sk_buff *skb, struct net_device *dev, struct netdev_queue *txq, int *ret)",
    source="net/core/dev.c",
)
def dev_hard_start_xmit(k: NetKernel, skb: int, dev: int, txq: int, ret: int) -> Body:
    """Taps first (packet sockets), then the driver."""
    packet = k.net.skbs[skb]
    device, length = packet.device, packet.len
    if k.net.packet:
        yield from deliver_to_taps(k, packet, PACKET_OUTGOING)
    k.trace("net_dev_start_xmit", skb, dev)
    k.net.counters["transmitted"] += 1
    rc = yield k.call(device.xmit, skb, dev)
    k.trace("net_dev_xmit", skb, rc, dev, length)
    k.net.tx_result = rc
    return 0


@kernel_function(
    "int __dev_direct_xmit(struct sk_buff *skb, u16 queue_id)",
    source="net/core/dev.c",
    names={None: "dev_direct_xmit", "5.11": "__dev_direct_xmit"},
)
def __dev_direct_xmit(k: NetKernel, skb: int, queue_id: int) -> Body:
    """To the driver, past queueing disciplines and taps.  NET_XMIT_DROP where the device is down."""
    packet = k.net.skbs[skb]
    device, length = packet.device, packet.len
    if not device.up:
        yield drop(k, packet)
        return NET_XMIT_DROP
    k.trace("net_dev_start_xmit", skb, device.addr)
    rc = yield k.call(device.xmit, skb, device.addr)
    k.trace("net_dev_xmit", skb, rc, device.addr, length)
    if k.softirqs.due():  # local_bh_enable()
        yield k.call("do_softirq")
    return rc


@kernel_function(
    "int __netif_rx(struct sk_buff *skb)", source="net/core/dev.c", names={None: "netif_rx", "5.18": "__netif_rx"}
)
def __netif_rx(k: NetKernel, skb: int) -> Body:
    """A driver hands a packet over: trace, then the backlog."""
    k.trace("netif_rx_entry", skb)
    k.trace("netif_rx", skb)
    ret = yield k.call("enqueue_to_backlog", skb, k.cpus.id(), 0)
    k.trace("netif_rx_exit", ret)
    return ret


@kernel_function("int enqueue_to_backlog(struct sk_buff *skb, int cpu, unsigned int *qtail)", source="net/core/dev.c")
def enqueue_to_backlog(k: NetKernel, skb: int, cpu: int, qtail: int) -> Body:
    """Queue for this CPU's NET_RX softirq; a full backlog drops."""
    packet = k.net.skbs[skb]
    if len(k.net.backlog) >= BACKLOG_LIMIT:
        packet.device.stats["rx_dropped"] += 1
        yield drop(k, packet)
        return 1
    if k.net.stampers and not packet.stamp_ns:
        packet.stamp_ns = k.clock.realtime_ns
    k.net.backlog.append(packet)
    k.softirqs.raise_softirq(NET_RX_SOFTIRQ)
    return 0


@kernel_function("void net_rx_action(struct softirq_action *h)", source="net/core/dev.c")
def net_rx_action(k: NetKernel, h: int) -> Body:
    """The NET_RX softirq: poll the backlog of this CPU with its weight."""
    napi = k.net.backlog_napi
    work = yield k.call("process_backlog", napi, WEIGHT)
    k.trace("napi_poll", napi, work, WEIGHT)
    return 0


@kernel_function("int process_backlog(struct napi_struct *napi, int quota)", source="net/core/dev.c")
def process_backlog(k: NetKernel, napi: int, quota: int) -> Body:
    """Take packets off the backlog and up the stack."""
    work = 0
    while k.net.backlog and work < quota:
        packet = k.net.backlog.popleft()
        yield k.call("__netif_receive_skb", packet.addr)
        work += 1
    if k.net.backlog:
        k.softirqs.raise_softirq(NET_RX_SOFTIRQ)
    return work


@kernel_function("int __netif_receive_skb(struct sk_buff *skb)", source="net/core/dev.c")
def __netif_receive_skb(k: NetKernel, skb: int) -> Body:
    """One packet up the stack."""
    return (yield k.call("__netif_receive_skb_core", skb, 0, 0))


@kernel_function(
    "int __netif_receive_skb_core(struct sk_buff *skb, bool pfmemalloc, struct packet_type **ppt_prev)",
    source="net/core/dev.c",
    names={None: "__netif_receive_skb_core", "5.11": "__netif_receive_skb_core.constprop.0"},
)
def __netif_receive_skb_core(k: NetKernel, skb: int, pfmemalloc: int, ppt_prev: int) -> Body:
    """Tracepoint, taps, then the protocol that the Ethernet type names."""
    packet = k.net.skbs[skb]
    k.trace("netif_receive_skb", skb)
    goes_on: bool | None = None
    heard = 0  # pt_prev: who has it already
    while goes_on is None:  # once more for each device that a program sends it in by
        dev = packet.device
        k.net.counters["received"] += 1
        packet.iif = dev.ifindex
        packet.set("skb_iif", dev.ifindex)
        if k.net.programs.watches_frames and not (yield from do_xdp_generic(k, packet)):
            return 0
        if k.net.packet:
            heard = yield from deliver_to_taps(k, packet, None)
        goes_on = (yield from handle_ingress(k, packet)) if k.net.clsact or k.net.tcx else True
    if not goes_on:
        return 0
    if k.net.packet:
        heard += yield from deliver_to_taps(k, packet, None, packet.protocol())
    if dev.receiver is not None and (yield from dev.receiver(skb)):
        return 0
    handler = k.net.packet_types.get(packet.protocol())
    if handler is None and heard:
        yield from release(k, packet)
        return 0
    if handler is None:
        dev.stats["rx_dropped"] += 1
        yield drop(k, packet, SKB_DROP_REASON_UNHANDLED_PROTO)
        return 1
    return (yield k.call(handler, skb, dev.addr, 0, dev.addr))


@kernel_function(
    "int dev_loopback_xmit(struct net *net, struct sock *sk, struct sk_buff *skb)", source="net/core/dev.c"
)
def dev_loopback_xmit(k: NetKernel, net: int, sk: int, skb: int) -> Body:
    """A copy of what goes to a group comes back to ourselves."""
    packet = k.net.skbs[skb]
    packet.set("mac_header", packet.get("network_header"))
    packet.set_pkt_type(PACKET_LOOPBACK)
    packet.set_checksum(CHECKSUM_UNNECESSARY)
    yield k.call("__netif_rx", skb)
    return 0


def deliver_to_taps(k: NetKernel, packet: Skb, kind: int | None, protocol: int = ETH_P_ALL) -> Steps[int]:
    """dev_queue_xmit_nit(), deliver_ptype_list_skb(): a copy for every packet socket that listens to `protocol`; how many."""
    dev, heard = packet.device, 0
    groups: set[TapGroup] = set()  # those that have had it
    for sk in list(k.net.packet):
        if (
            sk.net is not dev.net
            or sk.bound_ifindex not in (0, dev.ifindex)
            or sk.protocol != protocol
            or sk.group in groups
        ):
            continue
        if kind == PACKET_OUTGOING and _ignores(sk, packet):
            continue
        hears, whose = sk.hears, sk.addr
        if sk.group is not None:
            groups.add(sk.group)
            hears, whose = "packet_rcv_fanout", sk.group.addr
        copy = yield from clone(k, packet)
        copy.set_pkt_type(packet.pkt_type() if kind is None else kind)
        yield k.call(hears, copy.addr, dev.addr, whose, dev.addr)
        heard += 1
    return heard


def _ignores(sk: Tap, packet: Skb) -> bool:
    """skb_loop_sk(), and who wants nothing that goes out."""
    if sk.group is not None:
        return sk.group.ignores_outgoing or (isinstance(packet.sk, Tap) and packet.sk.group is sk.group)
    return packet.sk is sk or bool(sk.options.get((SOL_PACKET, PACKET_IGNORE_OUTGOING)))


def eth_type_trans(packet: Skb, dev: NetDevice) -> None:
    """A frame as its receiver sees it: without the link header, with what that says."""
    packet.set_dev(dev)
    packet.reset_mac_header()
    head = packet.packet()[:ETH_HLEN]
    packet.pull(ETH_HLEN)
    packet.reset_network_header()
    to = head[:6]
    if to == dev.mac:
        kind = PACKET_HOST
    elif to[0] & 1:
        kind = PACKET_BROADCAST if to == dev.broadcast else PACKET_MULTICAST
    else:
        kind = PACKET_OTHERHOST
    packet.set_pkt_type(kind)
    protocol = int.from_bytes(head[12:14], "big")
    packet.set_protocol(protocol if protocol >= ETH_P_802_3_MIN else ETH_P_802_2)


def packet_of_frame(k: NetKernel, dev: NetDevice, frame: bytes) -> Skb:
    """__xdp_build_skb_from_frame()."""
    packet = register(k, Skb.alloc(k, len(frame)))
    packet.put_data(frame)
    eth_type_trans(packet, dev)
    return packet


def receive_frames(k: NetKernel, dev: NetDevice, frames: list[bytes]) -> None:
    """netif_receive_skb_list() of frames that no driver has received."""
    k.net.backlog.extend(packet_of_frame(k, dev, frame) for frame in frames)
    k.softirqs.raise_softirq(NET_RX_SOFTIRQ)


@kernel_function("int __dev_forward_skb(struct net_device *dev, struct sk_buff *skb)", source="net/core/dev.c")
def __dev_forward_skb(k: NetKernel, dev: int, skb: int) -> Body:
    """A frame comes out of another device: 1 if that is down or the frame too long, and then it is dropped."""
    device, packet = k.net.devices[dev], k.net.skbs[skb]
    if not device.up or packet.len > device.mtu + ETH_HLEN + VLAN_HLEN:
        device.stats["rx_dropped"] += 1
        yield drop(k, packet)
        return 1
    scrub(packet, device.net is not packet.device.net)
    eth_type_trans(packet, device)
    return 0


def scrub(packet: Skb, crossing: bool) -> None:
    """skb_scrub_packet(): what a packet must not take along into another device or namespace."""
    packet.dst = None
    packet.drop_metadata()
    packet.set("skb_iif", 0)
    if crossing:
        packet.set_owner(None)
        packet.set("mark", 0)
        packet.set("tstamp", 0)


@kernel_function("int neigh_direct_output(struct neighbour *neigh, struct sk_buff *skb)", source="net/core/neighbour.c")
def neigh_direct_output(k: NetKernel, neigh: int, skb: int) -> Body:
    """Without a link header."""
    return (yield k.call("__dev_queue_xmit", skb, 0))
