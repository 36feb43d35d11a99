"""Areas of an address space, the files they show, and the physical pages behind them.  include/linux/mm_types.h.

Pages are counted in `Frames`: a page of the page cache belongs to its inode, an anonymous page is freed with its last
user.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from arch.abi.limits import PAGE_SIZE
from arch.abi.mman import (
    MAP_GROWSDOWN,
    MAP_NORESERVE,
    MAP_SHARED,
    MAP_SHARED_VALIDATE,
    MAP_TYPE,
    PROT_EXEC,
    PROT_WRITE,
)
from arch.errors import Poisoned
from arch.memory import PhysicalMemory
from arch.records import dataclass
from simkernel.kernel.watching import Watcher

# include/linux/mm.h, the bits that struct vm_area_struct.vm_flags really shows.
VM_READ, VM_WRITE, VM_EXEC, VM_SHARED = 1, 2, 4, 8
VM_MAYREAD, VM_MAYSHARE, VM_GROWSDOWN = 0x10, 0x80, 0x100
VM_LOCKED, VM_SEQ_READ, VM_RAND_READ, VM_DONTCOPY, VM_DONTEXPAND = 0x2000, 0x8000, 0x10000, 0x20000, 0x40000
VM_LOCKONFAULT = 0x80000
AREA_FLAGS = MAP_TYPE | MAP_GROWSDOWN | MAP_NORESERVE  # those of mmap(2) that an area keeps
LOCKED, LOCKED_ONFAULT = 1, 2  # how an area is locked: with all of its pages, or with those that come
VM_ACCOUNT, VM_NORESERVE, VM_WIPEONFORK, VM_DONTDUMP, VM_SOFTDIRTY = 0x100000, 0x200000, 0x2000000, 0x4000000, 0x8000000
VM_HUGEPAGE, VM_NOHUGEPAGE, VM_MERGEABLE = 0x20000000, 0x40000000, 0x80000000
VMA_SIZE = 152  # bytes of memory: struct vm_area_struct


def page_down(addr: int) -> int:
    """The start of the page."""
    return addr & ~(PAGE_SIZE - 1)


def page_up(addr: int) -> int:
    """The next page boundary, or the address itself."""
    return (addr + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1)


class Charger(Protocol):
    """Who keeps count of pages by control group (simkernel/fs/cgroup_memory.py)."""

    def charge(self, shared: bool) -> object | None:
        """Whose the next page is; None for nobody's.  ENOMEM."""

    def took(self, phys: int, whose: object) -> None:
        """The page that came of it."""

    def freed(self, phys: int) -> None:
        """A page went."""


class FilePages(Protocol):
    """An inode whose pages come and go."""

    @property
    def ino(self) -> int: ...
    @property
    def dev(self) -> int: ...


class PageListener(Protocol):
    """Who tells observers of pages (page_events.py)."""

    def allocated(self, phys: int, zeroed: bool) -> None:
        """A page came."""

    def freed(self, phys: int) -> None:
        """Its last user goes."""

    def lru_add(self, phys: int, anonymous: bool, swap_backed: bool) -> None:
        """It can be reclaimed from now on."""

    def file_page(self, name: str, host: FilePages, index: int, phys: int) -> None:
        """A file has it (or has it no more): the tracepoint's name, whose, which, where."""


class FramesSlots:
    """What native code reads of them, too."""

    __slots__ = ("charger", "events")


