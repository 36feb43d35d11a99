"""The machine as a whole: boot it, run programs on it, look at what happened.

m = simkernel.boot(arch="x86_64", kernel="6.1", cpus=2, seed=0)
result = m.run(["/bin/echo", "hello"])
assert result.status == 0 and result.stdout == b"hello\n"
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from arch.abi.errno import EROFS, errno_name
from arch.abi.fcntl import AT_FDCWD
from arch.abi.limits import PAGE_SIZE
from arch.abi.signal import SIGKILL, SIGNAL_NAMES
from arch.abi.version import KernelVersion
from arch.architecture import DEFAULT
from arch.architecture import get as get_architecture
from arch.errors import KernelError
from arch.garbage import unsearched
from arch.hosttime import HOST, HostStop, Why
from arch.records import dataclass, field
from arch.typecache import keep_types
from simkernel import usertask
from simkernel.binds import Bind, as_binds
from simkernel.bug import Oops
from simkernel.kernel.exec_state import ExecRequest
from simkernel.kernel.face import Steps
from simkernel.kernel.hostio import MAX_OUTPUT, HostInput, HostOutput
from simkernel.kernel.kernel import DEFAULT_MEMORY, Kernel
from simkernel.kernel.task import Crash, Task
from simkernel.unit.calls import Unit
from simkernel.usertask import Program as WorkloadProgram
from simkernel.usertask import UserTask
from simkernel.waiting import NeverHappened, Waiting

if TYPE_CHECKING:
    from bpf.loader.object import BpfObject
    from simkernel.debug.debugger import Debugger
    from simkernel.program import Program
    from simkernel.recording.model import Events, Recording
    from simkernel.recording.take import Recorder
    from simkernel.session import Session

ENDED_BY = {Why.TIME: "host", Why.INTERRUPT: "interrupted", Why.MEMORY: "memory"}  # Result.timed_out
MAX_CPUS = 64
MAX_SAMPLE_HZ = 100_000
LEAST_MEMORY, MOST_MEMORY = 8 << 20, 1 << 46  # bytes; what an address has room for
KILL_S = 0.1  # CPU time of the host for ending the programs of a run that is over
Counter = int | dict[str, int]  # a number, or one for each system call
DEFAULT_ENV = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "TERM": "dumb"}
FAULT_SIGNALS = (4, 5, 7, 8, 11)  # ILL TRAP BUS FPE SEGV: si_addr says where
CORE_SIGNALS = (
    *FAULT_SIGNALS,
    3,
    6,
    24,
    25,
    31,
)  # QUIT ABRT XCPU XFSZ SYS.  include/linux/signal.h, SIG_KERNEL_COREDUMP_MASK


class Lines(list[str]):
    """Lines that are kept, so many bytes of them."""

    def __init__(self, room: int = MAX_OUTPUT) -> None:
        super().__init__()
        self.room = room
        self.full = False

    def keep(self, line: str) -> None:
        """One more, unless it is too much."""
        self.room -= len(line)
        if self.room < 0:
            self.full = True
        else:
            self.append(line)


class MachineError(Exception):
    """The machine cannot do what was asked: a clear sentence for a person."""


@dataclass
class Result:
    """How a program ended.  `status` is as a shell shows it: exit code, or 128 + signal."""

    status: int
    stdout: bytes = b""
    stderr: bytes = b""
    signal: int = 0
    timed_out: str = ""  # "", "virtual", "host", "memory", "interrupted" or "deadlock"
    crash: Crash | None = None
    virtual_ns: int = 0
    counters: dict[str, Counter] = field(default_factory=dict)
    recorded: Events | None = field(default=None, repr=False, compare=False)

    @property
    def events(self) -> Events:
        """What came into the trace buffer during the run and was in it at its end, typed; `.to_pandas()`."""
        from simkernel.recording.model import Events

        return self.recorded if self.recorded is not None else Events()

    @property
    def text(self) -> str:
        """Standard output as text."""
        return self.stdout.decode("utf-8", "replace")


class Machine(Waiting, Unit):
    """One simulated computer with its kernel."""

    def __init__(self, kernel: Kernel, binds: Sequence[Bind] = ()) -> None:
        self.kernel = kernel
        self.binds = list(binds)
        self._session: Session | None = None
        self._recorder: Recorder | None = None
        self.closed = False
        self.strace_lines = Lines()  # filled by who asked boot() for a strace sink that collects

    def __repr__(self) -> str:
        k = self.kernel
        return f"<machine {k.arch.name}, Linux {k.version.release}, {k.nr_cpus} CPUs, seed {k.seed}>"

    def _repr_html_(self) -> str:
        from arch.htmltext import facts, frame

        k, counters = self.kernel, self.counters()
        rows = {
            "machine": f"{k.arch.name}, {k.nr_cpus} CPUs, {k.physical.size >> 20} MiB",
            "kernel": k.version.release,
            "seed": str(k.seed),
            "virtual time": f"{k.clock.now_ns / 1e6:.3f} ms",
            "system calls": counters["syscalls"],
            "tasks": ", ".join(f"{task.comm}-{pid}" for pid, task in sorted(k.tasks.by_pid.items())),
        }
        return frame("A simulated computer", facts(rows), "closed" if self.closed else "")

    # -- programs of the host --------------------------------------------------------------------------------------

    def install(self, program: str | Path | Program) -> str:
        """Put a program of the host into the guest's /bin; gives its path there.  busybox gets its applets' links.

        A name without `/` is searched on PATH.  ProgramError says why a file cannot run on this machine.  Where a bind
        covers /bin, the program goes into /run/bin: the host's directories are not ours to write.
        """
        from simkernel.fs.rootfs import add_bytes_lazily, add_link
        from simkernel.program import Program, ProgramError, busybox_applets, check

        if not isinstance(program, Program):
            program = check(str(program), self.kernel.arch.name, dynamic_ok=bool(self.binds))
        data = program.path.read_bytes()
        for directory in ("/bin", "/run/bin"):
            guest = f"{directory}/{program.name}"
            try:
                add_bytes_lazily(self.kernel.vfs, guest, data)
            except KernelError as error:
                if error.errno != EROFS:
                    raise
                continue
            if program.name == "busybox":
                for applet in busybox_applets(data):
                    add_link(self.kernel.vfs, f"{directory}/{applet}", "busybox")
            return guest
        raise ProgramError(f"{program.path}: nowhere to put it: binds cover /bin and /run")

    # -- programs ------------------------------------------------------------------------------------------------

    def spawn(
        self,
        argv: Sequence[str | bytes],
        env: Mapping[str, str] | None = None,
        stdin: HostInput | None = None,
        stdout: HostOutput | None = None,
        stderr: HostOutput | None = None,
        cwd: str = "/",
        session: bool = True,
    ) -> Task:
        """Start a program as a child of init; it runs when the machine runs."""
        k = self.kernel
        self._must_be_open()
        args = [a.encode("utf-8", "surrogateescape") if isinstance(a, str) else bytes(a) for a in argv]
        environment = [
            f"{n}={v}".encode("utf-8", "surrogateescape") for n, v in (DEFAULT_ENV if env is None else env).items()
        ]
        ends = (stdin or HostInput(), stdout or HostOutput(), stderr or HostOutput())

        def start() -> Steps[None]:
            task = k.current
            k.exec.request = ExecRequest(AT_FDCWD, args[0], args, environment)
            try:
                name = k.mirror.filename_memory(args[0])
            except KernelError as error:
                ret = -error.errno
            else:
                ret = yield k.call("do_execveat_common", AT_FDCWD, name, 0, 0, 0)
                k.mem.free(name)
            if ret:
                task.exec_error = -ret
                yield k.call("do_exit", 127 << 8)

        task: Task = k.threads.make_kernel_thread(_comm(args[0]), start, k.tasks.init)
        k.mirror.change_flags(task, 0, task.flags)
        task.watched = True
        task.exec_error = 0
        from simkernel.fs.hostio import install_stdio

        k.vfs.setup_init_files(k, task)
        install_stdio(k.vfs, task, *ends)
        if session:
            task.signal.pgid = task.signal.session = task.pid
        if cwd != "/":
            k.vfs.set_cwd(k, task, cwd)
        k.cpus.wake_new(task)
        return task

    def run(
        self,
        argv: Sequence[str | bytes],
        env: Mapping[str, str] | None = None,
        stdin: bytes | HostInput = b"",
        timeout_virtual_ns: int | None = None,
        timeout_host_s: float | None = None,
        stdout: HostOutput | None = None,
        stderr: HostOutput | None = None,
        cwd: str = "/",
    ) -> Result:
        """Run a program to its end (its own end: children that outlive it go on at the next run).

        Of each stream MAX_OUTPUT bytes are collected; another limit is `stdout=HostOutput(limit=...)`.
        """
        if not argv:
            raise MachineError("no program given")
        out, err = stdout or HostOutput(), stderr or HostOutput()
        source = stdin if isinstance(stdin, HostInput) else HostInput(stdin)
        task = self.spawn(argv, env, source, out, err, cwd)
        return self.wait(task, timeout_virtual_ns, timeout_host_s, out, err)

    def wait(
        self,
        task: Task,
        timeout_virtual_ns: int | None = None,
        timeout_host_s: float | None = None,
        stdout: HostOutput | None = None,
        stderr: HostOutput | None = None,
    ) -> Result:
        """Run the machine until a task of spawn() has ended, and reap it."""
        k = self.kernel
        start_ns = k.clock.now_ns
        limit = None if timeout_virtual_ns is None else start_ns + timeout_virtual_ns
        timed_out = ""
        with HOST.limit(timeout_host_s):
            try:
                if not k.cpus.run(lambda: task.exit_state != 0 or k.cpus.powered_off, limit):
                    timed_out = self.why_ended(limit)
                    self._kill(task)
            except Oops as oops:
                if not oops.fatal:
                    self._kill(task)
                    self.reap(task)
                raise
            except HostStop:  # in the middle of something that belongs to no task: this machine is at its end
                timed_out = self.why_ended(limit)
        HOST.raise_if_asked()
        result = Result(0, stdout.data if stdout else b"", stderr.data if stderr else b"")
        result.timed_out = timed_out
        result.crash = task.crash
        result.virtual_ns = k.clock.now_ns - start_ns
        code = task.exit_code if task.exit_state else SIGKILL  # there was no time to end it
        result.signal = code & 0x7F
        result.status = 128 + result.signal if result.signal else code >> 8 & 0xFF
        result.counters = self.counters()
        if k.observer.tracing.trace_array.buffer.entries:
            from simkernel.recording.decode import events_since

            result.recorded = events_since(k.observer.tracing, k.symbols, start_ns)
        self.reap(task)
        if task.exec_error:
            name = argv_name(task)
            raise KernelError(task.exec_error, f"cannot run {name}: {errno_name(task.exec_error)}")
        return result

    def why_ended(self, limit_ns: int | None) -> str:
        """Result.timed_out of a run that did not come to its own end."""
        if HOST.why is not Why.NOTHING:
            return ENDED_BY[HOST.why]
        return "virtual" if limit_ns is not None and self.kernel.clock.now_ns >= limit_ns else "deadlock"

    def _kill(self, task: Task) -> None:
        """End a program that took too long, and its children with it, as far as a little time goes."""
        k = self.kernel
        HOST.seen()
        victims = [task, *task.descendants()]
        with HOST.grace(KILL_S):
            for victim in victims:
                k.signals.send(victim, 9)
            k.oopses.abandon(victims)
            k.cpus.run(lambda: task.exit_state != 0, k.clock.now_ns + 1_000_000_000)

    def reap(self, task: Task) -> None:
        """Let init collect a task that the host has waited for."""
        task.watched = False
        self.kernel.wake_up(self.kernel.tasks.init.signal.wait_chldexit)

    def settle(self, limit_ns: int = 1_000_000_000) -> None:
        """Run until nothing is runnable any more, at most for so long."""
        k = self.kernel
        k.cpus.run(lambda: not k.cpus.busy, k.clock.now_ns + limit_ns)

    def user_task(self, comm: str = "simkernel") -> UserTask:
        """A user task that host code drives, system call by system call (simkernel/usertask.py)."""
        self._must_be_open()
        driver = UserTask(self.kernel)
        usertask.start(self.kernel, driver, comm)
        self.kernel.cpus.run(lambda: driver.started or driver.task.exit_state != 0)
        if not driver.started:
            if HOST.why:
                driver.give_up()
            raise MachineError("the machine has no memory left for another task")
        return driver

    def workload(self, program: WorkloadProgram, comm: str = "workload") -> Task:
        """A task whose program is a Python generator function; runs with the others."""
        self._must_be_open()
        return usertask.start(self.kernel, usertask.Workload(self.kernel, program), comm)

    # -- tools ---------------------------------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        """The tool task of this machine, started when first needed."""
        if self._session is None or self._session.ended:
            from simkernel.session import Session

            self._session = Session(self)
        return self._session

    @property
    def has_session(self) -> bool:
        """Whether the tool task has been started; looking at `session` would start it."""
        return self._session is not None and not self._session.ended

    def load(self, source: str | Path | bytes | BpfObject, name: str = "") -> BpfObject:
        """Load a BPF object (path, bytes, or one opened with `session.open`).  LoadError has errno and verifier log.

        The path of a C file is compiled first, for this machine (simkernel/cc.py); CompileError.
        """
        return self.session.load(self.open(source, name) if isinstance(source, (str, Path)) else source, name)

    def open(self, source: str | Path, name: str = "") -> BpfObject:
        """An object that is not loaded yet: variables and map sizes may still be changed.  LoadError, CompileError."""
        path = Path(source)
        if path.suffix == ".c":
            return self.session.open(self.compile(path), name or path.with_suffix(".o").name)
        return self.session.open(path, name)

    def compile(self, source: str | Path, flags: Sequence[str] = ()) -> bytes:
        """A BPF program in C as an object file for this machine: its CPU, its vmlinux.h.  CompileError."""
        from simkernel.cc import compile_bpf, vmlinux_header

        k = self.kernel
        return compile_bpf(source, k.arch.name, k.version, vmlinux_header(k.observer.kernel_btf.get()), flags)

    def trace_pipe(self) -> str:
        """Trace text that has come since the last call."""
        return self.session.trace_pipe()

    def enable_event(self, spec: str) -> str:
        """Turn on a trace event (`sched:sched_switch`) or define and turn on a probe (`p:name vfs_read count=%dx`)."""
        return self.session.enable_event(spec)

    def debugger(self, run: Callable[[Machine], object] | Sequence[str | bytes]) -> Debugger:
        """Step through a program, or through whatever `run(machine)` does, forwards and backwards (docs/debug.md).

        It happens in copies: this machine stays as it is.
        """
        from simkernel.debug.debugger import Debugger

        self._must_be_open()
        return Debugger(self, run)

    def netem(
        self,
        device: str,
        *,
        delay_ms: float = 0,
        jitter_ms: float = 0,
        loss: float = 0,
        duplicate: float = 0,
        corrupt: float = 0,
        reorder: float = 0,
        rate_bit_s: float = 0,
        limit: int = 1000,
    ) -> None:
        """What happens to packets on their way out of an interface, as tc(8)'s netem has it; without a word, nothing more.

        Shares are 0 to 1; which packets they hit follows from the machine's seed.  NetemError, KernelError(ENODEV).
        """
        from simkernel.netem import Netem, set_netem

        wanted = Netem(delay_ms, jitter_ms, loss, duplicate, corrupt, reorder, rate_bit_s, limit)
        set_netem(self.session, device, None if wanted == Netem(limit=limit) else wanted)

    def record(self, sample_hz: int = 0) -> Recorder:
        """From here on the scheduler is watched, and the CPUs sampled so many times a second; recording() ends it."""
        from simkernel.recording.take import Recorder

        self._must_be_open()
        if not 0 <= sample_hz <= MAX_SAMPLE_HZ:
            raise ValueError(f"sample_hz={sample_hz}: at most {MAX_SAMPLE_HZ} a second, 0 for none")
        if self._recorder is not None:
            self._recorder.stop()
        stacks = self.kernel.observer.tracing.trace_array.options["userstacktrace"]
        self._recorder = Recorder(self.kernel, self.session if sample_hz or stacks else None, sample_hz)
        return self._recorder

    def recording(self, argv: Sequence[str] = ()) -> Recording:
        """What the machine has recorded since record(), or at least what is in its trace buffer now, and its maps."""
        from simkernel.recording.maps import add_objects
        from simkernel.recording.take import take

        recorder, self._recorder = self._recorder, None
        counters = self.counters()
        out = take(self.kernel, counters, argv) if recorder is None else recorder.recording(counters, argv)
        if self.has_session:
            add_objects(out, [(obj.name, obj) for obj in self.session.objects if not obj.closed])
        return out

    # -- looking -------------------------------------------------------------------------------------------------

    def counters(self) -> dict[str, Counter]:
        """What the machine has done: system calls by name, missing ones, faults, switches, virtual time."""
        k = self.kernel
        names = k.syscalls.names
        calls = {names.get(nr, str(nr)): count for nr, count in sorted(k.syscalls.counts.items())}
        return {
            "virtual_ns": k.clock.now_ns,
            "syscalls": sum(calls.values()),
            "syscalls_by_name": calls,
            "missing_syscalls": dict(k.syscalls.missing),
            "page_faults": k.mm.nr_faults,
            "context_switches": k.cpus.nr_switches,
            "forks": k.tasks.nr_forks,
            "user_work": k.cpu.work,
        }

    def _must_be_open(self) -> None:
        if self.closed:
            raise MachineError("this machine is closed")

    def close(self) -> None:
        """The end of the machine: emulator and memory go back to the host at once; harmless a second time.

        A run that is under way, which called this or is another thread's, ends with MachineError.
        """
        if not self.closed:
            self.closed = True
            self._session = None
            self.kernel.cpus.close(MachineError("this machine is closed"), self._give_back)

    def _give_back(self) -> None:
        self.kernel.cpu.close()
        self.kernel.physical.close()

    def __enter__(self) -> Machine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()


def argv_name(task: Task) -> str:
    """What a task was asked to run."""
    return task.comm


def _comm(path: bytes) -> str:
    return path.rsplit(b"/", 1)[-1].decode("latin-1")[:15]


def describe_crash(crash: Crash) -> str:
    """A few lines for stderr: signal; of a fault its address, and registers where Linux would dump core."""
    name = SIGNAL_NAMES.get(crash.signal, f"signal {crash.signal}")
    lines = [f"{crash.comm}[{crash.pid}]: killed by {name}"]
    if crash.signal in FAULT_SIGNALS:
        lines[0] += f" at address {crash.address:#x}"
    if crash.signal not in CORE_SIGNALS:
        return lines[0]
    row = []
    for register, value in crash.registers:
        row.append(f"{register}: {value:016x}")
        if len(row) == 4:
            lines.append("  " + " ".join(row))
            row = []
    if row:
        lines.append("  " + " ".join(row))
    return "\n".join(lines)


def check_size(cpus: int, memory: int) -> None:
    """ValueError for a machine that cannot be: a sentence for a person."""
    if not isinstance(cpus, int) or not 1 <= cpus <= MAX_CPUS:
        raise ValueError(f"cpus={cpus!r}: a machine has 1 to {MAX_CPUS} CPUs")
    if not isinstance(memory, int) or not LEAST_MEMORY <= memory <= MOST_MEMORY or memory % PAGE_SIZE:
        raise ValueError(f"memory={memory!r}: whole pages of {PAGE_SIZE} bytes, from {LEAST_MEMORY >> 20} MiB on")


@unsearched()
def boot(
    arch: str = DEFAULT,
    kernel: str = "6.1",
    cpus: int = 1,
    seed: int = 0,
    memory: int = DEFAULT_MEMORY,
    binds: Sequence[str | Bind] = (),
    hostname: str = "simkernel",
    strace: Callable[[str], None] | None = None,
    config: Sequence[str] = (),
) -> Machine:
    """A running machine: kernel up, file systems mounted, init waiting.

    `config` names options the kernel is built with beyond those of Debian's: "FPROBE", "FUNCTION_ERROR_INJECTION",
    on some CPUs "BPF_JIT" and "DEBUG_INFO_BTF" (bpf/versions/config.py).
    `binds` shows files of the host: "HOST:GUEST", "HOST:GUEST:rw", or tuples (host, guest, writable).
    """
    check_size(cpus, memory)
    shown = as_binds(binds)
    room = get_architecture(arch).map.room
    if room is not None and memory > room:
        raise MachineError(f"a machine of {arch} has at most {room >> 20}M of memory")
    # Subsystems are imported before the kernel is made: their functions are part of its text.
    from simkernel import block, io_uring, ipc, mm, net, observe
    from simkernel.fs import boot as fs
    from simkernel.fs import proc_irq, proc_keys, proc_locks
    from simkernel.fs.hostfs import install_binds
    from simkernel.fs.native_faults import native_faults
    from simkernel.fs.shortcuts import shortcuts
    from simkernel.fs.stat_shortcuts import stat_shortcuts
    from simkernel.observe.shortcuts import shortcuts as bpf_shortcuts

    k = Kernel(
        arch=arch, version=KernelVersion.supported(kernel), cpus=cpus, memory=memory, seed=seed, hostname=hostname,
        config=config,
    )  # fmt: skip
    for subsystem in (fs, proc_irq, proc_keys, proc_locks, ipc, mm, net, io_uring, block, observe):
        subsystem.install(k)
    install_binds(k.vfs, shown)
    k.shortcuts.add(shortcuts(k))
    k.shortcuts.add(stat_shortcuts(k))
    k.shortcuts.add(bpf_shortcuts(k.version))
    k.faults.use(native_faults(k, k.faults.places))
    keep_types(k.arch, k.version)
    if strace is not None:
        from simkernel.kernel.strace import Strace

        k.syscalls.strace = Strace(k, strace)
    return Machine(k, shown)


__all__ = ["Machine", "MachineError", "NeverHappened", "Oops", "Result", "boot", "describe_crash"]
