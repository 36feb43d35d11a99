"""User address spaces as uprobes see them (tracing.face.UserSpaces): files by inode, areas by mm.

A uprobe sits at a virtual address of one mm.  The CPU knows virtual addresses only, so a site is armed once for all
spaces and asks, when it is hit, whether the current mm has a breakpoint there.  kernel/events/uprobes.c.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from arch.abi.errno import EINVAL
from arch.abi.limits import PAGE_SIZE
from arch.abi.mman import MAP_ANONYMOUS, MAP_PRIVATE, PROT_EXEC, PROT_READ
from arch.errors import KernelError
from arch.memory import Memory
from arch.native.handler import NativeHandler
from arch.probes import Probe
from simkernel.fs.inode import File, Inode
from simkernel.kernel.areas import Vma
from simkernel.kernel.mm import Mm
from simkernel.kernel.task import Task
from simkernel.observe.face import WatchedKernel
from simkernel.observe.native_spaces import site_handler
from tracing.face import Mapping, ProbeHandler, ReturnHandler

OF_THE_PROGRAM = ("", "[heap]", "[stack]")  # names of areas that are not the kernel's own
KERNFS = ("sysfs", "cgroup", "cgroup2")  # fs/kernfs/inode.c:kernfs_aops


class Spaces:
    """UserSpaces over a Kernel: `inode` is an fs Inode, `mm` a kernel Mm."""

    def __init__(self, k: WatchedKernel) -> None:
        self.k = k
        self.sites: dict[int, dict[Hashable, ProbeHandler]] = {}  # vaddr -> mm -> handler
        self.probes: dict[int, Probe] = {}  # vaddr -> armed probe of the CPU
        self.natives: dict[int, dict[Mm, NativeHandler]] = {}  # vaddr -> mm -> compiled handler
        self.trampolines: dict[Hashable, int] = {}  # mm -> its xol area
        self.breakpoint_page: int | None = None
        self.uret_handler: ReturnHandler | None = None
        self.uret_native: NativeHandler | None = None

    # ---- files ----

    def resolve_path(self, path: str) -> Hashable:
        """The inode behind a path as the current task sees it; EINVAL unless it is a regular file."""
        found = self.k.vfs.user_path(-100, path) if self.k.current.fs is not None else self.k.vfs.resolve(path)
        inode = found.dentry.inode
        if not inode.is_reg:
            raise KernelError(EINVAL, f"{path} is not a regular file")
        return inode

    def inode_size(self, inode: Hashable) -> int:
        """i_size, in bytes."""
        return _inode(inode).i_size

    def has_pages(self, inode: Hashable) -> bool:
        """Files of kernfs have simple_read_folio(), though nobody ever maps them; procfs and debugfs have nothing."""
        found = _inode(inode)
        return found.i_mapping is not None or found.i_sb.fs_name in KERNFS

    # ---- areas ----

    def all_mms(self) -> list[Mm]:
        """Every address space, once, in the order of pids."""
        out: dict[Mm, None] = {}
        for pid in sorted(self.k.tasks.by_pid):
            mm = self.k.tasks.by_pid[pid].mm
            if mm is not None:
                out[mm] = None
        if self.k.mm.newborn is not None:
            out[self.k.mm.newborn] = None
        return list(out)

    def mappings(self, inode: Hashable) -> Sequence[tuple[Hashable, int, int, int, bool]]:
        """build_map_info(), for all address spaces."""
        wanted = _inode(inode)
        return [
            (mm, vma.start, vma.end, vma.pgoff * PAGE_SIZE, bool(vma.prot & PROT_EXEC))
            for mm in self.all_mms()
            for vma in mm.vmas
            if vma.file is not None and vma.file.inode is wanted
        ]

    def mapping(self, mm: Hashable, start: int) -> Mapping | None:
        """The mapping that begins there, as perf_event_mmap_event() names it."""
        vma = _mm(mm).find(start)
        if vma is None or vma.start != start:
            return None
        file, flags = vma.file, vma.flags & 0xF
        if not isinstance(file, File):
            path = "/dev/zero (deleted)" if vma.shared else self._name(_mm(mm), vma)
            offset = (
                start if not vma.shared and vma.name in OF_THE_PROGRAM else 0
            )  # vm_pgoff of private memory is its place
            return Mapping(start, vma.end - start, offset, path, 0, 0, 0, vma.prot, flags)
        inode, dev = file.inode, file.inode.i_sb.s_dev
        path, offset = self.k.vfs.d_path(file.f_path), vma.pgoff * PAGE_SIZE
        return Mapping(
            start, vma.end - start, offset, path, dev >> 20, dev & 0xFFFFF, inode.i_ino, vma.prot, flags
        )  # fmt: skip

    @staticmethod
    def _name(mm: Mm, vma: Vma) -> str:
        """Of memory without a file; what is about to become the heap is not yet."""
        heap = vma.start <= mm.brk and vma.end >= mm.start_brk
        return vma.name if vma.name and (vma.name != "[heap]" or heap) else "//anon"

    def watch_mappings(self, listener: Callable[[Hashable, int], None] | None) -> None:
        """perf_event_mmap() calls it."""
        self.k.mm.on_mmap = listener

    def current_mm(self) -> Hashable | None:
        """None for a kernel thread."""
        return self.k.current.mm

    def mm_of_task(self, task: Hashable) -> Hashable | None:
        """None for a kernel thread, or a task that has exited."""
        assert isinstance(task, Task)
        return task.mm

    def user_mem_of(self, mm: Hashable) -> Memory:
        """What tasks with this mm see."""
        return _mm(mm).user

    # ---- breakpoints ----

    def arm_user(self, mm: Hashable, vaddr: int, handler: ProbeHandler, native: NativeHandler | None = None) -> None:
        """install_breakpoint(): one hook at the address, asked for the mm at a hit."""
        site = self.sites.setdefault(vaddr, {})
        site[mm] = handler
        if vaddr not in self.probes:
            self.probes[vaddr] = self.k.cpu.add_probe(vaddr, self._hit(site), user=True)
        if native is not None:
            self.aim_user(mm, vaddr, native)

    def aim_user(self, mm: Hashable, vaddr: int, native: NativeHandler | None) -> None:
        """The breakpoint stays, and has another compiled handler, or none."""
        found = self.natives.setdefault(vaddr, {})
        if found.get(_mm(mm)) is native:
            return
        if native is None:
            del found[_mm(mm)]
        else:
            found[_mm(mm)] = native
        self._aim(vaddr)

    def _aim(self, vaddr: int) -> None:
        k = self.k
        handler = site_handler(self.natives[vaddr], lambda: k.current.mm, k.mem.byteorder == "big")
        k.cpu.aim_probe(self.probes[vaddr], handler)

    def _hit(self, site: dict[Hashable, ProbeHandler]) -> Callable[[int], object]:
        k = self.k

        def hit(regs: int) -> object:
            handler = site.get(k.current.mm)
            return handler(regs) if handler is not None else None

        return hit

    def disarm_user(self, mm: Hashable, vaddr: int) -> None:
        """remove_breakpoint()."""
        site = self.sites.get(vaddr)
        if site is None or mm not in site:
            return
        del site[mm]
        native = self.natives.get(vaddr, {}).pop(_mm(mm), None)
        if not site:
            del self.sites[vaddr]
            self.natives.pop(vaddr, None)
            self.k.cpu.remove_probe(self.probes.pop(vaddr))
        elif native is not None:
            self._aim(vaddr)

    # ---- return probes ----

    def uretprobe_trampoline(self, mm: Hashable) -> int:
        """The [uprobes] area of an mm, with one breakpoint where uretprobes make functions return to."""
        found = self.trampolines.get(mm)
        if found is None:
            space = _mm(mm)
            found = space.map(0, PAGE_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, name="[uprobes]")
            page = self._breakpoint_page()
            area = space.find(found)
            assert area is not None
            area.fault = lambda vma, pgoff: page
            self.trampolines[mm] = found
            self.arm_user(mm, found, self._returned, self.uret_native)
        return found

    def _breakpoint_page(self) -> int:
        """The one page frame that all [uprobes] areas show."""
        if self.breakpoint_page is None:
            self.breakpoint_page = self.k.mm.frames.alloc_page()
            self.k.mm.frames.write(self.breakpoint_page, self.k.arch.uprobe_breakpoint)
        return self.breakpoint_page

    def set_uret_handler(self, handler: ReturnHandler, native: NativeHandler | None = None) -> None:
        """Of all return probes, with its compiled form."""
        self.uret_handler, self.uret_native = handler, native

    def _returned(self, regs: int) -> object:
        assert self.uret_handler is not None
        k = self.k
        k.cpu.layout.set(k.mem, regs, k.arch.instruction_pointer, self.uret_handler(regs))
        return True

    def forget(self, mm: Hashable) -> None:
        """An mm is gone."""
        self.trampolines.pop(mm, None)


def _mm(token: Hashable) -> Mm:
    assert isinstance(token, Mm)
    return token


def _inode(token: Hashable) -> Inode:
    assert isinstance(token, Inode)
    return token
