"""BPF_PROG_TEST_RUN and the helpers of packet programs, against runs recorded from Linux 6.1."""

import gzip
import json
from pathlib import Path

import pytest

from arch.abi.errno import EINVAL, ENOSPC, ENOTSUPP
from arch.abi.version import KernelVersion
from arch.errors import KernelError
from bpf import uapi
from bpf.core.program import BpfProg
from bpf.isa.insn import Insn, decode
from bpf.syscall.test_request import TestRequest
from bpf.syscall.test_run import test_run
from bpf.testing.host import TestHost
from bpf.verifier.api import VerifyRequest
from bpf.verifier.modern import verify

DATA = Path(__file__).resolve().parents[2] / "data"


def load(prog_type, insns, attach_type=0, flags=0):
    host = TestHost(KernelVersion.parse("6.1"), memory_size=1 << 22)
    request = VerifyRequest(insns, prog_type, attach_type, flags)
    verdict = verify(request)
    assert verdict.ret == 0, verdict.log
    prog = BpfProg(host.bpf, request, verdict)
    prog.max_ctx_offset = verdict.stats["max_ctx_offset"]
    return prog


def answer(prog, request):
    """[ret, retval] as recorded."""
    try:
        return [0, test_run(prog.bpf, prog, request).retval]
    except KernelError as error:
        return [-error.errno, None]


@pytest.mark.parametrize("part", range(4))
def test_recorded(part):
    rows = json.loads(gzip.decompress((DATA / "test_runs_6_1.json.gz").read_bytes()))["rows"]
    wrong = []
    for prog_type, code, runs in rows[part::4]:
        prog = load(prog_type, decode(bytes.fromhex(code)))
        for data, ctx, ret, retval in runs:
            got = answer(prog, TestRequest.of(bytes.fromhex(data), bytes.fromhex(ctx)))
            if got[0] != ret or (retval is not None and got[1] != retval):
                wrong.append((prog_type, code, data[:60], ctx, got, [ret, retval]))
    assert wrong == []


RETURN_0 = [Insn(0xB7, 0, 0, 0, 0), Insn(0x95)]
READ_LEN = [Insn(0x61, 0, 1, 0, 0), Insn(0x95)]


def test_the_packet_comes_back_and_is_cut_to_the_buffer():
    prog = load(uapi.BPF_PROG_TYPE_SCHED_CLS, READ_LEN)
    packet = bytes(range(64))
    request = TestRequest.of(packet)
    result = test_run(prog.bpf, prog, request)
    assert (result.retval, result.data, result.data_size, result.error) == (64, packet, 64, 0)
    request.data_size_out = 10
    result = test_run(prog.bpf, prog, request)
    assert (result.data, result.data_size, result.error) == (packet[:10], 64, ENOSPC)


def test_a_socket_filter_sees_the_packet_without_ethernet_header():
    prog = load(uapi.BPF_PROG_TYPE_SOCKET_FILTER, READ_LEN)
    result = test_run(prog.bpf, prog, TestRequest.of(bytes(64)))
    assert (result.retval, result.data_size) == (50, 64)


@pytest.mark.parametrize("change", [{"flags": 8}, {"cpu": 1}, {"batch_size": 1}])
def test_options_of_other_types_are_refused(change):
    prog = load(uapi.BPF_PROG_TYPE_SOCKET_FILTER, RETURN_0)
    request = TestRequest.of(bytes(64))
    for name, value in change.items():
        setattr(request, name, value)
    assert answer(prog, request) == [-EINVAL, None]


def test_types_without_test_run():
    prog = load(uapi.BPF_PROG_TYPE_KPROBE, RETURN_0)
    assert answer(prog, TestRequest.of(bytes(64))) == [-ENOTSUPP, None]


def test_raw_tracepoints_and_system_call_programs_take_a_context():
    read = [Insn(0x79, 0, 1, 8, 0), Insn(0x95)]
    prog = load(uapi.BPF_PROG_TYPE_RAW_TRACEPOINT, read)
    assert answer(prog, TestRequest.of(ctx=(7).to_bytes(8, "little") + (9).to_bytes(8, "little"))) == [0, 9]
    assert answer(prog, TestRequest.of(ctx=bytes(8))) == [-EINVAL, None]
    write = [Insn(0xB7, 0, 0, 0, 5), Insn(0x7B, 1, 0, 0, 0), Insn(0x95)]
    prog = load(uapi.BPF_PROG_TYPE_SYSCALL, write, flags=uapi.BPF_F_SLEEPABLE)
    result = test_run(prog.bpf, prog, TestRequest.of(ctx=bytes(16)))
    assert result.ctx == (5).to_bytes(8, "little") + bytes(8)


def test_flow_dissector_and_socket_lookup():
    keys = [
        Insn(0x79, 2, 1, 144, 0),  # flow_keys
        Insn(0x69, 0, 2, 0, 0),  # nhoff
        Insn(0x95),
    ]
    prog = load(uapi.BPF_PROG_TYPE_FLOW_DISSECTOR, keys)
    result = test_run(prog.bpf, prog, TestRequest.of(bytes(12) + b"\x08\x00" + bytes(40)))
    assert result.retval == 14 and result.data[:4] == b"\x0e\x00\x0e\x00"
    prog = load(uapi.BPF_PROG_TYPE_SK_LOOKUP, [Insn(0xB7, 0, 0, 0, 1), Insn(0x95)], uapi.BPF_SK_LOOKUP)
    context = bytearray(72)
    context[8] = 2  # AF_INET
    assert answer(prog, TestRequest.of(ctx=bytes(context))) == [0, 1]
    assert answer(prog, TestRequest.of(ctx=bytes(72))) == [-97, None]
