"""All probe events of a machine, in order of creation: what the grammars add to, and deletions take from."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import EBUSY, EEXIST, EINVAL, ENOENT
from arch.errors import KernelError
from tracing.events.tracepoints import Tracepoint
from tracing.probes.args import ProbeArg
from tracing.probes.command import Command
from tracing.probes.event import ProbeEvent, TraceProbe, compare_arg_types
from tracing.probes.fetch_parser import FetchParser
from tracing.probes.kprobes import Kprobes
from tracing.probes.trace_fprobe import FprobeEvent, TraceFprobe, TraceTprobe
from tracing.probes.trace_kprobe import KprobeEvent, TraceKprobe
from tracing.probes.trace_uprobe import TraceUprobe, UprobeEvent
from tracing.probes.uprobes import Uprobes
from tracing.record.event import FTRACE, PERF
from tracing.record.recorder import Recorder
from tracing.record.registry import EventRegistry


class ProbeTable:
    """Probes and their events."""

    def __init__(self, recorder: Recorder, events: EventRegistry, kprobes: Kprobes, uprobes: Uprobes) -> None:
        self.recorder = recorder
        self.board = recorder.board
        self.host = recorder.host
        self.events = events
        self.kprobes = kprobes
        self.uprobes = uprobes
        self.probes: list[TraceProbe] = []
        self.silent: Callable[[str], bool] = lambda name: False  # a function that the kernel has and never calls
        self.shared: Callable[[str], bool] = lambda name: False  # a name that several symbols have
        self.match: Callable[[str], list[str]] = lambda pattern: []  # functions that ftrace knows, by name or glob
        self.tracepoint: Callable[[str], Tracepoint | None] = lambda name: None

    def known(self, symbol: str) -> bool:
        """A function of the real kernel that this machine has no text for."""
        return self.silent(symbol) or self.kprobes.refused(symbol)

    def find(self, kind: str, group: str, event: str) -> ProbeEvent | None:
        """The event of that name and kind of probe."""
        found = self.events.get(group, event)
        return found if isinstance(found, ProbeEvent) and any(probe.kind == kind for probe in found.probes) else None

    def join(self, command: Command, probe: TraceProbe, old: ProbeEvent) -> None:
        """Append to an event of the same name: same kind, same arguments, another place.  EEXIST."""
        if old.is_return != probe.is_return or not isinstance(probe, type(old.probes[0])):
            command.index = 0
            raise command.fail("DIFF_PROBE_TYPE", 0, EEXIST)
        differs = compare_arg_types(probe.args, old.args)
        if differs:
            command.index = differs + 1
            raise command.fail("DIFF_ARG_TYPE", 0, EEXIST)
        if any(known.same_definition(probe) for known in old.probes):
            command.index = 0
            raise command.fail("SAME_PROBE", 0, EEXIST)
        probe.event = old

    def new_event(self, command: Command, event: ProbeEvent) -> None:
        """Register an event under a name that is free.  EEXIST."""
        if self.events.get(event.system, event.name) is not None:
            command.index = 0
            raise command.fail("EVENT_EXIST", 0, EEXIST)
        self.events.add(event)

    def register_kprobe(self, command: Command, probe: TraceKprobe, parser: FetchParser, group: str, name: str) -> None:
        """register_trace_kprobe(), append_trace_kprobe()."""

        def register() -> None:
            try:
                self.compile(parser, probe)
            except KernelError as error:
                if error.errno != ENOENT or not self.may_come(probe.symbol):
                    raise
                probe.waits_for_module = True

        self.add(command, probe, KprobeEvent, group, name, register)

    def register_fprobe(
        self, command: Command, probe: TraceFprobe | TraceTprobe, parser: FetchParser, group: str, name: str
    ) -> None:
        """register_trace_fprobe_event(), append_trace_fprobe_event()."""

        def register() -> None:
            if isinstance(probe, TraceTprobe):
                self.check_stub(probe)
            self.compile(parser, probe)

        self.add(command, probe, FprobeEvent, group, name, register)

    def check_stub(self, probe: TraceTprobe) -> None:
        """tracepoint_probe_register() does not take a function twice.  EEXIST."""
        if self.board.features.tprobes_share or probe.tracepoint is None:
            return
        if any(isinstance(known, TraceTprobe) and known.tracepoint is probe.tracepoint for known in self.probes):
            raise KernelError(EEXIST, "the tracepoint has an event")

    def may_come(self, symbol: str) -> bool:
        """A function that is not there may come with a module, or the real kernel has it, and never calls it."""
        if self.silent(symbol):
            return True
        if symbol and ":" not in symbol:
            return False
        self.host.pr(4, "trace_kprobe: This probe might be able to register after target module is loaded. Continue.")
        return True

    @staticmethod
    def compile(parser: FetchParser, probe: TraceKprobe | TraceFprobe | TraceTprobe) -> None:
        """Its arguments, then the probe."""
        parser.resolve_symbols(probe.args)
        probe.recompile()
        probe.register()

    def add(
        self, command: Command, probe: TraceProbe, make: Callable[[Recorder, str, str, list[ProbeArg], bool], ProbeEvent],
        group: str, name: str, register: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        """A probe of the event of that name, or of a new one that goes again where the probe cannot be registered."""
        old = self.find(probe.kind, group, name)
        if old is not None:
            self.join(command, probe, old)
        else:
            probe.event = make(self.recorder, group, name, probe.args, probe.is_return)
            self.new_event(command, probe.event)
        try:
            register()
        except KernelError:
            if old is None:
                self.events.remove(probe.event)
            raise
        probe.event.probes.append(probe)
        self.probes.append(probe)
        self.catch_up(probe)

    def catch_up(self, probe: TraceProbe) -> None:
        """A sibling of an event in use is armed at once."""
        event = probe.event
        if event.listeners:
            probe.arm(FTRACE)
        if event.perf_users:
            probe.arm(PERF)

    def register_uprobe(self, command: Command, probe: TraceUprobe, group: str, name: str) -> None:
        """register_trace_uprobe()."""
        for known in self.probes:
            if isinstance(known, TraceUprobe) and (known.inode, known.offset) == (probe.inode, probe.offset):
                if known.ref_ctr_offset != probe.ref_ctr_offset:
                    self.host.pr(4, "trace_uprobe: Reference counter offset mismatch.")
                    raise KernelError(EINVAL, "reference counter offset mismatch")
        self.add(command, probe, UprobeEvent, group, name)

    def remove(self, probe: TraceProbe) -> None:
        """unregister_trace_kprobe(), unregister_trace_uprobe(): EBUSY while the event is used, unless it has siblings."""
        event = probe.event
        if len(event.probes) == 1:
            if event.busy:
                raise KernelError(EBUSY, f"{event.system}/{event.name} is in use")
            self.events.remove(event)
        probe.unregister()
        event.probes.remove(probe)
        self.probes.remove(probe)
