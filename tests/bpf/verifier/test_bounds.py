"""Bounds of scalars: whatever a register can hold, its bounds and bits say so, through arithmetic and comparisons."""

from __future__ import annotations

import random

import pytest

from arch.abi.version import KernelVersion
from bpf.isa import insn as i
from bpf.verifier.domain import bounds, scalar
from bpf.verifier.domain.state import UNKNOWN
from bpf.verifier.domain.tnum import tnum_in
from bpf.verifier.paths import jump
from bpf.versions.verifier_rules import rules_of

U64, U32 = (1 << 64) - 1, (1 << 32) - 1
EDGES = [0, 1, 2, 7, 31, 63, 64, 0xFF, 0x100, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 32, (1 << 63) - 1, 1 << 63, U64]

OPERATIONS = {
    i.BPF_ADD: lambda x, y, bits: x + y,
    i.BPF_SUB: lambda x, y, bits: x - y,
    i.BPF_MUL: lambda x, y, bits: x * y,
    i.BPF_AND: lambda x, y, bits: x & y,
    i.BPF_OR: lambda x, y, bits: x | y,
    i.BPF_XOR: lambda x, y, bits: x ^ y,
    i.BPF_LSH: lambda x, y, bits: x << (y & (bits - 1)),
    i.BPF_RSH: lambda x, y, bits: x >> (y & (bits - 1)),
    i.BPF_ARSH: lambda x, y, bits: signed(x, bits) >> (y & (bits - 1)),
}
COMPARISONS = {
    i.BPF_JEQ: lambda x, y, bits: x == y,
    i.BPF_JNE: lambda x, y, bits: x != y,
    i.BPF_JSET: lambda x, y, bits: bool(x & y),
    i.BPF_JGT: lambda x, y, bits: x > y,
    i.BPF_JGE: lambda x, y, bits: x >= y,
    i.BPF_JLT: lambda x, y, bits: x < y,
    i.BPF_JLE: lambda x, y, bits: x <= y,
    i.BPF_JSGT: lambda x, y, bits: signed(x, bits) > signed(y, bits),
    i.BPF_JSGE: lambda x, y, bits: signed(x, bits) >= signed(y, bits),
    i.BPF_JSLT: lambda x, y, bits: signed(x, bits) < signed(y, bits),
    i.BPF_JSLE: lambda x, y, bits: signed(x, bits) <= signed(y, bits),
}


@pytest.fixture(params=["5.10", "6.1", "6.12", "7.2"])
def rules(request):
    """These functions reason as the version that was verified last."""
    found = rules_of(KernelVersion.parse(request.param))
    bounds.follow(found)
    yield found
    bounds.follow(rules_of(KernelVersion.parse("6.1")))


@pytest.fixture(autouse=True)
def of_6_1():
    """What was verified before in this process may have been another version's."""
    bounds.follow(rules_of(KernelVersion.parse("6.1")))


def signed(x, bits):
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x


def holds(v, x):
    """The value admits this number, in every one of its views."""
    return (
        x & ~v.var_off[1] & U64 == v.var_off[0]
        and v.umin <= x <= v.umax
        and v.smin <= signed(x, 64) <= v.smax
        and v.u32_min <= x & U32 <= v.u32_max
        and v.s32_min <= signed(x, 32) <= v.s32_max
    )


def number(rng):
    kind = rng.random()
    if kind < 0.5:
        return (rng.choice(EDGES) + rng.randint(-2, 2)) & U64
    return rng.getrandbits(rng.choice((4, 8, 31, 32, 33, 63, 64)))


