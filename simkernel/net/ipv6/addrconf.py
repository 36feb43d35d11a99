"""IPv6 addresses of devices: made, tried, used and taken away.  net/ipv6/addrconf.c.

An address is tried (duplicate address detection) before it is used: a random part of a second, one question, a second of silence.
Routers are not asked for (no router solicitations), so addresses are link-local ones and those that user space gives.
"""

from __future__ import annotations

from arch.abi.errno import EACCES, EADDRNOTAVAIL, EEXIST
from arch.abi.in6 import IPV6_MIN_MTU
from arch.abi.inet import ARPHRD_NONE, ARPHRD_SIT, IFF_NOARP, IN6ADDR_ANY, IN6ADDR_LOOPBACK, INADDR_ANY
from arch.abi.kern_levels import KERN_INFO
from arch.abi.rtnetlink import (
    IFA_F_DADFAILED,
    IFA_F_NODAD,
    IFA_F_NOPREFIXROUTE,
    IFA_F_OPTIMISTIC,
    IFA_F_PERMANENT,
    IFA_F_TENTATIVE,
    RT_SCOPE_LINK,
    RT_TABLE_MAIN,
    RTN_ANYCAST,
    RTN_UNICAST,
)
from arch.abi.time import NSEC_PER_SEC
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core import lifetime
from simkernel.net.core.conf import new_conf
from simkernel.net.core.extack import Refusal
from simkernel.net.core.netns import Event, Ifaddr, NetDevice, in_prefix, masked
from simkernel.net.face import NetKernel
from simkernel.net.ipv6 import ip6_fib, mcast
from simkernel.net.ipv6.addr import (
    ALL_NODES,
    ALL_NODES_HERE,
    ALL_ROUTERS,
    LINK_LOCAL,
    eui64,
    is_group,
    is_link_local,
    isatap_identifier,
    rt_scope,
    scope,
    solicited,
    text,
)

ADDR_GEN_EUI64, ADDR_GEN_NONE = 0, 1


def _own_test(dev: NetDevice, address: Ifaddr) -> bool:
    """Is an address tried on such a device?"""
    accept = max(dev.conf["ipv6"]["accept_dad"], dev.net.conf_all["ipv6"]["accept_dad"])
    return not (dev.flags & IFF_NOARP or dev.loopback or accept < 1 or address.flags & IFA_F_NODAD)


def add_address(k: NetKernel, new: Ifaddr) -> None:
    """ipv6_add_addr(): onto the device's list, by scope.  EADDRNOTAVAIL, EEXIST, EACCES."""
    dev, local = new.dev, new.local
    wrong = local == IN6ADDR_ANY or is_group(local) or (local == IN6ADDR_LOOPBACK and not dev.loopback)
    if wrong:
        raise Refusal(EADDRNOTAVAIL, "Cannot assign requested address" if k.version.at_least("6.8") else "")
    if dev.conf["ipv6"]["disable_ipv6"]:
        raise Refusal(EACCES, "IPv6 is disabled on this device" if k.version.at_least("6.8") else "")
    if any(a.local == local for a in dev.addresses6):
        raise Refusal(EEXIST, "address already assigned" if k.version.at_least("6.8") else "")
    if not new.flags & IFA_F_NODAD:
        new.flags |= IFA_F_TENTATIVE
    new.scope = rt_scope(local)
    new.created_ns = new.updated_ns = k.clock.now_ns
    at = next((i for i, a in enumerate(dev.addresses6) if scope(local) >= scope(a.local)), len(dev.addresses6))
    dev.addresses6.insert(at, new)
    dev.net.ipv6.local[local] += 1
    dev.net.ipv6.changed()


def configure(k: NetKernel, new: Ifaddr) -> None:
    """inet6_addr_add(): an address of user space, with its route, to be tried."""
    add_address(k, new)
    if not new.flags & IFA_F_NOPREFIXROUTE and new.dev.up:
        ip6_fib.add_prefix(k, new.dev, new.local, new.prefix, new.metric)
    k.net.announce.address(new.dev.net, new)
    start_dad(k, new)


def start_dad(k: NetKernel, address: Ifaddr) -> None:
    """addrconf_dad_begin(): at once where nobody could have it, else when the link is ready."""
    dev = address.dev
    if not dev.loopback and not dev.flags & IFF_NOARP:
        mcast.join(k, dev, solicited(address.local))
    if not _own_test(dev, address) or not address.flags & IFA_F_TENTATIVE:
        address.flags &= ~(IFA_F_TENTATIVE | IFA_F_OPTIMISTIC | IFA_F_DADFAILED)
        completed(k, address)
    elif dev.ready6:
        _kick(k, address)


