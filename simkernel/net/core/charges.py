"""What packets are charged to sockets and namespaces: not their bytes, but the memory that they lie in.  net/core/skbuff.c.

All sizes are bytes.  SKB_TRUESIZE() of include/linux/skbuff.h, kmalloc_reserve(), __ip_append_data().
"""

from __future__ import annotations

from arch.abi.inet import IPPROTO_ICMP, IPPROTO_ICMPV6, IPPROTO_UDP, IPPROTO_UDPLITE
from arch.abi.limits import PAGE_SIZE
from arch.abi.version import KernelVersion
from bpf.layout import KernelLayout
from bpf.packet.skbuff import ksize, shinfo_room, skb_data_align

LINK_ROOM = 31  # LL_RESERVED_SPACE() of Ethernet, and 15 behind the packet
SMALL_HEAD = 704  # SKB_SMALL_HEAD_CACHE_SIZE
MAX_HEADER = 176  # LL_MAX_HEADER and a tunnel's
UNIX_SKB_FRAGS_SZ = 32768
TRANSPORT = {
    IPPROTO_UDP: 8,
    IPPROTO_UDPLITE: 8,
    IPPROTO_ICMP: 8,
    IPPROTO_ICMPV6: 8,
}  # headers that __ip_append_data() is told of


class Charges:
    """Of one kernel."""

    def __init__(self, layout: KernelLayout, version: KernelVersion) -> None:
        self.head = skb_data_align(layout.sizeof("sk_buff"))
        self.info = shinfo_room(layout)
        self.small_head = SMALL_HEAD if version.at_least("6.3") else 0
        self.long_heads = not version.at_least("6.0")  # of packets in pages MAX_HEADER bytes are not in pages
        # How much more than SO_RCVBUF a UDP socket takes: one packet, whatever its size, until 6.15.
        self.udp_overshoots = not version.at_least("6.15")
        self.resets_of_nobody = version.at_least("6.10")  # tcp_send_reset tells of those that belong to no socket, too
        self.max_head = PAGE_SIZE - self.info  # SKB_MAX_HEAD(0)
        self.max_alloc = 4 * PAGE_SIZE - self.info  # SKB_MAX_ALLOC

    def of(self, linear: int, paged: int = 0, accounted: bool = False) -> int:
        """skb->truesize of so many bytes in the buffer that kmalloc() gives, and in pages.

        `accounted` is a cgroup's memory (GFP_KERNEL_ACCOUNT), and not from the cache of small heads.
        """
        room = skb_data_align(linear) + self.info
        have = self.small_head if room <= self.small_head and not accounted else ksize(room)
        return self.head + have + -(-paged // PAGE_SIZE) * PAGE_SIZE

    def datagram(self, header: int, protocol: int, body: int) -> int:
        """truesize of what __ip_append_data() makes: `body` bytes, with the transport header, behind an IP header."""
        size = header + body
        if size + LINK_ROOM < self.max_alloc:
            return self.of(size + LINK_ROOM)
        start = min(size, MAX_HEADER) if self.long_heads else header + TRANSPORT.get(protocol, 0)
        return self.of(start + LINK_ROOM) + size - start  # a sock's page_frag is charged by the byte

    def unix_stream(self, size: int, sndbuf: int) -> tuple[int, int]:
        """One packet of unix_stream_sendmsg(), which has `size` bytes left to send: how many it takes, and its truesize."""
        size = min(size, (sndbuf >> 1) - 64, self.max_head + UNIX_SKB_FRAGS_SZ)
        paged = min(size, -(-max(0, size - self.max_head) // PAGE_SIZE) * PAGE_SIZE)
        return size, self.of(size - paged, paged, accounted=True)

    def unix_datagram(self, size: int) -> int:
        """truesize of unix_dgram_sendmsg()'s packet."""
        paged = min(size, -(-max(0, size - self.max_alloc) // PAGE_SIZE) * PAGE_SIZE)
        return self.of(size - paged, paged, accounted=True)
