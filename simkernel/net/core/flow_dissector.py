"""Where a packet's headers are, and what flow it is of: as a program of its namespace says, or as the kernel finds.

net/core/flow_dissector.c of Linux 6.1.  Who asks: packet sockets that send, classic filters (SKF_AD_PAY_OFFSET), and programs that
want a hash.  Ethernet's IPv4, IPv6 and ARP are known, with fragments, extension headers and one protocol within another.
"""

from __future__ import annotations

from arch.abi.in6 import NEXTHDR_DEST, NEXTHDR_FRAGMENT, NEXTHDR_HOP, NEXTHDR_ROUTING
from arch.abi.inet import (
    ETH_P_ARP,
    ETH_P_IP,
    ETH_P_IPV6,
    IP_MF,
    IP_OFFSET,
    IPPROTO_DCCP,
    IPPROTO_ICMP,
    IPPROTO_ICMPV6,
    IPPROTO_IGMP,
    IPPROTO_IPIP,
    IPPROTO_IPV6,
    IPPROTO_TCP,
    IPPROTO_UDP,
    IPPROTO_UDPLITE,
)
from bpf.packet.skbuff import UNSET
from simkernel.net.core.programs import FlowKeys
from simkernel.net.core.skb import Skb
from simkernel.net.face import NetKernel

IPPROTO_SCTP = 132
# What follows a header of each protocol at least, in bytes: __skb_get_poff().
TRANSPORT_BYTES = {
    IPPROTO_UDP: 8, IPPROTO_UDPLITE: 8, IPPROTO_ICMP: 8, IPPROTO_ICMPV6: 8, IPPROTO_IGMP: 8, IPPROTO_DCCP: 12,
    IPPROTO_SCTP: 12,
}  # fmt: skip
PORTS = (IPPROTO_TCP, IPPROTO_UDP, IPPROTO_UDPLITE, IPPROTO_DCCP, IPPROTO_SCTP)
FLOW_DISSECTOR_F_STOP_AT_FLOW_LABEL = 2
HEADERS = 16  # MAX_FLOW_DISSECT_HDRS, and one


class _Walk:
    """One packet's headers, one after the other; offsets count from the packet's first byte."""

    def __init__(self, packet: Skb, offset: int) -> None:
        self.packet, self.at, self.keys = packet, offset, FlowKeys()

    def bytes_at(self, offset: int, size: int) -> bytes | None:
        """skb_header_pointer()."""
        packet = self.packet
        if offset + size > packet.len or packet.data + offset < packet.get("head"):
            return None
        return bytes(packet.mem.read(packet.data + offset, size))

    def walk(self, protocol: int) -> FlowKeys:
        """__skb_flow_dissect()."""
        keys = self.keys
        for _ in range(HEADERS):
            step = {ETH_P_IP: self._ip, ETH_P_IPV6: self._ipv6}.get(protocol)
            if step is None:
                keys.known = protocol == ETH_P_ARP and self.bytes_at(self.at, 8) is not None
                break
            inner = step()
            if inner is None:
                break
            protocol = inner
        keys.thoff = max(min(self.at, self.packet.len), 0)
        return keys

    def _ip(self) -> int | None:
        head = self.bytes_at(self.at, 20)
        if head is None or head[0] & 15 < 5:
            return None
        self.at += (head[0] & 15) * 4
        self.keys.protocol, self.keys.flow = head[9], head[12:20]
        word = int.from_bytes(head[6:8], "big")
        if word & (IP_MF | IP_OFFSET):
            self.keys.known, self.keys.later_fragment = True, bool(word & IP_OFFSET)
            return None
        return self._transport()

    def _ipv6(self) -> int | None:
        head = self.bytes_at(self.at, 40)
        if head is None:
            return None
        self.at += 40
        self.keys.protocol, self.keys.flow = head[6], head[8:40]
        for _ in range(HEADERS):
            if self.keys.protocol == NEXTHDR_FRAGMENT:
                piece = self.bytes_at(self.at, 8)
                if piece is None:
                    return None
                self.at += 8
                self.keys.protocol = piece[0]
                self.keys.known, self.keys.later_fragment = True, bool(int.from_bytes(piece[2:4], "big") & ~7)
                return None
            if self.keys.protocol not in (NEXTHDR_HOP, NEXTHDR_ROUTING, NEXTHDR_DEST):
                return self._transport()
            option = self.bytes_at(self.at, 2)
            if option is None:
                return None
            self.at += (option[1] + 1) * 8
            self.keys.protocol = option[0]
        return None

    def _transport(self) -> int | None:
        """What is within, where that is a packet again."""
        inner = {IPPROTO_IPIP: ETH_P_IP, IPPROTO_IPV6: ETH_P_IPV6}.get(self.keys.protocol)
        if inner is not None:
            return inner
        self.keys.known = True
        if self.keys.protocol in PORTS:
            self.keys.flow += self.bytes_at(self.at, 4) or b""
        return None


def dissect(k: NetKernel, packet: Skb, flags: int = 0) -> FlowKeys:
    """skb_flow_dissect_flow_keys(): the program of the packet's namespace, else the kernel."""
    offset = packet.network_header() - packet.data
    net = packet.dev.net if packet.dev is not None else None
    said = k.net.programs.dissect(net, packet, offset, flags) if net is not None else None
    return said if said is not None else _Walk(packet, offset).walk(packet.protocol())


def payload_offset(k: NetKernel, packet: Skb) -> int:
    """skb_get_poff(): where the transport header ends; 0 of what is not known."""
    keys = dissect(k, packet)
    if not keys.known:
        return 0
    if keys.later_fragment:
        return keys.thoff
    if keys.protocol == IPPROTO_TCP:
        place = _Walk(packet, 0).bytes_at(keys.thoff + 12, 1)
        return keys.thoff + max(20, (place[0] & 0xF0) >> 2) if place is not None else keys.thoff
    return keys.thoff + TRANSPORT_BYTES.get(keys.protocol, 0)


def probe_transport_header(k: NetKernel, packet: Skb) -> None:
    """skb_probe_transport_header(), of a packet that somebody has built by hand."""
    if packet.get("transport_header") != UNSET:
        return
    keys = dissect(k, packet)
    if keys.known:
        packet.set("transport_header", packet.data - packet.get("head") + keys.thoff)


def flow_of(k: NetKernel, skb: int) -> bytes | None:
    """skb_get_hash(): what the hash of a packet is made of; None: it is none of the network's."""
    packet = k.net.skbs.get(skb)
    return dissect(k, packet, FLOW_DISSECTOR_F_STOP_AT_FLOW_LABEL).flow if packet is not None else None
