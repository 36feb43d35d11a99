"""Bytes of a packet: loading, storing, making them linear.  net/core/filter.c of Linux 6.1."""

from __future__ import annotations

from arch.abi.errno import (
    EFAULT,
    EINVAL,
    ENOMEM,
)
from arch.abi.limits import INT_MAX, U16_MAX, U32_MAX
from bpf import uapi
from bpf.helpers import Runtime, kernel_name, prototype
from bpf.helpers.packet import clear_hash, fill, s32, writable
from bpf.packet.checksum import (
    csum_add,
    csum_partial,
)
from bpf.packet.skbuff import (
    CHECKSUM_COMPLETE,
    KernelStruct,
    SkBuff,
)


@prototype(
    "skb_load_bytes",
    26,
    "4.5",
    args="PTR_TO_CTX ANYTHING PTR_TO_UNINIT_MEM CONST_SIZE",
    given="sk_filter tc_cls_act sk_skb lwt_out",
)
def bpf_skb_load_bytes(rt: Runtime, skb_at: int, offset: int, to: int, length: int) -> int:
    """Copy bytes out of the packet.  EFAULT beyond its end."""
    skb, offset, length = SkBuff(rt.host, skb_at), offset & U32_MAX, length & U32_MAX
    if offset > INT_MAX or offset + length > skb.len:
        return fill(rt, to, length, EFAULT)
    rt.mem.write(to, bytes(rt.mem.read(skb.data + offset, length)))
    return 0


@prototype(
    "skb_load_bytes_relative",
    68,
    "4.18",
    args="PTR_TO_CTX ANYTHING PTR_TO_UNINIT_MEM CONST_SIZE ANYTHING",
    given="sk_filter tc_cls_act",
)
def bpf_skb_load_bytes_relative(rt: Runtime, skb_at: int, offset: int, to: int, length: int, start: int) -> int:
    """Copy bytes, counted from the link-layer or network header."""
    skb, offset, length = SkBuff(rt.host, skb_at), offset & U32_MAX, length & U32_MAX
    start &= U32_MAX
    has_mac = skb.get("mac_header") != U16_MAX
    if offset > U16_MAX or start > uapi.BPF_HDR_START_NET or (start == uapi.BPF_HDR_START_MAC and not has_mac):
        return fill(rt, to, length, EFAULT)
    at = (skb.mac_header() if start == uapi.BPF_HDR_START_MAC else skb.network_header()) + offset
    if at + length > skb.get("head") + skb.mark("tail"):
        return fill(rt, to, length, EFAULT)
    rt.mem.write(to, bytes(rt.mem.read(at, length)))
    return 0


@prototype(
    "skb_store_bytes",
    9,
    "4.1",
    args="PTR_TO_CTX ANYTHING PTR_TO_MEM|MEM_RDONLY CONST_SIZE ANYTHING",
    flags="changes_pkt_data",
    given="tc_cls_act sk_skb lwt_xmit",
)
def bpf_skb_store_bytes(rt: Runtime, skb_at: int, offset: int, source: int, length: int, flags: int) -> int:
    """Copy bytes into the packet."""
    skb, offset, length = SkBuff(rt.host, skb_at), offset & U32_MAX, length & U32_MAX
    if flags & ~(uapi.BPF_F_RECOMPUTE_CSUM | uapi.BPF_F_INVALIDATE_HASH):
        return -EINVAL
    if offset > INT_MAX or not writable(skb, (offset + length) & U32_MAX):
        return -EFAULT
    at, fresh = skb.data + offset, bytes(rt.mem.read(source, length)) if length else b""
    if flags & uapi.BPF_F_RECOMPUTE_CSUM and skb.ip_summed() == CHECKSUM_COMPLETE:
        old = csum_partial(_aligned(bytes(rt.mem.read(at, length)), offset), 0)
        new = csum_partial(_aligned(fresh, offset), 0)
        skb.set("csum", csum_add(csum_add(skb.get("csum"), ~old & U32_MAX), new))
    if fresh:
        rt.mem.write(at, fresh)
    if flags & uapi.BPF_F_INVALIDATE_HASH:
        clear_hash(skb)
    return 0


def _aligned(data: bytes, offset: int) -> bytes:
    return (b"\0" + data) if offset & 1 else data


