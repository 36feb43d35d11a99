"""The machine code that is shown of a program is what Linux 6.1's compiler made of it, to the byte but for distances of calls."""

import gzip
import re

import pytest

from arch.abi.version import NEWEST
from bpf import uapi
from bpf.core import program as progs
from bpf.core.places import TEXT_STEP
from bpf.isa.insn import BPF_DW, BPF_LDX, BPF_PROBE_MEM, BPF_W, Insn, decode
from bpf.jit.forms import probe_load
from bpf.testing.host import TestHost
from bpf.verifier.api import VerifyRequest
from tests.bpf.jit_programs import ANSWERS, programs

CASES = list(zip(programs(), gzip.decompress(ANSWERS.read_bytes()).decode().split(), strict=True))


def without_distances(code):
    return re.sub("(e8)........", r"\1", code)


@pytest.fixture(scope="module")
def host():
    return TestHost(NEWEST)


def code_of(host, insns):
    _, prog = progs.load(host.bpf, VerifyRequest(insns, uapi.BPF_PROG_TYPE_SOCKET_FILTER))
    return "".join(code.text.hex() for code in prog.machine_code) if prog is not None else "refused"


def test_every_form_is_linux_own(host):
    for number, (data, expected) in enumerate(CASES):
        assert without_distances(code_of(host, decode(data))) == without_distances(expected), number


def test_lines_and_functions_have_places(host):
    """Where each instruction begins; functions of one program do not overlap."""
    body = decode(CASES[-1][0])
    _, prog = progs.load(host.bpf, VerifyRequest(body, uapi.BPF_PROG_TYPE_SOCKET_FILTER))
    first, second = prog.machine_code
    assert first.starts[0] > 10 and sorted(first.starts) == list(first.starts)
    assert first.starts[-1] == len(first.text) <= TEXT_STEP * prog.verdict.subprog_starts[1]
    assert second.text.startswith(bytes.fromhex("0f1f440000669055"))
    assert next(name for _, name in prog.symbols()).endswith("_F")


def test_without_the_compiler_there_is_no_code(host):
    request = VerifyRequest(decode(CASES[0][0]), uapi.BPF_PROG_TYPE_SOCKET_FILTER, jit_requested=False)
    _, prog = progs.load(host.bpf, request)
    assert prog is not None and prog.machine_code == []


@pytest.mark.parametrize(
    ("dst", "src", "size", "off", "expected"),
    [  # as 6.1.192 does in the suite's fentry test8 and kfunc_call_test_ref_btf_id
        (1, 1, BPF_DW, 0, "49bb0000000000800000 4c39df 720c 4989fb 4981c300000000 7304 31ff eb04 488b7f00"),
        (1, 0, BPF_W, 0, "49bb0000000000800000 4c39d8 720c 4989c3 4981c300000000 7304 31ff eb03 8b7800"),
        (1, 0, BPF_W, 4, "49bb0400000000800000 4c39d8 720c 4989c3 4981c304000000 7304 31ff eb03 8b7804"),
    ],
)
def test_a_load_that_may_fault_looks_at_its_address(dst, src, size, off, expected):
    code = probe_load(Insn(BPF_LDX | BPF_PROBE_MEM | size, dst, src, off, 0))
    assert code.hex() == expected.replace(" ", "")
