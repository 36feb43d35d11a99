"""The triggers that are one word: traceon, traceoff, snapshot, stacktrace, enable_event, disable_event, enable_hist, disable_hist."""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import EEXIST, EINVAL
from arch.errors import KernelError
from tracing.record.event import EventFile
from tracing.record.registry import EventRegistry
from tracing.record.stack import Reader
from tracing.triggers.trigger import Command, EventTrigger, TriggerFiles, separate_filter, split_word


class CountedTrigger(EventTrigger):
    """Its name, perhaps `:COUNT`, perhaps a condition."""

    name = ""

    def show(self) -> str:
        """`traceon:unlimited`, `stacktrace:count=5 if pid > 1`."""
        return self.name + self.tail()

    def spend(self) -> bool:
        """Is there still one to go?  An unlimited trigger always has."""
        if not self.count:
            return False
        if self.count > 0:
            self.count -= 1
        return True


class TraceOn(CountedTrigger):
    """tracing_on becomes 1."""

    name, kind, on = "traceon", "traceonoff", True

    def run(self, record: bytes, regs: int) -> None:
        """Only a change uses up the count."""
        buffer = self.file.array.buffer
        if buffer.recording != self.on and self.spend():
            buffer.recording = self.on


class TraceOff(TraceOn):
    """tracing_on becomes 0, after the event's record."""

    name, on, post = "traceoff", False, True


class Snapshot(CountedTrigger):
    """The trace becomes the snapshot."""

    name = kind = "snapshot"

    def run(self, record: bytes, regs: int) -> None:
        """snapshot_trigger()."""
        if self.spend():
            self.file.array.take_snapshot()


class StackTrace(CountedTrigger):
    """The kernel's stack into the trace, after the event's record."""

    name = kind = "stacktrace"
    post = True

    def run(self, record: bytes, regs: int) -> None:
        """stacktrace_trigger()."""
        if self.spend():
            reader = Reader.TRIGGER if self.count == -1 else Reader.COUNTED_TRIGGER
            self.file.array.stack_entry(self.file.event.stack(regs, reader), record)


class SwitchTrigger(CountedTrigger):
    """A trigger that turns something of another event on or off."""

    def __init__(self, file: EventFile, target: EventFile, name: str) -> None:
        super().__init__(file)
        self.target = target
        self.name = name
        self.on = name.startswith("enable")

    def show(self) -> str:
        """`enable_event:sched:sched_switch:unlimited`."""
        event = self.target.event
        return f"{self.name}:{event.system}:{event.name}" + self.tail()

    def freed(self) -> None:
        """The target need not be registered any more on this trigger's account."""
        self.target.soft_enable(-1)
        self.target.event.in_use -= 1


class SwitchEvent(SwitchTrigger):
    """enable_event, disable_event."""

    kind = "event_enable"

    def run(self, record: bytes, regs: int) -> None:
        """event_enable_trigger(); only a change uses up the count."""
        if self.count >= 0 and self.on != self.target.soft_disabled:
            return
        if self.spend():
            self.target.soft_disabled = not self.on


class SwitchHist(SwitchTrigger):
    """enable_hist, disable_hist."""

    kind = "hist_enable"

    def run(self, record: bytes, regs: int) -> None:
        """hist_enable_trigger(): all histograms of the target."""
        if self.spend():
            for trigger in self.target.triggers:
                if isinstance(trigger, EventTrigger) and trigger.kind == "hist":
                    trigger.paused = not self.on


def install(files: TriggerFiles, events: EventRegistry, snapshots: bool) -> None:
    """Make the commands known."""

    def counted(make: Callable[[EventFile], CountedTrigger]) -> Callable[[EventFile, str, bool, str | None], None]:
        return lambda file, name, remove, rest: parse_counted(make, file, remove, rest)

    def switch(file: EventFile, name: str, remove: bool, rest: str | None) -> None:
        parse_switch(events, file, name, remove, rest)

    files.add(Command("traceon", counted(TraceOn)), Command("traceoff", counted(TraceOff)))
    if snapshots:
        files.add(Command("snapshot", counted(Snapshot)))
    files.add(
        Command("stacktrace", counted(StackTrace)), Command("enable_event", switch), Command("disable_event", switch)
    )


def parse_counted(make: Callable[[EventFile], CountedTrigger], file: EventFile, remove: bool, rest: str | None) -> None:
    """event_trigger_parse().  EINVAL, EEXIST."""
    param, condition = separate_filter(rest, False)
    trigger = make(file)
    if remove:
        unregister(file, lambda known: known.kind == trigger.kind)
        return
    trigger.parse_count(param)
    trigger.set_filter(condition)
    if isinstance(trigger, Snapshot):
        file.array.allocate_snapshot()
    if any(isinstance(known, EventTrigger) and known.kind == trigger.kind for known in file.triggers):
        raise KernelError(EEXIST, "the event has such a trigger")
    file.add_trigger(trigger)


def parse_switch(events: EventRegistry, file: EventFile, name: str, remove: bool, rest: str | None) -> None:
    """event_enable_trigger_parse().  EINVAL, EEXIST."""
    param, condition = separate_filter(rest, True)
    assert param is not None
    system, event_name = split_word(param, ":")
    if event_name is None:
        raise KernelError(EINVAL, "give <system>:<event>")
    event_name, count = split_word(event_name, ":")
    event = events.get(system, event_name)
    if event is None:
        raise KernelError(EINVAL, f"no event {system}:{event_name}")
    target = event.file(file.array)
    make = SwitchHist if name.endswith("hist") else SwitchEvent
    trigger = make(file, target, name)

    def same(known: EventTrigger) -> bool:
        return isinstance(known, SwitchTrigger) and known.kind == trigger.kind and known.target is target

    if remove:
        unregister(file, same)
        return
    trigger.parse_count(count)
    trigger.set_filter(condition)
    if any(isinstance(known, EventTrigger) and same(known) for known in file.triggers):
        raise KernelError(EEXIST, "the event has such a trigger")
    target.soft_enable(1)
    event.in_use += 1
    file.add_trigger(trigger)


def unregister(file: EventFile, same: Callable[[EventTrigger], bool]) -> None:
    """The first trigger of that kind goes; none is no error."""
    for known in file.triggers:
        if isinstance(known, EventTrigger) and same(known):
            known.delete()
            return
