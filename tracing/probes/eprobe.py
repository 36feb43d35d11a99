"""Event probes: `e:NAME EPROBES.EVENT a=$field:u32`, an event made of another event's fields.  kernel/trace/trace_eprobe.c.

While such an event is on in a trace array, a trigger hangs on the other event there that the user does not see.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from functools import partial

from arch.abi.errno import E2BIG, EBUSY, EEXIST, EINVAL, ENODEV, ENOENT
from arch.errors import KernelError
from arch.tracefacts import EventFrames, Names
from tracing.probes.args import MAX_TRACE_ARGS, Op, ProbeArg
from tracing.probes.command import Command
from tracing.probes.errors import ProbeError
from tracing.probes.event import ProbeEvent
from tracing.probes.fetch import FetchContext, Value, compile_fetch
from tracing.probes.fetch_parser import FetchParser
from tracing.record.event import EventFile, Filter, TraceEvent
from tracing.record.fields import FILTER_DYN_STRING, FILTER_STATIC_STRING, Field
from tracing.record.filter import FilterError, create_filter, log_filter_error
from tracing.record.recorder import Recorder
from tracing.record.registry import EventRegistry

EPROBES = "eprobes"
IN_RECORD = (FILTER_STATIC_STRING, FILTER_DYN_STRING)


class FieldParser(FetchParser):
    """Arguments of an event probe: `$name` is a field, registers there are none."""

    of_event = True
    known: Container[str] = ()  # the event's fields

    def variable(self, name: str, at: int) -> Op:
        """Any name; whether the event has it was asked later before 6.5."""
        if self.features.eprobe_fields_by_parser and name not in self.known:
            if name in ("comm", "COMM"):
                return Op("comm")
            raise ProbeError("BAD_VAR", at)
        return Op("field", name=name)

    def expression(self, text: str, at: int, ops: list[Op]) -> list[Op]:
        """The same without registers."""
        if text[:1] == "%":
            raise ProbeError("BAD_VAR", at, then="BAD_FETCH_ARG")
        return super().expression(text, at, ops)

    def choose_string_store(self, arg: ProbeArg, at: int) -> int:
        """A string may be a field's."""
        if arg.ops[-1].op == "field":
            symbol = arg.type.name == "symstr"
            arg.store, arg.store_user = "symstr" if symbol else "string", arg.type.name == "ustring"
            return 1
        return super().choose_string_store(arg, at)


class RecordContext(FetchContext):
    """Where the values come from: the record of the event that is probed."""

    def __init__(self, target: TraceEvent) -> None:
        super().__init__(target.board, True)
        self.record = b""
        self.fields: dict[str, Field] = {field.name: field for field in target.fields}

    def field(self, name: str) -> int:
        """get_event_field(): a number; a string's address is not to be had."""
        field = self.fields[name]
        if field.filter_type in IN_RECORD:
            return 0
        data = self.record[field.offset : field.offset + field.size]
        return int.from_bytes(data, self.board.byteorder, signed=field.signed) if len(data) in (1, 2, 4, 8) else 0

    def text(self, field: Field) -> bytes:
        """A string that stands in the record, with its NUL."""
        if field.filter_type == FILTER_STATIC_STRING:
            data = self.record[field.offset : field.offset + field.size]
        else:
            at = int.from_bytes(self.record[field.offset : field.offset + 4], self.board.byteorder) & 0xFFFF
            data = self.record[at:]
        return data.split(b"\0", 1)[0] + b"\0"


class EprobeEvent(ProbeEvent):
    """Printed as `NAME: (EPROBES.EVENT) a=...`."""

    kind = "eprobe"

    def __init__(
        self, recorder: Recorder, group: str, name: str, args: list[ProbeArg], target: TraceEvent, condition: str | None
    ) -> None:
        super().__init__(recorder, group, name, args, False)
        self.target = target
        self.condition = condition
        self.context = RecordContext(target)
        self.fetch = [self.compile(arg) for arg in args]
        self.triggers: dict[EventFile, EprobeTrigger] = {}  # by the file of this event

    def head_names(self, is_return: bool) -> tuple[str, ...]:
        """None: where it is, the other event says."""
        return ()

    def compile(self, arg: ProbeArg) -> Callable[[int], tuple[Value, ...]]:
        """The values of an argument."""
        context, op = self.context, arg.ops[0]
        field = context.fields.get(op.name) if op.op == "field" else None
        if arg.store == "string" and len(arg.ops) == 1 and field is not None and field.filter_type in IN_RECORD:
            known = field
            return lambda regs: (context.text(known),)
        return compile_fetch(arg, context)

    def file_changed(self, file: EventFile, on: bool) -> None:
        """enable_eprobe(), disable_eprobe(): a hidden trigger on the other event."""
        target = self.target.file(file.array)
        if on:
            trigger = self.triggers[file] = EprobeTrigger(self, file, target)
            target.add_trigger(trigger, last=True)
        else:
            self.triggers.pop(file).delete()

    def above(self, frames: EventFrames) -> Names:
        """It runs as a trigger of the other event."""
        return (*frames.commit, "eprobe_trigger_func", "event_triggers_call", *self.target.above(frames))

    def hit(self, file: EventFile, record: bytes, regs: int) -> None:
        """eprobe_trace_func()."""
        self.context.record = record
        values = [value for fetch in self.fetch for value in fetch(0)]
        header = self.header(self.target.record_depth + 1, self.target.held_flags)  # it runs where the other event does
        file.commit(header + self.pack((), values), regs)

    def line(self, record: bytes) -> str:
        """The whole event part of its trace line."""
        return f"{self.name}: ({self.target.system}.{self.target.name}){self.args_text(record)}\n"

    def show(self) -> str:
        """Its line of dynamic_events."""
        args = "".join(f" {arg.name}={arg.text}" for arg in self.args)
        return f"e:{self.system}/{self.name} {self.target.system}.{self.target.name}{args}\n"

    def matches(self, name: str, words: list[str]) -> bool:
        """eprobe_dyn_event_match(): by name, by the other event, by arguments."""
        if name and self.name != name:
            return False
        if not words:
            return True
        if words[0].replace("/", ".", 1) != f"{self.target.system}.{self.target.name}":
            return False
        rest = words[1:]
        return len(rest) <= len(self.args) and all(
            word == f"{arg.name}={arg.text}" for word, arg in zip(rest, self.args)
        )


