"""The sections of the page, each a function from the recording to HTML; "" where there is nothing to show."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from simkernel.cli.present import log2_rows, slots_of, value_text
from simkernel.recording.formats.flamegraph import drawing, tree
from simkernel.recording.formats.stacks import counted
from simkernel.recording.latency import heat, intervals, percentiles
from simkernel.recording.model import Recording
from simkernel.recording.page.charts import bars, heat_map, histogram, time_text
from simkernel.recording.page.timeline import extent
from simkernel.recording.rows import MapDump, Shown

COLUMNS = 96  # of a heat map
MOST_ROWS = 1000  # of events
MOST_ENTRIES = 500  # of a map
SPARSE = 16  # entries; of longer arrays only those that are not zero are shown


def text(value: object) -> str:
    """For HTML."""
    return escape(str(value), quote=True)


def title(recording: Recording) -> str:
    """What ran."""
    return " ".join(recording.meta.argv) or "A run of simkernel"


def section(name: str, head: str, body: str, note: str = "") -> str:
    """One of them."""
    said = f'<p class="note">{note}</p>' if note else ""
    return f'<section id="{name}"><h2>{text(head)}</h2>{said}{body}</section>\n'


def table(head: Sequence[str], rows: Sequence[Sequence[object]], kind: str = "") -> str:
    """Numbers to the right."""
    cells = "".join(f"<th>{text(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td{number_class(cell)}>{shown_cell(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        f'<div class="scroll"><table class="{kind}"><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table></div>'
    )


def number_class(cell: object) -> str:
    """Of a cell."""
    return ' class="number"' if isinstance(cell, int) else ""


def shown_cell(cell: object) -> str:
    """Numbers with commas."""
    return f"{cell:,}" if isinstance(cell, int) and not isinstance(cell, bool) else text(cell)


def overview(recording: Recording) -> str:
    """What ran, where, and how to have it again."""
    meta = recording.meta
    facts = [
        ("machine", meta.arch), ("kernel", meta.release or meta.kernel), ("CPUs", str(meta.cpus)), ("seed", str(meta.seed)),
        ("virtual time", time_text(meta.end - meta.begin)), ("events", f"{len(recording.events):,}"),
    ]  # fmt: skip
    if recording.samples:
        facts.append(("CPU samples", f"{len(recording.samples):,} at {meta.sample_hz:,} Hz"))
    calls = recording.counters.get("syscalls")
    if isinstance(calls, int):
        facts.append(("system calls", f"{calls:,}"))
    if meta.status is not None:
        facts.append(("exit status", str(meta.status)))
    chips = "".join(f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>" for name, value in facts)
    again = ""
    if meta.repeat:
        again = (
            '<div class="repeat"><span>The same run again</span><code id="repeat">' + text(meta.repeat) + "</code>"
            '<button type="button" data-copy="repeat">Copy</button></div>'
        )
    return f'<header><p class="brand">simkernel {text(meta.version)}</p><h1>{text(title(recording))}</h1><dl>{chips}</dl>{again}</header>\n'


def lost(recording: Recording) -> str:
    """What is missing is said before anything is shown."""
    sentences = list(recording.lost)
    dropped = sum(event.lost for event in recording.events)
    if not sentences and not dropped:
        return '<p class="whole">Nothing was lost: every event, sample and map entry of the run is here.</p>\n'
    items = "".join(f"<li>{text(each)}</li>" for each in sentences)
    return f'<section id="lost" class="warning"><h2>What is missing</h2><ul>{items}</ul></section>\n'


def timeline(recording: Recording) -> str:
    """Drawn by the page's script."""
    if not recording.slices and not recording.events:
        return ""
    begin, end = extent(recording)
    body = (
        '<div class="tools"><button type="button" data-zoom="in">Zoom in</button><button type="button" data-zoom="out">Zoom out</button>'
        '<button type="button" data-zoom="all">Whole run</button><span class="legend"><i class="run"></i>running'
        '<i class="ready"></i>waiting for a CPU<i class="sleep"></i>asleep<i class="tick"></i>event</span></div>'
        '<div class="canvas"><canvas id="timeline-canvas" tabindex="0" aria-label="Timeline of CPUs and tasks"></canvas>'
        '<div id="tip" role="tooltip" hidden></div></div><noscript><p>The timeline needs JavaScript.</p></noscript>'
    )
    note = (
        f"{time_text(end - begin)} of virtual time. Scroll to zoom, drag to move, arrow keys and + and - do the same; "
        "point at anything to read it."
    )
    return section("timeline", "Timeline", body, note)


