"""Trace events: what every event has, whatever fires it.  struct trace_event_call and trace_event_file.

An event has two kinds of users: ftrace (in each trace array its `enable` file and triggers: an `EventFile`) and perf
(perf events, and through them BPF programs).  The first user of a kind calls `reg(kind)`, the last `unreg(kind)`; only
then is the probe or tracepoint armed, so an event nobody listens to costs nothing.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Sequence
from typing import Protocol

from arch.abi.errno import EEXIST
from arch.errors import KernelError
from arch.native.handler import Tier, chosen_tier
from arch.tracefacts import EventFrames, Names
from tracing.buffer.trace import TraceArray
from tracing.face import AttachedProgram, FilterProgram
from tracing.probes import programs
from tracing.record.fields import COMMON_FIELDS, FILTER_COMM, FILTER_CPU, FILTER_STACKTRACE, Field, format_text
from tracing.record.print_fmt import Printer, compile_print_fmt
from tracing.record.recorder import Recorder
from tracing.record.stack import Reader, frames_of, seen

FTRACE, PERF = "ftrace", "perf"
# Commits after which they are compiled.
WARM_COMMITS = {Tier.AUTO: 50, Tier.NATIVE: 0, Tier.PYTHON: 0}
OFTEN = 50
# trace_events.c:event_filter_pid_sched_switch_probe_pre() and its like
PID_FIELDS = {
    "sched_switch": ("next_pid",), "sched_wakeup": ("pid",), "sched_wakeup_new": ("pid",), "sched_waking": ("pid",),
}  # fmt: skip


class Filter(Protocol):
    """A compiled event filter."""

    text: str

    def match(self, record: bytes) -> bool:
        """Does the record pass?"""

    def rows(self) -> Sequence[tuple[object, int, bool]]:
        """Its tests, for native code: test or None, target, when to branch."""


class Trigger(Protocol):
    """What hangs in an event's `trigger` file; struct event_trigger_data."""

    filter: Filter | None
    paused: bool
    post: bool  # runs after the event's record was written; EVENT_CMD_FL_POST_TRIGGER

    @property
    def deferred(self) -> bool:
        """It needs the record, so the record's place is taken before triggers run."""

    hidden: bool  # of an event probe: not shown in the file

    def run(self, record: bytes, regs: int) -> None:
        """The event fired; `regs` is a probe's pt_regs, or 0."""

    def show(self) -> str:
        """Its line in the file."""

    def delete(self) -> None:
        """Take it off its event."""


class PerfUser(Protocol):
    """A perf event on a trace event, as the trace event sees it."""

    program: AttachedProgram | None

    @property
    def sampling(self) -> bool:
        """Does it keep more of a hit than a count?"""

    def wants_mm(self, mm: Hashable) -> bool:
        """Is this address space one of those that it counts in?"""

    def receive(self, record: bytes, regs: int, ip: int) -> None:
        """The trace event fired, with this record; perf_tp_event()."""


