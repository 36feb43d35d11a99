"""The MMU: page tables of user address spaces, and Python's view of user memory.

A user address space is a radix tree of page tables that lives in simulated physical memory: four levels of 512
64-bit entries, the same on every architecture, because only our own TLB fill (arch/native/) walks it.  Python changes
them here.  After a change that takes rights away, cached translations must go: `AddressSpace` marks itself dirty and
the CPU flushes before it runs user code again (`Cpu.run`, and at once through `on_change`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from arch.abi.limits import PAGE_SHIFT, PAGE_SIZE
from arch.errors import CorruptMemory, Fault
from arch.memory import PAGE_MASK, ByteOrder, PhysicalMemory

# Page-table entry: pfn << 12 | flags, a 64-bit word in the host's byte order.
PTE_PRESENT = 1
PTE_READ = 2
PTE_WRITE = 4
PTE_EXEC = 8
PTE_SOFT_SHIFT = 4  # bits 4..11 are free for the kernel (copy-on-write marks and the like)
PTE_FLAGS = 0xFFF

_NO_ENTRIES = memoryview(bytes(PAGE_SIZE)).cast("Q")
_NEEDED = {"read": PTE_READ, "write": PTE_WRITE, "exec": PTE_EXEC}


class PageTable:
    """A radix tree of page tables: four levels, nine bits each, over 48-bit addresses."""

    def __init__(self, phys: PhysicalMemory) -> None:
        self.phys = phys
        self.root = phys.alloc_page() << PAGE_SHIFT
        self.leaves: dict[int, int] = {}  # address >> 21 -> word index of the leaf table in phys.words
        self._tables = [self.root >> PAGE_SHIFT]

    def leaf(self, addr: int) -> int:
        """Word index of the leaf table for an address, made if missing."""
        key = addr >> 21
        leaf = self.leaves.get(key)
        if leaf is not None:
            return leaf
        words = self.phys.words
        table = self.root
        for shift in (39, 30, 21):
            at = (table >> 3) + ((addr >> shift) & 511)
            entry = words[at]
            if entry == 0:
                pfn = self.phys.alloc_page()
                self._tables.append(pfn)
                entry = words[at] = (pfn << PAGE_SHIFT) | PTE_PRESENT
            elif entry >= self.phys.size:
                raise CorruptMemory(f"page table at {table:#x}: entry {entry:#x}")
            table = entry & ~PTE_FLAGS
        leaf = self.leaves[key] = table >> 3
        return leaf

    def set(self, addr: int, entry: int) -> None:
        """Store the entry of one page."""
        self.phys.words[self.leaf(addr) + ((addr >> PAGE_SHIFT) & 511)] = entry

    def verify(self, addr: int) -> None:
        """CorruptMemory unless what the CPU walks is what was entered: tables lie where broken programs can write."""
        table = self.root
        for shift in (39, 30, 21):
            entry = self.phys.words[(table >> 3) + ((addr >> shift) & 511)]
            table = entry & ~PTE_FLAGS
            if entry >= self.phys.size:
                raise CorruptMemory(f"page tables of {addr:#x}: entry {entry:#x}")
        if table >> 3 != self.leaves.get(addr >> 21):
            raise CorruptMemory(f"page tables of {addr:#x}: another leaf, {table:#x}")

    def get(self, addr: int) -> int:
        """Entry of one page; 0 when there is none."""
        leaf = self.leaves.get(addr >> 21)
        return 0 if leaf is None else self.phys.words[leaf + ((addr >> PAGE_SHIFT) & 511)]

    def entries(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """(page address, entry) of every entry that is not zero in [start, end), in order of address."""
        words = self.phys.words
        for key in sorted(k for k in self.leaves if start >> 21 <= k <= (end - 1) >> 21):
            leaf = self.leaves[key]
            base = key << 21
            for i in range(512):
                entry = words[leaf + i]
                addr = base + (i << PAGE_SHIFT)
                if entry and start <= addr < end:
                    yield addr, entry

    def occupied(self, start: int, end: int) -> bool:
        """Whether there is an entry in [start, end): by tables, whatever the range."""
        first, last, leaves = start >> 21, (end - 1) >> 21, self.leaves
        for key in range(first, last + 1) if last - first < len(leaves) else leaves:
            leaf = leaves.get(key)
            if leaf is None or not first <= key <= last:
                continue
            low = start >> PAGE_SHIFT & 511 if key == first else 0
            high = (end - 1 >> PAGE_SHIFT & 511) + 1 if key == last else 512
            if self.phys.words[leaf + low : leaf + high] != _NO_ENTRIES[low:high]:
                return True
        return False

    def clear(self) -> None:
        """No page is present any more."""
        for leaf in self.leaves.values():
            self.phys.words[leaf : leaf + 512] = _NO_ENTRIES

    def destroy(self) -> None:
        """Free the tables."""
        for pfn in self._tables:
            self.phys.put_page(pfn)
        self._tables.clear()
        self.leaves.clear()


class AddressSpace:
    """The page tables of one process.  Addresses below `limit` only."""

    def __init__(self, phys: PhysicalMemory, limit: int, byteorder: ByteOrder) -> None:
        self.phys = phys
        self.limit = limit
        self.byteorder: ByteOrder = byteorder
        self.table = PageTable(phys)
        # Set by the CPU while this is its current address space: called after rights were taken away.
        self.on_change: Callable[[], None] | None = None
        self.ldt = 0  # x86: where the process's own descriptors are in kernel memory; 0: it has none
        self.ldt_entries = 0

    @property
    def root(self) -> int:
        """Physical address of the top table."""
        return self.table.root

    def map(self, addr: int, pfn: int, prot: int) -> None:
        """Enter one page: `prot` is PTE_READ|PTE_WRITE|PTE_EXEC and soft bits.  Takes no reference on the page."""
        self._check(addr)
        words, at = self.phys.words, self.table.leaf(addr) + ((addr >> PAGE_SHIFT) & 511)
        old, entry = words[at], (pfn << PAGE_SHIFT) | prot | PTE_PRESENT
        words[at] = entry
        if old == entry:  # a fault on what is mapped: a stale translation, or tables that the CPU reads otherwise
            self.table.verify(addr)
        if old and self.on_change is not None:
            self.on_change()

    def unmap(self, addr: int) -> int:
        """Remove one page; returns the old entry (0 if there was none).  Drops no reference."""
        old = self.table.get(addr)
        if old:
            self.table.set(addr, 0)
            if self.on_change is not None:
                self.on_change()
        return old

    def protect(self, addr: int, prot: int) -> None:
        """Change the rights (and soft bits) of a present page."""
        old = self.table.get(addr)
        if not old:
            raise Fault(addr, "read")
        self.table.set(addr, (old & ~PTE_FLAGS) | prot | PTE_PRESENT)
        if self.on_change is not None:
            self.on_change()

    def entry(self, addr: int) -> int:
        """The page-table entry for the address; 0 when nothing is mapped."""
        return self.table.get(addr) if 0 <= addr < self.limit else 0

    def add(self, present: dict[int, int], prot: int) -> None:
        """Enter pages of one table that are not there yet: address -> physical address."""
        words, flags = self.phys.words, prot | PTE_PRESENT
        leaf = self.table.leaf(next(iter(present)))
        for addr, phys in present.items():
            words[leaf + (addr >> PAGE_SHIFT & 511)] = phys | flags

    def clear(self) -> None:
        """Remove all pages."""
        self.table.clear()
        if self.on_change is not None:
            self.on_change()

    def entries(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """(page address, entry) of every present page in [start, end), in order."""
        return self.table.entries(start, end)

    def occupied(self, start: int, end: int) -> bool:
        """Whether a page of [start, end) is present."""
        return start < end and self.table.occupied(start, end)

    def translate(self, addr: int, access: str) -> int:
        """Physical address, if user code may do this access ("read", "write", "exec"); else Fault."""
        entry = self.entry(addr)
        if not entry & _NEEDED[access] or entry >= self.phys.size:
            raise Fault(addr, access)
        return (entry & ~PTE_FLAGS) | (addr & (PAGE_SIZE - 1))

    def destroy(self) -> None:
        """Free the page tables (not the pages)."""
        if self.on_change is not None:
            self.on_change()
        self.table.destroy()

    def _check(self, addr: int) -> None:
        if not 0 <= addr < self.limit:
            raise Fault(addr, "write")


class UserMemory:
    """Memory protocol over an AddressSpace, with user rights.  Raises Fault where a user access would.

    `on_fault(addr, access) -> bool` may bring a page in (demand paging, copy on write); True means try again.
    """

    def __init__(self, space: AddressSpace, on_fault: Callable[[int, str], bool] | None = None) -> None:
        self.space = space
        self.byteorder: ByteOrder = space.byteorder
        self.on_fault = on_fault
        self.on_code_change: Callable[[int, int], None] | None = None  # (paddr, size): see Cpu.code_page_changed
        self._buf = space.phys.buf
        self._leaves, self._words, self._limit = space.table.leaves, space.phys.words, space.limit
        self._end = space.phys.size  # an entry below it names a page that exists: its flags are the low bits
        self._nofault: UserMemory | None = None

    @property
    def nofault(self) -> UserMemory:
        """The same with pagefault_disable(): a page that is not there yet is a Fault."""
        if self._nofault is None:
            self._nofault = UserMemory(self.space)
            self._nofault.on_code_change = self.on_code_change
        return self._nofault

    def _translate(self, addr: int, need: int, access: str) -> int:
        """Physical address of one byte whose page allows the access."""
        for _ in range(3):  # a fault may have to be taken twice: bring in, then copy
            leaf = self._leaves.get(addr >> 21)
            if leaf is not None and addr < self._limit:
                entry = self._words[leaf + (addr >> PAGE_SHIFT & 511)]
                if entry & need and entry < self._end:
                    return (entry & ~PTE_FLAGS) | (addr & (PAGE_SIZE - 1))
            if self.on_fault is None or not self.on_fault(addr, access):
                break
        raise Fault(addr, access)

    def read(self, addr: int, size: int) -> bytes:
        """Bytes at a user address."""
        room = PAGE_SIZE - (addr & (PAGE_SIZE - 1))
        if size <= room:
            if size <= 0:
                return b""
            at = self._translate(addr, PTE_READ, "read")
            return self._buf[at : at + size]
        parts = []
        while size > 0:
            step = min(size, room)
            at = self._translate(addr, PTE_READ, "read")
            parts.append(self._buf[at : at + step])
            addr, size, room = addr + step, size - step, PAGE_SIZE
        return b"".join(parts)

    def write(self, addr: int, data: bytes) -> None:
        """Store bytes; needs the write right.  Bytes before a fault stay written, as with copy_to_user."""
        self._store(addr, data, PTE_WRITE, "write")

    def poke(self, addr: int, data: bytes) -> None:
        """Store bytes without the write right (breakpoints, ptrace); translated code there is dropped."""
        self._store(addr, data, PTE_PRESENT, "read")

    def _store(self, addr: int, data: bytes, need: int, access: str) -> None:
        done, size = 0, len(data)
        code_pages = self.space.phys.code_pages
        while done < size:
            step = min(size - done, PAGE_SIZE - (addr & (PAGE_SIZE - 1)))
            at = self._translate(addr, need, access)
            self._buf[at : at + step] = data[done : done + step]
            if code_pages[at >> PAGE_SHIFT] and self.on_code_change is not None:
                self.on_code_change(at, step)
            addr, done = addr + step, done + step

    def read_uint(self, addr: int, size: int) -> int:
        """A number in the machine's byte order."""
        return int.from_bytes(self.read(addr, size), self.byteorder)

    def write_uint(self, addr: int, size: int, value: int) -> None:
        """Store a number."""
        self.write(addr, (value & ((1 << (8 * size)) - 1)).to_bytes(size, self.byteorder))

    def read_cstring(self, addr: int, limit: int) -> bytes:
        """The bytes before the first NUL; all `limit` bytes if there is none."""
        out = bytearray()
        while len(out) < limit:
            at = self._translate(addr, PTE_READ, "read")
            step = min(limit - len(out), PAGE_SIZE - (addr & (PAGE_SIZE - 1)))
            piece = self._buf[at : at + step]
            end = piece.find(b"\0")
            if end >= 0:
                return bytes(out + piece[:end])
            out += piece
            addr += step
        return bytes(out)


def page_range(start: int, size: int) -> range:
    """Addresses of the pages that [start, start + size) touches."""
    return range(start & PAGE_MASK, start + size, PAGE_SIZE)


def kernel_page_table(phys: PhysicalMemory) -> tuple[PageTable, Any]:
    """The vmalloc area's table, and the function that keeps it in step (KernelMemory.on_vmalloc_change)."""
    table = PageTable(phys)

    def change(offset: int, pfn: int | None) -> None:
        entry = 0 if pfn is None else (pfn << PAGE_SHIFT) | PTE_PRESENT | PTE_READ | PTE_WRITE
        table.set(offset, entry)

    return table, change
