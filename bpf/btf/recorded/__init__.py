"""The BTF of real kernels, ARCH-VERSION.btf.xz: what /sys/kernel/btf/vmlinux shows there, to the byte.

Programs are verified against them.  A machine whose structures are laid out as they say (arch/layouts.py) has these types,
functions and per-CPU variables, too; others have the types of our headers.  Written by tests/tools/record_btf.py.
"""

from __future__ import annotations

import lzma
from functools import cache
from pathlib import Path

from arch.abi.version import KernelVersion
from arch.layouts import layout_file
from bpf.btf.lazy import IndexedBtf

FOLDER = Path(__file__).parent


@cache
def recorded_btf(arch: str, version: KernelVersion) -> IndexedBtf | None:
    """Of a CPU and a version; None for a kernel that nobody asked."""
    path = FOLDER / f"{arch}-{version.major}.{version.minor}.btf.xz"
    return IndexedBtf(lambda: lzma.decompress(path.read_bytes())) if path.exists() else None


def machine_btf(arch: str, version: KernelVersion) -> IndexedBtf | None:
    """The same for a machine; None where its structures have other places than the recorded ones."""
    return recorded_btf(arch, version) if layout_file(arch, version).exists() else None
