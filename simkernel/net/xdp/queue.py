"""Rings that a program and the kernel share, one fills and the other empties.  net/xdp/xsk_queue.h, xsk_queue.c.

Each side keeps copies of the two counters and looks at the other's only when its own say that there is nothing; when it tells the
other how far it has come can be seen by the program, so it is done exactly there.  Counters are of 32 bits and the program may
write anything into its own.
"""

from __future__ import annotations

from arch.abi.if_xdp import UMEM_DESC_SIZE, XDP_DESC_SIZE
from arch.abi.limits import PAGE_SIZE
from arch.abi.limits import U32_MAX as MASK
from arch.records import dataclass
from simkernel.net.face import NetKernel

# struct xdp_ring: each counter in a cache line of its own, 64 bytes, with another between; then the descriptors
RING_PRODUCER, RING_CONSUMER, RING_FLAGS, RING_DESC = 0, 128, 196, 320


@dataclass(frozen=True, slots=True)
class Desc:
    """struct xdp_desc: a frame of so many bytes, at an offset in the memory."""

    addr: int
    len: int
    options: int


class XskQueue:
    """struct xsk_queue; `frames`: of descriptors of frames, else of addresses."""

    def __init__(self, k: NetKernel, entries: int, frames: bool) -> None:
        self.k, self.entries, self.size = k, entries, XDP_DESC_SIZE if frames else UMEM_DESC_SIZE
        pages = -(-(RING_DESC + entries * self.size) // PAGE_SIZE)
        self.pages = 1 << (pages - 1).bit_length()  # an order
        self.ring = k.mem.alloc_pages(self.pages)
        self.cached_prod = self.cached_cons = 0
        self.invalid_descs = self.queue_empty_descs = 0

    def destroy(self) -> None:
        """xskq_destroy()."""
        self.k.mem.free_pages(self.ring, self.pages)

    def _get(self, at: int) -> int:
        return self.k.mem.read_uint(self.ring + at, 4)

    def _put(self, at: int, value: int) -> None:
        self.k.mem.write_uint(self.ring + at, 4, value & MASK)

    def set_flags(self, value: int) -> None:
        """XDP_RING_NEED_WAKEUP."""
        self._put(RING_FLAGS, value)

    def _place(self, number: int) -> int:
        return self.ring + RING_DESC + self.size * (number & self.entries - 1)

    # ---- the kernel takes out ----

    def release(self) -> None:
        """__xskq_cons_release(): the program may use what was taken out."""
        self._put(RING_CONSUMER, self.cached_cons)

    def _get_entries(self) -> None:
        """xskq_cons_get_entries()."""
        self.release()
        self.cached_prod = self._get(RING_PRODUCER)

    @property
    def present(self) -> int:
        """xskq_cons_present_entries()."""
        return self._get(RING_PRODUCER) - self._get(RING_CONSUMER) & MASK

    def take(self) -> None:
        """xskq_cons_release(): the entry that was looked at is used."""
        self.cached_cons = self.cached_cons + 1 & MASK

    def peek_address(self) -> int | None:
        """xskq_cons_peek_addr_unchecked()."""
        if self.cached_prod == self.cached_cons:
            self._get_entries()
        if self.cached_prod == self.cached_cons:
            return None
        return self.k.mem.read_uint(self._place(self.cached_cons), 8)

    def known(self) -> int:
        """How many entries there are, as far as was looked."""
        if self.cached_prod == self.cached_cons:
            self._get_entries()
        return self.cached_prod - self.cached_cons & MASK

    def desc(self) -> Desc:
        """The next one."""
        at, read = self._place(self.cached_cons), self.k.mem.read_uint
        return Desc(read(at, 8), read(at + 8, 4), read(at + 12, 4))

    def skip(self, count: int) -> None:
        """So many that are not valid; what goes round the ring more than once is the same again."""
        self.invalid_descs += count
        self.cached_cons = self.cached_cons + count & MASK

    # ---- the kernel puts in ----

    def _free(self) -> int:
        """xskq_prod_nb_free(q, 1)."""
        free = self.entries - (self.cached_prod - self.cached_cons & MASK)
        if free < 1:
            self.cached_cons = self._get(RING_CONSUMER)
            free = self.entries - (self.cached_prod - self.cached_cons & MASK)
        return free

    def reserve(self) -> bool:
        """xskq_prod_reserve()."""
        if self._free() < 1:
            return False
        self.cached_prod = self.cached_prod + 1 & MASK
        return True

    def cancel(self) -> None:
        """xskq_prod_cancel()."""
        self.cached_prod = self.cached_prod - 1 & MASK

    def reserve_desc(self, addr: int, length: int) -> bool:
        """xskq_prod_reserve_desc()."""
        if self._free() < 1:
            return False
        at, write = self._place(self.cached_prod), self.k.mem.write_uint
        write(at, 8, addr)
        write(at + 8, 4, length)
        write(at + 12, 4, 0)
        self.cached_prod = self.cached_prod + 1 & MASK
        return True

    def submit(self) -> None:
        """xskq_prod_submit(): the program may see what was put in."""
        self._put(RING_PRODUCER, self.cached_prod)

    def submit_address(self, addr: int) -> None:
        """xskq_prod_submit_addr(): into a place that was reserved."""
        producer = self._get(RING_PRODUCER)
        self.k.mem.write_uint(self._place(producer), 8, addr)
        self._put(RING_PRODUCER, producer + 1)

    @property
    def empty(self) -> bool:
        """xskq_prod_is_empty(): the program has taken all."""
        return self._get(RING_CONSUMER) == self._get(RING_PRODUCER)
