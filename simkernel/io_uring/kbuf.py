"""Buffers that a process provides and requests choose among: a list by group, or a ring that both sides map.  io_uring/kbuf.c."""

from __future__ import annotations

import struct
from collections import deque
from typing import NamedTuple, Protocol

from arch.abi.errno import EFAULT, ENOBUFS
from arch.abi.limits import PAGE_SIZE
from arch.errors import KernelError
from simkernel.net.face import NetKernel

LOW_GROUPS = 64  # BGID_ARRAY: all of these are there as soon as one is
BUF_SIZE, TAIL_AT = 16, 14  # struct io_uring_buf; struct io_uring_buf_ring.tail


class Buffer(NamedTuple):
    """One of them: where it is in the process's memory, its bytes, its number."""

    address: int
    length: int
    number: int


class BufferGroup(Protocol):
    """What requests take from."""

    def take(self) -> Buffer:
        """The next one.  ENOBUFS."""

    def give_back(self, buffer: Buffer) -> None:
        """Nothing came into it: it is the next again."""

    def used(self) -> None:
        """Something did."""

    def release(self) -> None:
        """The group goes."""


class BufferList:
    """Those of IORING_OP_PROVIDE_BUFFERS."""

    def __init__(self) -> None:
        self.free: deque[Buffer] = deque()

    def take(self) -> Buffer:
        """io_provided_buffer_select().  ENOBUFS."""
        if not self.free:
            raise KernelError(ENOBUFS)
        return self.free.popleft()

    def give_back(self, buffer: Buffer) -> None:
        """io_kbuf_recycle_legacy()."""
        self.free.appendleft(buffer)

    def used(self) -> None:
        """It is off the list since it was taken."""

    def release(self) -> None:
        """Nothing of the kernel's is held."""


class BufferRing:
    """IORING_REGISTER_PBUF_RING: pages that the process fills and the kernel reads; only the tail is the process's word."""

    def __init__(self, k: NetKernel, address: int, entries: int) -> None:
        self.k, self.entries, self.head = k, entries, 0
        self.pages = self._pinned(address, -(-entries * BUF_SIZE // PAGE_SIZE))

    def _pinned(self, address: int, count: int) -> list[int]:
        """io_pin_pages(): physical addresses.  EFAULT."""
        mm, frames = self.k.current.mm, self.k.mm.frames
        assert mm is not None
        size = count * PAGE_SIZE
        if address + size > self.k.arch.map.user_end:
            raise KernelError(EFAULT)
        mm.populate(address, size, "write")
        pages: list[int] = []
        for page in range(address, address + size, PAGE_SIZE):
            vma, phys = mm.find(page), mm.pages.get(page)
            if phys is None or vma is None or not vma.prot & 2:
                break
            frames.pin(phys)
            pages.append(phys)
        if len(pages) < count:
            for phys in pages:
                frames.unpin(phys)
            raise KernelError(EFAULT)
        return pages

    def _read(self, at: int, size: int) -> bytes:
        return bytes(self.k.mm.frames.read(self.pages[at // PAGE_SIZE] + at % PAGE_SIZE, size))

    def take(self) -> Buffer:
        """io_ring_buffer_select(): it stays the next until something has come into it.  ENOBUFS."""
        order = "<" if self.k.mem.byteorder == "little" else ">"
        (tail,) = struct.unpack(order + "H", self._read(TAIL_AT, 2))
        if tail == self.head:
            raise KernelError(ENOBUFS)
        at = BUF_SIZE * (self.head & self.entries - 1)
        return Buffer(*struct.unpack(order + "QIH2x", self._read(at, BUF_SIZE)))

    def give_back(self, buffer: Buffer) -> None:
        """It was not moved past."""

    def used(self) -> None:
        """io_put_kbuf()."""
        self.head = (self.head + 1) & 0xFFFF

    def release(self) -> None:
        """io_unregister_pbuf_ring()."""
        for phys in self.pages:
            self.k.mm.frames.unpin(phys)
        self.pages = []


class Tell(Protocol):
    """Ring.post()."""

    def __call__(self, user_data: int, result: int) -> None: ...


class Tags:
    """What is told of registered things that went: their tags, a second after the first went.  io_uring/rsrc.c:io_rsrc_node_ref_zero()."""

    DELAY_NS = 10**9

    def __init__(self, k: NetKernel, tell: Tell) -> None:
        self.k, self.tell = k, tell
        self.of: dict[int, int] = {}  # place -> tag
        self.leaving: list[int] = []

    def put(self, place: int, tag: int) -> None:
        """The thing at a place has this tag, 0: none."""
        self.of.pop(place, None)
        if tag:
            self.of[place] = tag

    def gone(self, place: int) -> None:
        """The thing at a place is not registered any more."""
        tag = self.of.pop(place, 0)
        if not tag:
            return
        if not self.leaving:
            self.k.clock.add(self.k.clock.now_ns + self.DELAY_NS, self.say)
        self.leaving.append(tag)

    def say(self) -> None:
        """io_rsrc_put_work()."""
        leaving, self.leaving = self.leaving, []
        for tag in leaving:
            self.tell(tag, 0)
