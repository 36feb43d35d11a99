"""Routes of IPv4: which there are, and which one a packet takes.  net/ipv4/fib_trie.c, fib_semantics.c, fib_frontend.c.

The tables are prefixes in dictionaries instead of a trie; who comes first among equals is as there.
"""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import EACCES, EAGAIN, EEXIST, EHOSTUNREACH, EINVAL, ENETDOWN, ENODEV, ENOENT, ESRCH
from arch.abi.inet import INADDR_ANY
from arch.abi.netlink import NLM_F_APPEND, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REPLACE
from arch.abi.rtnetlink import (
    IFA_F_NOPREFIXROUTE,
    IFA_F_SECONDARY,
    RT_SCOPE_HOST,
    RT_SCOPE_LINK,
    RT_SCOPE_NOWHERE,
    RT_SCOPE_UNIVERSE,
    RT_TABLE_LOCAL,
    RT_TABLE_MAIN,
    RTN_ANYCAST,
    RTN_BLACKHOLE,
    RTN_BROADCAST,
    RTN_LOCAL,
    RTN_MAX,
    RTN_MULTICAST,
    RTN_NAT,
    RTN_PROHIBIT,
    RTN_THROW,
    RTN_UNICAST,
    RTN_UNREACHABLE,
    RTN_UNSPEC,
    RTN_XRESOLVE,
    RTNH_F_DEAD,
    RTNH_F_LINKDOWN,
    RTNH_F_ONLINK,
    RTPROT_KERNEL,
)
from arch.errors import KernelError
from simkernel.net.core.extack import Refusal
from simkernel.net.core.lwtstate import same_state
from simkernel.net.core.netns import Event, Ifaddr, Net, NetDevice, Nexthop, Route, RouteTable, in_prefix, masked
from simkernel.net.core.nexthops import check_nexthop as check_nexthop_object
from simkernel.net.core.rules import Flow, Found, lookup, table_of
from simkernel.net.face import NetKernel

# fib_props[]: what a lookup of such a route says, and the least scope that one may have
PROPS = {
    RTN_UNSPEC: (0, RT_SCOPE_NOWHERE), RTN_UNICAST: (0, RT_SCOPE_UNIVERSE), RTN_LOCAL: (0, RT_SCOPE_HOST),
    RTN_BROADCAST: (0, RT_SCOPE_LINK), RTN_ANYCAST: (0, RT_SCOPE_LINK), RTN_MULTICAST: (0, RT_SCOPE_UNIVERSE),
    RTN_BLACKHOLE: (EINVAL, RT_SCOPE_UNIVERSE), RTN_UNREACHABLE: (EHOSTUNREACH, RT_SCOPE_UNIVERSE),
    RTN_PROHIBIT: (EACCES, RT_SCOPE_UNIVERSE), RTN_THROW: (EAGAIN, RT_SCOPE_UNIVERSE),
    RTN_NAT: (EINVAL, RT_SCOPE_NOWHERE), RTN_XRESOLVE: (EINVAL, RT_SCOPE_NOWHERE),
}  # fmt: skip
BITS = 32


def is_zeronet(address: bytes) -> bool:
    """ipv4_is_zeronet()."""
    return address[0] == 0


def is_multicast(address: bytes) -> bool:
    """ipv4_is_multicast()."""
    return 224 <= address[0] <= 239


# -- looking up --------------------------------------------------------------------------------------------------------


def search(table: RouteTable, flow: Flow) -> Found | None:
    """fib_table_lookup(): the longest prefix with a way that is there."""
    found = _search(table, flow)
    if found is not None or not table.shared:  # else the main table, which is looked into next, counts it
        _count(table, flow.destination, found.route if found is not None else None)
    return found


def _count(table: RouteTable, address: bytes, found: Route | None) -> None:
    """What /proc/net/fib_triestat tells of a look-up."""
    if table.trie is not None:
        key = int.from_bytes(address, "big")
        table.trie.count(key, None if found is None else (int.from_bytes(found.dst, "big"), found.prefix))


