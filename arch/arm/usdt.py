"""Arguments of USDT probes.  tools/lib/bpf/usdt.c.  Offsets in bytes into the struct pt_regs that programs see."""

from __future__ import annotations

from arch.arm.registers import NAMES, PT_REGS
from arch.usdt import CONST, REG, REG_DEREF, Form, Usdt

_SUPPORTED = (1, 2)
USDT = Usdt(
    forms=(
        Form(REG_DEREF, " %d @ [ %15[a-z0-9] , #%ld ] %n", ("size", "reg", "off"), _SUPPORTED),
        Form(REG_DEREF, " %d @ [ %15[a-z0-9] ] %n", ("size", "reg"), _SUPPORTED),
        Form(CONST, " %d @ #%ld %n", ("size", "off"), _SUPPORTED),
        Form(REG, " %d @ %15[a-z0-9] %n", ("size", "reg"), _SUPPORTED),
    ),
    registers={name: PT_REGS.offset(f"uregs[{number}]") for number, name in enumerate(NAMES[:16])},
)
