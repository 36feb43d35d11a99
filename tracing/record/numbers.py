"""Numbers and sets of CPUs in event filters.  Comparisons are data: Python evaluates them, and so does native code (compiled.py)."""

from __future__ import annotations

import re
from collections.abc import Callable

from arch.abi.errno import EINVAL, ERANGE
from arch.errors import KernelError
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


# Sets of CPUs


REGION = re.compile(r"(?:((?i:all))|(N|[0-9]+)|(N|[0-9]+)-(N|[0-9]+))(?::([0-9]+)/([0-9]+))?")


def parse_cpulist(text: str, nr_cpus: int) -> set[int]:
    """cpulist_parse(): `0-2,4`, `0-7:2/4` (two of every four), `all`, `N` for the last; an empty piece is nothing.  EINVAL, ERANGE."""
    found: set[int] = set()
    for piece in filter(None, re.split(r"[,\s\xa0]+", text)):
        match = REGION.fullmatch(piece)
        if match is None:
            raise KernelError(EINVAL, f"no CPUs: {piece!r}")
        everything, alone, *ends, used, group = match.groups()
        if everything:
            ends = ["0", "N"]
        elif alone:
            ends = [alone, alone]
        low, high = (nr_cpus - 1 if end == "N" else int(end) for end in ends)
        step, length = (int(group), int(used)) if group else (1, 1)
        if low > high or not step or length > step or (group and alone):
            raise KernelError(EINVAL, f"no CPUs: {piece!r}")
        if high >= nr_cpus:
            raise KernelError(ERANGE, f"there are {nr_cpus} CPUs")
        found.update(cpu for cpu in range(low, high + 1) if (cpu - low) % step < length)
    return found


def mask_bits(data: bytes, word: int, order: ByteOrder) -> frozenset[int]:
    """The bits of a cpumask_t, which are in words."""
    words = (int.from_bytes(data[start : start + word], order) for start in range(0, len(data), word))
    value = sum(bits << (8 * word * number) for number, bits in enumerate(words))
    return frozenset(bit for bit in range(value.bit_length()) if value >> bit & 1)
