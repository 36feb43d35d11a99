"""Network devices and the path between them and the protocols.  net/core/dev.c, drivers/net/loopback.c.

`lo` brings every frame back.  `eth0` (10.0.2.15/24) leads to a simulated host 10.0.2.2, which answers pings and UDP
echoes and sends what a machine's packet source is told to send (`Net`-side API: `inject`).  A frame that arrives waits in
the CPU's backlog; the NET_RX softirq takes it up through the layers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from arch.abi.errno import EMSGSIZE
from arch.abi.inet import (
    ETH_HLEN,
    ETH_P_IP,
    IFF_BROADCAST,
    IFF_LOOPBACK,
    IFF_MULTICAST,
    IFF_RUNNING,
    IFF_UP,
    PACKET_HOST,
    PACKET_OUTGOING,
)
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.skb import Skb, clone, drop, register
from simkernel.net.state import SKB_DROP_REASON_OTHERHOST, SKB_DROP_REASON_UNHANDLED_PROTO

NET_TX_SOFTIRQ, NET_RX_SOFTIRQ = 2, 3
BACKLOG_LIMIT = 1000  # net.core.netdev_max_backlog


STATISTICS = ("rx_packets", "rx_bytes", "rx_dropped", "tx_packets", "tx_bytes")


@dataclass
class NetDevice:
    """A struct net_device."""

    addr: int
    name: str
    ifindex: int
    mac: bytes
    address: bytes  # IPv4, network order
    prefix: int
    mtu: int
    flags: int
    xmit: str  # ndo_start_xmit: a kernel function
    stats: dict[str, int] = field(default_factory=lambda: dict.fromkeys(STATISTICS, 0))

    def on_link(self, address: bytes) -> bool:
        """Does this address belong to the device's network?"""
        shift = 32 - self.prefix
        return int.from_bytes(address, "big") >> shift == int.from_bytes(self.address, "big") >> shift


GATEWAY = bytes((10, 0, 2, 2))
GATEWAY_MAC = bytes.fromhex("525500010202")

#       name  ifindex  MAC              address            prefix  MTU    flags                                   xmit
DEVICES = (
    ("lo", 1, bytes(6), bytes((127, 0, 0, 1)), 8, 65536, IFF_UP | IFF_LOOPBACK | IFF_RUNNING, "loopback_xmit"),
    (
        "eth0", 2, bytes.fromhex("525400123456"), bytes((10, 0, 2, 15)), 24, 1500,
        IFF_UP | IFF_BROADCAST | IFF_RUNNING | IFF_MULTICAST, "sim_eth_xmit",
    ),
)  # fmt: skip


def install(k: Any) -> None:
    """Create init_net and the devices; register the receive softirq."""
    k.net.init_net = k.new("struct net").addr
    for name, ifindex, mac, address, prefix, mtu, flags, xmit in DEVICES:
        view = k.new("struct net_device")
        k.mem.write(view.address_of("name"), name.encode())
        view.ifindex = ifindex
        view.mtu = mtu
        view.flags = flags
        view.nd_net.net = k.net.init_net
        k.net.devices[ifindex] = NetDevice(view.addr, name, ifindex, mac, address, prefix, mtu, flags, xmit)
    k.softirq_action[NET_RX_SOFTIRQ] = "net_rx_action"
    k.request_irq(NIC_IRQ, "eth0")


def device_named(k: Any, name: str) -> NetDevice | None:
    """`lo`, `eth0` or None."""
    return next((dev for dev in k.net.devices.values() if dev.name == name), None)


def route(k: Any, address: bytes) -> NetDevice | None:
    """The device that leads to an address: local addresses by lo, everything else by eth0."""
    devices: dict[int, NetDevice] = k.net.devices
    if address[0] == 127 or any(dev.address == address for dev in devices.values()):
        return devices.get(1)
    return devices.get(2)


# ------------------------------------------------------------------------------------------------------------- transmit


@kernel_function("int __dev_queue_xmit(struct sk_buff *skb, struct net_device *sb_dev)", source="net/core/dev.c")
def __dev_queue_xmit(k: Any, skb: int, sb_dev: int) -> Any:
    """Give a frame to its device; ends by running the receive softirq when lo made one pending."""
    packet = k.net.skbs[skb]
    k.trace("net_dev_queue", skb)
    ret = yield k.call("dev_hard_start_xmit", skb, packet.dev.addr, 0, 0)
    if k.softirq_pending():
        yield k.call("do_softirq")
    return ret


