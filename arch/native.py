"""Native trampolines: the only place where emulated code and Python meet.

Calling Python from the emulator through its own binding costs 9 to 16 us an event; a trampoline compiled here
costs 0.2 us.  Each function below is LLVM IR text, made from an `EmulatorFacts` table and compiled once per
architecture and pt_regs layout with llvmlite.  They work on one *block* per CPU, an array of 64-bit words (`Word`), and
call unicorn's C interface by address.

    fill      TLB miss: direct map, kernel text, vmalloc area and user page tables; refuses what may not be touched
    block     counts work done in user mode, stops at the budget
    intr      system calls, traps and hypercalls
    invalid   illegal instructions
    insn      x86-64's `syscall` instruction, which has a hook kind of its own
    probe     one probed address: registers into struct pt_regs, Python handler, changed registers back
    run       emulate; turns user page faults into kernel entries without leaving native code
    enter     the way up: user registers into struct pt_regs on the kernel stack, kernel mode, entry stub
    fetch     registers into a struct pt_regs;  load: the other way

Everything runs with the GIL held; a Python exception in a handler stops the emulation and leaves through run().
"""

from __future__ import annotations

import ctypes
import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from arch.architecture import Layout

UC_PROT_READ, UC_PROT_WRITE, UC_PROT_EXEC = 1, 2, 4
UC_MEM_READ, UC_MEM_WRITE, UC_MEM_FETCH = 16, 17, 18
UC_ERR_EXCEPTION = 21

MAX_REGISTERS = 64
WINDOW_SIZE = 1 << 16


class Word(enum.IntEnum):
    """Words of a CPU's block."""

    UC = 0  # uc_engine *
    HOST = enum.auto()  # host address of physical address 0
    PHYS_SIZE = enum.auto()
    DIRECT = enum.auto()  # kernel map, see memory.KernelMap
    TEXT_BASE = enum.auto()
    TEXT_SIZE = enum.auto()
    TEXT_PHYS = enum.auto()
    VMALLOC_START = enum.auto()
    VMALLOC_SIZE = enum.auto()
    VMALLOC_ROOT = enum.auto()  # physical address of a page table root; 0: none
    USER_END = enum.auto()
    USER_ROOT = enum.auto()
    CODE_PAGES = enum.auto()  # host address of PhysicalMemory.code_pages
    WINDOW = enum.auto()  # virtual window for dropping translated code of any physical page
    WINDOW_PHYS = enum.auto()  # what the window shows; 0: window closed
    WORK = enum.auto()  # units executed in user mode
    DEADLINE = enum.auto()  # stop when WORK reaches it
    REASON = enum.auto()  # Reason: why the emulation stopped
    FAULT_ADDRESS = enum.auto()
    FAULT_CODE = enum.auto()  # error code; 0: no fault noted
    TRAP = enum.auto()  # trap number of the last trap
    GDT = enum.auto()  # page of the descriptor table: segment loads in user mode may read it; 0: none
    ZERO_PAGE = enum.auto()  # physical address of a page of zeros
    SPARE_CONTEXT = enum.auto()  # uc_context * to move the whole CPU out and in again (x86)
    OLD_EXCEPTION = enum.auto()  # host address of the pending-exception field inside it
    KERNEL_STACK = enum.auto()  # top of the current task's kernel stack
    CONTEXT = enum.auto()  # uc_context * that carries kernel privilege (x86)
    ON_ENTER = enum.auto()  # PyObject *
    ON_RESUME = enum.auto()
    ON_SWITCH = enum.auto()
    ENTER_TABLE = enum.auto()  # host address of (PyObject *, number of arguments) by function index; 0: none
    ENTER_SIZE = enum.auto()  # entries in it
    UP_EXTRA = enum.auto()  # host address of constant values written on the way up
    READ_IDS = enum.auto()  # host addresses of the register tables
    READ_PTRS = enum.auto()
    HYPER_IDS = enum.auto()
    HYPER_PTRS = enum.auto()
    UP_IDS = enum.auto()
    UP_PTRS = enum.auto()
    BACK_IDS = enum.auto()
    BACK_PTRS = enum.auto()
    WRITE_IDS = enum.auto()  # scratch tables for writing changed registers
    WRITE_PTRS = enum.auto()
    SKIP_PROBE = enum.auto()  # address whose probe has run already, when the emulation goes on there; 0: none
    TLB_DIRTY = enum.auto()  # page tables lost rights: flush before user code runs again
    TRAPPED = enum.auto()  # a trap was turned into a kernel entry in this emulation
    ENTRY = enum.auto()  # first of 16 entry addresses, by Role
    END = 64
    VALUES = 64  # MAX_REGISTERS values read from registers
    SCRATCH = VALUES + MAX_REGISTERS  # values written to registers
    TOTAL = SCRATCH + MAX_REGISTERS


class Role(enum.IntEnum):
    """Ways into the kernel.  Names as in architecture.EntryPoints."""

    SYSCALL = 0
    PAGE_FAULT = 1
    TIMER = 2
    UNDEFINED = 3
    DIVIDE = 4
    BREAKPOINT = 5
    DEBUG = 6
    PROTECTION = 7
    FP = 8
    ALIGNMENT = 9
    INTERRUPT = 10


class Reason(enum.IntEnum):
    """Why native run() came back."""

    NONE = 0
    BUDGET = 1
    STOPPED = 2
    EXCEPTION = 3  # a Python exception is pending
    KERNEL_FAULT = 4
    KERNEL_TRAP = 5
    RESTART = 7  # Python has to do something between translated blocks
    ERROR = 6  # unicorn error, number in the low bits: ERROR + 16 * err


# Codes in the hypercall register; what is not negative is the index of a kernel function.
HYPERCALL_RESUME = -1
HYPERCALL_SWITCH = -2


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
    up_sp_offset: int = 0  # added to the address of pt_regs for the stack pointer of entry stubs
    up_syncs: tuple[tuple[str, str], ...] = ()  # (register to write, register whose user value it gets)
    user_context: bool = False  # privilege comes with a (shortened) uc_context (x86)
    context_end: str = ""  # last register of the shortened context
    context_tail: int = 0
    marker_register: int = 0  # unicorn's number of the first debug register (x86)
    syscall_insn_hook: int = 0  # unicorn instruction number (x86 syscall)
    syscall_insn_size: int = 0  # bytes to add to the pc that the hook sees
    syscall_pc_after: bool = True  # intr hook sees the pc after the instruction
    trap_pc_adjust: dict[int, int] = field(default_factory=dict)  # intno -> added to pc in pt_regs
    invalid_pc_adjust: int = 0
    svc_number_in_insn: bool = False  # s390x
    syscall_number_register: str = ""
    # pt_regs fields filled on entry: field -> register name, or a number.
    syscall_fill: dict[str, str | int] = field(default_factory=dict)
    trap_fill: dict[str, str | int] = field(default_factory=dict)
    probe_fill: dict[str, str | int] = field(default_factory=dict)
    read_only_fields: tuple[str, ...] = ()  # never written back from pt_regs by probes
    thumb_flag: int = 0  # bit of the privilege register that the pc to start at carries in bit 0
    frame_reserve: int = 0  # bytes kept free between pt_regs and the top of the kernel stack
    outgoing_offset: int = 0  # at a hypercall, stack arguments of the call to make go to sp + this
    outgoing_slots: int = 0
    probe_red_zone: int = 0  # bytes below the kernel sp that stay untouched by a probe's frame


class _Function:
    """Text of one LLVM function, with numbered temporaries."""

    def __init__(self, signature: str) -> None:
        self.lines = [f"define {signature} {{", "entry:"]
        self._n = 0

    def name(self, stem: str = "t") -> str:
        self._n += 1
        return f"{stem}{self._n}"

    def do(self, text: str) -> None:
        self.lines.append("  " + text)

    def let(self, text: str) -> str:
        result = "%" + self.name()
        self.do(f"{result} = {text}")
        return result

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    # -- shorthands --------------------------------------------------------------------------------------------
    def load(self, address: str, kind: str = "i64") -> str:
        """Load from an address given as an i64."""
        pointer = self.let(f"inttoptr i64 {address} to ptr")
        return self.let(f"load {kind}, ptr {pointer}, align 1")

    def store(self, address: str, value: str, kind: str = "i64") -> None:
        pointer = self.let(f"inttoptr i64 {address} to ptr")
        self.do(f"store {kind} {value}, ptr {pointer}, align 1")

    def word_address(self, blk: str, word: int) -> str:
        return self.let(f"add i64 {blk}, {8 * word}")

    def word(self, blk: str, word: int) -> str:
        return self.load(self.word_address(blk, word))

    def set_word(self, blk: str, word: int, value: str) -> None:
        self.store(self.word_address(blk, word), value)

    def call(self, address: int | str, ret: str, args: str) -> str:
        """Call a C function by host address."""
        pointer = self.let(f"inttoptr i64 {address} to ptr")
        if ret == "void":
            self.do(f"call void {pointer}({args})")
            return ""
        return self.let(f"call {ret} {pointer}({args})")

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.do(f"br i1 {condition}, label %{yes}, label %{no}")

    def goto(self, label: str) -> None:
        self.do(f"br label %{label}")

    def text(self) -> str:
        return "\n".join([*self.lines, "}", ""])


