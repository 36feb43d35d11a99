"""events/ of one trace array, and set_event.  kernel/trace/trace_events.c.

Directories of events are made anew only when an event came or went, and their files when first looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from arch.abi.errno import EINVAL, ENODEV
from arch.abi.limits import PAGE_SIZE
from arch.errors import KernelError
from arch.records import dataclass
from tracing.buffer.trace import TraceArray
from tracing.files.array_files import Modes
from tracing.files.formats import HEADER_EVENT, WITH_NUMBER, header_page
from tracing.files.nodes import Directory, File, FixedDirectory, Node, number, once
from tracing.files.opened import FilterFile, FilterHook
from tracing.record import filter as event_filter
from tracing.record.event import EventFile, TraceEvent
from tracing.record.registry import EventRegistry
from tracing.triggers.hist.trigger import HistTriggers
from tracing.triggers.trigger import TriggerFiles

MODULE_MARK = ":mod:"


class EventFiles:
    """The events of one trace array as files."""

    def __init__(
        self, array: TraceArray, modes: Modes, events: EventRegistry, triggers: TriggerFiles, hists: HistTriggers,
        hook: Callable[[], FilterHook | None],
    ) -> None:  # fmt: skip
        self.array = array
        self.board = array.board
        self.modes = modes
        self.events = events
        self.triggers = triggers
        self.hists = hists
        self.hook = hook
        for option in ("record-cmd", "record-tgid"):
            array.on_flag[option] = self.record_tasks
        self.of_modules: list[ModuleEvents] = []  # set_event's words for modules to come, newest first
        self._systems: dict[str, Directory] = {}
        self._event_directories: dict[TraceEvent, Directory] = {}

    def nodes(self) -> list[Node]:
        """events/ and set_event."""
        rw = self.modes.rw
        return [
            Directory("events", self.modes.event_dir, self._events, self.stamp),
            self.file("set_event", rw, self.set_event_text, self.set_event, self.clear_events),
            *self._shows(),
        ]

    def _shows(self) -> list[Node]:
        """Filters and triggers of all events, a line each."""
        if not self.board.features.show_event_filters:
            return []

        def filters() -> str:
            used = (file for file in self._used() if file.filter_text is not None)
            return "".join(f"{label(file.event)}{file.filter_text}\n" for file in used)

        def triggers() -> str:
            return "".join(f"{label(file.event)}{each.show()}" for file in self._used() for each in file.triggers)

        ro = self.modes.ro
        return [self.file("show_event_filters", ro, filters), self.file("show_event_triggers", ro, triggers)]

    def _used(self) -> list[EventFile]:
        """The events that somebody has asked for something."""
        return [event.files[self.array] for event in self.newest_first() if self.array in event.files]

    def file(
        self, name: str, mode: int, show: Callable[[], str] | None = None,
        store: Callable[[bytes], object] | None = None, truncate: Callable[[], object] | None = None,
    ) -> File:  # fmt: skip
        """A file that keeps its trace array in use while it is open."""
        return File(name, mode, show, store, truncate, users=self.array)

    def stamp(self) -> int:
        """Changes when an event comes or goes."""
        return self.events.generation

    def newest_first(self) -> list[TraceEvent]:
        """The kernel puts each new event at the head of its list."""
        return list(self.events)[::-1]

    # Directories

    def _events(self) -> list[Node]:
        events, array = self.events, self.array
        self._event_directories = {event: known for event, known in self._event_directories.items() if event in events}
        nodes: list[Node] = [
            self.file(
                "enable", self.modes.rw, lambda: enable_text(events, array), lambda data: self.enable_all(None, data)
            ),
            once(File("header_event", self.modes.ro, lambda: HEADER_EVENT)),
            once(File("header_page", self.modes.ro, lambda: header_page(self.board, array.buffer.subbuf_size))),
        ]
        nodes.append(Directory("ftrace", self.modes.event_dir, self._ftrace))
        systems = events.systems()
        self._systems = {system: self._systems.get(system) or self._system(system) for system in systems}
        nodes += self._systems.values()
        return nodes

    def _ftrace(self) -> list[Node]:
        nodes: list[Node] = [self._internal(event) for event in self.events.internal.values()]
        if not self.board.features.ftrace_without_enable:
            rw = self.modes.rw
            message = event_filter.DEFAULT_SYS_FILTER_MESSAGE + "\n"
            nodes += [self.file("enable", rw, lambda: "?\n", refuse), self.file("filter", rw, lambda: message, refuse)]
        return nodes

    def _internal(self, event: TraceEvent) -> Node:
        """What tracers write: a format; the two that perf may count have a number, markers have triggers."""
        ro = self.modes.ro
        files: list[Node] = [File("format", ro, lambda: event.format)]
        if self.board.features.hist_triggers:
            files.append(self.file("hist", ro, lambda: self.hists.text(event.file(self.array))))
        if event.name in WITH_NUMBER:
            files.append(File("id", ro, lambda: f"{event.id}\n"))
        if event.name == "print" and self.board.features.marker_triggers:
            files.append(self._trigger(event))
        return FixedDirectory(event.name, self.modes.event_dir, files)

    def _system(self, system: str) -> Directory:
        return Directory(system, self.modes.event_dir, lambda: self._system_entries(system), self.stamp)

    def _system_entries(self, system: str) -> list[Node]:
        events = self.events.systems().get(system, {})
        array = self.array
        nodes: list[Node] = [
            self.file("enable", self.modes.rw, lambda: enable_text(self.of_system(system), array),
                      lambda data: self.enable_all(system, data)),
            once(self.file("filter", self.modes.rw, lambda: event_filter.DEFAULT_SYS_FILTER_MESSAGE + "\n",
                           lambda data: self.system_filter(system, data))),
        ]  # fmt: skip
        nodes += [self._event(event) for event in events.values()]
        return nodes

    def of_system(self, system: str) -> list[TraceEvent]:
        """The events of one directory."""
        return [event for event in self.events if event.system == system]

    def system_filter(self, system: str, data: bytes) -> None:
        """events/GROUP/filter.  ENODEV."""
        text = event_filter.written_text(data)
        event_filter.apply_subsystem_filter([event.file(self.array) for event in self.of_system(system)], text)

    def _event(self, event: TraceEvent) -> Directory:
        """One directory object per event, as long as the event lives."""
        known = self._event_directories.get(event)
        if known is None:
            known = Directory(event.name, self.modes.event_dir, lambda: self._event_entries(event))
            self._event_directories[event] = known
        return known

    def check(self, event: TraceEvent) -> None:
        """ENODEV for an event that is gone."""
        if self.events.get_any(event.system, event.name) is not event:
            raise KernelError(ENODEV, "the event is gone")

    def _event_entries(self, event: TraceEvent) -> list[Node]:
        array, rw, ro = self.array, self.modes.rw, self.modes.ro

        def enable(data: bytes) -> None:
            self.check(event)
            value = number(data)
            array.expand()
            if value > 1:
                raise KernelError(EINVAL, "0 or 1")
            self.set_enabled(event, bool(value))

        nodes: list[Node] = [
            self.file("enable", rw, lambda: self.state(event) + "\n", enable),
            once(File("filter", rw, lambda: self.filter_text(event), users=array,
                      opener=lambda file, flags: FilterFile(file, flags, self.events, event.file(array), self.hook))),
            File("format", ro, lambda: event.format),
            File("id", ro, lambda: f"{event.id}\n"),
            self._trigger(event),
        ]  # fmt: skip
        if self.board.features.hist_triggers:
            nodes.append(self.file("hist", ro, lambda: self.hists.text(event.file(array))))
        return nodes

    def _trigger(self, event: TraceEvent) -> File:
        array, triggers = self.array, self.triggers

        def store(data: bytes) -> None:
            self.check(event)
            triggers.write(event.file(array), data)

        return self.file("trigger", self.modes.rw, lambda: triggers.text(event.file(array)), store,
                         lambda: triggers.clear(event.file(array)))  # fmt: skip

    def record_tasks(self, on: bool) -> None:
        """trace_event_enable_cmd_record(): the option of the array was changed while events are on."""
        for event in self.events:
            file = event.files.get(self.array)
            if file is not None and file.registered:
                file.record_tasks(True)

    # What the files say and take

    def state(self, event: TraceEvent) -> str:
        """0, 1, and a * while a trigger keeps it registered."""
        known = event.files.get(self.array)
        return known.state() if known is not None else "0"

    def set_enabled(self, event: TraceEvent, on: bool) -> None:
        """An event that nobody looked at yet is off already."""
        if on or self.array in event.files:
            event.file(self.array).set_enabled(on)

    def filter_text(self, event: TraceEvent) -> str:
        """What the filter file reads; a text that does not fit the kernel's page reads as nothing."""
        known = event.files.get(self.array)
        text = f"{known.filter_text if known is not None and known.filter_text is not None else 'none'}\n"
        return text if len(text) < PAGE_SIZE else ""

    def enable_all(self, system: str | None, data: bytes) -> None:
        """0 or 1 to events/enable or events/GROUP/enable."""
        value = number(data)
        self.array.expand()
        if value > 1:
            raise KernelError(EINVAL, "0 or 1")
        events = [event for event in self.events if system in (None, event.system)]
        if not events:
            raise KernelError(ENODEV, "no events")
        self.set_all(events, bool(value))

    def set_all(self, events: Iterable[TraceEvent], on: bool) -> None:
        """__ftrace_set_clr_event(): all that can be; then what the first of the others said, newest first."""
        refused: KernelError | None = None
        for event in sorted(events, key=lambda event: event.id, reverse=True):
            try:
                self.set_enabled(event, on)
            except KernelError as error:
                refused = refused or error
        if refused is not None:
            raise refused

    def set_event_text(self) -> str:
        """The file set_event: the events that are on, also for triggers alone (EVENT_FILE_FL_ENABLED), `system:event` a line."""
        files = ((event, event.files.get(self.array)) for event in self.newest_first())
        return "".join(
            f"{event.system}:{event.name}\n" for event, file in files if file is not None and file.registered
        ) + "".join(each.text() for each in self.of_modules)

    def clear_events(self) -> None:
        """set_event opened with O_TRUNC: all events off."""
        self.of_modules.clear()
        for event in self.events:
            self.set_enabled(event, False)

    def set_event(self, data: bytes) -> int:
        """One word per write: `system:event`, `event`, `system:*`, with an optional `!`; EINVAL if none matches."""
        match = re.match(r"\s*([^\s\0]*)[\s\0]?", data.decode("latin-1"))
        item = match[1] if match is not None else ""
        taken = match.end() if match is not None else len(data)
        if not item:
            return taken
        if item == "!":
            raise KernelError(EINVAL, "no event")
        self.array.expand()
        on = not item.startswith("!")
        name = item.removeprefix("!")
        if self.board.features.events_of_modules and MODULE_MARK in name:
            self.cache_mod(ModuleEvents.of(name), on)
            return taken
        system, colon, event_name = name.partition(":")
        chosen = []
        for event in self.events:
            if colon:
                fits = glob_or_any(system, event.system) and glob_or_any(event_name, event.name)
            else:
                fits = name in (event.name, event.system)
            if fits:
                chosen.append(event)
        if not chosen:
            raise KernelError(EINVAL, f"no event {item}")
        self.set_all(chosen, on)
        return taken

    def cache_mod(self, asked: ModuleEvents, on: bool) -> None:
        """No module is here: its events are kept for when it comes.  EINVAL: there is nothing to be taken away."""
        if on:
            self.of_modules.insert(0, asked)
            return
        left = [each for each in self.of_modules if not each.meant_by(asked)]
        if left == self.of_modules:
            raise KernelError(EINVAL, "nothing is kept for that module")
        self.of_modules = left

    def release(self) -> None:
        """The trace array goes: everything off, triggers gone.  event_trace_del_tracer()."""
        array = self.array
        for event in (*self.events, *self.events.internal.values()):
            file = event.files.get(array)
            if file is not None:
                drop_file(file)
                del event.files[array]


