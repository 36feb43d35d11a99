"""The four floors, each importing only from those below it; and no import cycle between modules."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

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


def test_only_arch_compares_architecture_names() -> None:
    """A difference between CPUs is a row in a table under arch/, never a branch elsewhere."""
    names = {"x86_64", "arm64", "riscv64", "s390x", "i386", "arm"}
    wrong = []
    for floor in FLOORS[1:]:
        for path in sorted((ROOT / floor).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Compare):
                    constants = {
                        c.value
                        for c in [node.left, *node.comparators]
                        if isinstance(c, ast.Constant) and isinstance(c.value, str)
                    }
                    if constants & names:
                        wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert wrong == []
