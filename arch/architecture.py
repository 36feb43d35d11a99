"""`Architecture`: everything one CPU architecture states about itself, as data.

Each architecture is a folder (arch/x86_64/, arch/arm64/ ...) whose tables make one `Architecture`; `get(name)` finds
it, `names()` lists what folders there are, also those of places named by `add_folder()`.  Nothing outside arch/ branches
on an architecture's name, or knows one.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import arch
from arch.abi.files import FileAbi
from arch.abi.version import KernelVersion
from arch.callfacts import CallFacts
from arch.cpuinfo import CpuInfo
from arch.datamodel import ByteOrder, DataModel
from arch.exceptions import Exceptions
from arch.memory import KernelMap, Memory
from arch.records import dataclass, field
from arch.tracefacts import TraceFacts
from arch.usdt import Usdt


@dataclass(frozen=True, slots=True)
class Row:
    """One field of struct pt_regs.  `register` is the CPU register it mirrors, or None where entry code fills it."""

    offset: int  # bytes
    field: str
    register: str | None = None
    size: int = 8  # bytes
    note: str = ""


@dataclass(frozen=True)
class Layout:
    """A register frame: name, size in bytes, rows in order of offset.  Checked when made."""

    name: str
    size: int
    rows: tuple[Row, ...]

    def __post_init__(self) -> None:
        end = 0
        for row in self.rows:
            if row.offset < end:
                raise ValueError(f"{self.name}.{row.field} at {row.offset:#x} overlaps the row before (end {end:#x})")
            end = row.offset + row.size
        if end > self.size:
            raise ValueError(f"{self.name} is longer than {self.size} bytes")

    @cached_property
    def fields(self) -> dict[str, Row]:
        """Rows by field name."""
        return {row.field: row for row in self.rows}

    def offset(self, field: str) -> int:
        """offsetof(struct pt_regs, field)."""
        return self.fields[field].offset

    def get(self, mem: Memory, regs: int, field: str) -> int:
        """Read one field of the frame at address `regs`."""
        row = self.fields[field]
        return mem.read_uint(regs + row.offset, row.size)

    def set(self, mem: Memory, regs: int, field: str, value: int) -> None:
        """Write one field of the frame at address `regs`."""
        row = self.fields[field]
        mem.write_uint(regs + row.offset, row.size, value)


@dataclass(frozen=True)
class SyscallAbi:
    """One system-call convention: pt_regs fields of number, arguments and result, and the number table."""

    name: str  # "x86_64", "i386", "arm64", ...
    number: str  # pt_regs field that holds the number inside the kernel
    args: tuple[str, ...]  # pt_regs fields of arguments 1..6 inside the kernel
    result: str  # pt_regs field of the result
    numbers: Mapping[str, int]  # name ("openat") -> number
    insn: bytes = b""  # the system-call instruction, in memory order
    # "__x64_sys_": symbol prefix of handlers that take pt_regs (CONFIG_ARCH_HAS_SYSCALL_WRAPPER), and since when they
    # do; None: never.  arch/*/include/asm/syscall_wrapper.h
    wrapper_prefix: str = ""
    wrapper_since: str | None = None
    other_wrappers: tuple[str, ...] = ()  # prefixes of the handlers of other conventions in the same kernel
    # Handlers of calls without arguments: what their one function is called, and what else its place is called, by prefix, and since
    # when that is so.  None: as the others.
    bare_handlers: tuple[str, tuple[str, ...], str] | None = None
    user_number: str = ""  # CPU register with the number in user mode
    # Order of clone()'s arguments: CONFIG_CLONE_BACKWARDS swaps the last two, CLONE_BACKWARDS2 the first two.
    clone_order: tuple[str, ...] = ("flags", "stack", "parent_tid", "child_tid", "tls")
    number_bits: int = 64  # so many low bits of its field are the number; the rest says something else
    aligned_pairs: bool = False  # 64-bit arguments of a 32-bit machine begin in an even argument word (ARM EABI)
    mmap_takes_block: bool = False  # mmap() gets a pointer to its six arguments (old_mmap)

    @cached_property
    def names(self) -> dict[int, str]:
        """number -> name."""
        return {nr: name for name, nr in self.numbers.items()}


@dataclass(frozen=True)
class EntryPoints:
    """The kernel's way in and out: symbols of hand-made text, and the C functions they call.

    Keys of both maps are roles: "syscall", "page_fault", "timer", "undefined", "divide", "breakpoint", "debug",
    "protection" (and "fork": a new task starts in ret_from_fork).  `stubs` names the assembly symbol, `handlers`
    the kernel function that the stub calls; declare kernel functions of these names.  See arch/text.py for what each
    gets as arguments.
    """

    stubs: Mapping[str, str]
    handlers: Mapping[str, str]


@dataclass(frozen=True)
class Architecture:
    """One CPU architecture's facts.  Sizes and offsets in bytes."""

    name: str  # our name and Linux's: x86_64, arm64, riscv64, s390x, i386, arm
    machine: str  # uname -m
    srcarch: str  # its folder in the kernel's arch/, and NAME of __TARGET_ARCH_NAME where programs are compiled
    calls: CallFacts  # what system calls show of it
    elf_machine: int  # e_machine
    elf_class: int  # 1 (32 bit) or 2 (64 bit)
    model: DataModel
    byteorder: ByteOrder
    word: int  # size of long and of pointers
    page_size: int
    map: KernelMap
    # registers
    registers: tuple[str, ...]  # general CPU registers by our names, program counter and stack pointer included
    pt_regs_by_version: tuple[tuple[str, Layout], ...]  # (first version, layout), newest first
    function_args: tuple[str, ...]  # pt_regs fields of C arguments 1..n passed in registers
    perf_regs: tuple[str | None, ...]  # pt_regs field of each bit of perf's register masks; "" is 0, None refused
    stack_args_offset: int  # at function entry: first stack argument at sp + this
    return_value: str  # pt_regs field
    stack_pointer: str  # pt_regs field
    instruction_pointer: str  # pt_regs field
    frame_pointer: str  # pt_regs field
    link_register: str | None  # pt_regs field that holds the return address at function entry; None: on the stack
    kprobe_registers: Mapping[str, str]  # NAME of %NAME in kprobe_events -> pt_regs field
    crash_registers: tuple[tuple[str, str], ...]  # (printed name, pt_regs field), in the order oops reports print
    oops_pc: str  # how an oops names the function that was executed
    syscall_abis: tuple[SyscallAbi, ...]  # first is the native one
    entry: EntryPoints
    # breakpoints
    kprobe_breakpoint: bytes  # memory order
    uprobe_breakpoint: bytes
    kprobe_ip_offset: int  # what kprobe handlers see in pt_regs ip, minus the probed address
    # programs
    elf_platform: str | None  # AT_PLATFORM
    hwcap: int
    hwcap2: tuple[tuple[str, int], ...]  # (since, AT_HWCAP2), newest first; older kernels do not tell it
    user_stack_top: int  # STACK_TOP
    mmap_base: int  # where top-down mmap begins without randomisation
    elf_et_dyn_base: int
    files: FileAbi  # how programs see files
    headers: tuple[Path, ...]  # C declarations that only this architecture has
    # (pt_regs field, bit) that says in which instruction set a program starts whose entry address is odd
    entry_mode: tuple[str, int] | None = None
    # What functions of the generic kernel are called here: name in kernel/, mm/ ... -> this architecture's name
    own_names: Mapping[str, str] = field(default_factory=dict)
    # Functions between the system call's handler and the call itself, outermost first: (prototype, first version)
    syscall_chain: tuple[tuple[str, str], ...] = ()
    trap_fields: Mapping[str, str | None] = field(default_factory=dict)  # "error_code"/"orig" -> pt_regs field
    kprobes_on_ftrace: str | None = None  # first version with CONFIG_KPROBES_ON_FTRACE; None: there is none
    ftrace_ip_offset: int | None = None  # kprobe_ip_offset of those; None: the same
    # How many arguments a BPF trampoline hands on, and since when it has those on the stack, too; None: all.
    trampoline_arguments: tuple[int, str] | None = None
    percpu_at_zero_until: str | None = None  # the version before which variables of each CPU were linked at address 0
    bpf_jit: bool = False  # bpf/jit/ has this CPU's compiler
    built_since: Mapping[str, str | None] = field(
        default_factory=dict
    )  # where bpf/versions/config.py has something else
    aligned_only: bool = False  # Debian's kernels are built without CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS
    user_pt_regs_size: int = 0  # how much of pt_regs user space and PTRACE_GETREGS see
    # Symbols of hand-made text and entry handlers that had other names: (until which version, {name since: before}).
    older_names: tuple[tuple[str, Mapping[str, str]], ...] = ()
    cpuinfo: CpuInfo = field(default_factory=CpuInfo)  # /proc/cpuinfo
    # copy_from_kernel_nofault() tells addresses that cannot be the kernel's (ERANGE) from those that are not mapped
    nofault_range: bool = False
    # a function that returns an int fills the whole register (System V for x86-64 and AAPCS64 leave the upper half)
    extends_int_results: bool = True
    interrupt_rows: tuple[tuple[str, str], ...] = ()  # of /proc/interrupts, below the lines: name and text
    local_timer_row: str = ""  # the one that counts the timer of each CPU
    traces: TraceFacts = field(default_factory=TraceFacts)  # what traces show of it
    exceptions: Exceptions = field(default_factory=Exceptions)  # what becomes of instructions that the CPU does not do
    usdt: Usdt | None = None  # arguments of static probes; None: libbpf knows none here
    support: Any = None  # arch.support.Support: emulator constants, kernel text, unwinding

    @property
    def pt_regs(self) -> Layout:
        """Layout in the newest kernel."""
        return self.pt_regs_by_version[0][1]

    def pt_regs_for(self, version: KernelVersion) -> Layout:
        """Layout in a kernel version; a version before the first row gets the oldest."""
        for first, layout in self.pt_regs_by_version:
            if version.at_least(first):
                return layout
        return self.pt_regs_by_version[-1][1]

    def symbol_name(self, name: str, version: KernelVersion) -> str:
        """What an entry symbol of the newest kernel was called in this version."""
        for until, names in self.older_names:
            if name in names and version.before(until):
                name = names[name]
        return name

    def entry_for(self, version: KernelVersion) -> EntryPoints:
        """`entry` with the names of a version."""
        return EntryPoints(
            stubs={role: self.symbol_name(name, version) for role, name in self.entry.stubs.items()},
            handlers={role: self.symbol_name(name, version) for role, name in self.entry.handlers.items()},
        )

    def kprobe_by_ftrace(self, offset: int, version: KernelVersion) -> bool:
        """A kprobe at this offset in a function is served by ftrace, not by a breakpoint."""
        return not offset and self.kprobes_on_ftrace is not None and version.at_least(self.kprobes_on_ftrace)

    def probe_ip_offset(self, offset: int, version: KernelVersion) -> int:
        """What a kprobe's handler sees in pt_regs ip, minus the probed address."""
        own = self.ftrace_ip_offset
        return own if own is not None and self.kprobe_by_ftrace(offset, version) else self.kprobe_ip_offset

    # -- the native system-call convention, for short ------------------------------------------------------
    @property
    def syscalls(self) -> Mapping[str, int]:
        """Native system-call numbers by name."""
        return self.syscall_abis[0].numbers

    @property
    def syscall_args(self) -> tuple[str, ...]:
        return self.syscall_abis[0].args

    @property
    def syscall_number(self) -> str:
        return self.syscall_abis[0].number

    # -- register frames -----------------------------------------------------------------------------------
    def argument(self, mem: Memory, regs: int, n: int, layout: Layout | None = None) -> int:
        """regs_get_kernel_argument(): C argument `n` (from 0) at a function's entry."""
        layout = layout or self.pt_regs
        if n < len(self.function_args):
            return layout.get(mem, regs, self.function_args[n])
        sp = layout.get(mem, regs, self.stack_pointer)
        return mem.read_uint(sp + self.stack_args_offset + self.word * (n - len(self.function_args)), self.word)

    def return_address(self, mem: Memory, regs: int, layout: Layout | None = None) -> int:
        """At a function's first instruction: where it will return to."""
        layout = layout or self.pt_regs
        if self.link_register is not None:
            return layout.get(mem, regs, self.link_register)
        return mem.read_uint(layout.get(mem, regs, self.stack_pointer), self.word)

    def set_return_address(self, mem: Memory, regs: int, value: int, layout: Layout | None = None) -> None:
        """Replace the return address (kretprobes): in the frame's link register or on the stack."""
        layout = layout or self.pt_regs
        if self.link_register is not None:
            layout.set(mem, regs, self.link_register, value)
        else:
            mem.write_uint(layout.get(mem, regs, self.stack_pointer), self.word, value)


