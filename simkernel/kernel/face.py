"""The face that kernel-function bodies see: `k`, the board on which the kernel's parts meet.

`Kernel` (kernel.py) is this on emulated CPUs; `HostKernel` (testing.py) is this without any CPU, for tests of bodies.

How bodies are typed
--------------------
    from simkernel.kernel.face import Body, KernelFace, Steps

    @kernel_function("ssize_t vfs_read(...)", source="fs/read_write.c")
    def vfs_read(k: KernelFace, file: int, buf: int, count: int, pos: int) -> Body:     # a generator: it makes calls
        ret = yield k.call("rw_verify_area", READ, file, pos, count)                    # an int
        return ret

    def lookup(k: KernelFace, name: bytes) -> Steps[Dentry]: ...       # `dentry = yield from lookup(k, name)`
    def sys_getpid(k: KernelFace) -> int: ...                          # a leaf: plain, calls nothing, never sleeps

A part (`k.cpus`, `k.tasks`, ...) is a concrete class that owns its state; its module knows only other parts below it,
never this one, so that a reader's go-to-definition arrives at the code.  Nothing that this module imports may import it.

A folder whose objects live on the board and whose own code needs more of them than the others do narrows the face:

    class FsKernel(KernelFace):
        vfs: Vfs                        # the class itself instead of simkernel.fs.face.Vfs

and its bodies take `k: FsKernel`.  Folders build on each other: a face of net/ derives from the one of fs/.  `Kernel`
derives from the last of them, so everything may be given it.

What is there only sometimes is None: what belongs to the CPU in a HostKernel is simply absent there, and its bodies
are not run there.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable
from typing import Protocol

from arch.abi.errno import EPERM
from arch.abi.fcntl import AT_FDCWD
from arch.abi.kern_levels import KERN_WARNING, LOG_KERN
from arch.abi.version import KernelVersion
from arch.architecture import Architecture, SyscallAbi
from arch.cpu import Cpu
from arch.cview import View
from arch.memory import KernelMemory, PhysicalMemory
from arch.symbols import Symbols
from arch.typetable import TypeTable
from simkernel.kernel.address_spaces import AddressSpaces
from simkernel.kernel.areas import MappedFile
from simkernel.kernel.body import Body, Call, Inlined, Request, Steps
from simkernel.kernel.clock import Clock
from simkernel.kernel.cpus import Cpus
from simkernel.kernel.exec_state import ExecRights, ExecState
from simkernel.kernel.futexes import FutexWaiter, PiLock
from simkernel.kernel.hrtimers import HrTimers
from simkernel.kernel.hw_breakpoint import HwBreakpoints
from simkernel.kernel.interrupts import Interrupts, Softirqs
from simkernel.kernel.mirror import Mirror
from simkernel.kernel.namespaces import Namespace
from simkernel.kernel.objects import Objects
from simkernel.kernel.printk import CONSOLE_EVENT_ALWAYS, KernelLog
from simkernel.kernel.registers import Registers
from simkernel.kernel.seccomp_filter import Filter
from simkernel.kernel.sigframes import SignalFrames
from simkernel.kernel.signals import Signals
from simkernel.kernel.syscalls import Syscalls
from simkernel.kernel.task import PF_SUPERPRIV, Task, WaitQueue
from simkernel.kernel.tasks import Tasks
from simkernel.kernel.text import Text
from simkernel.kernel.threads import Threads
from simkernel.kernel.timers import Timers
from simkernel.kernel.tracepoints import Tracepoints
from simkernel.kernel.user import Users
from simkernel.kernel.usercopy import UserCopy

__all__ = ["Body", "Call", "Inlined", "KernelFace", "Request", "Steps"]


class Files(Protocol):
    """What the core asks of the file systems (simkernel/fs/vfs.py)."""

    @property
    def probed(self) -> dict[str, int]:
        """Kernel function -> how many probes it has."""
        ...

    @property
    def init_user_ns(self) -> int:
        """Address of the one user namespace."""
        ...

    def inode_address(self, inode: object) -> int:
        """Kernel address of an inode's struct inode."""
        ...

    def open_exec(self, k: KernelFace, path: bytes, dfd: int = AT_FDCWD, flags: int = 0) -> MappedFile:
        """do_open_execat(): a file opened for execution, or ENOENT, EACCES, ENOTDIR, ELOOP..."""
        ...

    def file_at(self, address: int) -> MappedFile:
        """The file whose struct file is there; KernelError for an ERR_PTR()."""
        ...

    def file_of(self, k: KernelFace, task: Task, fd: int) -> MappedFile:
        """The file behind a descriptor, or KernelError(EBADF)."""
        ...

    def fget(self, fd: int) -> MappedFile:
        """The current task's; KernelError(EBADF) also for one that is a place only (O_PATH)."""
        ...

    def epoll_target(self, epoll: MappedFile, fd: int, which: int) -> int:
        """get_epoll_tfile_raw_ptr(): the struct file that an epoll watches by this number, or -errno."""
        ...

    def exec_rights(self, file: MappedFile) -> ExecRights:
        """What a file's inode and mount say about who runs it."""
        ...

    def setup_init_files(self, k: KernelFace, task: Task) -> None:
        """Give a first task its root, working directory and an empty descriptor table."""

    def set_cwd(self, k: KernelFace, task: Task, path: str) -> None:
        """Start a task in another directory."""


