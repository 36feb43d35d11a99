"""`simkernel sweep`: an experiment over a grid of seeds and parameters."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import click

from simkernel.experiments import SweepError, sweep_file
from simkernel.experiments.points import MAX_POINTS, Row
from simkernel.experiments.run import run_points
from simkernel.own_floors import EXIT_USAGE
from simkernel.pool import NoCluster
from simkernel.rows import show
from simkernel.terminal import drawn

SEEDS = re.compile("([0-9]{1,20})(?:-([0-9]{1,20}))?")


def parse_seeds(text: str | None) -> list[int] | None:
    """`0-9,20`: numbers and ranges; SweepError."""
    if text is None:
        return None
    seeds: list[int] = []
    for part in text.split(","):
        match = SEEDS.fullmatch(part.strip())
        if match is None:
            raise SweepError(f"--seeds {text:.40}: write it as 0-9 or 1,2,5")
        first, last = int(match[1]), int(match[2] or match[1])
        if len(seeds) + last - first > MAX_POINTS:
            raise SweepError(f"--seeds {text:.40}: more than {MAX_POINTS:,} seeds")
        seeds += range(first, last + 1)
    return seeds


def parse_only(texts: tuple[str, ...]) -> dict[str, str]:
    """`NAME=VALUE`s; SweepError."""
    rows = [text.partition("=") for text in texts]
    if wrong := [name for name, equals, _ in rows if not equals]:
        raise SweepError(f"--only {wrong[0]}: write it as NAME=VALUE")
    return {name: value for name, _, value in rows}


@click.command()
@click.option("--seeds", metavar="LIST", help="Seeds, such as 0-19 (default: the file's SEEDS, or 0-9).")
@click.option("--only", multiple=True, metavar="NAME=VALUE", help="Only points with this value.  Repeatable.")
@click.option("--journal", type=click.Path(path_type=Path), help="Write each point as it is done; go on from there.")
@click.option("-j", "--jobs", default=1, type=click.IntRange(1), show_default=True, help="Processes.")
@click.option("--dask", metavar="ADDRESS", default="", help="Work on this Dask cluster (`local`: one on this host).")
@click.option("--limit", default=0.0, type=click.FloatRange(0), help="Seconds of real time that a point may take.")
@click.option("--out", multiple=True, metavar="FILE", help="Write FILE.parquet, .csv or .jsonl.  Repeatable.")
@click.option(
    "--by", multiple=True, metavar="NAME", help="Rows of the summary.  Repeatable; default: all but the seed."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON document instead of the table.")
@click.option("--quiet", is_flag=True, help="No progress bar on a terminal.")
@click.argument("file")
def sweep(
    seeds: str | None,
    only: tuple[str, ...],
    journal: Path | None,
    jobs: int,
    dask: str,
    limit: float,
    out: tuple[str, ...],
    by: tuple[str, ...],
    as_json: bool,
    quiet: bool,
    file: str,
) -> None:
    """Run experiment(machine, ...) of FILE.py at every point of its GRID, with every seed.

    Prints means with 95 % confidence intervals.  Exit status 1: some point has no result; 2: the input cannot be used.
    """
    try:
        points = sweep_file(file, parse_seeds(seeds), parse_only(only), limit)
        if strange := [name for name in by if name not in points[0].parameters]:
            raise SweepError(f"--by {strange[0]}: no such parameter; there are {', '.join(points[0].parameters)}")
        result = run_points(points, jobs, dask, journal, partial(shown, quiet=quiet))
        for path in out:
            result.write(path)
    except (SweepError, NoCluster) as error:
        print(f"simkernel sweep: {error}", file=sys.stderr)
        raise SystemExit(EXIT_USAGE) from None
    except OSError as error:
        print(f"simkernel sweep: {error.filename}: {error.strerror}", file=sys.stderr)
        raise SystemExit(EXIT_USAGE) from None
    if as_json:
        print(json.dumps(result.document(*by), allow_nan=False))
    else:
        show(result.table(*by))
    for row in result.failed:
        print(f"simkernel sweep: {row.error}\n    {row.command}", file=sys.stderr)
    raise SystemExit(1 if result.failed else 0)


def shown(coming: Iterator[Row], total: int, quiet: bool) -> Iterable[Row]:
    """On a terminal with a bar."""
    from rich.console import Console
    from rich.progress import track

    console = Console(file=drawn(sys.stderr))
    return track(coming, "points", total, console=console, transient=True, disable=quiet or not console.is_terminal)
