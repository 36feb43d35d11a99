"""What tunnels over IPv4 share: the outer header, whose packet comes in by which device, congestion marks.  net/ipv4/ip_tunnel{,_core}.c."""

from __future__ import annotations

from collections.abc import Iterator

from arch.abi.inet import (
    ETH_P_IP,
    ETH_P_IPV6,
    ICMP_DEST_UNREACH,
    ICMP_FRAG_NEEDED,
    INADDR_ANY,
    IP_DF,
    PACKET_BROADCAST,
)
from arch.errors import KernelError
from arch.records import dataclass
from bpf.packet.tunnel_info import (
    IP_TUNNEL_INFO_TX,
    TUNNEL_CSUM,
    TUNNEL_DONT_FRAGMENT,
    TUNNEL_KEY,
    TUNNEL_SEQ,
    TunnelInfo,
)
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.charges import LINK_ROOM
from simkernel.net.core.device import NET_RX_SOFTIRQ, eth_type_trans, scrub
from simkernel.net.core.netns import LinkKind, Net, NetDevice
from simkernel.net.core.programs import NET_XMIT_CN
from simkernel.net.core.skb import Dst, Skb
from simkernel.net.core.skbuff import drop
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import IP_HEADER, checksum, folded, ip_header
from simkernel.net.ipv4.ip_output import identifier
from simkernel.net.ipv4.route import simple_output

INET_ECN_MASK, INET_ECN_ECT_1, INET_ECN_ECT_0, INET_ECN_CE = 3, 1, 2, 3
ETHERNET_HEADER = 14
DEFAULT_TTL = 64  # net.ipv4.ip_default_ttl


class TunnelKind(LinkKind):
    """A kind of device over IPv4: ipip, gre, gretap, sit."""

    def __init__(self, kind: str, xmit: str, ethernet: bool) -> None:
        self.kind, self.xmit, self.ethernet = kind, xmit, ethernet
        if ethernet:
            self.qdisc = "fq_codel"
        else:
            self.addr_len = len(INADDR_ANY)
            self.hard_header_len = 0

    def iflink(self, dev: NetDevice) -> int | None:
        """ip_tunnel_get_iflink()."""
        return ip_tunnel(dev).link


KINDS = (
    ("gretap", "gre_tap_xmit", True), ("gre", "ipgre_xmit", False), ("ipip", "ipip_tunnel_xmit", False),
    ("sit", "sit_tunnel_xmit", False),
)  # fmt: skip


@dataclass(eq=False, slots=True)
class IpTunnel:
    """struct ip_tunnel with its struct ip_tunnel_parm."""

    net: Net  # where its packets go out and come in
    local: bytes = INADDR_ANY
    remote: bytes = INADDR_ANY
    link: int = 0
    ttl: int = 0
    tos: int = 0
    df: int = IP_DF
    i_flags: int = 0  # TUNNEL_
    o_flags: int = 0
    i_key: int = 0
    o_key: int = 0
    protocol: int = 0  # which payloads, of ipip and sit; 0: every
    collects: bool = False  # collect_md: keys come from programs
    ignore_df: bool = False
    fwmark: int = 0
    hlen: int = 0  # bytes between the outer header and the payload
    o_seqno: int = 0
    i_seqno: int = 0


def ip_tunnel(dev: NetDevice) -> IpTunnel:
    """netdev_priv()."""
    assert isinstance(dev.private, IpTunnel)
    return dev.private


# -- congestion marks: RFC 6040, include/net/inet_ecn.h ----------------------------------------------------------------


def inner_header(packet: Skb) -> bytes:
    """The network header of the packet that is carried, as far as anybody looks."""
    return bytes(packet.mem.read(packet.network_header(), 40))


def service_of(protocol: int, header: bytes) -> int:
    """ip_tunnel_get_dsfield()."""
    if protocol == ETH_P_IP:
        return header[1]
    return int.from_bytes(header[:2], "big") >> 4 & 0xFF if protocol == ETH_P_IPV6 else 0


