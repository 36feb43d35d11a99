"""GRE over IPv4: `gre` carries packets, `gretap` frames.  net/ipv4/{ip_gre,gre_demux}.c."""

from __future__ import annotations

from arch.abi.if_tunnel import GRE_CSUM, GRE_KEY, GRE_SEQ, GRE_VERSION
from arch.abi.inet import ETH_P_IP, ICMP_DEST_UNREACH, ICMP_PORT_UNREACH, IPPROTO_GRE
from bpf.packet.tunnel_info import TUNNEL_CSUM, TUNNEL_KEY, TUNNEL_SEQ
from simkernel.kernel.face import Body
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.netns import NetDevice
from simkernel.net.core.skb import CHECKSUM_PARTIAL, CHECKSUM_UNNECESSARY, Skb
from simkernel.net.core.skbuff import drop
from simkernel.net.face import NetKernel
from simkernel.net.ipv4.header import checksum
from simkernel.net.tunnels.ip_tunnel import (
    cow_head,
    ip_tunnel,
    ip_tunnel_lookup,
    ip_tunnel_rcv,
    partial_sum,
    sending,
    tun_rx_info,
)

ETH_P_TEB = 0x6558
FLAGS = ((GRE_CSUM, TUNNEL_CSUM), (GRE_KEY, TUNNEL_KEY), (GRE_SEQ, TUNNEL_SEQ))


def to_tunnel_flags(flags: int) -> int:
    """gre_flags_to_tnl_flags()."""
    return sum(ours for theirs, ours in FLAGS if flags & theirs)


def to_gre_flags(flags: int) -> int:
    """gre_tnl_flags_to_gre_flags()."""
    return sum(theirs for theirs, ours in FLAGS if flags & ours)


def header_bytes(flags: int) -> int:
    """gre_calc_hlen()."""
    return 4 + sum(4 for _, ours in FLAGS if flags & ours)


def _build(packet: Skb, flags: int, protocol: int, key: int, seq: int) -> None:
    """gre_build_header()."""
    head = to_gre_flags(flags).to_bytes(2, "big") + protocol.to_bytes(2, "big")
    head += bytes(4) if flags & TUNNEL_CSUM else b""
    head += key.to_bytes(4, "big") if flags & TUNNEL_KEY else b""
    head += seq.to_bytes(4, "big") if flags & TUNNEL_SEQ else b""
    cow_head(packet, len(head))
    packet.push_data(head)
    packet.reset_transport_header()
    if not flags & TUNNEL_CSUM:
        return
    if packet.ip_summed() == CHECKSUM_PARTIAL:
        total = ~partial_sum(packet, packet.data) & 0xFFFF
        packet.mem.write(packet.data + 4, total.to_bytes(2, "big"))
    else:
        packet.set_checksum(CHECKSUM_PARTIAL, packet.data - packet.get("head"), 4)


def _number(tunnel_seqno: int) -> int:
    return tunnel_seqno + 1 & 0xFFFFFFFF


def _send(k: NetKernel, skb: int, dev: int, protocol: int) -> Body:
    """__gre_xmit(), gre_fb_xmit() (`yield from`)."""
    packet, tunnel = k.net.skbs[skb], ip_tunnel(k.net.devices[dev])
    flags, key = tunnel.o_flags, tunnel.o_key
    if tunnel.collects:
        info = sending(packet)
        if info is None or info.six:
            k.net.devices[dev].stats["tx_dropped"] += 1
            yield drop(k, packet)
            return 0
        flags, key = info.flags & (TUNNEL_CSUM | TUNNEL_KEY | TUNNEL_SEQ), info.number
    seq = tunnel.o_seqno
    if flags & TUNNEL_SEQ:
        tunnel.o_seqno = _number(seq)
    _build(packet, flags, protocol, key, seq)
    if tunnel.collects:
        yield k.call("ip_md_tunnel_xmit", skb, dev, IPPROTO_GRE, header_bytes(flags))
    else:
        yield k.call("ip_tunnel_xmit", skb, dev, 0, IPPROTO_GRE)
    return 0


@kernel_function("netdev_tx_t ipgre_xmit(struct sk_buff *skb, struct net_device *dev)", source="net/ipv4/ip_gre.c")
def ipgre_xmit(k: NetKernel, skb: int, dev: int) -> Body:
    """A packet goes into the tunnel."""
    return (yield from _send(k, skb, dev, k.net.skbs[skb].protocol()))


@kernel_function("netdev_tx_t gre_tap_xmit(struct sk_buff *skb, struct net_device *dev)", source="net/ipv4/ip_gre.c")
def gre_tap_xmit(k: NetKernel, skb: int, dev: int) -> Body:
    """A frame goes into the tunnel."""
    return (yield from _send(k, skb, dev, ETH_P_TEB))


def _valid(packet: Skb, raw: bytes) -> bool:
    """skb_checksum_simple_validate()."""
    return packet.ip_summed() in (CHECKSUM_PARTIAL, CHECKSUM_UNNECESSARY) or checksum(raw) == 0


def _find(packet: Skb, protocol: int, flags: int, key: int) -> NetDevice | None:
    """Frames are for a gretap first."""
    net, outer, link = packet.device.net, bytes(packet.mem.read(packet.network_header(), 20)), packet.device.ifindex
    for kind in ("gretap", "gre") if protocol == ETH_P_TEB else ("gre",):
        found = ip_tunnel_lookup(net, kind, link, flags, outer[16:20], outer[12:16], key)
        if found is not None and not (protocol == ETH_P_TEB and kind == "gre" and not ip_tunnel(found).collects):
            return found
    return None


@kernel_function("int gre_rcv(struct sk_buff *skb)", source="net/ipv4/ip_gre.c")
def gre_rcv(k: NetKernel, skb: int) -> Body:
    """gre_parse_header(), ipgre_rcv(): nobody's packet is told of."""
    packet = k.net.skbs[skb]
    raw = packet.packet()
    word = int.from_bytes(raw[:2], "big")
    flags = to_tunnel_flags(word)
    size = header_bytes(flags)
    if word & GRE_VERSION or len(raw) < size or (flags & TUNNEL_CSUM and not _valid(packet, raw)):
        yield drop(k, packet)
        return 0
    at = 8 if flags & TUNNEL_CSUM else 4
    key = int.from_bytes(raw[at : at + 4], "big") if flags & TUNNEL_KEY else 0
    at += 4 if flags & TUNNEL_KEY else 0
    seq = int.from_bytes(raw[at : at + 4], "big") if flags & TUNNEL_SEQ else 0
    protocol = int.from_bytes(raw[2:4], "big")
    dev = _find(packet, protocol, flags, key)
    if dev is None:
        yield k.call("__icmp_send", skb, ICMP_DEST_UNREACH, ICMP_PORT_UNREACH, 0)
        yield drop(k, packet)
        return 0
    info = None
    if ip_tunnel(dev).collects:
        info = tun_rx_info(packet, key, flags & (TUNNEL_CSUM | TUNNEL_KEY))
    packet.pull(size)
    packet.set_protocol(protocol if protocol != ETH_P_TEB else ETH_P_IP)
    return (yield from ip_tunnel_rcv(k, packet, dev, flags, seq, info))
