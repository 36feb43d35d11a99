"""What /proc says of the machine's memory: meminfo, vmstat, buddyinfo, pagetypeinfo, slabinfo, and a number for each page.

mm/{vmstat,slab_common,page_alloc}.c, fs/proc/{meminfo,page}.c.  There is one node with one zone; free pages are told as the largest blocks
that so many pages make.  Counters of what is not here (swapping, compaction, huge pages) are 0.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache

from arch.abi.errno import EINVAL, EPERM
from arch.abi.limits import PAGE_SIZE
from arch.abi.poll import DEFAULT_POLLMASK
from arch.abi.version import KernelVersion
from arch.errors import KernelError
from simkernel.fs.face import FsKernel
from simkernel.fs.nodes import Dir, Node, PseudoFile
from simkernel.fs.proc_task_mmu import page_facts
from simkernel.fs.tmpfs import TmpfsSuper
from simkernel.fs.vfs import Vfs
from simkernel.kernel.areas import Vma
from simkernel.kernel.commit import commit_limit, committed_pages
from simkernel.kernel.mm import Mm

MAX_ORDER = 11  # sizes of blocks: 1 to 1,024 pages
PAGEBLOCK = 512  # pages
ENTRY_BYTES = 8  # of kpagecount and its like
KPF_UPTODATE, KPF_LRU, KPF_BUDDY, KPF_MMAP, KPF_ANON, KPF_SWAPBACKED, KPF_NOPAGE, KPF_RESERVED = (
    1 << bit for bit in (3, 5, 10, 11, 12, 14, 20, 32)
)  # fmt: skip
Mapped = dict[int, tuple[Mm, Vma, int]]  # page -> one place where it is mapped
MIGRATE_TYPES = ("Unmovable", "Movable", "Reclaimable", "HighAtomic", "Isolate")
# lines of meminfo behind those of 6.1, of what is not here
MEMINFO_LATER = (
    ("CmaTotal", "7.2"), ("CmaFree", "7.2"), ("Unaccepted", "6.5"), ("Balloon", "7.2"), ("GPUActive", "7.2"), ("GPUReclaim", "7.2"),
)  # fmt: skip
# as 5.10, 6.1, 6.12 and 7.2 have them; NAME:SINCE-UNTIL where not all do, by the first of these that does, and the first that does not
VMSTAT_NAMES = """
    nr_free_pages nr_free_pages_blocks:7.2- nr_zone_inactive_anon nr_zone_active_anon nr_zone_inactive_file nr_zone_active_file
    nr_zone_unevictable nr_zone_write_pending nr_mlock nr_page_table_pages:-6.1 nr_bounce:-7.2 nr_zspages nr_free_cma
    nr_unaccepted:6.12- numa_hit numa_miss numa_foreign numa_interleave numa_local numa_other nr_inactive_anon nr_active_anon
    nr_inactive_file nr_active_file nr_unevictable nr_slab_reclaimable nr_slab_unreclaimable nr_isolated_anon nr_isolated_file
    workingset_nodes workingset_refault_anon workingset_refault_file workingset_activate_anon workingset_activate_file
    workingset_restore_anon workingset_restore_file workingset_nodereclaim nr_anon_pages nr_mapped nr_file_pages nr_dirty nr_writeback
    nr_writeback_temp:-7.2 nr_shmem nr_shmem_hugepages nr_shmem_pmdmapped nr_file_hugepages nr_file_pmdmapped
    nr_anon_transparent_hugepages nr_vmscan_write nr_vmscan_immediate_reclaim nr_dirtied nr_written nr_throttled_written:6.1-
    nr_kernel_misc_reclaimable nr_foll_pin_acquired nr_foll_pin_released nr_vmalloc:7.2- nr_kernel_stack nr_page_table_pages:6.1-
    nr_sec_page_table_pages:6.1- nr_iommu_pages:6.12- nr_swapcached:6.1- pgpromote_success:6.1- pgpromote_candidate:6.1-
    pgpromote_candidate_nrl:7.2- pgdemote_kswapd:6.12- pgdemote_direct:6.12- pgdemote_khugepaged:6.12- pgdemote_proactive:7.2-
    pgsteal_kswapd:7.2- pgsteal_direct:7.2- pgsteal_khugepaged:7.2- pgsteal_proactive:7.2- pgsteal_anon:7.2- pgsteal_file:7.2-
    pgscan_kswapd:7.2- pgscan_direct:7.2- pgscan_khugepaged:7.2- pgscan_proactive:7.2- pgscan_anon:7.2- pgscan_file:7.2- pgrefill:7.2-
    nr_hugetlb:7.2- nr_balloon_pages:7.2- nr_kernel_file_pages:7.2- nr_gpu_active:7.2- nr_gpu_reclaim:7.2- nr_dirty_threshold
    nr_dirty_background_threshold nr_memmap_pages:6.12- nr_memmap_boot_pages:6.12- pgpgin pgpgout pswpin pswpout pgalloc_dma
    pgalloc_dma32 pgalloc_normal pgalloc_movable pgalloc_device:6.1- allocstall_dma allocstall_dma32 allocstall_normal
    allocstall_movable allocstall_device:6.1- pgskip_dma pgskip_dma32 pgskip_normal pgskip_movable pgskip_device:6.1- pgfree pgactivate
    pgdeactivate pglazyfree pgfault pgmajfault pglazyfreed pgrefill:-7.2 pgreuse pgsteal_kswapd:-7.2 pgsteal_direct:-7.2
    pgdemote_kswapd:6.1-6.12 pgdemote_direct:6.1-6.12 pgsteal_khugepaged:6.12-7.2 pgscan_kswapd:-7.2 pgscan_direct:-7.2
    pgscan_khugepaged:6.12-7.2 pgscan_direct_throttle pgscan_anon:-7.2 pgscan_file:-7.2 pgsteal_anon:-7.2 pgsteal_file:-7.2
    zone_reclaim_success:6.12- zone_reclaim_failed pginodesteal slabs_scanned kswapd_inodesteal kswapd_low_wmark_hit_quickly
    kswapd_high_wmark_hit_quickly pageoutrun pgrotated drop_pagecache drop_slab oom_kill numa_pte_updates numa_huge_pte_updates
    numa_hint_faults numa_hint_faults_local numa_pages_migrated pgmigrate_success pgmigrate_fail thp_migration_success
    thp_migration_fail thp_migration_split compact_migrate_scanned compact_free_scanned compact_isolated compact_stall compact_fail
    compact_success compact_daemon_wake compact_daemon_migrate_scanned compact_daemon_free_scanned htlb_buddy_alloc_success
    htlb_buddy_alloc_fail cma_alloc_success:7.2- cma_alloc_fail:7.2- unevictable_pgs_culled unevictable_pgs_scanned
    unevictable_pgs_rescued unevictable_pgs_mlocked unevictable_pgs_munlocked unevictable_pgs_cleared unevictable_pgs_stranded
    thp_fault_alloc thp_fault_fallback thp_fault_fallback_charge thp_collapse_alloc thp_collapse_alloc_failed thp_file_alloc
    thp_file_fallback thp_file_fallback_charge thp_file_mapped thp_split_page thp_split_page_failed thp_deferred_split_page
    thp_underused_split_page:6.12- thp_split_pmd thp_scan_exceed_none_pte:6.1- thp_scan_exceed_swap_pte:6.1-
    thp_scan_exceed_share_pte:6.1- thp_split_pud thp_zero_page_alloc thp_zero_page_alloc_failed thp_swpout thp_swpout_fallback
    balloon_inflate balloon_deflate balloon_migrate swap_ra swap_ra_hit swpin_zero:6.12- swpout_zero:6.12- ksm_swpin_copy:6.1-
    cow_ksm:6.1- zswpin:6.1- zswpout:6.1- zswpwb:6.12- direct_map_level2_splits:6.1- direct_map_level3_splits:6.1-
    direct_map_level2_collapses:7.2- direct_map_level3_collapses:7.2- nr_unstable
