"""`jiffies`, a variable of the kernel that programs read directly.  kernel/time/{timer,timekeeping}.c, include/linux/jiffies.h.

It is brought up to date where Linux has its tick: at the end of every turn of a CPU, which is at most a tick long.
"""

from __future__ import annotations

from arch.abi.time import INITIAL_JIFFIES, TICK_NSEC
from arch.architecture import Architecture
from arch.memory import KernelMemory
from arch.symbols import Symbols


class Jiffies:
    """The words `jiffies_64` and, in it or the same, `jiffies` (an unsigned long)."""

    def __init__(self, arch: Architecture, mem: KernelMemory, symbols: Symbols) -> None:
        self.mem = mem
        self.address = mem.alloc(8)
        low = self.address + (8 - arch.word if arch.byteorder == "big" else 0)
        symbols.add("jiffies_64", self.address, 8, "D")
        symbols.add("jiffies", low, arch.word, "D")
        self.next_ns = 0
        self.tick(0)

    def tick(self, now_ns: int) -> None:
        """tick_do_update_jiffies64(): time has gone on."""
        ticks = now_ns // TICK_NSEC
        self.next_ns = (ticks + 1) * TICK_NSEC
        self.mem.write_uint(self.address, 8, INITIAL_JIFFIES + ticks)
