"""Counting and stopping at single instructions, for debuggers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable

from unicorn import unicorn_const as ucc

from arch.cpu import Cpu
from arch.native.steps import FILTER_SIZE, Step, step_code

NO_TICK = (1 << 64) - 1


class InstructionWatch:
    """Calls handler(address) before the instruction where the count, an address or the clock's time is reached.

    The count is a word that others may raise, too, for steps that are not the CPU's.
    """

    def __init__(self, cpu: Cpu, handler: Callable[[int], object]) -> None:
        self._handler = handler
        self._filter = (ctypes.c_uint8 * FILTER_SIZE)()
        array = (ctypes.c_uint64 * Step.TOTAL)()
        self._code = step_code()
        self.words = memoryview(array).cast("B").cast("Q")
        self.words[Step.BLOCK] = cpu.block.address
        self.words[Step.HANDLER] = id(handler)
        self.words[Step.STOP_AT] = self.words[Step.TIME_AT] = NO_TICK
        self.words[Step.FILTER] = ctypes.addressof(self._filter)
        cpu.hook_before_probes(ucc.UC_HOOK_CODE, self._code.address("each"), ctypes.addressof(array))

    def watch(self, addresses: Iterable[int]) -> None:
        """Look at these addresses, and no others; the handler is called for others with the same low bits, too."""
        ctypes.memset(self._filter, 0, FILTER_SIZE)
        for address in addresses:
            self._filter[address % FILTER_SIZE] = 1
