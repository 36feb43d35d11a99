"""Exceptions of user code.  arch/arm64/kernel/traps.c, entry-common.c: el0_pc()."""

from __future__ import annotations

from arch.abi.signal import BUS_ADRALN, SIGBUS
from arch.exceptions import Exceptions, Get, Read, Refusal


def judge(get: Get, read: Read, address: int, traced: bool) -> Refusal | None:
    """The emulator takes an instruction that is not aligned for one that is none."""
    return Refusal(SIGBUS, BUS_ADRALN) if address & 3 else None


EXCEPTIONS = Exceptions(alignment_of_data=True, judge=judge)