@cache
def _c_functions() -> dict[str, int]:
    """Host addresses of the C functions that trampolines call."""
    from unicorn.unicorn_py3.unicorn import uclib

    names: tuple[str, ...] = ("uc_reg_read", "uc_reg_write", "uc_reg_read_batch", "uc_reg_write_batch")
    names += ("uc_context_restore", "uc_context_save", "uc_emu_start", "uc_emu_stop", "uc_ctl")
    result = {name: ctypes.cast(getattr(uclib, name), ctypes.c_void_p).value or 0 for name in names}
    names = ("PyLong_FromUnsignedLongLong", "PyLong_AsUnsignedLongLongMask", "PyObject_Vectorcall")
    names += ("PyTuple_Size", "PyTuple_GetItem", "PyErr_Occurred", "Py_DecRef", "Py_IncRef")
    for name in names:
        result[name] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
    result["PyTuple_Type"] = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "PyTuple_Type"))
    return result


class Registers:
    """Order of the registers that trampolines read in one batch."""

    def __init__(self, facts: EmulatorFacts, layout: Layout) -> None:
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


class _Generator:
    """Writes the IR of all trampolines of one architecture and layout."""

    def __init__(self, facts: EmulatorFacts, layout: Layout, word: int, big_endian: bool) -> None:
        self.facts = facts
        self.layout = layout
        self.word = word
        self.big_endian = big_endian
        self.regs = Registers(facts, layout)
        self.c = _c_functions()
        self.ids = facts.uc_registers

    def module(self) -> str:
        parts = [
            self.is_user(),
            self.walk(),
            self.fill(),
            self.settle(),
            self.block(),
            self.store_frame(),
            self.load_frame(),
        ]
        parts += [self.enter(), self.python_result(), self.hypercall(), self.trap(), self.intr(), self.invalid()]
        parts += [self.insn(), self.probe(), self.run(), self.fetch(), self.load(), self.restore()]
        parts += [self.save(), self.read_register(), self.write_register(), self.switch_stack()]
        parts += [self.builtin(name, arguments, result) for name, arguments, result in BUILTINS]
        intrinsics = "".join(f"declare i{n} @llvm.bswap.i{n}(i{n})\n" for n in (16, 32, 64))
        intrinsics += "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"
        return intrinsics + "\n".join(parts)

    # -- small pieces --------------------------------------------------------------------------------------------
    def is_user(self) -> str:
        """Whether the CPU is in user mode now."""
        facts = self.facts
        f = _Function("internal i1 @is_user(ptr %uc, i64 %blk)")
        f.do("%slot = alloca i64")
        f.do("store i64 0, ptr %slot")
        f.call(self.c["uc_reg_read"], "i32", f"ptr %uc, i32 {self.ids[facts.privilege]}, ptr %slot")
        value = f.let("load i64, ptr %slot")
        value = f.let(f"and i64 {value}, {facts.privilege_mask}")
        result = f.let(f"icmp eq i64 {value}, {facts.privilege_user}")
        if facts.user_flag is not None:
            register, mask = facts.user_flag
            f.do("store i64 0, ptr %slot")
            f.call(self.c["uc_reg_read"], "i32", f"ptr %uc, i32 {self.ids[register]}, ptr %slot")
            flag = f.let(f"and i64 {f.let('load i64, ptr %slot')}, {mask}")
            result = f.let(f"or i1 {result}, {f.let(f'icmp ne i64 {flag}, 0')}")
        f.do(f"ret i1 {result}")
        return f.text()

    def walk(self) -> str:
        """Page-table entry of an address under a root; 0 when a table is missing.  See arch/mmu.py."""
        f = _Function("internal i64 @walk(i64 %blk, i64 %root, i64 %vaddr)")
        host = f.word("%blk", Word.HOST)
        none = f.let("icmp eq i64 %root, 0")
        f.branch(none, "missing", "level3")
        f.label("level3")
        table = "%root"
        for level in (3, 2, 1, 0):
            shift = f.let(f"lshr i64 %vaddr, {12 + 9 * level}")
            index = f.let(f"and i64 {shift}, 511")
            at = f.let(f"shl i64 {index}, 3")
            at = f.let(f"add i64 {at}, {table}")
            at = f.let(f"add i64 {at}, {host}")
            entry = f.load(at)
            if level == 0:
                f.do(f"ret i64 {entry}")
            else:
                present = f.let(f"icmp ne i64 {entry}, 0")
                f.branch(present, f"level{level - 1}", "missing")
                f.label(f"level{level - 1}")
                table = f.let(f"and i64 {entry}, -4096")
        f.label("missing")
        f.do("ret i64 0")
        return f.text()

    def fill(self) -> str:
        """uc_cb_tlbevent_t.  RX for code, RW for data, never W and X at once."""
        f = _Function("i8 @fill(ptr %uc, i64 %vaddr, i32 %type, ptr %out, i64 %blk)")
        f.do("%perms = alloca i32")
        f.do("%paddr = alloca i64")
        f.do("%pte = alloca i64")
        f.do("store i64 0, ptr %pte")
        window_phys = f.word("%blk", Word.WINDOW_PHYS)
        closed = f.let(f"icmp eq i64 {window_phys}, 0")
        f.branch(closed, "mode", "window")
        f.label("window")
        off = f.let(f"sub i64 %vaddr, {f.word('%blk', Word.WINDOW)}")
        inside = f.let(f"icmp ult i64 {off}, {WINDOW_SIZE}")
        f.branch(inside, "in_window", "mode")
        f.label("in_window")
        f.do(f"store i64 {f.let(f'add i64 {off}, {window_phys}')}, ptr %paddr")
        f.do(f"store i32 {UC_PROT_READ | UC_PROT_EXEC}, ptr %perms")
        f.goto("grant")

        f.label("mode")
        user = f.let("call i1 @is_user(ptr %uc, i64 %blk)")
        f.branch(user, "user", "kernel")

        f.label("kernel")
        off = f.let(f"sub i64 %vaddr, {f.word('%blk', Word.TEXT_BASE)}")
        inside = f.let(f"icmp ult i64 {off}, {f.word('%blk', Word.TEXT_SIZE)}")
        f.branch(inside, "text", "not_text")
        f.label("text")
        at = f.let(f"add i64 {off}, {f.word('%blk', Word.TEXT_PHYS)}")
        f.do(f"store i64 {at}, ptr %paddr")
        f.do(f"store i32 {UC_PROT_READ | UC_PROT_EXEC}, ptr %perms")
        f.goto("check")
        f.label("not_text")
        off = f.let(f"sub i64 %vaddr, {f.word('%blk', Word.DIRECT)}")
        inside = f.let(f"icmp ult i64 {off}, {f.word('%blk', Word.PHYS_SIZE)}")
        f.branch(inside, "direct", "not_direct")
        f.label("direct")
        f.do(f"store i64 {off}, ptr %paddr")
        f.do(f"store i32 {UC_PROT_READ | UC_PROT_WRITE}, ptr %perms")
        f.goto("check")
        f.label("not_direct")
        off = f.let(f"sub i64 %vaddr, {f.word('%blk', Word.VMALLOC_START)}")
        inside = f.let(f"icmp ult i64 {off}, {f.word('%blk', Word.VMALLOC_SIZE)}")
        f.branch(inside, "vmalloc", "refuse")
        f.label("vmalloc")
        root = f.word("%blk", Word.VMALLOC_ROOT)
        entry = f.let(f"call i64 @walk(i64 %blk, i64 {root}, i64 {off})")
        f.do(f"store i64 {entry}, ptr %pte")
        f.goto("from_pte")

        f.label("user")
        inside = f.let(f"icmp ult i64 %vaddr, {f.word('%blk', Word.USER_END)}")
        f.branch(inside, "user_walk", "not_user")
        f.label("not_user")
        gdt = f.word("%blk", Word.GDT)
        is_gdt = f.let(f"icmp eq i64 %vaddr, {gdt}")
        f.branch(f.let(f"and i1 {is_gdt}, {f.let(f'icmp ne i64 {gdt}, 0')}"), "gdt", "refuse")
        f.label("gdt")
        f.do(f"store i64 {f.let('sub i64 %vaddr, ' + f.word('%blk', Word.DIRECT))}, ptr %paddr")
        f.do(f"store i32 {UC_PROT_READ}, ptr %perms")
        f.goto("check")
        f.label("user_walk")
        root = f.word("%blk", Word.USER_ROOT)
        entry = f.let(f"call i64 @walk(i64 %blk, i64 {root}, i64 %vaddr)")
        f.do(f"store i64 {entry}, ptr %pte")
        f.goto("from_pte")

        f.label("from_pte")
        entry = f.let("load i64, ptr %pte")
        present = f.let(f"trunc i64 {entry} to i1")
        f.branch(present, "is_present", "refuse")
        f.label("is_present")
        page = f.let(f"and i64 {entry}, -4096")
        inside_page = f.let("and i64 %vaddr, 4095")  # emulator pages may be smaller than ours
        f.do(f"store i64 {f.let(f'or i64 {page}, {inside_page}')}, ptr %paddr")
        rights = f.let(f"lshr i64 {entry}, 1")  # PTE_READ, WRITE, EXEC are unicorn's bits shifted by one
        rights = f.let(f"and i64 {rights}, 7")
        rights32 = f.let(f"trunc i64 {rights} to i32")
        both = f.let(f"and i32 {rights32}, {UC_PROT_WRITE | UC_PROT_EXEC}")
        both = f.let(f"icmp eq i32 {both}, {UC_PROT_WRITE | UC_PROT_EXEC}")
        f.do(f"store i32 {rights32}, ptr %perms")
        f.branch(both, "write_xor_exec", "check")
        f.label("write_xor_exec")  # a fetch gets RX, anything else RW
        fetch = f.let(f"icmp eq i32 %type, {UC_MEM_FETCH}")
        drop = f.let(f"select i1 {fetch}, i32 {UC_PROT_WRITE}, i32 {UC_PROT_EXEC}")
        f.do(f"store i32 {f.let(f'xor i32 {rights32}, {drop}')}, ptr %perms")
        f.goto("check")

        f.label("check")
        perms = f.let("load i32, ptr %perms")
        shift = f.let(f"sub i32 %type, {UC_MEM_READ}")
        need = f.let(f"shl i32 1, {shift}")  # read 1, write 2, fetch 4
        have = f.let(f"and i32 {perms}, {need}")
        f.branch(f.let(f"icmp ne i32 {have}, 0"), "grant_code", "refuse")

        f.label("grant_code")  # remember pages that may hold translated code; a write grant drops the translation
        paddr = f.let("load i64, ptr %paddr")
        pfn = f.let(f"lshr i64 {paddr}, 12")
        mark = f.let(f"add i64 {pfn}, {f.word('%blk', Word.CODE_PAGES)}")
        executable = f.let(f"icmp uge i32 {perms}, {UC_PROT_EXEC}")
        f.branch(executable, "mark_code", "not_code")
        f.label("mark_code")
        f.store(mark, "1", "i8")
        f.goto("grant")
        f.label("not_code")
        writable = f.let(f"and i32 {perms}, {UC_PROT_WRITE}")
        was = f.load(mark, "i8")
        is_write = f.let(f"icmp ne i32 {writable}, 0")
        was_code = f.let(f"icmp ne i8 {was}, 0")
        f.branch(f.let(f"and i1 {is_write}, {was_code}"), "drop_code", "grant")
        f.label("drop_code")
        f.store(mark, "0", "i8")
        f.set_word("%blk", Word.WINDOW_PHYS, f.let(f"and i64 {paddr}, -4096"))
        window = f.word("%blk", Word.WINDOW)
        end = f.let(f"add i64 {window}, 4096")
        uc = f.let("ptrtoint ptr %uc to i64")
        f.do(f"call void @drop_code(i64 {uc}, i64 {window}, i64 {end})")
        f.set_word("%blk", Word.WINDOW_PHYS, "0")
        f.goto("grant")

        f.label("grant")
        f.do(f"store i64 {f.let('load i64, ptr %paddr')}, ptr %out")
        at = f.let("getelementptr i8, ptr %out, i64 8")
        f.do(f"store i32 {f.let('load i32, ptr %perms')}, ptr {at}")
        f.do("ret i8 1")

        # An illegal instruction at the start of a page makes an empty translation block, whose "second page" is the page
        # before.  Let that lookup succeed; the block then raises its exception, and the next handler flushes.
        f.label("refuse")
        fetch = f.let(f"icmp eq i32 %type, {UC_MEM_FETCH}")
        f.branch(fetch, "empty_block", "refused")
        f.label("empty_block")
        f.do("%slot = alloca i64")
        f.do("store i64 0, ptr %slot")
        f.call(self.c["uc_reg_read"], "i32", f"ptr %uc, i32 {self.ids[self.facts.pc]}, ptr %slot")
        next_page = f.let("add i64 %vaddr, 4096")
        at_start = f.let(f"icmp eq i64 {f.let('load i64, ptr %slot')}, {next_page}")
        f.branch(f.let(f"and i1 {at_start}, {user}"), "lend", "refused")
        f.label("lend")
        f.do(f"store i64 {f.word('%blk', Word.ZERO_PAGE)}, ptr %paddr")
        f.do(f"store i32 {UC_PROT_READ | UC_PROT_EXEC}, ptr %perms")
        f.set_word("%blk", Word.TLB_DIRTY, "1")
        f.goto("grant")
        f.label("refused")  # error code bits as x86: PROT 1, WRITE 2, USER 4, EXEC 16; 32 marks it valid
        f.set_word("%blk", Word.FAULT_ADDRESS, "%vaddr")
        entry = f.let("load i64, ptr %pte")
        code = f.let(f"and i64 {entry}, 1")
        is_write = f.let(f"icmp eq i32 %type, {UC_MEM_WRITE}")
        code = f.let(f"or i64 {code}, {f.let(f'select i1 {is_write}, i64 2, i64 0')}")
        is_fetch = f.let(f"icmp eq i32 %type, {UC_MEM_FETCH}")
        code = f.let(f"or i64 {code}, {f.let(f'select i1 {is_fetch}, i64 16, i64 0')}")
        code = f.let(f"or i64 {code}, 32")
        f.set_word("%blk", Word.FAULT_CODE, code)
        f.do("ret i8 0")
        return self.drop_code() + f.text()

    def drop_code(self) -> str:
        """uc_ctl(REMOVE_CACHE, start, end).  A variadic C function."""
        control = 9 | (2 << 26) | (1 << 30)  # UC_CTL_TB_REMOVE_CACHE, two arguments, write
        f = _Function("internal void @drop_code(i64 %uc, i64 %start, i64 %end)")
        pointer = f.let(f"inttoptr i64 {self.c['uc_ctl']} to ptr")
        f.do(f"call i32 (ptr, i32, ...) {pointer}(ptr {f.let('inttoptr i64 %uc to ptr')}, i32 {control}, "
             "i64 %start, i64 %end)")  # fmt: skip
        f.do("ret void")
        return f.text()

    def settle(self) -> str:
        """After Python ran: flush the TLB if page tables changed."""
        control = 11 | (1 << 30)  # UC_CTL_TLB_FLUSH, no arguments, write
        f = _Function("internal void @settle(i64 %blk)")
        dirty = f.word("%blk", Word.TLB_DIRTY)
        f.branch(f.let(f"icmp eq i64 {dirty}, 0"), "clean", "flush")
        f.label("flush")
        f.set_word("%blk", Word.TLB_DIRTY, "0")
        pointer = f.let(f"inttoptr i64 {self.c['uc_ctl']} to ptr")
        uc = f.let(f"inttoptr i64 {f.word('%blk', Word.UC)} to ptr")
        f.do(f"call i32 (ptr, i32, ...) {pointer}(ptr {uc}, i32 {control})")
        f.goto("clean")
        f.label("clean")
        f.do("ret void")
        return f.text()

    def block(self) -> str:
        """uc_cb_hookcode_t on user blocks: count about one unit per instruction (4 bytes), stop at the deadline."""
        f = _Function("void @block(ptr %uc, i64 %addr, i32 %size, i64 %blk)")
        work = f.word("%blk", Word.WORK)
        over = f.let(f"icmp uge i64 {work}, {f.word('%blk', Word.DEADLINE)}")
        f.branch(over, "stop", "count")
        f.label("count")
        units = f.let("lshr i32 %size, 2")
        units = f.let(f"zext i32 {units} to i64")
        units = f.let(f"add i64 {units}, 1")
        f.set_word("%blk", Word.WORK, f.let(f"add i64 {work}, {units}"))
        f.do("ret void")
        f.label("stop")
        user = f.let("call i1 @is_user(ptr %uc, i64 %blk)")
        f.branch(user, "stop_now", "count")
        f.label("stop_now")
        f.set_word("%blk", Word.REASON, str(int(Reason.BUDGET)))
        f.call(self.c["uc_emu_stop"], "i32", "ptr %uc")
        f.do("ret void")
        return f.text()

    # -- register frames -----------------------------------------------------------------------------------------
    def _swap(self, f: _Function, value: str, size: int) -> tuple[str, str]:
        """An i64 as the integer of `size` bytes in machine byte order; returns (value, type)."""
        kind = f"i{8 * size}"
        if size != 8:
            value = f.let(f"trunc i64 {value} to {kind}")
        if self.big_endian and size > 1:
            value = f.let(f"call {kind} @llvm.bswap.{kind}({kind} {value})")
        return value, kind

    def _unswap(self, f: _Function, value: str, size: int) -> str:
        kind = f"i{8 * size}"
        if self.big_endian and size > 1:
            value = f.let(f"call {kind} @llvm.bswap.{kind}({kind} {value})")
        return value if size == 8 else f.let(f"zext {kind} {value} to i64")

    def _put(self, f: _Function, frame: str, name: str, value: str) -> None:
        row = self.layout.fields[name]
        stored, kind = self._swap(f, value, row.size)
        f.store(f.let(f"add i64 {frame}, {row.offset}"), stored, kind)

    def _fill_fields(self, f: _Function, frame: str, fill: dict[str, str | int]) -> None:
        for name, source in fill.items():
            if name not in self.layout.fields:
                continue
            if isinstance(source, int):
                value = f.let(f"add i64 0, {source}")
            else:
                value = f.word("%blk", Word.VALUES + self.regs.index[source])
            self._put(f, frame, name, value)

    def store_frame(self) -> str:
        """Read all registers in one batch and lay them out as struct pt_regs at host address %frame."""
        f = _Function("internal void @store_frame(ptr %uc, i64 %blk, i64 %frame)")
        ids = f.word("%blk", Word.READ_IDS)
        ptrs = f.word("%blk", Word.READ_PTRS)
        f.call(self.c["uc_reg_read_batch"], "i32", f"ptr %uc, i64 {ids}, i64 {ptrs}, i32 {len(self.regs.names)}")
        for index, row in self.regs.rows:
            value, kind = self._swap(f, f.word("%blk", Word.VALUES + index), row.size)
            f.store(f.let(f"add i64 %frame, {row.offset}"), value, kind)
        f.do("ret void")
        return f.text()

    def load_frame(self) -> str:
        """Write to the CPU whichever register differs between the frame and the values last read."""
        f = _Function("internal void @load_frame(ptr %uc, i64 %blk, i64 %frame)")
        f.do("%count = alloca i64")
        f.do("store i64 0, ptr %count")
        f.do("%jump = alloca i1")
        f.do("store i1 0, ptr %jump")
        ids = f.word("%blk", Word.WRITE_IDS)
        ptrs = f.word("%blk", Word.WRITE_PTRS)
        pc_slot = f.word_address("%blk", Word.VALUES + self.regs.index[self.facts.pc])
        for index, row in self.regs.writable:
            old = f.word("%blk", Word.VALUES + index)
            if row.size != 8:
                old = f.let(f"and i64 {old}, {(1 << (8 * row.size)) - 1}")
            new = self._unswap(f, f.load(f.let(f"add i64 %frame, {row.offset}"), f"i{8 * row.size}"), row.size)
            changed, same = f.name("changed"), f.name("same")
            different = f.let(f"icmp ne i64 {old}, {new}")
            if row.register == self.facts.pc:
                f.do(f"store i1 {different}, ptr %jump")
            f.branch(different, changed, same)
            f.label(changed)
            slot = f.word_address("%blk", Word.VALUES + index)
            f.store(slot, new)
            if row.register != self.facts.pc:
                count = f.let("load i64, ptr %count")
                at = f.let(f"add i64 {ids}, {f.let(f'shl i64 {count}, 2')}")
                f.store(at, str(self.ids[str(row.register)]), "i32")
                f.store(f.let(f"add i64 {ptrs}, {f.let(f'shl i64 {count}, 3')}"), slot)
                f.do(f"store i64 {f.let(f'add i64 {count}, 1')}, ptr %count")
            f.goto(same)
            f.label(same)
        count = f.let("load i64, ptr %count")
        f.branch(f.let(f"icmp eq i64 {count}, 0"), "written", "write")
        f.label("write")
        count32 = f.let(f"trunc i64 {count} to i32")
        f.call(self.c["uc_reg_write_batch"], "i32", f"ptr %uc, i64 {ids}, i64 {ptrs}, i32 {count32}")
        f.goto("written")
        f.label("written")
        f.branch(f.let("load i1, ptr %jump"), "jump_now", "done")
        f.label("jump_now")  # only uc_reg_write() keeps the emulator from restoring the pc of the probed instruction
        pc_ptr = f.let(f"inttoptr i64 {pc_slot} to ptr")
        f.call(self.c["uc_reg_write"], "i32", f"ptr %uc, i32 {self.ids[self.facts.pc]}, ptr {pc_ptr}")
        f.goto("done")
        f.label("done")
        f.do("ret void")
        return f.text()

    # -- the way up ----------------------------------------------------------------------------------------------
    def enter(self) -> str:
        """From user mode to the entry stub of %role, with pt_regs and up to two more arguments.

        %adjust is added to the user's pc; %bias to the pc that is written (x86 `syscall` adds its length later).
        """
        facts, regs = self.facts, self.regs
        f = _Function("void @enter(i64 %blk, i64 %role, i64 %arg1, i64 %arg2, i64 %adjust, i64 %bias)")
        f.do("%number = alloca i64")
        f.do("store i64 %arg1, ptr %number")
        uc = f.let(f"inttoptr i64 {f.word('%blk', Word.UC)} to ptr")
        top = f.word("%blk", Word.KERNEL_STACK)
        frame = f.let(f"sub i64 {top}, {self.layout.size + facts.frame_reserve}")
        host = f.let(f"sub i64 {frame}, {f.word('%blk', Word.DIRECT)}")
        host = f.let(f"add i64 {host}, {f.word('%blk', Word.HOST)}")
        f.do(f"call void @store_frame(ptr {uc}, i64 %blk, i64 {host})")
        pc_row = next(row for _, row in regs.rows if row.register == facts.pc)
        pc = f.word("%blk", Word.VALUES + regs.index[facts.pc])
        pc = f.let(f"add i64 {pc}, %adjust")
        self._put(f, host, pc_row.field, pc)
        f.set_word("%blk", Word.VALUES + regs.index[facts.pc], pc)
        if facts.user_flag is not None:
            register, mask = facts.user_flag
            row = next(row for _, row in regs.rows if row.register == register)
            value = f.let(f"and i64 {f.word('%blk', Word.VALUES + regs.index[register])}, {~mask}")
            self._put(f, host, row.field, value)
        f.branch(f.let(f"icmp eq i64 %role, {int(Role.SYSCALL)}"), "syscall", "trap")
        f.label("syscall")
        self._fill_fields(f, host, facts.syscall_fill)
        if facts.svc_number_in_insn:
            self._svc_number(f, host, pc)
        else:
            f.do(f"store i64 {f.word('%blk', Word.VALUES + regs.index[facts.syscall_number_register])}, ptr %number")
        f.goto("up")
        f.label("trap")
        self._fill_fields(f, host, facts.trap_fill)
        f.goto("up")
        f.label("up")
        if facts.user_context:
            context = f.let(f"inttoptr i64 {f.word('%blk', Word.CONTEXT)} to ptr")
            f.call(self.c["uc_context_restore"], "i32", f"ptr {uc}, ptr {context}")
        arg1 = f.let("load i64, ptr %number")
        entry = f.load(f.let(f"add i64 {f.let('shl i64 %role, 3')}, {f.word_address('%blk', Word.ENTRY)}"))
        entry = f.let(f"add i64 {entry}, %bias")
        values: list[str] = [str(value) for _, value in facts.up_constants]
        values += [f.word("%blk", Word.VALUES + regs.index[source]) for _, source in facts.up_syncs]
        values += [f.word("%blk", Word.VALUES + regs.index[name]) for name in facts.keep]
        sp = f.let(f"add i64 {frame}, {facts.up_sp_offset}")
        values += [sp, frame, arg1, "%arg2", entry]
        for i, value in enumerate(values):
            f.set_word("%blk", Word.SCRATCH + i, value)
        ids = f.word("%blk", Word.UP_IDS)
        ptrs = f.word("%blk", Word.UP_PTRS)
        f.call(self.c["uc_reg_write_batch"], "i32", f"ptr {uc}, i64 {ids}, i64 {ptrs}, i32 {len(values)}")
        f.do("ret void")
        return f.text()

    def _svc_number(self, f: _Function, host: str, pc: str) -> None:
        """s390x: the number is the byte before the return address, or register 1 when that is 0."""
        at = f.let(f"sub i64 {pc}, 1")
        entry = f.let(f"call i64 @walk(i64 %blk, i64 {f.word('%blk', Word.USER_ROOT)}, i64 {at})")
        at = f.let(f"or i64 {f.let(f'and i64 {entry}, -4096')}, {f.let(f'and i64 {at}, 4095')}")
        at = f.let(f"add i64 {at}, {f.word('%blk', Word.HOST)}")
        number = f.let(f"zext i8 {f.load(at, 'i8')} to i64")
        in_register = f.word("%blk", Word.VALUES + self.regs.index[self.facts.syscall_number_register])
        in_register = f.let(f"and i64 {in_register}, 65535")
        zero = f.let(f"icmp eq i64 {number}, 0")
        number = f.let(f"select i1 {zero}, i64 {in_register}, i64 {number}")
        f.do(f"store i64 {number}, ptr %number")
        self._put(f, host, "int_code", f.let(f"or i64 {number}, {2 << 16}"))

    # -- hypercalls ----------------------------------------------------------------------------------------------
    def python_result(self) -> str:
        """Act on what a handler returned: an int (result, target 0) or a tuple (target, arguments...).

        Takes over the reference.  NULL: an exception; stop the emulation.
        """
        facts = self.facts
        c = self.c
        write = c["uc_reg_write"]
        mask = c["PyLong_AsUnsignedLongLongMask"]
        f = _Function("internal void @python_result(ptr %uc, i64 %blk, ptr %object)")
        f.do("%slot = alloca i64")
        f.branch(f.let("icmp eq ptr %object, null"), "failed", "typed")
        f.label("typed")
        type_at = f.let("getelementptr i8, ptr %object, i64 8")  # PyObject.ob_type
        kind = f.let(f"load i64, ptr {type_at}")
        f.branch(f.let(f"icmp eq i64 {kind}, {c['PyTuple_Type']}"), "call", "result")
        f.label("call")
        size = f.call(c["PyTuple_Size"], "i64", "ptr %object")
        registers = (facts.target_register, *facts.argument_registers)
        for i, name in enumerate(registers):
            here, after = f.name("item"), f.name("next")
            f.branch(f.let(f"icmp sgt i64 {size}, {i}"), here, "release")
            f.label(here)
            item = f.call(c["PyTuple_GetItem"], "ptr", f"ptr %object, i64 {i}")
            value = f.call(mask, "i64", f"ptr {item}")
            f.do(f"store i64 {value}, ptr %slot")
            f.call(write, "i32", f"ptr %uc, i32 {self.ids[name]}, ptr %slot")
            f.goto(after)
            f.label(after)
        if facts.outgoing_slots:
            self._stack_arguments(f, size, len(registers))
        f.goto("release")
        f.label("result")
        value = f.call(mask, "i64", "ptr %object")
        f.do(f"store i64 {value}, ptr %slot")
        f.call(write, "i32", f"ptr %uc, i32 {self.ids[facts.result_register]}, ptr %slot")
        f.do("store i64 0, ptr %slot")
        f.call(write, "i32", f"ptr %uc, i32 {self.ids[facts.target_register]}, ptr %slot")
        f.goto("release")
        f.label("release")
        f.do("call void @settle(i64 %blk)")
        f.call(c["Py_DecRef"], "void", "ptr %object")
        error = f.call(c["PyErr_Occurred"], "i64", "")
        f.branch(f.let(f"icmp eq i64 {error}, 0"), "done", "failed")
        f.label("failed")
        f.set_word("%blk", Word.REASON, str(int(Reason.EXCEPTION)))
        f.call(c["uc_emu_stop"], "i32", "ptr %uc")
        f.goto("done")
        f.label("done")
        f.do("ret void")
        return f.text()

    def _stack_arguments(self, f: _Function, size: str, first: int) -> None:
        """Arguments beyond the registers go to the frame's outgoing slots."""
        f.branch(f.let(f"icmp sgt i64 {size}, {first}"), "stacked", "release")
        f.label("stacked")
        f.do("store i64 0, ptr %slot")
        f.call(self.c["uc_reg_read"], "i32", f"ptr %uc, i32 {self.ids[self.facts.sp]}, ptr %slot")
        at = f.let("load i64, ptr %slot")
        at = f.let(f"sub i64 {at}, {f.word('%blk', Word.DIRECT)}")
        at = f.let(f"add i64 {at}, {f.word('%blk', Word.HOST)}")
        at = f.let(f"add i64 {at}, {self.facts.outgoing_offset}")
        for i in range(self.facts.outgoing_slots):
            here, after = f.name("stack"), f.name("next")
            f.branch(f.let(f"icmp sgt i64 {size}, {first + i}"), here, "release")
            f.label(here)
            item = f.call(self.c["PyTuple_GetItem"], "ptr", f"ptr %object, i64 {first + i}")
            value = f.call(self.c["PyLong_AsUnsignedLongLongMask"], "i64", f"ptr {item}")
            stored, kind = self._swap(f, value, self.word)
            f.store(f.let(f"add i64 {at}, {i * self.word}"), stored, kind)
            f.goto(after)
            f.label(after)

    def _call_python(self, f: _Function, word: Word, values: Sequence[str]) -> str:
        """handler(*values) by PyObject_Vectorcall; returns the result pointer (may be NULL)."""
        c = self.c
        handler = f.let(f"inttoptr i64 {f.word('%blk', word)} to ptr")
        array = "%" + f.name("args")
        f.do(f"{array} = alloca [{max(len(values), 1)} x ptr]")
        objects = []
        for i, value in enumerate(values):
            item = f.call(c["PyLong_FromUnsignedLongLong"], "ptr", f"i64 {value}")
            at = f.let(f"getelementptr ptr, ptr {array}, i64 {i}")
            f.do(f"store ptr {item}, ptr {at}")
            objects.append(item)
        result = f.call(c["PyObject_Vectorcall"], "ptr", f"ptr {handler}, ptr {array}, i64 {len(values)}, ptr null")
        for item in objects:
            f.call(c["Py_DecRef"], "void", f"ptr {item}")
        return result

    def _call_with(self, f: _Function, target: str, arity: str, values: Sequence[str]) -> str:
        """target(first `arity` of the values)."""
        c = self.c
        f.do(f"%array = alloca [{len(values)} x ptr]")
        for i, value in enumerate(values):
            here = f.name("argument")
            f.branch(f.let(f"icmp ugt i64 {arity}, {i}"), here, "call_it")
            f.label(here)
            item = f.call(c["PyLong_FromUnsignedLongLong"], "ptr", f"i64 {value}")
            f.do(f"store ptr {item}, ptr {f.let(f'getelementptr ptr, ptr %array, i64 {i}')}")
        f.goto("call_it")
        f.label("call_it")
        handler = f.let(f"inttoptr i64 {target} to ptr")
        result = f.call(c["PyObject_Vectorcall"], "ptr", f"ptr {handler}, ptr %array, i64 {arity}, ptr null")
        for i in range(len(values)):
            here = f.name("release")
            f.branch(f.let(f"icmp ugt i64 {arity}, {i}"), here, "released")
            f.label(here)
            item = f.let(f"load ptr, ptr {f.let(f'getelementptr ptr, ptr %array, i64 {i}')}")
            f.call(c["Py_DecRef"], "void", f"ptr {item}")
        f.goto("released")
        f.label("released")
        return result

    def hypercall(self) -> str:
        """Kernel text asks Python."""
        regs = self.regs
        f = _Function("internal void @hypercall(ptr %uc, i64 %blk)")
        ids = f.word("%blk", Word.HYPER_IDS)
        ptrs = f.word("%blk", Word.HYPER_PTRS)
        f.call(self.c["uc_reg_read_batch"], "i32", f"ptr %uc, i64 {ids}, i64 {ptrs}, i32 2")
        code = f.word("%blk", Word.VALUES)
        code = f.let(f"trunc i64 {code} to i32")
        f.do(f"switch i32 {code}, label %function [i32 {HYPERCALL_RESUME}, label %resume "
             f"i32 {HYPERCALL_SWITCH}, label %switch]")  # fmt: skip
        f.label("function")
        count = len(regs.hyper) - 2
        rest_ids, rest_ptrs = f.let(f"add i64 {ids}, 8"), f.let(f"add i64 {ptrs}, 16")
        f.call(self.c["uc_reg_read_batch"], "i32", f"ptr %uc, i64 {rest_ids}, i64 {rest_ptrs}, i32 {count}")
        wide = f.let(f"zext i32 {code} to i64")
        args = [f.word("%blk", Word.VALUES + 2 + i) for i in range(count)]
        known = f.let(f"icmp ult i64 {wide}, {f.word('%blk', Word.ENTER_SIZE)}")
        f.branch(known, "in_table", "general")
        f.label("in_table")
        slot = f.let(f"add i64 {f.word('%blk', Word.ENTER_TABLE)}, {f.let(f'shl i64 {wide}, 4')}")
        target = f.load(slot)
        f.branch(f.let(f"icmp ne i64 {target}, 0"), "direct", "general")
        f.label("direct")
        arity = f.load(f.let(f"add i64 {slot}, 8"))
        result = self._call_with(f, target, arity, args)
        f.do(f"call void @python_result(ptr %uc, i64 %blk, ptr {result})")
        f.do("ret void")
        f.label("general")
        result = self._call_python(f, Word.ON_ENTER, [wide, *args])
        f.do(f"call void @python_result(ptr %uc, i64 %blk, ptr {result})")
        f.do("ret void")
        f.label("resume")
        result = self._call_python(f, Word.ON_RESUME, [f.word("%blk", Word.VALUES + 1)])
        f.do(f"call void @python_result(ptr %uc, i64 %blk, ptr {result})")
        f.do("ret void")
        f.label("switch")
        result = self._call_python(f, Word.ON_SWITCH, [])
        f.branch(f.let(f"icmp eq ptr {result}, null"), "failed", "release")
        f.label("release")
        f.do("call void @settle(i64 %blk)")
        f.call(self.c["Py_DecRef"], "void", f"ptr {result}")
        f.do("ret void")
        f.label("failed")
        f.do(f"call void @python_result(ptr %uc, i64 %blk, ptr {result})")
        f.do("ret void")
        return f.text()

    # -- traps ---------------------------------------------------------------------------------------------------
    def trap(self) -> str:
        """A trap with number %intno: user mode enters the kernel, kernel mode ends the run."""
        f = _Function("internal void @trap(ptr %uc, i64 %blk, i64 %role, i64 %intno, i64 %adjust)")
        f.set_word("%blk", Word.TRAP, "%intno")
        user = f.let("call i1 @is_user(ptr %uc, i64 %blk)")
        f.branch(user, "up", "crash")
        f.label("up")
        f.set_word("%blk", Word.TRAPPED, "1")
        if self.facts.user_context:
            self._forget_exception(f)
        role = f.let("call i64 @refine_role(ptr %uc, i64 %blk, i64 %role)") if self.facts.trap_opcodes else "%role"
        f.do(f"call void @enter(i64 %blk, i64 {role}, i64 %intno, i64 0, i64 %adjust, i64 0)")
        f.do("ret void")
        f.label("crash")
        f.set_word("%blk", Word.REASON, str(int(Reason.KERNEL_TRAP)))
        f.call(self.c["uc_emu_stop"], "i32", "ptr %uc")
        f.do("ret void")
        return (self.refine_role() if self.facts.trap_opcodes else "") + f.text()

    def _forget_exception(self, f: _Function) -> None:
        """x86: the emulator thinks that an exception is being delivered, and would make the next one a double fault."""
        context = f.let(f"inttoptr i64 {f.word('%blk', Word.SPARE_CONTEXT)} to ptr")
        f.call(self.c["uc_context_save"], "i32", f"ptr %uc, ptr {context}")
        f.store(f.word("%blk", Word.OLD_EXCEPTION), "-1", "i32")
        f.call(self.c["uc_context_restore"], "i32", f"ptr %uc, ptr {context}")

    def refine_role(self) -> str:
        """The role that the instruction at the user's pc asks for, where the trap number does not tell."""
        f = _Function("internal i64 @refine_role(ptr %uc, i64 %blk, i64 %role)")
        f.do("%slot = alloca i64")
        f.do("store i64 0, ptr %slot")
        f.call(self.c["uc_reg_read"], "i32", f"ptr %uc, i32 {self.ids[self.facts.pc]}, ptr %slot")
        pc = f.let("load i64, ptr %slot")
        entry = f.let(f"call i64 @walk(i64 %blk, i64 {f.word('%blk', Word.USER_ROOT)}, i64 {pc})")
        f.branch(f.let(f"icmp eq i64 {entry}, 0"), "unknown", "decode")
        f.label("decode")
        at = f.let(f"or i64 {f.let(f'and i64 {entry}, -4096')}, {f.let(f'and i64 {pc}, 4095')}")
        at = f.let(f"add i64 {at}, {f.word('%blk', Word.HOST)}")
        first = f.let(f"zext i8 {f.load(at, 'i8')} to i32")
        second = f.let(f"zext i8 {f.load(f.let(f'add i64 {at}, 1'), 'i8')} to i32")
        sixth = f.let(f"zext i8 {f.load(f.let(f'add i64 {at}, 5'), 'i8')} to i32")
        long_form = f.let(f"icmp eq i32 {first}, 227")
        second = f.let(f"select i1 {long_form}, i32 {sixth}, i32 {second}")
        pair = f.let(f"or i32 {f.let(f'shl i32 {first}, 8')}, {second}")
        for mask, value, role in self.facts.trap_opcodes:
            yes, no = f.name("yes"), f.name("no")
            masked = f.let(f"and i32 {pair}, {mask}")
            f.branch(f.let(f"icmp eq i32 {masked}, {value}"), yes, no)
            f.label(yes)
            f.do(f"ret i64 {int(role)}")
            f.label(no)
        f.goto("unknown")
        f.label("unknown")
        f.do("ret i64 %role")
        return f.text()

    def intr(self) -> str:
        """uc_cb_hookintr_t."""
        facts = self.facts
        f = _Function("void @intr(ptr %uc, i32 %intno, i64 %blk)")
        wide = f.let("zext i32 %intno to i64")
        user = f.let("call i1 @is_user(ptr %uc, i64 %blk)")
        f.branch(user, "user", "kernel")
        f.label("kernel")
        f.branch(f.let(f"icmp eq i32 %intno, {facts.hypercall_intno}"), "hyper", "other")
        f.label("hyper")
        if not facts.syscall_pc_after:  # the emulator leaves the pc on the instruction
            self._advance_pc(f, facts.syscall_insn_size)
        f.do("call void @hypercall(ptr %uc, i64 %blk)")
        f.do("ret void")
        f.label("user")
        if facts.syscall_intno >= 0:
            f.branch(f.let(f"icmp eq i32 %intno, {facts.syscall_intno}"), "syscall", "other")
            f.label("syscall")
            adjust = 0 if facts.syscall_pc_after else facts.syscall_insn_size
            role = int(Role.SYSCALL)
            f.do(f"call void @enter(i64 %blk, i64 {role}, i64 0, i64 0, i64 {adjust}, i64 0)")
            f.do("ret void")
        else:
            f.goto("other")
        f.label("other")
        cases = []
        for intno in facts.trap_roles:
            cases.append(f"i32 {intno}, label %role{intno}")
        f.do(f"switch i32 %intno, label %unknown [{' '.join(cases)}]")
        for intno, role in facts.trap_roles.items():
            f.label(f"role{intno}")
            adjust = facts.trap_pc_adjust.get(intno, 0)
            f.do(f"call void @trap(ptr %uc, i64 %blk, i64 {int(role)}, i64 {wide}, i64 {adjust})")
            f.do("ret void")
        f.label("unknown")
        protection = int(Role.PROTECTION)
        f.do(f"call void @trap(ptr %uc, i64 %blk, i64 {protection}, i64 {wide}, i64 {facts.invalid_pc_adjust})")
        f.do("ret void")
        return f.text()

    def _advance_pc(self, f: _Function, size: int) -> None:
        slot = "%" + f.name("slot")
        f.do(f"{slot} = alloca i64")
        f.do(f"store i64 0, ptr {slot}")
        pc = self.ids[self.facts.pc]
        f.call(self.c["uc_reg_read"], "i32", f"ptr %uc, i32 {pc}, ptr {slot}")
        value = f.let(f"load i64, ptr {slot}")
        f.do(f"store i64 {f.let(f'add i64 {value}, {size}')}, ptr {slot}")
        f.call(self.c["uc_reg_write"], "i32", f"ptr %uc, i32 {pc}, ptr {slot}")

    def invalid(self) -> str:
        """uc_cb_hookinsn_invalid_t: true means handled."""
        facts = self.facts
        f = _Function("i8 @invalid(ptr %uc, i64 %blk)")
        role, adjust = int(facts.invalid_role), facts.invalid_pc_adjust
        f.do(f"call void @trap(ptr %uc, i64 %blk, i64 {role}, i64 6, i64 {adjust})")
        f.do("ret i8 1")
        return f.text()

    def insn(self) -> str:
        """uc_cb_insn_syscall_t: x86-64's syscall.  The emulator adds the instruction's length to the pc afterwards."""
        size = self.facts.syscall_insn_size
        f = _Function("void @insn(ptr %uc, i64 %blk)")
        user = f.let("call i1 @is_user(ptr %uc, i64 %blk)")
        f.branch(user, "up", "crash")
        f.label("up")
        f.do(f"call void @enter(i64 %blk, i64 {int(Role.SYSCALL)}, i64 0, i64 0, i64 {size}, i64 {-size})")
        f.do("ret void")
        f.label("crash")
        f.set_word("%blk", Word.REASON, str(int(Reason.KERNEL_TRAP)))
        f.call(self.c["uc_emu_stop"], "i32", "ptr %uc")
        f.do("ret void")
        return f.text()

    def probe(self) -> str:
        """uc_cb_hookcode_t on one address.  user_data: [block, PyObject *handler, ip offset, user mode wanted]."""
        facts, regs = self.facts, self.regs
        pc_row = next(row for _, row in regs.rows if row.register == facts.pc)
        f = _Function("void @probe(ptr %uc, i64 %addr, i32 %size, i64 %data)")
        f.do("%blk = add i64 0, " + f.load("%data"))
        handler = f.let(f"inttoptr i64 {f.load(f.let('add i64 %data, 8'))} to ptr")
        offset = f.load(f.let("add i64 %data, 16"))
        f.do("%slot = alloca i64")
        f.do("store i64 0, ptr %slot")
        user = f.let("call i1 @is_user(ptr %uc, i64 %blk)")
        wanted = f.let(f"trunc i64 {f.load(f.let('add i64 %data, 24'))} to i1")
        f.branch(f.let(f"icmp eq i1 {user}, {wanted}"), "right_mode", "miss")
        f.label("right_mode")
        skip = f.word("%blk", Word.SKIP_PROBE)
        f.set_word("%blk", Word.SKIP_PROBE, "0")
        f.branch(f.let(f"icmp eq i64 {skip}, %addr"), "miss", "build")
        f.label("build")
        f.call(self.c["uc_reg_read"], "i32", f"ptr %uc, i32 {self.ids[facts.sp]}, ptr %slot")
        sp = f.let("load i64, ptr %slot")
        below = f.let(f"sub i64 {sp}, {self.layout.size + facts.probe_red_zone}")
        below = f.let(f"and i64 {below}, -16")
        top = f.word("%blk", Word.KERNEL_STACK)
        top = f.let(f"sub i64 {top}, {self.layout.size + facts.frame_reserve}")
        frame = f.let(f"select i1 {user}, i64 {top}, i64 {below}")
        direct = f.let(f"sub i64 {frame}, {f.word('%blk', Word.DIRECT)}")
        inside = f.let(f"icmp ult i64 {direct}, {f.word('%blk', Word.PHYS_SIZE)}")
        f.branch(inside, "hit", "miss")
        f.label("hit")
        host = f.let(f"add i64 {direct}, {f.word('%blk', Word.HOST)}")
        f.do(f"call void @store_frame(ptr %uc, i64 %blk, i64 {host})")
        self._fill_fields(f, host, facts.probe_fill)
        seen = f.let(f"add i64 %addr, {offset}")
        self._put(f, host, pc_row.field, seen)
        f.set_word("%blk", Word.VALUES + regs.index[facts.pc], seen)
        size = 8 * len(regs.names)  # the handler may copy registers itself: keep the values of this hit
        f.do(f"%kept = alloca [{len(regs.names)} x i64]")
        values_at = f.let(f"inttoptr i64 {f.word_address('%blk', Word.VALUES)} to ptr")
        f.do(f"call void @llvm.memcpy.p0.p0.i64(ptr %kept, ptr {values_at}, i64 {size}, i1 false)")
        array = "%args"
        f.do(f"{array} = alloca ptr")
        number = f.call(self.c["PyLong_FromUnsignedLongLong"], "ptr", f"i64 {frame}")
        f.do(f"store ptr {number}, ptr {array}")
        result = f.call(self.c["PyObject_Vectorcall"], "ptr", f"ptr {handler}, ptr {array}, i64 1, ptr null")
        f.call(self.c["Py_DecRef"], "void", f"ptr {number}")
        f.branch(f.let(f"icmp eq ptr {result}, null"), "failed", "back")
        f.label("back")
        f.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {values_at}, ptr %kept, i64 {size}, i1 false)")
        f.do("call void @settle(i64 %blk)")
        f.call(self.c["Py_DecRef"], "void", f"ptr {result}")
        f.do(f"call void @load_frame(ptr %uc, i64 %blk, i64 {host})")
        # Stopped by its handler: the instruction is not executed now, and must not be hit again later.
        stopped = f.let(f"icmp ne i64 {f.word('%blk', Word.REASON)}, 0")
        pc_now = f.word("%blk", Word.VALUES + regs.index[facts.pc])
        here = f.let(f"icmp eq i64 {pc_now}, {seen}")
        again = f.let(f"and i1 {stopped}, {here}")
        f.set_word("%blk", Word.SKIP_PROBE, f.let(f"select i1 {again}, i64 %addr, i64 0"))
        f.do("ret void")
        f.label("failed")
        f.set_word("%blk", Word.REASON, str(int(Reason.EXCEPTION)))
        f.call(self.c["uc_emu_stop"], "i32", "ptr %uc")
        f.do("ret void")
        f.label("miss")
        f.do("ret void")
        return f.text()

    # -- from Python ---------------------------------------------------------------------------------------------
    def run(self) -> str:
        """Emulate until a Reason.  %pc 1 marks nothing special: the current pc is read from the CPU."""
        c = self.c
        f = _Function("i64 @run(i64 %blk)")
        f.do("%slot = alloca i64")
        uc = f.let(f"inttoptr i64 {f.word('%blk', Word.UC)} to ptr")
        f.do("call void @settle(i64 %blk)")
        f.goto("again")
        f.label("again")
        f.set_word("%blk", Word.REASON, "0")
        f.set_word("%blk", Word.FAULT_CODE, "0")
        f.set_word("%blk", Word.TRAPPED, "0")
        f.do("store i64 0, ptr %slot")
        f.call(c["uc_reg_read"], "i32", f"ptr {uc}, i32 {self.ids[self.facts.pc]}, ptr %slot")
        pc = f.let("load i64, ptr %slot")
        pc = f.let(f"call i64 @start_pc(ptr {uc}, i64 {pc})")
        err = f.call(c["uc_emu_start"], "i32", f"ptr {uc}, i64 {pc}, i64 0, i64 0, i64 0")
        reason = f.word("%blk", Word.REASON)
        f.branch(f.let(f"icmp eq i64 {reason}, 0"), "no_reason", "has_reason")
        f.label("has_reason")
        f.branch(f.let(f"icmp eq i64 {reason}, {int(Reason.BUDGET)}"), "budget", "leave")
        f.label("budget")  # reached in user mode, but the block may not have begun: still user mode, or go on
        user = f.let(f"call i1 @is_user(ptr {uc}, i64 %blk)")
        f.branch(user, "leave", "again")
        f.label("leave")
        f.do(f"ret i64 {reason}")
        f.label("no_reason")
        code = f.word("%blk", Word.FAULT_CODE)
        faulted = f.let(f"icmp ne i64 {code}, 0")
        is_exception = f.let(f"icmp eq i32 {err}, {UC_ERR_EXCEPTION}")
        f.branch(f.let(f"and i1 {faulted}, {is_exception}"), "fault", "error")
        f.label("fault")
        user = f.let(f"call i1 @is_user(ptr {uc}, i64 %blk)")
        f.branch(user, "user_fault", "kernel_fault")
        f.label("user_fault")
        clean = f.let(f"and i64 {code}, 31")
        clean = f.let(f"or i64 {clean}, 4")
        address = f.word("%blk", Word.FAULT_ADDRESS)
        f.goto("page_fault")
        f.label("page_fault")
        f.do(f"call void @enter(i64 %blk, i64 {int(Role.PAGE_FAULT)}, i64 {clean}, i64 {address}, i64 0, i64 0)")
        f.goto("again")
        f.label("kernel_fault")
        f.do(f"ret i64 {int(Reason.KERNEL_FAULT)}")
        f.label("error")  # riscv64 reports ebreak as an error even when it was handled
        trapped = f.word("%blk", Word.TRAPPED)
        f.branch(f.let(f"icmp ne i64 {trapped}, 0"), "again", "give_up")
        f.label("give_up")
        wide = f.let(f"zext i32 {err} to i64")
        wide = f.let(f"shl i64 {wide}, 4")
        f.do(f"ret i64 {f.let(f'or i64 {wide}, {int(Reason.ERROR)}')}")
        start = _Function("internal i64 @start_pc(ptr %uc, i64 %pc)")
        if self.facts.thumb_flag:
            start.do("%slot = alloca i64")
            start.do("store i64 0, ptr %slot")
            privilege = self.ids[self.facts.privilege]
            start.call(c["uc_reg_read"], "i32", f"ptr %uc, i32 {privilege}, ptr %slot")
            flag = start.let(f"and i64 {start.let('load i64, ptr %slot')}, {self.facts.thumb_flag}")
            thumb = start.let(f"icmp ne i64 {flag}, 0")
            start.do(f"ret i64 {start.let('or i64 %pc, ' + start.let(f'zext i1 {thumb} to i64'))}")
        else:
            start.do("ret i64 %pc")
        return start.text() + f.text()

    def fetch(self) -> str:
        """Registers into the struct pt_regs at host address %frame."""
        f = _Function("void @fetch(i64 %blk, i64 %frame)")
        uc = f.let(f"inttoptr i64 {f.word('%blk', Word.UC)} to ptr")
        f.do(f"call void @store_frame(ptr {uc}, i64 %blk, i64 %frame)")
        f.do("ret void")
        return f.text()

    def load(self) -> str:
        """Registers from the struct pt_regs at host address %frame; clobbers nothing else."""
        f = _Function("void @load(i64 %blk, i64 %frame)")
        uc = f.let(f"inttoptr i64 {f.word('%blk', Word.UC)} to ptr")
        ids = f.word("%blk", Word.READ_IDS)
        ptrs = f.word("%blk", Word.READ_PTRS)
        f.call(self.c["uc_reg_read_batch"], "i32", f"ptr {uc}, i64 {ids}, i64 {ptrs}, i32 {len(self.regs.names)}")
        f.do(f"call void @load_frame(ptr {uc}, i64 %blk, i64 %frame)")
        f.do("ret void")
        return f.text()

    def restore(self) -> str:
        """Another task's context, without the registers that the kernel is using."""
        f = _Function("void @restore(i64 %blk, i64 %context)")
        uc = f.let(f"inttoptr i64 {f.word('%blk', Word.UC)} to ptr")
        ids, ptrs = f.word("%blk", Word.BACK_IDS), f.word("%blk", Word.BACK_PTRS)
        rest = f"ptr {uc}, i64 {ids}, i64 {ptrs}, i32 {len(self.regs.back)}"
        f.call(self.c["uc_reg_read_batch"], "i32", rest)
        f.call(self.c["uc_context_restore"], "i32", f"ptr {uc}, i64 %context")
        f.call(self.c["uc_reg_write_batch"], "i32", rest)
        f.do("ret void")
        return f.text()

    def save(self) -> str:
        """The whole CPU into a context."""
        f = _Function("void @save(i64 %blk, i64 %context)")
        uc = f.let(f"inttoptr i64 {f.word('%blk', Word.UC)} to ptr")
        f.call(self.c["uc_context_save"], "i32", f"ptr {uc}, i64 %context")
        f.do("ret void")
        return f.text()

    def read_register(self) -> str:
        f = _Function("i64 @read_register(i64 %blk, i64 %number)")
        f.do("%slot = alloca i64")
        f.do("store i64 0, ptr %slot")
        uc = f.let(f"inttoptr i64 {f.word('%blk', Word.UC)} to ptr")
        number = f.let("trunc i64 %number to i32")
        f.call(self.c["uc_reg_read"], "i32", f"ptr {uc}, i32 {number}, ptr %slot")
        f.do(f"ret i64 {f.let('load i64, ptr %slot')}")
        return f.text()

    def write_register(self) -> str:
        f = _Function("void @write_register(i64 %blk, i64 %number, i64 %value)")
        f.do("%slot = alloca i64")
        f.do("store i64 %value, ptr %slot")
        uc = f.let(f"inttoptr i64 {f.word('%blk', Word.UC)} to ptr")
        number = f.let("trunc i64 %number to i32")
        f.call(self.c["uc_reg_write"], "i32", f"ptr {uc}, i32 {number}, ptr %slot")
        f.do("ret void")
        return f.text()

    def switch_stack(self) -> str:
        """Exchange the stack pointer."""
        sp = self.ids[self.facts.sp]
        f = _Function("i64 @switch_stack(i64 %blk, i64 %value)")
        old = f.let(f"call i64 @read_register(i64 %blk, i64 {sp})")
        f.do(f"call void @write_register(i64 %blk, i64 {sp}, i64 %value)")
        f.do(f"ret i64 {old}")
        return f.text()

    def builtin(self, name: str, arguments: int, result: bool) -> str:
        """A METH_FASTCALL function around another one; `self` is an int, the block's address.  No checks: for us."""
        mask = self.c["PyLong_AsUnsignedLongLongMask"]
        f = _Function(f"ptr @py_{name}(ptr %self, ptr %args, i64 %count)")
        values = [f.call(mask, "i64", "ptr %self")]
        for i in range(arguments):
            item = f.let(f"load ptr, ptr {f.let(f'getelementptr ptr, ptr %args, i64 {i}')}")
            values.append(f.call(mask, "i64", f"ptr {item}"))
        inner = ", ".join(f"i64 {value}" for value in values)
        if result:
            value = f.let(f"call i64 @{name}({inner})")
            f.do(f"ret ptr {f.call(self.c['PyLong_FromUnsignedLongLong'], 'ptr', f'i64 {value}')}")
        else:
            f.do(f"call void @{name}({inner})")
            none = f.let(f"inttoptr i64 {id(None)} to ptr")
            f.call(self.c["Py_IncRef"], "void", f"ptr {none}")
            f.do(f"ret ptr {none}")
        return f.text()


