"""ARP: asking for and telling link-layer addresses.  net/ipv4/arp.c, RFC 826."""

from __future__ import annotations

from contextlib import suppress

from arch.abi.inet import ARPHRD_ETHER, ETH_HLEN, ETH_P_ARP, ETH_P_IP, IFF_NOARP, INADDR_ANY, PACKET_HOST
from arch.abi.rtnetlink import (
    NUD_FAILED,
    NUD_REACHABLE,
    NUD_STALE,
    RT_SCOPE_LINK,
    RTN_BROADCAST,
    RTN_LOCAL,
    RTN_MULTICAST,
    RTN_UNICAST,
)
from arch.errors import KernelError
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core import neighbour as neigh
from simkernel.net.core.netns import Event, Neighbour, NetDevice, in_prefix
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import new_skb
from simkernel.net.face import NetKernel
from simkernel.net.ipv4 import fib, igmp
from simkernel.net.ipv4.devinet import conf, max_conf, or_conf, select_address
from simkernel.net.ipv4.route import route_input

ARPOP_REQUEST, ARPOP_REPLY = 1, 2
ARP_BODY = 28  # bytes of an ARP message of Ethernet and IPv4
NOBODY = bytes(6)


class Arp:
    """arp_tbl."""

    def __init__(self, k: NetKernel) -> None:
        self.k = k

    def kind(self, dev: NetDevice, key: bytes) -> int:
        """inet_addr_type_dev_table()."""
        found = fib.address_type(dev.net, key)
        return found if found in (RTN_MULTICAST, RTN_BROADCAST) else RTN_UNICAST

    def group_mac(self, key: bytes) -> bytes:
        """arp_mc_map()."""
        return igmp.multicast_mac(key)

    def solicit(self, neighbour: Neighbour, packet: Skb | None) -> Steps[None]:
        """arp_solicit()."""
        yield self.k.call("arp_solicit", neighbour.addr, packet.addr if packet is not None else 0)

    def give_up(self, neighbour: Neighbour, packet: Skb) -> Steps[None]:
        """arp_error_report(), dst_link_failure()."""
        from_us = packet.dst is not None
        if from_us:
            yield self.k.call("__icmp_send", packet.addr, 3, 1, 0)


def message(operation: int, sender: tuple[bytes, bytes], target: tuple[bytes, bytes]) -> bytes:
    """struct arphdr and what follows: (link-layer address, IPv4 address) of both."""
    head = ARPHRD_ETHER.to_bytes(2, "big") + ETH_P_IP.to_bytes(2, "big") + bytes((6, 4)) + operation.to_bytes(2, "big")
    return head + sender[0] + sender[1] + target[0] + target[1]


@kernel_function("void arp_solicit(struct neighbour *neigh, struct sk_buff *skb)", source="net/ipv4/arp.c")
def arp_solicit(k: NetKernel, neigh_: int, skb: int) -> Body:
    """Who has this address?  To everybody, or to the one who had it last."""
    neighbour, packet = k.net.neighbours[neigh_], k.net.skbs.get(skb)
    dev, source = neighbour.dev, INADDR_ANY
    policy = max_conf(dev, "arp_announce")
    if packet is not None and policy < 2:
        inner = packet.mem.read(packet.network_header() + 12, 4)
        on_link = any(in_prefix(inner, a.address, a.prefix) and in_prefix(neighbour.key, a.address, a.prefix) for a in dev.addresses)  # fmt: skip
        if fib.is_local(dev.net, inner) and (policy == 0 or on_link):
            source = inner
    if source == INADDR_ANY:
        source = select_address(dev.net, dev, neighbour.key, RT_SCOPE_LINK)
    known = None
    if neighbour.probes < neigh.parameter(neighbour, "ucast_solicit") and neighbour.state & neigh.NUD_VALID:
        known = neighbour.mac
    yield from send(k, dev, ARPOP_REQUEST, (dev.mac, source), (NOBODY, neighbour.key), known)
    return 0


def send(
    k: NetKernel, dev: NetDevice, operation: int, sender: tuple[bytes, bytes], target: tuple[bytes, bytes],
    to: bytes | None = None,
) -> Steps[None]:  # fmt: skip
    """arp_send_dst() (`yield from`)."""
    if dev.flags & IFF_NOARP:
        return
    skb = yield from new_skb(k, ARP_BODY)
    skb.reset_network_header()
    skb.put_data(message(operation, sender, target))
    skb.set_dev(dev)
    skb.set_protocol(ETH_P_ARP)
    skb.push_header(to or dev.broadcast, sender[0])
    skb.set_network_header(ETH_HLEN)
    yield k.call("arp_xmit", skb.addr)


@kernel_function("void arp_xmit(struct sk_buff *skb)", source="net/ipv4/arp.c")
def arp_xmit(k: NetKernel, skb: int) -> Body:
    """To the device."""
    yield k.call("__dev_queue_xmit", skb, 0)
    return 0


