"""Arguments of USDT probes.  tools/lib/bpf/usdt.c.  Offsets in bytes into the struct pt_regs that programs see."""

from __future__ import annotations

from arch.architecture import Layout
from arch.usdt import CONST, REG, REG_DEREF, SIB, Form, Usdt
from arch.x86_64.registers import PT_REGS

_SINCE_SIB = (1, 7)
FORMS = (
    Form(SIB, " %d @ %ld ( %%%15[^,] , %%%15[^,] , %d ) %n", ("size", "off", "reg", "index", "scale"), _SINCE_SIB),
    Form(SIB, " %d @ ( %%%15[^,] , %%%15[^,] , %d ) %n", ("size", "reg", "index", "scale"), _SINCE_SIB),
    Form(SIB, " %d @ %ld ( %%%15[^,] , %%%15[^)] ) %n", ("size", "off", "reg", "index"), _SINCE_SIB),
    Form(SIB, " %d @ ( %%%15[^,] , %%%15[^)] ) %n", ("size", "reg", "index"), _SINCE_SIB),
    Form(REG_DEREF, " %d @ %ld ( %%%15[^)] ) %n", ("size", "off", "reg")),
    Form(REG_DEREF, " %d @ ( %%%15[^)] ) %n", ("size", "reg")),
    Form(REG, " %d @ %%%15s %n", ("size", "reg")),
    Form(CONST, " %d @ $%ld %n", ("size", "off")),
)


def registers(layout: Layout) -> dict[str, int]:
    """The old registers by their names at every width, and those with numbers where there are any."""
    table = {}
    for wide, low in (("ax", "al"), ("bx", "bl"), ("cx", "cl"), ("dx", "dl"), ("si", "sil"), ("di", "dil"),
                      ("bp", "bpl"), ("sp", "spl")):  # fmt: skip
        for name in (f"r{wide}", f"e{wide}", wide, low):
            table[name] = layout.offset(wide)
    table["rip"] = table["eip"] = layout.offset("ip")
    for number in range(8, 16):
        if f"r{number}" in layout.fields:
            for suffix in ("", "d", "w", "b"):
                table[f"r{number}{suffix}"] = layout.offset(f"r{number}")
    return table


USDT = Usdt(FORMS, registers(PT_REGS))
