"""The files kprobe_events, uprobe_events and dynamic_events.  kernel/trace/trace_dynevent.c.

Which lines there are, the grammars know: kprobe_grammar.py, fprobe_grammar.py, uprobe_grammar.py and, before 5.1, grammar_4_1.py; what
arguments are, fetch_parser.py knows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from arch.abi.errno import EADDRNOTAVAIL, EBUSY, EINVAL, ENOENT
from arch.errors import KernelError
from tracing.probes import grammar_4_1
from tracing.probes.command import NotMine
from tracing.probes.event import ProbeEvent, TraceProbe
from tracing.probes.fprobe_grammar import create_fprobe
from tracing.probes.kprobe_grammar import create_kprobe
from tracing.probes.table import ProbeTable
from tracing.probes.trace_kprobe import KprobeEvent, TraceKprobe
from tracing.probes.trace_uprobe import TraceUprobe, UprobeEvent
from tracing.probes.uprobe_grammar import create_uprobe

WRITE_BUFSIZE = 4096

# What dynamic_events tries, in this order, with the words of a line.
CREATORS: dict[str, Callable[[ProbeTable, list[str]], None]] = {
    "kprobe": create_kprobe,
    "fprobe": create_fprobe,
    "uprobe": create_uprobe,
}


class DynEvent(Protocol):
    """What dynamic_events lists: a probe, or an event of another kind."""

    def show(self) -> str:
        """Its line."""


class OtherEvents(Protocol):
    """Dynamic events that are no probes of code."""

    @property
    def members(self) -> Sequence[DynEvent]:
        """Oldest first."""

    def run_dynamic(self, line: str) -> bool:
        """A definition; False if it is not for this kind."""

    def remove_named(self, group: str | None, name: str, words: list[str]) -> bool:
        """A deletion; False if there is no such event.  EBUSY."""

    def check_busy(self) -> None:
        """EBUSY if one is in use."""

    def releases(self) -> Sequence[tuple[DynEvent, Callable[[], None]]]:
        """Each event, and how it goes: EBUSY if another needs it."""


class ProbeEvents:
    """The files, and perf's own probes."""

    def __init__(self, table: ProbeTable) -> None:
        self.table = table
        self.others: list[OtherEvents] = []
        self.order: dict[int, DynEvent] = {}  # of all kinds, oldest first, by id()
        self.board = table.board
        self.host = table.host

    # Files

    def text(self, kind: str | None) -> str:
        """kprobe_events ("kprobe"), uprobe_events ("uprobe"), dynamic_events (None)."""
        if kind is None and self.others:
            self.note()
            return "".join(event.show() for event in self.order.values())
        return "".join(probe.show() for probe in self.table.probes if kind in (None, probe.kind))

    def profile(self, kind: str) -> str:
        """kprobe_profile, uprobe_profile: hits and misses."""
        return "".join(probe.profile() for probe in self.table.probes if probe.kind == kind)

    def release_all(self, kind: str | None) -> None:
        """Opening with O_TRUNC: EBUSY while one of the kind is on; else they go, oldest first, up to one that another event needs.

        dyn_events_release_all()
        """
        probes = [probe for probe in self.table.probes if kind in (None, probe.kind)]
        if any(probe.event.on for probe in probes):
            raise KernelError(EBUSY, "an event is in use")
        ways: dict[DynEvent, Callable[[], None]] = {probe: partial(self.table.remove, probe) for probe in probes}
        for other in self.others if kind is None else ():
            other.check_busy()
            ways.update(other.releases())
        self.note()
        for event in [event for event in self.order.values() if event in ways]:
            ways[event]()

    def note(self) -> None:
        """Keep the order in which events of different kinds were made."""
        present: list[DynEvent] = [*self.table.probes, *(event for other in self.others for event in other.members)]
        for event in present:
            self.order.setdefault(id(event), event)
        if len(self.order) > len(present):
            there = set(map(id, present))
            self.order = {key: event for key, event in self.order.items() if key in there}

    def write(self, data: bytes, kind: str | None) -> int:
        """A write to one of the files."""
        return self.lines(data, lambda line: self.run(line, kind))

    def lines(self, data: bytes, run: Callable[[str], None]) -> int:
        """trace_parse_run_command(): line by line; the first error stops, earlier lines stay."""
        text = data.decode("latin-1")
        done = 0
        while done < len(text):
            newline = text.find("\n", done)
            size = (newline if newline >= 0 else len(text)) - done
            if size > WRITE_BUFSIZE - 2:
                self.host.pr(4, f"Line length is too long: Should be less than {WRITE_BUFSIZE - 2}")
                raise KernelError(EINVAL, "line too long")
            line = text[done : done + size].split("#", 1)[0]
            if line.startswith("\0") or (newline < 0 and "\0" in line):
                raise KernelError(EINVAL, "it ends before its end")
            done += size + (1 if newline >= 0 else 0)
            run(line.split("\0", 1)[0])
            self.note()
        return len(data)

    def run(self, line: str, kind: str | None) -> None:
        """One definition or deletion."""
        argv = line.split()
        if not self.board.features.modern_probe_grammar:
            if argv:
                grammar_4_1.run(self.table, argv, kind or "kprobe")
            return
        if line[:1] == "-" or (kind is None and line[:1] == "!"):
            if argv:
                self.delete(argv, kind)
            return
        if not argv or (kind is None and any(other.run_dynamic(line) for other in self.others)):
            return
        for known in (kind,) if kind else tuple(CREATORS):
            try:
                CREATORS[known](self.table, argv)
                return
            except NotMine:
                continue
        if kind is None and self.board.features.dynevent_message:
            self.board.errors.add("dynevent", " ".join(argv), "No matching dynamic event type", 0)
        raise KernelError(EINVAL, "no such kind of definition")

    # Deleting

    def delete(self, argv: list[str], kind: str | None) -> None:
        """dyn_event_release(): by name, by group, and by the beginning of the definition."""
        head = argv[0]
        if head[0] == "-":
            if head[1:2] != ":":
                raise KernelError(EINVAL, "give the event after -:")
            name = head[2:]
        else:
            if ":" not in head:
                raise KernelError(EINVAL, "give the event after :")
            name = head.split(":", 1)[1]
        group, slash, event = name.partition("/")
        if not slash:
            group, event = "", name
        if not slash and not event:
            raise KernelError(EINVAL, "no event name")
        found = False
        if kind is None:
            for other in self.others:
                if other.remove_named(group if slash else None, event, argv[1:]):
                    found = True
        for probe in list(self.table.probes):
            if kind in (None, probe.kind) and self.matches(probe, group if slash else None, event, argv[1:]):
                self.table.remove(probe)
                found = True
        if not found:
            raise KernelError(ENOENT, f"Event {name} doesn't exist.")

    def matches(self, probe: TraceProbe, group: str | None, event: str, words: list[str]) -> bool:
        """Is this the probe that a deletion names by group, event, place and arguments?"""
        if (event and probe.event.name != event) or (group is not None and probe.event.system != group):
            return False
        if not words:
            return True
        if not probe.matches_point(words[0]):
            return False
        rest = words[1:]
        return len(rest) <= len(probe.args) and all(
            word == f"{arg.name}={arg.text}" for word, arg in zip(rest, probe.args)
        )

    # Perf's own probes: an event without a name in the directories

    def local_kprobe(self, symbol: str, addr: int, offset: int, is_return: bool) -> KprobeEvent:
        """create_local_trace_kprobe(): for perf_event_open's kprobe type."""
        if addr:
            symbol = ""
        if self.table.shared(symbol):
            raise KernelError(EADDRNOTAVAIL, "several symbols have this name")
        probe = TraceKprobe(self.table.recorder, self.table.kprobes, [], is_return, symbol, offset, addr, 0)
        event = KprobeEvent(self.table.recorder, "perf_kprobes", symbol or "DUMMY_EVENT", [], is_return)
        probe.event = event
        event.probes.append(probe)
        probe.register()
        return event

    def local_uprobe(self, path: str, offset: int, ref_ctr_offset: int, is_return: bool) -> UprobeEvent:
        """create_local_trace_uprobe()."""
        inode = self.table.uprobes.user_spaces().resolve_path(path)
        probe = TraceUprobe(self.table.recorder, self.table.uprobes, [], is_return, path, inode, offset, ref_ctr_offset)
        event = UprobeEvent(self.table.recorder, "perf_uprobes", "DUMMY_EVENT", [], is_return)
        probe.event = event
        event.probes.append(probe)
        return event

    def destroy_local(self, event: ProbeEvent) -> None:
        """destroy_local_trace_kprobe(): perf's event is gone."""
        for probe in event.probes:
            if isinstance(probe, TraceKprobe):
                probe.unregister()
