"""Headers that programs of routes put around packets.  net/core/{filter,lwt_bpf}.c of Linux 6.1."""

from __future__ import annotations

from arch.abi.errno import EBADMSG, EINVAL
from arch.abi.in6 import IPV6_SRCRT_TYPE_4, NEXTHDR_ROUTING
from arch.abi.inet import ETH_P_IP, ETH_P_IPV6, IN6_ADDR_SIZE, IPPROTO_IPIP, IPPROTO_IPV6
from arch.abi.lwtunnel import LWT_BPF_MAX_HEADROOM
from bpf import uapi
from bpf.helpers import Runtime, prototype
from bpf.helpers.packet import clear_hash
from bpf.packet.checksum import csum_fold, csum_partial
from bpf.packet.skbuff import SkBuff

SHORTEST = {4: 20, 6: 40}  # header of each version, bytes
LL_RESERVED_SPACE = 16  # of Ethernet
SEGMENTS_AT = 8  # in struct ipv6_sr_hdr
DEFAULT_HOPS = 64


def _push(rt: Runtime, skb: SkBuff, header: bytes, room: int) -> int:
    """bpf_lwt_push_ip_encap(): an IP header, and what follows it there, before the packet, with `room` bytes left.  EINVAL."""
    version = header[0] >> 4 if len(header) >= SHORTEST[4] else 0
    four = version == 4
    least = (header[0] & 15) * 4 if four else SHORTEST[6]
    if version not in SHORTEST or not least <= len(header) <= LWT_BPF_MAX_HEADROOM:
        return -EINVAL
    missing = len(header) + room - skb.headroom
    if missing > 0:
        skb.expand_head(missing, 0)
    if four and header[10:12] == bytes(2):
        header = header[:10] + csum_fold(csum_partial(header[:least], 0)).to_bytes(2, "little") + header[12:]
    skb.push_data(header)
    skb.reset_network_header()
    skb.compute_data_pointers()
    clear_hash(skb)
    skb.set_protocol(ETH_P_IP if four else ETH_P_IPV6)
    return 0


def _valid(header: bytes) -> bool:
    """seg6_validate_srh(): a segment routing header, with what else it says in types and lengths behind its segments."""
    if len(header) < SEGMENTS_AT or header[2] != IPV6_SRCRT_TYPE_4 or (header[1] + 1) * 8 != len(header):
        return False
    left, first = header[3], header[4]
    at = SEGMENTS_AT + (first + 1) * IN6_ADDR_SIZE
    if left > first or first > header[1] // 2 - 1 or at > len(header):
        return False
    while at < len(header):
        if at + 2 > len(header):
            return False
        at += 2 + header[at + 1]
    return at == len(header)


def _segments(rt: Runtime, skb: SkBuff, header: bytes, inline: bool) -> int:
    """bpf_push_seg6_encap(): the packet takes the way to the first segment.  EINVAL, EBADMSG and those of routes."""
    six, routes = skb.protocol() == ETH_P_IPV6, rt.bpf.routes
    if not _valid(header):
        return -EINVAL
    if inline and not six:
        return -EBADMSG
    if routes is None or not routes.has(
        skb.addr
    ):  # a test run's packet, whose route the kernel would look at, has none
        return -EINVAL
    first = SEGMENTS_AT + header[4] * IN6_ADDR_SIZE
    to = header[first : first + IN6_ADDR_SIZE]
    outer = bytes(skb.mem.read(skb.data, SHORTEST[6]))
    missing = len(header) + SHORTEST[6] + skb.get("mac_len") - skb.headroom
    if missing > 0:
        skb.expand_head(missing, 0)
    if inline:
        skb.pull(SHORTEST[6])
        skb.push_data(
            outer[:6] + bytes((NEXTHDR_ROUTING,)) + outer[7:24] + to
            + outer[6:7] + header[1:SEGMENTS_AT] + outer[24:40] + header[SEGMENTS_AT + IN6_ADDR_SIZE :]
        )  # fmt: skip
    else:
        label, hops = (outer[:4], outer[7]) if six else (b"\x60\0\0\0", DEFAULT_HOPS)
        head = label + bytes((0, 0, NEXTHDR_ROUTING, hops)) + routes.tunnel_source(skb.addr, to) + to
        skb.push_data(head + bytes((IPPROTO_IPV6 if six else IPPROTO_IPIP,)) + header[1:])
    skb.mem.write(skb.data + 4, (skb.len - SHORTEST[6]).to_bytes(2, "big"))
    skb.reset_network_header()
    skb.set("transport_header", skb.get("network_header") + SHORTEST[6])
    skb.compute_data_pointers()
    return -routes.route_in(skb.addr)


@prototype(
    "lwt_push_encap",
    73,
    "4.18",
    args="PTR_TO_CTX ANYTHING PTR_TO_MEM|MEM_RDONLY CONST_SIZE",
    flags="changes_pkt_data",
    func="bpf_lwt_in_push_encap",
    proto="bpf_lwt_in_push_encap_proto",
    given="lwt_in",
)
def bpf_lwt_in_push_encap(rt: Runtime, skb_at: int, kind: int, header: int, length: int) -> int:
    """Around a packet that comes in.  EINVAL."""
    skb = SkBuff(rt.host, skb_at)
    given = bytes(rt.mem.read(header, length))
    if kind in (uapi.BPF_LWT_ENCAP_SEG6, uapi.BPF_LWT_ENCAP_SEG6_INLINE):
        return _segments(rt, skb, given, kind == uapi.BPF_LWT_ENCAP_SEG6_INLINE)
    return _push(rt, skb, given, skb.get("mac_len")) if kind == uapi.BPF_LWT_ENCAP_IP else -EINVAL


@prototype(
    "lwt_push_encap",
    args="PTR_TO_CTX ANYTHING PTR_TO_MEM|MEM_RDONLY CONST_SIZE",
    flags="changes_pkt_data",
    func="bpf_lwt_xmit_push_encap",
    proto="bpf_lwt_xmit_push_encap_proto",
    given="lwt_xmit",
)
def bpf_lwt_xmit_push_encap(rt: Runtime, skb_at: int, kind: int, header: int, length: int) -> int:
    """Around one that goes to a device.  EINVAL."""
    if kind != uapi.BPF_LWT_ENCAP_IP:
        return -EINVAL
    return _push(rt, SkBuff(rt.host, skb_at), bytes(rt.mem.read(header, length)), LL_RESERVED_SPACE)
