"""What a call of a helper can be beside a call of Python: a native function, known by its host address."""

from __future__ import annotations

from collections.abc import Callable

from arch.records import dataclass

Constant = Callable[
    [int], int
]  # what a register is expected to hold, by the last constant that was put there; 0: nobody knows


@dataclass(frozen=True)
class NativeCall:
    """How compiled code calls: the function, words it gets first, then registers.

    A function without an address is Python's, of a kind that may be called in a run that Python knows nothing of.
    """

    address: int
    words: int = 0  # host address; 0: none
    first: int = 1  # the first register it gets
    registers: int = 0  # how many
    map: int = 0  # this must be in map_register, or else Python is called
    gives_memory: bool = False  # of the program or its maps
    elsewhere: bool = False  # it looks at memory of the kernel that the program names
    closed: bool = True  # also where it declines, nothing leads to a run of another program
    guard: int = (
        0  # host address of a function of the words, not 0 while what comes of the call may wake somebody; 0: none
    )
    wake_flags: int = 0  # the register with BPF_RB_*_WAKEUP of a call that wakes nobody but those a guard knows of
    map_register: int = 1
    context: bool = False  # R1 is the context, where it looks for the instruction pointer at most
