"""`simkernel cc`: a BPF program in C becomes an object file, against the simulated kernel's own vmlinux.h."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from simkernel.cc import CompileError
from simkernel.cli.listing import machine_options
from simkernel.own_floors import EXIT_USAGE


def compiled(source: Path, arch: str, kernel: str, flags: Sequence[str] = ()) -> bytes:
    """An object file for a machine that is booted for its types.  CompileError; ValueError for an unknown kernel."""
    from simkernel.machine import boot

    with boot(arch=arch, kernel=kernel) as machine:
        return machine.compile(source, flags)


def about_object(path: Path, data: bytes, arch: str, kernel: str) -> dict[str, object]:
    """What a document says of an object that was made.  LoadError."""
    from bpf.loader.object import BpfObject

    made = BpfObject(data, path.stem)
    return {
        "object": str(path),
        "bytes": len(data),
        "arch": arch,
        "kernel": kernel,
        "programs": [
            {"name": each.name, "section": each.section_name, "instructions": len(each.insns)}
            for each in made.programs.values()
        ],
        "maps": [{"name": each.name, "type": each.definition.type} for each in made.maps.values()],
    }


@click.command()
@machine_options
@click.option(
    "-o", "--out", type=click.Path(path_type=Path), help="The object file; FILE.bpf.o for FILE.bpf.c if not given."
)
@click.option("-I", "include", multiple=True, metavar="DIR", help="Look for headers there too.  Repeatable.")
@click.option("-D", "define", multiple=True, metavar="NAME[=VALUE]", help="Define a macro.  Repeatable.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document about the object.")
@click.argument("source", type=click.Path(path_type=Path))
def cc(
    arch: str,
    kernel: str,
    out: Path | None,
    include: tuple[str, ...],
    define: tuple[str, ...],
    as_json: bool,
    source: Path,
) -> None:
    """Compile SOURCE (a .bpf.c file) for a machine's CPU and kernel.

    clang is taken from PATH or $CLANG, else from the Python package ziglang.  `#include "vmlinux.h"` is the simulated
    kernel's; libbpf's headers are the host's.
    """
    flags = [f"-I{each}" for each in include] + [f"-D{each}" for each in define]
    target = out or Path(source.name).with_suffix(".o")
    try:
        data = compiled(source, arch, kernel, flags)
        target.write_bytes(data)
        if as_json:
            print(json.dumps(about_object(target, data, arch, kernel)))
    except (CompileError, ValueError) as error:
        print(f"simkernel cc: {error}", file=sys.stderr)
        raise SystemExit(EXIT_USAGE) from None
    except OSError as error:
        print(f"simkernel cc: {target}: {error.strerror}", file=sys.stderr)
        raise SystemExit(EXIT_USAGE) from None
