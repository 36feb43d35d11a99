"""What `current_tracer` chooses: struct tracer of kernel/trace/trace.h, and the one that does nothing.

A tracer starts and stops something that writes entries, and may print them its own way.  Its options stand in
trace_options while it is the current one, and always in the directory `options`.
"""

from __future__ import annotations

from typing import Protocol

from arch.abi.errno import EINVAL
from arch.abi.kern_levels import KERN_DEBUG
from arch.errors import KernelError
from tracing.board import Board
from tracing.buffer.ringbuffer import Event, RingBuffer


class Array(Protocol):
    """The trace array that a tracer works for."""

    board: Board
    name: str
    options: dict[str, bool]

    @property
    def buffer(self) -> RingBuffer:
        """Where it writes."""

    def write(self, data: bytes) -> bool:
        """One record."""

    def reset(self, cpu: int | None = None) -> None:
        """Empty the buffer."""

    def latency(self, flags: int, preempt: int) -> str:
        """The characters of what an entry's context was."""


class Tracer:
    """One name in available_tracers."""

    name = ""
    looks_ahead = False  # how an entry prints in trace_pipe depends on the next one of its CPU
    options: dict[str, bool]

    def __init__(self) -> None:
        self.options = {}

    def start(self, array: Array) -> None:
        """It became the current tracer."""

    def stop(self, array: Array) -> None:
        """It no longer is."""

    def set_option(self, array: Array, name: str, on: bool) -> None:
        """One of its own options.  EINVAL."""
        self.options[name] = on

    def header(self, array: Array) -> str | None:
        """The comment lines above the trace; None: the usual ones."""
        return None

    def pipe_header(self, array: Array) -> str:
        """What the first read of trace_pipe begins with."""
        return ""

    def line(self, array: Array, event: Event, following: Event | None) -> str | None:
        """How an entry prints; None: as always."""
        return None

    def took(self, following: Event) -> bool:
        """The entry just printed said all that `following`, the next one, would say."""
        return False


class NopTracer(Tracer):
    """kernel/trace/trace_nop.c."""

    name = "nop"

    def __init__(self, options: dict[str, bool]) -> None:
        super().__init__()
        self.options = options  # all arrays' at once

    def start(self, array: Array) -> None:
        """The trace is emptied."""
        array.reset()

    def set_option(self, array: Array, name: str, on: bool) -> None:
        """One option is accepted, the other never."""
        refused = name == "test_nop_refuse"
        said = (
            f"nop_test_{'refuse' if refused else 'accept'} flag set to {on:d}: we {'refuse' if refused else 'accept'}."
        )
        array.board.host.pr(KERN_DEBUG, f"{said} Now cat trace_options to see the result")
        if refused:
            raise KernelError(EINVAL, "the nop tracer refuses this one")
        super().set_option(array, name, on)
