"""What the helpers on packets share."""

from __future__ import annotations

from arch.abi.limits import U32_MAX
from bpf.helpers import Runtime
from bpf.packet.skbuff import (
    CHECKSUM_NONE,
    CHECKSUM_UNNECESSARY,
    SkBuff,
)


def s32(value: int) -> int:
    value &= U32_MAX
    return value - (1 << 32) if value & 0x80000000 else value


def fill(rt: Runtime, to: int, length: int, error: int) -> int:
    """A helper that fills memory clears it when it fails."""
    if length & U32_MAX:
        rt.mem.write(to, bytes(length & U32_MAX))
    return -error


def writable(skb: SkBuff, length: int) -> bool:
    """bpf_try_make_writable(): the packet is that long; data pointers are computed anew."""
    skb.set("cloned", 0)
    skb.compute_data_pointers()
    return length <= skb.len


def reset_checksum_unnecessary(skb: SkBuff) -> None:
    if skb.ip_summed() == CHECKSUM_UNNECESSARY:
        skb.set_ip_summed(CHECKSUM_NONE)
        set_csum_level(skb, 0)


def clear_hash(skb: SkBuff) -> None:
    skb.set("hash", 0)
    skb.set("l4_hash", 0)
    skb.set("sw_hash", 0)


def make_headroom(skb: SkBuff, count: int) -> None:
    if skb.headroom < count:
        skb.expand_head(count - skb.headroom, 0)


def set_csum_level(skb: SkBuff, level: int) -> None:
    skb.set("csum_level", level)
