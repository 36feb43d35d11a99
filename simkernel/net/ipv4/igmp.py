"""Multicast groups of IPv4 devices and sockets.  net/ipv4/igmp.c."""

from __future__ import annotations

from simkernel.net.core.netns import NetDevice
from simkernel.net.face import NetKernel

ALL_HOSTS = bytes((224, 0, 0, 1))


def multicast_mac(group: bytes) -> bytes:
    """ip_eth_mc_map()."""
    return b"\x01\x00\x5e" + bytes((group[1] & 0x7F,)) + group[2:]


def join(k: NetKernel, dev: NetDevice, group: bytes) -> None:
    """ip_mc_inc_group()."""
    users = dev.groups.get(group, 0)
    dev.groups[group] = users + 1
    if not users and dev.up and not dev.loopback:
        dev.mac_list[multicast_mac(group)] += 1


def leave(k: NetKernel, dev: NetDevice, group: bytes) -> None:
    """ip_mc_dec_group()."""
    users = dev.groups.get(group, 0)
    if users > 1:
        dev.groups[group] = users - 1
    elif users:
        del dev.groups[group]
        if dev.up:
            _forget_mac(dev, group)


def _forget_mac(dev: NetDevice, group: bytes) -> None:
    if dev.loopback:
        return
    mac = multicast_mac(group)
    dev.mac_list[mac] -= 1
    if dev.mac_list[mac] <= 0:
        del dev.mac_list[mac]


def up(k: NetKernel, dev: NetDevice) -> None:
    """ip_mc_up(): every device is among all hosts."""
    for group in [g for g in dev.groups if len(g) == 4 and not dev.loopback]:
        dev.mac_list[multicast_mac(group)] += 1
    join(k, dev, ALL_HOSTS)


def down(k: NetKernel, dev: NetDevice) -> None:
    """ip_mc_down()."""
    for group in [g for g in dev.groups if len(g) == 4]:
        _forget_mac(dev, group)
    users = dev.groups.get(ALL_HOSTS, 0)
    if users > 1:
        dev.groups[ALL_HOSTS] = users - 1
    else:
        dev.groups.pop(ALL_HOSTS, None)


def destroy(k: NetKernel, dev: NetDevice) -> None:
    """ip_mc_destroy_dev()."""
    for group in [g for g in dev.groups if len(g) == 4]:
        del dev.groups[group]
