"""riscv64 registers and struct pt_regs.  arch/riscv/include/asm/ptrace.h.  Offsets and sizes in bytes."""

from __future__ import annotations

from arch.architecture import Layout, Row

# ABI names of x1..x31, and their order in struct pt_regs.
ABI_NAMES = (
    "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7",
    "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
)  # fmt: skip

PT_REGS = Layout(
    "pt_regs",
    size=288,
    rows=(
        #   offset field    CPU register, or None where the entry code fills it
        Row(0, "epc", "pc"),
        *(Row(8 * (i + 1), name, name) for i, name in enumerate(ABI_NAMES)),
        Row(256, "status", None),
        Row(264, "badaddr", None),
        Row(272, "cause", None),
        Row(280, "orig_a0", None, note="a0 at the system call; first argument"),
    ),
)

GENERAL = ("pc", *ABI_NAMES)

FUNCTION_ARGS = tuple(f"a{i}" for i in range(8))
SYSCALL_ARGS = ("orig_a0", *(f"a{i}" for i in range(1, 6)))

# arch/riscv/kernel/process.c:__show_regs()
CRASH = (
    ("epc", "epc"), ("ra", "ra"), ("sp", "sp"), ("gp", "gp"), ("tp", "tp"),
    *((name, name) for name in ABI_NAMES[4:]),
    ("status", "status"), ("badaddr", "badaddr"), ("cause", "cause"),
)  # fmt: skip

PRIV_USER, PRIV_SUPERVISOR = 0, 1
STATUS_USER = 0x200006020  # UXL = 64 bits, FS = dirty, SPIE
STATUS_KERNEL = 0x200006120  # the same with SPP: came from supervisor mode

# arch/riscv/include/uapi/asm/perf_regs.h: the bits of sample_regs_user
PERF_REGS = ("epc", *ABI_NAMES)

# csrrs, csrrc, csrrsi and csrrci that change nothing, of the CSRs with these numbers (the field is the upper 12 bits).
CSR_READS = tuple(function << 12 | 0x73 for function in (2, 3, 6, 7))
CSR_READ_MASK = 0xFFFFF07F
CYCLE, TIME, INSTRET = 0xC00, 0xC01, 0xC02
TICK_NS = 100  # timebase-frequency 10 MHz