class PidFds(Protocol):
    """Descriptors of processes (simkernel/fs/pidfd.py)."""

    def open(self, k: KernelFace, task: Task, flags: int, tell: int | None = None) -> int:
        """A new descriptor of the current task for a process, which is also written to user memory at `tell`.  EMFILE, EFAULT."""
        ...

    def close(self, k: KernelFace, fd: int) -> None:
        """It goes again: the process did not come to be."""

    def task(self, k: KernelFace, fd: int) -> tuple[Task, bool]:
        """The process behind a descriptor, and whether it does not wait.  EBADF."""
        ...


class SeccompListeners(Protocol):
    """Descriptors that hear of other tasks' calls (simkernel/fs/seccomp_notify.py)."""

    def open(self, owner: Filter) -> int:
        """A new descriptor of the current task for a filter.  EMFILE."""
        ...

    def ask(self, owner: Filter, data: bytes) -> None:
        """What seccomp_do_user_notification() is about to be called for."""

    def released(self, task: Task) -> None:
        """A task under filters is gone."""


class SecurityHooks:
    """Who watches the security hooks (simkernel/observe/lsm.py)."""

    __slots__ = ("call", "watched")

    def __init__(self) -> None:
        self.watched: set[str] = set()  # hooks that somebody sees; the same set for ever
        self.call: Callable[[str, tuple[int, ...]], int] = lambda hook, args: 0  # what they say


