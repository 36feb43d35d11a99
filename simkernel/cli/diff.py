"""`simkernel diff`: what moved between two kernels, for one BPF object or for all."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from arch.abi.version import KernelVersion
from arch.architecture import DEFAULT, names
from bpf.loader.errors import LoadError
from simkernel.matrix.moved import Moved, facts, moved, named_by
from simkernel.own_floors import EXIT_USAGE


@click.command()
@click.option("--arch", type=click.Choice(names()), default=DEFAULT, show_default=True, help="CPU.")
@click.option("--for", "obj", type=click.Path(path_type=Path), help="Only what this BPF object attaches to and reads.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.argument("before")
@click.argument("after")
def diff(arch: str, obj: Path | None, as_json: bool, before: str, after: str) -> None:
    """Functions, structure members and trace events that kernel BEFORE has and AFTER has not, or the reverse, or elsewhere.

    Exit status 0: nothing moved; 1: something did; 2: the input cannot be used.
    """
    try:
        for kernel in (before, after):
            KernelVersion.supported(kernel)
        if obj is not None and not obj.is_file():
            raise ValueError(f"{obj}: no such file")
        only = None if obj is None else named_by(obj, arch)
        found = moved(facts(before, arch), facts(after, arch), only)
    except (ValueError, LoadError) as error:
        print(f"simkernel diff: {error}", file=sys.stderr)
        raise SystemExit(EXIT_USAGE) from None
    if as_json:
        document = {"before": before, "after": after, "gone": found.gone, "new": found.new, "moved": found.changed}
        print(json.dumps(document, indent=1))
    else:
        sys.stdout.write(text(found))
    raise SystemExit(1 if found else 0)


def text(found: Moved) -> str:
    """`-` gone, `+` new, `~` moved; offsets in bytes."""
    lines = []
    for what in ("functions", "events", "members"):
        marks = [("-", found.gone[what]), ("+", found.new[what])]
        rows = [f"  {mark} {name}" for mark, some in marks for name in some]
        if what == "members":
            rows += [f"  ~ {name}: {old} -> {new}" for name, old, new in found.changed]
        lines += [f"{what}:", *rows] if rows else []
    return "".join(line + "\n" for line in lines)
