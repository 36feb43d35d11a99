"""The CPU: one unicorn instance per machine, crossed through native trampolines only (arch/native/).

How one run looks from above:

* `cpu.start(pc, sp)` puts the CPU into kernel mode; `cpu.run(budget)` emulates until something must be decided by the
  caller: the budget of user-mode work is used up (`Stop.BUDGET`), or a handler called `cpu.stop()` (`Stop.STOPPED`).
  A Python exception in any handler ends the run and comes out of run().
* Kernel functions reach Python through `on_enter(index, a0..a5)` and `on_resume(result)`; both return an int (the
  function returns it) or a tuple `(target, arg0, ...)` (the CPU calls `target`; afterwards comes on_resume).
* User code that makes a system call, faults or is refused enters the kernel by itself: the CPU writes struct pt_regs
  at the top of the current kernel stack (`cpu.kernel_stack`), switches to kernel mode and goes on in the entry stub,
  which calls the role's handler (arch/text.py).  Returning from the handler returns to user mode; what pt_regs then
  says is what user code gets.  A page fault retries the instruction when the handler returns.  FP and vector registers
  stay in the CPU throughout.
* Task switch: kernel functions call the text at `KernelText.switch_to`; its hypercall comes to `on_switch()`, which
  must call `cpu.switch_stack(...)` (swap of kernel stack pointers), set `cpu.kernel_stack` and, for user tasks,
  `cpu.save_user`/`load_user` (FP, vector and TLS registers) and `cpu.set_address_space`.  on_resume comes next, in the
  new task.
* Simulated CPUs (cpu 0, 1, ...) are contexts: at a Stop, `save_context()`/`load_context()` exchange everything.
"""

from __future__ import annotations

import ctypes
import enum
from collections.abc import Callable
from typing import Any

from arch.abi.version import NEWEST, KernelVersion
from arch.architecture import Architecture
from arch.context import Context, TaskState
from arch.emulator import NO_DEADLINE, WORD_MASK
from arch.memory import KernelMemory, PhysicalMemory
from arch.native import Reason, Role, Word
from arch.probes import Probe, ProbePoints

__all__ = ("FAULT_EXEC", "FAULT_PROT", "FAULT_USER", "FAULT_WRITE", "Context", "Cpu", "KernelCrash", "Probe", "Stop")

# error_code of the page_fault role; same bits as x86 (arch/x86/include/asm/trap_pf.h).
FAULT_PROT = 1  # the page is present but forbids the access
FAULT_WRITE = 2
FAULT_USER = 4
FAULT_EXEC = 16


class Stop(enum.Enum):
    """Why run() returned."""

    BUDGET = "the budget of user-mode work is used up; the CPU is in user mode"
    STOPPED = "a handler called stop()"


class KernelCrash(Exception):
    """Kernel text faulted: a bug of the simulated kernel, or of whoever changed its registers from a probe."""

    def __init__(self, what: str, pc: int, address: int, registers: dict[str, int]) -> None:
        shown = " ".join(f"{name}={value:#x}" for name, value in registers.items())
        super().__init__(f"{what} at pc {pc:#x}, address {address:#x}: {shown}")
        self.what = what
        self.pc = pc
        self.address = address
        self.registers = registers


