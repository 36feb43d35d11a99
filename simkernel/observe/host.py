"""The kernel as tracing and BPF see it: one object that satisfies `tracing.face.TraceHost` and `bpf.face.BpfHost`.

Everything here is a short answer from the kernel's own state.  The part for BPF's files and attachments is bpf.py's.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Iterable
from contextlib import AbstractContextManager, nullcontext

from arch.abi.errno import ENOENT
from arch.abi.time import INITIAL_JIFFIES, TICK_NSEC
from arch.ctype import FuncDecl
from arch.errors import Fault, KernelError
from arch.memory import Memory
from arch.mmu import UserMemory
from arch.native.handler import NativeHandler
from arch.native.slots import slot_address
from arch.probes import Probe
from arch.unwind import walk_kernel, walk_user
from bpf.board import Bpf
from simkernel.fs.proc_pid_nodes import namespace_of_task
from simkernel.kernel.calls.kcmp import PTRACE_MODE_ATTACH_REALCREDS, PTRACE_MODE_READ_REALCREDS, ptrace_may_access
from simkernel.kernel.clock import Event
from simkernel.kernel.kfunc import KernelFunction
from simkernel.kernel.syscalls import define_name
from simkernel.kernel.task import Task
from simkernel.kernel.tracepoints import TracepointSlot
from simkernel.observe.attach import Attachments
from simkernel.observe.bpf_side import BpfSide
from simkernel.observe.btf import KernelBtf, signature
from simkernel.observe.face import WatchedKernel
from simkernel.observe.frames import Frames
from simkernel.observe.iterators import Iterators
from simkernel.observe.multi import MultiProbes
from simkernel.observe.percpu import PerCpu
from simkernel.observe.sockets import Sockets
from simkernel.observe.tcx import DeviceHooks
from simkernel.observe.walks import KernelWalks
from simkernel.observe.within import ProbesWithin
from simkernel.observe.xdp import XdpPrograms
from tracing.face import (
    TRACE_FLAG_HARDIRQ,
    TRACE_FLAG_IRQS_OFF,
    TRACE_FLAG_NEED_RESCHED,
    TRACE_FLAG_NMI,
    TRACE_FLAG_PREEMPT_RESCHED,
    TRACE_FLAG_SOFTIRQ,
    PerfCgroup,
    ProbeHandler,
    ReturnHandler,
)
from tracing.system import Tracing

# include/uapi/linux/capability.h, by the names that tracing and bpf use
CAPABILITIES = {"kill": 5, "net_admin": 12, "sys_ptrace": 19, "sys_admin": 21, "sys_boot": 22, "perfmon": 38, "bpf": 39}
NAMED_SINCE = {"perfmon": "5.8", "bpf": "5.8"}  # before, CAP_SYS_ADMIN was asked


class Host(BpfSide):
    """The kernel's side of tracing and BPF."""

    def __init__(self, k: WatchedKernel) -> None:
        self.k = k
        self.version = k.version
        self.release = k.version.release
        self.version_code = k.version.code
        self.config = k.config
        self.arch = k.arch
        self.mem = k.mem
        self.block = k.cpu.block
        self.symbols = k.symbols
        self.types = k.types
        self.nr_cpus: int = k.nr_cpus
        self.ram_bytes = k.mm.total_ram_pages * 4096
        self.layout = k.cpu.layout
        self.return_trampoline: int = k.text.image.kretprobe_trampoline
        self._probes: dict[tuple[int, ProbeHandler], Probe] = {}
        self._boundaries: dict[str, tuple[int, ...]] = {}
        self._text_start: int = k.mem.map.text_base
        self._text_end: int = k.mem.map.text_base + k.mem.map.text_size
        self._caller_regs = 0
        self._capabilities: dict[str, int] = {}  # numbers by name, once asked for
        self.frames = Frames(k)
        self._flags: ctypes.Array[ctypes.c_uint64] | None = None
        self.percpu = PerCpu(k)
        self.bpf = Bpf(self)
        self._loaded = {}
        self.iterators = Iterators(k, self.bpf)
        self.sockets = Sockets(k)
        self.xdp = XdpPrograms(k, self.bpf)
        self.device_hooks = DeviceHooks(k, self.bpf)
        self._need_resched = TRACE_FLAG_NEED_RESCHED | (
            TRACE_FLAG_PREEMPT_RESCHED if k.arch.traces.folded_resched else 0
        )

    def connect(self, tracing: Tracing) -> None:
        """Tracing is there: what is fired, traced and attached from now on goes to it."""
        self.tracing = tracing
        self.bpf.printk = tracing.native_printk
        self.bpf.active = tracing.running.active
        self.kernel_btf = KernelBtf(self.k, tracing, self.percpu)
        self.attachments = Attachments(self.k, self.bpf, tracing, self.override_return)
        self.within = ProbesWithin(self.k, self.bpf, tracing.kprobes)
        self.multi = MultiProbes(self.k, self.bpf, tracing)
        self.walks = KernelWalks(self.k)
        self.link_tracepoints()
        self.declare_syscalls()
        self.hook_perf()
        self.hook_sysctls()
        self.attachments.install()
        self.k.text.when_probed.append(self.within.probes_changed)
        self.k.vfs.more_symbols.append(self.program_symbols)

    # ---- where we are ----

    def now_ns(self) -> int:
        """CLOCK_MONOTONIC, which is also what the trace buffer is stamped with."""
        self.k.cpus.charge_user()
        return self.k.clock.now_ns

    def cpu_id(self) -> int:
        """smp_processor_id()."""
        return self.k.cpus.rq.cpu

    def task_referenced(self, task: int) -> bool:
        """refcount_read(&task->usage)."""
        return bool(self.k.view(task, "struct task_struct").usage.refs.counter)

    def on_cpu(self, number: int) -> AbstractContextManager[None]:
        """Nothing changes on the CPU that runs already."""
        return self.k.cpus.standing_in(number) if number != self.cpu_id() else nullcontext()

    def current_pid(self) -> int:
        """Of the thread."""
        return self.k.current.pid

    def current_tgid(self) -> int:
        """Of the process."""
        return self.k.current.tgid

    def current_comm(self) -> str:
        """current->comm."""
        return self.k.current.comm

    def current_uid(self) -> int:
        """The real uid."""
        return self.k.current.cred.uid

    def current_gid(self) -> int:
        """The real gid."""
        return self.k.current.cred.gid

    def current_task(self) -> Hashable:
        """The Task itself is the token."""
        return self.k.current

    def current_task_address(self) -> int:
        """Of the struct task_struct."""
        return self.k.current.addr

    def current_struct(self) -> int:
        """Of the struct task_struct."""
        return self.k.current.addr

    def constant_strings(self) -> dict[int, str]:
        """Of events that point to one."""
        return self.k.mirror.constants

    def constant_string(self, text: str) -> int:
        """Where such a string is."""
        return self.k.mirror.constant_string(text)

    def file_page(self) -> tuple[int, int, int]:
        """Of the page that comes to a file or leaves it now."""
        return self.k.mm.page_events.placed

    def mm_counter(self, mm: int, member: int) -> int:
        """Of the address space of some task; 0 where it is gone."""
        found = (task.mm for task in self.k.tasks.by_pid.values() if task.mm is not None and task.mm.addr == mm)
        return next((self.k.mm.page_events.count(each, member) for each in found), 0)

    def lru_page(self) -> tuple[int, int]:
        """Of the page that goes to an LRU list now."""
        return self.k.mm.page_events.inserted

    def find_task(self, pid: int) -> Hashable | None:
        """find_lively_task_by_vpid(): not one that has ended and is not waited for yet."""
        task = self.k.tasks.find(pid)
        return None if task is not None and task.exit_state else task

    def perf_cgroup(self, fd: int) -> PerfCgroup:
        """css_tryget_online_from_dir() of perf_event.  EBADF, ENOENT."""
        group = self.cgroup_of_file(self.k.vfs.fget(fd))
        if group.removed or not group.has_perf:
            raise KernelError(ENOENT, "no controller perf_event there")
        return group

    def perf_cgroup_id(self) -> int:
        """Of the nearest group above the running task that has the controller."""
        return next(group.id for group in self.k.vfs.cgroups.of(self.k.current).up() if group.has_perf)

    def namespace_files(self, task: Hashable) -> list[tuple[int, int]]:
        """perf_event_namespaces(): the inodes on nsfs, in the order of perf's indices."""
        assert isinstance(task, Task)
        found = [
            namespace_of_task(self.k.version, task, kind)
            for kind in ("net", "uts", "ipc", "pid", "user", "mnt", "cgroup")
        ]
        dev = self.k.vfs.namespaces.mnt.mnt_sb.s_dev
        return [(dev, namespace.ino) for namespace in found]

    def task_address(self, pid: int) -> int | None:
        """Of the struct task_struct with this pid."""
        task = self.k.tasks.find(pid)
        return None if task is None else task.addr

    def irq_flags(self) -> int:
        """What the latency columns of a trace show; what probes and tracepoints hold themselves, tracing adds."""
        k = self.k
        cpu = k.cpus.rq.cpu
        flags = self._need_resched if k.cpus.rq.need_resched else 0
        if k.irqs.depth[cpu]:
            flags |= TRACE_FLAG_HARDIRQ | TRACE_FLAG_IRQS_OFF
        if k.softirqs.depth[cpu]:
            flags |= TRACE_FLAG_SOFTIRQ
        if k.irqs.nmi[cpu]:
            flags |= TRACE_FLAG_NMI | TRACE_FLAG_IRQS_OFF
        return flags

    @property
    def native_flags(self) -> int:
        """Where native code finds what irq_flags() is made from."""
        if self._flags is None:
            k = self.k
            at = [ctypes.addressof(depth) for depth in (k.irqs.depth, k.softirqs.depth, k.irqs.nmi)]
            words = [id(True), self._need_resched]
            for rq in k.cpus.rqs:
                words += [slot_address(rq, "need_resched"), *(depth + 8 * rq.cpu for depth in at)]
            self._flags = (ctypes.c_uint64 * len(words))(*words)
        return ctypes.addressof(self._flags)

    def sock_cookie(self, sk: int) -> int:
        """The one that programs see, too."""
        return self.bpf.cookie_of(sk)

    def preempt_count(self) -> int:
        """Nobody holds anything when a tracepoint asks: what its callers hold, its row says."""
        return 0

    def user_mem(self) -> Memory | None:
        """None for a kernel thread."""
        return self.k.current.user

    def user_mem_nofault(self) -> Memory | None:
        """Without the pages that a fault would bring in."""
        user = self.k.current.user
        return user.nofault if isinstance(user, UserMemory) else user

    def may_watch(self, task: Hashable, change: bool) -> bool:
        """ptrace_may_access()."""
        assert isinstance(task, Task)
        return ptrace_may_access(self.k, task, PTRACE_MODE_ATTACH_REALCREDS if change else PTRACE_MODE_READ_REALCREDS)

    def capable(self, capability: str) -> bool:
        """By name; a version without that capability asks for CAP_SYS_ADMIN."""
        number = self._capabilities.get(capability)
        if number is None:
            named = self.k.version.at_least(NAMED_SINCE.get(capability))
            number = self._capabilities[capability] = CAPABILITIES[capability if named else "sys_admin"]
        return self.k.capable(number)

    # ---- kernel text ----

    def signature(self, function: str) -> FuncDecl | None:
        """As the kernel's BTF has it."""
        return signature(self.k, function) or self.kernel_btf.signature(function)

    def is_kernel_text(self, addr: int) -> bool:
        """core_kernel_text(), for what has a symbol."""
        return self._text_start <= addr < self._text_end and self.symbols.lookup(addr) is not None

    def boundaries(self, name: str) -> tuple[int, ...]:
        """Addresses of the instructions of a function."""
        found = self._boundaries.get(name)
        if found is None:
            start = self.symbols.address(name) or 0
            found = tuple(start + offset for offset in self.k.text.image.boundaries(name))
            self._boundaries[name] = found
        return found

    def probe_blacklist(self) -> Iterable[tuple[int, int, str]]:
        """Entry code and the return trampoline: probing them would trap inside the trap."""
        for symbol in self.symbols:
            declared = self.k.text.functions.get(self.k.text.symbol_of.get(symbol.name, symbol.name))
            if (
                symbol.kind in "tT"
                and symbol.size
                and (declared is None or (isinstance(declared.declared, KernelFunction) and declared.declared.notrace))
            ):
                yield symbol.address, symbol.end, symbol.name

    # ---- probes ----

    def arm(self, addr: int, handler: ProbeHandler, native: NativeHandler | None = None) -> None:
        """A hook on that instruction."""
        found = self.symbols.lookup(addr)
        offset = found[1] if found is not None else -1
        by_ftrace = self.arch.kprobe_by_ftrace(offset, self.version)
        ip_offset = self.arch.probe_ip_offset(offset, self.version)
        probe = self.k.cpu.add_probe(addr, handler, ip_offset, native=native, entry=by_ftrace)
        self._probes[addr, handler] = probe
        self.k.text.set_probed(addr, True)

    def aim(self, addr: int, handler: ProbeHandler, native: NativeHandler | None) -> None:
        """The hook stays, and calls something else."""
        self.k.cpu.aim_probe(self._probes[addr, handler], native)
        self.k.text.probes_changed()

    def disarm(self, addr: int, handler: ProbeHandler) -> None:
        """The hook goes."""
        self.k.cpu.remove_probe(self._probes.pop((addr, handler)))
        self.k.text.set_probed(addr, False)

    def task_number(self, task: Hashable) -> int:
        """A task is known to native code by its struct."""
        assert isinstance(task, Task)
        return task.addr

    def set_return_handler(self, handler: ReturnHandler, native: NativeHandler | None = None) -> None:
        """Whoever arrives at the trampoline goes on where the handler says."""
        ip, layout, mem = self.arch.instruction_pointer, self.layout, self.mem

        def returned(regs: int) -> None:
            real = handler(regs)
            layout.set(mem, regs, ip, real)

        self.k.cpu.add_probe(self.return_trampoline, returned, native=native)

    def override_return(self, regs: int, value: int) -> None:
        """regs_set_return_value() and override_function_with_return(): as if the function had returned at once."""
        layout, mem, arch = self.layout, self.mem, self.arch
        bits = (1 << 8 * arch.word) - 1
        address = arch.return_address(mem, regs, layout)
        layout.set(mem, regs, arch.return_value, value & bits)
        layout.set(mem, regs, arch.instruction_pointer, address)
        if arch.link_register is None:  # the return address is popped, as by a return instruction
            layout.set(mem, regs, arch.stack_pointer, layout.get(mem, regs, arch.stack_pointer) + arch.word)

    # ---- stacks ----

    def kernel_callchain(self, regs: int, max_depth: int, point: str = "") -> list[int]:
        """Return addresses from a struct pt_regs outwards, perhaps of a tracepoint; a return probe's trampoline reads as the real address."""
        out, trampolines = [], 0
        for address in walk_kernel(self.arch, self.mem, self.symbols, regs, self.layout, max_depth):
            if address == self.return_trampoline:
                real = self.tracing.kprobes.real_return_address(self.k.current, trampolines)
                trampolines += 1
                address = real if real is not None else address
            out.append(address)
        inner = self.frames.running(out[0]) if regs == self._caller_regs and out else []
        if point:
            at = self.frames.fired(point, [*inner, *out][0]) if inner or out else []
            return at + ([*inner[1:], *self.frames.shown(out, inner[-1])] if inner else self.frames.shown(out, 0)[1:])
        return inner + self.frames.shown(out, inner[-1] if inner else 0)

    def kernel_stack(self) -> list[int]:
        """The kernel stack of the running task here and now."""
        return self.kernel_callchain(self.caller_regs(), 127)

    def stack_trace(self, regs: int, point: str = "") -> list[int]:
        """Kernel return addresses from a probe's pt_regs, or from here."""
        if regs and self.user_mode(regs):
            return []
        return self.kernel_callchain(regs or self.caller_regs(), 127, point)

    def caller_of(self, function: int, parent: int, regs: int) -> int:
        """The return address that a real kernel would have where this one has `parent`, at a function's entry."""
        found = self.frames.between(self.frames.name(function), parent)
        return found[0] if found else (*self.stack_trace(regs)[1:], parent)[0]

    def frame(self, name: str) -> int:
        """An address in a function that is on a real kernel's stack only."""
        return self.frames.place(name)

    def caller_regs(self, unread: bool = False) -> int:
        """perf_fetch_caller_regs(): the CPU's registers now, in a struct pt_regs of this host's own."""
        if not self._caller_regs:
            self._caller_regs = self.mem.alloc(self.layout.size)
        if not unread:
            self.k.cpu.write_pt_regs(self._caller_regs)
        return self._caller_regs

    def user_regs(self, regs: int) -> int:
        """Of user code: what was interrupted, or the entry of the running task; 0 for a kernel thread."""
        task = self.k.current
        return 0 if task.user is None else regs if self.user_mode(regs) else task.regs

    def interrupt_regs(self) -> int:
        """Of what a timer's tick interrupted: the user's code, or else the kernel where it is now."""
        return self.k.cpus.irq_regs or self.caller_regs()

    def callchains(self, regs: int, limit: int, point: str = "") -> tuple[list[int], list[int]]:
        """Perf asks for (kernel, user) chains at once."""
        kernel = [] if self.user_mode(regs) else self.kernel_callchain(regs or self.caller_regs(), limit, point)
        return kernel, self.one_chain(regs, True, limit) or []

    def callchain(self, regs: int, *, user: bool, max_depth: int) -> list[int] | None:
        """BPF asks for one of them; None where there is none."""
        return self.one_chain(regs, user, max_depth)

    def one_chain(self, regs: int, user: bool, limit: int) -> list[int] | None:
        """Return addresses, innermost first, of the kernel's or the user's part of the stack."""
        if not user:
            return [] if self.user_mode(regs) else self.kernel_callchain(regs or self.caller_regs(), limit)
        task = self.k.current
        if task.user is None:
            return None
        where = regs if regs and self.user_mode(regs) else task.regs
        return list(walk_user(self.arch, self.mem, where, task.user, self.layout, limit))

    def user_mode(self, regs: int) -> bool:
        """A user task's frame at the bottom of its stack, or one whose ip lies below the user's limit."""
        if not regs:
            return False
        ip = self.layout.get(self.mem, regs, self.arch.instruction_pointer)
        return ip < self.k.mm.layout.task_size and not self.is_kernel_text(ip)

    # ---- waiting, time, messages ----

    def send_sigtrap(self, addr: int, data: int, kind: int) -> None:
        """perf_sigtrap()."""
        self.k.signals.send_perf(self.k.current, addr, data, kind)

    def wake(self, key: Hashable) -> None:
        """Those who sleep on a file's key."""
        self.k.wake_up(self.k.vfs.key_queue(key), 0)

    def sleepers(self, key: Hashable) -> tuple[int, int]:
        """Where native code finds who sleeps on a key, and who else is told."""
        queue = self.k.vfs.key_queue(key)
        return slot_address(queue, "waiters"), slot_address(queue, "on_wake")

    def forget_sleepers(self, key: Hashable) -> None:
        """The key's object is gone."""
        self.k.vfs.key_queues.pop(key, None)

    def spend(self, ns: int) -> None:
        """The clock goes on."""
        self.k.clock.advance(ns)

    def add_timer(self, delay_ns: int, callback: Callable[[], None]) -> Timer:
        """On the machine's clock, `delay_ns` from now."""
        return Timer(self.k, self.k.clock.add(self.now_ns() + delay_ns, callback))

    def pr(self, level: int, text: str) -> None:
        """A line of dmesg."""
        self.k.printk(text, level)

    def clock_ns(self, clock: str) -> int:
        """One of BPF's clocks, in ns; the coarse ones go by ticks."""
        now = self.now_ns()
        if clock in ("realtime", "tai"):
            return int(self.k.clock.realtime_ns)  # as clock_gettime(CLOCK_TAI): nobody has told of leap seconds
        return now - now % TICK_NSEC if clock.endswith("coarse") else now

    def jiffies64(self) -> int:
        """jiffies_64: ticks of 4 ms since INITIAL_JIFFIES."""
        return INITIAL_JIFFIES + self.now_ns() // TICK_NSEC

    def random_u32(self) -> int:
        """From the machine's seed."""
        return self.k.random.getrandbits(32)

    def numa_node_id(self) -> int:
        """There is one node."""
        return 0

    # ---- putting it together ----

    def link_tracepoints(self) -> None:
        """The kernel's places for tracepoints become tracing's."""
        k = self.k
        for name, slot in list(k.tracepoints.points.items()):
            point = self.tracing.tracepoints.get(name)
            if point is not None and isinstance(slot, TracepointSlot):
                point.followers.append(slot)
        k.tracepoints.points.update(self.tracing.tracepoints)

    def declare_syscalls(self) -> None:
        """sys_enter_* and sys_exit_* from the declared calls, by their names in SYSCALL_DEFINE (newstat, umount)."""
        calls = [
            (define_name(self.k.arch.word, name), [(param.ctype, param.name) for param in call.prototype.params])
            for name, call in sorted(self.k.syscalls.declared.items())
        ]
        numbers = {define_name(self.k.arch.word, name): number for name, number in self.k.abi.numbers.items()}
        self.tracing.declare_syscalls(calls, numbers)

    def perf_exit(self, task: Task) -> None:
        """A task is about to give up its memory."""
        self.tracing.perf.task_exit(task, task.addr)

    def task_exit(self, task: Task) -> None:
        """A task is gone."""
        self.tracing.task_exit(task)
        self.bpf.owner_gone(task.addr)

    def read_user(self, addr: int, size: int) -> bytes:
        """Bytes of the current task's memory; Fault."""
        user = self.k.current.user
        if user is None:
            raise Fault(addr)
        return user.read(addr, size)


class ObservedKernel(WatchedKernel):
    """A kernel whose observer is there: what system calls of tracing and BPF see."""

    observer: Host


class Timer:
    """An armed timer: cancel() is harmless when it has run."""

    def __init__(self, k: WatchedKernel, handle: Event) -> None:
        self.k, self.handle = k, handle

    def cancel(self) -> None:
        """Forget it."""
        self.k.clock.cancel(self.handle)
