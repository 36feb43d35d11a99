"""Pairs of devices: what one is given comes out of the other, in its namespace.  drivers/net/veth.c."""

from __future__ import annotations

from arch.abi.inet import ETH_HLEN, IFF_BROADCAST, IFF_MULTICAST
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.netns import Net, NetDevice
from simkernel.net.core.programs import NET_XMIT_DROP
from simkernel.net.core.registry import netif_carrier, register_netdevice
from simkernel.net.core.skbuff import drop
from simkernel.net.devices.pair import PairKind, forward
from simkernel.net.face import NetKernel

VETH_TSO_MAX = 524280


class Veth(PairKind):
    """veth_link_ops, veth_netdev_ops."""

    kind = "veth"
    xmit = "veth_xmit"
    tso_max_size = VETH_TSO_MAX
    native_xdp = True
    stamps_sent = True


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
