"""Texts of fields and names of functions against what a user wrote: whole, with stars at its ends, or a glob.  trace_events_filter.c, lib/glob.c."""

from __future__ import annotations

from collections.abc import Callable


def cut(data: bytes) -> bytes:
    """Up to the NUL."""
    return data.split(b"\0", 1)[0]


def full_match(pattern: bytes) -> Callable[[bytes, int], bool]:
    """regex_match_full(): equal as far as the field goes."""
    return lambda data, room: data == pattern and room >= len(pattern)


def build_glob(text: str) -> tuple[bool, Callable[[bytes, int], bool]]:
    """filter_parse_regex(): (inverted, match) of a `~` pattern: whole, front, end, middle or a real glob."""
    inverted = text.startswith("!")
    body = text[1:] if inverted else text
    if body[:1].isdigit():
        return inverted, full_match(body.encode("latin-1"))
    kind = "full"
    for i, char in enumerate(body):
        if char == "*":
            if not i:
                kind = "end"
            elif i == len(body) - 1:
                kind = "middle" if kind == "end" else "front"
            else:
                kind = "glob"
                break
        elif char in "[?\\":
            kind = "glob"
            break
    if kind == "glob":
        pattern = body.encode("latin-1")
        return inverted, lambda data, room: glob_match(pattern, data)
    if kind in ("front", "middle"):
        body = body[:-1]
    search = (body[1:] if body.startswith("*") else body).encode("latin-1")
    if kind == "front":
        return inverted, lambda data, room: data.startswith(search)
    if kind == "end":
        return inverted, lambda data, room: data.endswith(search)
    if kind == "middle":
        return inverted, lambda data, room: search in data
    return inverted, full_match(search)


def glob_match(pattern: bytes, data: bytes) -> bool:
    """lib/glob.c: * ? [a-z] [!a-z] and \\ before a plain character.  Only the last * is ever tried anew, at most once for each byte."""
    p = d = 0
    star, tried = -1, 0  # behind the last *; up to where it matches
    while True:
        if pattern[p : p + 1] == b"*":
            p += 1
            star, tried = p, d
            continue
        if d == len(data):
            return p == len(pattern)
        after = _glob_one(pattern, p, data[d])
        if after:
            p, d = after, d + 1
        elif star < 0:
            return False
        else:
            tried += 1
            p, d = star, tried


def _glob_one(pattern: bytes, p: int, byte: int) -> int:
    """The place behind what matches one byte; 0 when it does not."""
    if p >= len(pattern):
        return 0
    char = pattern[p]
    if char == ord("["):
        matched, end = _glob_class(pattern, p, byte)
        if end:
            return end if matched else 0
    elif char == ord("\\") and p + 1 < len(pattern):
        p += 1
        return p + 1 if pattern[p] == byte else 0
    return p + 1 if char in (ord("?"), byte) else 0


def _glob_class(pattern: bytes, p: int, byte: int) -> tuple[bool, int]:
    """(matches, index after the class); index 0 for a class that is not closed: then [ is a plain character."""
    i = p + 1
    inverted = pattern[i : i + 1] == b"!"
    i += inverted
    matched, first = False, True
    while True:
        if i >= len(pattern):
            return False, 0
        if pattern[i : i + 1] == b"]" and not first:
            return matched != inverted, i + 1
        low = high = pattern[i]
        if pattern[i + 1 : i + 2] == b"-" and pattern[i + 2 : i + 3] not in (b"", b"]"):
            high = pattern[i + 2]
            i += 2
        matched = matched or low <= byte <= high
        i += 1
        first = False
