"""arm64 registers and struct pt_regs.  arch/arm64/include/asm/ptrace.h.  Offsets and sizes in bytes."""

from __future__ import annotations

from arch.architecture import Layout, Row

_USER = (
    #     offset  field     CPU register, or None where the entry code fills it
    *(Row(8 * i, f"regs[{i}]", f"x{i}") for i in range(31)),
    Row(248, "sp", "sp"),
    Row(256, "pc", "pc"),
    Row(264, "pstate", "pstate"),
    Row(272, "orig_x0", None, note="x0 at the system call; first argument"),
)

PT_REGS = Layout(
    "pt_regs",
    size=336,
    rows=(
        *_USER,
        Row(280, "syscallno", None, 4, "-1 outside system calls"),
        Row(284, "unused2", None, 4),
        Row(288, "sdei_ttbr1", None),
        Row(296, "pmr_save", None),
        Row(304, "stackframe[0]", None, note="frame record that ends the kernel's chain"),
        Row(312, "stackframe[1]", None),
        Row(320, "lockdep_hardirqs", None),
        Row(328, "exit_rcu", None),
    ),
)

PT_REGS_4_1 = Layout("pt_regs", size=288, rows=(*_USER, Row(280, "syscallno", None, 8)))

GENERAL = (*(f"x{i}" for i in range(31)), "sp", "pc", "pstate")

FUNCTION_ARGS = tuple(f"regs[{i}]" for i in range(8))
SYSCALL_ARGS = ("orig_x0", *(f"regs[{i}]" for i in range(1, 6)))

# arch/arm64/kernel/process.c:__show_regs()
CRASH = (
    ("pstate", "pstate"), ("pc", "pc"), ("lr", "regs[30]"), ("sp", "sp"),
    *((f"x{i}", f"regs[{i}]") for i in range(29, -1, -1)),
)  # fmt: skip

PSTATE_USER = 0x00000000  # EL0t
PSTATE_KERNEL = 0x00000005  # EL1h

# arch/arm64/include/uapi/asm/perf_regs.h: the bits of sample_regs_user
PERF_REGS = (*(f"regs[{i}]" for i in range(31)), "sp", "pc")
