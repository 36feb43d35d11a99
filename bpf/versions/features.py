"""What a kernel version has: questions to the tables of data.py.

Callers ask `has_command(version, number)`.  The patch set of January 2015 ("3.20-rfc") has its own program
types.
"""

from __future__ import annotations

from functools import cache

from arch.abi.version import KernelVersion
from bpf import uapi
from bpf.versions.data import COMMANDS, FLAGS, Feature
from bpf.versions.program_types import attach_types, program_type

__all__ = [
    "COMMANDS",
    "FLAGS",
    "Feature",
    "has_attach_type",
    "has_command",
    "has_prog_type",
    "known_flags",
]

_ATTACH_SINCE = {attach.number: attach.since for attach, _ in attach_types()}


def _has(rows: tuple[Feature, ...], version: KernelVersion, number: int) -> bool:
    return 0 <= number < len(rows) and version.at_least(rows[number].since)


def has_prog_type(version: KernelVersion, number: int) -> bool:
    """Loadable: known to this version, not 0, and configured."""
    return program_type(version, number) is not None


def has_command(version: KernelVersion, number: int) -> bool:
    """A command of bpf(2)."""
    return _has(COMMANDS, version, number)


def has_attach_type(version: KernelVersion, number: int) -> bool:
    """An attach type."""
    return number in _ATTACH_SINCE and version.at_least(_ATTACH_SINCE[number])


@cache
def known_flags(version: KernelVersion, kind: str) -> int:
    """All flags that this version knows: "map_flags" of BPF_MAP_CREATE, "prog_flags" of BPF_PROG_LOAD."""
    return sum(getattr(uapi, row.name) for row in FLAGS[kind] if version.at_least(row.since))
