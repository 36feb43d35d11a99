"""Neighbour discovery: who has which address on a link.  net/ipv6/ndisc.c, RFC 4861."""

from __future__ import annotations

from contextlib import suppress

from arch.abi.in6 import NDISC_NEIGHBOUR_ADVERTISEMENT, NDISC_NEIGHBOUR_SOLICITATION
from arch.abi.inet import ETH_P_IPV6, IFF_NOARP, IN6ADDR_ANY, IPPROTO_ICMPV6
from arch.abi.rtnetlink import (
    IFA_F_TENTATIVE,
    NUD_FAILED,
    NUD_REACHABLE,
    NUD_STALE,
    RTN_MULTICAST,
    RTN_UNICAST,
)
from arch.errors import KernelError
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core import neighbour as neigh
from simkernel.net.core.netns import Event, Neighbour, NetDevice
from simkernel.net.core.skb import Dst, Skb
from simkernel.net.core.skbuff import new_skb
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import addresses
from simkernel.net.ipv6 import addrconf, mcast
from simkernel.net.ipv6.addr import ALL_NODES, is_group, solicited
from simkernel.net.ipv6.header import icmpv6_checksum, ipv6_header
from simkernel.net.ipv6.ip6_fib import is_local
from simkernel.net.ipv6.route import link_local

HOPS = 255  # a message of the link itself
SOURCE_ADDRESS, TARGET_ADDRESS = 1, 2  # ND_OPT_SOURCE_LL_ADDR, ND_OPT_TARGET_LL_ADDR
ROUTER, SOLICITED_FLAG, OVERRIDE = 0x80, 0x40, 0x20


class Ndisc:
    """nd_tbl."""

    def __init__(self, k: NetKernel) -> None:
        self.k = k

    def kind(self, dev: NetDevice, key: bytes) -> int:
        """ndisc_constructor()."""
        return RTN_MULTICAST if is_group(key) else RTN_UNICAST

    def group_mac(self, key: bytes) -> bytes:
        """ndisc_mc_map()."""
        return mcast.multicast_mac(key)

    def solicit(self, neighbour: Neighbour, packet: Skb | None) -> Steps[None]:
        """ndisc_solicit()."""
        yield self.k.call("ndisc_solicit", neighbour.addr, packet.addr if packet is not None else 0)

    def give_up(self, neighbour: Neighbour, packet: Skb) -> Steps[None]:
        """ndisc_error_report(), ip6_link_failure()."""
        yield self.k.call("icmp6_send", packet.addr, 1, 3, 0, 0, 0)


def asks_for(k: NetKernel, dev: NetDevice, address: bytes) -> Steps[None]:
    """The question of duplicate address detection (`yield from`)."""
    yield from send_ns(k, dev, address, solicited(address), IN6ADDR_ANY)


@kernel_function("void ndisc_solicit(struct neighbour *neigh, struct sk_buff *skb)", source="net/ipv6/ndisc.c")
def ndisc_solicit(k: NetKernel, neigh_: int, skb: int) -> Body:
    """Who has this address?  To its group, or to the one who had it last."""
    neighbour, packet = k.net.neighbours[neigh_], k.net.skbs.get(skb)
    dev, source, target = neighbour.dev, None, neighbour.key
    if packet is not None:
        inner = addresses(packet)[0]
        source = inner if len(inner) == 16 and is_local(dev.net, inner) else None
    unicast = neighbour.probes < neigh.parameter(neighbour, "ucast_solicit") and neighbour.state & neigh.NUD_VALID
    yield from send_ns(k, dev, target, target if unicast else solicited(target), source)
    return 0


def send_ns(k: NetKernel, dev: NetDevice, target: bytes, to: bytes, source: bytes | None) -> Steps[None]:
    """ndisc_send_ns() (`yield from`)."""
    if source is None:
        source = link_local(dev, tentative=True)
        if source is None:
            return
    body = bytes((NDISC_NEIGHBOUR_SOLICITATION, 0, 0, 0)) + bytes(4) + target
    if source != IN6ADDR_ANY:
        body += bytes((SOURCE_ADDRESS, 1)) + dev.mac
    yield from send(k, dev, body, to, source)


def send_na(
    k: NetKernel, dev: NetDevice, to: bytes, target: bytes, solicited_: bool, override: bool, with_address: bool
) -> Steps[None]:  # fmt: skip
    """ndisc_send_na() (`yield from`)."""
    source = target if is_local(dev.net, target) else link_local(dev)
    if source is None:
        return
    router = ROUTER if dev.conf["ipv6"]["forwarding"] else 0
    flags = router | (SOLICITED_FLAG if solicited_ else 0) | (OVERRIDE if override else 0)
    body = bytes((NDISC_NEIGHBOUR_ADVERTISEMENT, 0, 0, 0, flags, 0, 0, 0)) + target
    if with_address:
        body += bytes((TARGET_ADDRESS, 1)) + dev.mac
    yield from send(k, dev, body, to, source)


