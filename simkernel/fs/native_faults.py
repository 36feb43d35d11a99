"""Page faults of user code without Python: pages of files that are cached, with their neighbours, new ones, and copies of shared ones.

The same as simkernel/kernel/faults.py and mm.py do, to the byte, with the same objects; what is rare is declined before anything has changed:
a page table that has to be made, a file that has to be read, areas that somebody watches, the end of memory.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from arch.abi.limits import PAGE_SHIFT, PAGE_SIZE
from arch.abi.mman import MAP_SHARED, MAP_SHARED_VALIDATE, MAP_TYPE, PROT_EXEC, PROT_READ, PROT_WRITE
from arch.cpu import FAULT_EXEC, FAULT_WRITE
from arch.mmu import PTE_EXEC, PTE_PRESENT, PTE_READ, PTE_WRITE
from arch.native.block import Word
from arch.native.handler import Tier, chosen_tier
from arch.native.library import Library
from arch.native.slots import ITEMS, LENGTH, OBJECT_KIND, slot_address, slot_offset
from arch.native.state import word_at
from arch.native.subset import (
    Words,
    as_uint,
    copy,
    decline,
    entry,
    native,
    set_entry,
    set_uint,
    set_uint_entry,
    shared,
    zero,
)
from simkernel.fs.face import FsKernel
from simkernel.fs.inode import File, Inode
from simkernel.fs.pagecache import Mapping
from simkernel.kernel.areas import PMD_SHIFT, Vma
from simkernel.kernel.cpus import NS_PER_WORK
from simkernel.kernel.fault_around import FAULT_AROUND
from simkernel.kernel.faults import COST, EVENTS
from simkernel.kernel.mm import Mm
from simkernel.kernel.shortcuts import WORK, at
from simkernel.kernel.task import Task
from simkernel.kernel.tracepoints import TracepointSlot
from simkernel.kernel.visits import UTIME

HOT_FAULTS = {Tier.AUTO: 200, Tier.NATIVE: 0}  # by how many faults loading the compiled code is paid

MM, MIN_FLT = slot_offset(Task, "mm"), slot_offset(Task, "min_flt")
STARTS, VMAS, PAGES, LEAVES = (slot_offset(Mm, name) for name in ("starts", "vmas", "pages", "leaves"))
SOFT_DIRTY, USERFAULT_WP = slot_offset(Mm, "soft_dirty"), slot_offset(Mm, "userfault_wp")
START, END, PGOFF, PROT, FLAGS = (slot_offset(Vma, name) for name in ("start", "end", "pgoff", "prot", "flags"))
FILE, FAULT, PRIVATE, USERFAULT = (slot_offset(Vma, name) for name in ("file", "fault", "private", "userfault"))
ANON, INODE, I_MAPPING = slot_offset(Vma, "anon"), slot_offset(File, "f_inode"), slot_offset(Inode, "i_mapping")
I_SIZE, CACHED, FILLER = slot_offset(Inode, "i_size"), slot_offset(Mapping, "pages"), slot_offset(Mapping, "filler")

# Words: None, True, the class of files, the list of counts of pages, the bytes that say which pages are free, how many pages there are,
# the pages that are pinned; references to the deadline, to the number of faults, to who hears of areas, to who counts pages for control
# groups, to who hears of pages, to where the lowest free page may be, to the first one never handed out, to how many are free; then
# references to `active` of the events.
(
    NONE, TRUE, FILES, COUNTS, FREED, NR_PAGES, PINS, DEADLINE, NR_FAULTS, AREA_EVENTS, CHARGER, PAGE_EVENTS, LOWEST, WATERMARK,
    FREE_PAGES, ACTIVE,
) = range(16)  # fmt: skip
NR_EVENTS = len(EVENTS)


@native
def item(list_: int, index: int) -> int:
    """Where a list has an element."""
    return at(list_ + ITEMS) + 8 * index


@native
def area_of(mm: int, address: int) -> int:
    """Mm.find()."""
    starts = at(mm + STARTS)
    low = 0
    high = at(starts + LENGTH)
    while low < high:
        middle = (low + high) >> 1
        if address < as_uint(at(item(starts, middle))):
            high = middle
        else:
            low = middle + 1
    if not low:
        decline()
    vma = at(item(at(mm + VMAS), low - 1))
    if address >= as_uint(at(vma + END)):
        decline()
    return vma


@native
def may(prot: int, code: int) -> int:
    """Mm.may()."""
    if code & FAULT_WRITE:
        return prot & PROT_WRITE
    if code & FAULT_EXEC:
        return prot & PROT_EXEC
    return prot & (PROT_READ | PROT_WRITE | PROT_EXEC)


@native
def is_shared(vma: int) -> int:
    kind = as_uint(at(vma + FLAGS)) & MAP_TYPE
    if kind == MAP_SHARED:
        return 1
    return kind == MAP_SHARED_VALIDATE


@native
def rights(prot: int) -> int:
    """PTE_OF_PROT, of what is present."""
    bits = PTE_READ | PTE_PRESENT if prot else PTE_PRESENT
    if prot & PROT_WRITE:
        bits |= PTE_WRITE
    if prot & PROT_EXEC:
        bits |= PTE_EXEC
    return bits


@native
def place_of(mm: int, page: int) -> int:
    """Of the entry in the page table, in the host; the table has been made."""
    leaf = entry(at(mm + LEAVES), page >> PMD_SHIFT)
    if not leaf:
        decline()
    return shared[Word.HOST] + 8 * (as_uint(leaf) + (page >> PAGE_SHIFT & 511))


@native
def set_place(place: Words, value: int) -> int:
    place[0] = value
    return 0


@native
def get_page(s: Words, phys: int) -> int:
    """Frames.get_page(): how many users it has then."""
    place = item(s[COUNTS], phys >> PAGE_SHIFT)
    count = as_uint(at(place)) + 1
    set_uint(place, count)
    return count


@native
def is_used(s: Words, phys: int) -> int:
    """Frames.shared()."""
    if as_uint(at(item(s[COUNTS], phys >> PAGE_SHIFT))) < 2:
        return 0
    if at(s[PINS] + LENGTH):
        decline()
    return 1


@native
def check_room(s: Words) -> int:
    """A page can be had, and nobody counts it."""
    if at(s[CHARGER]) != s[NONE] or at(s[PAGE_EVENTS]) != s[NONE] or not as_uint(at(s[FREE_PAGES])):
        decline()
    return 0


@native
def free_page(s: Words, pfn: int, end: int) -> int:
    """The lowest free page from one on, or the end."""
    while pfn < end:
        if not pfn & 7 and not word_at(s[FREED] + pfn, 0):
            pfn += 8
        elif word_at(s[FREED] + (pfn & ~7), 0) >> 8 * (pfn & 7) & 255:
            return pfn
        else:
            pfn += 1
    return end


@native
def alloc_page(s: Words) -> int:
    """PhysicalMemory.alloc_page(), whose bytes are whatever they are: its physical address."""
    watermark = as_uint(at(s[WATERMARK]))
    pfn = free_page(s, as_uint(at(s[LOWEST])), watermark)
    if pfn < watermark:
        place = s[FREED] + (pfn & ~7)
        set_place(place, word_at(place, 0) & ~(255 << 8 * (pfn & 7)))
    elif watermark < s[NR_PAGES]:
        pfn = watermark
        set_uint(s[WATERMARK], watermark + 1)
    else:
        decline()
    set_uint(s[LOWEST], pfn + 1)
    set_uint(item(s[COUNTS], pfn), 1)
    set_uint(s[FREE_PAGES], as_uint(at(s[FREE_PAGES])) - 1)
    return pfn << PAGE_SHIFT


@native
def copied(s: Words, phys: int) -> int:
    """Frames.copy_page()."""
    new = alloc_page(s)
    copy(shared[Word.DIRECT] + new, shared[Word.DIRECT] + phys, PAGE_SIZE)
    return new


@native
def mapping_of(s: Words, file: int) -> int:
    """The page cache of an area's file."""
    if at(file + OBJECT_KIND) != s[FILES]:
        decline()
    mapping = at(at(file + INODE) + I_MAPPING)
    if mapping == s[NONE]:
        decline()
    return mapping