class EventFile:
    """One event in one trace array: whether it is on there, its filter and its triggers.  struct trace_event_file."""

    def __init__(self, event: TraceEvent, array: TraceArray) -> None:
        self.event = event
        self.array = array
        self.registered = False  # EVENT_FILE_FL_ENABLED: the event calls commit()
        self.was_enabled = False
        self.soft_mode = False  # triggers keep it registered ...
        self._soft_disabled = False  # ... but it writes nothing
        self.soft_users = 0
        self.records = (False, False)  # names, thread groups of tasks are noted for this event
        self.trigger_users = 0
        self._filter: Filter | None = None
        self.commits = 0  # that Python made
        self.native: Callable[[bytes], bool] | None = None  # the compiled form of commit(); False: it is Python's
        self.filter_text: str | None = None  # what the file shows, error text included
        self.triggers: list[Trigger] = []

    @property
    def enabled(self) -> bool:
        """Does it write records?"""
        return self.registered and not self.soft_disabled

    @property
    def soft_disabled(self) -> bool:
        """A trigger has switched it off."""
        return self._soft_disabled

    @soft_disabled.setter
    def soft_disabled(self, off: bool) -> None:
        if off != self._soft_disabled:
            self._soft_disabled = off
            self.changed()

    @property
    def filter(self) -> Filter | None:
        """Which records are wanted; None: all."""
        return self._filter

    @filter.setter
    def filter(self, filter: Filter | None) -> None:
        self._filter = filter
        self.changed()

    def changed(self) -> None:
        """What a record meets here is another: compiled forms have to be made anew."""
        self.native = None
        self.commits = 0
        if self.registered:
            self.event.users_changed()

    @property
    def plain(self) -> bool:
        """Records go through a filter at most: no triggers."""
        return self.registered and not self._soft_disabled and not self.triggers

    def state(self) -> str:
        """The file `enable`: 0, 1, and a * while a trigger keeps the event registered."""
        return ("1" if self.enabled else "0") + ("*" if self.soft_disabled or self.soft_mode else "")

    def set_enabled(self, on: bool) -> None:
        """The `enable` file."""
        if on:
            self.soft_disabled = False
            self._register()
            return
        if not self.soft_mode:
            self._unregister()
        self.soft_disabled = self.soft_mode

    def soft_enable(self, delta: int) -> None:
        """A trigger wants (+1) or no longer wants (-1) the event registered; __ftrace_event_enable_disable()."""
        self.soft_users += delta
        if delta > 0:
            if self.soft_users == 1:
                self.soft_mode = True
                if not self.registered:
                    self.soft_disabled = True
                    self._register()
        elif not self.soft_users:
            self.soft_mode = False
            if self.soft_disabled:
                self._unregister()
            self.soft_disabled = False

    def _register(self) -> None:
        if self.registered:
            return
        event = self.event
        if not event.listeners:
            event.reg(FTRACE)
        self.registered = self.was_enabled = True
        self.record_tasks(True)
        event.listeners = (*event.listeners, self)
        event.file_changed(self, True)
        event.users_changed()

    def _unregister(self) -> None:
        if not self.registered:
            return
        self.registered = False
        self.record_tasks(False)
        event = self.event
        event.listeners = tuple(file for file in event.listeners if file is not self)
        event.file_changed(self, False)
        if not event.listeners:
            event.unreg(FTRACE)
        event.users_changed()

    def record_tasks(self, on: bool) -> None:
        """EVENT_FILE_FL_RECORDED_CMD, _TGID: while the event is on, names of tasks are noted, as the options say."""
        options, now = self.array.options, self.records
        self.records = (on and options["record-cmd"], on and options.get("record-tgid", False))
        self.array.board.tasks.use(self.records[0] - now[0], self.records[1] - now[1])

    def add_trigger(self, trigger: Trigger, last: bool = False) -> None:
        """Newest first, but for those that say otherwise."""
        self.triggers.insert(len(self.triggers) if last else 0, trigger)
        self.changed()
        self.trigger_users += 1
        if self.trigger_users == 1:
            self.soft_enable(1)

    def remove_trigger(self, trigger: Trigger) -> None:
        """The opposite."""
        self.triggers.remove(trigger)
        self.changed()
        self.trigger_users -= 1
        if not self.trigger_users:
            self.soft_enable(-1)

    def commit(self, record: bytes, regs: int = 0) -> None:
        """trace_event_buffer_commit(): triggers, filter, buffer, and the triggers that come after the record."""
        if self.native is not None:
            if self.native(record):
                return
        elif self.commits < OFTEN:
            self.commits += 1
            if self.commits >= WARM_COMMITS[chosen_tier()]:
                self.commits = OFTEN
                self.native = self.event.recorder.native.committer(self)
        later: list[Trigger] = []
        array = self.array
        reserved = None
        if self.triggers:
            if any(trigger.deferred for trigger in self.triggers):
                reserved = array.buffer
            later = self.call_triggers(record, regs)
        if (
            not self.soft_disabled
            and (self.filter is None or self.filter.match(record))
            and (not array.chooses_tasks or array.traces_pid(*self.event.other_pids(record)))
        ):
            array.write(record, reserved)
            if array.options["stacktrace"]:
                array.stack_entry(self.event.stack(regs, Reader.OPTION), record)
            if array.options["userstacktrace"]:
                array.user_stack_entry(record)
        for trigger in later:
            trigger.run(record, regs)

    def call_triggers(self, record: bytes, regs: int) -> list[Trigger]:
        """event_triggers_call(): those that wait for the record are given back."""
        later = []
        for trigger in tuple(self.triggers):
            if trigger.paused or (trigger.filter is not None and not trigger.filter.match(record)):
                continue
            if trigger.post:
                later.append(trigger)
            else:
                trigger.run(record, regs)
        return later


