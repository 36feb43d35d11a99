"""Plots for notebooks: histograms by powers of two and heat maps of latencies.  Needs matplotlib (the extra `export`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from simkernel.recording.latency import Interval, heat
from simkernel.recording.needs import module

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def axes(given: Axes | None, width: float, height: float) -> Axes:
    """Those given, or new ones."""
    return given if given is not None else module("matplotlib.pyplot").subplots(figsize=(width, height))[1]


def histogram(counts: Sequence[int] | Mapping[int, int], ax: Axes | None = None, title: str = "") -> Axes:
    """Of a map that counts by powers of two: slot n stands for 2^n to 2^(n+1)-1.  `counts` is a list or a map's items()."""
    slots = dict(counts.items()) if isinstance(counts, Mapping) else dict(enumerate(counts))
    used = [slot for slot, count in slots.items() if count]
    shown = range(min(used, default=0), max(used, default=0) + 1)
    ax = axes(ax, 7, 0.32 * len(shown) + 1)
    ax.barh([str(1 << slot) if slot else "0" for slot in shown], [slots.get(slot, 0) for slot in shown], height=0.8)
    ax.invert_yaxis()
    ax.set_xlabel("count")
    ax.set_ylabel("from")
    ax.set_title(title)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def heat_map(found: Sequence[Interval], ax: Axes | None = None, title: str = "", columns: int = 64) -> Axes:
    """Durations over time: stronger where there were more.  What recording.latency.intervals() gives for a kind."""
    ax = axes(ax, 9, 3.5)
    if not found:
        return ax
    begin, end = min(each.begin for each in found), max(each.begin for each in found) + 1
    cells = heat(list(found), columns, begin, end)
    low, high = min(row for _, row in cells), max(row for _, row in cells)
    grid = [[cells.get((column, row), 0) or float("nan") for column in range(columns)] for row in range(low, high + 1)]
    drawn = ax.imshow(
        grid, origin="lower", aspect="auto", cmap="Blues", vmin=0, extent=(0, (end - begin) / 1e6, low, high + 1)
    )
    ax.set_yticks(range(low, high + 2), [f"{2**row:,} ns" for row in range(low, high + 2)])
    ax.set_xlabel("ms of virtual time")
    ax.set_title(title)
    ax.figure.colorbar(drawn, ax=ax, label="count")
    return ax
