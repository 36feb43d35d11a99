"""Routes of IPv6: which there are, and which one a packet takes.  net/ipv6/{ip6_fib,route}.c.

What Linux keeps as siblings, routes of one prefix and metric through different gateways, is one route with several ways here.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import EACCES, EAGAIN, EEXIST, EHOSTUNREACH, EINVAL, ENETDOWN, ENODEV, ENOENT, ESRCH
from arch.abi.in6 import IP6_RT_PRIO_ADDRCONF
from arch.abi.inet import IN6ADDR_ANY
from arch.abi.netlink import NLM_F_APPEND, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE
from arch.abi.rtnetlink import (
    IFA_F_DADFAILED,
    IFA_F_TENTATIVE,
    RT_TABLE_LOCAL,
    RT_TABLE_MAIN,
    RTN_ANYCAST,
    RTN_BLACKHOLE,
    RTN_LOCAL,
    RTN_MULTICAST,
    RTN_PROHIBIT,
    RTN_THROW,
    RTN_UNICAST,
    RTN_UNREACHABLE,
    RTNH_F_DEAD,
    RTNH_F_LINKDOWN,
    RTNH_F_ONLINK,
    RTPROT_KERNEL,
)
from arch.errors import KernelError
from simkernel.net.core.extack import Refusal
from simkernel.net.core.lwtstate import same_state
from simkernel.net.core.netns import Event, Net, NetDevice, Nexthop, Route, RouteTable, masked
from simkernel.net.core.nexthops import check_nexthop6
from simkernel.net.core.rules import Flow, Found, lookup, table_of
from simkernel.net.face import NetKernel
from simkernel.net.ipv6.addr import is_group, is_link_local, needs_device

BITS6 = 128
# fib6_type2err(): what a look-up of such a route says
REFUSALS = {RTN_BLACKHOLE: EINVAL, RTN_PROHIBIT: EACCES, RTN_THROW: EAGAIN, RTN_UNREACHABLE: EHOSTUNREACH}


def search(table: RouteTable, flow: Flow) -> Found | None:
    """fib6_table_lookup(): the longest prefix with a way that is there; among its routes the least metric."""
    strict = bool(flow.oif) and (needs_device(flow.destination) or flow.source == IN6ADDR_ANY or flow.scope == 1)
    for rows in table.matches(flow.destination):
        found = None
        for route in rows:
            if found is not None and route.priority > found.route.priority:
                break
            kind = RTN_BLACKHOLE if route.nh is not None and route.nh.blackhole else route.kind
            if kind in REFUSALS:
                if found is None:
                    raise KernelError(REFUSALS[kind], "the route refuses")
                break
            for way in route.nexthops:
                if way.flags & RTNH_F_DEAD or (way.dev is not None and not way.dev.up):
                    continue
                fits = not flow.oif or way.dev is None or way.dev.ifindex == flow.oif
                if fits or (not strict and found is None):
                    better = found is None or (flow.oif and found.nexthop is not None and found.nexthop.dev is not None and found.nexthop.dev.ifindex != flow.oif)  # fmt: skip
                    found = Found(route, way, table) if better else found
        if found is not None:
            return found
    return None


def fib6_lookup(net: Net, flow: Flow) -> Found:
    """ENETUNREACH, or what the route or rule says."""
    return lookup(net, net.ipv6, flow, search)


def local_device(net: Net, address: bytes, dev: NetDevice | None = None) -> NetDevice | None:
    """ipv6_chk_addr(): the device that has this address, and may use it."""
    if address not in net.ipv6.local:
        return None
    from_ = [dev] if dev is not None else [d for _, d in sorted(net.devices.items())]
    for each in from_:
        if any(a.local == address and not a.flags & TENTATIVE for a in each.addresses6):
            return each
    return None


TENTATIVE = IFA_F_TENTATIVE | IFA_F_DADFAILED


def is_local(net: Net, address: bytes) -> bool:
    """Is it one of this namespace's own addresses?"""
    return local_device(net, address) is not None


# -- making routes -----------------------------------------------------------------------------------------------------


def check_way(net: Net, route: Route, way: Nexthop) -> None:
    """fib6_nh_init(), ip6_validate_gw().  EINVAL, ENODEV, ENETDOWN, EHOSTUNREACH."""
    if way.gateway is not None:
        _check_gateway(net, route, way)
    if way.dev is None:
        raise Refusal(ENODEV, "")
    if not way.dev.has_ipv6 or way.dev.conf["ipv6"]["disable_ipv6"]:
        raise Refusal(EACCES, "IPv6 is disabled on nexthop device")
    if not way.dev.up:
        raise Refusal(ENETDOWN, "Nexthop device is not up")
    if not way.dev.carrier:
        way.flags |= RTNH_F_LINKDOWN
    way.make_tunnel()


