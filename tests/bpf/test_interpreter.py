"""The interpreter against a second, independent evaluation of the instruction set, both byte orders; and its rules."""

import ctypes
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arch.errors import Fault
from arch.memory import FlatMemory
from bpf.isa.asm import assemble
from bpf.isa.insn import BPF_X, Insn
from bpf.run.interpreter import (
    BpfFault,
    BudgetExceeded,
    Program,
    new_registers,
)
from bpf.run.meaning import CpuException

BASE = 0xFFFF888000000000


def machine(byteorder="little"):
    mem = FlatMemory(BASE, 1 << 14, byteorder)
    return mem, mem.alloc(8192, 64) + 8192


def run(text_or_insns, *, byteorder="little", classic=False, ctx=0, registers=None, fast=True, budget=1 << 30, **more):
    insns = assemble(text_or_insns) if isinstance(text_or_insns, str) else text_or_insns
    mem, top = machine(byteorder)
    more.setdefault("bind_call", lambda insn: lambda r: 0)
    program = Program(insns, mem, classic=classic, fast=fast, **more)
    r = new_registers(ctx, top, budget)
    for number, value in (registers or {}).items():
        r[number] = value
    program.execute(r)
    return r, mem, top


class Second:
    """The same instructions once more, with C types of the host."""

    def __init__(self, byteorder):
        self.order = "<" if byteorder == "little" else ">"
        self.stack = bytearray(64)
        self.r = [0] * 11

    def operand(self, insn):
        return self.r[insn.src_reg] if insn.src_kind == BPF_X else ctypes.c_uint64(insn.imm).value

    def alu(self, insn):
        wide = insn.cls == 7
        u, s = (ctypes.c_uint64, ctypes.c_int64) if wide else (ctypes.c_uint32, ctypes.c_int32)
        x, y = u(self.r[insn.dst_reg]).value, u(self.operand(insn)).value
        shift = y % (64 if wide else 32)
        table = {
            0x00: lambda: x + y,
            0x10: lambda: x - y,
            0x20: lambda: x * y,
            0x30: lambda: x // y if y else 0,
            0x40: lambda: x | y,
            0x50: lambda: x & y,
            0x60: lambda: x << shift,
            0x70: lambda: x >> shift,
            0x80: lambda: -x,
            0x90: lambda: x % y if y else x,
            0xA0: lambda: x ^ y,
            0xB0: lambda: y,
            0xC0: lambda: s(x).value >> shift,
        }
        self.r[insn.dst_reg] = u(table[insn.op]()).value

    def end(self, insn):
        letter = {16: "H", 32: "I", 64: "Q"}[insn.imm]
        value = self.r[insn.dst_reg] & ((1 << insn.imm) - 1)
        raw = struct.pack(self.order + letter, value)
        self.r[insn.dst_reg] = struct.unpack((">" if insn.src_kind == BPF_X else "<") + letter, raw)[0]

    def memory(self, insn):
        letter = {0x00: "I", 0x08: "H", 0x10: "B", 0x18: "Q"}[insn.size]
        at = 64 + insn.off
        if insn.cls == 1:
            self.r[insn.dst_reg] = struct.unpack_from(self.order + letter, self.stack, at)[0]
            return
        size = struct.calcsize(letter)
        value = self.r[insn.src_reg] if insn.cls == 3 else insn.imm
        struct.pack_into(self.order + letter, self.stack, at, value % (1 << 8 * size))

    def taken(self, insn):
        u, s = (ctypes.c_uint64, ctypes.c_int64) if insn.cls == 5 else (ctypes.c_uint32, ctypes.c_int32)
        x, y = u(self.r[insn.dst_reg]).value, u(self.operand(insn)).value
        a, b = s(x).value, s(y).value
        return {
            0x10: x == y,
            0x20: x > y,
            0x30: x >= y,
            0x40: x & y != 0,
            0x50: x != y,
            0x60: a > b,
            0x70: a >= b,
            0xA0: x < y,
            0xB0: x <= y,
            0xC0: a < b,
            0xD0: a <= b,
        }[insn.op]

    def run(self, insns):
        pc = 0
        while insns[pc].code != 0x95:
            insn = insns[pc]
            pc += 1
            kind = insn.cls
            if kind in (4, 7):
                self.end(insn) if insn.op == 0xD0 else self.alu(insn)
            elif kind in (5, 6):
                pc += insn.off if self.taken(insn) else 0
            else:
                self.memory(insn)