def _search(table: RouteTable, flow: Flow) -> Found | None:
    for rows in table.matches(flow.destination):
        for route in rows:
            if (route.tos and route.tos != flow.tos) or route.scope < flow.scope:
                continue
            error = PROPS[route.kind][0]
            if error or (route.nh is not None and route.nh.blackhole):
                error = error or PROPS[RTN_BLACKHOLE][0]
                raise KernelError(error, "the route refuses")
            for way in route.nexthops:
                if way.flags & RTNH_F_DEAD or (flow.oif and way.dev is not None and way.dev.ifindex != flow.oif):
                    continue
                if way.flags & RTNH_F_LINKDOWN and way.dev is not None and _ignores_linkdown(way.dev):
                    continue
                return Found(route, way, table)
    return None


def _ignores_linkdown(dev: NetDevice) -> bool:
    return bool(dev.conf["ipv4"].get("ignore_routes_with_linkdown"))


def fib_lookup(net: Net, flow: Flow) -> Found:
    """ENETUNREACH, or what the route or rule says."""
    return lookup(net, net.ipv4, flow, search)


def address_type(net: Net, address: bytes, dev: NetDevice | None = None) -> int:
    """inet_addr_type(), inet_dev_addr_type(): what the local table says of an address."""
    if is_zeronet(address) or address == b"\xff\xff\xff\xff":
        return RTN_BROADCAST
    if is_multicast(address):
        return RTN_MULTICAST
    table = net.ipv4.tables.get(RT_TABLE_LOCAL)
    if table is not None:
        for rows in table.matches(address):
            for route in rows:
                if dev is None or route.dev is dev:
                    _count(table, address, route)
                    return route.kind
    return RTN_UNICAST


def is_local(net: Net, address: bytes) -> bool:
    """Is it one of this namespace's own addresses?"""
    return address_type(net, address) == RTN_LOCAL


# -- making routes -----------------------------------------------------------------------------------------------------


def check_nexthop(net: Net, way: Nexthop, table: int, scope: int) -> None:
    """fib_check_nh(): is there such a way?  Fills its device and scope.  EINVAL, ENODEV, ENETDOWN, ENETUNREACH."""
    if way.gateway is None or way.gateway == INADDR_ANY:
        if way.flags & RTNH_F_ONLINK:
            raise Refusal(EINVAL, "Invalid flags for nexthop - PERVASIVE and ONLINK can not be set")
        if way.dev is None:
            raise KernelError(ENODEV, "no device")
        if not way.dev.up:
            raise Refusal(ENETDOWN, "Device for nexthop is not up")
        way.scope = RT_SCOPE_HOST
    elif len(way.gateway) == 16:
        if way.dev is None:
            raise Refusal(EINVAL, "IPv6 gateway needs a device")
        way.scope = RT_SCOPE_LINK
    else:
        _check_gateway(net, way, table, scope)
    if way.dev is not None and not way.dev.carrier:
        way.flags |= RTNH_F_LINKDOWN


