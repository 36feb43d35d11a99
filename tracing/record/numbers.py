"""Comparisons of numbers in event filters, as data: Python evaluates them, and so does native code (compiled.py)."""

from __future__ import annotations

from collections.abc import Callable

from arch.memory import ByteOrder


def band(a: int, b: int) -> bool:
    """The operator &: any common bit."""
    return bool(a & b)


COMPARE: dict[str, Callable[[int, int], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "&": band,
}


class NumberTest:
    """A field of the record against a number."""

    __slots__ = ("compare", "end", "offset", "op", "order", "signed", "value")

    def __init__(self, offset: int, size: int, signed: bool, order: ByteOrder, op: str, value: int) -> None:
        self.offset, self.end, self.signed, self.order = offset, offset + size, signed, order
        self.op, self.compare, self.value = op, COMPARE[op], value

    def __call__(self, record: bytes) -> bool:
        number = int.from_bytes(record[self.offset : self.end], self.order, signed=self.signed)
        return self.compare(number, self.value)


class CpuTest:
    """The CPU that runs against a number."""

    __slots__ = ("compare", "cpu_id", "op", "value")

    def __init__(self, cpu_id: Callable[[], int], op: str, value: int) -> None:
        self.cpu_id, self.op, self.compare, self.value = cpu_id, op, COMPARE[op], value

    def __call__(self, record: bytes) -> bool:
        return self.compare(self.cpu_id(), self.value)
