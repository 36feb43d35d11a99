"""What a kernel version has: questions to the tables of data.py.

Callers ask `has_command(version, number)`.  The patch set of January 2015 ("3.20-rfc") has its own program types.
"""

from __future__ import annotations

from functools import cache

from arch.abi.version import KernelVersion
from bpf import uapi
from bpf.versions.data import ATTACH_TYPES, COMMANDS, FLAGS, PROG_TYPES, Feature

__all__ = [
    "ATTACH_TYPES",
    "COMMANDS",
    "FLAGS",
    "PROG_TYPES",
    "Feature",
    "has_attach_type",
    "has_command",
    "has_prog_type",
    "known_flags",
]

RFC_PROG_TYPES = ("UNSPEC", "SOCKET_FILTER", "TRACING_FILTER", "KPROBE_FILTER")

# Program types the kernel knows but Debian's configuration leaves out: BPF_LIRC_MODE2.
NOT_CONFIGURED = frozenset({uapi.BPF_PROG_TYPE_LIRC_MODE2})


def _has(rows: tuple[Feature, ...], version: KernelVersion, number: int) -> bool:
    return 0 <= number < len(rows) and version.at_least(rows[number].since)


def has_prog_type(version: KernelVersion, number: int) -> bool:
    """Loadable: known to this version, not 0, and configured."""
    if version.is_rfc:
        return 0 < number < len(RFC_PROG_TYPES)
    return number > 0 and number not in NOT_CONFIGURED and _has(PROG_TYPES, version, number)


def has_command(version: KernelVersion, number: int) -> bool:
    """A command of bpf(2)."""
    return _has(COMMANDS, version, number)


def has_attach_type(version: KernelVersion, number: int) -> bool:
    """An attach type."""
    return _has(ATTACH_TYPES, version, number)


@cache
def known_flags(version: KernelVersion, kind: str) -> int:
    """All flags that this version knows: "map_flags" of BPF_MAP_CREATE, "prog_flags" of BPF_PROG_LOAD."""
    return sum(getattr(uapi, row.name) for row in FLAGS[kind] if version.at_least(row.since))
