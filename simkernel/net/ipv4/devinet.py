"""IPv4 addresses of devices: added, deleted, chosen from.  net/ipv4/devinet.c."""

from __future__ import annotations

from arch.abi.errno import EADDRNOTAVAIL, EEXIST, EINVAL
from arch.abi.inet import INADDR_ANY
from arch.abi.rtnetlink import (
    IFA_F_NODAD,
    IFA_F_OPTIMISTIC,
    IFA_F_PERMANENT,
    IFA_F_SECONDARY,
    IFA_F_TENTATIVE,
    RT_SCOPE_HOST,
    RT_SCOPE_LINK,
    RT_SCOPE_UNIVERSE,
    RT_TABLE_LOCAL,
    RTN_LOCAL,
)
from arch.errors import KernelError
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core import lifetime
from simkernel.net.core.conf import new_conf
from simkernel.net.core.extack import Refusal
from simkernel.net.core.netns import Event, Ifaddr, Net, NetDevice, in_prefix
from simkernel.net.face import NetKernel
from simkernel.net.ipv4 import fib, igmp

IPV6ONLY_FLAGS = IFA_F_NODAD | IFA_F_OPTIMISTIC | IFA_F_TENTATIVE
LOOPBACK = bytes((127, 0, 0, 1))


def insert_address(k: NetKernel, new: Ifaddr) -> None:
    """__inet_insert_ifa().  EEXIST, EINVAL."""
    dev = new.dev
    new.flags &= ~(IFA_F_SECONDARY | IPV6ONLY_FLAGS)
    at, last_primary = len(dev.addresses), 0
    for index, old in enumerate(dev.addresses):
        if not old.flags & IFA_F_SECONDARY and new.scope <= old.scope:
            last_primary = index + 1
        if old.prefix == new.prefix and in_prefix(old.address, new.address, old.prefix):
            if old.local == new.local:
                raise Refusal(EEXIST, "ipv4: Address already assigned" if k.version.at_least("6.8") else "")
            if old.scope != new.scope:
                raise KernelError(EINVAL, "another scope in the same network")
            new.flags |= IFA_F_SECONDARY
    if not new.flags & IFA_F_SECONDARY:
        at = last_primary
    dev.addresses.insert(at, new)
    new.created_ns = new.updated_ns = k.clock.now_ns
    arm_lifetime(k, new)
    k.net.announce.address(dev.net, new)
    fib.add_ifaddr(k, new)
    dev.net.ipv4.changed()


def delete_address(k: NetKernel, old: Ifaddr) -> None:
    """__inet_del_ifa(): with a primary its secondaries go, unless one of them takes its place."""
    dev = old.dev
    promoted: Ifaddr | None = None
    if not old.flags & IFA_F_SECONDARY:
        promote = bool(conf(dev, "promote_secondaries"))
        for other in list(dev.addresses):
            same = other.prefix == old.prefix and in_prefix(other.address, old.address, old.prefix)
            if other is old or not other.flags & IFA_F_SECONDARY or not same:
                continue
            if promote and promoted is None:
                promoted = other
            elif not promote:
                _drop(k, other)
        for other in dev.addresses:
            if promoted is not None and other is not old and other.flags & IFA_F_SECONDARY and in_prefix(other.address, old.address, old.prefix):  # fmt: skip
                fib.del_ifaddr(k, other)
    _drop(k, old)
    if promoted is not None:
        promoted.flags &= ~IFA_F_SECONDARY
        k.net.announce.address(dev.net, promoted)
        fib.add_ifaddr(k, promoted)
        for other in dev.addresses:
            if other.flags & IFA_F_SECONDARY and in_prefix(other.address, promoted.address, promoted.prefix):
                fib.add_ifaddr(k, other)


def _drop(k: NetKernel, old: Ifaddr) -> None:
    """Off the list, told, and its routes gone."""
    dev = old.dev
    dev.addresses.remove(old)
    lifetime.forget(k, old)
    k.net.announce.address(dev.net, old, gone=True)
    fib.del_ifaddr(k, old)
    if not dev.addresses:
        fib.sync_down(k, dev, Event.DOWN, True)
    dev.net.ipv4.changed()


# -- lifetimes ---------------------------------------------------------------------------------------------------------


def arm_lifetime(k: NetKernel, address: Ifaddr) -> None:
    """check_lifetime() comes when something of it ends."""
    lifetime.forget(k, address)
    lifetime.arm_next(k, address, "check_lifetime")


@kernel_function("void check_lifetime(struct work_struct *work)", source="net/ipv4/devinet.c")
def check_lifetime(k: NetKernel, work: int) -> int:
    """An address is deprecated, or its time is over."""
    address = lifetime.ended(k, work, delete_address)
    if address is not None:
        arm_lifetime(k, address)
    return 0


