"""`simkernel export`: a recording in another format."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from simkernel.cli.page import told
from simkernel.cli.record import STDOUT, check_format, write_one
from simkernel.cli.usage import UsageError
from simkernel.own_floors import EXIT_USAGE
from simkernel.recording.formats import FORMATS
from simkernel.recording.store import RecordingError, load

TEXTS = (".txt", ".folded", ".svg", ".jsonl", ".kallsyms")


@click.command(epilog="Formats: " + "; ".join(f"{row.name}: {row.about}" for row in FORMATS.values()) + ".")
@click.option("--format", "-f", "name", required=True, metavar="FORMAT", help=", ".join(FORMATS))
@click.option("-o", "--out", default=STDOUT, metavar="FILE", help="Where to; - (stdout) unless given.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document about the file on stdout.")
@click.argument("directory", metavar="DIR")
def export(name: str, out: str, as_json: bool, directory: str) -> None:
    """Write the recording in DIR, which `simkernel run --out DIR` made, as FORMAT."""
    try:
        check_format("--format", name)
        if out == STDOUT and FORMATS[name].suffix not in TEXTS and sys.stdout.isatty():
            raise UsageError(f"{name} is not for a terminal: give a file with -o")
        if out == STDOUT and as_json:
            raise UsageError("--json tells of a file: give one with -o")
        recording = load(directory)
        write_one(recording, name, Path(out))
        if as_json:
            size = Path(out).stat().st_size
            print(json.dumps({"file": out, "format": name, "bytes": size, **told(recording)}))
    except (UsageError, RecordingError) as error:
        print(f"simkernel export: {error}", file=sys.stderr)
        raise SystemExit(EXIT_USAGE) from None
