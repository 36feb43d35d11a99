"""perf events of one machine: perf_event_open(2), and what tasks do to them.  kernel/events/core.c.

`PerfCore.open()` takes the raw attribute bytes and gives a `PerfEvent`; the floor above wraps it in a file.  Tracepoint,
kprobe and uprobe events hang on the trace events of this package; software events are counted when the kernel calls
`sw_event()`; the clocks sample on virtual time.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace

from arch.abi.errno import E2BIG, EACCES, EBADF, EINVAL, EOPNOTSUPP, EOVERFLOW, ESRCH
from arch.abi.limits import PAGE_SIZE
from arch.abi.mman import PROT_EXEC
from arch.abi.perf_event import (
    PERF_BPF_EVENT_PROG_UNLOAD,
    PERF_FLAG_FD_NO_GROUP,
    PERF_FLAG_FD_OUTPUT,
    PERF_FLAG_PID_CGROUP,
    PERF_RECORD_BPF_EVENT,
    PERF_RECORD_COMM,
    PERF_RECORD_EXIT,
    PERF_RECORD_FORK,
    PERF_RECORD_KSYMBOL,
    PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER,
    PERF_RECORD_KSYMBOL_TYPE_BPF,
    PERF_RECORD_MISC_COMM_EXEC,
    PERF_RECORD_MISC_MMAP_DATA,
    PERF_RECORD_MISC_SWITCH_OUT,
    PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
    PERF_RECORD_MISC_USER,
    PERF_RECORD_MMAP,
    PERF_RECORD_MMAP2,
    PERF_RECORD_NAMESPACES,
    PERF_RECORD_SWITCH,
    PERF_RECORD_SWITCH_CPU_WIDE,
    PERF_SAMPLE_CALLCHAIN,
    PERF_SAMPLE_PHYS_ADDR,
    PERF_SAMPLE_READ,
    PERF_SAMPLE_REGS_INTR,
    PERF_SAMPLE_REGS_USER,
    PERF_TYPE_BREAKPOINT,
    PERF_TYPE_SOFTWARE,
)
from arch.errors import KernelError
from tracing.events.tracepoints import Tracepoint
from tracing.face import Mapping as FileMapping
from tracing.perf import attr as pa
from tracing.perf import ioctl as perf_ioctl
from tracing.perf.attr import SAMPLE_RATE, PerfAttr
from tracing.perf.event import PerfEvent
from tracing.perf.pmu import Pmus
from tracing.perf.programs import SetBpfHook, drop_program
from tracing.perf.sample import Switched, comm_body, mmap_bodies, user_mode
from tracing.perf.sources import PerfSources
from tracing.perf.user import UserMemory
from tracing.probes.probe_events import ProbeEvents
from tracing.probes.uprobes import Uprobes
from tracing.record.recorder import Recorder
from tracing.record.registry import EventRegistry

PERF_EVENT_SIZE = 2048  # bytes: struct perf_event, and what is counted for it
TASK_RECORDS = ("mmap", "mmap2", "mmap_data", "comm", "task")  # flags that ask for records about tasks
SIDE_BAND = (
    *TASK_RECORDS,
    "context_switch",
    "ksymbol",
    "bpf_event",
    "namespaces",
)  # and for others that are no samples


class PerfCore:
    """All perf events of a machine."""

    def __init__(
        self, recorder: Recorder, events: EventRegistry, tracepoints: Mapping[str, Tracepoint], uprobes: Uprobes,
        probe_events: ProbeEvents,
    ) -> None:  # fmt: skip
        self.board = recorder.board
        self.host = recorder.host
        self.spaces = uprobes.spaces
        self.user = UserMemory(self.host)
        self.pmus = Pmus(self.board, events, probe_events, self.user)
        self.probe_events = probe_events
        self.next_id = 1
        self.events: dict[int, PerfEvent] = {}
        self.sw_users: dict[int, list[PerfEvent]] = {}
        self.sw_active = [False] * 12
        self.side_band: list[PerfEvent] = []  # events that want comm, fork, mmap records
        self.running_task: Hashable | None = None
        self.knows_switches = False
        self.executing = False  # a task got a new program, and not yet its name
        self.resolve_fd: Callable[[int], PerfEvent] | None = None  # EBADF for what is no perf event
        self.set_bpf_hook: SetBpfHook | None = None
        self.overflow_program_hook: Callable[[PerfEvent, int, int, int], int] | None = None
        self.sources = PerfSources(self, recorder.reader, tracepoints, uprobes)

    # perf_event_open(2)

    def open(self, raw: bytes, pid: int, cpu: int, group_fd: int = -1, flags: int = 0) -> PerfEvent:
        """The checks of perf_event_open(2), in their order."""
        if flags & ~0xF:
            raise KernelError(EINVAL, "unknown flags")
        attr = pa.parse_attr(raw, self.host.version, self.board.byteorder, self.host.arch.perf_regs)
        privileged = self.host.capable("perfmon") or self.host.capable("sys_admin")
        if self.pmus.paranoid > 2 and not privileged:
            raise KernelError(EACCES, "this kernel (Debian's) has no events for everybody")
        if not attr.flag("exclude_kernel") and self.pmus.paranoid > 1 and not privileged:
            raise KernelError(EACCES, "kernel events need privilege")
        if attr.flag("namespaces") and not self.host.capable("sys_admin"):
            raise KernelError(EACCES, "namespaces")
        if attr.freq:
            if attr.sample_period > SAMPLE_RATE:
                raise KernelError(EINVAL, "sample_freq")
        elif attr.sample_period >> 63:
            raise KernelError(EINVAL, "sample_period")
        if attr.sample_type & PERF_SAMPLE_PHYS_ADDR and self.pmus.paranoid > 1 and not privileged:
            raise KernelError(EACCES, "physical addresses need privilege")
        if flags & PERF_FLAG_PID_CGROUP and (pid == -1 or cpu == -1):
            raise KernelError(EINVAL, "a cgroup event needs a CPU")
        group = self.fd(group_fd) if group_fd != -1 else None
        task = None if flags & PERF_FLAG_PID_CGROUP else self._task(pid)
        leader = group.leader if group is not None and not flags & PERF_FLAG_FD_NO_GROUP else None
        if task is not None and leader is not None and leader.attr.flag("inherit") != attr.flag("inherit"):
            raise KernelError(EINVAL, "the group leader differs in inherit")
        event = self.create(attr, task, cpu, pid)
        if flags & PERF_FLAG_PID_CGROUP:
            try:
                self._connect(event, pid, leader)
            except KernelError:
                event.release()
                raise
        if not self._permitted(attr, task, privileged):
            event.release()
            raise KernelError(EACCES, "of another's task, or of a CPU, without privilege")
        event.owner = self.host.current_task()
        try:
            self._join(event, group, leader, flags)
        except KernelError:
            event.release()
            raise
        return event

    def _connect(self, event: PerfEvent, fd: int, leader: PerfEvent | None) -> None:
        """perf_cgroup_connect(): count only for tasks of a control group.  EBADF, EINVAL, ENOENT."""
        event.cgroup = self.host.perf_cgroup(fd)
        self.follow(event)
        if leader is not None and leader.cgroup is not event.cgroup:
            raise KernelError(EINVAL, "the group leader is of another control group")

    def follow(self, event: PerfEvent) -> None:
        """Its time is that of tasks."""
        if not self.sources.followers:
            self.running_task = self.host.current_task()
        self.sources.follow(+1)

    def _permitted(self, attr: PerfAttr, task: Hashable | None, privileged: bool) -> bool:
        """perf_check_permission() of a task; find_get_context() of a CPU."""
        if task is None:
            return privileged or self.pmus.paranoid <= 0
        stops = attr.flag("sigtrap")
        if stops and not self.host.capable("kill"):
            privileged = False
        return privileged or self.host.may_watch(task, stops)

    def _task(self, pid: int) -> Hashable | None:
        if pid == -1:
            return None
        task = self.host.current_task() if pid == 0 else self.host.find_task(pid)
        if task is None:
            raise KernelError(ESRCH, f"no task {pid}")
        return task

    def fd(self, fd: int) -> PerfEvent:
        """The event behind a descriptor.  EBADF."""
        if self.resolve_fd is None or fd < 0:
            raise KernelError(EBADF, f"descriptor {fd}")
        return self.resolve_fd(fd)

    def create(self, attr: PerfAttr, task: Hashable | None, cpu: int, pid: int = -1) -> PerfEvent:
        """perf_event_alloc() and the pmu's event_init(); also what the kernel calls for its own events."""
        if not 0 <= cpu < self.host.nr_cpus and not (task is not None and cpu == -1):
            raise KernelError(EINVAL, f"cpu {cpu}")
        if attr.flag("sigtrap") and task is None:
            raise KernelError(EINVAL, "sigtrap needs a task")
        if attr.flag("inherit") and attr.sample_type & PERF_SAMPLE_READ and not attr.flag("inherit_thread"):
            raise KernelError(EINVAL, "inherit and PERF_SAMPLE_READ")
        attr = self.pmus.serving(attr)
        event = PerfEvent(self, attr, task, cpu, self.next_id)
        event.type_told = self.pmus.type_told(attr)
        if attr.freq and attr.sample_period:
            event.period = 1
            event.last_period, event.period_left = 1, -1
        self.pmus.init(event)
        try:
            self._check_abilities(attr)
            if attr.flag("use_clockid"):
                self._check_clock(attr)
        except KernelError:
            self._leave_pmu(event)
            raise
        self.host.mem.charge(PERF_EVENT_SIZE)
        if attr.type == PERF_TYPE_SOFTWARE:
            self._count_software(event)
        self.next_id += 1
        self.events[event.id] = event
        if task is not None:
            self.follow(event)
        if any(attr.flag(name) for name in SIDE_BAND):
            self.side_band.append(event)
            self.sources.describe(True)
        event.start_clock()
        return event

    def _check_abilities(self, attr: PerfAttr) -> None:
        """perf_try_init_event() and what follows it in perf_event_alloc(): what none of these PMUs can do."""
        named = attr.sample_regs_user if attr.sample_type & PERF_SAMPLE_REGS_USER else 0
        named |= attr.sample_regs_intr if attr.sample_type & PERF_SAMPLE_REGS_INTR else 0
        if named >> pa.EXTENDED_REGS and len(self.host.arch.perf_regs) <= pa.EXTENDED_REGS:
            raise KernelError(EOPNOTSUPP, "vector registers")
        if attr.flag("aux_output"):
            raise KernelError(EOPNOTSUPP, "no AUX area")
        if attr.sample_type & PERF_SAMPLE_CALLCHAIN and attr.sample_max_stack > pa.MAX_STACK:
            raise KernelError(EOVERFLOW, "sample_max_stack")

    def _check_clock(self, attr: PerfAttr) -> None:
        """perf_event_set_clock(): what may fire in an NMI takes the clocks only that can be read there."""
        known = (*pa.NMI_SAFE_CLOCKS, *pa.OTHER_CLOCKS) if self.pmus.no_nmi(attr.type) else pa.NMI_SAFE_CLOCKS
        if attr.clockid not in known:
            raise KernelError(EINVAL, "clockid")

    def _count_software(self, event: PerfEvent) -> None:
        number = event.attr.config
        self.sw_users.setdefault(number, []).append(event)
        self.sw_active[number] = True
        self.sources.count(number, True)

    def _join(self, event: PerfEvent, group: PerfEvent | None, leader: PerfEvent | None, flags: int) -> None:
        if event.attr.aux_sample_size:
            raise KernelError(EINVAL, "no event with an AUX area")
        if leader is not None and group is not None:
            if group.leader is not group:
                raise KernelError(EINVAL, "the group descriptor is not a leader")
            if leader.cpu != event.cpu or leader.tasks != event.tasks:
                raise KernelError(EINVAL, "the group is on another task or CPU")
            if event.attr.flag("exclusive") or event.attr.flag("pinned"):
                raise KernelError(EINVAL, "only leaders may be exclusive or pinned")
            if leader.clock != event.clock:
                raise KernelError(EINVAL, "the group has another clock")
            leader.siblings.append(event)
            event.leader = leader
        if flags & PERF_FLAG_FD_OUTPUT and group is not None:
            self._redirect(event, group)

    def free(self, event: PerfEvent) -> None:
        """_free_event()."""
        if event.freed:
            return
        event.freed = True
        if self.events.pop(event.id, None) is not None:
            self.host.mem.charge(-PERF_EVENT_SIZE)
            if event.follows:
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
        drop_program(event)
        self._leave_pmu(event)

    def _leave_pmu(self, event: PerfEvent) -> None:
        """The event's destroy(): what init() hung on to it goes."""
        found = event.trace_event
        if found is not None:
            found.perf_events.remove(event)
            found.perf_unregister()
            if found.perf_users:
                found.perf_changed()
        if event.local_event is not None:
            self.probe_events.destroy_local(event.local_event)
        for callback in event.on_free:
            callback()

    def ioctl(self, event: PerfEvent, request: int, arg: int) -> int:
        """ioctl(2) on an event's descriptor."""
        return perf_ioctl.ioctl(self, event, request, arg)

    def modify(self, event: PerfEvent, address: int) -> int:
        """perf_event_modify_attr(): another place for a breakpoint; the rest has to be as it was.  EINVAL, EOPNOTSUPP."""
        head = self.user.read(address, 8)
        size = pa.read_size(head, self.host.version, self.board.byteorder)
        if pa.has_unknown(self.user.read, address, size, pa.attr_size(self.host.version)):
            raise KernelError(E2BIG, "bytes that this kernel does not know are not zero")
        raw = self.user.read(address, size)
        attr = pa.parse_attr(raw, self.host.version, self.board.byteorder, self.host.arch.perf_regs)
        if attr.type != event.attr.type:
            raise KernelError(EINVAL, "an event of another type")
        if attr.type != PERF_TYPE_BREAKPOINT:
            raise KernelError(EOPNOTSUPP, "only breakpoints")
        if event.board.features.modify_signal_data:  # whatever becomes of the rest
            event.attr = replace(event.attr, sig_data=attr.sig_data)
        old, disabled = event.attr, 1 << pa.FLAG_BITS.index("disabled")
        same = replace(
            old, bp_type=attr.bp_type, config1=attr.config1, config2=attr.config2,
            flags=old.flags & ~disabled | attr.flags & disabled,
        )  # fmt: skip
        if same != attr:
            raise KernelError(EINVAL, "more than the place")
        self.pmus.move_breakpoint(event, attr)
        if attr.flag("disabled"):
            event.disable()
        else:
            event.enable()
        return 0

    # Output

    def set_output(self, event: PerfEvent, fd: int) -> int:
        """PERF_EVENT_IOC_SET_OUTPUT: into the buffer of another event, or (-1) its own again.  EBADF, EINVAL."""
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
            if target.clock != event.clock:
                raise KernelError(EINVAL, "the buffer has another clock")
            if target.attr.flag("write_backward") != event.attr.flag("write_backward"):
                raise KernelError(EINVAL, "direction differs")
        if event.mmap_count:
            raise KernelError(EINVAL, "the event has a buffer that is mapped")
        if target is not None and target.buffer is None:
            raise KernelError(EINVAL, "the other event has no buffer")
        for other in self.events.values():
            if event in other.output_to:
                other.output_to.remove(event)
        event.buffer = None
        if target is not None:
            event.buffer = target.buffer
            event.owns_buffer = False
            target.output_to.append(event)

    # Events happen

    def sw_event(self, number: int, nr: int = 1, regs: int = 0, addr: int = 0) -> None:
        """perf_sw_event(): the kernel calls it where `sw_active[number]`."""
        ip = self.board.instruction_pointer(regs) if regs else 0
        excluding = "exclude_user" if user_mode(self.board, ip) else "exclude_kernel"
        for event in tuple(self.sw_users.get(number, ())):
            if event.active() and not event.attr.flag(excluding):
                event.swevent(nr, regs, None, addr)

    # Tasks

    def task_switch(self, previous: Hashable, following: Hashable) -> None:
        """The kernel may tell of context switches: then task events' times count only while their task runs."""
        for event in self.events.values():
            if event.follows:
                event.update_time()
                event.switched(previous, following)
        self.running_task = following
        self.knows_switches = True

    def task_fork(self, parent: Hashable, child: Hashable, thread: bool = True) -> None:
        """perf_event_init_task(): inherited events count the child, too; with inherit_thread, only one of the same process."""
        of_parent = [event for event in self.events.values() if event.tasks is not None and parent in event.tasks]
        inherited = [
            event
            for event in of_parent
            if event.attr.flag("inherit") and (thread or not event.attr.flag("inherit_thread"))
        ]
        for event in inherited:
            event.clones = event.clones and len(inherited) == len(of_parent)
            if event.tasks is not None:
                event.tasks.add(child)
                if event.trace_event is not None:
                    event.trace_event.perf_changed()

    def set_owned(self, task: Hashable, on: bool) -> None:
        """perf_event_task_enable(), perf_event_task_disable(): all events that a task has opened."""
        for event in tuple(self.events.values()):
            if event.owner == task:
                (event.enable if on else event.disable)()

    def task_exec(self, task: Hashable) -> None:
        """perf_event_exec(): enable_on_exec and remove_on_exec, before the COMM and MMAP records of the new program."""
        self.executing = self.sources.described
        for event in tuple(self.events.values()):
            if event.tasks is None or task not in event.tasks:
                continue
            if event.attr.flag("enable_on_exec"):
                event.enable()
            if event.attr.flag("remove_on_exec"):
                event.disable()
            if event.trace_event is not None:
                event.trace_event.perf_changed()

    def task_exit(self, task: Hashable, task_struct: int = 0) -> None:
        """perf_event_exit_task(): who wants records is told, and an event whose last task is gone hangs up."""
        if task_struct:
            self.sources.exited(task_struct)
        for event in self.events.values():
            if event.tasks is not None and task in event.tasks:
                event.update_time()
                event.tasks.discard(task)
                if event.tasks:
                    event.child_gone(task)
                if not event.tasks:
                    event.enabled = False
                    event.hangup = True
                    self.host.wake(event.waiters)

    # Side-band records

    def _side_band(self, flags: tuple[str, ...], kind: int, body: bytes, misc: int = 0) -> None:
        for event in self.side_band:
            if event.active() and any(event.attr.flag(flag) for flag in flags):
                event.output(event.format.about_task(kind, body, misc))

    def comm_event(self, tgid: int, pid: int, comm: str) -> None:
        """PERF_RECORD_COMM; the first name after an exec says so."""
        misc, self.executing = (PERF_RECORD_MISC_COMM_EXEC if self.executing else 0), False
        self._side_band(("comm",), PERF_RECORD_COMM, comm_body(self.board.order, tgid, pid, comm), misc)

    def switch_event(self, leaving: Switched, coming: Switched, preempted: bool) -> None:
        """PERF_RECORD_SWITCH of a task's events, PERF_RECORD_SWITCH_CPU_WIDE of a CPU's: out, and in."""
        order = self.board.order
        for event in tuple(self.side_band):
            if (
                not event.attr.flag("context_switch")
                or not event.enabled
                or (event.cgroup is not None and not event.cgroup.contains_current())
                or event.cpu not in (-1, self.host.cpu_id())
            ):
                continue
            for own, other, out in ((leaving, coming, True), (coming, leaving, False)):
                misc = PERF_RECORD_MISC_SWITCH_OUT if out else 0
                misc |= PERF_RECORD_MISC_SWITCH_OUT_PREEMPT if out and preempted else 0
                if event.tasks is None:
                    body = struct.pack(order + "II", other.tgid, other.pid)
                    event.output(event.format.about_task(PERF_RECORD_SWITCH_CPU_WIDE, body, misc, own))
                elif own.task in event.tasks:
                    event.output(event.format.about_task(PERF_RECORD_SWITCH, b"", misc, own))

    def bpf_event(self, kind: int, number: int, tag: bytes, symbols: Sequence[tuple[int, str]]) -> None:
        """A program came or goes: PERF_RECORD_KSYMBOL of its functions, by address and name, and PERF_RECORD_BPF_EVENT."""
        if not self.side_band:
            return
        flags = PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER if kind == PERF_BPF_EVENT_PROG_UNLOAD else 0
        for address, name in symbols:
            body = struct.pack(self.board.order + "QIHH", address, PAGE_SIZE, PERF_RECORD_KSYMBOL_TYPE_BPF, flags)
            text = name.encode("latin-1", "replace") + b"\0"
            self._side_band(("ksymbol",), PERF_RECORD_KSYMBOL, body + text + bytes(-len(text) % 8))
        body = struct.pack(self.board.order + "HHI8s", kind, 0, number, tag)
        self._side_band(("bpf_event",), PERF_RECORD_BPF_EVENT, body)

    def fork_event(self, tgid: int, ppid: int, pid: int, ptid: int, exiting: bool = False) -> None:
        """PERF_RECORD_FORK, PERF_RECORD_EXIT."""
        body = struct.pack(self.board.order + "IIIIQ", tgid, ppid, pid, ptid, self.host.now_ns())
        self._side_band(TASK_RECORDS, PERF_RECORD_EXIT if exiting else PERF_RECORD_FORK, body)

    def namespaces_event(self, tgid: int, pid: int, task: Hashable) -> None:
        """PERF_RECORD_NAMESPACES: the files of those that a task is in."""
        if any(event.attr.flag("namespaces") for event in self.side_band):
            files = self.host.namespace_files(task)
            numbers = [number for file in files for number in file]
            body = struct.pack(f"{self.board.order}IIQ{len(numbers)}Q", tgid, pid, len(files), *numbers)
            self._side_band(("namespaces",), PERF_RECORD_NAMESPACES, body)

    def entered_namespaces(self) -> None:
        """The running task has made or entered others."""
        if self.side_band:
            self.namespaces_event(self.host.current_tgid(), self.host.current_pid(), self.host.current_task())

    def mmap_event(self, area: FileMapping) -> None:
        """PERF_RECORD_MMAP or _MMAP2 of the running task's new mapping of a file."""
        host = self.host
        mmap, mmap2 = mmap_bodies(self.board.order, host.current_tgid(), host.current_pid(), area)
        executable = bool(area.prot & PROT_EXEC)
        misc = PERF_RECORD_MISC_USER if executable else PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_DATA
        for event in self.side_band:
            attr = event.attr
            wanted = attr.flag("mmap") or attr.flag("mmap2") if executable else attr.flag("mmap_data")
            if wanted and event.active():
                kind, body = (PERF_RECORD_MMAP2, mmap2) if attr.flag("mmap2") else (PERF_RECORD_MMAP, mmap)
                event.output(event.format.about_task(kind, body, misc))
