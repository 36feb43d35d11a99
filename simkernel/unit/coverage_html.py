"""The HTML page of a coverage report: one file, no script, nothing to fetch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

PAGE_STYLE = """
body { font-family: sans-serif; margin: 2em; }
table { border-collapse: collapse; font-family: monospace; white-space: pre; }
td { padding: 0 .6em; } td.n { text-align: right; color: #666; }
tr.ran td.s { background: #e3f6e3; } tr.not td.s { background: #fbdcdc; }
summary { cursor: pointer; font-weight: bold; margin: .6em 0; }
"""

FileRow = tuple[str, Mapping[int, str], Mapping[int, int]]  # name, source, counts
ProgramRow = tuple[str, Sequence[tuple[int, str, int, int]]]  # name, (index, instruction, count, line)


def page(percent: float, files: Iterable[FileRow], programs: Iterable[ProgramRow]) -> str:
    """The whole page."""
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>BPF coverage</title>",
        f"<style>{PAGE_STYLE}</style></head><body><h1>BPF coverage: {percent:.0f} %</h1>",
    ]
    parts += [_file(name, source, counts) for name, source, counts in files]
    parts += [_program(name, insns) for name, insns in programs]
    return "\n".join([*parts, "</body></html>\n"])


def _file(name: str, source: Mapping[int, str], counts: Mapping[int, int]) -> str:
    ran = sum(count > 0 for count in counts.values())
    rows = [_row(str(line), counts.get(line), source.get(line, "")) for line in sorted({*source, *counts})]
    return _block(f"{name}: {ran} of {len(counts)} lines", rows, True)


def _program(name: str, insns: Sequence[tuple[int, str, int, int]]) -> str:
    ran = sum(count > 0 for _, _, count, _ in insns)
    rows = [
        _row(str(index), count, text + (f"    ; line {line}" if line else "")) for index, text, count, line in insns
    ]
    return _block(f"program {name}: {ran} of {len(insns)} instructions", rows, False)


def _row(number: str, count: int | None, text: str) -> str:
    kind = "" if count is None else " class='ran'" if count else " class='not'"
    shown = "" if count is None else str(count)
    return f"<tr{kind}><td class='n'>{number}</td><td class='n'>{shown}</td><td class='s'>{escape(text)}</td></tr>"


def _block(title: str, rows: Sequence[str], is_open: bool) -> str:
    shown = " open" if is_open else ""
    return f"<details{shown}><summary>{escape(title)}</summary><table>{''.join(rows)}</table></details>"
