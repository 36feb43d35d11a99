"""How the code is kept, counted: types at the doors, errors by name, no circles, files one can hold.

tests/test_layers.py has the floors, and each constant in one place.  What is found here is put right, not excused.
"""

from __future__ import annotations

import ast

from tests.tools.sources import ROOT, nodes, trees

LINES = 600
# Longer, because they are tables, a list of rows.
TABLES = {"bpf/uapi.py", "bpf/versions/program_types.py"}
# Where every exception is caught and kept: a bug of ours becomes an oops of the simulated machine; and on its way through
# machine code, which knows no exceptions, one is carried around it.
# A copy of a machine takes one to the process that waits for it.
BOUNDARIES = {
    "simkernel/kernel/cpus.py", "bpf/run/compiled.py", "simkernel/packed.py",
    "simkernel/experiments/points.py",  # a person's experiment: whatever it raises is the result of its point
    "simkernel/matrix/cells.py",  # a person's test: whatever it raises is how it failed
}  # fmt: skip


def is_any(annotation: ast.expr | None) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id == "Any"


def test_the_doors_are_typed() -> None:
    """What a body or a part gets first is a face, not anything."""
    found = [
        f"{path}:{node.lineno} {node.arg}"
        for path, node in nodes(ast.arg)
        if node.arg in ("k", "self", "host") and is_any(node.annotation)
    ]
    assert found == []


def test_any_stands_at_the_borders() -> None:
    """Where values come from outside: unicorn, capstone, llvmlite, JSON, struct, values of users' types."""
    assert sum(is_any(node) for _, node in nodes(ast.Name)) < 200


def test_attributes_are_named_not_looked_up() -> None:
    """getattr(x, "name") finds a misspelt name only when it runs; mypy finds it at once."""
    found = [
        f"{path}:{node.lineno} {ast.unparse(node)}"
        for path, node in nodes(ast.Call)
        if isinstance(node.func, ast.Name)
        and node.func.id in ("getattr", "hasattr")
        and isinstance(node.args[1], ast.Constant)
    ]
    assert found == []


# -- errors ------------------------------------------------------------------------------------------------------------


def is_plain(value: ast.expr) -> bool:
    """A number, a string, or arithmetic of numbers: no name in it."""
    return all(
        isinstance(node, ast.Constant | ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop | ast.Load)
        for node in ast.walk(value)
    ) and not any(
        isinstance(n, ast.Constant) and (n.value is None or isinstance(n.value, bool)) for n in ast.walk(value)
    )


def test_errors_have_names() -> None:
    """KernelError(EINVAL), not KernelError(22)."""
    found = [
        f"{path}:{node.lineno}"
        for path, node in nodes(ast.Call)
        if "KernelError" in (getattr(node.func, "id", ""), getattr(node.func, "attr", ""))
        and node.args
        and is_plain(node.args[0])
    ]
    assert found == []


def test_bugs_are_caught_in_one_place() -> None:
    """`except Exception` hides mistakes everywhere but at the boundary that reports them."""
    broad = {"Exception", "BaseException"}
    found = {
        path
        for path, node in nodes(ast.ExceptHandler)
        if not (isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None)  # cleans up, and lets it pass
        and (node.type is None or broad & {n.id for n in ast.walk(node.type) if isinstance(n, ast.Name)})
    }
    assert found == BOUNDARIES


# -- shape -------------------------------------------------------------------------------------------------------------


def test_files_can_be_held_in_the_head() -> None:
    long = {path for path in trees() if (ROOT / path).read_text().count("\n") > LINES}
    assert long == TABLES


def import_graph() -> dict[str, set[str]]:
    """Module -> the modules it imports anywhere: at the top, late in a function, or for types only."""
    names = {path.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path for path in trees()}
    graph: dict[str, set[str]] = {}
    for name, path in names.items():
        found = set()
        for node in ast.walk(trees()[path]):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                assert node.level == 0, f"{path}: imports say the whole name"
                inside = {f"{node.module}.{alias.name}" for alias in node.names}
                found |= {n for n in inside if n in names} or {node.module}
                if not inside <= names.keys():
                    found.add(node.module)
        graph[name] = {n for n in found if n in names and n != name}
    return graph


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that reach each other (Tarjan's strongly connected components of more than one)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in graph[name]:
            if other not in index:
                visit(other)
            if other in stack:
                low[name] = min(low[name], low[other])
        if low[name] == index[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                found.append(sorted(group))

    for name in graph:
        if name not in index:
            visit(name)
    return sorted(found)


def test_no_module_imports_in_a_circle() -> None:
    assert circles(import_graph()) == []


def test_circles_are_seen() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}) == [["a", "b", "c"]]
    assert circles({"a": {"b"}, "b": {"c"}, "c": set()}) == []
