"""Whether user code may read the time stamp counter: a bit of CR4, which travels with a task's other registers.  arch/x86/kernel/process.c."""

from __future__ import annotations

from unicorn import x86_const as x86

X86_CR4_TSD = 1 << 2


def forbid_counter(cpu: object, forbidden: bool) -> None:
    """disable_TSC(), enable_TSC(): for the current task rdtsc and rdtscp are #GP, or count."""
    from arch.cpu import Cpu

    assert isinstance(cpu, Cpu)
    cr4 = cpu.uc.reg_read(x86.UC_X86_REG_CR4)
    cpu.uc.reg_write(x86.UC_X86_REG_CR4, cr4 | X86_CR4_TSD if forbidden else cr4 & ~X86_CR4_TSD)
