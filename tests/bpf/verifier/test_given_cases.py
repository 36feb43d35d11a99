"""Every recorded answer of Linux 6.1: return value, log at both levels, rewritten program."""

from __future__ import annotations

import pytest

from bpf.verifier.modern import verify
from tests.bpf.verifier.given import last_message, masked, masked_dump, request, rows

SUITE, FUZZ = "verifier_6_1_given.json.gz", "fuzz_6_1_given.json.gz"
SHARDS = 6


def shard(name, number):
    return [row for row in rows(name) if row["id"] % SHARDS == number]


def compare(case_rows, level, answer_key="answer", trusted=True):
    """(ids whose verdict differs, ids whose log differs)."""
    wrong, different = [], set()
    for row in case_rows:
        answer = row.get(answer_key)
        if answer is None or answer.get(f"log{level}") is None:
            continue
        verdict = verify(request(row, level, trusted=trusted, answer=answer))
        log, expected = masked(verdict.log), answer[f"log{level}"]
        if verdict.ret != answer["ret"]:
            wrong.append((row["id"], verdict.ret, answer["ret"], last_message(log), last_message(expected)))
        if log != expected:
            different.add(row["id"])
    return wrong, different


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("number", range(SHARDS))
def test_suite(number, level):
    case_rows = shard(SUITE, number)
    wrong, different = compare(case_rows, level)
    assert wrong == []
    assert different == set()


@pytest.mark.parametrize("number", range(SHARDS))
def test_suite_unprivileged(number):
    wrong, different = compare(shard(SUITE, number), 1, "answer_unprivileged", trusted=False)
    assert wrong == []
    assert different == set()


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("number", range(SHARDS))
def test_random_programs(number, level):
    wrong, different = compare(shard(FUZZ, number), level)
    assert wrong == []
    assert different == set()


@pytest.mark.parametrize("number", range(SHARDS))
def test_no_log_no_difference(number):
    """A verdict does not depend on whether anybody reads the log."""
    for row in shard(SUITE, number):
        assert verify(request(row, 0)).ret == row["answer"]["ret"], row["descr"]


@pytest.mark.parametrize("answer_key", ["answer", "answer_unprivileged"])
@pytest.mark.parametrize("number", range(SHARDS))
def test_rewritten(number, answer_key):
    """What runs in the end; kernel addresses in it (id 192, 193: jiffies) are another kernel's."""
    trusted = answer_key == "answer"
    for row in shard(SUITE, number):
        answer = row.get(answer_key) or {}
        if answer.get("xlated") and not (trusted and row["id"] in (192, 193)):
            verdict = verify(request(row, 0, trusted=trusted, answer=answer))
            assert masked_dump(verdict) == answer["xlated"], row["descr"]
