"""Reading of tables that are kept as text."""

from __future__ import annotations


def numbers(text: str) -> dict[str, int]:
    """`"0 read, 1 write"` -> `{"read": 0, "write": 1}`; a name or a number given twice is an error."""
    result: dict[str, int] = {}
    seen: set[int] = set()
    for item in text.replace("\n", " ").split(","):
        if not item.strip():
            continue
        number, name = item.split()
        if name in result or int(number) in seen:
            raise ValueError(f"{item.strip()} appears twice")
        seen.add(int(number))
        result[name] = int(number)
    return result