def _check_gateway(net: Net, way: Nexthop, table: int, scope: int) -> None:
    """fib_check_nh_v4_gw()."""
    gateway = way.gateway
    assert gateway is not None
    if way.flags & RTNH_F_ONLINK:
        if scope >= RT_SCOPE_LINK:
            raise Refusal(EINVAL, "Nexthop has invalid scope")
        if way.dev is None:
            raise Refusal(ENODEV, "Nexthop device required for onlink")
        if not way.dev.up:
            raise Refusal(ENETDOWN, "Nexthop device is not up")
        if address_type(net, gateway, way.dev) != RTN_UNICAST:
            raise Refusal(EINVAL, "Nexthop has invalid gateway")
        way.scope = RT_SCOPE_LINK
        return
    flow = Flow(gateway, INADDR_ANY, way.dev.ifindex if way.dev else 0, scope=max(scope + 1, RT_SCOPE_LINK))
    found = None
    other, local = net.ipv4.tables.get(table), net.ipv4.tables.get(RT_TABLE_LOCAL)
    if table and other is not None:
        found = search(other, flow)
        own = search(local, flow) if table == RT_TABLE_MAIN and local is not None and local.shared else None
        if own is not None and (found is None or own.route.prefix > found.route.prefix):  # one trie has both
            found = own
        if found is not None and found.route.kind not in (RTN_UNICAST, RTN_LOCAL):
            found = None
    if found is None:
        try:
            found = fib_lookup(net, flow)
        except KernelError as error:
            raise Refusal(error.errno, "Nexthop has invalid gateway") from None
    if found.route.kind not in (RTN_UNICAST, RTN_LOCAL):
        raise Refusal(EINVAL, "Nexthop has invalid gateway")
    way.scope = found.route.scope
    way.dev = found.nexthop.dev if found.nexthop is not None else None
    if way.dev is None:
        raise Refusal(EINVAL, "No egress device for nexthop gateway")
    if not way.dev.up:
        raise Refusal(ENETDOWN, "Nexthop device is not up")


def check_route(net: Net, route: Route) -> None:
    """fib_create_info()."""
    if route.nh is not None:
        route.nexthops = route.nh.ways
    if route.kind > RTN_MAX:
        raise Refusal(EINVAL, "Invalid route type")
    if PROPS[route.kind][1] > route.scope:
        raise Refusal(EINVAL, "Invalid scope")
    if PROPS[route.kind][0]:
        if route.nh is None and any(way.dev is not None or way.gateway is not None for way in route.nexthops):
            raise Refusal(EINVAL, "Gateway, device and multipath can not be specified for this route type")
        route.nexthops = route.nh.ways if route.nh is not None else []
        return
    if route.kind not in (RTN_UNICAST, RTN_LOCAL, RTN_BROADCAST, RTN_ANYCAST, RTN_MULTICAST):
        raise Refusal(EINVAL, "Invalid route type")
    if route.scope > RT_SCOPE_HOST:
        raise Refusal(EINVAL, "Invalid scope")
    if route.nh is not None:
        check_nexthop_object(route.nh, route.scope)
    elif route.scope == RT_SCOPE_HOST:
        if len(route.nexthops) != 1:
            raise Refusal(EINVAL, "Route with host scope can not have multiple nexthops")
        way = route.nexthops[0]
        if way.gateway is not None:
            raise Refusal(EINVAL, "Route with host scope can not have a gateway")
        way.scope = RT_SCOPE_NOWHERE
        if way.dev is None:
            raise KernelError(ENODEV)
    else:
        for way in route.nexthops:
            check_nexthop(net, way, route.table, route.scope)
    if route.source is not None and not _valid_source(net, route):
        raise Refusal(EINVAL, "Invalid prefsrc address")


def _valid_source(net: Net, route: Route) -> bool:
    """fib_valid_prefsrc()."""
    return (
        route.kind == RTN_LOCAL and route.dst != INADDR_ANY and route.source == route.dst
    ) or address_type(net, route.source or INADDR_ANY) == RTN_LOCAL  # fmt: skip


def _same(a: Route, b: Route) -> bool:
    """fa_type, fib_scope and fib_info are equal."""
    return (
        a.kind == b.kind and a.scope == b.scope and a.protocol == b.protocol and a.source == b.source
        and a.metrics == b.metrics and a.congestion == b.congestion and a.nh is b.nh
        and [(w.dev, w.gateway, w.weight) for w in a.nexthops] == [(w.dev, w.gateway, w.weight) for w in b.nexthops]
        and all(same_state(v.lwt, w.lwt) for v, w in zip(a.nexthops, b.nexthops))
    )  # fmt: skip