reg = st.integers(0, 9)
imm = st.one_of(st.integers(-(1 << 31), (1 << 31) - 1), st.sampled_from([0, 1, -1, 31, 32, 63, 64, -(1 << 31)]))
alu_codes = [
    cls | op | src for cls in (4, 7) for op in range(0, 0xD0, 0x10) for src in (0, 8) if (op, src) != (0x80, 8)
]
alu_insns = st.builds(Insn, st.sampled_from(alu_codes), reg, reg, st.just(0), imm)
end_insns = st.builds(Insn, st.sampled_from([0xD4, 0xDC]), reg, st.just(0), st.just(0), st.sampled_from([16, 32, 64]))
jump_ops = [0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70, 0xA0, 0xB0, 0xC0, 0xD0]
jump_codes = [cls | op | src for cls in (5, 6) for op in jump_ops for src in (0, 8)]
jump_insns = st.builds(Insn, st.sampled_from(jump_codes), reg, reg, st.integers(0, 3), imm)


@st.composite
def memory_insns(draw):
    size, code = draw(st.sampled_from([(4, 0x60), (2, 0x68), (1, 0x70), (8, 0x78)]))
    off = draw(st.integers(-64, -size))
    kind = draw(st.sampled_from([1, 2, 3]))
    if kind == 1:
        return Insn(code | 1, draw(reg), 10, off, 0)
    return Insn(code | kind, 10, draw(reg) if kind == 3 else 0, off, draw(imm) if kind == 2 else 0)


programs = st.lists(st.one_of(alu_insns, end_insns, jump_insns, memory_insns()), max_size=25)
values = st.one_of(st.integers(0, (1 << 64) - 1), st.sampled_from([0, 1, 1 << 31, 1 << 32, 1 << 63, (1 << 64) - 1]))


@settings(deadline=None, max_examples=300)
@given(programs, st.lists(values, min_size=10, max_size=10), st.sampled_from(["little", "big"]), st.booleans())
def test_against_a_second_evaluation(body, start, byteorder, fast):
    insns = [*body, *[Insn(0x95)] * 4]
    second = Second(byteorder)
    second.r[:10] = start
    second.run(insns)
    r, mem, top = run(insns, byteorder=byteorder, registers=dict(enumerate(start)), fast=fast)
    assert r[:10] == second.r[:10]
    assert mem.read(top - 64, 64) == bytes(second.stack)


@settings(deadline=None, max_examples=50)
@given(programs, st.lists(values, min_size=10, max_size=10))
def test_stepping_is_running(body, start):
    insns = [*body, *[Insn(0x95)] * 4]
    r, _, _ = run(insns, registers=dict(enumerate(start)))
    mem, top = machine()
    program = Program(insns, mem, bind_call=lambda insn: lambda r: 0)
    stepped = new_registers(0, top)
    stepped[:10] = start
    steps = list(program.step(stepped))
    assert stepped[:10] == r[:10]
    assert steps[-1].text == "(95) exit"


def result(text, **more):
    return run(text, **more)[0][0]


@pytest.mark.parametrize(
    ("text", "expected", "stored"),
    [
        ("lock *(u64 *)(r10 -8) += r1", 0, 7),
        ("lock *(u64 *)(r10 -8) ^= r1", 0, 7),
        ("r1 = atomic64_fetch_add((u64 *)(r10 -8), r1)\nr0 = r1", 5, 7),
        ("r1 = atomic_fetch_or((u32 *)(r10 -8), r1)\nr0 = r1", 5, 7),
        ("r1 = atomic64_xchg((u64 *)(r10 -8), r1)\nr0 = r1", 5, 2),
        ("r0 = 5\nr0 = atomic64_cmpxchg((u64 *)(r10 -8), r0, r1)", 5, 2),
        ("r0 = 6\nr0 = atomic64_cmpxchg((u64 *)(r10 -8), r0, r1)", 5, 5),
        ("r0 = 0x700000005 ll\nr0 = atomic_cmpxchg((u32 *)(r10 -8), r0, r1)", 5, 2),
    ],
)
def test_atomics(text, expected, stored):
    r, mem, top = run(f"*(u64 *)(r10 -8) = 5\nr1 = 2\nr0 = 0\n{text}\nexit")
    assert r[0] == expected
    assert mem.read_uint(top - 8, 8) == stored


