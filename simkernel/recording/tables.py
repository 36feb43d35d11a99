"""Tables for Arrow and pandas: one row for each event, sample, slice or task.  Needs pyarrow, and pandas for DataFrames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from simkernel.recording.needs import module
from simkernel.recording.rows import Event, Frame, Sample, Slice, TaskInfo

if TYPE_CHECKING:
    import pandas
    import pyarrow

COMMON = ("ts", "cpu", "pid", "comm", "event")
INT64, UINT64 = (-(1 << 63), (1 << 63) - 1), (0, (1 << 64) - 1)


def column(values: Sequence[object]) -> pyarrow.Array:
    """A column by what is in it: numbers as int64 or, where they do not fit, uint64; lists of numbers; else text."""
    pa = module("pyarrow")
    present = [value for value in values if value is not None]
    if all(isinstance(value, int) for value in present):
        numbers = [value for value in present if isinstance(value, int)]
        for kind, (low, high) in ((pa.int64(), INT64), (pa.uint64(), UINT64)):
            if all(low <= number <= high for number in numbers):
                return pa.array(values, kind)
    if present and all(isinstance(value, tuple) for value in present):
        signed = any(item < 0 for value in present if isinstance(value, tuple) for item in value)
        return pa.array(values, pa.list_(pa.int64() if signed else pa.uint64()))
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def stack_text(stack: Iterable[Frame]) -> str | None:
    """`vfs_read+0x1;ksys_read+0x2`, innermost first; None where there is none."""
    return ";".join(frame.place for frame in stack) or None


def events_table(events: Sequence[Event]) -> pyarrow.Table:
    """ts, cpu, pid, comm, event; then each field's name (`field_pid` where it is one of these); then stacks."""
    pa = module("pyarrow")
    columns: dict[str, pyarrow.Array] = {
        "ts": pa.array([event.ts for event in events], pa.int64()),
        "cpu": pa.array([event.cpu for event in events], pa.int32()),
        "pid": pa.array([event.pid for event in events], pa.int32()),
        "comm": pa.array([event.comm for event in events], pa.string()).dictionary_encode(),
        "event": pa.array([event.name for event in events], pa.string()).dictionary_encode(),
    }
    names: dict[str, None] = {}
    for event in events:
        names.update(dict.fromkeys(event.fields))
    for name in names:
        columns[f"field_{name}" if name in COMMON else name] = column([event.fields.get(name) for event in events])
    for name, stacks in (
        ("kernel_stack", [stack_text(event.kernel_stack) for event in events]),
        ("user_stack", [stack_text(event.user_stack) for event in events]),
    ):
        if any(stacks):
            columns[name] = pa.array(stacks, pa.string())
    return pa.table(columns)


def samples_table(samples: Sequence[Sample]) -> pyarrow.Table:
    """One row for each CPU sample."""
    rows = [
        {
            "ts": each.ts, "cpu": each.cpu, "pid": each.pid, "tgid": each.tgid, "comm": each.comm,
            "period": each.period, "function": each.stack[0].name if each.stack else "",
            "kernel_stack": stack_text(each.kernel), "user_stack": stack_text(each.user),
        }
        for each in samples
    ]  # fmt: skip
    return rows_table(rows)


def slices_table(slices: Sequence[Slice], names: dict[int, str]) -> pyarrow.Table:
    """One row for each time that a task ran."""
    return rows_table([{**each._asdict(), "comm": names.get(each.pid, "")} for each in slices])


def tasks_table(tasks: Sequence[TaskInfo]) -> pyarrow.Table:
    """One row for each task."""
    return rows_table([asdict(each) for each in tasks])


def rows_table(rows: Sequence[Mapping[str, object]]) -> pyarrow.Table:
    """Columns by what is in them."""
    return module("pyarrow").Table.from_pylist(list(rows))


def as_pandas(arrow: pyarrow.Table) -> pandas.DataFrame:
    """Numbers that are not there for every row stay whole numbers: nullable ones."""
    pa, pd = module("pyarrow"), module("pandas")
    nullable = {pa.int64(): pd.Int64Dtype(), pa.uint64(): pd.UInt64Dtype()}

    def kind(arrow_type: object) -> object:
        return nullable.get(arrow_type)

    full = {field.name for field in arrow.schema if not arrow.column(field.name).null_count}
    frame = arrow.to_pandas(types_mapper=kind)
    for name in full:
        if frame[name].dtype in (pd.Int64Dtype(), pd.UInt64Dtype()):
            frame[name] = frame[name].astype(str(frame[name].dtype).lower())
    return frame