@native
def cached_page(s: Words, vma: int, file: int, index: int) -> int:
    """Inode.get_page() of what is cached: the reference to its physical address."""
    mapping = mapping_of(s, file)
    if index << PAGE_SHIFT >= as_uint(at(at(file + INODE) + I_SIZE)):
        decline()
    found = entry(at(mapping + CACHED), index)
    if not found:
        decline()
    return found


@native
def least(a: int, b: int) -> int:
    return a if a < b else b


@native
def most(a: int, b: int) -> int:
    return a if a > b else b


@native
def first_around(vma: int, page: int) -> int:
    return most(page & -FAULT_AROUND, as_uint(at(vma + START)))


@native
def end_around(vma: int, file: int, first: int) -> int:
    """Of the neighbours that map_around() looks at."""
    base = as_uint(at(vma + START)) - as_uint(at(vma + PGOFF)) * PAGE_SIZE
    end = least(first + FAULT_AROUND, ((first >> PMD_SHIFT) + 1) << PMD_SHIFT)
    return least(end, least(as_uint(at(vma + END)), base + as_uint(at(at(file + INODE) + I_SIZE))))


@native
def check_around(s: Words, mm: int, vma: int, file: int, page: int, index: int) -> int:
    """Declines where a neighbour would have to be read first."""
    mapping = mapping_of(s, file)
    if at(mapping + FILLER) == s[NONE]:
        return 0
    address = first_around(vma, page)
    end = end_around(vma, file, address)
    while address < end:
        if not entry(
            at(mapping + CACHED),
            index - (page - address) // PAGE_SIZE if address < page else index + (address - page) // PAGE_SIZE,
        ):
            if not entry(at(mm + PAGES), address):
                decline()
        address += PAGE_SIZE
    return 0


