"""How results look to a person: maps as tables, histograms as power-of-two bars, counters in aligned columns.

The histogram is the one that BPF tools have printed since bcc: one row per power of two, forty columns of stars.
Pure text in, text out; nothing here touches the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

BAR_COLUMNS = 40
HISTOGRAM_NAMES = ("hist", "log2", "sizes", "latenc", "dist")  # parts of names of maps that count by powers of two
SHORT_ARRAY = 16  # entries; of longer arrays only those that are not zero are shown


def stars(value: int, largest: int, columns: int = BAR_COLUMNS) -> str:
    """A bar of `value` out of `largest`, padded to `columns`."""
    filled = value * columns // largest if largest else 0
    return ("*" * filled).ljust(columns)


def log2_rows(counts: Sequence[int]) -> list[tuple[int, int, int]]:
    """(low, high, count) of the slots of a log2 histogram, up to the last slot that is not zero.

    Slot 0 counts the values 0 and 1, slot n > 0 the values 2^n .. 2^(n+1)-1, as log2l() in BPF tools gives.
    """
    last = max((index for index, count in enumerate(counts) if count), default=-1)
    return [((1 << index) if index else 0, (1 << (index + 1)) - 1, counts[index]) for index in range(last + 1)]


def log2_histogram(counts: Sequence[int], unit: str = "value") -> str:
    """Text of a power-of-two histogram; empty string when nothing was counted."""
    rows = log2_rows(counts)
    if not rows:
        return ""
    largest = max(count for _, _, count in rows)
    wide = rows[-1][1] >= 1 << 32
    edge = 20 if wide else 10
    head = unit.center(2 * edge + 4)
    lines = [f"{head} : {'count':<8} distribution"]
    lines += [f"{low:>{edge}} -> {high:<{edge}} : {count:<8} |{stars(count, largest)}|" for low, high, count in rows]
    return "\n".join(lines) + "\n"


def table(rows: Iterable[Sequence[Any]], head: Sequence[str] = ()) -> str:
    """Columns aligned by their widest cell: numbers to the right, text to the left."""
    cells = [[str(cell) for cell in row] for row in rows]
    numeric = [all(_is_number(row[i]) for row in cells) for i in range(len(cells[0]))] if cells else []
    if head:
        cells.insert(0, list(head))
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))] if cells else []
    out = []
    for row in cells:
        padded = [c.rjust(w) if num else c.ljust(w) for c, w, num in zip(row, widths, numeric or [False] * len(row))]
        out.append("  ".join(padded).rstrip())
    return "\n".join(out) + ("\n" if out else "")


def _is_number(text: str) -> bool:
    return text.lstrip("-").isdigit() or text.startswith("0x")


def slots_of(name: str, entries: Sequence[tuple[Any, Any]]) -> list[int] | None:
    """The counters of a map that is a log2 histogram, or None when it is something else.

    A histogram is recognised by convention, as tools recognise theirs: an array of integers with a name that says so
    (HISTOGRAM_NAMES), or a value that is a struct with an array member called `slots`.
    """
    if (
        any(word in name for word in HISTOGRAM_NAMES)
        and len(entries) <= 64
        and entries
        and all(isinstance(k, int) and isinstance(v, int) for k, v in entries)
    ):
        counts = [0] * (max(k for k, _ in entries) + 1)
        for key, value in entries:
            counts[key] = value
        return counts
    return None


def value_text(value: Any) -> str:
    """One typed map key or value as text: structs in braces, byte strings as C strings where they are text."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {value_text(item)}" for name, item in value.items()) + "}"
    if isinstance(value, (bytes, bytearray)):
        return bytes_text(bytes(value))
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(value_text(item) for item in value) + "]"
    return str(value)


def bytes_text(data: bytes) -> str:
    """`b"cat\\0\\0"` -> `"cat"`; bytes that are not text are shown in hexadecimal."""
    text, _, rest = data.partition(b"\0")
    if text and not any(rest) and all(32 <= byte < 127 for byte in text):
        return '"' + text.decode() + '"'
    return data.hex(" ")


def map_text(name: str, entries: Sequence[tuple[Any, Any]]) -> str:
    """A whole map: its histogram(s), or a line per entry."""
    counts = slots_of(name, entries)
    if counts is not None:
        body = log2_histogram(counts) or "  (empty)\n"
        return f"{name}:\n{body}"
    lines = [f"{name}:\n"]
    zeros = 0
    for key, value in entries:
        if len(entries) > SHORT_ARRAY and isinstance(key, int) and value == 0:
            zeros += 1
            continue
        if isinstance(value, Mapping) and isinstance(value.get("slots"), (list, tuple)):
            others = {k: v for k, v in value.items() if k != "slots"}
            lines.append(f"  {value_text(key)}{' ' + value_text(others) if others else ''}\n")
            lines.append(log2_histogram(value["slots"]))
        else:
            lines.append(f"  {value_text(key)}: {value_text(value)}\n")
    if zeros:
        lines.append(f"  ({zeros} entries are zero)\n")
    if len(lines) == 1:
        lines.append("  (empty)\n")
    return "".join(lines)
