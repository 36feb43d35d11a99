"""One perf event: where it counts, when it samples, its buffer and its life.  kernel/events/core.c, struct perf_event."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Hashable
from typing import Protocol

from arch.abi.errno import EINVAL, ENOSPC, EOPNOTSUPP
from arch.abi.limits import PAGE_SIZE
from arch.abi.perf_event import (
    PERF_COUNT_SW_BPF_OUTPUT,
    PERF_COUNT_SW_CPU_CLOCK,
    PERF_COUNT_SW_TASK_CLOCK,
    PERF_FORMAT_GROUP,
    PERF_FORMAT_ID,
    PERF_FORMAT_LOST,
    PERF_FORMAT_TOTAL_TIME_ENABLED,
    PERF_FORMAT_TOTAL_TIME_RUNNING,
    PERF_SAMPLE_CALLCHAIN,
    PERF_SAMPLE_PERIOD,
    PERF_TYPE_SOFTWARE,
)
from arch.abi.poll import EPOLLHUP
from arch.errors import KernelError
from arch.native.block import Word
from arch.native.slots import slot_address
from arch.tracefacts import Names
from tracing.board import Board
from tracing.face import AttachedProgram, PerfCgroup, Timer, UserSpaces
from tracing.perf.attr import PerfAttr
from tracing.perf.ring import HEADER_SIZE, HEADER_SIZE_5_12, PerfBuffer
from tracing.perf.sample import Format, Sample, user_mode
from tracing.probes.event import ProbeEvent
from tracing.record.event import TraceEvent
from tracing.record.filter import EventFilter
from tracing.record.stack import frames_of

MIN_CLOCK_PERIOD_NS = 10_000


class Owner(Protocol):
    """What an event asks of the machine's PerfCore."""

    board: Board
    spaces: UserSpaces | None
    running_task: Hashable | None
    knows_switches: bool
    overflow_program_hook: Callable[[PerfEvent, int, int, int], int] | None

    def ioctl(self, event: PerfEvent, request: int, arg: int) -> int:
        """See perf/ioctl.py."""

    def free(self, event: PerfEvent) -> None:
        """The last reference is gone."""


