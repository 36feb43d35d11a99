"""What kinds of perf events there are: software, tracepoint, breakpoint, kprobe, uprobe.  kernel/events/core.c, hw_breakpoint.c.

Each kind checks the attribute in the kernel's order and hangs the event where it counts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from dataclasses import replace

from arch.abi.errno import E2BIG, EACCES, EINVAL, ENOENT, ENOSPC, EOPNOTSUPP, EPERM
from arch.abi.hw_breakpoint import HW_BREAKPOINT_RW, HW_BREAKPOINT_W, HW_BREAKPOINT_X
from arch.abi.limits import PAGE_SIZE
from arch.abi.perf_event import (
    PERF_COUNT_SW_CPU_CLOCK,
    PERF_COUNT_SW_TASK_CLOCK,
    PERF_SAMPLE_BRANCH_STACK,
    PERF_SAMPLE_RAW,
    PERF_SAMPLE_STACK_USER,
    PERF_TYPE_BREAKPOINT,
    PERF_TYPE_SOFTWARE,
    PERF_TYPE_TRACEPOINT,
)
from arch.abi.version import newest
from arch.errors import KernelError
from tracing.board import Board
from tracing.perf import attr as pa
from tracing.perf.attr import PerfAttr
from tracing.perf.event import PerfEvent
from tracing.perf.user import UserMemory
from tracing.probes.event import ProbeEvent
from tracing.probes.probe_events import ProbeEvents
from tracing.record.event import TraceEvent
from tracing.record.registry import EventRegistry

# /sys/bus/event_source/devices/NAME/type
PMU_TYPES = {"software": 1, "tracepoint": 2, "breakpoint": 5}
FIRST_DYNAMIC = 6  # PERF_TYPE_MAX: numbers from here on are given out at boot, in this order
CLOCKS = {"cpu_clock": PERF_COUNT_SW_CPU_CLOCK, "task_clock": PERF_COUNT_SW_TASK_CLOCK}  # not seen in /sys
PERF_MSR_TSC = 0  # enum perf_msr_id
PMU_EVENTS = {"msr": {"tsc": "event=0x00"}}
PMU_FORMATS = {
    "msr": {"event": "config:0-63"},
    "kprobe": {"retprobe": "config:0"},
    "uprobe": {"retprobe": "config:0", "ref_ctr_offset": "config:32-63"},
}
PROBE_IS_RETPROBE = 1
# (tasks or None, address, length, HW_BREAKPOINT_*, called with the trap's pt_regs) -> what ends it
Watch = Callable[[Collection[Hashable] | None, int, int, int, Callable[[int], None]], Callable[[], None]]


def pmu_types(board: Board) -> dict[str, int]:
    """The machine's event sources, by name."""
    dynamic = [*CLOCKS] if board.features.clock_pmus else []
    if board.features.probe_pmu:
        dynamic += ["kprobe", "uprobe"]
    if board.host.arch.calls.has_tsc and board.host.version.at_least("4.3"):
        dynamic.append("msr")
    return PMU_TYPES | {name: FIRST_DYNAMIC + i for i, name in enumerate(dynamic)}


