"""Length and headers of packets: growing, shrinking, changing the protocol.  net/core/filter.c of Linux 6.1."""

from __future__ import annotations

from arch.abi.errno import (
    EFAULT,
    EINVAL,
    ENOMEM,
    ENOTSUPP,
)
from arch.abi.inet import ETH_HLEN, ETH_P_IP, ETH_P_IPV6
from arch.abi.limits import U16_MAX, U32_MAX
from bpf import uapi
from bpf.helpers import Runtime, prototype
from bpf.helpers.packet import clear_hash, make_headroom, reset_checksum_unnecessary, s32
from bpf.packet.skbuff import (
    SkBuff,
)

BPF_SKB_MAX_LEN = (4 << 12) - 320  # SKB_MAX_ALLOC: four pages without struct skb_shared_info
BPF_F_ADJ_ROOM_MASK = 0xFF00000000000000 | 0x5F


def _min_len(skb: SkBuff) -> int:
    shortest = max(skb.network_header() - skb.data, 0)
    if skb.get("transport_header") != U16_MAX:
        offset = skb.get("head") + skb.get("transport_header") - skb.data
        shortest = offset if offset > 0 else shortest
    return shortest


@prototype(
    "skb_change_tail",
    38,
    "4.9",
    args="PTR_TO_CTX ANYTHING ANYTHING",
    flags="changes_pkt_data",
    given="tc_cls_act lwt_xmit",
)
@prototype(
    "skb_change_tail",
    args="PTR_TO_CTX ANYTHING ANYTHING",
    flags="changes_pkt_data",
    func="sk_skb_change_tail",
    proto="sk_skb_change_tail_proto",
    given="sk_skb",
)
def bpf_skb_change_tail(rt: Runtime, skb_at: int, length: int, flags: int) -> int:
    """Make the packet longer, with zeros, or shorter."""
    skb, length = SkBuff(rt.host, skb_at), length & U32_MAX
    result = 0
    if flags or not _min_len(skb) <= length <= BPF_SKB_MAX_LEN:
        result = -EINVAL
    elif length > skb.len:
        grow = length - skb.len
        if skb.tailroom < grow:
            skb.expand_head(0, grow)
        rt.mem.write(skb.data + skb.len, bytes(grow))
        skb.put(grow)
    elif length < skb.len:
        skb.trim(length)
    if not result and skb.is_gso:
        for member in ("gso_size", "gso_segs", "gso_type"):
            skb.set_shared(member, 0)
    skb.compute_data_pointers()
    return result


@prototype(
    "skb_change_head",
    43,
    "4.10",
    args="PTR_TO_CTX ANYTHING ANYTHING",
    flags="changes_pkt_data",
    given="tc_cls_act lwt_xmit",
)
@prototype(
    "skb_change_head",
    args="PTR_TO_CTX ANYTHING ANYTHING",
    flags="changes_pkt_data",
    func="sk_skb_change_head",
    proto="sk_skb_change_head_proto",
    given="sk_skb",
)
def bpf_skb_change_head(rt: Runtime, skb_at: int, room: int, flags: int) -> int:
    """Make room for a link-layer header."""
    skb, room = SkBuff(rt.host, skb_at), room & U32_MAX
    result = 0
    if flags or skb.len + room > U32_MAX or (skb.len + room > BPF_SKB_MAX_LEN and not skb.is_gso):
        result = -EINVAL
    else:
        make_headroom(skb, room)
        skb.push(room)
        rt.mem.write(skb.data, bytes(room)) if room else None
        skb.reset_mac_header()
        skb.set("mac_len", skb.get("network_header") - skb.get("mac_header"))
    skb.compute_data_pointers()
    return result


def _move_headers(skb: SkBuff, by: int) -> None:
    same = skb.get("transport_header") == skb.get("network_header")
    skb.set("mac_header", skb.get("mac_header") + by)
    skb.set("network_header", skb.get("network_header") + by)
    if same:
        skb.set("transport_header", skb.get("network_header"))


def _header_push(skb: SkBuff, offset: int, count: int) -> None:
    """Insert zeros after the first `offset` bytes.  bpf_skb_net_hdr_push()."""
    make_headroom(skb, count)
    front = bytes(skb.mem.read(skb.data, offset)) if offset else b""
    skb.push(count)
    skb.mem.write(skb.data, front + bytes(count))
    _move_headers(skb, -count)


def _header_pop(skb: SkBuff, offset: int, count: int) -> int:
    """Take bytes out after the first `offset`.  bpf_skb_net_hdr_pop()."""
    if offset + count > skb.len:
        return -ENOMEM
    front = bytes(skb.mem.read(skb.data, offset)) if offset else b""
    skb.pull(count)
    if front:
        skb.mem.write(skb.data, front)
    _move_headers(skb, count)
    return 0


