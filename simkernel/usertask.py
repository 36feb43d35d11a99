"""User tasks driven from Python: every call is a real system call, executed by the simulated CPU in user mode.

The task's program is one page with the architecture's system-call instruction.  Between two calls it waits in the
kernel, on its way back to user mode, for what Python wants next; then its registers are set and the instruction runs.

    t = machine.user_task("loader")               from host code, outside the run loop
    fd = t.syscall("openat", AT_FDCWD, "/etc/hostname", 0, 0)

    def sender(u):                                 as a workload: an ordinary task, scheduled with the others
        fd = yield u.openat(AT_FDCWD, "/tmp/x", O_CREAT | O_WRONLY, 0o644)
        yield u.write(fd, b"hello", 5)
    machine.workload(sender)

`u.fork(program)` makes a child that runs another generator function.  simkernel/workloads.py has ready workloads.

A str or bytes argument is put into the task's memory (with a NUL behind it) and its address passed.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, NoReturn

from arch import architecture
from arch.abi.errno import ENOSYS, ERESTARTSYS
from arch.abi.mman import MAP_ANONYMOUS, MAP_FIXED, MAP_PRIVATE, PROT_EXEC, PROT_READ, PROT_WRITE
from arch.abi.signal import SIGCHLD, SIGKILL
from arch.abi.time import NSEC_PER_SEC
from arch.errors import Fault
from arch.hosttime import HOST, HOST_WORD, HostStop, check
from simkernel.kernel.face import Steps
from simkernel.kernel.hostcode import host_code
from simkernel.kernel.task import Task, WaitQueue

if TYPE_CHECKING:
    from simkernel.kernel.kernel import Kernel
    from simkernel.kernel.mm import Mm

CODE = 0x400000  # where the system-call instruction lies
HEAP_SIZE = 64 << 20
STACK_ALIGN = 16
GIVE_UP_S = 0.05  # CPU time of the host for ending the task of a call that is given up

Value = int | str | bytes | bytearray
Request = tuple[str, tuple[Value, ...]]
# A workload: it yields system calls, and is sent their results.
Program = Callable[["Calls"], Generator[Request, int, object]]


def check_name(name: str, k: Kernel) -> None:
    """Refuse a misspelt system call; one that only other machines have is -ENOSYS here, as the kernel says.  ValueError."""
    if name in k.abi.numbers:
        return
    known = {call for cpu in architecture.names() for abi in architecture.get(cpu).syscall_abis for call in abi.numbers}
    if name not in known:
        close = difflib.get_close_matches(name, sorted(known), n=3)
        raise ValueError(f"no system call is named {name!r}" + (f"; near: {', '.join(close)}" if close else ""))


class TaskEnded(RuntimeError):
    """The task that is to do something is no more: it was killed, or stopped with the run that it belonged to."""

    def __init__(self) -> None:
        super().__init__("this task has ended")


class Driver:
    """Decides what a driven task does next.  `task.driver`."""

    def __init__(self, k: Kernel) -> None:
        self.k = k
        self.task: Task = None  # type: ignore[assignment]  # set by start()
        self.heap = self.top = 0
        self.queue = WaitQueue("usertask")
        self.started = False

    # -- memory ------------------------------------------------------------------------------------------------------

    def alloc(self, size: int) -> int:
        """Zeroed user memory; freed together by free_all()."""
        address = self.top
        self.top += (size + STACK_ALIGN - 1) // STACK_ALIGN * STACK_ALIGN or STACK_ALIGN
        if self.top > self.heap + HEAP_SIZE:
            raise MemoryError("the task's memory is used up: call free_all()")
        self.write(address, bytes(size))
        return address

    def free_all(self) -> None:
        """Everything that alloc() gave may be used anew."""
        self.top = self.heap

    def _mm(self) -> Mm:
        if self.task.mm is None:
            check()  # that is why
            raise TaskEnded
        return self.task.mm

    def read(self, addr: int, size: int) -> bytes:
        """Bytes of the task's memory; Fault."""
        return bytes(self._mm().user.read(addr, size))

    def write(self, addr: int, data: bytes) -> None:
        """Store bytes; Fault."""
        self._mm().user.write(addr, bytes(data))

    def string(self, text: str | bytes) -> int:
        """A C string in the task's memory."""
        data = (text.encode("utf-8", "surrogateescape") if isinstance(text, str) else bytes(text)) + b"\0"
        address = self.alloc(len(data))
        self.write(address, data)
        return address

    # -- the task's side -----------------------------------------------------------------------------------------------

    def main(self) -> Steps[None]:
        """Body of the new task: an address space with the one instruction, then on to user mode."""
        k = self.k
        task = k.current
        self.task = task
        if (yield k.call("exec_mmap", 0)):  # no memory
            yield k.call("do_exit", 127 << 8)
        mm = task.mm
        assert mm is not None
        mm.map(CODE, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED)
        try:
            mm.user.write(CODE, k.abi.insn)
        except Fault:  # no page for it
            yield k.call("do_exit", 127 << 8)
        self.heap = self.top = mm.map(0, HEAP_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS)
        stack = mm.map(0, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS)
        k.threads.start_thread(task, CODE, stack + (1 << 16) - 256)
        task.driver = self
        task.work = True
        self.started = True
        yield from self.next(task.regs, None)

    def next(self, regs: int, result: int | None) -> Steps[None]:
        """Wait for the next call and set the registers for it.  `result` is the last one's, None at first."""
        raise NotImplementedError

    def forked(self, child: Task) -> Driver | None:
        """Who drives a child of this task, made by fork(2) or clone(2)."""
        return None

    def trapped(self, regs: int) -> Steps[None]:
        """A breakpoint in driven code: nothing special."""
        yield from self.next(regs, None)

    def returning(self, regs: int) -> Steps[None]:
        """On the way back to user mode after a call; or after an interrupt before the instruction was executed."""
        k = self.k
        if k.regs.get(regs, k.arch.instruction_pointer) == CODE:
            self.task.work = True
            return
        yield from self.next(regs, k.regs.signed_word(k.regs.get(regs, k.abi.result)))

    def set_call(self, regs: int, request: Request) -> None:
        """Registers of one system call; an unknown name gets an impossible number."""
        k = self.k
        name, args = request
        number = k.abi.numbers.get(name, -ENOSYS)
        k.regs.set(regs, k.arch.instruction_pointer, CODE)
        k.regs.set(regs, k.regs.user_number_field, number)
        self.task.work = True
        for field, value in zip(k.regs.user_arg_fields, args):
            try:
                with host_code():
                    k.regs.set(regs, field, self.value(value))
            except Fault:
                if k.physical.free_pages > 0:
                    raise
                self.task.starving = True  # no page for the argument: as for a program that touches one
                return

    def value(self, value: Value) -> int:
        """An argument as a register value."""
        return value if isinstance(value, int) else self.string(bytes(value) if not isinstance(value, str) else value)


