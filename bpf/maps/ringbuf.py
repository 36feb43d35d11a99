"""The BPF ring buffer, and the one that user space fills.  kernel/bpf/ringbuf.c.

Memory: a page for the consumer's position, a page for the producer's, then the data.  The kernel maps the data pages
twice in a row, so that a record that wraps is contiguous; here there is a second piece of memory behind the first, and
what was written there is copied to the front when a record is committed.
"""

from __future__ import annotations

import ctypes
from functools import partial
from typing import ClassVar

from arch.abi.errno import E2BIG, EAGAIN, EBUSY, EINVAL, ENODATA, ENOTSUPP, EPERM
from arch.abi.limits import PAGE_SIZE
from arch.abi.poll import POLLIN, POLLOUT, POLLRDNORM, POLLWRNORM
from bpf import uapi
from bpf.maps import ring
from bpf.maps.base import BpfMap, refuse
from bpf.maps.rows import Probe, map_type
from bpf.maps.sizes import round_up

HEADER = uapi.BPF_RINGBUF_HDR_SZ
MAX_DATA_SIZE = ((1 << 24) - ring.META_PAGES) * PAGE_SIZE
MAX_USER_SAMPLES = 128 * 1024
DYNPTR_MAX_SIZE = (1 << 24) - 1


@map_type(
    27,
    "RINGBUF",
    since="5.8",
    commit="457f44363a88",
    struct="bpf_ringbuf_map",
    helpers="ringbuf_output ringbuf_reserve ringbuf_query ringbuf_reserve_dynptr ringbuf_submit_dynptr ringbuf_discard_dynptr",
    sleepable="5.12",
    keyless=True,
    loader_btf=False,
    probe=Probe(0, 0, 4096),
)
class RingBufferMap(BpfMap):
    """BPF_MAP_TYPE_RINGBUF."""

    can_be_inner = True
    can_mmap = True
    natives: ClassVar[dict[str, str]] = {
        "reserve": "ring_reserve", "output": "ring_output", "query": "ring_query", "guard": "ring_guard"
    }  # fmt: skip

    def alloc(self) -> None:
        """ringbuf_map_alloc()."""
        attr = self.attr
        if attr.map_flags & ~uapi.BPF_F_NUMA_NODE:
            raise refuse(EINVAL)
        size = attr.max_entries
        if attr.key_size or attr.value_size or size == 0 or size & (size - 1) or size % PAGE_SIZE:
            raise refuse(EINVAL)
        if size > MAX_DATA_SIZE:
            raise refuse(E2BIG)
        super().alloc()
        self.size = size
        self.area = self.allocate(2 * PAGE_SIZE + 2 * size, PAGE_SIZE)
        self.consumer, self.producer = self.area, self.area + PAGE_SIZE
        self.data = self.area + 2 * PAGE_SIZE
        self.busy = False
        self.words = (ctypes.c_uint64 * ring.RING_WORDS)(
            self.consumer, self.producer, self.data, size, 0, 0, *self.host.sleepers(self.waiters)
        )  # fmt: skip
        self._library = library = ring.library(self.mem.byteorder == "big")
        self._take = partial(library.builtin("ring_take", self.host.block), self.native_words)
        self._commit = partial(library.builtin("ring_commit", self.host.block), self.native_words)
        self.bpf.rings.add(self.words)

    @property
    def native_words(self) -> int:
        return ctypes.addressof(self.words)

    def native_operation(self, operation: str) -> int:
        return self._library.address.get(self.natives.get(operation, ""), 0)

    @property
    def refused(self) -> int:
        """Reservations without room, for tests of programs."""
        return self.words[ring.REFUSED]

    def free_elements(self) -> None:
        self.bpf.rings.remove(self.words)
        self.host.forget_sleepers(self.waiters)
        self.mem.free(self.area)

    def position(self, address: int) -> int:
        """consumer_pos or producer_pos."""
        return int(self.mem.read_uint(address, 8))

    def available(self) -> int:
        """Bytes not consumed yet."""
        return self.position(self.producer) - self.position(self.consumer) & (1 << 64) - 1

    # ---- producing ----

    def reserve(self, size: int) -> int:
        """__bpf_ringbuf_reserve(): address of `size` bytes, 0 if there is no room."""
        return self._take(size)

    def commit(self, sample: int, flags: int, discard: bool) -> None:
        """bpf_ringbuf_commit(): the record is complete; a waiting consumer that had caught up is woken."""
        if self._commit(sample, flags, uapi.BPF_RINGBUF_DISCARD_BIT if discard else 0):
            self.host.wake(self)

    def output(self, data: bytes, flags: int) -> None:
        """bpf_ringbuf_output()."""
        if flags & ~(uapi.BPF_RB_NO_WAKEUP | uapi.BPF_RB_FORCE_WAKEUP):
            raise refuse(EINVAL)
        sample = self.reserve(len(data))
        if not sample:
            raise refuse(EAGAIN)
        self.mem.write(sample, data)
        self.commit(sample, flags, False)

    def query(self, what: int) -> int:
        """bpf_ringbuf_query()."""
        if what == uapi.BPF_RB_AVAIL_DATA:
            return self.available()
        if what == uapi.BPF_RB_RING_SIZE:
            return self.size
        if what == uapi.BPF_RB_CONS_POS:
            return self.position(self.consumer)
        if what == uapi.BPF_RB_PROD_POS:
            return self.position(self.producer)
        return 0

    # ---- files ----

    def poll(self) -> int:
        """ringbuf_map_poll_kern()."""
        return POLLIN | POLLRDNORM if self.available() else 0

    def mmap_pages(self, offset: int, pages: int, writable: bool) -> list[int]:
        """Kernel addresses of the pages a mapping shows; only the consumer's page may be written."""
        if writable and (offset != 0 or pages != 1):
            raise refuse(EPERM)
        return self._pages(offset, pages)

    def _pages(self, offset: int, pages: int) -> list[int]:
        count = self.size // PAGE_SIZE
        layout = [self.consumer, self.producer]
        layout += [self.data + i * PAGE_SIZE for i in range(count)] * 2
        first = offset // PAGE_SIZE
        if offset % PAGE_SIZE or first + pages > len(layout):
            raise refuse(EINVAL)
        return layout[first : first + pages]

    # ---- not for keys ----

    def lookup(self, key: bytes) -> int:
        raise refuse(ENOTSUPP)

    def update(self, key: bytes, value: bytes, flags: int) -> None:
        raise refuse(ENOTSUPP)

    def delete(self, key: bytes) -> None:
        raise refuse(ENOTSUPP)

    def next_key(self, key: bytes | None) -> bytes:
        raise refuse(ENOTSUPP)


