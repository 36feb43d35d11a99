"""Run bodies of kernel functions without any CPU: for tests of one piece of the kernel.

    k = HostKernel(version="6.1")
    simkernel.fs.boot.install(k)
    assert run_body(k, "ksys_write", fd, addr, n) == n
    assert run_syscall(k, "openat", AT_FDCWD, path, O_RDONLY, 0) == 3

Calls are direct, arguments are passed as ints, and user memory is one flat piece at 0x10000.  A body that sleeps
raises `Blocked` unless a timer or `on_block` wakes it.
"""

from __future__ import annotations

import ctypes
import random
from collections.abc import Callable

from arch import architecture
from arch.abi.errno import ERESTARTSYS, ETIME
from arch.abi.signal import SI_KERNEL
from arch.abi.version import KernelVersion
from arch.architecture import DEFAULT
from arch.errors import KernelError
from arch.memory import FlatMemory, KernelMemory, PhysicalMemory
from arch.symbols import Symbols
from arch.typecache import shared_types
from simkernel.kernel import kfunc
from simkernel.kernel.address_spaces import AddressSpaces
from simkernel.kernel.clock import Clock
from simkernel.kernel.cpus import Cpus
from simkernel.kernel.entry import task_work_run
from simkernel.kernel.face import Call, KernelFace, Request, SecurityHooks
from simkernel.kernel.hrtimers import HrTimers
from simkernel.kernel.kfunc import Function, Prototype
from simkernel.kernel.mirror import Mirror
from simkernel.kernel.objects import Objects
from simkernel.kernel.printk import KernelLog
from simkernel.kernel.registers import Registers
from simkernel.kernel.signals import Signals
from simkernel.kernel.syscalls import Syscalls
from simkernel.kernel.task import CurrentTask, Task, WaitQueue
from simkernel.kernel.tasks import Tasks
from simkernel.kernel.text import Text
from simkernel.kernel.tracepoints import Tracepoints
from simkernel.kernel.user import Users
from simkernel.kernel.usercopy import UserCopy
from simkernel.kernel.wait import tell

MEMORY, MAX_THREADS = 64 << 20, 1024
USER_BASE, USER_SIZE = 0x10000, 1 << 20


class Blocked(Exception):
    """A body sleeps and nothing will wake it."""


class HostCall(Request):
    """A call that is served by running the body at once."""

    __slots__ = ("args", "name")

    def __init__(self, name: str, args: tuple[int, ...]) -> None:
        self.name = name
        self.args = args


class HostWait(Request):
    """A sleep."""

    __slots__ = ("queues", "timeout_ns")

    def __init__(self, queues: WaitQueue | tuple[WaitQueue, ...] | None, timeout_ns: int | None) -> None:
        self.queues = queues
        self.timeout_ns = timeout_ns

    @property
    def name(self) -> str:
        """What is waited for, in words."""
        first = self.queues[0] if isinstance(self.queues, tuple) and self.queues else self.queues
        return first.name if isinstance(first, WaitQueue) else ""


class HostTask(Task):
    """A task that keeps the signals it was sent, and its ids itself."""

    def __init__(self, pid: int = 1, comm: str = "test", addr: int = 0) -> None:
        super().__init__(pid, comm)
        self.addr = addr
        self.uid = self.gid = self.euid = self.egid = self.fsuid = self.fsgid = 0
        self.groups: list[int] = []
        self.signals: list[int] = []
        self.signal.pgid = self.signal.session = pid


class HostText(Text):
    """Functions are called directly, and nobody probes them."""

    def __init__(self, version: KernelVersion) -> None:
        self.bodies = {f.name: f for f in kfunc.KERNEL_FUNCTIONS}  # what a version lacks runs inside its callers
        self.bodies |= {f.name: f for f in kfunc.KERNEL_FUNCTIONS if f.exists_in(version)}
        self.probed = {}

    def call(self, name: str, *args: int) -> Call:
        return HostCall(name, args)

    def is_probed(self, name: str) -> bool:
        return False

    def stack_of(self, task: Task) -> list[str]:
        return []


class HostCpus(Cpus):
    """Sleeping is a request; waking forgets the sleepers."""

    def __init__(self) -> None:
        self.nr_switches = 0
        self.powered_off = False

    def id(self) -> int:
        return 0

    def charge_user(self) -> None:
        pass

    def wait(
        self,
        queue: WaitQueue | tuple[WaitQueue, ...] | None,
        interruptible: bool = True,
        timeout_ns: int | None = None,
        exclusive: bool = False,
        killable: bool = False,
    ) -> Call:
        return HostWait(queue, timeout_ns)

    def wake_up(self, queue: WaitQueue, nr_exclusive: int = 1) -> int:
        woken = len(queue.waiters)
        queue.waiters.clear()
        tell(queue, nr_exclusive)
        return woken

    def wake(self, queue: WaitQueue) -> Call:
        return self.wake_up(queue)


class HostSignals(Signals):
    """Signals are only written down."""

    def __init__(self, board: CurrentTask) -> None:
        self.board = board

    def send(self, task: Task, sig: int, code: int = SI_KERNEL, **info: int) -> int:
        assert isinstance(task, HostTask)
        task.signals.append(sig)
        return 0

    def pending(self) -> bool:
        task = self.board.current
        return isinstance(task, HostTask) and bool(task.signals)


class HostSyscalls(Syscalls):
    """The declared ones."""

    def __init__(self, version: KernelVersion) -> None:
        self.declared = {s.name: s for s in kfunc.SYSCALLS if s.exists_in(version)}