def send(k: NetKernel, dev: NetDevice, body: bytes, to: bytes, source: bytes) -> Steps[None]:
    """ndisc_send_skb() (`yield from`)."""
    if dev.flags & IFF_NOARP or not dev.up:
        return
    body = icmpv6_checksum(source, to, body)
    skb = yield from new_skb(k, len(body))
    skb.put_data(body)
    skb.reset_transport_header()
    skb.push_data(ipv6_header(source, to, IPPROTO_ICMPV6, len(body), HOPS))
    skb.reset_network_header()
    skb.set_protocol(ETH_P_IPV6)
    skb.set_dev(dev)
    skb.dst = Dst(dev, RTN_MULTICAST if is_group(to) else RTN_UNICAST, source, None, to, dev.mtu)
    mib = dev.net.ipv6.mib
    mib["OutRequests"] += 1
    mib["Icmp6OutMsgs"] += 1
    mib[f"Icmp6OutType{body[0]}"] += 1
    yield k.call("ip6_output", dev.net.addr, 0, skb.addr)


@kernel_function("int ndisc_rcv(struct sk_buff *skb)", source="net/ipv6/ndisc.c")
def ndisc_rcv(k: NetKernel, skb: int) -> Body:
    """A message of the link: nothing that came through a router."""
    packet = k.net.skbs[skb]
    body = packet.packet()
    if packet.mem.read(packet.network_header() + 7, 1)[0] != HOPS or body[1] or len(body) < 24:
        return 0
    if body[0] == NDISC_NEIGHBOUR_SOLICITATION:
        yield k.call("ndisc_recv_ns", skb)
    elif body[0] == NDISC_NEIGHBOUR_ADVERTISEMENT:
        yield k.call("ndisc_recv_na", skb)
    return 0


def _option(body: bytes, wanted: int) -> bytes | None:
    """ndisc_parse_options(): a link-layer address."""
    at = 24
    while at + 8 <= len(body) and body[at + 1]:
        if body[at] == wanted:
            return body[at + 2 : at + 8]
        at += 8 * body[at + 1]
    return None


@kernel_function("void ndisc_recv_ns(struct sk_buff *skb)", source="net/ipv6/ndisc.c")
def ndisc_recv_ns(k: NetKernel, skb: int) -> Body:
    """Somebody asks for an address."""
    packet = k.net.skbs[skb]
    dev, body = packet.device, packet.packet()
    source, destination = addresses(packet)
    target, asks = body[8:24], source == IN6ADDR_ANY
    mac = None if asks else _option(body, SOURCE_ADDRESS)
    if is_group(target) or (asks and destination != solicited(target)):
        return 0
    own = next((a for a in dev.addresses6 if a.local == target), None)
    if own is None:
        return 0
    if own.flags & IFA_F_TENTATIVE:
        if asks:
            addrconf.dad_failure(k, own)
        return 0
    if asks:
        yield from send_na(k, dev, ALL_NODES, target, False, True, True)
        return 0
    group = is_group(destination)
    asker = neigh.find(dev, source)
    if asker is None and (not group or mac is not None):
        asker = neigh.create(k, dev, source)
    if asker is not None:
        flags = neigh.UPDATE_WEAK_OVERRIDE | neigh.UPDATE_OVERRIDE
        with suppress(KernelError):
            yield from neigh.update(k, asker, mac, NUD_STALE, flags)
        yield from send_na(k, dev, source, target, True, group, group)
    return 0


@kernel_function("void ndisc_recv_na(struct sk_buff *skb)", source="net/ipv6/ndisc.c")
def ndisc_recv_na(k: NetKernel, skb: int) -> Body:
    """Somebody says that an address is his."""
    packet = k.net.skbs[skb]
    dev, body = packet.device, packet.packet()
    target, flags, mac = body[8:24], body[4], _option(body, TARGET_ADDRESS)
    own = next((a for a in dev.addresses6 if a.local == target), None)
    if own is not None:
        if own.flags & IFA_F_TENTATIVE:
            addrconf.dad_failure(k, own)
        return 0
    found = neigh.find(dev, target)
    if found is None or found.state & NUD_FAILED:
        return 0
    state = NUD_REACHABLE if flags & SOLICITED_FLAG else NUD_STALE
    update = neigh.UPDATE_WEAK_OVERRIDE | neigh.UPDATE_OVERRIDE_ISROUTER
    update |= neigh.UPDATE_OVERRIDE if flags & OVERRIDE else 0
    update |= neigh.UPDATE_ISROUTER if flags & ROUTER else 0
    with suppress(KernelError):
        yield from neigh.update(k, found, mac, state, update)
    return 0


def netdev_event(k: NetKernel, dev: NetDevice, event: Event) -> None:
    """ndisc_netdev_event()."""
    if event is Event.CHANGEADDR:
        neigh.address_changed(k, dev)
