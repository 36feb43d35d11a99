"""All events of a machine by name and by number.  kernel/trace/trace_output.c, trace_events.c."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from arch.abi.errno import EBUSY, EEXIST
from arch.errors import KernelError
from tracing.board import Line
from tracing.record.event import TraceEvent

EVENT_TYPE_MAX = 65535
Makers = Callable[[], Iterable[TraceEvent]]


class Known(Protocol):
    """What is known of the kernel's own events (tracing/events/known.py)."""

    @property
    def exact(self) -> bool:
        """The numbers are those of this very kernel; else only their order."""

    def numbers(self) -> Mapping[tuple[str, str], int]:
        """By system and name; empty where nobody asked a kernel of this version."""

    def elsewhere(self, system: str, name: str) -> bool:
        """An event that is missing here is one of other kernels."""


class EventRegistry:
    """All events by name and by number.  kernel/trace/trace_output.c:register_trace_event().

    The kernel's own are made when somebody first looks: most machines never do.
    """

    def __init__(self, first_type: int, lines: dict[int, Line], known: Known) -> None:
        self.lines = lines  # of the board: how the entries of a type print
        self.known = known
        self.internal: dict[tuple[str, str], TraceEvent] = {}  # events/ftrace: what tracers write, never enabled
        self.next_id = first_type
        self.first = first_type
        self.generation = 0  # changes whenever the set does (directory caches)
        self._events: dict[tuple[str, str], TraceEvent] = {}
        self._by_id: dict[int, TraceEvent] = {}
        self._makers: list[Makers] = []
        self._systems: tuple[int, dict[str, dict[str, TraceEvent]]] = (-1, {})
        self.on_add: Callable[[TraceEvent], None] = lambda event: None  # one has been defined

    def declare(self, make: Makers) -> None:
        """The kernel has these events of its own; they are made when somebody looks."""
        self._makers.append(make)

    @property
    def events(self) -> dict[tuple[str, str], TraceEvent]:
        """By system and name; the kernel's own first, backwards, because the newest is listed first."""
        if self._makers:
            self.fill()
        return self._events

    @property
    def by_id(self) -> dict[int, TraceEvent]:
        """By number."""
        if self._makers:
            self.fill()
        return self._by_id

    def fill(self) -> None:
        """Make the kernel's own events, if that has not happened yet."""
        makers, self._makers = self._makers, []
        if not makers:
            return
        made = [event for make in makers for event in make()]
        numbers, exact = self.known.numbers(), self.known.exact
        if numbers:
            added = [
                e for e in made if (e.system, e.name) not in numbers and not self.known.elsewhere(e.system, e.name)
            ]
            made = [event for event in made if (event.system, event.name) in numbers]
            made.sort(key=lambda event: numbers[event.system, event.name])
            for index, event in enumerate(made):
                event.id = numbers[event.system, event.name] if exact else self.first + index
            for index, event in enumerate(added, max(event.id for event in made) + 1):
                event.id = index
            made = [*made, *added]
            made.reverse()
        else:
            for index, event in enumerate(made, self.next_id):
                event.id = index
        for event in made:
            self._put(event)
        self.next_id = max(self._by_id, default=self.first - 1) + 1

    def __iter__(self) -> Iterator[TraceEvent]:
        return iter(self.events.values())

    def __len__(self) -> int:
        return len(self.events)

    def __contains__(self, event: TraceEvent) -> bool:
        return self.by_id.get(event.id) is event

    def get(self, system: str, name: str) -> TraceEvent | None:
        """By system and name; None if there is none."""
        return self.events.get((system, name))

    def get_any(self, system: str, name: str) -> TraceEvent | None:
        """The same, entries of the tracers included."""
        return self.events.get((system, name)) or self.internal.get((system, name))

    def find(self, name: str) -> TraceEvent | None:
        """By bare name: the first system that has it."""
        return next((event for event in self.events.values() if event.name == name), None)

    def add(self, event: TraceEvent) -> None:
        """Give an event its number and make it known.  EEXIST, EBUSY."""
        if (event.system, event.name) in self.events:
            raise KernelError(EEXIST, f"{event.system}:{event.name} exists")
        event.id = self._new_id()
        self._put(event)
        self.on_add(event)

    def _put(self, event: TraceEvent) -> None:
        self._events[event.system, event.name] = event
        self._by_id[event.id] = event
        self.lines[event.id] = event.line
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
        """Its number becomes free; traces that it may stand in are emptied."""
        for file in event.files.values():
            if file.was_enabled:
                file.array.reset_all()
        del self.events[event.system, event.name]
        del self.by_id[event.id]
        del self.lines[event.id]
        self.generation += 1

    def systems(self) -> dict[str, dict[str, TraceEvent]]:
        """Event directories: system -> name -> event; made anew only when an event came or went."""
        events = self.events
        if self._systems[0] != self.generation:
            out: dict[str, dict[str, TraceEvent]] = {}
            for (system, name), event in events.items():
                out.setdefault(system, {})[name] = event
            self._systems = (self.generation, out)
        return self._systems[1]