def _mac_header_len(skb: SkBuff) -> int:
    return skb.get("network_header") - skb.get("mac_header")


def _base_len(skb: SkBuff) -> int:
    return {ETH_P_IP: 20, ETH_P_IPV6: 40}[skb.protocol()]


@prototype(
    "skb_adjust_room",
    50,
    "4.13",
    args="PTR_TO_CTX ANYTHING ANYTHING ANYTHING",
    flags="changes_pkt_data",
    given="tc_cls_act",
)
@prototype(
    "skb_adjust_room",
    args="PTR_TO_CTX ANYTHING ANYTHING ANYTHING",
    flags="changes_pkt_data",
    func="sk_skb_adjust_room",
    proto="sk_skb_adjust_room_proto",
    given="sk_skb",
)
def bpf_skb_adjust_room(rt: Runtime, skb_at: int, diff: int, mode: int, flags: int) -> int:
    """Grow or shrink at the network header, without encapsulation flags."""
    skb, diff, mode = SkBuff(rt.host, skb_at), s32(diff), mode & U32_MAX
    if flags & ~(BPF_F_ADJ_ROOM_MASK | uapi.BPF_F_ADJ_ROOM_NO_CSUM_RESET):
        return -EINVAL
    if abs(diff) > 0xFFF:
        return -EFAULT
    if skb.protocol() not in (ETH_P_IP, ETH_P_IPV6) or mode > uapi.BPF_ADJ_ROOM_MAC:
        return -ENOTSUPP
    base = _base_len(skb)
    offset = _mac_header_len(skb) + (base if mode == uapi.BPF_ADJ_ROOM_NET else 0)
    current = skb.len - (skb.network_header() - skb.data)
    too_small = -diff >= current or current + diff < base
    if (diff < 0 and too_small) or (diff >= 0 and skb.len + diff > BPF_SKB_MAX_LEN and not skb.is_gso):
        return -ENOTSUPP
    result = _shrink(skb, offset, -diff, flags) if diff < 0 else _grow(skb, offset, diff, flags)
    if not result and not flags & uapi.BPF_F_ADJ_ROOM_NO_CSUM_RESET:
        reset_checksum_unnecessary(skb)
    skb.compute_data_pointers()
    return result


def _shrink(skb: SkBuff, offset: int, count: int, flags: int) -> int:
    if flags & ~(uapi.BPF_F_ADJ_ROOM_FIXED_GSO | uapi.BPF_F_ADJ_ROOM_NO_CSUM_RESET):
        return -EINVAL
    if skb.is_gso:
        return -ENOTSUPP  # neither TCP nor UDP segments
    return _header_pop(skb, offset, count)


def _grow(skb: SkBuff, offset: int, count: int, flags: int) -> int:
    """Encapsulation as far as lengths and headers show it."""
    ipv4, ipv6, gre, udp = (bool(flags & bit) for bit in (2, 4, 8, 16))
    if skb.is_gso:
        return -ENOTSUPP  # neither TCP nor UDP segments
    encap = ipv4 or ipv6
    if encap:
        inner_mac_len = flags >> 56
        if (ipv4 and ipv6) or (gre and udp) or (flags & 64 and inner_mac_len < ETH_HLEN) or inner_mac_len > count:
            return -EINVAL
    mac_len = _mac_header_len(skb)
    _header_push(skb, offset, count)
    if encap:
        skb.set("network_header", skb.headroom + mac_len)
        if gre or udp:
            skb.set("transport_header", skb.headroom + mac_len + (40 if ipv6 else 20))
        skb.mem.write(skb.at("protocol"), (ETH_P_IPV6 if ipv6 else ETH_P_IP).to_bytes(2, "big"))
    return 0


@prototype(
    "skb_change_proto",
    31,
    "4.8",
    args="PTR_TO_CTX ANYTHING ANYTHING",
    flags="changes_pkt_data",
    given="tc_cls_act",
)
def bpf_skb_change_proto(rt: Runtime, skb_at: int, proto: int, flags: int) -> int:
    """Exchange an IPv4 header for room of an IPv6 header, or the other way round."""
    skb = SkBuff(rt.host, skb_at)
    if flags:
        return -EINVAL
    wanted = int.from_bytes((proto & U16_MAX).to_bytes(2, rt.mem.byteorder), "big")
    change = (skb.protocol(), wanted)
    result = 0
    if change == (ETH_P_IP, ETH_P_IPV6):
        _header_push(skb, _mac_header_len(skb), 20)
    elif change == (ETH_P_IPV6, ETH_P_IP):
        result = _header_pop(skb, _mac_header_len(skb), 20)
    else:
        result = -ENOTSUPP
    if not result:
        skb.mem.write(skb.at("protocol"), wanted.to_bytes(2, "big"))
        clear_hash(skb)
    skb.compute_data_pointers()
    return result
