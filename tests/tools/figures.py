"""Figures of how far answers here are a real kernel's, kept for docs/differences.md (docs/agreement_page.py).

tests/data/agreement.json has one row for each thing that was measured on each kernel, with the day; measured again, a row is replaced.
"""

from __future__ import annotations

import datetime
import json
from pathlib import Path

from arch.abi.version import KernelVersion

RECORD = Path(__file__).parents[1] / "data/agreement.json"
KINDS = ("programs", "machine")  # of rows: verdicts of programs, texts of the machine

Figure = dict[str, object]


def load() -> dict[str, list[Figure]]:
    """What was measured, by kind."""
    found: dict[str, list[Figure]] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    return {kind: found.get(kind, []) for kind in KINDS}


def keep(kind: str, measured: list[Figure]) -> None:
    """Replace the rows that were measured again, in their places; new ones go behind those of their kernel."""
    record = load()
    rows = record[kind]
    day = datetime.date.today().isoformat()
    for row in measured:
        dated = {**row, "day": day}
        place = next((n for n, old in enumerate(rows) if _key(old) == _key(row)), None)
        if place is None:
            rows.append(dated)
        else:
            rows[place] = dated
    rows.sort(key=lambda row: KernelVersion.parse(str(row["kernel"])).key)
    texts = ",\n".join(f' "{name}": [\n  {_rows(record[name])}\n ]' for name in KINDS)
    RECORD.write_text(f"{{\n{texts}\n}}\n")


def _key(row: Figure) -> tuple[object, object]:
    return row["kernel"], row["what"]


def _rows(rows: list[Figure]) -> str:
    return ",\n  ".join(json.dumps(row) for row in rows)
