"""`Kernel`: the board of one machine.  It makes the parts at boot and connects them; what they do is in their modules.

text.py            functions of this version, calls between them      engine.py runs their bodies
cpus.py            run queues, waking and sleeping, the run loop      sched.py has the kernel functions
tasks.py           all tasks by number and address                    threads.py: stacks, registers, kernel threads
address_spaces.py  memory maps (mm.py) of tasks                       mirror.py: the structures that programs see
signals.py         sending and taking                                 sigframes.py: frames of handlers
syscalls.py        the table and its watchers                         calls/ has the calls themselves
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Iterable
from functools import partial

from arch import architecture
from arch.abi.version import KernelVersion
from arch.architecture import DEFAULT
from arch.cpu import Cpu
from arch.memory import KernelMemory, PhysicalMemory
from arch.symbols import Symbols
from arch.typecache import shared_types
from simkernel.block.face import BlockKernel
from simkernel.ipc.face import IpcKernel
from simkernel.kernel.address_spaces import AddressSpaces
from simkernel.kernel.banner import say_at_boot
from simkernel.kernel.clock import Clock
from simkernel.kernel.cpus import Cpus
from simkernel.kernel.engine import Engine
from simkernel.kernel.entry import entry_functions, on_the_way
from simkernel.kernel.exec_state import ExecState
from simkernel.kernel.face import SecurityHooks
from simkernel.kernel.faults import FaultsInPlace
from simkernel.kernel.hrtimers import HrTimers
from simkernel.kernel.hw_breakpoint import HwBreakpoints
from simkernel.kernel.init import init_body, sleep_forever
from simkernel.kernel.interrupts import Interrupts, Softirqs
from simkernel.kernel.jiffies import Jiffies
from simkernel.kernel.jitter import Jitter
from simkernel.kernel.mirror import Mirror
from simkernel.kernel.objects import Objects
from simkernel.kernel.oops import Oopses
from simkernel.kernel.printk import KernelLog
from simkernel.kernel.registers import Registers
from simkernel.kernel.shortcuts import ROWS, Shortcuts
from simkernel.kernel.sigframes import SignalFrames
from simkernel.kernel.signals import Signals
from simkernel.kernel.softirq import TIMER_SOFTIRQ
from simkernel.kernel.statics import Statics
from simkernel.kernel.syscalls import Syscalls
from simkernel.kernel.tasks import Tasks
from simkernel.kernel.text import Text
from simkernel.kernel.threads import Threads
from simkernel.kernel.timers import Timers
from simkernel.kernel.tracepoints import Tracepoints
from simkernel.kernel.user import Users
from simkernel.kernel.usercopy import UserCopy
from simkernel.observe.face import WatchedKernel
from simkernel.observe.host import Host

# Modules of kernel functions and system calls: importing one declares what is in it.
BODIES = (
    "calls.fork", "calls.exit", "calls.wait", "calls.process", "calls.exec", "calls.signal", "calls.mm", "calls.mseal", "calls.time", "calls.time64", "calls.cpu_clocks", "calls.itimer", "calls.sched", "calls.mlock", "calls.mempolicy", "seccomp", "ptrace.stops", "ptrace.requests", "calls.kcmp", "calls.process_mm", "calls.limits", "calls.ioprio", "calls.adjtimex", "calls.membarrier",
    "calls.ids", "calls.futex", "calls.futex2", "calls.lsm", "calls.system", "calls.syslog", "calls.prctl", "calls.old", "calls.x86", "calls.ldt", "keys.calls", "calls.rseq", "binfmt_elf", "sched", "entry", "irq",
    "softirq", "timer", "locks", "security", "oom", "memory_failure",
)  # fmt: skip
DEFAULT_MEMORY = 256 << 20  # bytes
STACKS_SHARE = 8  # kernel/fork.c:set_max_threads(): an eighth of memory for stacks


def interrupted(k: Kernel, regs: int) -> int:
    """Registers as an exception in the running kernel function finds them: of them only where it is, and who runs."""
    frames = k.cpus.frames
    k.regs.set(regs, k.arch.instruction_pointer, k.text.image.address(frames[-1][3]) if frames else 0)
    return regs


class Kernel(WatchedKernel, BlockKernel, IpcKernel):
    """The kernel of one machine."""

    observer: Host  # tracing and BPF, put here by simkernel.observe.install()

    def __init__(
        self,
        arch: str = DEFAULT,
        version: str | KernelVersion = "6.1",
        cpus: int = 1,
        memory: int = DEFAULT_MEMORY,
        seed: int = 0,
        hostname: str = "simkernel",
        config: Iterable[str] = (),
    ) -> None:
        for name in BODIES:
            importlib.import_module(f"simkernel.kernel.{name}")
        self.arch = architecture.get(arch)
        self.abi = self.arch.syscall_abis[0]
        self.version = KernelVersion.parse(version)
        self.nr_cpus = cpus
        self.hostname = hostname
        self.config = frozenset(config)
        self.seed = seed
        self.random = random.Random(seed)
        self.physical = PhysicalMemory(memory)
        self.mem = KernelMemory(self.physical, self.arch.map, self.arch.byteorder)
        self.types = shared_types(self.arch, self.version)
        self.symbols = Symbols()
        self.log = KernelLog()
        self.security_hooks = SecurityHooks()
        self.futexes = {}
        self.user_namespaces = {}
        self.capable_calls = []
        self.pi_locks = {}
        self._make_parts()
        self._bind_verbs()
        self._start()

    def _make_parts(self) -> None:
        arch, abi, mem, types = self.arch, self.abi, self.mem, self.types
        cpu = self.cpu = Cpu(arch, self.physical, mem, self.version)
        clock = self.clock = Clock()
        tracepoints = self.tracepoints = Tracepoints()
        mirror = self.mirror = Mirror(arch, self.version, types, mem, self.nr_cpus)
        statics = Statics(self.symbols, types, mem)
        mirror.static = statics.address
        usercopy = self.usercopy = UserCopy(mem, arch.byteorder)
        mm = self.mm = AddressSpaces(self, arch, self.physical, mem, mirror, usercopy, cpu, tracepoints)
        usercopy.user = mm.no_user
        self.objects = mm.page_events.objects = Objects(mem, mirror, self.symbols, tracepoints)
        users = self.users = Users(self.physical.charge)
        jiffies = Jiffies(arch, mem, self.symbols)
        regs = self.regs = Registers(arch, abi, cpu.layout, mem)
        cpus = self.cpus = Cpus(self, cpu, clock, mirror, usercopy, tracepoints, jiffies, mm.no_user)
        text = self.text = Text(Engine(self, arch, abi, cpu, cpus), arch, self.version, mem, self.symbols, cpu)
        max_threads = self.physical.size // (STACKS_SHARE * self.arch.map.stack_size)
        tasks = self.tasks = Tasks(self, arch, clock, mirror, max_threads)
        self.threads = Threads(self, cpu, cpus, tasks, text, regs, mirror, usercopy)
        self.signals = Signals(self, arch, mem, types, cpus, tasks, tracepoints, users, self.objects)
        self.sigframes = SignalFrames(self, arch, cpu, regs, usercopy, self.signals, mm)
        self.hw_breakpoints = HwBreakpoints(self, arch, cpu)
        tasks.exit_hooks.append(self.hw_breakpoints.flush)
        self.syscalls = Syscalls(self, arch, abi, self.version, tracepoints)
        if self.seed:
            cpus.jitter = Jitter(self.seed)
        self.irqs = Interrupts(self.nr_cpus, cpus, mem, types)
        self.softirqs = Softirqs(self.nr_cpus, cpus, self.irqs, tracepoints)
        self.hrtimers = cpus.hrtimers = HrTimers(mem, mirror, self.symbols, tracepoints, self.irqs.depth, cpus.id)
        self.timers = Timers(mem, types, clock, self.irqs, tracepoints, text, not self.version.at_least("4.15"))
        self.softirqs.actions[TIMER_SOFTIRQ] = "run_timer_softirq"
        self.exec = ExecState()
        self.oopses = Oopses(self)
        self.cpus.on_bug, self.cpus.on_stop = self.oopses.caught, self.oopses.stopped

    def _bind_verbs(self) -> None:
        self.call = self.text.call  # type: ignore[method-assign]
        self.wait = self.cpus.wait  # type: ignore[method-assign]
        self.wake = self.cpus.wake  # type: ignore[method-assign]
        self.wake_up = self.cpus.wake_up  # type: ignore[method-assign]
        self.trace = self.tracepoints.trace  # type: ignore[method-assign]

    def _start(self) -> None:
        """Lay out the text, then the first tasks."""
        text, cpus = self.text, self.cpus
        say_at_boot(self)
        text.build(entry_functions(self), self.syscalls)
        base = self.mem.map.text_base
        for name, address in (
            ("_text", base),
            ("_stext", base),
            ("_etext", base + self.mem.map.text_size),
        ):  # vmlinux.lds.S
            self.symbols.add(name, address, 0)
        cpus.schedule_address, cpus.wake_up_address = text.address_of("schedule"), text.address_of("__wake_up")
        cpus.switch_address = text.image.switch_to
        text.engine.converters[cpus.schedule_address] = cpus.finish_wait
        self.mm.page_events.interrupted = partial(interrupted, self, self.mem.alloc(self.cpu.layout.size))
        idle = self.threads.make_idle(self.nr_cpus)
        self.tasks.idle = idle[0]
        self.mirror.init_task = idle[0].addr
        self.symbols.add("init_task", idle[0].addr, self.types.sizeof("struct task_struct"), "D")
        cpus.start(idle, text.address_of("do_idle"))
        way = on_the_way(self)
        self.shortcuts = Shortcuts(self.cpu, cpus, self.clock, text, self.syscalls, self.tracepoints, way)
        self.shortcuts.add(ROWS)
        self.faults = FaultsInPlace(self, self.cpu, cpus, self.mm, text, self.tracepoints)
        self.threads.make_init_tasks(self.nr_cpus, partial(init_body, self), partial(sleep_forever, self))
