"""IPv6 routes over NETLINK_ROUTE.  net/ipv6/route.c: inet6_rtm_newroute() and its like."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from arch.abi.errno import EADDRNOTAVAIL, EINVAL, ENETUNREACH, ENODEV, ENOENT, ESRCH
from arch.abi.in6 import IP6_RT_PRIO_USER
from arch.abi.inet import IN6_ADDR_SIZE, IN6ADDR_ANY
from arch.abi.rtnetlink import (
    RT_SCOPE_UNIVERSE,
    RT_TABLE_COMPAT,
    RT_TABLE_MAIN,
    RTA_CACHEINFO,
    RTA_DST,
    RTA_GATEWAY,
    RTA_IIF,
    RTA_METRICS,
    RTA_MULTIPATH,
    RTA_OIF,
    RTA_PREF,
    RTA_PREFSRC,
    RTA_PRIORITY,
    RTA_SRC,
    RTA_TABLE,
    RTA_VIA,
    RTM_F_CLONED,
    RTM_F_FIB_MATCH,
    RTN_LOCAL,
    RTN_MAX,
    RTN_UNICAST,
    RTNH_F_ONLINK,
)
from arch.abi.socket import AF_INET6
from arch.errors import KernelError
from simkernel.net.core.extack import Refusal
from simkernel.net.core.netns import Nexthop, Route, masked
from simkernel.net.core.skb import Dst
from simkernel.net.face import NetKernel
from simkernel.net.ipv6 import ip6_fib
from simkernel.net.ipv6.ip6_fib import REFUSALS
from simkernel.net.ipv6.route import route_input, route_output, source_for
from simkernel.net.netlink import policy, strict
from simkernel.net.netlink import route as ipv4
from simkernel.net.netlink.lwtunnel import asked_for, inserting, tunnel
from simkernel.net.netlink.message import Request, Wire, address
from simkernel.net.netlink.route import (
    RTMSG,
    RTMSG_SIZE,
    asked,
    by_object,
    device,
    filtered,
    hides_ways,
    kind_of,
    metrics,
    multipath,
    object_of,
    read_metrics,
    read_ways,
    way_flags,
    ways_of,
)


def _way(wire: Wire, way: Nexthop) -> bytes:
    """fib_nexthop_info(), without the device."""
    return wire.attribute(RTA_GATEWAY, way.gateway) if way.gateway is not None else b""


def _head(wire: Wire, route: Route, bits: int, flags: int, source_bits: int = 0) -> bytes:
    table = route.table if route.table < 256 else RT_TABLE_COMPAT
    return wire.pack(
        RTMSG, AF_INET6, bits, source_bits, 0, table, route.protocol, RT_SCOPE_UNIVERSE, kind_of(route), flags
    ) + wire.u32(RTA_TABLE, route.table)  # fmt: skip


def _tail(wire: Wire, route: Route) -> bytes:
    return wire.attribute(RTA_CACHEINFO, wire.pack("8I", *[0] * 8)) + wire.u8(RTA_PREF, route.pref)


def fill(k: NetKernel, wire: Wire, route: Route) -> bytes:
    """rt6_fill_node() of a route in a table."""
    single = route.nexthops[0] if len(route.nexthops) == 1 else None
    flags = way_flags(single) if single is not None and not hides_ways(route) else 0
    out = _head(wire, route, route.prefix, flags)
    out += wire.attribute(RTA_DST, route.dst) if route.prefix else b""
    out += wire.attribute(RTA_PREFSRC, route.source) if route.source is not None else b""
    out += metrics(wire, route) + wire.u32(RTA_PRIORITY, route.priority) + by_object(wire, route)
    if hides_ways(route):
        pass
    elif single is not None and not (route.nh is not None and route.nh.is_group):
        out += _way(wire, single) + (wire.u32(RTA_OIF, single.dev.ifindex) if single.dev is not None else b"")
        out += tunnel(wire, single.lwt)
    elif route.nexthops:
        out += wire.attribute(RTA_MULTIPATH, multipath(wire, route.nexthops, _way))
    return out + _tail(wire, route)


# -- reading -----------------------------------------------------------------------------------------------------------


def _read(k: NetKernel, wire: Wire, request: Request, missing: int = ENODEV) -> Route:
    """rtm_to_fib6_config().  EINVAL, -`missing` for a device that is not there."""
    body = request.body
    given = policy.parse(k, wire, body, RTMSG_SIZE, policy.RTM_IPV6)
    _, plen, slen, tos, table, protocol, _, kind = body[:8]
    flags = wire.number(body[8:12])
    if tos:
        raise Refusal(EINVAL, "Invalid dsfield (tos): option not available for IPv6")
    if flags & ~RTM_F_CLONED & ~RTNH_F_ONLINK & 0xFF:
        raise KernelError(EINVAL)
    dst = address(given.get(RTA_DST), (plen + 7) // 8) or b""
    if kind > RTN_MAX:
        raise Refusal(EINVAL, "Invalid route type")
    if slen and object_of(wire, request.net, given) is not None:
        raise Refusal(EINVAL, "IPv6 routes using source address can not use nexthop objects")
    if plen > 128 or slen:
        raise Refusal(EINVAL, "Invalid prefix length" if plen > 128 else "Invalid source address length")
    dst = dst.ljust(IN6_ADDR_SIZE, b"\0")
    route = Route(masked(dst, plen), plen, wire.number(given.get(RTA_TABLE), default=table), kind, 0, protocol)
    route.priority = wire.number(given.get(RTA_PRIORITY))
    source = address(given.get(RTA_PREFSRC), 16)
    route.source = source if source != IN6ADDR_ANY else None
    route.metrics, route.congestion = read_metrics(k, wire, given.get(RTA_METRICS))
    route.pref = wire.number(given.get(RTA_PREF), 1, route.pref)
    if RTA_VIA in given:
        raise Refusal(EINVAL, "IPv6 does not support RTA_VIA attribute")
    route.nh = object_of(wire, request.net, given)
    if RTA_MULTIPATH in given and missing == ESRCH:
        route.nexthops = ways_of(k, wire, request.net, given[RTA_MULTIPATH], 16)
    elif RTA_MULTIPATH in given:
        route.nexthops = read_ways(k, wire, request.net, given[RTA_MULTIPATH], 16)
    elif RTA_OIF in given or RTA_GATEWAY in given:
        dev = device(request.net, wire.number(given.get(RTA_OIF)), missing)
        gateway = address(given.get(RTA_GATEWAY), 16)
        gateway = gateway if gateway is not None and any(gateway) else None
        way = Nexthop(dev, gateway, 1, flags & RTNH_F_ONLINK)
        way.wanted = asked_for(k, wire, given, body, RTMSG_SIZE)
        route.nexthops = [way]
    return route


def _new(k: NetKernel, wire: Wire, request: Request) -> None:
    """inet6_rtm_newroute()."""
    route = _read(k, wire, request)
    route.table = route.table or RT_TABLE_MAIN
    route.kind = route.kind or RTN_UNICAST
    route.priority = route.priority or IP6_RT_PRIO_USER
    if not route.nexthops and route.nh is None and route.kind not in REFUSALS:
        route.nexthops = [Nexthop(None)]
    inserting(route, partial(ip6_fib.insert, k, request.net, route, request.flags))


def _delete(k: NetKernel, wire: Wire, request: Request) -> None:
    """inet6_rtm_delroute()."""
    route = _read(k, wire, request, ESRCH)
    route.table = route.table or RT_TABLE_MAIN
    given = wire.attributes(request.body[RTMSG_SIZE:])
    ways = [[way] for way in route.nexthops] if RTA_MULTIPATH in given else [route.nexthops]
    for route.nexthops in ways:
        ip6_fib.delete(k, request.net, route)


# -- asking ------------------------------------------------------------------------------------------------------------


def _get(k: NetKernel, wire: Wire, request: Request) -> list[bytes]:
    """inet6_rtm_getroute(): the way to one address."""
    strict.ROUTE6_GET.check(wire, request)
    strict.ROUTE6_GET.check_lengths(request, 128)
    strict.ROUTE6_GET.check_flags(wire, request, RTM_F_FIB_MATCH, "Invalid flags")
    strict.ROUTE6_GET.check_attributes(wire, request)
    flow, flags, dev = asked(k, wire, request, IN6ADDR_ANY, 0)
    if dev is not None:
        way = route_input(k, dev, flow.destination, flow.source, flow.mark)
    else:
        try:
            way = route_output(
                k, request.net, flow.destination, flow.source, flow.oif, flow.mark, protocol=flow.protocol
            )
        except KernelError as error:  # ip6_route_output() alone does not look for a source
            raise KernelError(ENETUNREACH if error.errno == EADDRNOTAVAIL else error.errno) from error
    if way.route is None:
        raise Refusal(ENOENT, "No FIB match")
    if flags & RTM_F_FIB_MATCH:
        return [fill(k, wire, way.route)]
    return [_answer(wire, request, way, flow.destination, flow.source, flow.iif)]


def _answer(wire: Wire, request: Request, way: Dst, to: bytes, source: bytes, iif: int) -> bytes:
    """rt6_fill_node() of a way."""
    route = way.route
    assert route is not None
    out = _head(wire, route, 128, 0, 128) + wire.attribute(RTA_DST, to) + wire.attribute(RTA_SRC, source)
    if iif:
        out += wire.u32(RTA_IIF, iif)
    else:
        own = route.source or source_for(request.net, None if way.kind == RTN_LOCAL else way.dev, to)
        out += wire.attribute(RTA_PREFSRC, own)
    out += metrics(wire, route) + wire.u32(RTA_PRIORITY, route.priority)
    out += wire.attribute(RTA_GATEWAY, way.gateway) if way.gateway is not None else b""
    return out + wire.u32(RTA_OIF, way.dev.ifindex) + tunnel(wire, way.lwt) + _tail(wire, route)


def _dump(k: NetKernel, wire: Wire, request: Request) -> Iterator[bytes]:
    """inet6_dump_fib()."""
    if len(request.body) >= RTMSG_SIZE and wire.number(request.body[8:12]) & RTM_F_CLONED:
        return
    tables = request.net.ipv6.tables
    wanted = filtered(wire, request, tables, "ipv6: ")
    for table in request.net.ipv6.in_order():
        for route in ip6_fib.in_order(table):
            if wanted(route):
                yield fill(k, wire, route)


ipv4.DUMPS[AF_INET6], ipv4.FILL[16], ipv4.GET[AF_INET6] = _dump, fill, _get
ipv4.NEW[AF_INET6], ipv4.DELETE[AF_INET6] = _new, _delete
