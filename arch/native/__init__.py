"""Native trampolines: the only place where emulated code and Python meet.

Calling Python from the emulator through its own binding costs 9 to 16 us an event; a trampoline compiled here
costs 0.2 us.  Each function in this package is LLVM IR text, made from an `EmulatorFacts` table and compiled once per
architecture and pt_regs layout with llvmlite.  They work on one *block* per CPU, an array of 64-bit words (`Word`), and
call unicorn's C interface by address.

    fill      TLB miss: direct map, kernel text, vmalloc area and user page tables; refuses what may not be touched
    block     counts work done in user mode, stops at the budget
    intr      system calls, traps and hypercalls
    invalid   illegal instructions
    shortcut  system calls that native code answers in the hook
    counter   what user code reads of the clock, and told, stored: where the emulator has no hook for it
    insn      x86-64's `syscall` instruction, which has a hook kind of its own
    probe     one probed address: registers into struct pt_regs, Python handler, changed registers back
    run       emulate; turns user page faults into kernel entries without leaving native code
    enter     the way up: user registers into struct pt_regs on the kernel stack, kernel mode, entry stub
    fetch     registers into a struct pt_regs;  load: the other way

Everything runs with the GIL held; a Python exception in a handler stops the emulation and leaves through run().
"""

from arch.native.block import WINDOW_SIZE, Block, Native, Reason, Role, Word
from arch.native.compile import Trampolines, trampolines
from arch.native.facts import CounterScale, EmulatorFacts, SystemRead

__all__ = (
    "WINDOW_SIZE",
    "Block",
    "CounterScale",
    "EmulatorFacts",
    "Native",
    "Reason",
    "Role",
    "SystemRead",
    "Trampolines",
    "Word",
    "trampolines",
)
