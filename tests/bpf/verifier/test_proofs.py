"""Proofs that tracked numbers and bounds are sound, for all 64-bit numbers, about the very functions that run.

The functions are executed with symbolic integers: every comparison they branch on splits the run in two, and on
each path an SMT solver shows that what was possible before is admitted after.  Needs z3-solver (extra `proofs`).
"""

from __future__ import annotations

import pytest

from bpf.isa import insn as i
from bpf.verifier.domain import bounds
from bpf.verifier.domain import tnum as t
from bpf.verifier.domain.state import UNKNOWN
from bpf.verifier.paths import jump

z3 = pytest.importorskip("z3")

WIDTH = 68  # bits: Python's integers never need more here
U64, U32 = (1 << 64) - 1, (1 << 32) - 1


class Path:
    """One run: the decisions taken, in order, and what they imply."""

    current = None

    def __init__(self, planned, solver):
        self.planned, self.taken, self.solver = planned, [], solver

    def decide(self, condition):
        number = len(self.taken)
        if number < len(self.planned):
            choice = self.planned[number]
        else:
            choice = self.possible(condition)
        self.taken.append((condition, choice))
        self.solver.add(condition if choice else z3.Not(condition))
        return choice

    def possible(self, condition):
        return self.solver.check(condition) == z3.sat


class Sym:
    """A symbolic Python integer."""

    def __init__(self, term):
        self.term = term

    def __bool__(self):
        return Path.current.decide(self.term != 0)

    def __invert__(self):
        return Sym(~self.term)


def term(x):
    return x.term if isinstance(x, Sym) else z3.BitVecVal(x, WIDTH)


def _operation(name, make, reverse=True):
    setattr(Sym, f"__{name}__", lambda a, b: Sym(make(term(a), term(b))))
    if reverse:
        setattr(Sym, f"__r{name}__", lambda a, b: Sym(make(term(b), term(a))))


def _comparison(name, make):
    setattr(Sym, f"__{name}__", lambda a, b: Path.current.decide(make(term(a), term(b))))


for _name, _make in {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "rshift": lambda a, b: a >> b,
    "lshift": lambda a, b: a << b,
}.items():
    _operation(_name, _make)
for _name, _make in {
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}.items():
    _comparison(_name, _make)
Sym.__hash__ = object.__hash__


def prove(assumptions, run, claim):
    """On every path of run(), claim(result) follows."""
    pending = [[]]
    paths = 0
    while pending:
        solver = z3.Solver()
        solver.add(*assumptions)
        path = Path.current = Path(pending.pop(), solver)
        result = run()
        paths += 1
        assert paths < 4000
        goal = claim(result)
        Path.current = None
        assert solver.check(z3.Not(goal)) == z3.unsat, solver.model()
        pending.extend(untried(assumptions, path))


def untried(assumptions, path):
    """The other ways at the decisions this path was free to take."""
    for number in range(len(path.planned), len(path.taken)):
        condition, choice = path.taken[number]
        if not choice:
            continue  # the condition was impossible
        solver = z3.Solver()
        solver.add(*assumptions)
        for earlier, earlier_choice in path.taken[:number]:
            solver.add(earlier if earlier_choice else z3.Not(earlier))
        if solver.check(z3.Not(condition)) == z3.sat:
            yield [c for _, c in path.taken[:number]] + [False]


# ---- symbolic values ----


def unsigned(name, bits):
    x = z3.BitVec(name, WIDTH)
    return x, z3.And(x >= 0, x < (1 << bits))


def signed_of(x, bits):
    low = x & ((1 << bits) - 1)
    return z3.If(z3.Extract(bits - 1, bits - 1, low) == 1, low - (1 << bits), low)


def symbolic_tnum(name):
    value, a = unsigned(name + ".value", 64)
    mask, b = unsigned(name + ".mask", 64)
    return (Sym(value), Sym(mask)), [a, b, value & mask == 0]


def in_tnum(x, tnum):
    return x & ~term(tnum[1]) & U64 == term(tnum[0])


def symbolic_value(name, bits_known=True):
    """A register of which nothing is known but that its bounds are numbers, and a number it admits."""
    v = UNKNOWN.copy()
    x, facts = unsigned(name, 64)
    facts = [facts]
    if bits_known:
        v.var_off, more = symbolic_tnum(name)
        facts += more
    for field, bits in (("umin", 64), ("umax", 64), ("u32_min", 32), ("u32_max", 32)):
        bound, fact = unsigned(f"{name}.{field}", bits)
        setattr(v, field, Sym(bound))
        facts.append(fact)
    for field, bits in (("smin", 64), ("smax", 64), ("s32_min", 32), ("s32_max", 32)):
        bound = z3.BitVec(f"{name}.{field}", WIDTH)
        setattr(v, field, Sym(bound))
        facts.append(z3.And(bound >= -(1 << bits - 1), bound < (1 << bits - 1)))
    return v, x, [*facts, admits(v, x)]


def admits(v, x):
    low = x & U32
    return z3.And(
        in_tnum(x, v.var_off),
        term(v.umin) <= x,
        x <= term(v.umax),
        term(v.smin) <= signed_of(x, 64),
        signed_of(x, 64) <= term(v.smax),
        term(v.u32_min) <= low,
        low <= term(v.u32_max),
        term(v.s32_min) <= signed_of(x, 32),
        signed_of(x, 32) <= term(v.s32_max),
    )


