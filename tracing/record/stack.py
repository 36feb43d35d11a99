"""The kernel's stack at an event, as the readers of traces see it: trace_stack entries and keys of histograms.

The machine walks the stack from where the event fires.  What a real kernel has above that (tracing's own functions), and how
much of it each reader leaves out, are facts of the CPU's kernel (arch/tracefacts.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from arch.tracefacts import EventFrames
from tracing.board import Board


class Reader(Enum):
    """Who asks for a stack; how many frames that leaves out, left_out() says."""

    TRIGGER = "trigger"
    COUNTED_TRIGGER = "counted"
    OPTION = "option"
    HIST = "hist"


def frames_of(board: Board) -> EventFrames | None:
    """Of this machine's kernel; None: nobody asked such a kernel, and stacks begin where the event fires."""
    return board.host.arch.traces.frames_for(board.host.version)


def left_out(frames: EventFrames, reader: Reader) -> int:
    """How many frames, from the top."""
    return {
        Reader.TRIGGER: frames.trigger,
        Reader.COUNTED_TRIGGER: frames.trigger - frames.counted,
        Reader.OPTION: frames.option,
        Reader.HIST: frames.hist,
    }[reader]


def seen(board: Board, frames: EventFrames, above: Sequence[str], reader: Reader, walked: list[int]) -> list[int]:
    """What a reader sees of a stack: `above` are the functions on top of what was walked, innermost first."""
    skip = left_out(frames, reader)
    named = [board.host.frame(name) for name in above[skip:]]
    return [*named, *walked[max(0, skip - len(above)) :]]