class TraceEvent:
    """One event: identity, fields, text, users."""

    program_kind = "tracepoint"  # what PERF_EVENT_IOC_SET_BPF calls it: also "kprobe", "uprobe", "syscall"

    dynamic = False  # made through kprobe_events and friends
    cap_any = False
    held_flags = 0  # what the place that fires it holds: irqs off and such
    held_depth = 0  # and its preempt depth
    handler_flags = 0  # what the handler of its probe holds

    def __init__(self, recorder: Recorder, system: str, name: str, fields: list[Field], print_fmt: str) -> None:
        self.recorder = recorder
        self.board = recorder.board
        self.host = recorder.host
        self.system = system
        self.name = name
        self.id = 0
        self.fields = fields
        self.print_fmt = print_fmt
        self._printer: Printer | None = None
        # ftrace side
        self.files: dict[TraceArray, EventFile] = {}  # of the arrays in which somebody has asked for it
        self.listeners: tuple[EventFile, ...] = ()  # those that want every hit
        self.filter_program: FilterProgram | None = None  # the 3.20-rfc profile's `bpf-N`
        self.in_use = 0  # references that forbid deletion
        # perf side
        self.perf_users = 0
        self.perf_events: list[PerfUser] = []
        self.bpf_programs: list[AttachedProgram] = []
        self._compiled: programs.Runner | None = None  # runs them all
        self.shared_program: AttachedProgram | None = None  # before 4.14: the one for all perf events

    # Identity

    @property
    def point(self) -> str:
        """The tracepoint behind it; empty for a probe or a synthetic event."""
        return "" if self.dynamic or self.program_kind != "tracepoint" else self.name

    @property
    def record_depth(self) -> int:
        """The preempt depth in its records."""
        return self.held_depth

    def __repr__(self) -> str:
        return f"<event {self.system}:{self.name} id {self.id}>"

    @property
    def format(self) -> str:
        """The file `format`."""
        return format_text(self.name, self.id, self.fields, self.print_fmt)

    def find_field(self, name: str) -> Field | None:
        """trace_events.c:trace_find_event_field(): the event's own, then the generic ones, then the common ones."""
        stacks: tuple[Field, ...] = STACK_FIELDS if self.board.features.stack_fields else ()
        for field in (*self.fields, *GENERIC_FIELDS, *stacks, *COMMON_FIELDS):
            if field.name == name:
                return field
        return None

    # Users

    def file(self, array: TraceArray) -> EventFile:
        """The event in one trace array; made when first asked for."""
        known = self.files.get(array)
        if known is None:
            known = self.files[array] = EventFile(self, array)
        return known

    @property
    def top(self) -> EventFile:
        """The event in the trace array of the whole machine."""
        return self.file(self.recorder.array)

    @property
    def enabled(self) -> bool:
        """Does it write into the trace of the whole machine?"""
        known = self.files.get(self.recorder.array)
        return known is not None and known.enabled

    def set_enabled(self, on: bool) -> None:
        """The `enable` file of the whole machine's array."""
        if on != self.enabled or on:
            self.top.set_enabled(on)

    @property
    def busy(self) -> bool:
        """Somebody uses it: it cannot be deleted."""
        return self.on or self.in_use > 0

    @property
    def on(self) -> bool:
        """It is listened to."""
        return bool(self.listeners) or self.perf_users > 0

    def perf_register(self) -> None:
        """One more perf event; the first arms.  Whatever reg() refuses."""
        if not self.perf_users:
            self.reg(PERF)
        self.perf_users += 1
        self.users_changed()

    def perf_unregister(self) -> None:
        """One perf event less; the last disarms."""
        self.perf_users -= 1
        if not self.perf_users:
            self.unreg(PERF)
        self.users_changed()

    perf_may_count = True

    def reg(self, kind: str) -> None:
        """Arm for a kind of user; raises KernelError if that is impossible."""

    def unreg(self, kind: str) -> None:
        """Disarm."""

    def file_changed(self, file: EventFile, on: bool) -> None:
        """One trace array listens, or no longer does."""

    def users_changed(self) -> None:
        """Who listens, or what a program does, is another: a compiled handler has to be made anew."""

    def perf_changed(self) -> None:
        """A perf event came or went, or its tasks are others: the address spaces of interest may differ."""

    # Records

    def above(self, frames: EventFrames) -> Names:
        """Functions on the stack between the reader and the place that fired the event, innermost first."""
        return frames.commit

    def between(self, frames: EventFrames) -> Names:
        """Functions between the place that fires the event and the one that fires it here."""
        return ()

    def left(self, frames: EventFrames) -> Names:
        """Functions that the machine has on its stack and a real kernel, where the event fires, has not."""
        return ()

    def stack(self, regs: int, reader: Reader) -> list[int]:
        """The kernel's stack as a reader sees it; `regs` is a probe's pt_regs, or 0."""
        frames, walked = frames_of(self.board), self.host.stack_trace(regs, self.point)
        if frames is None:
            return walked
        if left := self.left(frames):
            lookup = self.host.symbols.lookup
            walked = [address for address in walked if (found := lookup(address)) is None or found[0] not in left]
        return seen(self.board, frames, self.above(frames), reader, walked)

    def header(self, preempt_extra: int = 0, flags_extra: int = 0) -> bytes:
        """struct trace_entry of an event that fires now."""
        host = self.host
        preempt = (host.preempt_count() + preempt_extra) & self.board.depth_mask
        return self.board.pack_header(self.id, host.irq_flags() | flags_extra, preempt, host.current_pid())

    def other_pids(self, record: bytes) -> tuple[int, ...]:
        """Whose event it is beside the current task's: set_event_pid looks at both sides of a switch or a wakeup."""
        names = PID_FIELDS.get(self.name) if self.system == "sched" else None
        if names is None:
            return ()
        order = self.board.byteorder
        return tuple(
            int.from_bytes(record[field.offset : field.offset + field.size], order, signed=True)
            for field in self.fields
            if field.name in names
        )

    def commit(self, record: bytes, regs: int = 0) -> None:
        """To every trace array that listens.  `regs` is a probe's pt_regs, for stack traces."""
        for file in self.listeners:
            file.commit(record, regs)

    def deliver_to_perf(self, record: bytes, regs: int = 0, ip: int = 0) -> None:
        """perf_tp_event(): a sample for each perf event that counts here."""
        for user in tuple(self.perf_events):
            user.receive(record, regs, ip)

    def text(self, record: bytes) -> str:
        """What the trace file prints after `NAME: `."""
        if self._printer is None:
            self._printer = self.printer()
        return self._printer(record, self.board.addresses)

    def printer(self) -> Printer:
        """Made when the first record is printed."""
        return compile_print_fmt(self.print_fmt, self.fields, self.board.byteorder, self.board.word)

    def line(self, record: bytes) -> str:
        """The whole event part of a trace line, with the newline."""
        return f"{self.name}: {self.text(record)}\n"

    # BPF, as callbacks of the floor above

    @property
    def programs_active(self) -> ctypes.Array[ctypes.c_uint64]:
        """bpf_prog_active of each CPU, which keeps programs from running within others."""
        return self.recorder.running.active

    def run_bpf(self, ctx: int) -> int:
        """trace_call_bpf(): all programs run, the answers are and-ed; 0 also if one is running on this CPU already."""
        if self._compiled is not None:
            answer = self._compiled(ctx)
            if answer is not None:
                return answer
        running, cpu = self.recorder.running, self.host.cpu_id()
        active = self.programs_active
        if active[cpu]:
            running.misses += 1
            for program in self.bpf_programs:
                program.missed()
            return 0
        active[cpu] += 1
        outer = running.event[cpu]
        running.begin(cpu, self)
        try:
            result = 1
            for program in tuple(self.bpf_programs):
                result &= program.run(ctx)
            return result
        finally:
            running.begin(cpu, outer)
            active[cpu] -= 1

    def run_bpf_on_context(self, context: bytes) -> int:
        """Run the programs on these bytes, which live in kernel memory meanwhile."""
        recorder = self.recorder
        addr = recorder.put_context(context)
        try:
            return self.run_bpf(addr)
        finally:
            recorder.drop_context()

    def run_bpf_on_record(self, record: bytes) -> int:
        """Programs of a tracepoint see the record with its first eight bytes replaced by the pt_regs pointer."""
        head = self.host.caller_regs().to_bytes(self.board.word, self.board.byteorder).ljust(8, b"\0")
        return self.run_bpf_on_context(head + record[8:])

    def add_bpf(self, program: AttachedProgram) -> None:
        """Attach a program for perf users of this event; before 4.14 there is one at most (EEXIST)."""
        if self.board.features.one_program_per_event and self.bpf_programs:
            raise KernelError(EEXIST, "the event already has a program")
        if program in self.bpf_programs:
            raise KernelError(EEXIST, "that program is attached already")
        self.bpf_programs.append(program)
        program.when_native.append(self._programs_changed)
        self._programs_changed()

    def remove_bpf(self, program: AttachedProgram) -> None:
        """Detach a program; one that is not attached is nothing."""
        if program in self.bpf_programs:
            self.bpf_programs.remove(program)
            program.when_native.remove(self._programs_changed)
            self._programs_changed()

    def _programs_changed(self) -> None:
        """Others, or one has been compiled."""
        self._compiled = programs.runner([program.native for program in self.bpf_programs], self.recorder, self)
        self.users_changed()


