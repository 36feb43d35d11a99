"""Copies of a prepared machine: each begins where the template stands, and leaves nothing behind."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import simkernel
from simkernel.copies import Template
from simkernel.machine import Machine
from simkernel.packed import ChildError
from tests.tools.warm import warm_server

HELLO = Path(__file__).parents[2] / "samples" / "bin" / "x86_64" / "hello"


def prepare(machine: Machine) -> None:
    machine.install(HELLO)
    assert machine.run(["/bin/hello"]).status == 0


@pytest.fixture(scope="module")
def template() -> Template:
    return simkernel.template(setup=prepare)


def once_more(machine: Machine) -> tuple[str, int, int]:
    result = machine.run(["/bin/hello"])
    return result.text, machine.kernel.clock.now_ns, machine.user_task().syscall("getpid")


def test_copies_are_alike_and_do_not_see_each_other(template: Template) -> None:
    before = template.machine.kernel.clock.now_ns, bytes(template.machine.kernel.physical.read(0, 1 << 20))
    children = [template.start(once_more) for _ in range(3)]
    first, *rest = [child.result() for child in children]
    assert first[0] == "hello, world\n" and first[1] > before[0]
    assert rest == [first, first] == [template.run(once_more), once_more_from_the_start()]
    assert before == (template.machine.kernel.clock.now_ns, bytes(template.machine.kernel.physical.read(0, 1 << 20)))


def once_more_from_the_start() -> tuple[str, int, int]:
    machine = simkernel.boot()
    prepare(machine)
    return once_more(machine)


def test_exceptions_come_back(template: Template) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        template.run(lambda machine: 1 // 0)
    assert "test_copies.py" in caught.value.__notes__[0]
    with pytest.raises(ChildError, match="signal 9"):
        template.run(lambda machine: os.kill(os.getpid(), 9))
    with pytest.raises(ChildError, match="the result cannot be brought back"):
        template.run(lambda machine: machine.kernel.cpu)


TESTS = """
import pytest, simkernel

def prepare(machine):
    machine.install(HELLO)
    with open("count", "a") as file:
        file.write("x")

@pytest.mark.simkernel(setup=prepare)
def test_first(machine, tmp_path):
    assert machine.run(["/bin/hello"]).text == "hello, world\\n"
    (tmp_path / "here").write_text("x")
    machine.seen = 1

@pytest.mark.simkernel(setup=prepare)
def test_second(machine):
    assert not hasattr(machine, "seen")
    assert machine.run(["/bin/hello"]).text == "hello, world\\n"

@pytest.mark.simkernel(setup=prepare)
def test_bad(machine):
    assert machine.run(["/bin/hello"]).text == "something else"
"""


def test_the_fixture_hands_out_copies(tmp_path: Path) -> None:
    (tmp_path / "test_tool.py").write_text(TESTS.replace("HELLO", repr(str(HELLO))))
    ran = subprocess.run(
        warm_server().python("-m", "pytest", "-v", "-p", "no:cacheprovider", "-p", "no:xdist", "."),
        cwd=tmp_path, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert "test_first[6.1-x86_64] PASSED" in ran.stdout, ran.stdout + ran.stderr
    assert "test_second[6.1-x86_64] PASSED" in ran.stdout
    assert "test_bad[6.1-x86_64] FAILED" in ran.stdout and "something else" in ran.stdout
    assert (tmp_path / "count").read_text() == "x"  # booted and prepared once