def _kick(k: NetKernel, address: Ifaddr) -> None:
    """addrconf_dad_kick()."""
    address.probes = address.dev.conf["ipv6"]["dad_transmits"]
    delay = k.net.own_random.randrange(NSEC_PER_SEC)
    lifetime.arm(k, address, "addrconf_dad_work", k.clock.now_ns + delay)


def completed(k: NetKernel, address: Ifaddr) -> None:
    """addrconf_dad_completed(), __ipv6_ifa_notify(RTM_NEWADDR)."""
    dev = address.dev
    k.net.announce.address(dev.net, address)
    ip6_fib.add_local(k, dev, address.local)
    if dev.conf["ipv6"]["forwarding"] and address.prefix < 127:
        ip6_fib.add_local(k, dev, masked(address.local, address.prefix), kind=RTN_ANYCAST)
    if address.address not in (IN6ADDR_ANY, address.local):
        ip6_fib.add_prefix(k, dev, address.address, 128, address.metric)
    dev.net.ipv6.changed()
    arm_lifetime(k, address)


def dad_failure(k: NetKernel, address: Ifaddr) -> None:
    """addrconf_dad_failure(): somebody has it."""
    dev = address.dev
    lifetime.forget(k, address)
    k.printk(
        f"IPv6: {dev.name}: IPv6 duplicate address {text(address.local)} used by another station detected!", KERN_INFO
    )
    if address.flags & IFA_F_PERMANENT:
        address.flags |= IFA_F_TENTATIVE | IFA_F_DADFAILED
        k.net.announce.address(dev.net, address)
    else:
        delete_address(k, address)


# -- the end -----------------------------------------------------------------------------------------------------------


def delete_address(k: NetKernel, old: Ifaddr) -> None:
    """ipv6_del_addr(): its prefix's route goes with the last address of that prefix."""
    dev = old.dev
    dev.addresses6.remove(old)
    _unlist(k, old)
    same = any(a.prefix == old.prefix and in_prefix(a.local, old.local, a.prefix) and a.flags & IFA_F_PERMANENT for a in dev.addresses6)  # fmt: skip
    _unroute(k, old)
    if old.flags & IFA_F_PERMANENT and not old.flags & IFA_F_NOPREFIXROUTE and not same:
        ip6_fib.drop(k, dev, RT_TABLE_MAIN, masked(old.local, old.prefix), old.prefix, (RTN_UNICAST,))


def _unlist(k: NetKernel, old: Ifaddr) -> None:
    net = old.dev.net
    net.ipv6.local[old.local] -= 1
    if net.ipv6.local[old.local] <= 0:
        del net.ipv6.local[old.local]
    lifetime.forget(k, old)
    net.ipv6.changed()


def _unroute(k: NetKernel, old: Ifaddr) -> None:
    """__ipv6_ifa_notify(RTM_DELADDR)."""
    dev = old.dev
    k.net.announce.address(dev.net, old, gone=True)
    if not dev.loopback and not dev.flags & IFF_NOARP:
        mcast.leave(k, dev, solicited(old.local))
    if old.address not in (IN6ADDR_ANY, old.local):
        ip6_fib.drop(k, dev, RT_TABLE_MAIN, old.address, 128, (RTN_UNICAST,))
    ip6_fib.drop_local(k, dev, old.local)


def arm_lifetime(k: NetKernel, address: Ifaddr) -> None:
    """addrconf_verify_work() comes when something of it ends."""
    if not address.flags & IFA_F_TENTATIVE:
        lifetime.arm_next(k, address, "addrconf_verify_work")


@kernel_function("void addrconf_verify_work(struct work_struct *w)", source="net/ipv6/addrconf.c", since="3.16")
def addrconf_verify_work(k: NetKernel, w: int) -> int:
    """An address is deprecated, or its time is over."""
    address = lifetime.ended(k, w, delete_address)
    if address is not None:
        arm_lifetime(k, address)
    return 0


# -- devices -----------------------------------------------------------------------------------------------------------


def netdev_event(k: NetKernel, dev: NetDevice, event: Event) -> None:
    """addrconf_notify()."""
    if event is Event.REGISTER:
        dev.conf["ipv6"], dev.neigh_conf["ipv6"] = new_conf(dev.net, "ipv6")
        if dev.mtu >= IPV6_MIN_MTU:
            _attach(k, dev)
    elif event is Event.CHANGEMTU:
        _mtu_changed(k, dev)
    elif not dev.has_ipv6:
        return
    elif event is Event.UP or (event is Event.CHANGE and dev.carrier and dev.up and not dev.ready6):
        _link_up(k, dev, event)
    elif event is Event.DOWN:
        _link_down(k, dev)
    elif event is Event.UNREGISTER:
        detach(k, dev)


