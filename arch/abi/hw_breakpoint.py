"""Hardware breakpoints.  include/uapi/linux/hw_breakpoint.h, arch/x86/include/uapi/asm/debugreg.h."""

from __future__ import annotations

HW_BREAKPOINT_W, HW_BREAKPOINT_RW, HW_BREAKPOINT_X = 2, 3, 4
DR_COUNT, DR_STATUS, DR_CONTROL = 4, 6, 7  # registers of addresses, and the numbers of the other two
DR_TRAP_BITS, DR_STEP = 0xF, 0x4000  # of DR6
DR6_RESERVED = 0xFFFF0FF0
DR_CONTROL_RESERVED = 0xFFFFFFFF0000FC00
DR_EXECUTE, DR_WRITE, DR_READ_WRITE = 0, 1, 3  # what DR7 says of a register's kind
DR_LENGTHS = {0: 1, 1: 2, 3: 4, 2: 8}  # and of its length: bytes
