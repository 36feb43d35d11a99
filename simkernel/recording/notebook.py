"""How a recording and its events look in a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from arch.htmltext import facts, frame, table
from simkernel.recording.rows import Event

FIRST_EVENTS = 12  # events that are shown


def events_html(events: Sequence[Event]) -> str:
    """How many there are, and the first of them."""
    shown = events[:FIRST_EVENTS]
    rows = [
        [f"{event.ts / 1000:.3f}", event.cpu, f"{event.comm}-{event.pid}", event.name, event.said] for event in shown
    ]
    note = f"{len(events) - len(shown):,} more" if len(events) > len(shown) else ""
    return frame(f"{len(events):,} events", table(["us", "CPU", "task", "event", "fields"], rows), note)


def recording_html(title: str, rows: Mapping[str, str], repeat: str) -> str:
    """What there is of everything."""
    return frame(f"Recording of {title}", facts({name: value for name, value in rows.items() if value}), repeat)
