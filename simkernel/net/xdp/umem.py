"""Memory of a program that frames go into and come out of: its pages are held until the last socket is gone.  net/xdp/xdp_umem.c."""

from __future__ import annotations

from arch.abi.capability import CAP_IPC_LOCK
from arch.abi.errno import EFAULT, EINVAL, ENOBUFS, ENOMEM
from arch.abi.if_xdp import XDP_UMEM_UNALIGNED_CHUNK_FLAG
from arch.abi.limits import INT_MAX, PAGE_SIZE, U32_MAX
from arch.abi.resource import RLIMIT_MEMLOCK
from arch.errors import KernelError
from arch.hosttime import check
from bpf import uapi
from simkernel.net.face import NetKernel

XDP_UMEM_MIN_CHUNK_SIZE = 2048
TAILROOM = (
    448  # bytes of a chunk that no headroom may take: 320 behind a frame (struct skb_shared_info), and a frame of 128
)
POINTER = 8  # bytes of umem->pgs for each page


class Umem:
    """struct xdp_umem."""

    def __init__(self, k: NetKernel, addr: int, size: int, chunk_size: int, headroom: int, flags: int) -> None:
        """xdp_umem_reg().  EINVAL, ENOBUFS: more than may be locked, ENOMEM, EFAULT: no memory that may be written."""
        self.k, self.size, self.chunk_size, self.headroom = k, size, chunk_size, headroom
        self.unaligned = bool(flags & XDP_UMEM_UNALIGNED_CHUNK_FLAG)
        self.chunks = self._check(addr, flags)
        self.users = 1
        count = -(-size // PAGE_SIZE)
        self.user = k.current.cred.uid
        self.account = 0 if k.capable(CAP_IPC_LOCK) else count
        locked = k.net.locked_pages
        if self.account and locked[self.user] + count > k.current.rlimits[RLIMIT_MEMLOCK][0] // PAGE_SIZE:
            raise KernelError(ENOBUFS)
        if count * POINTER > INT_MAX:
            raise KernelError(ENOMEM)
        self.pages = self._pin(addr, count)
        locked[self.user] += self.account

    def _check(self, addr: int, flags: int) -> int:
        """How many chunks there are."""
        chunk = self.chunk_size
        if not XDP_UMEM_MIN_CHUNK_SIZE <= chunk <= PAGE_SIZE or flags & ~XDP_UMEM_UNALIGNED_CHUNK_FLAG:
            raise KernelError(EINVAL)
        if not self.unaligned and chunk & chunk - 1:
            raise KernelError(EINVAL, "not a power of two")
        if addr % PAGE_SIZE or addr + self.size >= 1 << 64 or -(-self.size // PAGE_SIZE) > U32_MAX:
            raise KernelError(EINVAL)
        chunks, rest = divmod(self.size, chunk)
        if not chunks or (rest and not self.unaligned) or self.headroom > chunk - uapi.XDP_PACKET_HEADROOM - TAILROOM:
            raise KernelError(EINVAL)
        return chunks

    def _pin(self, addr: int, count: int) -> list[int]:
        """pin_user_pages(FOLL_WRITE | FOLL_LONGTERM): their physical addresses."""
        mm, frames = self.k.current.mm, self.k.mm.frames
        assert mm is not None
        mm.populate(addr, count * PAGE_SIZE, "write")
        pages: list[int] = []
        for page in range(addr, addr + count * PAGE_SIZE, PAGE_SIZE):
            vma, phys = mm.find(page), mm.pages.get(page)
            if phys is None or vma is None or not vma.prot & 2:
                break
            frames.pin(phys)
            pages.append(phys)
            check()
        if len(pages) < count:
            for phys in pages:
                frames.unpin(phys)
            raise KernelError(ENOMEM if pages else EFAULT)
        return pages

    def get(self) -> Umem:
        """xdp_get_umem()."""
        self.users += 1
        return self

    def put(self) -> None:
        """xdp_put_umem(), xdp_umem_release()."""
        self.users -= 1
        if not self.users:
            for phys in self.pages:
                self.k.mm.frames.unpin(phys)
            self.k.net.locked_pages[self.user] -= self.account

    # ---- bytes: the caller has checked that they lie within ----

    def _pieces(self, at: int, length: int) -> list[tuple[int, int]]:
        pieces = []
        while length:
            offset = at % PAGE_SIZE
            step = min(length, PAGE_SIZE - offset)
            pieces.append((self.pages[at // PAGE_SIZE] + offset, step))
            at, length = at + step, length - step
        return pieces

    def read(self, at: int, length: int) -> bytes:
        """Bytes at an offset."""
        return b"".join(self.k.mm.frames.read(phys, step) for phys, step in self._pieces(at, length))

    def write(self, at: int, data: bytes) -> None:
        """Store bytes at an offset."""
        for phys, step in self._pieces(at, len(data)):
            self.k.mm.frames.write(phys, data[:step])
            data = data[step:]
