"""NETLINK_ROUTE: links, addresses, routes, neighbours and rules.  net/core/rtnetlink.c, net/ipv4/{devinet,fib_frontend}.c.

What there is can be asked for; of what can be changed there are the flags, the MTU and the IPv4 address of an interface.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from arch.abi.capability import CAP_NET_ADMIN
from arch.abi.errno import EADDRNOTAVAIL, EINVAL, ENETUNREACH, ENODEV, EOPNOTSUPP, EPERM
from arch.abi.if_link import IFLA_XDP
from arch.abi.inet import IFF_BROADCAST, IFF_LOOPBACK, IFF_RUNNING, IFF_UP, IFNAMSIZ
from arch.abi.socket import AF_INET, AF_UNSPEC
from arch.errors import KernelError
from simkernel.net.core.device import route as route_to
from simkernel.net.core.netdevice import GATEWAY, GATEWAY_MAC, NetDevice
from simkernel.net.face import NetKernel
from simkernel.net.interfaces import broadcast_address
from simkernel.net.netlink import qdisc
from simkernel.net.netlink.message import NLM_F_DUMP, NLM_F_MULTI, Request, Wire
from simkernel.net.netlink.tc import (
    FILTER_CHANGES,
    RTM_GETTFILTER,
    RTM_NEWTFILTER,
    del_qdisc,
    dump_filters,
    dump_qdiscs,
    get_filter,
    new_qdisc,
)
from simkernel.net.netlink.xdp import change_xdp, xdp_attributes

RTM_NEWLINK, RTM_DELLINK, RTM_GETLINK, RTM_SETLINK = 16, 17, 18, 19
RTM_NEWADDR, RTM_DELADDR, RTM_GETADDR = 20, 21, 22
RTM_NEWROUTE, RTM_DELROUTE, RTM_GETROUTE = 24, 25, 26
RTM_NEWNEIGH, RTM_DELNEIGH, RTM_GETNEIGH = 28, 29, 30
RTM_NEWRULE, RTM_GETRULE = 32, 34
RTM_MAX, RTM_BASE = 119, 16
IFLA_ADDRESS, IFLA_BROADCAST, IFLA_IFNAME, IFLA_MTU, IFLA_QDISC, IFLA_STATS = 1, 2, 3, 4, 6, 7
IFLA_TXQLEN, IFLA_OPERSTATE, IFLA_LINKMODE, IFLA_STATS64, IFLA_GROUP, IFLA_PROMISCUITY = 13, 16, 17, 23, 27, 30
IFLA_NUM_TX_QUEUES, IFLA_NUM_RX_QUEUES, IFLA_CARRIER, IFLA_ALT_IFNAME = 31, 32, 33, 53
IFA_ADDRESS, IFA_LOCAL, IFA_LABEL, IFA_BROADCAST, IFA_CACHEINFO, IFA_FLAGS = 1, 2, 3, 4, 6, 8
IFA_F_PERMANENT = 0x80
RTA_DST, RTA_OIF, RTA_GATEWAY, RTA_PREFSRC, RTA_TABLE = 1, 4, 5, 7, 15
NDA_DST, NDA_LLADDR = 1, 2
NUD_REACHABLE = 2
FRA_PRIORITY, FRA_TABLE = 6, 15
RT_TABLE_DEFAULT, RT_TABLE_MAIN, RT_TABLE_LOCAL = 253, 254, 255
RTPROT_KERNEL, RTPROT_BOOT = 2, 3
SCOPE_UNIVERSE, SCOPE_LINK, SCOPE_HOST = 0, 253, 254
RTN_UNICAST, RTN_LOCAL, RTN_BROADCAST = 1, 2, 3
IFF_LOWER_UP = 0x10000
OPERSTATE_UNKNOWN, OPERSTATE_DOWN, OPERSTATE_UP = 0, 2, 6
FOREVER = 0xFFFFFFFF
Rows = Iterator[bytes]


def _link(k: NetKernel, wire: Wire, dev: NetDevice) -> bytes:
    """rtnl_fill_ifinfo(): struct ifinfomsg and its attributes."""
    loop, up = bool(dev.flags & IFF_LOOPBACK), bool(dev.flags & IFF_UP)
    flags = dev.flags | (IFF_LOWER_UP | IFF_RUNNING if up else 0)
    state = OPERSTATE_DOWN if not up else OPERSTATE_UNKNOWN if loop else OPERSTATE_UP
    counts = [dev.stats.get(name, 0) for name in ("rx_packets", "tx_packets", "rx_bytes", "tx_bytes")]
    counts += [0, 0, dev.stats.get("rx_dropped", 0)] + [0] * 17
    return (
        struct.pack(wire.order + "BxHiII", AF_UNSPEC, dev.hardware_type, dev.ifindex, flags, 0)
        + wire.text(IFLA_IFNAME, dev.name)
        + wire.u32(IFLA_TXQLEN, 1000)
        + wire.u8(IFLA_OPERSTATE, state)
        + wire.u8(IFLA_LINKMODE, 0)
        + wire.u32(IFLA_MTU, dev.mtu)
        + wire.u32(IFLA_GROUP, 0)
        + wire.u32(IFLA_PROMISCUITY, 0)
        + wire.u32(IFLA_NUM_TX_QUEUES, 1)
        + wire.u32(IFLA_NUM_RX_QUEUES, 1)
        + wire.u8(IFLA_CARRIER, int(up))
        + wire.text(IFLA_QDISC, dev.qdisc.kind if dev.qdisc else "noqueue" if loop else "pfifo_fast")
        + wire.attribute(IFLA_ADDRESS, dev.mac)
        + wire.attribute(IFLA_BROADCAST, bytes(6) if loop else b"\xff" * 6)
        + wire.attribute(IFLA_XDP, xdp_attributes(k, wire, dev))
        + wire.attribute(IFLA_STATS64, struct.pack(wire.order + "24Q", *counts))
        + wire.attribute(IFLA_STATS, struct.pack(wire.order + "24I", *(c & 0xFFFFFFFF for c in counts)))
    )


def _links(k: NetKernel, wire: Wire, request: Request) -> Rows:
    for _, dev in sorted(k.net.devices.items()):
        yield _link(k, wire, dev)


def _addresses(k: NetKernel, wire: Wire, request: Request) -> Rows:
    """inet_fill_ifaddr()."""
    wanted = request.body[0] if request.body else AF_UNSPEC
    if wanted not in (AF_UNSPEC, AF_INET):
        return
    for _, dev in sorted(k.net.devices.items()):
        if dev.address == bytes(4):
            continue
        scope = SCOPE_HOST if dev.flags & IFF_LOOPBACK else SCOPE_UNIVERSE
        yield (
            struct.pack(wire.order + "BBBBI", AF_INET, dev.prefix, IFA_F_PERMANENT, scope, dev.ifindex)
            + wire.attribute(IFA_ADDRESS, dev.address)
            + wire.attribute(IFA_LOCAL, dev.address)
            + (wire.attribute(IFA_BROADCAST, broadcast_address(dev)) if dev.flags & IFF_BROADCAST else b"")
            + wire.text(IFA_LABEL, dev.name)
            + wire.u32(IFA_FLAGS, IFA_F_PERMANENT)
            + wire.attribute(IFA_CACHEINFO, struct.pack(wire.order + "4I", FOREVER, FOREVER, 0, 0))
        )


def _route(
    wire: Wire, table: int, kind: int, scope: int, protocol: int, dest: bytes, length: int, dev: NetDevice,
    source: bytes | None = None, gateway: bytes | None = None,
) -> bytes:  # fmt: skip
    """fib_dump_info(): struct rtmsg and its attributes."""
    body = struct.pack(wire.order + "8BI", AF_INET, length, 0, 0, table, protocol, scope, kind, 0)
    body += wire.u32(RTA_TABLE, table)
    if length:
        body += wire.attribute(RTA_DST, dest)
    if source is not None:
        body += wire.attribute(RTA_PREFSRC, source)
    if gateway is not None:
        body += wire.attribute(RTA_GATEWAY, gateway)
    return body + wire.u32(RTA_OIF, dev.ifindex)


def _network(dev: NetDevice) -> bytes:
    mask = 0xFFFFFFFF << 32 - dev.prefix & 0xFFFFFFFF
    return (int.from_bytes(dev.address, "big") & mask).to_bytes(4, "big")


def _routes(k: NetKernel, wire: Wire, request: Request) -> Rows:
    """inet_dump_fib(): the main table, then the local one."""
    wanted = request.body[0] if request.body else AF_UNSPEC
    if wanted not in (AF_UNSPEC, AF_INET):
        return
    devices = [dev for _, dev in sorted(k.net.devices.items()) if dev.flags & IFF_UP]
    others = [dev for dev in devices if not dev.flags & IFF_LOOPBACK]
    for dev in others:
        if dev.on_link(GATEWAY):
            yield _route(wire, RT_TABLE_MAIN, RTN_UNICAST, SCOPE_UNIVERSE, RTPROT_BOOT, b"", 0, dev, gateway=GATEWAY)
    for dev in others:
        to = _network(dev)
        yield _route(wire, RT_TABLE_MAIN, RTN_UNICAST, SCOPE_LINK, RTPROT_KERNEL, to, dev.prefix, dev, dev.address)
    for dev in devices:
        local, last = (RT_TABLE_LOCAL, RTN_LOCAL, SCOPE_HOST, RTPROT_KERNEL), _broadcast(dev)
        if dev.flags & IFF_LOOPBACK:
            yield _route(wire, *local, _network(dev), dev.prefix, dev, dev.address)
        yield _route(wire, *local, dev.address, 32, dev, dev.address)
        yield _route(wire, RT_TABLE_LOCAL, RTN_BROADCAST, SCOPE_LINK, RTPROT_KERNEL, last, 32, dev, dev.address)


def _broadcast(dev: NetDevice) -> bytes:
    host = (1 << 32 - dev.prefix) - 1
    return (int.from_bytes(dev.address, "big") | host).to_bytes(4, "big")


def _neighbours(k: NetKernel, wire: Wire, request: Request) -> Rows:
    """neigh_dump_info(): the one neighbour."""
    for _, dev in sorted(k.net.devices.items()):
        if dev.on_link(GATEWAY) and not dev.flags & IFF_LOOPBACK:
            yield (
                struct.pack(wire.order + "BxxxiHBB", AF_INET, dev.ifindex, NUD_REACHABLE, 0, RTN_UNICAST)
                + wire.attribute(NDA_DST, GATEWAY)
                + wire.attribute(NDA_LLADDR, GATEWAY_MAC)
            )


def _rules(k: NetKernel, wire: Wire, request: Request) -> Rows:
    """fib_nl_dumprule(): the three that are always there."""
    for priority, table in ((0, RT_TABLE_LOCAL), (32766, RT_TABLE_MAIN), (32767, RT_TABLE_DEFAULT)):
        body = struct.pack(wire.order + "8BI", AF_INET, 0, 0, 0, table, 0, 0, 1, 0) + wire.u32(FRA_TABLE, table)
        yield body + (wire.u32(FRA_PRIORITY, priority) if priority else b"")


DUMPS: dict[int, tuple[int, Callable[[NetKernel, Wire, Request], Rows]]] = {  # request -> (kind of its answers, rows)
    RTM_GETLINK: (RTM_NEWLINK, _links), RTM_GETADDR: (RTM_NEWADDR, _addresses), RTM_GETROUTE: (RTM_NEWROUTE, _routes),
    RTM_GETNEIGH: (RTM_NEWNEIGH, _neighbours), RTM_GETRULE: (RTM_NEWRULE, _rules),
    qdisc.RTM_GETQDISC: (qdisc.RTM_NEWQDISC, dump_qdiscs), RTM_GETTFILTER: (RTM_NEWTFILTER, dump_filters),
}  # fmt: skip


# -- one of them, and changes ------------------------------------------------------------------------------------------


def _device(k: NetKernel, wire: Wire, body: bytes) -> NetDevice:
    """Which interface a struct ifinfomsg means: by number, else by name.  EINVAL, ENODEV."""
    if len(body) < 16:
        raise KernelError(EINVAL)
    index = struct.unpack_from(wire.order + "i", body, 4)[0]
    attributes = wire.attributes(body[16:])
    name = attributes.get(IFLA_IFNAME) or attributes.get(IFLA_ALT_IFNAME)
    if index <= 0 and name is None:
        raise KernelError(EINVAL)
    wanted = name.split(b"\0")[0][:IFNAMSIZ].decode("latin-1") if name is not None else ""
    for dev in k.net.devices.values():
        if dev.ifindex == index or (index <= 0 and dev.name == wanted):
            return dev
    raise KernelError(ENODEV)


def _get_link(k: NetKernel, wire: Wire, request: Request) -> bytes:
    return _link(k, wire, _device(k, wire, request.body))


def _get_route(k: NetKernel, wire: Wire, request: Request) -> bytes:
    """inet_rtm_getroute(): the way to one address."""
    to = wire.attributes(request.body[12:]).get(RTA_DST, b"")
    if len(to) != 4:
        raise KernelError(EINVAL)
    dev = route_to(k, to)
    if dev is None:
        raise KernelError(ENETUNREACH)
    if dev.flags & IFF_LOOPBACK:
        return _route(wire, RT_TABLE_LOCAL, RTN_LOCAL, SCOPE_UNIVERSE, 0, to, 32, dev, to)
    via = None if dev.on_link(to) else GATEWAY
    return _route(wire, RT_TABLE_MAIN, RTN_UNICAST, SCOPE_UNIVERSE, 0, to, 32, dev, dev.address, via)


def _set_link(k: NetKernel, wire: Wire, request: Request) -> None:
    """do_setlink(): flags and MTU of an interface that is there."""
    dev = _device(k, wire, request.body)
    flags, change = struct.unpack_from(wire.order + "II", request.body, 8)
    mtu = wire.attributes(request.body[16:]).get(IFLA_MTU)
    if mtu is not None:
        dev.mtu = struct.unpack(wire.order + "I", mtu)[0]
        k.view(dev.addr, "struct net_device").mtu = dev.mtu
    xdp = wire.attributes(request.body[16:]).get(IFLA_XDP)
    if xdp is not None:
        change_xdp(k, wire, dev, xdp)
    if change or flags:
        change = change or IFF_UP
        dev.flags = dev.flags & ~(change & IFF_UP) | flags & change & IFF_UP
        k.view(dev.addr, "struct net_device").flags = dev.flags


def _new_address(k: NetKernel, wire: Wire, request: Request) -> None:
    """inet_rtm_newaddr(): an interface has one address here, the new one takes its place.  EINVAL, ENODEV."""
    if len(request.body) < 8:
        raise KernelError(EINVAL)
    family, prefix, _, _, index = struct.unpack_from(wire.order + "BBBBI", request.body)
    local = wire.attributes(request.body[8:]).get(IFA_LOCAL)
    if family != AF_INET:
        raise KernelError(EOPNOTSUPP)
    if local is None or len(local) != 4 or prefix > 32:
        raise KernelError(EINVAL)
    dev = k.net.devices.get(index)
    if dev is None:
        raise KernelError(ENODEV)
    dev.address, dev.prefix = local, prefix


def _del_address(k: NetKernel, wire: Wire, request: Request) -> None:
    """inet_rtm_deladdr().  EADDRNOTAVAIL."""
    index = struct.unpack_from(wire.order + "I", request.body.ljust(8, b"\0"), 4)[0]
    dev = k.net.devices.get(index)
    if dev is None:
        raise KernelError(ENODEV)
    if wire.attributes(request.body[8:]).get(IFA_LOCAL, dev.address) != dev.address:
        raise KernelError(EADDRNOTAVAIL)
    dev.address, dev.prefix = bytes(4), 32


GETS = {
    RTM_GETLINK: (RTM_NEWLINK, _get_link),
    RTM_GETROUTE: (RTM_NEWROUTE, _get_route),
    RTM_GETTFILTER: (RTM_NEWTFILTER, get_filter),
}
CHANGES = {
    RTM_NEWLINK: _set_link, RTM_SETLINK: _set_link, RTM_NEWADDR: _new_address, RTM_DELADDR: _del_address,
    qdisc.RTM_NEWQDISC: new_qdisc, qdisc.RTM_DELQDISC: del_qdisc,
}  # fmt: skip


def rtnetlink_rcv_msg(k: NetKernel, wire: Wire, request: Request, portid: int) -> tuple[list[bytes], bool]:
    """One request: its answers, and whether the last of them ends it.  EOPNOTSUPP, EPERM and those of each."""
    if request.kind > RTM_MAX:
        raise KernelError(EOPNOTSUPP)
    if not request.body:  # rtgenmsg has at least a family
        return [], False
    get = (request.kind - RTM_BASE) & 3 == 2
    if not get and not k.capable(CAP_NET_ADMIN):
        raise KernelError(EPERM)
    if get and request.flags & NLM_F_DUMP:
        found = DUMPS.get(request.kind)
        if found is None:
            raise KernelError(EOPNOTSUPP)
        rows = [wire.message(found[0], NLM_F_MULTI, request.seq, portid, row) for row in found[1](k, wire, request)]
        return [*rows, wire.done(request, portid)], True
    if request.kind in GETS:
        kind, make = GETS[request.kind]
        return [wire.message(kind, 0, request.seq, portid, make(k, wire, request))], False
    if request.kind in FILTER_CHANGES:
        rows = FILTER_CHANGES[request.kind](k, wire, request)
        return [wire.message(request.kind, 0, request.seq, portid, row) for row in rows], False
    change = CHANGES.get(request.kind)
    if change is None:
        raise KernelError(EOPNOTSUPP)
    change(k, wire, request)
    return [], False