"""
#         cache             bytes  objects and pages of a slab
SLABS = (
    ("filp", 256, 16, 1), ("vm_area_struct", 152, 26, 1), ("mm_struct", 1024, 16, 4), ("signal_cache", 1152, 14, 4),
    ("task_struct", 8448, 3, 8),
)  # fmt: skip


def tmpfs_supers(vfs: Vfs) -> list[TmpfsSuper]:
    """Each mounted tmpfs, once."""
    seen: list[TmpfsSuper] = []
    for mnt in vfs.mounts:
        if isinstance(mnt.mnt_sb, TmpfsSuper) and mnt.mnt_sb not in seen:
            seen.append(mnt.mnt_sb)
    return seen


def meminfo(k: FsKernel) -> str:
    """/proc/meminfo."""
    total = k.mm.total_ram_pages * 4
    free = k.mm.free_ram_pages * 4
    cached = sum(sb.used_blocks for sb in tmpfs_supers(k.vfs)) * 4
    rows = [
        ("MemTotal", total), ("MemFree", free), ("MemAvailable", free), ("Buffers", 0), ("Cached", cached),
        ("SwapCached", 0), ("Active", 0), ("Inactive", cached), ("Active(anon)", 0), ("Inactive(anon)", cached),
        ("Active(file)", 0), ("Inactive(file)", 0), ("Unevictable", 0), ("Mlocked", 0), ("SwapTotal", 0),
        ("SwapFree", 0), *([("Zswap", 0), ("Zswapped", 0)] if k.version.at_least("5.19") else []),
        ("Dirty", 0), ("Writeback", 0), ("AnonPages", max(0, total - free - cached) // 2),
        ("Mapped", 0), ("Shmem", cached), ("KReclaimable", 0), ("Slab", 0), ("SReclaimable", 0), ("SUnreclaim", 0),
        ("KernelStack", 16 * len(k.tasks.by_pid)), ("PageTables", 0), *([("SecPageTables", 0)] if k.version.at_least("6.1") else []),
        ("NFS_Unstable", 0), ("Bounce", 0),
        ("WritebackTmp", 0), ("CommitLimit", commit_limit(k) * 4), ("Committed_AS", committed_pages(k) * 4), ("VmallocTotal", 34359738367),
        ("VmallocUsed", 0), ("VmallocChunk", 0), ("Percpu", 0), ("HardwareCorrupted", k.mm.frames.corrupted * 4), ("AnonHugePages", 0), ("ShmemHugePages", 0),
        ("ShmemPmdMapped", 0), ("FileHugePages", 0), ("FilePmdMapped", 0),
    ]  # fmt: skip
    rows += [(name, 0) for name, since in MEMINFO_LATER if k.version.at_least(since)]
    pools = "".join(
        f"{name + ':':<16}{0:8d}\n"
        for name in ("HugePages_Total", "HugePages_Free", "HugePages_Rsvd", "HugePages_Surp")
    )
    sizes = [("Hugepagesize", 2048), ("Hugetlb", 0)]
    if k.arch.srcarch == "x86" and k.arch.word == 8:  # arch_report_meminfo(): all is mapped by small pages
        sizes += [("DirectMap4k", total), ("DirectMap2M", 0), ("DirectMap1G", 0)]
    return _kilobytes(rows) + pools + _kilobytes(sizes)


def _kilobytes(rows: list[tuple[str, int]]) -> str:
    return "".join(f"{name + ':':<16}{kb:8d} kB\n" for name, kb in rows)


@lru_cache
def vmstat_names(version: KernelVersion) -> tuple[str, ...]:
    """The lines of /proc/vmstat, in their order."""
    rows = (word.partition(":") for word in VMSTAT_NAMES.split())
    spans = ((name, span.partition("-")) for name, _, span in rows)
    return tuple(name for name, (since, _, until) in spans if version.within(since or None, until or None))


def vmstat(k: FsKernel) -> str:
    """/proc/vmstat."""
    known = {
        "nr_free_pages": k.mm.free_ram_pages, "pgfault": k.mm.nr_faults, "pgreuse": 0,
        "nr_shmem": sum(sb.used_blocks for sb in tmpfs_supers(k.vfs)), "nr_kernel_stack": 16 * len(k.tasks.by_pid),
    }  # fmt: skip
    known["nr_file_pages"] = known["nr_inactive_anon"] = known["nr_zone_inactive_anon"] = known["nr_shmem"]
    return "".join(f"{name} {known.get(name, 0)}\n" for name in vmstat_names(k.version))


def _blocks(pages: int) -> list[int]:
    """How many free blocks of each size so many pages make."""
    top = MAX_ORDER - 1
    return [*((pages >> order) & 1 for order in range(top)), pages >> top]


def buddyinfo(k: FsKernel) -> str:
    """/proc/buddyinfo."""
    return "Node 0, zone   Normal " + "".join(f"{count:6d} " for count in _blocks(k.mm.free_ram_pages)) + "\n"


def pagetypeinfo(k: FsKernel) -> str:
    """/proc/pagetypeinfo: all pages here can be moved."""
    out = f"Page block order: 9\nPages per block:  {PAGEBLOCK}\n\n"
    out += (
        f"{'Free pages count per migrate type at order':<44}"
        + "".join(f"{order:6d} " for order in range(MAX_ORDER))
        + "\n"
    )
    for name in MIGRATE_TYPES:
        counts = _blocks(k.mm.free_ram_pages) if name == "Movable" else [0] * MAX_ORDER
        out += f"Node {0:4d}, zone {'Normal':>8}, type {name:>12} " + "".join(f"{count:6d} " for count in counts) + "\n"
    out += f"\n{'Number of blocks type':<23}" + "".join(f"{name:>12} " for name in MIGRATE_TYPES) + "\n"
    blocks = {"Movable": k.mm.total_ram_pages // PAGEBLOCK}
    return out + "Node 0, zone   Normal " + "".join(f"{blocks.get(name, 0):12d} " for name in MIGRATE_TYPES) + "\n"


def slabinfo(k: FsKernel) -> str:
    """/proc/slabinfo: of the objects that the machine can count."""
    out = "slabinfo - version: 2.1\n# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : "
    out += "tunables <limit> <batchcount> <sharedfactor> : slabdata <active_slabs> <num_slabs> <sharedavail>\n"
    tasks = list(k.tasks.by_pid.values())
    spaces = {id(task.mm): task.mm for task in tasks if task.mm is not None}
    live = {
        "task_struct": len(tasks), "filp": len(k.vfs.files), "signal_cache": len({id(task.signal) for task in tasks}),
        "mm_struct": len(spaces), "vm_area_struct": sum(len(mm.vmas) for mm in spaces.values()),
    }  # fmt: skip
    for name, size, per_slab, pages in SLABS:
        active = live.get(name, 0)
        slabs = -(-active // per_slab)
        out += f"{name:<17} {active:6d} {slabs * per_slab:6d} {size:6d} {per_slab:4d} {pages:4d}"
        out += f" : tunables {0:4d} {0:4d} {0:4d} : slabdata {slabs:6d} {slabs:6d} {0:6d}\n"
    return out


class PageNumbers(Node):
    """kpagecount, kpageflags, kpagecgroup: eight bytes for each page of the machine."""

    mode = 0o400
    poll_key: Hashable = None

    def __init__(self, k: FsKernel, kind: str) -> None:
        super().__init__()
        self.k, self.kind = k, kind
        self._when: tuple[int, int] | None = None
        self._mapped: Mapped = {}

    def open(self, flags: int) -> PageNumbers:
        """The node is its own handle."""
        return self

    def read(self, size: int, pos: int) -> bytes:
        """kpagecount_read().  EINVAL for what is not whole entries."""
        if size % ENTRY_BYTES or pos % ENTRY_BYTES:
            raise KernelError(EINVAL)
        first = pos // ENTRY_BYTES
        last = min(first + size // ENTRY_BYTES, self.k.mm.total_ram_pages)
        mapped = self._maps()
        told = {"kpagecount": self._count, "kpageflags": self._flags, "kpagecgroup": self._group}[self.kind]
        return b"".join(told(pfn, mapped).to_bytes(ENTRY_BYTES, self.k.mem.byteorder) for pfn in range(first, last))

    def _maps(self) -> Mapped:
        """Looked up once for as long as nothing was brought or dropped."""
        when = (self.k.mm.nr_faults, self.k.mm.free_ram_pages)
        if self._when == when:
            return self._mapped
        found: Mapped = {}
        for mm in {id(t.mm): t.mm for t in self.k.tasks.by_pid.values() if t.mm is not None}.values():
            for page, address in mm.pages.items():
                vma = mm.find(page)
                if vma is not None:
                    found[address // PAGE_SIZE] = (mm, vma, page)
        self._when, self._mapped = when, found
        return found

    def _count(self, pfn: int, mapped: Mapped) -> int:
        held = mapped.get(pfn)
        return 0 if held is None else page_facts(*held)[1]

    def _group(self, pfn: int, mapped: Mapped) -> int:
        return 0  # pages are charged to groups as numbers, not one by one

    def _flags(self, pfn: int, mapped: Mapped) -> int:
        held = mapped.get(pfn)
        if held is not None:
            anonymous = page_facts(*held)[0]
            return KPF_UPTODATE | KPF_LRU | KPF_MMAP | (KPF_ANON | KPF_SWAPBACKED if anonymous else 0)
        return 0 if self.k.mm.frames.refcounts[pfn] else KPF_BUDDY

    def write(self, data: bytes, pos: int) -> int:
        """It cannot be written."""
        raise KernelError(EPERM)

    def poll(self) -> int:
        """Always ready."""
        return DEFAULT_POLLMASK

    def release(self) -> None:
        """Nothing."""


def add_memory_files(k: FsKernel, root: Dir) -> None:
    """Into /proc."""
    for name, show, mode in (
        ("buddyinfo", buddyinfo, 0o444), ("meminfo", meminfo, 0o444), ("pagetypeinfo", pagetypeinfo, 0o400),
        ("slabinfo", slabinfo, 0o400), ("vmstat", vmstat, 0o444),
    ):  # fmt: skip
        root.add(name, PseudoFile(lambda show=show: show(k), None, mode))  # type: ignore[misc]
    for name in ("kpagecgroup", "kpagecount", "kpageflags"):
        root.add(name, PageNumbers(k, name))