@kernel_function(
    "struct sk_buff *dev_hard_start_xmit(struct sk_buff *skb, struct net_device *dev, struct netdev_queue *txq, int *ret)",
    source="net/core/dev.c",
)
def dev_hard_start_xmit(k: Any, skb: int, dev: int, txq: int, ret: int) -> Any:
    """Taps first (packet sockets), then the driver."""
    packet = k.net.skbs[skb]
    device, length = packet.dev, packet.len
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
def loopback_xmit(k: Any, skb: int, dev: int) -> Any:
    """Hand the frame straight back to the receive side, without its sender."""
    packet = k.net.skbs[skb]
    packet.set_owner(None)
    packet.pull(ETH_HLEN)
    packet.sync()
    yield k.call("__netif_rx", skb)
    return 0


@kernel_function("netdev_tx_t sim_eth_xmit(struct sk_buff *skb, struct net_device *dev)", source="(simulated driver)")
def sim_eth_xmit(k: Any, skb: int, dev: int) -> Any:
    """The wire: the simulated host at the other end sees the frame, and may answer after a while."""
    packet = k.net.skbs[skb]
    answer = far_host_answer(packet.payload)
    if answer:
        k.add_timer(k.clock.now_ns + WIRE_NS, lambda: inject(k, answer))
    yield k.call("consume_skb", skb)
    return 0


WIRE_NS = 200_000  # there and back


def far_host_answer(frame: bytes) -> bytes | None:
    """What 10.0.2.2 answers: echo replies, and UDP datagrams to port 7 sent back."""
    from simkernel.net.ipv4 import ip_header

    if int.from_bytes(frame[12:14], "big") != ETH_P_IP:
        return None
    header, body = frame[14:34], frame[34:]
    source, destination, protocol = header[12:16], header[16:20], header[9]
    if destination != GATEWAY:
        return None
    if protocol == 1 and body[0] == 8:
        body = icmp_reply(body)
    elif protocol == 17 and int.from_bytes(body[2:4], "big") == 7:
        body = body[2:4] + body[0:2] + body[4:6] + b"\0\0" + body[8:]
    else:
        return None
    return frame[6:12] + frame[0:6] + frame[12:14] + ip_header(destination, source, protocol, len(body), 0) + body


def icmp_reply(body: bytes) -> bytes:
    """An echo request turned into its reply."""
    from simkernel.net.state import checksum

    reply = b"\0\0\0\0" + body[4:]
    return reply[:2] + checksum(reply).to_bytes(2, "big") + reply[4:]


# -------------------------------------------------------------------------------------------------------------- receive


def inject(k: Any, frame: bytes, ifindex: int = 2) -> None:
    """A frame arrives at a device (interrupt context): queue it and raise the receive interrupt."""
    dev = k.net.devices[ifindex]
    skb = register(k, Skb(k, len(frame)))
    skb.put(frame)
    skb.mac = skb.data
    skb.pull(ETH_HLEN)
    skb.network = skb.data
    skb.proto = int.from_bytes(frame[12:14], "big")
    skb.set_dev(dev)
    skb.sync()
    if len(k.net.backlog) >= BACKLOG_LIMIT:
        dev.stats["rx_dropped"] += 1
        k.net.counters["dropped"] += 1
    k.raise_irq(NIC_IRQ, "sim_eth_interrupt", NIC_IRQ, skb.addr)


NIC_IRQ = 11


@kernel_function("irqreturn_t sim_eth_interrupt(int irq, void *dev_id)", source="(simulated driver)")
def sim_eth_interrupt(k: Any, irq: int, dev_id: int) -> Any:
    """The network card's interrupt: a frame goes to the backlog."""
    yield k.call("__netif_rx", dev_id)
    return 1


