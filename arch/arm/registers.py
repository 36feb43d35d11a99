"""32-bit ARM registers and struct pt_regs.  arch/arm/include/asm/ptrace.h.  Offsets and sizes in bytes."""

from __future__ import annotations

from arch.architecture import Layout, Row

NAMES = (*(f"r{i}" for i in range(11)), "fp", "ip", "sp", "lr", "pc", "cpsr")

PT_REGS = Layout(
    "pt_regs",
    size=72,
    rows=(*(Row(4 * i, f"uregs[{i}]", name, 4) for i, name in enumerate(NAMES)), Row(68, "uregs[17]", None, 4)),
)

GENERAL = NAMES

FUNCTION_ARGS = ("uregs[0]", "uregs[1]", "uregs[2]", "uregs[3]")
SYSCALL_ARGS = ("uregs[17]", *(f"uregs[{i}]" for i in range(1, 7)))  # ORIG_r0, r1..r6

# arch/arm/kernel/process.c:__show_regs()
CRASH = (
    ("pc", "uregs[15]"), ("lr", "uregs[14]"), ("psr", "uregs[16]"), ("sp", "uregs[13]"), ("ip", "uregs[12]"),
    ("fp", "uregs[11]"), *((f"r{i}", f"uregs[{i}]") for i in range(10, -1, -1)),
)  # fmt: skip

MODE_USER, MODE_SVC = 0x10, 0x13
PSR_KERNEL = MODE_SVC | 0x40  # no FIQs

# arch/arm/include/uapi/asm/perf_regs.h: the bits of sample_regs_user
PERF_REGS = tuple(f"uregs[{i}]" for i in range(16))
