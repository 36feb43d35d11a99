"""Cells over several processes, with a journal of what is done."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from itertools import product
from pathlib import Path

from simkernel.matrix.cells import Cell, Outcome, run_cell


class NoCluster(Exception):
    """The Dask cluster cannot be used: a sentence for a person."""


def cells(objects: Sequence[str], kernels: Sequence[str], arches: Sequence[str], attach: bool, test: str) -> list[Cell]:
    """All combinations; those of one machine stand together, so that few machines are booted."""
    return [Cell(obj, kernel, arch, attach, test) for kernel, arch, obj in product(kernels, arches, objects)]


class Journal:
    """A file with a line for each cell that is done; a cell that is in it is not asked again."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.done: dict[str, Outcome] = {}
        if path is not None and path.exists():
            text = path.read_text()
            if text and not text.endswith("\n"):  # an interrupted run left half a line
                path.write_text(text + "\n")
            for line in text.splitlines():
                try:
                    row = json.loads(line)
                    self.done[row["key"]] = Outcome(**row["outcome"])
                except (ValueError, KeyError, TypeError):
                    continue  # such a half

    def add(self, cell: Cell, outcome: Outcome) -> None:
        """Written at once."""
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps({"key": cell.key, "outcome": outcome.as_dict()}) + "\n")


def run_cells(asked: Sequence[Cell], journal: Journal, jobs: int = 1, dask: str = "") -> Iterator[Outcome]:
    """The outcomes, as they come."""
    rest = []
    for cell in asked:
        known = journal.done.get(cell.key)
        if known is None:
            rest.append(cell)
        else:
            yield known
    for cell, outcome in on_cluster(rest, dask) if dask else here(rest, jobs):
        journal.add(cell, outcome)
        yield outcome


def here(asked: Sequence[Cell], jobs: int) -> Iterator[tuple[Cell, Outcome]]:
    """In this process, or several of this host."""
    if jobs == 1:
        for cell in asked:
            yield cell, run_cell(cell)
        return
    with ProcessPoolExecutor(jobs) as pool:
        futures: dict[Future[Outcome], Cell] = {pool.submit(run_cell, cell): cell for cell in asked}
        for future in as_completed(futures):
            yield futures[future], future.result()


def on_cluster(asked: Sequence[Cell], address: str) -> Iterator[tuple[Cell, Outcome]]:
    """On a Dask cluster that is there; `local` starts one on this host.  Its workers need simkernel and the objects' paths."""
    try:
        from distributed import Client, as_completed
    except ImportError:
        raise NoCluster("--dask needs the package distributed (pip install simkernel[dask])") from None
    try:
        client = Client(timeout="20s", dashboard_address=None) if address == "local" else Client(address, timeout="20s")
    except (OSError, ValueError) as error:
        raise NoCluster(f"no Dask cluster at {address}: {error}") from None
    with client:
        futures = {client.submit(run_cell, cell, pure=False): cell for cell in asked}
        for future in as_completed(futures):
            yield futures[future], future.result()
