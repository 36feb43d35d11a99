"""Texts of tracefs that real kernels' are, by version, as Debian's x86-64 kernels gave them; written by tests/tools/record_texts.py.

ARCH-VERSION.readme.xz   the file README
ARCH-VERSION.strings.xz  the strings of printk_formats, in its order
"""

from __future__ import annotations

import lzma
from pathlib import Path

from arch.abi.version import KernelVersion

FOLDER = Path(__file__).parent


def recorded_text(kind: str, version: KernelVersion) -> str | None:
    """Of a version; None for one that nobody asked."""
    path = FOLDER / f"x86_64-{version.major}.{version.minor}.{kind}.xz"
    return lzma.decompress(path.read_bytes()).decode() if path.exists() else None
