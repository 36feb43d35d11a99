"""Kernel text: machine code for kernel functions whose bodies are Python, and the kernel's entry code.

A kernel function's text is a real function: patchable entry, frame set-up, and a loop around a *hypercall*:

    f:   nop                      patchable, as ftrace leaves it
         push frame
         SCRATCH = index          which function this is
         HYPERCALL enter          Python starts the body
    1:   if TARGET == 0 goto 2
         call *TARGET             the body called a kernel function: a real call
         HYPERCALL resume         Python goes on with the body; it gets the result
         goto 1
    2:   pop frame
         return

The CPU calls `on_enter(index, a0..a5)` and `on_resume(result)` (see arch/cpu.py); both return either an int, the
function's result, or a tuple (target, arg0, arg1, ...), a call to make.

Entry text (`entry_text`) is written by hand per architecture.  When user code traps, the CPU has put struct pt_regs at
the top of the task's kernel stack, SP points to it, and the stub of that role calls the handler with these C arguments:

    syscall     handler(regs, nr)          s390x and others: same
    page_fault  handler(regs, error_code, address)       error_code: FAULT_WRITE | FAULT_EXEC | FAULT_USER bits of cpu.py
    timer       handler(regs)              the budget of blocks is used up (Cpu.enter_timer)
    undefined, divide, breakpoint, debug, protection    handler(regs, trap number)
    fork        handler(prev)              first code of a new task; then it returns to user mode through pt_regs

When the handler returns, the stub restores every register from pt_regs and returns to user mode.
"""

from __future__ import annotations

from typing import Any

from arch.architecture import Architecture
from arch.memory import KernelMemory
from arch.symbols import Symbols


class KernelText:
    """The text section: grows upwards from text_base as functions are added; each function 16-byte aligned.

    Order of use: add_functions(names) for all kernel functions (their index is what on_enter gets), then
    add_entry() once.  Later additions (modules) go on at the end.
    """

    def __init__(self, arch: Architecture, mem: KernelMemory, symbols: Symbols) -> None: ...

    names: list[str]  # index -> function name
    end: int  # first free text address
    switch_to: int  # address of the stack-switch routine, a symbol of its own (__switch_to_asm, cpu_switch_to ...)
    fork_entry: int  # address of ret_from_fork

    def add_functions(self, names: list[str], sizes: dict[str, int] | None = None) -> list[int]:
        """Make text and symbols for functions; returns their indices.  `sizes` pads functions to realistic sizes."""
        raise NotImplementedError

    def add_entry(self) -> None:
        """Entry stubs, return to user mode, ret_from_fork, the stack switch and the kretprobe trampoline.

        The handlers named in arch.entry must have been added.
        """

    def address(self, name: str) -> int:
        """Address of a function or stub."""
        raise NotImplementedError

    def boundaries(self, name: str) -> list[int]:
        """Offsets of instruction starts inside a function."""
        raise NotImplementedError

    def new_stack(self, top: int, pc: int | None = None) -> int:
        """Prepare a kernel stack whose task, when first switched to, starts at `pc` (default ret_from_fork).

        `top` is the end of the stack; struct pt_regs for the return to user mode lies at top - pt_regs size (write it
        yourself).  Returns the stack pointer to hand to Cpu.switch_stack().
        """
        raise NotImplementedError


def user_code_page(arch: Architecture) -> bytes:
    """The vdso page's code: signal return trampolines (offset 0: rt_sigreturn)."""
    raise NotImplementedError


def disassemble(arch: Architecture, code: bytes, address: int) -> list[Any]:
    """capstone instructions of a piece of code."""
    raise NotImplementedError
