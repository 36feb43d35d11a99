"""Names, modes and texts of tracefs as the real kernels have them at boot, with one CPU and an instance.

tests/data/tracing/tree.json.xz is what tests/tools/compare_tracefs.py was told by Debian's 5.10, 6.1, 6.12 and 7.2.  Of the
events, ftrace/ and sched/sched_switch stand for the others; test_formats.py has all of them.
"""

import json
import lzma
from pathlib import Path

import pytest

from tests.tracing.fakes import cat, machine

REAL = json.loads(lzma.decompress((Path(__file__).parents[1] / "data/tracing/tree.json.xz").read_bytes()))
BITS = "rwxrwxrwx"
SHOWN = ("events/ftrace", "events/sched/sched_switch", "events/header")


def mode_text(node):
    text = "".join(bit if node.mode >> (8 - index) & 1 else "-" for index, bit in enumerate(BITS))
    return ("d" if node.is_dir else "-") + text


def walk(directory, prefix=""):
    for name, node in directory.entries().items():
        path = prefix + name
        yield path, mode_text(node)
        inside = not path.startswith(("events/", "instances/foo/events/")) or path.startswith(SHOWN)
        if node.is_dir and (inside or path == "events/sched"):
            yield from walk(node, path + "/")


@pytest.fixture(params=REAL, scope="module")
def asked(request):
    tracing = machine(request.param, cpus=1)
    tracing.tracefs.root.lookup("instances").mkdir("foo")
    return tracing, REAL[request.param]


def test_names_and_modes(asked):
    tracing, real = asked
    ours = {
        path: mode
        for path, mode in walk(tracing.tracefs.root)
        if "events/" not in path or path.startswith(SHOWN) or path == "events/enable"
    }
    assert sorted(real["names"].keys() ^ ours.keys()) == []
    assert {path: mode for path, mode in ours.items() if real["names"][path] != mode} == {}


def test_texts(asked):
    tracing, real = asked
    assert len(real["texts"]) >= 80
    for path, text in real["texts"].items():
        assert cat(tracing, path.replace("instances/probe", "instances/foo")) == text, path


# what `events/ftrace/*/format` say on the real kernels of the numbers that are not the same on all of them
NUMBERS = {
    "5.10": {"user_stack": 12, "bputs": 14, "hwlat": 15, "raw_data": 16},
    "6.1": {
        "user_stack": 12,
        "bputs": 14,
        "hwlat": 15,
        "osnoise": 16,
        "timerlat": 17,
        "raw_data": 18,
        "func_repeats": 19,
    },
    "7.2": {
        "user_stack": 13,
        "bputs": 15,
        "hwlat": 16,
        "osnoise": 17,
        "timerlat": 18,
        "raw_data": 19,
        "func_repeats": 20,
    },
}


@pytest.mark.parametrize("kernel", NUMBERS)
def test_numbers_of_entries_that_are_no_events(kernel):
    tracing = machine(kernel, cpus=1)
    for name, number in NUMBERS[kernel].items():
        assert f"\nID: {number}\n" in cat(tracing, f"events/ftrace/{name}/format")
