"""What tracing needs from the floors above, and what it takes from them, as Protocols.

The kernel (or a test) implements `TraceHost`; user address spaces implement `UserSpaces`.  Nothing here knows
BPF or the virtual file system.  Times are nanoseconds of virtual time, addresses are plain ints.

A blocking read of a trace file does not block here: it raises `WouldBlock(key)`.  The upper floor puts the task to
sleep on `key` and repeats the read after `TraceHost.wake(key)`; a file opened with O_NONBLOCK gets EAGAIN instead.

Programs of the floor above reach an event as `AttachedProgram` (on a perf event) or `FilterProgram` (in the filter file
of 3.20-rfc); tracing runs them and gives them back, and knows nothing else of them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from arch.abi.version import KernelVersion
from arch.architecture import Architecture
from arch.ctype import FuncDecl
from arch.memory import Memory
from arch.native import Block
from arch.native.handler import NativeCode, NativeHandler
from arch.symbols import Symbol
from arch.typetable import TypeTable

# A probe handler gets the kernel address of the struct pt_regs built for the hit.  A true answer says that it
# changed registers in that pt_regs, and that they have to be loaded back into the CPU.
ProbeHandler = Callable[[int], object]
# What runs when a function returns through the trampoline: gets pt_regs, gives the address to continue at.
ReturnHandler = Callable[[int], int]

# enum trace_flag_type, include/linux/trace_events.h: the answer of TraceHost.irq_flags().
TRACE_FLAG_IRQS_OFF = 0x01
TRACE_FLAG_IRQS_NOSUPPORT = 0x02
TRACE_FLAG_NEED_RESCHED = 0x04
TRACE_FLAG_HARDIRQ = 0x08
TRACE_FLAG_SOFTIRQ = 0x10
TRACE_FLAG_PREEMPT_RESCHED = 0x20
TRACE_FLAG_NMI = 0x40
TRACE_FLAG_BH_OFF = 0x80


class WouldBlock(Exception):
    """A read that has to wait; sleep on `key`, then repeat it."""

    def __init__(self, key: Hashable) -> None:
        super().__init__(key)
        self.key = key


class KernelMem(Memory, Protocol):
    """Kernel memory; alloc() gives zeroed bytes and may be asked for whole pages (align=4096)."""

    def alloc(self, size: int, align: int = 8) -> int:
        """Zeroed bytes at a multiple of `align`; their address.  ENOMEM."""

    def free(self, addr: int) -> None:
        """Give them back."""

    def alloc_pages(self, count: int = 1) -> int:
        """Zeroed pages that are counted, so that user space may have them, too; their address.  ENOMEM."""

    def free_pages(self, addr: int, count: int = 1) -> None:
        """One user of them less."""

    def charge(self, size: int) -> None:
        """Count `size` bytes that Linux has in memory and we keep elsewhere; negative gives back.  ENOMEM."""


class SymbolTable(Protocol):
    """kallsyms, asked for one symbol."""

    def lookup(self, addr: int) -> tuple[str, int, int] | None:
        """(name, offset into it, size) of the symbol that covers `addr`."""

    def address(self, name: str) -> int | None:
        """Address of a function or variable; None if there is no such symbol."""


class AllSymbols(SymbolTable, Protocol):
    """kallsyms, to be gone through as well."""

    def __iter__(self) -> Iterator[Symbol]:
        """All symbols, by address."""


class Timer(Protocol):
    """An armed timer."""

    def cancel(self) -> None:
        """Forget it; harmless when it has run."""


class PerfCgroup(Protocol):
    """A control group for which perf counts."""

    def contains_current(self) -> bool:
        """The running task is in it, or below."""


class TraceHost(Protocol):
    """The kernel as seen by tracing."""

    # Facts
    version: KernelVersion
    release: str  # uname -r
    arch: Architecture
    nr_cpus: int

    @property
    def mem(self) -> KernelMem:
        """Kernel memory."""

    @property
    def block(self) -> Block:
        """What native code shares with Python."""

    @property
    def symbols(self) -> AllSymbols:
        """kallsyms."""

    @property
    def types(self) -> TypeTable:
        """The kernel's declarations: tracepoints read task->comm and such through them."""

    # Where we are.  pid is the kernel's pid (a thread's), tgid the process's.
    def now_ns(self) -> int:
        """CLOCK_MONOTONIC of virtual time, in ns."""

    def cpu_id(self) -> int:
        """The CPU that runs this, from 0."""

    def current_pid(self) -> int:
        """Of the thread that runs; 0 when idle."""

    def current_tgid(self) -> int:
        """Of its process."""

    def current_comm(self) -> str:
        """Its name, at most 15 characters."""

    def current_uid(self) -> int:
        """Its real uid."""

    def irq_flags(self) -> int:
        """TRACE_FLAG_* bits now."""

    @property
    def native_flags(self) -> int:
        """Host address of the words from which native code makes irq_flags() (record/compiled.py); 0: it cannot."""

    def preempt_count(self) -> int:
        """Low four bits preemption depth, bits 4-7 migrate-disable depth (as trace_entry.preempt_count of 6.1)."""

    def sock_cookie(self, sk: int) -> int:
        """The number of a struct sock, given when somebody first asks for it."""
        return 0

    def user_mem(self) -> Memory | None:
        """The current task's user memory, None for a kernel thread."""

    def may_watch(self, task: Hashable, change: bool) -> bool:
        """ptrace_may_access(): may the current task look at `task`, or (`change`) attach to it?"""

    def capable(self, capability: str) -> bool:
        """Has the current task "sys_admin", "perfmon" ...?"""

    # Probes.
    def arm(self, addr: int, handler: ProbeHandler, native: NativeHandler | None = None) -> None:
        """Run `handler` at each execution of the instruction at kernel address `addr` (one handler per address).

        `native` is its compiled form, if it has one.
        """

    def aim(self, addr: int, handler: ProbeHandler, native: NativeHandler | None) -> None:
        """An armed handler has another compiled form from now on, or none."""

    def disarm(self, addr: int, handler: ProbeHandler) -> None:
        """Undo arm() of the same handler."""

    return_trampoline: int  # kernel address that kretprobes put in place of the return address

    def set_return_handler(self, handler: ReturnHandler, native: NativeHandler | None = None) -> None:
        """`handler` runs whenever a CPU reaches `return_trampoline`, in the task whose function returned.

        `native` is its compiled form, which sets the address to go on at itself.
        """

    def task_number(self, task: Hashable) -> int:
        """Of a token: the address of its struct task_struct, as Word.CURRENT has it while the task runs."""

    def is_kernel_text(self, addr: int) -> bool:
        """Inside the functions of the kernel's text (and so probe-able unless blacklisted)."""

    def signature(self, function: str) -> FuncDecl | None:
        """The prototype of a function, as BTF has it; None for one that it does not know."""

    def boundaries(self, name: str) -> Sequence[int]:
        """Addresses of the instructions of a function, ascending."""

    def probe_blacklist(self) -> Iterable[tuple[int, int, str]]:
        """(start, end, name) of the functions in which no kprobe may be put."""

    # Registers and stacks, for samples and stack traces.
    def caller_regs(self, unread: bool = False) -> int:
        """perf_fetch_caller_regs(): address of a pt_regs of the place that fired; 0 if the host keeps none.

        `unread`: nobody will look into it, so that it need not be filled.
        """

    def user_regs(self, regs: int) -> int:
        """perf_get_regs_user(): `regs` if those are of user code, else where the task entered the kernel; 0: a kernel thread."""

    def interrupt_regs(self) -> int:
        """get_irq_regs(): pt_regs of what a timer tick interrupted; 0 if the host keeps none."""

    def stack_trace(self, regs: int, point: str = "") -> list[int]:
        """Kernel return addresses, innermost first, from a probe's pt_regs, or from here where `regs` is 0."""

    def caller_of(self, function: int, parent: int, regs: int) -> int:
        """The return address that a real kernel would have where this one has `parent`, at a function's entry."""
        ...

    def frame(self, name: str) -> int:
        """An address inside a function that this machine's stacks do not show by themselves, given its name."""

    def callchains(self, regs: int, limit: int, point: str = "") -> tuple[list[int], list[int]]:
        """(kernel, user) return addresses from a pt_regs, innermost first, at most `limit` of each."""

    # Waiting and logging.
    def send_sigtrap(self, addr: int, data: int, kind: int) -> None:
        """perf_sigtrap(): SIGTRAP for the running task, TRAP_PERF, with what the event's attr says and its type."""

    def wake(self, key: Hashable) -> None:
        """Let the tasks that sleep on `key` run again."""

    def sleepers(self, key: Hashable) -> tuple[int, int]:
        """Host addresses of references to the list of those and to the dict of who else is told."""

    def forget_sleepers(self, key: Hashable) -> None:
        """Nobody will sleep on `key` any more."""

    def spend(self, ns: int) -> None:
        """Work is done here that takes so long."""

    def add_timer(self, delay_ns: int, callback: Callable[[], None]) -> Timer:
        """Call back after `delay_ns` of virtual time."""

    def pr(self, level: int, text: str) -> None:
        """printk: one line for the kernel log."""

    # Tasks, for perf_event_open(pid).
    def find_task(self, pid: int) -> Hashable | None:
        """A token of the task with this pid that compares equal to current_task() while it runs."""

    def perf_cgroup(self, fd: int) -> PerfCgroup:
        """The control group of a directory's descriptor.  EBADF; ENOENT where it has no controller perf_event."""

    def perf_cgroup_id(self) -> int:
        """Of the running task's group with that controller."""

    def namespace_files(self, task: Hashable) -> list[tuple[int, int]]:
        """Device and inode of /proc/PID/ns/: net, uts, ipc, pid, user, mnt, cgroup."""

    def current_task(self) -> Hashable:
        """A token of the task that runs, see find_task()."""

    def current_struct(self) -> int:
        """Kernel address of the current struct task_struct."""

    def constant_strings(self) -> dict[int, str]:
        """tracepoint_string(): by address, what events point to instead of copying it."""

    def constant_string(self, text: str) -> int:
        """Where such a string is."""

    def file_page(self) -> tuple[int, int, int]:
        """Inode number, index and dev_t of the page that comes to a file or leaves it now."""

    def mm_counter(self, mm: int, member: int) -> int:
        """Resident pages of a kind (MM_*) in the address space whose struct mm_struct is there."""

    def lru_page(self) -> tuple[int, int]:
        """enum lru_list and PAGEMAP_* of the page that goes to an LRU list now."""


