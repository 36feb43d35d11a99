"""The network's packets: struct sk_buff with the device and the sock it belongs to as objects.  include/linux/skbuff.h.

Everything about bytes and headers is in kernel memory and bpf/packet/skbuff.py's, which programs run on too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from arch.abi.inet import ETH_P_IP
from arch.records import dataclass
from bpf.layout import layout_of
from bpf.packet.skbuff import (
    CHECKSUM_NONE,
    CHECKSUM_PARTIAL,
    CHECKSUM_UNNECESSARY,
    PacketHost,
    PacketMemory,
    SkBuff,
    shinfo_room,
    skb_data_align,
)
from bpf.packet.tunnel_info import ROOM, SKB_DST_NOREF, TunnelInfo, load
from simkernel.kernel.face import KernelFace
from simkernel.net.core.lwtstate import LwtState
from simkernel.net.core.netns import NetDevice, Route

__all__ = ["CHECKSUM_NONE", "CHECKSUM_PARTIAL", "CHECKSUM_UNNECESSARY", "HEADROOM", "Dst", "Owner", "Skb"]

IP_MAX_MTU = 0xFFFF
HEADROOM = 128  # room for link, network and transport headers (LL_MAX_HEADER and MAX_HEADER, rounded)


class Owner(Protocol):
    """The sock that a packet belongs to (sock.py's Sock)."""

    addr: int


@dataclass(eq=False, slots=True)
class Dst:
    """struct rtable, struct rt6_info: the way that a packet takes, as a look-up found it."""

    dev: NetDevice
    kind: int  # RTN_
    source: bytes
    gateway: bytes | None = None
    destination: bytes = b""
    mtu: int = 0
    route: Route | None = None
    table: int = 0
    loops: bool = False  # a copy for ourselves, too
    input: bool = False
    locked: bool = False  # the MTU
    lwt: LwtState | None = None  # programs of the route
    device: NetDevice | None = None  # of a local address: the one that has it

    @property
    def mtu_capped(self) -> int:
        """ipv4_mtu(): no packet of IPv4 is longer than its length field says."""
        return min(self.mtu, IP_MAX_MTU)


class Skb(SkBuff):
    """One packet buffer."""

    def __init__(self, host: PacketHost, addr: int) -> None:
        super().__init__(host, addr)
        self.slab = False  # the struct is from the slab's functions, and goes back through them
        self.dev: NetDevice | None = None
        self.sk: Owner | None = None
        self.dst: Dst | None = None
        self.iif = 0  # IPCB(skb)->iif
        self.stamp_ns = 0  # skb->tstamp as a wall clock time; 0: none
        self.drops_seen = 0  # SOCK_SKB_CB(skb)->dropcount
        self.redirected = False  # XDP has seen it: skb->redirected
        self.must_be_whole = False  # IPv6 does not cut it, though it is our own: no ignore_df
        self.fragment_size = 0  # IPCB(skb)->frag_max_size
        self.destructor: Callable[[], None] | None = None  # told when it is freed, or its owner lets it go
        self.metadata = 0  # the struct metadata_dst that is this packet's own
        self.segment_size = 0  # skb_shinfo(skb)->gso_size, where this is several datagrams
        self.assigned: Owner | None = None  # a sock that a program has chosen (bpf_sk_assign)

    @classmethod
    def alloc(cls, k: KernelFace, size: int, addr: int = 0, truesize: int = 0) -> Skb:
        """An empty packet with room for `size` bytes and headers, in the struct at `addr` if there is one already."""
        host = PacketMemory(k.mem, layout_of(k.types))
        skb = cls(host, addr) if addr else cls.new(host)
        skb.slab = bool(addr)
        skb.take_buffer(skb_data_align(HEADROOM + size) + shinfo_room(host.structs), HEADROOM, truesize)
        skb.set("network_header", 0)
        skb.set_protocol(ETH_P_IP)
        return skb

    @property
    def room(self) -> int:
        """Bytes of the buffer from its head to skb_shared_info."""
        return self.shinfo - self.get("head")

    @property
    def device(self) -> NetDevice:
        """The device that the packet came by or goes out of, on the paths where there is one."""
        assert self.dev is not None
        return self.dev

    def set_dev(self, dev: NetDevice) -> None:
        """skb->dev."""
        self.dev = dev
        self.set("dev", dev.addr)

    def set_owner(self, sk: Owner | None) -> None:
        """skb->sk."""
        self.orphan()
        self.sk = sk
        self.set("sk", sk.addr if sk else 0)

    @property
    def tunnel(self) -> TunnelInfo | None:
        """skb_tunnel_info()."""
        at = self.get("_skb_refdst") & ~SKB_DST_NOREF
        return load(self.mem, at) if at else None

    def set_tunnel(self, info: TunnelInfo) -> None:
        """skb_dst_set() of a tun_rx_dst()."""
        self.drop_metadata()
        self.metadata = self.mem.alloc(ROOM, 64)
        info.store(self.mem, self.metadata)
        self.set("_skb_refdst", self.metadata)

    def drop_metadata(self) -> None:
        """skb_dst_drop() of a struct metadata_dst, its own or the programs'."""
        self.set("_skb_refdst", 0)
        if self.metadata:
            self.mem.free(self.metadata)
            self.metadata = 0

    def orphan(self) -> None:
        """skb_orphan(), as far as somebody waits for it."""
        told, self.destructor = self.destructor, None
        if told is not None:
            told()

    def set_checksum(self, state: int, start: int = 0, offset: int = 0) -> None:
        """What is known of the transport checksum; CHECKSUM_PARTIAL: from where it is summed up, and where it goes."""
        self.set("ip_summed", state)
        self.set("csum_start", start)
        self.set("csum_offset", offset)

    def push_header(self, destination: bytes, source: bytes) -> None:
        """eth_header(): the link header in front of the packet, by its protocol."""
        self.push_data(destination + source + self.protocol().to_bytes(2, "big"))
        self.reset_mac_header()
