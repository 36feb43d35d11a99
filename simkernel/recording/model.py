"""What a run left: `Events` and the whole `Recording`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, overload

from arch.records import dataclass, field
from simkernel.recording.rows import (
    Counter,
    Event,
    EventFormat,
    MapDump,
    MappedFile,
    Meta,
    ProgramDump,
    Sample,
    Slice,
    TaskInfo,
    Wakeup,
)

if TYPE_CHECKING:
    import pandas
    import pyarrow


class Events(Sequence[Event]):
    """Events in order of time.  Made lazily: a run whose events nobody looks at pays for none."""

    def __init__(self, load: Callable[[], list[Event]] | None = None, events: list[Event] | None = None) -> None:
        self._load = load
        self._events = events

    def __getstate__(self) -> dict[str, object]:
        """To another process go the events themselves: what would make them stays where it is."""
        return {"_load": None, "_events": self.all}

    @property
    def all(self) -> list[Event]:
        """As a list."""
        if self._events is None:
            self._events = self._load() if self._load is not None else []
            self._load = None
        return self._events

    def __len__(self) -> int:
        return len(self.all)

    @overload
    def __getitem__(self, index: int) -> Event: ...
    @overload
    def __getitem__(self, index: slice) -> Events: ...
    def __getitem__(self, index: int | slice) -> Event | Events:
        return Events(events=self.all[index]) if isinstance(index, slice) else self.all[index]

    def __iter__(self) -> Iterator[Event]:
        return iter(self.all)

    def named(self, *names: str) -> Events:
        """Those of these events: `sched:sched_switch`, or `sched_switch`, or a whole group `sched:`."""
        wanted = set(names)
        return Events(
            events=[
                each
                for each in self.all
                if each.name in wanted
                or each.name.partition(":")[2] in wanted
                or each.name.partition(":")[0] + ":" in wanted
            ]
        )

    def counts(self) -> dict[str, int]:
        """How many of each event."""
        out: dict[str, int] = {}
        for each in self.all:
            out[each.name] = out.get(each.name, 0) + 1
        return dict(sorted(out.items()))

    def to_arrow(self) -> pyarrow.Table:
        """One row for each event; a column for each field's name.  Needs pyarrow."""
        from simkernel.recording.tables import events_table

        return events_table(self.all)

    def to_pandas(self) -> pandas.DataFrame:
        """The same as a DataFrame.  Needs pandas and pyarrow."""
        from simkernel.recording.tables import as_pandas

        return as_pandas(self.to_arrow())

    def __repr__(self) -> str:
        return f"<{len(self):,} events>"

    def _repr_html_(self) -> str:
        from simkernel.recording.notebook import events_html

        return events_html(self.all)


@dataclass(repr=False)
class Recording:
    """Everything that a run left."""

    meta: Meta = field(default_factory=Meta)
    events: Events = field(default_factory=Events)
    samples: list[Sample] = field(default_factory=list)
    tasks: list[TaskInfo] = field(default_factory=list)
    slices: list[Slice] = field(default_factory=list)
    wakeups: list[Wakeup] = field(default_factory=list)
    files: list[MappedFile] = field(default_factory=list)
    maps: list[MapDump] = field(default_factory=list)
    programs: list[ProgramDump] = field(default_factory=list)
    counters: dict[str, Counter] = field(default_factory=dict)
    formats: dict[str, EventFormat] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)  # sentences: what is missing, and why

    def comm_of(self, pid: int) -> str:
        """The name of a task; "" where it is not known."""
        if not pid:
            return "swapper"
        return next((task.comm for task in reversed(self.tasks) if task.pid == pid), "")

    def table(self, what: str = "events") -> pyarrow.Table:
        """A table by name: events, samples, slices, tasks.  ValueError; needs pyarrow."""
        from simkernel.recording import tables

        names = {pid: self.comm_of(pid) for pid in {each.pid for each in self.slices}}
        makers: dict[str, Callable[[], pyarrow.Table]] = {
            "events": lambda: tables.events_table(self.events.all),
            "samples": lambda: tables.samples_table(self.samples),
            "slices": lambda: tables.slices_table(self.slices, names),
            "tasks": lambda: tables.tasks_table(self.tasks),
        }
        if what not in makers:
            raise ValueError(f"no table is named {what!r}; there are: {', '.join(makers)}")
        return makers[what]()

    def to_pandas(self, what: str = "events") -> pandas.DataFrame:
        """The same as a DataFrame.  Needs pandas and pyarrow."""
        from simkernel.recording.tables import as_pandas

        return as_pandas(self.table(what))

    def __repr__(self) -> str:
        return f"<recording of {' '.join(self.meta.argv) or 'a machine'}: {len(self.events):,} events>"

    def _repr_html_(self) -> str:
        from simkernel.recording.notebook import recording_html

        meta = self.meta
        facts = {
            "machine": f"{meta.arch}, Linux {meta.release}, {meta.cpus} CPUs, seed {meta.seed}",
            "virtual time": f"{(meta.end - meta.begin) / 1e6:.3f} ms",
            "events": ", ".join(f"{name} {count:,}" for name, count in self.events.counts().items()),
            "CPU samples": f"{len(self.samples):,}" if self.samples else "",
            "tasks": ", ".join(f"{task.comm}-{task.pid}" for task in self.tasks if task.begin >= meta.begin),
            "maps": ", ".join(f"{each.name} ({len(each.entries):,})" for each in self.maps),
            "lost": "; ".join(self.lost) or "nothing",
        }
        return recording_html(" ".join(meta.argv) or "a machine", facts, meta.repeat)
