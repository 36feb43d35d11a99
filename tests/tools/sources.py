"""Every module of the four floors, parsed once, for tests of how the code is kept."""

from __future__ import annotations

import ast
import gc
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).parents[2]
FLOORS = ("arch", "tracing", "bpf", "simkernel")
N = TypeVar("N", bound=ast.AST)


@contextmanager
def _without_collector() -> Iterator[None]:
    """A million nodes that all stay: looking for garbage among them takes four times as long as making them."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@cache
def trees() -> dict[str, ast.Module]:
    """Path -> module."""
    paths = [path for floor in FLOORS for path in sorted((ROOT / floor).rglob("*.py"))]
    with _without_collector():
        return {str(path.relative_to(ROOT)): ast.parse(path.read_text()) for path in paths}


@cache
def _by_kind() -> dict[type[ast.AST], list[tuple[str, ast.AST]]]:
    found: dict[type[ast.AST], list[tuple[str, ast.AST]]] = defaultdict(list)
    modules = trees()
    with _without_collector():
        for path, tree in modules.items():
            for node in ast.walk(tree):
                found[type(node)].append((path, node))
    return found


def nodes(kind: type[N]) -> Iterator[tuple[str, N]]:
    """All nodes of one kind, with the paths of their modules."""
    for path, node in _by_kind()[kind]:
        assert isinstance(node, kind)
        yield path, node
