"""Bugs of ours, as Linux treats its own: an oops.  kernel/panic.c, arch/*/kernel/{traps,dumpstack}.c, kernel/exit.c.

The run loop (cpus.py) gives every exception that comes out of the CPU, or out of a timer, to `Oopses.caught()`.  The log
gets what Linux prints: function, registers, call trace, and where in Python it was.  The task dies of SIGKILL by the way
of Linux: its kernel stack is left at once, and it goes on in make_task_dead(), which closes its files, so that what it
attached goes too.  A task caught in user mode (in a uprobe's handler, say) gets the signal.  Where no task can be blamed
(an interrupt, the idle task, init) the machine panics, and cannot run any more.

`Cpus.run()` goes on until what it was asked for, and raises Oops then.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Container, Iterator
from itertools import islice

from arch.abi.signal import SIGKILL
from arch.cpu import KernelCrash
from arch.errors import Fault
from arch.hosttime import HostStop
from arch.unwind import walk_kernel
from simkernel.bug import Oops
from simkernel.kernel.engine import Flattened
from simkernel.kernel.face import KernelFace
from simkernel.kernel.hostcode import is_host_code
from simkernel.kernel.locks import release_all
from simkernel.kernel.task import PF_EXITING, PF_IDLE, Task

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
EMULATION = (os.path.join("arch", "cpu.py"), "run")  # what is below it in a traceback is the same every time
REGISTERS_IN_LINE = 3
STACK_DEPTH = 64
RED_ZONE = 256  # bytes between the saved user registers and the new stack: s390x stores into its caller's frame


class Oopses:
    """`k.oopses`: what has been caught, and what becomes of it."""

    def __init__(self, k: KernelFace) -> None:
        self.k = k
        self._regs = k.mem.alloc(k.cpu.layout.size)

    def caught(self, error: Exception) -> Oops:
        """Write the oops into the log and end the task; the Oops, to be raised when the run is over.

        Raises at once what code of the host raised, and the Oops of a panic.
        """
        k = self.k
        if is_host_code(error):
            self._end_task()
            raise error
        self.k.cpus.bugs += 1
        why = self._fatal()
        lines = [*self._describe(error)]
        if why:
            lines.append(f"Kernel panic - not syncing: {why}")
        for line in lines:
            k.printk(line)
        facts: dict[str, str | int] = {
            "arch": k.arch.name, "kernel": str(k.version), "cpus": k.nr_cpus, "seed": k.seed,
            "memory": k.physical.size,
        }  # fmt: skip
        oops = Oops("\n".join(lines), facts, bool(why))
        oops.__cause__ = error
        if why:
            k.cpus.panicked = oops
            raise oops
        self._end_task()
        return oops

    def stopped(self, stop: HostStop) -> None:
        """The host gave up what a body was doing: its task ends, without a word in the log; no bug of anybody's.

        Where there is no task to end the machine cannot go on, as after a panic.
        """
        if self._fatal():
            self.k.cpus.panicked = stop
            raise stop
        self._end_task()

    def abandon(self, victims: Container[Task]) -> None:
        """End what one of these tasks is doing in the kernel, where the host has stopped it."""
        k = self.k
        exiting = k.current.flags & PF_EXITING  # the way out is gone to its end
        if k.current in victims and k.cpu.in_kernel and not exiting and not self._fatal():
            self._end_task()

    def _fatal(self) -> str:
        """Why the kernel cannot go on; empty when only the task is lost."""
        k = self.k
        cpu, task = k.cpus.rq.cpu, k.current
        if k.irqs.depth[cpu] or k.softirqs.depth[cpu]:
            return "Fatal exception in interrupt"
        if task.flags & PF_IDLE:
            return "Attempted to kill the idle task!"
        if task.pid == 1:
            return f"Attempted to kill init! exitcode=0x{SIGKILL:08x}"
        return ""

    # -- ending the task -----------------------------------------------------------------------------------------

    def _end_task(self) -> None:
        k = self.k
        task, cpu = k.current, k.cpu
        if not cpu.in_kernel:
            k.signals.send(task, SIGKILL)
            cpu.enter_timer()
            return
        stopped = None
        for step in (self._close_frames, self._leave_queues, self._make_dead):
            while True:
                try:
                    step()
                    break
                except HostStop as stop:  # the host's time is up here, too: a task that is half ended could not go on
                    stopped = stop
        if stopped is not None:
            raise stopped

    def _leave_queues(self) -> None:
        self.k.cpus.rq.stay()
        if self.k.current.wait_queues:
            self.k.cpus.finish_wait(0)
        release_all(self.k)

    def _make_dead(self) -> None:
        """rewind_stack_and_make_dead().  arch/x86/entry/entry_64.S."""
        k, cpu = self.k, self.k.cpu
        dead = "make_task_dead" if k.version.at_least("5.17") else "do_exit"
        cpu.start(k.text.address_of(dead), (k.current.regs - RED_ZONE) & ~15)
        cpu.write_reg(cpu.facts.argument_registers[0], SIGKILL)

    def _close_frames(self) -> None:
        """Innermost first, the bodies that were under way end: what they hold with try and with is given back."""
        frames = self.k.cpus.frames
        while frames:
            frame = frames.pop()
            running = [frame[2]]
            flattened = frame[0]
            if isinstance(flattened.__self__, Flattened):
                running = flattened.__self__.generators()
            for generator in running:
                try:
                    generator.close()
                except RuntimeError:  # it made a call while it was closed: that one is not made
                    continue

    # -- the text ------------------------------------------------------------------------------------------------

    def _describe(self, error: Exception) -> Iterator[str]:
        """Lines as Linux prints them, and the origin in Python."""
        k = self.k
        origin = python_origin(error)
        yield "------------[ cut here ]------------"
        if isinstance(error, KernelCrash):
            yield f"BUG: {error.what} for address: {error.address:0{2 * k.arch.word}x}"
        elif origin:
            yield f"kernel BUG at {origin[-1][0]}:{origin[-1][1]}!"
        else:
            yield "kernel BUG!"
        task = k.current
        taint = "Not tainted" if self.k.cpus.bugs == 1 else "Tainted: G      D           "
        yield f"Oops: 0000 [#{self.k.cpus.bugs}] SMP"
        yield f"CPU: {k.cpus.rq.cpu} PID: {task.pid} Comm: {task.comm} {taint} {k.version.release} #1"
        yield f"Hardware name: simkernel {k.arch.machine}"
        yield from self._registers()
        yield f"Python: {type(error).__name__}: {error}"
        for path, line, function, source in origin:
            yield f" {path}:{line} {function}: {source}"
        yield "---[ end trace 0000000000000000 ]---"

    def _registers(self) -> Iterator[str]:
        k, regs, layout = self.k, self._regs, self.k.cpu.layout
        k.cpu.write_pt_regs(regs)
        pc = layout.get(k.mem, regs, k.arch.instruction_pointer)
        in_kernel = k.cpu.in_kernel
        yield k.arch.oops_pc.format(k.symbols.format(pc) if in_kernel else f"{pc:#x}")
        digits = 2 * k.arch.word
        shown = [
            f"{name}: {layout.get(k.mem, regs, field):0{digits}x}"
            for name, field in k.arch.crash_registers
            if field != k.arch.instruction_pointer
        ]
        for at in range(0, len(shown), REGISTERS_IN_LINE):
            yield " ".join(shown[at : at + REGISTERS_IN_LINE])
        if not in_kernel:
            return
        yield "Call Trace:"
        yield " <TASK>"
        try:
            callers = walk_kernel(k.arch, k.mem, k.symbols, regs, layout, STACK_DEPTH)
            for address in islice(callers, 1, None):
                yield f" {k.symbols.format(address)}"
        except Fault as fault:
            yield f" (the stack ends in {fault})"
        yield " </TASK>"


def python_origin(error: BaseException) -> list[tuple[str, int, str, str]]:
    """(file, line, function, source line) of our own code on the way to an exception, the place itself last."""
    out: list[tuple[str, int, str, str]] = []
    for frame in traceback.extract_tb(error.__traceback__):
        path = frame.filename.removeprefix(ROOT)
        if (path, frame.name) == EMULATION:
            out.clear()
        elif not path.startswith("<"):
            out.append((path, frame.lineno or 0, frame.name, frame.line or ""))
    return out
