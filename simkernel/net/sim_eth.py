"""The simulated network card `eth0` (10.0.2.15/24) and the host 10.0.2.2 at the other end of its wire.

The host answers pings and UDP echoes, and sends what it is told to send: `inject()`.
"""

from __future__ import annotations

from arch.abi.inet import ETH_HLEN, ETH_P_IP
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.device import BACKLOG_LIMIT, NIC_IRQ
from simkernel.net.core.netdevice import GATEWAY
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import register
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import icmp_reply, ip_header

WIRE_NS = 200_000  # there and back


@kernel_function("netdev_tx_t sim_eth_xmit(struct sk_buff *skb, struct net_device *dev)", source="(simulated driver)")
def sim_eth_xmit(k: NetKernel, skb: int, dev: int) -> Body:
    """The wire: the simulated host at the other end sees the frame, and may answer after a while."""
    packet = k.net.skbs[skb]
    answer = far_host_answer(packet.packet())
    if answer:
        k.clock.add(k.clock.now_ns + WIRE_NS, lambda: inject(k, answer))
    yield k.call("consume_skb", skb)
    return 0


def far_host_answer(frame: bytes) -> bytes | None:
    """What 10.0.2.2 answers: echo replies, and UDP datagrams to port 7 sent back."""
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


def inject(k: NetKernel, frame: bytes, ifindex: int = 2) -> None:
    """A frame arrives at a device (interrupt context): queue it and raise the receive interrupt."""
    dev = k.net.devices[ifindex]
    skb = register(k, Skb.alloc(k, len(frame)))
    skb.put_data(frame)
    skb.reset_mac_header()
    skb.pull(ETH_HLEN)
    skb.reset_network_header()
    skb.set_protocol(int.from_bytes(frame[12:14], "big"))
    skb.set_dev(dev)
    if len(k.net.backlog) >= BACKLOG_LIMIT:
        dev.stats["rx_dropped"] += 1
        k.net.counters["dropped"] += 1
    k.irqs.raise_irq(NIC_IRQ, "sim_eth_interrupt", NIC_IRQ, skb.addr)


@kernel_function("irqreturn_t sim_eth_interrupt(int irq, void *dev_id)", source="(simulated driver)")
def sim_eth_interrupt(k: NetKernel, irq: int, dev_id: int) -> Body:
    """The network card's interrupt: a frame goes to the backlog."""
    yield k.call("__netif_rx", dev_id)
    return 1
