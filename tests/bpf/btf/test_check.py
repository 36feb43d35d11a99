"""BPF_BTF_LOAD: every recorded answer of Linux 6.1, errno and log to the byte; and what older kernels do not know."""

import gzip
import json
import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arch.abi.version import KernelVersion
from bpf.btf import Btf, BtfError, BtfType, Kind
from bpf.btf.check import btf_parse
from bpf.btf.dump import dump_c

CASES = json.loads(
    gzip.decompress((Path(__file__).resolve().parents[2] / "data" / "btf_load_6_1.json.gz").read_bytes())
)["cases"]


@pytest.mark.parametrize("start", range(0, len(CASES), 60))
def test_recorded_answers(start):
    for number, case in enumerate(CASES[start : start + 60], start):
        assert btf_parse(bytes.fromhex(case["btf"])) == (case["ret"], case["log"]), number


def test_what_the_kernel_takes_the_codec_reads_back():
    for case in CASES:
        if case["ret"] == 0:
            btf = Btf.parse(bytes.fromhex(case["btf"]))
            assert btf_parse(btf.encode())[0] == 0
            dump_c(btf)


def swap(data):
    """The same BTF for a big-endian kernel."""
    return Btf.parse(data).encode("big")


def test_big_endian():
    for case in CASES:
        if case["ret"] == 0:
            assert btf_parse(swap(bytes.fromhex(case["btf"])), "big")[0] == 0
            assert btf_parse(bytes.fromhex(case["btf"]), "big")[0] != 0


@pytest.mark.parametrize(
    ("kind", "version", "message"),
    [
        (Kind.FLOAT, "5.12", "Invalid btf_info"),
        (Kind.DECL_TAG, "5.15", "Invalid kind:17"),
        (Kind.TYPE_TAG, "5.16", "Invalid kind:18"),
        (Kind.ENUM64, "5.19", "Invalid kind:19"),
        (Kind.VAR, "5.1", "Invalid kind:14"),
        (Kind.FUNC_PROTO, "4.18", "Invalid kind:13"),
    ],
)
def test_older_kernels_know_fewer_kinds(kind, version, message):
    btf = Btf()
    btf.append(BtfType(Kind.INT, "int", 4, encoding=1, bits=32))
    btf.append(BtfType(kind, "" if kind is Kind.FUNC_PROTO else "x", 8, type=1, component_idx=-1))
    ret, log = btf_parse(btf.encode(), version=KernelVersion.parse(version))
    assert ret == -22 and message in log


GIVEN = [bytes.fromhex(case["btf"]) for case in CASES[:2]]


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(GIVEN),
    st.lists(st.tuples(st.integers(0, 700), st.integers(0, 255)), max_size=6),
    st.integers(0, 700),
)
def test_broken_bytes_give_an_answer(base, changes, cut):
    data = bytearray(base)
    for at, value in changes:
        data[at % len(data)] = value
    data = bytes(data[: len(data) - cut % 3])
    ret, _ = btf_parse(data)
    assert ret <= 0
    try:
        btf = Btf.parse(data)
    except (BtfError, struct.error):
        return
    if ret == 0:
        dump_c(btf)
