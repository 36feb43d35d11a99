"""`simkernel feature probe` against what libbpf's probes found on the real Linux 6.1 (probe.c)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

import simkernel
from bpf import uapi
from bpf.maps.types import map_types
from bpf.testing.probe import known
from bpf.versions.program_types import program_types
from simkernel.cli import feature
from simkernel.probe_features import EXPECTED, NOISY_HELPERS, probe_features
from simkernel.probe_system import probe_system, system_text
from tests.conftest import DATA

RECORDED = json.loads((Path(__file__).parent / "recorded_6_1.json").read_text())


def test_linux_6_1_has_what_the_real_one_has() -> None:
    found = probe_features(simkernel.boot(kernel="6.1"))
    types = {row.number: row.name.lower() for row in program_types() if known(row.since)}
    assert [n for n, name in types.items() if found["program_types"][f"have_{name}_prog_type"]] == RECORDED[
        "program_types"
    ]
    maps = {row.number: row.name.lower() for row in map_types() if known(row.since)}
    assert [n for n, name in maps.items() if found["map_types"][f"have_{name}_map_type"]] == RECORDED["map_types"]
    for number, name in types.items():
        if number in EXPECTED or number not in RECORDED["program_types"]:
            continue
        want = ["bpf_" + uapi.HELPER_NAMES[h] for h in RECORDED["helpers"][str(number)]]
        quiet = [helper for helper in want if helper.removeprefix("bpf_") not in NOISY_HELPERS]
        assert found["helpers"][f"{name}_available_helpers"] == quiet, name
    assert all(found["misc"].values())


def test_linux_4_1_has_four_program_types_and_two_map_types() -> None:
    found = probe_features(simkernel.boot(kernel="4.1"))
    programs = [name for name, have in found["program_types"].items() if have]
    assert programs == [
        "have_socket_filter_prog_type", "have_kprobe_prog_type", "have_sched_cls_prog_type", "have_sched_act_prog_type",
    ]  # fmt: skip
    assert [name for name, have in found["map_types"].items() if have] == ["have_hash_map_type", "have_array_map_type"]
    assert found["helpers"]["kprobe_available_helpers"] == [
        "bpf_map_lookup_elem", "bpf_map_update_elem", "bpf_map_delete_elem", "bpf_probe_read", "bpf_ktime_get_ns",
    ]  # fmt: skip


def recorded(name: str) -> str:
    return gzip.decompress((DATA / f"feature_probe_{name}.txt.gz").read_bytes()).decode()


@pytest.mark.slow
@pytest.mark.parametrize("kernel, name", [("5.10", "5_10"), ("6.1", "6_1"), ("6.12", "6_12"), ("7.2", "6_12")])
def test_debians_kernels_answer_line_by_line(kernel: str, name: str) -> None:
    """bpftool 7.1.0 printed the same on 6.12.117 and 7.2.13; it does not know what came after 6.1."""
    assert feature.text(probe_features(simkernel.boot(kernel=kernel))) == recorded(name)


SETTINGS = """
JIT compiler is enabled with debugging traces in kernel logs
JIT compiler hardening is enabled for all users
JIT compiler kallsyms exports are disabled
Global memory limit for JIT compiler for unprivileged users is 4096 bytes
"""


def test_how_the_system_is_set_up_is_read_not_known() -> None:
    """What bpftool 7.1.0 printed on the real 6.1 after these writes, and on a kernel without its configuration."""
    machine = simkernel.boot()
    for name, value in (("enable", 2), ("harden", 2), ("kallsyms", 0), ("limit", 4096)):
        machine.session.write_file(f"/proc/sys/net/core/bpf_jit_{name}", str(value))
    said = {0: "for unprivileged users is enabled", 1: "restricted to privileged users (without recovery)"}
    for value, words in said.items():
        machine.session.write_file("/proc/sys/kernel/unprivileged_bpf_disabled", str(value))
        title, first, *lines = system_text(probe_system(machine))
        assert (title, first) == ("Scanning system configuration...", f"bpf() syscall {words}")
        assert lines[:4] == SETTINGS.split("\n")[1:-1]
    assert lines[4:6] == ["CONFIG_BPF is set to y", "CONFIG_BPF_SYSCALL is set to y"]
    assert lines[-1] == "CONFIG_HZ is set to 250" and "CONFIG_BPF_KPROBE_OVERRIDE is not set" in lines


def test_a_kernel_whose_configuration_is_not_known() -> None:
    lines = system_text(probe_system(simkernel.boot(kernel="4.1")))
    assert lines[1:7] == [
        "Unable to retrieve required privileges for bpf() syscall",
        "JIT compiler is enabled",
        "Unable to retrieve JIT hardening status",
        "Unable to retrieve JIT kallsyms export status",
        "Unable to retrieve global memory limit for JIT compiler for unprivileged users",
        "skipping kernel config, can't open file: No such file or directory",
    ]
    assert lines[7] == "CONFIG_BPF is not set" and lines[-1] == "CONFIG_HZ is not set"


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["6.12", "7.2"])
def test_newer_kernels_have_what_a_newer_bpftool_finds(kernel: str) -> None:
    """bpftool 7.8.0, line by line."""
    text = feature.text(probe_features(simkernel.boot(kernel=kernel), newer=True))
    assert text == recorded(f"newer_{kernel.replace('.', '_')}")
