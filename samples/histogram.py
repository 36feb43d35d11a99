"""The histogram of write sizes that tracex2 and tracex4 print."""

from __future__ import annotations

from collections.abc import Sequence

MAX_STARS = 38


def stars(value: int, largest: int) -> str:
    """A bar: one mark less than the share of 38 columns, at most 37."""
    return "*" * max(0, min(MAX_STARS * value // largest - 1, MAX_STARS - 1)) if largest else ""


def histogram(counts: Sequence[int], title: str) -> str:
    """Rows of powers of two up to the last slot in use."""
    lines = [f"           {title}", "     byte_size       : count     distribution"]
    last = max((slot for slot, count in enumerate(counts) if count), default=-1)
    largest = max(counts, default=0)
    for i in range(1, last + 2):
        low, high, count = (1 << i) >> 1, (1 << i) - 1, counts[i - 1]
        lines.append(f"{low:>8} -> {high:<8} : {count:<8} |{stars(count, largest):<38}|")
    return "\n".join(lines) + "\n"