def ecn_encap(tos: int, protocol: int, header: bytes) -> int:
    """ip_tunnel_ecn_encap(): the outer header's kind of service."""
    mark = service_of(protocol, header) & INET_ECN_MASK
    return tos & ~INET_ECN_MASK | (mark if mark != INET_ECN_CE else INET_ECN_ECT_0)


def ecn_decap(packet: Skb, outer: int) -> bool:
    """IP_ECN_decapsulate(): False: what came by a way that was congested does not know of marks, and is to be dropped."""
    protocol, at = packet.protocol(), packet.network_header()
    if protocol not in (ETH_P_IP, ETH_P_IPV6):
        return True
    header = bytes(packet.mem.read(at, IP_HEADER))
    inner, mark = service_of(protocol, header) & INET_ECN_MASK, outer & INET_ECN_MASK
    if not inner:
        return mark != INET_ECN_CE
    new = INET_ECN_CE if mark == INET_ECN_CE else INET_ECN_ECT_1 if mark == INET_ECN_ECT_1 else inner
    if new == inner or (inner == INET_ECN_CE and new == INET_ECN_ECT_1):
        return True
    if protocol == ETH_P_IP:
        changed = header[:1] + bytes((header[1] & ~INET_ECN_MASK | new,)) + header[2:10] + b"\0\0" + header[12:]
        packet.mem.write(at, changed[:10] + checksum(changed).to_bytes(2, "big") + changed[12:])
    else:
        packet.mem.write(at, bytes((header[0], header[1] & ~(INET_ECN_MASK << 4) | new << 4)))
    return True


# -- out ---------------------------------------------------------------------------------------------------------------


def partial_sum(packet: Skb, at: int) -> int:
    """lco_csum(): the sum from `at` on of a packet whose own checksum is still to be finished."""
    start = packet.get("head") + packet.get("csum_start")
    field_ = int.from_bytes(packet.mem.read(start + packet.get("csum_offset"), 2), "big")
    return folded(bytes(packet.mem.read(at, start - at)) + (~field_ & 0xFFFF).to_bytes(2, "big"))


def sending(packet: Skb) -> TunnelInfo | None:
    """What a program has said of a packet that goes out: skb_tunnel_info() with IP_TUNNEL_INFO_TX."""
    info = packet.tunnel
    return info if info is not None and info.mode & IP_TUNNEL_INFO_TX else None


def cow_head(packet: Skb, room: int) -> None:
    """skb_cow_head(): there is room for so many bytes in front."""
    if packet.headroom < room:
        packet.expand_head(room - packet.headroom, 0)


def inner_length(packet: Skb) -> int:
    """What is counted of a packet that goes out: without link headers."""
    return packet.len - (packet.network_header() - packet.data)


def failed(k: NetKernel, packet: Skb, dev: NetDevice, *counters: str) -> Body:
    """tx_error (`yield from`)."""
    for name in ("tx_errors", *counters):
        dev.stats[name] += 1
    yield drop(k, packet)
    return 0


def iptunnel_xmit(
    k: NetKernel, packet: Skb, dev: NetDevice, way: Dst, protocol: int, tos: int, ttl: int, df: int, counted: int,
) -> Steps[None]:  # fmt: skip
    """The outer header, and away with it (`yield from`)."""
    net, length = way.dev.net, packet.len
    scrub(packet, net is not dev.net)
    packet.dst = way
    cow_head(packet, IP_HEADER + LINK_ROOM)
    header = ip_header(way.source, way.destination, protocol, length, identifier(k, net, None, 0), ttl, tos, df)
    packet.push_data(header)
    packet.reset_network_header()
    packet.set_protocol(ETH_P_IP)
    ret = yield k.call("ip_local_out", net.addr, packet.get("sk"), packet.addr)
    if ret in (0, NET_XMIT_CN):
        dev.stats["tx_packets"] += 1
        dev.stats["tx_bytes"] += counted
    else:
        dev.stats["tx_dropped"] += 1


