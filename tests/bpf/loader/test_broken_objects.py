"""Broken object files: errors only, no crash, no hang, no great memory."""

import time
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bpf.loader.errors import LoadError
from bpf.loader.link import link_objects
from bpf.loader.object import BpfObject
from bpf.loader.sys import Task
from tests.bpf.loader.fake import FakeKernel

SAMPLES = Path(__file__).resolve().parents[3] / "samples" / "obj"
OBJECTS = [(SAMPLES / name).read_bytes() for name in ("x86_64/syscalls.bpf.o", "s390x/tracex2.bpf.o")]


def attempt(data):
    started = time.process_time()
    for use in (lambda: BpfObject(data, "x").load(Task(FakeKernel("big" if data[5:6] == b"\2" else "little"))),
                lambda: link_objects([data, data])):  # fmt: skip
        try:
            use()
        except LoadError as error:
            assert str(error)
    assert time.process_time() - started < 30


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(OBJECTS),
    st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=8),
)
@example(OBJECTS[1], [(0.5561472757665702, 1)])  # a variable at 1 << 56 of its section
def test_changed_bytes(base, changes):
    data = bytearray(base)
    for where, value in changes:
        data[int(where * len(data))] = value
    attempt(bytes(data))


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(OBJECTS), st.integers(0, 63), st.binary(min_size=1, max_size=8), st.floats(0, 1, exclude_max=True)
)
def test_changed_headers(base, at, value, section):
    data = bytearray(base)
    table = int.from_bytes(data[40:48], "little" if data[5] == 1 else "big")
    count = (len(data) - table) // 64
    where = table + 64 * int(section * count) + at
    data[where : where + len(value)] = value[: max(0, len(data) - where)]
    attempt(bytes(data))
    data = bytearray(base)
    data[at : at + len(value)] = value
    attempt(bytes(data))


@pytest.mark.parametrize("base", OBJECTS, ids=["x86_64", "s390x"])
def test_truncated(base):
    for cut in range(0, len(base), 211):
        attempt(base[:cut])


@settings(max_examples=50, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes(data):
    attempt(data)
    attempt(b"\x7fELF\2\1\1" + data)
