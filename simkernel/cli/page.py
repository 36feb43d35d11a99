"""`simkernel report`: a run as one HTML page."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from simkernel.own_floors import EXIT_USAGE
from simkernel.recording.model import Recording
from simkernel.recording.store import RecordingError, load

PAGE_NAME = "report.html"


def told(recording: Recording) -> dict[str, object]:
    """What a document says of a recording."""
    return {"events": len(recording.events), "samples": len(recording.samples), "lost": recording.lost}


@click.command()
@click.option("-o", "--out", metavar="FILE", help=f"Where to; DIR/{PAGE_NAME} unless given, - for stdout.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document about the page, instead of its name.")
@click.argument("directory", metavar="DIR")
def report(out: str | None, as_json: bool, directory: str) -> None:
    """Write one self-contained HTML page about the recording in DIR, which `simkernel run --out DIR` made."""
    from simkernel.recording.page import page

    try:
        recording = load(directory)
        text = page(recording)
        if out == "-" and as_json:
            raise RecordingError("--json tells of a file: give one with -o")
        if out == "-":
            sys.stdout.write(text)
            return
        path = Path(out) if out else Path(directory) / PAGE_NAME
        path.write_text(text, encoding="utf-8")
        print(json.dumps({"file": str(path), "bytes": path.stat().st_size, **told(recording)}) if as_json else path)
    except RecordingError as error:
        print(f"simkernel report: {error}", file=sys.stderr)
        raise SystemExit(EXIT_USAGE) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        print(f"simkernel report: {out or directory}: {error.strerror}", file=sys.stderr)
        raise SystemExit(EXIT_USAGE) from None
