"""`Debugger`: step through a run of a machine, forwards and backwards.

    d = simkernel.boot().debugger(["/bin/hello"])
    d.add("vfs_write")
    d.go()                 # until the breakpoint
    d.step(3)              # instructions, of the CPU or of a BPF program
    d.back(2)
    d.go_back()            # to the breakpoint before

The machine runs in forks of this process (debuggee.py) and is deterministic.  Going back is: fork the nearest checkpoint
before the place, and run to it.  Checkpoints are made on the way, by the host's CPU time, so that the way from one to the
next is short; many of them are thinned out, the older the thinner.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Protocol, TypeVar

from arch.records import dataclass
from simkernel.debug import look
from simkernel.debug.breaks import Break, BreakError, parse
from simkernel.debug.debuggee import start
from simkernel.debug.link import Gone, Link
from simkernel.debug.places import Answer, Interrupt, Keep, Kept, Kind, Mode, Noted, Place, Rule, Run, Stop, Wake
from simkernel.kernel.hostio import HostOutput
from simkernel.kernel.kernel import Kernel
from simkernel.packed import unpacked

MOST_KEPT = 24  # checkpoints: each is a process of the host
T = TypeVar("T")


class Debugged(Protocol):
    """What a debugger needs of a machine."""

    kernel: Kernel

    def run(
        self,
        argv: Sequence[str | bytes],
        env: Mapping[str, str] | None = None,
        *,
        stdout: HostOutput | None = None,
        stderr: HostOutput | None = None,
    ) -> object:
        """Run a program to its end."""


M = TypeVar("M", bound=Debugged)


class Command:
    """Run a program of the guest to its end."""

    def __init__(self, argv: Sequence[str | bytes], env: Mapping[str, str] | None = None) -> None:
        self.argv, self.env = list(argv), env
        self.stdout, self.stderr = HostOutput(), HostOutput()

    def __call__(self, machine: Debugged) -> object:
        return machine.run(self.argv, self.env, stdout=self.stdout, stderr=self.stderr)

    def output(self) -> bytes:
        """Both streams, one after the other."""
        return bytes(self.stdout.data) + bytes(self.stderr.data)


class DebugError(Exception):
    """What was asked cannot be done: a sentence for a person."""


@dataclass
class Checkpoint:
    """A copy of the machine that waits at a place."""

    place: Place
    link: Link

    def end(self) -> None:
        """It is not needed any more."""
        with contextlib.suppress(Gone):
            self.link.send(None)
        self.link.close()


class Processes:
    """The copies that are alive.  In an object of its own, so that they end with the debugger however that ends."""

    def __init__(self, first: int, live: Link) -> None:
        self.first, self.live, self.running = first, live, first
        self.kept: list[Checkpoint] = []

    def close(self) -> None:
        """End all of them."""
        self.live.close()
        if self.kept:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.running, signal.SIGKILL)
        for each in self.kept:
            each.end()
        self.kept.clear()
        if self.first:
            if self.running == self.first:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.first, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.first, 0)
            self.first = 0


class Debugger:
    """One run under control.  `stop` says where it stands."""

    def __init__(self, machine: M, run: Callable[[M], object] | Sequence[str | bytes]) -> None:
        drive = run if callable(run) else Command(run)
        output = drive.output if isinstance(drive, Command) else bytes
        pid, link = start(machine.kernel, lambda: drive(machine), output)
        self._processes = Processes(pid, link)
        self._finalizer = weakref.finalize(self, self._processes.close)
        self.breaks: dict[int, Break] = {}
        self._numbers = 0
        self._interrupted = False  # during the movement that is under way
        self._running = False  # a run is under way, which can be interrupted
        self.symbols = machine.kernel.symbols
        self.arch = machine.kernel.arch
        self.version = machine.kernel.version
        memory, text = machine.kernel.mem.map, machine.kernel.text.image
        self.borders = memory.text_base, text.end, memory.user_end  # of the kernel's text; of programs' addresses
        self.while_waiting: Callable[[socket.socket], object] | None = None  # called before a message is waited for
        self.stop = self._wait_for_stop()
        self._keep_here()

    # -- breakpoints -----------------------------------------------------------------------------------------------------

    def add(self, where: str) -> Break:
        """A breakpoint, as simkernel/debug/breaks.py writes them.  BreakError."""
        made = parse(where, self._numbers + 1, self.symbols.address)
        if problem := self.ask(look.problem_of, made):
            raise BreakError(problem)
        self._numbers += 1
        self.breaks[made.number] = made
        return made

    def remove(self, number: int) -> None:
        """One breakpoint less.  BreakError."""
        if number not in self.breaks:
            raise BreakError(f"no breakpoint has the number {number}")
        del self.breaks[number]

    def _set(self) -> tuple[Break, ...]:
        return tuple(self.breaks[number] for number in sorted(self.breaks))

    # -- forwards --------------------------------------------------------------------------------------------------------

    def go(self) -> Stop:
        """Until a breakpoint, or the end of the run."""
        return self._run(Run(self._set()))

    def step(self, count: int = 1) -> Stop:
        """So many instructions, of the CPU or of BPF programs."""
        return self.goto(Place(self.stop.place.tick + count)) if count > 0 else self.stop

    def step_cpu(self, count: int = 1) -> Stop:
        """So many instructions of the CPU; the programs that run inside of one are passed."""
        for _ in self.times(count):
            if self.stop.kind is Kind.END:
                break
            self._run(Run((), rule=Rule(Kind.CPU)))
        return self.stop

    def times(self, count: int) -> Iterator[int]:
        """So many turns, unless somebody asks for a stop meanwhile."""
        self._interrupted = False
        with self._shielded():
            for number in range(count):
                yield number
                if self._interrupted:
                    break

    def next(self) -> Stop:
        """One instruction; a function that it calls is passed, unless a breakpoint is in it."""
        if self.stop.kind is not Kind.CPU:
            rule = self.ask(look.rule_of_same_function) if self.stop.kind is Kind.BPF else Rule(Kind.CPU)
            return self._run(Run(self._set(), rule=rule))
        before = self.stop
        lines = self.disassembly(1)
        self._run(Run(self._set(), rule=Rule(Kind.CPU)))
        if lines and not self.stop.number:
            after = lines[0].address + lines[0].size
            if self.ask(look.call_of, after, before.in_kernel):
                return self._run(Run(self._set(), rule=self.ask(look.rule_of_return, after, before.sp)))
        return self.stop

    def finish(self) -> Stop:
        """Until the function returns, or the program."""
        rule = self.ask(look.rule_of_finish)
        if rule is None:
            raise DebugError("nothing is known of a caller here")
        return self._run(Run(self._set(), rule=rule))

    # -- backwards -------------------------------------------------------------------------------------------------------

    def back(self, count: int = 1) -> Stop:
        """So many instructions back, of the CPU or of BPF programs; not before the first one."""
        here = self.stop.place
        if here.hit and count > 0:
            count -= 1  # first out of the instruction that is under way
        return self.goto(Place(max(here.tick - count, 1)))

    def back_cpu(self, count: int = 1) -> Stop:
        """So many instructions of the CPU back."""
        for _ in self.times(count):
            if self.stop.previous < 1:
                break
            self.goto(Place(self.stop.previous))
        return self.stop

    def back_next(self) -> Stop:
        """One instruction back; a function that it has called is passed."""
        here, rule = self.stop, self.ask(look.rule_of_same_function)
        if here.kind is not Kind.CPU:
            return self._search_back(rule, (), "step") if here.kind is Kind.BPF else self.back_cpu()
        self.back_cpu()
        lines = self.disassembly(1)
        if lines and lines[0].address + lines[0].size == here.pc:
            return self.stop  # the one before in memory, too
        if rule.high and (rule.low <= self.stop.pc < rule.high or rule.low == here.pc):
            return self.stop  # a jump inside of the function, or the call of it
        self.goto(here.place)
        return self._search_back(rule, (), "step")

    def back_finish(self) -> Stop:
        """To the call of this function, or to where the program was started."""
        rule = self.ask(look.rule_of_back_finish)
        if rule is None:
            raise DebugError("nothing is known of a caller here")
        return self._search_back(rule, (), "step")

    def go_back(self) -> Stop:
        """To the last breakpoint before, or the beginning."""
        return self._search_back(None, self._set(), "the beginning of the run")

    def _search_back(self, rule: Rule | None, breaks: tuple[Break, ...], otherwise: str) -> Stop:
        """The last place before this one where a run with this would have stopped.

        Each stretch between two checkpoints is run again, the last one first, by a copy that notes where it would stop.
        """
        end = self.stop.place
        for each in [kept for kept in reversed(self._processes.kept) if kept.place < end]:
            if found := self._scan(each, Run(breaks, Mode.NOTE, end, rule, keep=False)):
                self.goto(found.place, found.breaks)
                self.stop = self.stop.because(found)
                return self.stop
            end = Place(each.place.tick, 1)  # what stops at a checkpoint's own tick belongs to the stretch before
        self.goto(Place(1))
        self.stop = replace(self.stop, reason=otherwise, number=0)
        return self.stop

    def _scan(self, checkpoint: Checkpoint, run: Run) -> Stop | None:
        link, pid = self._wake(checkpoint)
        try:
            link.receive()  # its stop
            link.send(run)
            while True:
                message, _ = link.receive()
                if isinstance(message, Noted):
                    return message.last
        except Gone:
            raise DebugError("the copy of the machine that was to search has ended") from None
        finally:
            link.close()
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    # -- to a place ------------------------------------------------------------------------------------------------------

    def goto(self, place: Place | int, breaks: tuple[Break, ...] | None = None) -> Stop:
        """To a place of the run, before or behind this one."""
        if isinstance(place, int):
            place = Place(place)
        counted = (self.stop.breaks if breaks is None else breaks) if place.hit else ()
        if place < self.stop.place or (place == self.stop.place and place.hit):
            self._revive(place)
        if place == self.stop.place:
            return self.stop
        return self._run(Run(counted, Mode.PASS, place))

    def _revive(self, place: Place) -> None:
        """Go on from the last checkpoint that is not behind a place."""
        with self._shielded():
            self._go_on_from(place)

    def _go_on_from(self, place: Place) -> None:
        processes = self._processes
        while processes.kept[-1].place > place:
            processes.kept.pop().end()
        processes.live.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(processes.running, signal.SIGKILL)
        processes.live, processes.running = self._wake(processes.kept[-1])
        self.stop = self._wait_for_stop()

    def _wake(self, checkpoint: Checkpoint) -> tuple[Link, int]:
        """A copy that goes on from a checkpoint: its link and pid.  It says where it stands."""
        ours, theirs = Link.pair()
        try:
            checkpoint.link.send(Wake(), theirs.sock.fileno())
            theirs.close()
            pid, _ = ours.receive()
        except Gone:
            raise DebugError("a checkpoint of the machine has ended") from None
        assert isinstance(pid, int)
        return ours, pid

    # -- changing --------------------------------------------------------------------------------------------------------

    def write_memory(self, address: int, data: bytes) -> None:
        """Change memory here; the run goes on with it.  Going back before this place undoes it.  Fault."""
        self.ask(look.write_memory, address, data)
        self._keep_here()

    def write_register(self, name: str, value: int) -> None:
        """Change a register of the CPU here."""
        self.ask(look.write_register, name, value)
        self._keep_here()
        self.stop = self.ask(look.stop_again, self.stop)

    # -- looking ---------------------------------------------------------------------------------------------------------

    def ask(self, question: Callable[..., T], *arguments: Any) -> T:
        """question(debuggee, ...) where the machine stands: a function of a module, which only looks; what it returns."""
        try:
            with self._shielded():
                self._processes.live.send((question, arguments))
                message, _ = self._processes.live.receive()
        except Gone:
            raise DebugError("the machine that is debugged has ended") from None
        assert isinstance(message, Answer)
        answer: T = unpacked(message.data)
        return answer

    def registers(self) -> dict[str, int]:
        """Of the CPU, by name."""
        return self.ask(look.registers)

    def memory(self, address: int, size: int) -> bytes:
        """Of the kernel or, by its addresses, of the current task.  Fault."""
        return self.ask(look.memory, address, size)

    def disassembly(self, count: int = 8, address: int | None = None) -> list[look.Line]:
        """Instructions of the CPU, from the next one on."""
        return self.ask(look.disassembly, address, count)

    def stack(self) -> list[look.Caller]:
        """The kernel functions under way, innermost first; of user code where it runs."""
        return self.ask(look.stack)

    def bpf(self) -> look.BpfView | None:
        """The BPF program that runs."""
        return self.ask(look.bpf_view)

    def maps(self) -> list[look.MapView]:
        """All BPF maps with their first entries."""
        return self.ask(look.maps)

    def trace(self, lines: int = 20) -> list[str]:
        """The last lines of the trace, none consumed."""
        return self.ask(look.trace, lines)

    def task(self) -> look.TaskView:
        """The current task."""
        return self.ask(look.current_task)

    def tasks(self) -> list[look.TaskView]:
        """All of them."""
        return self.ask(look.tasks)

    def output(self) -> bytes:
        """What the program has written so far, both streams."""
        return self.ask(look.output)

    @property
    def ended(self) -> bool:
        """The run is over."""
        return self.stop.kind is Kind.END

    @property
    def result(self) -> Any:
        """What the run returned; raises what it raised.  DebugError while it goes on."""
        if not self.ended:
            raise DebugError("the run is not over")
        return unpacked(self.ask(look.result))

    @property
    def checkpoints(self) -> list[Place]:
        """Where copies of the machine wait."""
        return [each.place for each in self._processes.kept]

    # -- messages --------------------------------------------------------------------------------------------------------

    def _run(self, run: Run) -> Stop:
        with self._shielded():
            with contextlib.suppress(Gone):  # who waits is told
                self._processes.live.send(run)
            self._running = True
            try:
                self.stop = self._wait_for_stop()
            finally:
                self._running = False
        return self.stop

    def _wait_for_stop(self) -> Stop:
        """The next stop; checkpoints that are made on the way are taken in.  Ctrl-C stops the machine."""
        while True:
            try:
                message, fd = self._processes.live.receive()
            except Gone:
                raise DebugError(
                    "the machine that is debugged has ended: it was killed, or met a bug of ours"
                ) from None
            if isinstance(message, Stop):
                return message
            if isinstance(message, Kept):
                self._take(message, fd)

    def interrupt(self) -> None:
        """From another thread or a signal handler: the run that is under way stops soon."""
        self._interrupted = True
        if self._running:
            with contextlib.suppress(Gone):
                self._processes.live.send(Interrupt())

    @contextlib.contextmanager
    def _shielded(self) -> Iterator[None]:
        """Ctrl-C in here asks for a stop: raised as an exception it would tear a message in two."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, lambda number, frame: self.interrupt())
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _keep_here(self) -> None:
        """A checkpoint where the machine stands, if it is between two instructions."""
        if not self.stop.place.hit and not self.ended:
            while self._processes.kept and self._processes.kept[-1].place > self.stop.place:
                self._processes.kept.pop().end()
            try:
                with self._shielded():
                    self._processes.live.send(Keep())
                    message, fd = self._processes.live.receive()
                    assert isinstance(message, Kept)
                    self._take(message, fd)
            except Gone:
                raise DebugError("the machine that is debugged has ended") from None

    def _take(self, message: Kept, fd: int) -> None:
        """One more; of too many the one goes that is missed least: neighbours near, the present far."""
        kept = self._processes.kept
        checkpoint = Checkpoint(message.place, Link(socket.socket(fileno=fd)))
        self._processes.running = message.pid
        kept.append(checkpoint)
        if len(kept) > MOST_KEPT:
            now = checkpoint.place.tick
            gaps = [
                ((kept[i + 1].place.tick - kept[i - 1].place.tick) / (now - kept[i].place.tick + 1), i)
                for i in range(1, len(kept) - 1)
            ]
            kept.pop(min(gaps)[1]).end()

    def close(self) -> None:
        """The end: all copies go."""
        self._finalizer()

    def __enter__(self) -> Debugger:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()