class UserTask(Driver):
    """Face 1: `syscall()` runs the machine until that call has returned."""

    def __init__(self, k: Kernel) -> None:
        super().__init__(k)
        self.request: Request | None = None
        self.result: int | None = None

    def next(self, regs: int, result: int | None) -> Steps[None]:
        if result is not None:
            self.result = result
        while self.request is None:
            if (yield self.k.wait(self.queue, interruptible=False, killable=True)) == -ERESTARTSYS:
                return  # killed: the signal is taken on the way out
        request, self.request = self.request, None
        self.set_call(regs, request)

    def syscall(self, name: str, *args: Value) -> int:
        """One system call of this task; -errno for a refusal.  Not from inside the kernel."""
        if self.task.exit_state:
            if name == "close":
                return 0  # it went with the task: who puts things in order after a stop does not hear of another error
            check()
            raise TaskEnded
        check_name(name, self.k)
        self.result = None
        self.request = (name, args)
        self.k.wake_up(self.queue)
        try:
            answered = self.k.cpus.run(lambda: self.result is not None or self.task.exit_state != 0)
        except HostStop:
            self.give_up()
        if not answered:
            if HOST_WORD[0]:
                self.give_up()
            raise RuntimeError(f"{name} waits for something that can never happen")
        if self.result is None:
            check()  # it has ended in this call
        return self.result or 0

    def give_up(self) -> NoReturn:
        """The host's time is up in the middle of a call (nobody could tell its result from the next one's), or of the start."""
        HOST.seen()
        k, task = self.k, self.task
        with HOST.grace(GIVE_UP_S):
            k.signals.send(task, SIGKILL)
            k.oopses.abandon((task,))
            k.cpus.run(lambda: task.exit_state != 0, k.clock.now_ns + NSEC_PER_SEC)
        HOST.raise_if_asked()
        raise HostStop

    def exit(self, code: int = 0) -> None:
        """End the task."""
        if not self.task.exit_state:
            self.syscall("exit_group", code)