def _too_long(k: NetKernel, packet: Skb, dev: NetDevice, way: Dst, df: int, hlen: int, length: int) -> Steps[bool]:
    """tnl_update_pmtu(): who sent a packet in one piece that does not fit is told (`yield from`)."""
    link = ETHERNET_HEADER if dev.ethernet else 0
    inner = packet.dst if not packet.get("_skb_refdst") else None
    mtu = way.mtu - IP_HEADER - hlen - link if df else inner.mtu if inner is not None else dev.mtu
    if inner is not None and mtu < inner.mtu:
        inner.dev.net.inet(8 * len(inner.destination)).update_pmtu(inner.dev, inner.destination, mtu)
    if packet.protocol() != ETH_P_IP or mtu >= length:
        return False
    if not int.from_bytes(inner_header(packet)[6:8], "big") & IP_DF:
        return False
    packet.pull(packet.network_header() - packet.data)
    yield k.call("__icmp_send", packet.addr, ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED, mtu)
    return True


def _default_ttl(protocol: int, header: bytes) -> int:
    return {ETH_P_IP: header[8], ETH_P_IPV6: header[7]}.get(protocol, DEFAULT_TTL)


@kernel_function(
    "void ip_md_tunnel_xmit(struct sk_buff *skb, struct net_device *dev, u8 proto, int tunnel_hlen)",
    source="net/ipv4/ip_tunnel.c",
    since="4.18",
)
def ip_md_tunnel_xmit(k: NetKernel, skb: int, dev: int, proto: int, tunnel_hlen: int) -> Body:
    """As a program says."""
    packet, device = k.net.skbs[skb], k.net.devices[dev]
    info, tunnel, counted = sending(packet), ip_tunnel(device), inner_length(packet)
    if info is None or info.six:
        return (yield from failed(k, packet, device))
    header, protocol = inner_header(packet), packet.protocol()
    tos = service_of(protocol, header) if info.tos == 1 else info.tos
    try:
        way = simple_output(k, tunnel.net, info.destination, info.source, 0, packet.get("mark"))
    except KernelError:
        return (yield from failed(k, packet, device, "tx_carrier_errors"))
    if way.dev is device:
        return (yield from failed(k, packet, device, "collisions"))
    df = IP_DF if info.flags & TUNNEL_DONT_FRAGMENT else 0
    if (yield from _too_long(k, packet, device, way, df, tunnel_hlen, counted)):
        return (yield from failed(k, packet, device))
    ttl = info.ttl or _default_ttl(protocol, header)
    tos = ecn_encap(tos, protocol, header)
    yield from iptunnel_xmit(k, packet, device, way, proto, tos, ttl, df, counted)
    return 0


@kernel_function(
    "void ip_tunnel_xmit(struct sk_buff *skb, struct net_device *dev, const struct iphdr *tnl_params, u8 protocol)",
    source="net/ipv4/ip_tunnel.c",
)
def ip_tunnel_xmit(k: NetKernel, skb: int, dev: int, tnl_params: int, protocol: int) -> Body:
    """To the other end that the device has, or without one to the next hop of the packet."""
    packet, device = k.net.skbs[skb], k.net.devices[dev]
    tunnel, counted, carried = ip_tunnel(device), inner_length(packet), packet.protocol()
    header = inner_header(packet)
    to = tunnel.remote
    if to == INADDR_ANY:
        way = packet.dst
        if way is None:
            return (yield from failed(k, packet, device, "tx_fifo_errors"))
        if carried != ETH_P_IP:
            return (yield from failed(k, packet, device))
        to = way.gateway if way.gateway is not None and len(way.gateway) == len(INADDR_ANY) else header[16:20]
    tos = tunnel.tos
    if tos & 1:
        tos = service_of(carried, header) if carried in (ETH_P_IP, ETH_P_IPV6) else tos & ~1
    try:
        way = simple_output(k, tunnel.net, to, tunnel.local, tunnel.link, tunnel.fwmark)
    except KernelError:
        return (yield from failed(k, packet, device, "tx_carrier_errors"))
    if way.dev is device:
        return (yield from failed(k, packet, device, "collisions"))
    df = tunnel.df
    if carried == ETH_P_IP and not tunnel.ignore_df:
        df |= int.from_bytes(header[6:8], "big") & IP_DF
    if (yield from _too_long(k, packet, device, way, df, tunnel.hlen, counted)):
        return (yield from failed(k, packet, device))
    ttl = tunnel.ttl or _default_ttl(carried, header)
    tos = ecn_encap(tos, carried, header)
    yield from iptunnel_xmit(k, packet, device, way, protocol, tos, ttl, df, counted)
    return 0


