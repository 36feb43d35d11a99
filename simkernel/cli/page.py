"""`simkernel report`: a run as one HTML page."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from simkernel.own_floors import EXIT_USAGE
from simkernel.recording.store import RecordingError, load

PAGE_NAME = "report.html"


@click.command()
@click.option("-o", "--out", metavar="FILE", help=f"Where to; DIR/{PAGE_NAME} unless given, - for stdout.")
@click.argument("directory", metavar="DIR")
def report(out: str | None, directory: str) -> None:
    """Write one self-contained HTML page about the recording in DIR, which `simkernel run --out DIR` made."""
    from simkernel.recording.page import page

    try:
        text = page(load(directory))
        if out == "-":
            sys.stdout.write(text)
            return
        path = Path(out) if out else Path(directory) / PAGE_NAME
        path.write_text(text, encoding="utf-8")
        print(path)
    except RecordingError as error:
        print(f"simkernel report: {error}", file=sys.stderr)
        raise SystemExit(EXIT_USAGE) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        print(f"simkernel report: {out or directory}: {error.strerror}", file=sys.stderr)
        raise SystemExit(EXIT_USAGE) from None
