"""Packets come and go: allocation, copies, and the two ways to free one.  net/core/skbuff.c."""

from __future__ import annotations

from arch.abi.internal import GFP_ATOMIC, NUMA_NO_NODE
from simkernel.kernel.face import Body, Call, Steps
from simkernel.kernel.kfunc import kernel_function
from simkernel.net.core.charges import LINK_ROOM
from simkernel.net.core.skb import HEADROOM, Owner, Skb
from simkernel.net.face import NetKernel

# enum skb_drop_reason of 6.1, include/net/dropreason.h.
(
    SKB_DROP_REASON_NOT_SPECIFIED, SKB_DROP_REASON_NO_SOCKET, SKB_DROP_REASON_PKT_TOO_SMALL,
    SKB_DROP_REASON_TCP_CSUM, SKB_DROP_REASON_SOCKET_FILTER, SKB_DROP_REASON_UDP_CSUM,
    SKB_DROP_REASON_NETFILTER_DROP, SKB_DROP_REASON_OTHERHOST, SKB_DROP_REASON_IP_CSUM, SKB_DROP_REASON_IP_INHDR,
    SKB_DROP_REASON_IP_RPFILTER, SKB_DROP_REASON_UNICAST_IN_L2_MULTICAST, SKB_DROP_REASON_XFRM_POLICY,
    SKB_DROP_REASON_IP_NOPROTO, SKB_DROP_REASON_SOCKET_RCVBUFF, SKB_DROP_REASON_PROTO_MEM,
    SKB_DROP_REASON_TCP_MD5NOTFOUND, SKB_DROP_REASON_TCP_MD5UNEXPECTED, SKB_DROP_REASON_TCP_MD5FAILURE,
    SKB_DROP_REASON_SOCKET_BACKLOG, SKB_DROP_REASON_TCP_FLAGS, SKB_DROP_REASON_TCP_ZEROWINDOW,
    SKB_DROP_REASON_TCP_OLD_DATA, SKB_DROP_REASON_TCP_OVERWINDOW, SKB_DROP_REASON_TCP_OFOMERGE,
    SKB_DROP_REASON_TCP_RFC7323_PAWS, SKB_DROP_REASON_TCP_INVALID_SEQUENCE, SKB_DROP_REASON_TCP_RESET,
    SKB_DROP_REASON_TCP_INVALID_SYN, SKB_DROP_REASON_TCP_CLOSE, SKB_DROP_REASON_TCP_FASTOPEN,
    SKB_DROP_REASON_TCP_OLD_ACK, SKB_DROP_REASON_TCP_TOO_OLD_ACK, SKB_DROP_REASON_TCP_ACK_UNSENT_DATA,
    SKB_DROP_REASON_TCP_OFO_QUEUE_PRUNE, SKB_DROP_REASON_TCP_OFO_DROP, SKB_DROP_REASON_IP_OUTNOROUTES,
    SKB_DROP_REASON_BPF_CGROUP_EGRESS, SKB_DROP_REASON_IPV6DISABLED, SKB_DROP_REASON_NEIGH_CREATEFAIL,
    SKB_DROP_REASON_NEIGH_FAILED, SKB_DROP_REASON_NEIGH_QUEUEFULL, SKB_DROP_REASON_NEIGH_DEAD,
    SKB_DROP_REASON_TC_EGRESS, SKB_DROP_REASON_QDISC_DROP, SKB_DROP_REASON_CPU_BACKLOG, SKB_DROP_REASON_XDP,
    SKB_DROP_REASON_TC_INGRESS, SKB_DROP_REASON_UNHANDLED_PROTO, SKB_DROP_REASON_SKB_CSUM,
    SKB_DROP_REASON_SKB_GSO_SEG, SKB_DROP_REASON_SKB_UCOPY_FAULT, SKB_DROP_REASON_DEV_HDR,
    SKB_DROP_REASON_DEV_READY, SKB_DROP_REASON_FULL_RING, SKB_DROP_REASON_NOMEM, SKB_DROP_REASON_HDR_TRUNC,
    SKB_DROP_REASON_TAP_FILTER, SKB_DROP_REASON_TAP_TXFILTER, SKB_DROP_REASON_ICMP_CSUM,
    SKB_DROP_REASON_INVALID_PROTO, SKB_DROP_REASON_IP_INADDRERRORS, SKB_DROP_REASON_IP_INNOROUTES,
    SKB_DROP_REASON_PKT_TOO_BIG,
) = range(1, 65)  # fmt: skip