class HostKernel(KernelFace):
    """The board without a CPU."""

    def __init__(self, version: str = "6.1", arch: str = DEFAULT, cpus: int = 1, seed: int = 0) -> None:
        self.version = KernelVersion.parse(version)
        self.arch = architecture.get(arch)
        self.abi = self.arch.syscall_abis[0]
        self.types = shared_types(self.arch, self.version)
        self.physical = PhysicalMemory(MEMORY)
        self.mem = KernelMemory(self.physical, self.arch.map, self.arch.byteorder)
        self.symbols = Symbols()
        self.seed, self.random = seed, random.Random(seed)
        self.nr_cpus, self.hostname, self.config = cpus, "simkernel", frozenset()
        self.log = KernelLog()
        self.security_hooks = SecurityHooks()
        self.futexes = {}
        self.user_namespaces = {}
        self.pi_locks = {}
        self.traced: list[tuple[object, ...]] = []
        self.on_block: Callable[[], None] | None = None  # called instead of raising Blocked
        self.clock = Clock()
        self.tracepoints = Tracepoints()
        self.mirror = Mirror(self.arch, self.version, self.types, self.mem, cpus)
        depth = (ctypes.c_uint64 * cpus)()
        self.hrtimers = HrTimers(self.mem, self.mirror, self.symbols, self.tracepoints, depth, lambda: 0)
        self.usercopy = UserCopy(FlatMemory(USER_BASE, USER_SIZE, self.arch.byteorder), self.arch.byteorder)
        self.regs = Registers(self.arch, self.abi, self.arch.pt_regs_for(self.version), self.mem)
        self.tasks = Tasks(self, self.arch, self.clock, self.mirror, MAX_THREADS)
        self.mm = AddressSpaces(
            self, self.arch, self.physical, self.mem, self.mirror, self.usercopy, None, self.tracepoints
        )
        self.objects = Objects(self.mem, self.mirror, self.symbols, self.tracepoints)
        self.users = Users(self.mm.charge)
        self.text = self.host_text = HostText(self.version)
        self.cpus = HostCpus()
        self.signals = HostSignals(self)
        self.syscalls = HostSyscalls(self.version)
        self.current = self.add_task(1, "test")

    def add_task(self, pid: int, comm: str) -> HostTask:
        """One more task."""
        task = HostTask(pid, comm, self.mem.alloc(self.types.sizeof("struct task_struct"), 64))
        self.tasks.by_pid[pid] = self.tasks.by_address[task.addr] = task
        return task

    def call(self, name: str, *args: int) -> Call:
        return HostCall(name, args)

    def wait(
        self,
        queue: WaitQueue | tuple[WaitQueue, ...] | None,
        interruptible: bool = True,
        timeout_ns: int | None = None,
        exclusive: bool = False,
        killable: bool = False,
    ) -> Call:
        return HostWait(queue, timeout_ns)

    def wake_up(self, queue: WaitQueue, nr_exclusive: int = 1) -> int:
        return self.cpus.wake_up(queue)

    def wake(self, queue: WaitQueue) -> Call:
        return self.cpus.wake(queue)

    def trace(self, name: str, *args: object) -> None:
        self.traced.append((name, *args))

    def capable(self, cap: int, opts: int = 0) -> bool:
        return True

    def put_user_string(self, addr: int, text: str | bytes) -> int:
        """A C string in user memory; gives the address."""
        data = text.encode() if isinstance(text, str) else text
        self.usercopy.user.write(addr, data + b"\0")
        return addr


def _convert(prototype: Prototype, args: tuple[int, ...], word: int) -> list[int]:
    out = []
    for param, value in zip(prototype.params, args, strict=False):
        bits = 8 * (param.size or word)
        value &= (1 << bits) - 1
        out.append(value - (1 << bits) if param.signed and value >> (bits - 1) else value)
    return out


def _run(k: HostKernel, body: Function, generator: bool, prototype: Prototype, args: tuple[int, ...]) -> int:
    try:
        if not generator:
            return int(body(k, *_convert(prototype, args, k.arch.model.word)) or 0)
        running = body(k, *_convert(prototype, args, k.arch.model.word))
        result: int | None = None
        while True:
            try:
                request = running.send(result)
            except StopIteration as stop:
                return int(stop.value or 0)
            result = _serve(k, request)
    except KernelError as error:
        return -error.errno


def _serve(k: HostKernel, request: Call) -> int:
    if isinstance(request, HostCall):
        return run_body(k, request.name, *request.args)
    if isinstance(request, HostWait):
        if k.signals.pending():
            return -ERESTARTSYS
        if k.on_block is not None:
            k.on_block()
            return 0
        if request.timeout_ns is not None:
            k.clock.advance(request.timeout_ns)
            k.clock.run_due()
            return -ETIME
        if k.clock.skip_to_next():
            return 0
        raise Blocked(request.name)
    assert isinstance(request, int)
    return request


def run_body(k: HostKernel, name: str, *args: int) -> int:
    """Run a declared kernel function; its result as an int, -errno for a refusal."""
    function = k.host_text.bodies[name]
    return _run(k, function.body, function.is_generator, function.prototype, args)


def run_syscall(k: HostKernel, name: str, *args: int) -> int:
    """Run a declared system call's body."""
    call = k.syscalls.declared[name]
    ret = _run(k, call.body, call.is_generator, call.prototype, args)
    if k.current.task_works:
        run_body(k, task_work_run.__name__)
    return ret
