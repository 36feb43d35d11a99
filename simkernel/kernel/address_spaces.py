"""The address spaces of all tasks: made, copied at fork, replaced at exec, given back.  kernel/fork.c, fs/exec.c."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from arch.abi.capability import CAP_SYS_RAWIO
from arch.abi.ldt import LDT_ENTRY_SIZE, LDT_PAGES
from arch.abi.limits import PAGE_SIZE
from arch.abi.mman import MAP_ANONYMOUS, MAP_PRIVATE, PROT_EXEC, PROT_READ
from arch.architecture import Architecture
from arch.cpu import Cpu
from arch.errors import KernelError
from arch.memory import KernelMemory, PhysicalMemory
from arch.mmu import AddressSpace, UserMemory
from arch.text import user_code_page, vdso_image
from simkernel.kernel.areas import Frames, MappedFile, MappedInode, Vma
from simkernel.kernel.dup_mmap import dup_mmap
from simkernel.kernel.mirror import Mirror
from simkernel.kernel.mm import Mm
from simkernel.kernel.page_events import PageEvents
from simkernel.kernel.task import CurrentTask, Task
from simkernel.kernel.tracepoints import Tracepoints
from simkernel.kernel.usercopy import UserCopy

DEFAULT_MAX_MAP_COUNT = (1 << 16) - 6  # 65535 sections of a core file, less some.  include/linux/mm.h


class UserLayout:
    """Borders of user address space."""

    def __init__(self, arch: Architecture) -> None:
        self.task_size = arch.map.user_end
        self.stack_top = arch.user_stack_top
        self.mmap_base = arch.mmap_base
        self.mmap_min = 0x10000
        self.low_mappings = arch.calls.low_mappings
        self.addresses = 1 << 8 * arch.word


class MmHooks(Protocol):
    """Who wants to know of mappings: uprobes."""

    def mmap(self, mm: Mm, start: int, end: int, inode: MappedInode, offset: int) -> None:
        """An area of a file was mapped."""

    def munmap(self, mm: Mm, start: int, end: int) -> None:
        """An area goes away."""

    def dup_mm(self, old: Mm, new: Mm) -> None:
        """fork."""

    def exit_mm(self, mm: Mm) -> None:
        """The last user is gone."""


class FaultCounts:
    """What native code reads, too."""

    __slots__ = ("events", "nr_faults")


class AddressSpaces(FaultCounts):
    """`k.mm`."""

    def __init__(
        self,
        board: CurrentTask,
        arch: Architecture,
        physical: PhysicalMemory,
        mem: KernelMemory,
        mirror: Mirror,
        usercopy: UserCopy,
        cpu: Cpu | None,
        tracepoints: Tracepoints,
    ) -> None:
        self.board, self.arch, self.physical, self.mem = board, arch, physical, mem
        self.mirror, self.usercopy, self.cpu = mirror, usercopy, cpu
        self.layout, self.trace = UserLayout(arch), tracepoints.trace
        self.frames = Frames(physical)
        self.no_user = UserMemory(AddressSpace(physical, PAGE_SIZE, arch.byteorder))  # a kernel thread's user addresses
        self.ksm_enter: Callable[[Mm], None] = self._ksm_enter
        self.unmerge: Callable[[Mm, int, int], None] = lambda mm, start, end: None  # set where there is ksm
        self.exit_aio: Callable[[Mm], object] | None = None  # who ends what asynchronous I/O is left
        self.hooks: MmHooks | None = None  # uprobes' view of address spaces
        self.on_mmap: Callable[[Mm, int], None] | None = None  # perf_event_mmap(), while perf wants to know
        self.on_address: Callable[[int], None] | None = None  # who is asked where an area may be
        self.newborn: Mm | None = None  # a child's, while fork copies breakpoints
        self.mapping_file: MappedFile | None = None  # what vm_mmap_pgoff() is called for
        self.nr_faults = 0
        self.left: int | None = None  # VM_FAULT_* of a fault whose end the entry code has yet to see (faults.py)
        self.events: PageEvents | None = None  # there while somebody listens
        self.page_events = PageEvents(board, self.frames, tracepoints, mirror, self._listen)
        self._vdso = vdso_image(arch)
        self._vdso_page: int | None = None
        self.max_map_count = DEFAULT_MAX_MAP_COUNT
        self.overcommit_memory, self.overcommit_ratio, self.overcommit_kbytes = 0, 50, 0  # vm.overcommit_*
        physical.on_starving = self._starving

    def _listen(self, events: PageEvents | None) -> None:
        self.events = self.frames.events = events

    def lowest_fixed(self) -> int:
        """cap_mmap_addr(): below mmap_min only with CAP_SYS_RAWIO."""
        task = self.board.current
        raw = task.cred.cap_effective >> CAP_SYS_RAWIO & 1 and "user" not in task.namespaces
        return 0 if raw else self.layout.mmap_min

    def ask_address(self, addr: int) -> int:
        """security_mmap_addr() of where an area is to be.  KernelError."""
        if self.on_address is not None:
            self.on_address(addr)
        return addr

    def set_max_map_count(self, value: int) -> None:
        """vm.max_map_count was written."""
        self.max_map_count = value

    def charge(self, size: int) -> None:
        """kmalloc() of what is kept in objects of Python; negative: kfree().

        KernelError(ENOMEM), and the OOM killer comes before the task is back in user mode: an allocation that small does
        not fail on Linux, it waits for somebody to be killed.
        """
        self.physical.charge(size)

    def _starving(self) -> None:
        task = self.board.current
        task.starving = task.work = True

    @property
    def total_ram_pages(self) -> int:
        """MemTotal."""
        return self.physical.nr_pages

    @property
    def free_ram_pages(self) -> int:
        """MemFree."""
        return self.physical.free_pages

    # -- whole spaces --------------------------------------------------------------------------------------------

    def _space(self) -> AddressSpace:
        return AddressSpace(self.physical, self.layout.task_size, self.arch.byteorder)

    def new(self) -> Mm:
        """An empty address space."""
        return self._attach(Mm(self, self._space()))

    def _attach(self, mm: Mm) -> Mm:
        mm.user = UserMemory(mm.space, mm.on_fault)
        if self.cpu is not None:
            mm.user.on_code_change = self.cpu.code_page_changed
        self.mirror.alloc_mm_memory(mm)
        return mm

    def dup(self, old: Mm) -> Mm:
        """fork: a copy-on-write copy."""
        space = self._space()
        try:
            self._copy_ldt(old.space, space)
            mm = dup_mmap(old, space)
        except KernelError:
            self._free_ldt(space)
            space.destroy()
            raise
        self._attach(mm)
        if old.mergeable:  # ksm_fork()
            self.ksm_enter(mm)
        if self.hooks is not None:
            self.newborn = mm  # no task has it yet
            self.hooks.dup_mm(old, mm)
            self.newborn = None
        return mm

    def _ksm_enter(self, mm: Mm) -> None:
        """__ksm_enter()."""
        mm.mergeable = True
        self.trace("ksm_enter", mm.addr)

    def assign(self, task: Task, mm: Mm | None) -> None:
        """task->mm."""
        task.mm = mm
        task.user = mm.user if mm is not None else None
        self.mirror.set_field(task.addr, "task_struct", "mm", mm.addr if mm is not None else 0)
        self.mirror.set_field(task.addr, "task_struct", "active_mm", mm.addr if mm is not None else 0)

    def drop(self, task: Task) -> None:
        """mmput(): the last user frees the pages; the page tables go after the last switch away."""
        mm = task.mm
        assert mm is not None
        if self.events is not None:
            self.events.sync(mm)
        self.assign(task, None)
        self.usercopy.user = self.no_user
        if self.cpu is not None:
            self.cpu.hide_address_space()
        mm.users -= 1
        if mm.users:
            return
        task.signal.maxrss = max(task.signal.maxrss, mm.rss_peak, len(mm.pages))
        self._free(mm)

    def forget_copy(self, task: Task) -> None:
        """A fork that came to nothing: the child's address space goes, the running task keeps its own."""
        mm = task.mm
        assert mm is not None
        self.assign(task, None)
        mm.users -= 1
        if not mm.users:
            self._free(mm)

    def replace(self, task: Task) -> None:
        """exec_mmap(): the running task gets an empty address space."""
        old = task.mm
        mm = self.new()
        if old is not None:
            mm.dump_filter = old.dump_filter  # mmf_init_flags()
        if self.events is not None and old is not None:
            self.events.sync(old)
        self.assign(task, mm)
        self.usercopy.user = mm.user
        self._load(mm.space)
        if self.events is not None:
            self.events.tlb_switch()
        if old is not None:
            old.users -= 1
            if not old.users:
                self._free(old)

    def _free(self, mm: Mm) -> None:
        if mm.ioctx_table and self.exit_aio is not None:
            self.exit_aio(mm)
        if self.hooks is not None:
            self.hooks.exit_mm(mm)
        if mm.mergeable:
            self.trace("ksm_exit", mm.addr)
        mm.release()
        self.mirror.free_mm_memory(mm)
        if self.cpu is not None and self.cpu.address_space is mm.space:
            self.cpu.set_address_space(None)
        self._free_ldt(mm.space)
        mm.space.destroy()

    def _free_ldt(self, space: AddressSpace) -> None:
        """destroy_context_ldt()."""
        if space.ldt:
            self.mem.free_pages(space.ldt, LDT_PAGES)
            space.ldt = space.ldt_entries = 0

    def _copy_ldt(self, old: AddressSpace, new: AddressSpace) -> None:
        """ldt_dup_context(): the child has the process's own descriptors (x86)."""
        if old.ldt:
            new.ldt, new.ldt_entries = self.mem.alloc_pages(LDT_PAGES), old.ldt_entries
            self.mem.write(new.ldt, self.mem.read(old.ldt, LDT_ENTRY_SIZE * old.ldt_entries))

    def _load(self, space: AddressSpace) -> None:
        if self.cpu is not None:
            self.cpu.set_address_space(space)

    # -- what an address space asks (mm.MmHome) ------------------------------------------------------------------

    def mmap_changed(self, mm: Mm, vma: Vma) -> None:
        """An area was mapped, or is protected otherwise: perf tells of it, uprobes may want to be in it."""
        self.areas_changed(mm)
        if self.on_mmap is not None:
            self.on_mmap(mm, vma.start)
        if self.hooks is not None and vma.file is not None:
            self.hooks.mmap(mm, vma.start, vma.end, vma.file.inode, vma.pgoff * PAGE_SIZE)

    def areas_changed(self, mm: Mm) -> None:
        """Who looks at mm->total_vm and its like sees them."""
        self.mirror.areas_changed(mm)

    def munmap_notify(self, mm: Mm, start: int, end: int) -> None:
        """An area goes away."""
        if self.hooks is not None:
            self.hooks.munmap(mm, start, end)

    def count_fault(self, mm: Mm, addr: int, access: str) -> None:
        """Minor fault statistics."""
        self.nr_faults += 1
        self.board.current.min_flt += 1

    # -- the page with the signal return trampoline --------------------------------------------------------------

    def map_vdso(self, mm: Mm) -> int:
        """The page that every program has; its address where it is an ELF image (AT_SYSINFO_EHDR), else 0."""
        image = self._vdso
        if image is None:
            return 0
        if self._vdso_page is None:
            self._vdso_page = self.frames.alloc_page()
            self.frames.write(self._vdso_page, image.page)
        page = self._vdso_page
        mm.vdso = mm.map(0, PAGE_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, name="[vdso]")
        vma = mm.find(mm.vdso)
        assert vma is not None
        vma.fault = lambda vma, pgoff: page
        vma.dontexpand = True
        return mm.vdso if image.page.startswith(b"\x7fELF") else 0

    def vdso_address(self) -> int:
        """The code that returns from signals in the current address space."""
        mm = self.board.current.mm
        assert mm is not None and self._vdso is not None
        return mm.vdso + self._vdso.trampoline

    def is_trampoline(self, ip: int) -> bool:
        """Whether user code there, or just behind it, returns from a signal."""
        return 0 <= ip - self.vdso_address() <= len(user_code_page(self.arch))