class Mapping(NamedTuple):
    """A mapping, as perf tells of it; of nothing but memory the numbers of its file are 0."""

    start: int
    length: int
    offset: int
    path: str
    major: int
    minor: int
    ino: int
    prot: int  # PROT_*
    flags: int  # MAP_*


class UserSpaces(Protocol):
    """User address spaces, for uprobes.  `inode` and `mm` are any hashable tokens of the upper floor."""

    def resolve_path(self, path: str) -> Hashable:
        """The inode of a path; KernelError(ENOENT ...), EINVAL if it is not a regular file."""

    def inode_size(self, inode: Hashable) -> int:
        """i_size, in bytes."""

    def has_pages(self, inode: Hashable) -> bool:
        """Its bytes come by the page (a_ops->read_folio, or shmem), as those of a file that can be mapped do."""

    def mappings(self, inode: Hashable) -> Sequence[tuple[Hashable, int, int, int, bool]]:
        """Present mappings of the file in every address space: (mm, start, end, file offset, executable)."""

    def mapping(self, mm: Hashable, start: int) -> Mapping | None:
        """The mapping that begins there."""

    def watch_mappings(self, listener: Callable[[Hashable, int], None] | None) -> None:
        """Tell of every mapping that comes or is protected otherwise, as (mm, start); None: no more."""

    def current_mm(self) -> Hashable | None:
        """The running task's address space; None for a kernel thread."""

    def mm_of_task(self, task: Hashable) -> Hashable | None:
        """The address space of a task token (TraceHost.find_task); None for a kernel thread."""

    def arm_user(self, mm: Hashable, vaddr: int, handler: ProbeHandler, native: NativeHandler | None = None) -> None:
        """Breakpoint in user text; `handler` gets the kernel address of the pt_regs (ip = vaddr).

        `native` is its compiled form, if it has one.
        """

    def aim_user(self, mm: Hashable, vaddr: int, native: NativeHandler | None) -> None:
        """An armed breakpoint has another compiled handler from now on, or none."""

    def disarm_user(self, mm: Hashable, vaddr: int) -> None:
        """Undo arm_user() at that address."""

    def user_mem_of(self, mm: Hashable) -> Memory:
        """The memory that a task with this mm sees."""

    def uretprobe_trampoline(self, mm: Hashable) -> int:
        """Address of the xol area's return trampoline in `mm`, mapped at the first call."""

    def set_uret_handler(self, handler: ReturnHandler, native: NativeHandler | None = None) -> None:
        """`handler` runs whenever a task reaches its uretprobe_trampoline(); `native` is its compiled form."""


class AttachedProgram(Protocol):
    """A program that the floor above attached to a perf event."""

    id: int
    when_native: list[Callable[[], None]]  # called when the program has been compiled

    @property
    def native(self) -> NativeCode | None:
        """Its compiled form, which needs nothing that run() prepares; None: there is none (yet)."""

    def run(self, ctx: int) -> int:
        """On the context at kernel address `ctx`; 0 drops the event."""

    def missed(self) -> None:
        """It did not run, because another program ran on this CPU."""

    def release(self) -> None:
        """Drop its reference."""


class FilterProgram(Protocol):
    """A program in an event's filter file (3.20-rfc); a true answer lets the event through."""

    def run_args(self, args: tuple[int, ...]) -> int:
        """On up to six arguments."""

    def run_regs(self, regs: int) -> int:
        """On a struct pt_regs."""

    def release(self) -> None:
        """Drop its reference."""
