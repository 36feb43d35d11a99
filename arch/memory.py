"""Memory: physical pages, kernel virtual memory with an allocator, and a flat memory for tests.

Every reader of simulated memory (C type views, BPF programs, probes) takes the small `Memory` protocol.  All
numbers are unsigned; the byte order is the machine's.  An access outside what is mapped raises `Fault`.
Mirrors, in spirit, mm/page_alloc.c (lowest free page first, so that runs repeat), mm/slab_common.c (size classes)
and mm/vmalloc.c.
"""

from __future__ import annotations

import bisect
import ctypes
import mmap
import struct
from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

from arch.abi.errno import ENOMEM
from arch.abi.limits import PAGE_SHIFT, PAGE_SIZE
from arch.errors import CorruptMemory, Fault, KernelError
from arch.hostmap import HostMapping
from arch.records import dataclass
from arch.sidebyside import CODES, storer_of_many

PAGE_MASK = ~(PAGE_SIZE - 1)

ByteOrder = Literal["little", "big"]


class Memory(Protocol):
    """Anything with addresses and bytes."""

    byteorder: ByteOrder

    def read(self, addr: int, size: int) -> bytes:
        """`size` bytes at `addr`; raises Fault."""

    def write(self, addr: int, data: bytes) -> None:
        """Store `data` at `addr`; raises Fault."""

    def read_uint(self, addr: int, size: int) -> int:
        """The unsigned number of `size` bytes at `addr`, in the memory's byte order."""

    def write_uint(self, addr: int, size: int, value: int) -> None:
        """Store the low `size` bytes of `value` (negative numbers are taken modulo 2**(8*size))."""


class OutOfMemory(KernelError):
    """No free page is left."""

    def __init__(self) -> None:
        super().__init__(ENOMEM, "out of simulated memory")