# Functions that Python calls often, as builtins: (name, arguments after the block, returns a number).
BUILTINS = (
    ("switch_stack", 1, True),
    ("read_register", 1, True),
    ("write_register", 2, False),
    ("save", 1, False),
    ("restore", 1, False),
    ("fetch", 1, False),
    ("load", 1, False),
)


class _MethodDef(ctypes.Structure):
    """PyMethodDef."""

    _fields_ = (
        ("ml_name", ctypes.c_char_p),
        ("ml_meth", ctypes.c_void_p),
        ("ml_flags", ctypes.c_int),
        ("ml_doc", ctypes.c_char_p),
    )


METH_FASTCALL = 0x0080


class Trampolines:
    """Compiled trampolines: host addresses by name, and Python-callable forms of those that Python calls."""

    def __init__(self, facts: EmulatorFacts, layout: Layout, word: int, big_endian: bool) -> None:
        import llvmlite.binding as llvm

        _initialize_llvm()
        generator = _Generator(facts, layout, word, big_endian)
        self.registers = generator.regs
        module = llvm.parse_assembly(generator.module())
        module.verify()
        machine = llvm.Target.from_default_triple().create_target_machine(opt=0, jit=True)
        options = llvm.create_pipeline_tuning_options(speed_level=1)
        passes = llvm.create_pass_builder(machine, options)
        manager = llvm.create_new_module_pass_manager()
        manager.add_sroa_pass()
        manager.run(module, passes)
        self._engine = llvm.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()
        names = ("fill", "block", "intr", "invalid", "insn", "probe")
        self.address = {name: self._engine.get_function_address(name) for name in names}
        word_t = ctypes.c_uint64
        self.run = self._python("run", word_t, word_t)
        self.enter = self._python("enter", None, *[word_t] * 6)
        self._definitions = {
            name: _MethodDef(name.encode(), self._engine.get_function_address("py_" + name), METH_FASTCALL, None)
            for name, _, _ in BUILTINS
        }

    def builtin(self, name: str, block: int) -> Callable[..., Any]:
        """One of BUILTINS for the CPU with this block: called from Python at 30 ns instead of 350."""
        make = ctypes.pythonapi.PyCFunction_NewEx
        make.restype = ctypes.py_object
        make.argtypes = (ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)
        function: Callable[..., Any] = make(ctypes.addressof(self._definitions[name]), block, None)
        return function

    def _python(self, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
        """Callable from Python with the GIL kept; a pending exception is raised on return."""
        address = self._engine.get_function_address(name)
        function: Callable[..., Any] = ctypes.PYFUNCTYPE(result, *arguments)(address)
        return function


@cache
def _initialize_llvm() -> None:
    import llvmlite.binding as llvm

    if hasattr(llvm, "initialize") and tuple(map(int, _llvmlite_version().split(".")[:2])) < (0, 45):
        llvm.initialize()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def _llvmlite_version() -> str:
    import llvmlite

    return str(llvmlite.__version__)


_compiled: dict[tuple[int, int, str, int], Trampolines] = {}


def trampolines(facts: EmulatorFacts, layout: Layout, word: int, big_endian: bool) -> Trampolines:
    """The trampolines of an architecture and pt_regs layout, compiled at the first call in this process."""
    key = (facts.uc_arch, facts.uc_mode, layout.name, layout.size)
    found = _compiled.get(key)
    if found is None:
        found = _compiled[key] = Trampolines(facts, layout, word, big_endian)
    return found
