"""struct sk_buff.  include/linux/skbuff.h.

The bytes of a packet and the struct are in kernel memory; `Skb` is the host-side twin with the same facts.
"""

from __future__ import annotations

from typing import Protocol

from arch.abi.inet import ETH_P_IP
from simkernel.kernel.face import KernelFace
from simkernel.net.core.netdevice import NetDevice

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

    def __init__(self, k: KernelFace, size: int, addr: int = 0) -> None:
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

    @property
    def device(self) -> NetDevice:
        """The device that the packet came by or goes out of, on the paths where there is one."""
        assert self.dev is not None
        return self.dev

    def set_dev(self, dev: NetDevice) -> None:
        """skb->dev and the interface index."""
        self.dev = dev
        self.view.dev = dev.addr
        self.view.skb_iif = dev.ifindex

    def set_owner(self, sk: Owner | None) -> None:
        """skb->sk."""
        self.sk = sk
        self.view.sk = sk.addr if sk else 0