# ---- proofs ----


@pytest.mark.parametrize(
    ("ours", "real"),
    [
        (t.add_uncertain, lambda x, y: x + y),
        (t.tnum_sub, lambda x, y: x - y),
        (t.tnum_and, lambda x, y: x & y),
        (t.tnum_or, lambda x, y: x | y),
        (t.tnum_xor, lambda x, y: x ^ y),
    ],
    ids=["add", "sub", "and", "or", "xor"],
)
def test_tnum_operations(ours, real):
    a, facts_a = symbolic_tnum("a")
    b, facts_b = symbolic_tnum("b")
    x, fact_x = unsigned("x", 64)
    y, fact_y = unsigned("y", 64)
    facts = [*facts_a, *facts_b, fact_x, fact_y, in_tnum(x, a), in_tnum(y, b)]
    prove(facts, lambda: ours(a, b), lambda result: in_tnum(real(x, y) & U64, result))


def test_intersection():
    a, facts_a = symbolic_tnum("a")
    b, facts_b = symbolic_tnum("b")
    x, fact = unsigned("x", 64)
    facts = [*facts_a, *facts_b, fact, in_tnum(x, a), in_tnum(x, b)]
    prove(facts, lambda: t.tnum_intersect(a, b), lambda result: in_tnum(x, result))


@pytest.mark.parametrize(
    "step",
    [
        bounds.update_reg32_bounds,
        bounds.update_reg64_bounds,
        bounds.reg32_deduce_bounds,
        bounds.reg64_deduce_bounds,
    ],
    ids=lambda step: step.__name__,
)
def test_deduction(step):
    v, x, facts = symbolic_value("v")

    def run():
        changed = v.copy()
        step(changed)
        return changed

    prove(facts, run, lambda changed: admits(changed, x))


def truth(op, x, y, bits):
    low = (1 << bits) - 1
    ux, uy = x & low, y & low
    sx, sy = signed_of(x, bits), signed_of(y, bits)
    return {
        i.BPF_JEQ: ux == uy,
        i.BPF_JNE: ux != uy,
        i.BPF_JSET: ux & uy != 0,
        i.BPF_JGT: ux > uy,
        i.BPF_JGE: ux >= uy,
        i.BPF_JLT: ux < uy,
        i.BPF_JLE: ux <= uy,
        i.BPF_JSGT: sx > sy,
        i.BPF_JSGE: sx >= sy,
        i.BPF_JSLT: sx < sy,
        i.BPF_JSLE: sx <= sy,
    }[op]


JUMPS = {
    "jeq": i.BPF_JEQ,
    "jne": i.BPF_JNE,
    "jset": i.BPF_JSET,
    "jgt": i.BPF_JGT,
    "jge": i.BPF_JGE,
    "jlt": i.BPF_JLT,
    "jle": i.BPF_JLE,
    "jsgt": i.BPF_JSGT,
    "jsge": i.BPF_JSGE,
    "jslt": i.BPF_JSLT,
    "jsle": i.BPF_JSLE,
}


@pytest.mark.parametrize("jmp32", [False, True], ids=["64", "32"])
@pytest.mark.parametrize("name", JUMPS)
def test_decided_jumps(name, jmp32):
    """A jump said to go one way can go no other."""
    op, bits = JUMPS[name], 32 if jmp32 else 64
    v, x, facts = symbolic_value("v", bits_known=name in ("jeq", "jne", "jset"))
    y, fact = unsigned("y", bits)

    def claim(decided):
        if decided < 0:
            return z3.BoolVal(True)
        return truth(op, x, y, bits) == bool(decided)

    def run():
        decided = jump.scalar_branch_taken(v, Sym(y), op, jmp32)
        return int(bool(decided)) if isinstance(decided, Sym) else decided

    prove([*facts, fact], run, claim)


NO_REVERSE_JUMPS = [name for name in JUMPS if name not in ("jeq", "jne", "jset")]


@pytest.mark.parametrize("jmp32", [False, True], ids=["64", "32"])
@pytest.mark.parametrize("name", NO_REVERSE_JUMPS)
def test_learning_from_jumps(name, jmp32, monkeypatch):
    """What is learnt on each side of a comparison holds there (the deduction after it is proved above)."""
    monkeypatch.setattr(jump, "reg_combine_32_into_64", lambda v: None)
    monkeypatch.setattr(jump, "reg_combine_64_into_32", lambda v: None)
    op, bits = JUMPS[name], 32 if jmp32 else 64
    v, x, facts = symbolic_value("v", bits_known=False)
    y, fact = unsigned("y", bits)
    goes = truth(op, x, y, bits)

    def run():
        true, false = v.copy(), v.copy()
        # not decided beforehand: neither way is impossible, so no bound wraps around
        decided = jump.scalar_branch_taken(v, Sym(y), op, jmp32)
        if decided < 0:
            jump.reg_set_min_max(true, false, Sym(y), op, jmp32)
        return true, false

    prove([*facts, fact], run, lambda sides: z3.If(goes, admits(sides[0], x), admits(sides[1], x)))
