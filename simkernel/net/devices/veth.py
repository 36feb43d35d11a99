"""Pairs of devices: what one is given comes out of the other, in its namespace.  drivers/net/veth.c."""

from __future__ import annotations

from arch.abi.inet import ETH_HLEN, IFF_BROADCAST, IFF_MULTICAST
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.features import SOFTWARE_SEGMENTATION, mask
from simkernel.net.core.netns import Net, NetDevice
from simkernel.net.core.programs import NET_XMIT_DROP
from simkernel.net.core.registry import netif_carrier, register_netdevice
from simkernel.net.core.skbuff import drop
from simkernel.net.devices.pair import PairKind, forward
from simkernel.net.face import NetKernel

VETH_TSO_MAX = 524280


# What it does and may be switched, what else it does, and what may be switched besides, on 6.1
VETH_FEATURES = f"""
    tx-scatter-gather tx-checksum-ip-generic highdma tx-scatter-gather-fraglist tx-vlan-hw-insert rx-vlan-hw-parse tx-generic-segmentation
    {SOFTWARE_SEGMENTATION}
    tx-checksum-sctp rx-checksum tx-vlan-stag-hw-insert rx-vlan-stag-hw-parse
"""
VETH_FIXED, VETH_SWITCHED = "tx-lockless", "rx-gro tx-nocache-copy rx-gro-list rx-udp-gro-forwarding"
QUEUE_STATISTICS = (  # of each queue, all of XDP, which counts elsewhere here
    ("rx", ("xdp_packets", "xdp_bytes", "drops", "xdp_redirect", "xdp_drops", "xdp_tx", "xdp_tx_errors")), ("tx", ("xdp_xmit", "xdp_xmit_errors")),
)  # fmt: skip


class Veth(PairKind):
    """veth_link_ops, veth_netdev_ops."""

    kind = "veth"
    xmit = "veth_xmit"
    tso_max_size = VETH_TSO_MAX
    native_xdp = True
    stamps_sent = True
    driver_version = "1.0"
    speed = 10000
    channels = True

    def __init__(self, k: NetKernel) -> None:
        super().__init__(k)
        both = mask(k.version, VETH_FEATURES)
        self.features = both | mask(k.version, VETH_FIXED), both | mask(k.version, VETH_SWITCHED)

    def statistics(self, dev: NetDevice) -> dict[str, int]:
        """veth_get_strings(), veth_get_ethtool_stats()."""
        rows = {"peer_ifindex": dev.peer.ifindex if dev.peer is not None else 0}
        for (way, names), queues in zip(QUEUE_STATISTICS, reversed(dev.queues)):
            rows |= {f"{way}_queue_{number}_{name}": 0 for number in range(queues) for name in names}
        return rows


def make(k: NetKernel, net: Net, name: str, mac: bytes | None, ifindex: int) -> NetDevice:
    """veth_setup(), register_netdevice(): one end, without a carrier."""
    flags = IFF_BROADCAST | IFF_MULTICAST
    dev = register_netdevice(k, net, name, k.net.kinds["veth"], flags=flags, mtu=1500, mac=mac, ifindex=ifindex)
    netif_carrier(k, dev, False)
    return dev


def join(one: NetDevice, two: NetDevice) -> None:
    """The two are a pair."""
    one.peer, two.peer = two, one


@kernel_function("netdev_tx_t veth_xmit(struct sk_buff *skb, struct net_device *dev)", source="drivers/net/veth.c")
def veth_xmit(k: NetKernel, skb: int, dev: int) -> Body:
    """Over to the other end."""
    packet, device = k.net.skbs[skb], k.net.devices[dev]
    peer, length = device.peer, packet.len
    if peer is None or packet.len < ETH_HLEN:
        device.stats["tx_dropped"] += 1
        yield drop(k, packet)
        return NET_XMIT_DROP
    return (yield from forward(k, packet, device, peer, length))
