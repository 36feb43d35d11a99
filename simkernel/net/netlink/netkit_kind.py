"""netkit pairs as rtnetlink makes, changes and shows them.  drivers/net/netkit.c: netkit_new_link() and its neighbours."""

from __future__ import annotations

from arch.abi.errno import EACCES, EINVAL, EOPNOTSUPP
from arch.abi.inet import IFF_BROADCAST, IFF_MULTICAST, IFF_NOARP
from arch.abi.rtnetlink import (
    IFLA_ADDRESS,
    IFLA_NETKIT_HEADROOM,
    IFLA_NETKIT_MODE,
    IFLA_NETKIT_PAIRING,
    IFLA_NETKIT_PEER_INFO,
    IFLA_NETKIT_PEER_POLICY,
    IFLA_NETKIT_PEER_SCRUB,
    IFLA_NETKIT_POLICY,
    IFLA_NETKIT_PRIMARY,
    IFLA_NETKIT_SCRUB,
    IFLA_NETKIT_TAILROOM,
)
from simkernel.net.core.extack import Refusal
from simkernel.net.core.netns import Net, NetDevice
from simkernel.net.core.registry import netif_carrier, register_netdevice, unregister_netdevices
from simkernel.net.devices.netkit import (
    NETKIT_DROP,
    NETKIT_L2,
    NETKIT_L3,
    NETKIT_PASS,
    NETKIT_SCRUB_DEFAULT,
    NetkitEnd,
    netkit,
)
from simkernel.net.devices.veth import join
from simkernel.net.face import NetKernel
from simkernel.net.netlink.link import CHANGERS, CHECKS, KIND_SINCE, MAKERS, Wanted, configure, prepare
from simkernel.net.netlink.link_fill import INFO
from simkernel.net.netlink.link_kinds import peer_of
from simkernel.net.netlink.message import Wire
from simkernel.net.netlink.policy import NESTED, U32, Kind, Policy, Rule

# since 6.13 (6d18b1df9b1c): a place before and behind packets; since 7.1, whether an end stands alone
SCRUB_SHOWN, ROOM_SHOWN, PAIRING_SHOWN = "6.12", "6.13", "7.1"
POLICY: Policy = {
    IFLA_NETKIT_PEER_INFO: NESTED, IFLA_NETKIT_MODE: Rule(Kind.U32, most=NETKIT_L3, since="6.13"),
    IFLA_NETKIT_POLICY: U32, IFLA_NETKIT_PEER_POLICY: U32, IFLA_NETKIT_SCRUB: Rule(Kind.U32, most=NETKIT_SCRUB_DEFAULT, since="6.12"),
    IFLA_NETKIT_PEER_SCRUB: Rule(Kind.U32, most=NETKIT_SCRUB_DEFAULT, since="6.12"),
}  # fmt: skip
FIXED = (
    (IFLA_NETKIT_MODE, "netkit link operating mode cannot be changed after device creation"),
    (IFLA_NETKIT_SCRUB, "netkit scrubbing cannot be changed after device creation"),
    (IFLA_NETKIT_PEER_SCRUB, "netkit scrubbing cannot be changed after device creation"),
    (IFLA_NETKIT_PEER_INFO, "netkit peer info cannot be changed after device creation"),
)
WAYS = (IFLA_NETKIT_POLICY, IFLA_NETKIT_PEER_POLICY)
ETHERNET_MTU, NO_ADDRESS = 1500, bytes(6)


def _validate(wanted: Wanted) -> None:
    """netkit_validate(): nothing that an Ethernet device does not have."""


def _number(wanted: Wanted, attribute: int, default: int) -> int:
    raw = wanted.data.get(attribute)
    return default if raw is None else wanted.wire.number(raw)


def _policy(wanted: Wanted, attribute: int) -> int:
    """netkit_check_policy().  EINVAL."""
    policy = _number(wanted, attribute, NETKIT_PASS)
    if policy not in (NETKIT_PASS, NETKIT_DROP):
        raise Refusal(EINVAL, "Provided default xmit policy not supported", wanted.places.get(attribute))
    return policy


