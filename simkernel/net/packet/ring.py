"""Rings of frames: a program and the kernel hand each one to the other by its status.  net/packet/af_packet.c.

Each block is contiguous; a frame lies within one.
"""

from __future__ import annotations

from arch.abi.limits import PAGE_SIZE
from arch.abi.packet import TP_STATUS_KERNEL
from arch.records import dataclass
from simkernel.net.face import NetKernel
from simkernel.net.packet.headers import Header

ROOM_NONE, ROOM_LOW, ROOM_NORMAL = range(3)
ROOM_POW_OFF = 2  # a quarter of the ring is to be free


@dataclass(frozen=True, slots=True)
class Request:
    """struct tpacket_req3."""

    block_size: int
    blocks: int
    frame_size: int
    frames: int
    retire_ms: int = 0
    private: int = 0
    features: int = 0


class Pages:
    """alloc_pg_vec(): the memory of a ring."""

    def __init__(self, k: NetKernel, asked: Request) -> None:
        self.k, self.asked = k, asked
        self.block_pages = asked.block_size // PAGE_SIZE
        self.blocks: list[int] = []
        for _ in range(asked.blocks):
            self.blocks.append(k.mem.alloc_pages(self.block_pages))

    @property
    def pages(self) -> int:
        """Of all blocks."""
        return len(self.blocks) * self.block_pages

    def page(self, number: int) -> int:
        """Address of a page."""
        return self.blocks[number // self.block_pages] + number % self.block_pages * PAGE_SIZE

    def destroy(self) -> None:
        """free_pg_vec()."""
        for block in self.blocks:
            self.k.mem.free_pages(block, self.block_pages)


class Ring(Pages):
    """struct packet_ring_buffer of frames, TPACKET_V1 and V2, and V3 for sending."""

    def __init__(self, k: NetKernel, asked: Request, header: Header) -> None:
        super().__init__(k, asked)
        self.header, self.frame_size = header, asked.frame_size
        self.per_block = asked.block_size // asked.frame_size
        self.frames = asked.frames
        self.head = 0

    def frame(self, number: int) -> int:
        """packet_lookup_frame(): where it is."""
        return self.blocks[number // self.per_block] + number % self.per_block * self.frame_size

    def status(self, number: int) -> int:
        """__packet_get_status()."""
        return self.k.mem.read_uint(self.frame(number) + self.header.status_at, self.header.status_size)

    def set_status(self, number: int, status: int) -> None:
        """__packet_set_status()."""
        self.k.mem.write_uint(self.frame(number) + self.header.status_at, self.header.status_size, status)

    def advance(self) -> None:
        """packet_increment_head()."""
        self.head = (self.head + 1) % self.frames

    def room(self) -> int:
        """__packet_rcv_has_room()."""
        ahead = (self.head + (self.frames >> ROOM_POW_OFF)) % self.frames
        if self.status(ahead) == TP_STATUS_KERNEL:
            return ROOM_NORMAL
        return ROOM_LOW if self.status(self.head) == TP_STATUS_KERNEL else ROOM_NONE

    def readable(self) -> bool:
        """packet_poll(): the frame before the next is the program's."""
        return self.status((self.head or self.frames) - 1) != TP_STATUS_KERNEL
