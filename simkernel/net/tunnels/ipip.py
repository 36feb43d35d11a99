"""IPv4, or IPv6, in IPv4 without anything between: `ipip` and `sit`.  net/ipv4/{ipip,tunnel4}.c, net/ipv6/sit.c."""

from __future__ import annotations

from arch.abi.inet import (
    ETH_P_IP,
    ETH_P_IPV6,
    ICMP_DEST_UNREACH,
    ICMP_PORT_UNREACH,
    IPPROTO_IPIP,
    IPPROTO_IPV6,
)
from simkernel.kernel.face import Body, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.skb import Skb
from simkernel.net.core.skbuff import drop
from simkernel.net.face import NetKernel
from simkernel.net.tunnels.ip_tunnel import failed, ip_tunnel, ip_tunnel_lookup, ip_tunnel_rcv, tun_rx_info

CARRIED = {ETH_P_IP: IPPROTO_IPIP, ETH_P_IPV6: IPPROTO_IPV6}


@kernel_function("netdev_tx_t ipip_tunnel_xmit(struct sk_buff *skb, struct net_device *dev)", source="net/ipv4/ipip.c")
def ipip_tunnel_xmit(k: NetKernel, skb: int, dev: int) -> Body:
    """A packet of IPv4 goes into the tunnel; others are errors."""
    packet, device = k.net.skbs[skb], k.net.devices[dev]
    tunnel = ip_tunnel(device)
    if packet.protocol() != ETH_P_IP or tunnel.protocol not in (0, IPPROTO_IPIP):
        return (yield from failed(k, packet, device))
    if tunnel.collects:
        yield k.call("ip_md_tunnel_xmit", skb, dev, IPPROTO_IPIP, 0)
    else:
        yield k.call("ip_tunnel_xmit", skb, dev, 0, IPPROTO_IPIP)
    return 0


@kernel_function("netdev_tx_t sit_tunnel_xmit(struct sk_buff *skb, struct net_device *dev)", source="net/ipv6/sit.c")
def sit_tunnel_xmit(k: NetKernel, skb: int, dev: int) -> Body:
    """A packet of a protocol that the device carries."""
    packet, device = k.net.skbs[skb], k.net.devices[dev]
    carried = CARRIED.get(packet.protocol())
    if carried is None or ip_tunnel(device).protocol not in (0, carried):
        return (yield from failed(k, packet, device))
    yield k.call("ip_tunnel_xmit", skb, dev, 0, carried)
    return 0


def _receive(k: NetKernel, packet: Skb, kind: str, carried: int, protocol: int) -> Steps[bool]:
    """ipip_tunnel_rcv(), ipip6_rcv(), sit_tunnel_rcv(): False: no device of that kind wants it (`yield from`)."""
    outer = bytes(packet.mem.read(packet.network_header(), 20))
    dev = ip_tunnel_lookup(packet.device.net, kind, packet.device.ifindex, 0, outer[16:20], outer[12:16])
    if dev is None or ip_tunnel(dev).protocol not in (0, carried):
        return False
    info = tun_rx_info(packet, 0, 0) if ip_tunnel(dev).collects else None
    packet.set_protocol(protocol)
    yield from ip_tunnel_rcv(k, packet, dev, 0, 0, info)
    return True


def _unwanted(k: NetKernel, packet: Skb) -> Body:
    yield k.call("__icmp_send", packet.addr, ICMP_DEST_UNREACH, ICMP_PORT_UNREACH, 0)
    yield drop(k, packet)
    return 0


@kernel_function("int tunnel4_rcv(struct sk_buff *skb)", source="net/ipv4/tunnel4.c")
def tunnel4_rcv(k: NetKernel, skb: int) -> Body:
    """IPv4 in IPv4: of an ipip device, else of a sit that carries it."""
    packet = k.net.skbs[skb]
    for kind in ("ipip", "sit"):
        if (yield from _receive(k, packet, kind, IPPROTO_IPIP, ETH_P_IP)):
            return 0
    return (yield from _unwanted(k, packet))


@kernel_function("int tunnel64_rcv(struct sk_buff *skb)", source="net/ipv4/tunnel4.c")
def tunnel64_rcv(k: NetKernel, skb: int) -> Body:
    """IPv6 in IPv4."""
    packet = k.net.skbs[skb]
    if (yield from _receive(k, packet, "sit", IPPROTO_IPV6, ETH_P_IPV6)):
        return 0
    return (yield from _unwanted(k, packet))