@dataclass(frozen=True, slots=True)
class ModuleEvents:
    """struct event_mod_load: events of a module that is not there, by a name alone or by system and event; empty: any."""

    module: str
    match: str
    system: str
    event: str

    @classmethod
    def of(cls, text: str) -> ModuleEvents:
        """`system:event:mod:MODULE`, `name:mod:MODULE`, `:mod:MODULE`."""
        name, _, module = text.partition(MODULE_MARK)
        system, colon, event = name.partition(":")
        if colon:
            return cls(module, "", "" if system == "*" else system, "" if event == "*" else event)
        return cls(module, "" if name == "*" else name, "", "")

    def meant_by(self, asked: ModuleEvents) -> bool:
        """`asked` takes it away."""
        return asked.module == self.module and all(
            wanted in ("", own)
            for wanted, own in ((asked.match, self.match), (asked.system, self.system), (asked.event, self.event))
        )

    def text(self) -> str:
        """Its line of set_event."""
        name = self.match or f"{self.system or '*'}:{self.event or '*'}"
        return f"{name}{MODULE_MARK}{self.module}\n"


def drop_file(file: EventFile) -> None:
    """Its triggers first: they keep it registered."""
    for trigger in list(file.triggers):
        trigger.delete()
    file.set_enabled(False)


def is_on(event: TraceEvent, array: TraceArray) -> bool:
    """EVENT_FILE_FL_ENABLED: into this array, or for triggers alone."""
    known = event.files.get(array)
    return known is not None and known.registered


def glob_or_any(pattern: str, name: str) -> bool:
    """set_event's patterns: a name, `*` or nothing at all."""
    return pattern in ("", "*", name)


def enable_text(events: Iterable[TraceEvent], array: TraceArray) -> str:
    """0, 1, or X for a mixture."""
    states = {is_on(event, array) for event in events}
    return "X\n" if len(states) == 2 else ("1\n" if states == {True} else "0\n")


def refuse(data: bytes) -> None:
    """None of these can be enabled or filtered."""
    raise KernelError(EINVAL, "entries of tracers")


def label(event: TraceEvent) -> str:
    """`sched:sched_switch`, filled up to 32 columns."""
    name = f"{event.system}:{event.name}"
    return name.ljust(32) if len(name) < 32 else f"{name} "
