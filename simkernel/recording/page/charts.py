"""Pictures as SVG: histograms by powers of two, heat maps, bars.  Colours come from the page's style."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

UNITS = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"))


def time_text(ns: int | float) -> str:
    """With the unit that suits it: `12.3 us`."""
    for size, unit in UNITS:
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def number_text(value: int) -> str:
    """`4K` for powers of two as the bounds of a histogram are."""
    for shift, unit in ((40, "T"), (30, "G"), (20, "M"), (10, "K")):
        if value >= 1 << shift and not value & ((1 << shift) - 1):
            return f"{value >> shift}{unit}"
    return str(value)


def histogram(rows: Sequence[tuple[int, int, int]], label: str) -> str:
    """Rows (low, high, count) as bars that lie, like the text of BPF tools."""
    largest = max((count for _, _, count in rows), default=0) or 1
    height, left, wide = 22, 100, 360
    total = sum(count for _, _, count in rows) or 1
    parts = [
        f'<svg class="chart" viewBox="0 0 {left + wide + 90} {len(rows) * height + 8}" width="{left + wide + 90}" role="img" '
        f'aria-label="{escape(label, quote=True)}">'
    ]
    for index, (low, high, count) in enumerate(rows):
        y = index * height + 4
        size = wide * count / largest
        bounds = f"{number_text(low)} – {number_text(high + 1)}" if high > low else str(low)
        parts.append(
            f'<g><title>{low:,} to {high:,}: {count:,} ({100 * count / total:.1f}%)</title>'
            f'<text class="axis" x="{left - 10}" y="{y + 14}" text-anchor="end">{bounds}</text>'
            f'<rect class="track" x="{left}" y="{y + 1}" width="{wide}" height="{height - 5}" rx="3"/>'
            f'<rect class="bar" x="{left}" y="{y + 1}" width="{max(size, 1.5 if count else 0):.1f}" height="{height - 5}" rx="3"/>'
            f'<text class="value" x="{left + size + 8:.1f}" y="{y + 14}">{count:,}</text></g>'
        )  # fmt: skip
    return "".join(parts) + "</svg>"


def heat_map(cells: Mapping[tuple[int, int], int], columns: int, begin: int, end: int, label: str) -> str:
    """Time to the right, log2 of the duration upwards, darker where more."""
    rows = [row for _, row in cells]
    low, high = min(rows), max(rows)
    low, high = max(low - 1, 0), high + 1
    left, top, wide, cell = 86, 8, 1030, 18
    height = (high - low + 1) * cell
    width = wide / columns
    most = math.log1p(max(cells.values()))
    parts = [
        f'<svg class="chart heat" viewBox="0 0 {left + wide + 14} {top + height + 30}" role="img" '
        f'aria-label="{escape(label, quote=True)}">'
        f'<rect class="field" x="{left}" y="{top}" width="{wide}" height="{height}"/>'
    ]
    for row in range(low, high + 1):
        y = top + (high - row) * cell
        parts.append(f'<line class="grid" x1="{left}" x2="{left + wide}" y1="{y + cell}" y2="{y + cell}"/>')
        parts.append(
            f'<text class="axis" x="{left - 8}" y="{y + cell + 4}" text-anchor="end">{time_text(1 << row)}</text>'
        )
    span = end - begin
    for (column, row), count in sorted(cells.items()):
        x, y = left + column * width, top + (high - row) * cell
        strength = 0.18 + 0.82 * math.log1p(count) / most
        since = begin + span * column // columns
        parts.append(
            f'<rect class="cell" x="{x:.1f}" y="{y + 0.5:.1f}" width="{max(width - 0.6, 1):.1f}" height="{cell - 1}" rx="2" '
            f'style="--s:{strength * 100:.0f}%"><title>{count:,} of {time_text(1 << row)} to {time_text(2 << row)}, '
            f"from {time_text(since - begin)} on</title></rect>"
        )
    for tick in range(6):
        x = left + wide * tick / 5
        anchor = "start" if tick == 0 else "end" if tick == 5 else "middle"
        parts.append(
            f'<text class="axis" x="{x:.0f}" y="{top + height + 20}" text-anchor="{anchor}">{time_text(span * tick / 5)}</text>'
        )
    return "".join(parts) + "</svg>"


def bars(rows: Sequence[tuple[str, int]], label: str) -> str:
    """Names with a bar and a number each, as a table."""
    largest = max((count for _, count in rows), default=0) or 1
    body = "".join(
        f'<tr><td class="name">{escape(name)}</td><td class="number">{count:,}</td>'
        f'<td class="meter"><span style="width:{max(100 * count / largest, 0.5):.1f}%"></span></td></tr>'
        for name, count in rows
    )
    return f'<table class="bars" aria-label="{escape(label, quote=True)}"><tbody>{body}</tbody></table>'