class Frames(FramesSlots):
    """Physical pages with reference counts, by physical address (arch.memory.PhysicalMemory names them by pfn)."""

    def __init__(self, physical: PhysicalMemory) -> None:
        self.physical = physical
        self.refcounts: list[int] = physical.refcounts
        self.corrupted = 0  # num_poisoned_pages
        self.pins: dict[int, int] = {}  # pages that the kernel uses, how often
        self.read: Callable[[int, int], bytes] = physical.read
        self.write: Callable[[int, bytes], None] = physical.write
        self.charger: Charger | None = None  # there while some control group has the memory controller
        self.events: PageListener | None = None  # there while somebody listens

    def alloc_page(self, zeroed: bool = True) -> int:
        """A page with one reference; its physical address.  Its bytes are zeros; `zeroed` says whether somebody asked for that."""
        if self.charger is not None:
            return self.alloc_charged(False, zeroed)
        phys = int(self.physical.alloc_page()) << 12
        if self.events is not None:
            self.events.allocated(phys, zeroed)
        return phys

    def alloc_charged(self, shared: bool, zeroed: bool = False) -> int:
        """The same, on a control group's account; `shared`: of tmpfs."""
        whose = self.charger.charge(shared) if self.charger is not None else None
        phys = int(self.physical.alloc_page()) << 12
        if whose is not None and self.charger is not None:
            self.charger.took(phys, whose)
        if self.events is not None:
            self.events.allocated(phys, zeroed)
        return phys

    def get_page(self, phys: int) -> None:
        """One more user of a page."""
        self.refcounts[phys >> 12] += 1

    def put_page(self, phys: int) -> None:
        """One user less; the last one frees it."""
        if self.charger is not None and self.refcounts[phys >> 12] == 1:
            self.charger.freed(phys)
        if self.events is not None and self.refcounts[phys >> 12] == 1:
            self.events.freed(phys)
        self.physical.put_page(phys >> 12)

    def put_pages(self, pages: Iterable[int]) -> None:
        """put_page() of each."""
        if self.charger is not None or self.events is not None:
            for phys in pages:
                self.put_page(phys)
            return
        counts, put = self.refcounts, self.physical.put_page
        for phys in pages:
            pfn = phys >> 12
            count = counts[pfn]
            if count > 1:
                counts[pfn] = count - 1
            else:
                put(pfn)

    def shared(self, phys: int) -> bool:
        """More than one user: not to be written in place."""
        count = self.refcounts[phys >> 12]
        return count > 1 and count - self.pins.get(phys, 0) > 1

    def pin(self, phys: int) -> None:
        """pin_user_pages(): the kernel uses a page for as long as it likes, and its owner writes it in place."""
        self.get_page(phys)
        self.pins[phys] = self.pins.get(phys, 0) + 1

    def unpin(self, phys: int) -> None:
        """unpin_user_page()."""
        self.pins[phys] -= 1
        if not self.pins[phys]:
            del self.pins[phys]
        self.put_page(phys)

    def copy_page(self, phys: int) -> int:
        """A new page with the same bytes."""
        new = self.alloc_page(zeroed=False)
        self.write(new, self.read(phys, PAGE_SIZE))
        return new


class CacheFrames:
    """Pages of files: those of tmpfs (`charged`) are on a control group's account, the page cache of disks is on nobody's."""

    def __init__(self, frames: Frames, charged: bool = False) -> None:
        self.frames, self.charged = frames, charged
        self.get_page, self.put_page = frames.get_page, frames.put_page
        self.read, self.write = frames.read, frames.write
        self.charge = frames.physical.charge

    def alloc_page(self) -> int:
        """A zeroed page with one reference."""
        if self.charged:
            phys = self.frames.alloc_charged(True)
        else:
            phys = int(self.frames.physical.alloc_page()) << 12
        if self.frames.events is not None:
            if not self.charged:
                self.frames.events.allocated(phys, False)
            self.frames.events.lru_add(phys, False, self.charged)
        return phys

    def comes(self, host: FilePages, index: int, phys: int) -> None:
        """filemap_add_folio()."""
        if self.frames.events is not None:
            self.frames.events.file_page("mm_filemap_add_to_page_cache", host, index, phys)

    def leaves(self, host: FilePages, index: int, phys: int) -> None:
        """filemap_remove_folio()."""
        if self.frames.events is not None:
            self.frames.events.file_page("mm_filemap_delete_from_page_cache", host, index, phys)
        self.put_page(phys)


class CachedPages(Protocol):
    """struct address_space: the pages of a file that are in memory."""

    pages: dict[int, int]  # page of the file -> physical address

    def cached(self, index: int) -> int | None:
        """A page's physical address, if reading it would not take a disk."""

    @property
    def swap_backed(self) -> bool:
        """They have no home but memory: tmpfs."""
        ...

    def poison(self, index: int) -> None:
        """A page is broken."""


