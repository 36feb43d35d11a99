"""What is not in the subset, said at its place in the source."""

from __future__ import annotations

import ast


class CompileError(Exception):
    """`prog.py:12:8: sentence`."""

    def __init__(self, why: str, node: ast.AST | None = None, filename: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.line = int(vars(node).get("lineno", 0)) if node is not None else 0
        self.column = int(vars(node).get("col_offset", 0)) + 1 if node is not None else 0
        self.filename = filename

    def __str__(self) -> str:
        place = f"{self.filename}:{self.line}:{self.column}: " if self.line else f"{self.filename}: "
        return place + self.why
