"""Tracers that can be chosen and write nothing here: blk (no device has its trace file turned on), mmiotrace (no device memory)."""

from __future__ import annotations

from tracing.buffer.tracer import Array, Tracer


class BlkTracer(Tracer):
    """kernel/trace/blktrace.c."""

    name = "blk"

    def __init__(self) -> None:
        super().__init__()
        self.options = {"blk_classic": False, "blk_cgroup": False, "blk_cgname": False}

    def start(self, array: Array) -> None:
        """The trace is emptied."""
        array.reset()

    def header(self, array: Array) -> str | None:
        """Only the classic format has columns."""
        if not self.options["blk_classic"]:
            return ""
        return (
            "# DEV   CPU TIMESTAMP     PID ACT FLG\n"
            "#  |     |     |           |   |   |\n"
        )  # fmt: skip


class MmioTracer(Tracer):
    """kernel/trace/trace_mmiotrace.c."""

    name = "mmiotrace"

    def start(self, array: Array) -> None:
        """The trace is emptied."""
        array.reset()

    def pipe_header(self, array: Array) -> str:
        """What trace_pipe begins with."""
        return "VERSION 20070824\n"
