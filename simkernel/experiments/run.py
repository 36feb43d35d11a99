"""A whole sweep: from Python, and from a file."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from simkernel.experiments.points import Experiment, Point, Row, Scalar, SweepError, load, points, row_again, run_point
from simkernel.experiments.results import Sweep
from simkernel.pool import Journal, run_pieces

WHOLE = re.compile("[0-9]{1,20}")
Watch = Callable[[Iterator[Row], int], Iterable[Row]]


def in_order(asked: Sequence[Point], rows: Iterable[Row]) -> Sweep:
    """Rows come as they are done; a result has them as they were asked."""
    place = {point.values: at for at, point in enumerate(asked)}
    return Sweep(sorted(rows, key=lambda row: place[tuple(row.parameters.items())]))


def run_points(
    asked: Sequence[Point], jobs: int = 1, dask: str = "", journal: str | Path | None = None, watch: Watch | None = None
) -> Sweep:
    """All points; `watch` sees the rows come.  NoCluster, OSError."""
    kept = Journal(None if journal is None else Path(journal))
    coming = run_pieces(asked, run_point, Row.as_dict, row_again, kept, jobs, dask)
    return in_order(asked, watch(coming, len(asked)) if watch is not None else coming)


def sweep(
    experiment: Experiment,
    grid: Mapping[str, Iterable[Scalar]] | None = None,
    seeds: Iterable[int] = range(10),
    *,
    jobs: int = 1,
    dask: str = "",
    journal: str | Path | None = None,
    limit_s: float = 0.0,
) -> Sweep:
    """Run `experiment(machine, **parameters)` at every point of a grid, each in a machine of its own.

    `arch`, `kernel`, `cpus`, `memory` and `seed` go to boot().  The function is found again by its file and name, so it stands at
    the top of a module or a notebook's file.  `journal` makes it resumable.  SweepError, NoCluster.
    """
    try:
        file = inspect.getsourcefile(experiment)
    except TypeError:
        file = None
    if file is None or not Path(file).is_file() or experiment.__qualname__ != experiment.__name__:
        raise SweepError("the experiment has to be a function at the top of a file, so that workers find it")
    return run_points(points(file, experiment.__name__, grid or {}, seeds, limit_s), jobs, dask, journal)


def sweep_file(
    file: str, seeds: Sequence[int] | None = None, only: Mapping[str, str] | None = None, limit_s: float = 0.0
) -> list[Point]:
    """The points of FILE.py: `experiment(machine, ...)`, `GRID` and `SEEDS` there; `only` keeps some values.  SweepError."""
    module = vars(load(file))
    grid = module.get("GRID", {})
    if not isinstance(grid, Mapping):
        raise SweepError(f"{file}: GRID is no dictionary of lists")
    if "experiment" not in module:
        raise SweepError(f"{file}: there is no function experiment(machine, ...)")
    made = points(file, "experiment", grid, module.get("SEEDS", range(10)) if seeds is None else seeds, limit_s)
    for name, text in (only or {}).items():
        if made and name not in made[0].parameters:
            raise SweepError(f"--only {name}={text}: no such parameter; there are {', '.join(made[0].parameters)}")
        kept = [point for point in made if str(point.parameters[name]) == text]
        if not kept and name == "seed" and WHOLE.fullmatch(text):  # a seed need not be one of the list
            kept = list(dict.fromkeys(Point(p.file, p.function, _with_seed(p, int(text)), limit_s) for p in made))
        if not kept:
            values = dict.fromkeys(str(point.parameters[name]) for point in made)
            raise SweepError(f"--only {name}={text}: {name} has the values {', '.join(values)}")
        made = kept
    return made


def _with_seed(point: Point, seed: int) -> tuple[tuple[str, Scalar], ...]:
    return tuple((name, seed if name == "seed" else value) for name, value in point.values)
