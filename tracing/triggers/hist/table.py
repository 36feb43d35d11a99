"""The table of a histogram: entries by key, with sums and variables.  kernel/trace/tracing_map.c, lib/sort.c, lib/jhash.c.

Where an entry lies (its hash) decides in which order entries print that are equal in every sort key, so both the hash and
the sort are the kernel's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arch.memory import ByteOrder
from arch.records import dataclass, field

MASK32 = 0xFFFFFFFF
MASK64 = (1 << 64) - 1

Var = int | bytes | tuple[int, ...]
Compare = Callable[["Entry", "Entry"], int]


@dataclass(eq=False)
class Entry:
    """struct tracing_map_elt, with what the histogram keeps in it."""

    key: bytes
    comm: str
    sums: dict[int, int] = field(default_factory=dict)
    vars: dict[int, Var] = field(default_factory=dict)  # those that were set once
    is_set: set[int] = field(default_factory=set)  # those that may still be read

    def add(self, index: int, value: int) -> None:
        """tracing_map_update_sum()."""
        self.sums[index] = (self.sums.get(index, 0) + value) & MASK64

    def set_var(self, index: int, value: Var) -> None:
        """tracing_map_set_var()."""
        self.vars[index] = value
        self.is_set.add(index)

    def var(self, index: int) -> Var:
        """tracing_map_read_var()."""
        return self.vars.get(index, 0)


class Table:
    """struct tracing_map."""

    def __init__(self, bits: int, key_size: int, order: ByteOrder) -> None:
        self.bits = bits
        self.key_size = key_size
        self.order: ByteOrder = order
        self.clear()

    def clear(self) -> None:
        """tracing_map_clear()."""
        self.slots: dict[int, Entry] = {}
        self.hashes: dict[int, int] = {}  # of the slots
        self.by_key: dict[bytes, Entry] = {}
        self.hits = self.drops = 0

    def lookup(self, key: bytes) -> Entry | None:
        """The entry of a key; nothing is counted."""
        return self.by_key.get(key)

    def insert(self, key: bytes, comm: str) -> Entry | None:
        """The entry of a key, new if need be; None when the table is full."""
        known = self.by_key.get(key)
        if known is None:
            if len(self.slots) >= 1 << self.bits:
                self.drops += 1
                return None
            slot = (jhash(key, self.order) or 1) >> (31 - self.bits)
            mask = (1 << (self.bits + 1)) - 1
            slot &= mask
            while slot in self.slots:
                slot = (slot + 1) & mask
            known = self.slots[slot] = self.by_key[key] = Entry(key, comm)
        self.hits += 1
        return known

    def entries(self) -> list[Entry]:
        """In the order in which they lie."""
        return [self.slots[slot] for slot in sorted(self.slots)]

    def sorted(self, compare: Sequence[Compare]) -> list[Entry]:
        """tracing_map_sort_entries(): by the first key, and among equals by the second."""
        entries = self.entries()
        heap_sort(entries, compare[0])
        if len(compare) > 1:
            start = 0
            for index in range(1, len(entries) + 1):
                if index == len(entries) or compare[0](entries[index - 1], entries[index]):
                    part = entries[start:index]
                    heap_sort(part, compare[1])
                    entries[start:index] = part
                    start = index
        return entries


def heap_sort(items: list[Entry], compare: Compare) -> None:
    """lib/sort.c: bottom-up heap sort, which does not keep equals in order."""
    n, a = len(items), len(items) // 2
    while a or n > 1:
        if a:
            a -= 1
        else:
            n -= 1
            items[0], items[n] = items[n], items[0]
        b = a
        while 2 * b + 2 < n:
            c = 2 * b + 1
            b = c if compare(items[c], items[c + 1]) >= 0 else c + 1
        if 2 * b + 2 == n:
            b = 2 * b + 1
        while b != a and compare(items[a], items[b]) >= 0:
            b = (b - 1) // 2
        c = b
        while b != a:
            b = (b - 1) // 2
            items[b], items[c] = items[c], items[b]


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & MASK32


def jhash(key: bytes, order: ByteOrder, initial: int = 0) -> int:
    """Bob Jenkins' hash of bytes, as include/linux/jhash.h has it."""
    length = len(key)
    a = b = c = (0xDEADBEEF + length + initial) & MASK32
    at = 0
    while length > 12:
        a = (a + int.from_bytes(key[at : at + 4], order)) & MASK32
        b = (b + int.from_bytes(key[at + 4 : at + 8], order)) & MASK32
        c = (c + int.from_bytes(key[at + 8 : at + 12], order)) & MASK32
        for shift in ((4, 6, 8), (16, 19, 4)):
            a = ((a - c) & MASK32) ^ _rotate(c, shift[0])
            c = (c + b) & MASK32
            b = ((b - a) & MASK32) ^ _rotate(a, shift[1])
            a = (a + c) & MASK32
            c = ((c - b) & MASK32) ^ _rotate(b, shift[2])
            b = (b + a) & MASK32
        length -= 12
        at += 12
    if not length:
        return c
    rest = key[at:].ljust(12, b"\0")
    a = (a + int.from_bytes(rest[0:4], "little")) & MASK32
    b = (b + int.from_bytes(rest[4:8], "little")) & MASK32
    c = (c + int.from_bytes(rest[8:12], "little")) & MASK32
    for first, second, bits in (("c", "b", 14), ("a", "c", 11), ("b", "a", 25), ("c", "b", 16), ("a", "c", 4),
                                ("b", "a", 14), ("c", "b", 24)):  # fmt: skip
        values = {"a": a, "b": b, "c": c}
        values[first] = ((values[first] ^ values[second]) - _rotate(values[second], bits)) & MASK32
        a, b, c = values["a"], values["b"], values["c"]
    return c
