"""Pairs of devices between which programs decide: what one end is given comes out of the other.  drivers/net/netkit.c, since 6.7.

One end is the primary one; who holds it attaches programs for both ways (simkernel/observe/tcx.py).  Without programs, and where all of them
pass a packet on, a way's policy says whether packets go over.
"""

from __future__ import annotations

from arch.abi.inet import ETH_HLEN, TC_ACT_REDIRECT, TC_ACT_SHOT, TC_ACT_UNSPEC
from arch.records import dataclass, field
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.clsact import Classifier
from simkernel.net.core.netns import NetDevice
from simkernel.net.core.programs import NET_XMIT_DROP
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import SKB_DROP_REASON_TC_EGRESS, drop
from simkernel.net.core.tc import redirect
from simkernel.net.devices.pair import PairKind, count_sent, forward
from simkernel.net.face import NetKernel

NETKIT_L2, NETKIT_L3 = 0, 1
NETKIT_NEXT, NETKIT_PASS, NETKIT_DROP, NETKIT_REDIRECT = TC_ACT_UNSPEC, 0, TC_ACT_SHOT, TC_ACT_REDIRECT
NETKIT_SCRUB_NONE, NETKIT_SCRUB_DEFAULT = 0, 1


@dataclass(slots=True)
class NetkitEnd:
    """struct netkit: one end."""

    primary: bool
    mode: int
    policy: int = NETKIT_PASS
    scrub: int = NETKIT_SCRUB_DEFAULT
    programs: list[Classifier] = field(default_factory=list)


def netkit(dev: NetDevice) -> NetkitEnd | None:
    """netdev_priv() of a netkit device; None of another."""
    return dev.private if isinstance(dev.private, NetkitEnd) else None


class Netkit(PairKind):
    """netkit_link_ops, netkit_netdev_ops."""

    kind = "netkit"
    xmit = "netkit_xmit"


def _run(end: NetkitEnd, packet: Skb) -> int:
    """netkit_run()."""
    answer = end.policy
    for each in end.programs:
        answer = each.run(packet, False)
        if answer != NETKIT_NEXT:
            break
    return answer


@kernel_function(
    "netdev_tx_t netkit_xmit(struct sk_buff *skb, struct net_device *dev)", source="drivers/net/netkit.c", since="6.7"
)
def netkit_xmit(k: NetKernel, skb: int, dev: int) -> Body:
    """Over to the other end, if the programs let it."""
    packet, device = k.net.skbs[skb], k.net.devices[dev]
    peer, end, length = device.peer, netkit(device), packet.len
    answer = NETKIT_DROP
    if peer is not None and peer.up and end is not None and length >= ETH_HLEN:
        packet.set_owner(None)
        packet.set_dev(peer)
        answer = _run(end, packet)
    return (yield from _forward(k, packet, device, answer, length))


def _forward(k: NetKernel, packet: Skb, device: NetDevice, answer: int, length: int) -> Steps[int]:
    peer = device.peer
    if answer in (NETKIT_NEXT, NETKIT_PASS) and peer is not None:
        return (yield from forward(k, packet, device, peer, length))
    if answer == NETKIT_REDIRECT:
        count_sent(device, length)
        yield from redirect(k, packet, SKB_DROP_REASON_TC_EGRESS)
        return 0
    yield drop(k, packet)
    device.stats["tx_dropped"] += 1
    return NET_XMIT_DROP