def histograms(recording: Recording) -> str:
    """Maps that count by powers of two."""
    cards = []
    for each in recording.maps:
        for name, counts in slots(each):
            rows = log2_rows(counts)
            if rows:
                total = sum(counts)
                cards.append(
                    f"<figure><figcaption><b>{text(name)}</b> <span>{total:,} counted</span></figcaption>"
                    f"{histogram(trimmed(rows), f'Histogram {name}')}</figure>"
                )
    return section("histograms", "Histograms", f'<div class="cards">{"".join(cards)}</div>') if cards else ""


def trimmed(rows: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Without the empty ones at the beginning but one."""
    first = next((index for index, row in enumerate(rows) if row[2]), 0)
    return rows[max(first - 1, 0) :]


def slots(dump: MapDump) -> list[tuple[str, list[int]]]:
    """(name, counters) of the histograms in a map."""
    whole = slots_of(dump.name, dump.entries)
    if whole is not None:
        return [(dump.name, whole)]
    out = []
    for key, value in dump.entries:
        inner = value.get("slots") if isinstance(value, dict) else None
        if isinstance(inner, list):
            out.append((f"{dump.name}[{value_text(key)}]", [each for each in inner if isinstance(each, int)]))
    return out


def latency(recording: Recording) -> str:
    """A heat map for each kind of interval."""
    found = intervals(recording)
    if not found:
        return ""
    begin, end = extent(recording)
    figures = []
    for kind, each in found.items():
        numbers = percentiles(each)
        facts = " ".join(
            f"<span>{name} <b>{f'{value:,}' if name == 'count' else time_text(value)}</b></span>"
            for name, value in numbers.items()
        )
        picture = heat_map(heat(each, COLUMNS, begin, end), COLUMNS, begin, end, f"Latency of {kind}")
        slowest = sorted(each, key=lambda one: (-one.ns, one.begin))[:5]
        worst = ", ".join(
            f"{text(one.name)} of {text(recording.comm_of(one.pid) or one.pid)} {time_text(one.ns)}" for one in slowest
        )
        figures.append(
            f'<figure class="wide"><figcaption><b>{text(kind[:1].upper() + kind[1:])}</b> {facts}</figcaption>{picture}'
            f'<p class="note">Longest: {worst}.</p></figure>'
        )
    return section(
        "latency",
        "Latency",
        "".join(figures),
        "How long each took, by the time at which it began; stronger where there were more.",
    )


def flames(recording: Recording) -> str:
    """The flame graph, where stacks were recorded."""
    try:
        stacks, unit = counted(recording)
    except ValueError:
        return ""
    body = f'<div class="scroll">{drawing(tree(stacks), unit, title(recording))}</div>'
    return section("flames", "Flame graph", body, f"By {unit}; click a function to zoom in.")


def maps(recording: Recording) -> str:
    """Every map that is no histogram."""
    parts = []
    for each in recording.maps:
        if slots(each):
            continue
        entries = each.entries
        note = ""
        if len(entries) > SPARSE and all(isinstance(key, int) for key, _ in entries):
            entries = [(key, value) for key, value in entries if value != 0]
            if len(entries) < len(each.entries):
                note = f" {len(each.entries) - len(entries):,} entries are zero."
        if len(entries) > MOST_ENTRIES:
            note += f" {len(entries) - MOST_ENTRIES:,} more are in recording.json."
            entries = entries[:MOST_ENTRIES]
        head = f"<h3>{text(each.name)} <span>{text(each.type)} of {text(each.object)}</span></h3>"
        body = entries_table(entries) if entries else '<p class="note">Empty.</p>'
        parts.append(f'<div class="map">{head}{body}<p class="note">{note}</p></div>')
    return section("maps", "Maps", "".join(parts)) if parts else ""


def entries_table(entries: list[tuple[Shown, Shown]]) -> str:
    """Structs get a column for each member."""
    keys, values = members([key for key, _ in entries], "key"), members([value for _, value in entries], "value")
    head = [*keys, *values]
    rows = [[*cells(key, keys), *cells(value, values)] for key, value in entries]
    return table(head, rows, "sortable")


def members(values: list[Shown], name: str) -> list[str]:
    """Of structs that are all alike, or the one name."""
    first = values[0] if values else None
    if isinstance(first, dict) and all(isinstance(each, dict) and list(each) == list(first) for each in values):
        return list(first)
    return [name]


def cells(value: Shown, names: list[str]) -> list[object]:
    """One for each column."""
    if isinstance(value, dict) and names != ["key"] and names != ["value"]:
        return [cell(item) for item in value.values()]
    return [cell(value)]


def cell(value: Shown) -> object:
    """Numbers and texts as they are."""
    return value if isinstance(value, (int, str)) else value_text(value)


def events(recording: Recording) -> str:
    """How many of each, and the first of them."""
    counts = recording.events.counts()
    if not counts:
        return ""
    body = bars(sorted(counts.items(), key=lambda row: (-row[1], row[0])), "Events by name")
    shown = recording.events.all[:MOST_ROWS]
    rows = [
        [f"{(event.ts - recording.meta.begin) / 1000:.3f}", event.cpu, event.pid, event.comm, event.name, event.said]
        for event in shown
    ]  # fmt: skip
    more = len(recording.events) - len(shown)
    note = f"The first {len(shown):,}; {more:,} more are in events.jsonl." if more else ""
    body += (
        f'<details open><summary>All events</summary><input type="search" data-filter="event-rows" placeholder="Filter, for example a task or a field" '
        f'aria-label="Filter events"><p class="note">{note}</p><div id="event-rows">'
        f"{table(['us', 'CPU', 'pid', 'task', 'event', 'fields'], rows, 'log')}</div></details>"
    )
    return section("events", "Events", body)


def verifier(recording: Recording) -> str:
    """What the verifier said of each program."""
    parts = []
    for each in recording.programs:
        if not each.log.strip():
            continue
        lines = each.log.rstrip("\n").split("\n")
        last = next((line for line in reversed(lines) if line.startswith("processed ")), lines[-1])
        parts.append(
            f'<details><summary><b>{text(each.name)}</b> <span>{text(each.section)}</span> <span class="last">{text(last)}</span></summary>'
            f"<pre>{''.join(log_line(line) for line in lines)}</pre></details>"
        )
    return section("verifier", "Verifier", "".join(parts), "The log of level 1, by program.") if parts else ""


def log_line(line: str) -> str:
    """Source lines, states and instructions look different."""
    kind = (
        "source" if line.startswith(";") else "path" if line.startswith("from ") else
        "state" if re.match(r"\d+: R\d|\d+: \.\d|R\d", line) else "sum" if line.startswith("processed ") else "insn"
    )  # fmt: skip
    return f'<span class="{kind}">{text(line)}</span>\n'


def counters(recording: Recording) -> str:
    """The machine's."""
    plain = [(name, value) for name, value in recording.counters.items() if isinstance(value, int)]
    body = table(["counter", "value"], plain) if plain else ""
    for name, values in recording.counters.items():
        if isinstance(values, dict) and values:
            rows = sorted(values.items(), key=lambda row: (-row[1], row[0]))
            body += f"<div><h3>{text(name.replace('_', ' '))}</h3>{bars(rows, name)}</div>"
    return section("counters", "Counters", f'<div class="columns">{body}</div>') if body else ""


def tasks(recording: Recording) -> str:
    """Who was there, and how long each ran."""
    ran: dict[int, int] = {}
    for each in recording.slices:
        ran[each.pid] = ran.get(each.pid, 0) + each.end - each.begin
    rows = [
        [each.pid, each.tgid, each.ppid, each.comm, time_text(max(each.begin - recording.meta.begin, 0)),
         "" if each.end is None else time_text(each.end - recording.meta.begin), time_text(ran.get(each.pid, 0))]
        for each in recording.tasks
    ]  # fmt: skip
    return (
        section("tasks", "Tasks", table(["pid", "tgid", "ppid", "name", "began", "ended", "ran"], rows)) if rows else ""
    )