class PhysicalMemory:
    """`size` bytes of RAM in one host mapping, and the allocator of its 4 KiB pages.

    A page is named by its page frame number (pfn).  Pages are reference counted: `alloc_page` gives a count of
    one, `get_page` adds one, `put_page` drops one and frees at zero.  The lowest free page is always taken first.
    Physical addresses run from 0 to size.
    """

    __slots__ = ("__dict__", "__weakref__", "free_pages", "lowest", "watermark")  # native code takes pages, too

    def __init__(self, size: int) -> None:
        if size % PAGE_SIZE:
            raise ValueError("memory size must be a multiple of 4096 bytes")
        self.size = size
        self.nr_pages = size >> PAGE_SHIFT
        self.host = HostMapping(size)
        self.buf = self.host.buf
        self.host_address = self.host.address
        self.words = memoryview(self.buf).cast("Q")  # 64-bit words in host byte order: page tables
        self.refcounts = [0] * self.nr_pages
        # Page frames that may hold translated code; one byte each, shared with the native TLB fill.
        self.code_pages = bytearray(self.nr_pages)
        self.freed = bytearray(self.nr_pages)  # 1: a page frame below the watermark that is free
        self.lowest = 0  # there is no such page frame below this one
        self._run = (0, 0)  # (count, pfn): no run of so many free ones begins below that one
        self.watermark = 0  # first page frame never handed out
        self.free_pages = self.nr_pages
        self.charged = 0  # bytes, by charge()
        self._charged_pages = 0
        self.on_code_page_freed: Any = None  # Callable[[pfn], None]: the CPU drops translated code
        self.on_starving: Callable[[], object] | None = None  # a charge was refused

    @property
    def used_bytes(self) -> int:
        """Behind them nothing was ever handed out."""
        return self.watermark << PAGE_SHIFT

    def close(self) -> None:
        """Give what the pages took back to the host; all of them read as zeros."""
        self.host.empty()

    # -- pages ---------------------------------------------------------------------------------------------
    def alloc_page(self) -> int:
        """One zeroed page; returns its pfn.  Raises OutOfMemory (ENOMEM)."""
        if self.free_pages <= 0:
            raise OutOfMemory()
        pfn = self.freed.find(b"\1", self.lowest, self.watermark)
        if pfn >= 0:
            self.freed[pfn] = 0
            self.buf[pfn << PAGE_SHIFT : (pfn + 1) << PAGE_SHIFT] = _ZERO_PAGE
        elif self.watermark < self.nr_pages:
            pfn = self.watermark
            self.watermark += 1
        else:
            raise OutOfMemory()
        self.lowest = pfn + 1
        self.refcounts[pfn] = 1
        self.free_pages -= 1
        return pfn

    def alloc_pages(self, count: int) -> int:
        """`count` physically contiguous zeroed pages; returns the first pfn.  Each page has its own count of one."""
        if count == 1:
            return self.alloc_page()
        first = self._find_run(count)
        for pfn in range(first, first + count):
            self.refcounts[pfn] = 1
        self.free_pages -= count
        return first

    def _find_run(self, count: int) -> int:
        """Lowest run of `count` free pages, taken and zeroed."""
        if count > self.free_pages:
            raise OutOfMemory()
        least, start = self._run
        start = start if least and count >= least else self.lowest
        first = self.freed.find(b"\1" * count, start, self.watermark)
        self._run = (count, (first if first >= 0 else self.watermark) + count)
        if first >= 0:
            self.freed[first : first + count] = bytes(count)
            self.buf[first << PAGE_SHIFT : (first + count) << PAGE_SHIFT] = bytes(count << PAGE_SHIFT)
            return first
        if self.watermark + count > self.nr_pages:
            raise OutOfMemory()
        first = self.watermark
        self.watermark += count
        return first

    def get_page(self, pfn: int) -> None:
        """One more user of the page."""
        self.refcounts[pfn] += 1

    def put_page(self, pfn: int) -> None:
        """One user less; the last one frees the page."""
        count = self.refcounts[pfn] - 1
        if count < 0:
            raise AssertionError(f"page {pfn:#x} freed twice")
        self.refcounts[pfn] = count
        if count == 0:
            if self.code_pages[pfn] and self.on_code_page_freed is not None:
                self.on_code_page_freed(pfn)
            self.freed[pfn] = 1
            self.free_pages += 1
            if pfn < self.lowest:
                self.lowest = pfn
            count, start = self._run
            if pfn < start + count:
                self._run = (count, max(pfn - count + 1, 0))

    def charge(self, size: int) -> None:
        """Count `size` bytes that Linux has in memory and we have not; negative gives back.  Raises OutOfMemory.

        Whole pages of what is charged in all cannot be had by anybody else.
        """
        charged = self.charged + size
        more = (charged + PAGE_SIZE - 1 >> PAGE_SHIFT) - self._charged_pages
        if size > 0 and more > self.free_pages:
            if self.on_starving is not None:
                self.on_starving()
            raise OutOfMemory()
        self.charged = charged
        self._charged_pages += more
        self.free_pages -= more

    # -- bytes ---------------------------------------------------------------------------------------------
    def read(self, paddr: int, size: int) -> bytes:
        """Bytes at a physical address."""
        if paddr < 0 or paddr + size > self.size:
            raise Fault(paddr, "read")
        return self.buf[paddr : paddr + size]

    def write(self, paddr: int, data: bytes) -> None:
        """Store bytes at a physical address."""
        end = paddr + len(data)
        if paddr < 0 or end > self.size:
            raise Fault(paddr, "write")
        self.buf[paddr:end] = data


_ZERO_PAGE = bytes(PAGE_SIZE)

# kmalloc size classes.  include/linux/slab.h: KMALLOC_MIN_SIZE, the 96 and 192 byte caches.
SIZE_CLASSES = (8, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096)
_ZEROS = {size: bytes(size) for size in SIZE_CLASSES}
_CLASS_OF = tuple(next(c for c in SIZE_CLASSES if c >= n) for n in range(1, SIZE_CLASSES[-1] + 1))


