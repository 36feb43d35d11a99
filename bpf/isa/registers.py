"""Where an engine keeps what beside R0 to R10 and AX, in the list of a running program's registers."""

from __future__ import annotations

from typing import Final

BUDGET: Final = 1 << 40  # instructions that a program may run
BUDGET_AT, TAIL_CALLS_AT = 12, 13  # what is left of it, counted at backward jumps; tail calls made so far
NR_REGISTERS: Final = 14
