"""C text cut into tokens and into top-level declarations, and the conditions that stand behind declarations.

A comment directly after a declaration, member or enumerator makes it conditional:

    int on_cpu;          /* since 5.14 */       present from 5.14 on
    long state;          /* until 5.14 */       gone from 5.14 on
    typedef int ssize_t; /* bits 32 */          only where a long has 32 bits
    int both;            /* since 4.2 until 5.9 */

What only one architecture has stands in its own header (arch/NAME/*.h).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from arch.abi.version import KernelVersion
from arch.ctype import CTypeError
from arch.datamodel import DataModel

pattern = cache(re.compile)  # at the first use: a start that finds its types laid out reads no C

_TOKEN = (
    r"""\s+ | //[^\n]* | \\\n
    | (?P<comment>/\*.*?\*/)
    | (?P<define>^[ \t]*\#[ \t]*define[ \t]+(?:\\\n|[^\n])*) | ^[ \t]*\#(?:\\\n|[^\n])*
    | (?P<name>[A-Za-z_]\w*)
    | (?P<number>0[xX][0-9a-fA-F]+[uUlL]*|\d+[uUlL]*)
    | (?P<char>'(?:\\.|[^'\\])')
    | (?P<string>"(?:\\.|[^"\\])*")
    | (?P<op>\.\.\.|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!<>=?:;,.()\[\]{}])""",
    re.X | re.S | re.M,
)
_CONDITION = r"\b(since|until|bits)\s+([\d.]+)"
_CONDITIONAL = r"/\*\s*(?:since|until|bits)\s+\d"


class Conditions:
    """What holds for the kernel whose headers are read."""

    def __init__(self, version: KernelVersion, model: DataModel) -> None:
        self.version = version
        self.model = model

    def hold(self, comment: str) -> bool:
        """Whether a conditional comment's declaration is there."""
        for word, value in pattern(_CONDITION).findall(comment):
            if word == "bits":
                if self.model.word_bits != int(value):
                    return False
            elif self.version.at_least(value) != (word == "since"):
                return False
        return True


class Token(NamedTuple):
    kind: str
    text: str


def tokenize(text: str, filename: str = "<text>") -> list[Token]:
    """Tokens of C text; only conditional comments survive, as kind "comment"."""
    tokens: list[Token] = []
    position = 0
    token, conditional = pattern(*_TOKEN), pattern(_CONDITIONAL)
    while position < len(text):
        match = token.match(text, position)
        if match is None:
            line = text.count("\n", 0, position) + 1
            raise CTypeError(f"{filename}:{line}: cannot read {text[position : position + 20]!r}")
        position = match.end()
        kind = match.lastgroup
        if kind is None or (kind == "comment" and not conditional.match(match[0])):
            continue
        tokens.append(Token(kind, match[0]))
    return tokens


class Chunk:
    """One top-level declaration, parsed at most once."""

    __slots__ = ("done", "filename", "text")

    def __init__(self, text: str, filename: str) -> None:
        self.text = text
        self.filename = filename
        self.done = False


CUT = (r"/\*.*?\*/|//[^\n]*|^[ \t]*#(?:\\\n|[^\n])*|\"(?:\\.|[^\"\\])*\"|[{};]", re.S | re.M)
DEFINE = r"[ \t]*#[ \t]*define[ \t]+(\w+)(?![\w(])((?:\\\n|[^\n])*)"
TAGGED = r"\b(struct|union|enum)\s+(?:__attribute__\s*\(\(.*?\)\)\s*)?(\w+)\s*\{"
TRAILING = (r"[ \t]*(/\*.*?\*/)", re.S)


def cut(text: str) -> Iterator[str]:
    """The top-level declarations and #defines of a text, with their trailing conditions."""
    depth = start = 0
    position = 0
    cuts, trails, conditional = pattern(*CUT), pattern(*TRAILING), pattern(_CONDITIONAL)
    while True:
        match = cuts.search(text, position)
        if match is None:
            break
        position = match.end()
        what = match[0]
        if what == "{":
            depth += 1
        elif what == "}":
            depth -= 1
        elif what == ";" and depth == 0:
            while (trailing := trails.match(text, position)) and conditional.match(trailing[1]):
                position = trailing.end()
            yield text[start:position]
            start = position
        elif what.lstrip().startswith("#") and depth == 0:
            yield what
            start = position
    rest = text[start:]
    if cuts.sub("", rest).strip():
        raise CTypeError(f"unfinished declaration: {rest.strip()[:60]!r}")
