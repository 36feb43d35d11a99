"""Heat maps of latencies: a row of cells per moment, the darker the more events; for terminals, as text, and as PNG.

A cell's shade is 12 * count / (largest count of the row + 1).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence

# ANSI 256-colour backgrounds, light to dark, and what stands for them in text without colour.
SHADES = (255, 252, 250, 248, 246, 244, 242, 240, 238, 236, 234, 232)
SYMBOLS = "  ..**ooOO##"
RESET = "\033[00m"
CELL = 8  # pixels of a cell's side in a PNG


def levels(counts: Sequence[int]) -> list[int]:
    """The shade of each cell, 0 to 11."""
    largest = max(counts, default=0)
    return [len(SHADES) * count // (largest + 1) for count in counts]


def cell(level: int, colour: bool = True) -> str:
    """One cell for a terminal, or its symbol."""
    return f"\033[48;5;{SHADES[level]}m {RESET}" if colour else SYMBOLS[level]


def row(counts: Sequence[int], colour: bool = True) -> str:
    """A row of cells."""
    return "".join(cell(level, colour) for level in levels(counts))


def gray(level: int) -> int:
    """The brightness of a shade on a terminal: colours 232 to 255 are grays from 8 to 238."""
    return 8 + 10 * (SHADES[level] - 232)


def png(rows: Sequence[Sequence[int]]) -> bytes:
    """A picture of some rows, newest at the bottom: 8-bit grayscale, 8 by 8 pixels a cell."""
    width = max((len(counts) for counts in rows), default=0)
    lines = bytearray()
    for counts in rows:
        pixels = b"".join(bytes([gray(level)]) * CELL for level in levels(counts)).ljust(width * CELL, b"\xff")
        lines += (b"\0" + pixels) * CELL  # filter type 0: none
    header = struct.pack(">IIBBBBB", width * CELL, len(rows) * CELL, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        chunk(kind, data)
        for kind, data in ((b"IHDR", header), (b"IDAT", zlib.compress(bytes(lines), 9)), (b"IEND", b""))
    )


def chunk(kind: bytes, data: bytes) -> bytes:
    """Length, type, data, checksum of type and data."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