@map_type(
    31,
    "USER_RINGBUF",
    since="6.1",
    commit="583c1f420173",
    struct="bpf_ringbuf_map",
    helpers="user_ringbuf_drain",
    sleepable="5.12",
    keyless=True,
    probe=Probe(0, 0, 4096),
)
class UserRingBufferMap(RingBufferMap):
    """BPF_MAP_TYPE_USER_RINGBUF: user space produces, programs drain."""

    def poll(self) -> int:
        """ringbuf_map_poll_user()."""
        return POLLOUT | POLLWRNORM if self.available() < self.size else 0

    def mmap_pages(self, offset: int, pages: int, writable: bool) -> list[int]:
        if writable and offset == 0:
            raise refuse(EPERM)
        return self._pages(offset, pages)

    def peek_sample(self) -> tuple[int, int]:
        """__bpf_user_ringbuf_peek(): address and size of the next sample; ENODATA, EAGAIN, EINVAL, E2BIG."""
        producer, consumer = self.position(self.producer), self.position(self.consumer)
        if producer % 8:
            raise refuse(EINVAL)
        if consumer >= producer:
            raise refuse(ENODATA)
        place = self.data + (consumer & self.size - 1)
        header = int(self.mem.read_uint(place, 4))
        flags = header & (uapi.BPF_RINGBUF_BUSY_BIT | uapi.BPF_RINGBUF_DISCARD_BIT)
        length = header & ~flags
        total = round_up(length + HEADER, 8)
        if total > producer - consumer:
            raise refuse(EINVAL)
        if total > self.size or length > DYNPTR_MAX_SIZE:
            raise refuse(E2BIG)
        if flags & uapi.BPF_RINGBUF_DISCARD_BIT:
            self.mem.write_uint(self.consumer, 8, consumer + total)
            raise refuse(EAGAIN)
        if flags:
            raise refuse(ENODATA)
        over = place + total - (self.data + self.size)
        if over > 0:
            self.mem.write(self.data + self.size, self.mem.read(self.data, over))
        return self.data + ((consumer + HEADER) & self.size - 1), length

    def release_sample(self, size: int) -> None:
        """__bpf_user_ringbuf_sample_release()."""
        consumer = self.position(self.consumer)
        self.mem.write_uint(self.consumer, 8, consumer + round_up(size + HEADER, 8))

    def begin_drain(self) -> None:
        """One consumer at a time."""
        if self.busy:
            raise refuse(EBUSY)
        self.busy = True

    def end_drain(self) -> None:
        self.busy = False
