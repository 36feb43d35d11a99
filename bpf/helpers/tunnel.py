"""Tunnels of packets: where one is to be sent, as a program says it.  net/core/filter.c of Linux 6.1.

What is set stands in a struct metadata_dst that the kernel has for the programs of one CPU, and the packet points to it:
`skb->_skb_refdst`.  No device here sends through a tunnel; a program finds what another one has set.
"""

from __future__ import annotations

import struct

from arch.abi.errno import EINVAL, ENOENT, ENOMEM, EPROTO
from arch.abi.limits import U32_MAX
from bpf import uapi
from bpf.helpers import Runtime, prototype
from bpf.helpers.packet import fill
from bpf.packet.skbuff import SkBuff

# include/net/ip_tunnels.h: bits of ip_tunnel_key.tun_flags, big-endian there
TUNNEL_CSUM, TUNNEL_KEY, TUNNEL_SEQ, TUNNEL_DONT_FRAGMENT, TUNNEL_NOCACHE = 0x1, 0x4, 0x8, 0x100, 0x2000
IP_TUNNEL_OPTS_MAX = 255
IPV6_FLOWLABEL_MASK = 0xFFFFF
TUNNEL_KEY_FORMAT = "I16sBBHI16s"  # struct bpf_tunnel_key: id, remote address, tos, ttl, flags, label, local address
TUNNEL_KEY_SIZE = 44
OLD_SIZES = (8, 22, 24, 28)  # as it was in older headers
# How a struct ip_tunnel_info is kept: its family and flags, a whole struct bpf_tunnel_key, how many bytes of options, and these.
TUNNEL_INFO = "II"
OPTIONS = 8 + TUNNEL_KEY_SIZE
ROOM = OPTIONS + 4 + IP_TUNNEL_OPTS_MAX + 1
NO_OPTIONS = U32_MAX


def _info(rt: Runtime, skb: SkBuff) -> int:
    """skb_tunnel_info(): 0 without."""
    return rt.bpf.tunnel if rt.bpf.tunnel and skb.get("_skb_refdst") & ~1 == rt.bpf.tunnel else 0


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
        remote, local = remote[:4].ljust(16, b"\0"), local[:4].ljust(16, b"\0")
    if not rt.bpf.tunnel:
        rt.bpf.tunnel = rt.mem.alloc(ROOM, 64)
    told = TUNNEL_KEY | TUNNEL_NOCACHE
    told |= 0 if flags & uapi.BPF_F_ZERO_CSUM_TX else TUNNEL_CSUM
    told |= TUNNEL_DONT_FRAGMENT if flags & uapi.BPF_F_DONT_FRAGMENT else 0
    told |= TUNNEL_SEQ if flags & uapi.BPF_F_SEQ_NUMBER else 0
    # Whoever asks is at the other end: what is remote to the one is local to the other.
    kept = struct.pack(order + TUNNEL_KEY_FORMAT, number, local, tos, ttl, 0, label & IPV6_FLOWLABEL_MASK, remote)
    rt.mem.write(
        rt.bpf.tunnel, struct.pack(order + TUNNEL_INFO, six, told) + kept + struct.pack(order + "I", NO_OPTIONS)
    )
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
    if not info or flags & ~(uapi.BPF_F_TUNINFO_IPV6 | uapi.BPF_F_TUNINFO_FLAGS):
        return fill(rt, to, size, EINVAL)
    six, told = (rt.mem.read_uint(info + at, 4) for at in (0, 4))
    if six != flags & uapi.BPF_F_TUNINFO_IPV6:
        return fill(rt, to, size, EPROTO)
    if size != TUNNEL_KEY_SIZE and (size not in OLD_SIZES or (size == OLD_SIZES[0] and six)):
        return fill(rt, to, size, EINVAL)
    kept = bytearray(rt.mem.read(info + 8, TUNNEL_KEY_SIZE))
    if flags & uapi.BPF_F_TUNINFO_FLAGS:
        kept[22:24] = told.to_bytes(2, "big")
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
    length = rt.mem.read_uint(info + OPTIONS, 4) if info else NO_OPTIONS
    if length == NO_OPTIONS:
        return fill(rt, to, size, ENOENT)
    if size < length:
        return fill(rt, to, size, ENOMEM)
    rt.mem.write(to, bytes(rt.mem.read(info + OPTIONS + 4, length)).ljust(size, b"\0"))
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
    info = _info(rt, SkBuff(rt.host, skb_at))
    if not info or size & 3:
        return -EINVAL
    if size > IP_TUNNEL_OPTS_MAX:
        return -ENOMEM
    rt.mem.write_uint(info + OPTIONS, 4, size)
    rt.mem.write(info + OPTIONS + 4, bytes(rt.mem.read(source, size)))
    return 0
