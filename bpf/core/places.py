"""Where the instructions of a program are in the kernel: programs pretend to be text there."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bpf.jit.compile import Code

TEXT_STEP = 64  # bytes for each instruction there, more than the longest machine code of one


class Places:
    """Of one program: where its text begins, and its functions in it."""

    def __init__(self, text: int, starts: Sequence[int]) -> None:
        self.text, self.starts = text, starts

    def address(self, index: int) -> int:
        """Kernel address of an instruction."""
        return self.text + TEXT_STEP * index

    def index(self, address: int) -> int:
        """The other way round: where a jump through a register leads."""
        return (address - self.text) // TEXT_STEP

    def code_offset(self, index: int, code: Sequence[Code]) -> int:
        """How far into the machine code of its function an instruction begins, where there is such code."""
        number = bisect_right(self.starts, index) - 1
        within = index - self.starts[number]
        return code[number].starts[within] if code else TEXT_STEP * within
