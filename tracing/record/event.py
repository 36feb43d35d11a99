"""Trace events: what every event has, whatever fires it.  struct trace_event_call and trace_event_file.

An event has two kinds of users: ftrace (its `enable` file, a trigger) and perf (perf events, and through them BPF
programs).  The first user of a kind calls `reg(kind)`, the last `unreg(kind)`; only then is the probe or tracepoint
armed, so an event nobody listens to costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol

from arch.abi.errno import EBUSY, EEXIST
from arch.errors import KernelError
from tracing.record.fields import COMMON_FIELDS, Field, format_text
from tracing.text.print_fmt import PrintContext, Printer, compile_print_fmt

if TYPE_CHECKING:
    from tracing.perf.core import PerfEvent
    from tracing.system import Tracing

FTRACE, PERF = "ftrace", "perf"
BpfProgram = Callable[[int], int]
FIRST_TYPE_OLD, FIRST_TYPE = 16, 20  # TRACE_TYPE_MAX differs: before 4.17 and since
EVENT_TYPE_MAX = 65535


class Filter(Protocol):
    """A compiled event filter."""

    text: str

    def match(self, record: bytes) -> bool: ...


class TraceEvent:
    """One event: identity, fields, text, users."""

    dynamic = False  # made through kprobe_events and friends
    cap_any = False
    is_syscall = False
    held_flags = 0  # what the place that fires it holds: irqs off and such
    held_depth = 0  # and its preempt depth

    def __init__(self, tracing: Tracing, system: str, name: str, fields: list[Field], print_fmt: str) -> None:
        self.tracing = tracing
        self.system = system
        self.name = name
        self.id = 0
        self.fields = fields
        self.print_fmt = print_fmt
        self._printer: Printer | None = None
        # ftrace side
        self.enabled = False  # the `enable` file
        self.soft_users = 0  # triggers that keep it armed though disabled
        self.filter: Filter | None = None
        self.filter_text: str | None = None  # what the file shows, error text included
        self.triggers: list[Any] = []
        self.filter_program: Any = None  # the 3.20-rfc profile's `bpf-N`
        self.in_use = 0  # references that forbid deletion
        self.directory: Any = None  # its node in tracefs
        # perf side
        self.perf_users = 0
        self.perf_events: list[PerfEvent] = []
        self.bpf_programs: list[BpfProgram] = []

    # Identity

    def __repr__(self) -> str:
        return f"<event {self.system}:{self.name} id {self.id}>"

    @property
    def format(self) -> str:
        return format_text(self.name, self.id, self.fields, self.print_fmt)

    def find_field(self, name: str) -> Field | None:
        """trace_events.c:trace_find_event_field(): the event's own, then the generic ones, then the common ones."""
        for field in (*self.fields, *GENERIC_FIELDS, *COMMON_FIELDS):
            if field.name == name:
                return field
        return None

    # Users

    @property
    def armed_for_ftrace(self) -> bool:
        return self.enabled or self.soft_users > 0

    @property
    def busy(self) -> bool:
        return self.armed_for_ftrace or self.perf_users > 0 or self.in_use > 0

    def set_enabled(self, on: bool) -> None:
        """The `enable` file."""
        if on == self.enabled:
            return
        was = self.armed_for_ftrace
        if on and not was:
            self.reg(FTRACE)
        self.enabled = on
        if was and not self.armed_for_ftrace:
            self.unreg(FTRACE)

    def soft_enable(self, delta: int) -> None:
        """A trigger wants (+1) or no longer wants (-1) the event armed."""
        was = self.armed_for_ftrace
        if delta > 0 and not was:
            self.reg(FTRACE)
        self.soft_users += delta
        if was and not self.armed_for_ftrace:
            self.unreg(FTRACE)

    def perf_register(self) -> None:
        if not self.perf_users:
            self.reg(PERF)
        self.perf_users += 1

    def perf_unregister(self) -> None:
        self.perf_users -= 1
        if not self.perf_users:
            self.unreg(PERF)

    def reg(self, kind: str) -> None:
        """Arm for a kind of user; raises KernelError if that is impossible."""

    def unreg(self, kind: str) -> None:
        """Disarm."""

    # Records

    def header(self, preempt_extra: int = 0, flags_extra: int = 0) -> bytes:
        """struct trace_entry of an event that fires now."""
        host = self.tracing.host
        preempt = (host.preempt_count() + preempt_extra) & 0xFF
        return self.tracing.pack_header(self.id, host.irq_flags() | flags_extra, preempt, host.current_pid())

    def text(self, record: bytes) -> str:
        """What the trace file prints after `NAME: `."""
        if self._printer is None:
            tracing = self.tracing
            self._printer = compile_print_fmt(self.print_fmt, self.fields, tracing.byteorder, tracing.word)
        return self._printer(record, self.tracing.print_context)

    def line(self, record: bytes) -> str:
        """The whole event part of a trace line, with the newline."""
        return f"{self.name}: {self.text(record)}\n"

    # BPF, as callbacks of the floor above

    def run_bpf(self, ctx: int) -> int:
        """trace_call_bpf(): all programs run, the answers are and-ed; 0 also if one is running on this CPU already."""
        active = self.tracing.bpf_prog_active
        cpu = self.tracing.host.cpu_id()
        if active[cpu]:
            self.tracing.bpf_misses += 1
            return 0
        active[cpu] += 1
        self.tracing.bpf_event[cpu] = self
        try:
            result = 1
            for program in tuple(self.bpf_programs):
                result &= program(ctx)
            return result
        finally:
            self.tracing.bpf_event[cpu] = None
            active[cpu] -= 1

    def add_bpf(self, program: BpfProgram) -> None:
        """Attach a program for perf users of this event; before 4.14 there is one at most (EEXIST)."""
        if self.tracing.features.one_program_per_event and self.bpf_programs:
            raise KernelError(EEXIST, "the event already has a program")
        if program in self.bpf_programs:
            raise KernelError(EEXIST, "that program is attached already")
        self.bpf_programs.append(program)

    def remove_bpf(self, program: BpfProgram) -> None:
        if program in self.bpf_programs:
            self.bpf_programs.remove(program)


