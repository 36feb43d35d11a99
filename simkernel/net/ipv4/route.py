"""Which way a packet takes: out of this machine, and in.  net/ipv4/route.c.

Answers are remembered until something changes that they depend on (`Inet.changed()`), as Linux remembers them in nexthops and
sockets; a packet carries its own (`Skb.dst`).
"""

from __future__ import annotations

from arch.abi.errno import EHOSTUNREACH, EINVAL, ENETUNREACH, ENODEV, EXDEV
from arch.abi.inet import INADDR_ANY
from arch.abi.rtnetlink import (
    RT_SCOPE_HOST,
    RT_SCOPE_LINK,
    RTAX_LOCK,
    RTAX_MTU,
    RTN_BROADCAST,
    RTN_LOCAL,
    RTN_MULTICAST,
    RTN_UNICAST,
    RTNH_F_DEAD,
)
from arch.abi.time import TICK_NSEC
from arch.errors import KernelError
from simkernel.net.core.lwtstate import LwtState
from simkernel.net.core.netns import Net, NetDevice, Nexthop, Route
from simkernel.net.core.rules import Flow
from simkernel.net.core.skb import Dst
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.devinet import by_address, conf, max_conf, or_conf, select_address
from simkernel.net.ipv4.fib import fib_lookup, is_multicast, is_zeronet

BROADCAST = b"\xff\xff\xff\xff"
LOOPBACK = bytes((127, 0, 0, 1))


def is_loopback(address: bytes) -> bool:
    """ipv4_is_loopback()."""
    return address[0] == 127


def route_output(k: NetKernel, net: Net, flow: Flow) -> Dst:
    """ip_route_output_key(): EINVAL, ENODEV, ENETUNREACH, and what routes and rules say."""
    found = net.ipv4.cache.get((flow,))
    if found is None:
        found = _route_output(k, net, flow)
        net.ipv4.cache[(flow,)] = found
    assert isinstance(found, Dst)
    return found


def simple_output(
    k: NetKernel, net: Net, destination: bytes, source: bytes = INADDR_ANY, oif: int = 0, mark: int = 0
) -> Dst:
    """The same for the flow that most packets have."""
    key = (destination, source, oif, mark)
    found = net.ipv4.cache.get(key)
    if found is None:
        found = net.ipv4.cache[key] = _route_output(k, net, Flow(destination, source, oif, mark=mark))
    assert isinstance(found, Dst)
    return found


def _route_output(k: NetKernel, net: Net, flow: Flow) -> Dst:
    """ip_route_output_key_hash_rcu()."""
    source, destination, out = flow.source, flow.destination, None
    if source != INADDR_ANY:
        if is_multicast(source) or source == BROADCAST or is_zeronet(source):
            raise KernelError(EINVAL, "no source")
        if not flow.oif and (is_multicast(destination) or destination == BROADCAST):
            dev = by_address(net, source)
            if dev is None:
                raise KernelError(EINVAL, "not our address")
            return _make(k, net, dev, flow, source, RTN_UNICAST)
    if flow.oif:
        out = net.devices.get(flow.oif)
        if out is None:
            raise KernelError(ENODEV)
        if not out.up or not out.has_ipv4:
            raise KernelError(ENETUNREACH)
        if (is_multicast(destination) and destination[:3] == b"\xe0\0\0") or destination == BROADCAST:
            source = source if source != INADDR_ANY else select_address(net, out, INADDR_ANY, RT_SCOPE_LINK)
            return _make(k, net, out, flow, source, RTN_UNICAST)
        if source == INADDR_ANY and is_multicast(destination):
            source = select_address(net, out, INADDR_ANY, flow.scope)
        elif source == INADDR_ANY and destination == INADDR_ANY:
            source = select_address(net, out, INADDR_ANY, RT_SCOPE_HOST)
    if destination == INADDR_ANY:
        destination = source = source if source != INADDR_ANY else LOOPBACK
        return Dst(net.loopback, RTN_LOCAL, source, destination=destination, mtu=net.loopback.mtu)
    try:
        found = fib_lookup(net, Flow(destination, source, flow.oif, 0, flow.tos, flow.mark, flow.uid, flow.protocol, flow.sport, flow.dport, flow.scope))  # fmt: skip
    except KernelError:
        if out is None:
            raise
        # no table knows it, so the destination is taken to be on the link
        source = source if source != INADDR_ANY else select_address(net, out, INADDR_ANY, RT_SCOPE_LINK)
        return _make(k, net, out, flow, source, RTN_UNICAST)
    route, way = found.route, found.nexthop
    assert way is not None
    if route.kind == RTN_LOCAL:
        if source == INADDR_ANY:
            source = route.source or destination
        return _make(k, net, net.loopback, flow, source, RTN_LOCAL, route, found.table.number, lwt=way.lwt)
    assert way.dev is not None
    if len(route.nexthops) > 1 and not flow.oif:
        way = _multipath(k, flow, route) or way
    dev = way.dev
    assert dev is not None
    if source == INADDR_ANY:
        source = route.source or select_address(net, dev, way.gateway if way.gateway and len(way.gateway) == 4 else destination, route.scope)  # fmt: skip
    gateway = way.gateway if way.scope == RT_SCOPE_LINK or (way.gateway and len(way.gateway) == 16) else None
    return _make(k, net, dev, flow, source, route.kind, route, found.table.number, gateway, way.lwt)


