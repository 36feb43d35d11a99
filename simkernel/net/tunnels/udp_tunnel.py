"""Tunnels over UDP: the kernel's own socks, and the outer headers of both families.  net/ipv4/udp_tunnel_core.c, net/ipv6/ip6_udp_tunnel.c."""

from __future__ import annotations

from arch.abi.errno import EADDRINUSE, ENETUNREACH
from arch.abi.inet import ETH_P_IPV6, IN6ADDR_ANY, INADDR_ANY, IPPROTO_UDP
from arch.abi.socket import AF_INET, AF_INET6, SOCK_DGRAM
from arch.errors import KernelError
from arch.records import dataclass, field
from bpf.packet.tunnel_info import TUNNEL_CSUM, TunnelInfo
from simkernel.kernel.face import Steps
from simkernel.net.core.charges import LINK_ROOM
from simkernel.net.core.device import scrub
from simkernel.net.core.netns import LinkKind, Net, NetDevice
from simkernel.net.core.programs import NET_XMIT_CN
from simkernel.net.core.skb import CHECKSUM_PARTIAL, Dst, Skb
from simkernel.net.core.sock import Sock, hash_port, unbind
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import folded, pseudo_sum
from simkernel.net.ipv4.route import simple_output
from simkernel.net.ipv4.udp_coverage import UDP_HEADER
from simkernel.net.ipv6.header import IPV6_HEADER, ipv6_header
from simkernel.net.ipv6.route import route_output as route_output6
from simkernel.net.tunnels.ip_tunnel import cow_head, inner_length, iptunnel_xmit, partial_sum, tun_rx_info

UDP_CHECKSUM_AT = 6


def udp_tunnel_sock(k: NetKernel, net: Net, family: int, port: int, receiver: str, no_check6: bool) -> Sock:
    """udp_sock_create(), setup_udp_tunnel_sock().  EADDRINUSE."""
    for other in k.net.udp.get((net, port), ()):
        if other.family == family or (other.family == AF_INET6 and not other.v6only):
            raise KernelError(EADDRINUSE)
    sk = Sock(k, net, family, SOCK_DGRAM, IPPROTO_UDP)
    sk.v6only, sk.lport = family == AF_INET6, port
    sk.encap_rcv, sk.no_check6_rx = receiver, no_check6
    hash_port(k.net.udp, sk)
    sk.sync_addresses()
    return sk


def udp_tunnel_sock_release(k: NetKernel, sk: Sock) -> None:
    """No device needs it any more."""
    unbind(k.net.udp, sk)
    sk.free()


@dataclass(eq=False)
class UdpTunnelConfig:
    """What devices of all such kinds have in their private part."""

    net: Net
    vni: int = 0
    remote: bytes = INADDR_ANY
    ttl: int = 0
    ttl_inherit: bool = False
    tos: int = 0
    label: int = 0
    df: int = 0
    port: int = 0
    zero_csum6_rx: bool = False
    collects: bool = False
    socks: list[Sock] = field(default_factory=list)  # while it is up

    @property
    def six(self) -> bool:
        """The other end is one of IPv6."""
        return len(self.remote) == len(IN6ADDR_ANY)

    @property
    def families(self) -> tuple[int, ...]:
        """Of its socks."""
        return (AF_INET6, AF_INET) if self.collects else (AF_INET6,) if self.six else (AF_INET,)


class UdpTunnelKind(LinkKind):
    """Devices that have socks of the kernel's while they are up, which those of one port share."""

    receiver: str  # encap_rcv of the socks

    def __init__(self, k: NetKernel) -> None:
        self.k = k

    def takes(self, sk: Sock, own: UdpTunnelConfig) -> bool:
        """Whether a sock of the device's port and family can be shared.  EBUSY: it cannot, and there is no other."""
        raise NotImplementedError

    def opened(self, dev: NetDevice) -> None:
        """ndo_open: a sock for each family.  EADDRINUSE, EBUSY."""
        own = udp_tunnel_config(dev)
        try:
            for family in own.families:
                own.socks.append(self._sock(own, family))
        except KernelError:
            self.stopped(dev)
            raise

    def _sock(self, own: UdpTunnelConfig, family: int) -> Sock:
        for sk in self.k.net.udp.get((own.net, own.port), ()):
            if sk.encap_rcv == self.receiver and sk.family == family and self.takes(sk, own):
                return sk
        return udp_tunnel_sock(self.k, own.net, family, own.port, self.receiver, own.zero_csum6_rx)

    def stopped(self, dev: NetDevice) -> None:
        """ndo_stop."""
        own = udp_tunnel_config(dev)
        gone, own.socks = own.socks, []
        others = [udp_tunnel_config(each).socks for each in self.k.net.devices.values() if each.kind is self]
        for sk in gone:
            if not any(sk in socks for socks in others):
                udp_tunnel_sock_release(self.k, sk)


