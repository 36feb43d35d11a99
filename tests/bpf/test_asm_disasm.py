"""Text to instructions and back, in both forms."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arch.abi.version import KernelVersion
from bpf.isa.asm import AsmError, assemble
from bpf.isa.disasm import UNSPECIFIED, disassemble, insn_line, line_4_1, line_6_1
from bpf.isa.insn import BPF_LD_IMM64, Insn, decode, encode

PROGRAM = """
    r6 = r1
    *(u64 *)(r10 -8) = 0
    r1 = map[counts]
    r2 = r10
    r2 += -8
    call bpf_map_lookup_elem
    if r0 == 0 goto out
    r7 = 1
    lock *(u64 *)(r0 +0) += r7
  out:
    w0 = 0
    exit
"""


def test_program_with_labels_and_maps():
    insns = assemble(PROGRAM, {"counts": 3})
    assert disassemble(insns) == (
        "0: (bf) r6 = r1\n"
        "1: (7a) *(u64 *)(r10 -8) = 0\n"
        "2: (18) r1 = 0x3\n"
        "4: (bf) r2 = r10\n"
        "5: (07) r2 += -8\n"
        "6: (85) call bpf_map_lookup_elem#1\n"
        "7: (15) if r0 == 0x0 goto pc+2\n"
        "8: (b7) r7 = 1\n"
        "9: (db) lock *(u64 *)(r0 +0) += r7\n"
        "10: (b4) w0 = 0\n"
        "11: (95) exit\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "(0c) w1 += w2",
        "(84) w3 = -w3",
        "(dc) r1 = be16 r1",
        "(d4) r2 = le64 r2",
        "(c7) r1 s>>= 63",
        "(db) r3 = atomic64_fetch_add((u64 *)(r10 -8), r3)",
        "(c3) r3 = atomic_fetch_or((u32 *)(r10 -4), r3)",
        "(db) r0 = atomic64_cmpxchg((u64 *)(r10 -8), r0, r2)",
        "(c3) r2 = atomic_xchg((u32 *)(r10 -8), r2)",
        "(db) lock *(u64 *)(r1 +8) |= r2",
        "(30) r0 = *(u8 *)skb[14]",
        "(48) r0 = *(u16 *)skb[r7 + 2]",
        "(a6) if w1 < 0x5 goto pc+0",
        "(cd) if r1 s< r2 goto pc+0",
        "(85) call pc+0",
        "(85) call kernel-function#77",
        "(85) call unknown#999",
        "(85) call bpf_trace_printk#6",
        "(18) r1 = 0x1122334455667788",
    ],
)
def test_round_trip_6_1(text):
    insns = assemble(text)
    high = insns[1].imm if insns[0].code == BPF_LD_IMM64 else 0
    assert line_6_1(insns[0], high) == text


NEWER = [
    ("(bf) r1 = (s32)r2", "6.6"),
    ("(bc) w1 = (s8)w2", "6.6"),
    ("(89) r1 = *(s16 *)(r10 -8)", "6.6"),
    ("(d7) r1 = bswap64 r1", "6.6"),
    ("(3f) r1 s/= r2", "6.6"),
    ("(94) w1 s%= -5", "6.6"),
    ("(06) gotol pc+70000", "6.6"),
    ("(e5) may_goto pc+4", "6.9"),
    ("(bf) r1 = addr_space_cast(r2, 0, 1)", "6.9"),
    ("(db) r1 = load_acquire((u64 *)(r10 -8))", "6.15"),
    ("(d3) store_release((u8 *)(r10 -8), r1)", "6.15"),
    ("(0d) gotox r3", "6.19"),
]


@pytest.mark.parametrize("text, since", NEWER)
def test_newer_instructions_are_printed_by_the_versions_that_have_them(text, since):
    insn = assemble(text)[0]
    version = KernelVersion.parse(since)
    before = KernelVersion(version.major, version.minor - 1)
    assert insn_line(insn) == insn_line(insn, version=version) == text
    assert insn_line(insn, version=before) == line_6_1(insn) != text


@pytest.mark.parametrize(
    "text",
    [
        "(0c) (u32) r1 += (u32) r2",
        "(87) r1 neg 0",
        "(dc) (u32) r1 endian (u32) r0",
        "(d4) (u32) r1 endian (u32) 16",
        "(63) *(u32 *)(r10 -4) = r0",
        "(c3) lock *(u32 *)(r10 -4) += r0",
        "(15) if r0 == 0xffffffff goto pc+1",
        "(85) call 1",
        "(18) r1 = 0x10003000",
        "(00) r0 = 0x0",
    ],
)
def test_round_trip_4_1(text):
    assert line_4_1(assemble(text)[0]) == text


def test_beyond_the_string_tables():
    assert line_4_1(Insn(0xE7)) == f"(e7) {UNSPECIFIED}"
    assert line_4_1(Insn(0xA5)) == f"(a5) {UNSPECIFIED}"
    assert line_6_1(Insn(0xE7, 1, 0, 0, 5)) == "(e7) r1 (null) 5"
    assert line_6_1(Insn(0xD7)) == "BUG_alu64_d7"
    assert line_6_1(Insn(0x71 & ~0x60 | 0x20)) == "BUG_ldx_31"


def test_mistakes_name_the_line():
    with pytest.raises(AsmError, match="line 2: not an instruction"):
        assemble("exit\nr1 == 5")
    with pytest.raises(AsmError, match="no label nowhere"):
        assemble("goto nowhere")
    with pytest.raises(AsmError, match="a second time"):
        assemble("a: exit\na: exit")


insn_strategy = st.builds(
    Insn,
    st.integers(0, 255),
    st.integers(0, 15),
    st.integers(0, 15),
    st.integers(-(1 << 15), (1 << 15) - 1),
    st.integers(-(1 << 31), (1 << 31) - 1),
)


@given(st.lists(insn_strategy, max_size=5), st.sampled_from(["little", "big"]))
def test_bytes_round_trip(insns, byteorder):
    assert decode(encode(insns, byteorder), byteorder) == insns


@given(insn_strategy)
def test_every_opcode_prints(insn):
    assert line_4_1(insn)
    assert line_6_1(insn, 7)


def test_big_endian_swaps_the_nibbles():
    assert encode([Insn(0xBF, 6, 1)]) == bytes.fromhex("bf16000000000000")
    assert encode([Insn(0xBF, 6, 1)], "big") == bytes.fromhex("bf61000000000000")
