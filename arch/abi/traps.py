"""Numbers of exceptions on x86.  arch/x86/include/asm/trapnr.h."""

from __future__ import annotations

X86_TRAP_NP, X86_TRAP_SS, X86_TRAP_GP, X86_TRAP_PF = 11, 12, 13, 14
