"""The table of a histogram: entries by key, with sums and variables.  kernel/trace/tracing_map.c, lib/sort.c.

Entries that are equal in every sort key print in the order that the kernel's sort leaves them in, so the sort is the kernel's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arch.records import dataclass, field

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

    def __init__(self, bits: int, sorts_pairs: bool) -> None:
        self.bits = bits
        self.sorts_pairs = sorts_pairs
        self.clear()

    def clear(self) -> None:
        """tracing_map_clear()."""
        self.by_key: dict[bytes, Entry] = {}
        self.hits = self.drops = 0

    def lookup(self, key: bytes) -> Entry | None:
        """The entry of a key; nothing is counted."""
        return self.by_key.get(key)

    def insert(self, key: bytes, comm: str) -> Entry | None:
        """The entry of a key, new if need be; None when the table is full."""
        known = self.by_key.get(key)
        if known is None:
            if len(self.by_key) >= 1 << self.bits:
                self.drops += 1
                return None
            known = self.by_key[key] = Entry(key, comm)
        self.hits += 1
        return known

    def entries(self) -> list[Entry]:
        """By their keys' bytes, as the look for duplicates leaves them.  detect_dups()"""
        return [self.by_key[key] for key in sorted(self.by_key)]

    def sorted(self, compare: Sequence[Compare]) -> list[Entry]:
        """tracing_map_sort_entries(): by the first key, and among equals by the second."""
        entries = self.entries()
        sort = heap_sort_by_pairs if self.sorts_pairs else heap_sort
        sort(entries, compare[0])
        if len(compare) > 1:
            start = 0
            for index in range(1, len(entries) + 1):
                if index == len(entries) or compare[0](entries[index - 1], entries[index]):
                    part = entries[start:index]
                    sort(part, compare[1])
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
        sift_down(items, a, n, compare, 0)


def heap_sort_by_pairs(items: list[Entry], compare: Compare) -> None:
    """The same with `sorts_pairs`: the two largest leave the heap at a time, and of equal children the right one goes up."""
    n, a, step = len(items), len(items) // 2, 1
    if not a:
        return
    while a or n > 3:
        if a:
            a -= step
        else:
            n -= 2
            items[0], items[n + 1] = items[n + 1], items[0]
            a = step = 2 if compare(items[1], items[2]) <= 0 else 1
            items[a], items[n] = items[n], items[a]
        sift_down(items, a, n, compare, 1)
    n -= 1
    items[0], items[n] = items[n], items[0]
    if n == 2 and compare(items[0], items[1]) > 0:
        items[0], items[1] = items[1], items[0]


def sift_down(items: list[Entry], a: int, n: int, compare: Compare, left_wins: int) -> None:
    """Item `a` of a heap of `n`: down along the larger children, and back up to its place."""
    b = a
    while 2 * b + 2 < n:
        c = 2 * b + 1
        b = c if compare(items[c], items[c + 1]) >= left_wins else c + 1
    if 2 * b + 2 == n:
        b = 2 * b + 1
    while b != a and compare(items[a], items[b]) >= 0:
        b = (b - 1) // 2
    c = b
    while b != a:
        b = (b - 1) // 2
        items[b], items[c] = items[c], items[b]
