"""`simkernel schema`: what the commands' `--json` prints, field by field or as JSON Schema."""

from __future__ import annotations

import json
import sys

import click

from simkernel.cli.documents import DOCUMENTS, fields, of_command
from simkernel.own_floors import EXIT_USAGE
from simkernel.rows import show

DIALECT = "https://json-schema.org/draft/2020-12/schema"


@click.command()
@click.option("--json", "as_json", is_flag=True, help="JSON Schema, by command.")
@click.argument("command", nargs=-1)
def schema(as_json: bool, command: tuple[str, ...]) -> None:
    """Tell what COMMAND (all, if none is given) prints with --json."""
    words = " ".join(command)
    chosen = of_command(words) if words else DOCUMENTS
    if not chosen:
        known = ", ".join(dict.fromkeys(row.command.split()[0] for row in DOCUMENTS))
        print(f"simkernel schema: no document of {words!r}; there are those of {known}", file=sys.stderr)
        raise SystemExit(EXIT_USAGE)
    if as_json:
        print(json.dumps({row.command: {"$schema": DIALECT, **row.schema} for row in chosen}, indent=1))
        return
    for number, row in enumerate(chosen):
        print(("\n" if number else "") + f"{row.command} --json: {row.about}")
        show([["field", "type", "what"], *map(list, fields(row.schema))])
