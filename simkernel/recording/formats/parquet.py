"""Parquet: the table of the events.  Other tables: Recording and simkernel.recording.tables."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO

from simkernel.recording.model import Recording
from simkernel.recording.needs import module


def parquet(recording: Recording) -> Iterator[bytes]:
    """The schema's metadata says how to have the run again."""
    writer, buffer = module("pyarrow.parquet"), BytesIO()
    events = recording.table("events")
    meta = recording.meta
    notes = {
        "simkernel": meta.version,
        "arch": meta.arch,
        "kernel": meta.kernel,
        "seed": str(meta.seed),
        "repeat": meta.repeat,
    }
    writer.write_table(events.replace_schema_metadata(notes), buffer, compression="zstd")
    yield buffer.getvalue()
