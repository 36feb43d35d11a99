"""Event triggers: `traceoff:3 if prev_pid > 1` in an event's trigger file.  kernel/trace/trace_events_trigger.c.

traceon, traceoff, stacktrace, enable_event and disable_event; snapshot and hist answer EINVAL.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from arch.abi.errno import EEXIST, EINVAL
from arch.errors import KernelError
from tracing.record.event import EventRegistry, TraceEvent
from tracing.record.event import Trigger as AnyTrigger
from tracing.record.filter import EventFilter, create_filter
from tracing.record.recorder import Recorder

UNLIMITED = -1


class Trigger:
    """struct event_trigger_data."""

    def __init__(
        self,
        command: str,
        action: Callable[[int], bool],
        count: int,
        filter: EventFilter | None,
        target: TraceEvent | None,
    ) -> None:
        self.command = command
        self.action = action
        self.count = count
        self.filter = filter
        self.target = target
        self.kind = kind_of(command)

    def run(self, record: bytes, regs: int = 0) -> None:
        """A counter is only used up by an action that did something."""
        if self.count == 0 or (self.filter is not None and not self.filter.match(record)):
            return
        if self.action(regs) and self.count > 0:
            self.count -= 1

    def show(self) -> str:
        """Its line: command, count, condition."""
        count = "unlimited" if self.count == UNLIMITED else f"count={self.count}"
        condition = f" if {self.filter.text}" if self.filter is not None else ""
        return f"{self.command}:{count}{condition}\n"


def kind_of(command: str) -> str:
    """Two triggers of one kind exclude each other: traceon and traceoff, enable_event and disable_event of an event."""
    return {"traceon": "traceonoff", "traceoff": "traceonoff"}.get(command, command.replace("disable_", "enable_"))


def set_recording(recorder: Recorder, on: bool) -> bool:
    """traceon, traceoff; says whether that changed anything."""
    buffer = recorder.array.buffer
    changed = buffer.recording != on
    buffer.recording = on
    return changed


def switch_event(target: TraceEvent, on: bool) -> bool:
    """enable_event, disable_event; says whether that changed anything."""
    changed = target.enabled != on
    target.set_enabled(on)
    return changed


def dump(recorder: Recorder, regs: int) -> bool:
    """stacktrace."""
    recorder.dump_stack(regs)
    return True


def action_of(recorder: Recorder, name: str, target: TraceEvent | None) -> Callable[[int], bool]:
    """What a trigger does with a hit's pt_regs; a true answer uses up one of its count."""
    if name in ("traceon", "traceoff"):
        return lambda regs: set_recording(recorder, name == "traceon")
    if name == "stacktrace":
        return lambda regs: dump(recorder, regs)
    assert target is not None
    return lambda regs: switch_event(target, name == "enable_event")


def parse(events: EventRegistry, event: TraceEvent, text: str) -> None:
    """One write to the trigger file; EINVAL, EEXIST."""
    match = re.fullmatch(r"(!?)(\w+)((?::[\w.-]+)*)(?:\s+if\s+(.*))?", text.strip())
    if match is None:
        raise KernelError(EINVAL, f"not a trigger: {text!r}")
    remove, name, rest, condition = match[1], match[2], [p for p in match[3].split(":") if p], match[4]
    if name not in ("traceon", "traceoff", "stacktrace", "enable_event", "disable_event"):
        raise KernelError(EINVAL, f"unknown trigger {name}")
    target, command = None, name
    if name in ("enable_event", "disable_event"):
        if len(rest) < 2:
            raise KernelError(EINVAL, "give <system>:<event>")
        target = events.get(rest[0], rest[1])
        if target is None:
            raise KernelError(EINVAL, f"no event {rest[0]}:{rest[1]}")
        command = f"{name}:{rest[0]}:{rest[1]}"
        rest = rest[2:]
    if rest and not rest[0].isdigit():
        raise KernelError(EINVAL, "bad count")
    known = next((trigger for trigger in event.triggers if trigger.kind == kind_of(command)), None)
    if remove:
        if known is not None:
            delete(event, known)
        return
    count = int(rest[0]) if rest else UNLIMITED
    chosen = create_filter(event, condition) if condition else None
    if known is not None:
        raise KernelError(EEXIST, "the event has this trigger")
    event.soft_enable(1)
    action = action_of(event.recorder, name, target)
    event.triggers.insert(0, Trigger(command, action, count, chosen, target))
    if target is not None:
        target.in_use += 1


def delete(event: TraceEvent, trigger: AnyTrigger) -> None:
    """`!` in front of a trigger, or the event goes."""
    event.triggers.remove(trigger)
    event.soft_enable(-1)
    if trigger.target is not None:
        trigger.target.in_use -= 1


def text(event: TraceEvent) -> str:
    """What the file shows: the triggers, or the list of those that exist."""
    if event.triggers:
        return "".join(trigger.show() for trigger in event.triggers)
    return "# Available triggers:\n# traceon traceoff stacktrace enable_event disable_event\n"
