"""Ethernet over UDP with options.  drivers/net/geneve.c."""

from __future__ import annotations

from arch.abi.errno import EBUSY, ENETUNREACH
from arch.abi.if_tunnel import VNI_ENDS
from arch.abi.inet import IP_DF
from arch.errors import KernelError
from arch.records import dataclass
from bpf.packet.tunnel_info import (
    TUNNEL_CRIT_OPT,
    TUNNEL_CSUM,
    TUNNEL_DONT_FRAGMENT,
    TUNNEL_GENEVE_OPT,
    TUNNEL_KEY,
    TUNNEL_OAM,
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
from simkernel.net.tunnels.ip_gre import ETH_P_TEB
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

GENEVE_BASE = 8
GENEVE_HEADROOM, GENEVE6_HEADROOM = 50, 70  # bytes around a packet that a frame carries
GENEVE_UDP_PORT = 6081
OAM, CRITICAL = 0x80, 0x40


@dataclass(eq=False)
class GeneveConfig(UdpTunnelConfig):
    """struct geneve_dev with its struct geneve_config."""

    port: int = GENEVE_UDP_PORT
    zero_csum6_rx: bool = True
    csum: bool = False  # TUNNEL_CSUM


def config(dev: NetDevice) -> GeneveConfig:
    """netdev_priv()."""
    assert isinstance(dev.private, GeneveConfig)
    return dev.private


class Geneve(UdpTunnelKind):
    """geneve_link_ops, geneve_netdev_ops."""

    kind = "geneve"
    xmit = "geneve_xmit"
    receiver = "geneve_udp_encap_recv"

    def takes(self, sk: Sock, own: UdpTunnelConfig) -> bool:
        """Checks that differ are refused."""
        if sk.no_check6_rx != own.zero_csum6_rx:
            raise KernelError(EBUSY)
        return True


def _own_info(own: GeneveConfig, packet: Skb) -> TunnelInfo:
    flags = TUNNEL_KEY | (TUNNEL_CSUM if own.csum else 0)
    flags |= TUNNEL_DONT_FRAGMENT if whole_wanted(packet, own.df) else 0
    ttl = inner_ttl(packet) if own.ttl_inherit else own.ttl
    return TunnelInfo(any_of(own.remote), own.remote, own.vni, own.tos, ttl, own.label, flags)


@kernel_function("netdev_tx_t geneve_xmit(struct sk_buff *skb, struct net_device *dev)", source="drivers/net/geneve.c")
def geneve_xmit(k: NetKernel, skb: int, dev: int) -> Body:
    """A frame goes into the tunnel."""
    packet, device = k.net.skbs[skb], k.net.devices[dev]
    own = config(device)
    info = sending(packet) if own.collects else _own_info(own, packet)
    if info is None:
        device.stats["tx_dropped"] += 1
        yield drop(k, packet)
        return 0
    header, protocol, counted = inner_header(packet), packet.protocol(), inner_length(packet)
    tos = service_of(protocol, header) if info.tos == 1 else info.tos
    ports = flow_source_port(packet, 1, 0xFFFF), own.port
    try:
        way = way_to(k, own.net, info.destination, info.source, 0, packet.get("mark"))
    except KernelError as error:
        reasons = ("tx_carrier_errors",) if error.errno == ENETUNREACH else ()
        return (yield from failed(k, packet, device, *reasons))
    if way.dev is device:
        return (yield from failed(k, packet, device, "collisions"))
    headroom = GENEVE_HEADROOM if len(info.destination) == 4 else GENEVE6_HEADROOM
    check_pmtu(packet, way, headroom + len(info.options))
    df = IP_DF if info.flags & TUNNEL_DONT_FRAGMENT else 0
    head = _header(info)
    cow_head(packet, len(head))
    packet.push_data(head)
    ttl = info.ttl if own.collects else info.ttl or DEFAULT_TTL
    tos = ecn_encap(tos, protocol, header)
    check = bool(info.flags & TUNNEL_CSUM)
    yield from udp_tunnel_xmit(k, packet, device, way, ports, tos, ttl, df, info.label, check, counted)
    return 0


def _header(info: TunnelInfo) -> bytes:
    """geneve_build_header()."""
    options = info.options if info.flags & TUNNEL_GENEVE_OPT else b""
    bits = (OAM if info.flags & TUNNEL_OAM else 0) | (CRITICAL if info.flags & TUNNEL_CRIT_OPT else 0)
    vni = (info.number % VNI_ENDS << 8).to_bytes(4, "big")
    return bytes((len(options) // 4, bits)) + ETH_P_TEB.to_bytes(2, "big") + vni + options


# -- in ----------------------------------------------------------------------------------------------------------------


def _find(k: NetKernel, sk: Sock, remote: bytes, vni: int) -> NetDevice | None:
    """geneve_lookup()."""
    every = [dev for dev in k.net.devices.values() if isinstance(dev.kind, Geneve) and sk in config(dev).socks]
    for dev in every:
        own = config(dev)
        if own.collects or (own.vni == vni and own.remote == remote):
            return dev
    return None


@kernel_function("int geneve_udp_encap_recv(struct sock *sk, struct sk_buff *skb)", source="drivers/net/geneve.c")
def geneve_udp_encap_recv(k: NetKernel, sk: int, skb: int) -> Body:
    """A datagram of the tunnel's port."""
    packet, sock = k.net.skbs[skb], k.net.socks[sk]
    raw = packet.packet()[UDP_HEADER:]
    outer = bytes(packet.mem.read(packet.network_header(), 40))
    remote = outer[12:16] if outer[0] >> 4 == 4 else outer[8:24]
    vni = int.from_bytes(raw[4:7], "big")
    dev = _find(k, sock, remote, vni) if len(raw) >= GENEVE_BASE and not raw[0] >> 6 else None
    if dev is None:
        yield drop(k, packet)
        return 0
    size = (raw[0] & 0x3F) * 4
    if int.from_bytes(raw[2:4], "big") != ETH_P_TEB or len(raw) < GENEVE_BASE + size:
        return (yield from refused(k, packet, dev, "rx_dropped"))
    info = None
    if config(dev).collects:
        bits = (TUNNEL_OAM if raw[1] & OAM else 0) | (TUNNEL_CRIT_OPT if raw[1] & CRITICAL else 0)
        info = udp_tun_rx_info(packet, vni, TUNNEL_KEY | bits | (TUNNEL_GENEVE_OPT if size else 0))
        info.options = bytes(raw[GENEVE_BASE : GENEVE_BASE + size])
    elif raw[1] & CRITICAL:
        return (yield from refused(k, packet, dev, "rx_frame_errors", "rx_errors"))
    service = outer_service(packet)
    packet.pull(UDP_HEADER + GENEVE_BASE + size)
    frame = packet.packet()[:ETHERNET_HEADER]
    if len(frame) < ETHERNET_HEADER or frame[6:12] == dev.mac:
        return (yield from refused(k, packet, dev, "rx_errors"))
    packet.set_network_header(ETHERNET_HEADER)
    packet.set_protocol(int.from_bytes(frame[12:14], "big"))
    if not ecn_decap(packet, service):
        return (yield from refused(k, packet, dev, "rx_frame_errors", "rx_errors"))
    yield from deliver_inner(k, packet, dev, info, packet.len - ETHERNET_HEADER)
    return 0
