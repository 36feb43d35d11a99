"""User address spaces as uprobes see them (tracing.face.UserSpaces): files by inode, areas by mm.

A uprobe sits at a virtual address of one mm.  The CPU knows virtual addresses only, so a site is armed once for all
spaces and asks, when it is hit, whether the current mm has a breakpoint there.  kernel/events/uprobes.c.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from arch.abi.errno import EINVAL
from arch.abi.limits import PAGE_SIZE
from arch.abi.mman import MAP_ANONYMOUS, MAP_PRIVATE, PROT_EXEC, PROT_READ
from arch.errors import KernelError
from tracing.face import Mapping, ProbeHandler, ReturnHandler

KERNFS = ("sysfs", "cgroup", "cgroup2")  # fs/kernfs/inode.c:kernfs_aops


class Spaces:
    """UserSpaces over a Kernel: `inode` is an fs Inode, `mm` a kernel Mm."""

    def __init__(self, k: Any) -> None:
        self.k = k
        self.sites: dict[int, dict[Any, ProbeHandler]] = {}  # vaddr -> mm -> handler
        self.probes: dict[int, Any] = {}  # vaddr -> armed probe of the CPU
        self.trampolines: dict[Any, int] = {}  # mm -> its xol area
        self.breakpoint_page: int | None = None
        self.uret_handler: ReturnHandler | None = None
        self.paths: dict[Any, str] = {}

    # ---- files ----

    def resolve_path(self, path: str) -> Hashable:
        """The inode behind a path as the current task sees it; EINVAL unless it is a regular file."""
        found = self.k.vfs.user_path(-100, path) if self.k.current.fs is not None else self.k.vfs.resolve(path)
        inode = found.dentry.inode
        if not inode.is_reg:
            raise KernelError(EINVAL, f"{path} is not a regular file")
        self.paths[inode] = self.k.vfs.d_path(found)
        return inode  # type: ignore[no-any-return]

    def inode_size(self, inode: Any) -> int:
        return int(inode.i_size)

    def has_pages(self, inode: Any) -> bool:
        """Files of kernfs have simple_read_folio(), though nobody ever maps them; procfs and debugfs have nothing."""
        return inode.i_mapping is not None or inode.i_sb.fs_name in KERNFS

    # ---- areas ----

    def all_mms(self) -> list[Any]:
        """Every address space, once, in the order of pids."""
        out: dict[Any, None] = {}
        for pid in sorted(self.k.tasks.by_pid):
            mm = self.k.tasks.by_pid[pid].mm
            if mm is not None:
                out[mm] = None
        if self.k.mm.newborn is not None:
            out[self.k.mm.newborn] = None
        return list(out)

    def mappings(self, inode: Any) -> Sequence[tuple[Hashable, int, int, int, bool]]:
        return [
            (mm, vma.start, vma.end, vma.pgoff * PAGE_SIZE, bool(vma.prot & PROT_EXEC))
            for mm in self.all_mms()
            for vma in mm.vmas
            if vma.file is not None and vma.file.inode is inode
        ]

    def mapping(self, mm: Any, start: int) -> Mapping | None:
        """The mapping of a file that begins there."""
        for vma in mm.vmas:
            if vma.start == start and vma.file is not None:
                inode, dev = vma.file.inode, int(vma.file.inode.i_sb.s_dev)
                path = self.k.vfs.d_path(vma.file.f_path)
                size = vma.end - start
                return Mapping(
                    start,
                    size,
                    vma.pgoff * PAGE_SIZE,
                    path,
                    dev >> 20,
                    dev & 0xFFFFF,
                    inode.i_ino,
                    vma.prot,
                    vma.flags & 0xF,
                )
        return None

    def current_mm(self) -> Hashable | None:
        return self.k.current.mm  # type: ignore[no-any-return]

    def mm_of_task(self, task: Any) -> Hashable | None:
        """None for a kernel thread, or a task that has exited."""
        return task.mm  # type: ignore[no-any-return]

    def user_mem_of(self, mm: Any) -> Any:
        return mm.user

    # ---- breakpoints ----

    def arm_user(self, mm: Any, vaddr: int, handler: ProbeHandler) -> None:
        site = self.sites.setdefault(vaddr, {})
        site[mm] = handler
        if vaddr not in self.probes:
            self.probes[vaddr] = self.k.cpu.add_probe(vaddr, self._hit(site), user=True)

    def _hit(self, site: dict[Any, ProbeHandler]) -> Callable[[int], object]:
        k = self.k

        def hit(regs: int) -> object:
            handler = site.get(k.current.mm)
            return handler(regs) if handler is not None else None

        return hit

    def disarm_user(self, mm: Any, vaddr: int) -> None:
        site = self.sites.get(vaddr)
        if site is None or mm not in site:
            return
        del site[mm]
        if not site:
            del self.sites[vaddr]
            self.k.cpu.remove_probe(self.probes.pop(vaddr))

    # ---- return probes ----

    def uretprobe_trampoline(self, mm: Any) -> int:
        """The [uprobes] area of an mm, with one breakpoint where uretprobes make functions return to."""
        found = self.trampolines.get(mm)
        if found is None:
            found = mm.map(0, PAGE_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, name="[uprobes]")
            page = self._breakpoint_page()
            mm.find(found).fault = lambda vma, pgoff: page
            self.trampolines[mm] = found
            self.arm_user(mm, found, self._returned)
        return int(found)

    def _breakpoint_page(self) -> int:
        """The one page frame that all [uprobes] areas show."""
        if self.breakpoint_page is None:
            self.breakpoint_page = self.k.mm.frames.alloc_page()
            self.k.mm.frames.write(self.breakpoint_page, self.k.arch.uprobe_breakpoint)
        return self.breakpoint_page

    def set_uret_handler(self, handler: ReturnHandler) -> None:
        self.uret_handler = handler

    def _returned(self, regs: int) -> object:
        assert self.uret_handler is not None
        k = self.k
        k.cpu.layout.set(k.mem, regs, k.arch.instruction_pointer, self.uret_handler(regs))
        return True

    def forget(self, mm: Any) -> None:
        """An mm is gone."""
        self.trampolines.pop(mm, None)
