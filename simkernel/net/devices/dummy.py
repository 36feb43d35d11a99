"""A device that swallows what it is given.  drivers/net/dummy.c."""

from __future__ import annotations

from arch.abi.inet import IFF_BROADCAST, IFF_NOARP
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.features import SOFTWARE_SEGMENTATION, mask
from simkernel.net.core.netns import LinkKind, Net, NetDevice
from simkernel.net.core.registry import register_netdevice
from simkernel.net.face import NetKernel

# What it does, and what may be switched beside that, on 6.1
DUMMY_FEATURES = f"""
    tx-scatter-gather tx-checksum-ip-generic highdma tx-scatter-gather-fraglist tx-generic-segmentation tx-lockless rx-gro
    {SOFTWARE_SEGMENTATION}
"""
DUMMY_SWITCHED = "tx-nocache-copy rx-gro-list rx-udp-gro-forwarding"


class Dummy(LinkKind):
    """dummy_link_ops."""

    kind = "dummy"
    xmit = "dummy_xmit"
    stamps_sent = True
    reports_link = False

    def __init__(self, k: NetKernel) -> None:
        on = mask(k.version, DUMMY_FEATURES)
        self.features = on, on | mask(k.version, DUMMY_SWITCHED)


def make(k: NetKernel, net: Net, name: str, mac: bytes | None, ifindex: int) -> NetDevice:
    """dummy_setup(), register_netdevice()."""
    flags = IFF_BROADCAST | IFF_NOARP
    return register_netdevice(
        k, net, name, k.net.kinds["dummy"], flags=flags, mtu=1500, mac=mac, ifindex=ifindex, limits=(0, 0)
    )


@kernel_function("netdev_tx_t dummy_xmit(struct sk_buff *skb, struct net_device *dev)", source="drivers/net/dummy.c")
def dummy_xmit(k: NetKernel, skb: int, dev: int) -> Body:
    """Count it and throw it away."""
    packet, device = k.net.skbs[skb], k.net.devices[dev]
    device.stats["tx_packets"] += 1
    device.stats["tx_bytes"] += packet.len
    yield k.call("consume_skb", skb)
    return 0