class EprobeTrigger:
    """What hangs on the other event."""

    post, hidden, paused, deferred = False, True, False, True

    def __init__(self, event: EprobeEvent, file: EventFile, target: EventFile) -> None:
        self.event = event
        self.file = file
        self.target = target
        self.filter: Filter | None = create_filter(event.target, event.condition) if event.condition else None

    def run(self, record: bytes, regs: int) -> None:
        """The other event fired."""
        self.event.hit(self.file, record, regs)

    def show(self) -> str:
        """Nothing: users do not see it."""
        return ""

    def delete(self) -> None:
        """Take it off."""
        self.target.remove_trigger(self)


class EventProbes:
    """All of a machine's."""

    def __init__(self, recorder: Recorder, events: EventRegistry) -> None:
        self.recorder = recorder
        self.board = recorder.board
        self.events = events
        self.known: list[EprobeEvent] = []

    @property
    def members(self) -> Sequence[EprobeEvent]:
        """Oldest first."""
        return self.known

    def run_dynamic(self, line: str) -> bool:
        """__trace_eprobe_create(); False if the line is not for an event probe."""
        argv = line.split()
        if len(argv) < 2 or argv[0][0] != "e":
            return False
        command = Command(self.board, "event_probe", argv)
        group, name = EPROBES, None
        _, colon, text = argv[0].partition(":")
        if colon:
            group, name = command.parse_name(text, argv[0].index(":") + 1, group)
        command.index = 1
        try:
            system, event_name = command.parse_name(argv[1], 0, "")
        except KernelError:
            system, event_name = "", None
        if not system or event_name is None:
            raise command.fail("NO_EVENT_INFO", 0)
        words, condition_at = argv[2:], 0
        if "if" in words:
            condition_at = words.index("if") + 3
            words = words[: condition_at - 3]
        target = self.events.get(system, event_name)
        if target is None or isinstance(target, ProbeEvent):
            raise command.fail("BAD_ATTACH_EVENT", 0, ENODEV)
        condition = self.parse_condition(command, argv, condition_at, target) if condition_at else None
        args = self.parse_args(command, words, target)
        self.register(command, EprobeEvent(self.recorder, group, name or event_name, args, target, condition))
        return True

    def parse_condition(self, command: Command, argv: list[str], at: int, target: TraceEvent) -> str:
        """trace_eprobe_parse_filter(): it is for the other event.  EINVAL."""
        command.index = at
        if not argv[at:]:
            raise command.fail("NO_EP_FILTER", 0)
        text = " ".join(argv[at:])
        try:
            create_filter(target, text)
        except FilterError as error:
            log_filter_error(target.top, error, text)
            raise KernelError(EINVAL, "the filter does not fit") from error
        return text

    def parse_args(self, command: Command, words: list[str], target: TraceEvent) -> list[ProbeArg]:
        """The arguments, at most 128; a field that the other event lacks is refused.  EINVAL, ENOENT."""
        parser = FieldParser(self.board, True, False)
        known = parser.known = {field.name for field in target.fields}
        args: list[ProbeArg] = []
        for index, word in enumerate(words[:MAX_TRACE_ARGS]):
            command.index = index + 2
            try:
                arg = parser.parse(index, word, args)
            except ProbeError as error:
                if error.errno != E2BIG:
                    for why in filter(None, (error.why, error.then)):
                        command.log(why, error.position)
                raise
            first = arg.ops[0]
            if first.op == "field" and first.name not in known:
                if first.name not in ("comm", "COMM"):
                    raise command.fail("BAD_ATTACH_ARG", 0, ENOENT)
                arg.ops[0] = Op("comm")
            args.append(arg)
        parser.resolve_symbols(args)
        return args

    def register(self, command: Command, event: EprobeEvent) -> None:
        """Make it known under a name that is free.  EEXIST."""
        if self.events.get(event.system, event.name) is not None:
            command.index = 0
            raise command.fail("EVENT_EXIST", 0, EEXIST)
        self.events.add(event)
        event.target.in_use += 1
        self.known.append(event)

    def remove(self, event: EprobeEvent) -> None:
        """unregister_trace_eprobe().  EBUSY."""
        if event.busy:
            raise KernelError(EBUSY, f"{event.name} is in use")
        self.events.remove(event)
        self.known.remove(event)
        event.target.in_use -= 1

    def remove_named(self, group: str | None, name: str, words: list[str]) -> bool:
        """A deletion by name, place and arguments."""
        found = [
            event for event in self.known if (group is None or event.system == group) and event.matches(name, words)
        ]
        for event in found:
            self.remove(event)
        return bool(found)

    def check_busy(self) -> None:
        """EBUSY while one is on."""
        if any(event.listeners for event in self.known):
            raise KernelError(EBUSY, "an event probe is in use")

    def releases(self) -> Sequence[tuple[EprobeEvent, Callable[[], None]]]:
        """Each event, and how it goes."""
        return [(event, partial(self.remove, event)) for event in self.known]
