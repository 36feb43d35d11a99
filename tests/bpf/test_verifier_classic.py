"""The classic verifier against recorded answers of the verifier of Linux 4.1.3."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arch.abi.errno import EBADF, EINVAL
from arch.abi.version import KernelVersion
from arch.errors import KernelError
from bpf.isa.asm import assemble
from bpf.isa.disasm import disassemble
from bpf.isa.insn import decode, imm64
from bpf.layout import default_layout
from bpf.verifier.api import MapInfo, VerifyRequest
from bpf.verifier.classic.state import (
    CONST_IMM,
    MAX_BPF_STACK,
    NO_REG,
    NOT_INIT,
    PTR_TO_CTX,
    STACK_INVALID,
    UNKNOWN_VALUE,
    RememberedStates,
    start_state,
)
from bpf.verifier.classic.verifier import verify

DATA = Path(__file__).parents[1] / "data"
PATCH_SET = KernelVersion.parse("3.20-rfc")
SIZES = {3: (8, 8), 4: (4, 16), 5: (16, 40), 6: (8, 5)}


def load(name):
    return json.loads(gzip.decompress((DATA / name).read_bytes()))


def resolve_map(fd, sizes=SIZES, others=range(0)):
    """The maps the recorded programs were given (see the header of the data file)."""
    if fd == 7 and fd not in others:
        raise KernelError(EINVAL)
    if fd not in sizes and fd not in others:
        raise KernelError(EBADF)
    key_size, value_size = sizes.get(fd, (8, 8))
    return MapInfo(1, key_size, value_size, 1024, address=0x550010000000 + fd * 4096)


def request_of(case):
    insns = decode(bytes.fromhex("".join(case["insns"])))
    many = "distinct maps" in case.get("name", "")
    return VerifyRequest(
        insns,
        case["prog_type"],
        gpl_compatible=bool(case.get("gpl", 1)),
        log_level=case.get("log_level", 1),
        log_size=case.get("log_size", 65536),
        log_buf=1,
        version=KernelVersion.parse("4.1"),
        resolve_map=lambda fd: resolve_map(fd, {} if many else SIZES, range(10, 80) if many else range(0)),
    )


def check(case):
    verdict = verify(request_of(case))
    assert verdict.ret == case["ret"]
    if "log_len" in case:
        assert len(verdict.log) == case["log_len"]
        assert verdict.log.endswith(case["log_tail"])
    else:
        assert verdict.log == case["log"]


LOGS = load("verifier_logs_4_1_given.json.gz")


@pytest.mark.parametrize("case", LOGS["handmade"], ids=lambda case: case["name"])
def test_handmade(case):
    check(case)


def test_random():
    for case in LOGS["random"]:
        check(case)


@pytest.mark.parametrize("case", load("test_verifier_4_1.json.gz")["cases"], ids=lambda case: case["descr"])
def test_the_kernels_own_cases(case):
    insns = decode(bytes.fromhex("".join(case["insns"])))
    for slot in case["fixup"]:
        insns[slot] = insns[slot].replace(imm=3)
    request = VerifyRequest(
        insns,
        case["prog_type"],
        log_level=1,
        log_size=65536,
        version=KernelVersion.parse("4.1"),
        resolve_map=resolve_map,
    )
    verdict = verify(request)
    assert (verdict.ret == 0) == (case["result"] == "ACCEPT")
    assert verdict.ret == case["verifier_ret"]
    assert verdict.log == case["verifier_log"]
    assert (case.get("errstr") or "") in verdict.log


def naive_covers(old, cur):
    """states_equal() of 4.1, register by register and byte by byte."""
    for o, c in zip(old.regs, cur.regs, strict=True):
        if o != c and o[0] != NOT_INIT and not (o[0] == UNKNOWN_VALUE and c[0] != NOT_INIT):
            return False
    for off in range(-1, -MAX_BPF_STACK - 1, -1):
        if old.slot(off) == STACK_INVALID:
            continue
        if old.slot(off) != cur.slot(off):
            return False
        if off % 8 == 0 and old.spilled.get(off, NO_REG) != cur.spilled.get(off, NO_REG):
            return False
    return True


regs = st.tuples(st.sampled_from([NOT_INIT, UNKNOWN_VALUE, CONST_IMM]), st.integers(0, 1))
stack_writes = st.lists(
    st.one_of(
        st.tuples(st.just("misc"), st.sampled_from([-1, -2, -8, -16, -24]), st.just(1)),
        st.tuples(st.just("misc"), st.sampled_from([-8, -16, -24]), st.sampled_from([4, 8])),
        st.tuples(st.just("spill"), st.sampled_from([-8, -16, -24]), st.integers(0, 1)),
    ),
    max_size=4,
)


def build_state(values, writes):
    state = start_state()
    state.regs[2 : 2 + len(values)] = values
    for kind, off, arg in writes:
        if kind == "misc":
            state.write_misc(off, arg)
        else:
            state.spill(off, (PTR_TO_CTX, arg))
    return state


@given(st.lists(st.tuples(st.lists(regs, min_size=2, max_size=2), stack_writes), max_size=12))
def test_remembered_states_answer_like_a_plain_list(rows):
    remembered, plain = RememberedStates(), []
    for values, writes in rows:
        cur = build_state(values, writes)
        expected = any(naive_covers(old, cur) for old in plain)
        assert remembered.seen(cur) == expected
        if not expected:
            plain.append(cur.copy())


def accepted(text, **fields):
    verdict = verify(
        VerifyRequest(
            assemble(text, {"hash": 3}),
            version=KernelVersion.parse("4.1"),
            resolve_map=resolve_map,
            **{"prog_type": 1, **fields},
        )
    )
    assert verdict.ret == 0
    return verdict


def test_context_loads_of_socket_filters_are_rewritten():
    verdict = accepted("""
        r0 = *(u32 *)(r1 +0)
        if r0 == 0 goto out
        r0 = *(u32 *)(r1 +4)
        r0 = *(u32 *)(r1 +20)
      out:
        exit
    """)
    skb = default_layout(KernelVersion.parse("4.1"))  # the machine's own struct sk_buff
    assert disassemble(verdict.insns) == (
        f"0: (61) r0 = *(u32 *)(r1 +{skb.offset('sk_buff.len')})\n"
        "1: (15) if r0 == 0x0 goto pc+5\n"
        f"2: (71) r0 = *(u8 *)(r1 +{skb.place('sk_buff.pkt_type').offset})\n"
        "3: (54) w0 &= 7\n"
        f"4: (69) r0 = *(u16 *)(r1 +{skb.offset('sk_buff.vlan_tci')})\n"
        "5: (74) w0 >>= 12\n"
        "6: (54) w0 &= 1\n"
        "7: (95) exit\n"
    )


def test_no_log_is_no_log():
    assert accepted("r0 = 0\nexit").log == ""


def test_map_addresses_become_constants():
    verdict = accepted("r1 = map[hash]\nr0 = 0\nexit")
    assert imm64(*verdict.insns[:2]) == 0x550010003000
    assert verdict.insns[0].src_reg == 0
    assert [info.key_size for info in verdict.used_maps] == [8]


@pytest.mark.parametrize(
    ("prog_type", "text", "last_line"),
    [
        (2, "r0 = *(u64 *)(r1 +40)\nexit", None),
        (2, "r0 = *(u32 *)(r1 +40)\nexit", "invalid bpf_context access off=40 size=4\n"),
        (2, "r0 = *(u64 *)(r1 +48)\nexit", "invalid bpf_context access off=48 size=8\n"),
        (3, "r0 = *(u16 *)(r1 +166)\nexit", None),
        (2, "r1 = *(u64 *)(r1 +0)\ncall 6\nexit", None),
        (2, "call 13\nexit", "invalid func 13\n"),
        (4, "r0 = 0\nexit", ""),
    ],
)
def test_the_patch_set_of_january_2015(prog_type, text, last_line):
    request = VerifyRequest(assemble(text), prog_type, log_level=1, version=PATCH_SET)
    verdict = verify(request)
    assert (verdict.ret == 0) == (last_line is None)
    if last_line is not None:
        assert verdict.log.endswith(last_line)


def test_a_big_endian_kernel_keeps_the_other_half_of_the_union():
    """`imm` overlays the high half of a pointer there; no leftover makes the two zeros differ on 32-bit machines."""
    case = next(case for case in LOGS["handmade"] if "leftover" in case["name"])
    texts = set()
    for byteorder, word in (("little", 8), ("big", 8), ("little", 4)):
        request = request_of(case)
        request.byteorder, request.word_size = byteorder, word
        verdict = verify(request)
        assert verdict.ret == 0
        texts.add(verdict.log.count("safe"))
    assert len(texts) > 1