@native
def map_around(s: Words, mm: int, vma: int, file: int, page: int, index: int) -> int:
    """fault_around.py: map_around()."""
    cached = at(mapping_of(s, file) + CACHED)
    pages = at(mm + PAGES)
    address = first_around(vma, page)
    end = end_around(vma, file, address)
    table = place_of(mm, page & -(1 << PMD_SHIFT))
    prot = as_uint(at(vma + PROT))
    bits = rights(prot if is_shared(vma) else prot & ~PROT_WRITE)
    while address < end:
        found = entry(
            cached, index + (address - page) // PAGE_SIZE if address > page else index - (page - address) // PAGE_SIZE
        )
        if found and not entry(pages, address):
            get_page(s, as_uint(found))
            set_entry(pages, address, found)
            set_place(table + 8 * (address >> PAGE_SHIFT & 511), as_uint(found) | bits)
        address += PAGE_SIZE
    return 0


@native
def enter_page(s: Words, mm: int, vma: int, page: int, phys: int) -> int:
    """Mm._map()."""
    prot = as_uint(at(vma + PROT))
    if prot & PROT_WRITE and not is_shared(vma) and is_used(s, phys):
        prot &= ~PROT_WRITE
    place = place_of(mm, page)
    if at(place):
        shared[Word.TLB_DIRTY] = 1
    set_place(place, phys | rights(prot))
    return 0


@native
def begin_fault(s: Words, task: int) -> int:
    """FaultsInPlace.take() before it looks at areas: what user code has used since the last time, ns."""
    if as_uint(at(task + WORK)) or at(s[AREA_EVENTS]) != s[NONE]:
        decline()
    for i in range(NR_EVENTS):
        if as_uint(at(s[ACTIVE + i])):
            decline()
    pending = (shared[Word.WORK] - shared[Word.WORK_SEEN]) * NS_PER_WORK
    if as_uint(at(shared[Word.CLOCK])) + COST + pending // shared[Word.BUSY_CPUS] >= as_uint(at(s[DEADLINE])):
        decline()
    return pending


