"""IPv4 routes over NETLINK_ROUTE.  net/ipv4/fib_frontend.c, net/ipv4/route.c: inet_rtm_getroute()."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from arch.abi.errno import EINVAL, ENODEV, ENOENT, EOPNOTSUPP
from arch.abi.inet import INADDR_ANY
from arch.abi.rtnetlink import (
    RT_SCOPE_UNIVERSE,
    RT_TABLE_COMPAT,
    RT_TABLE_MAIN,
    RTA_CACHEINFO,
    RTA_DPORT,
    RTA_DST,
    RTA_FLOW,
    RTA_GATEWAY,
    RTA_IIF,
    RTA_IP_PROTO,
    RTA_MARK,
    RTA_METRICS,
    RTA_MULTIPATH,
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
    RTM_GETROUTE,
    RTM_NEWROUTE,
    RTN_LOCAL,
    RTN_MAX,
    RTN_UNICAST,
    RTNH_F_DEAD,
    RTNH_F_LINKDOWN,
    RTNH_F_ONLINK,
    RTPROT_UNSPEC,
)
from arch.abi.socket import AF_INET, AF_INET6, AF_UNSPEC
from arch.errors import KernelError
from simkernel.kernel.face import Steps
from simkernel.net.core.extack import Refusal
from simkernel.net.core.netns import Net, NetDevice, Nexthop, Route
from simkernel.net.core.rules import Flow
from simkernel.net.face import NetKernel
from simkernel.net.ipv4 import fib
from simkernel.net.ipv4.route import route_input, route_output
from simkernel.net.netlink.message import Request, Wire, address, string
from simkernel.net.netlink.rtnetlink import Row, register

RTMSG = "8BI"
RTMSG_SIZE = 12  # struct rtmsg
NEXTHOP_HEADER = 8  # struct rtnexthop


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


def fill(k: NetKernel, wire: Wire, route: Route) -> bytes:
    """fib_dump_info()."""
    single = route.nexthops[0] if len(route.nexthops) == 1 else None
    flags = way_flags(single) if single is not None else 0
    table = route.table if route.table < 256 else RT_TABLE_COMPAT
    out = wire.pack(RTMSG, AF_INET, route.prefix, 0, route.tos, table, route.protocol, route.scope, route.kind, flags)
    out += wire.u32(RTA_TABLE, route.table)
    out += wire.attribute(RTA_DST, route.dst) if route.prefix else b""
    out += wire.u32(RTA_PRIORITY, route.priority) if route.priority else b""
    out += metrics(wire, route)
    out += wire.attribute(RTA_PREFSRC, route.source) if route.source is not None else b""
    if single is not None:
        out += _way(wire, single) + (wire.u32(RTA_OIF, single.dev.ifindex) if single.dev is not None else b"")
    elif route.nexthops:
        out += wire.attribute(RTA_MULTIPATH, multipath(wire, route.nexthops, _way))
    return out


def multipath(wire: Wire, ways: list[Nexthop], show: Callable[[Wire, Nexthop], bytes]) -> bytes:
    """struct rtnexthop, one for each way."""
    out = b""
    for way in ways:
        body = show(wire, way)
        index = way.dev.ifindex if way.dev is not None else 0
        out += wire.pack("HBBi", NEXTHOP_HEADER + len(body), way_flags(way), way.weight - 1, index) + body
    return out


# -- reading -----------------------------------------------------------------------------------------------------------


def read_metrics(wire: Wire, raw: bytes | None) -> tuple[dict[int, int], str]:
    """ip_metrics_convert().  EINVAL."""
    values, name = {}, ""
    for kind, value, _ in wire.walk(raw or b""):
        if kind == RTAX_CC_ALGO:
            name = string(value)
        elif kind:
            if kind > RTAX_CC_ALGO:
                raise Refusal(EINVAL, "Invalid metric type")
            if len(value) != 4:
                raise Refusal(EINVAL, "Invalid attribute in metrics")
            values[kind] = wire.number(value)
    return {key: value for key, value in values.items() if value or key == RTAX_LOCK}, name


def read_ways(wire: Wire, net: Net, raw: bytes, size: int) -> list[Nexthop]:
    """fib_get_nhs().  EINVAL, ENODEV."""
    ways, at = [], 0
    while at + NEXTHOP_HEADER <= len(raw):
        length = wire.number(raw[at : at + 2], 2)
        if length < NEXTHOP_HEADER or at + length > len(raw):
            raise Refusal(EINVAL, "Invalid nexthop configuration - extra data after nexthop")
        flags, hops, index = raw[at + 2], raw[at + 3], wire.number(raw[at + 4 : at + 8])
        if flags & (RTNH_F_DEAD | RTNH_F_LINKDOWN):
            raise Refusal(EINVAL, "Invalid flags for nexthop - can not contain DEAD or LINKDOWN")
        given = wire.attributes(raw[at + NEXTHOP_HEADER : at + length])
        ways.append(Nexthop(device(net, index), _gateway(wire, given, size), hops + 1, flags))
        at += (length + 3) & ~3
    if not ways:
        raise Refusal(EINVAL, "Invalid nexthop configuration - no nexthops" if size == 4 else "")
    return ways


def device(net: Net, index: int) -> NetDevice | None:
    """0 is none.  ENODEV."""
    found = net.devices.get(index)
    if index and found is None:
        raise KernelError(ENODEV)
    return found


def _gateway(wire: Wire, given: dict[int, bytes], size: int) -> bytes | None:
    """RTA_GATEWAY or RTA_VIA.  EINVAL."""
    if RTA_GATEWAY in given and RTA_VIA in given:
        raise Refusal(EINVAL, "Nexthop configuration can not contain both GATEWAY and VIA")
    if RTA_VIA in given:
        family = wire.number(given[RTA_VIA], 2)
        return given[RTA_VIA][2 : 2 + (16 if family == AF_INET6 else 4)]
    gateway = address(given.get(RTA_GATEWAY), size)
    return gateway if gateway is None or any(gateway) else None


def read(k: NetKernel, wire: Wire, request: Request) -> Route:
    """rtm_to_fib_config().  EINVAL."""
    body = request.body
    if len(body) < RTMSG_SIZE:
        raise KernelError(EINVAL)
    _, plen, slen, tos, table, protocol, scope, kind = body[:8]
    flags, given = wire.number(body[8:12]), wire.attributes(body[RTMSG_SIZE:])
    if slen:
        raise KernelError(EINVAL, "a source")
    if tos & ~0x1C:
        raise Refusal(EINVAL, "Invalid dsfield (tos): ECN bits must be 0" if tos & 3 else "Invalid dsfield (tos)")
    if kind > RTN_MAX:
        raise Refusal(EINVAL, "Invalid route type")
    dst = (address(given.get(RTA_DST), 4) or INADDR_ANY) if plen or RTA_DST in given else INADDR_ANY
    route = Route(dst, plen, wire.number(given.get(RTA_TABLE), default=table), kind, scope, protocol, tos=tos)
    route.priority = wire.number(given.get(RTA_PRIORITY))
    source = address(given.get(RTA_PREFSRC), 4)
    route.source = source if source != INADDR_ANY else None
    route.metrics, route.congestion = read_metrics(wire, given.get(RTA_METRICS))
    if flags & (RTNH_F_DEAD | RTNH_F_LINKDOWN):
        raise Refusal(EINVAL, "Invalid rtm_flags - can not contain DEAD or LINKDOWN")
    if RTA_MULTIPATH in given:
        route.nexthops = read_ways(wire, request.net, given[RTA_MULTIPATH], 4)
    elif RTA_OIF in given or RTA_GATEWAY in given or RTA_VIA in given:
        dev = device(request.net, wire.number(given.get(RTA_OIF)))
        route.nexthops = [Nexthop(dev, _gateway(wire, given, 4), 1, flags & RTNH_F_ONLINK)]
    if RTA_FLOW in given and not route.nexthops:
        route.nexthops = []
    return route


def _new(k: NetKernel, wire: Wire, request: Request) -> None:
    """inet_rtm_newroute()."""
    route = read(k, wire, request)
    route.table = route.table or RT_TABLE_MAIN
    route.kind = route.kind or RTN_UNICAST
    if not route.nexthops and not fib.PROPS[route.kind][0]:
        route.nexthops = [Nexthop(None)]
    fib.insert(k, request.net, route, request.flags)


def _delete(k: NetKernel, wire: Wire, request: Request) -> None:
    """inet_rtm_delroute()."""
    route = read(k, wire, request)
    route.table = route.table or RT_TABLE_MAIN
    fib.delete(k, request.net, route)


# -- asking ------------------------------------------------------------------------------------------------------------


def asked(wire: Wire, request: Request, anywhere: bytes, protocol: int) -> tuple[Flow, int, NetDevice | None]:
    """What RTM_GETROUTE of either family asks for, rtm_flags, and the device that it comes in by.  EINVAL, ENODEV."""
    body = request.body
    if len(body) < RTMSG_SIZE:
        raise KernelError(EINVAL)
    given = wire.attributes(body[RTMSG_SIZE:])
    to, source = (address(given.get(name), len(anywhere)) or anywhere for name in (RTA_DST, RTA_SRC))
    iif, oif, mark, uid = (wire.number(given.get(name)) for name in (RTA_IIF, RTA_OIF, RTA_MARK, RTA_UID))
    sport, dport = (int.from_bytes(given[n][:2], "big") if n in given else 0 for n in (RTA_SPORT, RTA_DPORT))
    protocol = given[RTA_IP_PROTO][0] if RTA_IP_PROTO in given else protocol
    flow = Flow(to, source, oif, iif, body[3], mark, uid, protocol, sport, dport)
    return flow, wire.number(body[8:12]), device(request.net, iif)


def _get(k: NetKernel, wire: Wire, request: Request) -> list[bytes]:
    """inet_rtm_getroute(): the way to one address."""
    body, net = request.body, request.net
    flow, flags, dev = asked(wire, request, INADDR_ANY, 17)
    to, source, iif, mark = flow.destination, flow.source, flow.iif, flow.mark
    way = route_input(k, dev, to, source, flow.tos, mark) if dev is not None else route_output(k, net, flow)
    if flags & RTM_F_FIB_MATCH:
        if way.route is None:
            raise Refusal(ENOENT, "No FIB match")
        return [fill(k, wire, way.route)]
    table = way.table if flags & RTM_F_LOOKUP_TABLE and way.table else RT_TABLE_MAIN
    out = wire.pack(
        RTMSG, AF_INET, 32, 32 if source != INADDR_ANY and iif else 0, body[3], table if table < 256 else RT_TABLE_COMPAT,
        RTPROT_UNSPEC, RT_SCOPE_UNIVERSE, way.kind, RTM_F_CLONED | (0x80000000 if way.kind == RTN_LOCAL else 0),
    )  # fmt: skip
    out += wire.attribute(RTA_DST, to) + wire.u32(RTA_TABLE, table)
    out += wire.attribute(RTA_SRC, source) if source != INADDR_ANY else b""
    out += (
        wire.u32(RTA_OIF, way.dev.ifindex)
        if not (iif and way.kind == RTN_LOCAL)
        else wire.u32(RTA_OIF, net.loopback.ifindex)
    )
    if not iif and way.source != source:
        out += wire.attribute(RTA_PREFSRC, way.source)
    out += wire.attribute(RTA_GATEWAY, way.gateway) if way.gateway is not None else b""
    out += metrics(wire, way.route) if way.route is not None else b""
    out += wire.u32(RTA_MARK, mark) if mark else b""
    out += wire.u32(RTA_UID, flow.uid)
    out += wire.u32(RTA_IIF, iif) if iif else b""
    return [out + wire.attribute(RTA_CACHEINFO, wire.pack("8I", *[0] * 8))]


def filtered(wire: Wire, request: Request) -> Callable[[Route], bool]:
    """ip_valid_fib_dump_req(): what a strict dump is asked for."""
    if not request.strict or len(request.body) < RTMSG_SIZE:
        return lambda route: True
    given = wire.attributes(request.body[RTMSG_SIZE:])
    table = wire.number(given.get(RTA_TABLE), default=request.body[4])
    protocol, kind, oif = request.body[5], request.body[7], wire.number(given.get(RTA_OIF))
    if oif and oif not in request.net.devices:
        raise KernelError(ENODEV)

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
    wanted, tables = filtered(wire, request), request.net.ipv4.tables
    for number in sorted(tables, key=lambda n: (n & 255, n)):
        for route in tables[number].routes():
            if wanted(route):
                yield fill(k, wire, route)


Dump = Callable[[NetKernel, Wire, Request], Iterable[bytes]]
One = Callable[[NetKernel, Wire, Request], list[bytes]]
Act = Callable[[NetKernel, Wire, Request], Steps[None] | None]
DUMPS: dict[int, Dump] = {AF_INET: _dump4}
FILL: dict[int, Callable[[NetKernel, Wire, Route], bytes]] = {4: fill}  # by the length of an address
GET: dict[int, One] = {AF_INET: _get}
NEW: dict[int, Act] = {AF_INET: _new}
DELETE: dict[int, Act] = {AF_INET: _delete}


def _dump(k: NetKernel, wire: Wire, request: Request) -> Iterator[bytes]:
    family = request.body[0]
    for each in DUMPS if family == AF_UNSPEC else (family,):
        if each in DUMPS:
            yield from DUMPS[each](k, wire, request)


def _one(k: NetKernel, wire: Wire, request: Request) -> list[bytes]:
    if request.body[0] not in GET:
        raise KernelError(EOPNOTSUPP)
    return GET[request.body[0]](k, wire, request)


def _act(table: dict[int, Act]) -> Act:
    def act(k: NetKernel, wire: Wire, request: Request) -> Steps[None] | None:
        if request.body[0] not in table:
            raise KernelError(EOPNOTSUPP)
        return table[request.body[0]](k, wire, request)

    return act


register(RTM_GETROUTE, Row(RTM_NEWROUTE, dump=_dump, one=_one))
register(RTM_NEWROUTE, Row(RTM_NEWROUTE, change=_act(NEW)))
register(RTM_DELROUTE, Row(RTM_NEWROUTE, change=_act(DELETE)))
