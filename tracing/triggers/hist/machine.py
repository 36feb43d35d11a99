"""What all histograms of a machine share: whose variables can be referred to, shared names, and the log of errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from tracing.buffer.trace import TraceArray
from tracing.record.event import EventFile
from tracing.record.registry import EventRegistry
from tracing.triggers.hist import errors as why
from tracing.triggers.hist.errors import HistLog
from tracing.triggers.hist.fields import HistField, Owner
from tracing.triggers.hist.parse import HistBase
from tracing.triggers.synthetic import SynthEvents


class HistTriggerFace(Protocol):
    """A hist trigger on an event."""

    filter_text: str | None

    @property
    def hist(self) -> HistBase:
        """Its histogram."""


class HistMachine:
    """struct trace_array.hist_vars of all arrays, named_triggers, and the synthetic events."""

    def __init__(self, events: EventRegistry, synth: SynthEvents, syscall_name: Callable[[int], str | None]) -> None:
        self.events = events
        self.synth = synth
        self.syscall_name = syscall_name  # number -> `sys_read`
        self.log = HistLog()
        self.with_vars: list[HistBase] = []  # newest first
        self.triggers: dict[EventFile, list[HistTriggerFace]] = {}
        # event_hist_trigger_parse(): file, glob ("" for a histogram made for another), remove, text
        self.parse: Callable[[EventFile, str, bool, str | None], None] = lambda file, glob, remove, text: None

    def hists_on(self, file: EventFile) -> Iterator[HistBase]:
        """The histograms of an event, oldest first."""
        for trigger in self.triggers.get(file, ()):
            yield trigger.hist

    def filter_of(self, hist: HistBase) -> str | None:
        """find_trigger_filter()."""
        for trigger in self.triggers.get(hist.file, ()):
            if trigger.hist is hist:
                return trigger.filter_text
        return None

    def find_file_var(self, file: EventFile, name: str) -> HistField | None:
        """A variable of one of the histograms of an event."""
        for hist in self.hists_on(file):
            found = hist.find_own_var(name)
            if found is not None:
                return found
        return None

    def find_var_file(
        self, array: TraceArray, system: str | None, event: str | None, name: str
    ) -> EventFile | None:  # fmt: skip
        """The event whose histogram has a variable; two of them are logged."""
        if system:
            found_event = self.events.get_any(system, event or "")
            return found_event.file(array) if found_event is not None else None
        found: EventFile | None = None
        for hist in self.with_vars:
            if hist.file is found or hist.file.array is not array:
                continue
            if hist.find_own_var(name) is not None:
                if found is not None:
                    self.log.add(hist.file, why.VAR_NOT_UNIQUE, name)
                    return None
                found = hist.file
        return found

    def save_vars(self, hist: HistBase) -> None:
        """save_hist_vars(): others may refer to them, and the trace array is in use."""
        if hist not in self.with_vars:
            self.with_vars.insert(0, hist)
            hist.file.array.opened += 1

    def remove_vars(self, hist: HistBase) -> None:
        """remove_hist_vars()."""
        if hist in self.with_vars:
            self.with_vars.remove(hist)
            hist.file.array.opened -= 1

    def referred(self, hist: Owner) -> bool:
        """check_var_refs(): does another histogram refer to one of its variables?"""
        return any(
            ref.var_owner is hist for other in self.with_vars if other is not hist for ref in other.var_refs
        )  # fmt: skip
