"""What a kernel version has: questions to the tables of data.py.

Callers ask `has_command(version, number)`.  The patch set of January 2015 ("3.20-rfc") has its own program types.
"""

from __future__ import annotations

from functools import cache

from arch.abi.version import KernelVersion
from bpf import uapi
from bpf.versions.data import ABILITIES, ATTACH_TYPES, COMMANDS, FLAGS, PROG_TYPES, Feature

__all__ = [
    "ABILITIES",
    "ATTACH_TYPES",
    "COMMANDS",
    "FLAGS",
    "PROG_TYPES",
    "Feature",
    "command_limit",
    "has_ability",
    "has_attach_type",
    "has_command",
    "has_flag",
    "has_prog_type",
    "map_flags",
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


def command_limit(version: KernelVersion) -> int:
    """The first command number this version does not know."""
    return sum(1 for row in COMMANDS if version.at_least(row.since))


def has_attach_type(version: KernelVersion, number: int) -> bool:
    """An attach type."""
    return _has(ATTACH_TYPES, version, number)


@cache
def _since(kind: str) -> dict[str, str]:
    return {row.name: row.since for row in FLAGS[kind]}


def has_flag(version: KernelVersion, kind: str, name: str) -> bool:
    """A flag of `map_flags`, `prog_flags`, ... by its name."""
    since = _since(kind).get(name)
    return since is not None and version.at_least(since)


@cache
def map_flags(version: KernelVersion) -> int:
    """All flags of BPF_MAP_CREATE that this version knows."""
    return sum(int(getattr(uapi, name)) for name, since in _since("map_flags").items() if version.at_least(since))


def has_ability(version: KernelVersion, name: str) -> bool:
    """An ability of the verifier or its surroundings."""
    return any(row.name == name and version.at_least(row.since) for row in ABILITIES)
