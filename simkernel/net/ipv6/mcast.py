"""Multicast groups of IPv6 devices.  net/ipv6/mcast.c.  Nobody is told of them: no MLD reports are sent."""

from __future__ import annotations

from simkernel.net.core.netns import NetDevice
from simkernel.net.face import NetKernel


def multicast_mac(group: bytes) -> bytes:
    """ipv6_eth_mc_map()."""
    return b"\x33\x33" + group[12:]


def _hear(dev: NetDevice, group: bytes) -> None:
    """igmp6_group_added(): the device is told, but of groups of the machine itself."""
    if group[1] & 15 > 1 and not dev.loopback and group not in dev.heard6:
        dev.heard6.add(group)
        dev.mac_list[multicast_mac(group)] += 1


def join(k: NetKernel, dev: NetDevice, group: bytes) -> None:
    """ipv6_dev_mc_inc()."""
    users = dev.groups.get(group, 0)
    dev.groups[group] = users + 1
    _hear(dev, group)


def leave(k: NetKernel, dev: NetDevice, group: bytes) -> None:
    """ipv6_dev_mc_dec()."""
    users = dev.groups.get(group, 0)
    if users > 1:
        dev.groups[group] = users - 1
    elif users:
        del dev.groups[group]
        _forget_mac(dev, group)


def _forget_mac(dev: NetDevice, group: bytes) -> None:
    """igmp6_group_dropped()."""
    if group not in dev.heard6:
        return
    dev.heard6.discard(group)
    mac = multicast_mac(group)
    dev.mac_list[mac] -= 1
    if dev.mac_list[mac] <= 0:
        del dev.mac_list[mac]


def groups(dev: NetDevice) -> list[bytes]:
    """Those of the device, the newest first as the kernel lists them."""
    return [group for group in reversed(dev.groups) if len(group) == 16]


def up(dev: NetDevice) -> None:
    """ipv6_mc_up()."""
    for group in groups(dev):
        _hear(dev, group)


def down(dev: NetDevice) -> None:
    """ipv6_mc_down()."""
    for group in groups(dev):
        _forget_mac(dev, group)