OURS = ("x86_64", "arm64", "riscv64", "s390x", "i386", "arm")
DEFAULT = OURS[0]  # what a machine is when nobody says


def names() -> tuple[str, ...]:
    """Every architecture there is: ours, then those of other places (`add_folder`) in order of their names."""
    found = {path.parent.name for place in arch.__path__ for path in Path(place).glob("*/registers.py")}
    return (*OURS, *sorted(found.difference(OURS)))


def add_folder(place: Path) -> None:
    """Look for architectures in the folders of `place`, too.  `place`/NAME is then imported as arch.NAME."""
    if str(place) not in arch.__path__:
        arch.__path__.append(str(place))


@cache
def get(name: str) -> Architecture:
    """The architecture of this name; ValueError for an unknown one."""
    if name not in names():
        raise ValueError(f"unknown architecture {name!r}; known: {', '.join(names())}")
    module = importlib.import_module(f"arch.{name}")
    result = module.ARCHITECTURE
    assert isinstance(result, Architecture)
    return result


def by_machine(machine: str) -> Architecture | None:
    """The architecture with this `uname -m`."""
    return next((found for found in map(get, names()) if found.machine == machine), None)


def by_elf_machine(number: int) -> Architecture | None:
    """The architecture with this e_machine in its programs."""
    return next((found for found in map(get, names()) if found.elf_machine == number), None)


def by_model(byteorder: ByteOrder, word: int = 8) -> Architecture:
    """The first architecture with this byte order and word size."""
    return next(found for found in map(get, names()) if (found.byteorder, found.word) == (byteorder, word))


def syscall_wrappers() -> tuple[str, ...]:
    """What system-call handlers' names begin with, on any architecture."""
    abis = [abi for name in names() for abi in get(name).syscall_abis]
    return tuple(prefix for abi in abis for prefix in (abi.wrapper_prefix, *abi.other_wrappers) if prefix)
