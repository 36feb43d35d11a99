"""`simkernel build`: BPF programs written in Python become an object file."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from arch.abi.version import RELEASES, KernelVersion
from arch.architecture import DEFAULT, names
from simkernel.own_floors import EXIT_USAGE


@click.command()
@click.argument("program", type=click.Path(path_type=Path))
@click.option("-o", "--out", type=click.Path(path_type=Path), help="The object file; default: PROGRAM with .bpf.o.")
@click.option("--arch", default=DEFAULT, type=click.Choice(names()), help="CPU whose registers probes read.")
@click.option("--kernel", default=RELEASES[-1], help="Kernel whose structures are meant.")
def build(program: Path, out: Path | None, arch: str, kernel: str) -> None:
    """Compile PROGRAM, a Python file of BPF programs, to an object that libbpf loads."""
    from bpf.python import CompileError, compile_file

    try:
        KernelVersion.supported(kernel)
        data = compile_file(program, arch, kernel)
        (out or program.with_suffix(".bpf.o")).write_bytes(data)
    except (CompileError, OSError, UnicodeDecodeError, ValueError) as error:
        print(f"simkernel build: {error}", file=sys.stderr)
        raise SystemExit(EXIT_USAGE) from None
