"""Call a kernel function, fire a tracepoint, run a program: by themselves, on a chosen CPU and in a chosen context."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property, partial
from typing import TYPE_CHECKING

from arch.abi.errno import errno_name
from arch.cview import View
from arch.errors import KernelError
from bpf.core.program import BpfProg
from simkernel.kernel.face import Steps
from simkernel.kernel.kernel import Kernel
from simkernel.kernel.task import WaitQueue
from simkernel.unit.build import Builder, Value, address
from simkernel.unit.places import CallError, Context, event_arguments, function_address, inside

if TYPE_CHECKING:  # the parts of it that a test asks for are imported when it does
    from bpf.loader.object import BpfObject
    from bpf.loader.program import Program  # with elftools behind it
    from simkernel.session import Session
    from simkernel.unit.coverage import Coverage
    from simkernel.unit.losses import Losses
    from simkernel.unit.mocks import Mocks
    from simkernel.unit.moments import Happening, Stop
    from simkernel.unit.records import Records

LIMIT_NS = 10_000_000_000


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
        from simkernel.unit.mocks import Mocks

        return Mocks(self.kernel.observer.bpf)

    @cached_property
    def covered(self) -> Coverage:
        """What coverage() gives."""
        from simkernel.unit.coverage import Coverage

        return Coverage(self.kernel.observer.bpf)

    def coverage(self) -> Coverage:
        """Count which instructions and lines run, of the programs loaded from now on; the same object every time."""
        return self.covered

    def records(self, obj: BpfObject, name: str, ctype: str | None = None, pages: int = 8) -> Records:
        """A reader of a ring buffer or perf event array: values of a type of the object, bytes without one."""
        from simkernel.unit.records import Records

        return Records(obj, name, ctype, pages)

    def losses(self) -> Losses:
        """What was missed, dropped or lost until now, of every kind."""
        from simkernel.unit.losses import losses

        return losses(self.kernel)

    def call(self, name: str, *args: Value, cpu: int = 0, context: Context = "task", returns: int | None = None) -> int:
        """`name(args)`, really called on the simulated CPU, so that probes on it and below it fire; its result, signed.

        With `returns` the function is entered and left with that result, and does nothing between: for built objects,
        which are memory only, while many functions of files and sockets want one that the kernel made.
        """
        k = self.k
        function_address(k, name)
        values = [self.build.register(each) for each in args]

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

    def fire(self, event: str, *, cpu: int = 0, context: Context = "task", **arguments: Value) -> None:
        """Fire a tracepoint with the arguments of its TP_PROTO, by name; those that are not given are 0."""
        k = self.k
        name, values = event_arguments(k, self.build, event, arguments)

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

    def at(
        self,
        program: Program,
        do: Happening,
        *,
        insn: int | None = None,
        line: int | str | None = None,
        times: int | None = None,
    ) -> Stop:
        """Let something happen whenever a program stands before an instruction (by number), or before a source line (by number,
        or by a piece of its text): `do(moment)`, see simkernel/unit/moments.py.  With `times` only so often.
        """
        from simkernel.unit.moments import Stop, instruction

        prog = self.loaded(program)
        place = (prog, instruction(prog, program, insn, line))
        return Stop(self.k, self.build, self.loaded, place, do, times)

    @contextmanager
    def cpu_order(self, *cpus: int) -> Iterator[None]:
        """In a `with` block: the first of these CPUs that has something to do goes on, others only when none of them has."""
        if wrong := [cpu for cpu in cpus if not 0 <= cpu < self.k.nr_cpus]:
            raise CallError(f"CPU {wrong[0]}: this machine has {self.k.nr_cpus}")
        before, self.k.cpus.order = self.k.cpus.order, cpus
        try:
            yield
        finally:
            self.k.cpus.order = before

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
        job = worker.begin(work, partial(inside, k, context))
        try:
            returned = k.cpus.run(lambda: job.done or worker.task.exit_state != 0, k.clock.now_ns + LIMIT_NS)
        except BaseException:
            del self.workers[cpu]  # what was raised ends its thread
            raise
        if not returned:
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
