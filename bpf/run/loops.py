"""Loops whose accesses can be checked before the first turn.

A register that no turn changes, with a number added to it that the instructions before the access keep small (an index that is
cut down to a table's size), is an address in the same stretch of bytes at each turn.  Such stretches are checked where the loop is
entered: if all of them lie in memory, a copy of the loop runs that does not check these accesses again, else the loop as
it is.  Nothing is believed of what the verifier found: only what the program's own instructions make of any numbers is used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from arch.records import dataclass
from bpf.isa.insn import (
    BPF_ADD,
    BPF_ALU,
    BPF_ALU64,
    BPF_AND,
    BPF_ATOMIC,
    BPF_CALL,
    BPF_JMP,
    BPF_JMP32,
    BPF_K,
    BPF_LD_IMM64,
    BPF_LDX,
    BPF_LOAD_ACQ,
    BPF_LSH,
    BPF_MEM,
    BPF_MEMSX,
    BPF_MOV,
    BPF_PROBE_MEM,
    BPF_PROBE_MEMSX,
    BPF_REG_AX,
    BPF_RSH,
    BPF_ST,
    BPF_STX,
    BPF_TAIL_CALL,
    SIZE_BYTES,
    Insn,
)

FARTHEST = 1 << 16  # bytes: an access that may be farther from its register is checked by itself
LONGEST_LOOP = 256  # instructions of a loop that is compiled twice
_LOADS = (BPF_MEM, BPF_PROBE_MEM, BPF_MEMSX, BPF_PROBE_MEMSX)


@dataclass(frozen=True)
class Loop:
    """From its first to its last instruction: what lies between jumps nowhere back but to the first."""

    first: int
    last: int
    stretches: tuple[tuple[int, int, int], ...]  # register, distance from it in bytes, length in bytes
    checked: frozenset[int]  # instructions whose access lies in one of them
    counters: tuple[int, ...]  # registers to which turns add constants, and nothing else


def loops(
    insns: Sequence[Insn], instructions: Sequence[int], targets: Callable[[int], Sequence[int]]
) -> dict[int, Loop]:
    """Innermost loops of a function with such accesses, by their first instruction."""
    jumps = [(i, target) for i in instructions for target in targets(i)]
    ends: dict[int, int] = {}
    for i, target in jumps:
        if target <= i:
            ends[target] = max(i, ends.get(target, 0))
    found: dict[int, Loop] = {}
    for first, last in ends.items():
        # nothing jumps into it, and nothing in it back but to its beginning
        inner = [i for i, target in jumps if first < target <= last and (target <= i or not first <= i <= last)]
        if inner or last - first >= LONGEST_LOOP:
            continue
        inside = [i for i in instructions if first <= i <= last]
        loop = _loop(insns, inside, {target for _, target in jumps})
        if loop.checked:
            found[first] = loop
    return found


def _loop(insns: Sequence[Insn], inside: Sequence[int], jumped_to: set[int]) -> Loop:
    changed = {register for i in inside for register in _changed(insns[i])}
    stretches: dict[int, tuple[int, int]] = {}  # register: from, to
    checked, reach = set[int](), _Reach(changed)
    for i in inside:
        if i in jumped_to:
            reach.forget()
        insn = insns[i]
        register = _base(insn)
        if register is not None and (place := reach.place(register)) is not None:
            base, most = place
            begin, end = stretches.get(base, (insn.off, insn.off))
            stretches[base] = min(begin, insn.off), max(end, insn.off + most + SIZE_BYTES[insn.size])
            checked.add(i)
        reach.change(insn)
    rows = tuple((base, begin, end - begin) for base, (begin, end) in sorted(stretches.items()))
    counters = changed - {register for i in inside if not _counts(insns[i]) for register in _changed(insns[i])}
    return Loop(inside[0], inside[-1], rows, frozenset(checked), tuple(sorted(counters)))


def _counts(insn: Insn) -> bool:
    return insn.code == BPF_ALU64 | BPF_ADD | BPF_K and not insn.off


def _base(insn: Insn) -> int | None:
    """The register of an access to memory."""
    if insn.cls == BPF_LDX:
        return insn.src_reg if insn.mode in _LOADS else None
    if insn.cls == BPF_STX and insn.mode == BPF_ATOMIC:
        return insn.src_reg if insn.imm == BPF_LOAD_ACQ else insn.dst_reg
    return insn.dst_reg if insn.cls in (BPF_ST, BPF_STX) and insn.mode == BPF_MEM else None


def _changed(insn: Insn) -> tuple[int, ...]:
    """Registers that an instruction may change."""
    if insn.cls in (BPF_ALU, BPF_ALU64, BPF_LDX) or insn.code == BPF_LD_IMM64:
        return (insn.dst_reg,)
    if insn.cls in (BPF_JMP, BPF_JMP32):
        return (0, BPF_REG_AX) if insn.op in (BPF_CALL, BPF_TAIL_CALL) else ()
    return () if insn.mode == BPF_MEM else (0, insn.dst_reg, insn.src_reg)


class _Reach:
    """What is known of registers behind an instruction that is always reached by the one before it."""

    def __init__(self, changed: set[int]) -> None:
        self.changed = changed  # registers that a turn changes
        self.most: dict[int, int] = {}  # register: it holds a number up to this
        self.sums: dict[
            int, tuple[int, int]
        ] = {}  # register: it holds what this one holds, and a number up to this, added

    def place(self, register: int) -> tuple[int, int] | None:
        """The one that stays, and how much more this one holds at most."""
        return self.sums.get(register) or (None if register in self.changed else (register, 0))

    def forget(self) -> None:
        """Control may come from elsewhere."""
        self.most.clear()
        self.sums.clear()

    def change(self, insn: Insn) -> None:
        """What an instruction does."""
        most, total = self._most(insn), self._sum(insn)
        for register in _changed(insn):
            self.most.pop(register, None)
            self.sums.pop(register, None)
        if most is not None and most <= FARTHEST:
            self.most[insn.dst_reg] = most
        if total is not None and total[1] <= FARTHEST:
            self.sums[insn.dst_reg] = total

    def _most(self, insn: Insn) -> int | None:
        """Of the number that will be in its destination; numbers up to FARTHEST are the same with 32 bits as with 64."""
        if insn.cls == BPF_LDX and insn.mode == BPF_MEM:
            return int((1 << 8 * SIZE_BYTES[insn.size]) - 1)
        if insn.cls not in (BPF_ALU, BPF_ALU64) or insn.off:
            return None
        constant = insn.src_kind == BPF_K
        before = self.most.get(insn.dst_reg)
        other = self.most.get(insn.src_reg) if not constant else insn.imm if insn.imm >= 0 else None
        if insn.op == BPF_MOV:
            return other
        if insn.op == BPF_AND:
            return min((most for most in (before, other) if most is not None), default=None)
        if before is None or other is None:
            return None
        if insn.op == BPF_ADD:
            return before + other
        if insn.op == BPF_RSH:
            return before >> other if constant and other < 32 else before
        return before << other if insn.op == BPF_LSH and constant and other < 32 else None

    def _sum(self, insn: Insn) -> tuple[int, int] | None:
        if insn.cls != BPF_ALU64 or insn.off or insn.op not in (BPF_MOV, BPF_ADD):
            return None
        if insn.op == BPF_MOV:
            return self.place(insn.src_reg) if insn.src_kind != BPF_K else None
        if insn.src_kind == BPF_K:
            place = self.place(insn.dst_reg)
            return (place[0], place[1] + insn.imm) if place is not None and insn.imm >= 0 else None
        for address, number in ((insn.dst_reg, insn.src_reg), (insn.src_reg, insn.dst_reg)):
            if number in self.most and address not in self.most and (place := self.place(address)) is not None:
                return place[0], place[1] + self.most[number]
        return None