class Pmus:
    """All of a machine's."""

    def __init__(self, board: Board, events: EventRegistry, probe_events: ProbeEvents, user: UserMemory) -> None:
        self.board = board
        self.host = board.host
        self.events = events
        self.probe_events = probe_events
        self.user = user
        self.paranoid = 3  # perf_event_paranoid
        self.types = pmu_types(board)
        self.watch: Watch | None = None  # the machine's debug registers
        self.watching: dict[PerfEvent, Callable[[], None]] = {}  # what ends a breakpoint

    @property
    def shown(self) -> dict[str, int]:
        """Those of /sys/bus/event_source/devices."""
        return {name: number for name, number in self.types.items() if name not in CLOCKS}

    def set_paranoid(self, value: int) -> None:
        """A write to kernel.perf_event_paranoid."""
        self.paranoid = value

    def no_nmi(self, kind: int) -> bool:
        """PERF_PMU_CAP_NO_NMI."""
        return kind == PERF_TYPE_SOFTWARE

    def serving(self, attr: PerfAttr) -> PerfAttr:
        """The attribute of an event of a clock's own type as of one of software.  ENOENT for another of that type."""
        clock = next((name for name in CLOCKS if attr.type == self.types.get(name)), None)
        if clock is None:
            return attr
        if attr.config != CLOCKS[clock]:
            raise KernelError(ENOENT, f"not {clock}")
        return replace(attr, type=PERF_TYPE_SOFTWARE)

    def type_told(self, attr: PerfAttr) -> int:
        """attr.type as perf_swevent_init() leaves it: where clocks have types of their own, theirs."""
        if attr.type != PERF_TYPE_SOFTWARE:
            return attr.type
        clock = next((name for name, number in CLOCKS.items() if attr.config == number), "")
        return self.types.get(clock, attr.type)

    def init(self, event: PerfEvent) -> None:
        """The event_init() of the type's PMU.  ENOENT for a type nobody serves."""
        attr = event.attr
        if attr.type == PERF_TYPE_SOFTWARE:
            self._init_software(event)
        elif attr.type == PERF_TYPE_TRACEPOINT:
            self._init_tracepoint(event)
        elif attr.type == self.types.get("kprobe"):
            self._init_kprobe(event)
        elif attr.type == self.types.get("uprobe"):
            self._init_uprobe(event)
        elif attr.type == PERF_TYPE_BREAKPOINT:
            self._init_breakpoint(event)
        elif attr.type == self.types.get("msr"):
            self._init_msr(event)
        else:
            raise KernelError(ENOENT, f"no PMU for type {attr.type}")

    def _init_breakpoint(self, event: PerfEvent) -> None:
        """register_perf_hw_breakpoint(): a register first, then what to watch.  EINVAL, EPERM; ENOSPC, also where there is no CPU."""
        attr = event.attr
        self._no_branches(attr)
        try:
            self._check_breakpoint(attr)
        except KernelError:
            if self.watch is not None:
                self.watch(event.tasks, 0, self.board.word, HW_BREAKPOINT_W, lambda regs: None)()  # ENOSPC comes before
            raise
        if self.watch is None:
            raise KernelError(ENOSPC, "no debug registers")
        if event not in self.watching:
            event.on_free.append(lambda: self.watching.pop(event)())
        self.watching[event] = self.watch(
            event.tasks, attr.config1, attr.config2, attr.bp_type, lambda regs: self._breakpoint_hit(event, regs)
        )

    def _check_breakpoint(self, attr: PerfAttr) -> None:
        """hw_breakpoint_parse() of x86.  EINVAL, EPERM."""
        address, length = attr.config1, attr.config2
        if attr.bp_type == HW_BREAKPOINT_X:
            if length != self.board.word:
                raise KernelError(EINVAL, "an instruction's breakpoint is as long as a long")
        elif attr.bp_type not in (HW_BREAKPOINT_W, HW_BREAKPOINT_RW):
            raise KernelError(EINVAL, "what it is to watch")
        elif length not in (1, 2, 4, 8) or length > self.board.word:
            power = length > 0 and not length & (length - 1)  # a mask, of CPUs that have such
            raise KernelError(EOPNOTSUPP if power else EINVAL, "length")
        elif address & (length - 1):
            raise KernelError(EINVAL, "alignment")
        if address >= self.host.arch.map.user_end:
            if attr.flag("exclude_kernel"):
                raise KernelError(EINVAL, "an address of the kernel, and the kernel excluded")
            if not self.host.capable("sys_admin"):
                raise KernelError(EPERM, "an address of the kernel")

    def move_breakpoint(self, event: PerfEvent, attr: PerfAttr) -> None:
        """modify_user_hw_breakpoint_check(): where it cannot be, it stays.  EINVAL."""
        old, event.attr = event.attr, attr
        self.watching[event]()
        try:
            self._init_breakpoint(event)
        except KernelError:
            event.attr = old
            self._init_breakpoint(event)
            raise

    def _breakpoint_hit(self, event: PerfEvent, regs: int) -> None:
        """perf_bp_event(): the debug trap of the task's code."""
        if event.active() and not event.attr.flag("exclude_user"):
            event.swevent(1, regs, None, event.attr.config1)

    def _init_software(self, event: PerfEvent) -> None:
        attr = event.attr
        if attr.config >= newest(pa.SW_MAX, self.host.version):
            raise KernelError(ENOENT, f"software event {attr.config}")
        self._no_branches(attr)
        if attr.freq and attr.sample_period and attr.config in (PERF_COUNT_SW_CPU_CLOCK, PERF_COUNT_SW_TASK_CLOCK):
            event.fix_period()

    def _no_branches(self, attr: PerfAttr) -> None:
        if attr.sample_type & PERF_SAMPLE_BRANCH_STACK:
            raise KernelError(EOPNOTSUPP, "no branch stacks")

    def _init_tracepoint(self, event: PerfEvent) -> None:
        self._no_branches(event.attr)
        found = self.events.by_id.get(event.attr.config) or self._of_tracers(event.attr.config)
        if found is None:
            raise KernelError(EINVAL, f"no trace event {event.attr.config}")
        self._permission(event, found)
        self.attach(event, found)

    def _permission(self, event: PerfEvent, found: TraceEvent) -> None:
        """perf_trace_event_perm()."""
        if found.system == "ftrace" and found.name == "function":
            self._unprivileged_refused()
            if not event.sampling:
                return
            if not event.attr.flag("exclude_callchain_user") or event.attr.sample_type & PERF_SAMPLE_STACK_USER:
                raise KernelError(EINVAL, "user memory cannot be read at every function")
        if not event.attr.sample_type & PERF_SAMPLE_RAW:
            return
        if event.tasks is not None and found.cap_any:
            return
        self._unprivileged_refused()

    def _unprivileged_refused(self) -> None:
        """perf_allow_tracepoint()."""
        if self.paranoid > -1 and not (self.host.capable("perfmon") or self.host.capable("sys_admin")):
            raise KernelError(EPERM, "raw tracepoint data needs privilege")

    def _of_tracers(self, number: int) -> TraceEvent | None:
        """What tracers write: perf may count two of them."""
        internal = self.events.internal.values()
        return next((event for event in internal if event.id == number and event.perf_may_count), None)

    def _init_msr(self, event: PerfEvent) -> None:
        """msr_event_init(): of the counters in registers of the model these CPUs have the time stamp only.  arch/x86/events/msr.c"""
        if event.attr.sample_period:
            raise KernelError(EINVAL, "it does not sample")
        if event.attr.config != PERF_MSR_TSC:
            raise KernelError(EINVAL, "no such register here")
        event.counts_time = True

    def attach(self, event: PerfEvent, found: TraceEvent) -> None:
        """Hang a perf event on a trace event, and arm that.  Whatever arming refuses."""
        event.trace_event = found
        found.perf_events.append(event)
        try:
            found.perf_register()
        except KernelError:
            found.perf_events.remove(event)
            raise
        found.perf_changed()

    def _init_kprobe(self, event: PerfEvent) -> None:
        attr = event.attr
        if not (self.host.capable("perfmon") or self.host.capable("sys_admin")):
            raise KernelError(EACCES, "perfmon")
        self._no_branches(attr)
        symbol = ""
        if attr.config1:
            symbol = self.user.string(attr.config1, 512, E2BIG)
        address = 0 if symbol else attr.config2
        offset = attr.config2 if symbol else 0
        local = self.probe_events.local_kprobe(symbol, address, offset, bool(attr.config & PROBE_IS_RETPROBE))
        self._attach_local(event, local)

    def _init_uprobe(self, event: PerfEvent) -> None:
        attr = event.attr
        if not (self.host.capable("perfmon") or self.host.capable("sys_admin")):
            raise KernelError(EACCES, "perfmon")
        self._no_branches(attr)
        path = self.user.string(attr.config1, PAGE_SIZE, E2BIG) if attr.config1 else ""
        if not path:
            raise KernelError(EINVAL, "no path")
        ref_ctr_offset = attr.config >> 32 if self.board.features.uprobe_ref_ctr else 0
        local = self.probe_events.local_uprobe(
            path, attr.config2, ref_ctr_offset, bool(attr.config & PROBE_IS_RETPROBE)
        )
        self._attach_local(event, local)

    def _attach_local(self, event: PerfEvent, local: ProbeEvent) -> None:
        event.local_event = local
        try:
            self.attach(event, local)
        except KernelError:
            self.probe_events.destroy_local(local)
            raise