class LazyEvent(TraceEvent):
    """An event whose fields and text are made when somebody looks: most never are."""

    def __init__(self, recorder: Recorder, system: str, name: str) -> None:
        self._made: tuple[list[Field], str] | None = None
        super().__init__(recorder, system, name, [], "")

    def lay_out(self) -> tuple[list[Field], str]:
        """(fields, print fmt)."""
        raise NotImplementedError

    def _lay_out_once(self) -> tuple[list[Field], str]:
        if self._made is None:
            self._made = self.lay_out()
        return self._made

    @property
    def fields(self) -> list[Field]:
        """Laid out when first asked for."""
        return self._lay_out_once()[0]

    @fields.setter
    def fields(self, value: list[Field]) -> None:
        """The base class has none to give."""

    @property
    def print_fmt(self) -> str:
        """Made when first asked for."""
        return self._lay_out_once()[1]

    @print_fmt.setter
    def print_fmt(self, value: str) -> None:
        """The base class has none to give."""


GENERIC_FIELDS = (
    Field("int", "common_cpu", 0, 4, True, FILTER_CPU),
    Field("int", "CPU", 0, 4, True, FILTER_CPU),
    Field("int", "cpu", 0, 4, True, FILTER_CPU),
    Field("char *", "COMM", 0, 0, True, FILTER_COMM),
    Field("char *", "comm", 0, 0, True, FILTER_COMM),
)
STACK_FIELDS = (
    Field("char *", "stacktrace", 0, 0, True, FILTER_STACKTRACE),
    Field("char *", "STACKTRACE", 0, 0, True, FILTER_STACKTRACE),
)