def _multipath(k: NetKernel, flow: Flow, route: Route) -> Nexthop | None:
    """fib_select_multipath(): by a hash of the addresses, in proportion to the weights, or as the buckets of a group say."""
    from_ = int.from_bytes(flow.source + flow.destination, "big") * 0x9E3779B97F4A7C15 >> 31 & 0x7FFFFFFF
    if route.nh is not None and route.nh.buckets is not None:
        bucket = route.nh.buckets.buckets[from_ % len(route.nh.buckets.buckets)]
        bucket.used = k.clock.now_ns // TICK_NSEC
        return bucket.member.way
    alive = [way for way in route.nexthops if not way.flags & RTNH_F_DEAD]
    total, seen = sum(way.weight for way in alive), 0
    for way in alive:
        seen += way.weight
        if from_ <= (seen << 31) // total - 1:
            return way
    return None


def _make(
    k: NetKernel, net: Net, dev: NetDevice, flow: Flow, source: bytes, kind: int, route: Route | None = None,
    table: int = 0, gateway: bytes | None = None, lwt: LwtState | None = None,
) -> Dst:  # fmt: skip
    """__mkroute_output().  EINVAL."""
    destination = flow.destination
    if not dev.has_ipv4:
        raise KernelError(EINVAL)
    if is_loopback(source) and not dev.loopback and not or_conf(dev, "route_localnet"):
        raise KernelError(EINVAL, "127/8 leaves the machine")
    if destination == BROADCAST:
        kind = RTN_BROADCAST
    elif is_multicast(destination):
        kind = RTN_MULTICAST
    elif is_zeronet(destination):
        raise KernelError(EINVAL)
    loops = kind == RTN_BROADCAST or (kind == RTN_MULTICAST and destination in dev.groups)
    mtu, metrics = dev.mtu, route.metrics if route is not None else {}
    if RTAX_MTU in metrics:
        mtu = min(mtu, metrics[RTAX_MTU])
    mtu -= lwt.room(mtu) if lwt is not None else 0
    mtu = min(mtu, net.ipv4.path_mtus.get((dev, destination), mtu))
    return Dst(
        dev, kind, source, gateway, destination, mtu, route, table, loops and not dev.loopback,
        locked=bool(metrics.get(RTAX_LOCK, 0) & 1 << RTAX_MTU), lwt=lwt,
    )  # fmt: skip


# -- in ----------------------------------------------------------------------------------------------------------------


def route_input(k: NetKernel, dev: NetDevice, destination: bytes, source: bytes, tos: int, mark: int) -> Dst:
    """ip_route_input_noref(): where a packet goes that came by a device.  EINVAL, EXDEV, EHOSTUNREACH, ENETUNREACH."""
    cache, key = dev.net.ipv4.cache, (dev.ifindex, destination, source, tos, mark)
    found = cache.get(key)
    if found is None:
        found = cache[key] = _route_input(k, dev, destination, source, tos, mark)
    assert isinstance(found, Dst)
    return found


