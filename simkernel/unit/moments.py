"""Contexts on purpose: what happens while a BPF program stands before one of its instructions.

    def arrives(moment):                                    # an interrupt on CPU 1 while the program is there on CPU 0
        moment.interrupt(irq=7, cpu=1, handler=lambda: moment.fire("sched:sched_wakeup", p=task))

    with m.at(obj.programs["on_write"], arrives, line="bpf_map_update_elem"):
        m.run([...])

The program may have been started by anything: a probe that a user program hit, an event, m.run_program.  Meanwhile it is interpreted.
What happens is seen by probes, events and programs as if the kernel did it there: the CPU, the task and the context are those that
the test says, and whatever may not nest is missed and counted as on Linux (m.losses()).  No kernel code runs: a function is entered
(`enter`), so that what is attached to it runs, and left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Protocol

from arch.cview import View
from bpf import uapi
from bpf.core.program import BpfProg
from bpf.loader.program import Program
from bpf.run.interpreter import Registers
from simkernel.kernel.hostcode import host_code
from simkernel.kernel.kernel import Kernel
from simkernel.kernel.task import Task
from simkernel.unit.build import Builder, Value, address
from simkernel.unit.places import CallError, Context, event_arguments, function_address, inside

IRQ_HANDLED = 1
# Programs behind trampolines; what others run in has preemption off.  include/linux/bpf.h:bpf_prog_run_array() and its like.
PREEMPTIBLE = (
    uapi.BPF_PROG_TYPE_TRACING,
    uapi.BPF_PROG_TYPE_LSM,
    uapi.BPF_PROG_TYPE_STRUCT_OPS,
    uapi.BPF_PROG_TYPE_SYSCALL,
)
MIGRATE_DISABLE_SINCE = "5.11"  # 74d862b682f5: before, migrate_disable() was preempt_disable()


class Happening(Protocol):
    """What a test does at an instruction."""

    def __call__(self, moment: Moment, /) -> object: ...


class Moment:
    """A program before one of its instructions."""

    def __init__(self, stop: Stop, registers: Registers, count: int) -> None:
        self.k, self.build, self.prog, self.loaded = stop.k, stop.build, stop.prog, stop.loaded
        k, insn = self.k, stop.insn
        self.insn = insn  # number in the program as it runs
        self.registers = tuple(registers[:11])  # R0 to R10
        self.count = count  # how often the program has come here, from 1
        self.cpu = k.cpus.rq.cpu

    # -- what can happen ---------------------------------------------------------------------------------------------

    def fire(self, event: str, cpu: int | None = None, context: Context | None = None, **arguments: Value) -> None:
        """A tracepoint fires, on this CPU or another; without a context in the one that the program, or the handler, is in."""
        name, values = event_arguments(self.k, self.build, event, arguments)
        with self.elsewhere(cpu, context):
            self.k.trace(name, *values)

    def enter(
        self, function: str, *args: Value, cpu: int | None = None, context: Context | None = None, returns: int = 0
    ) -> None:
        """A kernel function is called and returns: what is attached to it runs, it does nothing itself."""
        k = self.k
        at = function_address(k, function)
        kprobes = k.observer.tracing.kprobes
        probes = [kp for kp in kprobes.sites.get(at, ()) if not kp.disabled] if kprobes.all_armed else []
        if not probes:
            return
        with self.elsewhere(cpu, context):
            regs = self.build.called(at, *args)
            rows = len(kprobes.returns)
            for kp in probes:
                kprobes.hit_within(kp, regs.addr)
            if len(kprobes.returns) > rows:
                bits = (1 << 8 * k.arch.word) - 1
                k.cpu.layout.set(k.mem, regs.addr, k.arch.return_value, returns & bits)
                kprobes.return_handler(regs.addr)

    def run_program(
        self, program: Program, ctx: View | int = 0, cpu: int | None = None, context: Context | None = None
    ) -> int:
        """Another program runs by itself; its result."""
        with self.elsewhere(cpu, context):
            return self.loaded(program).run(address(ctx))

    def interrupt(self, irq: int = 0, cpu: int | None = None, handler: Callable[[], object] | None = None) -> None:
        """An interrupt arrives: it is counted and traced, and `handler()` is what its handler does."""
        k = self.k
        where = self.cpu if cpu is None else cpu
        if irq not in k.irqs.actions:
            k.irqs.request(irq, f"test{irq}")
        with self.elsewhere(where, "hardirq"):
            k.irqs.counts[irq][where] += 1
            k.trace("irq_handler_entry", irq, k.irqs.actions[irq])
            if handler is not None:
                handler()
            k.trace("irq_handler_exit", irq, k.irqs.actions[irq], IRQ_HANDLED)

    def nmi(self, handler: Callable[[], object], cpu: int | None = None) -> None:
        """The same for an interrupt that cannot be masked."""
        with self.elsewhere(cpu, "nmi"):
            handler()

    def preempt(self, by: Task, work: Callable[[], object]) -> None:
        """Another task gets this CPU, `work()` is what it does, and this one goes on.  CallError where Linux forbids it."""
        k, prog = self.k, self.prog
        if prog.type not in PREEMPTIBLE or k.version.before(MIGRATE_DISABLE_SINCE):
            raise CallError(f"{prog.name} cannot be preempted: it runs with preemption off in Linux {k.version}")
        if k.irqs.depth[self.cpu] or k.softirqs.depth[self.cpu] or k.irqs.nmi[self.cpu]:
            raise CallError(f"{prog.name} cannot be preempted: it runs in an interrupt")
        preempted = k.current
        k.trace("sched_switch", 1, preempted.addr, by.addr, 0)
        with running(k, self.cpu, by):
            work()
        k.trace("sched_switch", 0, by.addr, preempted.addr, 1)

    @contextmanager
    def elsewhere(self, cpu: int | None, context: Context | None) -> Iterator[None]:
        """On a CPU, in a context; nested ones are where the outer one is unless they say."""
        k = self.k
        number = k.cpus.rq.cpu if cpu is None else cpu
        if not 0 <= number < k.nr_cpus:
            raise CallError(f"CPU {number}: this machine has {k.nr_cpus}")
        task = k.current if number == k.cpus.rq.cpu else k.cpus.rqs[number].current
        with running(k, number, task), inside(k, context or "task"):
            yield


@contextmanager
def running(k: Kernel, cpu: int, task: Task) -> Iterator[None]:
    """A CPU and a task are the ones that run, for whoever asks."""
    cpus = k.cpus
    before = cpus.rq, k.current, cpus.frames, k.usercopy.user
    cpus.rq = rq = cpus.rqs[cpu]
    current, rq.current = rq.current, task
    k.current, cpus.frames = task, task.frames
    k.usercopy.user = task.mm.user if task.mm is not None else cpus.no_user
    cpus.say_where()
    try:
        yield
    finally:
        rq.current = current
        cpus.rq, k.current, cpus.frames, k.usercopy.user = before
        cpus.say_where()


class Stop:
    """`m.at(...)`: ends with a `with` block or remove().  `count` is how often the program came there."""

    def __init__(
        self,
        k: Kernel,
        build: Builder,
        loaded: Callable[[Program], BpfProg],
        place: tuple[BpfProg, int],
        do: Happening,
        times: int | None,
    ) -> None:
        self.k, self.build, self.loaded, self.do, self.times = k, build, loaded, do, times
        self.prog, self.insn = place
        self.count = 0
        self.busy = False
        self.prog.stop_at(self.insn, self.arrived)

    def arrived(self, registers: Registers) -> None:
        """The program is there.  One that comes there again through what `do` does is not stopped a second time."""
        if self.busy or (self.times is not None and self.count >= self.times):
            return
        self.count += 1
        self.busy = True
        try:
            with host_code():
                self.do(Moment(self, registers, self.count))
        finally:
            self.busy = False

    def remove(self) -> None:
        """Nothing happens there any more."""
        self.prog.stop_at(self.insn, None)

    def __enter__(self) -> Stop:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.remove()


def instruction(prog: BpfProg, program: Program, insn: int | None, line: int | str | None) -> int:
    """The instruction that is meant: by its number in the running program, or the first of a source line; CallError."""
    if (insn is None) == (line is None):
        raise CallError("at: say either insn= or line=")
    if insn is not None:
        if not 0 <= insn < len(prog.insns):
            raise CallError(f"{program.name} has instructions 0 to {len(prog.insns) - 1}, not {insn}")
        return insn
    btf = prog.btf
    rows = sorted(prog.verdict.line_info)
    if btf is None or not rows:
        raise CallError(f"{program.name} was compiled without -g: its lines are not known; say insn=")
    for first, _, text, line_col in rows:
        if line_col >> 10 == line if isinstance(line, int) else str(line) in btf.string(text):
            return int(first)
    raise CallError(f"{program.name} has no instruction of {f'line {line}' if isinstance(line, int) else repr(line)}")
