"""Which kinds of devices can be made over netlink, and how their attributes are read.  newlink() of drivers/net/{veth,dummy}.c."""

from __future__ import annotations

from dataclasses import replace

from arch.abi.errno import EINVAL
from arch.abi.rtnetlink import IFLA_IFNAME, IFLA_MTU, IFLA_NET_NS_FD, IFLA_NET_NS_PID, VETH_INFO_PEER
from arch.errors import KernelError
from simkernel.net.core.netns import ETH_MAX_MTU, ETH_MIN_MTU, NetDevice
from simkernel.net.core.registry import unregister_netdevices
from simkernel.net.devices import dummy, veth
from simkernel.net.netlink.link import IFINFOMSG_SIZE, MAKERS, Wanted, configure, prepare
from simkernel.net.netlink.message import string
from simkernel.net.netlink.nsid import net_of_fd, net_of_pid


def _dummy(wanted: Wanted) -> NetDevice:
    dev = dummy.make(wanted.k, wanted.net, wanted.name, wanted.mac, wanted.ifindex)
    prepare(wanted, dev)
    return dev


def peer_of(wanted: Wanted, attribute: int, names: str) -> Wanted:
    """The other end of a pair (VETH_INFO_PEER): a struct ifinfomsg and attributes of its own."""
    raw = wanted.data.get(attribute)
    if raw is None:
        return replace(wanted, net=wanted.source, name=names, ifindex=0, flags=0, change=0, attributes={})
    if len(raw) < IFINFOMSG_SIZE:
        raise KernelError(EINVAL)
    wire, given = wanted.wire, wanted.wire.attributes(raw[IFINFOMSG_SIZE:])
    net = wanted.source
    if IFLA_NET_NS_PID in given:
        net = net_of_pid(wanted.k, wire.number(given[IFLA_NET_NS_PID]))
    elif IFLA_NET_NS_FD in given:
        net = net_of_fd(wanted.k, wire.number(given[IFLA_NET_NS_FD]))
    name, index = string(given.get(IFLA_IFNAME)) or names, wire.number(raw[4:8])
    return replace(
        wanted, net=net, name=name, ifindex=index, flags=wire.number(raw[8:12]), change=wire.number(raw[12:16]), attributes=given
    )  # fmt: skip


def _veth(wanted: Wanted) -> NetDevice:
    """veth_validate(), veth_newlink(): the other end first.  EINVAL."""
    other = peer_of(wanted, VETH_INFO_PEER, "veth%d")
    for end in (wanted, other):
        mtu = end.attributes.get(IFLA_MTU)
        if mtu is not None and not ETH_MIN_MTU <= end.wire.number(mtu) <= ETH_MAX_MTU:
            raise KernelError(EINVAL)
    k = wanted.k
    peer = veth.make(k, other.net, other.name, other.mac, other.ifindex)
    prepare(other, peer)
    configure(other, peer)
    try:
        dev = veth.make(k, wanted.net, wanted.name, wanted.mac, wanted.ifindex)
        prepare(wanted, dev)
    except KernelError:
        unregister_netdevices(k, [peer])
        raise
    veth.join(dev, peer)
    return dev


MAKERS["dummy"] = _dummy
MAKERS["veth"] = _veth
