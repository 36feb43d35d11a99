"""Ranges as arcs of the circle of numbers, since 7.2: kernel/bpf/cnum_defs.h and reg_bounds_sync() of Linux 7.2.

An arc is a pair (base, size): base, base + 1 and so on, size numbers after the first, round the circle of 2^64 or 2^32.
A `Value` keeps what an arc says of unsigned and of signed numbers; an arc that crosses both ends of the circle says
nothing of either, so it is kept beside them (`Value.hidden`), and holds as long as both ranges say nothing.  Each function changes a
`Value` that its caller has just copied.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from arch.abi.limits import S32_MAX, S64_MAX, U32_MAX, U64_MAX
from bpf.isa.insn import (
    BPF_ADD,
    BPF_AND,
    BPF_ARSH,
    BPF_JEQ,
    BPF_JLE,
    BPF_JLT,
    BPF_JNE,
    BPF_JSLE,
    BPF_JSLT,
    BPF_LSH,
    BPF_MUL,
    BPF_OR,
    BPF_RSH,
    BPF_SUB,
    BPF_XOR,
)
from bpf.verifier.domain import since_6_8
from bpf.verifier.domain.products import signed_product, unsigned_product
from bpf.verifier.domain.state import S32_MIN, S64_MIN, UNKNOWN, Known, Value, is_number
from bpf.verifier.domain.tnum import (
    Tnum,
    tnum_add,
    tnum_and,
    tnum_arshift,
    tnum_const,
    tnum_const_subreg,
    tnum_intersect,
    tnum_lshift,
    tnum_mul,
    tnum_or,
    tnum_range,
    tnum_rshift,
    tnum_step,
    tnum_sub,
    tnum_subreg,
    tnum_xor,
)

Arc = tuple[int, int]
Range = tuple[int, int]


class Circle:
    """What can be done with arcs of one width: FN(...) of cnum_defs.h."""

    def __init__(self, bits: int) -> None:
        self.top = (1 << bits) - 1
        self.half = 1 << bits - 1
        self.all: Arc = (0, self.top)
        self.empty: Arc = (self.top, self.top)

    def unsigned(self, low: int, high: int) -> Arc:
        """From low to high."""
        return low & self.top, (high - low) & self.top

    def signed(self, low: int, high: int) -> Arc:
        """The same of signed numbers."""
        size = (high - low) & self.top
        return (0 if size == self.top else low & self.top), size

    def urange(self, arc: Arc) -> Range:
        """The unsigned numbers that an arc allows."""
        base, size = arc
        return (0, self.top) if size > self.top - base else (base, base + size)

    def srange(self, arc: Arc) -> Range:
        """The signed numbers that it allows."""
        first, last = self.number(arc[0]), self.number(arc[0] + arc[1])
        if self.contains(arc, self.half - 1) and self.contains(arc, self.half):
            return -self.half, self.half - 1
        return min(first, last), max(first, last)

    def number(self, bits: int) -> int:
        """Bits as a signed number."""
        return ((bits & self.top) ^ self.half) - self.half

    def contains(self, arc: Arc, number: int) -> bool:
        """A number is on the arc."""
        return arc != self.empty and (number - arc[0]) & self.top <= arc[1]

    def intersect(self, a: Arc, b: Arc) -> Arc:
        """What is on both; of two pieces the smaller arc stands for them."""
        if self.empty in (a, b):
            return self.empty
        if a[0] > b[0]:
            a, b = b, a
        away = b[0] - a[0]
        if b[1] > self.top - away:
            if away <= a[1]:
                return a if a[1] <= b[1] else b
            return a[0], min(a[1], (away + b[1]) & self.top)
        return (b[0], min(a[1] - away, b[1])) if a[1] >= away else self.empty

    def covers(self, a: Arc, b: Arc) -> bool:
        """All of `b` is on `a`."""
        if b == self.empty or a[1] == self.top:
            return True
        if a == self.empty:
            return False
        away = (b[0] - a[0]) & self.top
        return away <= a[1] and b[1] <= a[1] - away

    def add(self, a: Arc, b: Arc) -> Arc:
        """All sums."""
        if self.empty in (a, b):
            return self.empty
        if a[1] > self.top - b[1]:
            return self.all
        return self._normal((a[0] + b[0]) & self.top, a[1] + b[1])

    def negate(self, a: Arc) -> Arc:
        """All numbers with the other sign."""
        return a if a == self.empty else self._normal(-(a[0] + a[1]) & self.top, a[1])

    def _normal(self, base: int, size: int) -> Arc:
        return (0 if size == self.top and base not in (0, self.half - 1) else base), size

    def of_bits(self, t: Tnum) -> Arc:
        """All that known bits allow lies on this arc."""
        value, mask = t[0] & self.top, t[1] & self.top
        if (mask | value) & self.half:
            return self.signed(value | (mask & self.half), value | (mask & (self.half - 1)))
        return self.unsigned(value, value | mask)


WIDE: Final = Circle(64)
NARROW: Final = Circle(32)


def wide(v: Value) -> Arc:
    """The arc that a value's 64-bit ranges are two views of."""
    if v.umin > v.umax or v.smin > v.smax:
        return WIDE.empty
    if v.hidden is not None and v.hidden[0] is not None and _says_nothing(WIDE, v.umin, v.umax, v.smin, v.smax):
        return v.hidden[0]
    return WIDE.intersect((v.umin, v.umax - v.umin), WIDE.signed(v.smin, v.smax))


