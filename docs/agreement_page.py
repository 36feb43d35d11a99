"""Writes the tables of docs/differences.md that say how far answers here are real kernels', from tests/data/agreement.json."""

from __future__ import annotations

from pathlib import Path

from tests.tools.figures import Figure, load

PAGE = Path(__file__).with_name("differences.md")
BEGIN, END = "  <!-- made by docs/agreement_page.py -->", "  <!-- end of what is made -->"

PROGRAMS = """
  | kernel | programs | asked | accepted here only | verdict | errno | log, level 1 | log, level 2 | values of test runs |
  |---|---|---|---|---|---|---|---|---|
"""
MACHINE = """
  | kernel | compared | there | equal here |
  |---|---|---|---|
"""


def _count(row: Figure, name: str) -> str:
    value = row.get(name)
    if isinstance(value, list):
        equal, compared = value
        return f"{equal:,} of {compared:,}" if compared else "-"
    return f"{value:,}" if isinstance(value, int) else "-"


def _row(row: Figure, names: tuple[str, ...]) -> str:
    cells = [str(row["kernel"]), str(row["what"]), *(_count(row, name) for name in names)]
    return f"  | {' | '.join(cells)} |\n"


def tables() -> str:
    """All of it, with the days between which it was measured."""
    found = load()
    days = sorted(str(row["day"]) for rows in found.values() for row in rows)
    programs = "".join(
        _row(row, ("count", "unsound", "verdict", "errno", "log1", "log2", "runs")) for row in found["programs"]
    )
    machine = "".join(_row(row, ("count", "equal")) for row in found["machine"])
    when = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    return f"\n  Measured {when}:\n{PROGRAMS}{programs}{MACHINE}{machine}\n"


def main() -> None:
    text = PAGE.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{tables()}{END}{after}")


if __name__ == "__main__":
    main()
