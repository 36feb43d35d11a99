"""What observers hear of user pages: the page allocator, the LRU lists, the counters of resident pages, the TLB.

mm/page_alloc.c, mm/swap.c, mm/memory.c, mm/rmap.c, arch/*/mm/tlb.c.  Nothing here runs while nobody listens: the places
ask `frames.events` and `mm.home.events`, which are None until one of LISTENED is enabled.

The pages of page tables, of the kernel's own structures and of pipes are not told of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from arch.abi.internal import GFP_HIGHUSER_MOVABLE, GFP_KERNEL, GFP_NOWAIT, GFP_NOWARN, GFP_ZERO, VMEMMAP_BASE
from arch.abi.limits import PAGE_SIZE
from arch.cpu import FAULT_PROT, FAULT_WRITE
from simkernel.kernel.areas import PMD_SHIFT, FilePages, Frames, Space, Vma
from simkernel.kernel.fault_around import window
from simkernel.kernel.mirror import Mirror
from simkernel.kernel.objects import CACHES, Objects
from simkernel.kernel.task import CurrentTask
from simkernel.kernel.tracepoints import Tracepoints, TracepointSlot

GFP_COMP = 0x40000  # include/linux/gfp_types.h: what vma_alloc_folio() adds
MIGRATE_MOVABLE = 1
PAGEVEC_SIZE = 15  # include/linux/pagevec.h: so many pages go to the LRU lists at once
RSS_EVENTS = 64  # TASK_RSS_EVENTS_THRESH: so many faults between two looks at the task's own counters.  mm/memory.c
TLB_ON_TASK_SWITCH, TLB_LOCAL_MM_SHOOTDOWN = 0, 3  # enum tlb_flush_reason
TLB_FLUSH_ALL = (1 << 64) - 1
VM_UNMAPPED_AREA_TOPDOWN = 1  # include/linux/mm.h
FLUSH_CEILING = 33  # tlb_single_page_flush_ceiling: more pages than these are flushed as a whole
FILE_PAGES, ANON_PAGES, SWAP_ENTRIES, SHMEM_PAGES = range(4)  # MM_*: include/linux/mm_types_task.h
# PAGEMAP_*; an anonymous page's "mapped to disk" says that it is one task's.
MAPPED, ANONYMOUS, FILE, SWAP_BACKED, EXCLUSIVE = 1, 2, 4, 0x10, 0x20
INACTIVE_ANON, INACTIVE_FILE = 0, 2  # enum lru_list
LISTENED = (
    "mm_page_alloc", "mm_page_free", "mm_page_free_batched", "mm_lru_insertion", "rss_stat", "tlb_flush",
    "vma_store", "vm_unmapped_area", "exit_mmap", "page_fault_kernel", "kmem_cache_alloc", "kmem_cache_free",
    "mm_filemap_add_to_page_cache", "mm_filemap_delete_from_page_cache", "mm_filemap_map_pages", "mm_filemap_fault",
)  # fmt: skip


class Listening(TracepointSlot):
    """A tracepoint's place that says when somebody begins or ends to listen."""

    __slots__ = ("_active", "changed")

    def __init__(self, name: str, changed: Callable[[], None]) -> None:
        self._active = False
        self.changed: Callable[[], None] = lambda: None
        super().__init__(name)
        self.changed = changed

    @property
    def active(self) -> bool:
        """Somebody listens."""
        return self._active

    @active.setter
    def active(self, value: bool) -> None:
        self._active = value
        self.changed()


