"""Tracked numbers against all sets of small numbers, at the bottom, across the middle and at the top of 64 bits."""

from __future__ import annotations

import itertools
import operator

import pytest

from bpf.verifier.domain import tnum as t

U64 = (1 << 64) - 1
WIDTH = 4
# where the four bits lie: below, around the middle of, and at the top of the register
PLACES = (0, 30, 60)
TNUMS = [(value, mask) for mask in range(1 << WIDTH) for value in range(1 << WIDTH) if not value & mask]


def at(tnum, place):
    return (tnum[0] << place, tnum[1] << place)


def members(tnum):
    """All numbers a tnum stands for."""
    value, mask = tnum
    bits = [bit for bit in range(64) if mask >> bit & 1]
    return [
        value | sum(1 << bit for bit in chosen)
        for n in range(len(bits) + 1)
        for chosen in itertools.combinations(bits, n)
    ]


def smallest(numbers):
    """The best tnum for a set of numbers."""
    first, mask = numbers[0], 0
    for number in numbers:
        mask |= number ^ first
    return (first & ~mask, mask)


def well_formed(tnum):
    return not tnum[0] & tnum[1] and 0 <= tnum[0] <= U64 and 0 <= tnum[1] <= U64


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("ours", "real", "best"),
    [
        (t.tnum_add, operator.add, True),
        (t.tnum_sub, operator.sub, True),
        (t.tnum_and, operator.and_, True),
        (t.tnum_or, operator.or_, True),
        (t.tnum_xor, operator.xor, True),
        (t.tnum_mul, operator.mul, False),
    ],
    ids=["add", "sub", "and", "or", "xor", "mul"],
)
def test_operations(ours, real, best, place):
    """Every result is in the tnum; all but mul give the smallest such tnum."""
    sets = {tnum: members(at(tnum, place)) for tnum in TNUMS}
    for a, b in itertools.product(TNUMS, TNUMS):
        result = ours(at(a, place), at(b, place))
        exact = smallest([real(x, y) & U64 for x in sets[a] for y in sets[b]])
        assert well_formed(result)
        assert t.tnum_in(result, exact), (a, b)
        if best:
            assert result == exact, (a, b)


@pytest.mark.parametrize("place", PLACES)
def test_shifts(place):
    for a in TNUMS:
        tnum = at(a, place)
        numbers = members(tnum)
        for shift in (0, 1, 3, 31, 32, 63):
            assert t.tnum_lshift(tnum, shift) == smallest([x << shift & U64 for x in numbers])
            assert t.tnum_rshift(tnum, shift) == smallest([x >> shift for x in numbers])
            signed = [(x - (1 << 64) if x >> 63 else x) >> shift & U64 for x in numbers]
            assert t.tnum_arshift(tnum, shift, 64) == smallest(signed)
            if shift < 32:
                low = [x & 0xFFFFFFFF for x in numbers]
                signed = [(x - (1 << 32) if x >> 31 else x) >> shift & 0xFFFFFFFF for x in low]
                assert t.tnum_arshift(tnum, shift, 32) == smallest(signed)


@pytest.mark.parametrize("place", PLACES)
def test_range_and_intersection(place):
    for low, high in itertools.combinations_with_replacement(range(1 << WIDTH), 2):
        numbers = (
            [(low << place) + i for i in range(((high - low) << place) + 1)]
            if place == 0
            else [low << place, high << place]
        )
        assert t.tnum_in(t.tnum_range(low << place, high << place), smallest(numbers))
    for a, b in itertools.product(TNUMS, TNUMS):
        both = set(members(a)) & set(members(b))
        if both:
            assert set(members(t.tnum_intersect(a, b))) == both


def test_parts_of_a_register():
    for a, b in itertools.product(TNUMS, TNUMS):
        whole = (a[0] << 32 | b[0], a[1] << 32 | b[1])
        assert t.tnum_subreg(whole) == b
        assert t.tnum_clear_subreg(whole) == at(a, 32)
        assert t.tnum_cast(whole, 4) == b
        assert t.tnum_const_subreg(whole, 5) == (a[0] << 32 | 5, a[1] << 32)


def test_membership_and_alignment():
    for a, b in itertools.product(TNUMS, TNUMS):
        assert t.tnum_in(a, b) == (set(members(b)) <= set(members(a)))
    for a in TNUMS:
        for size in (1, 2, 4, 8):
            assert t.tnum_is_aligned(a, size) == all(x % size == 0 for x in members(a))


def test_text():
    assert t.tnum_text((0, 0xFF)) == "(0x0; 0xff)"