def narrow(v: Value) -> Arc:
    """The same of its low half."""
    if v.u32_min > v.u32_max or v.s32_min > v.s32_max:
        return NARROW.empty
    known = v.hidden[1] if v.hidden is not None else None
    if known is not None and _says_nothing(NARROW, v.u32_min, v.u32_max, v.s32_min, v.s32_max):
        return known
    return NARROW.intersect((v.u32_min, v.u32_max - v.u32_min), NARROW.signed(v.s32_min, v.s32_max))


def _says_nothing(circle: Circle, umin: int, umax: int, smin: int, smax: int) -> bool:
    return umin == 0 and umax == circle.top and smin == -circle.half and smax == circle.half - 1


def within(old: Value, cur: Value) -> bool:
    """cnum64_is_subset(), cnum32_is_subset(): where one of the arcs of `old` is hidden."""
    return WIDE.covers(wide(old), wide(cur)) and NARROW.covers(narrow(old), narrow(cur))


def put_wide(v: Value, arc: Arc) -> None:
    """The 64-bit ranges are views of this arc; of the empty one, contradictions."""
    if arc == WIDE.empty:
        v.umin, v.umax, v.smin, v.smax = 1, 0, 1, 0
        return
    v.umin, v.umax = WIDE.urange(arc)
    v.smin, v.smax = WIDE.srange(arc)
    hides = arc[1] != U64_MAX and _says_nothing(WIDE, v.umin, v.umax, v.smin, v.smax)
    if hides or v.hidden is not None:
        v.hide(arc if hides else None, v.hidden[1] if v.hidden is not None else None)


def put_narrow(v: Value, arc: Arc) -> None:
    """The same of the low half."""
    if arc == NARROW.empty:
        v.u32_min, v.u32_max, v.s32_min, v.s32_max = 1, 0, 1, 0
        return
    v.u32_min, v.u32_max = NARROW.urange(arc)
    v.s32_min, v.s32_max = NARROW.srange(arc)
    hides = arc[1] != U32_MAX and _says_nothing(NARROW, v.u32_min, v.u32_max, v.s32_min, v.s32_max)
    if hides or v.hidden is not None:
        v.hide(v.hidden[0] if v.hidden is not None else None, arc if hides else None)


def _low_of(arc: Arc) -> Arc:
    """cnum32_from_cnum64()."""
    if arc == WIDE.empty:
        return NARROW.empty
    return NARROW.all if arc[1] >= U32_MAX else (arc[0] & U32_MAX, arc[1])


