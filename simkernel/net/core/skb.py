"""struct sk_buff: allocation, header pointers, and the two ways to free one.  net/core/skbuff.c.

The bytes of a packet and the struct are in kernel memory; `Skb` is the host-side twin with the same facts.
"""

from __future__ import annotations

from typing import Any, Protocol

from arch.abi.inet import ETH_P_IP
from simkernel.kernel.kfunc import kernel_function
from simkernel.mm.slab import GFP_ATOMIC, NUMA_NO_NODE
from simkernel.net.core.netdevice import NetDevice

# enum skb_drop_reason of 6.1, include/net/dropreason.h: the ones that this network can have.
SKB_DROP_REASON_NOT_SPECIFIED = 1
SKB_DROP_REASON_NO_SOCKET = 2
SKB_DROP_REASON_TCP_CSUM = 4
SKB_DROP_REASON_SOCKET_FILTER = 5
SKB_DROP_REASON_OTHERHOST = 8
SKB_DROP_REASON_IP_INHDR = 10
SKB_DROP_REASON_IP_NOPROTO = 14
SKB_DROP_REASON_SOCKET_RCVBUFF = 15
SKB_DROP_REASON_UNHANDLED_PROTO = 49
HEADROOM = 128  # room for link, network and transport headers (LL_MAX_HEADER and MAX_HEADER, rounded)


class Owner(Protocol):
    """The sock that a packet belongs to (sock.py's Sock)."""

    addr: int


class Skb:
    """One packet buffer.  Offsets count from `head`, as sk_buff_data_t does on 64-bit machines."""

    __slots__ = (
        "addr",
        "data",
        "dev",
        "end",
        "head",
        "len",
        "mac",
        "mem",
        "network",
        "proto",
        "sk",
        "slab",
        "transport",
        "view",
    )

    def __init__(self, k: Any, size: int, addr: int = 0) -> None:
        self.mem = k.mem
        self.slab = bool(addr)  # from the slab's functions, and back through them
        self.view = k.view(addr, "struct sk_buff") if addr else k.new("struct sk_buff")
        self.addr = self.view.addr
        self.end = (HEADROOM + size + 63) & ~63
        self.head = k.mem.alloc(self.end, 64)
        self.data = HEADROOM
        self.len = 0
        self.mac = self.network = self.transport = 0
        self.proto = ETH_P_IP
        self.dev: NetDevice | None = None
        self.sk: Owner | None = None
        view = self.view
        view.head = self.head
        view.end = self.end if self.offsets else self.head + self.end
        view.truesize = self.truesize
        view.users.refs.counter = 1
        self.sync()

    @property
    def offsets(self) -> bool:
        """NET_SKBUFF_DATA_USES_OFFSET: 64-bit machines keep tail and end as offsets from head."""
        return self.view.address_of("len") % 8 == 0 and self.mem_word == 8

    @property
    def mem_word(self) -> int:
        """Bytes of a pointer on this machine."""
        return 8 if self.addr >> 32 else 4

    @property
    def truesize(self) -> int:
        """What the buffer is charged to a socket: data, sk_buff and skb_shared_info."""
        return self.end + 576

    def sync(self) -> None:
        """Write data pointer, lengths and header offsets into the struct."""
        view = self.view
        view.len = self.len
        view.data = self.head + self.data
        tail = self.data + self.len
        view.tail = tail if self.mem_word == 8 else self.head + tail
        view.mac_header = self.mac
        view.network_header = self.network
        view.transport_header = self.transport
        view.protocol = int.from_bytes(self.proto.to_bytes(2, "big"), self.mem.byteorder)

    def put(self, data: bytes) -> None:
        """skb_put_data(): append bytes."""
        self.mem.write(self.head + self.data + self.len, data)
        self.len += len(data)

    def push(self, data: bytes) -> None:
        """skb_push(): put a header in front."""
        self.data -= len(data)
        self.len += len(data)
        self.mem.write(self.head + self.data, data)

    def pull(self, count: int) -> None:
        """skb_pull(): take a header off the front."""
        self.data += count
        self.len -= count

    def read(self, offset: int, size: int) -> bytes:
        """Bytes at an offset from `head`."""
        return bytes(self.mem.read(self.head + offset, size))

    @property
    def payload(self) -> bytes:
        """Everything from `data` on."""
        return self.read(self.data, self.len) if self.len else b""

    def set_dev(self, dev: NetDevice) -> None:
        """skb->dev and the interface index."""
        self.dev = dev
        self.view.dev = dev.addr
        self.view.skb_iif = dev.ifindex

    def set_owner(self, sk: Owner | None) -> None:
        """skb->sk."""
        self.sk = sk
        self.view.sk = sk.addr if sk else 0


