"""Run bodies of kernel functions without any CPU: for tests of one piece of the kernel.

    k = HostKernel(version="6.1")
    simkernel.fs.boot.install(k)
    assert run_body(k, "ksys_write", fd, addr, n) == n
    assert run_syscall(k, "openat", AT_FDCWD, path, O_RDONLY, 0) == 3

Calls are direct, arguments are passed as ints, and user memory is one flat piece at 0x10000.  A body that sleeps
raises `Blocked` unless a timer or `on_block` wakes it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from arch.abi.errno import ERESTARTSYS, ESRCH, ETIME
from arch.abi.version import KernelVersion
from arch.errors import KernelError
from simkernel.kernel import kfunc
from simkernel.kernel.clock import Clock
from simkernel.kernel.face import KernelApi
from simkernel.kernel.kfunc import Prototype
from simkernel.kernel.waitqueue import WaitQueue


class Blocked(Exception):
    """A body sleeps and nothing will wake it."""


class _Call:
    __slots__ = ("args", "name")

    def __init__(self, name: str, args: tuple[int, ...]) -> None:
        self.name = name
        self.args = args


class _Wait:
    __slots__ = ("queue", "timeout_ns")

    def __init__(self, queue: Any, timeout_ns: int | None) -> None:
        self.queue = queue
        self.timeout_ns = timeout_ns


class HostTask:
    """A task with the attributes that bodies of other subsystems look at."""

    def __init__(self, pid: int = 1, comm: str = "test", addr: int = 0) -> None:
        self.pid = self.tgid = pid
        self.comm = comm
        self.addr = addr
        self.files: Any = None
        self.fs: Any = None
        self.mm: Any = None
        self.uid = self.gid = self.euid = self.egid = self.fsuid = self.fsgid = 0
        self.groups: list[int] = []
        self.signals: list[int] = []
        self.rlimits: dict[int, tuple[int, int]] = {}
        self.parent: Any = None
        self.session = self.pgid = pid
        self.tty: Any = None


class HostKernel(KernelApi):
    """KernelApi without a CPU."""

    def __init__(self, version: str = "6.1", arch: str = "x86_64", cpus: int = 1, seed: int = 0) -> None:
        from arch.architecture import get
        from arch.ctype import TypeTable
        from arch.memory import FlatMemory

        self.version = KernelVersion.parse(version)
        self.arch = get(arch)
        self.types = TypeTable(self.arch.model, self.version.key, arch)
        self.types.load_headers()
        order = self.arch.model.byteorder
        self.mem = FlatMemory(0xFFFF888000000000 if self.arch.model.word == 8 else 0xC0000000, 8 << 20, order)
        self.user = FlatMemory(0x10000, 1 << 20, order)
        self.clock = Clock()
        self.random = random.Random(seed)
        self.nr_cpus = cpus
        self.hostname = "simkernel"
        self.log: list[str] = []
        self.traced: list[tuple[Any, ...]] = []
        self.on_block: Callable[[], None] | None = None  # called instead of raising Blocked
        self.functions = {f.name: f for f in kfunc.KERNEL_FUNCTIONS if f.exists_in(self.version)}
        self.syscalls = {s.name: s for s in kfunc.SYSCALLS if s.exists_in(self.version)}
        task = HostTask(1, "test", self.mem.alloc(self.types.sizeof("struct task_struct"), 64))
        self.tasks = {1: task}
        self.current = task  # type: ignore[assignment]

    def call(self, name: str, *args: int) -> Any:
        return _Call(name, args)

    def wait(
        self,
        queue: Any,
        interruptible: bool = True,
        timeout_ns: int | None = None,
        exclusive: bool = False,
        killable: bool = False,
    ) -> Any:
        return _Wait(queue, timeout_ns)

    def wake_up(self, queue: WaitQueue, nr_exclusive: int = 1) -> int:
        woken = len(queue.waiters)
        queue.waiters.clear()
        for fn in list(queue.on_wake):
            fn()
        return woken

    def wake(self, queue: WaitQueue) -> Any:
        self.wake_up(queue)
        return None

    def trace(self, name: str, *args: Any) -> None:
        self.traced.append((name, *args))

    def send_signal(self, task: Any, sig: int, code: int = 0, **info: Any) -> None:
        task.signals.append(sig)

    def signal_pending(self) -> bool:
        return bool(self.current.signals)

    def task_at(self, addr: int) -> Any:
        for task in self.tasks.values():
            if task.addr == addr:
                return task
        raise KernelError(ESRCH)

    def find_task(self, pid: int) -> Any:
        return self.tasks.get(pid)

    def capable(self, cap: int) -> bool:
        return True

    def printk(self, text: str) -> None:
        self.log.append(text)

    def put_user_string(self, addr: int, text: str | bytes) -> int:
        """For tests: a C string in user memory; gives the address."""
        data = text.encode() if isinstance(text, str) else text
        self.user.write(addr, data + b"\0")
        return addr


def _convert(prototype: Prototype, args: tuple[int, ...], word: int) -> list[int]:
    out = []
    for param, value in zip(prototype.params, args, strict=False):
        bits = 8 * (param.size or word)
        value &= (1 << bits) - 1
        out.append(value - (1 << bits) if param.signed and value >> (bits - 1) else value)
    return out


def _run(k: HostKernel, body: Any, generator: bool, prototype: Prototype, args: tuple[int, ...]) -> int:
    try:
        if not generator:
            return int(body(k, *_convert(prototype, args, k.arch.model.word)) or 0)
        running = body(k, *_convert(prototype, args, k.arch.model.word))
        result: Any = None
        while True:
            try:
                request = running.send(result)
            except StopIteration as stop:
                return int(stop.value or 0)
            result = _serve(k, request)
    except KernelError as error:
        return -error.errno


def _serve(k: HostKernel, request: Any) -> Any:
    if isinstance(request, _Call):
        return run_body(k, request.name, *request.args)
    if isinstance(request, _Wait):
        if k.signal_pending():
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
        raise Blocked(getattr(request.queue, "name", ""))
    return request


def run_body(k: HostKernel, name: str, *args: int) -> int:
    """Run a declared kernel function; its result as an int, -errno for a refusal."""
    function = k.functions[name]
    return _run(k, function.body, function.is_generator, function.prototype, args)


def run_syscall(k: HostKernel, name: str, *args: int) -> int:
    """Run a declared system call's body."""
    call = k.syscalls[name]
    return _run(k, call.body, call.is_generator, call.prototype, args)
