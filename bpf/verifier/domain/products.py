"""Ranges of products: scalar_min_max_mul() of kernel/bpf/verifier.c since 6.14."""

from __future__ import annotations

Range = tuple[int, int]


def unsigned_product(a: Range, b: Range, top: int) -> Range:
    """All products of two unsigned numbers; any number if one does not fit."""
    return (0, top) if a[1] * b[1] > top else (a[0] * b[0], a[1] * b[1])


def signed_product(a: Range, b: Range, least: int, most: int) -> Range:
    """The same of signed ones."""
    ends = [x * y for x in a for y in b]
    low, high = min(ends), max(ends)
    return (low, high) if least <= low and high <= most else (least, most)
