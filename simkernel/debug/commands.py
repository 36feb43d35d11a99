"""The debugger's commands as text: what a script, a pipe and the command line below the panels understand.

Names and short forms are gdb's where gdb has them.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator

from arch.abi.time import NSEC_PER_USEC
from arch.errors import Fault
from arch.records import dataclass
from simkernel.debug import show
from simkernel.debug.breaks import BreakError, parse_number
from simkernel.debug.debugger import DebugError, Debugger
from simkernel.debug.places import Place, Stop

Words = list[str]
AROUND = 6  # instructions of a BPF program before and behind the next one


@dataclass(frozen=True)
class Row:
    """One command."""

    names: str  # the long name first, then short ones
    usage: str
    help: str
    do: Callable[[Commands, Words], Iterator[str]]


class Commands:
    """Executes lines; each answers with lines of text."""

    def __init__(self, debugger: Debugger) -> None:
        self.debugger = debugger
        self.done = False

    def execute(self, line: str) -> Iterator[str]:
        """What a line gives; a mistake is a sentence, too."""
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            yield f"{line}: {error}"
            return
        if not words:
            return
        row = BY_NAME.get(words[0])
        if row is None:
            yield f"{words[0]}: no such command; `help` lists them"
            return
        try:
            yield from row.do(self, words[1:])
        except (BreakError, DebugError, Fault) as error:
            yield f"{words[0]}: {error}"

    def attempt(self, move: Callable[[], Stop]) -> list[str]:
        """A movement that a key stands for: what there is to say if it cannot be made."""
        try:
            move()
        except (BreakError, DebugError, Fault) as error:
            return [str(error)]
        return []

    def look(self, line: str) -> Iterator[str]:
        """A command that moves nothing, for who keeps a record of the movements: gdb."""
        name = line.split()[0] if line.split() else "help"
        row = BY_NAME.get(name)
        if row is None or row not in LOOKS:
            yield f"{name}: not here; there are {', '.join(each.names.split()[0] for each in LOOKS)}"
        else:
            yield from self.execute(line or "help")

    # -- running -------------------------------------------------------------------------------------------------------

    def _moved(self, stop: Stop) -> Iterator[str]:
        """After every movement."""
        yield show.place(self.debugger, stop)

    @staticmethod
    def _count(words: Words) -> int:
        count = parse_number(words[0]) if words else 1
        if count < 1:
            raise BreakError(f"{count}: a number from 1 on")
        return count

    def run_on(self, words: Words) -> Iterator[str]:
        yield from self._moved(self.debugger.go())

    def run_back(self, words: Words) -> Iterator[str]:
        yield from self._moved(self.debugger.go_back())

    def step(self, words: Words) -> Iterator[str]:
        yield from self._moved(self.debugger.step(self._count(words)))

    def step_back(self, words: Words) -> Iterator[str]:
        yield from self._moved(self.debugger.back(self._count(words)))

    def step_cpu(self, words: Words) -> Iterator[str]:
        yield from self._moved(self.debugger.step_cpu(self._count(words)))

    def step_cpu_back(self, words: Words) -> Iterator[str]:
        yield from self._moved(self.debugger.back_cpu(self._count(words)))

    def next(self, words: Words) -> Iterator[str]:
        for _ in self.debugger.times(self._count(words)):
            self.debugger.next()
        yield from self._moved(self.debugger.stop)

    def next_back(self, words: Words) -> Iterator[str]:
        for _ in self.debugger.times(self._count(words)):
            self.debugger.back_next()
        yield from self._moved(self.debugger.stop)

    def finish(self, words: Words) -> Iterator[str]:
        yield from self._moved(self.debugger.finish())

    def finish_back(self, words: Words) -> Iterator[str]:
        yield from self._moved(self.debugger.back_finish())

    def goto(self, words: Words) -> Iterator[str]:
        if not words:
            raise BreakError("goto TICK")
        yield from self._moved(self.debugger.goto(Place(max(parse_number(words[0]), 1))))

    # -- breakpoints ---------------------------------------------------------------------------------------------------

    def add_break(self, words: Words) -> Iterator[str]:
        made = self.debugger.add(" ".join(words))
        yield f"breakpoint {made.number}: {made}"

    def delete(self, words: Words) -> Iterator[str]:
        for number in [parse_number(word) for word in words] or list(self.debugger.breaks):
            self.debugger.remove(number)
        yield from ()

    def list_breaks(self, words: Words) -> Iterator[str]:
        for number, each in sorted(self.debugger.breaks.items()):
            yield f"{number}: {each}"

    # -- looking -------------------------------------------------------------------------------------------------------

    def where(self, words: Words) -> Iterator[str]:
        yield from self._moved(self.debugger.stop)

    def registers(self, words: Words) -> Iterator[str]:
        yield from show.registers(self.debugger.registers(), self.debugger.arch.word)

    def disassembly(self, words: Words) -> Iterator[str]:
        address = show.address(self.debugger, words[0]) if words else None
        count = parse_number(words[1]) if len(words) > 1 else 8
        here = self.debugger.stop.pc
        for line in self.debugger.disassembly(min(max(count, 1), 1000), address):
            yield f"{'=>' if line.address == here else '  '} {line.address:#x} <{line.symbol}>  {line.text}"

    def memory(self, words: Words) -> Iterator[str]:
        if not words:
            raise BreakError("x ADDRESS [BYTES]")
        start = show.address(self.debugger, words[0])
        size = parse_number(words[1]) if len(words) > 1 else 64
        yield from show.dump(start, self.debugger.memory(start, min(max(size, 1), 1 << 16)))

    def write(self, words: Words) -> Iterator[str]:
        if len(words) < 2:
            raise BreakError("write ADDRESS HEX, or write %REGISTER NUMBER")
        if words[0].startswith("%"):
            name = words[0][1:]
            if name not in self.debugger.registers():
                raise BreakError(f"no register {name}; there are {', '.join(self.debugger.registers())}")
            self.debugger.write_register(name, parse_number(words[1]))
        else:
            try:
                data = bytes.fromhex("".join(words[1:]))
            except ValueError:
                raise BreakError(f"{' '.join(words[1:])}: write bytes in hex") from None
            self.debugger.write_memory(show.address(self.debugger, words[0]), data)
        yield from ()

    def stack(self, words: Words) -> Iterator[str]:
        for number, caller in enumerate(self.debugger.stack()):
            yield f"#{number} {caller.address:#x} {caller.symbol}"

    def bpf(self, words: Words) -> Iterator[str]:
        yield from show.bpf(self.debugger.bpf(), parse_number(words[0]) if words else AROUND)

    def bpf_stack(self, words: Words) -> Iterator[str]:
        view = self.debugger.bpf()
        if view is None:
            yield "no BPF program runs"
        else:
            yield from show.dump(view.registers[10] - len(view.stack), view.stack, skip_zeros=True)

    def maps(self, words: Words) -> Iterator[str]:
        yield from show.maps(self.debugger.maps(), words)

    def trace(self, words: Words) -> Iterator[str]:
        yield from self.debugger.trace(self._count(words) if words else 20)

    def task(self, words: Words) -> Iterator[str]:
        yield show.task(self.debugger.task())

    def tasks(self, words: Words) -> Iterator[str]:
        yield from map(show.task, self.debugger.tasks())

    def output(self, words: Words) -> Iterator[str]:
        yield from self.debugger.output().decode("utf-8", "replace").splitlines()

    def time(self, words: Words) -> Iterator[str]:
        yield f"{self.debugger.stop.time_ns / NSEC_PER_USEC:.3f} us of virtual time since boot"

    def checkpoints(self, words: Words) -> Iterator[str]:
        yield " ".join(str(place) for place in self.debugger.checkpoints)

    # -- the rest ------------------------------------------------------------------------------------------------------

    def help(self, words: Words) -> Iterator[str]:
        for row in ROWS:
            name, *short = row.names.split()
            yield f"{' '.join([name, row.usage]).rstrip():<22} {row.help}" + (f" ({', '.join(short)})" if short else "")

    def quit(self, words: Words) -> Iterator[str]:
        self.done = True
        yield from ()


ROWS = (
    Row("continue c", "", "run until a breakpoint or the end", Commands.run_on),
    Row("reverse-continue rc", "", "run back to the breakpoint before, or the beginning", Commands.run_back),
    Row("step s", "[N]", "N instructions, of the CPU or of a BPF program", Commands.step),
    Row("reverse-step rs back", "[N]", "the same back", Commands.step_back),
    Row("stepi si", "[N]", "N instructions of the CPU", Commands.step_cpu),
    Row("reverse-stepi rsi", "[N]", "the same back", Commands.step_cpu_back),
    Row("next n", "[N]", "N instructions, functions they call included", Commands.next),
    Row("reverse-next rn", "[N]", "the same back", Commands.next_back),
    Row("finish fin", "", "until the function or the program returns", Commands.finish),
    Row("reverse-finish rfin", "", "back to the call of the function", Commands.finish_back),
    Row("goto", "TICK", "to a place by its number", Commands.goto),
    Row("break b", "WHERE", "stop there: a function, *ADDRESS, bpf NAME[:INSN], line FILE:LINE, map NAME [KEY], "
        "event SYSTEM:NAME, syscall NAME, sysret NAME, time T", Commands.add_break),
    Row("delete d", "[N...]", "one breakpoint less, or all", Commands.delete),
    Row("breakpoints", "", "list them", Commands.list_breaks),
    Row("write", "WHERE HEX", "change memory; %REGISTER NUMBER: a register", Commands.write),
    Row("where w", "", "the place", Commands.where),
    Row("registers regs", "", "of the CPU", Commands.registers),
    Row("disassemble dis", "[WHERE [N]]", "instructions of the CPU", Commands.disassembly),
    Row("memory x", "WHERE [BYTES]", "memory of the kernel or of the current task", Commands.memory),
    Row("stack bt", "", "the functions under way", Commands.stack),
    Row("bpf", "[N]", "the BPF program that runs: registers, source, N instructions around", Commands.bpf),
    Row("bpf-stack", "", "the stack of its function", Commands.bpf_stack),
    Row("maps map", "[NAME...]", "BPF maps and their entries", Commands.maps),
    Row("trace", "[N]", "the last N lines of the trace", Commands.trace),
    Row("task", "", "the current task", Commands.task),
    Row("tasks", "", "all tasks", Commands.tasks),
    Row("output", "", "what the program has written so far", Commands.output),
    Row("time", "", "virtual time", Commands.time),
    Row("checkpoints", "", "ticks at which copies of the machine wait", Commands.checkpoints),
    Row("help h", "", "this list", Commands.help),
    Row("quit q", "", "the end", Commands.quit),
)  # fmt: skip
LOOKS = ROWS[[row.do for row in ROWS].index(Commands.where) : -1]
BY_NAME = {name: row for row in ROWS for name in row.names.split()}
