"""From verified program to what runs: small stories, and answers recorded from Linux 6.1."""

from pathlib import Path

import pytest

from arch.abi.version import KernelVersion
from bpf import uapi
from bpf.isa.asm import assemble
from bpf.isa.disasm import line_6_1
from bpf.isa.insn import Insn
from bpf.testing import cases
from bpf.testing.case_files import read_cases
from bpf.verifier.api import VerifyRequest
from bpf.verifier.modern import verify
from bpf.verifier.rewrite import dump
from bpf.verifier.rewrite.zext import zext_reg

DATA = Path(__file__).resolve().parents[2] / "data"


def rewritten(text, prog_type="SOCKET_FILTER", **more):
    request = VerifyRequest(assemble(text), getattr(uapi, f"BPF_PROG_TYPE_{prog_type}"), **more)
    verdict = verify(request)
    assert verdict.ret == 0, verdict.log
    return verdict


def listing(insns):
    return [line_6_1(insn).split(") ", 1)[1] for insn in insns]


def lines(text, prog_type="SOCKET_FILTER", **more):
    return listing(rewritten(text, prog_type, **more).insns)


def test_a_context_field_becomes_a_field_of_sk_buff():
    assert lines("r0 = *(u32 *)(r1 +0)\nexit") == ["r0 = *(u32 *)(r1 +112)", "exit"]


def test_a_byte_of_a_field_is_the_field_shifted_and_masked():
    assert lines("r0 = *(u8 *)(r1 +2)\nexit") == ["r0 = *(u32 *)(r1 +112)", "w0 >>= 16", "w0 &= 255", "exit"]


def test_jumps_go_around_what_was_inserted():
    text = """
        r0 = *(u32 *)(r1 +0)
        if r0 == 7 goto out
        r0 = *(u32 *)(r1 +4)
      out:
        exit
    """
    assert lines(text)[1] == "if r0 == 0x7 goto pc+2"  # over a load and a mask


def test_code_that_is_never_reached_goes():
    text = """
        r0 = 1
        if r0 == 1 goto out
        r0 = 2
      out:
        exit
    """
    assert lines(text) == ["r0 = 1", "exit"]
    assert lines(text, caps=frozenset()) == ["r0 = 1", "if r0 == 0x1 goto pc+1", "goto pc-1", "exit"]


def test_division_by_zero_cannot_happen():
    text = """
        r0 = 8
        r2 = *(u32 *)(r1 +0)
        r0 /= r2
        exit
    """
    assert lines(text)[2:] == ["if r2 != 0x0 goto pc+2", "w0 ^= w0", "goto pc+1", "r0 /= r2", "exit"]


def test_writing_a_packet_needs_a_prologue():
    text = """
        r2 = *(u32 *)(r1 +76)
        r3 = *(u32 *)(r1 +80)
        r4 = r2
        r4 += 8
        if r4 > r3 goto out
        *(u8 *)(r2 +0) = 1
      out:
        r0 = 0
        exit
    """
    first = lines(text, "SCHED_CLS")[:10]
    assert first[:3] == ["r6 = *(u8 *)(r1 +126)", "w6 &= 1", "if r6 == 0x0 goto pc+7"]
    assert first[7] == "w0 = 2"  # TC_ACT_SHOT
    assert lines(text.replace("*(u8 *)(r2 +0) = 1", "r0 = *(u8 *)(r2 +0)"), "SCHED_CLS")[0] == "r2 = *(u64 *)(r1 +208)"


def test_upper_halves_where_the_cpu_keeps_them():
    text = "w0 = 1\nr0 += 1\nexit"
    insns = rewritten(text, jit_needs_zext=True).insns
    assert insns[1] == zext_reg(0) == Insn(0xBC, 0, 0, 0, 1)
    assert len(rewritten(text).insns) == 3


def test_random_upper_halves_on_request():
    text = "w0 = 1\nw0 += 1\nexit"
    flags = uapi.BPF_F_TEST_RND_HI32
    one, two = (rewritten(text, prog_flags=flags, seed=seed).insns for seed in (1, 2))
    assert [insn.code for insn in one] == [0xB4, 0xB7, 0x67, 0x4F, 0x04, 0x95]  # exit uses all of R0
    assert one != two
    assert rewritten(text, prog_flags=flags, seed=1).insns == one


def test_lines_follow_their_instructions():
    text = """
        r0 = 1
        if r0 == 1 goto out
        r0 = 2
      out:
        r0 = *(u8 *)(r1 +0)
        exit
    """
    info = [(0, 0, 0, 1), (2, 0, 0, 2), (3, 0, 0, 3), (4, 0, 0, 4)]
    from bpf.verifier.env import Env, SubprogInfo
    from bpf.verifier.rewrite.patch import patch_insns, remove_insns

    env = Env(VerifyRequest(assemble(text), uapi.BPF_PROG_TYPE_SOCKET_FILTER))
    env.subprogs = [SubprogInfo(0), SubprogInfo(len(env.insns))]
    env.line_info = info
    remove_insns(env, [False, True, True, False, False])
    assert [row[0] for row in env.line_info] == [0, 1, 2] and [row[3] for row in env.line_info] == [1, 3, 4]
    patch_insns(env, {1: [env.insns[1], env.insns[1]]})
    assert [row[0] for row in env.line_info] == [0, 1, 3]
    assert env.subprogs[1].start == 4


def test_functions_that_are_never_called_go():
    text = """
        r0 = 0
        if r0 == 0 goto out
        call pc+2
      out:
        r0 = 1
        exit
        r0 = 2
        exit
    """
    verdict = rewritten(text)
    assert verdict.subprog_starts == (0,) and listing(verdict.insns) == ["r0 = 0", "r0 = 1", "exit"]


def test_a_dump_shows_function_numbers():
    verdict = rewritten("call pc+1\nexit\nr0 = 2\nexit")
    shown = dump(verdict.insns, verdict.used_maps, True, verdict.subprog_starts)
    assert shown[0] == Insn(0x85, 0, 1, 1, 1)  # off: the distance, imm: the number
    assert dump(verdict.insns, verdict.used_maps, False, verdict.subprog_starts)[0].imm == 0


@pytest.mark.parametrize("unprivileged", [False, True])
def test_recorded(unprivileged):
    """Lookups in every type of map, calls, packet loads, divisions, atomics, 32-bit operations, loops."""
    file = read_cases(DATA / "rewrite_6_1.json.gz")
    options = cases.Options(KernelVersion.parse("6.1"), run=True, unprivileged=unprivileged, xlated=True)
    summary = cases.compare(file, options, list(cases.run_cases(file, options)))
    assert not summary.differs, summary.differences[:5]
    assert summary.xlated.compared > 100
