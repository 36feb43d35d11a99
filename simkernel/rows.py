"""Tables of words on a terminal or in a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from simkernel.terminal import drawn, shown

Rows = Sequence[Sequence[str]]


def aligned(rows: Rows) -> str:
    """Columns side by side, for files and pipes: the same bytes wherever it runs."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return "".join("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip() + "\n" for row in rows)


def show(rows: Rows, style: Callable[[str], str] = lambda text: "") -> None:
    """On stdout; where that is a terminal with lines and colours (NO_COLOR: without)."""
    if not sys.stdout.isatty():
        sys.stdout.write(aligned(rows))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for head in rows[0]:
        table.add_column(Text(shown(head)))
    for row in rows[1:]:
        table.add_row(*(Text(shown(text), style(text)) for text in row))
    Console(file=drawn(sys.stdout)).print(table)
