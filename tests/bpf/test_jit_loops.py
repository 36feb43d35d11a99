"""Loops whose accesses are checked before the first turn do what the interpreter does, wherever their memory begins and ends."""

import random

import pytest

from bpf.isa.asm import assemble
from bpf.isa.insn import Insn
from bpf.run.loops import loops
from tests.bpf.test_jit import BASE, both

SIZE = 1 << 14  # of the memory of both()
SIZES, BYTES = (0x00, 0x08, 0x10, 0x18), {0x00: 4, 0x08: 2, 0x10: 1, 0x18: 8}


def turn(rng):
    """Instructions that compute places from what does not change, or nearly so, and look there."""
    body = []
    for _ in range(rng.randrange(1, 6)):
        number, at, base = rng.sample([1, 2, 3], 2) + [rng.choice([6, 6, 7, 10, 3])]
        wide = rng.choice([4, 7])
        body.append(Insn(0xB8 | wide, number, rng.choice([8, 8, 0, 9])))
        for _ in range(rng.randrange(3)):
            op, imm = rng.choice([
                (0x50, rng.choice([1, 7, 63, 255, 1023, 4095, -1])), (0x60, rng.randrange(5)), (0x70, rng.randrange(40)), (0x00, rng.choice([1, 8, 100, -8])),
                (0x20, 3), (0xC0, 1), (0x10, 1), (0x90, 64),
            ])  # fmt: skip
            body.append(Insn(wide | op, number, 0, 0, imm % 32 if wide == 4 and op in (0x60, 0x70, 0xC0) else imm))
        if rng.random() < 0.2:
            body.append(Insn(0x71, number, 10, -8))  # a byte
        if rng.random() < 0.5:
            body += [Insn(0xBF, at, base), Insn(0x0F, at, number)]
        else:
            at = number
            body.append(Insn(0x0F, at, base))
        if rng.random() < 0.3:
            body.append(Insn(0x07, at, 0, 0, rng.choice([8, 64, -8])))
        if rng.random() < 0.2:
            body.append(Insn(0x55, number, 0, 1, 0))  # over what comes
        size, off = rng.choice(SIZES), rng.choice([0, 0, 8, -8, 24, -40])
        load, store, add = (
            Insn(0x61 | size, 4, at, off),
            Insn(0x63 | size, at, 8, off),
            Insn(0xDB, at, 9, off, rng.choice([0, 1, 0xE1])),
        )
        body += rng.choice([[load, Insn(0x0F, 0, 4)], [store], [load, store, Insn(0xAF, 0, 4)], [add]])
        if rng.random() < 0.1:
            body.append(Insn(rng.choice([0x07, 0x57]), rng.choice([6, 7]), 0, 0, rng.choice([8, -1, -256])))
    return body


def a_loop(rng):
    body = turn(rng)
    insns = [
        Insn(0xBF, 6, 1),
        Insn(0xBF, 7, 2),
        Insn(0xB7, 0),
        *[Insn(0xB7, r, 0, 0, r) for r in (1, 2, 3, 4)],
        Insn(0xB7, 8),
        Insn(0xB7, 9, 0, 0, 5),
    ]
    insns += [Insn(0x7A, 10, 0, -8 * slot, slot) for slot in range(1, 5)]
    start = len(insns)
    insns += [
        *body,
        Insn(0x07, 8, 0, 0, rng.choice([1, 1, 3])),
        Insn(0xA5, 8, 0, -len(body) - 2, rng.choice([3, 50, 700])),
    ]
    return [*insns, Insn(0x95)], start


@pytest.mark.parametrize("byteorder", ["little", "big"])
@pytest.mark.parametrize("seed", range(60))
def test_random_loops(seed, byteorder):
    rng = random.Random(f"{seed} {byteorder}")
    insns, _ = a_loop(rng)
    edge = rng.choice([BASE, BASE + SIZE, BASE + SIZE // 2])
    registers = {1: edge + rng.choice([0, 8, -8, -64, -1024, -4096, 100]), 2: BASE + rng.randrange(SIZE)}
    both(insns, byteorder=byteorder, registers=registers, budget=20_000)


def test_most_of_them_are_written_twice():
    found = 0
    for seed in range(60):
        insns, start = a_loop(random.Random(f"{seed} little"))
        found += start in loops(
            insns,
            range(len(insns)),
            lambda i, insns=insns: [i + insns[i].off + 1] if insns[i].code in (0x55, 0xA5) else [],
        )
    assert found > 30


TABLE = """
    r0 = 0
    r2 = 0
again:
    r1 = r2
    r1 &= 255
    r1 <<= 3
    r1 += r3
    *(u64 *)(r1 +0) = r2
    r0 += 1
    r2 += 1
    if r2 < 300 goto again
    exit
"""


@pytest.mark.parametrize("before_the_end", [2048, 2047, 2040, 1024, 8, 1, 0])
def test_a_table_over_the_end_of_memory(before_the_end):
    """All of what lies in memory is written, and the first access beyond it ends the program."""
    end = both(TABLE, registers={3: BASE + SIZE - before_the_end})
    if before_the_end == 2048:
        assert end[0] == 300
    else:
        assert f"{BASE + SIZE - before_the_end + before_the_end // 8 * 8:x}" in end[1].lower()


def test_a_table_before_the_beginning_of_memory():
    both(TABLE, registers={3: BASE - 8})
    both(TABLE, registers={3: 0})
    both(TABLE, registers={3: (1 << 64) - 8})


def test_which_accesses_are_checked_before():
    insns = assemble(TABLE)
    (loop,) = loops(insns, range(len(insns)), lambda i: [2] if i == 9 else []).values()
    assert (loop.first, loop.last, loop.stretches, loop.checked, loop.counters) == (2, 9, ((3, 0, 2048),), {6}, (0, 2))