def udp_tunnel_config(dev: NetDevice) -> UdpTunnelConfig:
    """netdev_priv()."""
    assert isinstance(dev.private, UdpTunnelConfig)
    return dev.private


def way_to(k: NetKernel, net: Net, to: bytes, source: bytes, oif: int, mark: int) -> Dst:
    """vxlan_get_route(), vxlan6_get_route() and geneve's.  ENETUNREACH, whatever the reason is."""
    try:
        if len(to) == len(INADDR_ANY):
            return simple_output(k, net, to, source, oif, mark)
        return route_output6(k, net, to, source, oif, mark)
    except KernelError:
        raise KernelError(ENETUNREACH) from None


def check_pmtu(packet: Skb, way: Dst, headroom: int) -> None:
    """skb_tunnel_check_pmtu(): who sends what does not fit learns of it for the next time."""
    inner, mtu = packet.dst, way.mtu - headroom
    if inner is not None and not packet.get("_skb_refdst") and inner_length(packet) > mtu:
        inner.dev.net.inet(8 * len(inner.destination)).update_pmtu(inner.dev, inner.destination, mtu)


def any_of(address: bytes) -> bytes:
    """INADDR_ANY of the same family."""
    return INADDR_ANY if len(address) == len(INADDR_ANY) else IN6ADDR_ANY


def flow_source_port(packet: Skb, low: int, high: int) -> int:
    """udp_flow_src_port(): of the packet's flow, so that its packets keep together; the kernel's hash has a key of its own."""
    header = bytes(packet.mem.read(packet.network_header(), 40))
    flow = header[12:24] if header[0] >> 4 == 4 else header[8:40]
    mixed = int.from_bytes(flow, "big") * 0x9E3779B97F4A7C15 >> 24 & 0xFFFFFFFF
    return (mixed * (high - low) >> 32) + low


def _udp_header(packet: Skb, way: Dst, ports: tuple[int, int], check: bool) -> None:
    """A datagram's header, udp_set_csum(), udp6_set_csum()."""
    cow_head(packet, UDP_HEADER)
    length = packet.len + UDP_HEADER
    packet.push_data(ports[0].to_bytes(2, "big") + ports[1].to_bytes(2, "big") + length.to_bytes(2, "big") + b"\0\0")
    packet.reset_transport_header()
    if not check:
        return
    pseudo = pseudo_sum(way.source, way.destination, IPPROTO_UDP, length)
    if packet.ip_summed() == CHECKSUM_PARTIAL:
        whole = folded(pseudo.to_bytes(2, "big") + partial_sum(packet, packet.data).to_bytes(2, "big"))
        total = ~whole & 0xFFFF or 0xFFFF
    else:
        packet.set_checksum(CHECKSUM_PARTIAL, packet.data - packet.get("head"), UDP_CHECKSUM_AT)
        total = pseudo
    packet.mem.write(packet.data + UDP_CHECKSUM_AT, total.to_bytes(2, "big"))


def udp_tunnel_xmit(
    k: NetKernel, packet: Skb, dev: NetDevice, way: Dst, ports: tuple[int, int], tos: int, ttl: int, df: int, label: int,
    check: bool, counted: int,
) -> Steps[None]:  # fmt: skip
    """udp_tunnel_xmit_skb(), udp_tunnel6_xmit_skb() (`yield from`)."""
    _udp_header(packet, way, ports, check)
    if len(way.source) == len(INADDR_ANY):
        yield from iptunnel_xmit(k, packet, dev, way, IPPROTO_UDP, tos, ttl, df, counted)
        return
    net, length = way.dev.net, packet.len
    scrub(packet, net is not dev.net)
    packet.dst = way
    cow_head(packet, IPV6_HEADER + LINK_ROOM)
    packet.push_data(ipv6_header(way.source, way.destination, IPPROTO_UDP, length, ttl, tos, label))
    packet.reset_network_header()
    packet.set_protocol(ETH_P_IPV6)
    packet.must_be_whole = True
    ret = yield k.call("ip6_local_out", net.addr, packet.get("sk"), packet.addr)
    if ret in (0, NET_XMIT_CN):
        dev.stats["tx_packets"] += 1
        dev.stats["tx_bytes"] += counted
    else:
        dev.stats["tx_errors"] += 1
        dev.stats["tx_aborted_errors"] += 1


def udp_tun_rx_info(packet: Skb, number: int, flags: int) -> TunnelInfo:
    """udp_tun_rx_dst(): whether there was a sum, too."""
    summed = bytes(packet.mem.read(packet.data + UDP_CHECKSUM_AT, 2)) != b"\0\0"
    return tun_rx_info(packet, number, flags | (TUNNEL_CSUM if summed else 0))
