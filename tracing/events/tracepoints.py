"""Tracepoints, and the events made from them.  include/linux/tracepoint.h, kernel/tracepoint.c, trace/trace_events.h.

A tracepoint is a list of callbacks; `active` is the static key.  The kernel writes

    tp = tracing.tracepoints["sched_switch"]
    if tp.active:
        tp.fire(preempt, prev, next, prev_state)

with the arguments of its row of 6.1 (and what later ones have besides), as ints; a version's own are made from them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from arch.native.handler import NativeHandler, chosen_tier
from arch.tracefacts import EventFrames, Names
from tracing.events import declarations, newest
from tracing.events.declare import TraceEventDecl, expand
from tracing.events.known import KnownEvents
from tracing.face import TRACE_FLAG_BH_OFF, TraceHost
from tracing.record.assign import Assign, compile_assign, compile_record, split_proto
from tracing.record.assigned import Assignment, Unknown, point_starter, point_tracer, point_values, starter, tracer
from tracing.record.event import FTRACE, WARM_COMMITS, LazyEvent
from tracing.record.fields import BASE_TYPES, Field, FieldLayout, split_declaration
from tracing.record.print_fmt import Printer, PrintFormatError, compile_print_fmt
from tracing.record.recorder import Recorder
from tracing.record.registry import EventRegistry

Callback = Callable[..., object]


class Follower(Protocol):
    """A hot place in the kernel that keeps its own copy of these."""

    active: bool
    fire: Callback
    listeners: tuple[tuple[Callback, NativeHandler | None], ...]
    changed: Callable[[], None]


class Tracepoint:
    """One tracepoint: `fire` is bound to the cheapest thing that serves the present callbacks."""

    __slots__ = (
        "_convert",
        "active",
        "callbacks",
        "decl",
        "fire",
        "fired_with",
        "followers",
        "host",
        "name",
        "natives",
    )

    def __init__(self, host: TraceHost, decl: TraceEventDecl, fired_with: TraceEventDecl) -> None:
        self.host = host
        self.decl = decl
        self.fired_with = fired_with
        self.name = decl.name
        self.callbacks: tuple[Callback, ...] = ()
        self.natives: dict[Callback, NativeHandler] = {}  # their compiled forms: see set_native()
        self.active = False
        self.followers: list[Follower] = []
        self._convert: Assign | None = None
        self.fire: Callback = nothing

    @property
    def proto(self) -> str:
        """The arguments callbacks get, as C declares them."""
        return self.decl.proto

    @property
    def params(self) -> list[tuple[str, str]]:
        """(C type, name) of the arguments callbacks get."""
        return self.decl.params

    def add(self, callback: Callback) -> None:
        """tracepoint_probe_register(): callbacks run in the order of registration."""
        self.callbacks = (*self.callbacks, callback)
        self._bind()

    def remove(self, callback: Callback) -> None:
        """tracepoint_probe_unregister(); one that is not registered is nothing."""
        self.callbacks = tuple(known for known in self.callbacks if known != callback)
        self._bind()

    def _bind(self) -> None:
        callbacks = self.callbacks
        self.active = bool(callbacks)
        if not callbacks:
            self.fire = nothing
        else:
            self.fire = self._firing(callbacks)
        for follower in self.followers:
            follower.active, follower.fire = self.active, self.fire
        self._tell()

    def set_native(self, callback: Callback, native: NativeHandler | None) -> None:
        """A callback has that compiled form from now on, or none.

        It is i64 function(block, data, values): the host address of words, which are the tracepoint's arguments, and then of those on
        system calls the number of the call; so is what its after() gets.  Its `sight` is None where it may look at the registers
        that such a call begins with.
        """
        if self.natives.get(callback) is not native:
            if native is None:
                del self.natives[callback]
            else:
                self.natives[callback] = native
            self._tell()

    def _tell(self) -> None:
        listeners = tuple((callback, self.natives.get(callback)) for callback in self.callbacks)
        for follower in self.followers:
            follower.listeners = listeners
            follower.changed()

    def _firing(self, callbacks: tuple[Callback, ...]) -> Callback:
        own, fired = self.decl.params, split_proto(self.fired_with.fired_proto)
        if self.decl.args is not None or own != fired[: len(own)]:
            return self._fire_converted
        fire = callbacks[0] if len(callbacks) == 1 else fan_out(callbacks)
        return fire if len(own) == len(fired) else leading(fire, len(own))

    def _fire_converted(self, *args: int) -> None:
        if self._convert is None:
            sources = self.decl.args or ", ".join(name for _, name in self.decl.params)
            self._convert = compile_assign(split_arguments(sources), self.fired_with.fired_proto, self.host)
        for callback in self.callbacks:
            callback(*self._convert(*args))


def split_arguments(text: str) -> list[str]:
    """At the commas outside parentheses."""
    out, depth, start = [], 0, 0
    for index, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if char == "," and not depth:
            out.append(text[start:index].strip())
            start = index + 1
    return [*out, text[start:].strip()]


def nothing(*args: int) -> None:
    """No listener."""


def leading(callback: Callback, count: int) -> Callback:
    """`callback` without the arguments that only a later kernel has."""

    def fire(*args: int) -> None:
        callback(*args[:count])

    return fire


def fan_out(callbacks: tuple[Callback, ...]) -> Callback:
    """One function that calls them all, in order."""

    def fire(*args: int) -> None:
        for callback in callbacks:
            callback(*args)

    return fire


# While events are on, tracing hangs a callback of its own on these, by which it learns the names of tasks.
NAMES_RECORDED = ("sched_switch", "sched_wakeup", "sched_wakeup_new")


class TracepointEvent(LazyEvent):
    """The event of a TRACE_EVENT."""

    def __init__(self, recorder: Recorder, tracepoint: Tracepoint, known: KnownEvents) -> None:
        decl = tracepoint.decl
        self.known = known
        super().__init__(recorder, decl.system, decl.name)
        self.cap_any = decl.cap_any
        self.decl = decl
        self.tracepoint = tracepoint
        self._make: Callable[..., bytes] | None = None
        self._masks: list[int] | None = None  # of the arguments' sizes
        self._rows: Assignment | None = None  # how native code makes the record
        self._rows_possible = True
        self._hits = 0  # that were Python's since somebody came or went
        self._tracer: Callable[[tuple[int, ...]], bool] | None = None  # native code for a hit; False: it is Python's
        self._starter: Callable[[tuple[int, ...]], int | None] | None = None
        flags, depth = tracepoint.decl.held
        self.held_flags = flags if self.board.features.bh_disabled else flags & ~TRACE_FLAG_BH_OFF
        self.held_depth = depth + (0 if self.board.features.preempt_count_corrected else 1)

    def lay_out(self) -> tuple[list[Field], str]:
        """As this very kernel was recorded; else placed as the C struct would have them, the text with its macros expanded."""
        recorded = self.known.recorded(self.system, self.name)
        if recorded is not None:
            return recorded
        layout = FieldLayout(self.host.arch.model, self.board.char_signed)
        for declaration, _ in self.decl.entry:
            layout.add(declaration)
        return layout.fields, expand(self.decl.print)

    def printer(self) -> Printer:
        """Of the text that `format` shows; where that is an address of compiled C, of the row's."""
        try:
            return super().printer()
        except PrintFormatError:
            text = expand(self.decl.print)
            return compile_print_fmt(text, self.fields, self.board.byteorder, self.board.word)

    def above(self, frames: EventFrames) -> Names:
        """Its own function, and the one that calls several."""
        name, system = self.name, self.system
        alone = len(self.tracepoint.callbacks) < 2 and name not in NAMES_RECORDED
        always = frames.iterator == "always" and system not in frames.here
        iterated = always or (frames.iterator == "several" and not alone)
        own = f"trace_event_raw_event_{self.known.template(system, name)}"
        return (*frames.commit, own, *((f"__traceiter_{name}",) if iterated else ()), *self.between(frames))

    def between(self, frames: EventFrames) -> Names:
        """What stands between the tracepoint and the entry code, which fires it here."""
        if self.system != "raw_syscalls":
            return ()
        return frames.syscall_enter if self.name == "sys_enter" else frames.syscall_exit

    def left(self, frames: EventFrames) -> Names:
        """Of the entry code."""
        return frames.syscall_inside if self.system == "raw_syscalls" else ()

    def reg(self, kind: str) -> None:
        """Hang the callback of that kind of user on the tracepoint."""
        self.tracepoint.add(self.trace if kind == FTRACE else self.perf_trace)

    def unreg(self, kind: str) -> None:
        """Take it off."""
        self.tracepoint.remove(self.trace if kind == FTRACE else self.perf_trace)

    def record(self, args: tuple[int, ...]) -> bytes:
        """TP_fast_assign: the record of these arguments, compiled at the first hit."""
        make = self._make
        if make is None:
            make = self._make = self.make()
        return make(self.header(self.held_depth, self.held_flags), *args)

    def make(self) -> Callable[..., bytes]:
        """The function from the arguments to the record."""
        return compile_record(self.entry(), self.decl.proto, self.host, self.board.byteorder)

    def entry(self) -> list[tuple[Field, str]]:
        """Each field, and the C expression of its value."""
        sources = {split_declaration(declaration)[1]: source for declaration, source in self.decl.entry}
        return [(field, sources[field.name]) for field in self.fields]

    def users_changed(self) -> None:
        self._hits, self._tracer, self._starter = 0, None, None
        self._set_natives()

    def warm(self) -> None:
        """A hit was Python's: after some of them native code is made."""
        self._hits += 1
        if self._hits == WARM_COMMITS[chosen_tier()] + 1 and self.recorder.native.possible:
            assignment = self.assignment()
            if assignment is None:
                return
            preempt = self.held_depth & self.board.depth_mask
            if len(self.listeners) == 1 and self.filter_program is None:
                records, file = self.recorder.native, self.listeners[0]
                self._tracer = tracer(assignment, records, file, self.id, self.held_flags, preempt)
            if self._compiled is not None:
                self._starter = starter(assignment, self.recorder, self._compiled)
            self._set_natives()

    def _set_natives(self) -> None:
        """Of those on every system call, who can be called without Python."""
        if self.system != "raw_syscalls" or self._rows is None or self._rows.extras is not None:
            return
        traced = run = None
        if self._tracer is not None:
            records, file, preempt = self.recorder.native, self.listeners[0], self.held_depth & self.board.depth_mask
            traced = point_tracer(self._rows, records, file, self.id, self.held_flags, preempt)
        if self._starter is not None and self._compiled is not None and self._compiled.guards is not None:
            if not any(user.sampling for user in self.perf_events):
                run = point_starter(self._rows, self.recorder, self._compiled, self._after_programs)
        self.tracepoint.set_native(self.trace, traced)
        self.tracepoint.set_native(self.perf_trace, run)

    def _after_programs(self, values: int) -> None:
        """Compiled programs that were started without Python let the event through, or one of them did not end well."""
        assert self._compiled is not None
        self._compiled.failed()
        if self.perf_events:
            regs = self.host.caller_regs(True)
            self.deliver_to_perf(self.record(point_values(values)[: len(self.decl.params)]), regs)

    def assignment(self) -> Assignment | None:
        """The rows of this event; None where Python makes its records."""
        if self._rows is None and self._rows_possible:
            try:
                self._rows = Assignment(self.entry(), self.decl.proto, self.host)
            except Unknown:
                self._rows_possible = False
        return self._rows

    def trace(self, *args: int) -> None:
        """trace_event_raw_event_*(): into the ftrace buffer."""
        if self._tracer is not None:
            if self._tracer(args):
                return
        elif self.listeners:
            self.warm()
        if self.filter_program is not None and not self.filter_program.run_args(self.bpf_args(args)):
            return
        if self.listeners:
            self.commit(self.record(args))

    def perf_trace(self, *args: int) -> None:
        """perf_trace_*(): to programs and perf events."""
        if not self.bpf_programs and not self.perf_events:
            return
        answer = None
        if self._starter is not None:
            answer = self._starter(args)
            if answer is not None and (not answer or not self.perf_events):
                return
        elif self.bpf_programs:
            self.warm()
        record = self.record(args)
        if answer is None and self.bpf_programs and not self.run_bpf_on_record(record):
            return
        if self.perf_events:
            regs = self.host.caller_regs()
            self.deliver_to_perf(record, regs, self.board.instruction_pointer(regs) if regs else 0)

    def bpf_args(self, args: tuple[int, ...]) -> tuple[int, ...]:
        """struct bpf_context of the 3.20-rfc profile: six u64, each zero-extended from its own size."""
        masks = self._masks
        if masks is None:
            sizes = [size_of_type(ctype, self.board.word) for ctype, _ in self.decl.params]
            masks = self._masks = [(1 << 8 * size) - 1 for size in sizes]
        values = [value & mask for value, mask in zip(args, masks)]
        return tuple((values + [0] * 6)[:6])


def size_of_type(ctype: str, word: int) -> int:
    """Bytes of a scalar C type as tracepoint prototypes name them; 8 for what is no scalar."""
    plain = ctype.replace("const ", "").strip()
    if plain.endswith("*"):
        return word
    if plain.startswith("enum "):
        return 4
    return (BASE_TYPES[plain][0] or word) if plain in BASE_TYPES else {"blk_status_t": 1}.get(plain, 8)


def install(recorder: Recorder, events: EventRegistry, known: KnownEvents) -> dict[str, Tracepoint]:
    """Create the tracepoints of the kernel's version, and say which events they make."""
    fired_with = newest()
    out = {
        name: Tracepoint(recorder.host, decl, fired_with[name])
        for name, decl in declarations(recorder.host.version).items()
    }
    own = tuple(out.values())  # others come into the table later, with events of their own
    events.declare(lambda: [TracepointEvent(recorder, tracepoint, known) for tracepoint in own])
    return out
