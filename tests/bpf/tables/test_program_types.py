"""A row of bpf/versions/program_types.py is the one place that says what a program type is."""

import subprocess
import sys
from pathlib import Path

import pytest

from arch.abi.version import NEWEST, RELEASES, KernelVersion
from bpf import uapi
from bpf.helpers import HELPERS
from bpf.helpers.kfunc_rows import FLAGS, TRUSTED_BY_DEFAULT
from bpf.helpers.kfunc_rows import ROWS as KFUNCS
from bpf.helpers.table import GIVEN
from bpf.loader.sections import find
from bpf.syscall.test_run import TEST_RUNS
from bpf.verifier.calls.kfuncs import kfunc_flags
from bpf.verifier.context import ctx, ctx_layout
from bpf.verifier.protos.choose import FUNC_PROTOS
from bpf.verifier.rewrite.ctx_access import _CONVERT
from bpf.versions.program_types import PROGRAM_TYPES, RFC_PROGRAM_TYPES, attach_types, program_type, program_types

ROOT = Path(__file__).parents[3]
LAYOUTS = {layout.name for layout in vars(ctx_layout).values() if isinstance(layout, ctx_layout.CtxLayout)}

# Known to everything that is derived, when the row stands there before the tables are made.
TOY = """
from bpf.versions.program_types import declare

declare(33, "TOY", "6.0", context="xdp_md", kernel_context="xdp_buff", helpers="xdp", convert="xdp", test_run="xdp",
        needs="bpf perfmon", packets="read", traits="checked cgroup", sections="toy+ - sleep kprobe")

from arch.abi.version import KernelVersion
from bpf.core import load
from bpf.loader.sections import SLEEPABLE, find
from bpf.syscall import link, test_run
from bpf.testing.probe import probe
from bpf.verifier.context.btf_walk import CTX_CONVERT
from bpf.verifier.protos import attach_rules, choose
from bpf.verifier.rewrite.ctx_access import CONVERTERS
from bpf.versions import features

old, new = KernelVersion.parse("5.19"), KernelVersion.parse("6.1")
assert features.has_prog_type(new, 33) and not features.has_prog_type(old, 33)
section = find("toy/x")
assert section.prog_type == 33 and section.flags == SLEEPABLE and section.attach == "kprobe"
assert probe(new).prog_types["toy"] and not probe(old).prog_types["toy"]
assert "bpf_xdp_adjust_head" in probe(new).helpers["toy"]
assert test_run._RUNS[33] is test_run._run_xdp and CONVERTERS[33] is CONVERTERS[6]
assert CTX_CONVERT[33] == (("xdp_md",), "xdp_buff")
assert 33 in attach_rules.PERFMON_PROG_TYPES & attach_rules.PACKET_READ_ONLY_PROG_TYPES & link.CGROUP_TYPES
assert attach_rules.EXPECTED_ATTACH_TYPES[33] == (0,)

from docs.bpf_tables import page
from simkernel.probe_features import EXTRA

assert EXTRA[33] == {}
assert "`TOY`" in page()
"""


def test_every_program_type_of_the_header_has_its_row():
    rows = program_types()
    assert {row.number: row.name for row in rows} == {n: name for n, name in uapi.PROG_TYPE_NAMES.items() if n}
    assert all(row.since in RELEASES for row in rows)
    assert [row.since for row in rows] == sorted((row.since for row in rows), key=KernelVersion.parse)


def test_every_attach_type_of_the_header_stands_in_one_row():
    assert [(row.number, f"BPF_{row.name}") for row, _ in attach_types()] == sorted(uapi.ATTACH_TYPE_NAMES.items())


@pytest.mark.parametrize("row", program_types(), ids=lambda row: row.name)
def test_what_a_row_names_is_there(row):
    assert row.helpers in FUNC_PROTOS or row.name == "EXT"  # it sees what the program sees that it replaces
    assert not row.test_run or row.test_run in TEST_RUNS
    assert not row.convert or row.convert in _CONVERT or row.name == "PERF_EVENT"
    assert row.number in ctx.CHECKS or row.name == "EXT"
    assert not row.convert or row.context[0] in LAYOUTS or row.name == "PERF_EVENT"
    assert not row.kfuncs or any(kfunc.allows(row.kfuncs) for rows in KFUNCS.values() for kfunc in rows)
    own = {attach.name for attach in row.attach_types}
    assert {row.default_attach, row.probe_attach} - {""} <= own
    assert all(section.attach_type in {0, *(attach.number for attach in row.attach_types)} for section in row.sections)
    for section in row.sections:
        assert find(section.name.rstrip("+")).prog_type == row.number


def test_nothing_that_rows_may_name_is_left_over():
    rows = program_types()
    assert set(FUNC_PROTOS) == {row.helpers for row in rows} - {""}
    assert set(TEST_RUNS) == {row.test_run for row in rows} - {""}
    assert set(_CONVERT) == {row.convert for row in rows} - {"", "pe_prog"}
    assert set(FUNC_PROTOS) & set(GIVEN)


def test_a_version_knows_the_rows_until_it():
    for release in RELEASES:
        version = KernelVersion.parse(release)
        if version.is_rfc:
            continue
        known = [row.name for row in program_types() if program_type(version, row.number)]
        assert known == [
            row.name for row in program_types() if version.at_least(row.since) and row.name != "LIRC_MODE2"
        ]
    assert program_type(NEWEST, 0) is None and program_type(NEWEST, 99) is None


def test_the_patch_set_of_2015_has_its_own_numbers():
    assert [row.name for row in RFC_PROGRAM_TYPES.values()] == ["SOCKET_FILTER", "TRACING_FILTER", "KPROBE_FILTER"]
    assert RFC_PROGRAM_TYPES[1] is PROGRAM_TYPES[1]
    assert find("events/kprobes/x").prog_type == 3 and find("events/x").prog_type == 2


def _may_call(row, kind, version):
    own = kind.kfuncs and version.at_least(kind.kfuncs_since)
    return row.allows("") or bool(own and (row.allows(kind.kfuncs) or row.allows(kind.name.lower())))


def test_a_kernel_function_has_a_body_or_says_so():
    rows = [row for of_name in KFUNCS.values() for row in of_name]
    assert len(rows) > 250 and len({(row.name, row.since, row.kfunc_set) for row in rows}) == len(rows)
    for row in rows:
        assert (row.name in HELPERS) == (not row.missing.endswith("a body")), row.name
        version = KernelVersion.parse(row.since)
        attach, module = (*row.kfunc_set.attach, 0)[0], row.kfunc_set.module
        default = FLAGS["trusted"] if version.at_least(TRUSTED_BY_DEFAULT) else 0
        others = {other.mask | default for other in KFUNCS[row.name] if version.within(other.since, other.until)}
        for kind in PROGRAM_TYPES.values():
            flags = kfunc_flags(row.name, kind.number, version, attach, module)
            assert flags in others if _may_call(row, kind, version) else flags is None or len(others) > 1, row
            assert kfunc_flags(row.name, kind.number, version, attach, "other") is None


def test_a_new_row_is_known_everywhere():
    subprocess.run([sys.executable, "-c", TOY], check=True, cwd=ROOT)
