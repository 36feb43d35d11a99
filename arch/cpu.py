"""The CPU: one unicorn instance per machine, crossed through native trampolines only (arch/native.py).

How one run looks from above:

* `cpu.start(pc, sp)` puts the CPU into kernel mode; `cpu.run(budget)` emulates until something must be decided by the
  caller: the budget of user-mode blocks is used up (`Stop.BUDGET`), or a handler called `cpu.stop()` (`Stop.STOPPED`).
  A Python exception in any handler ends the run and comes out of run().
* Kernel functions reach Python through `on_enter(index, a0..a5)` and `on_resume(result)`; both return an int (the
  function returns it) or a tuple `(target, arg0, ...)` (the CPU calls `target`; afterwards comes on_resume).
* User code that makes a system call, faults or is refused enters the kernel by itself: the CPU writes struct pt_regs at
  the top of the current kernel stack (`cpu.kernel_stack`), switches to kernel mode and goes on in the entry stub, which
  calls the role's handler (arch/text.py).  Returning from the handler returns to user mode; what pt_regs then says is
  what user code gets.  A page fault retries the instruction when the handler returns.  No FP or vector register changes.
* Task switch: kernel functions call the text at `KernelText.switch_to`; its hypercall comes to `on_switch()`, which must
  call `cpu.switch_stack(...)` (swap of kernel stack pointers) and, for user tasks, `cpu.save_user`/`load_user`
  (FP, vector and TLS registers) and `cpu.set_address_space`.  on_resume comes next, in the new task.
* Simulated CPUs (cpu 0, 1, ...) are contexts: at a Stop, `save_context()`/`load_context()` exchange everything.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

from arch.architecture import Architecture, Layout
from arch.memory import KernelMemory, PhysicalMemory
from arch.mmu import AddressSpace

# error_code of the page_fault role; same bits as x86 (arch/x86/include/asm/trap_pf.h).
FAULT_PROT = 1  # the page is present but forbids the access
FAULT_WRITE = 2
FAULT_USER = 4
FAULT_EXEC = 16


class Stop(enum.Enum):
    """Why run() returned."""

    BUDGET = "the budget of user-mode blocks is used up; the CPU is in user mode"
    STOPPED = "a handler called stop()"


class KernelCrash(Exception):
    """Kernel text faulted: a bug of the simulated kernel (or of whoever probes it).  Carries pc, address and registers."""


class Context:
    """All registers of one simulated CPU (or the user-only part of a task).  Made by new_context()."""


class Probe:
    """An armed probe; hand it back to remove_probe()."""

    address: int


class Cpu:
    """The emulated CPU of a machine."""

    def __init__(self, arch: Architecture, phys: PhysicalMemory, mem: KernelMemory, version: Any = (6, 1)) -> None: ...

    arch: Architecture
    layout: Layout  # struct pt_regs of this kernel version

    # -- handlers, set by the kernel -----------------------------------------------------------------------
    on_enter: Callable[..., int | tuple[int, ...]]  # (index, a0..a5): a kernel function was entered
    on_resume: Callable[[int], int | tuple[int, ...]]  # (result): the callee of the innermost body returned
    on_switch: Callable[[], None]  # the stack-switch routine was reached

    # -- running -------------------------------------------------------------------------------------------
    def start(self, pc: int, sp: int) -> None:
        """Kernel mode, these pc and stack pointer; other registers zero."""

    def run(self, budget: int | None = None) -> Stop:
        """Emulate.  `budget` counts basic blocks executed in user mode; None is no limit."""
        raise NotImplementedError

    def stop(self) -> None:
        """From a handler: let run() return Stop.STOPPED after the handler."""

    def enter_timer(self) -> None:
        """After Stop.BUDGET: interrupt user code; the CPU will run the "timer" entry stub."""

    def enter(self, role: str, *args: int) -> None:
        """After a Stop in user mode: enter the kernel through the stub of this role with extra C arguments."""

    work: int  # user-mode blocks executed since the start: deterministic
    in_kernel: bool

    # -- registers -----------------------------------------------------------------------------------------
    pc: int
    sp: int

    def read_reg(self, name: str) -> int:
        """One register by our name (arch.registers).  Slow (1 us)."""
        raise NotImplementedError

    def write_reg(self, name: str, value: int) -> None:
        """Write one register; not the pc inside a handler of a hypercall."""

    def write_pt_regs(self, addr: int) -> None:
        """Copy the CPU's registers into the struct pt_regs at kernel address `addr`."""

    def read_pt_regs(self, addr: int) -> None:
        """Load the CPU's registers from the struct pt_regs at kernel address `addr`."""

    # -- tasks ---------------------------------------------------------------------------------------------
    kernel_stack: int  # top (end) of the current task's kernel stack; settable

    def switch_stack(self, sp: int) -> int:
        """In on_switch: go on with the stack pointer `sp`; returns the stack pointer of the task that stops."""
        raise NotImplementedError

    def new_context(self) -> Context:
        """An empty context."""
        raise NotImplementedError

    def save_user(self, context: Context) -> None:
        """Save what pt_regs does not hold of user state: FP, vector and TLS registers."""

    def load_user(self, context: Context | None) -> None:
        """Load them again; None gives the state of a fresh program (execve)."""

    def copy_user(self, context: Context) -> Context:
        """A copy (fork)."""
        raise NotImplementedError

    tls: int  # the user's thread pointer register (fs base, tpidr_el0, tp, access registers); settable

    def save_context(self, context: Context) -> None:
        """Between runs: save all registers of the simulated CPU."""

    def load_context(self, context: Context) -> None:
        """Between runs: load all registers of a simulated CPU."""

    # -- memory --------------------------------------------------------------------------------------------
    address_space: AddressSpace | None

    def set_address_space(self, space: AddressSpace | None) -> None:
        """Switch user page tables (flushes the TLB).  None: no user memory."""

    def flush_tlb(self) -> None:
        """Forget all cached translations of addresses."""

    def code_changed(self, addr: int, size: int) -> None:
        """Kernel text at [addr, addr+size) was rewritten: drop its translated code."""

    # -- probes --------------------------------------------------------------------------------------------
    def add_probe(self, addr: int, handler: Callable[[int], Any], ip_offset: int = 0) -> Probe:
        """Call handler(regs) before the instruction at `addr` executes; `regs` is the kernel address of a struct
        pt_regs for the hit.  Whatever the handler changes in it is loaded back, the pc included (then the probed
        instruction is not executed).  ip_offset is added to the ip that the handler sees.  Works for kernel and user
        addresses; a user address is hit in every address space that executes there.  Several probes may share an address:
        called in the order they were added, with the same frame.
        """
        raise NotImplementedError

    def remove_probe(self, probe: Probe) -> None:
        """Disarm; also from inside a handler."""

    def close(self) -> None:
        """Free the emulator."""
