"""The memory of sockets as one queue of a device uses it: which chunks are free, which are filled.  net/xdp/xsk_buff_pool.c."""

from __future__ import annotations

from arch.abi.errno import EBUSY, EINVAL
from arch.abi.if_xdp import XSK_UNALIGNED_BUF_OFFSET_SHIFT
from arch.errors import KernelError
from bpf import uapi
from simkernel.net.core.netns import NetDevice
from simkernel.net.face import NetKernel
from simkernel.net.xdp.queue import Desc, XskQueue
from simkernel.net.xdp.umem import Umem

ADDRESS_MASK = (1 << XSK_UNALIGNED_BUF_OFFSET_SHIFT) - 1


class XskPool:
    """struct xsk_buff_pool."""

    def __init__(self, k: NetKernel, umem: Umem, fq: XskQueue, cq: XskQueue) -> None:
        self.k, self.umem, self.fq, self.cq = k, umem.get(), fq, cq
        self.free_list: list[int] = []  # chunks that were taken out and not filled, the last one on top
        self.users = 1
        self.queue: tuple[int, int] | None = None  # the device's address, and the number of its queue

    # ---- its device's queue ----

    def assign(self, dev: NetDevice, queue_id: int) -> None:
        """xp_assign_dev().  EBUSY, EINVAL."""
        if (dev.addr, queue_id) in self.k.net.xsk_queues:
            raise KernelError(EBUSY)
        if queue_id >= max(dev.queues):
            raise KernelError(EINVAL, "no such queue")
        self.queue = dev.addr, queue_id
        self.k.net.xsk_queues[self.queue] = self

    def clear_device(self) -> None:
        """xp_clear_dev()."""
        if self.queue is not None:
            self.k.net.xsk_queues.pop(self.queue, None)
            self.queue = None

    def get(self) -> XskPool:
        """xp_get_pool()."""
        self.users += 1
        return self

    def release(self) -> None:
        """xp_release_deferred()."""
        self.clear_device()
        self.fq.destroy()
        self.cq.destroy()
        self.umem.put()

    # ---- chunks ----

    @property
    def frame_size(self) -> int:
        """xsk_pool_get_rx_frame_size(): bytes that a frame has room for."""
        return self.umem.chunk_size - self.umem.headroom - uapi.XDP_PACKET_HEADROOM

    def alloc(self) -> int | None:
        """xp_alloc(): a chunk that the program has given away."""
        if self.free_list:
            return self.free_list.pop()
        return self._filled()

    def _filled(self) -> int | None:
        """__xp_alloc(): addresses that are none are passed over, of those that go round the ring each once."""
        fq = self.fq
        for _ in range(fq.entries):
            raw = fq.peek_address()
            if raw is None:
                break
            addr = self._chunk(raw)
            if addr is not None:
                fq.take()
                return addr
            fq.skip(1)
        else:
            fq.skip(fq.known())
        fq.queue_empty_descs += 1
        return None

    def _chunk(self, addr: int) -> int | None:
        """xp_check_aligned(), xp_check_unaligned()."""
        umem = self.umem
        if umem.unaligned:
            addr &= ADDRESS_MASK
            return addr if addr + umem.chunk_size <= umem.size else None
        addr &= ~(umem.chunk_size - 1)
        return addr if addr < umem.size else None

    def fill(self, addr: int, data: bytes, meta: bytes) -> int:
        """xsk_copy_xdp(), xp_get_handle(): a frame into a chunk; where the program finds it."""
        offset = self.umem.headroom + uapi.XDP_PACKET_HEADROOM
        self.umem.write(addr + offset - len(meta), meta + data)
        return addr + (offset << XSK_UNALIGNED_BUF_OFFSET_SHIFT if self.umem.unaligned else offset)

    # ---- frames to be sent ----

    def place(self, desc: Desc) -> int:
        """xp_unaligned_add_offset_to_addr(): where its bytes are."""
        if not self.umem.unaligned:
            return desc.addr
        return (desc.addr & ADDRESS_MASK) + (desc.addr >> XSK_UNALIGNED_BUF_OFFSET_SHIFT)

    def valid(self, desc: Desc) -> bool:
        """xp_validate_desc()."""
        umem, at = self.umem, self.place(desc)
        if desc.options or at >= umem.size:
            return False
        if umem.unaligned:
            return desc.len <= umem.chunk_size and at + desc.len <= umem.size
        return (at & umem.chunk_size - 1) + desc.len <= umem.chunk_size

    def next_desc(self, tx: XskQueue) -> Desc | None:
        """xskq_cons_peek_desc(): the next one that is valid; the others are counted and passed over."""
        count = tx.known()
        for _ in range(min(count, tx.entries)):
            desc = tx.desc()
            if self.valid(desc):
                return desc
            tx.skip(1)
        if count > tx.entries:
            tx.skip(count - tx.entries)
        return None
