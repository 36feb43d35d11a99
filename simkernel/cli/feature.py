"""`simkernel feature probe`: what BPF features a kernel version has, in bpftool's words."""

from __future__ import annotations

import sys

import click


@click.group()
def feature() -> None:
    """BPF features by kernel version."""


@feature.command()
@click.option("--kernel", default="6.1", show_default=True, help="Kernel version: 3.20-rfc, 4.1, 5.10, 6.1 ...")
@click.option("--json", "as_json", is_flag=True, help="The layout of `bpftool -j feature probe`.")
@click.option("--full", is_flag=True, help="Also the helpers that bpftool leaves out because probing them is noisy.")
def probe(kernel: str, as_json: bool, full: bool) -> None:
    """Program types, map types, helpers and other abilities, available or not."""
    from bpf.probe import probe as ask
    from simkernel.versions import KernelVersion

    try:
        version = KernelVersion.parse(kernel)
    except ValueError as error:
        print(f"simkernel: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    answers = ask((3, 20) if version.tag == "rfc" else version.key, full=full)
    sys.stdout.write(answers.json_text() + "\n" if as_json else answers.text())
