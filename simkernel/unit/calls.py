"""Call a kernel function, fire a tracepoint, run a program: by themselves, on a chosen CPU and in a chosen context."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal

from arch.abi.errno import errno_name
from arch.cview import View
from arch.errors import KernelError
from bpf.core.program import BpfProg
from bpf.loader.program import Program
from simkernel.kernel.face import Steps
from simkernel.kernel.kernel import Kernel
from simkernel.kernel.task import WaitQueue
from simkernel.unit.build import Builder, BuildError, Value, address
from simkernel.unit.mocks import Mocks

if TYPE_CHECKING:
    from simkernel.session import Session

Context = Literal["task", "softirq", "hardirq"]
LIMIT_NS = 10_000_000_000


class CallError(Exception):
    """What was asked cannot be called or fired, or did not come back."""


class Job:
    """One thing to do in the kernel."""

    def __init__(self, work: Callable[[], Steps[int]], inside: Callable[[], AbstractContextManager[None]]) -> None:
        self.work, self.inside = work, inside
        self.result = 0
        self.refused: KernelError | None = None
        self.done = False


class Worker:
    """A kernel thread that waits for jobs, so that none of them comes with a fork and an exit of its own."""

    def __init__(self, k: Kernel, cpu: int) -> None:
        self.k = k
        self.queue = WaitQueue("unit")
        self.job: Job | None = None
        self.task = k.threads.make_kernel_thread(f"unit/{cpu}", self.main, k.tasks.init)
        self.task.affinity = 1 << cpu
        k.vfs.setup_init_files(k, self.task)  # an empty descriptor table: functions that look into it find nothing
        k.cpus.wake_new(self.task)
        k.cpus.run(lambda: not k.cpus.busy, k.clock.now_ns + LIMIT_NS)

    def begin(self, work: Callable[[], Steps[int]], inside: Callable[[], AbstractContextManager[None]]) -> Job:
        """Give it a job; it does it when the machine runs."""
        job = self.job = Job(work, inside)
        self.k.wake_up(self.queue)
        return job

    def main(self) -> Steps[object]:
        """kthread body."""
        while True:
            while self.job is None:
                yield self.k.wait(self.queue, interruptible=False)
            job = self.job
            with job.inside():
                try:
                    job.result = yield from job.work()
                except KernelError as error:
                    job.refused = error
            job.done, self.job = True, None


class Unit:
    """The unit-testing half of a Machine."""

    kernel: Kernel

    @property
    def session(self) -> Session:
        raise NotImplementedError

    @property
    def has_session(self) -> bool:
        raise NotImplementedError

    @property
    def k(self) -> Kernel:
        """The board, for short."""
        return self.kernel

    @cached_property
    def build(self) -> Builder:
        """Objects for a test."""
        return Builder(self.kernel)

    @cached_property
    def mocks(self) -> Mocks:
        """Answers of helpers."""
        return Mocks(self.kernel.observer.bpf)

    def call(self, name: str, *args: Value, cpu: int = 0, context: Context = "task", returns: int | None = None) -> int:
        """`name(args)`, really called on the simulated CPU, so that probes on it and below it fire; its result, signed.

        With `returns` the function is entered and left with that result, and does nothing between: for built objects,
        which are memory only, while many functions of files and sockets want one that the kernel made.
        """
        k = self.k
        if name not in k.text.functions:
            close = difflib.get_close_matches(name, sorted(k.text.functions), n=3)
            raise CallError(f"no kernel function is named {name}" + (f"; near: {', '.join(close)}" if close else ""))
        values = [self.pass_value(each) for each in args]

        def work() -> Steps[int]:
            return (yield k.call(name, *values))

        undo = k.text.replace(name, returns) if returns is not None else None
        try:
            result = self.in_kernel(work, name, cpu, context)
        finally:
            if undo is not None:
                undo()
        sign = 1 << (8 * k.arch.word - 1)
        return ((result & ((sign << 1) - 1)) ^ sign) - sign

    def pass_value(self, value: Value) -> int:
        """An argument as a register: an object's address, text and bytes in memory, or a number."""
        return self.build.string(value) if isinstance(value, str | bytes) else address(value)

    def fire(self, event: str, *, cpu: int = 0, context: Context = "task", **arguments: Value) -> None:
        """Fire a tracepoint with the arguments of its TP_PROTO, by name; those that are not given are 0."""
        k = self.k
        name = event.rpartition(":")[2]
        points = k.observer.tracing.tracepoints
        if name not in points:
            close = difflib.get_close_matches(name, sorted(points), n=3)
            raise CallError(f"no tracepoint is named {event}" + (f"; near: {', '.join(close)}" if close else ""))
        params = points[name].fired_with.params
        known = [param for _, param in params]
        if strange := [each for each in arguments if each not in known]:
            raise CallError(f"{event} has no argument {strange[0]!r}; it has {', '.join(known)}")
        values = [self.pass_value(arguments.get(param, 0)) for param in known]

        def work() -> Steps[int]:
            k.trace(name, *values)
            return 0
            yield

        self.in_kernel(work, event, cpu, context)

    def run_program(
        self, program: Program, ctx: bytes | View | int = 0, *, cpu: int = 0, context: Context = "task", cookie: int = 0
    ) -> int:
        """Run a loaded program on a context; its result (R0, 32 bits).  The context of a kprobe is m.build.pt_regs(...)."""
        prog = self.loaded(program)
        if isinstance(ctx, bytes):
            at = self.k.mem.alloc(max(len(ctx), 8))
            self.k.mem.write(at, ctx)
        else:
            at = address(ctx)

        def work() -> Steps[int]:
            return prog.run(at, cookie)
            yield

        return self.in_kernel(work, program.name, cpu, context)

    def loaded(self, program: Program) -> BpfProg:
        """The kernel's object behind a loader's program."""
        if program.fd < 0 or not self.has_session:
            raise CallError(f"program {program.name} is not loaded")
        number = int.from_bytes(
            self.session.task.obj_info(program.fd, 8)[4:8], self.k.arch.byteorder
        )  # bpf_prog_info.id
        prog = self.k.observer.bpf.progs.objects.get(number)
        if not isinstance(prog, BpfProg):
            raise CallError(f"program {program.name} is not loaded any more")
        return prog

    # -- where -------------------------------------------------------------------------------------------------------

    def in_kernel(self, work: Callable[[], Steps[int]], what: str, cpu: int, context: Context) -> int:
        """Run a body in a kernel thread on a CPU, as an interrupt would where that is asked; its result."""
        k = self.k
        if not 0 <= cpu < k.nr_cpus:
            raise CallError(f"CPU {cpu}: this machine has {k.nr_cpus}")
        worker = self.workers.get(cpu)
        if worker is None or worker.task.exit_state:
            worker = self.workers[cpu] = Worker(k, cpu)
        job = worker.begin(work, partial(self.inside, context))
        if not k.cpus.run(lambda: job.done or worker.task.exit_state != 0, k.clock.now_ns + LIMIT_NS):
            raise CallError(f"{what} did not come back within {LIMIT_NS // 10**9} s of virtual time")
        if job.refused is not None:
            raise CallError(f"{what}: {errno_name(job.refused.errno)}: {job.refused.why}")
        if not job.done:
            raise CallError(f"{what}: its thread ended meanwhile")
        return job.result

    @cached_property
    def workers(self) -> dict[int, Worker]:
        """The threads in which tests work, by CPU."""
        return {}

    @contextmanager
    def inside(self, context: Context) -> Iterator[None]:
        """in_hardirq(), in_serving_softirq() as they would be."""
        k = self.k
        if context not in ("task", "softirq", "hardirq"):
            raise BuildError(f"context {context!r}: task, softirq or hardirq")
        depth = None if context == "task" else k.irqs.depth if context == "hardirq" else k.softirqs.depth
        cpu = k.cpus.rq.cpu
        if depth is not None:
            depth[cpu] += 1
        try:
            yield
        finally:
            if depth is not None:
                depth[cpu] -= 1
