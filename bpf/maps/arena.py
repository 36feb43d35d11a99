"""Arenas: memory that programs and user space share, each at its own addresses.  kernel/bpf/arena.c, since 6.9.

A pointer into an arena is one of user space; programs use its low half (`place`), which is the same on both sides. Pages come when user
space touches them or when a program asks for them, and are gone for both when a program gives them back.
"""

from __future__ import annotations

from typing import ClassVar, Final, Protocol

from arch.abi.errno import E2BIG, EACCES, EBUSY, EFAULT, EINVAL, EOPNOTSUPP, ERANGE
from arch.abi.limits import PAGE_SHIFT, PAGE_SIZE, U32_MAX
from arch.errors import KernelError
from bpf import uapi
from bpf.btf import Btf
from bpf.maps.arena_pages import ArenaPages
from bpf.maps.base import Board, BpfMap, MapAttr, refuse
from bpf.maps.free_ranges import BestFit, FirstFit
from bpf.maps.info import MapInfo
from bpf.maps.rows import Probe, map_type

_FLAGS: Final = uapi.BPF_F_SEGV_ON_FAULT | uapi.BPF_F_MMAPABLE | uapi.BPF_F_NO_USER_CONV
_LARGEST: Final = 1 << 32
_ANY_NODE: Final = -1
BEST_FIT_SINCE: Final = "6.13"  # b795379757eb: free pages are kept by size


class Area(Protocol):
    """A mapping in an address space."""

    def zap(self, start: int, end: int) -> None:
        """Forget the pages there."""


