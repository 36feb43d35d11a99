"""The four floors, each importing only from those below it; and no import cycle between modules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from arch.architecture import names
from tests.tools.sources import FLOORS, ROOT, nodes, trees

CAPITALS = re.compile(r"_?[A-Z][A-Z0-9_]+$")


def packages(floor: str) -> Iterator[tuple[str, str]]:
    """(module of a floor, top-level package that it imports anywhere in its text)."""
    for path, node in nodes(ast.Import):
        if path.startswith(f"{floor}/"):
            yield from ((path, alias.name.split(".")[0]) for alias in node.names)
    for path, node in nodes(ast.ImportFrom):
        if path.startswith(f"{floor}/") and node.module and node.level == 0:
            yield path, node.module.split(".")[0]


@pytest.mark.parametrize("floor", FLOORS)
def test_a_floor_imports_only_from_below(floor: str) -> None:
    above = set(FLOORS[FLOORS.index(floor) + 1 :])
    assert [(path, package) for path, package in packages(floor) if package in above] == []


def test_only_arch_knows_architectures_by_name() -> None:
    """A difference between CPUs is a row in a table under arch/, never a branch or a table elsewhere."""
    known = set(names())
    wrong = [
        f"{path}:{node.lineno}"
        for path, node in nodes(ast.Constant)
        if not path.startswith("arch/") and isinstance(node.value, str) and node.value in known
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


def constants(module: ast.Module) -> Iterator[str]:
    """Names in capitals that a module's top level binds to a literal."""
    for node in module.body:
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
    for path, module in trees().items():
        folder = path.split("/")[:-1]
        cpu = len(folder) == 2 and folder[0] == "arch" and folder[1] in names()
        for name in constants(module):
            places.setdefault(name, set()).add("arch/CPU" if cpu else path)
    assert {name: sorted(where) for name, where in places.items() if len(where) > 1} == {}
