"""Arguments of USDT probes.  tools/lib/bpf/usdt.c.  Offsets in bytes into the struct pt_regs that programs see."""

from __future__ import annotations

from arch.arm64.registers import PT_REGS
from arch.usdt import CONST, REG, REG_DEREF, Form, NumberedRegisters, Usdt

_SPACE_BEFORE_COMMA = (1, 2)
USDT = Usdt(
    forms=(
        Form(REG_DEREF, " %d @ [ %15[a-z0-9] , %ld ] %n", ("size", "reg", "off"), since=_SPACE_BEFORE_COMMA),
        Form(REG_DEREF, " %d @ [ %15[a-z0-9], %ld ] %n", ("size", "reg", "off"), until=_SPACE_BEFORE_COMMA),
        Form(REG_DEREF, " %d @ [ %15[a-z0-9] ] %n", ("size", "reg")),
        Form(CONST, " %d @ %ld %n", ("size", "off")),
        Form(REG, " %d @ %15[a-z0-9] %n", ("size", "reg")),
    ),
    registers={"sp": PT_REGS.offset("sp")},
    numbered=NumberedRegisters("x%d", count=31, first=PT_REGS.offset("regs[0]"), step=8),
)
