"""Programs with an arena as machine code: the interpreter's results, where pages are, where they are not, and over their ends."""

import random

import pytest

from arch.memory import FlatMemory
from bpf.isa import insn as isa
from bpf.isa.insn import Insn
from bpf.maps.arena import ArenaMap
from bpf.maps.arena_pages import ArenaPages
from bpf.run.arena import ArenaProgram
from bpf.run.compiled import CompiledArenaProgram
from bpf.run.interpreter import new_registers

PAGES = (1, 2, 5)
START = 0x100000000000
ATOMIC = [isa.BPF_ADD, isa.BPF_OR, isa.BPF_AND, isa.BPF_XOR]
ATOMIC = [*ATOMIC, *(op | isa.BPF_FETCH for op in ATOMIC), isa.BPF_XCHG, isa.BPF_CMPXCHG]
SIZES = [isa.BPF_B, isa.BPF_H, isa.BPF_W, isa.BPF_DW]


class Arena:
    """What a program sees of an ArenaMap."""

    place, load, store = ArenaMap.place, ArenaMap.load, ArenaMap.store

    def __init__(self, mem):
        self.mem, self.start, self.pages = mem, START, ArenaPages()
        self.pages.begin_at(START)
        for number in PAGES:
            self.pages[number] = mem.alloc(4096, 4096)


def random_program(rng):
    near = [page * 4096 + delta for page in range(7) for delta in (-4, -1, 0, 8, 100)]
    near += [rng.randrange(0, 7 * 4096, 4) for _ in range(10)] + [0, 1 << 32, (1 << 32) - 4, -8]
    insns = []
    for reg in range(10):
        insns += isa.ld_imm64(reg, rng.choice(near) & (1 << 64) - 1 if reg > 4 else rng.getrandbits(64))
    for _ in range(60):
        base, other, off = rng.randrange(5, 10), rng.randrange(5), rng.choice([0, 0, -4, 4, 4090, -4096, 32767])
        size = rng.choice(SIZES)
        insns.append(rng.choice([
            Insn(isa.BPF_LDX | isa.BPF_PROBE_MEM32 | size, other, base, off),
            Insn(isa.BPF_LDX | isa.BPF_PROBE_MEM32SX | rng.choice(SIZES[:3]), other, base, off),
            Insn(isa.BPF_STX | isa.BPF_PROBE_MEM32 | size, base, other, off),
            Insn(isa.BPF_ST | isa.BPF_PROBE_MEM32 | size, base, 0, off, rng.randrange(-(1 << 31), 1 << 31)),
            Insn(isa.BPF_STX | isa.BPF_PROBE_ATOMIC | rng.choice(SIZES[2:]), base, other, off, rng.choice(ATOMIC)),
            Insn(isa.BPF_STX | isa.BPF_PROBE_ATOMIC | size, other, base, off, isa.BPF_LOAD_ACQ),
            Insn(isa.BPF_STX | isa.BPF_PROBE_ATOMIC | size, base, other, off, isa.BPF_STORE_REL),
            Insn(isa.BPF_ALU64 | isa.BPF_MOV | isa.BPF_X, other, base, isa.BPF_ADDR_SPACE_CAST, 1 << 16),
            Insn(isa.BPF_ALU64 | isa.BPF_XOR | isa.BPF_X, other, rng.randrange(5)),
        ]))  # fmt: skip
    for reg in range(1, 10):
        insns += [Insn(isa.BPF_ALU64 | isa.BPF_MUL, 0, imm=31), Insn(isa.BPF_ALU64 | isa.BPF_ADD | isa.BPF_X, 0, reg)]
    return [*insns, Insn(isa.BPF_JMP | isa.BPF_EXIT)]


@pytest.mark.parametrize("byteorder", ["little", "big"])
@pytest.mark.parametrize("seed", range(20))
def test_random_programs(seed, byteorder):
    insns, results = random_program(random.Random(f"{seed}{byteorder}")), []
    for make, extra in ((ArenaProgram, {}), (CompiledArenaProgram, {"warm": 0})):
        mem = FlatMemory(0xFFFF888000000000, 1 << 16, byteorder)
        top, arena = mem.alloc(8192, 64) + 8192, Arena(mem)
        program = make(
            insns, mem, arena=arena, clears_missing=bool(seed % 2), bind_call=lambda insn: lambda r: 0, **extra
        )
        r = new_registers(top - 512, top)
        program.execute(r)
        results.append((r[0], bytes(mem.data)))
        assert make is ArenaProgram or not program.unsupported
    assert results[0] == results[1]


def test_pages_that_come_and_go_are_seen_by_compiled_programs():
    pages = ArenaPages()
    pages[3] = 0x1000
    assert pages.table
    pages[4] = 0x2000
    pages.begin_at(START | 4096)
    words = pages._words
    assert [words[3], words[4], words[5], words[1 << 20]] == [0x1000, 0x2000, 0, START]
    assert pages.take(3) == 0x1000 and pages.take(3) is None
    assert words[3] == 0 and dict(pages) == {4: 0x2000}
