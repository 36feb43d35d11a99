"""x86-64 registers and struct pt_regs.  arch/x86/include/asm/ptrace.h.  Offsets and sizes in bytes."""

from __future__ import annotations

from arch.architecture import Layout, Row

PT_REGS = Layout(
    "pt_regs",
    size=168,
    rows=(
        #   offset field     CPU register, or None where the entry code fills it
        Row(0x00, "r15", "r15", note="callee-saved from here"),
        Row(0x08, "r14", "r14"),
        Row(0x10, "r13", "r13"),
        Row(0x18, "r12", "r12"),
        Row(0x20, "bp", "rbp"),
        Row(0x28, "bx", "rbx"),
        Row(0x30, "r11", "r11", note="always saved from here"),
        Row(0x38, "r10", "r10"),
        Row(0x40, "r9", "r9"),
        Row(0x48, "r8", "r8"),
        Row(0x50, "ax", "rax"),
        Row(0x58, "cx", "rcx"),
        Row(0x60, "dx", "rdx"),
        Row(0x68, "si", "rsi"),
        Row(0x70, "di", "rdi"),
        Row(0x78, "orig_ax", None, note="system call number, error code, or -1"),
        Row(0x80, "ip", "rip", note="iretq frame from here"),
        Row(0x88, "cs", "cs"),
        Row(0x90, "flags", "eflags"),
        Row(0x98, "sp", "rsp"),
        Row(0xA0, "ss", "ss"),
    ),
)

FUNCTION_ARGS = ("di", "si", "dx", "cx", "r8", "r9")
SYSCALL_ARGS = ("di", "si", "dx", "r10", "r8", "r9")  # the syscall instruction overwrites rcx

GENERAL = (
    "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp",
    "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rip", "eflags",
)  # fmt: skip

# Selectors.  arch/x86/include/asm/segment.h
KERNEL_CS, KERNEL_DS, USER_CS, USER_DS = 0x10, 0x18, 0x33, 0x2B

# Printed order of an oops: show_regs().  arch/x86/kernel/process_64.c:__show_regs()
CRASH = (
    ("RIP", "ip"), ("RSP", "sp"), ("EFLAGS", "flags"),
    ("RAX", "ax"), ("RBX", "bx"), ("RCX", "cx"), ("RDX", "dx"), ("RSI", "si"), ("RDI", "di"),
    ("RBP", "bp"), ("R08", "r8"), ("R09", "r9"), ("R10", "r10"), ("R11", "r11"), ("R12", "r12"),
    ("R13", "r13"), ("R14", "r14"), ("R15", "r15"),
)  # fmt: skip

# arch/x86/include/uapi/asm/perf_regs.h: the bits of sample_regs_user; None is refused (ds, es, fs, gs)
PERF_REGS = (
    "ax", "bx", "cx", "dx", "si", "di", "bp", "sp", "ip", "flags", "cs", "ss", None, None, None, None,
    *(f"r{i}" for i in range(8, 16)),
)  # fmt: skip