def _check_gateway(net: Net, route: Route, way: Nexthop) -> None:
    gateway = way.gateway
    assert gateway is not None
    if is_local(net, gateway) and (way.dev is None or local_device(net, gateway, way.dev) is not None):
        raise Refusal(EINVAL, "Gateway can not be a local address")
    if is_link_local(gateway):
        if way.dev is None:
            raise Refusal(EINVAL, "Egress device not specified")
        return
    if is_group(gateway):
        raise Refusal(EINVAL, "Invalid gateway address")
    if way.flags & RTNH_F_ONLINK:
        if way.dev is None:
            raise Refusal(EINVAL, "Nexthop device required for onlink")
        return
    found, table = None, net.ipv6.tables.get(route.table)
    flow = Flow(gateway, IN6ADDR_ANY, way.dev.ifindex if way.dev is not None else 0)
    try:
        if table is not None and route.table:
            found = search(table, flow)
        if found is None or found.nexthop is None or found.nexthop.gateway is not None:
            found = fib6_lookup(net, flow)
    except KernelError as error:
        raise KernelError(EHOSTUNREACH) from error
    if found.nexthop is None or found.nexthop.gateway is not None:
        raise KernelError(EHOSTUNREACH)
    way.dev = way.dev or found.nexthop.dev


def _can_ecmp(route: Route) -> bool:
    """rt6_qualify_for_ecmp()."""
    return route.nh is None and route.kind == RTN_UNICAST and all(way.gateway is not None for way in route.nexthops)


def _shares_way(a: Route, b: Route) -> bool:
    """rt6_duplicate_nexthop(), of each."""
    if a.nh is not None or b.nh is not None:
        return a.nh is b.nh
    return any(
        v.dev is w.dev and v.gateway == w.gateway and same_state(v.lwt, w.lwt) for v in a.nexthops for w in b.nexthops
    )


def insert(k: NetKernel, net: Net, route: Route, flags: int) -> None:
    """fib6_add(): a new route, by the flags of the request.  EINVAL, EEXIST, ENOENT and those of its ways."""
    if route.nh is not None:
        check_nexthop6(route.nh)
        route.nexthops = route.nh.ways
    elif route.kind in REFUSALS:
        route.nexthops = [Nexthop(net.loopback)]
    for way in route.nexthops if route.nh is None else ():
        if route.protocol != RTPROT_KERNEL and route.kind not in REFUSALS:
            check_way(net, route, way)
    table = table_of(net.ipv6, route.table)
    rows = list(table.at(route.dst, route.prefix))
    told, ecmp = NLM_F_CREATE | NLM_F_EXCL | flags & NLM_F_APPEND, _can_ecmp(route)
    for index, old in enumerate(rows):
        if old.priority != route.priority:
            continue
        if flags & NLM_F_EXCL:
            raise KernelError(EEXIST)
        told &= ~NLM_F_EXCL
        if flags & NLM_F_REPLACE:
            if ecmp == _can_ecmp(old):
                table.remove(old)
                table.insert(route, index)
                net.ipv6.changed()
                k.net.announce.route(net, route, flags=NLM_F_REPLACE)
                return
            continue
        if _shares_way(route, old):
            raise KernelError(EEXIST)
        if ecmp and _can_ecmp(old):
            old.nexthops += route.nexthops
            net.ipv6.changed()
            k.net.announce.route(net, old, flags=NLM_F_CREATE | NLM_F_APPEND)
            return
    if not flags & NLM_F_CREATE and flags & NLM_F_REPLACE:
        raise KernelError(ENOENT)
    position = next((i for i, r in enumerate(rows) if r.priority > route.priority), len(rows))
    table.insert(route, position)
    net.ipv6.changed()
    k.net.announce.route(net, route, flags=told)


def delete(k: NetKernel, net: Net, wanted: Route) -> None:
    """ip6_route_del(): the first one that is as it is said; what is not said may be anything.  ESRCH."""
    table = net.ipv6.tables.get(wanted.table)
    if table is None:
        raise Refusal(ESRCH, "FIB table does not exist")
    said = wanted.nexthops[0] if wanted.nexthops else Nexthop(None)
    for route in table.at(wanted.dst, wanted.prefix):
        if (wanted.priority and route.priority != wanted.priority) or (wanted.protocol and route.protocol != wanted.protocol):  # fmt: skip
            continue
        if wanted.kind and wanted.kind != route.kind:
            continue
        if route.nh is not None:
            if wanted.nh is None or wanted.nh is route.nh:
                remove(k, net, table, route)
                return
            continue
        ways = [
            way for way in route.nexthops
            if said.dev in (None, way.dev) and said.gateway in (None, way.gateway)
        ]  # fmt: skip
        if not ways:
            continue
        if said.gateway is not None and len(route.nexthops) > 1:
            route.nexthops.remove(ways[0])
            ways[0].drop_tunnel()
            net.ipv6.changed()
            gone = Route(route.dst, route.prefix, route.table, route.kind, protocol=route.protocol, priority=route.priority, nexthops=ways[:1])  # fmt: skip
            k.net.announce.route(net, gone, gone=True)
            return
        remove(k, net, table, route)
        return
    if (
        not wanted.prefix
        and not table.at(wanted.dst, 0)
        and not (said.dev or said.gateway or wanted.priority or wanted.protocol)
    ):
        raise KernelError(ENOENT)  # fib6_null_entry, at the root of every table
    raise KernelError(ESRCH)