DF_UNSET, DF_SET, DF_INHERIT = range(3)  # enum ifla_vxlan_df, ifla_geneve_df


def whole_wanted(packet: Skb, df: int) -> bool:
    """Must a packet around this one stay in one piece?"""
    if df != DF_INHERIT:
        return df == DF_SET
    if packet.protocol() == ETH_P_IPV6:
        return True
    return packet.protocol() == ETH_P_IP and bool(int.from_bytes(inner_header(packet)[6:8], "big") & IP_DF)


def inner_ttl(packet: Skb) -> int:
    """ip_tunnel_get_ttl()."""
    return {ETH_P_IP: inner_header(packet)[8], ETH_P_IPV6: inner_header(packet)[7]}.get(packet.protocol(), 0)


# -- in ----------------------------------------------------------------------------------------------------------------


def tunnels(net: Net, kind: str) -> Iterator[tuple[NetDevice, IpTunnel]]:
    """Devices of one kind that are up."""
    for dev in [each for each in net.devices.values() if each.kind.kind == kind and each.up]:
        yield dev, ip_tunnel(dev)


def _key_fits(tunnel: IpTunnel, flags: int, key: int) -> bool:
    """ip_tunnel_key_match()."""
    if tunnel.i_flags & TUNNEL_KEY:
        return bool(flags & TUNNEL_KEY) and key == tunnel.i_key
    return not flags & TUNNEL_KEY


def ip_tunnel_lookup(
    net: Net, kind: str, link: int, flags: int, local: bytes, remote: bytes, key: int = 0
) -> NetDevice | None:  # fmt: skip
    """Whose packet it is: of both ends, of the other, of ours, of anybody; else the one that takes its keys from programs."""
    best: tuple[int, bool, NetDevice] | None = None
    collector: NetDevice | None = None
    for dev, tunnel in tunnels(net, kind):
        if tunnel.collects:
            collector = dev
            continue
        rank = _rank(tunnel, local, remote) if _key_fits(tunnel, flags, key) else 0
        if rank and (best is None or (rank, tunnel.link == link) > best[:2]):
            best = (rank, tunnel.link == link, dev)
    return best[2] if best is not None else collector


def _rank(tunnel: IpTunnel, local: bytes, remote: bytes) -> int:
    """How well the ends fit; 0: not at all."""
    if tunnel.remote == remote:
        return 4 if tunnel.local == local else 3 if tunnel.local == INADDR_ANY else 0
    if tunnel.remote == INADDR_ANY:
        return 2 if tunnel.local == local else 1 if tunnel.local == INADDR_ANY else 0
    return 2 if tunnel.remote == local and local[0] & 0xF0 == 0xE0 else 0