def _mtu_changed(k: NetKernel, dev: NetDevice) -> None:
    if dev.has_ipv6 and dev.mtu < IPV6_MIN_MTU:
        if dev.loopback:  # addrconf_ifdown(dev, dev != net->loopback_dev)
            _link_down(k, dev)
        else:
            detach(k, dev)
    elif not dev.has_ipv6 and dev.mtu >= IPV6_MIN_MTU:
        _attach(k, dev)
        if dev.up:
            _link_up(k, dev, Event.UP)
    if dev.has_ipv6:
        dev.conf["ipv6"]["mtu"] = dev.mtu
    dev.net.ipv6.changed()


def _attach(k: NetKernel, dev: NetDevice) -> None:
    """ipv6_add_dev()."""
    dev.has_ipv6 = True
    dev.conf["ipv6"]["mtu"] = dev.mtu
    if dev.loopback:
        dev.conf["ipv6"]["accept_dad"] = dev.conf["ipv6"]["use_tempaddr"] = -1
    mcast.join(k, dev, ALL_NODES_HERE)
    mcast.join(k, dev, ALL_NODES)
    if dev.conf["ipv6"]["forwarding"]:
        mcast.join(k, dev, ALL_ROUTERS)


def _link_up(k: NetKernel, dev: NetDevice, event: Event) -> None:
    """Addresses that a ready link gets, and those that waited for it."""
    if dev.conf["ipv6"]["disable_ipv6"]:
        return
    if event is Event.UP:
        mcast.up(dev)
        if dev.conf["ipv6"]["mtu"] != dev.mtu:
            dev.conf["ipv6"]["mtu"] = dev.mtu
    if not dev.carrier:
        return
    dev.ready6 = True
    if dev.loopback:
        if not any(a.local == IN6ADDR_LOOPBACK for a in dev.addresses6):
            own = Ifaddr(dev, IN6ADDR_LOOPBACK, 128, IN6ADDR_LOOPBACK, 254, IFA_F_PERMANENT)
            add_address(k, own)
            start_dad(k, own)
        if dev.mtu < IPV6_MIN_MTU:
            _link_down(k, dev)
        return
    ip6_fib.add_groups(k, dev)
    for address in list(dev.addresses6):
        if not address.flags & IFA_F_NOPREFIXROUTE:
            ip6_fib.add_prefix(k, dev, address.local, address.prefix, address.metric)
        if address.flags & IFA_F_TENTATIVE and not address.flags & IFA_F_DADFAILED and not address.timer:
            if _own_test(dev, address):
                _kick(k, address)
    if dev.conf["ipv6"]["addr_gen_mode"] == ADDR_GEN_EUI64:
        _add_link_local(k, dev)


def _identifier(k: NetKernel, dev: NetDevice) -> bytes | None:
    """ipv6_generate_eui64(), add_v4_addrs(), or at random where a link has nothing of its own."""
    if dev.hardware_type == ARPHRD_NONE:
        return k.net.own_random.randbytes(8)
    if dev.ethernet:
        return eui64(dev.mac)
    if dev.mac == INADDR_ANY:
        return None
    if dev.hardware_type == ARPHRD_SIT:
        return bytes(4) + dev.mac
    return isatap_identifier(dev.mac)


def _add_link_local(k: NetKernel, dev: NetDevice) -> None:
    """addrconf_add_linklocal()."""
    identifier = _identifier(k, dev)
    if identifier is None:
        return
    local = LINK_LOCAL[:8] + identifier
    if any(a.local == local for a in dev.addresses6):
        return
    own = Ifaddr(dev, local, 64, local, RT_SCOPE_LINK, IFA_F_PERMANENT)
    add_address(k, own)
    ip6_fib.add_prefix(k, dev, local, 64)
    start_dad(k, own)


def _link_down(k: NetKernel, dev: NetDevice, unregister: bool = False) -> None:
    """addrconf_ifdown(): addresses go, unless they are to be kept."""
    ip6_fib.device_down(k, dev, Event.DOWN)
    dev.ready6 = False
    keep = dev.conf["ipv6"]["keep_addr_on_down"] and not unregister
    for old in list(dev.addresses6):
        if keep and old.flags & IFA_F_PERMANENT and not is_link_local(old.local):
            lifetime.forget(k, old)
            old.flags |= 0 if old.flags & IFA_F_NODAD else IFA_F_TENTATIVE
            continue
        dev.addresses6.remove(old)
        _unlist(k, old)
        _unroute(k, old)
    mcast.down(dev)


def detach(k: NetKernel, dev: NetDevice) -> None:
    """addrconf_ifdown() for good, mld_clear(): without its inet6_dev."""
    _link_down(k, dev, unregister=True)
    for group in mcast.groups(dev):
        del dev.groups[group]
    dev.has_ipv6 = False


def disable_ipv6(k: NetKernel, dev: NetDevice, off: bool) -> None:
    """dev_disable_change()."""
    if not dev.has_ipv6:
        return
    if off:
        _link_down(k, dev)
    elif dev.up:
        _link_up(k, dev, Event.UP)
