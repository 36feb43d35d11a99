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

# mrs Xt, register: the register's five numbers above Xt.  What user code may read, and what arch/arm64/kernel/cpufeature.c
# answers where the read traps (emulate_mrs()): of a Cortex-A72 what Linux lets programs see of it.
MRS_MASK = 0xFFFFFFE0
CNTVCT_EL0, CNTFRQ_EL0 = 0xD53BE040, 0xD53BE000
COUNTER_HZ = 62_500_000
MIDR = 0x410FD083
ID_REGISTERS = (  # instruction, mask, value
    (0xD5380000, MRS_MASK, MIDR),  # MIDR_EL1
    (0xD53800A0, MRS_MASK, 0x80000000),  # MPIDR_EL1
    (0xD53800C0, MRS_MASK, 0),  # REVIDR_EL1
    (0xD5380400, MRS_MASK, 0x11),  # ID_AA64PFR0_EL1: 64 bits only
    (0xD5380500, MRS_MASK, 0x6),  # ID_AA64DFR0_EL1
    (0xD5380600, MRS_MASK, 0x11120),  # ID_AA64ISAR0_EL1: aes pmull sha1 sha2 crc32
    (0xD5380700, MRS_MASK, 0x00000111FF000000),  # ID_AA64MMFR0_EL1
    *((0xD5380000 | crm << 8, 0xFFFFFF00, 0) for crm in (4, 5, 6, 7)),  # all others there
)
ID_REGISTERS_32 = (
    (0xD53802A0, MRS_MASK, 0x11120),  # ID_ISAR5_EL1
    (0xD5380300, MRS_MASK, 0x200),  # MVFR0_EL1
    (0xD5380320, MRS_MASK, 0x10011100),  # MVFR1_EL1
    *((0xD5380000 | crm << 8, 0xFFFFFF00, 0) for crm in (2, 3)),
)
SCTLR_EL1 = (1, 0, 3, 0, 0)  # crn, crm, op0, op1, op2
SCTLR_USER = 1 << 14 | 1 << 15 | 1 << 26  # DZE UCT UCI: user code may dc zva, read ctr_el0, dc and ic by address
