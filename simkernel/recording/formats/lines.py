"""JSON lines: what a run left in order of time, one object each with a member `kind`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from heapq import merge

from simkernel.recording.model import Recording
from simkernel.recording.store import dump, event_line, sample_line


def json_lines(recording: Recording) -> Iterator[bytes]:
    """`meta` first, then events, samples and slices of the timeline by their times, then `lost` and `counters`."""
    meta = recording.meta
    yield from encoded([{"kind": "meta", "arch": meta.arch, "kernel": meta.kernel, "cpus": meta.cpus, "seed": meta.seed,
                         "argv": meta.argv, "repeat": meta.repeat}])  # fmt: skip
    events = ((each.ts, 0, index, event_line(each)) for index, each in enumerate(recording.events))
    samples = ((each.ts, 1, index, sample_line(each)) for index, each in enumerate(recording.samples))
    slices = (
        (each.begin, 2, index, {"ts": each.begin, **each._asdict()}) for index, each in enumerate(recording.slices)
    )
    kinds = ("event", "sample", "slice")
    rows = merge(events, samples, slices, key=lambda row: row[:3])
    yield from encoded({"kind": kinds[which], **line} for _, which, _, line in rows)
    yield from encoded({"kind": "lost", "what": sentence} for sentence in recording.lost)
    yield from encoded([{"kind": "counters", **recording.counters}])


def encoded(lines: Iterable[Mapping[str, object]]) -> Iterator[bytes]:
    """UTF-8."""
    for text in dump(lines):
        yield text.encode()
