"""Where a read goes to and a write comes from: iov_iter and kiocb.  lib/iov_iter.c, include/linux/uio.h.

Both exist twice: as a Python object with the methods, and as the C struct at whose address kernel functions such as
shmem_file_read_iter(struct kiocb *, struct iov_iter *) receive them.
"""

from __future__ import annotations

from arch.abi.errno import EFAULT, EINVAL
from arch.abi.limits import IOV_MAX, MAX_RW_COUNT, PAGE_SIZE
from arch.byaddress import ByAddress
from arch.errors import KernelError
from simkernel.fs.inode import File
from simkernel.fs.mirror import Mirror
from simkernel.kernel.face import KernelFace

ITER_IOVEC, ITER_KVEC, ITER_BVEC, ITER_PIPE, ITER_XARRAY, ITER_DISCARD, ITER_UBUF = range(7)


class IovIter:
    """Segments of memory: of the current task (user), or of the kernel itself (bytes to give, or a list to fill)."""

    __slots__ = ("addr", "count", "k", "kernel_data", "kernel_out", "offset", "segments")

    def __init__(self, k: KernelFace, segments: list[tuple[int, int]]) -> None:
        self.k = k
        self.segments = segments  # (user address, length) in bytes; emptied from the front
        self.count = segments[0][1] if len(segments) == 1 else sum(length for _, length in segments)
        self.offset = 0  # into the first segment
        self.kernel_data: bytes | None = None  # a kernel source instead of user memory
        self.kernel_out: list[bytes] | None = None  # a kernel destination
        self.addr = 0

    @staticmethod
    def source(k: KernelFace, data: bytes) -> IovIter:
        """The kernel's own bytes, to be written somewhere."""
        it = IovIter(k, [])
        it.kernel_data, it.count = data, len(data)
        return it

    @staticmethod
    def sink(k: KernelFace, size: int) -> IovIter:
        """Room for `size` bytes that the kernel wants to have."""
        it = IovIter(k, [])
        it.kernel_out, it.count = [], size
        return it

    def copy_to(self, data: bytes | bytearray | memoryview) -> int:
        """copy_to_iter(): how many bytes could be stored; fewer after a fault."""
        data = bytes(data)
        if len(data) > self.count:
            data = data[: self.count]
        if self.kernel_out is not None:
            self.kernel_out.append(data)
            self.count -= len(data)
            return len(data)
        done = 0
        while done < len(data):
            base, length = self.segments[0]
            step = min(length - self.offset, len(data) - done)
            if step:
                try:
                    self.k.usercopy.copy_to_user(base + self.offset, data[done : done + step])
                except KernelError:
                    return done + self._partial_to(base + self.offset, data[done : done + step])
            self._advance(step)
            done += step
        return done

    def _partial_to(self, addr: int, data: bytes) -> int:
        """What fits before the page that faults."""
        done = 0
        while done < len(data):
            step = min(PAGE_SIZE - (addr + done & PAGE_SIZE - 1), len(data) - done)
            try:
                self.k.usercopy.copy_to_user(addr + done, data[done : done + step])
            except KernelError:
                break
            done += step
        self._advance(done)
        return done

    def copy_from(self, size: int) -> bytes:
        """copy_from_iter(): at most `size` bytes; fewer after a fault (none: the caller says EFAULT)."""
        size = min(size, self.count)
        if self.kernel_data is not None:
            data = self.kernel_data[self.offset : self.offset + size]
            self.offset += len(data)
            self.count -= len(data)
            return data
        parts: list[bytes] = []
        while size > 0:
            base, length = self.segments[0]
            step = min(length - self.offset, size)
            if step:
                try:
                    parts.append(self.k.usercopy.copy_from_user(base + self.offset, step))
                except KernelError:
                    parts.append(self._partial_from(base + self.offset, step))
                    break
            self._advance(step)
            size -= step
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _partial_from(self, addr: int, size: int) -> bytes:
        out = bytearray()
        while len(out) < size:
            step = min(PAGE_SIZE - (addr + len(out) & PAGE_SIZE - 1), size - len(out))
            try:
                out += self.k.usercopy.copy_from_user(addr + len(out), step)
            except KernelError:
                break
        self._advance(len(out))
        return bytes(out)

    def _advance(self, step: int) -> None:
        self.count -= step
        self.offset += step
        while self.segments and self.offset >= self.segments[0][1] and (self.offset or not self.segments[0][1]):
            self.offset -= self.segments[0][1]
            self.segments.pop(0)

    def revert(self, size: int) -> None:
        """iov_iter_revert() of bytes taken from a kernel source."""
        self.offset -= size
        self.count += size