def test_functions_have_their_own_frames_and_keep_r6_to_r9():
    text = """
        r6 = 1
        *(u64 *)(r10 -8) = 11
        r1 = 5
        call double
        r0 += r6
        r1 = *(u64 *)(r10 -8)
        r0 += r1
        exit
      double:
        r6 = 100
        *(u64 *)(r10 -8) = 22
        r0 = r1
        r0 += r1
        exit
    """
    assert result(text) == 10 + 1 + 11
    depths = [
        step.depth
        for step in Program(assemble(text), machine()[0], bind_call=None).step(new_registers(0, machine()[1]))
    ]
    assert max(depths) == 1


def test_rules_of_4_1():
    unknown = []
    assert result("r0 = 7\nr1 = 0\nr0 /= r1\nexit", classic=True) == 0
    assert result("r0 = 7\nr1 = 0\nw0 %= w1\nr0 = 9\nexit", classic=True) == 0
    with pytest.raises(CpuException):
        result("r0 = 7\nr1 = 0x100000000 ll\nw0 /= w1\nexit", classic=True)
    assert result("r0 = 7\nw0 s>>= 1\nexit", classic=True, unknown_opcode=unknown.append) == 0
    assert result("r0 = 7\nif r0 < 9 goto +1\nr0 = 8\nexit", classic=True, unknown_opcode=unknown.append) == 0
    assert unknown == [0xC4, 0xA5]


def test_packet_loads_of_4_1():
    packet = bytes(range(16))

    def load_packet(skb, off, size):
        if skb != 0x1234 or off < 0 or off + size > len(packet):
            return -1
        return int.from_bytes(packet[off : off + size], "big")

    options = {"classic": True, "ctx": 0x1234, "load_packet": load_packet}
    assert result("r6 = r1\nr0 = *(u16 *)skb[2]\nexit", **options) == 0x0203
    assert result("r6 = r1\nr7 = 4\nr0 = *(u32 *)skb[r7 + 2]\nexit", **options) == 0x06070809
    assert result("r6 = r1\nr0 = *(u32 *)skb[14]\nr0 = 5\nexit", **options) == 0


def test_modern_division_by_zero():
    assert result("r0 = 7\nr1 = 0\nr0 /= r1\nexit") == 0
    assert result("r0 = 7\nr1 = 0\nr0 %= r1\nexit") == 7


def test_a_bad_access_names_the_instruction():
    with pytest.raises(BpfFault, match=r"instruction 2, \(79\) r0 = \*\(u64 \*\)\(r1 \+0\)") as bad:
        run("r0 = 0\nr1 = 5\nr0 = *(u64 *)(r1 +0)\nexit")
    assert isinstance(bad.value.fault, Fault)


def test_probe_mem_gives_zero():
    assert result([Insn(0xB7, 1, 0, 0, 5), Insn(0x39, 0, 1, 0, 0), Insn(0x95)]) == 0


def test_the_budget_ends_endless_loops():
    with pytest.raises(BudgetExceeded):
        run("r0 = 0\nagain: r0 += 1\ngoto again", budget=1000)


def test_calls_and_call_backs():
    seen = []
    program = None

    def bind(insn):
        def call(r):
            seen.append((insn.imm, r[1], r[2]))
            return program.call_back(r, 5, 20, 3) if insn.imm == 181 else 0

        return call

    mem, top = machine()
    insns = assemble("r1 = 1\nr2 = 2\ncall 14\ncall 181\nexit\nr0 = r1\nr0 -= r2\nexit")
    program = Program(insns, mem, bind_call=bind)
    r = new_registers(0, top)
    program.execute(r)
    assert r[0] == 17
    assert seen == [(14, 1, 2), (181, 1, 2)]
