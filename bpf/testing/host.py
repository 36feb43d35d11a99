"""A machine just big enough for BPF: memory, a clock, one task, descriptors.  For tests and for case files.

Nothing is attached to anything here; programs are run by BPF_PROG_TEST_RUN or by calling them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache

from arch import architecture
from arch.abi.errno import EBADF, EINVAL, EMFILE, ENOENT, EOPNOTSUPP, ESRCH
from arch.abi.time import INITIAL_JIFFIES, TICK_NSEC
from arch.abi.version import NEWEST, KernelVersion
from arch.architecture import by_model
from arch.errors import Fault, KernelError
from arch.memory import ByteOrder, FlatMemory
from arch.native import Block, Word
from arch.typetable import kernel_types
from bpf.board import Bpf
from bpf.btf import Btf
from bpf.face import (
    AttachRequest,
    Cgroup,
    FdObject,
    FunctionsAttach,
    FunctionsAttached,
    Link,
    NetNamespace,
    ProbedFile,
    Prog,
    RawTracepointAttach,
    XdpAttach,
)
from bpf.layout import KernelLayout, layout_of
from bpf.perf_face import PerfEvent, PerfEventInfo
from bpf.syscall.sys_bpf import bpf_from_kernel
from tracing.face import SymbolTable

MAX_FDS = 1024
KERNEL_MEMORY = {8: 0xFFFF888000000000, 4: 0xC0000000}  # where it begins, by word size


@cache
def kernel_layout(version: KernelVersion, arch: str) -> KernelLayout:
    """Of the kernel that a test host stands for."""
    return layout_of(kernel_types(architecture.get(arch), version))


class TestTimer:
    """A timer of the test host; fires when the test says how late it is."""

    __test__ = False

    def __init__(self, at_ns: int, callback: Callable[[], None]) -> None:
        self.at_ns, self.callback, self.live = at_ns, callback, True

    def cancel(self) -> None:
        self.live = False


class TestEvent:
    """A perf event of the test host: a counter of that type and configuration on one CPU."""

    __test__ = False

    def __init__(self, type_: int, config: int, cpu: int = 0) -> None:
        self.type, self.config, self.cpu = type_, config, cpu
        self.type_told = type_

    native_words = 0

    @property
    def attr(self) -> TestEvent:
        return self


class TestHost:
    """A BpfHost over a FlatMemory."""

    __test__ = False

    def __init__(
        self,
        version: KernelVersion | str = NEWEST,
        *,
        nr_cpus: int = 1,
        memory_size: int = 1 << 22,
        byteorder: ByteOrder = "little",
        seed: int = 0,
        arch: str = "",
        config: frozenset[str] = frozenset(),
    ) -> None:
        """`arch`: programs are checked and structures laid out as on that machine; else as on x86-64."""
        self.arch = architecture.get(arch) if arch else None
        word = self.arch.word if self.arch else 8
        byteorder = self.arch.byteorder if self.arch else byteorder
        self.version = KernelVersion.parse(version)
        self.version_code = self.version.code
        self.config = config
        self.mem = FlatMemory(KERNEL_MEMORY[word], memory_size, byteorder)
        self.block = Block(self.mem.host_address, self.mem.base, self.mem.size)
        self.user = FlatMemory(0x10000, 1 << 20, byteorder)
        self.ram_bytes = memory_size
        self.nr_cpus = nr_cpus
        self.cpu = 0
        self.random = random.Random(seed)
        self.jiffies = self.mem.alloc(8)  # the variable: inlined bpf_jiffies64() reads it
        self.time_ns = 1_000_000_000
        self.pid, self.tgid, self.uid, self.gid, self.comm = 100, 100, 0, 0, "test"
        self.caps = {"sys_admin", "bpf", "perfmon", "net_admin", "sys_boot"}
        self.fds: dict[int, object] = {}
        self.fd_modes: dict[int, int] = {}
        self.printed: list[str] = []
        self.woken: list[Hashable] = []
        self.timers: list[TestTimer] = []
        self.attached: list[tuple[Prog, AttachRequest]] = []
        self.perf_samples: list[tuple[PerfEvent, bytes]] = []
        self.perf_room = 1 << 20  # samples that the buffers take
        self.signals: list[tuple[int, bool]] = []
        self.pins: dict[bytes, FdObject] = {}
        self.stack: list[int] = []
        self.raw_tracepoints = {"sys_enter", "sys_exit", "sched_switch"}
        self.symbols: SymbolTable = self
        self.vmlinux_btf: Btf | None = None
        self.structs = kernel_layout(self.version, arch or by_model(byteorder).name)
        self.unmapped_symbols = False  # every kernel symbol has some address
        self._task = 0
        self.bpf = Bpf(self)

    # ---- symbols ----
    def __iter__(self) -> Iterator[object]:
        return iter(())

    def lookup(self, addr: int) -> tuple[str, int, int] | None:
        return None

    def address(self, name: str) -> int | None:
        if name == "jiffies":
            return self.jiffies
        return 0xFFFFFFFF81000000 if self.unmapped_symbols else None

    # ---- where we are ----
    @property
    def cpu(self) -> int:
        """The CPU that runs, which tests set."""
        return self.block.words[Word.CPU]

    @cpu.setter
    def cpu(self, value: int) -> None:
        self.block.words[Word.CPU] = value

    def now_ns(self) -> int:
        return self.time_ns

    def clock_ns(self, clock: str) -> int:
        return self.time_ns

    @property
    def time_ns(self) -> int:
        """Virtual time, which tests set."""
        return self._time_ns

    @time_ns.setter
    def time_ns(self, value: int) -> None:
        self._time_ns = value
        self.mem.write_uint(self.jiffies, 8, self.jiffies64())

    def jiffies64(self) -> int:
        return INITIAL_JIFFIES + self._time_ns // TICK_NSEC

    def cpu_id(self) -> int:
        return self.cpu

    def build_id(self, ip: int) -> tuple[bytes, int] | None:
        return None

    def task_referenced(self, task: int) -> bool:
        return True

    @contextmanager
    def on_cpu(self, number: int) -> Iterator[None]:
        own, self.cpu = self.cpu, number
        try:
            yield
        finally:
            self.cpu = own

    def numa_node_id(self) -> int:
        return 0

    def random_u32(self) -> int:
        return self.random.getrandbits(32)

    def current_pid(self) -> int:
        return self.pid

    def current_tgid(self) -> int:
        return self.tgid

    def current_uid(self) -> int:
        return self.uid

    def current_gid(self) -> int:
        return self.gid

    def current_comm(self) -> str:
        return self.comm

    def current_task(self) -> Hashable:
        return self.pid

    def current_task_address(self) -> int:
        if not self._task:
            self._task = self.mem.alloc(16384)
        return self._task

    def task_address(self, pid: int) -> int | None:
        return self.current_task_address() if pid == self.pid else None

    def current_cgroup_id(self, ancestor_level: int | None = None) -> int:
        return 1

    def ns_pid_tgid(self, dev: int, ino: int) -> tuple[int, int] | None:
        return None

    def in_nmi(self) -> bool:
        return False

    def user_mode(self, regs: int) -> bool:
        return False

    def irq_flags(self) -> int:
        return 0

    def preempt_count(self) -> int:
        return 0

    def capable(self, capability: str) -> bool:
        return capability in self.caps

    def user_mem(self) -> FlatMemory:
        return self.user

    def user_mem_nofault(self) -> FlatMemory:
        return self.user

    def read_task_user(self, task: int, addr: int, size: int) -> bytes:
        return self.user.read(addr, size)

    def send_signal(self, signal: int, whole_process: bool) -> int:
        self.signals.append((signal, whole_process))
        return 0

    # ---- descriptors ----
    def attach_lsm_cgroup(self, symbol: str, place: int) -> Callable[[], None]:
        """No hook is called here."""
        raise KernelError(EOPNOTSUPP)

    def fd_install(self, obj: object, name: str, flags: int = 2) -> int:
        fd = next((n for n in range(3, MAX_FDS) if n not in self.fds), None)
        if fd is None:
            raise KernelError(EMFILE)
        self.fds[fd] = obj
        self.fd_modes[fd] = flags & 3
        return fd

    def fd_get(self, fd: int) -> object:
        if fd not in self.fds:
            raise KernelError(EBADF)
        return self.fds[fd]

    def fd_flags(self, fd: int) -> int:
        return self.fd_modes.get(fd, 2)

    def close(self, fd: int) -> None:
        obj = self.fds.pop(fd, None)
        if obj is None:
            raise KernelError(EBADF)
        if isinstance(obj, FdObject):
            obj.release()

    def task_fd(self, pid: int, fd: int) -> object:
        raise KernelError(ENOENT, "the only task is the current one")

    def fd_perf_event(self, fd: int) -> PerfEvent:
        found = self.fd_get(fd)
        if not isinstance(found, TestEvent):
            raise KernelError(EBADF)
        return found

    def fd_cgroup(self, fd: int) -> Cgroup:
        self.fd_get(fd)
        raise KernelError(EBADF, "no control groups here")

    @property
    def sockets(self) -> None:
        """There is no network."""

    @property
    def walks(self) -> None:
        """There is one task only."""

    def cgroup_parent(self, address: int) -> int:
        return 0

    def cgroup_by_id(self, number: int) -> Cgroup | None:
        """There are no control groups."""
        return None

    def pid_of_fd(self, fd: int) -> int:
        """There are no pidfds."""
        raise KernelError(EBADF)

    def probed_file(self, path: str | None, fd: int) -> ProbedFile:
        raise KernelError(ENOENT, "there are no files")

    def process_of_pid(self, pid: int) -> int:
        raise KernelError(ESRCH)

    def pid_of_process(self, process: int) -> int:
        return process

    def fd_netns(self, fd: int) -> NetNamespace:
        self.fd_get(fd)
        raise KernelError(EINVAL, "no namespaces here")

    def current_netns(self) -> NetNamespace:
        return NetNamespace(None, 0xF0000000, True)

    def fd_owner(self, fd: int, kind: str) -> int:
        self.fd_get(fd)
        return 0

    def bpffs_pin(self, path: int, obj: FdObject, name: str) -> None:
        self.pins[self._path(path)] = obj

    def token_refused(self, fd: int) -> KernelError:
        self.fd_get(fd)
        return KernelError(EINVAL, "not a bpffs")

    def bpffs_get(self, path: int, flags: int) -> object:
        found = self.pins.get(self._path(path))
        if found is None:
            raise KernelError(ENOENT)
        return found

    def _path(self, path: int) -> bytes:
        return self.user.read(path, 64).split(b"\0")[0]

    # ---- stacks ----
    def callchain(self, regs: int, *, user: bool, max_depth: int) -> list[int] | None:
        return [] if user else self.stack[:max_depth]

    def task_callchain(self, task: int, max_depth: int) -> list[int] | None:
        return self.stack[:max_depth]

    def is_user_task(self, task: int) -> bool:
        return True

    def task_pt_regs(self, task: int) -> int:
        return self.current_task_address() + 16384 - 168

    def override_return(self, regs: int, value: int) -> None:
        raise KernelError(EOPNOTSUPP)

    def find_vma(self, task: int, addr: int) -> int:
        return 0

    def d_path(self, path: int) -> bytes:
        raise KernelError(EOPNOTSUPP)

    # ---- output ----
    def trace_printk(self, text: str) -> None:
        self.printed.append(text)

    def perf_event_output(self, event: PerfEvent, regs: int, data: bytes) -> bool:
        if len(self.perf_samples) >= self.perf_room:
            return False
        self.perf_samples.append((event, data))
        return True

    def perf_event_read(self, event: PerfEvent) -> tuple[int, int, int]:
        return (0, 0, 0)

    def dump_stack(self) -> None:
        self.printed.append("<stack trace>")

    def pr(self, level: int, text: str) -> None:
        self.printed.append(text)

    def wake(self, key: Hashable) -> None:
        self.woken.append(key)

    def sleepers(self, key: Hashable) -> tuple[int, int]:
        return 0, 0

    def forget_sleepers(self, key: Hashable) -> None:
        pass

    def add_timer(self, delay_ns: int, callback: Callable[[], None]) -> TestTimer:
        timer = TestTimer(self.time_ns + delay_ns, callback)
        self.timers.append(timer)
        return timer

    def advance(self, delta_ns: int) -> None:
        """Let time pass and fire what is due."""
        self.time_ns += delta_ns
        due = [timer for timer in self.timers if timer.at_ns <= self.time_ns]
        self.timers = [timer for timer in self.timers if timer.at_ns > self.time_ns]
        for timer in sorted(due, key=lambda timer: timer.at_ns):
            if timer.live:
                timer.callback()

    def attach(self, prog: Prog, request: AttachRequest) -> Callable[[], None]:
        if isinstance(request, RawTracepointAttach) and request.name not in self.raw_tracepoints:
            raise KernelError(ENOENT)
        entry = (prog, request)
        self.attached.append(entry)
        return lambda: self.attached.remove(entry)

    def attach_functions(self, prog: Prog, request: FunctionsAttach) -> FunctionsAttached:
        return FunctionsAttached(self.attach(prog, request), lambda: 0)

    def xdp_replace(self, request: XdpAttach, prog: Prog) -> None:
        """No device has programs."""

    def iter_create(self, link: Link) -> FdObject:
        raise KernelError(EOPNOTSUPP, "no objects to iterate over")

    def sys_bpf(self, cmd: int, attr: int, size: int) -> int:
        return bpf_from_kernel(self.bpf, cmd, attr, size)

    def any_watched(self, names: Iterable[str]) -> bool:
        return False

    def around(self, name: str, args: tuple[int, ...], body: Callable[[], int]) -> int:
        return body()

    def tracepoint(self, name: str, *args: int) -> None:
        """Nobody listens."""

    def seq_write(self, seq: int, data: bytes) -> None:
        raise KernelError(EINVAL, "no struct seq_file here")

    def load_packet(self, skb: int, off: int, size: int) -> int:
        return -1

    def perf_event_query(self, obj: object) -> PerfEventInfo | None:
        return None

    def receive_frames(self, device: int, frames: list[bytes]) -> bool:
        return False

    def net_device(self, ifindex: int) -> int | None:
        return None

    def per_cpu_offset(self, cpu: int) -> int:
        return 0

    def sock_from_file(self, file: int) -> int:
        return 0

    def bpf_symbols_changed(self) -> None:
        """Nobody lists symbols here."""

    # ---- for tests: user memory ----
    def put(self, data: bytes) -> int:
        """Bytes into user memory; their address."""
        address = self.user.alloc(len(data))
        self.user.write(address, data)
        return address

    def is_kernel_text(self, addr: int) -> bool:
        return False

    def fault(self, addr: int) -> Fault:
        return Fault(addr)
