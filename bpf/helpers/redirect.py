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
from bpf.maps.net import CpuMap, DevMap
from bpf.packet.skbuff import (
    NetDevice,
    SkBuff,
)

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
    return TC_ACT_SHOT if flags else TC_ACT_REDIRECT


@prototype(
    "redirect_neigh",
    152,
    "5.10",
    args="ANYTHING PTR_TO_MEM|PTR_MAYBE_NULL|MEM_RDONLY CONST_SIZE_OR_ZERO ANYTHING",
    given="tc_cls_act",
)
def bpf_redirect_neigh(rt: Runtime, ifindex: int, params: int, size: int, flags: int) -> int:
    """The same, with the neighbour's address filled in."""
    return TC_ACT_SHOT if (size & U32_MAX and s32(size) < 20) or flags else TC_ACT_REDIRECT


@prototype(
    "clone_redirect",
    13,
    "4.2",
    args="PTR_TO_CTX ANYTHING ANYTHING",
    flags="changes_pkt_data",
    given="tc_cls_act lwt_xmit",
)
def bpf_clone_redirect(rt: Runtime, skb_at: int, ifindex: int, flags: int) -> int:
    """Send a copy elsewhere now: it reaches the loopback device, and there its end."""
    skb = SkBuff(rt.host, skb_at)
    if flags & ~uapi.BPF_F_INGRESS:
        return -EINVAL
    if skb.is_gso and not skb.shared("gso_type"):
        return -EBADMSG
    known = NetDevice(rt.host, skb.get("dev")).get("ifindex") if skb.get("dev") else 0
    return 0 if ifindex & U32_MAX == known else -EINVAL


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
    missing="AF_XDP sockets",
)
@kernel_name("bpf_redirect_map")
def bpf_xdp_redirect_map(rt: Runtime, map_ptr: int, key: int, flags: int) -> int:
    """To what the map has there; without it the action in the low bits of flags is the answer."""
    found, index = rt.map(map_ptr), key & U32_MAX
    broadcast = uapi.BPF_F_BROADCAST | uapi.BPF_F_EXCLUDE_INGRESS if isinstance(found, DevMap) else 0
    if flags & ~(ACTION_MASK | broadcast):
        return uapi.XDP_ABORTED
    there = isinstance(found, DevMap | CpuMap) and found.lookup(index.to_bytes(4, rt.mem.byteorder))
    if not there and not flags & uapi.BPF_F_BROADCAST:
        rt.bpf.redirect = None
        return flags & ACTION_MASK
    rt.bpf.redirect = Redirect(index, found, flags & broadcast)
    return uapi.XDP_REDIRECT
