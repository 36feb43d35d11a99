"""The functions that real kernels' available_filter_functions list, in their order: ARCH-VERSION.functions.xz, one name a line.

Most of them this machine never calls: they are listed, filters and probes take them, and they stay silent.
ARCH-VERSION.refused.xz has the other functions of that kernel's text, and those on its kprobe blacklist: no event's probe may
be in them.  Both are written by tests/tools/record_functions.py.
"""

from __future__ import annotations

import lzma
from functools import cache
from pathlib import Path

from arch.abi.version import KernelVersion

FOLDER = Path(__file__).parent


@cache
def recorded_functions(arch: str, version: str) -> tuple[str, ...]:
    """Names; empty for a kernel that nobody asked."""
    path = FOLDER / f"{arch}-{version}.functions.xz"
    return tuple(lzma.decompress(path.read_bytes()).decode().split()) if path.exists() else ()


@cache
def refused_functions(arch: str, version: KernelVersion) -> frozenset[str]:
    """Of a CPU and a version; empty for a kernel that nobody asked."""
    path = FOLDER / f"{arch}-{version.major}.{version.minor}.refused.xz"
    return frozenset(lzma.decompress(path.read_bytes()).decode().split()) if path.exists() else frozenset()


def functions_of(arch: str, version: KernelVersion) -> tuple[str, ...]:
    """Of a CPU and a version."""
    return recorded_functions(arch, f"{version.major}.{version.minor}")