@prototype(
    "skb_pull_data",
    39,
    "4.9",
    args="PTR_TO_CTX ANYTHING",
    flags="changes_pkt_data",
    given="tc_cls_act lwt_out",
)
def bpf_skb_pull_data(rt: Runtime, skb_at: int, length: int) -> int:
    """Make the first bytes directly accessible: all of them are."""
    skb = SkBuff(rt.host, skb_at)
    return 0 if writable(skb, length & U32_MAX or skb.headlen) else -ENOMEM


@prototype(
    "skb_pull_data",
    args="PTR_TO_CTX ANYTHING",
    flags="changes_pkt_data",
    func="sk_skb_pull_data",
    proto="sk_skb_pull_data_proto",
    given="sk_skb",
)
def sk_skb_pull_data(rt: Runtime, skb_at: int, length: int) -> int:
    """The same for stream parsers and verdicts, whose packets have all their bytes in pages at first.  ENOMEM."""
    skb, length = SkBuff(rt.host, skb_at), length & U32_MAX
    error = bpf_skb_pull_data(rt, skb_at, length)
    if not error and length > skb.headlen:
        skb.set("data_len", skb.len - length)  # __pskb_pull_tail()
    return error


def _load(rt: Runtime, skb_at: int, offset: int, size: int) -> int:
    """A load of classic BPF: big-endian, negative offsets from the headers."""
    found = SkBuff(rt.host, skb_at).load(s32(offset), size)
    return -EFAULT if found is None else found


@kernel_name("bpf_skb_load_helper_8_no_cache")
def bpf_skb_load_helper_8_no_cache(rt: Runtime, skb_at: int, offset: int) -> int:
    """One byte."""
    return _load(rt, skb_at, offset, 1)


@kernel_name("bpf_skb_load_helper_16_no_cache")
def bpf_skb_load_helper_16_no_cache(rt: Runtime, skb_at: int, offset: int) -> int:
    """Two bytes."""
    return _load(rt, skb_at, offset, 2)


@kernel_name("bpf_skb_load_helper_32_no_cache")
def bpf_skb_load_helper_32_no_cache(rt: Runtime, skb_at: int, offset: int) -> int:
    """Four bytes, as an int: a word with the top bit set is negative, and ends the program like an error."""
    return s32(_load(rt, skb_at, offset, 4))


@prototype(
    "skb_load_bytes",
    args="PTR_TO_CTX ANYTHING PTR_TO_UNINIT_MEM CONST_SIZE",
    func="bpf_flow_dissector_load_bytes",
    proto="bpf_flow_dissector_load_bytes_proto",
    given="flow_dissector",
)
def bpf_flow_dissector_load_bytes(rt: Runtime, ctx: int, offset: int, to: int, length: int) -> int:
    """Copy bytes of the packet under dissection, if there is a packet."""
    skb_at = KernelStruct(rt.host, ctx).read(ctx, "bpf_flow_dissector.skb")
    if offset & U32_MAX > U16_MAX or not skb_at:
        return fill(rt, to, length, EFAULT)
    return bpf_skb_load_bytes(rt, skb_at, offset, to, length)


@prototype(
    "skb_load_bytes",
    args="PTR_TO_CTX ANYTHING PTR_TO_UNINIT_MEM CONST_SIZE",
    func="sk_reuseport_load_bytes",
    proto="sk_reuseport_load_bytes_proto",
    given="sk_reuseport",
)
def sk_reuseport_load_bytes(rt: Runtime, ctx: int, offset: int, to: int, length: int) -> int:
    """Copy bytes of the packet for which a socket is chosen."""
    skb_at = KernelStruct(rt.host, ctx).read(ctx, "sk_reuseport_kern.skb")
    return bpf_skb_load_bytes(rt, skb_at, offset, to, length)


@prototype(
    "skb_load_bytes_relative",
    args="PTR_TO_CTX ANYTHING PTR_TO_UNINIT_MEM CONST_SIZE ANYTHING",
    func="sk_reuseport_load_bytes_relative",
    proto="sk_reuseport_load_bytes_relative_proto",
    given="sk_reuseport",
)
def sk_reuseport_load_bytes_relative(rt: Runtime, ctx: int, offset: int, to: int, length: int, start: int) -> int:
    """The same, counted from a header."""
    skb_at = KernelStruct(rt.host, ctx).read(ctx, "sk_reuseport_kern.skb")
    return bpf_skb_load_bytes_relative(rt, skb_at, offset, to, length, start)
