"""`simkernel build`: BPF programs written in Python become an object file."""

from __future__ import annotations

import json
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
@click.option("--json", "as_json", is_flag=True, help="One JSON document about the object.")
def build(program: Path, out: Path | None, arch: str, kernel: str, as_json: bool) -> None:
    """Compile PROGRAM, a Python file of BPF programs, to an object that libbpf loads."""
    from bpf.python import CompileError, compile_file

    try:
        KernelVersion.supported(kernel)
        data = compile_file(program, arch, kernel)
        target = out or program.with_suffix(".bpf.o")
        target.write_bytes(data)
        if as_json:
            from simkernel.cli.compile import about_object

            print(json.dumps(about_object(target, data, arch, kernel)))
    except (CompileError, OSError, UnicodeDecodeError, ValueError) as error:
        print(f"simkernel build: {error}", file=sys.stderr)
        raise SystemExit(EXIT_USAGE) from None
