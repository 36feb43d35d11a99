"""`simkernel report`: everything about a run on one HTML page that needs nothing outside of itself.

    parts.py      the sections, as HTML
    charts.py     histograms and heat maps, as SVG
    timeline.py   what the timeline draws, as data
    style.py      colours and layout, light and dark
    script.py     the timeline's drawing, zooming, filtering

Without JavaScript everything but the timeline is there all the same.
"""

from __future__ import annotations

from simkernel.recording.model import Recording
from simkernel.recording.page import parts, script, style, timeline

SECTIONS = (
    parts.overview, parts.lost, parts.timeline, parts.histograms, parts.latency, parts.flames, parts.maps, parts.events,
    parts.verifier, parts.counters, parts.tasks,
)  # fmt: skip


def page(recording: Recording) -> str:
    """The whole page."""
    body = "".join(section(recording) for section in SECTIONS)
    title = parts.text(parts.title(recording))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{title}</title>\n<style>{style.REPORT_STYLE}</style>\n</head>\n<body>\n<main>\n{body}</main>\n"
        f'<script type="application/json" id="timeline-data">{timeline.data(recording)}</script>\n'
        f"<script>{script.SCRIPT}</script>\n</body>\n</html>\n"
    )