@map_type(
    33,
    "ARENA",
    since="6.9",
    commit="317460317a02",
    struct="bpf_arena",
    sleepable="6.9",
    btf="keyless",
    map_extra=True,
    keyless=True,
    loader_btf=False,
    probe=Probe(0, 0, 1, uapi.BPF_F_MMAPABLE),
)
class ArenaMap(BpfMap):
    """BPF_MAP_TYPE_ARENA."""

    can_mmap: ClassVar[bool] = True

    @classmethod
    def alloc_check(cls, bpf: Board, attr: MapAttr) -> None:
        """The first half of arena_map_alloc()."""
        flags = attr.map_flags
        if attr.key_size or attr.value_size or not attr.max_entries:
            raise refuse(EINVAL)
        if not flags & uapi.BPF_F_MMAPABLE or flags & ~_FLAGS or attr.map_extra % PAGE_SIZE:
            raise refuse(EINVAL)
        size = attr.max_entries * PAGE_SIZE
        if size > _LARGEST:
            raise refuse(E2BIG)
        if attr.map_extra >> 32 != attr.map_extra + size - 1 >> 32:
            raise refuse(ERANGE)

    def alloc(self) -> None:
        super().alloc()
        size = self.max_entries * PAGE_SIZE
        self.start = self.map_extra  # of user space; 0: the first mapping decides
        self.end = self.start + size if self.start else 0
        best = self.bpf.version.at_least(BEST_FIT_SINCE)
        self.free_pages: BestFit | FirstFit = BestFit(self.max_entries) if best else FirstFit(self.max_entries)
        self.pages = ArenaPages()
        self.pages.begin_at(self.start)
        self.areas: list[Area] = []

    def free_elements(self) -> None:
        for page in self.pages.values():
            self.mem.free_pages(page)
        self.pages.clear()

    def info(self) -> MapInfo:
        found = super().info()
        found.area = lambda: (self.start, self.end)
        return found

    def check_btf(self, btf: Btf, key_type_id: int, value_type_id: int) -> None:
        """arena_map_check_btf(): any will do."""

    # ---- user space ----

    def check_area(self, start: int, end: int, pgoff: int, asked: int) -> None:
        """arena_get_unmapped_area(), arena_map_mmap(): every mapping is the same; the first one may choose where.

        `asked` is where it was to be; who asks for the right place and finds it taken hears EBUSY.
        """
        if pgoff:
            raise refuse(EINVAL)
        size = end - start
        if size > _LARGEST or (self.start and size > self.end - self.start):
            raise refuse(E2BIG)
        if self.start and (size != self.end - self.start or asked != self.start):
            raise refuse(EINVAL)
        if self.start and start != self.start:
            raise refuse(EBUSY)
        if start >> 32 != end - 1 >> 32:
            raise refuse(EFAULT)
        self.start, self.end = start, end
        self.pages.begin_at(start)

    def fault(self, pgoff: int) -> int:
        """arena_vm_fault(): the page of the kernel that user space sees there; KernelError(EACCES) is SIGSEGV."""
        number = self._low(pgoff)
        page = self.pages.get(number)
        if page is not None:
            return page
        if self.map_flags & uapi.BPF_F_SEGV_ON_FAULT:
            raise KernelError(EACCES)
        self.free_pages.take_at(pgoff, 1)  # that a program reserved it does not matter
        self.pages[number] = self.mem.alloc_pages()
        return self.pages[number]

    # ---- programs ----

    def _low(self, pgoff: int) -> int:
        return (self.start + (pgoff << PAGE_SHIFT) & U32_MAX) >> PAGE_SHIFT

    @property
    def _count(self) -> int:
        return self.end - self.start >> PAGE_SHIFT

    def alloc_pages(self, address: int, count: int, node: int) -> int:
        """arena_alloc_pages(): their address in user space, 0 where it is not possible."""
        if node not in (_ANY_NODE, 0) or count > self._count:
            return 0
        if address:
            pgoff = (address - self.start & U32_MAX) >> PAGE_SHIFT
            if address % PAGE_SIZE or pgoff > self._count - count or not self.free_pages.take_at(pgoff, count):
                return 0
        else:
            found = self.free_pages.take(count, self._count)
            if found is None:
                return 0
            pgoff = found
        new: list[int] = []
        try:
            for _ in range(count):
                new.append(self.mem.alloc_pages())
        except KernelError:
            for page in new:
                self.mem.free_pages(page)
            self.free_pages.give(pgoff, count)
            return 0
        for at, page in enumerate(new):
            self.pages[self._low(pgoff + at)] = page
        return self.start & ~U32_MAX | (self.start + (pgoff << PAGE_SHIFT) & U32_MAX)

    def reserve_pages(self, address: int, count: int) -> int:
        """arena_reserve_pages(): no program gets them; 0 or -errno."""
        if address % PAGE_SIZE:
            return 0
        pgoff = (address - self.start & U32_MAX) >> PAGE_SHIFT
        if pgoff + count > self._count:
            return -EINVAL
        return 0 if self.free_pages.take_at(pgoff, count) else -EBUSY

    def give_pages(self, address: int, count: int) -> None:
        """arena_free_pages()."""
        start = self.start & ~U32_MAX | (address & U32_MAX & ~(PAGE_SIZE - 1))
        end = min(self.end, start + (count << PAGE_SHIFT))
        if not self.start <= start < end:
            return
        first, count = start - self.start >> PAGE_SHIFT, end - start >> PAGE_SHIFT
        self.free_pages.give(first, count)
        for area in self.areas:
            area.zap(start, end)
        for pgoff in range(first, first + count) if count < len(self.pages) else self._present(first, count):
            page = self.pages.take(self._low(pgoff))
            if page is not None:
                self.mem.free_pages(page)

    def _present(self, first: int, count: int) -> list[int]:
        """Of so many pages those that are there."""
        base = self.start >> PAGE_SHIFT
        there = ((number - base) & U32_MAX >> PAGE_SHIFT for number in self.pages)
        return [pgoff for pgoff in there if first <= pgoff < first + count]

    def place(self, at: int) -> int:
        """The kernel's address of the byte that programs call `at`; 0: there is no page."""
        page = self.pages.get(at >> PAGE_SHIFT)
        return page + at % PAGE_SIZE if page is not None else 0

    def load(self, at: int, size: int) -> int | None:
        """What is there; None: a page is missing."""
        places = [self.place(at + i) for i in ((0,) if at % PAGE_SIZE + size <= PAGE_SIZE else range(size))]
        if not all(places):
            return None
        if len(places) == 1:
            return int(self.mem.read_uint(places[0], size))
        return int.from_bytes(b"".join(bytes(self.mem.read(place, 1)) for place in places), self.mem.byteorder)

    def store(self, at: int, size: int, value: int) -> None:
        """Store it, unless a page is missing."""
        value &= (1 << 8 * size) - 1
        places = [self.place(at + i) for i in ((0,) if at % PAGE_SIZE + size <= PAGE_SIZE else range(size))]
        if not all(places):
            return
        if len(places) == 1:
            self.mem.write_uint(places[0], size, value)
            return
        for place, byte in zip(places, value.to_bytes(size, self.mem.byteorder), strict=True):
            self.mem.write(place, bytes([byte]))

    # ---- what is not an arena's ----

    def lookup(self, key: bytes) -> int:
        raise refuse(EINVAL)

    def next_key(self, key: bytes | None) -> bytes:
        raise refuse(EOPNOTSUPP)
