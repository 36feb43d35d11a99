"""s390x registers and struct pt_regs.  arch/s390/include/asm/ptrace.h.  Offsets and sizes in bytes."""

from __future__ import annotations

from arch.architecture import Layout, Row

_COMMON = (
    #   offset field     CPU register, or None where the entry code fills it
    Row(0, "args[0]", None),
    Row(8, "psw.mask", "pswm"),
    Row(16, "psw.addr", "pc"),
    *(Row(24 + 8 * i, f"gprs[{i}]", f"r{i}") for i in range(16)),
    Row(152, "orig_gpr2", None, note="r2 at the system call; first argument"),
    Row(160, "int_code", None, 4, "system call number, instruction length << 16"),
    Row(164, "int_parm", None, 4),
    Row(168, "int_parm_long", None),
    Row(176, "flags", None),
)

PT_REGS = Layout("pt_regs", size=200, rows=(*_COMMON, Row(184, "cr1", None), Row(192, "last_break", None)))
PT_REGS_4_1 = Layout("pt_regs", size=184, rows=_COMMON)

GENERAL = (*(f"r{i}" for i in range(16)), "pc", "pswm")

FUNCTION_ARGS = tuple(f"gprs[{i}]" for i in range(2, 7))
SYSCALL_ARGS = ("orig_gpr2", *(f"gprs[{i}]" for i in range(3, 8)))

# arch/s390/kernel/dumpstack.c:show_registers()
CRASH = (("PSW mask", "psw.mask"), ("PSW addr", "psw.addr"), *((f"r{i}", f"gprs[{i}]") for i in range(16)))

# arch/s390/include/asm/ptrace.h: PSW_KERNEL_BITS (home space, interrupts on), PSW_USER_BITS (primary space).
PSW_KERNEL = 0x0704C00180000000
PSW_USER = 0x0705000180000000
PSW_PROBLEM_STATE = 0x0001000000000000
PSW_CONDITION = 0x0000300000000000
TOD_UNIX_EPOCH = 0x7D91048BCA000000  # arch/s390/include/asm/timex.h: 1970 in units of 1/4096 us since 1900

# arch/s390/include/uapi/asm/perf_regs.h: the bits of sample_regs_user; floating-point registers ("") read as 0
PERF_REGS = (*(f"gprs[{i}]" for i in range(16)), *("" for _ in range(16)), "psw.mask", "psw.addr")
