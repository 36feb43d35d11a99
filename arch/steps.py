"""Counting and stopping at single instructions and behind accesses to data, for debuggers and debug registers."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from typing import Any

from unicorn import unicorn_const as ucc

from arch.abi.limits import PAGE_SIZE
from arch.cpu import Cpu
from arch.native.steps import FILTER_SIZE, Data, Step, step_code

NO_TICK = (1 << 64) - 1


class InstructionWatch:
    """Calls handler(address) before the instruction where the count, an address or the clock's time is reached.

    The count is a word that others may raise, too, for steps that are not the CPU's.
    """

    def __init__(self, cpu: Cpu, handler: Callable[[int], object]) -> None:
        self._handler = handler
        self._filter = (ctypes.c_uint8 * FILTER_SIZE)()
        array = self._array = (ctypes.c_uint64 * Step.TOTAL)()
        self._code = step_code()
        self.words = memoryview(array).cast("B").cast("Q")
        self.words[Step.BLOCK] = cpu.block.address
        self.words[Step.HANDLER] = id(handler)
        self.words[Step.STOP_AT] = self.words[Step.TIME_AT] = NO_TICK
        self.words[Step.FILTER] = ctypes.addressof(self._filter)
        self._cpu = cpu
        self._hook = cpu.hook_before_probes(ucc.UC_HOOK_CODE, self._code.address("each"), ctypes.addressof(array))
        self._data: dict[int, tuple[int, Any]] = {}  # data watch -> its hook and words

    def watch(self, addresses: Iterable[int]) -> None:
        """Look at these addresses, and no others; the handler is called for others with the same low bits, too."""
        ctypes.memset(self._filter, 0, FILTER_SIZE)
        for address in addresses:
            self._filter[address % FILTER_SIZE] = 1

    def watch_data(self, number: int, address: int, length: int, reads: bool) -> None:
        """The handler is called before the instruction that follows a write (or a read, if `reads`) to what may be these bytes:
        touched() says which.  They lie in one page; `number` is 0 to 63.
        """
        offset = address % PAGE_SIZE
        words = (ctypes.c_uint64 * Data.TOTAL)()
        words[Data.STEP], words[Data.BIT] = ctypes.addressof(self._array), 1 << number
        words[Data.OFFSET], words[Data.END] = offset, offset + length
        kind = ucc.UC_HOOK_MEM_WRITE | (ucc.UC_HOOK_MEM_READ if reads else 0)
        hook = self._cpu.hook_everywhere(kind, self._code.address("memory"), ctypes.addressof(words))
        self._data[number] = hook, words

    def forget_data(self, number: int) -> None:
        """That watch is no more."""
        hook, words = self._data.pop(number)
        self._cpu.drop_hook(hook, words)

    def touched(self) -> list[tuple[int, int]]:
        """(watch, physical address of the access) since the last time; of those only that are still there."""
        bits, self.words[Step.TOUCHED] = self.words[Step.TOUCHED], 0
        return [(n, words[Data.ADDRESS]) for n, (_, words) in self._data.items() if bits >> n & 1]

    def close(self) -> None:
        """No hooks any more; also from inside one."""
        for number in list(self._data):
            self.forget_data(number)
        self._cpu.drop_hook(self._hook, self)
