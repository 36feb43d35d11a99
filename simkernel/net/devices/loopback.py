"""The loopback: every namespace has one, which brings every frame back.  drivers/net/loopback.c."""

from __future__ import annotations

from arch.abi.inet import ARPHRD_LOOPBACK, ETH_HLEN, IFF_LOOPBACK
from arch.abi.version import newest
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.device import eth_type_trans
from simkernel.net.core.netns import LinkKind, Net, NetDevice
from simkernel.net.core.registry import NET_NAME_PREDICTABLE, register_netdevice, set_features, store
from simkernel.net.core.skbuff import drop
from simkernel.net.face import NetKernel

LOOPBACK_TSO_MAX = 524280


class Loopback(LinkKind):
    """loopback_ops."""

    xmit = "loopback_xmit"
    tso_max_size = LOOPBACK_TSO_MAX
    local = True
    stamps_sent = True
    removable = False


# By version, the newest first.  As 6.1 has them: NETIF_F_SG, _FRAGLIST, _HW_CSUM, _HIGHDMA, _SCTP_CRC, _LLTX, _NETNS_LOCAL, _VLAN_CHALLENGED, _LOOPBACK, segmentation.
FEATURES = (
    ("7.2", (0x52E401D4C69, 0xA00000E401D4800)), ("6.12", (0x516401D4C69, 0xA000006401D4800)), ("6.1", (0x516401D7C69, 0xA000006401D4800)),
    (None, (0x510401D7C69, 0xA000000401D4800)),
)  # fmt: skip


def make(k: NetKernel, net: Net) -> NetDevice:
    """loopback_net_init()."""
    dev = register_netdevice(
        k, net, "lo", Loopback(), flags=IFF_LOOPBACK, mtu=65536, mac=bytes(6), hardware_type=ARPHRD_LOOPBACK,
        limits=(0, 0),
    )  # fmt: skip
    dev.broadcast = bytes(6)
    set_features(dev, *newest(FEATURES, k.version))
    dev.assign_type = NET_NAME_PREDICTABLE
    store(k, dev)
    return dev


@kernel_function(
    "netdev_tx_t loopback_xmit(struct sk_buff *skb, struct net_device *dev)", source="drivers/net/loopback.c"
)
def loopback_xmit(k: NetKernel, skb: int, dev: int) -> Body:
    """Hand the frame straight back to the receive side, without its sender."""
    packet, device = k.net.skbs[skb], k.net.devices[dev]
    packet.set_owner(None)
    if packet.len < ETH_HLEN:  # no protocol takes half a header
        yield drop(k, packet)
        return 0
    eth_type_trans(packet, device)
    stats, length = device.stats, packet.len
    stats["tx_packets"] += 1
    stats["rx_packets"] += 1
    stats["tx_bytes"] += length
    stats["rx_bytes"] += length
    yield k.call("__netif_rx", skb)
    return 0
