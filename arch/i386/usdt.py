"""Arguments of USDT probes.  tools/lib/bpf/usdt.c.  Offsets in bytes into the struct pt_regs that programs see."""

from __future__ import annotations

from arch.i386.registers import PT_REGS
from arch.usdt import Usdt
from arch.x86_64.usdt import FORMS, registers

USDT = Usdt(FORMS, registers(PT_REGS))
