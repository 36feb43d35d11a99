"""Memory maps of a process: areas, demand paging, copy on write, brk, mmap, mremap.  mm/{mmap,memory,mremap,mprotect}.c.

A `Mm` holds the areas (`Vma`) and the page table: page-aligned virtual address -> physical address of the page.  The
CPU sees it through `space` (arch.mmu.AddressSpace), which holds only what is present and permitted; a miss comes back
as `Mm.fault()`.  Pages are counted in `Frames`: a page of the page cache belongs to its inode, an anonymous page is
freed with its last user.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Protocol

from arch.abi.errno import EACCES, EINVAL, EIO, ENOMEM
from arch.abi.limits import PAGE_SIZE
from arch.abi.mman import (
    MAP_FIXED,
    MAP_GROWSDOWN,
    MAP_POPULATE,
    MAP_PRIVATE,
    MAP_SHARED,
    MAP_SHARED_VALIDATE,
    MAP_TYPE,
    PROT_EXEC,
    PROT_READ,
    PROT_WRITE,
)
from arch.errors import KernelError, Poisoned
from arch.hosttime import check
from arch.memory import KernelMemory
from arch.mmu import PTE_READ, PTE_WRITE, AddressSpace, UserMemory
from simkernel.kernel.anon_vma import anon_vma_prepare, vma_merge, vma_merge_new
from simkernel.kernel.areas import (
    AREA_FLAGS,
    VMA_SIZE,
    Frames,
    MappedFile,
    SharedAnonymous,
    SpaceListener,
    Vma,
    page_down,
    page_up,
)
from simkernel.kernel.broken_pages import forget
from simkernel.kernel.fault_around import PTE_OF_PROT, map_around
from simkernel.kernel.unmapped_area import PlaceRules, get_unmapped_area
from simkernel.kernel.userfault import reason
from simkernel.kernel.watching import Told, tell_unmapped

STACK_GUARD, STACK_LIMIT = 256 * PAGE_SIZE, 8 << 20


class MmHome(PlaceRules, Protocol):
    """What an address space needs of the kernel: `k.mm` (address_spaces.py)."""

    @property
    def frames(self) -> Frames: ...
    @property
    def mem(self) -> KernelMemory: ...

    def mmap_changed(self, mm: Mm, vma: Vma) -> None:
        """An area was mapped, or became executable."""

    def munmap_notify(self, mm: Mm, start: int, end: int) -> None:
        """An area goes away."""

    def areas_changed(self, mm: Mm) -> None:
        """Areas are other ones than before."""

    def count_fault(self, mm: Mm, addr: int, access: str) -> None:
        """A page is about to be made present."""

    @property
    def events(self) -> SpaceListener | None: ...  # there while somebody listens

    def charge(self, size: int) -> None:
        """Bytes of memory that an area takes, negative when it goes.  KernelError(ENOMEM)."""

    max_map_count: int  # vm.max_map_count
    unmerge: Callable[[Mm, int, int], None]  # who takes equal pages apart: ksm.py
    ksm_enter: Callable[[Mm], None]  # who looks for them


class MmSlots:
    """What native code reads of an address space, too."""

    __slots__ = ("leaves", "pages", "soft_dirty", "starts", "userfault_wp", "vmas")


class Mm(MmSlots):
    """struct mm_struct and its page table."""

    user: UserMemory  # over `space`

    def __init__(self, home: MmHome, space: AddressSpace) -> None:
        self.home, self.space, self.leaves = home, space, space.table.leaves
        self.vmas: list[Vma] = []
        self.starts: list[int] = []
        self.pages: dict[int, int] = {}  # page address -> physical address
        self.users, self.addr, self.mergeable = 1, 0, False  # MMF_VM_MERGEABLE
        self.start_code = self.end_code = self.start_data = self.end_data = self.start_brk = self.brk = 0
        self.start_stack = self.rss_peak = self.vdso = self.ksm_merging_pages = self.ksm_rmap_items = 0
        self.arg_start = self.arg_end = self.env_start = self.env_end = 0
        self.auxv, self.mmap_base = b"", home.layout.mmap_base
        self.exe_file: MappedFile | None = None
        self.uprobes: object = None
        self.ioctx_table: dict[int, object] = {}  # contexts of asynchronous I/O: simkernel/fs/aio.py
        self.dumpable, self.dump_filter = 1, 0x33  # SUID_DUMP_*, and what a core holds: MMF_DUMP_* from bit 0
        self.membarrier_state = 0  # MEMBARRIER_CMD_REGISTER_* that were done
        self.sealed: tuple[tuple[int, int], ...] = ()  # (start, end) of mseal(2)
        self.lock_future = self.thp_disabled = False  # mlockall(MCL_FUTURE); PR_SET_THP_DISABLE, which is only kept
        self.poisoned: set[int] = set()  # pages that are broken: memory_failure.py
        self.told: list[Told] = []  # what watchers of its areas have yet to read: watching.py
        self.userfault_wp: set[int] = set()  # pages whose writes user space is told of first: userfault.py
        self.soft_dirty: set[int] | None = None  # pages written since clear_refs; None while nobody asked
        self._no_gap = (1 << 64, 0)  # (size, address): no hole of this size lies between there and mmap_base

    # -- areas ---------------------------------------------------------------------------------------------------

    def find(self, addr: int) -> Vma | None:
        """The area that contains `addr`."""
        index = bisect_right(self.starts, addr) - 1
        if index >= 0 and addr < self.vmas[index].end:
            return self.vmas[index]
        return None

    def find_next(self, addr: int) -> Vma | None:
        """find_vma(): the first area that ends above `addr`."""
        index = bisect_right(self.starts, addr) - 1
        if index >= 0 and addr < self.vmas[index].end:
            return self.vmas[index]
        return self.vmas[index + 1] if index + 1 < len(self.vmas) else None

    def insert(self, vma: Vma, tell: bool = True) -> None:
        """Add an area; the range must be free.  KernelError(ENOMEM), and nothing has changed.

        Without `tell` it may yet become a part of its neighbour, which needs no new struct.
        """
        self.home.charge(VMA_SIZE)
        index = bisect_right(self.starts, vma.start)
        self.vmas.insert(index, vma)
        self.starts.insert(index, vma.start)
        if vma.file is not None:
            vma.file.get()
        if self.home.events is not None:
            if tell:
                self.home.events.area_made(self, vma, "vm_area_alloc")
            self.home.events.stored(self, vma)
        self.home.mmap_changed(self, vma)

    def _index(self, vma: Vma) -> int:
        """Where in the list; starts are distinct."""
        return bisect_right(self.starts, vma.start) - 1

    def check_count(self, more: int = 1) -> None:
        """ENOMEM when so many more areas would be too many."""
        if len(self.vmas) + more > self.home.max_map_count:
            raise KernelError(ENOMEM, "vm.max_map_count")

    def _remove(self, vma: Vma) -> None:
        index = self._index(vma)
        del self.vmas[index], self.starts[index]
        self.home.charge(-VMA_SIZE)
        self._no_gap = (1 << 64, 0)
        if self.home.events is not None:
            self.home.events.area_gone(self, vma)
        self._close(vma)

    def _close(self, vma: Vma) -> None:
        """remove_vma()."""
        self.home.mem.free(vma.addr)
        vma.addr = 0
        if vma.ops is not None:
            vma.ops.closed()
        if vma.file is not None:
            vma.file.put()

    def overlaps(self, start: int, end: int) -> list[Vma]:
        """Areas that touch [start, end)."""
        first = max(bisect_right(self.starts, start) - 1, 0)
        vmas = self.vmas[first : bisect_left(self.starts, end)]
        return vmas if not vmas or vmas[0].end > start else vmas[1:]

    def split_at(self, addr: int) -> None:
        """Make `addr` a border between areas.  EINVAL, ENOMEM."""
        vma = self.find(addr)
        if vma is None or vma.start == addr:
            return
        if vma.ops is not None and not vma.ops.splits():
            raise KernelError(EINVAL)
        self.home.charge(VMA_SIZE)
        anon_vma_prepare(self, vma)
        upper = vma.clone(addr, vma.end)
        vma.end = addr
        index = bisect_right(self.starts, addr)
        self.vmas.insert(index, upper)
        self.starts.insert(index, addr)
        if self.home.events is not None:
            self.home.events.area_made(self, upper, "vm_area_dup")
        if upper.file is not None:
            upper.file.get()
        if upper.ops is not None:
            upper.ops.opened()

    def _merge_new(self, vma: Vma) -> None:
        """An area has just come; its struct, where it stays one of its own."""
        self._join(vma, *vma_merge_new(self, vma, self._index(vma)))
        if self.home.events is not None and self.find(vma.start) is vma:
            self.home.events.area_made(self, vma, "vm_area_alloc")

    def merge_anonymous(self, vma: Vma) -> None:
        """Neighbours of anonymous private memory that became equal are one area."""
        self._join(vma, *vma_merge(self, vma, self._index(vma)))

    def _join(self, vma: Vma, before: Vma | None, after: Vma | None) -> None:
        """The neighbours that an area becomes one with."""
        for a, b in ((vma, after), (before, vma)):
            if a is not None and b is not None:
                index = self._index(b)
                a.end = b.end
                a.soft_dirty |= b.soft_dirty
                a.anon_chain = a.anon_chain or b.anon_chain
                self.home.mem.free(b.addr)
                self.home.charge(-VMA_SIZE)
                del self.vmas[index], self.starts[index]

    def free_range(self, size: int, hint: int = 0) -> int:
        """get_unmapped_area(): top-down below mmap_base; the hint when that is free."""
        low = self.home.layout.mmap_min
        if hint and hint >= low and hint + size <= self.home.layout.task_size and not self.overlaps(hint, hint + size):
            return hint
        least, known = self._no_gap
        top = known if size >= least and known else self.mmap_base
        for index in range(bisect_left(self.starts, top) - 1, -1, -1):
            vma = self.vmas[index]
            if vma.end <= top and top - vma.end >= size:
                break
            top = min(top, vma.start)
        if self.home.events is not None:
            self.home.events.searched(self, size, low, top - size if top - size >= low else -ENOMEM)
        if top - size < low:
            raise KernelError(ENOMEM)
        self._no_gap = (size, top)
        return top - size

    def read(self, addr: int, size: int) -> bytes:
        """Bytes of this address space, whoever runs: /proc/PID/cmdline and the like.  Fault."""
        return bytes(self.user.read(addr, size))

    @property
    def rss_pages(self) -> int:
        """Present pages."""
        return len(self.pages)

    @property
    def total_vm(self) -> int:
        """Mapped pages."""
        return self.total_pages()

    def total_pages(self) -> int:
        """mm->total_vm."""
        return sum(v.end - v.start for v in self.vmas) // PAGE_SIZE

    def stack_pages(self) -> int:
        """mm->stack_vm: of areas that grow down."""
        return sum(v.end - v.start for v in self.vmas if v.flags & MAP_GROWSDOWN) // PAGE_SIZE

    def data_bytes(self) -> int:
        """mm->data_vm, in bytes."""
        return sum(
            v.end - v.start for v in self.vmas if v.prot & PROT_WRITE and not v.shared and not v.flags & MAP_GROWSDOWN
        )

    def exec_pages(self) -> int:
        """mm->exec_vm: code, which nobody writes."""
        code = (v for v in self.vmas if v.prot & PROT_EXEC and not v.prot & PROT_WRITE and not v.flags & MAP_GROWSDOWN)
        return sum(v.end - v.start for v in code) // PAGE_SIZE

    def locked_pages(self, start: int = 0, end: int = 1 << 64) -> int:
        """mm->locked_vm, of all areas or of a range."""
        areas = (v for v in self.vmas if v.locked)
        return sum(max(0, min(v.end, end) - max(v.start, start)) for v in areas) // PAGE_SIZE

    # -- pages ---------------------------------------------------------------------------------------------------

    def fault(self, addr: int, access: str) -> bool:
        """handle_mm_fault(): make the page present for "read", "write" or "exec"; False or KernelError(EACCES)
        is SIGSEGV, KernelError(EFAULT) SIGBUS.
        """
        vma = self.find(addr)
        if vma is None:
            vma = self._grow_stack(addr)
            if vma is None:
                return False
        return self.may(vma, access) and self.bring(vma, addr, access)

    def may(self, vma: Vma, access: str) -> bool:
        """An area's rights allow it."""
        need = PROT_WRITE if access == "write" else PROT_EXEC if access == "exec" else PROT_READ
        return bool(vma.prot & need) or (need == PROT_READ and bool(vma.prot & (PROT_WRITE | PROT_EXEC)))

    def bring(self, vma: Vma, addr: int, access: str) -> bool:
        """fault() in an area that allows it."""
        self.home.count_fault(self, addr, access)
        page = addr & ~(PAGE_SIZE - 1)
        write = access == "write"
        if write and self.soft_dirty is not None:
            self.soft_dirty.add(page)
        if vma.userfault and reason(vma, page, page in self.pages, write, self.userfault_wp):
            return False
        phys = self.pages.get(page)
        frames, events = self.home.frames, self.home.events
        was = events.fault_begins(self, vma, page) if events is not None else None
        if phys is None:
            if events is not None:
                events.file_fault(vma, page, write)
            phys = self.pages[page] = self._new_page(vma, page, write)
            if not write:
                map_around(self, vma, page, frames, events)
        elif write and not vma.shared and frames.shared(phys):
            phys = self._copy_page(vma, page, phys)
        if events is not None:
            events.mapped(self, vma, page, was)
        self._map(vma, page, phys)
        return True

    def _new_page(self, vma: Vma, page: int, write: bool) -> int:
        if page in self.poisoned:
            raise Poisoned
        frames = self.home.frames
        pgoff = vma.pgoff + (page - vma.start) // PAGE_SIZE
        if vma.fault is not None:
            phys = vma.fault(vma, pgoff)
            frames.get_page(phys)
            return phys
        if vma.file is None:
            return frames.alloc_page()
        phys = vma.file.inode.get_page(pgoff)
        if write and not vma.shared:
            vma.anon = True
            return frames.copy_page(phys)
        if write:
            vma.file.update_time()
        frames.get_page(phys)
        return phys

    def _copy_page(self, vma: Vma, page: int, phys: int) -> int:
        vma.anon = True
        new = self.home.frames.copy_page(phys)
        self.pages[page] = new
        self.home.frames.put_page(phys)
        return new

    def _map(self, vma: Vma, page: int, phys: int) -> None:
        prot = vma.prot
        if prot & PROT_WRITE and not vma.shared and self.home.frames.shared(phys):
            prot &= ~PROT_WRITE
        if (self.soft_dirty is not None and page not in self.soft_dirty) or page in self.userfault_wp:
            prot &= ~PROT_WRITE
        self.space.map(page, phys >> 12, PTE_OF_PROT[prot])

    def watches_writes(self) -> bool:
        """First writes are noted, or user space is told of them."""
        return self.soft_dirty is not None or bool(self.userfault_wp)

    def show(self, vma: Vma, page: int) -> None:
        """A present page may be used as its area says now."""
        self._map(vma, page, self.pages[page])

    def _grow_stack(self, addr: int) -> Vma | None:
        vma = self.find_next(addr)
        if vma is None or not vma.flags & MAP_GROWSDOWN or vma.end - addr > STACK_LIMIT:
            return None
        index = self._index(vma)
        new_start = page_down(addr)
        if index and new_start - self.vmas[index - 1].end < STACK_GUARD and self.vmas[index - 1].prot:
            return None
        vma.pgoff -= (vma.start - new_start) // PAGE_SIZE
        vma.start = self.starts[index] = new_start
        if self.home.events is not None:
            self.home.events.stored(self, vma)
        return vma

    def unmap_pages(self, start: int, end: int, keep_poison: bool = False) -> None:
        """zap_page_range(): forget present pages."""
        if self.poisoned and not keep_poison:
            forget(self, start, end)
        put = self.home.frames.put_page
        unmap = self.space.unmap
        if self.home.events is not None:
            self.home.events.zap(self, start, end)
        for page in self.present(start, end):
            unmap(page)
            put(self.pages.pop(page))
            if page not in self.poisoned:
                self.userfault_wp.discard(page)
            if self.soft_dirty is not None:
                self.soft_dirty.discard(page)

    def clear_soft_dirty(self) -> None:
        """clear_refs(CLEAR_REFS_SOFT_DIRTY): from now on a page is noted when it is first written."""
        self.soft_dirty = set()
        for vma in self.vmas:
            vma.soft_dirty = False
            self.write_protect(vma)

    def present(self, start: int, end: int) -> list[int]:
        """Addresses of the present pages in [start, end)."""
        pages = self.pages
        if (end - start) // PAGE_SIZE > len(pages):
            return [p for p in pages if start <= p < end]
        return [p for p in range(start, end, PAGE_SIZE) if p in pages]

    def peek(self, addr: int, size: int) -> bytes:
        """For a tracer: bytes of one page that its owner may not read.  EIO."""
        vma = self.find(addr)
        if vma is None or vma.secret:
            raise KernelError(EIO)
        page = page_down(addr)
        phys = self.pages.get(page)
        if phys is None:
            phys = self.pages[page] = self._new_page(vma, page, False)
        return self.home.frames.read(phys + addr - page, size)

    def poke(self, addr: int, data: bytes) -> None:
        """For a tracer: write whatever the rights are; a private page becomes the task's own first.  EIO."""
        frames = self.home.frames
        while data:
            vma, page = self.find(addr), page_down(addr)
            if vma is None or vma.secret or (vma.shared and not vma.prot & PROT_WRITE):
                raise KernelError(EIO)
            phys = self.pages.get(page)
            if phys is None:
                phys = self.pages[page] = self._new_page(vma, page, True)
            elif not vma.shared and frames.shared(phys):
                phys = self._copy_page(vma, page, phys)
            step = min(len(data), page + PAGE_SIZE - addr)
            frames.write(phys + addr - page, data[:step])
            if self.soft_dirty is not None:
                self.soft_dirty.add(page)
            self.space.unmap(page)
            self._map(vma, page, phys)
            if self.user.on_code_change is not None:
                self.user.on_code_change(phys + addr - page, step)
            addr, data = addr + step, data[step:]

    # -- the calls -----------------------------------------------------------------------------------------------

    def map(
        self,
        addr: int,
        length: int,
        prot: int,
        flags: int,
        file: MappedFile | None = None,
        pgoff: int = 0,
        name: str = "",
        locked: bool = False,
        place: int | None = None,
    ) -> int:
        """do_mmap(): the address, or KernelError.  `place` is what get_unmapped_area() said, if it was asked before."""
        if not length:
            raise KernelError(EINVAL)
        size, asked, prot = page_up(length), page_up(addr), prot & 7
        if place is None:
            self.check_count(0)
            place = get_unmapped_area(self, addr, size, flags)
        addr = place
        kind = flags & MAP_TYPE
        if kind not in (MAP_SHARED, MAP_PRIVATE, MAP_SHARED_VALIDATE):
            raise KernelError(EINVAL)
        vma = Vma(addr, addr + size, prot, flags & AREA_FLAGS, file, pgoff, name)
        vma.locked, vma.asked = int(locked), asked
        if file is not None:
            self._check_file(vma, file)
        elif vma.shared:
            pages = SharedAnonymous(self.home.frames)
            vma.private, vma.fault, vma.ops, vma.pgoff = pages, pages.fault, pages, 0
        try:
            if flags & MAP_FIXED:
                self._clear(addr, size)
            self.insert(vma, file is not None or vma.shared)
        except KernelError:
            if vma.ops is not None:
                vma.ops.closed()
            raise
        if file is None and not vma.shared:
            self._merge_new(vma)
        if (flags & MAP_POPULATE or locked) and prot:
            self.populate(addr, size, "write" if prot & PROT_WRITE and not vma.shared else "read")
        return addr

    def _clear(self, addr: int, size: int) -> None:
        """munmap_vma_range(): whatever is in the way of a new area.  ENOMEM, also for what may not be split."""
        try:
            self.unmap(addr, size)
        except KernelError:
            raise KernelError(ENOMEM) from None

    def populate(self, addr: int, size: int, access: str) -> None:
        """mm_populate(): as many pages as there are; what fails is met again when it is touched."""
        need = PTE_WRITE if access == "write" else PTE_READ
        for page in range(addr, addr + size, PAGE_SIZE):
            if not self.space.entry(page) & need and not self.on_fault(page, access):
                return
            check()

    def _check_file(self, vma: Vma, file: MappedFile) -> None:
        accmode = file.flags & 3
        if accmode == 1:
            raise KernelError(EACCES)
        if vma.shared and vma.prot & PROT_WRITE and accmode != 2:
            raise KernelError(EACCES)
        if vma.shared and accmode != 2:
            vma.may &= ~PROT_WRITE
        file.mmap(vma)

    def unmap(self, addr: int, length: int) -> None:
        """do_munmap(): a hole is not an error."""
        if addr & (PAGE_SIZE - 1) or not length:
            raise KernelError(EINVAL)
        end = addr + page_up(length)
        if end > self.home.layout.task_size:
            raise KernelError(EINVAL)
        whole = self.find(addr)
        if whole is not None and whole.start < addr and end < whole.end:
            self.check_count()
        self.split_at(addr)
        self.split_at(end)
        tell_unmapped(self.told, (vma.watcher for vma in self.overlaps(addr, end)), addr, end)
        for vma in self.overlaps(addr, end):
            self.home.munmap_notify(self, vma.start, vma.end)
            self.unmap_pages(vma.start, vma.end)
            self._remove(vma)
            check()
        self.home.areas_changed(self)

    def reprotect(self, vma: Vma) -> None:
        """Present pages stay, with the new rights: change_pte_range()."""
        if not vma.prot:
            anon_vma_prepare(self, vma)  # while the tables still say which there are
        for page in self.present(vma.start, vma.end):
            if vma.prot:
                self.show(vma, page)
            else:
                self.space.unmap(page)

    def set_brk(self, value: int) -> int:
        """brk(2): the new end of the heap, or the old one when it cannot move."""
        if value < self.start_brk:
            return self.brk
        old, new = page_up(self.brk), page_up(value)
        if new > old:
            if self.overlaps(old, new + PAGE_SIZE):
                return self.brk
            vma = Vma(old, new, PROT_READ | PROT_WRITE, MAP_PRIVATE, name="[heap]")
            try:
                self.insert(vma, False)
            except KernelError:
                return self.brk
            self._merge_new(vma)
        elif new < old:
            self.unmap(new, old - new)
        self.brk = value
        return value

    # -- whole maps ----------------------------------------------------------------------------------------------

    def write_protect(self, vma: Vma) -> None:
        """Pages that others see, too, are not written in place."""
        entry, protect = self.space.entry, self.space.protect
        for page in self.present(vma.start, vma.end):
            if entry(page) & PTE_WRITE:
                protect(page, PTE_OF_PROT[vma.prot & ~PROT_WRITE])

    def release(self) -> None:
        """exit_mmap(): the pages and areas; the page tables go when no CPU uses them any more."""
        if self.home.events is not None:
            self.home.events.exit(self)
        self.space.clear()
        self.home.frames.put_pages(self.pages.values())
        self.pages.clear()
        for vma in self.vmas:
            self._close(vma)
        self.home.charge(-VMA_SIZE * len(self.vmas))
        self.vmas.clear()
        self.starts.clear()
        if self.exe_file is not None:
            self.exe_file.put()
            self.exe_file = None

    def on_fault(self, addr: int, access: str) -> bool:
        """The same for the kernel's own accesses to user memory; a page beyond a file's end is a fault there."""
        try:
            if self.home.events is not None:
                self.home.events.kernel_fault(self, addr, access)
            return self.fault(addr, access)
        except KernelError:
            return False