def insert(k: NetKernel, net: Net, route: Route, flags: int, mine: bool = True) -> None:
    """fib_table_insert(): a new route, by the flags of the request, if it is one's (`mine`).  EINVAL, EEXIST, ENOENT and those of its ways."""
    if route.prefix > BITS:
        raise Refusal(EINVAL, "Invalid prefix length")
    if masked(route.dst, route.prefix) != route.dst:
        raise Refusal(EINVAL, "Invalid prefix for given prefix length")
    for way in route.nexthops:
        way.make_tunnel()
    check_route(net, route)
    _share_tunnels(net, route)
    table = table_of(net.ipv4, route.table)
    rows = list(table.at(route.dst, route.prefix))
    equal = [i for i, r in enumerate(rows) if (r.tos, r.priority) == (route.tos, route.priority)]
    told = 0 if equal else NLM_F_EXCL
    if equal:
        if flags & NLM_F_EXCL:
            raise KernelError(EEXIST)
        perfect = next((i for i in equal if _same(rows[i], route)), None)
        if flags & NLM_F_REPLACE:
            old = rows[equal[0]]
            if perfect is not None:
                if perfect == equal[0]:
                    route.drop_tunnels()
                    return
                raise KernelError(EEXIST)
            table.remove(old)
            table.insert(route, equal[0])
            net.ipv4.changed()
            k.net.announce.route(net, route, flags=NLM_F_REPLACE, mine=mine)
            return
        if perfect is not None:
            raise KernelError(EEXIST)
        told = NLM_F_APPEND if flags & NLM_F_APPEND else 0
    if not flags & NLM_F_CREATE:
        raise KernelError(ENOENT)
    if equal:
        position = equal[-1] + 1 if flags & NLM_F_APPEND else equal[0]
    else:
        wanted = (-route.tos, route.priority)
        position = next((i for i, r in enumerate(rows) if (-r.tos, r.priority) > wanted), len(rows))
    table.insert(route, position)
    net.ipv4.changed()
    k.net.announce.route(net, route, flags=told | NLM_F_CREATE, mine=mine)


def _share_tunnels(net: Net, route: Route) -> None:
    """fib_find_info(): a route like another one takes that one's ways, with the programs that those have."""
    if route.nh is not None or all(way.lwt is None for way in route.nexthops):
        return
    for table in net.ipv4.tables.values():
        for other in table.routes():
            if other.priority == route.priority and other.table == route.table and _same(other, route):
                for way, kept in zip(route.nexthops, other.nexthops):
                    way.drop_tunnel()
                    if kept.lwt is not None:
                        kept.lwt.uses += 1
                    way.lwt = kept.lwt
                return


def delete(k: NetKernel, net: Net, wanted: Route, any_scope: bool = False, mine: bool = True) -> None:
    """fib_table_delete(): the first one that is as it is said; what is not said may be anything.  EINVAL, ESRCH."""
    if wanted.prefix > BITS or masked(wanted.dst, wanted.prefix) != wanted.dst:
        raise Refusal(EINVAL, "Invalid prefix for given prefix length")
    table = net.ipv4.tables.get(wanted.table)
    if table is None:
        raise Refusal(ESRCH, "FIB table does not exist")
    for route in table.at(wanted.dst, wanted.prefix):
        if route.tos == wanted.tos and _as_said(route, wanted, any_scope):
            remove(k, net, table, route)
            k.net.announce.route(net, route, gone=True, mine=mine)
            return
    raise KernelError(ESRCH)


