"""Sending packets elsewhere.  net/core/filter.c of Linux 6.1: bpf_redirect() and its like."""

from __future__ import annotations

from arch.abi.errno import (
    EBADMSG,
    EINVAL,
)
from arch.abi.inet import TC_ACT_REDIRECT, TC_ACT_SHOT
from arch.abi.limits import U32_MAX
from bpf import uapi
from bpf.board import Redirect
from bpf.helpers import Runtime, kernel_name, prototype
from bpf.helpers.packet import s32
from bpf.maps.net import CpuMap, DevMap, XskMap
from bpf.packet.skbuff import (
    SkBuff,
)

# net/core/filter.c: what a redirection is, beside BPF_F_INGRESS
BPF_F_NEIGH, BPF_F_PEER = 1 << 1, 1 << 2
NEXT_HOP_SIZE = 20  # sizeof(struct bpf_redir_neigh)
ACTION_MASK = uapi.XDP_ABORTED | uapi.XDP_DROP | uapi.XDP_PASS | uapi.XDP_TX


@prototype(
    "redirect",
    23,
    "4.4",
    args="ANYTHING ANYTHING",
    given="tc_cls_act lwt_xmit",
)
def bpf_redirect(rt: Runtime, ifindex: int, flags: int) -> int:
    """Send the packet elsewhere when the program ends."""
    if flags & ~uapi.BPF_F_INGRESS:
        return TC_ACT_SHOT
    rt.bpf.redirect = Redirect(ifindex & U32_MAX, None, flags)
    return TC_ACT_REDIRECT


@prototype(
    "redirect_peer",
    155,
    "5.10",
    args="ANYTHING ANYTHING",
    given="tc_cls_act",
)
def bpf_redirect_peer(rt: Runtime, ifindex: int, flags: int) -> int:
    """The same, to the other end of a veth pair."""
    if flags:
        return TC_ACT_SHOT
    rt.bpf.redirect = Redirect(ifindex & U32_MAX, None, BPF_F_PEER)
    return TC_ACT_REDIRECT


@prototype(
    "redirect_neigh",
    152,
    "5.10",
    args="ANYTHING PTR_TO_MEM|PTR_MAYBE_NULL|MEM_RDONLY CONST_SIZE_OR_ZERO ANYTHING",
    given="tc_cls_act",
)
def bpf_redirect_neigh(rt: Runtime, ifindex: int, params: int, size: int, flags: int) -> int:
    """The same, with the neighbour's address filled in: of a next hop that is told, or of the packet's route."""
    if (size & U32_MAX and s32(size) < NEXT_HOP_SIZE) or flags:
        return TC_ACT_SHOT
    told = bytes(rt.mem.read(params, NEXT_HOP_SIZE)) if size & U32_MAX else b""
    rt.bpf.redirect = Redirect(ifindex & U32_MAX, None, BPF_F_NEIGH, told)
    return TC_ACT_REDIRECT


@prototype(
    "clone_redirect",
    13,
    "4.2",
    args="PTR_TO_CTX ANYTHING ANYTHING",
    flags="changes_pkt_data",
    given="tc_cls_act lwt_xmit",
)
def bpf_clone_redirect(rt: Runtime, skb_at: int, ifindex: int, flags: int) -> int:
    """Send a copy elsewhere; it goes when the program has ended, that of a test run nowhere.  EINVAL, EBADMSG."""
    skb = SkBuff(rt.host, skb_at)
    if flags & ~uapi.BPF_F_INGRESS:
        return -EINVAL
    if skb.is_gso and not skb.shared("gso_type"):
        return -EBADMSG
    if not rt.host.net_device(ifindex & U32_MAX):
        return -EINVAL
    if rt.bpf.copies is not None:
        rt.bpf.copies.append(Redirect(ifindex & U32_MAX, None, flags, skb.packet()))
    return 0


@prototype(
    "redirect",
    args="ANYTHING ANYTHING",
    func="bpf_xdp_redirect",
    proto="bpf_xdp_redirect_proto",
    given="xdp",
)
def bpf_xdp_redirect(rt: Runtime, ifindex: int, flags: int) -> int:
    """Send the frame elsewhere when the program ends."""
    if flags:
        return uapi.XDP_ABORTED
    rt.bpf.redirect = Redirect(ifindex & U32_MAX)
    return uapi.XDP_REDIRECT


@prototype(
    "redirect_map",
    51,
    "4.14",
    args="CONST_MAP_PTR ANYTHING ANYTHING",
    func="bpf_xdp_redirect_map",
    proto="bpf_xdp_redirect_map_proto",
    given="xdp",
    maps="DEVMAP CPUMAP XSKMAP DEVMAP_HASH",
)
@kernel_name("bpf_redirect_map")
def bpf_xdp_redirect_map(rt: Runtime, map_ptr: int, key: int, flags: int) -> int:
    """To what the map has there; without it the action in the low bits of flags is the answer."""
    found, index = rt.map(map_ptr), key & U32_MAX
    broadcast = uapi.BPF_F_BROADCAST | uapi.BPF_F_EXCLUDE_INGRESS if isinstance(found, DevMap) else 0
    if flags & ~(ACTION_MASK | broadcast):
        return uapi.XDP_ABORTED
    there = isinstance(found, DevMap | CpuMap | XskMap) and found.lookup(index.to_bytes(4, rt.mem.byteorder))
    if not there and not flags & uapi.BPF_F_BROADCAST:
        rt.bpf.redirect = None
        return flags & ACTION_MASK
    rt.bpf.redirect = Redirect(index, found, flags & broadcast)
    return uapi.XDP_REDIRECT