class KernelFace:
    """What bodies of kernel functions and system calls may use."""

    # Facts
    arch: Architecture
    abi: SyscallAbi
    version: KernelVersion
    types: TypeTable
    physical: PhysicalMemory
    mem: KernelMemory  # kernel virtual addresses
    symbols: Symbols
    random: random.Random  # the machine's seeded randomness
    seed: int
    nr_cpus: int
    hostname: str
    domainname: str = "(none)"
    config: frozenset[str]  # CONFIG_* beyond Debian's
    log: KernelLog  # dmesg
    memory_failure_early_kill: bool = False  # who has a broken page hears of it at once
    security_hooks: SecurityHooks
    current: Task  # who runs; the scheduler changes it

    # Parts that every kernel has
    clock: Clock
    tracepoints: Tracepoints
    mirror: Mirror  # tasks, credentials, address spaces as structures in kernel memory
    usercopy: UserCopy  # the current task's memory
    tasks: Tasks
    mm: AddressSpaces
    objects: Objects  # who tells of objects of named caches
    capable_calls: list[
        tuple[Task, int, int, int]
    ]  # checks that a probe is to see: whose, user namespace, capability, options
    users: Users

    # Parts that live on the emulated CPU
    cpu: Cpu
    text: Text  # functions, leaves, calls
    cpus: Cpus  # run queues, wake-ups, the run loop and the switch
    threads: Threads  # kernel stacks and saved registers of tasks
    regs: Registers
    signals: Signals
    sigframes: SignalFrames
    syscalls: Syscalls
    irqs: Interrupts
    softirqs: Softirqs
    hw_breakpoints: HwBreakpoints
    timers: Timers
    hrtimers: HrTimers
    exec: ExecState
    futexes: dict[Hashable, list[FutexWaiter]]
    pi_locks: dict[Hashable, PiLock]  # locks with an owner that somebody waits for
    keys: object = None  # keys/key.py: Keys
    ntp: object = None  # calls/adjtimex.py: Ntp
    user_namespaces: dict[int, Namespace]  # by the address of their struct, without the initial one

    # Parts of the other folders, put here by their install()
    vfs: Files
    pidfds: PidFds
    seccomp_listeners: SeccompListeners
    drop_caches: Callable[[], None] | None = None  # what /proc/sys/vm/drop_caches asks for

    # -- control: what is yielded ------------------------------------------------------------------------------------
    # A Kernel puts its parts' own methods in the place of these, so that a verb costs no second call.

    def call(self, name: str, *args: int) -> Call:
        """`ret = yield k.call("name", ...)`: the CPU really calls that kernel function.  Must be yielded at once."""
        raise NotImplementedError

    def call_address(self, addr: int, *args: int) -> Call:
        """`ret = yield k.call_address(addr, ...)`: call through a function pointer."""
        return (addr, *args)

    def wait(
        self,
        queue: WaitQueue | tuple[WaitQueue, ...] | None,
        interruptible: bool = True,
        timeout_ns: int | None = None,
        exclusive: bool = False,
        killable: bool = False,
    ) -> Call:
        """`ret = yield k.wait(queue)`: sleep until woken; re-check your condition in a loop, as wait_event() does.

        Gives 0 (woken, perhaps spuriously), -ERESTARTSYS (a signal is pending) or -ETIME (timeout_ns passed).  If a
        signal is pending already it does not sleep at all.  `queue` None waits for a signal or the timeout alone.
        """
        raise NotImplementedError

    def wake(self, queue: WaitQueue) -> Call:
        """`yield k.wake(queue)`: wake by a real call of __wake_up, so that probes on that path see it."""
        raise NotImplementedError

    def wake_up(self, queue: WaitQueue, nr_exclusive: int = 1) -> int:
        """Wake all non-exclusive sleepers and at most `nr_exclusive` exclusive ones (0: all).  Callable from anywhere."""
        raise NotImplementedError

    # -- events ------------------------------------------------------------------------------------------------------

    def trace(self, name: str, *args: object) -> None:
        """Fire a tracepoint with the arguments of its TP_PROTO; nearly free when nothing listens."""
        raise NotImplementedError

    def printk(self, text: str, level: int = KERN_WARNING) -> None:
        """A line for the kernel log (dmesg), of a level from KERN_EMERG to KERN_DEBUG."""
        self.printk_emit(text.encode("utf-8", "surrogateescape"), level)

    def printk_emit(self, text: bytes, level: int, facility: int = LOG_KERN, finished: bool = True) -> None:
        """vprintk_emit(): a line of anybody's; one that is not finished shows with the next."""
        record = self.log.add(self.clock._now, text, level, facility, finished)
        console = self.tracepoints.points.get("console")
        if console is not None and console.active:
            told = text if not self.version.before(CONSOLE_EVENT_ALWAYS) else b""
            if not told and self.log.for_console(record):
                told = record.stamp() + text
            if told:
                address = self.mem.alloc(len(told))
                self.mem.write(address, told)
                console.fire(address, len(told))
                self.mem.free(address)
        wait = self.log.wait
        if wait.waiters or wait.on_wake:
            self.wake_up(wait, 0)

    # -- objects in kernel memory, rights ----------------------------------------------------------------------------

    def new(self, ctype: str) -> View:
        """kzalloc() of one C type: a View of zeroed kernel memory (`.addr` is its address)."""
        return View(self.mem, self.mem.alloc(self.types.sizeof(ctype)), self.types.type(ctype))

    def view(self, addr: int, ctype: str) -> View:
        """A View of the object of this C type at a kernel address."""
        return View(self.mem, addr, self.types.type(ctype))

    def capable(self, cap: int, opts: int = 0) -> bool:
        """True when the current task has this capability in the initial user namespace; `opts`: CAP_OPT_*."""
        if not self.has_capability(cap, opts):
            return False
        if self.current.flags & PF_SUPERPRIV and "capable" not in self.security_hooks.watched:
            return True  # as granted() would find, which bpf(2) asks a dozen times
        return self.granted(self.vfs.init_user_ns, cap, opts)

    def has_capability(self, cap: int, opts: int = 0) -> bool:
        """The same where nothing is done for it: security hooks are not asked, it is not noted."""
        has = self.holds(cap)
        if self.capable_watched:
            self.capable_seen(self.vfs.init_user_ns, cap, opts, has)
        return has

    def holds(self, cap: int) -> bool:
        """The current task has a capability where the machine asks for it, and nobody is told that somebody asked."""
        task = self.current
        return bool(task.cred.cap_effective >> cap & 1) and "user" not in task.namespaces

    def granted(self, ns: int, cap: int, opts: int = 0) -> bool:
        """A capability that the current task has is used, unless a security hook says no."""
        if "capable" in self.security_hooks.watched and not self.capable_asked(ns, cap, opts):
            return False
        self.privilege_used()
        return True

    def privilege_used(self) -> None:
        """The current task was allowed something for a capability that it has: PF_SUPERPRIV."""
        if not self.current.flags & PF_SUPERPRIV:
            self.mirror.change_flags(self.current, PF_SUPERPRIV)

    @property
    def capable_watched(self) -> bool:
        """Somebody may want to know what cap_capable() is asked."""
        return bool(self.text.probed) or self.tracepoints.point("cap_capable").active

    def capable_seen(self, ns: int, cap: int, opts: int, allowed: bool) -> None:
        """Who has a probe on cap_capable() sees it called before the system call returns."""
        if self.text.is_probed("cap_capable"):
            self.capable_calls.append((self.current, ns, cap, opts))
        else:
            self.capable_told(ns, cap, allowed)

    def capable_told(self, ns: int, cap: int, allowed: bool) -> None:
        """The tracepoint in cap_capable()."""
        self.trace("cap_capable", self.current.cred.addr, ns, ns, cap, 0 if allowed else -EPERM)

    def capable_asked(self, ns: int, cap: int, opts: int) -> bool:
        """security_capable() of what the current task has."""
        return not self.security_hooks.call("capable", (self.current.cred.addr, ns, cap, opts))
