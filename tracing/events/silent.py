"""Events of the real kernel at whose places this one never comes by: listed, laid out, attached to, and silent."""

from __future__ import annotations

from collections.abc import Collection

from tracing.events.known import KnownEvents
from tracing.events.tracepoints import Tracepoint
from tracing.face import TraceHost
from tracing.record.event import LazyEvent, TraceEvent
from tracing.record.fields import Field
from tracing.record.recorder import Recorder


class SilentEvent(LazyEvent):
    """One of them."""

    def __init__(self, recorder: Recorder, known: KnownEvents, system: str, name: str) -> None:
        super().__init__(recorder, system, name)
        self.known = known

    def lay_out(self) -> tuple[list[Field], str]:
        """As recorded."""
        return self.known.layout(self.system, self.name, self.board.char_signed)


def silent_events(recorder: Recorder, known: KnownEvents, fired: Collection[str]) -> list[TraceEvent]:
    """Events for all tracepoints that are known and not among those of the rows."""
    return [
        SilentEvent(recorder, known, system, name)
        for system, name in known.numbers()
        if name not in fired and system not in ("syscalls", "bpf_trace")
    ]


def silent_tracepoints(host: TraceHost, known: KnownEvents, fired: Collection[str]) -> dict[str, Tracepoint]:
    """Their tracepoints: programs attach to them, nothing fires them."""
    out = {}
    for system, name in known.numbers():
        if name not in fired and system not in ("syscalls", "bpf_trace"):
            decl = known.declaration(system, name)
            out[name] = Tracepoint(host, decl, decl)
    return out