class Cpu(TaskState, ProbePoints):
    """The emulated CPU of a machine."""

    def __init__(
        self, arch: Architecture, phys: PhysicalMemory, mem: KernelMemory, version: KernelVersion = NEWEST
    ) -> None:
        self.on_enter: Callable[..., int | tuple[int, ...]] = _unset
        self.on_resume: Callable[[int], int | tuple[int, ...]] = _unset
        self.on_switch: Callable[[], Any] = _unset
        self._enters: dict[int, Callable[..., Any] | None] = {}
        self._enter_capacity = 0
        self._enter_table: Any = None
        self._trap: tuple[str, int] | None = None
        self._on_fault: Callable[[int, int], int] | None = None
        super().__init__(arch, phys, mem, version)

    # -- kernel functions ----------------------------------------------------------------------------------
    def set_enter(self, index: int, handler: Callable[..., Any] | None, arguments: int) -> None:
        """Let kernel function `index` call handler(a0, a1, ...) with its first `arguments` arguments, instead of
        on_enter(index, ...).  Arguments beyond the registers are not passed: see stack_argument().
        """
        if index >= self._enter_capacity:
            self._grow_enter_table(index + 1)
        self._enters[index] = handler
        limit = len(self.facts.argument_registers)
        self._enter_table[2 * index] = 0 if handler is None else id(handler)
        self._enter_table[2 * index + 1] = min(arguments, limit)

    def _grow_enter_table(self, need: int) -> None:
        capacity = max(1024, 2 * need)
        table = (ctypes.c_uint64 * (2 * capacity))()
        if self._enter_capacity:
            ctypes.memmove(table, self._enter_table, 16 * self._enter_capacity)
        self._keep.append(table)
        self._enter_table = table
        self._enter_capacity = capacity
        self.words[Word.ENTER_TABLE] = ctypes.addressof(table)
        self.words[Word.ENTER_SIZE] = capacity

    def take_faults(self, handler: Callable[[int, int], int] | None) -> None:
        """Let handler(error code, address) mend page faults of user mode; 0 has the kernel entered for one, as without it."""
        self._on_fault = handler
        self.words[Word.ON_FAULT] = 0 if handler is None else id(handler)

    def take_faults_first(self, function: int, data: int) -> None:
        """The same by compiled code of the host, i64 f(block, data, error code, address), which declines what it leaves to the handler."""
        self.words[Word.FAST_FAULT], self.words[Word.FAST_FAULT_DATA] = function, data

    def stack_argument(self, n: int) -> int:
        """In on_enter: the n-th argument (from 0) of those that did not fit in registers."""
        at = self.sp + self.support.text.frame_size + self.arch.stack_args_offset + n * self.arch.word
        return self.mem.read_uint(at, self.arch.word)

    # -- running -------------------------------------------------------------------------------------------
    def set_entry(self, role: str, address: int) -> None:
        """Where the CPU goes for a role; KernelText.add_entry() does this for all of them."""
        self.words[Word.ENTRY + Role[role.upper()]] = address

    def start(self, pc: int, sp: int) -> None:
        """Kernel mode, these pc and stack pointer; other registers zero."""
        for name in self.facts.uc_registers:
            if name in self.arch.registers and name != self.facts.privilege:
                self.write_reg(name, 0)
        for name, value in self.support.kernel_constants:
            self.write_reg(name, value)
        self.write_reg(self.facts.sp, sp)
        self.write_reg(self.facts.pc, pc)

    def run(self, budget: int | None = None) -> Stop:
        """Emulate.  `budget` counts work in user mode, about one unit per instruction; None is no limit."""
        words = self.words
        if self._running:
            raise RuntimeError("run() called from a handler of the running CPU")
        handlers = (self.on_enter, self.on_resume, self.on_switch)  # bound methods live as long as this frame
        words[Word.ON_ENTER], words[Word.ON_RESUME], words[Word.ON_SWITCH] = map(id, handlers)
        words[Word.DEADLINE] = NO_DEADLINE if budget is None else words[Word.WORK] + budget
        while True:
            if self._flush_pending or self._hooks_to_delete:
                self._do_pending()
            self._running = True
            try:
                reason = self._native.run(self._block)
            finally:
                self._running = False
            self._retired.clear()
            if reason != Reason.RESTART:
                break
            if self._trap is not None:
                (role, trapnr), self._trap = self._trap, None
                self.enter(role, trapnr)
        if reason == Reason.BUDGET:
            return Stop.BUDGET
        if reason == Reason.STOPPED:
            return Stop.STOPPED
        raise self._crash(reason)

    def _crash(self, reason: int) -> KernelCrash:
        kind = reason & 15
        if kind == Reason.KERNEL_FAULT:
            what, address = "page fault in kernel mode", self.words[Word.FAULT_ADDRESS]
        elif kind == Reason.KERNEL_TRAP:
            what, address = f"trap {self.words[Word.TRAP]} in kernel mode", 0
        elif kind == Reason.LOCKUP:
            what, address = "hard LOCKUP: the kernel's code goes round without an end", 0
        else:
            what, address = f"emulator error {reason >> 4}", 0
        registers = {name: self.read_reg(name) for name in self.arch.registers}
        return KernelCrash(what, self.pc, address, registers)

    def stop(self) -> None:
        """From a handler: let run() return Stop.STOPPED after the handler."""
        self.words[Word.REASON] = Reason.STOPPED
        self.uc.emu_stop()

    def poke(self) -> None:
        """From another thread, while this one is in Python: the emulation, if there is one, ends as by stop()."""
        if self._running:
            self.words[Word.DEADLINE] = 0
            if not self.words[Word.REASON]:
                self.words[Word.REASON] = Reason.STOPPED
            self._uc_emu_stop(self._handle)

    def enter_timer(self) -> None:
        """After Stop.BUDGET: interrupt user code; the CPU will run the "timer" entry stub."""
        self.enter("timer")

    def enter(self, role: str, arg1: int = 0, arg2: int = 0) -> None:
        """After a Stop in user mode: enter the kernel through the stub of this role with extra C arguments."""
        if self.in_kernel:
            raise RuntimeError("enter() needs the CPU in user mode")
        self._native.enter(self._block, Role[role.upper()], arg1 & WORD_MASK, arg2 & WORD_MASK, 0, 0)

    def trap_instead(self, role: str, trapnr: int) -> bool:
        """From a hook of an instruction of user code: enter the kernel as enter() does, instead of executing it.  False when the
        emulation is being stopped for something else; the instruction comes again then.
        """
        if self.words[Word.REASON]:
            return False
        self._trap = (role, trapnr)
        self.words[Word.REASON] = Reason.RESTART
        self.uc.emu_stop()
        return True

    @property
    def trap_error(self) -> int:
        """The error code of the last trap (x86)."""
        return self.words[Word.TRAP_ERROR]

    @property
    def work(self) -> int:
        """Units of user-mode work since the start, about one per instruction.  Deterministic."""
        return self.words[Word.WORK]

    def close(self) -> None:
        """Free the emulator."""
        self.phys.on_code_page_freed = None
        self.mem.on_vmalloc_change = None
        if self._tlb_owner is not None:
            self._tlb_owner.on_change = None
        self._shut()


def _unset(*args: int) -> int:
    raise RuntimeError("the kernel has set no handler for hypercalls")
