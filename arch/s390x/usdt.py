"""Arguments of USDT probes.  tools/lib/bpf/usdt.c.  Offsets in bytes into the struct pt_regs that programs see."""

from __future__ import annotations

from arch.s390x.registers import PT_REGS
from arch.usdt import CONST, REG, REG_DEREF, Form, NumberedRegisters, Usdt

USDT = Usdt(
    forms=(
        Form(REG_DEREF, " %d @ %ld ( %%r%u ) %n", ("size", "off", "number")),
        Form(REG, " %d @ %%r%u %n", ("size", "number")),
        Form(CONST, " %d @ %ld %n", ("size", "off")),
    ),
    numbered=NumberedRegisters("", count=16, first=PT_REGS.offset("gprs[0]"), step=8),
)
