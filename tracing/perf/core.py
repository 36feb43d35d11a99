"""perf events: perf_event_open(2), counting, sampling, the ring buffer, ioctls.  kernel/events/core.c.

`PerfCore.open()` takes the raw attribute bytes and gives a `PerfEvent`; the floor above wraps it in a file.  Tracepoint,
kprobe and uprobe events hang on the trace events of this package; software events are counted when the kernel calls
`sw_event()`; the clocks sample on virtual time.

BPF stays above: `set_bpf_hook(event, fd, kind)` turns a program descriptor into an `AttachedProgram`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Protocol

from arch.abi.errno import (
    E2BIG,
    EACCES,
    EBADF,
    EEXIST,
    EFAULT,
    EINVAL,
    ENOENT,
    ENOSPC,
    ENOTTY,
    EOPNOTSUPP,
    EPERM,
    ESRCH,
)
from arch.abi.limits import PAGE_SIZE
from arch.abi.mman import PROT_EXEC
from arch.abi.poll import EPOLLHUP
from arch.errors import Fault, KernelError
from tracing.perf import attr as pa
from tracing.perf.attr import PerfAttr
from tracing.perf.ring import HEADER_SIZE, HEADER_SIZE_5_12, PerfBuffer
from tracing.perf.sources import PerfSources
from tracing.probes.probe_events import KprobeEvent, ProbeEvent, UprobeEvent
from tracing.record.event import TraceEvent
from tracing.record.filter import FilterError, create_filter

if TYPE_CHECKING:
    from tracing.face import Mapping
    from tracing.system import Tracing

# enum perf_event_type
RECORD_MMAP, RECORD_LOST, RECORD_COMM, RECORD_EXIT, RECORD_THROTTLE, RECORD_UNTHROTTLE, RECORD_FORK = range(1, 8)
RECORD_SAMPLE, RECORD_MMAP2 = 9, 10
MISC_USER, MISC_MMAP_DATA = 2, 1 << 13
SIDE_BAND = ("mmap", "mmap2", "mmap_data", "comm", "task")  # flags that ask for records about tasks
MISC_KERNEL, MISC_USER = 1, 2
CONTEXT_KERNEL, CONTEXT_USER = -128 & (1 << 64) - 1, -512 & (1 << 64) - 1
MAX_STACK = 127
SAMPLE_RATE = 100_000  # perf_event_max_sample_rate
BPF_MAX_PROGS = 64
MIN_CLOCK_PERIOD_NS = 10_000

# ioctl numbers on the usual architectures
IOC_ENABLE, IOC_DISABLE, IOC_REFRESH, IOC_RESET, IOC_SET_OUTPUT = 0x2400, 0x2401, 0x2402, 0x2403, 0x2405
IOC_PERIOD, IOC_SET_FILTER, IOC_ID, IOC_SET_BPF = 0x40082404, 0x40082406, 0x80082407, 0x40042408
IOC_PAUSE_OUTPUT, IOC_QUERY_BPF, IOC_MODIFY_ATTRIBUTES = 0x40042409, 0xC008240A, 0x4008240B
IOC_FLAG_GROUP = 1
# the same with 32-bit pointers in _IOW's size
IOC_32 = {0x40042406: IOC_SET_FILTER, 0x80042407: IOC_ID, 0xC004240A: IOC_QUERY_BPF, 0x4004240B: IOC_MODIFY_ATTRIBUTES}

# /sys/bus/event_source/devices/NAME/type
PMU_TYPES = {"software": 1, "tracepoint": 2, "breakpoint": 5, "kprobe": 6, "uprobe": 7}
PMU_FORMATS = {
    "kprobe": {"retprobe": "config:0"},
    "uprobe": {"retprobe": "config:0", "ref_ctr_offset": "config:32-63"},
}
PROBE_IS_RETPROBE = 1


class AttachedProgram(Protocol):
    """A program that the floor above attached.  `run(ctx)`; `release()` drops its reference."""

    id: int

    def run(self, ctx: int) -> int: ...
    def release(self) -> None: ...


# (event, program descriptor, "kprobe" | "uprobe" | "tracepoint" | "syscall" | "perf_event") -> program
SetBpfHook = Callable[["PerfEvent", int, str], AttachedProgram]


class PerfEvent:
    """struct perf_event."""

    def __init__(self, core: PerfCore, attr: PerfAttr, task: Hashable | None, cpu: int, event_id: int) -> None:
        self.core = core
        self.host = core.host
        self.attr = attr
        self.id = event_id
        self.tasks: set[Hashable] | None = None if task is None else {task}
        self.cpu = cpu
        self.enabled = not attr.disabled
        self.count = 0
        self.child_count = 0
        self.leader: PerfEvent = self
        self.siblings: list[PerfEvent] = []
        self.trace_event: TraceEvent | None = None
        self.local_event: ProbeEvent | None = None  # made for perf's own kprobe and uprobe types
        self.buffer: PerfBuffer | None = None
        self.owns_buffer = False
        self.mmap_count = 0
        self.filter: Any = None
        self.program: AttachedProgram | None = None
        self.output_to: list[PerfEvent] = []
        self.refcount = 1
        self.freed = False
        self.hangup = False
        self.waiters: tuple[str, int] = ("perf", event_id)
        self.period = attr.sample_period
        self.period_left = -self.period
        self.last_period = self.period
        self.event_limit = 0
        self.lost_samples = 0
        self.timer: Any = None
        self.time_mark = self.host.now_ns()
        self.time_enabled = 0
        self.time_running = 0
        self.clock_base = 0  # of the cpu-clock and task-clock counters
        self.overflow_hook: Callable[[PerfEvent, int], None] | None = None
        self.on_free: list[Callable[[], None]] = []

    # Where it counts

    @property
    def sampling(self) -> bool:
        return self.attr.sample_period != 0

    def wants_task(self, task: Hashable) -> bool:
        return self.tasks is None or task in self.tasks

    def wants_mm(self, mm: Hashable) -> bool:
        """For uprobes: is this address space one of those of interest?"""
        if self.tasks is None:
            return True
        mm_of_task = getattr(self.host, "mm_of_task", None)
        return mm_of_task is None or any(mm_of_task(task) == mm for task in self.tasks)

    def active(self) -> bool:
        """Scheduled in on this CPU now."""
        if not self.enabled or self.freed:
            return False
        if self.cpu >= 0 and self.cpu != self.host.cpu_id():
            return False
        return self.tasks is None or self.host.current_task() in self.tasks

    # Time: a task's event runs while the task does; the kernel says so through PerfCore.task_switch().

    def update_time(self) -> None:
        now = self.host.now_ns()
        if self.enabled and (
            self.tasks is None or self.core.running_task in self.tasks or not self.core.knows_switches
        ):
            self.time_enabled += now - self.time_mark
            self.time_running += now - self.time_mark
        self.time_mark = now

    def update(self) -> None:
        """pmu->read(): bring the clock counters up to date."""
        self.update_time()
        if self.attr.type == pa.TYPE_SOFTWARE and self.attr.config in (pa.SW_CPU_CLOCK, pa.SW_TASK_CLOCK):
            self.count = self.time_running - self.clock_base

    # Counting and sampling

    def swevent(self, nr: int, regs: int, raw: bytes | None = None, addr: int = 0, ip: int = 0) -> None:
        """perf_swevent_event(): count, and sample when a period is full."""
        self.count += nr
        if not self.sampling:
            return
        attr = self.attr
        if attr.sample_type & pa.SAMPLE_PERIOD and not attr.freq:
            self.overflow(regs, raw, addr, ip, nr)
            return
        if nr == 1 and self.period == 1 and not attr.freq:
            self.overflow(regs, raw, addr, ip, self.last_period)
            return
        self.period_left += nr
        while self.period_left >= 0:
            self.period_left -= max(1, self.period)
            self.overflow(regs, raw, addr, ip, self.last_period)

    def overflow(self, regs: int, raw: bytes | None, addr: int, ip: int, period: int) -> None:
        """__perf_event_overflow(): a perf_event program may drop it; REFRESH may end it."""
        if self.event_limit:
            self.event_limit -= 1
            if not self.event_limit:
                self.hangup = True
                self.disable()
        if self.program is not None and self.trace_event is None:
            if not self.core.run_overflow_program(self, regs, addr, period):
                return
        if self.overflow_hook is not None:
            self.overflow_hook(self, regs)
        self.output(self.sample(regs, raw, addr, ip, period))

    def bpf_output(self, data: bytes, regs: int = 0) -> None:
        """bpf_perf_event_output(): a sample with these bytes as raw data.  EINVAL, EOPNOTSUPP."""
        if self.attr.type != pa.TYPE_SOFTWARE or self.attr.config != pa.SW_BPF_OUTPUT:
            raise KernelError(EINVAL, "not a bpf-output event")
        if self.cpu != self.host.cpu_id() and self.cpu >= 0:
            raise KernelError(EOPNOTSUPP, "the event is on another CPU")
        if self.enabled:
            self.count += 0
            self.output(self.sample(regs, data, 0, 0, 0))

    def output(self, record: bytes) -> None:
        buffer = self.buffer
        if buffer is None:
            return
        if not buffer.write(record, self.lost_record):
            self.lost_samples += 1
            return
        if not self.attr.flag("watermark") and self.attr.wakeup:
            buffer.count_event(self.attr.wakeup)

    def lost_record(self, lost: int) -> bytes:
        trailer = self.sample_id()
        head = struct.pack(self.core.order + "IHHQQ", RECORD_LOST, 0, 24 + len(trailer), self.id, lost)
        return head + trailer

    def sample_id(self) -> bytes:
        """The trailer of records that are no samples (sample_id_all)."""
        attr = self.attr
        if not attr.flag("sample_id_all"):
            return b""
        host, order, kind = self.host, self.core.order, attr.sample_type
        out = b""
        if kind & pa.SAMPLE_TID:
            out += struct.pack(order + "II", host.current_tgid(), host.current_pid())
        if kind & pa.SAMPLE_TIME:
            out += struct.pack(order + "Q", self.time_of_sample())
        if kind & pa.SAMPLE_ID:
            out += struct.pack(order + "Q", self.id)
        if kind & pa.SAMPLE_STREAM_ID:
            out += struct.pack(order + "Q", self.id)
        if kind & pa.SAMPLE_CPU:
            out += struct.pack(order + "II", host.cpu_id(), 0)
        if kind & pa.SAMPLE_IDENTIFIER:
            out += struct.pack(order + "Q", self.id)
        return out

    def time_of_sample(self) -> int:
        return self.host.now_ns()

    def sample(self, regs: int, raw: bytes | None, addr: int, ip: int, period: int) -> bytes:
        """A PERF_RECORD_SAMPLE; perf_output_sample()."""
        kind, order, host = self.attr.sample_type, self.core.order, self.host
        if not ip and regs:
            ip = self.core.instruction_pointer(regs)
        out = b""
        if kind & pa.SAMPLE_IDENTIFIER:
            out += struct.pack(order + "Q", self.id)
        if kind & pa.SAMPLE_IP:
            out += struct.pack(order + "Q", ip)
        if kind & pa.SAMPLE_TID:
            out += struct.pack(order + "II", host.current_tgid(), host.current_pid())
        if kind & pa.SAMPLE_TIME:
            out += struct.pack(order + "Q", self.time_of_sample())
        if kind & pa.SAMPLE_ADDR:
            out += struct.pack(order + "Q", addr)
        if kind & pa.SAMPLE_ID:
            out += struct.pack(order + "Q", self.leader.id if self.attr.flag("inherit") else self.id)
        if kind & pa.SAMPLE_STREAM_ID:
            out += struct.pack(order + "Q", self.id)
        if kind & pa.SAMPLE_CPU:
            out += struct.pack(order + "II", host.cpu_id(), 0)
        if kind & pa.SAMPLE_PERIOD:
            out += struct.pack(order + "Q", period)
        if kind & pa.SAMPLE_READ:
            out += self.read_format()
        if kind & pa.SAMPLE_CALLCHAIN:
            out += self.callchain(regs)
        if kind & pa.SAMPLE_RAW:
            out += self.raw_field(raw or b"")
        out += self.sample_tail(regs)
        misc = MISC_USER if self.core.user_mode(ip) else MISC_KERNEL
        return struct.pack(order + "IHH", RECORD_SAMPLE, misc, 8 + len(out)) + out

    def sample_tail(self, regs: int) -> bytes:
        """What follows the raw data; branches and stack dumps are empty here, the rest zero."""
        kind, order = self.attr.sample_type, self.core.order
        out = b""
        if kind & pa.SAMPLE_BRANCH_STACK:
            out += struct.pack(order + "Q", 0)
        if kind & pa.SAMPLE_REGS_USER:
            out += struct.pack(order + "Q", 0)  # PERF_SAMPLE_REGS_ABI_NONE
        if kind & pa.SAMPLE_STACK_USER:
            out += struct.pack(order + "Q", 0)
        if kind & (pa.SAMPLE_WEIGHT | pa.SAMPLE_WEIGHT_STRUCT):
            out += struct.pack(order + "Q", 0)
        if kind & pa.SAMPLE_DATA_SRC:
            out += struct.pack(order + "Q", 0x5080021)  # PERF_MEM_NA
        if kind & pa.SAMPLE_TRANSACTION:
            out += struct.pack(order + "Q", 0)
        if kind & pa.SAMPLE_REGS_INTR:
            out += struct.pack(order + "Q", 0)
        for bit in (pa.SAMPLE_PHYS_ADDR, pa.SAMPLE_CGROUP, pa.SAMPLE_DATA_PAGE_SIZE, pa.SAMPLE_CODE_PAGE_SIZE):
            if kind & bit:
                out += struct.pack(order + "Q", 0)
        if kind & pa.SAMPLE_AUX:
            out += struct.pack(order + "Q", 0)
        return out

    def raw_field(self, raw: bytes) -> bytes:
        """u32 size and data, padded so that both together are a multiple of eight."""
        size = -(-(len(raw) + 4) // 8) * 8 - 4
        return struct.pack(self.core.order + "I", size) + raw + bytes(size - len(raw))

    def callchain(self, regs: int) -> bytes:
        walk = getattr(self.host, "callchain", None)
        limit = self.attr.sample_max_stack or MAX_STACK
        kernel, user = walk(regs, limit) if walk is not None else ([], [])
        ips: list[int] = []
        if kernel and not self.attr.flag("exclude_callchain_kernel"):
            ips += [CONTEXT_KERNEL, *kernel[:limit]]
        if user and not self.attr.flag("exclude_callchain_user"):
            ips += [CONTEXT_USER, *user[:limit]]
        return struct.pack(f"{self.core.order}{1 + len(ips)}Q", len(ips), *ips)

    # read(2), poll(2), mmap(2)

    def read_format(self) -> bytes:
        fmt, order = self.attr.read_format, self.core.order
        leader = self.leader
        members = [leader, *leader.siblings] if fmt & pa.FORMAT_GROUP else [self]
        for member in members:
            member.update()
        times = []
        if fmt & pa.FORMAT_TOTAL_TIME_ENABLED:
            times.append(members[0].time_enabled)
        if fmt & pa.FORMAT_TOTAL_TIME_RUNNING:
            times.append(members[0].time_running)
        values: list[int] = []
        for index, member in enumerate(members):
            values.append((member.count + member.child_count) & 0xFFFFFFFFFFFFFFFF)
            if not index and not fmt & pa.FORMAT_GROUP:
                values += times
            if fmt & pa.FORMAT_ID:
                values.append(member.id)
            if fmt & pa.FORMAT_LOST:
                values.append(member.lost_samples)
        if fmt & pa.FORMAT_GROUP:
            values = [len(members), *times, *values]
        return struct.pack(f"{order}{len(values)}Q", *values)

    def read(self, size: int) -> bytes:
        """perf_read(): ENOSPC if the buffer is too small."""
        data = self.read_format()
        if size < len(data):
            raise KernelError(ENOSPC, f"{len(data)} bytes are needed")
        return data

    def poll(self) -> int:
        """perf_poll(): the wakeup flag is cleared by looking."""
        if self.hangup:
            return EPOLLHUP
        if self.buffer is None:
            return EPOLLHUP
        events, self.buffer.poll = self.buffer.poll, 0
        return events

    def mmap(self, length: int, writable: bool, shared: bool = True, offset: int = 0) -> list[int]:
        """perf_mmap(): the kernel addresses of the pages to map, the control page first.  EINVAL, ENOMEM, EPERM."""
        if self.tasks is not None and self.cpu < 0 and self.attr.flag("inherit"):
            raise KernelError(EINVAL, "an inherited event without a CPU has no buffer")
        if not shared:
            raise KernelError(EINVAL, "only shared mappings")
        if length % PAGE_SIZE or offset:
            raise KernelError(EINVAL, "offset and length")
        nr_pages = length // PAGE_SIZE - 1
        if nr_pages < 0 or (nr_pages and nr_pages & (nr_pages - 1)):
            raise KernelError(EINVAL, "1 + 2^n pages")
        if self.buffer is not None:
            if self.buffer.nr_pages != nr_pages:
                raise KernelError(EINVAL, "another size than the buffer's")
            self.buffer.mapped += 1
        else:
            mark = self.attr.wakeup if self.attr.flag("watermark") else 0
            header = HEADER_SIZE_5_12 if self.core.tracing.features.modern_probe_grammar else HEADER_SIZE
            self.buffer = PerfBuffer(self.host.mem, nr_pages, mark, not writable, header)
            self.buffer.backward = self.attr.flag("write_backward")
            self.owns_buffer = True
            self.buffer.on_wakeup.append(self._wake)
        self.mmap_count += 1
        self.refcount += 1
        self.update()
        self.buffer.set_header(self.count, self.time_enabled, self.time_running)
        return self.buffer.pages()

    def munmap(self) -> None:
        """perf_mmap_close(): the last mapping frees the buffer, and perhaps the event."""
        self.mmap_count -= 1
        buffer = self.buffer
        if buffer is not None:
            buffer.mapped -= 1
            if not buffer.mapped:
                for event in [self, *self.output_to]:
                    if event.buffer is buffer:
                        event.buffer = None
                buffer.free()
        self.put()

    def _wake(self) -> None:
        self.host.wake(self.waiters)
        for event in self.output_to:
            self.host.wake(event.waiters)

    # State

    def enable(self) -> None:
        if not self.enabled:
            self.update_time()
            self.enabled = True
            self.hangup = False
            self.core.start_clock(self)

    def disable(self) -> None:
        if self.enabled:
            self.update()
            self.enabled = False
            self.core.stop_clock(self)

    def reset(self) -> None:
        self.update()
        self.clock_base = self.time_running
        self.count = 0

    def ioctl(self, request: int, arg: int) -> int:
        """perf_ioctl()."""
        request = IOC_32.get(request, request)
        simple = {IOC_ENABLE: PerfEvent.enable, IOC_DISABLE: PerfEvent.disable, IOC_RESET: PerfEvent.reset}
        if request in simple:
            members = [self.leader, *self.leader.siblings] if arg & IOC_FLAG_GROUP else [self]
            for member in members:
                simple[request](member)
            return 0
        if request == IOC_REFRESH:
            return self._refresh(arg)
        if request == IOC_PERIOD:
            return self._set_period(self.core.read_user_u64(arg))
        if request == IOC_ID:
            self.core.write_user(arg, self.id.to_bytes(8, self.core.tracing.byteorder))
            return 0
        if request == IOC_SET_OUTPUT:
            return self.core.set_output(self, -1 if arg == (1 << 8 * self.core.tracing.word) - 1 else arg)
        if request == IOC_SET_FILTER:
            return self.set_filter(self.core.user_string(arg, PAGE_SIZE))
        if request == IOC_SET_BPF:
            return self.core.set_bpf(self, arg if arg < 1 << 31 else arg - (1 << 32))
        if request == IOC_PAUSE_OUTPUT and self.core.tracing.features.set_bpf_on_tracepoints:
            if self.buffer is None or not self.buffer.nr_pages:
                raise KernelError(EINVAL, "no buffer")
            self.buffer.paused = bool(arg)
            return 0
        if request == IOC_QUERY_BPF and self.core.tracing.features.several_programs:
            return self.core.query_bpf(self, arg)
        if request == IOC_MODIFY_ATTRIBUTES and self.core.tracing.features.probe_pmu:
            raise KernelError(EOPNOTSUPP if self.attr.type != pa.TYPE_BREAKPOINT else EINVAL, "only breakpoints")
        raise KernelError(ENOTTY, f"ioctl {request:#x}")

    def _refresh(self, count: int) -> int:
        if self.attr.flag("inherit") or not self.sampling:
            raise KernelError(EINVAL, "not a sampling event of its own")
        self.event_limit += count
        self.enable()
        return 0

    def _set_period(self, value: int) -> int:
        if not self.sampling or not value:
            raise KernelError(EINVAL, "not a sampling event, or no period")
        if (self.attr.freq and value > SAMPLE_RATE) or value >> 63:
            raise KernelError(EINVAL, "period too big")
        self.attr.sample_period = value
        if not self.attr.freq:
            self.period, self.period_left = value, -value
        return 0

    def set_filter(self, text: str) -> int:
        """PERF_EVENT_IOC_SET_FILTER on a trace event: the language of the filter files."""
        if self.attr.type != pa.TYPE_TRACEPOINT or self.trace_event is None:
            raise KernelError(EINVAL, "no filter on this type of event")
        if self.filter is not None:
            raise KernelError(EEXIST, "the event has a filter already")
        try:
            self.filter = create_filter(self.core.tracing, self.trace_event, text)
        except FilterError as error:
            raise KernelError(error.errno, error.why) from None
        return 0

    # Life

    def get(self) -> PerfEvent:
        self.refcount += 1
        return self

    def put(self) -> None:
        self.refcount -= 1
        if not self.refcount:
            self.core.free(self)

    def release(self) -> None:
        """The last descriptor is closed: no more counting; it goes when its mappings are gone."""
        self.update()
        self.enabled = False
        self.core.stop_clock(self)
        if self.leader is self:
            for sibling in self.siblings:
                sibling.leader = sibling
        elif self in self.leader.siblings:
            self.leader.siblings.remove(self)
        self.put()


class PerfCore:
    """All perf events of a machine."""

    def __init__(self, tracing: Tracing) -> None:
        self.tracing = tracing
        self.host = tracing.host
        self.order = "<" if tracing.byteorder == "little" else ">"
        self.version = tuple(tracing.host.version)
        self.paranoid = 2
        self.next_id = 1
        self.events: dict[int, PerfEvent] = {}
        self.sw_users: dict[int, list[PerfEvent]] = {}
        self.sw_active = [False] * 12
        self.side_band: list[PerfEvent] = []  # events that want comm, fork, mmap records
        self.running_task: Hashable | None = None
        self.knows_switches = False
        self.resolve_fd: Callable[[int], PerfEvent] | None = None  # EBADF for what is no perf event
        self.set_bpf_hook: SetBpfHook | None = None
        self.overflow_program_hook: Callable[[PerfEvent, int, int, int], int] | None = None
        self.layout = self.host.arch.pt_regs_for(self.host.version)
        self.sources = PerfSources(self)

    # perf_event_open(2)

    def open(self, raw: bytes, pid: int, cpu: int, group_fd: int = -1, flags: int = 0) -> PerfEvent:
        """The checks of perf_event_open(2), in their order."""
        if flags & ~0xF:
            raise KernelError(EINVAL, "unknown flags")
        attr = pa.parse_attr(raw, self.version, self.tracing.byteorder)
        privileged = self.host.capable("perfmon") or self.host.capable("sys_admin")
        if not attr.flag("exclude_kernel") and self.paranoid > 1 and not privileged:
            raise KernelError(EACCES, "kernel events need privilege")
        if attr.flag("namespaces") and not self.host.capable("sys_admin"):
            raise KernelError(EACCES, "namespaces")
        if attr.freq:
            if attr.sample_period > SAMPLE_RATE:
                raise KernelError(EINVAL, "sample_freq")
        elif attr.sample_period >> 63:
            raise KernelError(EINVAL, "sample_period")
        if flags & pa.FLAG_PID_CGROUP and (pid == -1 or cpu == -1):
            raise KernelError(EINVAL, "a cgroup event needs a CPU")
        group = self.fd(group_fd) if group_fd != -1 else None
        if flags & pa.FLAG_PID_CGROUP:
            raise KernelError(EBADF, "no cgroup events")
        task = self._task(pid)
        leader = group.leader if group is not None and not flags & pa.FLAG_FD_NO_GROUP else None
        if task is not None and leader is not None and leader.attr.flag("inherit") != attr.flag("inherit"):
            raise KernelError(EINVAL, "the group leader differs in inherit")
        event = self.create(attr, task, cpu, pid)
        try:
            self._join(event, group, leader, flags)
        except KernelError:
            event.release()
            raise
        return event

    def _task(self, pid: int) -> Hashable | None:
        if pid == -1:
            return None
        task = self.host.current_task() if pid == 0 else self.host.find_task(pid)
        if task is None:
            raise KernelError(ESRCH, f"no task {pid}")
        return task

    def fd(self, fd: int) -> PerfEvent:
        if self.resolve_fd is None or fd < 0:
            raise KernelError(EBADF, f"descriptor {fd}")
        return self.resolve_fd(fd)

    def create(self, attr: PerfAttr, task: Hashable | None, cpu: int, pid: int = -1) -> PerfEvent:
        """perf_event_alloc() and the pmu's event_init(); also what the kernel calls for its own events."""
        if not 0 <= cpu < self.host.nr_cpus and not (task is not None and cpu == -1):
            raise KernelError(EINVAL, f"cpu {cpu}")
        if attr.flag("sigtrap") and task is None:
            raise KernelError(EINVAL, "sigtrap needs a task")
        if attr.flag("inherit") and attr.sample_type & pa.SAMPLE_READ and not attr.flag("inherit_thread"):
            raise KernelError(EINVAL, "inherit and PERF_SAMPLE_READ")
        if attr.flag("use_clockid") and attr.clockid not in (0, 1, 4, 7, 11):
            raise KernelError(EINVAL, "clockid")
        event = PerfEvent(self, attr, task, cpu, self.next_id)
        if attr.freq and attr.sample_period:
            event.period = 1
            event.last_period, event.period_left = 1, -1
        self._init_pmu(event)
        self.next_id += 1
        self.events[event.id] = event
        if task is not None:
            if not self.sources.followers:
                self.running_task = self.host.current_task()
            self.sources.follow(+1)
        if any(attr.flag(name) for name in SIDE_BAND):
            self.side_band.append(event)
            self.sources.describe(True)
        self.start_clock(event)
        return event

    def _init_pmu(self, event: PerfEvent) -> None:
        attr = event.attr
        if attr.type == pa.TYPE_SOFTWARE:
            self._init_software(event)
        elif attr.type == pa.TYPE_TRACEPOINT:
            self._init_tracepoint(event)
        elif self.tracing.features.probe_pmu and attr.type == PMU_TYPES["kprobe"]:
            self._init_kprobe(event)
        elif self.tracing.features.probe_pmu and attr.type == PMU_TYPES["uprobe"]:
            self._init_uprobe(event)
        elif attr.type == pa.TYPE_BREAKPOINT:
            self._init_breakpoint(attr)
        else:
            raise KernelError(ENOENT, f"no PMU for type {attr.type}")

    def _init_breakpoint(self, attr: PerfAttr) -> None:
        """Checked as hw_breakpoint_arch_parse() does, then refused: these CPUs have no debug registers (ENOSPC)."""
        length = attr.config2
        executes = attr.bp_type == 4
        if (
            not (attr.bp_type in (1, 2, 3) or executes)
            or length not in (1, 2, 4, 8)
            or (executes and length != self.tracing.word)
        ):
            raise KernelError(EINVAL, "not a breakpoint")
        raise KernelError(ENOSPC, "no debug registers")

    def _init_software(self, event: PerfEvent) -> None:
        attr = event.attr
        if attr.config >= pa.by_version(pa.SW_MAX, self.version):
            raise KernelError(ENOENT, f"software event {attr.config}")
        self._no_branches(attr)
        self.sw_users.setdefault(attr.config, []).append(event)
        self.sw_active[attr.config] = True
        self.sources.count(attr.config, True)

    def _no_branches(self, attr: PerfAttr) -> None:
        if attr.sample_type & pa.SAMPLE_BRANCH_STACK:
            raise KernelError(EOPNOTSUPP, "no branch stacks")

    def _init_tracepoint(self, event: PerfEvent) -> None:
        self._no_branches(event.attr)
        found = self.tracing.events.by_id.get(event.attr.config)
        if found is None:
            raise KernelError(EINVAL, f"no trace event {event.attr.config}")
        self._permission(event, found)
        self._attach(event, found)

    def _permission(self, event: PerfEvent, found: TraceEvent) -> None:
        """perf_trace_event_perm()."""
        if not event.attr.sample_type & pa.SAMPLE_RAW:
            return
        if event.tasks is not None and found.cap_any:
            return
        if self.paranoid > -1 and not (self.host.capable("perfmon") or self.host.capable("sys_admin")):
            raise KernelError(EPERM, "raw tracepoint data needs privilege")

    def _attach(self, event: PerfEvent, found: TraceEvent) -> None:
        event.trace_event = found
        found.perf_events.append(event)
        try:
            found.perf_register()
        except KernelError:
            found.perf_events.remove(event)
            raise
        if isinstance(found, UprobeEvent):
            found.perf_changed()

    def _init_kprobe(self, event: PerfEvent) -> None:
        attr = event.attr
        if not (self.host.capable("perfmon") or self.host.capable("sys_admin")):
            raise KernelError(EACCES, "perfmon")
        self._no_branches(attr)
        symbol = ""
        if attr.config1:
            symbol = self.user_string(attr.config1, 512, E2BIG)
        address = 0 if symbol else attr.config2
        offset = attr.config2 if symbol else 0
        local = self.tracing.probe_events.local_kprobe(symbol, address, offset, bool(attr.config & PROBE_IS_RETPROBE))
        self._attach_local(event, local)

    def _init_uprobe(self, event: PerfEvent) -> None:
        attr = event.attr
        if not (self.host.capable("perfmon") or self.host.capable("sys_admin")):
            raise KernelError(EACCES, "perfmon")
        self._no_branches(attr)
        path = self.user_string(attr.config1, PAGE_SIZE, E2BIG) if attr.config1 else ""
        if not path:
            raise KernelError(EINVAL, "no path")
        local = self.tracing.probe_events.local_uprobe(
            path, attr.config2, attr.config >> 32, bool(attr.config & PROBE_IS_RETPROBE)
        )
        self._attach_local(event, local)

    def _attach_local(self, event: PerfEvent, local: ProbeEvent) -> None:
        event.local_event = local
        try:
            self._attach(event, local)
        except KernelError:
            self.tracing.probe_events.destroy_local(local)
            raise

    def _join(self, event: PerfEvent, group: PerfEvent | None, leader: PerfEvent | None, flags: int) -> None:
        if leader is not None and group is not None:
            if group.leader is not group:
                raise KernelError(EINVAL, "the group descriptor is not a leader")
            if leader.cpu != event.cpu or leader.tasks != event.tasks:
                raise KernelError(EINVAL, "the group is on another task or CPU")
            if event.attr.flag("exclusive") or event.attr.flag("pinned"):
                raise KernelError(EINVAL, "only leaders may be exclusive or pinned")
            leader.siblings.append(event)
            event.leader = leader
        if flags & pa.FLAG_FD_OUTPUT and group is not None:
            self._redirect(event, group)

    def free(self, event: PerfEvent) -> None:
        """_free_event()."""
        if event.freed:
            return
        event.freed = True
        if self.events.pop(event.id, None) is not None and event.tasks is not None:
            self.sources.follow(-1)
        for number, users in self.sw_users.items():
            if event in users:
                users.remove(event)
                if not users:
                    self.sources.count(number, False)
        self.sw_active = [bool(self.sw_users.get(number)) for number in range(12)]
        if event in self.side_band:
            self.side_band.remove(event)
            self.sources.describe(bool(self.side_band))
        self._drop_program(event)
        found = event.trace_event
        if found is not None:
            found.perf_events.remove(event)
            found.perf_unregister()
            if isinstance(found, UprobeEvent) and found.perf_users:
                found.perf_changed()
        if event.local_event is not None:
            self.tracing.probe_events.destroy_local(event.local_event)
        for callback in event.on_free:
            callback()

    # Programs

    def set_bpf(self, event: PerfEvent, fd: int) -> int:
        """PERF_EVENT_IOC_SET_BPF; the order of checks changed with the versions."""
        features = self.tracing.features
        found = event.trace_event
        if self.set_bpf_hook is None:
            raise KernelError(EINVAL, "no programs on this machine")
        if not features.several_programs:
            return self._set_bpf_4_1(event, fd)
        kind = self.program_kind(event)
        program = self.set_bpf_hook(event, fd, kind)
        try:
            if event.program is not None:
                raise KernelError(EEXIST, "the event has a program")
            if found is not None and len(found.bpf_programs) >= BPF_MAX_PROGS:
                raise KernelError(E2BIG, "too many programs")
            if found is not None:
                found.add_bpf(program.run)
        except KernelError:
            program.release()
            raise
        event.program = program
        return 0

    def program_kind(self, event: PerfEvent) -> str:
        found = event.trace_event
        if found is None:
            return "perf_event"
        if isinstance(found, KprobeEvent):
            return "kprobe"
        if isinstance(found, UprobeEvent):
            return "uprobe"
        return "syscall" if found.is_syscall else "tracepoint"

    def _set_bpf_4_1(self, event: PerfEvent, fd: int) -> int:
        """Before 4.14: one program per trace event, shared by all its perf events."""
        features = self.tracing.features
        found = event.trace_event
        if event.attr.type != pa.TYPE_TRACEPOINT or found is None:
            if not features.set_bpf_on_perf:
                raise KernelError(EINVAL, "not a trace event")
        elif found.bpf_programs:
            raise KernelError(EEXIST, "the trace event has a program")
        kind = self.program_kind(event)
        allowed = {
            "kprobe": True,
            "uprobe": features.set_bpf_on_uprobes,
            "tracepoint": features.set_bpf_on_tracepoints,
            "syscall": features.set_bpf_on_tracepoints,
            "perf_event": features.set_bpf_on_perf,
        }
        if not allowed[kind]:
            raise KernelError(EINVAL, f"no programs on {kind} events in this version")
        assert self.set_bpf_hook is not None
        program = self.set_bpf_hook(event, fd, kind)
        if found is not None:
            found.add_bpf(program.run)
            found.__dict__["shared_program"] = program
        event.program = program
        return 0

    def _drop_program(self, event: PerfEvent) -> None:
        """Before 4.14 freeing any perf event of a trace event removes the program; since, its own one."""
        found = event.trace_event
        if not self.tracing.features.several_programs and found is not None:
            shared = found.__dict__.pop("shared_program", None)
            if shared is not None:
                found.remove_bpf(shared.run)
                shared.release()
                for other in found.perf_events:
                    other.program = None
            event.program = None
            return
        program, event.program = event.program, None
        if program is not None:
            if found is not None:
                found.remove_bpf(program.run)
            program.release()

    def run_overflow_program(self, event: PerfEvent, regs: int, addr: int, period: int) -> int:
        """A perf_event program at an overflow; the floor above builds struct bpf_perf_event_data."""
        if self.overflow_program_hook is None:
            return 1
        return self.overflow_program_hook(event, regs, addr, period)

    def query_bpf(self, event: PerfEvent, arg: int) -> int:
        """PERF_EVENT_IOC_QUERY_BPF: struct perf_event_query_bpf {u32 ids_len, prog_cnt, ids[]}."""
        if not (self.host.capable("perfmon") or self.host.capable("sys_admin")):
            raise KernelError(EPERM)
        if event.trace_event is None or event.attr.type != pa.TYPE_TRACEPOINT:
            raise KernelError(EINVAL, "not a trace event")
        order = self.tracing.byteorder
        length = int.from_bytes(self.read_user(arg, 4), order)
        if length > BPF_MAX_PROGS:
            raise KernelError(E2BIG)
        programs = [other.program.id for other in event.trace_event.perf_events if other.program is not None]
        self.write_user(arg + 4, len(programs).to_bytes(4, order))
        for index, number in enumerate(programs[:length]):
            self.write_user(arg + 8 + 4 * index, number.to_bytes(4, order))
        if length and len(programs) > length:
            raise KernelError(ENOSPC)
        return 0

    # Output

    def set_output(self, event: PerfEvent, fd: int) -> int:
        if fd == -1:
            self._redirect(event, None)
        else:
            self._redirect(event, self.fd(fd))
        return 0

    def _redirect(self, event: PerfEvent, target: PerfEvent | None) -> None:
        """perf_event_set_output(): use another event's buffer."""
        if target is not None:
            if target is event or target.cpu != event.cpu or (target.cpu == -1 and target.tasks != event.tasks):
                raise KernelError(EINVAL, "the buffer is of another CPU or task")
            if target.attr.flag("write_backward") != event.attr.flag("write_backward"):
                raise KernelError(EINVAL, "direction differs")
        if event.mmap_count:
            raise KernelError(EINVAL, "the event has a buffer that is mapped")
        for other in self.events.values():
            if event in other.output_to:
                other.output_to.remove(event)
        event.buffer = None
        if target is not None:
            event.buffer = target.buffer
            event.owns_buffer = False
            target.output_to.append(event)

    # Events happen

    def tracepoint_event(self, found: TraceEvent, record: bytes, regs: int, ip: int) -> None:
        """perf_tp_event()."""
        for event in tuple(found.perf_events):
            if not event.active():
                continue
            if event.attr.flag("exclude_kernel") and not self.user_mode(ip):
                continue
            if event.filter is not None and not event.filter.match(record):
                continue
            event.swevent(1, regs, record, 0, ip)

    def sw_event(self, number: int, nr: int = 1, regs: int = 0, addr: int = 0) -> None:
        """perf_sw_event(): the kernel calls it where `sw_active[number]`."""
        for event in tuple(self.sw_users.get(number, ())):
            if event.active():
                event.swevent(nr, regs, None, addr)

    def event_removed(self, found: TraceEvent) -> None:
        """A probe event went away; none of its perf events can exist (EBUSY otherwise)."""

    # Clocks

    def start_clock(self, event: PerfEvent) -> None:
        """cpu-clock and task-clock sample with a timer of virtual time."""
        if event.timer is not None or not event.enabled or not event.sampling:
            return
        if event.attr.type != pa.TYPE_SOFTWARE or event.attr.config not in (pa.SW_CPU_CLOCK, pa.SW_TASK_CLOCK):
            return
        period = 1_000_000_000 // event.attr.sample_period if event.attr.freq else event.attr.sample_period
        period = max(MIN_CLOCK_PERIOD_NS, period)

        def tick() -> None:
            event.timer = None
            if event.freed or not event.enabled:
                return
            if event.active():
                event.update()
                regs = getattr(self.host, "interrupt_regs", self.tracing.caller_regs)()
                ip = self.instruction_pointer(regs) if regs else 0
                excluded = event.attr.flag("exclude_user" if self.user_mode(ip) else "exclude_kernel")
                idle = event.attr.flag("exclude_idle") and not self.host.current_pid()
                if not excluded and not idle:
                    event.overflow(regs, None, 0, ip, period)
            if event.enabled and event.timer is None:
                event.timer = self.host.add_timer(period, tick)

        event.timer = self.host.add_timer(period, tick)

    def stop_clock(self, event: PerfEvent) -> None:
        timer, event.timer = event.timer, None
        if timer is not None:
            timer.cancel()

    # Tasks

    def task_switch(self, previous: Hashable, following: Hashable) -> None:
        """The kernel may tell of context switches: then task events' times count only while their task runs."""
        for event in self.events.values():
            if event.tasks is not None:
                event.update_time()
        self.running_task = following
        self.knows_switches = True

    def task_fork(self, parent: Hashable, child: Hashable) -> None:
        """perf_event_init_task(): inherited events count the child, too."""
        for event in tuple(self.events.values()):
            if event.tasks is not None and parent in event.tasks and event.attr.flag("inherit"):
                event.tasks.add(child)
                if isinstance(event.trace_event, UprobeEvent):
                    event.trace_event.perf_changed()

    def task_exec(self, task: Hashable) -> None:
        """enable_on_exec and remove_on_exec."""
        for event in tuple(self.events.values()):
            if event.tasks is None or task not in event.tasks:
                continue
            if event.attr.flag("enable_on_exec"):
                event.enable()
            if event.attr.flag("remove_on_exec"):
                event.disable()
            if isinstance(event.trace_event, UprobeEvent):
                event.trace_event.perf_changed()

    def task_exit(self, task: Hashable) -> None:
        for event in self.events.values():
            if event.tasks is not None and task in event.tasks:
                event.update_time()
                event.tasks.discard(task)
                if not event.tasks:
                    event.enabled = False
                    event.hangup = True
                    self.host.wake(event.waiters)

    # Side-band records

    def _side_band(self, flags: tuple[str, ...], kind: int, body: bytes, misc: int = 0) -> None:
        for event in self.side_band:
            if event.active() and any(event.attr.flag(flag) for flag in flags):
                self._side_band_record(event, kind, body, misc)

    def _side_band_record(self, event: PerfEvent, kind: int, body: bytes, misc: int) -> None:
        trailer = event.sample_id()
        event.output(struct.pack(self.order + "IHH", kind, misc, 8 + len(body) + len(trailer)) + body + trailer)

    def comm_event(self, tgid: int, pid: int, comm: str) -> None:
        """PERF_RECORD_COMM."""
        data = comm.encode("latin-1") + b"\0"
        self._side_band(
            ("comm",), RECORD_COMM, struct.pack(self.order + "II", tgid, pid) + data + bytes(-len(data) % 8)
        )

    def fork_event(self, tgid: int, ppid: int, pid: int, ptid: int, exiting: bool = False) -> None:
        """PERF_RECORD_FORK, PERF_RECORD_EXIT."""
        body = struct.pack(self.order + "IIIIQ", tgid, ppid, pid, ptid, self.host.now_ns())
        self._side_band(SIDE_BAND, RECORD_EXIT if exiting else RECORD_FORK, body)

    def mmap_event(self, area: Mapping) -> None:
        """PERF_RECORD_MMAP or _MMAP2 of the running task's new mapping of a file."""
        host, order = self.host, self.order
        where = struct.pack(
            order + "IIQQQ", host.current_tgid(), host.current_pid(), area.start, area.length, area.offset
        )
        more = struct.pack(order + "IIQQII", area.major, area.minor, area.ino, 0, area.prot, area.flags)
        name = area.path.encode("latin-1", "replace") + b"\0"
        name += bytes(-len(name) % 8)
        executable = bool(area.prot & PROT_EXEC)
        misc = MISC_USER if executable else MISC_USER | MISC_MMAP_DATA
        for event in self.side_band:
            attr = event.attr
            wanted = attr.flag("mmap") or attr.flag("mmap2") if executable else attr.flag("mmap_data")
            if wanted and event.active():
                if attr.flag("mmap2"):
                    self._side_band_record(event, RECORD_MMAP2, where + more + name, misc)
                else:
                    self._side_band_record(event, RECORD_MMAP, where + name, misc)

    # User memory of the caller

    def read_user(self, addr: int, size: int) -> bytes:
        memory = self.host.user_mem()
        try:
            if memory is None:
                raise Fault(addr)
            return memory.read(addr, size)
        except Fault:
            raise KernelError(EFAULT) from None

    def write_user(self, addr: int, data: bytes) -> None:
        memory = self.host.user_mem()
        try:
            if memory is None:
                raise Fault(addr, "write")
            memory.write(addr, data)
        except Fault:
            raise KernelError(EFAULT) from None

    def read_user_u64(self, addr: int) -> int:
        return int.from_bytes(self.read_user(addr, 8), self.tracing.byteorder)

    def user_string(self, addr: int, limit: int, too_long: int = EINVAL) -> str:
        """strndup_user(): EFAULT, and `too_long` where no NUL comes within the limit."""
        data = bytearray()
        while len(data) < limit:
            byte = self.read_user(addr + len(data), 1)
            if byte == b"\0":
                return data.decode("latin-1")
            data += byte
        raise KernelError(too_long, "string too long")

    # Registers

    def instruction_pointer(self, regs: int) -> int:
        return int(self.layout.get(self.host.mem, regs, self.host.arch.instruction_pointer))

    def user_mode(self, ip: int) -> bool:
        """By address: kernel text is known, or lies in the upper half; no address at all is the kernel's."""
        return ip != 0 and not ip >> (8 * self.tracing.word - 1) and not self.host.is_kernel_text(ip)