class Kiocb:
    """struct kiocb: one read or write on its way."""

    __slots__ = ("addr", "file", "flags", "it", "pos")

    def __init__(self, file: File, pos: int, it: IovIter, flags: int = 0) -> None:
        self.file = file
        self.pos = pos
        self.it = it
        self.flags = flags  # RWF_NOWAIT 8, RWF_APPEND 16 ...
        self.addr = 0


class UioStructs:
    """Hands out kernel addresses for kiocb/iov_iter pairs; a pair lives for one call."""

    def __init__(self, mirror: Mirror) -> None:
        self.mem = mirror.mem
        self.kiocbs: ByAddress[Kiocb] = ByAddress("struct kiocb")
        self.iters: ByAddress[IovIter] = ByAddress("struct iov_iter")
        self.kiocb = mirror.struct("struct kiocb")
        self.iter = mirror.struct("struct iov_iter")
        self.at_iter = (self.kiocb.size + 15) & ~15
        self.size = self.at_iter + self.iter.size
        self.free: list[int] = []
        self._kiocb = self.kiocb.packer("ki_filp", "ki_pos")
        self._iter = self.iter.packer("count", "ubuf", "nr_segs", "iter_type", "user_backed")
        self._between = bytes(self.at_iter - self.kiocb.size)

    def begin(self, iocb: Kiocb) -> tuple[int, int]:
        """Give both structs an address and their contents; (kiocb, iov_iter)."""
        addr = self.free.pop() if self.free else self.mem.alloc(self.size)
        it, segments = iocb.it, iocb.it.segments
        kind = ITER_UBUF if len(segments) == 1 else ITER_IOVEC
        first = segments[0][0] if segments else 0
        self.mem.write(
            addr,
            self._kiocb(iocb.file.addr, iocb.pos)
            + self._between
            + self._iter(it.count, first, len(segments), kind, bool(segments)),
        )
        iocb.addr, it.addr = addr, addr + self.at_iter
        self.kiocbs[iocb.addr] = iocb
        self.iters[it.addr] = it
        return iocb.addr, it.addr

    def end(self, iocb: Kiocb) -> None:
        """The call is over."""
        del self.kiocbs[iocb.addr], self.iters[iocb.it.addr]
        self.free.append(iocb.addr)


def import_iovec(k: KernelFace, uvec: int, count: int) -> list[tuple[int, int]]:
    """Read struct iovec[count] of the current task, with the kernel's limits.  lib/iov_iter.c:__import_iovec()."""
    if count > IOV_MAX:
        raise KernelError(EINVAL, "too many segments")
    word = k.arch.model.word
    raw = k.usercopy.copy_from_user(uvec, 2 * word * count) if count else b""
    order = k.mem.byteorder
    out = []
    total = 0
    for i in range(count):
        at = 2 * word * i
        base = int.from_bytes(raw[at : at + word], order)
        length = int.from_bytes(raw[at + word : at + 2 * word], order, signed=True)
        if length < 0:
            raise KernelError(EINVAL, "negative length")
        if base + length > k.arch.map.user_end:
            raise KernelError(EFAULT, "not user memory")
        length = min(length, MAX_RW_COUNT - total)
        total += length
        out.append((base, length))
    return out
