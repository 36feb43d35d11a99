"""A program that asks perf_event_open(2) about everything, on the real 6.1 and here: the same lines."""

from pathlib import Path

import pytest

import simkernel

HERE = Path(__file__).parent / "programs"
PROGRAM = HERE / "bin" / "x86_64" / "perf"
PARTS = dict(part.split("\n", 1) for part in (HERE / "perf_6_1.out").read_text().split("## ")[1:])
# Nothing watches what the kernel does with its own memory: what the real kernel takes has no room here.
NO_ROOM = ("type 8: ok", "kernel address: ok")
# The vdso is made otherwise and has no data pages; the stack appears once, not before and after it grows.
MADE_OTHERWISE = ("[vvar]",)


@pytest.fixture(scope="module")
def answers():
    machine = simkernel.boot()
    text = machine.run([machine.install(str(PROGRAM)), *PARTS]).text
    return dict(part.split("\n", 1) for part in text.split("## ")[1:])


@pytest.mark.parametrize("part", ["program", "groups", "samples", "watch"])
def test_the_same_as_on_linux(answers, part):
    assert answers[part] == PARTS[part]


@pytest.mark.parametrize("part", ["arguments", "breakpoints"])
def test_what_is_refused_is_refused_alike(answers, part):
    ours, real = answers[part].splitlines(), PARTS[part].splitlines()
    assert len(ours) == len(real) > 15
    for mine, theirs in zip(ours, real):
        if mine != theirs:
            assert theirs.startswith(NO_ROOM) and theirs.endswith(": ok") and not mine.endswith("Invalid argument"), (
                theirs
            )


def test_records_of_a_task(answers):
    """Names, mappings, the end, in the same order."""
    real = [line for line in PARTS["records"].splitlines() if not any(word in line for word in MADE_OTHERWISE)]
    grown = next(index for index, line in enumerate(real) if "[stack]" in line)
    del real[grown - 1]
    assert answers["records"].splitlines() == real


def test_more_of_it():
    """What is refused, ioctls, groups, every kind of sample, full rings, signals, inheritance."""
    machine = simkernel.boot()
    text = machine.run([machine.install(str(PROGRAM.parent / "perf_more"))]).text
    assert text.splitlines() == (HERE / "perf_more_6_1.out").read_text().splitlines()


def test_all_of_it():
    """Every flag, bit, size, ioctl, mapping, group and level of privilege."""
    machine = simkernel.boot()
    work, sweep = machine.install(str(PROGRAM.parent / "w")), machine.install(str(PROGRAM.parent / "perf_sweep"))
    text = machine.run([sweep, work]).text
    assert text.splitlines() == (HERE / "perf_sweep_6_1.out").read_text().splitlines()
