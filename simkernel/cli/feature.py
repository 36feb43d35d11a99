"""`simkernel feature probe`: what BPF a kernel version has, asked as bpftool asks: by trying on a booted machine."""

from __future__ import annotations

import json
import sys

import click

from simkernel.cli.listing import machine_options
from simkernel.probe_features import Report, probe_features
from simkernel.probe_system import system_text

# What bpftool calls the types.  tools/bpf/bpftool, libbpf_bpf_prog_type_str(): the constant without its prefix.
SKIPPED = ("unspec",)


@click.group()
def feature() -> None:
    """BPF features of a kernel version."""


@feature.command()
@machine_options
@click.option("--json", "as_json", is_flag=True, help="A JSON document with bpftool's keys.")
@click.option("--full", is_flag=True, help="Helpers that write to the log or touch user memory too.")
@click.option("--newer", is_flag=True, help="What bpftool 7.1.0 (that of Linux 6.1) does not ask for, too.")
def probe(arch: str, kernel: str, as_json: bool, full: bool, newer: bool) -> None:
    """Try program types, map types and helpers on a machine of that version, and print what works."""
    from simkernel.machine import boot

    try:
        machine = boot(arch=arch, kernel=kernel)
    except ValueError as error:
        print(f"simkernel feature probe: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    found = probe_features(machine, full, newer)
    print(json.dumps(found, indent=4) if as_json else text(found), end="\n" if as_json else "")


def text(found: Report) -> str:
    """As bpftool prints it for people."""
    lines = [*system_text(found["system_config"]), "", "Scanning system call availability..."]
    lines.append(f"bpf() syscall {'is' if found['syscall_config']['have_bpf_syscall'] else 'is NOT'} available")
    lines += ["", "Scanning eBPF program types..."]
    for name, have in found["program_types"].items():
        lines.append(f"eBPF program_type {name.removeprefix('have_').removesuffix('_prog_type')} is {word(have)}")
    lines += ["", "Scanning eBPF map types..."]
    for name, have in found["map_types"].items():
        lines.append(f"eBPF map_type {name.removeprefix('have_').removesuffix('_map_type')} is {word(have)}")
    lines += ["", "Scanning eBPF helper functions..."]
    for name, helpers in found["helpers"].items():
        lines.append(f"eBPF helpers supported for program type {name.removesuffix('_available_helpers')}:")
        supported = found["program_types"][f"have_{name.removesuffix('_available_helpers')}_prog_type"]
        nothing = "Could not determine which helpers are available" if supported else "Program type not supported"
        lines += [f"\t- {helper}" for helper in helpers] or ["\t" + nothing]
    lines += ["", "Scanning miscellaneous eBPF features..."]
    for name, have in found["misc"].items():
        lines.append(f"{MISC_TEXT[name]} is {word(have)}")
    return "\n".join(lines) + "\n\n"


def word(have: bool) -> str:
    """available, or NOT."""
    return "available" if have else "NOT available"


MISC_TEXT = {
    "have_large_insn_limit": "Large program size limit",
    "have_bounded_loops": "Bounded loop support",
    "have_v2_isa_extension": "ISA extension v2",
    "have_v3_isa_extension": "ISA extension v3",
    "have_v4_isa_extension": "ISA extension v4",
}
