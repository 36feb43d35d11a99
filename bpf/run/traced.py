"""A program whose functions have trampolines: other programs run before, after or instead of them.

On Linux a trampoline is a call at the beginning of a function's machine code.  Here the interpreter looks at the table of
entries when it begins a function; the ordinary engines know nothing of it, so programs that nobody traces pay nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from bpf.run.interpreter import Program, Registers

# (registers at the entry, runs the function itself): leaves the result in R0
Entry = Callable[[Registers, Callable[[], None]], None]


class TracedProgram(Program):
    """Interpreted, with something at the beginning of some of its functions."""

    entries: dict[int, Entry]

    def execute(self, r: Registers, pc: int = 0) -> None:
        """From the beginning of a function, through what is attached there."""
        entry = self.entries.get(pc)
        if entry is None:
            super().execute(r, pc)
        else:
            entry(r, lambda: Program.execute(self, r, pc))

    def tail_called(self, r: Registers) -> None:
        """A tail call jumps behind the place where a trampoline is called."""
        Program.execute(self, r)
