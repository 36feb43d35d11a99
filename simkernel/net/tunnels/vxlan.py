"""Ethernet over UDP with a number of 24 bits: to one other end, to who was heard, or as programs say.  drivers/net/vxlan/vxlan_core.c."""

from __future__ import annotations

from arch.abi.errno import ENETUNREACH
from arch.abi.if_tunnel import VNI_ENDS
from arch.abi.inet import IN6ADDR_ANY, INADDR_ANY, IP_DF
from arch.errors import KernelError
from arch.records import dataclass, field
from bpf.packet.tunnel_info import (
    TUNNEL_CSUM,
    TUNNEL_DONT_FRAGMENT,
    TUNNEL_KEY,
    TUNNEL_VXLAN_OPT,
    TunnelInfo,
)
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.netns import NetDevice
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import drop
from simkernel.net.core.sock import Sock
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.udp_coverage import UDP_HEADER
from simkernel.net.tunnels.ip_tunnel import (
    DEFAULT_TTL,
    ETHERNET_HEADER,
    cow_head,
    deliver_inner,
    ecn_decap,
    ecn_encap,
    failed,
    inner_header,
    inner_length,
    inner_ttl,
    outer_service,
    refused,
    sending,
    service_of,
    whole_wanted,
)
from simkernel.net.tunnels.udp_tunnel import (
    UdpTunnelConfig,
    UdpTunnelKind,
    any_of,
    check_pmtu,
    flow_source_port,
    udp_tun_rx_info,
    udp_tunnel_xmit,
    way_to,
)

VXLAN_HEADER = 8
VXLAN_HEADROOM, VXLAN6_HEADROOM = 50, 70  # bytes around a packet that a frame carries
VXLAN_HF_VNI, VXLAN_HF_GBP = 0x08000000, 0x80000000
GBP_DONT_LEARN, GBP_POLICY_APPLIED, GBP_ID_MASK = 1 << 22, 1 << 19, 0xFFFF
RESERVED_GBP = VXLAN_HF_VNI | VXLAN_HF_GBP | GBP_DONT_LEARN | GBP_POLICY_APPLIED | GBP_ID_MASK
VXLAN_UDP_PORT = 8472  # not the one of IANA


@dataclass(eq=False)
class VxlanConfig(UdpTunnelConfig):
    """struct vxlan_dev with its struct vxlan_config."""

    port: int = VXLAN_UDP_PORT
    local: bytes = INADDR_ANY
    link: int = 0
    port_range: tuple[int, int] = (0, 0)
    learning: bool = True
    ageing: int = 300
    limit: int = 0
    udp_csum: bool = True
    zero_csum6_tx: bool = False
    proxy: bool = False
    rsc: bool = False
    l2miss: bool = False
    l3miss: bool = False
    gbp: bool = False
    heard: dict[bytes, bytes] = field(default_factory=dict)  # fdb_head: a station's address -> behind whom it is

    @property
    def six(self) -> bool:
        """VXLAN_F_IPV6: one of the ends is enough."""
        return super().six or len(self.local) == len(IN6ADDR_ANY)


def config(dev: NetDevice) -> VxlanConfig:
    """netdev_priv()."""
    assert isinstance(dev.private, VxlanConfig)
    return dev.private


class Vxlan(UdpTunnelKind):
    """vxlan_link_ops, vxlan_netdev_ether_ops."""

    kind = "vxlan"
    xmit = "vxlan_xmit"
    receiver = "vxlan_rcv"

    def takes(self, sk: Sock, own: UdpTunnelConfig) -> bool:
        """Those that check alike."""
        return sk.no_check6_rx == own.zero_csum6_rx

    def stopped(self, dev: NetDevice) -> None:
        """vxlan_stop(): who was heard is forgotten."""
        super().stopped(dev)
        config(dev).heard.clear()


# -- out ---------------------------------------------------------------------------------------------------------------


def _header(vni: int, gbp: int | None) -> bytes:
    """vxlan_build_skb(), vxlan_build_gbp_hdr()."""
    flags = VXLAN_HF_VNI
    if gbp:
        flags |= VXLAN_HF_GBP | gbp & (GBP_DONT_LEARN | GBP_POLICY_APPLIED | GBP_ID_MASK)
    return flags.to_bytes(4, "big") + (vni << 8).to_bytes(4, "big")


def _own_info(own: VxlanConfig, packet: Skb) -> TunnelInfo | None:
    """Where a frame goes without a program's word: behind whom its receiver was heard, else to the other end."""
    to = own.heard.get(bytes(packet.packet()[:6]), own.remote)
    if to == any_of(to):
        return None
    source = own.local if len(own.local) == len(to) else any_of(to)
    check = own.udp_csum if len(to) == len(INADDR_ANY) else not own.zero_csum6_tx
    flags = (TUNNEL_CSUM if check else 0) | (TUNNEL_DONT_FRAGMENT if whole_wanted(packet, own.df) else 0)
    ttl = inner_ttl(packet) if own.ttl_inherit else own.ttl
    return TunnelInfo(source, to, own.vni, own.tos, ttl, own.label, flags)