@native
def end_fault(s: Words, task: int, pending: int) -> int:
    """Its time, and the counts."""
    set_uint(shared[Word.CLOCK], as_uint(at(shared[Word.CLOCK])) + COST + pending // shared[Word.BUSY_CPUS])
    if pending:
        shared[Word.WORK_SEEN] = shared[Word.WORK]
        set_uint(task + UTIME, as_uint(at(task + UTIME)) + pending)
    set_uint(s[NR_FAULTS], as_uint(at(s[NR_FAULTS])) + 1)
    set_uint(task + MIN_FLT, as_uint(at(task + MIN_FLT)) + 1)
    return 0


@native
def bring_new(s: Words, mm: int, vma: int, page: int, code: int) -> int:
    """Mm.bring() of a page that is not there."""
    file = at(vma + FILE)
    pages = at(mm + PAGES)
    if at(place_of(mm, page)) or at(vma + PRIVATE) != s[NONE]:
        decline()
    if file == s[NONE]:
        check_room(s)
        phys = alloc_page(s)
        zero(shared[Word.DIRECT] + phys, PAGE_SIZE)
        set_uint_entry(pages, page, phys)
        return enter_page(s, mm, vma, page, phys)
    index = as_uint(at(vma + PGOFF)) + (page - as_uint(at(vma + START))) // PAGE_SIZE
    found = cached_page(s, vma, file, index)
    if code & FAULT_WRITE:
        if is_shared(vma) or at(vma + ANON) != s[TRUE]:
            decline()
        check_room(s)
        phys = copied(s, as_uint(found))
        set_uint_entry(pages, page, phys)
        return enter_page(s, mm, vma, page, phys)
    phys = as_uint(found)
    check_around(s, mm, vma, file, page, index)
    if at(s[PINS] + LENGTH):
        decline()
    get_page(s, phys)
    set_entry(pages, page, found)
    map_around(s, mm, vma, file, page, index)
    return enter_page(s, mm, vma, page, phys)


@native
def bring_present(s: Words, mm: int, vma: int, page: int, code: int, found: int) -> int:
    """Mm.bring() of a page that is there: its right is missing, or the page table has no entry yet."""
    phys = as_uint(found)
    place = place_of(mm, page)
    used = is_used(s, phys)
    if code & FAULT_WRITE and used and not is_shared(vma):
        if at(vma + ANON) != s[TRUE]:
            decline()
        check_room(s)
        new = copied(s, phys)
        set_uint_entry(at(mm + PAGES), page, new)
        count = item(s[COUNTS], phys >> PAGE_SHIFT)
        set_uint(count, as_uint(at(count)) - 1)
        return enter_page(s, mm, vma, page, new)
    prot = as_uint(at(vma + PROT))
    bits = rights(prot & ~PROT_WRITE if used and not is_shared(vma) else prot)
    if at(place) == phys | bits:
        decline()  # it is looked at whether the CPU reads these tables as they were written
    return enter_page(s, mm, vma, page, phys)


@native
def fault_in_place(s: Words, code: int, address: int) -> int:
    """FaultsInPlace.take()."""
    task = shared[Word.TASK]
    mm = at(task + MM)
    if mm == s[NONE]:
        decline()
    pending = begin_fault(s, task)
    vma = area_of(mm, address)
    if as_uint(at(vma + USERFAULT)) or at(vma + FAULT) != s[NONE] or not may(as_uint(at(vma + PROT)), code):
        decline()
    if at(mm + SOFT_DIRTY) != s[NONE] or at(at(mm + USERFAULT_WP) + LENGTH):
        decline()
    page = address & -PAGE_SIZE
    found = entry(at(mm + PAGES), page)
    if found:
        bring_present(s, mm, vma, page, code, found)
    else:
        bring_new(s, mm, vma, page, code)
    end_fault(s, task, pending)
    return 1


class NativeFaults:
    """The code and the words of one machine, from some faults on."""

    def __init__(self, k: FsKernel, places: Sequence[TracepointSlot], after: int) -> None:
        self.k, self.places, self.after = k, places, after
        self.freed = (ctypes.c_char * k.physical.nr_pages).from_buffer(k.physical.freed)

    def load(self) -> tuple[int, int]:
        """Addresses of both."""
        k, physical, frames = self.k, self.k.physical, self.k.mm.frames
        words = (
            id(None), id(True), id(File), id(physical.refcounts), ctypes.addressof(self.freed), physical.nr_pages, id(frames.pins),
            slot_address(k.cpus, "deadline"), slot_address(k.mm, "nr_faults"), slot_address(k.mm, "events"),
            slot_address(frames, "charger"), slot_address(frames, "events"), slot_address(physical, "lowest"),
            slot_address(physical, "watermark"), slot_address(physical, "free_pages"),
            *(slot_address(place, "active") for place in self.places),
        )  # fmt: skip
        self.words = (ctypes.c_uint64 * len(words))(*words)
        self.code = Library((fault_in_place,), k.mem.byteorder == "big")
        return self.code.address["fault_in_place"], ctypes.addressof(self.words)


def native_faults(k: FsKernel, places: Sequence[TracepointSlot]) -> NativeFaults | None:
    """At boot, with the places of EVENTS; None where only Python is wanted."""
    hot = HOT_FAULTS.get(chosen_tier())
    return None if hot is None else NativeFaults(k, places, hot)