def new_skb(k: Any, size: int, sk: Owner | None = None) -> Any:
    """alloc_skb() with headroom (`yield from`): a registered, empty buffer for `size` bytes of payload."""
    address = yield k.call("__alloc_skb", size + HEADROOM, GFP_ATOMIC, 0, NUMA_NO_NODE)
    return register(k, Skb(k, size, address), sk)


def register(k: Any, skb: Skb, sk: Owner | None = None) -> Skb:
    """Make a buffer findable by its address."""
    skb.set_owner(sk)
    k.net.skbs[skb.addr] = skb
    return skb


@kernel_function(
    "struct sk_buff *__alloc_skb(unsigned int size, gfp_t gfp_mask, int flags, int node)", source="net/core/skbuff.c"
)
def __alloc_skb(k: Any, size: int, gfp_mask: int, flags: int, node: int) -> Any:
    """The struct sk_buff from its cache; its data is allocated behind the scenes."""
    return (yield k.call("kmem_cache_alloc_node", k.slab.caches["skbuff_head_cache"], gfp_mask, node))


def release(k: Any, skb: Skb) -> Any:
    """__kfree_skb(): give the memory back (`yield from`)."""
    del k.net.skbs[skb.addr]
    k.mem.free(skb.head)
    if skb.slab:
        yield k.call("kmem_cache_free", k.slab.caches["skbuff_head_cache"], skb.addr)
    else:
        k.mem.free(skb.addr)


def clone(k: Any, skb: Skb) -> Any:
    """A copy with the same bytes and headers, for packet sockets (`yield from`)."""
    copy = yield from new_skb(k, skb.end - HEADROOM)
    k.mem.write(copy.head, skb.read(0, skb.data + skb.len))
    copy.data, copy.len, copy.mac, copy.network = skb.data, skb.len, skb.mac, skb.network
    copy.transport, copy.proto = skb.transport, skb.proto
    if skb.dev:
        copy.set_dev(skb.dev)
    copy.sync()
    return copy


def drop(k: Any, skb: Skb, reason: int = SKB_DROP_REASON_NOT_SPECIFIED) -> Any:
    """`yield drop(k, skb, reason)`: kfree_skb(): the packet was thrown away, and observers may want to know why."""
    return k.call("kfree_skb_reason", skb.addr, reason)


@kernel_function(
    "void kfree_skb_reason(struct sk_buff *skb, enum skb_drop_reason reason)",
    source="net/core/skbuff.c",
    names={None: "kfree_skb", "5.17": "kfree_skb_reason"},
)
def kfree_skb_reason(k: Any, skb: int, reason: int) -> Any:
    """Free a packet that is dropped, and say so: tracepoint skb:kfree_skb with the place that dropped it."""
    yield 0  # a generator is always really called, so that there is a return address to report
    packet = k.net.skbs.get(skb)
    if packet is None:
        return 0
    k.net.counters["dropped"] += 1
    k.trace("kfree_skb", skb, k.return_address(), reason)
    yield from release(k, packet)
    return 0


@kernel_function("void consume_skb(struct sk_buff *skb)", source="net/core/skbuff.c")
def consume_skb(k: Any, skb: int) -> Any:
    """Free a packet that has been used: no drop."""
    packet = k.net.skbs.get(skb)
    if packet is None:
        return 0
    k.trace("consume_skb", skb)
    yield from release(k, packet)
    return 0
