"""Checksums of packets.  net/core/filter.c of Linux 6.1: bpf_csum_*(), bpf_l3_csum_replace(), bpf_l4_csum_replace()."""

from __future__ import annotations

from arch.abi.errno import (
    EACCES,
    EFAULT,
    EINVAL,
    ENOTSUPP,
)
from arch.abi.limits import U16_MAX, U32_MAX
from bpf import uapi
from bpf.helpers import Runtime, prototype
from bpf.helpers.packet import reset_checksum_unnecessary, set_csum_level, writable
from bpf.packet.checksum import (
    csum_add,
    csum_partial,
    csum_replace2,
    csum_replace4,
    csum_replace_by_diff,
)
from bpf.packet.skbuff import (
    CHECKSUM_COMPLETE,
    CHECKSUM_NONE,
    CHECKSUM_PARTIAL,
    CHECKSUM_UNNECESSARY,
    SkBuff,
)

CSUM_MANGLED_0 = 0xFFFF
SKB_MAX_CSUM_LEVEL = 3


@prototype(
    "csum_diff",
    28,
    "4.6",
    args="PTR_TO_MEM|PTR_MAYBE_NULL|MEM_RDONLY CONST_SIZE_OR_ZERO PTR_TO_MEM|PTR_MAYBE_NULL|MEM_RDONLY CONST_SIZE_OR_ZERO ANYTHING",
    flags="pkt_access",
    given="tc_cls_act xdp lwt_out",
)
def bpf_csum_diff(rt: Runtime, source: int, source_size: int, to: int, to_size: int, seed: int) -> int:
    """The sum that replacing one block by another adds."""
    source_size, to_size = source_size & U32_MAX, to_size & U32_MAX
    if (source_size | to_size) & 3 or source_size + to_size > uapi.MAX_BPF_STACK:
        return -EINVAL
    old = bytes(rt.mem.read(source, source_size)) if source_size else b""
    new = bytes(rt.mem.read(to, to_size)) if to_size else b""
    return csum_partial(bytes(~b & 0xFF for b in old) + new, seed & U32_MAX)


@prototype(
    "csum_update",
    40,
    "4.9",
    args="PTR_TO_CTX ANYTHING",
    given="tc_cls_act lwt_xmit",
)
def bpf_csum_update(rt: Runtime, skb_at: int, csum: int) -> int:
    """Add to the packet's own sum, if it has one."""
    skb = SkBuff(rt.host, skb_at)
    if skb.ip_summed() != CHECKSUM_COMPLETE:
        return -ENOTSUPP
    total = csum_add(skb.get("csum"), csum & U32_MAX)
    skb.set("csum", total)
    return total


def _csum_level(skb: SkBuff) -> int:
    return skb.get("csum_level")


@prototype(
    "csum_level",
    135,
    "5.8",
    args="PTR_TO_CTX ANYTHING",
    given="tc_cls_act lwt_xmit",
)
def bpf_csum_level(rt: Runtime, skb_at: int, level: int) -> int:
    """How many checksums of the packet are known to be right."""
    skb = SkBuff(rt.host, skb_at)
    unnecessary, have = skb.ip_summed() == CHECKSUM_UNNECESSARY, _csum_level(skb)
    if level == uapi.BPF_CSUM_LEVEL_QUERY:
        return have if unnecessary else -EACCES
    if level == uapi.BPF_CSUM_LEVEL_INC:
        if unnecessary:
            set_csum_level(skb, min(have + 1, SKB_MAX_CSUM_LEVEL))
        elif skb.ip_summed() == CHECKSUM_NONE:
            skb.set_ip_summed(CHECKSUM_UNNECESSARY)
            set_csum_level(skb, 0)
    elif level == uapi.BPF_CSUM_LEVEL_DEC:
        if unnecessary and have:
            set_csum_level(skb, have - 1)
        else:
            reset_checksum_unnecessary(skb)
    elif level == uapi.BPF_CSUM_LEVEL_RESET:
        reset_checksum_unnecessary(skb)
    else:
        return -EINVAL
    return 0


def _replaced(check: int, old: int, new: int, size: int) -> int | None:
    """A checksum field after a field of `size` bytes changed; None: no such size."""
    if size == 0:
        return None if old else csum_replace_by_diff(check, new & U32_MAX)
    if size == 2:
        return csum_replace2(check, old & U16_MAX, new & U16_MAX)
    return csum_replace4(check, old & U32_MAX, new & U32_MAX) if size == 4 else None


@prototype(
    "l3_csum_replace",
    10,
    "4.1",
    args="PTR_TO_CTX ANYTHING ANYTHING ANYTHING ANYTHING",
    flags="changes_pkt_data",
    given="tc_cls_act lwt_xmit",
)
def bpf_l3_csum_replace(rt: Runtime, skb_at: int, offset: int, old: int, new: int, flags: int) -> int:
    """Correct the checksum of an IP header."""
    skb, offset = SkBuff(rt.host, skb_at), offset & U32_MAX
    if flags & ~uapi.BPF_F_HDR_FIELD_MASK:
        return -EINVAL
    if offset > U16_MAX or offset & 1 or not writable(skb, offset + 2):
        return -EFAULT
    check = _replaced(rt.mem.read_uint(skb.data + offset, 2), old, new, flags)
    if check is None:
        return -EINVAL
    rt.mem.write_uint(skb.data + offset, 2, check)
    return 0


@prototype(
    "l4_csum_replace",
    11,
    "4.1",
    args="PTR_TO_CTX ANYTHING ANYTHING ANYTHING ANYTHING",
    flags="changes_pkt_data",
    given="tc_cls_act lwt_xmit",
)
def bpf_l4_csum_replace(rt: Runtime, skb_at: int, offset: int, old: int, new: int, flags: int) -> int:
    """Correct the checksum of TCP, UDP or ICMP, and the packet's own sum with it."""
    skb, offset, size = SkBuff(rt.host, skb_at), offset & U32_MAX, flags & uapi.BPF_F_HDR_FIELD_MASK
    known = (
        uapi.BPF_F_MARK_MANGLED_0
        | uapi.BPF_F_MARK_ENFORCE
        | uapi.BPF_F_PSEUDO_HDR
        | uapi.BPF_F_HDR_FIELD_MASK
        | uapi.BPF_F_IPV6
    )
    if flags & ~known:
        return -EINVAL
    if offset > U16_MAX or offset & 1 or not writable(skb, offset + 2):
        return -EFAULT
    at = skb.data + offset
    check = rt.mem.read_uint(at, 2)
    if flags & uapi.BPF_F_MARK_MANGLED_0 and not flags & uapi.BPF_F_MARK_ENFORCE and not check:
        return 0
    fresh = _replaced(check, old, new, size)
    if fresh is None:
        return -EINVAL
    if skb.ip_summed() == CHECKSUM_PARTIAL:
        fresh = check  # the device will sum; only the pseudo header counts
        if flags & uapi.BPF_F_PSEUDO_HDR:
            inverted = _replaced(~check & U16_MAX, old, new, size)
            fresh = ~inverted & U16_MAX if inverted is not None else check
    rt.mem.write_uint(at, 2, CSUM_MANGLED_0 if flags & uapi.BPF_F_MARK_MANGLED_0 and not fresh else fresh)
    return 0