class PageEvents:
    """`k.mm.page_events`: PageListener of areas.py and SpaceListener of mm.py."""

    def __init__(
        self, board: CurrentTask, frames: Frames, tracepoints: Tracepoints, mirror: Mirror,
        install: Callable[[PageEvents | None], None],
    ) -> None:  # fmt: skip
        self.board, self.frames, self.mirror, self.install = board, frames, mirror, install
        self.gfp = GFP_HIGHUSER_MOVABLE | (GFP_COMP if mirror.version.at_least("5.19") else 0)
        self.objects: Objects | None = None  # who tells of mm_struct and vm_area_struct
        self.page_size = mirror.size_of("struct page")
        self.points = {name: Listening(name, self._changed) for name in LISTENED}
        tracepoints.points.update(self.points)
        self.interrupted: Callable[[], int] = lambda: 0  # struct pt_regs at the place where the kernel is
        self.waiting: list[tuple[int, bool, bool]] = []  # lru_add: (physical address, anonymous, swap-backed)
        # task -> task->rss_stat: pages that mm->rss_stat does not know of yet
        self.cached: dict[int, dict[int, int]] = {}
        self.chains: dict[
            Vma, list[tuple[str, int]]
        ] = {}  # of an area: objects of reverse mapping, while somebody listens
        self.faults = 0  # since the last look
        self.copied: set[int] = set()  # pages to be filled with another's bytes, not mapped yet
        self.placed = (0, 0, 0)  # of the page that mm_filemap_* tells of: inode number, page of the file, dev_t
        self.inserted = (0, 0)  # of the page that mm_lru_insertion tells of: enum lru_list, PAGEMAP_*

    def _changed(self) -> None:
        listening = any(point.active for point in self.points.values())
        self.install(self if listening else None)
        if not listening:
            self.waiting.clear()
            self.cached.clear()
            self.copied.clear()
            for chain in self.chains.values():
                for _, address in chain:
                    self.mirror.mem.free(address)
            self.chains.clear()

    def _page(self, phys: int) -> int:
        return VMEMMAP_BASE + (phys >> 12) * self.page_size

    # -- the page allocator --------------------------------------------------------------------------------------

    def allocated(self, phys: int, zeroed: bool) -> None:
        """One page for user space or a file."""
        if not zeroed:
            self.copied.add(phys)
        if self.points["mm_page_alloc"].active:
            gfp = self.gfp | (GFP_ZERO if zeroed else 0)
            self.points["mm_page_alloc"].fire(self._page(phys), 0, gfp, MIGRATE_MOVABLE)

    def freed(self, phys: int) -> None:
        """The last user of a page is gone: free_unref_page_list()."""
        self.waiting = [row for row in self.waiting if row[0] != phys]
        self.copied.discard(phys)
        page = self._page(phys)
        if self.points["mm_page_free_batched"].active:
            self.points["mm_page_free_batched"].fire(page)
        if self.points["mm_page_free"].active:
            self.points["mm_page_free"].fire(page, 0)

    # -- the page cache ------------------------------------------------------------------------------------------

    def file_page(self, name: str, host: FilePages, index: int, phys: int) -> None:
        """filemap_add_folio(), filemap_remove_folio()."""
        if self.points[name].active:
            self.placed = (host.ino, index, host.dev)
            self.points[name].fire(self._page(phys))

    def file_fault(self, vma: Vma, page: int, write: bool) -> None:
        """filemap_map_pages() of what is cached around a page that is read, filemap_fault() of one that this has not brought."""
        file, around, fault = vma.file, self.points["mm_filemap_map_pages"], self.points["mm_filemap_fault"]
        if file is None or vma.fault is not None or not (around.active or fault.active):
            return
        cache = file.inode.i_mapping
        if cache is None:
            return
        mapping = self.mirror.get_field(file.addr, "file", "f_mapping")
        index = vma.pgoff + (page - vma.start) // PAGE_SIZE
        found = False
        if not write:
            start, end = window(vma, page, file.inode.size)
            first = vma.pgoff + (start - vma.start) // PAGE_SIZE
            last = first + (end - start - 1) // PAGE_SIZE
            there = [number for number in range(first, last + 1) if cache.cached(number) is not None]
            if there and around.active:
                around.fire(mapping, first, last)
            found = index in there
        if not found and fault.active and not cache.swap_backed:
            fault.fire(mapping, index)

    # -- the LRU lists -------------------------------------------------------------------------------------------

    def lru_add(self, phys: int, anonymous: bool, swap_backed: bool) -> None:
        """folio_add_lru(): a page waits until there are fifteen."""
        if self.points["mm_lru_insertion"].active:
            self.waiting.append((phys, anonymous, swap_backed))
            if len(self.waiting) >= PAGEVEC_SIZE:
                self.lru_drain()

    def lru_drain(self) -> None:
        """lru_add_drain(): they go to their lists."""
        waiting, self.waiting = self.waiting, []
        for phys, anonymous, swap_backed in waiting:
            users = self.frames.refcounts[phys >> 12]
            flags = ANONYMOUS if anonymous else FILE
            flags |= MAPPED if anonymous or users > 1 else 0
            flags |= SWAP_BACKED if swap_backed else 0
            flags |= EXCLUSIVE if anonymous and users == 1 else 0
            self.inserted = (INACTIVE_ANON if swap_backed else INACTIVE_FILE, flags)
            self.points["mm_lru_insertion"].fire(self._page(phys))

    # -- counters of resident pages ------------------------------------------------------------------------------

    def kind(self, mm: Space, vma: Vma, page: int) -> int:
        """Which counter a present page is in."""
        if vma.file is None:
            return SHMEM_PAGES if vma.shared else ANON_PAGES
        cache = vma.file.inode.i_mapping
        if cache is None or mm.pages[page] != cache.pages.get(vma.pgoff + (page - vma.start) // PAGE_SIZE):
            return ANON_PAGES
        return SHMEM_PAGES if cache.swap_backed else FILE_PAGES

    def count(self, mm: Space, kind: int) -> int:
        """What the counter of an address space would be if all of it had arrived there."""
        return sum(self.kind(mm, vma, page) == kind for vma in mm.vmas for page in mm.present(vma.start, vma.end))

    def fault_begins(self, mm: Space, vma: Vma, page: int) -> int | None:
        """check_sync_rss_stat(): after so many faults the running task's counters reach the address space."""
        if self.points["rss_stat"].active:
            self.faults += 1
            if self.faults > RSS_EVENTS:
                self.sync(mm)
        return self.kind(mm, vma, page) if page in mm.pages else None

    def counted(self, was: int | None, now: int) -> None:
        """A page came to be present, or (`was`) became a copy of the task's own: inc_mm_counter_fast()."""
        if self.points["rss_stat"].active:
            cached = self.cached.setdefault(self.board.current.addr, {})
            if was is not None:
                cached[was] = cached.get(was, 0) - 1
            cached[now] = cached.get(now, 0) + 1

    def sync(self, mm: Space) -> None:
        """sync_mm_rss(): what the running task has counted reaches its address space."""
        cached, self.faults = self.cached.pop(self.board.current.addr, {}), 0
        for kind in sorted(cached):
            if cached[kind]:
                self.tell_rss(mm, kind, self.count(mm, kind))

    def tell_rss(self, mm: Space, kind: int, pages: int) -> None:
        """mm_trace_rss_stat()."""
        if self.points["rss_stat"].active:
            self.points["rss_stat"].fire(mm.addr, kind, pages)

    def mapped(self, mm: Space, vma: Vma, page: int, was: int | None) -> None:
        """A page is present now: do_anonymous_page(), wp_page_copy(), finish_fault()."""
        phys, kind = mm.pages[page], self.kind(mm, vma, page)
        copied = phys in self.copied
        self.copied.discard(phys)
        if was != kind:
            self.counted(was, kind)
            if kind == ANON_PAGES:
                self._prepare_chain(mm, vma)
        if kind == ANON_PAGES and (copied or (was != kind and vma.fault is None)):
            self.lru_add(phys, True, True)
        if was is not None and copied:
            self.tlb_flush(1)

    def zap(self, mm: Space, start: int, end: int) -> None:
        """Before pages go: zap_pte_range(), then tlb_finish_mmu()."""
        pages = mm.present(start, end)
        if pages:
            self.lru_drain()
            self.sync(mm)
            self._tell_zap(mm, pages)
            if mm is self.board.current.mm:
                self.tlb_flush((max(pages) - min(pages)) // PAGE_SIZE + 1)

    def exit(self, mm: Space) -> None:
        """exit_mmap(), before all of it goes."""
        if self.objects is not None and self.objects.watched:
            for vma in mm.vmas:
                self._unchain(vma)
            for vma in mm.vmas:
                self.objects.gone("vm_area_struct", self.mirror.vma_struct(mm, vma), "exit_mmap")
            self.objects.gone("mm_struct", mm.addr, "finish_task_switch.isra.0")
        self.lru_drain()
        if mm.pages:
            self._tell_zap(mm, list(mm.pages))
            self.tlb_switch()  # nobody runs in it any more: the CPU leaves it
        if self.points["exit_mmap"].active:
            self.points["exit_mmap"].fire(mm.addr)

    def dup(self, mm: Space, new: Space) -> None:
        """dup_mmap(): the child has its counters, and the parent's pages are write-protected."""
        if self.objects is not None and self.objects.watched:
            self.objects.made("mm_struct", new.addr, "copy_process")
            parents = {vma.start: vma for vma in mm.vmas}
            for vma in new.vmas:
                self.objects.made("vm_area_struct", self.mirror.vma_struct(new, vma), "vm_area_dup")
                self._fork_chain(mm, parents[vma.start], vma)
        if self.points["rss_stat"].active:
            totals = dict.fromkeys(range(4), 0)
            for vma in new.vmas:
                for pages in _by_table(new.present(vma.start, vma.end)):
                    for kind, count in self._kinds(new, vma, pages):
                        totals[kind] += count
                        self.tell_rss(new, kind, totals[kind])
        self.tlb_flush(None)

    def _kinds(self, mm: Space, vma: Vma, pages: list[int]) -> list[tuple[int, int]]:
        """(counter, how many of the pages are in it)."""
        counts = Counter(self.kind(mm, vma, page) for page in pages)
        return sorted(counts.items())

    def _tell_zap(self, mm: Space, present: list[int]) -> None:
        """How many pages remain after each page table's worth of them, as zap_pte_range() tells."""
        if not self.points["rss_stat"].active:
            return
        totals = {kind: self.count(mm, kind) for kind in range(4)}
        for vma in mm.vmas:
            for pages in _by_table([page for page in present if vma.start <= page < vma.end]):
                for kind, count in self._kinds(mm, vma, pages):
                    totals[kind] -= count
                    self.tell_rss(mm, kind, totals[kind])

    def kernel_fault(self, mm: Space, addr: int, access: str) -> None:
        """exc_page_fault() of the kernel's own copying, in the function that copies."""
        if self.points["page_fault_kernel"].active and mm is self.board.current.mm:
            page = addr & ~(PAGE_SIZE - 1)
            code = (FAULT_WRITE if access == "write" else 0) | (FAULT_PROT if page in mm.pages else 0)
            self.points["page_fault_kernel"].fire(addr, self.interrupted(), code)

    # -- areas -----------------------------------------------------------------------------------------------------

    def stored(self, mm: Space, vma: Vma) -> None:
        """vma_mas_store(): an area came, or has other borders."""
        if self.points["vma_store"].active:
            tree = mm.addr + max(self.mirror.offset_of("struct mm_struct", "mm_mt"), 0)
            self.points["vma_store"].fire(tree, self.mirror.vma_struct(mm, vma))

    def searched(self, mm: Space, size: int, low: int, found: int) -> None:
        """vm_unmapped_area()."""
        if not self.points["vm_unmapped_area"].active:
            return
        mirror = self.mirror
        mirror.set_field(mm.addr, "mm_struct", "total_vm", mm.total_vm)
        info = mirror.mem.alloc(mirror.size_of("struct vm_unmapped_area_info"))
        fields = {
            "flags": VM_UNMAPPED_AREA_TOPDOWN,
            "length": size,
            "low_limit": PAGE_SIZE if mirror.arch.traces.searches_lowest else max(low, PAGE_SIZE),
            "high_limit": mm.mmap_base,
        }
        for name, value in fields.items():
            mirror.set_field(info, "vm_unmapped_area_info", name, value)
        self.points["vm_unmapped_area"].fire(found & ((1 << 8 * mirror.arch.word) - 1), info)
        mirror.mem.free(info)

    def area_made(self, mm: Space, vma: Vma, function: str) -> None:
        """vm_area_alloc(), vm_area_dup()."""
        if self.objects is not None and self.objects.watched:
            self.objects.made("vm_area_struct", self.mirror.vma_struct(mm, vma), function)

    def area_gone(self, mm: Space, vma: Vma) -> None:
        """remove_mt()."""
        if self.objects is not None and self.objects.watched:
            self._unchain(vma)
            self.objects.gone("vm_area_struct", self.mirror.vma_struct(mm, vma), "do_mas_align_munmap")

    # -- reverse mapping: mm/rmap.c --------------------------------------------------------------------------------

    def _chain(self, vma: Vma, cache: str, function: str, gfp: int = GFP_KERNEL) -> None:
        if self.objects is not None:
            address = self.mirror.mem.alloc(CACHES[cache][1])
            self.chains.setdefault(vma, []).append((cache, address))
            self.objects.made(cache, address, function, gfp)

    def _prepare_chain(self, mm: Space, vma: Vma) -> None:
        """anon_vma_prepare(): what an area's first anonymous page brings."""
        if vma not in self.chains and self.objects is not None and self.objects.watched:
            self.chains[vma] = []
            if sum(self.kind(mm, vma, page) == ANON_PAGES for page in mm.present(vma.start, vma.end)) == 1:
                for cache in ("anon_vma_chain", "anon_vma"):
                    self._chain(vma, cache, "__anon_vma_prepare")

    def _fork_chain(self, mm: Space, old: Vma, new: Vma) -> None:
        """anon_vma_fork(): a link to each of the parent's, and one of its own."""
        links = sum(cache == "anon_vma_chain" for cache, _ in self.chains.get(old, ()))
        if not links and not any(self.kind(mm, old, page) == ANON_PAGES for page in mm.present(old.start, old.end)):
            return
        for _ in range(links or 1):
            self._chain(new, "anon_vma_chain", "anon_vma_clone", GFP_NOWAIT | GFP_NOWARN)
        for cache in ("anon_vma", "anon_vma_chain"):
            self._chain(new, cache, "anon_vma_fork")

    def _unchain(self, vma: Vma) -> None:
        """unlink_anon_vmas()."""
        for cache, address in self.chains.pop(vma, ()):
            if self.objects is not None:
                self.objects.gone(cache, address, "__put_anon_vma" if cache == "anon_vma" else "unlink_anon_vmas")
            self.mirror.mem.free(address)

    # -- the TLB -------------------------------------------------------------------------------------------------

    def tlb_switch(self) -> None:
        """switch_mm_irqs_off() of a CPU whose TLB knows of one address space only."""
        if self.points["tlb_flush"].active:
            self.points["tlb_flush"].fire(TLB_ON_TASK_SWITCH, TLB_FLUSH_ALL)

    def tlb_flush(self, pages: int | None) -> None:
        """flush_tlb_mm_range() of the address space that runs; None: all of it."""
        if self.points["tlb_flush"].active:
            whole = pages is None or pages > FLUSH_CEILING
            self.points["tlb_flush"].fire(TLB_LOCAL_MM_SHOOTDOWN, TLB_FLUSH_ALL if whole else pages)


def _by_table(pages: list[int]) -> Iterable[list[int]]:
    """Pages by the page table that maps them."""
    tables: dict[int, list[int]] = {}
    for page in sorted(pages):
        tables.setdefault(page >> PMD_SHIFT, []).append(page)
    return tables.values()
