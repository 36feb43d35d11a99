"""`simkernel btf`: the simulated kernel's own types, raw or as a vmlinux.h that programs compile against, and those of real kernels."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from simkernel.cli.listing import booted, machine_options


@click.group()
def btf() -> None:
    """The kernel's BTF."""


@btf.command()
@machine_options
@click.option("--format", "form", type=click.Choice(["raw", "c"]), default="raw", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="A JSON document with bpftool's keys.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Write to this file: with `c` the header, with `raw` the binary BTF as /sys/kernel/btf/vmlinux has it.",
)
def dump(arch: str, kernel: str, form: str, as_json: bool, out: Path | None) -> None:
    """Print every type of the kernel: `raw` lists the BTF records, `c` is vmlinux.h."""
    from bpf.btf.dump import dump_c
    from bpf.btf.raw import dump_raw, records

    types = booted(arch, kernel).observer.kernel_btf.get()
    if out is not None:
        try:
            out.write_bytes(dump_c(types).encode() if form == "c" else types.encode())
        except OSError as error:
            print(f"simkernel btf dump: {out}: {error.strerror}", file=sys.stderr)
            raise SystemExit(2) from None
        return
    if as_json:
        json.dump({"types": records(types)}, sys.stdout)
        print()
        return
    sys.stdout.write(dump_c(types) if form == "c" else dump_raw(types))


@btf.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", required=True, help="What to call it.")
@click.option("--json", "as_json", is_flag=True, help="A JSON document.")
def import_(file: Path, name: str, as_json: bool) -> None:
    """Keep the types of a real kernel, a copy of its /sys/kernel/btf/vmlinux: `verify --btf NAME` and `matrix --btf VERSION=NAME` find them."""
    from simkernel.kept_btf import BtfFileError, keep

    try:
        count = keep(file, name)
    except BtfFileError as error:
        print(f"simkernel btf import: {file}: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    print(json.dumps({"name": name, "types": count}) if as_json else f"{name}: {count} types")


@btf.command("list")
@click.option("--json", "as_json", is_flag=True, help="A JSON document.")
def list_(as_json: bool) -> None:
    """The names of the types that were imported."""
    from simkernel.kept_btf import names

    kept = names()
    print(
        json.dumps({"names": kept}) if as_json else "".join(f"{name}\n" for name in kept), end="\n" if as_json else ""
    )
