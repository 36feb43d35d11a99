"""Explanations of the verifier's verdicts: over every recorded rejection of the real kernels, and three of them in full."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from bpf.explain.path import history, read_log
from bpf.explain.rules import RULES, find
from bpf.explain.story import accepted_text, explain, rejected_text

DATA = Path(__file__).resolve().parents[2] / "data"
FILES = ["verifier_6_1_given", "fuzz_6_1_given", "answers_5_10_suite", "verifier_logs_4_1_given"]

LOOP = """func#0 @0
0: R1=ctx(off=0,imm=0) R10=fp0
; int i = bpf_get_prandom_u32();
0: (85) call bpf_get_prandom_u32#7    ; R0_w=scalar()
; v = bpf_map_lookup_elem(&m, &k);
1: (bf) r6 = r0                       ; R0_w=scalar(id=1) R6_w=scalar(id=1)
2: (7a) *(u64 *)(r10 -8) = 0          ; R10=fp0 fp-8_w=00000000
3: (bf) r2 = r10                      ; R2_w=fp0 R10=fp0
4: (07) r2 += -8                      ; R2_w=fp-8
5: (18) r1 = 0xffff888000000000       ; R1_w=map_ptr(off=0,ks=8,vs=48,imm=0)
7: (85) call bpf_map_lookup_elem#1    ; R0_w=map_value_or_null(id=2,off=0,ks=8,vs=48,imm=0)
; if (!v)
8: (15) if r0 == 0x0 goto pc+3        ; R0_w=map_value(off=0,ks=8,vs=48,imm=0)
; v[i] = 1;
9: (0f) r0 += r6
last_idx 9 first_idx 0
regs=40 stack=0 before 8: (15) if r0 == 0x0 goto pc+3
value -2147483648 makes map_value pointer be out of bounds
processed 9 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0
"""


def answers(data):
    """Every answer of a file of recorded cases, whatever the kernel it is of."""
    if isinstance(data, list):
        data = {"cases": data}
    yield from data.get("answers", {}).values()
    yield from [*data.get("handmade", ()), *data.get("random", ())]
    cases = data.get("cases", ())
    for case in cases if isinstance(cases, list) else ():
        yield from (case[key] for key in ("answer", "answer_unprivileged") if isinstance(case.get(key), dict))
        yield case


def recorded(name):
    with gzip.open(DATA / f"{name}.json.gz") as file:
        data = json.load(file)
    for answer in answers(data):
        log = answer.get("log2") or answer.get("log1") or answer.get("log") or ""
        if answer.get("ret", 0) < 0 and log.strip():
            yield log


@pytest.mark.parametrize("name", FILES)
def test_every_recorded_rejection_has_a_rule_and_an_origin(name):
    logs = list(recorded(name))
    told = [explain(log) for log in logs]
    whole = [each for each in told if each.rule is not None and each.origin]
    strange = sorted({each.message for each in told if each.rule is None})
    assert logs and len(whole) >= 0.95 * len(logs), strange
    assert all(rejected_text(each) for each in told)


def test_no_row_is_hidden_by_one_above():
    """Each row is found by some recorded message, or is of a kind that only newer kernels and bigger programs print."""
    messages = [explain(log).message for name in FILES for log in recorded(name)]
    used = {id(find(message)) for message in messages}
    unused = [rule.pattern for rule in RULES if id(rule) not in used]
    assert len(unused) < len(RULES) / 4, unused


def test_the_history_follows_copies_and_arithmetic():
    trail = read_log(LOOP)
    assert trail.message == "value -2147483648 makes map_value pointer be out of bounds"
    assert trail.last is not None and trail.last.text == "r0 += r6" and trail.last.source == "v[i] = 1;"
    assert [step.insn for step in history(trail.last.way()[:-1], 6)] == [1, 0]
    assert [step.insn for step in history(trail.last.way()[:-1], 0)] == [7]


def test_a_path_that_was_resumed_follows_the_branch_it_came_from():
    log = """0: R1=ctx(off=0,imm=0) R10=fp0
0: (79) r2 = *(u64 *)(r1 +0)          ; R1=ctx(off=0,imm=0) R2_w=scalar()
1: (b7) r0 = 1                        ; R0_w=1
2: (15) if r2 == 0x0 goto pc+2        ; R2_w=scalar()
3: (b7) r0 = 0                        ; R0_w=0
4: (95) exit

from 2 to 5: R0=1 R1=ctx(off=0,imm=0) R2=0 R10=fp0
5: (61) r0 = *(u32 *)(r0 +0)
R0 invalid mem access 'scalar'
processed 6 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0
"""
    found = explain(log)
    assert [each.text for each in found.history] == ["r0 = 1"]
    assert found.register == "R0" and found.value == "1" and found.origin == "instruction 1"


def test_a_register_that_a_call_forgot():
    log = """0: R1=ctx(off=0,imm=0) R10=fp0
0: (85) call bpf_get_smp_processor_id#8       ; R0_w=scalar()
1: (61) r0 = *(u32 *)(r1 +0)
R1 !read_ok
processed 2 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0
"""
    found = explain(log)
    text = "\n".join(rejected_text(found))
    assert "How R1 came to be without a value" in text and "call bpf_get_smp_processor_id#8" in text
    assert "after a call R1 to R5 are gone" in text.replace("\n  ", " ")


def test_the_whole_text_of_one():
    assert "\n".join(rejected_text(explain(LOOP))).split("\n")[:4] == [
        "  value -2147483648 makes map_value pointer be out of bounds",
        "  at instruction 9: r0 += r6",
        "      v[i] = 1;",
        "",
    ]


def test_an_unknown_message_says_so():
    found = explain(
        "0: R1=ctx() R10=fp0\n0: (b7) r0 = 0 ; R0_w=0\nthe moon is full\nprocessed 1 insns (limit 1000000)\n"
    )
    assert found.message == "the moon is full" and found.rule is None
    assert "has no explanation here yet" in "\n".join(rejected_text(found))


def test_an_accepted_program_shows_where_the_work_went():
    log = "0: R1=ctx(off=0,imm=0) R10=fp0\n" + "".join(
        f"{insn}: ({code}) {text}\n"
        for _ in range(3)
        for insn, code, text in ((0, "07", "r0 += 1"), (1, "a5", "if r0 < 0x3 goto pc-2"))
    )
    log += "processed 6 insns (limit 1000000) max_states_per_insn 1 total_states 2 peak_states 2 mark_read 1\n"
    lines = accepted_text(explain(log))
    assert "went over 6 instructions" in lines[0] and "kept 2 states" in lines[0]
    assert lines[2].split() == ["3", "x", "0:", "r0", "+=", "1"]
