"""A few cases of every kind of attack, and that the runner tells a finding."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from simkernel.copies import Template
from tests.fuzz import __main__ as runner
from tests.fuzz import faults
from tests.fuzz.kinds import KINDS, Finding

ONE = ("syscalls", "sequences", "chains", "memory", "interrupts", "files", "tiers")  # a case takes a while


@pytest.mark.parametrize("name", KINDS)
def test_some_cases(name: str) -> None:
    outcomes = runner.batch(name, 1, 0, 8) if name not in ONE else [runner.one(name, 1, 0)]
    assert not [outcome for outcome in outcomes if outcome.startswith("FINDING")]


@pytest.mark.parametrize("case", [6, 20, 22])
def test_found_before(case: int) -> None:
    """No memory for the new program in execve(2), and for the tool's own task."""
    assert not runner.one("faults", 1, case).startswith("FINDING")


@pytest.mark.parametrize(("place", "at"), [("host calls", 1), ("disk full", 1), ("objects", 20), ("pages", 5)])
def test_one_failure_of_a_story(prepared: tuple[Template, str], place: str, at: int) -> None:
    """The first read of the host in `counted_writes` is one of our own data: EIO for bpf(2), no oops."""
    template, folder = prepared
    story = "bound_files" if place == "disk full" else "counted_writes"
    ended, calls = faults.run(template, folder, story, place, at)
    assert ended in ("refused", "held") and calls >= at


def test_no_page_for_the_code_of_a_workload(prepared: tuple[Template, str]) -> None:
    template, folder = prepared
    for at in range(4, 9):
        assert faults.run(template, folder, "talking_tasks", "pages", at)[0] in ("refused", "held")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Template, str]]:
    folder = str(tmp_path_factory.mktemp("bound"))
    with Template(faults.prepared(folder)) as template:
        yield template, folder


def test_a_finding_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def bad(rng: random.Random) -> str:
        raise Finding("it broke")

    def dies(rng: random.Random) -> str:
        import os
        import signal

        os.kill(os.getpid(), signal.SIGKILL)
        return ""

    monkeypatch.setitem(KINDS, "bad", ("", bad))
    monkeypatch.setitem(KINDS, "dies", ("", dies))
    assert all("FINDING: Finding: it broke" in outcome for outcome in runner.batch("bad", 1, 0, 8))
    assert runner.batch("dies", 1, 0, 8) == ["FINDING: SIGKILL"]