def remove(
    k: NetKernel, net: Net, table: RouteTable, route: Route, quiet: bool = False, mine: bool = True
) -> None:  # fmt: skip
    """fib6_del()."""
    table.remove(route)
    net.ipv6.changed()
    if not quiet:
        k.net.announce.route(net, route, gone=True, mine=mine)


def in_order(table: RouteTable) -> list[Route]:
    """fib6_walk(): what lies in a prefix before it."""
    rows = [
        (((key + 1) << BITS6 - length) - 1, -length, routes)
        for length, by in table.by_length.items() for key, routes in by.items()
    ]  # fmt: skip
    return [route for _, _, routes in sorted(rows, key=lambda row: row[:2]) for route in routes]


# -- what addresses and devices bring ----------------------------------------------------------------------------------


def add_local(k: NetKernel, dev: NetDevice, address: bytes, kind: int = RTN_LOCAL) -> None:
    """addrconf_f6i_alloc(), ip6_ins_rt()."""
    _add(k, dev, Route(address, BITS6, RT_TABLE_LOCAL, kind, protocol=RTPROT_KERNEL, nexthops=[Nexthop(dev)]))


def add_prefix(k: NetKernel, dev: NetDevice, address: bytes, prefix: int, metric: int = 0) -> None:
    """addrconf_prefix_route()."""
    priority = metric or IP6_RT_PRIO_ADDRCONF
    route = Route(
        masked(address, prefix), prefix, RT_TABLE_MAIN, RTN_UNICAST, protocol=RTPROT_KERNEL, priority=priority
    )
    route.nexthops = [Nexthop(dev)]
    _add(k, dev, route)


def add_groups(k: NetKernel, dev: NetDevice) -> None:
    """addrconf_add_mroute()."""
    dst = b"\xff" + bytes(15)
    route = Route(dst, 8, RT_TABLE_LOCAL, RTN_MULTICAST, protocol=RTPROT_KERNEL, priority=IP6_RT_PRIO_ADDRCONF)
    route.nexthops = [Nexthop(dev)]
    _add(k, dev, route)


def _add(k: NetKernel, dev: NetDevice, route: Route) -> None:
    """What is wrong with it nobody hears."""
    rows = table_of(dev.net.ipv6, route.table).at(route.dst, route.prefix)
    if not any(old.priority == route.priority and old.dev is dev for old in rows):
        insert(k, dev.net, route, NLM_F_CREATE)


def drop(k: NetKernel, dev: NetDevice, number: int, dst: bytes, prefix: int, kinds: tuple[int, ...]) -> None:
    """The kernel's own route to a prefix through a device, if there is one."""
    table = dev.net.ipv6.tables.get(number)
    for route in list(table.at(dst, prefix)) if table is not None else ():
        if route.dev is dev and route.kind in kinds and route.protocol == RTPROT_KERNEL:
            assert table is not None
            remove(k, dev.net, table, route)


def drop_local(k: NetKernel, dev: NetDevice, address: bytes) -> None:
    """ip6_del_rt() of an address."""
    drop(k, dev, RT_TABLE_LOCAL, address, BITS6, (RTN_LOCAL, RTN_ANYCAST))


def flush(k: NetKernel, net: Net, dead: Callable[[Route, Nexthop], bool]) -> None:
    """rt6_sync_down_dev(), fib6_clean_all(): ways that are of no use go; who listens hears of whole routes."""
    for table in net.ipv6.in_order():
        for route in in_order(table):
            if route.kind in REFUSALS or route.nh is not None:  # which goes with its object
                continue
            route_ways = [way for way in route.nexthops if not dead(route, way)]
            if not route_ways:
                remove(k, net, table, route, bool(net.sysctl["ipv6.route.skip_notify_on_dev_down"]), mine=False)
            else:
                for way in route.nexthops:
                    if way not in route_ways:
                        way.drop_tunnel()
            route.nexthops = route_ways or route.nexthops
    net.ipv6.changed()


def device_down(k: NetKernel, dev: NetDevice, event: Event) -> None:
    """rt6_disable_ip()."""
    flush(k, dev.net, lambda route, way: way.dev is dev)
