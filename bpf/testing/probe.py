"""What a kernel version can do, asked as bpftool asks it: `bpftool feature probe`.

tools/bpf/bpftool/feature.c and tools/lib/bpf/libbpf_probes.c of Linux 6.1.  bpftool finds out by loading tiny
programs and creating maps; the answers here come from the same tables that decide about such loads, so asking is
quick, and tests/bpf/tables/test_probe.py loads the programs to see that both agree.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from arch.abi.version import NEWEST, KernelVersion
from arch.records import dataclass
from bpf.helpers.table import helper_rows
from bpf.maps.types import has_map_type, map_types
from bpf.verifier.protos.choose import ALL_CAPS, DEBIAN_6_1, ProgramFacts, get_func_proto
from bpf.versions import features
from bpf.versions.program_types import (
    PROGRAM_TYPES,
    RFC_PROGRAM_TYPES,
    attach_number,
    program_types,
    types_where,
)

# bpftool leaves these out unless it is asked for everything: merely loading them writes to the kernel's log.
NOISY_HELPERS = ("trace_printk", "trace_vprintk", "probe_write_user")

# libbpf_probes.c:probe_prog_load(): what a type must say it is for, to be loadable at all
_ATTACH_TYPE = {row.number: attach_number(row.probe_attach or row.default_attach) for row in program_types()}

# libbpf_probe_bpf_helper() does not know what to attach these to
_NO_HELPER_PROBE = types_where(lambda row: "btf_target" in row.traits)

_MISC: tuple[tuple[str, str, str], ...] = (
    #  name in JSON              in words                     since
    ("large_insn_limit", "Large program size limit", "5.2"),
    ("bounded_loops", "Bounded loop support", "5.3"),
    ("v2_isa_extension", "ISA extension v2", "4.14"),
    ("v3_isa_extension", "ISA extension v3", "5.1"),
)


@dataclass(frozen=True, slots=True)
class Probe:
    """All answers about one version, by bpftool's names in the order of the kernel's numbers."""

    prog_types: dict[str, bool]
    map_types: dict[str, bool]
    helpers: dict[str, tuple[str, ...] | None]  # None: cannot be found out by loading a program
    misc: dict[str, bool]

    def as_json(self) -> dict[str, Any]:
        """The layout of `bpftool -j feature probe`."""
        return {
            "syscall_config": {"have_bpf_syscall": True},
            "program_types": {f"have_{name}_prog_type": have for name, have in self.prog_types.items()},
            "map_types": {f"have_{name}_map_type": have for name, have in self.map_types.items()},
            "helpers": {f"{name}_available_helpers": list(found or ()) for name, found in self.helpers.items()},
            "misc": {f"have_{name}": have for name, have in self.misc.items()},
        }

    def json_text(self) -> str:
        """As one line of JSON."""
        return json.dumps(self.as_json(), separators=(",", ":"))

    def text(self) -> str:
        """As bpftool prints it."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield from ("Scanning system call availability...", "bpf() syscall is available", "")
        yield "Scanning eBPF program types..."
        yield from (_available(f"eBPF program_type {name}", have) for name, have in self.prog_types.items())
        yield from ("", "Scanning eBPF map types...")
        yield from (_available(f"eBPF map_type {name}", have) for name, have in self.map_types.items())
        yield from ("", "Scanning eBPF helper functions...")
        for name, found in self.helpers.items():
            yield f"eBPF helpers supported for program type {name}:"
            yield from self._helper_lines(name, found)
        yield from ("", "Scanning miscellaneous eBPF features...")
        yield from (_available(words, self.misc[name]) for name, words, _ in _MISC)
        yield ""

    def _helper_lines(self, prog_type: str, found: tuple[str, ...] | None) -> Iterator[str]:
        if not self.prog_types[prog_type]:
            yield "\tProgram type not supported"
        elif not found:
            yield "\tCould not determine which helpers are available"
        else:
            yield from (f"\t- {helper}" for helper in found)


def known(since: str) -> bool:
    """bpftool 7.1.0, that of Linux 6.1, asks for what came with this version."""
    return NEWEST.at_least(since)


def _available(what: str, have: bool) -> str:
    return f"{what} is {'available' if have else 'NOT available'}"


def prog_type_names(version: KernelVersion = NEWEST) -> dict[int, str]:
    """bpftool's name of each program type."""
    rows = RFC_PROGRAM_TYPES if version.is_rfc else PROGRAM_TYPES
    return {n: row.name.lower() for n, row in sorted(rows.items()) if version.is_rfc or known(row.since)}


def _modern_helpers(version: KernelVersion, prog_type: int, config: frozenset[str]) -> tuple[str, ...]:
    facts = ProgramFacts(prog_type, _ATTACH_TYPE.get(prog_type, 0), ALL_CAPS, version=version, config=config)
    return tuple(row.name for row in helper_rows() if get_func_proto(row.number, facts))


def _classic_helpers(version: KernelVersion, prog_type: int) -> tuple[str, ...]:
    from bpf.verifier.classic.types import available, func_limit, program_type

    kind = program_type(prog_type, version, None)
    rows = sorted(kind.helpers.items()) if kind is not None else []
    return tuple(row.name for number, row in rows if number < func_limit(version) and available(row, version))


def helpers_of(
    version: KernelVersion, prog_type: int, *, full: bool = False, config: frozenset[str] = DEBIAN_6_1
) -> tuple[str, ...] | None:
    """Names of the helpers a program type may call; None where no probe can tell."""
    if prog_type in _NO_HELPER_PROBE or not features.has_prog_type(version, prog_type):
        return None
    if version.is_rfc or version.before("4.9"):
        names = _classic_helpers(version, prog_type)
    else:
        names = _modern_helpers(version, prog_type, config)
    return tuple(f"bpf_{name}" for name in names if full or name not in NOISY_HELPERS)


def probe(version: KernelVersion, *, full: bool = False, config: frozenset[str] = DEBIAN_6_1) -> Probe:
    """Ask everything.  `full` includes helpers that bpftool leaves out by default."""
    progs = prog_type_names(version)
    maps = {row.number: row.name.lower() for row in map_types() if known(row.since)}
    return Probe(
        {name: features.has_prog_type(version, n) for n, name in progs.items()},
        {name: has_map_type(version, n) for n, name in maps.items()},
        {name: helpers_of(version, n, full=full, config=config) for n, name in progs.items()},
        {name: version.at_least(since) and not version.is_rfc for name, _, since in _MISC},
    )
