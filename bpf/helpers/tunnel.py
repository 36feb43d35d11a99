"""Tunnels of packets: where one is to be sent, as a program says it, and where it came from.  net/core/filter.c of Linux 6.1.

What is set stands in a struct metadata_dst that the kernel has for the programs of one CPU, and the packet points to it:
`skb->_skb_refdst`.  A device that takes its keys from programs sends by it; of what such a device received, it has made one.
"""

from __future__ import annotations

import struct

from arch.abi.errno import EINVAL, ENOENT, ENOMEM, EPROTO
from bpf import uapi
from bpf.helpers import Runtime, prototype
from bpf.helpers.packet import fill
from bpf.packet.skbuff import SkBuff
from bpf.packet.tunnel_info import (
    IP_TUNNEL_INFO_IPV6,
    IP_TUNNEL_INFO_TX,
    IP_TUNNEL_OPTS_MAX,
    ROOM,
    SKB_DST_NOREF,
    TUNNEL_CSUM,
    TUNNEL_DONT_FRAGMENT,
    TUNNEL_KEY,
    TUNNEL_NOCACHE,
    TUNNEL_OPTIONS_PRESENT,
    TUNNEL_SEQ,
    TunnelInfo,
    load,
)

IPV6_FLOWLABEL_MASK = 0xFFFFF
TUNNEL_KEY_FORMAT = "I16sBBHI16s"  # struct bpf_tunnel_key: id, remote address, tos, ttl, flags, label, local address
TUNNEL_KEY_SIZE = 44
OLD_SIZES = (8, 22, 24, 28)  # as it was in older headers


def _at(skb: SkBuff) -> int:
    """skb_metadata_dst(): 0 without."""
    return skb.get("_skb_refdst") & ~SKB_DST_NOREF


def _info(rt: Runtime, skb: SkBuff) -> TunnelInfo | None:
    """skb_tunnel_info()."""
    at = _at(skb)
    return load(rt.mem, at) if at else None


def _turned(rt: Runtime, address: bytes) -> bytes:
    """An address between the network's order and that of struct bpf_tunnel_key, which has IPv4's as numbers."""
    return address[::-1] if len(address) == 4 and rt.mem.byteorder == "little" else address


@prototype(
    "skb_set_tunnel_key",
    21,
    "4.3",
    args="PTR_TO_CTX PTR_TO_MEM|MEM_RDONLY CONST_SIZE ANYTHING",
    given="tc_cls_act lwt_xmit",
)
def bpf_skb_set_tunnel_key(rt: Runtime, skb_at: int, source: int, size: int, flags: int) -> int:
    """The packet is to go through a tunnel.  EINVAL."""
    known = uapi.BPF_F_TUNINFO_IPV6 | uapi.BPF_F_ZERO_CSUM_TX | uapi.BPF_F_DONT_FRAGMENT | uapi.BPF_F_SEQ_NUMBER
    if flags & ~known or size not in (TUNNEL_KEY_SIZE, *OLD_SIZES):
        return -EINVAL
    order = ">" if rt.mem.byteorder == "big" else "<"
    raw = bytes(rt.mem.read(source, size)).ljust(TUNNEL_KEY_SIZE, b"\0")
    number, remote, tos, ttl, extension, label, local = struct.unpack(order + TUNNEL_KEY_FORMAT, raw)
    six = flags & uapi.BPF_F_TUNINFO_IPV6
    if extension or (label and not six):
        return -EINVAL
    if not six:
        remote, local = _turned(rt, remote[:4]), _turned(rt, local[:4])
    told = TUNNEL_KEY | TUNNEL_NOCACHE
    told |= 0 if flags & uapi.BPF_F_ZERO_CSUM_TX else TUNNEL_CSUM
    told |= TUNNEL_DONT_FRAGMENT if flags & uapi.BPF_F_DONT_FRAGMENT else 0
    told |= TUNNEL_SEQ if flags & uapi.BPF_F_SEQ_NUMBER else 0
    mode = IP_TUNNEL_INFO_TX | (IP_TUNNEL_INFO_IPV6 if six else 0)
    if not rt.bpf.tunnel:
        rt.bpf.tunnel = rt.mem.alloc(ROOM, 64)
    info = TunnelInfo(local, remote, number, tos, ttl, label & IPV6_FLOWLABEL_MASK, told, mode)
    info.store(rt.mem, rt.bpf.tunnel)
    SkBuff(rt.host, skb_at).set("_skb_refdst", rt.bpf.tunnel)
    return 0


