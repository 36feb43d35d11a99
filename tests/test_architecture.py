"""docs/architecture.md is true: what it names is there, its pictures are those of the code, its walks go that way."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import simkernel
from docs import rooms

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "architecture.md"
NAMED = re.compile(r"`([\w/]+\.py):([\w.]+)`")
OBJECT = ROOT / "samples" / "obj" / "x86_64" / "writes.bpf.o"
WRITER = ROOT / "samples" / "bin" / "x86_64" / "writer"

Step = tuple[str, str]  # file, qualified name


def named(text: str) -> list[Step]:
    return [(m[1], m[2]) for m in NAMED.finditer(text)]


def walk(number: int) -> list[Step]:
    """The functions that a walk names, in its order, without those that only write machine code."""
    part = PAGE.read_text().split("\n## Three walks\n")[1].split("\n## ")[0].split("\n### ")[number]
    return [step for step in named(part) if not step[0].startswith("arch/native/")]


@cache
def functions(path: str) -> set[str]:
    """Every function and class of a file, by qualified name."""
    found: set[str] = set()

    def visit(node: ast.AST, prefix: str) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                found.add(prefix + child.name)
                visit(child, f"{prefix}{child.name}.")
            else:
                visit(child, prefix)

    visit(ast.parse((ROOT / path).read_text()), "")
    return found


def test_every_function_that_the_page_names_exists() -> None:
    names = named(PAGE.read_text())
    assert len(names) > 50
    assert [f"{path}:{name}" for path, name in names if not (ROOT / path).exists() or name not in functions(path)] == []


def test_the_pictures_are_those_of_the_code() -> None:
    """`python -m docs.rooms` writes them anew."""
    assert rooms.write(PAGE.read_text()) == PAGE.read_text()


# -- the walks -----------------------------------------------------------------------------------------------------------


def calls(run: Callable[[], object]) -> list[Step]:
    """Every call of a function of ours while something runs, resumed coroutines included."""
    made: list[Step] = []
    top = str(ROOT) + "/"

    def profile(frame: object, event: str, argument: object) -> None:
        code = frame.f_code  # type: ignore[attr-defined]
        if event == "call" and code.co_filename.startswith(top):
            made.append((code.co_filename.removeprefix(top), code.co_qualname.replace(".<locals>", "")))

    sys.setprofile(profile)
    try:
        run()
    finally:
        sys.setprofile(None)
    return made


def missing(steps: list[Step], made: list[Step]) -> list[Step]:
    """The steps that did not run after the one before them."""
    at, absent = 0, []
    for step in steps:
        try:
            at = made.index(step, at) + 1
        except ValueError:
            absent.append(step)
    return absent


@pytest.fixture(scope="module")
def computer() -> Iterator[simkernel.Machine]:
    machine = simkernel.boot()
    yield machine
    machine.close()


def test_the_walk_of_a_system_call(computer: simkernel.Machine) -> None:
    task = computer.session.task
    fd = task.open("/greeting", 0o101, 0o644)
    task.write_fd(fd, b"compiled at the first call")
    not_seen_here = {("simkernel/kernel/engine.py", "Engine.compile_wrapper")}
    steps = [step for step in walk(1) if step not in not_seen_here]
    assert missing(steps, calls(lambda: task.write_fd(fd, b"hello"))) == []


def test_the_walk_of_a_probe_hit(computer: simkernel.Machine) -> None:
    obj = computer.load(OBJECT)
    obj.attach()
    program = computer.install(WRITER)
    aside = {("arch/probes.py", "ProbePoints.add_probe"), ("tracing/probes/kprobes.py", "Kprobes._single")}
    steps = [step for step in walk(2) if step not in aside]
    made = calls(lambda: (computer.run([program]), list(obj.maps["by_process"].items())))
    obj.close()
    assert missing(steps, made) == []


def test_the_walk_of_an_object(computer: simkernel.Machine) -> None:
    computer.load(OBJECT).close()  # what is imported when it is first used is imported now
    objects = []

    def load_and_attach() -> None:
        objects.append(computer.load(OBJECT))
        objects[0].attach()

    made = calls(load_and_attach)
    objects[0].close()
    steps = [(path, "Features.__init__" if name == "Features" else name) for path, name in walk(3)]
    assert missing(steps, made) == []


def test_a_walk_that_goes_another_way_is_seen() -> None:
    made = [("a.py", "f"), ("a.py", "g"), ("a.py", "f")]
    assert missing([("a.py", "f"), ("a.py", "g")], made) == []
    assert missing([("a.py", "g"), ("a.py", "f"), ("a.py", "g")], made) == [("a.py", "g")]
