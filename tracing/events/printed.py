"""bpf_trace:bpf_trace_printk: the event of what programs print.  kernel/trace/bpf_trace.h, bpf_trace.c:bpf_trace_printk()."""

from __future__ import annotations

from collections.abc import Callable

from arch.native.handler import NativeHandler
from tracing.events.declare import TraceEventDecl
from tracing.events.tracepoints import Callback, Tracepoint, nothing
from tracing.record.event import FTRACE, TraceEvent
from tracing.record.fields import Field
from tracing.record.printk import NativePrintk, printk_context
from tracing.record.recorder import Recorder
from tracing.record.registry import EventRegistry

DECLARED = TraceEventDecl("bpf_trace", "bpf_trace_printk", "const char *bpf_string", (), "")


class Watched:
    """Tells the event when somebody hangs on its tracepoint."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self.active = False
        self.fire: Callback = nothing
        self.listeners: tuple[tuple[Callback, NativeHandler | None], ...] = ()
        self.changed = changed


class BpfTracePrintk(TraceEvent):
    """On while a loaded program may print; other programs may hang on its tracepoint."""

    def __init__(self, recorder: Recorder, events: EventRegistry) -> None:
        field = Field("__data_loc char[]", "bpf_string", 8, 4, recorder.board.char_signed, 2)
        super().__init__(recorder, DECLARED.system, DECLARED.name, [field], '"%s", __get_str(bpf_string)')
        self.events = events
        self.tracepoint = Tracepoint(recorder.host, DECLARED, DECLARED)
        self.tracepoint.followers.append(Watched(self.users_changed))
        self.data = b""  # the text that is being printed
        self.calls: NativePrintk | None = None  # what programs call in its place

    def reg(self, kind: str) -> None:
        """A program may print: now the event needs its number."""
        self.events.fill()
        self.tracepoint.add(self.trace if kind == FTRACE else self.perf_trace)

    def unreg(self, kind: str) -> None:
        """Take it off."""
        self.tracepoint.remove(self.trace if kind == FTRACE else self.perf_trace)

    def native(self) -> NativePrintk | None:
        """The same for compiled programs; None where records are Python's."""
        if self.calls is None and self.recorder.native.possible:
            self.calls = NativePrintk(self.recorder)
            self.users_changed()
        return self.calls

    def users_changed(self) -> None:
        """The compiled form goes on where one trace listens and nobody else."""
        if self.calls is not None:
            alone = len(self.listeners) == 1 and self.tracepoint.callbacks == (self.trace,)
            self.calls.aim(self.recorder.native.event(self.listeners[0], self.id) if alone else None)

    def say(self, text: str) -> None:
        """One message: whoever listens gets it in kernel memory; a program among them may print, too."""
        callbacks = self.tracepoint.callbacks
        if not callbacks:
            return
        around, self.data = self.data, text.encode("latin-1", "replace") + b"\0"
        try:
            if callbacks == (self.trace,):
                self.trace(0)
                return
            address = self.recorder.put_context(self.data)
            try:
                self.tracepoint.fire(address)
            finally:
                self.recorder.drop_context()
        finally:
            self.data = around

    def record(self) -> bytes:
        """struct trace_event_raw_bpf_trace_printk."""
        loc = (len(self.data) << 16 | 12).to_bytes(4, self.board.byteorder)
        flags, preempt = printk_context(self.recorder)
        return self.header(preempt, flags) + loc + self.data

    def trace(self, text: int) -> None:
        """Into the traces that listen."""
        if self.listeners:
            self.commit(self.record())

    def perf_trace(self, text: int) -> None:
        """To programs and perf events."""
        if not self.bpf_programs and not self.perf_events:
            return
        record = self.record()
        if self.bpf_programs and not self.run_bpf_on_record(record):
            return
        if self.perf_events:
            regs = self.host.caller_regs()
            self.deliver_to_perf(record, regs, self.board.instruction_pointer(regs) if regs else 0)
