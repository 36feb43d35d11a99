"""Network devices and the path between them and the protocols.  net/core/dev.c, drivers/net/loopback.c.

`lo` brings every frame back; `eth0` is in sim_eth.py.  A frame that arrives waits in the CPU's backlog; the NET_RX softirq
takes it up through the layers.
"""

from __future__ import annotations

from arch.abi.errno import EMSGSIZE
from arch.abi.inet import ETH_HLEN, ETH_P_IP, PACKET_HOST, PACKET_OUTGOING
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.netdevice import DEVICES, GATEWAY_MAC, NetDevice
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import SKB_DROP_REASON_OTHERHOST, SKB_DROP_REASON_UNHANDLED_PROTO, clone, drop
from simkernel.net.core.tc import handle_egress, handle_ingress
from simkernel.net.core.xdp import do_xdp_generic
from simkernel.net.face import NetKernel

NET_TX_SOFTIRQ, NET_RX_SOFTIRQ = 2, 3
BACKLOG_LIMIT = 1000  # net.core.netdev_max_backlog
NIC_IRQ = 11


def install(k: NetKernel) -> None:
    """Create init_net and the devices; register the receive softirq."""
    net = k.new("struct net")
    net.net_cookie = 1
    k.net.init_net = net.addr
    for name, ifindex, mac, address, prefix, mtu, flags, xmit in DEVICES:
        view = k.new("struct net_device")
        k.mem.write(view.address_of("name"), name.encode())
        view.ifindex = ifindex
        view.mtu = mtu
        view.flags = flags
        view.nd_net.net = k.net.init_net
        k.net.devices[ifindex] = NetDevice(view.addr, name, ifindex, mac, address, prefix, mtu, flags, xmit)
    k.softirqs.actions[NET_RX_SOFTIRQ] = "net_rx_action"
    k.irqs.request(NIC_IRQ, "eth0")


def device_named(k: NetKernel, name: str) -> NetDevice | None:
    """`lo`, `eth0` or None."""
    return next((dev for dev in k.net.devices.values() if dev.name == name), None)


def route(k: NetKernel, address: bytes) -> NetDevice | None:
    """The device that leads to an address: local addresses by lo, everything else by eth0."""
    devices: dict[int, NetDevice] = k.net.devices
    if address[0] == 127 or any(dev.address == address for dev in devices.values()):
        return devices.get(1)
    return devices.get(2)


@kernel_function("int __dev_queue_xmit(struct sk_buff *skb, struct net_device *sb_dev)", source="net/core/dev.c")
def __dev_queue_xmit(k: NetKernel, skb: int, sb_dev: int) -> Body:
    """Give a frame to its device; ends by running the receive softirq when lo made one pending."""
    packet = k.net.skbs[skb]
    if k.net.clsact and not (yield from handle_egress(k, packet)):
        return 0
    k.trace("net_dev_queue", skb)
    qdisc = packet.device.qdisc
    if qdisc is None:
        ret = yield k.call("dev_hard_start_xmit", skb, packet.device.addr, 0, 0)
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
    yield from deliver_to_taps(k, packet, PACKET_OUTGOING)
    k.trace("net_dev_start_xmit", skb, dev)
    device.stats["tx_packets"] += 1
    device.stats["tx_bytes"] += length
    k.net.counters["transmitted"] += 1
    rc = yield k.call(device.xmit, skb, dev)
    k.trace("net_dev_xmit", skb, rc, dev, length)
    return 0


@kernel_function(
    "netdev_tx_t loopback_xmit(struct sk_buff *skb, struct net_device *dev)", source="drivers/net/loopback.c"
)
def loopback_xmit(k: NetKernel, skb: int, dev: int) -> Body:
    """Hand the frame straight back to the receive side, without its sender."""
    packet = k.net.skbs[skb]
    packet.set_owner(None)
    packet.pull(ETH_HLEN)
    yield k.call("__netif_rx", skb)
    return 0


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
    k.net.backlog.append(packet)
    k.softirqs.raise_softirq(NET_RX_SOFTIRQ)
    return 0


@kernel_function("void net_rx_action(struct softirq_action *h)", source="net/core/dev.c")
def net_rx_action(k: NetKernel, h: int) -> Body:
    """The NET_RX softirq: poll the backlog with a budget of 300 packets."""
    yield k.call("process_backlog", 0, 300)
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
)
def __netif_receive_skb_core(k: NetKernel, skb: int, pfmemalloc: int, ppt_prev: int) -> Body:
    """Tracepoint, taps, then the protocol that the Ethernet type names."""
    packet = k.net.skbs[skb]
    k.trace("netif_receive_skb", skb)
    dev = packet.device
    dev.stats["rx_packets"] += 1
    dev.stats["rx_bytes"] += packet.len
    k.net.counters["received"] += 1
    if k.net.programs.watches_frames and not (yield from do_xdp_generic(k, packet)):
        return 0
    yield from deliver_to_taps(k, packet, PACKET_HOST)
    if k.net.clsact and not (yield from handle_ingress(k, packet)):
        return 0
    if packet.protocol() != ETH_P_IP:
        yield drop(k, packet, SKB_DROP_REASON_UNHANDLED_PROTO)
        return 1
    mac = packet.mem.read(packet.mac_header(), 6)
    if mac not in (dev.mac, b"\xff" * 6):
        yield drop(k, packet, SKB_DROP_REASON_OTHERHOST)
        return 1
    return (yield k.call("ip_rcv", skb, dev.addr, 0, dev.addr))


def deliver_to_taps(k: NetKernel, packet: Skb, kind: int) -> Steps[None]:
    """Give every packet socket that listens a copy."""
    for sk in list(k.net.packet):
        if sk.bound_ifindex not in (0, packet.dev.ifindex if packet.dev else 0):
            continue
        copy = yield from clone(k, packet)
        copy.set_pkt_type(kind)
        yield k.call("packet_rcv", copy.addr, packet.dev.addr if packet.dev else 0, sk.addr, 0)


def send_frame(k: NetKernel, packet: Skb, dev: NetDevice) -> Body:
    """ip_finish_output2(): the link header, then the device's queue."""
    if packet.len > dev.mtu:
        yield drop(k, packet)
        return -EMSGSIZE
    destination = dev.mac if dev.ifindex == 1 else GATEWAY_MAC
    packet.push_data(destination + dev.mac + packet.protocol().to_bytes(2, "big"))
    packet.reset_mac_header()
    packet.set_dev(dev)
    return (yield k.call("__dev_queue_xmit", packet.addr, 0))
