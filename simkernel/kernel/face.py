"""The face that kernel-function bodies see: `k`.  Everything a body may use, independent of how functions are executed.

`Kernel` (kernel.py) is this on emulated CPUs; `HostKernel` (testing.py) is this without any CPU, for tests of bodies.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from arch.abi.errno import EFAULT, ENAMETOOLONG
from arch.abi.version import KernelVersion
from arch.errors import Fault, KernelError
from simkernel.kernel.clock import Clock
from simkernel.kernel.waitqueue import WaitQueue

if TYPE_CHECKING:
    from simkernel.kernel.task import Task


class KernelApi:
    """What bodies of kernel functions and system calls may use."""

    version: KernelVersion
    arch: Any  # arch.architecture.Architecture
    types: Any  # arch.ctype.TypeTable
    mem: Any  # arch.memory.KernelMemory: kernel virtual addresses
    user: Any  # Memory over the current task's user addresses (raises Fault)
    symbols: Any  # arch.symbols.Symbols
    clock: Clock
    random: random.Random  # the machine's seeded randomness
    current: Task
    vfs: Any  # fs_interface.Vfs, set by simkernel.fs.boot.install
    nr_cpus: int
    hostname: str

    # -- control: what is yielded ------------------------------------------------------------------------------------

    def call(self, name: str, *args: int) -> Any:
        """`ret = yield k.call("name", ...)`: the CPU really calls that kernel function.  Must be yielded at once."""
        raise NotImplementedError

    def call_address(self, addr: int, *args: int) -> Any:
        """`ret = yield k.call_address(addr, ...)`: call through a function pointer."""
        raise NotImplementedError

    def wait(
        self,
        queue: WaitQueue | tuple[WaitQueue, ...] | None,
        interruptible: bool = True,
        timeout_ns: int | None = None,
        exclusive: bool = False,
        killable: bool = False,
    ) -> Any:
        """`ret = yield k.wait(queue)`: sleep until woken; re-check your condition in a loop, as wait_event() does.

        Gives 0 (woken, perhaps spuriously), -ERESTARTSYS (a signal is pending) or -ETIME (timeout_ns passed).  If a
        signal is pending already it does not sleep at all.  `queue` None waits for a signal or the timeout alone.
        """
        raise NotImplementedError

    # -- waking --------------------------------------------------------------------------------------------------------

    def wake_up(self, queue: WaitQueue, nr_exclusive: int = 1) -> int:
        """Wake all non-exclusive sleepers and at most `nr_exclusive` exclusive ones (0: all).  Callable from anywhere."""
        raise NotImplementedError

    def wake(self, queue: WaitQueue) -> Any:
        """`yield k.wake(queue)`: the same by a real call of __wake_up, so that probes on that path see it."""
        raise NotImplementedError

    # -- user memory ----------------------------------------------------------------------------------------------------

    def copy_from_user(self, addr: int, size: int) -> bytes:
        """Bytes at a user address of the current task; KernelError(EFAULT)."""
        try:
            return bytes(self.user.read(addr, size))
        except Fault:
            raise KernelError(EFAULT) from None

    def copy_to_user(self, addr: int, data: bytes) -> None:
        """Write bytes to a user address of the current task; KernelError(EFAULT)."""
        try:
            self.user.write(addr, data)
        except Fault:
            raise KernelError(EFAULT) from None

    def get_user(self, addr: int, size: int, signed: bool = False) -> int:
        """One integer of the machine's byte order from user memory; KernelError(EFAULT)."""
        data = self.copy_from_user(addr, size)
        return int.from_bytes(data, self.mem.byteorder, signed=signed)

    def put_user(self, addr: int, size: int, value: int) -> None:
        """Store one integer (two's complement) to user memory; KernelError(EFAULT)."""
        self.copy_to_user(addr, (value & ((1 << 8 * size) - 1)).to_bytes(size, self.mem.byteorder))

    def strncpy_from_user(self, addr: int, limit: int = 4096) -> bytes:
        """A C string without its NUL; KernelError(EFAULT), or ENAMETOOLONG when no NUL within `limit` bytes."""
        out = bytearray()
        while len(out) < limit:
            step = min(256 - (addr & 255), limit - len(out))
            chunk = self.copy_from_user(addr, step)
            end = chunk.find(0)
            if end >= 0:
                out += chunk[:end]
                return bytes(out)
            out += chunk
            addr += step
        raise KernelError(ENAMETOOLONG)

    # -- objects in kernel memory ------------------------------------------------------------------------------------------

    def new(self, ctype: str) -> Any:
        """kzalloc() of one C type: a View of zeroed kernel memory (`.addr` is its address)."""
        from arch.ctype import View

        type_ = self.types.type(ctype)
        return View(self.mem, self.mem.alloc(self.types.sizeof(ctype)), type_)

    def view(self, addr: int, ctype: str) -> Any:
        """A View of the object of this C type at a kernel address."""
        from arch.ctype import View

        return View(self.mem, addr, self.types.type(ctype))

    # -- time, events, signals ----------------------------------------------------------------------------------------------

    def add_timer(self, when_ns: int, fn: Callable[[], None]) -> Any:
        """Run `fn()` at that virtual time (interrupt context: no yield); gives a handle for cancel_timer."""
        return self.clock.add(when_ns, fn)

    def cancel_timer(self, timer: Any) -> None:
        """Forget a timer; harmless when it has run."""
        self.clock.cancel(timer)

    def trace(self, name: str, *args: Any) -> None:
        """Fire a tracepoint with the arguments of its TP_PROTO; nearly free when nothing listens."""

    def send_signal(self, task: Task, sig: int, code: int = 0, **info: Any) -> None:
        """Make a signal pending for a thread group (SI_KERNEL by default) and wake who takes it."""
        raise NotImplementedError

    def signal_pending(self) -> bool:
        """True when the current task has an unblocked pending signal."""
        raise NotImplementedError

    def task_at(self, addr: int) -> Task:
        """The Task whose struct task_struct is at this address."""
        raise NotImplementedError

    def find_task(self, pid: int) -> Task | None:
        """A thread by its pid (find_task_by_vpid)."""
        raise NotImplementedError

    def capable(self, cap: int) -> bool:
        """True when the current task's effective set has this capability."""
        raise NotImplementedError

    def printk(self, text: str) -> None:
        """A line for the kernel log (dmesg)."""
        raise NotImplementedError
