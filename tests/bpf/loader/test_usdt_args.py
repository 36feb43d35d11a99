"""USDT argument strings against recorded results of libbpf's own parser."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arch.architecture import get
from bpf.loader.usdt_args import TYPE_NAMES, ArgumentError, parse_arguments

DATA = Path(__file__).resolve().parents[2] / "data" / "usdt_args_given.json.gz"
CASES = json.loads(gzip.decompress(DATA.read_bytes()))["cases"]

USDT = {name: get(name).usdt for name in ("x86_64", "i386", "s390x", "riscv64", "arm")} | {"aarch64": get("arm64").usdt}


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['arch']}-{c['args'][:24]}")
def test_recorded(case):
    version = (1, 1) if case["version"] == "1.1" else (1, 8)
    try:
        found = parse_arguments(case["args"], USDT[case["arch"]], version=version)
        ret, warning = 0, ""
    except ArgumentError as error:
        ret, warning, found = -error.errno, error.warning, []
    if case["ret"] == "undefined":
        assert ret < 0
        return
    assert (ret, warning) == (case["ret"], case["warning"])
    rows = []
    for a in found:
        row = {"type": TYPE_NAMES[a.type], "val_off": a.val_off, "reg_off": a.reg_off, "signed": a.signed,
               "bitshift": a.bitshift}  # fmt: skip
        if a.type == 3:
            row |= {"idx_reg_off": a.idx_reg_off, "scale_bitshift": a.scale_bitshift}
        rows.append(row)
    assert rows == case.get("parsed", [])


@settings(max_examples=300, deadline=None)
@given(
    st.text(st.sampled_from("0123456789-+@%$#()[],. \trabcxwspipdle"), max_size=40),
    st.sampled_from(["x86_64", "i386", "s390x", "arm64", "riscv64", "arm"]),
    st.sampled_from([(1, 1), (1, 8)]),
)
def test_any_string_parses_or_is_refused(text, arch, version):
    try:
        assert len(parse_arguments(text, USDT.get(arch), version=version)) <= 12
    except ArgumentError as error:
        assert error.errno in (2, 7, 22, 95)


@pytest.mark.parametrize("arch", ["x86_64", "riscv64"])
def test_register_offsets_are_those_of_pt_regs(arch):
    layout = get(arch).pt_regs
    names = {"x86_64": {"rax": "ax", "rdi": "di", "r15": "r15", "rip": "ip", "rsp": "sp", "rbp": "bp"},
             "riscv64": {"a0": "a0", "s11": "s11", "t6": "t6", "ra": "ra", "sp": "sp"}}[arch]  # fmt: skip
    for ours, field in names.items():
        assert USDT[arch].registers[ours] == layout.offset(field)
