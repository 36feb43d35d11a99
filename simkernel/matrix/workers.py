"""Cells over several processes, with a journal of what is done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from simkernel.matrix.cells import Cell, Outcome, run_cell
from simkernel.pool import Journal, run_pieces


def cells(
    objects: Sequence[str],
    kernels: Sequence[str],
    arches: Sequence[str],
    attach: bool,
    test: str,
    vendors: Sequence[tuple[str, str, str]] = (),
) -> list[Cell]:
    """All combinations, then the vendors' kernels (version, architecture, file of types); those of one machine stand
    together, so that few machines are booted."""
    ours = [Cell(obj, kernel, arch, attach, test) for kernel, arch, obj in product(kernels, arches, objects)]
    return ours + [Cell(obj, kernel, arch, btf=btf) for kernel, arch, btf in vendors for obj in objects]


def run_cells(asked: Sequence[Cell], journal: Journal, jobs: int = 1, dask: str = "") -> Iterator[Outcome]:
    """The outcomes, as they come."""
    return run_pieces(asked, run_cell, Outcome.as_dict, outcome_again, journal, jobs, dask)


def outcome_again(row: Mapping[str, object]) -> Outcome:
    """From a journal; TypeError if it is none."""
    return Outcome(**row)  # type: ignore[arg-type]  # a line of JSON
