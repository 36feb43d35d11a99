"""Text: trace_pipe's lines, and those of `perf script`."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge

from simkernel.recording.model import Recording
from simkernel.recording.rows import Event, Sample, Stack

CLOCK = "cpu-clock"


def trace_pipe(recording: Recording) -> Iterator[bytes]:
    """As trace_pipe prints them: columns, and what the event says of itself."""
    meta = recording.meta
    for event in recording.events:
        if event.lost:
            yield f"CPU:{event.cpu} [LOST {event.lost} EVENTS]\n".encode()
        us = (event.ts + 500) // 1000  # ns2usecs() rounds
        flags = event.flags if meta.columns else ""
        head = f"{event.comm:>16}-{event.pid:<{meta.pid_width}d} [{event.cpu:03d}] {flags} "
        yield (head + f"{us // 1_000_000:5d}.{us % 1_000_000:06d}: {event.printed}").encode()


def perf_script(recording: Recording) -> Iterator[bytes]:
    """As `perf script` prints perf.data: samples with their stacks, events with theirs where they have one."""
    width = max((len(name) for name in [*recording.formats, CLOCK]), default=0)
    found = list(perf_events(recording))
    stacks = {event.name for event in found if event.kernel_stack or event.user_stack}
    events = ((event.ts, 0, event_text(event, width, event.name in stacks)) for event in found)
    samples = ((sample.ts, 1, sample_text(sample, width)) for sample in recording.samples)
    for _, _, said in merge(events, samples, key=lambda row: row[:2]):  # each in its own order where times are equal
        yield said.encode()


def perf_events(recording: Recording) -> Iterator[Event]:
    """What perf can hold: real events, no entries of tracers."""
    for event in recording.events:
        if not event.name.startswith("ftrace:") and event.name in recording.formats:
            yield event


def head(comm: str, pid: int, cpu: int, ts: int) -> str:
    """perf script's first columns; it cuts the time, where trace rounds it."""
    us = ts // 1000
    return f"{comm} {pid:>5} [{cpu:03d}] {us // 1_000_000:5d}.{us % 1_000_000:06d}: "


def event_text(event: Event, width: int, stacks: bool) -> str:
    """One event; where events of its name have stacks, the columns are others."""
    comm = comm_of(event) if stacks else f"{comm_of(event):>16}"
    line = f"{head(comm, event.pid, event.cpu, event.ts)}{event.name + ':':>{width + 1}} {event.text}\n"
    return line + (stack_text(event.kernel_stack + event.user_stack) if stacks else "")


def comm_of(event: Event) -> str:
    """Who fired it; perf calls the idle task by its name."""
    return "swapper" if not event.pid else event.comm


def sample_text(sample: Sample, width: int) -> str:
    """One CPU sample."""
    return (
        f"{head(sample.comm or ':' + str(sample.pid), sample.pid, sample.cpu, sample.ts)}{sample.period:>10} "
        f"{CLOCK + ':':>{width + 1}} \n{stack_text(sample.stack)}"
    )


def stack_text(stack: Stack) -> str:
    """One line a frame, and an empty one."""
    lines = []
    for frame in stack:
        name = frame.place if frame.symbol else "[unknown]"
        lines.append(
            f"\t{frame.ip:16x} {name} ({frame.file or ('[kernel.kallsyms]' if frame.symbol else '[unknown]')})\n"
        )
    return "".join(lines) + "\n"