class PerfEvent:
    """struct perf_event."""

    # what native code reads (native_output.py)
    __slots__ = ("__dict__", "__weakref__", "buffer", "cpu", "enabled", "lost_samples", "output_to")

    def __init__(self, core: Owner, attr: PerfAttr, task: Hashable | None, cpu: int, event_id: int) -> None:
        self.core = core
        self.board = core.board
        self.host = core.board.host
        self.attr = attr
        self.type_told = attr.type  # to signals and of links; see Pmus.type_told()
        self.id = event_id
        self.format = Format(core.board, attr, event_id)
        self.tasks: set[Hashable] | None = None if task is None else {task}
        self.cgroup: PerfCgroup | None = None  # only its tasks count
        self.first = task  # all others are inherited
        self.cpu = cpu
        self.enabled = not attr.disabled
        self.count = 0
        self.child_counts: dict[Hashable, int] = {}  # what of the count is that of inherited events, which still live
        self.holders: dict[Hashable, Hashable] = {}  # task -> the task it was made for whose event it has, if another's
        self.clones = (
            True  # the events of parent and child are alike, so that a switch between them changes nothing but these
        )
        self.child_count = 0  # of those that are gone: no reset takes it away
        self.leader: PerfEvent = self
        self.owner: Hashable | None = None  # the task that opened it
        self.clock = attr.clockid if attr.flag("use_clockid") else None
        self.siblings: list[PerfEvent] = []
        self.trace_event: TraceEvent | None = None
        self.local_event: ProbeEvent | None = None  # made for perf's own kprobe and uprobe types
        self.buffer: PerfBuffer | None = None
        self.owns_buffer = False
        self.mmap_count = 0
        self.filter: EventFilter | None = None
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
        self.timer: Timer | None = None
        self.time_mark = self.host.now_ns()
        self.time_enabled = 0
        self.time_running = 0
        self.clock_base = 0  # of counters of time
        self.counts_time = attr.type == PERF_TYPE_SOFTWARE and attr.config in (
            PERF_COUNT_SW_CPU_CLOCK,
            PERF_COUNT_SW_TASK_CLOCK,
        )  # in ns, which is also what the time stamp counter of these CPUs counts
        self.fasync: Callable[[bool], None] | None = None  # who is signalled; whether it was the last
        self.overflow_hook: Callable[[PerfEvent, int], None] | None = None
        self.on_free: list[Callable[[], None]] = []
        self._words: ctypes.Array[ctypes.c_uint64] | None = None

    # Where it counts

    @property
    def sampling(self) -> bool:
        """It writes samples and does not only count."""
        return self.attr.sample_period != 0

    @property
    def program_kind(self) -> str:
        """What programs it takes: "kprobe", "uprobe", "tracepoint", "syscall" or "perf_event"."""
        return "perf_event" if self.trace_event is None else self.trace_event.program_kind

    def wants_task(self, task: Hashable) -> bool:
        """Does it count while this task runs?"""
        return self.tasks is None or task in self.tasks

    def wants_mm(self, mm: Hashable) -> bool:
        """For uprobes: is this address space one of those of interest?"""
        if self.tasks is None:
            return True
        spaces = self.core.spaces
        return spaces is None or any(spaces.mm_of_task(task) == mm for task in self.tasks)

    def active(self) -> bool:
        """Scheduled in on this CPU now."""
        if not self.enabled or self.freed or not self.leader.enabled:
            return False
        if self.cpu >= 0 and self.cpu != self.host.cpu_id():
            return False
        if self.cgroup is not None and not self.cgroup.contains_current():
            return False
        return self.tasks is None or self.host.current_task() in self.tasks

    @property
    def follows(self) -> bool:
        """Its time is that of tasks."""
        return self.tasks is not None or self.cgroup is not None

    def _runs(self) -> bool:
        """Since the last look it was on the CPU."""
        if self.cgroup is not None:
            return self.cgroup.contains_current()
        return self.tasks is None or self.core.running_task in self.tasks or not self.core.knows_switches

    # Time: a task's event runs while the task does; the kernel says so through PerfCore.task_switch().

    def update_time(self) -> None:
        """perf_event_update_time(): time enabled and running, in ns, up to now."""
        now = self.host.now_ns()
        if self.enabled and self._runs():
            self.time_enabled += now - self.time_mark
            self.time_running += now - self.time_mark
        self.time_mark = now

    def update(self) -> None:
        """pmu->read(): bring the clock counters up to date."""
        self.update_time()
        if self.counts_time:
            self.count = self.time_running - self.clock_base

    # Counting and sampling

    def receive(self, record: bytes, regs: int, ip: int) -> None:
        """perf_tp_event(): the trace event fired."""
        if not self.active():
            return
        if self.attr.flag("exclude_kernel") and not user_mode(self.board, ip):
            return
        if self.filter is not None and not self.filter.match(record):
            return
        self.swevent(1, regs, record, 0, ip)

    def swevent(self, nr: int, regs: int, raw: bytes | None = None, addr: int = 0, ip: int = 0) -> None:
        """perf_swevent_event(): count, and sample when a period is full."""
        self.count += nr
        if self.tasks is not None and len(self.tasks) > 1:
            task = self.host.current_task()
            made_for = self.holders.get(task, task)
            if made_for != self.first:
                self.child_counts[made_for] = self.child_counts.get(made_for, 0) + nr
        if not self.sampling:
            return
        attr = self.attr
        if attr.sample_type & PERF_SAMPLE_PERIOD and not attr.freq:
            self.overflow(regs, raw, addr, ip, nr)
            return
        if nr == 1 and self.period == 1 and not attr.freq:
            self.overflow(regs, raw, addr, ip, self.last_period)
            return
        self.period_left += nr
        if self.period_left >= 0:
            period = self.last_period
            for _ in range(self.set_period()):
                self.overflow(regs, raw, addr, ip, period)

    def set_period(self) -> int:
        """perf_swevent_set_period(): how often the period is full; one set anew counts from the next time on."""
        period, self.last_period = max(1, self.last_period), self.period
        times = (period + self.period_left) // period
        self.period_left -= times * period
        return times

    def overflow(self, regs: int, raw: bytes | None, addr: int, ip: int, period: int) -> None:
        """__perf_event_overflow(): a perf_event program may drop it; REFRESH may end it, which poll(2) does not tell."""
        hangup = False
        if self.event_limit:
            self.event_limit -= 1
            if not self.event_limit:
                hangup = True
                self.disable()
        if self.program is not None and self.trace_event is None:
            if not self.run_overflow_program(regs, addr, period):
                return
        if self.overflow_hook is not None:
            self.overflow_hook(self, regs)
        self.output(self.sample(regs, raw, addr, ip, period))
        if self.attr.flag("sigtrap"):
            self.host.send_sigtrap(addr, self.attr.sig_data, self.type_told)
        if self.fasync is not None:
            self.fasync(hangup)

    def run_overflow_program(self, regs: int, addr: int, period: int) -> int:
        """A perf_event program at an overflow; the floor above builds struct bpf_perf_event_data."""
        hook = self.core.overflow_program_hook
        return 1 if hook is None else hook(self, regs, addr, period)

    def bpf_output(self, data: bytes, regs: int = 0) -> bool:
        """bpf_perf_event_output(): a sample with these bytes as raw data; False when it is lost.  EINVAL, EOPNOTSUPP."""
        if self.attr.type != PERF_TYPE_SOFTWARE or self.attr.config != PERF_COUNT_SW_BPF_OUTPUT:
            raise KernelError(EINVAL, "not a bpf-output event")
        if not self.enabled or (self.cpu != self.host.cpu_id() and self.cpu >= 0):
            raise KernelError(EOPNOTSUPP, "the event is off, or on another CPU")
        return self.output(self.sample(regs, data, 0, 0, 0))

    @property
    def native_words(self) -> int:
        """Host address of what native code needs to make records of a program's, as long as the event lives; 0: it cannot."""
        if self._words is None:
            if not self.host.block.words[Word.TEXT_BASE] >> 63:  # by its address alone no place is the kernel's
                return 0
            from tracing.perf import (
                native_output as n,
            )  # with LLVM behind it: who puts such events into maps waits for it

            attr, ip = self.attr, self.board.layout.fields[self.host.arch.instruction_pointer]
            code = n.library(self.board.byteorder == "big").address
            self._words = words = n.words()
            words[n.OUTPUT], words[n.GUARD] = code["output"], code["guard"]
            slots = ("cpu", "enabled", "buffer", "lost_samples", "output_to")
            words[n.CPU : n.SLEEPERS] = [slot_address(self, name) for name in slots]
            words[n.SLEEPERS], words[n.TOLD] = self.host.sleepers(self.waiters)
            words[n.TAKES] = (attr.type, attr.config) == (PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT)
            words[n.KNOWN] = not attr.sample_type & ~n.KNOWN_PARTS and not attr.flag("inherit") and self.clock is None
            words[n.KNOWN] = words[n.KNOWN] and self.cgroup is None
            words[n.TYPE], words[n.ID] = attr.sample_type, self.id
            words[n.WAKEUP] = 0 if attr.flag("watermark") else attr.wakeup
            words[n.NONE], words[n.IP], words[n.IP_SIZE] = id(None), ip.offset, ip.size
            self.on_free.append(lambda: self.host.forget_sleepers(self.waiters))
        return ctypes.addressof(self._words)

    def sample(self, regs: int, raw: bytes | None, addr: int, ip: int, period: int) -> bytes:
        """A PERF_RECORD_SAMPLE."""
        found, point = self.trace_event, ""
        inner: Names = ()
        if found is not None and self.attr.sample_type & PERF_SAMPLE_CALLCHAIN:
            frames, point = frames_of(self.board), found.point
            inner = found.between(frames) if frames is not None else ()
        shown = self.leader.id if self.attr.flag("inherit") else self.id
        return self.format.sample(Sample(regs, raw or b"", addr, ip, period, shown, self.read_format, point, inner))

    def output(self, record: bytes) -> bool:
        """perf_output_begin() to _end(): a record into the buffer; False when there is none, or no room."""
        buffer = self.buffer
        if buffer is None:
            return False
        if not buffer.write(record, self.format.lost_record):
            self.lost_samples += 1
            return False
        if not self.attr.flag("watermark") and self.attr.wakeup:
            buffer.count_event(self.attr.wakeup)
        return True

    # Clocks

    def fix_period(self) -> None:
        """perf_swevent_init_hrtimer(): a clock's frequency is a period in ns from the beginning, also for who changes it."""
        period = 1_000_000_000 // self.attr.sample_period
        self.attr.set_period(period)
        self.period, self.last_period, self.period_left = period, period, -period

    def start_clock(self) -> None:
        """cpu-clock and task-clock sample with a timer of virtual time."""
        if self.timer is not None or not self.enabled or not self.sampling:
            return
        if self.attr.type != PERF_TYPE_SOFTWARE or self.attr.config not in (
            PERF_COUNT_SW_CPU_CLOCK,
            PERF_COUNT_SW_TASK_CLOCK,
        ):
            return
        period = max(MIN_CLOCK_PERIOD_NS, self.attr.sample_period)

        def tick() -> None:
            self.timer = None
            if self.freed or not self.enabled:
                return
            if self.active():
                self.update()
                regs = self.host.interrupt_regs()
                ip = self.board.instruction_pointer(regs) if regs else 0
                excluded = self.attr.flag("exclude_user" if user_mode(self.board, ip) else "exclude_kernel")
                idle = self.attr.flag("exclude_idle") and not self.host.current_pid()
                if not excluded and not idle:
                    self.overflow(regs, None, 0, ip, period)
            if self.enabled and self.timer is None:
                self.timer = self.host.add_timer(period, tick)

        self.timer = self.host.add_timer(period, tick)

    def stop_clock(self) -> None:
        """No more ticks."""
        timer, self.timer = self.timer, None
        if timer is not None:
            timer.cancel()

    # read(2), poll(2), mmap(2)

    def read_format(self) -> bytes:
        """What read(2) and PERF_SAMPLE_READ give; perf_event_read_format."""
        fmt, order = self.attr.read_format, self.board.order
        leader = self.leader
        members = [leader, *leader.siblings] if fmt & PERF_FORMAT_GROUP else [self]
        for member in members:
            member.update()
        times = []
        if fmt & PERF_FORMAT_TOTAL_TIME_ENABLED:
            times.append(members[0].time_enabled)
        if fmt & PERF_FORMAT_TOTAL_TIME_RUNNING:
            times.append(members[0].time_running)
        values: list[int] = []
        for index, member in enumerate(members):
            values.append((member.count + member.child_count) & 0xFFFFFFFFFFFFFFFF)
            if not index and not fmt & PERF_FORMAT_GROUP:
                values += times
            if fmt & PERF_FORMAT_ID:
                values.append(member.id)
            if fmt & PERF_FORMAT_LOST:
                values.append(member.lost_samples)
        if fmt & PERF_FORMAT_GROUP:
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
        if offset and self.buffer is not None:
            self.buffer.check_aux(offset, length)
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
            header = HEADER_SIZE_5_12 if self.board.features.perf_time_cycles else HEADER_SIZE
            self.buffer = PerfBuffer(self.host.mem, nr_pages, mark, not writable, header)
            self.buffer.backward = self.attr.flag("write_backward")
            self.owns_buffer = True
            self.buffer.on_wakeup.append(self._wake)
        self.mmap_count += 1
        self.refcount += 1
        self.update_page()
        return self.buffer.pages()

    def update_page(self) -> None:
        """perf_event_update_userpage(): count, times and clock on the control page."""
        self.update()
        buffer = self.buffer
        if buffer is not None and buffer.base:
            buffer.set_header(self.count, self.time_enabled, self.time_running)
            clock = self.host.arch.traces.user_clock
            if clock is not None and self.board.byteorder == "little":
                buffer.tell_clock(clock, self.host.now_ns(), self.clock is not None)

    def mapped_again(self) -> None:
        """perf_mmap_open()."""
        self.mmap_count += 1
        self.refcount += 1
        if self.buffer is not None:
            self.buffer.mapped += 1

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
        """PERF_EVENT_IOC_ENABLE."""
        if not self.enabled:
            self.update_time()
            self.enabled = True
            self.start_clock()

    def disable(self) -> None:
        """PERF_EVENT_IOC_DISABLE."""
        if self.enabled:
            self.update()
            self.enabled = False
            self.stop_clock()

    def reset(self) -> None:
        """PERF_EVENT_IOC_RESET."""
        self.update()
        self.clock_base = self.time_running
        self.count = 0
        self.child_counts.clear()
        if self.buffer is not None:
            self.update_page()

    def child_gone(self, task: Hashable) -> None:
        """sync_child_event(): what an inherited event counted is kept beside its parent's, where no reset reaches it."""
        made_for = self.holders.pop(task, task)
        counted = self.child_counts.pop(made_for, 0)
        self.count -= counted
        self.child_count += counted

    def switched(self, previous: Hashable, following: Hashable) -> None:
        """perf_event_context_sched_out(): tasks whose events are alike change them, instead of stopping one's and starting the other's."""
        if self.clones and self.tasks is not None and previous in self.tasks and following in self.tasks:
            mine, other = (self.holders.get(task, task) for task in (previous, following))
            self.holders[previous], self.holders[following] = other, mine

    def ioctl(self, request: int, arg: int) -> int:
        """perf_ioctl(): the answer of ioctl(2); see perf/ioctl.py."""
        return self.core.ioctl(self, request, arg)

    # Life

    def get(self) -> PerfEvent:
        """One more reference."""
        self.refcount += 1
        return self

    def put(self) -> None:
        """One reference less; the last frees the event."""
        self.refcount -= 1
        if not self.refcount:
            self.core.free(self)

    def release(self) -> None:
        """The last descriptor is closed: no more counting; it goes when its mappings are gone."""
        self.update()
        self.enabled = False
        self.stop_clock()
        if self.leader is self:
            for sibling in self.siblings:
                sibling.leader = sibling
        elif self in self.leader.siblings:
            self.leader.siblings.remove(self)
        self.put()
