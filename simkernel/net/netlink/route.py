"""IPv4 routes over NETLINK_ROUTE.  net/ipv4/fib_frontend.c, net/ipv4/route.c: inet_rtm_getroute()."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from functools import partial

from arch.abi.errno import EINVAL, ENETUNREACH, ENODEV, ENOENT, EOPNOTSUPP, ESRCH
from arch.abi.inet import (
    IN6_ADDR_SIZE,
    IN_ADDR_SIZE,
    INADDR_ANY,
    IPPROTO_ICMP,
    IPPROTO_ICMPV6,
    IPPROTO_TCP,
    IPPROTO_UDP,
)
from arch.abi.rtnetlink import (
    RT_SCOPE_UNIVERSE,
    RT_TABLE_COMPAT,
    RT_TABLE_MAIN,
    RTA_CACHEINFO,
    RTA_DPORT,
    RTA_DST,
    RTA_ENCAP,
    RTA_ENCAP_TYPE,
    RTA_FLOW,
    RTA_GATEWAY,
    RTA_IIF,
    RTA_IP_PROTO,
    RTA_MARK,
    RTA_METRICS,
    RTA_MULTIPATH,
    RTA_NH_ID,
    RTA_OIF,
    RTA_PREFSRC,
    RTA_PRIORITY,
    RTA_SPORT,
    RTA_SRC,
    RTA_TABLE,
    RTA_UID,
    RTA_VIA,
    RTAX_CC_ALGO,
    RTAX_LOCK,
    RTM_DELROUTE,
    RTM_F_CLONED,
    RTM_F_FIB_MATCH,
    RTM_F_LOOKUP_TABLE,
    RTM_F_NOTIFY,
    RTM_F_PREFIX,
    RTM_GETROUTE,
    RTM_NEWROUTE,
    RTN_BLACKHOLE,
    RTN_LOCAL,
    RTN_MAX,
    RTN_UNICAST,
    RTNH_F_DEAD,
    RTNH_F_LINKDOWN,
    RTNH_F_ONLINK,
    RTPROT_UNSPEC,
)
from arch.abi.socket import AF_INET, AF_INET6
from arch.errors import KernelError
from simkernel.net.core.extack import Refusal
from simkernel.net.core.netns import Net, NetDevice, Nexthop, NexthopObject, Route
from simkernel.net.core.nexthops import compatible
from simkernel.net.core.rules import Flow
from simkernel.net.face import NetKernel
from simkernel.net.ipv4 import fib
from simkernel.net.ipv4.devinet import by_address
from simkernel.net.ipv4.route import route_input, route_output
from simkernel.net.ipv4.tcp_cong import find_control
from simkernel.net.netlink import policy, strict
from simkernel.net.netlink.lwtunnel import asked_for, check_type, inserting, tunnel
from simkernel.net.netlink.message import Request, Wire, address, string
from simkernel.net.netlink.rtnetlink import (
    Change,
    Dump,
    One,
    Row,
    change_of_family,
    dump_families,
    one_of_family,
    register,
)

RTMSG = "8BI"
RTMSG_SIZE = 12  # struct rtmsg
NEXTHOP_HEADER = 8  # struct rtnexthop
RTVIA_ADDR = 2  # where the address begins in struct rtvia


def _way(wire: Wire, way: Nexthop) -> bytes:
    """fib_nexthop_info(), without the device."""
    if way.gateway is None:
        return b""
    if len(way.gateway) == 16:
        return wire.attribute(RTA_VIA, wire.pack("H", AF_INET6) + way.gateway)
    return wire.attribute(RTA_GATEWAY, way.gateway)


def way_flags(way: Nexthop) -> int:
    """What is said of a way beside its address."""
    return way.flags & (RTNH_F_DEAD | RTNH_F_LINKDOWN | RTNH_F_ONLINK)


def metrics(wire: Wire, route: Route) -> bytes:
    """rtnetlink_put_metrics()."""
    if not route.metrics and not route.congestion:
        return b""
    body = b"".join(wire.u32(key, value) for key, value in sorted(route.metrics.items()))
    if route.congestion:
        body += wire.text(RTAX_CC_ALGO, route.congestion)
    return wire.attribute(RTA_METRICS, body)


def fill(k: NetKernel, wire: Wire, route: Route, told: int = 0) -> bytes:
    """fib_dump_info(); `told`: the table that is told in place of its own."""
    single = route.nexthops[0] if len(route.nexthops) == 1 else None
    flags = way_flags(single) if single is not None and not hides_ways(route) else 0
    number = told or route.table
    table = number if number < 256 else RT_TABLE_COMPAT
    out = wire.pack(
        RTMSG, AF_INET, route.prefix, 0, route.tos, table, route.protocol, route.scope, kind_of(route), flags
    )
    out += wire.u32(RTA_TABLE, number)
    out += wire.attribute(RTA_DST, route.dst) if route.prefix else b""
    out += wire.u32(RTA_PRIORITY, route.priority) if route.priority else b""
    out += metrics(wire, route)
    out += wire.attribute(RTA_PREFSRC, route.source) if route.source is not None else b""
    out += by_object(wire, route)
    if hides_ways(route):
        return out
    if single is not None:
        out += _way(wire, single) + (wire.u32(RTA_OIF, single.dev.ifindex) if single.dev is not None else b"")
        out += tunnel(wire, single.lwt)
    elif route.nexthops:
        out += wire.attribute(RTA_MULTIPATH, multipath(wire, route.nexthops, _way))
    return out


def kind_of(route: Route) -> int:
    """What is told of its kind."""
    return RTN_BLACKHOLE if route.nh is not None and route.nh.blackhole else route.kind


def by_object(wire: Wire, route: Route) -> bytes:
    """RTA_NH_ID."""
    return wire.u32(RTA_NH_ID, route.nh.id) if route.nh is not None else b""


def hides_ways(route: Route) -> bool:
    """The ways of its object are not told."""
    return route.nh is not None and not compatible(route.nh.net)


def multipath(wire: Wire, ways: list[Nexthop], show: Callable[[Wire, Nexthop], bytes]) -> bytes:
    """struct rtnexthop, one for each way."""
    out = b""
    for way in ways:
        body = show(wire, way) + tunnel(wire, way.lwt)
        index = way.dev.ifindex if way.dev is not None else 0
        out += wire.pack("HBBi", NEXTHOP_HEADER + len(body), way_flags(way), way.weight - 1, index) + body
    return out


# -- reading -----------------------------------------------------------------------------------------------------------


def read_metrics(k: NetKernel, wire: Wire, raw: bytes | None) -> tuple[dict[int, int], str]:
    """ip_metrics_convert().  EINVAL."""
    values, name = {}, ""
    for kind, value, _ in wire.walk(raw or b""):
        if kind == RTAX_CC_ALGO:
            name = string(value)
            try:
                find_control(k, name).drop()
            except KernelError:
                raise Refusal(EINVAL, "Unknown tcp congestion algorithm") from None
        elif kind:
            if kind > RTAX_CC_ALGO:
                raise Refusal(EINVAL, "Invalid metric type")
            if len(value) != 4:
                raise Refusal(EINVAL, "Invalid attribute in metrics")
            values[kind] = wire.number(value)
    return {key: value for key, value in values.items() if value or key == RTAX_LOCK}, name


def read_ways(k: NetKernel, wire: Wire, net: Net, raw: bytes, size: int) -> list[Nexthop]:
    """fib_get_nhs().  EINVAL, ENETUNREACH, ENODEV."""
    ways = ways_of(k, wire, net, raw, size)
    ends = [end for _, _, _, _, end in _nexthops(wire, raw)] or [0]
    if ends[-1] + NEXTHOP_HEADER <= len(raw):
        raise Refusal(EINVAL, "Invalid nexthop configuration - extra data after nexthop")
    if not ways:
        raise Refusal(EINVAL, "Invalid nexthop configuration - no nexthops" if size == 4 else "")
    return ways


def ways_of(k: NetKernel, wire: Wire, net: Net, raw: bytes, size: int) -> list[Nexthop]:
    """As many struct rtnexthop as there are.  EINVAL, ENETUNREACH, ENODEV."""
    ways = []
    for flags, hops, index, body, _ in _nexthops(wire, raw):
        if flags & (RTNH_F_DEAD | RTNH_F_LINKDOWN):
            raise Refusal(EINVAL, "Invalid flags for nexthop - can not contain DEAD or LINKDOWN")
        given = wire.attributes(body)
        if RTA_ENCAP_TYPE in given:
            check_type(wire, given)
        way = Nexthop(device(net, index), _gateway(wire, given, size), hops + 1, flags)
        way.wanted = asked_for(k, wire, given)
        ways.append(way)
    return ways


def _nexthops(wire: Wire, raw: bytes) -> Iterator[tuple[int, int, int, bytes, int]]:
    """rtnh_ok(), rtnh_next(): flags, hops, interface, attributes, and where the next one begins."""
    at = 0
    while at + NEXTHOP_HEADER <= len(raw):
        length = wire.number(raw[at : at + 2], 2)
        if length < NEXTHOP_HEADER or at + length > len(raw):
            return
        end = at + ((length + 3) & ~3)
        yield raw[at + 2], raw[at + 3], wire.number(raw[at + 4 : at + 8]), raw[at + NEXTHOP_HEADER : at + length], end
        at = end


def device(net: Net, index: int, missing: int = ENODEV) -> NetDevice | None:
    """0 is none; another that is not there is -`missing`."""
    found = net.devices.get(index)
    if index and found is None:
        raise KernelError(missing)
    return found


def _gateway(wire: Wire, given: dict[int, bytes], size: int) -> bytes | None:
    """RTA_GATEWAY or RTA_VIA.  EINVAL."""
    if RTA_GATEWAY in given and RTA_VIA in given:
        raise Refusal(EINVAL, "Nexthop configuration can not contain both GATEWAY and VIA")
    if RTA_VIA in given:
        via = given[RTA_VIA]
        if len(via) < RTVIA_ADDR:
            raise Refusal(EINVAL, "Invalid attribute length for RTA_VIA")
        length = {AF_INET: IN_ADDR_SIZE, AF_INET6: IN6_ADDR_SIZE}.get(wire.number(via, RTVIA_ADDR))
        if length is None:
            raise Refusal(EINVAL, "Unsupported address family in RTA_VIA")
        if len(via) != RTVIA_ADDR + length:
            raise Refusal(EINVAL, "Invalid address length in RTA_VIA")
        return via[RTVIA_ADDR:]
    gateway = address(given.get(RTA_GATEWAY), size)
    return gateway if gateway is None or any(gateway) else None


def object_of(wire: Wire, net: Net, given: dict[int, bytes]) -> NexthopObject | None:
    """lwtunnel_valid_encap_type(): no tunnels but programs; nexthop_find_by_id(): whose ways are taken.  EINVAL, EOPNOTSUPP."""
    if RTA_ENCAP_TYPE in given:
        check_type(wire, given)
    number = wire.number(given.get(RTA_NH_ID))
    if number:
        if any(kind in given for kind in (RTA_GATEWAY, RTA_OIF, RTA_MULTIPATH, RTA_ENCAP)):
            raise Refusal(EINVAL, "Nexthop specification and nexthop id are mutually exclusive")
        if number not in net.nexthops:
            raise Refusal(EINVAL, "Nexthop id does not exist")
    return net.nexthops.get(number)


def read(k: NetKernel, wire: Wire, request: Request, missing: int = 0) -> Route:
    """rtm_to_fib_config().  EINVAL; for who only looks for a route -`missing`, where it names what cannot be."""
    body = request.body
    given = policy.parse(k, wire, body, RTMSG_SIZE, policy.RTM_IPV4)
    _, plen, _, tos, table, protocol, scope, kind = body[:8]
    flags = wire.number(body[8:12])
    if tos & ~0x1C:
        raise Refusal(EINVAL, "Invalid dsfield (tos): ECN bits must be 0" if tos & 3 else "Invalid dsfield (tos)")
    if kind > RTN_MAX:
        raise Refusal(EINVAL, "Invalid route type")
    dst = (address(given.get(RTA_DST), 4) or INADDR_ANY) if plen or RTA_DST in given else INADDR_ANY
    route = Route(dst, plen, wire.number(given.get(RTA_TABLE), default=table), kind, scope, protocol, tos=tos)
    route.priority = wire.number(given.get(RTA_PRIORITY))
    source = address(given.get(RTA_PREFSRC), 4)
    route.source = source if source != INADDR_ANY else None
    route.metrics, route.congestion = read_metrics(k, wire, given.get(RTA_METRICS))
    if flags & (RTNH_F_DEAD | RTNH_F_LINKDOWN):
        raise Refusal(EINVAL, "Invalid rtm_flags - can not contain DEAD or LINKDOWN")
    route.nh = object_of(wire, request.net, given)
    if RTA_MULTIPATH in given:
        if missing and not list(_nexthops(wire, given[RTA_MULTIPATH])):
            raise KernelError(missing)
        route.nexthops = read_ways(k, wire, request.net, given[RTA_MULTIPATH], 4)
    elif RTA_OIF in given or RTA_GATEWAY in given or RTA_VIA in given:
        dev = device(request.net, wire.number(given.get(RTA_OIF)), missing or ENODEV)
        way = Nexthop(dev, _gateway(wire, given, 4), 1, flags & RTNH_F_ONLINK)
        way.wanted = asked_for(k, wire, given, body, RTMSG_SIZE)
        route.nexthops = [way]
    if RTA_FLOW in given and not route.nexthops:
        route.nexthops = []
    return route


def _new(k: NetKernel, wire: Wire, request: Request) -> None:
    """inet_rtm_newroute()."""
    route = read(k, wire, request)
    route.table = route.table or RT_TABLE_MAIN
    route.kind = route.kind or RTN_UNICAST
    if not route.nexthops and route.nh is None and not fib.PROPS[route.kind][0]:
        route.nexthops = [Nexthop(None)]
    inserting(route, partial(fib.insert, k, request.net, route, request.flags))


def _delete(k: NetKernel, wire: Wire, request: Request) -> None:
    """inet_rtm_delroute()."""
    route = read(k, wire, request, ESRCH)
    route.table = route.table or RT_TABLE_MAIN
    fib.delete(k, request.net, route)


# -- asking ------------------------------------------------------------------------------------------------------------


def asked(
    k: NetKernel, wire: Wire, request: Request, anywhere: bytes, protocol: int
) -> tuple[Flow, int, NetDevice | None]:
    """What RTM_GETROUTE of either family asks for, rtm_flags, and the device that it comes in by.  EINVAL, ENETUNREACH, ENODEV."""
    body = request.body
    rules = policy.RTM_IPV4 if len(anywhere) == IN_ADDR_SIZE else policy.RTM_IPV6
    short = (
        "ipv4: Invalid header for route get request"
        if len(anywhere) == IN_ADDR_SIZE
        else "Invalid header for get route request"
    )
    given = policy.parse(k, wire, body, RTMSG_SIZE, rules, short)
    to, source = (address(given.get(name), len(anywhere)) or anywhere for name in (RTA_DST, RTA_SRC))
    iif, oif, mark, uid = (wire.number(given.get(name)) for name in (RTA_IIF, RTA_OIF, RTA_MARK, RTA_UID))
    sport, dport = (int.from_bytes(given[n][:2], "big") if n in given else 0 for n in (RTA_SPORT, RTA_DPORT))
    if RTA_IP_PROTO in given:  # rtm_getroute_parse_ip_proto()
        protocol = wire.number(given[RTA_IP_PROTO], 1)
        if protocol not in (
            IPPROTO_TCP,
            IPPROTO_UDP,
            IPPROTO_ICMP if len(anywhere) == IN_ADDR_SIZE else IPPROTO_ICMPV6,
        ):
            raise Refusal(EOPNOTSUPP, "Unsupported ip proto")
    flow = Flow(to, source, oif, iif, body[3], mark, uid, protocol, sport, dport)
    return flow, wire.number(body[8:12]), device(request.net, iif)


def _get(k: NetKernel, wire: Wire, request: Request) -> list[bytes]:
    """inet_rtm_getroute(): the way to one address."""
    strict.ROUTE4_GET.check(wire, request)
    strict.ROUTE4_GET.check_lengths(request, 32)
    strict.ROUTE4_GET.check_flags(
        wire, request, RTM_F_NOTIFY | RTM_F_LOOKUP_TABLE | RTM_F_FIB_MATCH, "Unsupported rtm_flags"
    )
    strict.ROUTE4_GET.check_attributes(wire, request)
    body, net = request.body, request.net
    flow, flags, dev = asked(k, wire, request, INADDR_ANY, IPPROTO_UDP)
    to, source, iif, mark = flow.destination, flow.source, flow.iif, flow.mark
    if dev is None and source != INADDR_ANY and by_address(net, source) is None:
        raise KernelError(ENETUNREACH)
    way = route_input(k, dev, to, source, flow.tos, mark) if dev is not None else route_output(k, net, flow)
    if flags & RTM_F_FIB_MATCH:
        if way.route is None:
            raise Refusal(ENOENT, "No FIB match")
        return [fill(k, wire, way.route, RT_TABLE_MAIN if not flags & RTM_F_LOOKUP_TABLE else way.table)]
    table = way.table if flags & RTM_F_LOOKUP_TABLE and way.table else RT_TABLE_MAIN
    out = wire.pack(
        RTMSG, AF_INET, 32, 32 if source != INADDR_ANY and iif else 0, body[3], table if table < 256 else RT_TABLE_COMPAT,
        RTPROT_UNSPEC, RT_SCOPE_UNIVERSE, way.kind, RTM_F_CLONED | (0x80000000 if way.kind == RTN_LOCAL else 0),
    )  # fmt: skip
    out += wire.u32(RTA_TABLE, table) + wire.attribute(RTA_DST, to)
    out += wire.attribute(RTA_SRC, source) if source != INADDR_ANY else b""
    out += (
        wire.u32(RTA_OIF, way.dev.ifindex)
        if not (iif and way.kind == RTN_LOCAL)
        else wire.u32(RTA_OIF, net.loopback.ifindex)
    )
    out += tunnel(wire, way.lwt)
    if not iif and way.source != source:
        out += wire.attribute(RTA_PREFSRC, way.source)
    out += wire.attribute(RTA_GATEWAY, way.gateway) if way.gateway is not None else b""
    out += metrics(wire, way.route) if way.route is not None else b""
    out += wire.u32(RTA_MARK, mark) if mark else b""
    out += wire.u32(RTA_UID, flow.uid)
    out += wire.u32(RTA_IIF, iif) if iif else b""
    return [out + wire.attribute(RTA_CACHEINFO, wire.pack("8I", *[0] * 8))]


def filtered(wire: Wire, request: Request, tables: Container[int], module: str) -> Callable[[Route], bool]:
    """ip_valid_fib_dump_req(): what a strict dump is asked for.  EINVAL, ENODEV, ENOENT."""
    strict.ROUTE_DUMP.check(wire, request)
    if request.strict and wire.number(request.body[8:12]) & ~(RTM_F_CLONED | RTM_F_PREFIX):
        raise Refusal(EINVAL, "Invalid flags for FIB dump request")
    strict.ROUTE_DUMP.check_attributes(wire, request)
    if not request.strict:
        return lambda route: True
    given = wire.attributes(request.body[RTMSG_SIZE:])
    table = wire.number(given.get(RTA_TABLE), default=request.body[4])
    protocol, kind, oif = request.body[5], request.body[7], wire.number(given.get(RTA_OIF))
    if oif and oif not in request.net.devices:
        raise KernelError(ENODEV)
    wire.filtered, wire.rows_filtered = bool(table or protocol or kind or oif), True
    if table and table not in tables:
        raise Refusal(ENOENT, f"{module}FIB table does not exist")

    def fits(route: Route) -> bool:
        devices = [way.dev.ifindex for way in route.nexthops if way.dev is not None]
        return (
            table in (0, route.table) and protocol in (0, route.protocol) and kind in (0, route.kind)
            and (not oif or oif in devices)
        )  # fmt: skip

    return fits


def _dump4(k: NetKernel, wire: Wire, request: Request) -> Iterator[bytes]:
    """inet_dump_fib(): table by table, those of the trie by address."""
    if len(request.body) >= RTMSG_SIZE and wire.number(request.body[8:12]) & RTM_F_CLONED:
        return
    tables = request.net.ipv4.tables
    wanted = filtered(wire, request, tables, "ipv4: ")
    for table in request.net.ipv4.in_order():
        for route in table.routes():
            if wanted(route):
                yield fill(k, wire, route)


DUMPS: dict[int, Dump] = {AF_INET: _dump4}
FILL: dict[int, Callable[[NetKernel, Wire, Route], bytes]] = {4: fill}  # by the length of an address
GET: dict[int, One] = {AF_INET: _get}
NEW: dict[int, Change] = {AF_INET: _new}
DELETE: dict[int, Change] = {AF_INET: _delete}
register(RTM_GETROUTE, Row(RTM_NEWROUTE, dump=dump_families(DUMPS), one=one_of_family(GET)))
register(RTM_NEWROUTE, Row(RTM_NEWROUTE, change=change_of_family(NEW)))
register(RTM_DELROUTE, Row(RTM_NEWROUTE, change=change_of_family(DELETE)))
