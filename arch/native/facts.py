"""What the trampolines must know of one architecture's emulator, and which registers they touch."""

from __future__ import annotations

from dataclasses import replace

from arch.abi.version import KernelVersion
from arch.architecture import Layout
from arch.native.block import Role
from arch.records import dataclass, field


@dataclass(frozen=True)
class CounterScale:
    """A counter of time that user code reads: `first`, and `units` for so many `ns`."""

    units: int = 1
    ns: int = 1
    first: int = 0
    from_epoch: bool = False  # ns since 1970, not since the start


@dataclass(frozen=True)
class SystemRead:
    """An instruction of user code that traps, and what it puts into its destination."""

    insn: int
    mask: int  # the bits that have to be so
    value: int | CounterScale  # a counter of time, or always the same
    since: str | None = None  # the kernel versions that allow it
    until: str | None = None


@dataclass(frozen=True)
class EmulatorFacts:
    """What the trampolines must know of one architecture's emulator.  Register numbers are unicorn's."""

    uc_arch: int
    uc_mode: int
    cpu_model: int | None
    page_size: int | None = field(default=None, kw_only=True)  # where the emulator's own choice is smaller than 4096
    uc_registers: dict[str, int]  # our register names -> unicorn's numbers
    pc: str
    sp: str
    privilege: str  # register that tells user from kernel mode
    privilege_mask: int
    privilege_user: int  # value & mask in user mode
    user_flag: tuple[str, int] | None = field(default=None, kw_only=True)  # (register, mask): also user mode; cleared
    hypercall_register: str
    result_register: str
    target_register: str
    argument_registers: tuple[str, ...]
    syscall_intno: int  # -1: by instruction hook
    hypercall_intno: int
    trap_roles: dict[int, Role]
    invalid_role: Role = Role.UNDEFINED
    # Registers read beside those of pt_regs on the way up, and written again after the privilege switch.
    keep: tuple[str, ...] = ()
    # Registers with fixed values written on the way up, before the pc: ((name, value), ...).
    up_constants: tuple[tuple[str, int], ...] = ()
    # Where one trap number stands for many: (mask, value, role) of the first two bytes of the instruction; for s390x's
    # opcode 0xe3 the second byte of the pair is the instruction's sixth.
    trap_opcodes: tuple[tuple[int, int, Role], ...] = ()
    up_blobs: dict[str, bytes] = field(default_factory=dict)  # registers whose value is a C structure
    # Where the emulator keeps registers, general ones first: (offset in bytes, bits); and where it keeps the flag of `user_flag`.
    # Looked for when a CPU is made (emulatorstate.py); where they are not so, its interface is asked.
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    flag_place: int = 0
    up_sp_offset: int = 0  # added to the address of pt_regs for the stack pointer of entry stubs
    up_syncs: tuple[tuple[str, str], ...] = ()  # (register to write, register whose user value it gets)
    user_context: bool = False  # privilege comes with a (shortened) uc_context (x86)
    context_end: str = ""  # last register of the shortened context
    context_tail: int = 0
    marker_register: int = 0  # unicorn's number of the first debug register (x86)
    syscall_insn_hook: int = 0  # unicorn instruction number (x86 syscall)
    syscall_insn_size: int = 0  # bytes to add to the pc that the hook sees
    # The time stamp counter (x86): instruction numbers and the registers it goes to, the lower half first.
    counter_insns: tuple[tuple[int, tuple[str, ...]], ...] = ()
    reads: tuple[SystemRead, ...] = ()  # what user code may read that traps
    read_shift: int = 0  # where the destination stands in these instructions
    numbered: tuple[str, ...] = ()  # registers as instructions number them; "": none, or always 0
    stored_counter: CounterScale | None = None  # s390x: instructions that do not trap put it into memory
    condition_mask: int = 0  # the condition code in the privilege register (s390x)
    syscall_pc_after: bool = True  # intr hook sees the pc after the instruction
    trap_pc_adjust: dict[int, int] = field(default_factory=dict)  # intno -> added to pc in pt_regs
    invalid_pc_adjust: int = 0
    svc_number_in_insn: bool = False  # s390x
    syscall_number_register: str = ""
    # pt_regs fields filled on entry: field -> register name, or a number.
    syscall_fill: dict[str, str | int] = field(default_factory=dict)
    trap_fill: dict[str, str | int] = field(default_factory=dict)
    probe_fill: dict[str, str | int] = field(default_factory=dict)
    entry_fill: dict[str, int] = field(default_factory=dict)  # instead, where ftrace stands for the breakpoint
    kernel_flags: tuple[str, int] | None = None  # the register with the interrupt flag, and what it is in the kernel
    read_only_fields: tuple[str, ...] = ()  # never written back from pt_regs by probes
    thumb_flag: int = 0  # bit of the privilege register that the pc to start at carries in bit 0
    frame_reserve: int = 0  # bytes kept free between pt_regs and the top of the kernel stack
    outgoing_offset: int = 0  # at a hypercall, stack arguments of the call to make go to sp + this
    outgoing_slots: int = 0
    espfix: int | None = (
        None  # x86-64: 4 GiB that are the descriptor table's page again and again, for returns to 16-bit stacks
    )
    spare: tuple[int, int] = (0, 0)  # what else of a frame nobody writes: from sp + this, bytes
    probe_red_zone: int = 0  # bytes below the kernel sp that stay untouched by a probe's frame

    @property
    def general(self) -> frozenset[str]:
        """Registers that are written by being put in their place: those before all others, which lie side by side."""
        return frozenset(
            name for i, (name, place) in enumerate(self.places.items()) if place == (8 * i, 64) and name != self.pc
        )

    def at(self, version: KernelVersion) -> EmulatorFacts:
        """Those of one kernel version: what user code may read."""
        kept = tuple(row for row in self.reads if version.within(row.since, row.until))
        return self if kept == self.reads else replace(self, reads=kept)


