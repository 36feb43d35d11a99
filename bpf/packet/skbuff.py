"""Packets as programs meet them: struct sk_buff and struct xdp_buff in kernel memory.

include/linux/skbuff.h, include/net/xdp.h of Linux 6.1.  Offsets are those of the host's kernel (bpf/layout.py), as in
the context conversion, so what is written here is what a rewritten program reads.  A packet here is
always linear: one buffer of headroom, data, tailroom and struct skb_shared_info.  Test runs make packets of their own; the
network's are these (simkernel/net/core/skb.py), so a program sees the same struct from both.
"""

from __future__ import annotations

from typing import Protocol, Self

from arch.abi.errno import EINVAL, ENOMEM
from arch.abi.inet import (
    ETH_HLEN,
    ETH_P_802_2,
    ETH_P_802_3,
    PACKET_BROADCAST,
    PACKET_HOST,
    PACKET_MULTICAST,
    PACKET_OTHERHOST,
    TCP_CLOSE,
)
from arch.abi.limits import PAGE_SIZE
from arch.errors import KernelError
from arch.records import dataclass
from bpf.layout import KernelLayout
from tracing.face import KernelMem

NET_SKB_PAD = 64
SMP_CACHE_BYTES = 64
KMALLOC_SIZES = (8, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072)
NO_QUEUE_MAPPING = 0xFFFF  # USHRT_MAX
SKF_NET_OFF, SKF_LL_OFF = -0x100000, -0x200000  # include/uapi/linux/filter.h
UNSET = 0xFFFF  # of a header that is not known yet

CHECKSUM_NONE, CHECKSUM_UNNECESSARY, CHECKSUM_COMPLETE, CHECKSUM_PARTIAL = range(4)


