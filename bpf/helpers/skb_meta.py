"""What is known of a packet beside its bytes: hash, type, time stamp.  net/core/filter.c of Linux 6.1."""

from __future__ import annotations

import zlib

from arch.abi.errno import (
    EINVAL,
    EOPNOTSUPP,
)
from arch.abi.inet import ETH_P_IP, ETH_P_IPV6, PACKET_OTHERHOST
from arch.abi.limits import U32_MAX
from bpf.helpers import Runtime, prototype
from bpf.helpers.packet import clear_hash
from bpf.packet.skbuff import (
    SkBuff,
)


@prototype(
    "get_hash_recalc",
    34,
    "4.8",
    args="PTR_TO_CTX",
    given="tc_cls_act lwt_out",
)
def bpf_get_hash_recalc(rt: Runtime, skb_at: int) -> int:
    """The packet's hash, computed from its headers if it has none."""
    skb = SkBuff(rt.host, skb_at)
    if not skb.get("hash"):
        flow = rt.bpf.flow_of(skb_at) if rt.bpf.flow_of is not None else None
        skb.set("hash", zlib.crc32(skb.packet()[:64] if flow is None else flow) | 1)
    return skb.get("hash")


@prototype(
    "set_hash",
    48,
    "4.13",
    args="PTR_TO_CTX ANYTHING",
    given="tc_cls_act",
)
def bpf_set_hash(rt: Runtime, skb_at: int, value: int) -> int:
    """Give the packet a hash."""
    SkBuff(rt.host, skb_at).set("hash", value & U32_MAX)
    return 0


@prototype(
    "set_hash_invalid",
    41,
    "4.9",
    args="PTR_TO_CTX",
    given="tc_cls_act lwt_xmit",
)
def bpf_set_hash_invalid(rt: Runtime, skb_at: int) -> int:
    """Forget the hash."""
    clear_hash(SkBuff(rt.host, skb_at))
    return 0


@prototype(
    "skb_change_type",
    32,
    "4.8",
    args="PTR_TO_CTX ANYTHING",
    given="tc_cls_act",
)
def bpf_skb_change_type(rt: Runtime, skb_at: int, kind: int) -> int:
    """PACKET_HOST and its like."""
    skb, kind = SkBuff(rt.host, skb_at), kind & U32_MAX
    if kind > PACKET_OTHERHOST or skb.pkt_type() > PACKET_OTHERHOST:
        return -EINVAL
    skb.set_pkt_type(kind)
    return 0


@prototype(
    "skb_set_tstamp",
    192,
    "5.18",
    args="PTR_TO_CTX ANYTHING ANYTHING",
    given="tc_cls_act",
)
def bpf_skb_set_tstamp(rt: Runtime, skb_at: int, tstamp: int, kind: int) -> int:
    """Set the time of delivery."""
    skb, kind = SkBuff(rt.host, skb_at), kind & U32_MAX
    if skb.protocol() not in (ETH_P_IP, ETH_P_IPV6):
        return -EOPNOTSUPP
    if kind > 1 or bool(kind) != bool(tstamp):
        return -EINVAL
    skb.set("tstamp", tstamp)
    skb.set("mono_delivery_time", kind)
    return 0