class Registers:
    """Order of the registers that trampolines read in one batch."""

    def __init__(self, facts: EmulatorFacts, layout: Layout, syscall_arguments: tuple[str, ...] = ()) -> None:
        self.syscall_arguments = syscall_arguments  # the first of them, where system calls are answered in the hook
        rows = [row for row in layout.rows if row.register is not None]
        names = [str(row.register) for row in rows]
        extra = [facts.pc, facts.sp, facts.privilege, *facts.keep]
        extra += [r for fill in (facts.syscall_fill, facts.trap_fill) for r in fill.values() if isinstance(r, str)]
        if facts.syscall_number_register:
            extra.append(facts.syscall_number_register)
        extra += [source for _, source in facts.up_syncs]
        for name in extra:
            if name not in names:
                names.append(name)
        self.names = tuple(names)
        self.index = {name: i for i, name in enumerate(names)}
        self.writable = tuple(
            (self.index[str(row.register)], row) for row in rows if row.field not in facts.read_only_fields
        )
        self.rows = tuple((self.index[str(row.register)], row) for row in rows)
        # What system calls write beside the result, from where: x86-64's rcx and r11.
        self.syscall_copies = tuple(
            (str(layout.fields[field].register), source)
            for field, source in facts.syscall_fill.items()
            if isinstance(source, str) and field in layout.fields
            if layout.fields[field].register not in (None, source, facts.syscall_number_register)
        )
        self.hyper = (facts.hypercall_register, facts.result_register, *facts.argument_registers)
        # Written back after a context of another task was restored: all but what that context brings.
        back = [n for n in names if n not in facts.keep and n not in (facts.pc, facts.privilege)]
        self.back = (*back, facts.pc)
        # Written on the way up: constants, copies, kept registers, sp, up to three arguments, pc last.
        self.up = (
            *(name for name, _ in facts.up_constants),
            *(name for name, _ in facts.up_syncs),
            *facts.keep,
            facts.sp,
            *facts.argument_registers[:3],
            facts.pc,
        )
