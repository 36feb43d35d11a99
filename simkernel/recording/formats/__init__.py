"""The formats that a recording can be had in: one row and one function each.

text.py         what trace_pipe and `perf script` print
stacks.py       folded stacks
flamegraph.py   a flame graph as one SVG file
perfetto.py     for ui.perfetto.dev
perfdata.py     perf.data for perf report, script and sched; tracingdata.py is its part that describes the events
lines.py        JSON lines
parquet.py      a table for pandas, Arrow, DuckDB and their like
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import NamedTuple

from simkernel.recording.model import Recording

# A writer gives the file in pieces.  ValueError: this recording has not what the format is about.
Write = Callable[[Recording], Iterable[bytes]]


class Format(NamedTuple):
    """One row."""

    name: str
    module: str
    function: str
    suffix: str
    about: str
    needs: str = ""  # a Python package of the extra


FORMATS = {
    row.name: row
    for row in (
        Format("trace", "text", "trace_pipe", ".txt", "what trace_pipe prints"),
        Format("perf-script", "text", "perf_script", ".txt", "what `perf script` prints of perf.data"),
        Format("folded", "stacks", "folded", ".folded", "stacks and counts, for flame graph tools"),
        Format("flamegraph", "flamegraph", "svg", ".svg", "a flame graph, one SVG file"),
        Format("perfetto", "perfetto", "trace", ".pftrace", "a trace for ui.perfetto.dev", "perfetto"),
        Format("perf.data", "perfdata", "perf_data", ".data", "for perf report, perf script, perf sched"),
        Format("kallsyms", "tracingdata", "symbols", ".kallsyms", "the kernel functions that stand on recorded stacks"),
        Format("jsonl", "lines", "json_lines", ".jsonl", "one JSON object for each event and sample"),
        Format("parquet", "parquet", "parquet", ".parquet", "a table of the events", "pyarrow"),
    )
}


def writer(name: str) -> Write:
    """The function of a format.  KeyError."""
    row = FORMATS[name]
    found: Write = vars(importlib.import_module(f"simkernel.recording.formats.{row.module}"))[row.function]
    return found
