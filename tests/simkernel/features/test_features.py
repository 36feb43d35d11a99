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
@pytest.mark.parametrize("kernel, name", [("5.10", "5_10"), ("6.12", "6_12"), ("7.2", "6_12")])
def test_other_kernels_answer_as_debians(kernel: str, name: str) -> None:
    """bpftool 7.1.0 printed the same on 6.12.117 and 7.2.13; it does not know what came after 6.1."""
    text = feature.text(probe_features(simkernel.boot(kernel=kernel)))
    assert text[text.index("Scanning eBPF program types") :] == recorded(name)


NOT_HERE = ("map_type insn_array", "map_type rhash", "ISA extension v4")  # docs/differences.md


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["6.12", "7.2"])
def test_newer_kernels_have_what_a_newer_bpftool_finds(kernel: str) -> None:
    """bpftool 7.8.0; all types of programs and helpers, and all maps but two."""
    text = feature.text(probe_features(simkernel.boot(kernel=kernel), newer=True))
    wanted = [
        row
        for row in recorded(f"newer_{kernel.replace('.', '_')}").splitlines()
        if not any(word in row for word in NOT_HERE)
    ]
    assert text[text.index("Scanning eBPF program types") :].splitlines() == wanted
