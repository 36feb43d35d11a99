"""Arguments of a call, by the names that the kernel's BTF gives them: the options func-args and funcgraph-args.

kernel/trace/trace_output.c:print_function_args()
"""

from __future__ import annotations

from collections.abc import Sequence

from arch.ctype import CType, EnumType, FuncDecl, IntType, PointerType
from tracing.board import Board
from tracing.text.addresses import Addresses

REGS_MAX_ARGS = 6  # FTRACE_REGS_MAX_ARGS


class FunctionArgs:
    """How the calls of one machine print."""

    def __init__(self, board: Board) -> None:
        self.host = board.host
        self.layout = board.layout
        self.addresses: Addresses = board.addresses
        self.word = board.word
        self.order = board.byteorder

    def take(self, regs: int) -> bytes:
        """The first six arguments of the call that a pt_regs stands in front of."""
        host, arch = self.host, self.host.arch
        values = (arch.argument(host.mem, regs, index, self.layout) for index in range(REGS_MAX_ARGS))
        return b"".join((value & (1 << 8 * self.word) - 1).to_bytes(self.word, self.order) for value in values)

    def text(self, function: int, data: bytes) -> str:
        """`(file=0xffff888003c3a600, count=0x10)`; empty parentheses where there is no prototype."""
        declared = self.host.signature(self.addresses.symbol_name(function))
        if declared is None:
            return "()"
        values = [int.from_bytes(data[at : at + self.word], self.order) for at in range(0, len(data), self.word)]
        return f"({', '.join(self._shown(declared, values))})"

    def _shown(self, declared: FuncDecl, values: Sequence[int]) -> list[str]:
        shown: list[str] = []
        for index, (name, ctype) in enumerate(declared.params):
            if index == REGS_MAX_ARGS:
                return [*shown, "..."]
            shown.append((f"{name}=" if name else "") + argument_text(ctype.strip, values[index], 8 * self.word))
        return shown


def argument_text(ctype: CType, value: int, bits: int) -> str:
    """One value, by the kind of its type."""
    signed = value - (1 << bits) if value >> (bits - 1) else value
    if isinstance(ctype, PointerType):
        return hex(value)
    if isinstance(ctype, IntType):
        return str(signed) if ctype.signed else hex(value)
    if isinstance(ctype, EnumType):
        label = next((f" [{name}]" for name, number in ctype.values if number == value), "")
        return f"{signed}{label}"
    return f"(STRUCT)[{value:#x}]"