def _as_said(route: Route, wanted: Route, any_scope: bool) -> bool:
    """fib_nh_match() and what else is compared."""
    if (wanted.kind and route.kind != wanted.kind) or (not any_scope and wanted.scope != RT_SCOPE_NOWHERE and route.scope != wanted.scope):  # fmt: skip
        return False
    if (wanted.source is not None and route.source != wanted.source) or (wanted.protocol and route.protocol != wanted.protocol):  # fmt: skip
        return False
    if wanted.priority and route.priority != wanted.priority:
        return False
    if wanted.nh is not None or route.nh is not None:
        return wanted.nh is route.nh or (wanted.nh is None and not wanted.nexthops)
    if wanted.nexthops and len(wanted.nexthops) != len(route.nexthops) and len(wanted.nexthops) > 1:
        return False
    for way, other in zip(wanted.nexthops, route.nexthops):
        if (way.dev is not None and way.dev is not other.dev) or (way.gateway is not None and way.gateway != other.gateway):  # fmt: skip
            return False
        if way.wanted is not None and not _same_tunnel(way, other):
            return False
    return all(route.metrics.get(key) == value for key, value in wanted.metrics.items())


def _same_tunnel(wanted: Nexthop, other: Nexthop) -> bool:
    """fib_encap_match(): the one that is asked for is made to be compared; if that fails, it is taken to be the same."""
    assert wanted.wanted is not None
    try:
        made = wanted.wanted()
    except KernelError:
        return True
    same = same_state(made, other.lwt)
    made.put()
    return same


def remove(k: NetKernel, net: Net, table: RouteTable, route: Route) -> None:
    """It is off the table."""
    table.remove(route)
    net.ipv4.changed()


# -- what devices and addresses bring ----------------------------------------------------------------------------------


def magic(k: NetKernel, add: bool, kind: int, dst: bytes, prefix: int, address: Ifaddr, metric: int = 0) -> None:
    """fib_magic(): a route that an address makes; what is wrong with it nobody hears."""
    net = address.dev.net
    table = RT_TABLE_MAIN if kind == RTN_UNICAST else RT_TABLE_LOCAL
    scope = RT_SCOPE_HOST if kind == RTN_LOCAL else RT_SCOPE_LINK
    route = Route(
        dst, prefix, table, kind, scope, RTPROT_KERNEL, metric, nexthops=[Nexthop(address.dev)], source=address.local,
    )  # fmt: skip
    try:
        if add:
            insert(k, net, route, NLM_F_CREATE | NLM_F_APPEND, mine=False)
        else:
            delete(k, net, route, mine=False)
    except KernelError:
        pass


def _last(network: bytes, prefix: int) -> bytes:
    """The broadcast address of a network."""
    return (int.from_bytes(network, "big") | (1 << BITS - prefix) - 1).to_bytes(4, "big")


def _primary(address: Ifaddr) -> Ifaddr | None:
    """inet_ifa_byprefix(): the first of its subnet."""
    if not address.flags & IFA_F_SECONDARY:
        return address
    return next(
        (
            a for a in address.dev.addresses
            if a.prefix == address.prefix and not a.flags & IFA_F_SECONDARY and in_prefix(a.address, address.address, a.prefix)
        ),
        None,
    )  # fmt: skip


def add_ifaddr(k: NetKernel, address: Ifaddr) -> None:
    """fib_add_ifaddr()."""
    dev, first = address.dev, _primary(address)
    if first is None:
        return
    magic(k, True, RTN_LOCAL, address.local, BITS, first)
    if not dev.up:
        return
    network = masked(address.address, address.prefix)
    if address.broadcast not in (None, INADDR_ANY, b"\xff" * 4):
        magic(k, True, RTN_BROADCAST, address.broadcast or b"", BITS, first)
    secondary = address.flags & IFA_F_SECONDARY
    if not is_zeronet(network) and not secondary and (network != address.local or address.prefix < BITS):
        if not address.flags & IFA_F_NOPREFIXROUTE:
            kind = RTN_LOCAL if dev.loopback else RTN_UNICAST
            magic(k, True, kind, network, address.prefix, first, address.metric)
        if address.prefix < 31:
            magic(k, True, RTN_BROADCAST, _last(network, address.prefix), BITS, first)