@dataclass(frozen=True)
class KernelMap:
    """Where the kernel's parts lie in its virtual addresses.  One row of facts per architecture.

    direct_map + p is physical address p.  Text occupies text_size bytes at text_base, backed by the physical pages
    from text_phys on.  vmalloc_start..vmalloc_end is mapped page by page.  All in bytes.
    """

    text_base: int
    text_size: int
    direct_map: int
    vmalloc_start: int
    vmalloc_end: int
    user_end: int  # TASK_SIZE: first address that user space can not have
    stack_size: int  # THREAD_SIZE of kernel stacks
    text_phys: int = 0x100000
    reserved: int = 0x100000  # physical memory below is never handed out by the allocator
    window: int = 0xFFFF800000000000  # an unused virtual address, for arch/cpu.py

    @property
    def room(self) -> int | None:
        """Bytes of physical memory that the direct map can show; None where something else ends it first."""
        return self.vmalloc_start - self.direct_map if self.vmalloc_start > self.direct_map else None


class KernelMemory:
    """The kernel's virtual memory: text, direct map and vmalloc area over one PhysicalMemory.

    `alloc`/`free` are kmalloc: zeroed, naturally aligned up to the size class, from the direct map; large objects
    take whole pages.  `vmalloc` maps separate pages contiguously.  Reading and writing kernel text is allowed here
    (this is the kernel's own view; W^X holds for the emulated CPU).
    """

    def __init__(self, phys: PhysicalMemory, map: KernelMap, byteorder: ByteOrder) -> None:
        self.phys = phys
        self.map = map
        self.byteorder: ByteOrder = byteorder
        self.live_objects = 0  # objects from alloc() not yet freed
        self.live_bytes = 0
        self._buf = phys.buf
        self._base = map.direct_map
        self._size = phys.size
        order = "<" if byteorder == "little" else ">"
        codes = {size: struct.Struct(order + letter) for size, letter in CODES.items()}
        # size -> (read, write, mask)
        self._codecs = {n: (c.unpack_from, c.pack_into, (1 << 8 * n) - 1) for n, c in codes.items()}
        self._sizes: dict[int, int] = {}  # live object -> its size class (or rounded page size)
        self._free_lists: dict[int, list[int]] = {size: [] for size in SIZE_CLASSES}
        self._vmalloc_pages: dict[int, int] = {}  # virtual page number -> pfn
        self._vmalloc_areas: dict[int, int] = {}  # start -> size
        self._vmalloc_starts: list[int] = []
        self.on_vmalloc_change: Any = None  # Callable[[vpn, pfn or None], None]: the MMU follows
        reserve = (max(map.reserved, map.text_phys + map.text_size)) >> PAGE_SHIFT
        while phys.watermark < reserve:
            phys.refcounts[phys.watermark] = 1
            phys.watermark += 1
            phys.free_pages -= 1

    # -- addresses -----------------------------------------------------------------------------------------
    def translate(self, addr: int, size: int = 1, access: str = "read") -> int:
        """Physical address of the kernel address; the `size` bytes must be physically contiguous."""
        off = addr - self._base
        if off >= 0 and off + size <= self._size:
            return off
        off = addr - self.map.text_base
        if off >= 0 and off + size <= self.map.text_size:
            return self.map.text_phys + off
        pfn = self._vmalloc_pages.get(addr >> PAGE_SHIFT)
        if pfn is None:
            raise Fault(addr, access)
        off = addr & (PAGE_SIZE - 1)
        if off + size > PAGE_SIZE:
            for vpn in range((addr >> PAGE_SHIFT) + 1, ((addr + size - 1) >> PAGE_SHIFT) + 1):
                if self._vmalloc_pages.get(vpn) is None:
                    raise Fault(vpn << PAGE_SHIFT, access)
            raise _Scattered()
        return (pfn << PAGE_SHIFT) + off

    def virt(self, paddr: int) -> int:
        """Direct-map address of a physical address."""
        return self._base + paddr

    def page_address(self, pfn: int) -> int:
        """Direct-map address of a page frame."""
        return self._base + (pfn << PAGE_SHIFT)

    def pfn(self, addr: int) -> int:
        """Page frame of a mapped kernel address."""
        return self.translate(addr) >> PAGE_SHIFT

    def valid(self, addr: int, size: int = 1) -> bool:
        """Whether these bytes are all mapped."""
        try:
            self.translate(addr, size)
        except Fault:
            return False
        except _Scattered:
            return True
        return True

    # -- Memory protocol -----------------------------------------------------------------------------------
    def read(self, addr: int, size: int) -> bytes:
        """Bytes at a kernel address."""
        off = addr - self._base
        if off >= 0 and off + size <= self._size and size >= 0:
            return self._buf[off : off + size]
        return self._read_slow(addr, size)

    def _read_slow(self, addr: int, size: int) -> bytes:
        if size <= 0:
            return b""
        try:
            off = self.translate(addr, size, "read")
            return self._buf[off : off + size]
        except _Scattered:
            head = PAGE_SIZE - (addr & (PAGE_SIZE - 1))
            return self.read(addr, head) + self.read(addr + head, size - head)

    def write(self, addr: int, data: bytes) -> None:
        """Store bytes at a kernel address."""
        size = len(data)
        off = addr - self._base
        if off >= 0 and off + size <= self._size:
            self._buf[off : off + size] = data
        elif size:
            self._write_slow(addr, data)

    def _write_slow(self, addr: int, data: bytes) -> None:
        size = len(data)
        try:
            off = self.translate(addr, size, "write")
            self._buf[off : off + size] = data
        except _Scattered:
            head = PAGE_SIZE - (addr & (PAGE_SIZE - 1))
            self.write(addr, data[:head])
            self.write(addr + head, data[head:])

    def read_uint(self, addr: int, size: int) -> int:
        """The number of `size` bytes at a kernel address."""
        off = addr - self._base
        if off >= 0 and off + size <= self._size and size in self._codecs:
            number: int = self._codecs[size][0](self._buf, off)[0]
            return number
        return int.from_bytes(self._read_slow(addr, size), self.byteorder)

    def write_uint(self, addr: int, size: int, value: int) -> None:
        """Store a number of `size` bytes at a kernel address."""
        off = addr - self._base
        if off >= 0 and off + size <= self._size and size in self._codecs:
            _, pack, mask = self._codecs[size]
            pack(self._buf, off, value & mask)
        else:
            self.write(addr, (value & ((1 << (8 * size)) - 1)).to_bytes(size, self.byteorder))

    def storer(self, offset: int, size: int) -> Callable[[object, int, int], None]:
        """store(None, address, number): write_uint() so many bytes behind the address, for who does it often."""
        _, pack, mask = self._codecs[size]
        buf, low, top, write = self._buf, offset - self._base, self._size - size, self.write_uint

        def store(_: object, addr: int, value: int) -> None:
            at = addr + low
            if 0 <= at <= top:
                pack(buf, at, value & mask)
            else:
                write(addr + offset, size, value)

        return store

    def storer_of_many(self, places: Sequence[tuple[int, int, int]]) -> Callable[[int, Sequence[int]], None]:
        """store(address, numbers): of each place (which number, offset, size) as storer() does."""
        return storer_of_many(places, self.byteorder, self._buf, self._base, self._size, self.write_uint)

    def read_cstring(self, addr: int, limit: int = 4096) -> bytes:
        """The bytes before the first NUL, at most `limit`."""
        out = bytearray()
        while len(out) < limit:
            room = min(limit - len(out), PAGE_SIZE - (addr & (PAGE_SIZE - 1)))
            piece = self.read(addr, room)
            end = piece.find(b"\0")
            if end >= 0:
                return bytes(out + piece[:end])
            out += piece
            addr += room
        return bytes(out)

    def charge(self, size: int) -> None:
        """PhysicalMemory.charge()."""
        self.phys.charge(size)

    # -- kmalloc -------------------------------------------------------------------------------------------
    def alloc(self, size: int, align: int = 8) -> int:
        """`size` zeroed bytes in the direct map, aligned to at least `align`; returns the address."""
        want = max(size, align, 1)
        if want <= SIZE_CLASSES[-1]:
            cls = _CLASS_OF[want - 1]
            if align > 32 and cls & (cls - 1):  # the 96 and 192 byte classes are aligned to 32 and 64 only
                cls = 1 << (want - 1).bit_length()
            addr = self._from_class(cls)
        else:
            cls = (size + PAGE_SIZE - 1) & PAGE_MASK
            addr = self.alloc_pages(cls >> PAGE_SHIFT)
        self._sizes[addr] = cls
        self.live_objects += 1
        self.live_bytes += cls
        return addr

    def has_free(self, size: int) -> bool:
        """alloc() of such a small object would take one that was used before, so that free() leaves all as it was."""
        return size <= SIZE_CLASSES[-1] and bool(self._free_lists[_CLASS_OF[size - 1]])

    def _from_class(self, cls: int) -> int:
        free = self._free_lists[cls]
        if not free:
            page = self.page_address(self.phys.alloc_page())
            free.extend(page + off for off in range((PAGE_SIZE // cls - 1) * cls, -1, -cls))
        addr = free.pop()
        off = addr - self._base
        self._buf[off : off + cls] = _ZEROS[cls]
        return addr

    def free_found(self, addr: int) -> None:
        """free() of an address that memory has told: CorruptMemory if nothing is there."""
        if addr and addr not in self._sizes:
            raise CorruptMemory(f"free of {addr:#x}, which is not a live object")
        self.free(addr)

    def free(self, addr: int) -> None:
        """Give back what alloc() gave.  free(0) does nothing, as kfree(NULL)."""
        if addr == 0:
            return
        cls = self._sizes.pop(addr, None)
        if cls is None:
            raise AssertionError(f"free of {addr:#x}, which is not a live object")
        self.live_objects -= 1
        self.live_bytes -= cls
        if cls <= SIZE_CLASSES[-1]:
            self._free_lists[cls].append(addr)
        else:
            self.free_pages(addr, cls >> PAGE_SHIFT)

    def object_size(self, addr: int) -> int:
        """ksize(): the usable size of a live object; 0 when `addr` is none."""
        return self._sizes.get(addr, 0)

    def alloc_pages(self, count: int = 1) -> int:
        """`count` contiguous zeroed pages; returns the direct-map address."""
        return self.page_address(self.phys.alloc_pages(count))

    def free_pages(self, addr: int, count: int = 1) -> None:
        """Give back what alloc_pages() gave."""
        first = (addr - self._base) >> PAGE_SHIFT
        for pfn in range(first, first + count):
            self.phys.put_page(pfn)

    # -- vmalloc -------------------------------------------------------------------------------------------
    def vmalloc(self, size: int, pfns: list[int] | None = None) -> int:
        """`size` bytes of virtually contiguous pages with an unmapped guard page behind; returns the address.

        With `pfns` the area maps these page frames (vmap) and takes one reference on each.
        """
        count = (size + PAGE_SIZE - 1) >> PAGE_SHIFT
        start = self._find_vmalloc_hole((count + 1) << PAGE_SHIFT)
        if pfns is None:
            pages = [self.phys.alloc_page() for _ in range(count)]
        else:
            pages = list(pfns)
            for pfn in pages:
                self.phys.get_page(pfn)
        for i, pfn in enumerate(pages):
            self._map_vmalloc((start >> PAGE_SHIFT) + i, pfn)
        self._vmalloc_areas[start] = len(pages) << PAGE_SHIFT
        bisect.insort(self._vmalloc_starts, start)
        return start

    def vfree(self, addr: int) -> None:
        """Give back what vmalloc() gave."""
        size = self._vmalloc_areas.pop(addr)
        self._vmalloc_starts.remove(addr)
        for vpn in range(addr >> PAGE_SHIFT, (addr + size) >> PAGE_SHIFT):
            pfn = self._vmalloc_pages[vpn]
            self._map_vmalloc(vpn, None)
            self.phys.put_page(pfn)

    def _map_vmalloc(self, vpn: int, pfn: int | None) -> None:
        if pfn is None:
            del self._vmalloc_pages[vpn]
        else:
            self._vmalloc_pages[vpn] = pfn
        if self.on_vmalloc_change is not None:
            self.on_vmalloc_change(vpn, pfn)

    def _find_vmalloc_hole(self, size: int) -> int:
        at = self.map.vmalloc_start
        for start in self._vmalloc_starts:
            if at + size <= start:
                break
            at = start + self._vmalloc_areas[start] + PAGE_SIZE
        if at + size > self.map.vmalloc_end:
            raise OutOfMemory()
        return at


class _Scattered(Exception):
    """The range is mapped, but not by contiguous physical pages."""


class FlatMemory:
    """One contiguous piece of memory at `base`: the small stand-in for KernelMemory in tests of upper floors."""

    def __init__(self, base: int = 0xFFFF888000000000, size: int = 1 << 20, byteorder: ByteOrder = "little") -> None:
        self.base = base
        self.size = size
        self.byteorder: ByteOrder = byteorder
        # Pages of the host only where something is written; a bytearray of this size would be filled with zeros.
        self.data = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._pinned = (ctypes.c_char * size).from_buffer(self.data)
        self.host_address = ctypes.addressof(self._pinned)
        self.live_objects = 0
        self._next = base + 64  # the first bytes stay unused, so that an object never has the base address
        self._sizes: dict[int, int] = {}
        self._free: dict[int, list[int]] = {}

    def close(self) -> None:
        """Give the memory back to the host: who had it may live on in a circle of references.  Nobody may touch it any more."""
        del self._pinned
        self.data.close()

    def _offset(self, addr: int, size: int, access: str) -> int:
        off = addr - self.base
        if off < 0 or size < 0 or off + size > self.size:
            raise Fault(addr, access)
        return off

    def read(self, addr: int, size: int) -> bytes:
        """Bytes at `addr`."""
        off = self._offset(addr, size, "read")
        return self.data[off : off + size]

    def write(self, addr: int, data: bytes) -> None:
        """Store bytes at `addr`."""
        off = self._offset(addr, len(data), "write")
        self.data[off : off + len(data)] = data

    def read_uint(self, addr: int, size: int) -> int:
        """The number of `size` bytes at `addr`."""
        off = self._offset(addr, size, "read")
        return int.from_bytes(self.data[off : off + size], self.byteorder)

    def write_uint(self, addr: int, size: int, value: int) -> None:
        """Store a number of `size` bytes at `addr`."""
        off = self._offset(addr, size, "write")
        self.data[off : off + size] = (value & ((1 << (8 * size)) - 1)).to_bytes(size, self.byteorder)

    def alloc(self, size: int, align: int = 8) -> int:
        """Zeroed memory; freed objects of the same size and alignment are used again."""
        free = self._free.get(size)
        if free and free[-1] % align == 0:
            addr = free.pop()
            self.write(addr, bytes(size))
        else:
            addr = (self._next + align - 1) // align * align
            self._next = addr + max(size, 1)
            if self._next > self.base + self.size:
                raise OutOfMemory()
        self._sizes[addr] = size
        self.live_objects += 1
        return addr

    def charge(self, size: int) -> None:
        """Nothing else is kept here."""

    def free(self, addr: int) -> None:
        """Give back what alloc() gave."""
        if addr == 0:
            return
        size = self._sizes.pop(addr)
        self._free.setdefault(size, []).append(addr)
        self.live_objects -= 1

    def alloc_pages(self, count: int = 1) -> int:
        """Pages; nobody else has them here."""
        return self.alloc(count << PAGE_SHIFT, PAGE_SIZE)

    def free_pages(self, addr: int, count: int = 1) -> None:
        """Give them back."""
        self.free(addr)
