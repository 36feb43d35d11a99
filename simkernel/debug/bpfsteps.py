"""BPF programs run instruction by instruction, each instruction a tick.

While a debugger is there, programs run on the interpreter; which tier runs changes nothing that can be seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from arch.errors import Fault
from arch.records import dataclass
from bpf.board import Bpf
from bpf.core.program import BpfProg
from bpf.run.interpreter import BpfFault, Registers
from bpf.run.traced import Entry, TracedProgram


@dataclass
class Frame:
    """A function of a program that runs."""

    program: Stepped
    start: int  # its first instruction
    pc: int
    registers: Registers
    run: int  # tick at which the program's run began


class Stepped(TracedProgram):
    """A program whose every instruction is announced."""

    entries: dict[int, Entry] = {}
    steps: ClassVar[BpfSteps]

    def execute(self, r: Registers, pc: int = 0) -> None:
        """From the beginning of a function, through what is attached there."""
        entry = self.entries.get(pc)
        if entry is None:
            self.walk(r, pc)
        else:
            entry(r, lambda: self.walk(r, pc))

    def tail_called(self, r: Registers) -> None:
        """A tail call jumps behind the place where a trampoline is called."""
        self.walk(r, 0)

    def walk(self, r: Registers, pc: int) -> None:
        """As Program.execute() does, an instruction at a time."""
        steps = self.steps
        frame = steps.enter(self, pc, r)
        try:
            while pc >= 0:
                frame.pc = pc
                steps.tick()
                pc = self.single(pc)(r)
        except Fault as fault:
            raise BpfFault(self.name, frame.pc, self._text(frame.pc), fault) from fault
        finally:
            steps.leave()


class BpfSteps:
    """All programs of a machine."""

    def __init__(self, bpf: Bpf, tick: Callable[[], None], ended: Callable[[], None], now: Callable[[], int]) -> None:
        self.tick = tick  # called before each instruction
        self.ended = ended  # called when the outermost function of a program has returned
        self.now = now  # the present tick
        self.frames: list[Frame] = []

        class SteppedProg(BpfProg):
            """A program that is loaded from now on."""

            program_class = Stepped

        bpf.prog_class = SteppedProg
        self.bpf = bpf
        Stepped.steps = self  # there is one debugger in a process: a machine that is debugged has one of its own
        for prog in list(bpf.progs.objects.values()):
            if isinstance(prog, BpfProg):
                prog.interpret(Stepped)

    def enter(self, program: Stepped, pc: int, r: Registers) -> Frame:
        """A function of a program begins: of a new run, or called by the one that runs, or in its place (a tail call)."""
        outer = self.frames[-1] if self.frames else None
        inside = outer is not None and outer.registers is r
        frame = Frame(program, pc, pc, r, outer.run if inside and outer is not None else self.now() + 1)
        self.frames.append(frame)
        return frame

    def leave(self) -> None:
        """It has returned, or failed."""
        gone = self.frames.pop()
        if not self.frames or self.frames[-1].run != gone.run:
            self.ended()