@prototype(
    "skb_get_tunnel_key",
    20,
    "4.3",
    args="PTR_TO_CTX PTR_TO_UNINIT_MEM CONST_SIZE ANYTHING",
    given="tc_cls_act lwt_xmit",
)
def bpf_skb_get_tunnel_key(rt: Runtime, skb_at: int, to: int, size: int, flags: int) -> int:
    """Through which tunnel the packet came, or is to go.  EINVAL: none; EPROTO: it is of the other family."""
    info = _info(rt, SkBuff(rt.host, skb_at))
    if info is None or flags & ~(uapi.BPF_F_TUNINFO_IPV6 | uapi.BPF_F_TUNINFO_FLAGS):
        return fill(rt, to, size, EINVAL)
    if info.six != bool(flags & uapi.BPF_F_TUNINFO_IPV6):
        return fill(rt, to, size, EPROTO)
    if size != TUNNEL_KEY_SIZE and (size not in OLD_SIZES or (size == OLD_SIZES[0] and info.six)):
        return fill(rt, to, size, EINVAL)
    # Whoever asks is at the other end: what a packet came from is remote, where it went to is local.
    order = ">" if rt.mem.byteorder == "big" else "<"
    remote, local = _turned(rt, info.source), _turned(rt, info.destination)
    kept = bytearray(
        struct.pack(order + TUNNEL_KEY_FORMAT, info.number, remote, info.tos, info.ttl, 0, info.label, local)
    )
    if flags & uapi.BPF_F_TUNINFO_FLAGS:
        kept[22:24] = info.flags.to_bytes(2, "big")
    rt.mem.write(to, bytes(kept[:size]))
    return 0


@prototype(
    "skb_get_tunnel_opt",
    29,
    "4.6",
    args="PTR_TO_CTX PTR_TO_UNINIT_MEM CONST_SIZE",
    given="tc_cls_act lwt_xmit",
)
def bpf_skb_get_tunnel_opt(rt: Runtime, skb_at: int, to: int, size: int) -> int:
    """The tunnel's options: how many bytes they are.  ENOENT, ENOMEM."""
    info = _info(rt, SkBuff(rt.host, skb_at))
    if info is None or not info.flags & TUNNEL_OPTIONS_PRESENT:
        return fill(rt, to, size, ENOENT)
    length = len(info.options)
    if size < length:
        return fill(rt, to, size, ENOMEM)
    rt.mem.write(to, info.options.ljust(size, b"\0"))
    return length


@prototype(
    "skb_set_tunnel_opt",
    30,
    "4.6",
    args="PTR_TO_CTX PTR_TO_MEM|MEM_RDONLY CONST_SIZE",
    given="tc_cls_act lwt_xmit",
)
def bpf_skb_set_tunnel_opt(rt: Runtime, skb_at: int, source: int, size: int) -> int:
    """Options of the tunnel that a program has set, whole words.  EINVAL, ENOMEM."""
    skb = SkBuff(rt.host, skb_at)
    info = _info(rt, skb)
    if info is None or _at(skb) != rt.bpf.tunnel or size & 3:
        return -EINVAL
    if size > IP_TUNNEL_OPTS_MAX:
        return -ENOMEM
    info.options = bytes(rt.mem.read(source, size))
    info.flags |= TUNNEL_OPTIONS_PRESENT if size else 0
    info.store(rt.mem, rt.bpf.tunnel)
    return 0
