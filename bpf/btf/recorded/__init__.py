"""The BTF of real kernels, ARCH-VERSION.btf.xz: what /sys/kernel/btf/vmlinux shows there, to the byte.

A machine of that version and CPU has these types, functions and per-CPU variables, and its structures are laid out as they
say (arch/layouts.py).  Written by tests/tools/record_btf.py.
"""

from __future__ import annotations

import lzma
from functools import cache
from pathlib import Path

from arch.abi.version import KernelVersion
from bpf.btf.lazy import IndexedBtf

FOLDER = Path(__file__).parent


@cache
def recorded_btf(arch: str, version: KernelVersion) -> IndexedBtf | None:
    """Of a CPU and a version; None for a kernel that nobody asked."""
    path = FOLDER / f"{arch}-{version.major}.{version.minor}.btf.xz"
    return IndexedBtf(lambda: lzma.decompress(path.read_bytes())) if path.exists() else None