def _with_low(a: Arc, b: Arc) -> Arc:
    """The numbers of `a` whose low half is on `b`, from the first to the last: cnum64_cnum32_intersect()."""
    if a == WIDE.empty or b == NARROW.empty:
        return WIDE.empty
    base, size = a
    away, low_size = (b[0] - base) & U32_MAX, size & U32_MAX
    last = (away + b[1]) & U32_MAX
    if b[1] > U32_MAX - away:
        return (base, size - (low_size - last)) if last < low_size < away else a
    if size < away:
        return WIDE.empty
    left, spare = size - away, 0
    if low_size < away:
        spare = low_size + (1 << 32) - last
    elif low_size >= last:
        spare = low_size - last
    return ((base + away) & U64_MAX, left - spare) if left >= spare else WIDE.empty


def _told_by_bits(v: Value, r64: Arc, r32: Arc) -> tuple[Arc, Arc]:
    """__update_reg_bounds()."""
    r32 = NARROW.intersect(r32, NARROW.of_bits(v.var_off))
    r64 = WIDE.intersect(r64, WIDE.of_bits(v.var_off))
    value, mask = v.var_off
    low, high = WIDE.urange(r64)
    following, most = tnum_step(v.var_off, low), value | mask
    fits = low & ~mask == value
    only = None
    if fits and following > high:
        only = low
    elif not fits and following == most:
        only = most
    elif not fits and following <= high < tnum_step(v.var_off, following):
        only = following
    if only is None:
        return r64, r32
    v.var_off = tnum_const(only)
    return (only, 0), (only & U32_MAX, 0)


def sync(v: Value) -> None:
    """reg_bounds_sync()."""
    if is_number(v):
        v.hidden = None
    else:
        v.know(_settled(v.known))


@lru_cache(maxsize=1 << 13)
def _settled(known: Known) -> Known:
    """What all of these tell each other; remembered, because a program has the same few ranges again and again."""
    v = UNKNOWN.copy()
    v.know(known)
    _settle(v)
    return v.known


def _settle(v: Value) -> None:
    r64, r32 = wide(v), narrow(v)
    if r64 != WIDE.empty and r32 != NARROW.empty:
        r64, r32 = _told_by_bits(v, r64, r32)
        for _ in range(2):
            r32 = NARROW.intersect(r32, _low_of(r64))
            r64 = _with_low(r64, r32)
        bits = tnum_intersect(v.var_off, tnum_range(*WIDE.urange(r64)))
        low = tnum_intersect(tnum_subreg(bits), tnum_range(*NARROW.urange(r32)))
        v.var_off = tnum_or((bits[0] >> 32 << 32, bits[1] >> 32 << 32), low)
        r64, r32 = _told_by_bits(v, r64, r32)
    put_wide(v, r64)
    put_narrow(v, r32)


# ---- which way, and what a comparison teaches ----


def branch_taken(a: Value, b: Value, op: int, jmp32: bool) -> int:
    """A way that leaves no number is never taken: simulate_both_branches_taken()."""
    found = since_6_8.branch_taken(a, b, op, jmp32)
    if found >= 0:
        return found
    for relation, other in ((since_6_8.REVERSE[op], 1), (op, 0)):
        if any(_is_empty(known) for known in _learnt(a.known, b.known, relation, jmp32)):
            return other
    return -1


def _is_empty(known: Known) -> bool:
    return known[1] > known[2] or known[5] > known[6]  # no unsigned number, of 64 or of 32 bits


def learn(a: Value, b: Value, op: int, jmp32: bool) -> None:
    """`a op b` holds, and what is known of them is settled; they may be one and the same."""
    if a is b:
        _refine(a, a, op, jmp32)
        sync(a)
        return
    known, other = _learnt(a.known, b.known, op, jmp32)
    a.know(known)
    b.know(other)


