"""The simulated network card `eth0` (10.0.2.15/24) and the host 10.0.2.2 at the other end of its wire.

The host answers pings and UDP echoes, and sends what it is told to send: `inject()`.
"""

from __future__ import annotations

from arch.abi.inet import ETH_P_ARP, ETH_P_IP, IFF_BROADCAST, IFF_MULTICAST
from arch.abi.rtnetlink import IF_OPER_UP
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.device import BACKLOG_LIMIT, NIC_IRQ, eth_type_trans
from simkernel.net.core.netns import LinkKind, Net, NetDevice
from simkernel.net.core.registry import register_netdevice
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import register
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.arp import ARPOP_REPLY, message
from simkernel.net.ipv4.header import icmp_reply, ip_header

WIRE_NS = 200_000  # there and back
ETH0_MAC = bytes.fromhex("525400123456")
ETH0_ADDRESS, ETH0_PREFIX = bytes((10, 0, 2, 15)), 24
GATEWAY, GATEWAY_MAC = bytes((10, 0, 2, 2)), bytes.fromhex("525500010202")


class SimEth(LinkKind):
    """The network card: no kind that could be made."""

    xmit = "sim_eth_xmit"
    qdisc = "pfifo_fast"
    removable = False


def make(k: NetKernel, net: Net) -> NetDevice:
    """The card is found at boot."""
    flags = IFF_BROADCAST | IFF_MULTICAST
    dev = register_netdevice(k, net, "eth0", SimEth(), flags=flags, mtu=1500, mac=ETH0_MAC)
    dev.operstate, dev.permanent_mac, dev.carrier_changes = IF_OPER_UP, ETH0_MAC, 1
    return dev


@kernel_function("netdev_tx_t sim_eth_xmit(struct sk_buff *skb, struct net_device *dev)", source="(simulated driver)")
def sim_eth_xmit(k: NetKernel, skb: int, dev: int) -> Body:
    """The wire: the simulated host at the other end sees the frame, and may answer after a while."""
    packet = k.net.skbs[skb]
    device = k.net.devices[dev]
    device.stats["tx_packets"] += 1
    device.stats["tx_bytes"] += packet.len
    answer = far_host_answer(packet.packet())
    if answer:
        k.clock.add(k.clock.now_ns + WIRE_NS, lambda: inject(k, answer, device))
    yield k.call("consume_skb", skb)
    return 0


def far_host_answer(frame: bytes) -> bytes | None:
    """What 10.0.2.2 answers: who it is, echo replies, and UDP datagrams to port 7 sent back."""
    if int.from_bytes(frame[12:14], "big") == ETH_P_ARP and frame[20:22] == b"\0\1" and frame[38:42] == GATEWAY:
        reply = message(ARPOP_REPLY, (GATEWAY_MAC, GATEWAY), (frame[22:28], frame[28:32]))
        return frame[6:12] + GATEWAY_MAC + frame[12:14] + reply
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


def inject(k: NetKernel, frame: bytes, dev: NetDevice | None = None) -> None:
    """A frame arrives at a device, eth0 unless said otherwise (interrupt context): raise the receive interrupt."""
    dev = dev or next(d for d in k.net.devices.values() if isinstance(d.kind, SimEth))
    skb = register(k, Skb.alloc(k, len(frame)))
    skb.put_data(frame)
    eth_type_trans(skb, dev)
    dev.stats["rx_packets"] += 1
    dev.stats["rx_bytes"] += len(frame)
    if len(k.net.backlog) >= BACKLOG_LIMIT:
        dev.stats["rx_dropped"] += 1
        k.net.counters["dropped"] += 1
    k.irqs.raise_irq(NIC_IRQ, "sim_eth_interrupt", NIC_IRQ, skb.addr)


@kernel_function("irqreturn_t sim_eth_interrupt(int irq, void *dev_id)", source="(simulated driver)")
def sim_eth_interrupt(k: NetKernel, irq: int, dev_id: int) -> Body:
    """The network card's interrupt: a frame goes to the backlog."""
    yield k.call("__netif_rx", dev_id)
    return 1
