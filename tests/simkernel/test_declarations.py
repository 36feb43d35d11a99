"""Kernel functions are declared once: a second declaration of a name would silently lose against the first."""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from textwrap import dedent

import pytest

from arch.abi.version import KernelVersion
from simkernel import block, fs, mm, net, observe
from simkernel.kernel import kernel, kfunc

ALL = (block, fs, mm, net, observe, kernel)


@pytest.mark.parametrize("version", ["3.20-rfc", "4.1", "4.19", "5.10", "5.15", "6.1"])
def test_no_symbol_is_declared_twice(version: str) -> None:
    v = KernelVersion.parse(version)
    symbols = Counter(f.name_in(v) for f in kfunc.KERNEL_FUNCTIONS if f.exists_in(v))
    assert [name for name, count in symbols.items() if count > 1] == []
    calls = Counter(s.name for s in kfunc.SYSCALLS if s.exists_in(v))
    assert [name for name, count in calls.items() if count > 1] == []


def test_a_body_that_ends_in_a_jump_does_nothing_after_it() -> None:
    """The body is closed when it asks for its call: what stands behind would never run."""
    jumping = [f for f in (*kfunc.KERNEL_FUNCTIONS, *kfunc.SYSCALLS) if f.jumps]
    assert jumping
    for function in jumping:
        tree = ast.parse(dedent(inspect.getsource(function.body)))
        ends = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Return)}
        waits = [node for node in ast.walk(tree) if isinstance(node, ast.Yield | ast.YieldFrom)]
        assert waits and all(id(node) in ends for node in waits), function.name
