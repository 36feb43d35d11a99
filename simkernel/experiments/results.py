"""The rows of a sweep: as tables and files, and their means with confidence intervals."""

from __future__ import annotations

import csv
import io
import json
import math
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from arch.records import dataclass
from simkernel.experiments.points import Row, Scalar, SweepError
from simkernel.rows import aligned

if TYPE_CHECKING:
    import pandas

# Student's t for 95 %, by degrees of freedom; beyond the last, of the normal distribution nearly.
T_95 = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
    2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
T = TypeVar("T")
MAX_SQUARED = 1e150  # the square of what is larger is no float
FORMATS = ("parquet", "csv", "jsonl")


@dataclass(frozen=True)
class Mean:
    """Of one measurement over seeds: mean, half of the 95 % confidence interval (Student's t), how many."""

    mean: float
    half: float
    count: int

    @staticmethod
    def of(values: Sequence[float]) -> Mean:
        """Of at least one value; of one alone nothing is known but itself."""
        count = len(values)
        if count == 1:
            return Mean(values[0], math.nan, 1)
        if max(map(abs, values)) > MAX_SQUARED or any(map(math.isnan, values)):  # the sums would be no numbers
            return Mean(sum(values) / count, math.nan, count)
        t = T_95[count - 2] if count - 2 < len(T_95) else 1.96 + 2.4 / (count - 1)
        return Mean(statistics.fmean(values), t * statistics.stdev(values) / math.sqrt(count), count)

    def __str__(self) -> str:
        return f"{self.mean:.6g}" if math.isnan(self.half) else f"{self.mean:.6g} ± {self.half:.2g}"


def _said(values: dict[str, T]) -> dict[str, T | None]:
    """For JSON, which has no word for what is no finite number: null."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in values.items()
    }


def _number(value: float) -> float:
    """An integer may be larger than every float."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


class Sweep:
    """All rows, in the order of the grid."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = list(rows)

    def __iter__(self) -> Iterator[dict[str, object]]:
        return (row.flat() for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def failed(self) -> list[Row]:
        """Points without measurements."""
        return [row for row in self.rows if row.error]

    @property
    def columns(self) -> list[str]:
        """Parameters, measurements, then `error` and `command`."""
        names = dict.fromkeys(name for row in self.rows for name in row.parameters)
        names |= dict.fromkeys(name for row in self.rows for name in row.measured)
        return [*names, "error", "command"]

    def means(self, *by: str) -> dict[tuple[Scalar, ...], dict[str, Mean]]:
        """Every numeric measurement, over the rows that agree in these parameters."""
        groups: dict[tuple[Scalar, ...], dict[str, list[float]]] = {}
        for row in self.rows:
            group = groups.setdefault(tuple(row.parameters[name] for name in by), {})
            for name, value in row.measured.items():
                if isinstance(value, (int, float)):
                    group.setdefault(name, []).append(_number(value))
        return {key: {name: Mean.of(values) for name, values in group.items()} for key, group in groups.items()}

    def summary(self, *by: str) -> str:
        """means() as a table; by default over everything but the seed."""
        return aligned(self.table(*by))

    def table(self, *by: str) -> list[list[str]]:
        """The same as words, the heads first."""
        names = by or self._but_the_seed()
        means = self.means(*names)
        measured = list(dict.fromkeys(name for group in means.values() for name in group))
        rows = [[*names, "n", *measured]]
        for key, group in means.items():
            count = max((each.count for each in group.values()), default=0)
            rows.append([*map(str, key), str(count), *(str(group[name]) if name in group else "" for name in measured)])
        return rows

    def document(self, *by: str) -> dict[str, object]:
        """Rows and means for machines."""
        names = by or self._but_the_seed()
        summary = [
            {
                "by": _said(dict(zip(names, key))),
                "measured": {
                    name: _said({"mean": each.mean, "half": each.half, "count": each.count})
                    for name, each in group.items()
                },
            }
            for key, group in self.means(*names).items()
        ]
        return {"rows": [_said(line) for line in self], "summary": summary}

    def _but_the_seed(self) -> tuple[str, ...]:
        """The parameters."""
        return tuple(
            name for name in self.columns if name != "seed" and any(name in row.parameters for row in self.rows)
        )

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas.DataFrame; SweepError where pandas is not installed."""
        try:
            import pandas
        except ImportError:
            raise SweepError("this needs pandas (pip install simkernel[export])") from None
        return pandas.DataFrame(list(self), columns=self.columns)

    def write(self, path: str | Path) -> None:
        """By the name's ending: .parquet, .csv or .jsonl; whole or not at all.  SweepError, OSError."""
        path = Path(path)
        ending = path.suffix.removeprefix(".")
        partial = path.with_name(f".{path.name}.partial")
        if ending == "parquet":
            try:
                import pyarrow
                import pyarrow.parquet
            except ImportError:
                raise SweepError("Parquet needs pyarrow (pip install simkernel[export])") from None
            columns = {name: [line.get(name) for line in self] for name in self.columns}
            pyarrow.parquet.write_table(pyarrow.table(columns), partial)
        elif ending == "csv":
            text = io.StringIO()
            table = csv.DictWriter(text, self.columns, lineterminator="\n")
            table.writeheader()
            table.writerows(dict(line) for line in self)
            partial.write_text(text.getvalue())
        elif ending == "jsonl":
            partial.write_text("".join(json.dumps(_said(line)) + "\n" for line in self))
        else:
            raise SweepError(f"{path}: its name should end with one of {', '.join('.' + name for name in FORMATS)}")
        partial.replace(path)