@lru_cache(maxsize=1 << 13)
def _learnt(a: Known, b: Known, op: int, jmp32: bool) -> tuple[Known, Known]:
    """What both are after a comparison, asked for each way twice: can it be taken, and what does it teach."""
    v, w = UNKNOWN.copy(), UNKNOWN.copy()
    v.know(a)
    w.know(b)
    _refine(v, w, op, jmp32)
    sync(v)
    sync(w)
    return v.known, w.known


def _refine(a: Value, b: Value, op: int, jmp32: bool) -> None:
    """`a op b` holds: regs_refine_cond_op()."""
    if op in since_6_8.FLIPPED:
        op = since_6_8.FLIPPED[op]
        a, b = b, a
    if op not in (BPF_JEQ, BPF_JNE, BPF_JLE, BPF_JLT, BPF_JSLE, BPF_JSLT):
        since_6_8.refine(a, b, op, jmp32)
        return
    circle, get, put = (NARROW, narrow, put_narrow) if jmp32 else (WIDE, wide, put_wide)
    if op == BPF_JEQ:
        put(a, circle.intersect(get(a), get(b)))
        put(b, get(a))
        since_6_8.share_bits(a, b, jmp32)
    elif op == BPF_JNE:
        if b.var_off[1] & circle.top:
            a, b = b, a
        if not b.var_off[1] & circle.top:
            put(a, circle.intersect(get(a), ((b.var_off[0] + 1) & circle.top, circle.top - 1)))
    else:
        _refine_less(a, b, circle, op)


def _refine_less(a: Value, b: Value, circle: Circle, op: int) -> None:
    get, put = (narrow, put_narrow) if circle is NARROW else (wide, put_wide)
    strict = op in (BPF_JLT, BPF_JSLT)
    if op in (BPF_JLE, BPF_JLT):
        put(a, circle.intersect(get(a), circle.unsigned(0, circle.urange(get(b))[1] - strict)))
        put(b, circle.intersect(get(b), circle.unsigned(circle.urange(get(a))[0] + strict, circle.top)))
    else:
        least, most = -circle.half, circle.half - 1
        put(a, circle.intersect(get(a), circle.signed(least, circle.srange(get(b))[1] - strict)))
        put(b, circle.intersect(get(b), circle.signed(circle.srange(get(a))[0] + strict, most)))


# ---- arithmetic ----


def apply(op: int, d: Value, s: Value, alu32: bool) -> bool:
    """d = d op s, for an operand that scalar.is_tracked(): adjust_scalar_min_max_vals()."""
    found = _applied(op, d.known, s.known, alu32)
    if found is None:
        return False
    known, same = found
    d.know(known)
    if not same:
        d.clear_identity()
    return True


@lru_cache(maxsize=1 << 13)
def _applied(op: int, a: Known, b: Known, alu32: bool) -> tuple[Known, bool] | None:
    """What `a op b` is, and whether it is still somebody's copy; None where nothing is known of it."""
    d, s = UNKNOWN.with_id(1), UNKNOWN.copy()
    d.know(a)
    s.know(b)
    return (d.known, bool(d.id)) if _apply(op, d, s, alu32) else None


def _apply(op: int, d: Value, s: Value, alu32: bool) -> bool:
    if op in (BPF_ADD, BPF_SUB):
        _add(d, s, op == BPF_SUB)
    elif op == BPF_MUL:
        _multiply(d, s)
    elif op in _COMBINED:
        _combine(op, d, s)
    elif s.umax >= (32 if alu32 else 64):
        return False
    else:
        (_shift32 if alu32 else _shift64)(op, d, s.umin)
    if alu32:
        d.var_off = tnum_subreg(d.var_off)
        put_wide(d, WIDE.unsigned(d.u32_min, d.u32_max))
    sync(d)
    return True


def _add(d: Value, s: Value, less: bool) -> None:
    for circle, get, put in ((NARROW, narrow, put_narrow), (WIDE, wide, put_wide)):
        put(d, circle.add(get(d), circle.negate(get(s)) if less else get(s)))
    d.var_off = (tnum_sub if less else tnum_add)(d.var_off, s.var_off)