class LazyEvent(TraceEvent):
    """An event whose fields and text are made when somebody looks: most never are."""

    def __init__(self, tracing: Tracing, system: str, name: str) -> None:
        self._made: tuple[list[Field], str] | None = None
        super().__init__(tracing, system, name, [], "")

    def lay_out(self) -> tuple[list[Field], str]:
        """(fields, print fmt)."""
        raise NotImplementedError

    def _lay_out_once(self) -> tuple[list[Field], str]:
        if self._made is None:
            self._made = self.lay_out()
        return self._made

    @property
    def fields(self) -> list[Field]:
        return self._lay_out_once()[0]

    @fields.setter
    def fields(self, value: list[Field]) -> None:
        """The base class has none to give."""

    @property
    def print_fmt(self) -> str:
        return self._lay_out_once()[1]

    @print_fmt.setter
    def print_fmt(self, value: str) -> None:
        """The base class has none to give."""


GENERIC_FIELDS = (
    Field("int", "common_cpu", 0, 4, True, 7),
    Field("int", "CPU", 0, 4, True, 7),
    Field("int", "cpu", 0, 4, True, 7),
    Field("char *", "COMM", 0, 8, True, 6),
    Field("char *", "comm", 0, 8, True, 6),
)


class EventRegistry:
    """All events by name and by number.  kernel/trace/trace_output.c:register_trace_event()."""

    def __init__(self, first_type: int) -> None:
        self.events: dict[tuple[str, str], TraceEvent] = {}
        self.by_id: dict[int, TraceEvent] = {}
        self.next_id = first_type
        self.first = first_type
        self.generation = 0  # changes whenever the set does (directory caches)
        self._systems: tuple[int, dict[str, dict[str, TraceEvent]]] = (-1, {})

    def __iter__(self) -> Iterator[TraceEvent]:
        return iter(self.events.values())

    def __len__(self) -> int:
        return len(self.events)

    def get(self, system: str, name: str) -> TraceEvent | None:
        return self.events.get((system, name))

    def find(self, name: str) -> TraceEvent | None:
        """By bare name: the first system that has it."""
        return next((event for event in self.events.values() if event.name == name), None)

    def add(self, event: TraceEvent) -> None:
        key = (event.system, event.name)
        if key in self.events:
            raise KernelError(EEXIST, f"{event.system}:{event.name} exists")
        event.id = self._new_id()
        self.events[key] = event
        self.by_id[event.id] = event
        self.generation += 1

    def _new_id(self) -> int:
        if self.next_id <= EVENT_TYPE_MAX:
            self.next_id += 1
            return self.next_id - 1
        for number in range(self.first, EVENT_TYPE_MAX + 1):
            if number not in self.by_id:
                return number
        raise KernelError(EBUSY, "no event number left")

    def remove(self, event: TraceEvent) -> None:
        del self.events[event.system, event.name]
        del self.by_id[event.id]
        self.generation += 1

    def systems(self) -> dict[str, dict[str, TraceEvent]]:
        """Event directories: system -> name -> event; made anew only when an event came or went."""
        if self._systems[0] != self.generation:
            out: dict[str, dict[str, TraceEvent]] = {}
            for (system, name), event in self.events.items():
                out.setdefault(system, {})[name] = event
            self._systems = (self.generation, out)
        return self._systems[1]


def print_context_of(tracing: Tracing) -> PrintContext:
    """The print context of a machine: symbols and how %p looks in this version."""
    return _Context(tracing)


class _Context:
    def __init__(self, tracing: Tracing) -> None:
        self.tracing = tracing
        self.word = tracing.word
        self.mask = (1 << 8 * tracing.word) - 1

    def symbol_name(self, addr: int) -> str:
        found = self.tracing.host.symbols.lookup(addr & self.mask)
        return found[0] if found else f"0x{addr & self.mask:x}"

    def symbol_offset(self, addr: int) -> str:
        found = self.tracing.host.symbols.lookup(addr & self.mask)
        return f"{found[0]}+0x{found[1]:x}/0x{found[2]:x}" if found else f"0x{addr & self.mask:x}"

    def pointer(self, addr: int) -> str:
        """%p: since 4.15 a hash, before the address itself."""
        if not isinstance(addr, int):
            return "(____ptrval____)"
        addr &= self.mask
        digits = self.word * 2
        if not self.tracing.features.hashed_pointers:
            return f"{addr:0{digits}x}" if addr else "(null)".rjust(digits)
        if not self.tracing.trace_array.options["hash-ptr"] or not addr:
            return f"{addr:0{digits}x}"
        return f"{hash_pointer(addr):0{digits}x}"


def hash_pointer(addr: int) -> int:
    """A 32-bit hash that does not depend on the run (the real one is keyed by a boot-time secret)."""
    value = (addr ^ 0x6C078965DEADBEEF) & 0xFFFFFFFFFFFFFFFF
    for multiplier in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        value ^= value >> 33
        value = value * multiplier & 0xFFFFFFFFFFFFFFFF
    return (value ^ value >> 33) & 0xFFFFFFFF
