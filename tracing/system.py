"""`Tracing`: all of tracing for one machine, put together.

The kernel makes one with its TraceHost, fires tracepoints through `tracepoints`, arms probes through `kprobes` and
`uprobes`, hands `tracefs` to its file system and `perf` to perf_event_open(2).  The floor above (BPF) attaches
callbacks: `event.add_bpf(...)`, `tracepoint.add(...)`, `tracefs.filter_hook`, `perf.set_bpf_hook`.

Every part is made here, each with the parts it works with; none of them knows this module.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from arch.abi.version import newest
from tracing import features as feature_table
from tracing.board import Board
from tracing.buffer.columns import IP_TRACE_PRINTK, TRACE_BPRINT
from tracing.buffer.trace import TraceArray
from tracing.events.known import KnownEvents
from tracing.events.printed import BpfTracePrintk
from tracing.events.silent import silent_events, silent_tracepoints
from tracing.events.syscall_user import enter_event
from tracing.events.syscalls import SyscallTable
from tracing.events.tracepoints import Tracepoint, install
from tracing.face import TraceHost, UserSpaces
from tracing.files.tracefs import Parts, TraceFs
from tracing.perf.core import PerfCore
from tracing.probes.eprobe import EventProbes
from tracing.probes.kprobes import Kprobes
from tracing.probes.probe_events import ProbeEvents
from tracing.probes.table import ProbeTable
from tracing.probes.uprobes import Uprobes
from tracing.record.by_fields import by_fields
from tracing.record.printk import printk_context
from tracing.record.recorder import Recorder
from tracing.record.registry import EventRegistry
from tracing.tracers.follow import TaskFollower, TaskNames
from tracing.tracers.function import FunctionTracer
from tracing.tracers.functions import Functions
from tracing.tracers.graph import GraphTracer
from tracing.tracers.others import BlkTracer, MmioTracer
from tracing.tracers.stack import StackTracer
from tracing.triggers import simple
from tracing.triggers.hist.machine import HistMachine
from tracing.triggers.hist.trigger import HistTriggers
from tracing.triggers.synthetic import SynthEvents
from tracing.triggers.trigger import TriggerFiles


class Tracing:
    """The tracing of one machine."""

    def __init__(self, host: TraceHost, spaces: UserSpaces | None = None) -> None:
        self.host = host
        self.board = board = Board(host)
        self.features = board.features
        self.byteorder = board.byteorder
        self.trace_array = TraceArray(board)
        self.recorder = recorder = Recorder(board, self.trace_array)
        self.running = recorder.running
        self.known = known = KnownEvents(host)
        first = newest(feature_table.FIRST_EVENT, host.version)
        self.events = events = EventRegistry(first, board.lines, known)
        board.fields_line = by_fields(board, events)
        self.tracepoints: dict[str, Tracepoint] = install(recorder, events, known)
        self.all_known = False
        self.syscalls = SyscallTable(recorder, events, self.tracepoints, known, enter_event)
        self.kprobes = Kprobes(board)
        self.uprobes = Uprobes(board, spaces)
        self.probe_events = ProbeEvents(ProbeTable(recorder, events, self.kprobes, self.uprobes))
        self.perf = PerfCore(recorder, events, self.tracepoints, self.uprobes, self.probe_events)
        self.task_names = TaskNames(board, self.tracepoints)
        self.functions = Functions(board, self.kprobes)
        self.probe_events.table.silent = self.functions.silent
        self.probe_events.table.shared = self.functions.shared
        self.probe_events.table.match = self.functions.match
        self.probe_events.table.tracepoint = self.tracepoint
        self.kprobes.refused = self.functions.refused
        self.kprobes.traced = lambda name: name in self.functions.listed
        self.kprobes.black = self.functions.black
        self.function_options = {"func_stack_trace": False}
        if self.features.func_no_repeats:
            self.function_options["func-no-repeats"] = False
        if self.features.option_func_args:
            self.function_options["func-args"] = False
        self.function = self.make_function(self.trace_array)
        self.graph = GraphTracer(board, self.trace_array, self.function, self.kprobes)
        if self.host.arch.traces.traces_mmio:
            self.trace_array.add_tracer(MmioTracer())
        self.trace_array.add_tracer(BlkTracer())
        self.stack_tracer = StackTracer(board, self.functions, self.kprobes)
        self.synth = SynthEvents(recorder, events)
        if board.features.synthetic_events:
            self.probe_events.others.append(self.synth)
        if board.features.event_probes:
            self.probe_events.others.append(EventProbes(recorder, events))
        triggers = TriggerFiles()
        simple.install(triggers, events, board.features.snapshots)
        machine = HistMachine(events, self.synth, self.syscalls.name_of)
        hists = HistTriggers(machine, events, triggers)
        if not board.features.hist_triggers:
            for name in ("enable_hist", "disable_hist", "hist"):
                del triggers.commands[name]
        self.bpf_trace_event: BpfTracePrintk | None = None  # since 5.9
        self.printk_buffers = False  # before
        if board.features.bpf_trace_event:
            printk = self.bpf_trace_event = BpfTracePrintk(recorder, events)
            events.declare(lambda: [printk])
            self.tracepoints[printk.name] = printk.tracepoint
        with_rows = frozenset(self.tracepoints)
        events.declare(lambda: silent_events(recorder, known, with_rows))
        parts = Parts(
            recorder, events, self.kprobes, self.probe_events, self.functions, triggers, hists, self.synth, self.graph,
            self.stack_tracer, self.make_function, self.make_graph, self.make_follower,
        )  # fmt: skip
        self.tracefs = TraceFs(parts, self.function)

    def make_function(self, array: TraceArray) -> FunctionTracer:
        """The function tracer of one trace array; its options are all arrays' at once."""
        return FunctionTracer(self.board, array, self.functions, self.kprobes, self.events, self.function_options)

    def make_graph(self, array: TraceArray, function: FunctionTracer) -> None:
        """The function_graph tracer of an instance, where it may have one."""
        if self.features.graph_in_instances:
            GraphTracer(self.board, array, function, self.kprobes, self.graph)

    def make_follower(self, array: TraceArray, function: FunctionTracer) -> TaskFollower:
        """Its options event-fork and function-fork."""
        return TaskFollower(self.host, array, function, self.tracepoints)

    # For the kernel

    def trace(self, name: str, *args: int) -> None:
        """Fire a tracepoint by name; one this version lacks is nothing."""
        tracepoint = self.tracepoints.get(name)
        if tracepoint is not None and tracepoint.active:
            tracepoint.fire(*args)

    def tracepoint(self, name: str) -> Tracepoint | None:
        """By name, also one that nothing fires; None if this kernel has none."""
        if name not in self.tracepoints:
            self.know_all_tracepoints()
        return self.tracepoints.get(name)

    def know_all_tracepoints(self) -> None:
        """Those that nothing fires are made when somebody asks for them."""
        if not self.all_known:
            self.all_known = True
            self.tracepoints.update(silent_tracepoints(self.host, self.known, self.tracepoints))

    def declare_syscalls(
        self, calls: Sequence[tuple[str, Sequence[tuple[str, str]]]], numbers: dict[str, int] | None = None
    ) -> None:
        """At boot: (name, [(C type, argument)]) of every system call; numbers default to the architecture's."""
        self.syscalls.declare(calls, dict(numbers if numbers is not None else self.host.arch.syscalls))

    def task_exit(self, task: Hashable) -> None:
        """A task is gone: forget its return-probe instances."""
        self.kprobes.task_exit(task)
        self.uprobes.task_exit(task)

    # Messages of programs

    def dump_stack(self) -> None:
        """A kernel stack trace into the buffer, from here."""
        self.recorder.dump_stack()

    def printk_wanted(self) -> None:
        """bpf_get_trace_printk_proto(): a program that may print turns the event on; before 5.9 names of tasks are kept from then
        (trace_printk_init_buffers())."""
        if self.bpf_trace_event is None:
            if not self.printk_buffers:
                self.printk_buffers = True
                self.board.tasks.use(cmdline=1)
        elif not self.bpf_trace_event.enabled:
            self.bpf_trace_event.set_enabled(True)

    def native_printk(self) -> tuple[int, int, int] | None:
        """The same for compiled programs: function, words, guard; None where lines are Python's."""
        calls = None if self.bpf_trace_event is None else self.bpf_trace_event.native()
        return None if calls is None else (calls.function, calls.words, calls.guard)

    def bpf_trace_printk(self, text: str) -> None:
        """The sink of bpf_trace_printk(): an event since 5.9, a plain print entry before."""
        if self.bpf_trace_event is not None:
            self.bpf_trace_event.say(text)
        elif self.board.options["trace_printk"]:
            self.trace_array.print_entry(IP_TRACE_PRINTK, text, TRACE_BPRINT, *printk_context(self.recorder))