class MappedInode(Protocol):
    """What mmap and exec need of an inode."""

    def __hash__(self) -> int: ...
    @property
    def ino(self) -> int: ...
    @property
    def dev(self) -> int:
        """Kernel dev_t, MKDEV(major, minor)."""
        ...

    @property
    def size(self) -> int: ...
    @property
    def i_mapping(self) -> CachedPages | None: ...

    def get_page(self, index: int) -> int:
        """Physical address of page `index` of the page cache (the same page for everyone; filled on first use).

        KernelError(EFAULT) beyond the end of the file: the core answers with SIGBUS.  The page stays owned by the page
        cache; the core takes its own references (Frames.get_page, put_page).
        """
        ...


class MappedFile(Protocol):
    """The host-side twin of a struct file, as mmap and exec see it."""

    @property
    def addr(self) -> int:
        """Kernel address of its struct file."""
        ...

    @property
    def inode(self) -> MappedInode: ...
    @property
    def flags(self) -> int:
        """f_flags."""
        ...

    @property
    def path(self) -> str:
        """As /proc/PID/maps shows it."""
        ...

    def read_at(self, pos: int, size: int) -> bytes:
        """kernel_read(): at most `size` bytes from `pos`; shorter at the end of the file."""
        ...

    def update_time(self) -> None:
        """file_update_time(): a page that everyone sees is written to through a mapping for the first time."""

    def mmap(self, vma: Vma) -> None:
        """f_op->mmap: check and prepare; KernelError(ENODEV) when it cannot be mapped.

        May set `vma.fault = fn(vma, pgoff) -> physical address` for pages that are not the page cache's.
        """

    def get(self) -> object:
        """get_file(): one more reference."""

    def put(self) -> None:
        """fput(): one reference less; may release."""


PageOf = Callable[["Vma", int], int]  # (area, page of the file) -> physical address


class VmOperations(Protocol):
    """struct vm_operations_struct: who wants to know how many areas show something."""

    def opened(self) -> None:
        """One more area, by a split, a move or fork."""
        return

    def closed(self) -> None:
        """One area less."""
        return

    def moves(self, mm: Space, to: int) -> None:
        """mremap(): the area of this address space will lie at `to`.  KernelError: it may not."""
        return

    def splits(self) -> bool:
        """may_split(): a part of the area may go, move or change its rights."""
        return True


class SharedAnonymous(VmOperations):
    """The pages of a MAP_SHARED|MAP_ANONYMOUS area, the same for everyone who inherits it: shmem_zero_setup()."""

    def __init__(self, frames: Frames) -> None:
        self.frames, self.areas = frames, 1
        self.pages: dict[int, int] = {}
        self.broken: set[int] = set()

    def poison(self, index: int) -> None:
        """A page is broken, for everyone."""
        self.frames.put_page(self.pages.pop(index))
        self.broken.add(index)

    def fault(self, vma: Vma, pgoff: int) -> int:
        """A page of it."""
        if pgoff in self.broken:
            raise Poisoned
        if pgoff not in self.pages:
            self.pages[pgoff] = self.frames.alloc_charged(True)
        return self.pages[pgoff]

    def cached(self, index: int) -> int | None:
        """A page that somebody has used."""
        return self.pages.get(index)

    def clear(self, first: int, last: int) -> None:
        """These pages are zeros again, for everyone."""
        for index, phys in self.pages.items():
            if first <= index < last:
                self.frames.write(phys, bytes(PAGE_SIZE))

    def opened(self) -> None:
        """One more area shows it."""
        self.areas += 1

    def closed(self) -> None:
        """One less; with the last its pages go."""
        self.areas -= 1
        if not self.areas:
            for phys in self.pages.values():
                self.frames.put_page(phys)
            self.pages.clear()


@dataclass(frozen=True, slots=True)
class MemPolicy:
    """struct mempolicy: MPOL_*, its flags, the nodes as they are shown."""

    mode: int
    flags: int
    nodes: int


PMD_SHIFT = 21  # what one page table maps
NO_POLICY = MemPolicy(0, 0, 0)  # the machine's own


