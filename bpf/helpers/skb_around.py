"""A packet's surroundings: sockets, control groups.  net/core/filter.c of Linux 6.1.

There is no IPsec state and no socket but the packet's own; what asks for one gets the kernel's answer for
"there is none".
"""

from __future__ import annotations

from arch.abi.errno import (
    E2BIG,
    EAGAIN,
    EINVAL,
    ENOENT,
)
from arch.abi.inet import ETH_HLEN, ETH_P_8021AD, ETH_P_8021Q, ETH_P_IP, ETH_P_IPV6, IPPROTO_TCP, VLAN_HLEN
from arch.abi.limits import U16_MAX, U32_MAX
from bpf.helpers import Runtime, prototype
from bpf.helpers.packet import fill
from bpf.maps.array import CgroupArrayMap
from bpf.packet.skbuff import (
    SkBuff,
    Sock,
)


@prototype(
    "get_cgroup_classid",
    17,
    "4.3",
    args="PTR_TO_CTX",
    given="tc_cls_act lwt_out",
    missing="classes and realms",
)
@prototype(
    "skb_cgroup_classid",
    151,
    "5.10",
    args="PTR_TO_CTX",
    given="tc_cls_act",
    missing="classes and realms",
)
@prototype(
    "get_route_realm",
    24,
    "4.4",
    args="PTR_TO_CTX",
    given="tc_cls_act lwt_out",
    missing="classes and realms",
)
@prototype(
    "get_cgroup_classid",
    func="bpf_get_cgroup_classid_curr",
    proto="bpf_get_cgroup_classid_curr_proto",
    given="cgroup_current sk_msg",
)
def not_classified(rt: Runtime) -> int:
    """Class and route realm: packets and sockets have none."""
    return 0


def _netns_cookie(rt: Runtime, sk: int) -> int:
    """__bpf_get_netns_cookie(): of the namespace of a sock, or of the first one; that of a test run's own sock is the first, too."""
    return 1 if rt.host.sockets is None else rt.host.sockets.netns_cookie(sk)


@prototype(
    "get_netns_cookie",
    122,
    "5.7",
    args="PTR_TO_CTX_OR_NULL",
    func="bpf_get_netns_cookie_sock",
    proto="bpf_get_netns_cookie_sock_proto",
    given="sock_filter",
)
def bpf_get_netns_cookie_sock(rt: Runtime, ctx: int) -> int:
    """Of this sock; NULL asks for the first namespace."""
    return _netns_cookie(rt, ctx)


@prototype(
    "get_netns_cookie",
    args="PTR_TO_CTX_OR_NULL",
    func="bpf_get_netns_cookie_sock_addr",
    proto="bpf_get_netns_cookie_sock_addr_proto",
    given="sock_addr",
)
def bpf_get_netns_cookie_sock_addr(rt: Runtime, ctx: int) -> int:
    """Of the address's; NULL asks for the first namespace."""
    return _netns_cookie(rt, SkBuff(rt.host, ctx).read(ctx, "bpf_sock_addr_kern.sk") if ctx else 0)


@prototype(
    "get_netns_cookie",
    args="PTR_TO_CTX_OR_NULL",
    func="bpf_get_netns_cookie_sock_ops",
    proto="bpf_get_netns_cookie_sock_ops_proto",
    given="sock_ops",
)
def bpf_get_netns_cookie_sock_ops(rt: Runtime, ctx: int) -> int:
    """Of the sock that something happens to; NULL asks for the first namespace."""
    return _netns_cookie(rt, SkBuff(rt.host, ctx).read(ctx, "bpf_sock_ops_kern.sk") if ctx else 0)


@prototype(
    "get_netns_cookie",
    args="PTR_TO_CTX_OR_NULL",
    func="bpf_get_netns_cookie_sk_msg",
    proto="bpf_get_netns_cookie_sk_msg_proto",
    given="sk_msg",
)
def bpf_get_netns_cookie_sk_msg(rt: Runtime, ctx: int) -> int:
    """Of the message's; NULL asks for the first namespace."""
    return _netns_cookie(rt, SkBuff(rt.host, ctx).read(ctx, "sk_msg.sk") if ctx else 0)


@prototype(
    "get_netns_cookie",
    args="PTR_TO_CTX_OR_NULL",
    func="bpf_get_netns_cookie_sockopt",
    proto="bpf_get_netns_cookie_sockopt_proto",
    given="cg_sockopt",
)
def bpf_get_netns_cookie_sockopt(rt: Runtime, ctx: int) -> int:
    """Of the option's; NULL asks for the first namespace."""
    return _netns_cookie(rt, SkBuff(rt.host, ctx).read(ctx, "bpf_sockopt_kern.sk") if ctx else 0)


@prototype("get_netns_cookie", args="PTR_TO_CTX_OR_NULL")
def bpf_get_netns_cookie(rt: Runtime, ctx: int) -> int:
    """Of the packet's socket; NULL, and no socket, ask for the first namespace."""
    return _netns_cookie(rt, SkBuff(rt.host, ctx).get("sk") if ctx else 0)


@prototype(
    "lwt_seg6_store_bytes",
    74,
    "4.18",
    args="PTR_TO_CTX ANYTHING PTR_TO_MEM|MEM_RDONLY CONST_SIZE",
    flags="changes_pkt_data",
    given="lwt_seg6local",
    missing="segment routing",
)
@prototype(
    "lwt_seg6_adjust_srh",
    75,
    "4.18",
    args="PTR_TO_CTX ANYTHING ANYTHING",
    flags="changes_pkt_data",
    given="lwt_seg6local",
    missing="segment routing",
)
@prototype(
    "lwt_seg6_action",
    76,
    "4.18",
    args="PTR_TO_CTX ANYTHING PTR_TO_MEM|MEM_RDONLY CONST_SIZE",
    flags="changes_pkt_data",
    given="lwt_seg6local",
    missing="segment routing",
)
def not_of_this_packet(rt: Runtime) -> int:
    """Segment routing: there is none that could be set or checked."""
    return -EINVAL


