"""The filter language against 277 recorded answers of Linux 6.1, and its meaning against a plain evaluator."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arch.abi.errno import EINVAL
from arch.abi.version import KernelVersion
from arch.errors import KernelError
from tests.tracing.fakes import cat, echo, machine
from tracing.record.filter import FilterError, create_filter
from tracing.record.glob import glob_match

DATA = Path(__file__).parent.parent / "data" / "tracing" / "filters_6_1.jsonl"
ROWS = [json.loads(line) for line in DATA.read_text().splitlines()]
OPENAT = ("openat", [("int", "dfd"), ("const char *", "filename"), ("int", "flags"), ("umode_t", "mode")])


def written(tracing, path, text, append=True, once=False):
    try:
        echo(tracing, path, text, append, once)
        return 0
    except KernelError as error:
        return error.errno


def test_recorded_answers():
    tracing = machine(cpus=1)
    tracing.declare_syscalls([OPENAT])
    wrong, cases, text = [], 0, ""
    for row in ROWS:
        if "write" in row:
            cases, text = cases + 1, row["text"]
            got, want = written(tracing, f"events/{row['write']}/filter", text), row["errno"]
        else:
            got, want = cat(tracing, f"events/{row['read']}/filter"), row["data"]
        if got != want:
            wrong.append((text, got, want))
    assert cases > 500
    assert not wrong


@pytest.fixture(scope="module")
def tracing():
    return machine()


def record(tracing, **values):
    """A sched_switch record."""
    event = tracing.events.get("sched", "sched_switch")
    body = bytearray(56)
    for field in event.fields:
        value = values.get(field.name, 0)
        data = value.ljust(field.size, b"\0") if isinstance(value, bytes) else value.to_bytes(field.size, "little")
        body[field.offset - 8 : field.offset - 8 + field.size] = data
    return event.header() + bytes(body)


def matches(tracing, text, **values):
    event = tracing.events.get("sched", "sched_switch")
    return create_filter(event, text).match(record(tracing, **values))


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("prev_pid == 5", {"prev_pid": 5}, True),
        ("prev_pid == -1", {"prev_pid": 0xFFFFFFFF}, True),
        ("prev_pid < 0", {"prev_pid": 0xFFFFFFFF}, True),
        ("prev_pid & 4", {"prev_pid": 6}, True),
        ("prev_pid & 8", {"prev_pid": 6}, False),
        ("prev_pid == 4294967297", {"prev_pid": 1}, True),  # cut to the field's width
        ('prev_comm == "bash"', {"prev_comm": b"bash"}, True),
        ('prev_comm != "bash"', {"prev_comm": b"bash"}, False),
        ('prev_comm ~ "ba*"', {"prev_comm": b"bash"}, True),
        ('prev_comm ~ "*sh"', {"prev_comm": b"bash"}, True),
        ('prev_comm ~ "*as*"', {"prev_comm": b"bash"}, True),
        ('prev_comm ~ "b?s[g-i]"', {"prev_comm": b"bash"}, True),
        ('prev_comm ~ "!ba*"', {"prev_comm": b"bash"}, False),
        ('comm == "sh"', {}, True),
        ("cpu == 0", {}, True),
        ("common_pid == 81", {}, True),
        ("prev_pid == 1 || next_pid == 2 && prev_prio == 3", {"prev_pid": 1}, True),
        ("(prev_pid == 1 || next_pid == 2) && prev_prio == 3", {"prev_pid": 1}, False),
        ("!(prev_pid == 1) && !(next_pid == 2)", {"prev_pid": 3, "next_pid": 4}, True),
    ],
)
def test_meaning(tracing, text, values, expected):
    assert matches(tracing, text, **values) is expected


atoms = st.tuples(st.sampled_from(["prev_pid", "next_pid", "prev_prio"]), st.sampled_from(["==", "!=", "<", ">="]),
                  st.integers(0, 3))  # fmt: skip
trees = st.recursive(
    atoms,
    lambda inner: st.one_of(st.tuples(st.just("!"), inner), st.tuples(st.sampled_from(["&&", "||"]), inner, inner)),
    max_leaves=8,
)


def show(tree):
    if tree[0] == "!":
        return f"!({show(tree[1])})"
    if tree[0] in ("&&", "||"):
        return f"({show(tree[1])}) {tree[0]} ({show(tree[2])})"
    return f"{tree[0]} {tree[1]} {tree[2]}"


def value(tree, fields):
    if tree[0] == "!":
        return not value(tree[1], fields)
    if tree[0] == "&&":
        return value(tree[1], fields) and value(tree[2], fields)
    if tree[0] == "||":
        return value(tree[1], fields) or value(tree[2], fields)
    a, b = fields[tree[0]], tree[2]
    return {"==": a == b, "!=": a != b, "<": a < b, ">=": a >= b}[tree[1]]


@settings(max_examples=150, deadline=None)
@given(tree=trees, numbers=st.tuples(*[st.integers(0, 3)] * 3))
def test_branch_program_agrees_with_a_tree_walk(tracing, tree, numbers):
    fields = dict(zip(("prev_pid", "next_pid", "prev_prio"), numbers))
    assert matches(tracing, show(tree), **fields) == value(tree, fields)


@settings(max_examples=200, deadline=None)
@given(text=st.text(alphabet="prev_pid=&|!()<>~\"' 0123", max_size=24))
def test_any_text_gives_a_filter_or_an_error(tracing, text):
    event = tracing.events.get("sched", "sched_switch")
    try:
        create_filter(event, text)
    except FilterError as error:
        assert error.errno > 0


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [(b"a*b", b"axxb", True), (b"a\\*b", b"a*b", True), (b"a\\*b", b"axb", False), (b"[!a]b", b"xb", True),
     (b"[]a]", b"]", True), (b"[a", b"[a", True), (b"*a*b*c", b"zzazbzc", True), (b"?", b"", False)],
)  # fmt: skip
def test_glob(pattern, text, expected):
    assert glob_match(pattern, text) is expected


def test_filtered_events_do_not_reach_the_buffer():
    tracing = machine()
    one, two = tracing.host.task_struct("a", 1), tracing.host.task_struct("b", 2)
    echo(tracing, "events/sched/sched_wakeup/filter", "pid == 2")
    echo(tracing, "events/sched/sched_wakeup/enable", "1")
    tracing.trace("sched_wakeup", one)
    tracing.trace("sched_wakeup", two)
    lines = [line for line in cat(tracing, "trace").splitlines() if not line.startswith("#")]
    assert len(lines) == 1
    assert lines[0].endswith("sched_wakeup: comm=b pid=2 prio=120 target_cpu=000")


def test_older_kernels_give_einval_for_every_error():
    tracing = machine(KernelVersion.parse("4.1"))
    assert written(tracing, "events/sched/sched_switch/filter", "prev_pid == 1)") == EINVAL


def test_a_pattern_of_many_stars_is_no_exercise():
    """It could be matched in more ways than there are seconds: only the last star is tried anew."""
    assert not glob_match(b"*a" * 2000 + b"*b", b"a" * 5000)
    assert glob_match(b"*a" * 2000 + b"*", b"a" * 5000)
    assert not glob_match(rb"a\?b", b"axb") and glob_match(rb"a\?b", b"a?b")