@kernel_function(
    "int gro_cells_receive(struct gro_cells *gcells, struct sk_buff *skb)", source="net/core/gro_cells.c", since="4.18"
)
def gro_cells_receive(k: NetKernel, gcells: int, skb: int) -> Body:
    """What came out of a tunnel waits for the softirq.  NET_RX_DROP where the device is down."""
    packet = k.net.skbs[skb]
    if not packet.device.up:
        packet.device.stats["rx_dropped"] += 1
        yield drop(k, packet)
        return 1
    k.net.backlog.append(packet)
    k.softirqs.raise_softirq(NET_RX_SOFTIRQ)
    return 0


def tun_rx_info(packet: Skb, number: int, flags: int) -> TunnelInfo:
    """ip_tun_rx_dst(), ipv6_tun_rx_dst(): what is told of a packet that came in."""
    outer = bytes(packet.mem.read(packet.network_header(), 40))
    if outer[0] >> 4 == 4:
        return TunnelInfo(outer[12:16], outer[16:20], number, outer[1], outer[8], 0, flags)
    first = int.from_bytes(outer[:4], "big")
    return TunnelInfo(outer[8:24], outer[24:40], number, first >> 20 & 0xFF, outer[7], first & 0xFFFFF, flags)


def refused(k: NetKernel, packet: Skb, dev: NetDevice, *counters: str) -> Body:
    """A packet that came in and goes no further (`yield from`)."""
    for name in counters:
        dev.stats[name] += 1
    yield drop(k, packet)
    return 0


def outer_service(packet: Skb) -> int:
    """Of the header that is around."""
    header = bytes(packet.mem.read(packet.network_header(), 2))
    return service_of(ETH_P_IP if header[0] >> 4 == 4 else ETH_P_IPV6, header)


def ip_tunnel_rcv(
    k: NetKernel, packet: Skb, dev: NetDevice, flags: int, seq: int, info: TunnelInfo | None
) -> Body:  # fmt: skip
    """The payload begins where the packet does now: is it as the device wants it, and up with it (`yield from`)."""
    tunnel, outer = ip_tunnel(dev), bytes(packet.mem.read(packet.network_header(), IP_HEADER))
    if outer[16] & 0xF0 == 0xE0:
        dev.stats["multicast"] += 1
        packet.set_pkt_type(PACKET_BROADCAST)
    if (flags ^ tunnel.i_flags) & TUNNEL_CSUM:
        return (yield from refused(k, packet, dev, "rx_crc_errors", "rx_errors"))
    if tunnel.i_flags & TUNNEL_SEQ:
        if not flags & TUNNEL_SEQ or (tunnel.i_seqno and (seq - tunnel.i_seqno) & 0x80000000):
            return (yield from refused(k, packet, dev, "rx_fifo_errors", "rx_errors"))
        tunnel.i_seqno = seq + 1 & 0xFFFFFFFF
    length = packet.len
    if dev.ethernet and length < ETHERNET_HEADER:
        return (yield from refused(k, packet, dev, "rx_length_errors", "rx_errors"))
    packet.set_network_header(ETHERNET_HEADER if dev.ethernet else 0)
    inner = packet.protocol()
    if dev.ethernet:
        packet.set_protocol(int.from_bytes(packet.packet()[12:14], "big"))
    if not ecn_decap(packet, outer[1]):
        return (yield from refused(k, packet, dev, "rx_frame_errors", "rx_errors"))
    packet.set_protocol(inner)
    return (yield from deliver_inner(k, packet, dev, info, length))


def deliver_inner(k: NetKernel, packet: Skb, dev: NetDevice, info: TunnelInfo | None, length: int) -> Body:
    """The end of every tunnel (`yield from`)."""
    dev.stats["rx_packets"] += 1
    dev.stats["rx_bytes"] += length
    scrub(packet, packet.device.net is not dev.net)
    if dev.ethernet:
        eth_type_trans(packet, dev)
    else:
        packet.reset_mac_header()
        packet.set_dev(dev)
    if info is not None:
        packet.set_tunnel(info)
    return (yield k.call("gro_cells_receive", 0, packet.addr))
