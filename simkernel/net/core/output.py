"""What packets of both families pass on their way to a device.  include/net/neighbour.h, net/ipv4/ip_output.c, net/ipv6/ip6_output.c."""

from __future__ import annotations

from collections.abc import Callable

from simkernel.kernel.body import Call
from simkernel.kernel.face import Body, Steps
from simkernel.net.core import neighbour as neigh
from simkernel.net.core.programs import NET_XMIT_CN, NET_XMIT_SUCCESS
from simkernel.net.core.skb import Dst, Skb
from simkernel.net.core.skbuff import SKB_DROP_REASON_BPF_CGROUP_EGRESS, clone, drop
from simkernel.net.face import NetKernel


def ask_programs(
    k: NetKernel, net: int, sk: int, packet: Skb, finish: Callable[[NetKernel, int, int, Skb], Body]
) -> Body:
    """BPF_CGROUP_RUN_PROG_INET_EGRESS(): the programs of the sender's control group, then `finish` (`yield from`)."""
    way = packet.dst
    assert way is not None
    packet.set_dev(way.dev)
    sock, told = k.net.socks.get(sk), NET_XMIT_SUCCESS
    if sock is not None and packet.sk is sock:
        told = k.net.programs.egress(sock, packet)
        if told not in (NET_XMIT_SUCCESS, NET_XMIT_CN):
            yield drop(k, packet, SKB_DROP_REASON_BPF_CGROUP_EGRESS)
            return told
    return (yield from finish(k, net, sk, packet)) or told


def copy_for_ourselves(k: NetKernel, net: int, sk: int, packet: Skb, protocol: int) -> Steps[None]:
    """Of a packet to a group that this machine belongs to (`yield from`)."""
    copy = yield from clone(k, packet)
    copy.set_owner(None)
    copy.set_protocol(protocol)
    yield k.call("dev_loopback_xmit", net, sk, copy.addr)


def to_neighbour(k: NetKernel, packet: Skb, way: Dst, at: int, size: int) -> Call:
    """neigh_output(): to be yielded at once.  Without a gateway the next one's address is `size` bytes at `at` of the header."""
    dev = way.dev
    if not dev.ethernet:  # neigh_direct_output(): nothing is put before it
        packet.reset_mac_header()
        return k.call("__dev_queue_xmit", packet.addr, 0)
    if dev.loopback:
        packet.push_header(dev.mac, dev.mac)
        return k.call("__dev_queue_xmit", packet.addr, 0)
    key = way.gateway or bytes(packet.mem.read(packet.network_header() + at, size))
    found = neigh.find(dev, key) or neigh.create(k, dev, key)
    if found.state & neigh.NUD_CONNECTED:
        found.used_ns = k.clock.now_ns
        packet.push_header(found.mac, dev.mac)
        return k.call("__dev_queue_xmit", packet.addr, 0)
    return k.call("neigh_resolve_output", found.addr, packet.addr)