class Calls:
    """`u` of a workload: `yield u.openat(...)` makes a system call of that name."""

    def __init__(self, driver: Workload) -> None:
        self._driver = driver
        self.alloc = driver.alloc
        self.free_all = driver.free_all
        self.read_memory = driver.read
        self.write_memory = driver.write
        self.string = driver.string

    @property
    def pid(self) -> int:
        """The task's pid."""
        return self._driver.task.pid

    def syscall(self, name: str, *args: Value) -> Request:
        """For names that are no Python names, or shadowed here."""
        return name, args

    def fork(self, program: Program) -> Request:
        """fork(2): gives the pid; the child, with a copy of the memory, runs another generator function."""
        self._driver.child = program
        if "fork" in self._driver.k.abi.numbers:
            return "fork", ()
        return "clone", (SIGCHLD, 0, 0, 0, 0)

    def __getattr__(self, name: str) -> Callable[..., Request]:
        check_name(name, self._driver.k)
        return lambda *args: (name, args)


class Workload(Driver):
    """Face 2: a generator function is the task's program."""

    def __init__(self, k: Kernel, program: Program) -> None:
        super().__init__(k)
        self.program = program
        self.running: Generator[Request, int, object] | None = None
        self.child: Program | None = None  # program of the next one forked

    def forked(self, child: Task) -> Driver | None:
        """A child of u.fork() has its own program, in a copy of this task's memory."""
        if self.child is None:
            return None
        driver = Workload(self.k, self.child)
        self.child = None
        driver.task, driver.heap, driver.top, driver.started = child, self.heap, self.top, True
        child.work = True
        return driver

    def next(self, regs: int, result: int | None) -> Steps[None]:
        try:
            with host_code():
                if self.running is None:
                    self.running = self.program(Calls(self))
                    request = next(self.running)
                else:
                    request = self.running.send(result if result is not None else 0)
        except StopIteration as stop:
            request = ("exit_group", (stop.value if isinstance(stop.value, int) else 0,))
        with host_code():
            if not isinstance(request, tuple) or len(request) != 2:
                raise TypeError(f"a workload yields calls, as `yield u.getpid()`, not {request!r}")
        self.set_call(regs, request)
        yield 0


def start(k: Kernel, driver: Driver, comm: str) -> Task:
    """A child of init, root, with files of its own and no open descriptors."""
    task: Task = k.threads.make_kernel_thread(comm, driver.main, k.tasks.init)
    k.mirror.change_flags(task, 0, task.flags)
    k.vfs.setup_init_files(k, task)
    task.signal.pgid = task.signal.session = task.pid
    driver.task = task
    k.cpus.wake_new(task)
    return task
