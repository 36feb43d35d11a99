"""i386 registers and struct pt_regs.  arch/x86/include/asm/ptrace.h.  Offsets and sizes in bytes."""

from __future__ import annotations

from arch.architecture import Layout, Row

PT_REGS = Layout(
    "pt_regs",
    size=68,
    rows=(
        #   offset field   CPU register, or None where the entry code fills it
        Row(0, "bx", "ebx", 4),
        Row(4, "cx", "ecx", 4),
        Row(8, "dx", "edx", 4),
        Row(12, "si", "esi", 4),
        Row(16, "di", "edi", 4),
        Row(20, "bp", "ebp", 4),
        Row(24, "ax", "eax", 4),
        Row(28, "ds", "ds", 4),
        Row(32, "es", "es", 4),
        Row(36, "fs", "fs", 4),
        Row(40, "gs", "gs", 4),
        Row(44, "orig_ax", None, 4, "system call number, error code, or -1"),
        Row(48, "ip", "eip", 4, "iret frame from here"),
        Row(52, "cs", "cs", 4),
        Row(56, "flags", "eflags", 4),
        Row(60, "sp", "esp", 4),
        Row(64, "ss", "ss", 4),
    ),
)

FUNCTION_ARGS = ("ax", "dx", "cx")  # regparm(3)
SYSCALL_ARGS = ("bx", "cx", "dx", "si", "di", "bp")

GENERAL = ("eax", "ebx", "ecx", "edx", "esi", "edi", "ebp", "esp", "eip", "eflags")

# Selectors.  arch/x86/include/asm/segment.h
KERNEL_CS, KERNEL_DS, USER_CS, USER_DS = 0x60, 0x68, 0x73, 0x7B

CRASH = (
    ("EIP", "ip"), ("EFLAGS", "flags"),
    ("EAX", "ax"), ("EBX", "bx"), ("ECX", "cx"), ("EDX", "dx"),
    ("ESI", "si"), ("EDI", "di"), ("EBP", "bp"), ("ESP", "sp"),
    ("DS", "ds"), ("ES", "es"), ("FS", "fs"), ("GS", "gs"), ("SS", "ss"),
)  # fmt: skip

# arch/x86/include/uapi/asm/perf_regs.h: the bits of sample_regs_user
PERF_REGS = (
    "ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip", "flags", "cs", "ss", "ds", "es", "fs", "gs",
)  # fmt: skip
