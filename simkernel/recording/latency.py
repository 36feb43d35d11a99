"""How long things took: intervals between two events that belong together, by kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from simkernel.recording.model import Recording
from simkernel.recording.rows import Event, Value


class Interval(NamedTuple):
    """One of them."""

    kind: str
    name: str
    pid: int
    begin: int
    end: int

    @property
    def ns(self) -> int:
        """How long it took."""
        return self.end - self.begin


class Pair(NamedTuple):
    """Two events, and the fields that are equal where they belong together; `pid` and `cpu` are those of the event."""

    kind: str
    begin: str
    end: str
    keys: tuple[str, ...]
    name: str = ""  # the field that names it


PAIRS = (
    Pair("system calls", "raw_syscalls:sys_enter", "raw_syscalls:sys_exit", ("pid", "id"), "id"),
    Pair("block requests", "block:block_rq_issue", "block:block_rq_complete", ("dev", "sector")),
    Pair("interrupts", "irq:irq_handler_entry", "irq:irq_handler_exit", ("cpu", "irq"), "name"),
    Pair("softirqs", "irq:softirq_entry", "irq:softirq_exit", ("cpu", "vec"), "vec"),
)
CALL_ENTER, CALL_EXIT = "syscalls:sys_enter_", "syscalls:sys_exit_"
PROBED, RETURNED = "__probe_ip", "__probe_func"  # fields of probes on functions and on their returns
WAITING = "waiting for a CPU"


def intervals(recording: Recording) -> dict[str, list[Interval]]:
    """By kind, in order of their beginnings; kinds without any are left out."""
    out: dict[str, list[Interval]] = {}
    for each in (*waits(recording), *pairs(recording)):
        out.setdefault(each.kind, []).append(each)
    for found in out.values():
        found.sort(key=lambda each: (each.begin, each.pid))
    return out


def waits(recording: Recording) -> Iterator[Interval]:
    """From a wakeup to the task's next time on a CPU."""
    starts: dict[int, list[int]] = {}
    for each in recording.slices:
        starts.setdefault(each.pid, []).append(each.begin)
    for woken in recording.wakeups:
        following = starts.get(woken.pid, [])
        while following and following[0] < woken.ts:
            following.pop(0)
        if following:
            yield Interval(WAITING, recording.comm_of(woken.pid), woken.pid, woken.ts, following[0])


def pairs(recording: Recording) -> Iterator[Interval]:
    """Of events with a beginning and an end."""
    begins = {pair.begin: pair for pair in PAIRS}
    ends = {pair.end: pair for pair in PAIRS}
    opened: dict[tuple[object, ...], list[Event]] = {}
    for event in recording.events:
        name = event.name
        if name in begins:
            opened.setdefault(key_of(begins[name], event), []).append(event)
        elif name in ends:
            pair = ends[name]
            yield from closed(opened, key_of(pair, event), pair.kind, event, pair.name)
        elif name.startswith(CALL_ENTER):
            opened.setdefault((event.pid, name.removeprefix(CALL_ENTER)), []).append(event)
        elif name.startswith(CALL_EXIT):
            call = name.removeprefix(CALL_EXIT)
            yield from closed(opened, (event.pid, call), "system calls", event, "", call)
        elif PROBED in event.fields:
            opened.setdefault((event.pid, event.fields[PROBED]), []).append(event)
        elif RETURNED in event.fields:
            called = name.partition(":")[2]
            yield from closed(opened, (event.pid, event.fields[RETURNED]), "probed functions", event, "", called)


def key_of(pair: Pair, event: Event) -> tuple[object, ...]:
    """What has to be equal."""
    own: dict[str, Value] = {"pid": event.pid, "cpu": event.cpu}
    return (pair.kind, *(event.fields.get(name, own.get(name, 0)) for name in pair.keys))


def closed(
    opened: dict[tuple[object, ...], list[Event]],
    key: tuple[object, ...],
    kind: str,
    end: Event,
    field: str,
    name: str = "",
) -> Iterator[Interval]:
    """The innermost that is open ends."""
    waiting = opened.get(key)
    if waiting:
        begin = waiting.pop()
        yield Interval(kind, name or str(begin.fields.get(field, "")) or kind, begin.pid, begin.ts, end.ts)


def log2_slot(ns: int) -> int:
    """The row of a heat map: 0 for 0 and 1, n for 2^n .. 2^(n+1)-1."""
    return max(ns.bit_length() - 1, 0)


def heat(found: list[Interval], columns: int, begin: int, end: int) -> dict[tuple[int, int], int]:
    """(column of time, row of log2 of the duration) -> how many began there."""
    out: dict[tuple[int, int], int] = {}
    span = max(end - begin, 1)
    for each in found:
        column = min(max(each.begin - begin, 0) * columns // span, columns - 1)
        place = column, log2_slot(each.ns)
        out[place] = out.get(place, 0) + 1
    return out


def percentiles(found: list[Interval]) -> dict[str, int]:
    """count, smallest, median, 90th, 99th and largest, in ns."""
    times = sorted(each.ns for each in found)
    last = len(times) - 1
    return {
        "count": len(times), "min": times[0], "p50": times[last * 50 // 100], "p90": times[last * 90 // 100],
        "p99": times[last * 99 // 100], "max": times[-1],
    }  # fmt: skip