def del_ifaddr(k: NetKernel, address: Ifaddr) -> None:
    """fib_del_ifaddr(): what no other address of the device needs; `address` is off the device's list."""
    dev = address.dev
    network, last = (
        masked(address.address, address.prefix),
        _last(masked(address.address, address.prefix), address.prefix),
    )
    first, subnet = _primary(address) or address, False
    if not address.flags & IFA_F_SECONDARY and not is_zeronet(network) and (network != address.local or address.prefix < BITS):  # fmt: skip
        if not address.flags & IFA_F_NOPREFIXROUTE:
            kind = RTN_LOCAL if dev.loopback else RTN_UNICAST
            magic(k, False, kind, network, address.prefix, first)
        subnet = True
    kept: set[bytes] = set()
    for other in dev.addresses:
        if other.broadcast is not None:
            kept.add(other.broadcast)
        if other.prefix < 31 and not other.flags & IFA_F_SECONDARY:
            kept.add(_last(masked(other.address, other.prefix), other.prefix))
    if address.broadcast is not None and address.broadcast not in kept:
        magic(k, False, RTN_BROADCAST, address.broadcast, BITS, first)
    if subnet and address.prefix < 31 and last not in kept and last != address.broadcast:
        magic(k, False, RTN_BROADCAST, last, BITS, first)
    if all(other.local != address.local for other in dev.addresses):
        magic(k, False, RTN_LOCAL, address.local, BITS, first)
        if address_type(dev.net, address.local) != RTN_LOCAL:
            flush(k, dev.net, lambda route: route.source == address.local)


def flush(k: NetKernel, net: Net, dead: Callable[[Route], bool]) -> None:
    """fib_flush(): routes that are of no use go, and nobody is told."""
    for table in net.ipv4.tables.values():
        table.flush([route for route in table.routes() if dead(route)])
    net.ipv4.changed()


def sync_down(k: NetKernel, dev: NetDevice, event: Event, force: bool) -> None:
    """fib_sync_down_dev(), and fib_flush(): ways out of a device that is down are dead."""
    for table in dev.net.ipv4.tables.values():
        gone: list[Route] = []
        for route in table.routes():
            if route.nh is not None:  # goes with its object
                continue
            for way in route.nexthops:
                if way.dev is dev and not way.flags & RTNH_F_DEAD and (force or way.scope != RT_SCOPE_NOWHERE):
                    way.flags |= RTNH_F_LINKDOWN | (0 if event is Event.CHANGE else RTNH_F_DEAD)
            if route.nexthops and all(way.flags & RTNH_F_DEAD for way in route.nexthops):
                gone.append(route)
        table.flush(gone)
    dev.net.ipv4.changed()


def sync_up(k: NetKernel, dev: NetDevice, flag: int) -> None:
    """fib_sync_up()."""
    for table in dev.net.ipv4.tables.values():
        for route in table.routes():
            for way in route.nexthops if route.nh is None else ():
                if way.dev is dev and way.flags & flag:
                    way.flags &= ~(flag | RTNH_F_LINKDOWN)
    dev.net.ipv4.changed()


def netdev_event(k: NetKernel, dev: NetDevice, event: Event) -> None:
    """fib_netdev_event()."""
    if event is Event.UNREGISTER:
        sync_down(k, dev, event, True)
    elif not dev.has_ipv4:
        return
    elif event is Event.UP:
        for address in dev.addresses:
            add_ifaddr(k, address)
        sync_up(k, dev, RTNH_F_DEAD)
    elif event is Event.DOWN:
        sync_down(k, dev, event, False)
    elif event is Event.CHANGE:
        if dev.carrier:
            sync_up(k, dev, RTNH_F_LINKDOWN)
        else:
            sync_down(k, dev, event, False)
    elif event is Event.CHANGEMTU:
        dev.net.ipv4.changed()
