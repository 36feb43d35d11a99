"""The functions that real kernels' available_filter_functions list, in their order: ARCH-VERSION.functions.xz, one name a line,
with a `t` behind those that are static.

Most of them this machine never calls: they are listed, filters and probes take them, and they stay silent.
ARCH-VERSION.refused.xz has the other functions of that kernel's text, and those on its kprobe blacklist, in the same form: no
event's probe may be in them.  ARCH-VERSION.twice.xz has the names that several symbols share, a function's among them, with the letter of each
in order of address: a probe by such a name is refused.  ARCH-VERSION.others.xz has all other symbols, the letter of each behind its name;
ARCH-VERSION.blacklist.xz the names of debugfs' kprobes/blacklist.  Since 6.2 the padding in front of a function is a symbol `__pfx_NAME`: these are
made here, ARCH-VERSION.unpadded.xz has the functions without one.  Written by tests/tools/record_functions.py.
"""

from __future__ import annotations

import lzma
from collections import Counter
from functools import cache
from pathlib import Path

from arch.abi.version import KernelVersion

FOLDER = Path(__file__).parent
PADDING = "__pfx_"
INVALID_PREFIX = "__ftrace_invalid_address__"  # a place behind which no function was kept: listed, and never chosen


@cache
def _table(arch: str, version: str, kind: str) -> tuple[tuple[str, str], ...]:
    """(name, what stands behind it) of each line; empty for a kernel that nobody asked."""
    path = FOLDER / f"{arch}-{version}.{kind}.xz"
    lines = lzma.decompress(path.read_bytes()).decode().splitlines() if path.exists() else []
    return tuple((name, rest) for name, _, rest in (line.partition(" ") for line in lines))


@cache
def _refused(arch: str, version: str) -> tuple[tuple[str, str], ...]:
    """The rows of functions that are refused, with the padding of all functions where it has names."""
    rows = _table(arch, version, "refused")
    if not (FOLDER / f"{arch}-{version}.unpadded.xz").exists():
        return rows
    unpadded = dict(_table(arch, version, "unpadded"))
    padded = (row for row in (*_table(arch, version, "functions"), *rows) if row[0] not in unpadded)
    return (*rows, *dict.fromkeys((PADDING + name, letter) for name, letter in padded))


@cache
def labels(arch: str, version: KernelVersion) -> frozenset[str]:
    """Padding and what has none though functions have: entry code, trampolines and, with a text's letter, data.  Nobody calls these."""
    short = _short(version)
    names = {name for name, _ in _table(arch, short, "unpadded")} - set(functions_of(arch, version))
    return frozenset(names | {name for name in refused_functions(arch, version) if name.startswith(PADDING)})


def _short(version: KernelVersion) -> str:
    return f"{version.major}.{version.minor}"


@cache
def refused_functions(arch: str, version: KernelVersion) -> frozenset[str]:
    """Of a CPU and a version; empty for a kernel that nobody asked."""
    return frozenset(name for name, _ in _refused(arch, _short(version)))


@cache
def shared_names(arch: str, version: KernelVersion) -> dict[str, str]:
    """Name -> letters, as kallsyms has them; empty for a kernel that nobody asked."""
    return dict(_table(arch, _short(version), "twice"))


@cache
def functions_of(arch: str, version: KernelVersion) -> tuple[str, ...]:
    """Of a CPU and a version; a name that several functions share is there several times."""
    return tuple(name for name, _ in _table(arch, _short(version), "functions"))


@cache
def blacklist(arch: str, version: KernelVersion) -> Counter[str]:
    """Where no kprobe may be, and how often the list says so; empty for a kernel that nobody asked."""
    return Counter(name for name, _ in _table(arch, _short(version), "blacklist"))


@cache
def all_letters(arch: str, version: KernelVersion) -> dict[str, str]:
    """The letter of each symbol in kallsyms, several for a name that several have; functions first, each kind in order of address."""
    short = _short(version)
    functions = (*_table(arch, short, "functions"), *_refused(arch, short))
    rows = {name: letter or "T" for name, letter in functions if not name.startswith(INVALID_PREFIX)}
    return rows | shared_names(arch, version) | dict(_table(arch, short, "others"))