@kernel_function(
    "int arp_rcv(struct sk_buff *skb, struct net_device *dev, struct packet_type *pt, struct net_device *orig_dev)",
    source="net/ipv4/arp.c",
)
def arp_rcv(k: NetKernel, skb: int, dev: int, pt: int, orig_dev: int) -> Body:
    """An ARP message for this machine."""
    packet, device = k.net.skbs[skb], k.net.devices[dev]
    raw = packet.packet()[:ARP_BODY]
    mine = not device.flags & IFF_NOARP and packet.pkt_type() <= 2
    if not mine or len(raw) < ARP_BODY or raw[4:6] != bytes((6, 4)):
        yield k.call("consume_skb", skb)
        return 0
    yield k.call("arp_process", device.net.addr, 0, skb)
    return 0


@kernel_function("int arp_process(struct net *net, struct sock *sk, struct sk_buff *skb)", source="net/ipv4/arp.c")
def arp_process(k: NetKernel, net: int, sk: int, skb: int) -> Body:
    """Answer for our addresses, and learn from what is said."""
    packet = k.net.skbs[skb]
    dev, raw = packet.device, packet.packet()[:ARP_BODY]
    operation, mac, source, target = int.from_bytes(raw[6:8], "big"), raw[8:14], raw[14:18], raw[24:28]
    if not dev.has_ipv4 or operation not in (ARPOP_REQUEST, ARPOP_REPLY) or raw[2:4] != b"\x08\x00":
        yield k.call("consume_skb", skb)
        return 0
    if fib.is_multicast(target) or (target[0] == 127 and not or_conf(dev, "route_localnet")):
        yield k.call("consume_skb", skb)
        return 0
    if source == INADDR_ANY:  # a detection of duplicates
        if operation == ARPOP_REQUEST and fib.address_type(dev.net, target) == RTN_LOCAL and not ignores(dev, source, target):  # fmt: skip
            yield from send(k, dev, ARPOP_REPLY, (dev.mac, target), (mac, source), mac)
        yield k.call("consume_skb", skb)
        return 0
    if operation == ARPOP_REQUEST and (yield from _asked(k, dev, packet, mac, source, target)):
        yield k.call("consume_skb", skb)
        return 0
    found = neigh.find(dev, source)
    gratuitous = (source == target and operation == ARPOP_REQUEST) or (operation == ARPOP_REPLY and source == target)
    if found is None and max_conf(dev, "arp_accept") and (gratuitous or operation == ARPOP_REPLY):
        found = neigh.create(k, dev, source)
    if found is not None:
        directed = operation == ARPOP_REPLY and packet.pkt_type() == PACKET_HOST
        lock = neigh.parameter(found, "locktime") * 10 * neigh.NS_PER_MS
        override = k.clock.now_ns > found.updated_ns + lock or gratuitous or found.state == NUD_FAILED
        try:
            state = NUD_REACHABLE if directed and not gratuitous else NUD_STALE
            yield from neigh.update(k, found, mac, state, neigh.UPDATE_OVERRIDE if override else 0)
        except KernelError:
            pass
    yield k.call("consume_skb", skb)
    return 0


def ignores(dev: NetDevice, source: bytes, target: bytes) -> bool:
    """arp_ignore()."""
    level = max_conf(dev, "arp_ignore")
    own = [a for a in dev.addresses if a.local == target]
    if level in (1, 2):
        return not own or (level == 2 and not any(in_prefix(source, a.address, a.prefix) for a in own))
    return level == 8


def _asked(k: NetKernel, dev: NetDevice, packet: Skb, mac: bytes, source: bytes, target: bytes) -> Steps[bool]:
    """A question: True if it is dealt with (`yield from`)."""
    try:
        way = route_input(k, dev, target, source, 0, 0)
    except KernelError:
        return False
    if way.kind == RTN_LOCAL:
        if ignores(dev, source, target):
            return True
        asker = neigh.find(dev, source) or neigh.create(k, dev, source)
        with suppress(KernelError):
            yield from neigh.update(k, asker, mac, NUD_STALE, neigh.UPDATE_OVERRIDE)
        yield from send(k, dev, ARPOP_REPLY, (dev.mac, target), (mac, source), mac)
        return True
    proxy = conf(dev, "proxy_arp") or dev.net.conf_all["ipv4"]["proxy_arp"]
    if way.kind == RTN_UNICAST and way.dev is not dev and proxy and conf(dev, "forwarding"):
        asker = neigh.find(dev, source) or neigh.create(k, dev, source)
        yield from neigh.update(k, asker, mac, NUD_STALE, neigh.UPDATE_OVERRIDE)
        yield from send(k, dev, ARPOP_REPLY, (dev.mac, target), (mac, source), mac)
        return True
    return way.kind == RTN_BROADCAST


def netdev_event(k: NetKernel, dev: NetDevice, event: Event) -> None:
    """arp_netdev_event(), arp_ifdown()."""
    if event is Event.CHANGEADDR:
        neigh.address_changed(k, dev)
    elif event is Event.CHANGE and not dev.carrier and conf(dev, "arp_evict_nocarrier"):
        neigh.device_gone(k, dev, carrier_only=True)
    elif event in (Event.DOWN, Event.UNREGISTER):
        neigh.device_gone(k, dev)
