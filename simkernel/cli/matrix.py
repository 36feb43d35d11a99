"""`simkernel matrix`: many objects on many kernels and CPUs, as a table with a reason for each refusal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from arch.abi.version import KernelVersion
from arch.architecture import DEFAULT, names
from simkernel.kept_btf import find
from simkernel.matrix import tables
from simkernel.matrix.cells import Outcome, read_types
from simkernel.matrix.reasons import KINDS, WELL
from simkernel.matrix.workers import cells, run_cells
from simkernel.own_floors import EXIT_USAGE
from simkernel.pool import Journal, NoCluster
from simkernel.rows import show
from simkernel.terminal import drawn


def words(text: str) -> list[str]:
    """A list on the command line."""
    return [part for part in (part.strip() for part in text.split(",")) if part]


def wrong(kernels: list[str], arches: list[str], objects: tuple[str, ...], test: str | None) -> str:
    """What cannot be carried out, in a sentence; "" if all can."""
    for kernel in kernels:
        try:
            KernelVersion.supported(kernel)
        except ValueError as error:
            return str(error)
    if strange := [arch for arch in arches if arch not in names()]:
        return f"unknown architecture {strange[0]}; known: {', '.join(names())}"
    missing = [path for path in (*objects, *([test] if test else [])) if not Path(path).is_file()]
    return f"{missing[0]}: no such file" if missing else ""


def vendors(asked: tuple[str, ...]) -> list[tuple[str, str, str]]:
    """(version, architecture, file) of each VERSION[/ARCH]=FILE.  ValueError, with a sentence."""
    out = []
    for text in asked:
        kernel, equals, path = text.partition("=")
        version, _, arch = kernel.partition("/")
        if not equals:
            raise ValueError(f"--btf {text}: write it as VERSION=FILE or VERSION/ARCH=FILE")
        path = str(find(path))
        if sentence := wrong([version], [arch or DEFAULT], (path,), None):
            raise ValueError(sentence)
        read_types(path)
        out.append((version, arch or DEFAULT, path))
    return out


@click.command()
@click.option("--kernel", "kernel", default="4.1,5.10,6.1", show_default=True, metavar="LIST", help="Kernel versions.")
@click.option("--arch", default=DEFAULT, show_default=True, metavar="LIST", help="CPUs.")
@click.option("--attach", is_flag=True, help="Attach, too.")
@click.option("--run", "test", metavar="FILE.py", help="Attach and call test(machine, obj) of this file in each cell.")
@click.option(
    "--btf",
    multiple=True,
    metavar="VERSION[/ARCH]=FILE",
    help="Another column: a vendor's kernel by its types (/sys/kernel/btf/vmlinux); objects are loaded, not attached.",
)
@click.option(
    "--journal", type=click.Path(path_type=Path), help="Write each cell as it is done; go on from there next time."
)
@click.option("-j", "--jobs", default=1, type=click.IntRange(1), show_default=True, help="Processes.")
@click.option("--dask", metavar="ADDRESS", default="", help="Work on this Dask cluster (`local`: one on this host).")
@click.option("--format", "form", type=click.Choice(["text", *tables.FORMATS]), default="text", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("--out", type=click.Path(path_type=Path), help="Write to this file instead of stdout.")
@click.option("--quiet", is_flag=True, help="No progress bar on a terminal.")
@click.argument("objects", nargs=-1, required=True)
def matrix(
    kernel: str,
    arch: str,
    attach: bool,
    test: str | None,
    btf: tuple[str, ...],
    journal: Path | None,
    jobs: int,
    dask: str,
    form: str,
    as_json: bool,
    out: Path | None,
    quiet: bool,
    objects: tuple[str, ...],
) -> None:
    """Load OBJECTS on every kernel and CPU, and say why where one does not.

    Exit status 0: all is well in every cell; 1: not so; 2: the input cannot be used.
    """
    form = "json" if as_json else form
    kernels, arches = words(kernel), words(arch)
    try:
        if sentence := wrong(kernels, arches, objects, test):
            raise ValueError(sentence)
        asked = cells(objects, kernels, arches, attach, test or "", vendors(btf))
        outcomes = collect(run_cells(asked, Journal(journal), jobs, dask), len(asked), quiet)
        place = {(each.obj, each.column, each.arch): at for at, each in enumerate(asked)}
        outcomes.sort(key=lambda each: place[each.obj, each.kernel, each.arch])  # whoever was ready first
        text = tables.plain(outcomes) if form == "text" else tables.FORMATS[form](outcomes)
        if out is None and form == "text":
            show(tables.words(outcomes), lambda word: "green" if word == WELL else "red" if word in KINDS else "")
            sys.stdout.write("".join(f"{line}\n" for line in tables.after(outcomes)))
        elif out is None:
            sys.stdout.write(text)
        else:
            out.write_text(text)
    except (ValueError, NoCluster, OSError) as error:
        print(f"simkernel matrix: {error}", file=sys.stderr)
        raise SystemExit(EXIT_USAGE) from None
    raise SystemExit(0 if all(each.good for each in outcomes) else 1)


def collect(coming: Iterator[Outcome], total: int, quiet: bool) -> list[Outcome]:
    """All outcomes; on a terminal with a bar."""
    from rich.console import Console
    from rich.progress import track

    console = Console(file=drawn(sys.stderr))
    shown = track(coming, "cells", total, console=console, transient=True, disable=quiet or not console.is_terminal)
    return list(shown)
