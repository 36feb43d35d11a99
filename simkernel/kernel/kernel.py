"""`Kernel`: the machine's kernel.  Puts the pieces together at boot and runs the CPUs.

Execution of bodies is engine.py, the way in and out entry.py, scheduling sched.py, signals signal.py; this file builds
the kernel's text, makes tasks and their memory, and owns the loop that gives each simulated CPU its turn.
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Callable
from typing import Any

from arch import architecture
from arch.abi.errno import EIO, ENOSYS, ERESTARTSYS, ESRCH, ETIME
from arch.abi.mman import MAP_ANONYMOUS, MAP_PRIVATE, PROT_EXEC, PROT_READ
from arch.abi.version import KernelVersion
from arch.cpu import Cpu, Stop
from arch.ctype import TypeTable
from arch.errors import KernelError
from arch.memory import KernelMemory, PhysicalMemory
from arch.mmu import AddressSpace, UserMemory
from arch.symbols import Symbols
from arch.text import KernelText, user_code_page
from arch.unwind import walk_frames
from simkernel.kernel import kfunc
from simkernel.kernel.clock import Clock
from simkernel.kernel.engine import Engine, Inlined, result_converter
from simkernel.kernel.entry import entry_functions, syscall_symbol
from simkernel.kernel.face import KernelApi
from simkernel.kernel.irq import InterruptControl
from simkernel.kernel.mm import Frames, Mm
from simkernel.kernel.publish import Publisher
from simkernel.kernel.sched import RunQueue, Scheduler
from simkernel.kernel.signal import Signals
from simkernel.kernel.task import PF_IDLE, PF_KTHREAD, TASK_DEAD, Cred, SigInfo, SignalStruct, Task
from simkernel.kernel.waitqueue import WaitQueue

BODIES = (
    "calls.process",
    "sched",
    "signal",
    "exec",
    "entry",
    "calls.mm",
    "calls.time",
    "calls.ids",
    "calls.futex",
    "calls.system",
    "calls.old",
    "calls.rseq",
    "irq",
    "softirq",
    "locks",
    "security",
    "oom",
)

NS_PER_WORK = 1  # cost model: one unit of Cpu.work, about one instruction of user code
QUANTUM_NS = 200_000  # how long one CPU runs while others are busy too
MAX_QUANTUM_NS = 4_000_000  # and when it is alone: a timer tick


class Layout:
    """Borders of user address space."""

    def __init__(self, arch: Any) -> None:
        self.task_size: int = arch.map.user_end
        self.stack_top: int = arch.user_stack_top
        self.mmap_base: int = arch.mmap_base
        self.mmap_min = 0x10000


class NoTracepoint:
    """Stands for a tracepoint before tracing is there."""

    active = False

    def fire(self, *args: int) -> None:
        """Nobody listens."""


class Crash:
    """What is known of a user program that died of a signal."""

    def __init__(self, task: Task, info: SigInfo, registers: list[tuple[str, int]]) -> None:
        self.pid, self.comm = task.pid, task.comm
        self.signal = info.sig
        self.code = info.code
        self.address = info.addr
        self.registers = registers


class Kernel(Scheduler, Signals, Publisher, InterruptControl, KernelApi):
    """The kernel of one machine."""

    def __init__(
        self,
        arch: str = "x86_64",
        version: str | KernelVersion = "6.1",
        cpus: int = 1,
        memory: int = 256 << 20,
        seed: int = 0,
        hostname: str = "simkernel",
    ) -> None:
        self.arch = architecture.get(arch)
        self.version = KernelVersion.parse(version)
        self.abi = self.arch.syscall_abis[0]
        self.nr_cpus = cpus
        self.hostname = hostname
        self.seed = seed
        self.random = random.Random(seed)
        self.clock = Clock()
        self.physical = PhysicalMemory(memory)
        self.mem = KernelMemory(self.physical, self.arch.map, self.arch.byteorder)
        self.pages = Frames(self.physical)
        self.types = TypeTable(self.arch.model, self.version.key, arch)
        self.types.load_headers()
        self.symbols = Symbols()
        self.cpu = Cpu(self.arch, self.physical, self.mem, self.version.key)
        self.layout = Layout(self.arch)
        self.log: list[tuple[int, str]] = []
        self._init_state()
        self.init_interrupts()
        self._import_bodies()
        self._build_text()
        self._make_init_tasks()

    def _init_state(self) -> None:
        self.tasks: dict[int, Task] = {}
        self._by_addr: dict[int, Task] = {}
        self._pid = 0
        self.max_threads = self.physical.size // (
            8 * 16384
        )  # kernel/fork.c:set_max_threads(): an eighth of memory for stacks
        self.syscall_table: dict[int, tuple[int, int | None]] = {}
        self.syscall_counts: dict[int, int] = {}
        self.missing: dict[str, int] = {}
        self.syscall_events = False
        self.strace: Any = None
        self.tracing: Any = None
        self.tracepoints: dict[str, Any] = {}
        self.tracing_faults = False
        self.waking: WaitQueue | None = None
        self.delivering: SigInfo | None = None
        self.exec_request: Any = None
        self.bprms: list[Any] = []
        self.deadline = 0
        self.quantum_end = 0
        self.work_seen = 0
        self.nr_context_switches = 0
        self.nr_forks = 0
        self.nr_faults = 0
        self.frames: list[list[Any]] = []
        self.rq: RunQueue
        self.futexes: dict[Any, list[Any]] = {}
        self.mapping_file: Any = None
        self.shm_next = 0
        self.crashes: list[Crash] = []
        self.exit_hooks: list[Callable[[Task], None]] = []
        self._vdso_page: int | None = None
        self._scratch: int = self.mem.alloc(64)
        self._dead: list[Task] = []
        self.newborn_mm: Mm | None = None  # a child's, while fork copies breakpoints
        self.hooks: Any = None  # uprobes' view of address spaces
        self.user: Any = UserMemory(AddressSpace(self.physical, 0x1000, self.arch.byteorder))
        self.powered_off = False
        self.no_user = self.user
        self.wide = 0  # the last body's result in full, on 32-bit machines
        self._narrow = self.arch.word == 4
        self._offsets: dict[Any, Any] = {}

    def _import_bodies(self) -> None:
        for name in BODIES:
            importlib.import_module(f"simkernel.kernel.{name}")
        self.arch_signal = importlib.import_module(f"arch.{self.arch.name}.signal")

    # -- kernel text ---------------------------------------------------------------------------------------------

    def _build_text(self) -> None:
        """Lay out every function of this version; compile how each is entered."""
        self.engine = Engine(self)
        functions: dict[str, Any] = {}
        for function in entry_functions(self):
            functions[function.name] = (function, function.prototype, False)
        aliases: dict[str, str] = {}
        for function in kfunc.KERNEL_FUNCTIONS:
            if function.exists_in(self.version):
                symbol = self.arch.own_names.get(function.name) or function.name_in(self.version)
                aliases[function.name] = symbol
                functions.setdefault(symbol, (function, function.prototype, False))
        syscalls = {s.name: s for s in kfunc.SYSCALLS if s.exists_in(self.version) and s.name in self.abi.numbers}
        handlers: dict[str, str] = {}
        for name, call in syscalls.items():
            symbol, wrapped = syscall_symbol(self, name)
            handlers[name] = symbol
            functions[symbol] = (call, call.prototype, wrapped)
        names = sorted(functions)
        self.functions = functions
        self.text = KernelText(self.arch, self.mem, self.symbols, self.version.key)
        indices = self.text.add_functions(names)
        self.text.add_entry(self.cpu)
        self._compile(names, indices, functions)
        self._symbols = aliases
        self._canonical = {symbol: canonical for canonical, symbol in aliases.items()}
        self._probed: dict[str, int] = {}
        self._make_leaves()
        self._addresses = {canonical: self.text.address(symbol) for canonical, symbol in aliases.items()}
        for symbol in names:
            self._addresses.setdefault(symbol, self.text.address(symbol))
        self.switch_to_address = self.text.switch_to
        self.engine.converters[self._addresses["schedule"]] = self.finish_wait
        self.syscalls = syscalls
        for name, symbol in handlers.items():
            prototype = functions[symbol][1]
            wrapped = functions[symbol][2]
            count = None if wrapped else self.engine.words_of(prototype)
            self.syscall_table[self.abi.numbers[name]] = (self.text.address(symbol), count)
        self.syscall_symbols = handlers
        self.abi_names = self.abi.names
        self.orig_field = self.arch.trap_fields.get("orig") or self.abi.result
        self.syscall_insn_size = len(self.abi.insn)
        # Where user code leaves its arguments: the first may be kept under another name inside the kernel (orig_x0).
        self.user_arg_fields = tuple(
            self.abi.result if field == self.arch.trap_fields.get("orig") else field for field in self.abi.args
        )
        self.user_number_field = next(
            (row.field for row in self.cpu.layout.rows if row.register == self.abi.user_number), self.abi.number
        )

    def _compile(self, names: list[str], indices: list[int], functions: dict[str, Any]) -> None:
        """Functions are compiled when first entered: most functions of a kernel are never reached in one run."""
        by_index = dict(zip(indices, names))
        for name in names:
            ret = functions[name][1].ret
            converter = result_converter(ret, self.arch.word)
            if ret.size == 8 and self.arch.word == 4:
                converter = self.wide_result
            if converter is not None:
                self.engine.converters[self.text.address(name)] = converter

        def first(index: int, *args: int) -> Any:
            enter, count = self._compile_one(by_index[index])
            self.cpu.set_enter(index, enter, count)
            return enter(*args[:count])

        self.cpu.on_enter = first
        self.cpu.on_resume = self.engine.make_resume()
        self.cpu.on_switch = self._on_switch

    def _compile_one(self, name: str) -> tuple[Callable[..., Any], int]:
        """(enter, number of arguments it takes in registers)."""
        declared, prototype, wrapped = self.functions[name]
        generator = getattr(declared, "is_generator", True)
        if wrapped:
            return self.engine.compile_wrapper(prototype, declared.body, generator, name), 1
        count = min(self.engine.words_of(prototype), self.engine.register_arguments)
        return self.engine.compile(prototype, declared.body, generator, name), count

    # -- control -------------------------------------------------------------------------------------------------

    def call(self, name: str, *args: int) -> Any:
        leaf = self.leaves.get(name)
        if leaf is None:
            address = self._addresses.get(name)
            if address is None:
                return self._call_absent(name, args)
            if self._narrow:
                args = self.engine.split(self.functions[self._symbols.get(name, name)][1], args)
            return (address, *args)
        try:
            return leaf(*args)
        except TypeError:
            if len(args) == len(self.functions[self._symbols[name]][1].params):
                raise
            raise TypeError(f"{name}() called with {len(args)} arguments") from None

    def wide_result(self, register: int) -> int:
        """A 64-bit result on a 32-bit machine: what the body returned, unless a probe changed the register."""
        if self.wide & 0xFFFFFFFF == register & 0xFFFFFFFF:
            return self.wide
        return register - (1 << 32) if register >> 31 else register

    def _call_absent(self, name: str, args: tuple[int, ...]) -> Any:
        """A function that this version does not have as such: its body runs inside the caller."""
        declared = next((f for f in kfunc.KERNEL_FUNCTIONS if f.name == name), None)
        if declared is None:
            raise KeyError(f"no kernel function {name}")
        if declared.is_generator:
            return Inlined(declared.body(self, *args))
        leaf = self.leaves[name] = self.engine.compile_leaf(declared.prototype, declared.body)
        return leaf(*args)

    def _make_leaves(self) -> None:
        """Plain functions that a body may call without the CPU, as a compiler inlines them; see set_probed()."""
        self.all_leaves = {
            canonical: self.engine.compile_leaf(self.functions[symbol][1], self.functions[symbol][0].body)
            for canonical, symbol in self._symbols.items()
            if not self.functions[symbol][0].is_generator and not self.functions[symbol][2]
        }
        self.leaves = dict(self.all_leaves)

    def is_probed(self, name: str) -> bool:
        """A probe sits in this function (by its canonical name)."""
        return bool(self._probed) and bool(self._probed.get(self._symbols[name]))

    def set_probed(self, addr: int, probed: bool) -> None:
        """A function with a probe is really called, so that the probe is hit."""
        found = self.symbols.lookup(addr)
        if found is None:
            return
        name = self._canonical.get(found[0])
        count = self._probed.get(found[0], 0) + (1 if probed else -1)
        self._probed[found[0]] = count
        if name in self.all_leaves:
            if count:
                self.leaves.pop(name, None)
            else:
                self.leaves[name] = self.all_leaves[name]

    def call_address(self, addr: int, *args: int) -> Any:
        return (addr, *args)

    def address_of(self, name: str) -> int:
        """Address of a kernel function by its canonical name."""
        return self._addresses[name]

    def wait(
        self,
        queue: Any,
        interruptible: bool = True,
        timeout_ns: int | None = None,
        exclusive: bool = False,
        killable: bool = False,
    ) -> Any:
        if (interruptible and self.has_signal(self.current)) or (killable and self.fatal_pending()):
            return -ERESTARTSYS
        if timeout_ns is not None and timeout_ns <= 0:
            return -ETIME
        queues = () if queue is None else queue if isinstance(queue, tuple) else (queue,)
        self.begin_wait(queues, interruptible, timeout_ns, exclusive, killable)
        return (self._addresses["schedule"],)

    def fatal_pending(self) -> bool:
        """fatal_signal_pending() of the current task."""
        task = self.current
        return task.signal.group_exiting or any(i.sig == 9 for i in (*task.pending, *task.signal.pending))

    def wake_up(self, queue: WaitQueue, nr_exclusive: int = 1) -> int:
        count = 0
        for fn in list(queue.on_wake):
            fn()
        for task, exclusive in list(queue.waiters):
            if self.activate(task, 0):
                count += 1
                if exclusive:
                    nr_exclusive -= 1
                    if not nr_exclusive:
                        break
        return count

    def wake_task(self, task: Task) -> None:
        """wake_up_process()."""
        self.activate(task, 0)

    @property
    def total_ram_pages(self) -> int:
        """MemTotal."""
        return self.physical.nr_pages

    @property
    def free_ram_pages(self) -> int:
        """MemFree."""
        return self.physical.free_pages

    def wake(self, queue: WaitQueue) -> Any:
        if not queue.waiters and not queue.on_wake:
            return 0
        self.waking = queue
        return (self._addresses["__wake_up"], queue.addr, 3, 1, 0)

    def check(self, value: int) -> int:
        """IS_ERR(): raise for an error pointer or a negative result."""
        limit = 1 << (8 * self.arch.word)
        if value < 0:
            raise KernelError(-value)
        if value > limit - 4096:
            raise KernelError(limit - value)
        return value

    # -- tracing -------------------------------------------------------------------------------------------------

    def tracepoint(self, name: str) -> Any:
        """A tracepoint object with `.active` and `.fire(*args)`."""
        point = self.tracepoints.get(name)
        if point is None:
            point = self.tracepoints[name] = TracepointSlot(name)
        return point

    def trace(self, name: str, *args: Any) -> None:
        point = self.tracepoints.get(name)
        if point is not None and point.active:
            point.fire(*args)

    # -- running -------------------------------------------------------------------------------------------------

    def charge_user(self) -> None:
        """Move the clock by the user code executed since the last time."""
        work = self.cpu.work
        delta = work - self.work_seen
        if delta:
            self.work_seen = work
            ns = delta * NS_PER_WORK
            self.clock._now += ns // self.busy_cpus
            self.current.utime_ns += ns

    def set_deadline(self) -> None:
        """When the running CPU has to look at timers, its slice or its turn again."""
        self.deadline = min(self.clock.next_event_ns, self.rq.slice_end_ns, self.quantum_end)
        if self.clock._now >= self.quantum_end:
            self.cpu.stop()
            self.deadline = self.clock._now + QUANTUM_NS

    def run(self, until: Callable[[], bool], timeout_ns: int | None = None, host_check: Any = None) -> bool:
        """Run the machine until `until()`; False when virtual time runs out or nothing can ever happen again."""
        while not until():
            if timeout_ns is not None and self.clock._now >= timeout_ns:
                return False
            if host_check is not None and host_check():
                return False
            rq = self._next_cpu()
            if rq is None:
                if not self.clock.skip_to_next():
                    return False
                continue
            self._run_cpu(rq, timeout_ns)
        return True

    def _next_cpu(self) -> RunQueue | None:
        """Round robin over the CPUs that have something to do."""
        busy = [rq for rq in self.rqs if rq.busy]
        self.busy_cpus = max(len(busy), 1)
        if not busy:
            return None
        for rq in busy:
            if rq.cpu > self.last_cpu:
                return rq
        return busy[0]

    def _run_cpu(self, rq: RunQueue, timeout_ns: int | None) -> None:
        clock = self.clock
        self._enter_cpu(rq)
        quantum = QUANTUM_NS if self.busy_cpus > 1 else MAX_QUANTUM_NS
        self.quantum_end = clock._now + quantum
        if timeout_ns is not None:
            self.quantum_end = min(self.quantum_end, timeout_ns)
        self.deadline = min(clock.next_event_ns, rq.slice_end_ns, self.quantum_end)
        self.work_seen = self.cpu.work
        while True:
            budget = max((self.deadline - clock._now) * self.busy_cpus // NS_PER_WORK, 16)
            stop = self.cpu.run(budget)
            if stop is Stop.STOPPED:
                break
            self.charge_user()
            self.cpu.enter_timer()
            if clock._now >= self.quantum_end:
                self.quantum_end = clock._now  # the timer handler stops after its work
        self.last_cpu = rq.cpu
        self.account()

    def _enter_cpu(self, rq: RunQueue) -> None:
        """Make a simulated CPU the one that the emulator runs."""
        old = self.rq
        if old is not rq:
            self.cpu.save_context(old.context)
            self.rq = rq
            task = rq.current
            self.current, self.frames = task, task.frames
            self.cpu.load_context(rq.context)
            self.cpu.kernel_stack = task.stack + self.stack_size
            self._set_space(task)
        rq.last_ns = self.clock._now

    def _start_idle(self, rq: RunQueue) -> None:
        """The first context of a simulated CPU: its idle task at the start of do_idle()."""
        top = rq.idle.stack + self.stack_size
        self.cpu.kernel_stack = top
        self.cpu.start(self.address_of("do_idle"), top - 256)
        self.cpu.save_context(rq.context)

    def _set_space(self, task: Task) -> None:
        mm = task.mm
        if mm is not None:
            self.user = mm.user
            if self.cpu.address_space is not mm.space:
                self.cpu.set_address_space(mm.space)
        else:
            self.user = self.no_user

    def _on_switch(self) -> None:
        """The stack-switch routine: from rq.prev to rq.next."""
        rq = self.rq
        prev, following = rq.prev, rq.next
        cpu = self.cpu
        prev.ksp = cpu.switch_stack(following.ksp)
        if prev.mm is not None and prev.state != TASK_DEAD:
            cpu.save_user(prev.context)
        if following.mm is not None:
            cpu.load_user(following.context)
        self.current = rq.current = following
        self.frames = following.frames
        cpu.kernel_stack = following.stack + self.stack_size
        self._set_space(following)
        following.prev = prev
        if following.rseq:
            following.work = True
        self.store_current(rq, prev, following)

    def finish_switch(self) -> None:
        """Free what dead tasks left behind, now that no CPU stands on their stacks."""
        if self._dead:
            for task in [t for t in self._dead if t is not self.current and t.state == TASK_DEAD]:
                if any(rq.current is task for rq in self.rqs):
                    continue
                self._dead.remove(task)
                self._destroy(task)

    def _destroy(self, task: Task) -> None:
        for frame in task.frames:
            frame[2].close()
        task.frames.clear()
        if task.dead_space is not None:
            task.dead_space.destroy()
            task.dead_space = None
        if task.exit_state == 0x10:
            self.free_task_memory(task)

    # -- tasks ---------------------------------------------------------------------------------------------------

    def next_pid(self) -> int:
        """alloc_pid(): the next number, wrapping at 32768."""
        for _ in range(32768):
            self._pid = self._pid + 1 if self._pid < 32767 else 300
            if self._pid not in self.tasks:
                return self._pid
        raise KernelError(11)

    def new_task(self, pid: int, comm: str) -> Task:
        """A task with its struct task_struct and kernel stack, not yet visible to others."""
        task = Task(self, pid, comm)
        task.start_time_ns = self.clock._now
        self.alloc_task_memory(task)
        task.regs = task.stack + self.stack_size - self.cpu.layout.size - self.cpu.facts.frame_reserve
        task.context = self.cpu.new_context()
        self._by_addr[task.addr] = task
        return task

    def publish_task(self, task: Task) -> None:
        """Make a finished task findable."""
        self.tasks[task.pid] = task
        self.nr_forks += 1
        self.store_task(task)

    def forget_task(self, task: Task) -> None:
        """release_task(): nobody can find it any more."""
        self.tasks.pop(task.pid, None)
        self.unlink_task(task)
        if task.state == TASK_DEAD and not any(rq.current is task for rq in self.rqs):
            self._destroy(task)
            if task in self._dead:
                self._dead.remove(task)
        elif task not in self._dead:
            self._dead.append(task)

    def copy_user_context(self, child: Task, stack: int, tls: int | None) -> None:
        """copy_thread(): pt_regs, FP and thread registers of a forked task."""
        parent = self.current
        size = self.cpu.layout.size
        self.mem.write(child.regs, self.mem.read(parent.regs, size))
        self.regs_set(child.regs, self.abi.result, 0)
        if stack:
            self.regs_set(child.regs, self.arch.stack_pointer, stack)
        self._copy_thread_registers(child, tls)
        child.ksp = self.text.new_stack(child.stack + self.stack_size)
        child.forked = True
        child.syscall_nr = parent.syscall_nr

    def _copy_thread_registers(self, child: Task, tls: int | None) -> None:
        """FP, vector and thread registers of the running task become the child's; CLONE_SETTLS changes one of them."""
        self.cpu.save_user(child.context)
        if tls is None:
            return
        if self.arch.support.set_tls is not None:  # a descriptor in memory (i386): CLONE_SETTLS passes a user_desc
            child.context.tls = self.get_user(tls + 4, 4)
            return
        register = self.arch.support.tls_register
        row = next((r for r in self.cpu.layout.rows if r.register == register), None)
        if row is not None:  # the thread pointer is a general register (riscv)
            self.regs_set(child.regs, row.field, tls)
        else:
            child.context.tls = tls

    def start_thread(self, task: Task, entry: int, sp: int) -> None:
        """start_thread(): user registers of a new program."""
        number = self.regs_get(task.regs, self.abi.number)  # of the execve that is under way: sys_exit reports it
        self.mem.write(task.regs, bytes(self.cpu.layout.size))
        self.regs_set(task.regs, self.abi.number, number)
        for field, value in self.arch.support.user_mode_fields.items():
            self.regs_set(task.regs, field, value)
        mode = self.arch.entry_mode
        if mode is not None and entry & 1:  # ARM: an odd entry address is Thumb code
            self.regs_set(task.regs, mode[0], self.regs_get(task.regs, mode[0]) | mode[1])
            entry &= ~1
        self.regs_set(task.regs, self.arch.instruction_pointer, entry)
        self.regs_set(task.regs, self.arch.stack_pointer, sp)
        self.cpu.load_user(None)

    def make_kernel_thread(self, comm: str, body: Any, parent: Task | None = None) -> Task:
        """kthread_create(): `body` is a generator function of (k)."""
        task = self.new_task(self.next_pid(), comm)
        task.flags = PF_KTHREAD
        task.kthread = body
        task.tgid = task.pid
        task.signal = SignalStruct()
        task.signal.threads.append(task)
        task.parent = task.real_parent = parent or self.tasks.get(2) or self.idle
        task.parent.children.append(task)
        top = task.stack + self.stack_size
        task.ksp = self.text.new_stack(top, fn=self.address_of("kthread"), arg=task.addr)
        self.publish_cred(task)
        self.publish_task(task)
        return task

    def wake_new(self, task: Task) -> None:
        """wake_up_new_task() from the host's side."""
        rq = self.select_rq(task)
        task.cpu = rq.cpu
        self.enqueue(task, rq)
        self.trace("sched_wakeup_new", task.addr)

    def _make_init_tasks(self) -> None:
        self.last_cpu = -1
        self.busy_cpus = 1
        self.rqs: list[RunQueue] = []
        for cpu in range(self.nr_cpus):
            idle = self.new_task(0, f"swapper/{cpu}")
            idle.flags = PF_KTHREAD | PF_IDLE
            idle.cpu = cpu
            idle.signal.threads.append(idle)
            self.publish_cred(idle)
            self.store_task(idle)
            rq = RunQueue(cpu, idle)
            rq.context = self.cpu.new_context()
            self.rqs.append(rq)
        for rq in self.rqs:
            self._start_idle(rq)
        self.rq = self.rqs[0]
        self.cpu.load_context(self.rq.context)
        self.cpu.kernel_stack = self.rq.idle.stack + self.stack_size
        self.idle = self.current = self.rqs[0].idle
        self.frames = self.current.frames
        self._pid = 0
        init = self.make_kernel_thread("init", init_body, self.idle)
        init.flags = 0
        kthreadd = self.make_kernel_thread("kthreadd", sleep_forever, self.idle)
        for cpu in range(self.nr_cpus):
            for name in ("ksoftirqd", "migration"):
                self.wake_new(self.make_kernel_thread(f"{name}/{cpu}", sleep_forever, kthreadd))
        self.wake_new(init)
        self.wake_new(kthreadd)
        self._pid = max(self._pid, 99)
        self.init_task = init

    def task_at(self, addr: int) -> Task:
        task = self._by_addr.get(addr)
        if task is None:
            raise KernelError(ESRCH)
        return task

    def find_task(self, pid: int) -> Task | None:
        return self.tasks.get(pid)

    def reaper_of(self, task: Task) -> Task:
        """find_new_reaper(): the nearest child subreaper, or init."""
        parent = task.real_parent
        while parent is not None and parent.pid > 1:
            if parent.child_subreaper and not parent.exit_state:
                return parent
            parent = parent.real_parent
        return self.tasks[1]

    def take_identity(self, task: Task, leader: Task) -> None:
        """de_thread(): an exec'ing thread gets the leader's pid."""
        old = task.pid
        self.tasks.pop(old, None)
        parent = leader.parent
        if leader in parent.children:
            parent.children[parent.children.index(leader)] = task
        task.signal.threads.remove(leader)
        task.children, leader.children = leader.children + task.children, []
        for child in task.children:
            child.parent = child.real_parent = task
        self.unlink_task(leader)
        leader.exit_state = 0x10
        task.pid, leader.pid = leader.pid, old
        task.parent = task.real_parent = parent
        task.group_leader = leader.group_leader = task
        task.exit_signal = leader.exit_signal
        self.tasks[task.pid] = task
        self.store_task(task)
        if leader not in self._dead:
            self._dead.append(leader)

    def return_address(self) -> int:
        """__builtin_return_address(0) of the kernel function whose body runs: where its caller goes on."""
        row = self.cpu.layout.fields[self.arch.frame_pointer]
        return next(iter(walk_frames(self.arch, self.mem, self.cpu.read_reg(row.register or ""), 1)), 0)

    def is_err(self, value: int) -> bool:
        """IS_ERR() of a pointer result (or a negative int)."""
        return value < 0 or value > (1 << 8 * self.arch.word) - 4096

    def ptr_err(self, value: int) -> int:
        """PTR_ERR(): the negative errno."""
        return value if value < 0 else value - (1 << 8 * self.arch.word)

    # -- address spaces ------------------------------------------------------------------------------------------

    def new_mm(self) -> Mm:
        """An empty address space."""
        mm = Mm(self, AddressSpace(self.physical, self.layout.task_size, self.arch.byteorder))
        self._attach_mm(mm)
        return mm

    def _attach_mm(self, mm: Mm) -> None:
        mm.user = UserMemory(mm.space, mm.on_fault)
        mm.user.on_code_change = self.cpu.code_page_changed
        self.alloc_mm_memory(mm)

    def dup_mm(self, old: Mm) -> Mm:
        """fork: a copy-on-write copy."""
        mm = old.dup(AddressSpace(self.physical, self.layout.task_size, self.arch.byteorder))
        self._attach_mm(mm)
        if self.hooks is not None:
            self.newborn_mm = mm  # no task has it yet
            self.hooks.dup_mm(old, mm)
            self.newborn_mm = None
        return mm

    def set_mm(self, task: Task, mm: Mm | None) -> None:
        """task->mm."""
        task.mm = mm
        task.user = mm.user if mm is not None else None
        self.set_field(task.addr, "task_struct", "mm", mm.addr if mm is not None else 0)
        self.set_field(task.addr, "task_struct", "active_mm", mm.addr if mm is not None else 0)

    def drop_mm(self, task: Task) -> None:
        """mmput(): the last user frees the pages; the page tables go after the last switch away."""
        mm = task.mm
        assert mm is not None
        self.set_mm(task, None)
        self.user = self.no_user
        mm.users -= 1
        if mm.users:
            return
        task.signal.maxrss = max(task.signal.maxrss, mm.rss_peak, len(mm.pages))
        self._exit_mm(task, mm)

    def _exit_mm(self, task: Task, mm: Mm) -> None:
        if self.hooks is not None:
            self.hooks.exit_mm(mm)
        mm.release()
        self.free_mm_memory(mm)
        self.cpu.set_address_space(None)
        mm.space.destroy()

    def replace_mm(self, task: Task) -> None:
        """exec_mmap()."""
        old = task.mm
        mm = self.new_mm()
        self.set_mm(task, mm)
        self.user = mm.user
        self.cpu.set_address_space(mm.space)
        if old is not None:
            old.users -= 1
            if not old.users:
                if self.hooks is not None:
                    self.hooks.exit_mm(old)
                old.release()
                self.free_mm_memory(old)
                old.space.destroy()

    def mmap_changed(self, mm: Mm, vma: Any) -> None:
        """An area was mapped: uprobes may want to be in it."""
        if self.hooks is not None and vma.file is not None:
            self.hooks.mmap(mm, vma.start, vma.end, vma.file.inode, vma.pgoff * 4096)

    def munmap_notify(self, mm: Mm, start: int, end: int) -> None:
        """An area goes away."""
        if self.hooks is not None:
            self.hooks.munmap(mm, start, end)

    def count_fault(self, mm: Mm, addr: int, access: str) -> None:
        """Minor fault statistics."""
        self.nr_faults += 1
        self.current.min_flt += 1

    def shared_anonymous(self, size: int) -> Callable[..., int]:
        """Pages of a MAP_SHARED|MAP_ANONYMOUS area: the same for everyone who inherits it."""
        pages: dict[int, int] = {}

        def fault(k: Kernel, vma: Any, pgoff: int) -> int:
            if pgoff not in pages:
                pages[pgoff] = k.pages.alloc_page()
            return pages[pgoff]

        return fault

    def futex_wake(self, addr: int, count: int) -> int:
        """Wake sleepers of a user address (CLONE_CHILD_CLEARTID)."""
        from simkernel.kernel.calls import futex

        return futex.wake(self, futex.key_of(self, addr), count)

    def exit_robust_list(self, task: Task) -> Any:
        """exit_robust_list()."""
        from simkernel.kernel.calls import futex

        return futex.exit_robust_list(self, task)

    def cancel_itimers(self, task: Task) -> None:
        """exit_itimers()."""
        from simkernel.kernel.calls import time as timecalls

        timecalls.cancel_all(self, task)

    def read_timespec(self, addr: int) -> int:
        """A user timespec in nanoseconds.  EINVAL, EFAULT."""
        from simkernel.kernel.calls import time as timecalls

        return timecalls.read_timespec(self, addr)

    def rusage(self, utime_ns: int, stime_ns: int, pages: int, task: Task | None = None) -> bytes:
        """struct rusage."""
        word, order = self.arch.word, self.arch.byteorder
        values = [utime_ns // 10**9, utime_ns % 10**9 // 1000, stime_ns // 10**9, stime_ns % 10**9 // 1000]
        values += [pages * 4, 0, 0, 0, task.min_flt if task else 0, 0, 0, 0, 0, 0, 0, 0]
        values += [task.nvcsw if task else 0, task.nivcsw if task else 0]
        return b"".join(v.to_bytes(word, order) for v in values)

    def save_fp(self, address: int) -> None:
        """FP and vector registers into a signal frame: the CPU's own image where it has one, else kept here."""
        cpu: Any = self.cpu
        image = getattr(cpu, "fp_state", None)
        if image is not None:
            self.copy_to_user(address, image())
            return
        context = self.cpu.new_context()
        self.cpu.save_user(context)
        self.current.signal_contexts[address] = context

    def restore_fp(self, address: int) -> None:
        """And back, at rt_sigreturn."""
        cpu: Any = self.cpu
        if hasattr(cpu, "fp_state"):
            size = len(cpu.fp_state())
            cpu.set_fp_state(self.copy_from_user(address, size))
            return
        context = self.current.signal_contexts.pop(address, None)
        if context is not None:
            self.cpu.load_user(context)

    def altstack_bytes(self, task: Task) -> bytes:
        """stack_t of the task's alternate signal stack."""
        word, order = self.arch.word, self.arch.byteorder
        sp = self.regs_get(task.regs, self.arch.stack_pointer)
        flags = task.sas_flags & (1 << 31)
        if not task.sas_size:
            flags |= 2
        elif task.sas_sp < sp <= task.sas_sp + task.sas_size:
            flags |= 1
        head = task.sas_sp.to_bytes(word, order) + flags.to_bytes(4, order) + bytes(word - 4)
        return head + task.sas_size.to_bytes(word, order)

    def copy_from_user_string(self, addr: int, limit: int) -> bytes:
        """strncpy_from_user() that cuts instead of refusing."""
        out = bytearray()
        while len(out) < limit:
            byte = self.copy_from_user(addr + len(out), 1)
            if byte == b"\0":
                break
            out += byte
        return bytes(out)

    def store_task_prio(self, task: Task) -> None:
        """task->prio, static_prio, normal_prio, policy, rt_priority."""
        for name in ("prio", "static_prio", "normal_prio", "policy", "rt_priority"):
            self.set_field(task.addr, "task_struct", name, getattr(task, name))

    def clone_argument_order(self, *args: int) -> tuple[int, int, int, int, int]:
        """(flags, stack, parent_tid, child_tid, tls) of the architecture's clone()."""
        order = self.abi.clone_order
        found = dict(zip(order, args))
        return (
            found["flags"], found["stack"], found["parent_tid"], found["child_tid"], found["tls"],
        )  # fmt: skip

    def map_vdso(self, mm: Mm) -> int:
        """A page with the signal return trampoline; it is no ELF image, so AT_SYSINFO_EHDR is not given (0)."""
        if self._vdso_page is None:
            code = user_code_page(self.arch)
            self._vdso_page = self.pages.alloc_page() if code else 0
            if code:
                self.pages.write(self._vdso_page, code)
        page = self._vdso_page
        if page:
            mm.vdso = mm.map(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, name="[vdso]")
            vma = mm.find(mm.vdso)
            assert vma is not None
            vma.fault = lambda k, vma, pgoff: page
        return 0

    def vdso_address(self) -> int:
        """The signal return trampoline in the current address space."""
        assert self.current.mm is not None
        return self.current.mm.vdso

    # -- registers -----------------------------------------------------------------------------------------------

    def regs_get(self, regs: int, field: str) -> int:
        """One field of a struct pt_regs."""
        return int(self.cpu.layout.get(self.mem, regs, field))

    def regs_set(self, regs: int, field: str, value: int) -> None:
        """Store one field of a struct pt_regs (negative values as two's complement)."""
        self.cpu.layout.set(self.mem, regs, field, value & ((1 << 8 * self.arch.word) - 1))

    def signed_word(self, value: int) -> int:
        """A register value as a signed long."""
        bits = 8 * self.arch.word
        return value - (1 << bits) if value >> (bits - 1) else value

    def restart_number(self, regs: int) -> None:
        """Make the interrupted call a restart_syscall."""
        self.regs_set(regs, self.user_number_field, self.abi.numbers["restart_syscall"])
        ip = self.arch.instruction_pointer
        self.regs_set(regs, ip, self.regs_get(regs, ip) - self.syscall_insn_size)

    # -- system calls --------------------------------------------------------------------------------------------

    def missing_syscall(self, nr: int) -> int:
        """A call that does not exist here: counted."""
        name = self.abi_names.get(nr, str(nr))
        self.missing[name] = self.missing.get(name, 0) + 1
        return -ENOSYS

    def syscall_enter(self, regs: int, nr: int) -> int:
        """Observers of the way in: strace, sys_enter, syscalls:sys_enter_*."""
        if self.strace is not None:
            self.strace.enter(self.current, nr, regs)
        point = self.tracepoints["sys_enter"]
        if point.active:
            point.fire(regs, nr)
        return nr

    def syscall_exit(self, regs: int, nr: int, ret: int) -> None:
        """Observers of the way out."""
        point = self.tracepoints["sys_exit"]
        if point.active:
            point.fire(regs, ret)
        if self.strace is not None:
            self.strace.leave(self.current, nr, ret)

    def record_crash(self, task: Task, info: SigInfo) -> None:
        """Keep what a person wants to know of a program that a signal ends."""
        registers = [(name, self.regs_get(task.regs, field)) for name, field in self.arch.crash_registers]
        task.crash = Crash(task, info, registers)
        self.crashes.append(task.crash)

    def capable(self, cap: int) -> bool:
        return bool(self.current.cred.cap_effective >> cap & 1)

    def printk(self, text: str) -> None:
        self.log.append((self.clock._now, text))

    def scratch_string(self, text: bytes) -> int:
        """A short C string in kernel memory that lives until the next one."""
        self.mem.write(self._scratch, text[:63] + b"\0")
        return self._scratch


class TracepointSlot(NoTracepoint):
    """A tracepoint's place: tracing puts its own object's `active` and `fire` behind it."""

    __slots__ = ("active", "fire", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.active = False
        self.fire = super().fire  # type: ignore[method-assign]


def sleep_forever(k: Kernel) -> Any:
    """A kernel thread without work."""
    while True:
        yield k.wait(None, interruptible=False)


def init_body(k: Kernel) -> Any:
    """pid 1: adopts orphans and reaps them."""
    from simkernel.kernel.calls.process import WaitRequest

    task = k.current
    while True:
        zombies = [c for c in task.children if c.exit_state == 0x20 and len(c.signal.threads) == 1]
        for child in zombies:
            if child.watched:
                continue
            task.wait_request = WaitRequest("pid", child.pid, 4 | 0x40000000)
            yield k.call("do_wait", 0)
        yield k.wait(task.signal.wait_chldexit, interruptible=False)


__all__ = ["EIO", "Cred", "Kernel"]