class Vma:
    """struct vm_area_struct: one area of equal pages, [start, end)."""

    __slots__ = (
        "account", "addr", "advice", "anon", "anon_chain", "asked", "dontexpand", "dontfork", "end", "fault", "file", "flags", "locked", "may", "moved", "name", "ops",
        "pgoff", "policy", "private", "prot", "secret", "soft_dirty", "start", "userfault", "watcher",
    )  # fmt: skip

    def __init__(
        self,
        start: int,
        end: int,
        prot: int,
        flags: int,
        file: MappedFile | None = None,
        pgoff: int = 0,
        name: str = "",
    ) -> None:
        self.start = self.asked = start  # asked: what mmap(2) was given, before it looked for room
        self.end = end
        self.prot = prot
        self.flags = flags  # MAP_* as given
        self.file = file
        self.pgoff = pgoff  # in pages
        self.name = name
        self.fault: PageOf | None = None  # where its pages come from, if not from its file or nowhere
        self.private: object = None  # kept for the mapped object's owner
        self.may = 7  # VM_MAYREAD, VM_MAYWRITE, VM_MAYEXEC as PROT_*: what mprotect(2) may ask for
        self.ops: VmOperations | None = None
        self.dontfork = self.dontexpand = False
        self.anon = False  # anon_vma: a page of a file was copied for the owner
        self.anon_chain: tuple[
            object, ...
        ] = ()  # anon_vma_chain of anonymous memory, its own anon_vma first: anon_vma.py
        self.moved = 0  # bytes that mremap(2) took its pages down: what vm_pgoff still tells
        self.locked: int = 0  # LOCKED: VM_LOCKED, LOCKED_ONFAULT: with VM_LOCKONFAULT
        self.advice = 0  # VM_* that madvise(2) keeps
        self.account = (
            bool(prot & 2) and not self.shared and not flags & MAP_NORESERVE
        )  # VM_ACCOUNT; stays when it is no longer writable
        self.policy = NO_POLICY  # vm_policy: calls/mempolicy.py
        self.userfault = 0  # VM_UFFD_*: which faults user space looks after (userfault.py)
        self.watcher: Watcher | None = None  # who that is
        self.soft_dirty = True  # VM_SOFTDIRTY: new since somebody cleared /proc/PID/clear_refs
        self.secret = False  # vma_is_secretmem(): nobody gets its pages but by mapping them
        self.addr = 0

    @property
    def shared(self) -> bool:
        """Writes are seen by others."""
        return self.flags & MAP_TYPE in (MAP_SHARED, MAP_SHARED_VALIDATE)

    def continued_by(self, other: Vma) -> bool:
        """can_vma_merge_after() of private anonymous memory: nothing tells the two apart but whose their pages are."""
        return (
            self.end == other.start
            and self.file is None is other.file
            and self.fault is None is other.fault
            and (self.prot, self.flags, self.name, self.locked) == (other.prot, other.flags, other.name, other.locked)
            and (self.advice, self.account, self.dontfork) == (other.advice, other.account, other.dontfork)
            and (self.userfault, self.watcher, self.policy) == (other.userfault, other.watcher, other.policy)
            and self.moved == other.moved
            and not self.shared
        )

    def line(self, file_name: str | None = None) -> str:
        """Its line in /proc/PID/maps; `file_name`: for a reader who has another root."""
        rights = "".join(c if self.prot & bit else "-" for c, bit in (("r", 1), ("w", 2), ("x", 4)))
        inode = self.file.inode if self.file is not None else None
        dev = inode.dev if inode is not None else 0
        text = (
            f"{self.start:08x}-{self.end:08x} {rights}{'s' if self.shared else 'p'} "
            f"{self.pgoff * PAGE_SIZE if inode or self.shared else 0:08x} "
            f"{dev >> 20:02x}:{dev & 0xFFFFF:02x} {inode.ino if inode is not None else 0} "
        )
        name = file_name or (self.file.path if self.file is not None else self.name)
        return f"{text.ljust(73)}{name}\n" if name else text + "\n"

    def clone(self, start: int, end: int) -> Vma:
        """A part of this area."""
        new = Vma(start, end, self.prot, self.flags, self.file, self.pgoff, self.name)
        new.pgoff += (start - self.start) // PAGE_SIZE
        new.fault, new.private, new.dontfork = self.fault, self.private, self.dontfork
        new.may, new.ops, new.dontexpand, new.anon = self.may, self.ops, self.dontexpand, self.anon
        new.anon_chain, new.moved, new.secret = self.anon_chain, self.moved, self.secret
        new.userfault, new.watcher, new.policy = self.userfault, self.watcher, self.policy
        new.locked, new.advice, new.account, new.soft_dirty = self.locked, self.advice, self.account, self.soft_dirty
        return new

    @property
    def vm_flags(self) -> int:
        """VM_* bits."""
        flags = self.prot | self.may << 4 | self.advice | self.userfault
        for given, flag in (
            (self.locked, VM_LOCKED), (self.locked == LOCKED_ONFAULT, VM_LOCKONFAULT), (self.dontfork, VM_DONTCOPY), (self.dontexpand, VM_DONTEXPAND),
            (self.account, VM_ACCOUNT), (self.soft_dirty, VM_SOFTDIRTY),
        ):  # fmt: skip
            if given:
                flags |= flag
        if self.shared:
            flags |= VM_MAYSHARE | (VM_SHARED if self.may & 2 else 0)
        if self.flags & MAP_GROWSDOWN:
            flags |= VM_GROWSDOWN
        if self.flags & MAP_NORESERVE:
            flags |= VM_NORESERVE
        return flags

    def __repr__(self) -> str:
        return f"Vma({self.start:#x}-{self.end:#x} prot={self.prot} {self.name or (self.file.path if self.file is not None else '')})"


