"""What verifiers before 6.1 refuse: one line of history each."""

import re

import pytest

from arch.abi.version import RELEASES, KernelVersion
from bpf import uapi
from bpf.helpers.table import NUMBERS, ROWS
from bpf.isa.asm import assemble
from bpf.isa.insn import Insn
from bpf.verifier.api import VerifyRequest
from bpf.verifier.modern import verify

EXIT = Insn(0x95)
RETURN_0 = [Insn(0xB7, 0, 0, 0, 0), EXIT]
LOOP = assemble("r0 = 0\nr1 = 5\nagain:\nr1 += -1\nif r1 != 0 goto again\nexit")


def answer(insns, version, prog_type="KPROBE", **more):
    """0, or the last thing the log says before the statistics."""
    request = VerifyRequest(
        list(insns),
        getattr(uapi, f"BPF_PROG_TYPE_{prog_type}"),
        version=KernelVersion.parse(version),
        log_level=1,
        **more,
    )
    verdict = verify(request)
    return 0 if verdict.ret == 0 else verdict.log.strip().split("\n")[-2]


@pytest.mark.parametrize(
    "since, insns, message",
    [
        ("5.1", assemble("r0 = 0\nif w0 == 1 goto out\nout:\nexit"), "unknown opcode 16"),
        ("5.3", LOOP, "back-edge from insn 3 to 2"),
        (
            "5.12",
            [Insn(0x7A, 10, 0, -8, 0), Insn(0xB7, 0, 0, 0, 1), Insn(0xDB, 10, 0, -8, 1), EXIT],
            "BPF_STX uses reserved fields",
        ),
        ("4.16", assemble("call pc+1\nexit\nr0 = 0\nexit"), "BPF_CALL uses reserved fields"),
        ("4.14", assemble("r0 = 0\nif r0 < 5 goto out\nout:\nexit"), "invalid BPF_JMP opcode a0"),
    ],
)
def test_introduced_with(since, insns, message):
    before = RELEASES[RELEASES.index(since) - 1]
    assert answer(insns, since) == 0
    assert answer(insns, before) == message


def test_older_kernels_read_no_uninitialised_stack():
    text = assemble("r0 = *(u64 *)(r10 -8)\nexit")
    assert answer(text, "6.1") == 0
    assert answer(text, "5.9") == answer(text, "5.10") == "invalid read from stack R10 off=-8 size=8"
    part = assemble("*(u32 *)(r10 -8) = 0\nr0 = *(u64 *)(r10 -8)\nexit")
    assert answer(part, "5.10") == 0  # what is there must have been touched, not written
    assert answer(part, "5.9") == "invalid read from stack off -8+4 size 8"


def test_before_cap_bpf_only_the_administrator_is_trusted():
    caps = {"bpf", "perfmon", "net_admin"}
    assert answer(LOOP, "5.8", "SOCKET_FILTER", caps=caps) == 0
    assert answer(LOOP, "5.7", "SOCKET_FILTER", caps=caps) == "back-edge from insn 3 to 2"
    assert answer(LOOP, "5.7", "SOCKET_FILTER", caps={"sys_admin"}) == 0


def test_unreached_code_stays_before_5_1():
    insns = assemble("r0 = 0\nif r0 == 0 goto out\nr0 = 1\nout:\nexit")
    request = VerifyRequest(insns, uapi.BPF_PROG_TYPE_KPROBE, version=KernelVersion.parse("5.0"))
    assert len(verify(request).insns) == 4
    request = VerifyRequest(insns, uapi.BPF_PROG_TYPE_KPROBE, version=KernelVersion.parse("5.1"))
    assert len(verify(request).insns) == 2


@pytest.mark.parametrize("name", ["get_stack", "ringbuf_output", "loop", "ktime_get_tai_ns"])
def test_helpers(name):
    number = NUMBERS[name]
    since = ROWS[number].since
    before = RELEASES[RELEASES.index(since) - 1]
    insns = [Insn(0x85, 0, 0, 0, number), EXIT]
    assert re.match(r"(unknown func bpf_\w+|invalid func unknown)#", str(answer(insns, before)))
    assert "unknown func" not in str(answer(insns, since))


def test_a_plain_program_is_fine_everywhere():
    for version in ("4.9", "4.14", "4.19", "5.4", "5.10", "5.15", "6.0", "6.1"):
        assert answer(RETURN_0, version) == 0
