"""Small pieces of HTML, for objects that show themselves in a notebook: everything is escaped here.

Colours are those of the page around: text keeps its own, lines are grey that is seen on light and on dark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

LINE = "border-bottom:1px solid rgba(128,128,128,.3)"
CELL = f"text-align:left;padding:2px 14px 2px 0;font-family:monospace;{LINE}"
BAR = "display:inline-block;height:.8em;background:#4c86e0;border-radius:2px;min-width:1px"


def escape(text: str) -> str:
    """html.escape(), whose module brings a table of all names: only where somebody looks."""
    import html

    return html.escape(text)


def frame(title: str, body: str, note: str = "") -> str:
    """One object: what it is, what is in it, and a line below."""
    below = f'<div style="opacity:.7;font-size:90%"><code>{escape(note)}</code></div>' if note else ""
    return f'<div style="margin:.3em 0"><b>{escape(title)}</b>{body}{below}</div>'


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Rows of cells; numbers stand to the right."""
    first = "".join(f'<th style="{CELL};opacity:.7">{escape(name)}</th>' for name in head)
    body = "".join("<tr>" + "".join(map(cell, row)) + "</tr>" for row in rows)
    top = f"<thead><tr>{first}</tr></thead>" if head else ""
    return f'<table style="border-collapse:collapse">{top}<tbody>{body}</tbody></table>'


def cell(value: object) -> str:
    """One of them."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f'<td style="{CELL};text-align:right">{value:,}</td>'
    return f'<td style="{CELL}">{escape(str(value))}</td>'


def facts(rows: Mapping[str, object]) -> str:
    """Name and value."""
    return table([], [[name, value] for name, value in rows.items()])


def bars(rows: Sequence[tuple[str, int]]) -> str:
    """Names, numbers, and a bar for each."""
    largest = max((count for _, count in rows), default=0) or 1
    body = "".join(
        f'<tr>{cell(name)}{cell(count)}<td style="width:320px;{LINE}">'
        f'<span style="{BAR};width:{100 * count / largest:.1f}%"></span></td></tr>'
        for name, count in rows
    )
    return f'<table style="border-collapse:collapse"><tbody>{body}</tbody></table>'


LONGEST = 400  # lines and entries that are shown


def pre(lines: Sequence[str]) -> str:
    """Text as it is; of much the end."""
    left = len(lines) - LONGEST
    shown = [f"... {left:,} lines before", *lines[left:]] if left > 0 else lines
    text = escape("\n".join(shown))
    return f'<pre style="max-height:24em;overflow:auto;margin:.3em 0;font-size:90%">{text}</pre>'


def entries_html(entries: Sequence[tuple[object, object]]) -> str:
    """Keys and values; structs get a column for each member, numbers that count a bar."""
    shown = entries[:LONGEST]
    counts = [(str(key), value) for key, value in shown if isinstance(key, int) and isinstance(value, int)]
    if shown and len(counts) == len(shown):
        used = [index for index, (_, value) in enumerate(counts) if value]
        return bars(counts[: max(used, default=0) + 1])
    keys, values = columns([key for key, _ in shown], "key"), columns([value for _, value in shown], "value")
    return table([*keys, *values], [[*cells(key, keys), *cells(value, values)] for key, value in shown])


def columns(values: Sequence[object], name: str) -> list[str]:
    """Of structs that are all alike, or the one name."""
    first = values[0] if values else None
    if isinstance(first, dict) and all(isinstance(each, dict) and list(each) == list(first) for each in values):
        return [str(member) for member in first]
    return [name]


def cells(value: object, names: Sequence[str]) -> list[object]:
    """One for each column."""
    if isinstance(value, dict) and list(map(str, value)) == list(names):
        return list(value.values())
    return [value]
