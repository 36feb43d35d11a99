"""sscanf(3) as glibc does it, for the formats libbpf uses: its argument grammar is what sscanf accepts.

White space matches any amount, `%d %ld %u` read an optional sign and decimal digits (and clamp as strtol does),
`%15[...]` and `%15s` read at most so many characters, `%n` stores how far it got and is not counted.
"""

from __future__ import annotations

import re
from functools import cache

from arch.records import dataclass

_SPACE = " \t\n\v\f\r"
_DIRECTIVE = re.compile(r"\s+|%(?:(\d*)(ld|d|u|s|n|%|\[\^?\]?[^\]]*\]))|[^\s%]")
_NUMBER = re.compile(r"[+-]?\d+")


@dataclass(frozen=True, slots=True)
class Directive:
    kind: str  # "space", "literal", "d", "ld", "u", "s", "set", "n"
    text: str = ""
    width: int = 0
    pattern: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """`count` conversions were stored; `length` is what %n stored, None if it was not reached."""

    count: int
    values: tuple[int | str, ...]
    length: int | None


@cache
def compile_format(text: str) -> tuple[Directive, ...]:
    out = []
    for match in _DIRECTIVE.finditer(text):
        width, conversion = match[1], match[2]
        if conversion is None:
            piece = match[0]
            out.append(Directive("space") if piece[0] in _SPACE else Directive("literal", piece))
        elif conversion == "%":
            out += [Directive("space"), Directive("literal", "%")]  # glibc skips white space before %%
        elif conversion.startswith("["):
            out.append(Directive("set", "", int(width or 0), re.compile(_character_class(conversion))))
        else:
            out.append(Directive(conversion, "", int(width or 0)))
    return tuple(out)


def _character_class(conversion: str) -> str:
    return conversion.replace("\\", "\\\\").replace("[^)]", "[^)]") + "+"


def scanf(text: str, format: str) -> Match:
    """How far a text matches a format."""
    position, values = 0, []
    length: int | None = None
    for directive in compile_format(format):
        if directive.kind == "space":
            position = _skip(text, position)
            continue
        if directive.kind == "literal":
            if not text.startswith(directive.text, position):
                break
            position += 1
            continue
        if directive.kind == "n":
            length = position
            continue
        if directive.kind != "set":
            position = _skip(text, position)
        value, position = _convert(text, position, directive)
        if value is None:
            break
        values.append(value)
    return Match(len(values), tuple(values), length)


def _skip(text: str, position: int) -> int:
    while position < len(text) and text[position] in _SPACE:
        position += 1
    return position


def _convert(text: str, position: int, directive: Directive) -> tuple[int | str | None, int]:
    if directive.kind == "set":
        assert directive.pattern is not None
        match = directive.pattern.match(text, position, position + directive.width if directive.width else len(text))
        return (match[0], match.end()) if match else (None, position)
    if directive.kind == "s":
        end = position
        while end < len(text) and text[end] not in _SPACE and (not directive.width or end - position < directive.width):
            end += 1
        return (text[position:end], end) if end > position else (None, position)
    match = _NUMBER.match(text, position)
    if match is None or not match[0].isascii():
        return None, position
    return _clamp(int(match[0]), directive.kind), match.end()


def _clamp(value: int, kind: str) -> int:
    """strtol and strtoul on a 64-bit long, then the cast to int."""
    if kind == "u":
        if abs(value) >= 1 << 64:
            value = (1 << 64) - 1
        return value & 0xFFFFFFFF
    value = max(-(1 << 63), min((1 << 63) - 1, value))
    return value if kind == "ld" else ((value & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000