@prototype(
    "skb_under_cgroup",
    33,
    "4.8",
    args="PTR_TO_CTX CONST_MAP_PTR ANYTHING",
    given="tc_cls_act lwt_out",
    maps="CGROUP_ARRAY",
)
def bpf_skb_under_cgroup(rt: Runtime, skb_at: int, map_at: int, index: int) -> int:
    """Whether the packet's socket is in or below a control group of the map.  ENOENT, E2BIG, EAGAIN."""
    sk = SkBuff(rt.host, skb_at).get("sk")
    if not sk:
        return -ENOENT
    found = rt.map_of(map_at, CgroupArrayMap)
    if index & U32_MAX >= found.max_entries:
        return -E2BIG
    group = found.get_element(index & U32_MAX)
    if group is None:
        return -EAGAIN
    level, above = 0, group.parent
    while above is not None:
        level, above = level + 1, above.parent
    return int(rt.host.sockets is not None and rt.host.sockets.cgroup_id(sk, level) == group.id)


def _full_sock(rt: Runtime, sk: int) -> bool:
    """Not a request, not in TIME_WAIT.  sk_fullsock()."""
    state = rt.mem.read_uint(Sock(rt.host, sk).common_at("skc_state"), 1)
    return state not in (6, 12)


@prototype(
    "sk_fullsock",
    95,
    "5.1",
    returns="PTR_TO_SOCKET_OR_NULL",
    args="PTR_TO_SOCK_COMMON",
    given="cg_skb tc_cls_act",
)
def bpf_sk_fullsock(rt: Runtime, sk: int) -> int:
    """The socket, if it is a full one."""
    return sk if _full_sock(rt, sk) else 0


@prototype(
    "tcp_sock",
    96,
    "5.1",
    returns="PTR_TO_TCP_SOCK_OR_NULL",
    args="PTR_TO_SOCK_COMMON",
    given="cg_sockopt cg_skb tc_cls_act sock_ops",
)
def bpf_tcp_sock(rt: Runtime, sk: int) -> int:
    """The socket, if it is a full one of TCP."""
    return sk if _full_sock(rt, sk) and Sock(rt.host, sk).get("sk_protocol") == IPPROTO_TCP else 0


@prototype(
    "skb_get_xfrm_state",
    66,
    "4.18",
    args="PTR_TO_CTX ANYTHING PTR_TO_UNINIT_MEM CONST_SIZE ANYTHING",
    given="tc_cls_act",
    missing="IPsec",
)
def no_xfrm_state(rt: Runtime, skb_at: int, index: int, to: int, length: int) -> int:
    """The packet has no IPsec state: cleared memory and EINVAL."""
    return fill(rt, to, length, EINVAL)


def _protocol_behind_vlan(skb: SkBuff) -> int:
    """The EtherType after all VLAN tags in the packet; 0 if it ends before.  vlan_get_protocol()."""
    kind, depth = skb.protocol(), max(skb.get("mac_len") - VLAN_HLEN, 0) if skb.get("mac_len") else ETH_HLEN
    for _ in range(7):  # VLAN_MAX_DEPTH
        if kind not in (ETH_P_8021Q, ETH_P_8021AD):
            return kind
        if depth + VLAN_HLEN > skb.len:
            return 0
        kind = int.from_bytes(bytes(skb.mem.read(skb.data + depth + 2, 2)), "big")
        depth += VLAN_HLEN
    return 0


def _swap16(value: int) -> int:
    return (value & 0xFF) << 8 | value >> 8 & 0xFF


def _ipv4_set_ce(skb: SkBuff, at: int) -> int:
    """IP_ECN_set_ce(), with the checksum corrected in its way."""
    mem, ecn = skb.mem, (skb.mem.read_uint(at + 1, 1) + 1) & 3
    if not ecn & 2:
        return int(ecn == 0)
    check = mem.read_uint(at + 10, 2) + _swap16(0xFFFB) + _swap16(ecn)
    mem.write_uint(at + 10, 2, (check + (check >= 0xFFFF)) & U16_MAX)
    mem.write_uint(at + 1, 1, mem.read_uint(at + 1, 1) | 3)
    return 1


def _ipv6_set_ce(skb: SkBuff, at: int) -> int:
    """IP6_ECN_set_ce()."""
    flow = skb.mem.read_uint(at + 1, 1)
    if not flow >> 4 & 3:
        return 0
    skb.mem.write_uint(at + 1, 1, flow | 3 << 4)
    return 1


@prototype(
    "skb_ecn_set_ce",
    97,
    "5.1",
    args="PTR_TO_CTX",
    given="cg_skb tc_cls_act",
)
def bpf_skb_ecn_set_ce(rt: Runtime, skb_at: int) -> int:
    """Mark the packet "congestion experienced", if its ends understand that; 1 if it is marked then."""
    skb = SkBuff(rt.host, skb_at)
    kind, at, end = _protocol_behind_vlan(skb), skb.network_header(), skb.data + skb.len
    if kind == ETH_P_IP and skb.headlen >= 20 and at + 20 <= end:
        return _ipv4_set_ce(skb, at)
    if kind == ETH_P_IPV6 and skb.headlen >= 40 and at + 40 <= end:
        return _ipv6_set_ce(skb, at)
    return 0
