"""What the timeline draws: CPUs with who ran there, tasks with what they did, events as marks."""

from __future__ import annotations

import json

from simkernel.recording.model import Recording

MOST_EVENTS = 20_000  # marks; more would only hide each other
MOST_TEXT = 160  # characters of an event's text
MOST_TASK_ROWS = 200


def data(recording: Recording) -> str:
    """JSON that may stand in a script element."""
    begin, end = extent(recording)
    events = [event for event in recording.events if event.name.partition(":")[0] != "ftrace" and event.pid >= 0]
    step = max(-(-len(events) // MOST_EVENTS), 1)
    kinds = sorted({event.name for event in events})
    number = {name: index for index, name in enumerate(kinds)}
    order = task_order(recording)
    row = {pid: index for index, pid in enumerate(order)}
    content = {
        "begin": begin,
        "end": end,
        "cpus": recording.meta.cpus,
        "tasks": [[pid, recording.comm_of(pid) or f"pid {pid}", *life(recording, pid)] for pid in order],
        "slices": [[each.cpu, each.pid, each.begin - begin, each.end - begin, each.state] for each in recording.slices],
        "wakeups": [[each.pid, each.ts - begin] for each in recording.wakeups],
        "kinds": kinds,
        "events": [
            [
                event.ts - begin,
                event.cpu,
                event.pid,
                number[event.name],
                event.said[:MOST_TEXT],
            ]
            for event in events[::step]
            if event.pid in row or not event.pid
        ],
        "skipped": step - 1,
    }
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")


def extent(recording: Recording) -> tuple[int, int]:
    """From when to when: what happened, as far as it lies in the recording's time."""
    times = [each.begin for each in recording.slices] + [each.end for each in recording.slices]
    times += [each.ts for each in recording.events]
    low = max(min(times, default=recording.meta.begin), recording.meta.begin)
    high = max(times, default=recording.meta.end)
    return low, max(high, low + 1)


def life(recording: Recording, pid: int) -> tuple[int, int]:
    """When a task began and ended, from the recording's beginning on; -1 where it lasted beyond."""
    begin, _ = extent(recording)
    for task in reversed(recording.tasks):
        if task.pid == pid:
            return max(task.begin - begin, 0), -1 if task.end is None else task.end - begin
    return 0, -1


def task_order(recording: Recording) -> list[int]:
    """Tasks that ran or fired an event, in the order in which they first did."""
    first: dict[int, int] = {}
    for each in recording.slices:
        first.setdefault(each.pid, each.begin)
    for event in recording.events:
        if event.pid > 0:
            first[event.pid] = min(first.get(event.pid, event.ts), event.ts)
    return sorted(first, key=lambda pid: (first[pid], pid))[:MOST_TASK_ROWS]