def skb_data_align(size: int) -> int:
    """Up to a whole cache line.  SKB_DATA_ALIGN()."""
    return -(-size // SMP_CACHE_BYTES) * SMP_CACHE_BYTES


def ksize(size: int) -> int:
    """What kmalloc() really gives for `size` bytes."""
    return next((have for have in KMALLOC_SIZES if have >= size), -(-size // PAGE_SIZE) * PAGE_SIZE)


def shinfo_room(kernel: KernelLayout) -> int:
    """What struct skb_shared_info takes at the end of a buffer."""
    return skb_data_align(kernel.sizeof("skb_shared_info"))


class PacketHost(Protocol):
    """Where packets are: a machine's memory, and what its kernel keeps where."""

    @property
    def mem(self) -> KernelMem: ...
    @property
    def structs(self) -> KernelLayout: ...


@dataclass(frozen=True)
class PacketMemory:
    """A PacketHost made of its two parts."""

    mem: KernelMem
    structs: KernelLayout


class KernelStruct:
    """One kernel structure at an address."""

    struct = ""

    def __init__(self, host: PacketHost, addr: int) -> None:
        self.host = host
        self.mem = host.mem
        self.kernel = host.structs
        self.addr = addr

    @classmethod
    def new(cls, host: PacketHost) -> Self:
        """A zeroed one."""
        return cls(host, host.mem.alloc(host.structs.sizeof(cls.struct), 64))

    def free(self) -> None:
        """Give its memory back."""
        self.mem.free(self.addr)

    def at(self, member: str) -> int:
        """Address of a member."""
        return self.addr + self.kernel.offset(f"{self.struct}.{member}")

    def get(self, member: str) -> int:
        """Value of a member."""
        return self.read(self.addr, f"{self.struct}.{member}")

    def set(self, member: str, value: int) -> None:
        """Change a member."""
        self.write(self.addr, f"{self.struct}.{member}", value)

    def read(self, base: int, path: str) -> int:
        """A member of some structure at `base`."""
        offset, size, mask, shift = self.kernel.place(path)
        value = self.mem.read_uint(base + offset, size)
        return (value & mask) >> shift if mask else value

    def write(self, base: int, path: str, value: int) -> None:
        """Change a member of some structure at `base`."""
        offset, size, mask, shift = self.kernel.place(path)
        if mask:
            value = self.mem.read_uint(base + offset, 1) & ~mask | value << shift & mask
        self.mem.write_uint(base + offset, size, value & ((1 << size * 8) - 1))


class NetDevice(KernelStruct):
    """struct net_device, as much of it as programs read."""

    struct = "net_device"


class Sock(KernelStruct):
    """struct sock and struct sock_common at its start."""

    struct = "sock"

    @classmethod
    def dummy(cls, host: PacketHost) -> Sock:
        """sock_init_data() of a socket without protocol."""
        sk = cls.new(host)
        sk.common_set("skc_state", TCP_CLOSE)
        sk.common_set("skc_refcnt", 1)
        sk.set("sk_rx_queue_mapping", NO_QUEUE_MAPPING)
        return sk

    def common_at(self, member: str) -> int:
        """Address of a member of struct sock_common."""
        return self.addr + self.kernel.offset(f"sock_common.{member}")

    def common_set(self, member: str, value: int) -> None:
        """Change a member of struct sock_common."""
        self.write(self.addr, f"sock_common.{member}", value)


XDP_FLAGS_HAS_FRAGS = 1
MAX_SKB_FRAGS = 17
XDP_FRAME_SIZE = 40  # sizeof(struct xdp_frame)


class XdpBuff(KernelStruct):
    """struct xdp_buff; what does not fit into its page is in fragments, a page each.

    The page pointer of a fragment is the page's address here.
    """

    struct = "xdp_buff"

    @property
    def shinfo(self) -> int:
        """Address of struct skb_shared_info, at the end of the page."""
        return self.get("data_hard_start") + self.get("frame_sz") - shinfo_room(self.kernel)

    @property
    def has_frags(self) -> bool:
        """The frame has fragments (since 5.18)."""
        return self.kernel.has("xdp_buff.flags") and bool(self.get("flags") & XDP_FLAGS_HAS_FRAGS)

    def _frag(self, index: int) -> int:
        """Address of an skb_frag_t."""
        return self.shinfo + self.kernel.offset("skb_shared_info.frags") + index * self.kernel.sizeof("bio_vec")

    def frag(self, index: int) -> tuple[int, int]:
        """Address and length of a fragment."""
        at = self._frag(index)
        return self.read(at, "bio_vec.bv_page"), self.read(at, "bio_vec.bv_len")

    def set_frag(self, index: int, address: int, length: int) -> None:
        """Change a fragment."""
        at = self._frag(index)
        self.write(at, "bio_vec.bv_page", address)
        self.write(at, "bio_vec.bv_len", length)

    def info(self, member: str) -> int:
        """A member of struct skb_shared_info."""
        return self.read(self.shinfo, f"skb_shared_info.{member}")

    def set_info(self, member: str, value: int) -> None:
        """Change a member of struct skb_shared_info."""
        self.write(self.shinfo, f"skb_shared_info.{member}", value)

    def set_frags(self, count: int, size: int) -> None:
        """How many fragments, and their bytes together."""
        if not self.kernel.has("xdp_buff.flags"):
            return
        self.set_info("nr_frags", count)
        self.set_info("xdp_frags_size", size)
        flags = self.get("flags") & ~XDP_FLAGS_HAS_FRAGS
        self.set("flags", flags | XDP_FLAGS_HAS_FRAGS if count else flags)

    def parts(self) -> list[tuple[int, int]]:
        """Address and length of the linear part and of each fragment."""
        linear = (self.get("data"), self.get("data_end") - self.get("data"))
        frags = [self.frag(i) for i in range(self.info("nr_frags"))] if self.has_frags else []
        return [linear, *frags]

    def buff_len(self) -> int:
        """Bytes of the frame.  xdp_get_buff_len()."""
        return sum(length for _, length in self.parts())


class SkBuff(KernelStruct):
    """struct sk_buff with a linear buffer."""

    struct = "sk_buff"

    @classmethod
    def build(cls, host: PacketHost, data: bytes, headroom: int = NET_SKB_PAD) -> Self:
        """build_skb() over a buffer that kmalloc() rounds up, then skb_reserve() and __skb_put()."""
        skb = cls.new(host)
        skb.take_buffer(ksize(skb_data_align(len(data)) + headroom + shinfo_room(host.structs)), headroom)
        skb.put_data(data)
        return skb

    def take_buffer(self, room: int, headroom: int, truesize: int = 0) -> None:
        """__build_skb_around() and skb_reserve(): an empty packet in a buffer of `room` bytes of its own.

        It is charged with `truesize` bytes, where that is not what it takes.
        """
        head = self.mem.alloc(room, SMP_CACHE_BYTES)
        self.set("head", head)
        self.set_mark("end", room - shinfo_room(self.kernel))
        self.set("data", head + headroom)
        self.set_mark("tail", headroom)
        self.set("truesize", truesize or skb_data_align(self.kernel.sizeof("sk_buff")) + room)
        self.set("users", 1)
        self.set("mac_header", UNSET)
        self.set("transport_header", UNSET)

    def mark(self, member: str) -> int:
        """`tail` or `end` from head on: 64-bit kernels keep offsets, 32-bit ones pointers (sk_buff_data_t)."""
        value = self.get(member)
        return value if self.kernel.word == 8 else value - self.get("head")

    def set_mark(self, member: str, offset: int) -> None:
        self.set(member, offset if self.kernel.word == 8 else self.get("head") + offset)

    def release(self) -> None:
        """kfree_skb()."""
        self.mem.free(self.get("head"))
        self.free()

    # -- the parts of the buffer

    @property
    def data(self) -> int:
        """Address of the first byte of the packet."""
        return self.get("data")

    @property
    def len(self) -> int:
        """Bytes of the packet."""
        return self.get("len")

    @property
    def headlen(self) -> int:
        """Bytes of the packet in the linear buffer."""
        return self.get("len") - self.get("data_len")

    @property
    def headroom(self) -> int:
        """Free bytes before the packet."""
        return self.data - self.get("head")

    @property
    def tailroom(self) -> int:
        """Free bytes after the packet."""
        return self.mark("end") - self.mark("tail")

    @property
    def shinfo(self) -> int:
        """Address of struct skb_shared_info."""
        return self.get("head") + self.mark("end")

    def packet(self) -> bytes:
        """The bytes of the packet."""
        return self.mem.read(self.data, self.len)

    @property
    def truesize(self) -> int:
        """What the buffer is charged to a socket: data, sk_buff and skb_shared_info."""
        return self.get("truesize")

    def load(self, offset: int, size: int) -> int | None:
        """What LD_ABS reads, big-endian; negative offsets count from a header.  None beyond the packet.

        bpf_load_pointer(), bpf_internal_load_pointer_neg_helper().
        """
        if offset < 0:
            if offset >= SKF_NET_OFF:
                offset += -SKF_NET_OFF + self.network_header() - self.data
            elif offset >= SKF_LL_OFF and self.get("mac_header") != UNSET:
                offset += -SKF_LL_OFF + self.mac_header() - self.data
            else:
                return None
        if offset + size > self.len or self.data + offset < self.get("head"):
            return None
        return int.from_bytes(self.mem.read(self.data + offset, size), "big")

    def pull(self, count: int) -> None:
        """The packet begins later.  __skb_pull()."""
        self.set("data", self.data + count)
        self.set("len", self.len - count)

    def push(self, count: int) -> None:
        """The packet begins earlier.  __skb_push(); the kernel panics where there is no room."""
        if count > self.headroom:
            raise KernelError(ENOMEM, "no headroom")
        self.set("data", self.data - count)
        self.set("len", self.len + count)

    def put(self, count: int) -> None:
        """The packet ends later.  __skb_put()."""
        self.set_mark("tail", self.mark("tail") + count)
        self.set("len", self.len + count)

    def put_data(self, data: bytes) -> None:
        """These bytes at the end of the packet.  skb_put_data()."""
        self.mem.write(self.data + self.len, data)
        self.put(len(data))

    def push_data(self, data: bytes) -> None:
        """These bytes, a header, in front of the packet."""
        self.push(len(data))
        self.mem.write(self.data, data)

    def copy_packet(self, other: SkBuff) -> None:
        """The bytes and headers of a packet in a buffer of the same shape.  copy_skb_header() and skb_copy_bits()."""
        head = self.get("head")
        self.mem.write(head, other.mem.read(other.get("head"), other.headroom + other.len))
        self.set("data", head + other.headroom)
        self.set("len", other.len)
        self.set_mark("tail", other.headroom + other.len)
        for member in ("mac_header", "network_header", "transport_header", "protocol"):
            self.set(member, other.get(member))

    def trim(self, length: int) -> None:
        """The packet ends earlier.  __skb_trim()."""
        self.set_mark("tail", self.mark("tail") - (self.len - length))
        self.set("len", length)

    def expand_head(self, more_head: int, more_tail: int) -> None:
        """A larger buffer with the same packet.  pskb_expand_head()."""
        head, end, tail, data = self.get("head"), self.mark("end"), self.mark("tail"), self.data
        more_head = skb_data_align(more_head)
        room = ksize(skb_data_align(end + more_head + more_tail) + shinfo_room(self.kernel))
        fresh = self.mem.alloc(room, SMP_CACHE_BYTES)
        self.mem.write(fresh + more_head, self.mem.read(head, tail))
        new_end = room - shinfo_room(self.kernel)
        self.mem.write(fresh + new_end, bytes(self.mem.read(head + end, self.kernel.sizeof("skb_shared_info"))))
        self.mem.free(head)
        self.set("head", fresh)
        self.set_mark("end", new_end)
        self.set_mark("tail", tail + more_head)
        self.set("data", fresh + more_head + (data - head))
        # also a transport header that was never set moves, and counts as set from then on
        for member in ("network_header", "transport_header"):
            self.set(member, self.get(member) + more_head)
        if self.get("mac_header") != UNSET:
            self.set("mac_header", self.get("mac_header") + more_head)
        if self.ip_summed() == CHECKSUM_PARTIAL:
            self.set("csum_start", self.get("csum_start") + more_head)
        self.set("cloned", 0)

    def shared(self, member: str) -> int:
        """A member of struct skb_shared_info."""
        return self.read(self.shinfo, f"skb_shared_info.{member}")

    def set_shared(self, member: str, value: int) -> None:
        """Change a member of struct skb_shared_info."""
        self.write(self.shinfo, f"skb_shared_info.{member}", value)

    @property
    def is_gso(self) -> bool:
        """The packet stands for several, to be cut later.  skb_is_gso()."""
        return bool(self.shared("gso_size"))

    # -- headers

    def mac_header(self) -> int:
        """Address of the link-layer header."""
        return self.get("head") + self.get("mac_header")

    def network_header(self) -> int:
        """Address of the network header."""
        return self.get("head") + self.get("network_header")

    def reset_mac_header(self) -> None:
        """The link-layer header is where the packet begins now."""
        self.set("mac_header", self.headroom)

    def reset_network_header(self) -> None:
        """The network header is where the packet begins now."""
        self.set("network_header", self.headroom)

    def set_network_header(self, offset: int) -> None:
        """The network header is so many bytes behind the beginning of the packet.  skb_set_network_header()."""
        self.set("network_header", self.headroom + offset)

    def reset_transport_header(self) -> None:
        """The transport header is where the packet begins now."""
        self.set("transport_header", self.headroom)

    def eth_type_trans(self, dev: NetDevice, dev_addr: bytes = bytes(6), broadcast: bytes = bytes(6)) -> None:
        """Take the Ethernet header off and remember what it says.  net/ethernet/eth.c:eth_type_trans().

        The loopback device has all zeros as its own address and as its broadcast address.
        """
        self.set("dev", dev.addr)
        self.reset_mac_header()
        header = bytes(self.mem.read(self.data, ETH_HLEN))
        self.pull(ETH_HLEN)
        self.set_pkt_type(_pkt_type(header[:6], dev_addr, broadcast))
        kind = int.from_bytes(header[12:14], "big")
        if kind < 0x0600:
            kind = self.kind_of_802_3(self.data)
        self.set_protocol(kind)

    def kind_of_802_3(self, at: int) -> int:
        """The protocol of a frame with a length instead of an EtherType: Novell's, or LLC."""
        end = self.data + self.len
        first = bytes(self.mem.read(at, 2)) if at + 2 <= end else b""
        return ETH_P_802_3 if first == b"\xff\xff" else ETH_P_802_2

    def set_protocol(self, kind: int) -> None:
        """Remember an EtherType."""
        self.mem.write(self.at("protocol"), kind.to_bytes(2, "big"))

    def tagged(self) -> bool:
        """There is a VLAN tag beside the packet.  skb_vlan_tag_present()"""
        return bool(self.get("vlan_present" if self.kernel.has("sk_buff.vlan_present") else "vlan_all"))

    def set_tagged(self, there: bool) -> None:
        """What says so; since 6.2 that is the tag itself."""
        if self.kernel.has("sk_buff.vlan_present"):
            self.set("vlan_present", there)
        elif not there:
            self.set("vlan_all", 0)

    def redirect_at(self) -> int:
        """Where the sock is kept that a program sends the packet to, and in its lowest bit BPF_F_INGRESS."""
        if self.kernel.has("sk_buff._sk_redir"):
            return self.at("_sk_redir")
        return self.at("cb") + self.kernel.offset("tcp_skb_cb.bpf.sk_redir")

    def protocol(self) -> int:
        """The EtherType in host order."""
        return int.from_bytes(bytes(self.mem.read(self.at("protocol"), 2)), "big")

    def set_pkt_type(self, kind: int) -> None:
        """PACKET_HOST and its like."""
        self.set("pkt_type", kind)

    def pkt_type(self) -> int:
        """PACKET_HOST and its like."""
        return self.get("pkt_type")

    def ip_summed(self) -> int:
        """What is known of the checksum: CHECKSUM_NONE and its like, two bits."""
        return self.get("ip_summed")

    def set_ip_summed(self, state: int) -> None:
        """See ip_summed()."""
        self.set("ip_summed", state)

    def at_ingress(self) -> bool:
        """The packet comes in.  skb->tc_at_ingress."""
        return bool(self.get("tc_at_ingress"))

    # -- what direct packet access needs

    def cb_at(self, member: str) -> int:
        """Address of a member of one of the structures laid over the private area."""
        return self.at("cb") + self.kernel.offset(member)

    def compute_data_pointers(self) -> None:
        """Where the packet ends, and where its metadata begins.  bpf_compute_data_pointers()."""
        self.write(self.at("cb"), "bpf_skb_data_end.data_meta", self.data)
        self.write(self.at("cb"), "bpf_skb_data_end.data_end", self.data + self.headlen)


def _pkt_type(destination: bytes, own: bytes, broadcast: bytes) -> int:
    """eth_skb_pkt_type()."""
    if destination == own:
        return PACKET_HOST
    if destination[0] & 1:
        return PACKET_BROADCAST if destination == broadcast else PACKET_MULTICAST
    return PACKET_OTHERHOST


def check_header(skb: SkBuff, size: int) -> None:
    """EINVAL if the packet is shorter than its network header."""
    if skb.headlen < size:
        raise KernelError(EINVAL, "the packet is shorter than its header")