# -- choosing ----------------------------------------------------------------------------------------------------------


def conf(dev: NetDevice, name: str) -> int:
    """IN_DEV_CONF_GET()."""
    return dev.conf["ipv4"][name]


def or_conf(dev: NetDevice, name: str) -> int:
    """IN_DEV_ORCONF(): of the device or of all."""
    return dev.conf["ipv4"][name] or dev.net.conf_all["ipv4"][name]


def max_conf(dev: NetDevice, name: str) -> int:
    """IN_DEV_MAXCONF()."""
    return max(dev.conf["ipv4"][name], dev.net.conf_all["ipv4"][name])


def select_address(net: Net, dev: NetDevice | None, destination: bytes, scope: int) -> bytes:
    """inet_select_addr(): the device's own address of the destination's network, its first one, else another device's."""
    found = INADDR_ANY
    if dev is not None:
        local = RT_SCOPE_LINK if or_conf(dev, "route_localnet") else RT_SCOPE_HOST
        for address in dev.addresses:
            if address.flags & IFA_F_SECONDARY or min(address.scope, local) > scope:
                continue
            if destination == INADDR_ANY or in_prefix(destination, address.address, address.prefix):
                return address.local
            if found == INADDR_ANY:
                found = address.local
    if found != INADDR_ANY or scope > RT_SCOPE_LINK:
        return found
    for _, other in sorted(net.devices.items()):
        for address in other.addresses:
            if not address.flags & IFA_F_SECONDARY and address.scope != RT_SCOPE_LINK and address.scope <= scope:
                return address.local
    return found


def by_address(net: Net, address: bytes) -> NetDevice | None:
    """__ip_dev_find(): the device that has an address."""
    for _, dev in sorted(net.devices.items()):
        if any(a.local == address for a in dev.addresses):
            return dev
    table = net.ipv4.tables.get(RT_TABLE_LOCAL)
    for rows in table.matches(address) if table is not None else ():
        if rows[0].kind == RTN_LOCAL:
            return rows[0].dev
    return None


def find(dev: NetDevice, local: bytes, prefix: int | None = None, label: str = "") -> Ifaddr:
    """One of the device's addresses.  EADDRNOTAVAIL."""
    for address in dev.addresses:
        if address.local == local and prefix in (None, address.prefix) and label in ("", address.label):
            return address
    raise KernelError(EADDRNOTAVAIL)


# -- devices -----------------------------------------------------------------------------------------------------------


def netdev_event(k: NetKernel, dev: NetDevice, event: Event) -> None:
    """inetdev_event()."""
    if event is Event.REGISTER:
        dev.conf["ipv4"], dev.neigh_conf["ipv4"] = new_conf(dev.net, "ipv4")
        if dev.mtu >= 68:
            _attach(k, dev)
    elif event is Event.CHANGEMTU and not dev.has_ipv4 and dev.mtu >= 68:
        _attach(k, dev)
    elif not dev.has_ipv4:
        return
    elif event is Event.UP:
        _up(k, dev)
    elif event is Event.DOWN:
        igmp.down(k, dev)
    elif event is Event.UNREGISTER or (event is Event.CHANGEMTU and dev.mtu < 68):
        detach(k, dev)
    elif event is Event.CHANGENAME:
        for address in dev.addresses:
            _, colon, rest = address.label.partition(":")
            address.label = dev.name + colon + rest


def _attach(k: NetKernel, dev: NetDevice) -> None:
    """inetdev_init()."""
    dev.has_ipv4 = True
    if dev.loopback:
        dev.conf["ipv4"] |= {"disable_policy": 1, "disable_xfrm": 1}
    if dev.up:
        igmp.up(k, dev)


def _up(k: NetKernel, dev: NetDevice) -> None:
    if dev.loopback and not dev.addresses:
        own = Ifaddr(dev, LOOPBACK, 8, LOOPBACK, RT_SCOPE_HOST, IFA_F_PERMANENT, label=dev.name)
        if k.version.at_least("6.2"):
            own.proto = 1  # IFAPROT_KERNEL_LO
        insert_address(k, own)
    igmp.up(k, dev)


def detach(k: NetKernel, dev: NetDevice) -> None:
    """inetdev_destroy()."""
    igmp.destroy(k, dev)
    while dev.addresses:
        delete_address(k, dev.addresses[0])
    dev.has_ipv4 = False


def scope_of(address: bytes) -> int:
    """rtm_scope() as inet_set_ifa() and inetdev_up() choose it."""
    return RT_SCOPE_HOST if address[0] == 127 else RT_SCOPE_UNIVERSE
