"""The tree of tracefs, and of debugfs kprobes/.  kernel/trace/trace.c, trace_events.c.

The floor above puts these nodes (files/nodes.py) into its file system.  Directories of events are made anew only when an
event came or went, and their files when first looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from arch.abi.errno import EBADF, EINVAL, ENODEV, ENOMEM
from arch.abi.limits import PAGE_SIZE
from arch.errors import KernelError
from tracing.buffer.trace import IP_MARKER, TRACE_PRINT, TRACE_RAW_DATA
from tracing.files.formats import HEADER_EVENT, WITH_NUMBER, ftrace_entries, header_page
from tracing.files.nodes import Directory, File, FixedDirectory, Node, number, word
from tracing.files.opened import FilterFile, FilterHook, FreeBuffer, PipeFile
from tracing.files.readme import README
from tracing.probes.kprobes import Kprobes
from tracing.probes.probe_events import ProbeEvents
from tracing.record import filter as event_filter
from tracing.record.event import EventRegistry, TraceEvent
from tracing.record.recorder import Recorder
from tracing.tracers.function import ALL_ENABLED, NO_PID, NONE_DISABLED, FunctionTracer, parse_pids, pids_text
from tracing.triggers import triggers

MARKER_LIMIT = 4096


class TraceFs:
    """Builds the tree of a machine.  `root` is tracefs; `kprobes` goes to debugfs/kprobes."""

    def __init__(
        self, recorder: Recorder, events: EventRegistry, kprobes: Kprobes, probe_events: ProbeEvents,
        function: FunctionTracer,
    ) -> None:  # fmt: skip
        self.recorder = recorder
        self.board = recorder.board
        self.array = recorder.array
        self.events = events
        self.probe_events = probe_events
        self.function = function
        self.filter_hook: FilterHook | None = None  # of the floor above: `bpf-N` in a filter file (3.20-rfc)
        self._systems: dict[str, Directory] = {}
        self._event_directories: dict[TraceEvent, Directory] = {}
        modern = self.board.features.tracefs_created_mode_0640
        self.rw, self.ro, self.wo = (0o640, 0o440, 0o220) if modern else (0o644, 0o444, 0o222)
        self.dir_mode = 0o750 if modern else 0o700
        self.root = FixedDirectory("tracing", 0o700, self._top())
        self.kprobes = FixedDirectory("kprobes", 0o755, self._kprobes(kprobes))

    # Top directory

    def _top(self) -> list[Node]:
        array, board, features = self.array, self.board, self.board.features
        rw, ro = self.rw, self.ro
        probes = self.probe_events
        nodes: list[Node] = [
            File("README", ro, lambda: README),
            File("available_events", ro, self.available_events),
            File("available_filter_functions", ro, self.filter_functions),
            File("available_tracers", ro, lambda: " ".join(sorted(array.tracers)) + "\n"),
            File("buffer_size_kb", rw, lambda: self.buffer_size(None), lambda data: self.set_buffer_size(data, None)),
            File("buffer_total_size_kb", ro, self.total_size),
            File("current_tracer", rw, lambda: f"{array.tracer}\n", self.set_tracer),
            File("enabled_functions", ro, self.function.enabled_text),
            Directory("events", self.dir_mode, self._events, self.stamp),
            File("free_buffer", self.wo, None, lambda data: None,
                 opener=lambda file, flags: FreeBuffer(file, flags, array)),
            File("kprobe_events", rw, lambda: probes.text("kprobe"), lambda data: probes.write(data, "kprobe"),
                 lambda: probes.release_all("kprobe")),
            File("kprobe_profile", ro, lambda: probes.profile("kprobe")),
            FixedDirectory("options", self.dir_mode, [self._option(name) for name in board.options]),
            FixedDirectory("per_cpu", self.dir_mode, [self._cpu(cpu) for cpu in range(array.host.nr_cpus)]),
            File("printk_formats", ro, lambda: ""),
            File("saved_cmdlines", ro, self.saved_cmdlines),
            File("saved_cmdlines_size", rw, lambda: f"{array.cmdlines_size}\n", self.set_cmdlines_size),
            File("set_event", rw, self.set_event_text, self.set_event, self.clear_events),
            *self._function_files(),
            self._trace(None),
            File("trace_clock", rw, array.clock_text, lambda data: array.set_clock(word(data))),
            File("trace_marker", self.wo, None, self.marker),
            File("trace_options", rw, array.options_text, lambda data: array.set_option(word(data))),
            self._pipe(None),
            File("tracing_cpumask", rw, lambda: f"{array.cpumask:x}\n", self.set_cpumask),
            File("tracing_on", rw, lambda: f"{array.buffer.recording:d}\n", self.set_recording),
            File("tracing_thresh", rw, lambda: f"{array.threshold_us}\n", self.set_threshold),
            File("uprobe_events", rw, lambda: probes.text("uprobe"), lambda data: probes.write(data, "uprobe"),
                 lambda: probes.release_all("uprobe")),
            File("uprobe_profile", ro, lambda: probes.profile("uprobe")),
        ]  # fmt: skip
        if features.dynamic_events:
            nodes.append(
                File("dynamic_events", rw, lambda: probes.text(None), lambda data: probes.write(data, None),
                     lambda: probes.release_all(None))
            )  # fmt: skip
        if features.error_log:
            nodes.append(File("error_log", rw, board.errors.text, lambda data: None, board.errors.clear))
            nodes.append(File("trace_marker_raw", self.wo, None, self.marker_raw))
            nodes.append(File("timestamp_mode", ro, lambda: "[delta] absolute\n"))
        return sorted(nodes, key=lambda node: node.name)

    def _function_files(self) -> list[Node]:
        function, event_pids = self.function, self.recorder.event_pids

        def names_file(name: str, names: set[str], nothing: str) -> File:
            return File(name, self.rw, lambda: function.text(names, nothing), lambda data: function.write(names, data),
                        lambda: function.clear(names))  # fmt: skip

        def pids_file(name: str, pids: set[int], nothing: str) -> File:
            return File(name, self.rw, lambda: pids_text(pids, nothing), lambda data: parse_pids(pids, data),
                        pids.clear)  # fmt: skip

        return [
            names_file("set_ftrace_filter", function.chosen, ALL_ENABLED),
            names_file("set_ftrace_notrace", function.forbidden, NONE_DISABLED),
            pids_file("set_ftrace_pid", function.pids, NO_PID),
            pids_file("set_event_pid", event_pids, ""),
        ]

    def available_events(self) -> str:
        """The file available_events: `system:event` a line."""
        return "".join(f"{event.system}:{event.name}\n" for event in self.newest_first())

    def newest_first(self) -> list[TraceEvent]:
        """The kernel puts each new event at the head of its list."""
        return list(self.events)[::-1]

    def filter_functions(self) -> str:
        """The functions of the kernel's text, in order of address, but for those in which no probe may be."""
        return "".join(f"{name}\n" for name in self.function.functions())

    def buffer_size(self, cpu: int | None) -> str:
        """buffer_size_kb of one CPU or all (X where they differ), and what it grows to at the first use."""
        sizes = self.array.buffer.size_kb
        later = "" if self.array.expanded else f" (expanded: {self.array.full_size_kb})"
        if cpu is not None:
            return f"{sizes[cpu]}{later}\n"
        return f"{sizes[0]}{later}\n" if len(set(sizes)) == 1 else "X\n"

    def total_size(self) -> str:
        """buffer_total_size_kb: the sum over the CPUs."""
        sizes = self.array.buffer.size_kb
        later = "" if self.array.expanded else f" (expanded: {self.array.full_size_kb * len(sizes)})"
        return f"{sum(sizes)}{later}\n"

    def set_buffer_size(self, data: bytes, cpu: int | None) -> None:
        """A number of KiB to buffer_size_kb.  EINVAL, ENOMEM."""
        size = number(data)
        if not size:
            raise KernelError(EINVAL, "a buffer has a size")
        if size > 1 << 22:
            raise KernelError(ENOMEM, "that much memory is not there")
        self.array.expanded = True
        self.array.buffer.resize(size, cpu)

    def set_tracer(self, data: bytes) -> None:
        """A name to current_tracer.  EINVAL."""
        if len(data) > 100:
            data = data[:100]
        self.array.set_tracer(word(data))

    def set_cpumask(self, data: bytes) -> None:
        """A hexadecimal mask, groups of eight digits separated by commas."""
        text = word(data).replace(",", "")
        try:
            self.array.cpumask = int(text, 16) & ((1 << self.array.host.nr_cpus) - 1)
        except ValueError:
            raise KernelError(EINVAL, f"not a mask: {text!r}") from None

    def set_threshold(self, data: bytes) -> None:
        """A number of us to tracing_thresh.  EINVAL."""
        self.array.threshold_us = number(data)

    def saved_cmdlines(self) -> str:
        """The file saved_cmdlines: `pid name` a line."""
        return "".join(f"{pid} {comm}\n" for pid, comm in sorted(self.array.cmdlines.items()))

    def set_cmdlines_size(self, data: bytes) -> None:
        """A number to saved_cmdlines_size.  EINVAL."""
        size = number(data)
        if not size:
            raise KernelError(EINVAL)
        self.array.cmdlines_size = max(size, self.array.cmdlines_floor)

    def set_recording(self, data: bytes) -> None:
        """0 or 1 to tracing_on.  EINVAL."""
        self.array.buffer.recording = bool(number(data))

    def marker(self, data: bytes) -> None:
        """trace_marker: a print entry; EINVAL when the markers option is off."""
        if not self.board.options["markers"]:
            raise KernelError(EINVAL, "markers are off")
        text = data[:MARKER_LIMIT].decode("latin-1")
        if data and not self.array.print_entry(IP_MARKER, text if text.endswith("\n") else text + "\n", TRACE_PRINT):
            raise KernelError(EBADF, "the buffer is not recording")

    def marker_raw(self, data: bytes) -> None:
        """trace_marker_raw: a u32 id and data, at least four bytes.  EINVAL, EBADF."""
        if not self.board.options["markers"] or len(data) < 4:
            raise KernelError(EINVAL, "an id and data")
        if not self.array.write(self.board.header_of(TRACE_RAW_DATA) + data):
            raise KernelError(EBADF, "the buffer is not recording")

    # trace, trace_pipe, per CPU

    def _trace(self, cpu: int | None) -> File:
        array = self.array
        return File("trace", self.rw, lambda: "".join(array.render(cpu)), lambda data: None,
                    lambda: array.reset(cpu))  # fmt: skip

    def _pipe(self, cpu: int | None) -> File:
        return File("trace_pipe", self.ro, opener=lambda file, flags: PipeFile(file, flags, self.array.open_pipe(cpu)))

    def _cpu(self, cpu: int) -> Directory:
        buffer, host = self.array.buffer, self.board.host
        return FixedDirectory(f"cpu{cpu}", self.dir_mode, [
            File("buffer_size_kb", self.rw, lambda: self.buffer_size(cpu), lambda data: self.set_buffer_size(data, cpu)),
            File("stats", self.ro, lambda: buffer.stats(cpu, host.now_ns())),
            self._trace(cpu),
            self._pipe(cpu),
        ])  # fmt: skip

    def _option(self, name: str) -> File:
        array = self.array

        def store(data: bytes) -> None:
            value = number(data)
            if value > 1:
                raise KernelError(EINVAL, "0 or 1")
            array.set_option(name if value else f"no{name}")

        return File(name, self.rw, lambda: f"{array.board.options[name]:d}\n", store)

    # events/

    def _events(self) -> list[Node]:
        events = self.events
        self._event_directories = {event: known for event, known in self._event_directories.items() if event in events}
        nodes: list[Node] = [
            File("enable", self.rw, lambda: enable_text(events), lambda data: self.enable_all(None, data)),
            File("header_event", self.ro, lambda: HEADER_EVENT),
            File("header_page", self.ro, lambda: header_page(self.board)),
        ]
        nodes.append(Directory("ftrace", self.dir_mode, self._ftrace))
        systems = events.systems()
        self._systems = {system: self._systems.get(system) or self._system(system) for system in systems}
        nodes += self._systems.values()
        return nodes

    def stamp(self) -> int:
        """Changes when an event comes or goes."""
        return self.events.generation

    def _ftrace(self) -> list[Node]:
        return [self._ftrace_entry(*entry) for entry in ftrace_entries(self.board)]

    def _ftrace_entry(self, name: str, entry_id: int, text: str) -> Node:
        files = [File("format", self.ro, lambda: text)]
        if name in WITH_NUMBER:
            files.append(File("id", self.ro, lambda: f"{entry_id}\n"))
        return FixedDirectory(name, self.dir_mode, files)

    def _system(self, system: str) -> Directory:
        return Directory(system, self.dir_mode, lambda: self._system_entries(system), self.stamp)

    def _system_entries(self, system: str) -> list[Node]:
        events = self.events.systems().get(system, {})
        nodes: list[Node] = [
            File("enable", self.rw, lambda: enable_text(self.of_system(system)),
                 lambda data: self.enable_all(system, data)),
            File("filter", self.rw, lambda: event_filter.DEFAULT_SYS_FILTER_MESSAGE + "\n",
                 lambda data: self.system_filter(system, data)),
        ]  # fmt: skip
        nodes += [self._event(event) for event in events.values()]
        return nodes

    def of_system(self, system: str) -> list[TraceEvent]:
        """The events of one directory."""
        return [event for event in self.events if event.system == system]

    def system_filter(self, system: str, data: bytes) -> None:
        """events/GROUP/filter.  ENODEV."""
        text = event_filter.written_text(data)
        event_filter.apply_subsystem_filter(self.of_system(system), text)

    def _event(self, event: TraceEvent) -> Directory:
        """One directory object per event, as long as the event lives."""
        known = self._event_directories.get(event)
        if known is None:
            known = Directory(event.name, self.dir_mode, lambda: self._event_entries(event))
            self._event_directories[event] = known
        return known

    def _event_entries(self, event: TraceEvent) -> list[Node]:
        def check() -> None:
            if self.events.get(event.system, event.name) is not event:
                raise KernelError(ENODEV, "the event is gone")

        def enable(data: bytes) -> None:
            check()
            value = number(data)
            self.array.expand()
            if value > 1:
                raise KernelError(EINVAL, "0 or 1")
            event.set_enabled(bool(value))

        nodes: list[Node] = [
            File("enable", self.rw, lambda: enable_state(event), enable),
            File("filter", self.rw, lambda: filter_text(event),
                 opener=lambda file, flags: FilterFile(file, flags, self.events, event, lambda: self.filter_hook)),
            File("format", self.ro, lambda: event.format),
            File("id", self.ro, lambda: f"{event.id}\n"),
            File("trigger", self.rw, lambda: triggers.text(event),
                 lambda data: self.trigger(event, data)),
        ]  # fmt: skip
        return nodes

    def trigger(self, event: TraceEvent, data: bytes) -> None:
        """events/*/*/trigger.  EINVAL, EEXIST."""
        if data:
            triggers.parse(self.events, event, event_filter.written_text(data))

    def enable_all(self, system: str | None, data: bytes) -> None:
        """0 or 1 to events/enable or events/GROUP/enable."""
        value = number(data)
        self.array.expand()
        if value > 1:
            raise KernelError(EINVAL, "0 or 1")
        events = [event for event in self.events if system in (None, event.system)]
        if not events:
            raise KernelError(ENODEV, "no events")
        for event in events:
            event.set_enabled(bool(value))

    def set_event_text(self) -> str:
        """The file set_event: the enabled events, `system:event` a line."""
        return "".join(f"{event.system}:{event.name}\n" for event in self.newest_first() if event.enabled)

    def clear_events(self) -> None:
        """set_event opened with O_TRUNC: all events off."""
        for event in self.events:
            event.set_enabled(False)

    def set_event(self, data: bytes) -> int:
        """One word per write: `system:event`, `event`, `system:*`, with an optional `!`; EINVAL if none matches."""
        match = re.match(r"\s*(\S*)\s?", data.decode("latin-1"))
        item = match[1] if match is not None else ""
        taken = match.end() if match is not None else len(data)
        if not item:
            return taken
        self.array.expand()
        on = not item.startswith("!")
        name = item.removeprefix("!")
        system, colon, event_name = name.partition(":")
        chosen = []
        for event in self.events:
            if colon:
                fits = glob_or_any(system, event.system) and glob_or_any(event_name, event.name)
            else:
                fits = glob_or_any(name, event.name) or glob_or_any(name, event.system)
            if fits:
                chosen.append(event)
        if not chosen:
            raise KernelError(EINVAL, f"no event {item}")
        for event in chosen:
            event.set_enabled(on)
        return taken

    # debugfs kprobes/

    def _kprobes(self, kprobes: Kprobes) -> list[Node]:
        def enable(data: bytes) -> None:
            text = word(data)
            if text[:1] not in ("0", "1", "n", "N", "y", "Y"):
                raise KernelError(EINVAL, "y or n")
            kprobes.set_all_armed(text[:1] in "1yY")

        return [
            File("blacklist", 0o400, lambda: "".join(kprobes.blacklist_lines())),
            File("enabled", 0o600, lambda: f"{kprobes.all_armed:d}\n", enable),
            File("list", 0o400, lambda: "".join(kprobes.list_lines())),
        ]


def glob_or_any(pattern: str, name: str) -> bool:
    """set_event's patterns: a name, `*` or nothing at all."""
    return pattern in ("", "*", name)


def filter_text(event: TraceEvent) -> str:
    """What the filter file reads; a text that does not fit the kernel's page reads as nothing."""
    text = f"{event.filter_text if event.filter_text is not None else 'none'}\n"
    return text if len(text) < PAGE_SIZE else ""


def enable_state(event: TraceEvent) -> str:
    """0, 1, and a * while a trigger keeps it armed; trace_events.c:event_enable_read()."""
    return ("1" if event.enabled else "0") + ("*" if event.soft_users else "") + "\n"


def enable_text(events: Iterable[TraceEvent]) -> str:
    """0, 1, or X for a mixture."""
    states = {event.enabled for event in events}
    return "X\n" if len(states) == 2 else ("1\n" if states == {True} else "0\n")
