"""`simkernel demo`: the main job on the project's own samples.  A program runs, BPF programs on a kernel function watch it."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from arch.architecture import DEFAULT, names

PACKAGE = Path(__file__).resolve().parents[1]
INSTALLED, CHECKOUT = PACKAGE / "samples", PACKAGE.parent / "samples"
SAMPLES = INSTALLED if INSTALLED.is_dir() else CHECKOUT


def observers(arch: str) -> list[Path]:
    """The BPF program of the demo; the 32-bit machines have the one that only counts sizes."""
    return [SAMPLES / "obj" / arch / f"{name}.bpf.o" for name in ("writes", "sizes")]


@click.command()
@click.option("--arch", type=click.Choice(names()), default=DEFAULT, show_default=True, help="The machine's CPUs.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout instead of text.")
def demo(arch: str, as_json: bool) -> None:
    """Run samples/writer under samples/writes.bpf.c: who writes how much, and how large are the writes?"""
    from simkernel.cli.options import Options
    from simkernel.cli.run import run_or_report
    from simkernel.cli.usage import UsageError

    program = SAMPLES / "bin" / arch / "writer"
    observer = next((path for path in observers(arch) if path.exists()), observers(arch)[0])
    for path in (program, observer):
        if not path.exists():
            print(f"simkernel demo: {path} is missing; simkernel is not installed whole", file=sys.stderr)
            raise SystemExit(2)
    shown = " ".join(
        str(path if SAMPLES == INSTALLED else path.relative_to(CHECKOUT.parent)) for path in (observer, program)
    )
    if not as_json:
        print(f"$ simkernel run --arch {arch} --bpf {shown.replace(' ', ' -- ')}", flush=True)
    options = Options(arch=arch, kernel="6.1", cpus=1, seed=0, bpf=(str(observer),), json=as_json)
    try:
        status = run_or_report(options, [str(program)])
    except UsageError as error:
        print(f"simkernel demo: {error}", file=sys.stderr)
        status = 2
    raise SystemExit(status)