@kernel_function(
    "int __netif_rx(struct sk_buff *skb)", source="net/core/dev.c", names={None: "netif_rx", "5.18": "__netif_rx"}
)
def __netif_rx(k: Any, skb: int) -> Any:
    """A driver hands a packet over: trace, then the backlog."""
    k.trace("netif_rx_entry", skb)
    k.trace("netif_rx", skb)
    return (yield k.call("enqueue_to_backlog", skb, k.cpu_id(), 0))


@kernel_function("int enqueue_to_backlog(struct sk_buff *skb, int cpu, unsigned int *qtail)", source="net/core/dev.c")
def enqueue_to_backlog(k: Any, skb: int, cpu: int, qtail: int) -> Any:
    """Queue for this CPU's NET_RX softirq; a full backlog drops."""
    packet = k.net.skbs[skb]
    if len(k.net.backlog) >= BACKLOG_LIMIT:
        packet.dev.stats["rx_dropped"] += 1
        yield drop(k, packet)
        return 1
    k.net.backlog.append(packet)
    k.raise_softirq(NET_RX_SOFTIRQ)
    return 0


@kernel_function("void net_rx_action(struct softirq_action *h)", source="net/core/dev.c")
def net_rx_action(k: Any, h: int) -> Any:
    """The NET_RX softirq: poll the backlog with a budget of 300 packets."""
    yield k.call("process_backlog", 0, 300)
    return 0


@kernel_function("int process_backlog(struct napi_struct *napi, int quota)", source="net/core/dev.c")
def process_backlog(k: Any, napi: int, quota: int) -> Any:
    """Take packets off the backlog and up the stack."""
    work = 0
    while k.net.backlog and work < quota:
        packet = k.net.backlog.popleft()
        yield k.call("__netif_receive_skb", packet.addr)
        work += 1
    if k.net.backlog:
        k.raise_softirq(NET_RX_SOFTIRQ)
    return work


@kernel_function("int __netif_receive_skb(struct sk_buff *skb)", source="net/core/dev.c")
def __netif_receive_skb(k: Any, skb: int) -> Any:
    """One packet up the stack."""
    return (yield k.call("__netif_receive_skb_core", skb, 0, 0))


@kernel_function(
    "int __netif_receive_skb_core(struct sk_buff *skb, bool pfmemalloc, struct packet_type **ppt_prev)",
    source="net/core/dev.c",
)
def __netif_receive_skb_core(k: Any, skb: int, pfmemalloc: int, ppt_prev: int) -> Any:
    """Tracepoint, taps, then the protocol that the Ethernet type names."""
    packet = k.net.skbs[skb]
    k.trace("netif_receive_skb", skb)
    dev = packet.dev
    dev.stats["rx_packets"] += 1
    dev.stats["rx_bytes"] += packet.len
    k.net.counters["received"] += 1
    yield from deliver_to_taps(k, packet, PACKET_HOST)
    if packet.proto != ETH_P_IP:
        yield drop(k, packet, SKB_DROP_REASON_UNHANDLED_PROTO)
        return 1
    mac = packet.read(packet.mac, 6)
    if mac not in (dev.mac, b"\xff" * 6):
        yield drop(k, packet, SKB_DROP_REASON_OTHERHOST)
        return 1
    return (yield k.call("ip_rcv", skb, dev.addr, 0, dev.addr))


def deliver_to_taps(k: Any, packet: Skb, kind: int) -> Any:
    """Give every packet socket that listens a copy."""
    for sk in list(k.net.packet):
        if sk.bound_ifindex not in (0, packet.dev.ifindex if packet.dev else 0):
            continue
        copy = yield from clone(k, packet)
        copy.view.pkt_type = kind
        yield k.call("packet_rcv", copy.addr, packet.dev.addr if packet.dev else 0, sk.addr, 0)


def send_frame(k: Any, packet: Skb, dev: NetDevice) -> Any:
    """ip_finish_output2(): the link header, then the device's queue."""
    if packet.len > dev.mtu:
        yield drop(k, packet)
        return -EMSGSIZE
    destination = dev.mac if dev.ifindex == 1 else GATEWAY_MAC
    packet.push(destination + dev.mac + packet.proto.to_bytes(2, "big"))
    packet.mac = packet.data
    packet.set_dev(dev)
    packet.sync()
    return (yield k.call("__dev_queue_xmit", packet.addr, 0))