def any_secret(areas: Iterable[Vma]) -> bool:
    """Something of memfd_secret(2) is there: get_user_pages() fails."""
    return any(vma.secret for vma in areas)


class Layout(Protocol):
    """Borders of user address space."""

    task_size: int
    stack_top: int
    mmap_base: int
    mmap_min: int
    low_mappings: tuple[int, int] | None  # from where to where MAP_32BIT looks
    addresses: int  # how many there are, the kernel's among them


class Space(Protocol):
    """An address space as those who tell of it see it (mm.py)."""

    addr: int
    pages: dict[int, int]
    vmas: list[Vma]
    mmap_base: int

    @property
    def total_vm(self) -> int:
        """Mapped pages."""
        ...

    def present(self, start: int, end: int) -> list[int]:
        """Addresses of the present pages in [start, end)."""
        ...


class SpaceListener(Protocol):
    """Who tells observers of present pages and of areas (page_events.py)."""

    def fault_begins(self, mm: Space, vma: Vma, page: int) -> int | None:
        """The running task needs a page: the counter that it is in already, if it is present."""

    def file_fault(self, vma: Vma, page: int, write: bool) -> None:
        """A page of a file is not mapped, and looked for now."""

    def mapped(self, mm: Space, vma: Vma, page: int, was: int | None) -> None:
        """It has one; `was`: the counter that the page it had before was in."""

    def zap(self, mm: Space, start: int, end: int) -> None:
        """Before pages go."""

    def tlb_flush(self, pages: int | None) -> None:
        """The address space that runs forgets translations; None: all."""

    def kernel_fault(self, mm: Space, addr: int, access: str) -> None:
        """The kernel itself needs a page of user space."""

    def exit(self, mm: Space) -> None:
        """Before all of it goes."""

    def dup(self, mm: Space, new: Space) -> None:
        """A copy was made."""

    def stored(self, mm: Space, vma: Vma) -> None:
        """An area came, or has other borders."""

    def searched(self, mm: Space, size: int, low: int, found: int) -> None:
        """For room in the addresses, from above; `found`: an address, or -errno."""

    def area_made(self, mm: Space, vma: Vma, function: str) -> None:
        """Its struct vm_area_struct, by a function."""

    def area_gone(self, mm: Space, vma: Vma) -> None:
        """It is unmapped."""


def area_counts(areas: Iterable[Vma]) -> tuple[int, int, int, int, int]:
    """total_vm, stack_vm, data_vm, exec_vm and locked_vm, in pages: what Mm says of each in one walk."""
    total = stack = data = code = locked = 0
    for vma in areas:
        size, flags, prot = vma.end - vma.start, vma.flags, vma.prot
        total += size
        if vma.locked:
            locked += size
        if flags & MAP_GROWSDOWN:
            stack += size
        elif prot & PROT_WRITE:
            if not vma.shared:
                data += size
        elif prot & PROT_EXEC:
            code += size
    return total // PAGE_SIZE, stack // PAGE_SIZE, data // PAGE_SIZE, code // PAGE_SIZE, locked // PAGE_SIZE