def _make(k: NetKernel, net: Net, wanted: Wanted, end: NetkitEnd) -> NetDevice:
    """netkit_setup(), register_netdevice(): one end, without a carrier."""
    flags, mac = IFF_BROADCAST | IFF_MULTICAST, wanted.mac
    if end.mode == NETKIT_L3:
        flags, mac = flags | IFF_NOARP, NO_ADDRESS
    kind = k.net.kinds["netkit"]
    dev = register_netdevice(k, net, wanted.name, kind, flags=flags, mtu=ETHERNET_MTU, mac=mac, ifindex=wanted.ifindex)
    dev.private = end
    netif_carrier(k, dev, False)
    return dev


def _new(wanted: Wanted) -> NetDevice:
    """netkit_new_link(): the other end first.  EINVAL, EOPNOTSUPP."""
    k = wanted.k
    mode = _number(wanted, IFLA_NETKIT_MODE, NETKIT_L3)
    if mode not in (NETKIT_L2, NETKIT_L3):
        raise Refusal(EINVAL, "Provided device mode can only be L2 or L3", wanted.places.get(IFLA_NETKIT_MODE))
    scrub, peer_scrub = (
        _number(wanted, each, NETKIT_SCRUB_DEFAULT) for each in (IFLA_NETKIT_SCRUB, IFLA_NETKIT_PEER_SCRUB)
    )
    one, two = (
        NetkitEnd(primary, mode, _policy(wanted, way)) for primary, way in zip((True, False), WAYS, strict=True)
    )
    one.scrub, two.scrub = scrub, peer_scrub
    other = peer_of(wanted, IFLA_NETKIT_PEER_INFO, "nk%d")
    for end in (other, wanted):
        if mode == NETKIT_L3 and IFLA_ADDRESS in end.attributes:
            raise Refusal(EOPNOTSUPP, "Netkit L3 device cannot have a link layer address")
    peer = _make(k, other.net, other, two)
    prepare(other, peer)
    configure(other, peer)
    try:
        dev = _make(k, wanted.net, wanted, one)
        prepare(wanted, dev)
    except Exception:
        unregister_netdevices(k, [peer])
        raise
    join(dev, peer)
    return dev


def _change(wanted: Wanted, dev: NetDevice) -> None:
    """netkit_change_link().  EACCES, EINVAL."""
    end = netkit(dev)
    assert end is not None
    if not end.primary:
        raise Refusal(EACCES, "netkit link attributes can be changed only through the primary device")
    for attribute, why in FIXED:
        if attribute in wanted.data:
            raise Refusal(EACCES, why, wanted.places.get(attribute))
    for attribute, of in zip(WAYS, (dev, dev.peer), strict=True):
        if attribute in wanted.data and of is not None:
            policy, changed = _policy(wanted, attribute), netkit(of)
            assert changed is not None
            changed.policy = policy


def _info(k: NetKernel, wire: Wire, dev: NetDevice) -> bytes:
    """netkit_fill_info()."""
    end, other = netkit(dev), netkit(dev.peer) if dev.peer is not None else None
    assert end is not None
    out = wire.u8(IFLA_NETKIT_PRIMARY, int(end.primary)) + wire.u32(IFLA_NETKIT_POLICY, end.policy)
    out += wire.u32(IFLA_NETKIT_MODE, end.mode)
    if k.version.at_least(SCRUB_SHOWN):
        out += wire.u32(IFLA_NETKIT_SCRUB, end.scrub)
    if k.version.at_least(ROOM_SHOWN):
        out += wire.u16(IFLA_NETKIT_HEADROOM, 0) + wire.u16(IFLA_NETKIT_TAILROOM, 0)
    if k.version.at_least(PAIRING_SHOWN):
        out += wire.u32(IFLA_NETKIT_PAIRING, 0)
    if other is None:
        return out
    out += wire.u32(IFLA_NETKIT_PEER_POLICY, other.policy)
    return out + (wire.u32(IFLA_NETKIT_PEER_SCRUB, other.scrub) if k.version.at_least(SCRUB_SHOWN) else b"")


MAKERS["netkit"], CHANGERS["netkit"], CHECKS["netkit"], INFO["netkit"] = _new, _change, (POLICY, _validate), _info
KIND_SINCE["netkit"] = "6.7"