def value(rng):
    """A value that some sequence of instructions could have made, and numbers it admits."""
    v = UNKNOWN.copy()
    admitted = {number(rng) for _ in range(rng.randint(1, 4))}
    kind = rng.randrange(5)
    if kind == 0:
        admitted = {next(iter(admitted))}
        v.set_known(min(admitted))
        return v, admitted
    if kind in (1, 4):
        v.umin, v.umax = min(admitted), max(admitted)
    if kind == 2:
        v.smin, v.smax = (f(signed(x, 64) for x in admitted) for f in (min, max))
    if kind in (3, 4):
        first, mask = min(admitted), 0
        for x in admitted:
            mask |= x ^ first
        mask |= rng.getrandbits(64) & rng.getrandbits(64) & rng.getrandbits(64)
        v.var_off = (first & ~mask, mask)
    bounds.reg_bounds_sync(v)
    return v, admitted


@pytest.mark.parametrize("seed", range(4))
def test_deduction_keeps_what_is_possible(of_6_1, rules, seed):
    rng = random.Random(seed)
    for _ in range(2000):
        v, admitted = value(rng)
        assert all(holds(v, x) for x in admitted)
        before = v.copy()
        bounds.reg_bounds_sync(v)
        assert all(holds(v, x) for x in admitted)
        assert v.umin >= before.umin and v.umax <= before.umax and v.smin >= before.smin and v.smax <= before.smax
        assert tnum_in(before.var_off, v.var_off)


@pytest.mark.parametrize("alu32", [False, True])
@pytest.mark.parametrize("op", OPERATIONS)
def test_arithmetic(of_6_1, rules, op, alu32):
    rng = random.Random(op * 2 + alu32)
    bits = 32 if alu32 else 64
    low = (1 << bits) - 1
    for _ in range(1000):
        d, xs = value(rng)
        s, ys = value(rng)
        if op in (i.BPF_LSH, i.BPF_RSH, i.BPF_ARSH):
            ys = {rng.randrange(bits)}
            s = UNKNOWN.copy()
            s.set_known(min(ys))
        if not scalar.is_tracked(op, s, alu32, rules.more_operators_tracked):
            continue
        result = d.copy()
        if not scalar.apply_as(rules, op, result, s, alu32):
            continue
        for x in xs:
            for y in ys:
                exact = OPERATIONS[op](x & low, y & low, bits) & low
                assert holds(result, exact), (hex(x), hex(y), hex(exact))


@pytest.mark.parametrize("jmp32", [False, True])
@pytest.mark.parametrize("op", COMPARISONS)
def test_comparisons(op, jmp32):
    """Both ways of a jump admit the numbers that go there, and a decided jump goes the only way."""
    rng = random.Random(op * 2 + jmp32)
    bits = 32 if jmp32 else 64
    low = (1 << bits) - 1
    for _ in range(2500):
        v, xs = value(rng)
        y = rng.choice((number(rng), rng.choice(sorted(xs))))
        taken = {x: COMPARISONS[op](x & low, y & low, bits) for x in xs}
        decided = jump.scalar_branch_taken(v, y, op, jmp32)
        if decided >= 0:
            assert set(taken.values()) == {bool(decided)}
            continue
        true, false = v.copy(), v.copy()
        jump.reg_set_min_max(true, false, y, op, jmp32)
        for x, goes in taken.items():
            assert holds(true if goes else false, x), (hex(x), hex(y), goes)


@pytest.mark.parametrize("size", [1, 2, 4])
def test_narrow_loads(size):
    rng = random.Random(size)
    for _ in range(2000):
        v, xs = value(rng)
        bounds.coerce_reg_to_size(v, size)
        for x in xs:
            low = x & ((1 << size * 8) - 1)
            assert v.umin <= low <= v.umax and low & ~v.var_off[1] == v.var_off[0]


@pytest.mark.parametrize("op", [i.BPF_JGT, i.BPF_JSGT, i.BPF_JLE, i.BPF_JEQ])
def test_flipped_comparisons_agree(op):
    rng = random.Random(op)
    for _ in range(500):
        x, y = number(rng), number(rng)
        assert COMPARISONS[op](x, y, 64) == COMPARISONS[jump.FLIPPED[op]](y, x, 64)
