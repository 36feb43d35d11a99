"""The machine that is debugged: a process that runs it, stands still where it is told to, and answers questions there.

It is a fork of the debugger's process.  A stop is deep inside: the emulator has called a hook, the hook Python, and that
waits for the next message.  A checkpoint is a fork at a stop, in which everything is copied as it stands: the emulator with
its translated code, simulated memory, and Python's own frames with the bodies of kernel functions.  Nothing else could copy
those.  The fork goes on and its parent waits, so that each process outlives what it has made.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import NoReturn

from arch.abi.prctl import PR_SET_CHILD_SUBREAPER
from arch.garbage import hold
from arch.native import Word
from arch.native.steps import Step
from arch.steps import NO_TICK, InstructionWatch
from simkernel.debug.bpfsteps import BpfSteps
from simkernel.debug.breaks import AtAddress, AtBpf, AtLine, AtTime, Break
from simkernel.debug.lines import first_of_line, program_of
from simkernel.debug.link import Gone, Link
from simkernel.debug.places import (
    Answer,
    BpfPlace,
    Interrupt,
    Keep,
    Kept,
    Kind,
    Mode,
    Noted,
    Place,
    Rule,
    Run,
    Stop,
    Wake,
)
from simkernel.debug.watchers import Watchers
from simkernel.kernel.kernel import Kernel
from simkernel.packed import packed

POLL = 2048  # ticks between two looks at the link and at the host's clock
KEEP_S = 0.025  # of the host's CPU: so much work lies between two checkpoints


def adopt_orphans() -> None:
    """Copies whose parents have ended become children of this process, which reaps them.  Only Linux has it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Debuggee:
    """One machine under a debugger, in a process of its own."""

    def __init__(self, kernel: Kernel, link: Link, drive: Callable[[], object], output: Callable[[], bytes]) -> None:
        self.k = kernel
        self.drive, self.output = drive, output
        self.result = b""  # of the run, packed, once it is over
        self.link = link
        self.run = Run()
        self.kind = Kind.CPU
        self.pc = 0  # of the instruction before which a tick has come
        self.noted: Stop | None = None
        self.interrupted = False
        self._hit = self._hit_tick = 0
        self._times: list[AtTime] = []
        self._addresses: dict[int, list[AtAddress]] = {}
        self._in_bpf: list[AtBpf | AtLine] = []
        self._poll_at = 0
        self._kept_at = 0.0
        self._first = os.getpid()
        adopt_orphans()
        self.watch = InstructionWatch(self.k.cpu, self._instruction)
        self.words = self.watch.words
        self.bpf = BpfSteps(self.k.observer.bpf, self._bpf_instruction, self._bpf_ended, lambda: self.tick)
        self.watchers = Watchers(self.k, self._happened)
        self._begin(Run(until=Place(1), keep=False))

    @property
    def tick(self) -> int:
        """Instructions so far."""
        return self.words[Step.COUNT]

    # -- ticks ---------------------------------------------------------------------------------------------------------

    def _instruction(self, pc: int) -> None:
        """The CPU's next instruction is one to look at."""
        self.kind, self.pc = Kind.CPU, pc
        self._due(self.tick)

    def _bpf_instruction(self) -> None:
        """The next instruction of a BPF program."""
        tick = self.words[Step.COUNT] = self.words[Step.COUNT] + 1
        self.watchers.look_at_maps()
        if tick >= self.words[Step.STOP_AT] or self._in_bpf:
            self.kind = Kind.BPF
            self._due(tick)

    def _bpf_ended(self) -> None:
        self.watchers.look_at_maps()

    def _due(self, tick: int) -> None:
        """Why are we here?"""
        if tick >= self._poll_at and self._poll(tick):
            return  # woken here, with a run that begins behind this place
        run = self.run
        if run.until is not None and (tick, 0) >= (run.until.tick, run.until.hit):
            self._arrived(self._stop("step"))
        elif self.interrupted:
            self._arrived(self._stop("interrupted"))
        elif run.rule is not None and self._obeys(run.rule):
            self._matched(self._stop("step"))
        else:
            for found in self._breaks_here():
                self._matched(self._stop(f"breakpoint {found.number}, {found}", found.number))
                break

    def _obeys(self, rule: Rule) -> bool:
        """Is this the tick that a step ends with?"""
        if rule.run is not None and any(frame.run == rule.run for frame in self.bpf.frames):
            if self.kind is not Kind.BPF or len(self.bpf.frames) > (rule.max_depth or 0):
                return False
        elif rule.kind not in (None, self.kind) and rule.run is None:
            return False
        if rule.pc is not None and (self.kind is not Kind.CPU or self.pc != rule.pc):
            return False
        if rule.high and not rule.low <= self.pc < rule.high:
            return False
        if rule.task is not None and self.k.current.addr != rule.task:
            return False
        return not rule.min_sp or self.k.cpu.sp >= rule.min_sp

    def _breaks_here(self) -> list[Break]:
        if self.kind is Kind.BPF:
            return [each for each in self._in_bpf if self._bpf_matches(each)]
        found: list[Break] = []
        if self.pc in self._addresses:
            user = not self.k.cpu.in_kernel
            found += [each for each in self._addresses[self.pc] if each.user == user]
        now = self.k.clock.now_ns + self._uncharged()
        while self._times and now >= self._times[0].time_ns:
            found.append(self._times.pop(0))
            self.words[Step.TIME_AT] = self._times[0].time_ns if self._times else NO_TICK
        return found

    def _uncharged(self) -> int:
        """User work that the clock has not been charged with: in ns, while one CPU runs."""
        words = self.k.cpu.words
        return (words[Word.WORK] - words[Word.WORK_SEEN]) * words[Word.WORK_SHARE]

    def _bpf_matches(self, wanted: AtBpf | AtLine) -> bool:
        frame = self.bpf.frames[-1]
        prog = program_of(frame)
        if prog is None:
            return False
        if isinstance(wanted, AtBpf):
            return wanted.insn == frame.pc and wanted.program in (prog.name, str(prog.id))
        return first_of_line(prog, frame.pc, wanted.file, wanted.line)

    # -- things that happen inside of an instruction -------------------------------------------------------------------

    def _happened(self, found: Break) -> None:
        """A hit."""
        tick = self.tick
        self._hit = self._hit + 1 if tick == self._hit_tick else 1
        self._hit_tick = tick
        kind, self.kind = self.kind, Kind.HIT
        run = self.run
        stop = self._stop(f"breakpoint {found.number}, {found}", found.number)
        if run.until is not None and stop.place >= run.until:
            self._arrived(stop)
        else:
            self._matched(stop)
        self.kind = kind

    # -- stopping --------------------------------------------------------------------------------------------------------

    def _matched(self, stop: Stop) -> None:
        """A breakpoint, or the end of a step."""
        if self.run.mode is Mode.NOTE:
            self.noted = stop
        elif self.run.mode is Mode.STOP:
            self._report(stop)

    def _arrived(self, stop: Stop) -> None:
        """The run goes no further."""
        if self.run.mode is Mode.NOTE:
            self._say(Noted(self.noted))
            self._serve(stop)
        else:
            self._report(stop)

    def _report(self, stop: Stop) -> None:
        self._say(stop)
        self._serve(stop)

    def _stop(self, reason: str, number: int = 0) -> Stop:
        """Where the machine stands."""
        k, words = self.k, self.words
        cpu_next = self.kind is Kind.CPU
        return Stop(
            place=Place(self.tick, self._hit if self.kind is Kind.HIT else 0),
            kind=self.kind,
            reason=reason,
            number=number,
            pc=self.pc if cpu_next else k.cpu.pc,
            sp=k.cpu.sp,
            in_kernel=k.cpu.in_kernel,
            previous=words[Step.BEFORE_LAST if cpu_next else Step.LAST],
            time_ns=k.clock.now_ns + self._uncharged(),
            cpu=k.cpus.rq.cpu,
            pid=k.current.pid,
            comm=k.current.comm,
            task=k.current.addr,
            bpf=self._bpf_place(),
            breaks=self.run.breaks,
        )

    def _bpf_place(self) -> BpfPlace | None:
        if not self.bpf.frames:
            return None
        frame = self.bpf.frames[-1]
        prog = program_of(frame)
        name, number = ("", 0) if prog is None else (prog.name, prog.id)
        return BpfPlace(name, number, frame.pc, len(self.bpf.frames), frame.run)

    # -- messages --------------------------------------------------------------------------------------------------------

    def _say(self, message: object, fd: int = -1) -> None:
        try:
            self.link.send(message, fd)
        except Gone:
            self._end()

    def _serve(self, stop: Stop) -> None:
        """Answer until somebody says Run."""
        while True:
            try:
                message, _ = self.link.receive()
            except Gone:
                self._end()
            if isinstance(message, Run):
                if stop.kind is Kind.END:
                    self._say(Noted(self.noted) if message.mode is Mode.NOTE else stop)
                    continue
                self._begin(message)
                return
            if isinstance(message, Keep):
                if self._keep(stop.place):
                    self._say(stop)  # woken: this is where it goes on from
            elif isinstance(message, tuple):
                question, arguments = message
                self._say(Answer(packed(lambda: question(self, *arguments))))  # noqa: B023

    def _begin(self, run: Run) -> None:
        """Set everything for a run."""
        self.run, self.noted, self.interrupted = run, None, False
        self._addresses = {}
        for each in run.breaks:
            if isinstance(each, AtAddress):
                self._addresses.setdefault(each.address, []).append(each)
        self._in_bpf = [each for each in run.breaks if isinstance(each, AtBpf | AtLine)]
        now = self.k.clock.now_ns + self._uncharged()
        self._times = sorted(
            (each for each in run.breaks if isinstance(each, AtTime) and each.time_ns > now), key=lambda t: t.time_ns
        )
        self.words[Step.TIME_AT] = self._times[0].time_ns if self._times else NO_TICK
        addresses = set(self._addresses)
        if run.rule is not None and run.rule.pc is not None:
            addresses.add(run.rule.pc)
        self.watch.watch(addresses)
        self.watchers.set(run.breaks)
        self._set_poll(self.tick)
        if run.keep and time.process_time() - self._kept_at > KEEP_S:
            self._poll_at = self.words[Step.STOP_AT] = self.tick + 1

    def _set_poll(self, tick: int) -> None:
        """When the hook has to call: at the next poll, at the place to arrive at, at every tick for a step."""
        self._poll_at = tick + POLL
        rule, until = self.run.rule, self.run.until
        due = self._poll_at if until is None else min(self._poll_at, max(until.tick, tick + 1))
        self.words[Step.STOP_AT] = tick + 1 if rule is not None and rule.pc is None else due

    def _poll(self, tick: int) -> bool:
        """Look at the link and at the host's clock.  True in a process that was woken from a checkpoint made here."""
        woken = False
        if self.link.waits():
            try:
                message, _ = self.link.receive()
            except Gone:
                self._end()
            self.interrupted = isinstance(message, Interrupt)
        elif self.run.keep and time.process_time() - self._kept_at > KEEP_S:
            try:
                woken = self._keep(Place(tick))
            except OSError:  # the host has no room for another process: the way back will be longer
                self._kept_at = time.process_time()
            if woken:
                stop = self._stop("checkpoint")
                self._say(stop)
                self._serve(stop)
        self._set_poll(tick)
        return woken

    # -- checkpoints -----------------------------------------------------------------------------------------------------

    def _keep(self, place: Place) -> bool:
        """A checkpoint here; False in the process that goes on.  True, later, in each one that is woken from it."""
        ours, theirs = Link.pair()
        pid = self._fork()
        if pid == 0:
            self._kept_at = 0.0  # of this process's own time
            ours.close()
            self._say(Kept(place, os.getpid()), theirs.sock.fileno())
            theirs.close()
            return False
        self.link.close()
        theirs.close()
        while True:
            try:
                message, fd = ours.receive()
            except Gone:
                self._end()
            if not isinstance(message, Wake):
                self._end()
            if self._fork() == 0:
                self._kept_at = 0.0
                ours.close()
                self.link = Link(socket.socket(fileno=fd))
                self._say(os.getpid())
                return True
            os.close(fd)

    def _fork(self) -> int:
        """fork(2); what has ended meanwhile is reaped."""
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        hold()
        return os.fork()

    def _end(self) -> NoReturn:
        """The debugger is gone, or needs this copy no more.  The first one stays until all others are gone."""
        if os.getpid() == self._first:
            with contextlib.suppress(ChildProcessError):
                while True:
                    os.wait()
        os._exit(0)

    # -- the whole life --------------------------------------------------------------------------------------------------

    def live(self) -> NoReturn:
        """Run the program to its end, and stay there."""
        result = packed(self.drive)
        sys.stdout.flush()
        sys.stderr.flush()
        self.words[Step.COUNT] += 1
        self.kind = Kind.END
        stop = self._stop("the run is over")
        self.result = result
        self._arrived(stop)
        self._end()


def start(kernel: Kernel, drive: Callable[[], object], output: Callable[[], bytes]) -> tuple[int, Link]:
    """The first copy, which begins at once; its pid and the link to it."""
    sys.stdout.flush()
    sys.stderr.flush()
    ours, theirs = Link.pair()
    pid = os.fork()
    if pid:
        theirs.close()
        return pid, ours
    ours.close()
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the debugger, which interrupts us
        Debuggee(kernel, theirs, drive, output).live()
    finally:
        os._exit(1)