def _route_input(k: NetKernel, dev: NetDevice, destination: bytes, source: bytes, tos: int, mark: int) -> Dst:
    """ip_route_input_rcu(), ip_route_input_slow()."""
    net = dev.net
    if is_multicast(destination):
        joined = destination in dev.groups or dev.loopback
        if not joined:
            raise KernelError(EINVAL, "nobody has joined")
        _valid_multicast_source(dev, source, destination)
        return Dst(dev, RTN_MULTICAST, source, destination=destination, mtu=dev.mtu, input=True)
    if not dev.has_ipv4:
        raise KernelError(EINVAL)
    if is_multicast(source) or source == BROADCAST:
        raise KernelError(EINVAL, "a martian source")
    if destination == BROADCAST or (source == INADDR_ANY and destination == INADDR_ANY):
        return Dst(dev, RTN_BROADCAST, source, destination=destination, mtu=dev.mtu, input=True)
    if is_zeronet(source) or is_zeronet(destination):
        raise KernelError(EINVAL, "martian")
    localnet = bool(or_conf(dev, "route_localnet")) or dev.loopback
    if (is_loopback(destination) or is_loopback(source)) and not localnet:
        raise KernelError(EINVAL, "martian")
    try:
        found = fib_lookup(net, Flow(destination, source, 0, dev.ifindex, tos, mark))
    except KernelError as error:
        if not forwarding(dev):
            raise KernelError(EHOSTUNREACH, "not for us") from error
        raise
    route = found.route
    if route.kind == RTN_BROADCAST:
        return Dst(dev, RTN_BROADCAST, source, destination=destination, mtu=dev.mtu, input=True)
    if route.kind == RTN_LOCAL:
        _validate_source(k, dev, destination, source, tos, mark, net.loopback)
        lwt = found.nexthop.lwt if found.nexthop is not None else None
        return Dst(dev, RTN_LOCAL, source, destination=destination, mtu=dev.mtu, input=True, lwt=lwt)
    if not forwarding(dev):
        raise KernelError(EHOSTUNREACH, "forwarding is off")
    if route.kind != RTN_UNICAST:
        raise KernelError(EINVAL)
    way = found.nexthop
    assert way is not None and way.dev is not None
    if len(route.nexthops) > 1:
        way = _multipath(k, Flow(destination, source), route) or way
    out = way.dev
    assert out is not None
    _validate_source(k, dev, destination, source, tos, mark, out)
    gateway = way.gateway if way.scope == RT_SCOPE_LINK or (way.gateway and len(way.gateway) == 16) else None
    mtu = min(out.mtu, route.metrics.get(RTAX_MTU, out.mtu))
    mtu -= way.lwt.room(mtu) if way.lwt is not None else 0
    return Dst(out, RTN_UNICAST, source, gateway, destination, mtu, route, found.table.number, input=True, lwt=way.lwt)


def forwarding(dev: NetDevice) -> bool:
    """IN_DEV_FORWARD()."""
    return bool(conf(dev, "forwarding"))


def _valid_multicast_source(dev: NetDevice, source: bytes, destination: bytes) -> None:
    """ip_mc_validate_source()."""
    if is_multicast(source) or source == BROADCAST or (is_loopback(source) and not dev.loopback):
        raise KernelError(EINVAL)
    if is_zeronet(source) and destination[:3] != b"\xe0\0\0":
        raise KernelError(EINVAL)


def _validate_source(
    k: NetKernel, dev: NetDevice, destination: bytes, source: bytes, tos: int, mark: int, out: NetDevice
) -> None:  # fmt: skip
    """fib_validate_source(): is it nobody's own address, and with rp_filter one that we would send to by that device?"""
    mode = max_conf(dev, "rp_filter")
    if source == INADDR_ANY:
        return
    try:
        found = fib_lookup(dev.net, Flow(source, destination, 0, dev.net.loopback.ifindex, tos, 0))
    except KernelError:
        if mode:
            raise KernelError(EXDEV) from None
        return
    if found.route.kind == RTN_LOCAL and not dev.loopback and not conf(dev, "accept_local"):
        raise KernelError(EINVAL, "our own address as a source")
    if not mode or dev.loopback:
        return
    if found.nexthop is not None and found.nexthop.dev is dev:
        return
    if mode == 1 or found.nexthop is None:
        raise KernelError(EXDEV)