@kernel_function(
    "netdev_tx_t vxlan_xmit(struct sk_buff *skb, struct net_device *dev)", source="drivers/net/vxlan/vxlan_core.c"
)
def vxlan_xmit(k: NetKernel, skb: int, dev: int) -> Body:
    """A frame goes into the tunnel."""
    packet, device = k.net.skbs[skb], k.net.devices[dev]
    own = config(device)
    packet.reset_mac_header()
    info = sending(packet) if own.collects else _own_info(own, packet)
    if info is None:
        device.stats["tx_dropped"] += not own.collects
        yield drop(k, packet)
        return 0
    return (yield from _send(k, packet, device, own, info))


def _send(k: NetKernel, packet: Skb, dev: NetDevice, own: VxlanConfig, info: TunnelInfo) -> Body:
    """vxlan_xmit_one() (`yield from`)."""
    if info.flags & TUNNEL_VXLAN_OPT and len(info.options) < 4:
        dev.stats["tx_dropped"] += 1
        yield drop(k, packet)
        return 0
    header, protocol, counted = inner_header(packet), packet.protocol(), inner_length(packet)
    tos = service_of(protocol, header) if info.tos == 1 else info.tos
    low, high = own.port_range if own.port_range[1] else (32768, 61000)
    ports = flow_source_port(packet, low, high), own.port
    try:
        way = way_to(k, own.net, info.destination, info.source, 0 if own.collects else own.link, packet.get("mark"))
    except KernelError as error:
        reasons = ("tx_carrier_errors",) if error.errno == ENETUNREACH else ()
        return (yield from failed(k, packet, dev, *reasons))
    if way.dev is dev:
        return (yield from failed(k, packet, dev, "collisions"))
    check_pmtu(packet, way, VXLAN_HEADROOM if len(info.destination) == 4 else VXLAN6_HEADROOM)
    gbp = None
    if own.gbp and info.flags & TUNNEL_VXLAN_OPT:
        gbp = int.from_bytes(info.options[:4], k.mem.byteorder)
    cow_head(packet, VXLAN_HEADER)
    packet.push_data(_header(info.number % VNI_ENDS, gbp))
    df = IP_DF if info.flags & TUNNEL_DONT_FRAGMENT else 0
    tos = ecn_encap(tos, protocol, header)
    check = bool(info.flags & TUNNEL_CSUM)
    ttl = info.ttl or DEFAULT_TTL
    yield from udp_tunnel_xmit(k, packet, dev, way, ports, tos, ttl, df, info.label, check, counted)
    return 0


# -- in ----------------------------------------------------------------------------------------------------------------


def _find(k: NetKernel, sk: Sock, vni: int) -> NetDevice | None:
    """vxlan_vs_find_vni(): a device that takes its keys from programs has every number."""
    every = [dev for dev in k.net.devices.values() if isinstance(dev.kind, Vxlan) and sk in config(dev).socks]
    exact = [dev for dev in every if not config(dev).collects and config(dev).vni == vni]
    return next(iter(exact + [dev for dev in every if config(dev).collects]), None)


def _gbp(word: int) -> int:
    """vxlan_parse_gbp_hdr()."""
    return word & (GBP_ID_MASK | GBP_DONT_LEARN | GBP_POLICY_APPLIED)


@kernel_function(
    "int vxlan_rcv(struct sock *sk, struct sk_buff *skb)", source="drivers/net/vxlan/vxlan_core.c", names={None: "vxlan_udp_encap_recv", "4.6": "vxlan_rcv"}
)  # fmt: skip
def vxlan_rcv(k: NetKernel, sk: int, skb: int) -> Body:
    """A datagram of the tunnel's port."""
    packet, sock = k.net.skbs[skb], k.net.socks[sk]
    raw = packet.packet()[UDP_HEADER : UDP_HEADER + VXLAN_HEADER]
    word, number = int.from_bytes(raw[:4], "big"), int.from_bytes(raw[4:], "big")
    dev = _find(k, sock, number >> 8) if len(raw) == VXLAN_HEADER and word & VXLAN_HF_VNI else None
    if dev is None:
        yield drop(k, packet)
        return 0
    own, known = config(dev), VXLAN_HF_VNI
    info = udp_tun_rx_info(packet, number >> 8, TUNNEL_KEY) if own.collects else None
    if own.gbp and word & VXLAN_HF_GBP:
        known = RESERVED_GBP
        if info is not None:
            info.flags |= TUNNEL_VXLAN_OPT
            info.options = _gbp(word).to_bytes(4, k.mem.byteorder)
        else:
            packet.set("mark", _gbp(word))
    packet.pull(UDP_HEADER + VXLAN_HEADER)
    frame = packet.packet()[:ETHERNET_HEADER]
    if word & ~known or number & 0xFF or len(frame) < ETHERNET_HEADER or frame[6:12] == dev.mac:
        yield drop(k, packet)
        return 0
    outer, service = bytes(packet.mem.read(packet.network_header(), 40)), outer_service(packet)
    if own.learning and not own.collects:
        own.heard[bytes(frame[6:12])] = outer[12:16] if outer[0] >> 4 == 4 else outer[8:24]
    packet.set_network_header(ETHERNET_HEADER)
    packet.set_protocol(int.from_bytes(frame[12:14], "big"))
    if not ecn_decap(packet, service):
        return (yield from refused(k, packet, dev, "rx_frame_errors", "rx_errors"))
    yield from deliver_inner(k, packet, dev, info, packet.len - ETHERNET_HEADER)
    return 0
