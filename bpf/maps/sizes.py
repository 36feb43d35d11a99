"""Sizes as the kernel rounds them."""

from __future__ import annotations


def round_up(value: int, to: int) -> int:
    """To the next multiple."""
    return (value + to - 1) // to * to


def roundup_pow_of_two(value: int) -> int:
    """The next power of two that is not smaller."""
    return 1 << (value - 1).bit_length() if value > 1 else 1
