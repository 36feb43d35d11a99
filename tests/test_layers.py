"""The four floors, each importing only from those below it; and no import cycle between modules."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from arch.architecture import names

ROOT = Path(__file__).parent.parent
FLOORS = ("arch", "tracing", "bpf", "simkernel")


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
