"""Arguments of USDT probes.  tools/lib/bpf/usdt.c.  Offsets in bytes into the struct pt_regs that programs see."""

from __future__ import annotations

from arch.riscv64.registers import ABI_NAMES, PT_REGS
from arch.usdt import CONST, REG, REG_DEREF, Form, Usdt

USDT = Usdt(
    forms=(
        Form(REG_DEREF, " %d @ %ld ( %15[a-z0-9] ) %n", ("size", "off", "reg")),
        Form(CONST, " %d @ %ld %n", ("size", "off")),
        Form(REG, " %d @ %15[a-z0-9] %n", ("size", "reg")),
    ),
    registers={name: PT_REGS.offset(name) for name in ABI_NAMES},
)
