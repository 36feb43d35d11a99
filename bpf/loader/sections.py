"""What an ELF section's name says about the program in it.  tools/lib/bpf/libbpf.c: section_defs[] of libbpf 1.8.

A name ending in "+" also takes something after a slash (`kprobe+` is `kprobe` or `kprobe/vfs_write`), one ending in
"/" must have it, others are exact.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import or_

from arch.records import dataclass
from bpf.versions.program_types import RFC_PROGRAM_TYPES, ProgramType, program_types

# The tree of January 2015 (3.20-rfc), whose program types have numbers of their own; bpf/loader/bpf_load.py.
RFC_ONLY = tuple(row for row in RFC_PROGRAM_TYPES.values() if row.since == "3.20-rfc")
TRACING_FILTER_2015, KPROBE_FILTER_2015 = (row.number for row in RFC_ONLY)
ATTACHABLE = 1  # takes part in BPF_PROG_ATTACH: expected_attach_type is given
ATTACHABLE_OPT = 3  # ... if the kernel knows expected_attach_type
ATTACH_BTF = 4  # attaches to a BTF id
SLEEPABLE = 8
XDP_FRAGS = 16


@dataclass(frozen=True, slots=True)
class Section:
    name: str
    prog_type: int
    attach_type: int = 0
    flags: int = 0
    attach: str = ""  # method of bpf.loader.attach that auto-attach uses


_FLAGS = {
    "exp": ATTACHABLE,
    "opt": ATTACHABLE_OPT,
    "btf": ATTACH_BTF,
    "sleep": SLEEPABLE,
    "frags": XDP_FRAGS,
}


def _sections(row: ProgramType) -> Iterator[Section]:
    for name in row.sections:
        flags = reduce(or_, (_FLAGS[word] for word in name.flags), 0)
        yield Section(name.name, row.number, name.attach_type, flags, name.attach)


# Exact names stand before those that take something after a slash, and long ones before the short ones they begin with.
SECTIONS = tuple(
    sorted(
        (section for row in (*program_types(), *RFC_ONLY) for section in _sections(row)),
        key=lambda section: (section.name.endswith("+"), -len(section.name)),
    )
)


def matches(section: Section, name: str) -> bool:
    """libbpf.c: sec_def_matches()."""
    if section.name.endswith("/"):
        return name.startswith(section.name)
    if section.name.endswith("+"):
        stem = section.name[:-1]
        return name == stem or name.startswith(stem + "/")
    return name == section.name


def find(name: str) -> Section | None:
    """The rule for a section name, or None.  A leading "?" (do not load by default) is not part of the name."""
    return next((section for section in SECTIONS if matches(section, name.lstrip("?"))), None)


def target(name: str) -> str:
    """What comes after the slash: `kprobe/vfs_write` -> `vfs_write`."""
    return name.lstrip("?").partition("/")[2]
