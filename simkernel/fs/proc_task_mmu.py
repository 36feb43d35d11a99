"""/proc/PID/smaps, smaps_rollup, numa_maps, pagemap, clear_refs: what is known of the pages of a process.  fs/proc/task_mmu.c."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator

from arch.abi.capability import CAP_SYS_ADMIN
from arch.abi.errno import EACCES, EINVAL
from arch.abi.limits import PAGE_SIZE
from arch.abi.poll import DEFAULT_POLLMASK
from arch.errors import KernelError
from arch.hosttime import check
from simkernel.fs.face import FsKernel
from simkernel.fs.fdtable import fs_if_any
from simkernel.fs.features import Features
from simkernel.fs.inode import File
from simkernel.fs.nodes import Node
from simkernel.fs.proc_text import PAGE_KB, proc_number
from simkernel.fs.tmpfs import TmpfsInode
from simkernel.kernel.areas import VM_SOFTDIRTY, SharedAnonymous, Vma
from simkernel.kernel.calls.kcmp import PTRACE_MODE_READ_FSCREDS, ptrace_may_access
from simkernel.kernel.mm import Mm
from simkernel.kernel.task import Task

# Two letters of VmFlags for each bit of vm_flags: show_smap_vma_flags().
VM_FLAG_NAMES = {
    0: "rd", 1: "wr", 2: "ex", 3: "sh", 4: "mr", 5: "mw", 6: "me", 7: "ms", 8: "gd", 13: "lo", 15: "sr", 16: "rr", 17: "dc", 18: "de", 19: "??",
    20: "ac", 21: "nr", 25: "wf", 26: "dd", 27: "sd", 29: "hg", 30: "nh", 31: "mg",
}  # fmt: skip
PM_SOFT_DIRTY, PM_MMAP_EXCLUSIVE, PM_FILE, PM_SWAP, PM_PRESENT = 1 << 55, 1 << 56, 1 << 61, 1 << 62, 1 << 63
PM_ENTRY_BYTES = 8
CLEAR_REFS_SOFT_DIRTY, CLEAR_REFS_LAST = 4, 5


class Counts:
    """struct mem_size_stats, in kB."""

    NAMES = (
        "Rss", "Pss", "Pss_Dirty", "Shared_Clean", "Shared_Dirty", "Private_Clean", "Private_Dirty", "Referenced", "Anonymous", "KSM", "LazyFree",
        "AnonHugePages", "ShmemPmdMapped", "FilePmdMapped", "Shared_Hugetlb", "Private_Hugetlb", "Swap", "SwapPss", "Locked",
    )  # fmt: skip

    def __init__(self) -> None:
        self.kb = dict.fromkeys(self.NAMES, 0)
        self.pss = self.pss_dirty = 0.0
        self.kinds = dict.fromkeys(("Pss_Anon", "Pss_File", "Pss_Shmem"), 0.0)

    def add(self, mm: Mm, vma: Vma) -> None:
        """smap_gather_stats()."""
        for page in mm.present(vma.start, vma.end):
            anonymous, users = page_facts(mm, vma, page)
            dirty = anonymous or (vma.shared and bool(vma.prot & 2))
            kind = f"{'Shared' if users > 1 else 'Private'}_{'Dirty' if dirty else 'Clean'}"
            for name in ("Rss", "Referenced", kind, *(("Anonymous",) if anonymous else ())):
                self.kb[name] += PAGE_KB
            self.pss += PAGE_KB / users
            self.kinds["Pss_Anon" if anonymous else "Pss_Shmem" if _is_shmem(vma) else "Pss_File"] += PAGE_KB / users
            self.pss_dirty += PAGE_KB / users if dirty else 0
            if vma.locked:
                self.kb["Locked"] += PAGE_KB // users
        self.kb["Pss"], self.kb["Pss_Dirty"] = int(self.pss), int(self.pss_dirty)

    def text(self, has: Features, kinds: bool = False) -> str:
        """__show_smap(); `kinds`: with what is of no file, of files, and of shared memory."""
        kb = self.kb
        if kinds:
            more = {name: int(value) for name, value in self.kinds.items()}
            kb = {name: kb[name] for name in self.NAMES[:3]} | more | {name: kb[name] for name in self.NAMES[3:]}
        missing = {"Pss_Dirty": not has.smaps_pss_dirty, "KSM": not has.smaps_ksm}
        return "".join(f"{name + ':':<16}{value:8d} kB\n" for name, value in kb.items() if not missing.get(name))


def _is_shmem(vma: Vma) -> bool:
    return isinstance(vma.private, SharedAnonymous) or (vma.file is not None and isinstance(vma.file.inode, TmpfsInode))


def page_facts(mm: Mm, vma: Vma, page: int) -> tuple[bool, int]:
    """(the task's own, how many maps show it) of a present page."""
    phys = mm.pages[page]
    users = mm.home.frames.refcounts[phys >> 12]
    if vma.file is None and vma.fault is None:
        return True, max(users, 1)
    if not vma.shared and vma.file is not None and vma.fault is None:
        pgoff = vma.pgoff + (page - vma.start) // PAGE_SIZE
        if vma.file.inode.get_page(pgoff) != phys:
            return True, max(users, 1)
    return False, max(users - 1, 1)  # the page cache is one of them


def _lines(mm: Mm, file_name: Callable[[Vma], str | None]) -> Iterator[str]:
    """show_map_vma(), with names of files as their reader sees them."""
    for vma in mm.vmas:
        yield vma.line(file_name(vma))
        check()


def maps_lines(k: FsKernel, mm: Mm) -> Iterator[str]:
    """Of /proc/PID/maps: whoever has another root sees names of files below it."""
    fs = fs_if_any(k.current)
    if fs is None or fs.root is k.vfs.mounts.root:
        return _lines(mm, lambda vma: None)
    return _lines(mm, lambda vma: k.vfs.d_path(vma.file.f_path) if isinstance(vma.file, File) else None)


def maps_text(k: FsKernel, task: Task) -> str:
    """/proc/PID/maps."""
    return "".join(maps_lines(k, task.mm)) if task.mm is not None else ""


def smaps_text(k: FsKernel, task: Task) -> str:
    """/proc/PID/smaps."""
    mm = task.mm
    if mm is None:
        return ""
    out = []
    for vma, line in zip(mm.vmas, maps_lines(k, mm), strict=True):
        counts = Counts()
        counts.add(mm, vma)
        sizes = (("Size", (vma.end - vma.start) >> 10), ("KernelPageSize", PAGE_KB), ("MMUPageSize", PAGE_KB))
        out.append(line + "".join(f"{name + ':':<16}{kb:8d} kB\n" for name, kb in sizes) + counts.text(k.vfs.names))
        bits = vma.vm_flags & ~(0 if k.arch.calls.has_soft_dirty else VM_SOFTDIRTY)
        flags = "".join(f"{name} " for bit, name in VM_FLAG_NAMES.items() if bits >> bit & 1)
        out.append(f"THPeligible:    {'       ' * k.vfs.names.smaps_thp_aligned}0\nVmFlags: {flags}\n")
    return "".join(out)


def smaps_rollup_text(k: FsKernel, task: Task) -> str:
    """/proc/PID/smaps_rollup: the sums."""
    mm = task.mm
    if mm is None:
        return ""
    counts = Counts()
    for vma in mm.vmas:
        counts.add(mm, vma)
    first, last = (mm.vmas[0].start, mm.vmas[-1].end) if mm.vmas else (0, 0)
    return (
        f"{first:08x}-{last:08x} ---p 00000000 00:00 0 ".ljust(73)
        + "[rollup]\n"
        + counts.text(k.vfs.names, k.version.at_least("5.3"))
    )


def numa_maps(task: Task) -> str:
    """/proc/PID/numa_maps: everything is on node 0."""
    mm = task.mm
    if mm is None:
        return ""
    out = []
    for vma in mm.vmas:
        present = len(mm.present(vma.start, vma.end))
        name = (
            f" file={vma.file.path}"
            if vma.file is not None
            else f" {vma.name[1:-1]}"
            if vma.name in ("[heap]", "[stack]")
            else ""
        )
        pages = (
            f" {'mapped' if vma.file is not None else 'anon'}={present} N0={present} kernelpagesize_kB=4"
            if present
            else ""
        )
        out.append(f"{vma.start:08x} default{name}{pages}\n")
    return "".join(out)


def clear_refs_write(task: Task, data: bytes) -> None:
    """1, 2 and 3 forget who was referenced, 4 which pages were written, 5 the peak.  EINVAL, ERANGE."""
    kind, _ = proc_number(data, 10)
    if not 0 < kind <= CLEAR_REFS_LAST:
        raise KernelError(EINVAL)
    if task.mm is not None:
        if kind == CLEAR_REFS_SOFT_DIRTY:
            task.mm.clear_soft_dirty()
        elif kind == CLEAR_REFS_LAST:
            task.mm.rss_peak = task.mm.rss_pages


def proc_mem_open(k: FsKernel, task: Task, mode: int = PTRACE_MODE_READ_FSCREDS) -> None:
    """Only who may trace the task looks into its memory.  EACCES."""
    if task.mm is not None and not ptrace_may_access(k, task, mode):
        raise KernelError(EACCES, "another's memory")


class MemoryNode(Node):
    """A file about a task's memory, for who may trace the task."""

    poll_key: Hashable = None

    def __init__(self, k: FsKernel, task: Task) -> None:
        self.k, self.task = k, task


class PageMap(MemoryNode):
    """/proc/PID/pagemap: eight bytes for each page of the address space."""

    mode = 0o400

    def open(self, flags: int) -> PageMap:
        """The node is its own handle.  EACCES."""
        proc_mem_open(self.k, self.task)
        return self

    def read(self, size: int, pos: int) -> bytes:
        """pagemap_read(): EINVAL for what is not whole entries."""
        mm = self.task.mm
        if mm is None:
            return b""
        if size % PM_ENTRY_BYTES or pos % PM_ENTRY_BYTES:
            raise KernelError(EINVAL)
        first, shown = pos // PM_ENTRY_BYTES, self.k.capable(CAP_SYS_ADMIN)
        last = min(first + size // PM_ENTRY_BYTES, mm.home.layout.task_size // PAGE_SIZE)
        mask = ~(0 if self.k.arch.calls.has_soft_dirty else PM_SOFT_DIRTY)
        entries = [_entry(mm, number * PAGE_SIZE, shown) & mask for number in range(first, last)]
        return b"".join(entry.to_bytes(PM_ENTRY_BYTES, self.k.mem.byteorder) for entry in entries)

    def write(self, data: bytes, pos: int) -> int:
        """It cannot be written."""
        raise KernelError(EINVAL)

    def poll(self) -> int:
        """Always ready."""
        return DEFAULT_POLLMASK

    def release(self) -> None:
        """Nothing."""


def _entry(mm: Mm, page: int, shown: bool) -> int:
    """pte_to_pagemap_entry(); `shown`: with the page's number."""
    vma = mm.find(page)
    if vma is None:
        return 0
    entry = PM_SOFT_DIRTY if vma.soft_dirty else 0
    if page in mm.poisoned:
        return entry | PM_SWAP | PM_SOFT_DIRTY
    if page not in mm.pages:
        return entry
    anonymous, users = page_facts(mm, vma, page)
    entry |= PM_PRESENT | (mm.pages[page] // PAGE_SIZE if shown else 0)
    entry |= (0 if anonymous else PM_FILE) | (PM_MMAP_EXCLUSIVE if users == 1 else 0)
    if mm.soft_dirty is None or page in mm.soft_dirty:
        entry |= PM_SOFT_DIRTY
    return entry
