"""Which way an IPv6 packet takes, and from which address.  net/ipv6/{route,ip6_output,addrconf,addrlabel}.c.

Answers are remembered until something changes that they depend on (`Inet.changed()`).
"""

from __future__ import annotations

from arch.abi.errno import EADDRNOTAVAIL, EINVAL, ENETUNREACH
from arch.abi.inet import IN6ADDR_ANY
from arch.abi.rtnetlink import IFA_F_DEPRECATED, RTAX_MTU, RTN_LOCAL, RTN_MULTICAST, RTN_UNICAST
from arch.errors import KernelError
from simkernel.net.core.netns import Ifaddr, Net, NetDevice, in_prefix
from simkernel.net.core.rules import Flow, Found
from simkernel.net.core.skb import Dst
from simkernel.net.face import NetKernel
from simkernel.net.ipv6.addr import is_group, is_link_local, scope
from simkernel.net.ipv6.ip6_fib import TENTATIVE, fib6_lookup, local_device

LABELS = tuple(
    (bytes.fromhex(prefix.ljust(32, "0")), length, label)
    for prefix, length, label in (
        ("00" * 15 + "01", 128, 0), ("0" * 24, 96, 3), ("0" * 20 + "ffff", 96, 4), ("20010000", 32, 6), ("20010010", 28, 7),
        ("3ffe", 16, 12), ("2002", 16, 2), ("fec0", 10, 11), ("fc", 7, 5), ("", 0, 1),
    )
)  # fmt: skip


def _label(address: bytes) -> int:
    """ipv6_addr_label()."""
    return next(label for prefix, length, label in LABELS if in_prefix(address, prefix, length))


def _common_bits(a: bytes, b: bytes) -> int:
    """ipv6_addr_diff()."""
    return 128 - (int.from_bytes(a, "big") ^ int.from_bytes(b, "big")).bit_length()


def _score(found: Ifaddr, dst: bytes, out: NetDevice | None) -> tuple[int, ...]:
    """ipv6_get_saddr_eval(): the rules of RFC 6724 in their order."""
    near, far = scope(found.local), scope(dst)
    return (
        found.local == dst,
        -near if near >= far else near - 128,
        not found.flags & IFA_F_DEPRECATED,
        out is None or found.dev is out,
        _label(found.local) == _label(dst),
        min(_common_bits(found.local, dst), found.prefix),
    )


def source_for(net: Net, dev: NetDevice | None, dst: bytes) -> bytes:
    """ipv6_dev_get_saddr().  EADDRNOTAVAIL."""
    near = is_group(dst) or scope(dst) <= 2
    devices = [dev] if near and dev is not None else [d for _, d in sorted(net.devices.items())]
    best: Ifaddr | None = None
    for each in devices:
        for address in each.addresses6:
            if address.flags & TENTATIVE or not each.up:
                continue
            if best is None or _score(address, dst, dev) > _score(best, dst, dev):
                best = address
    if best is None:
        raise KernelError(EADDRNOTAVAIL)
    return best.local


def link_local(dev: NetDevice, tentative: bool = False) -> bytes | None:
    """ipv6_get_lladdr()."""
    for address in dev.addresses6:
        if is_link_local(address.local) and (tentative or not address.flags & TENTATIVE):
            return address.local
    return None


def route_output(
    k: NetKernel, net: Net, dst: bytes, source: bytes = IN6ADDR_ANY, oif: int = 0, mark: int = 0, bound: bool = False,
    protocol: int = 0, tos: int = 0,
) -> Dst:  # fmt: skip
    """ip6_dst_lookup_flow(): the way with its source.  ENETUNREACH, EADDRNOTAVAIL and what routes and rules say."""
    key = (dst, source, oif, mark, bound, protocol, tos)
    found = net.ipv6.cache.get(key)
    if found is None:
        found = net.ipv6.cache[key] = _route_output(net, dst, source, oif, mark, bound, protocol, tos)
    assert isinstance(found, Dst)
    return found


def _route_output(
    net: Net, dst: bytes, source: bytes, oif: int, mark: int, bound: bool, protocol: int, tos: int
) -> Dst:  # fmt: skip
    flow = Flow(dst, source, oif, 0, tos, mark, protocol=protocol, scope=int(bound))
    found, error = None, KernelError(ENETUNREACH)
    try:
        found = fib6_lookup(net, flow)
    except KernelError as caught:
        error = caught
    if source == IN6ADDR_ANY:
        dev = found.nexthop.dev if found is not None and found.nexthop is not None else None
        prefsrc = found.route.source if found is not None else None
        source = prefsrc or source_for(net, dev if found is None or found.route.kind != RTN_LOCAL else None, dst)
    if found is None:
        raise error
    return _made(net, found, dst, source)


def _made(net: Net, found: Found, dst: bytes, source: bytes) -> Dst:
    """ip6_rt_init_dst(): what is ours goes through lo."""
    route, way = found.route, found.nexthop
    assert way is not None and way.dev is not None
    dev, kind = way.dev, route.kind
    if kind == RTN_LOCAL:
        dev = net.loopback
    if is_group(dst):
        kind = RTN_MULTICAST
    mtu = min(dev.conf["ipv6"]["mtu"] or dev.mtu, dev.mtu, route.metrics.get(RTAX_MTU, dev.mtu))
    loops = kind == RTN_MULTICAST and dst in dev.groups and not dev.loopback
    gateway = way.gateway if kind != RTN_LOCAL else None
    mtu -= way.lwt.room(mtu) if way.lwt is not None else 0
    mtu = min(mtu, net.ipv6.path_mtus.get((dev, dst), mtu))
    return Dst(dev, kind, source, gateway, dst, mtu, route, found.table.number, loops, lwt=way.lwt, device=way.dev)


def route_input(k: NetKernel, dev: NetDevice, dst: bytes, source: bytes, mark: int = 0) -> Dst:
    """ip6_route_input(): where a packet goes that came by a device.  ENETUNREACH, EINVAL and what routes say."""
    net = dev.net
    key = ("in", dev.ifindex, dst, source, mark)
    found = net.ipv6.cache.get(key)
    if found is None:
        found = net.ipv6.cache[key] = _route_input(net, dev, dst, source, mark)
    assert isinstance(found, Dst)
    return found


def _route_input(net: Net, dev: NetDevice, dst: bytes, source: bytes, mark: int) -> Dst:
    if is_group(dst):
        return Dst(dev, RTN_MULTICAST, source, destination=dst, mtu=dev.mtu, input=True)
    if is_link_local(dst):  # an address of the device itself
        if local_device(net, dst, dev) is not None or (dev.loopback and local_device(net, dst) is not None):
            return Dst(dev, RTN_LOCAL, source, destination=dst, mtu=dev.mtu, input=True, device=dev)
    found = fib6_lookup(net, Flow(dst, source, 0, dev.ifindex, mark=mark))
    way = found.nexthop
    assert way is not None and way.dev is not None
    if found.route.kind == RTN_LOCAL:
        return Dst(dev, RTN_LOCAL, source, destination=dst, mtu=dev.mtu, input=True, lwt=way.lwt, device=way.dev)
    if found.route.kind != RTN_UNICAST:
        raise KernelError(EINVAL)
    mtu = min(way.dev.mtu, found.route.metrics.get(RTAX_MTU, way.dev.mtu))
    mtu -= way.lwt.room(mtu) if way.lwt is not None else 0
    return Dst(
        way.dev, RTN_UNICAST, source, way.gateway, dst, mtu, found.route, found.table.number, input=True, lwt=way.lwt
    )