def new_skb(k: NetKernel, size: int, sk: Owner | None = None, truesize: int = 0) -> Steps[Skb]:
    """alloc_skb() with headroom (`yield from`): a registered, empty buffer for `size` bytes of payload.

    It is charged with `truesize` bytes, or with what Linux would take for those bytes and a link header.
    """
    address = yield k.call("__alloc_skb", size + HEADROOM, GFP_ATOMIC, 0, NUMA_NO_NODE)
    charge = truesize or k.net.charges.of(size + LINK_ROOM)
    return register(k, Skb.alloc(k, size, address, charge), sk)


def register(k: NetKernel, skb: Skb, sk: Owner | None = None) -> Skb:
    """Make a buffer findable by its address."""
    skb.set_owner(sk)
    k.net.skbs[skb.addr] = skb
    return skb


@kernel_function(
    "struct sk_buff *__alloc_skb(unsigned int size, gfp_t gfp_mask, int flags, int node)", source="net/core/skbuff.c"
)
def __alloc_skb(k: NetKernel, size: int, gfp_mask: int, flags: int, node: int) -> Body:
    """The struct sk_buff from its cache; its data is allocated behind the scenes."""
    return (yield k.call("kmem_cache_alloc_node", k.slab.caches["skbuff_head_cache"], gfp_mask, node))


def release(k: NetKernel, skb: Skb) -> Steps[None]:
    """__kfree_skb(): give the memory back (`yield from`)."""
    del k.net.skbs[skb.addr]
    skb.orphan()
    if skb.metadata:
        k.mem.free(skb.metadata)
    k.mem.free(skb.get("head"))
    if skb.slab:
        yield k.call("kmem_cache_free", k.slab.caches["skbuff_head_cache"], skb.addr)
    else:
        k.mem.free(skb.addr)


def clone(k: NetKernel, skb: Skb) -> Steps[Skb]:
    """A copy with the same bytes and headers, for packet sockets (`yield from`)."""
    copy = yield from new_skb(k, skb.room - HEADROOM)
    copy.copy_packet(skb)
    moved = (copy.data - copy.get("head")) - (skb.data - skb.get("head"))
    start = max(skb.get("csum_start") + moved, 0)
    copy.set_checksum(skb.get("ip_summed"), start, skb.get("csum_offset"))
    copy.dst, copy.iif = skb.dst, skb.iif
    if skb.metadata and (info := skb.tunnel) is not None:
        copy.set_tunnel(info)
    else:
        copy.set("_skb_refdst", skb.get("_skb_refdst"))
    if skb.dev:
        copy.set_dev(skb.dev)
    return copy


def drop(k: NetKernel, skb: Skb, reason: int = SKB_DROP_REASON_NOT_SPECIFIED, sk: int = 0) -> Call:
    """`yield drop(k, skb, reason)`: kfree_skb(): the packet was thrown away, and observers may want to know why.

    `sk` is the sock that would have received it.
    """
    if k.text.has("sk_skb_reason_drop"):
        return k.call("sk_skb_reason_drop", sk, skb.addr, reason)
    return k.call("kfree_skb_reason", skb.addr, reason)


@kernel_function(
    "void kfree_skb_reason(struct sk_buff *skb, enum skb_drop_reason reason)",
    source="net/core/skbuff.c",
    until="6.11",
    names={None: "kfree_skb", "5.17": "kfree_skb_reason"},
)
def kfree_skb_reason(k: NetKernel, skb: int, reason: int) -> Body:
    """Free a packet that is dropped, and say so: tracepoint skb:kfree_skb with the place that dropped it."""
    return (yield from sk_skb_reason_drop(k, 0, skb, reason))


@kernel_function(
    "void sk_skb_reason_drop(struct sock *sk, struct sk_buff *skb, enum skb_drop_reason reason)",
    source="net/core/skbuff.c",
    since="6.11",
)
def sk_skb_reason_drop(k: NetKernel, sk: int, skb: int, reason: int) -> Body:
    """The same, with the sock that would have received the packet."""
    yield 0  # a generator is always really called, so that there is a return address to report
    packet = k.net.skbs.get(skb)
    if packet is None:
        return 0
    k.net.counters["dropped"] += 1
    k.trace("kfree_skb", skb, k.text.return_address(), reason, sk)
    yield from release(k, packet)
    return 0


@kernel_function("void consume_skb(struct sk_buff *skb)", source="net/core/skbuff.c")
def consume_skb(k: NetKernel, skb: int) -> Body:
    """Free a packet that has been used: no drop."""
    packet = k.net.skbs.get(skb)
    if packet is None:
        return 0
    point = k.tracepoints.point("consume_skb")
    if point.active:
        point.fire(skb, k.text.return_address())
    yield from release(k, packet)
    return 0