def _multiply(d: Value, s: Value) -> None:
    d.var_off = tnum_mul(d.var_off, s.var_off)
    low = NARROW.unsigned(*unsigned_product((d.u32_min, d.u32_max), (s.u32_min, s.u32_max), U32_MAX))
    low_signed = NARROW.signed(*signed_product((d.s32_min, d.s32_max), (s.s32_min, s.s32_max), S32_MIN, S32_MAX))
    put_narrow(d, NARROW.intersect(low, low_signed))
    high = WIDE.unsigned(*unsigned_product((d.umin, d.umax), (s.umin, s.umax), U64_MAX))
    high_signed = WIDE.signed(*signed_product((d.smin, d.smax), (s.smin, s.smax), S64_MIN, S64_MAX))
    put_wide(d, WIDE.intersect(high, high_signed))


_COMBINED: Final = {BPF_AND: tnum_and, BPF_OR: tnum_or, BPF_XOR: tnum_xor}


def _combine(op: int, d: Value, s: Value) -> None:
    """And, or, xor."""
    d.var_off = _COMBINED[op](d.var_off, s.var_off)
    value, mask = d.var_off
    if not (s.var_off[1] | mask) & U32_MAX:
        d.var_off = tnum_const_subreg(d.var_off, value & U32_MAX)
        put_narrow(d, (value & U32_MAX, 0))
    else:
        low, low_mask = value & U32_MAX, mask & U32_MAX
        least = max(d.u32_min, s.u32_min) if op == BPF_OR else low
        put_narrow(d, NARROW.unsigned(least, min(d.u32_max, s.u32_max) if op == BPF_AND else low | low_mask))
    if not s.var_off[1] and not mask:
        d.clear_identity()
        d.set_known(value)
        return
    least = max(d.umin, s.umin) if op == BPF_OR else value
    put_wide(d, WIDE.unsigned(least, min(d.umax, s.umax) if op == BPF_AND else value | mask))


def _shift32(op: int, d: Value, by: int) -> None:
    low = tnum_subreg(d.var_off)
    if op == BPF_LSH:
        put_narrow(d, _left(d.u32_min, d.u32_max, by, NARROW))
        d.var_off = tnum_subreg(tnum_lshift(low, by))
    elif op == BPF_RSH:
        put_narrow(d, NARROW.unsigned(d.u32_min >> by, d.u32_max >> by))
        d.var_off = tnum_rshift(low, by)
    else:
        put_narrow(d, NARROW.signed(d.s32_min >> by, d.s32_max >> by))
        d.var_off = tnum_arshift(low, by, 32)
    # the upper half follows from the lower one, which the bits narrow first
    put_narrow(d, NARROW.intersect(narrow(d), NARROW.of_bits(d.var_off)))


def _shift64(op: int, d: Value, by: int) -> None:
    if op == BPF_LSH:
        signed = WIDE.signed(d.s32_min << 32, d.s32_max << 32) if by == 32 else WIDE.all
        put_wide(d, WIDE.intersect(_left(d.umin, d.umax, by, WIDE), signed))
        put_narrow(d, _left(d.u32_min, d.u32_max, by, NARROW))
        d.var_off = tnum_lshift(d.var_off, by)
        return
    if op == BPF_RSH:
        d.var_off = tnum_rshift(d.var_off, by)
        put_wide(d, WIDE.unsigned(d.umin >> by, d.umax >> by))
    elif op == BPF_ARSH:
        d.var_off = tnum_arshift(d.var_off, by, 64)
        put_wide(d, WIDE.signed(d.smin >> by, d.smax >> by))
    d.set_unbounded32()


def _left(low: int, high: int, by: int, circle: Circle) -> Arc:
    """No bit may be shifted out, and (the kernel's caution) none into the sign."""
    bits = circle.top.bit_length()
    if by >= bits or high > 1 << bits - 1 - by:
        return circle.all
    return circle.unsigned(low << by & circle.top, high << by & circle.top)
