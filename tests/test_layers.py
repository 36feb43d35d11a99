"""The four floors, each importing only from those below it; and no import cycle between modules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from arch.architecture import names

ROOT = Path(__file__).parent.parent
FLOORS = ("arch", "tracing", "bpf", "simkernel")
CAPITALS = re.compile(r"_?[A-Z][A-Z0-9_]+$")


def imports(path: Path) -> set[str]:
    """Top-level packages that a module imports anywhere in its text."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("floor", FLOORS)
def test_a_floor_imports_only_from_below(floor: str) -> None:
    above = set(FLOORS[FLOORS.index(floor) + 1 :])
    wrong = {
        str(path.relative_to(ROOT)): sorted(imports(path) & above)
        for path in sorted((ROOT / floor).rglob("*.py"))
        if imports(path) & above
    }
    assert wrong == {}


def test_only_arch_knows_architectures_by_name() -> None:
    """A difference between CPUs is a row in a table under arch/, never a branch or a table elsewhere."""
    known = set(names())
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for floor in FLOORS[1:]
        for path in sorted((ROOT / floor).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in known
    ]
    wrong += [
        f"{path.relative_to(ROOT)}: {condition}"
        for path in sorted((ROOT / "simkernel" / "include").rglob("*.h"))
        for condition in re.findall(r"/\* *arch .*?\*/", path.read_text())
    ]
    assert wrong == []


def number(node: ast.expr) -> object:
    """The value of a constant expression of literals; None for anything else."""
    try:
        value = eval(compile(ast.Expression(node), "", "eval"), {"__builtins__": {}})
    except (NameError, AttributeError, TypeError):
        return None
    return value if isinstance(value, int | str | bytes) else None


def constants(path: Path) -> Iterator[str]:
    """Names in capitals that a module's top level binds to a literal."""
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                pair = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                targets, values = (target.elts, node.value.elts) if pair else ([target], [node.value])
                for name, value in zip(targets, values):
                    if isinstance(name, ast.Name) and number(value) is not None and CAPITALS.match(name.id):
                        yield name.id.lstrip("_")


def test_a_constant_is_defined_once() -> None:
    """The folders of the CPUs are parallel: the same name there is a column of one table."""
    places: dict[str, set[str]] = {}
    for floor in FLOORS:
        for path in sorted((ROOT / floor).rglob("*.py")):
            cpu = path.parent.parent.name == "arch" and path.parent.name in names()
            for name in constants(path):
                places.setdefault(name, set()).add("arch/CPU" if cpu else str(path.relative_to(ROOT)))
    assert {name: sorted(where) for name, where in places.items() if len(where) > 1} == {}
