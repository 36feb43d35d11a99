"""Folded stacks: `task;outermost;...;innermost count`, one line for each stack, as flame graph tools read them."""

from __future__ import annotations

from collections.abc import Iterator

from simkernel.recording.model import Recording
from simkernel.recording.rows import Event, Frame, Sample

Folded = dict[tuple[str, ...], int]


def counted(recording: Recording) -> tuple[Folded, str]:
    """(stack, outermost first and the task's name before it -> weight, the unit of weight).

    Of CPU samples where there are some; else of the events that were recorded with their stacks; else of the time that
    tasks ran.  ValueError where there is nothing of all this.
    """
    if recording.samples:
        return fold((task_name(each), each.stack, 1) for each in recording.samples), "samples"
    events = [each for each in recording.events if each.kernel_stack or each.user_stack]
    if events:
        return fold(
            (task_name(each), (Frame(0, each.name), *each.kernel_stack, *each.user_stack), 1) for each in events
        ), "events"
    raise ValueError("no stacks were recorded: --sample HZ takes CPU samples, --stacks records a stack with each event")


def task_name(what: Event | Sample) -> str:
    """The first frame."""
    return what.comm or f"pid {what.pid}"


def fold(rows: Iterator[tuple[str, tuple[Frame, ...], int]]) -> Folded:
    """Equal stacks are one, in the order of their text."""
    out: Folded = {}
    for comm, stack, weight in rows:
        key = (clean(comm), *(clean(frame.name) for frame in reversed(stack)))
        out[key] = out.get(key, 0) + weight
    return dict(sorted(out.items()))


def clean(name: str) -> str:
    """Semicolons and line ends would end the frame."""
    return name.replace(";", ":").replace("\n", " ")


def folded(recording: Recording) -> Iterator[bytes]:
    """The lines."""
    for stack, weight in counted(recording)[0].items():
        yield f"{';'.join(stack)} {weight}\n".encode()
