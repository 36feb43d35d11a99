"""What devices that come in pairs have in common: a carrier while both ends are up, one going with the other, a packet going over."""

from __future__ import annotations

from simkernel.kernel.face import Steps
from simkernel.net.core.netns import LinkKind, NetDevice
from simkernel.net.core.programs import NET_XMIT_DROP
from simkernel.net.core.registry import netif_carrier
from simkernel.net.core.skb import Skb
from simkernel.net.face import NetKernel


class PairKind(LinkKind):
    """One end's struct net_device_ops and rtnl_link_ops, as veth and netkit have them."""

    def __init__(self, k: NetKernel) -> None:
        self.k = k

    def opened(self, dev: NetDevice) -> None:
        """ndo_open(): both ends up make a carrier."""
        if dev.peer is not None and dev.peer.up:
            netif_carrier(self.k, dev, True)
            netif_carrier(self.k, dev.peer, True)

    def stopped(self, dev: NetDevice) -> None:
        """ndo_stop()."""
        netif_carrier(self.k, dev, False)
        if dev.peer is not None:
            netif_carrier(self.k, dev.peer, False)

    def doomed(self, dev: NetDevice) -> list[NetDevice]:
        """dellink(): one end does not go alone."""
        return [dev, dev.peer] if dev.peer is not None else [dev]


def count_sent(dev: NetDevice, length: int) -> None:
    """One more packet of so many bytes was taken."""
    dev.stats["tx_packets"] += 1
    dev.stats["tx_bytes"] += length


def forward(k: NetKernel, packet: Skb, dev: NetDevice, peer: NetDevice, length: int) -> Steps[int]:
    """Out of the other end, counted on both."""
    if (yield k.call("__dev_forward_skb", peer.addr, packet.addr)):
        dev.stats["tx_dropped"] += 1
        return NET_XMIT_DROP
    count_sent(dev, length)
    peer.stats["rx_packets"] += 1
    peer.stats["rx_bytes"] += length
    yield k.call("__netif_rx", packet.addr)
    return 0
