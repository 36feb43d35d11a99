"""What the classic verifier knows at one point of a program: registers and stack.  struct verifier_state of 4.1.

Everything in a state is immutable or copied when written, so that pushing a branch costs one small copy.

A register is a pair (type, union).  In the kernel that union holds either a 32-bit `imm` or a map pointer, and
writing the one leaves the rest of the other behind; two registers are the same only if all of it is the same.
Pruning, and so the log, depends on that, hence the union is kept as the number it is in memory.

The stack is one number with two bits a byte, byte fp-1 lowest; an untouched stack is 0.
"""

from __future__ import annotations

import functools
from typing import Any

from bpf import uapi
from bpf.verifier.api import MapInfo

Reg = tuple[int, int]  # (type, union)

# enum bpf_reg_type
(
    NOT_INIT,
    UNKNOWN_VALUE,
    PTR_TO_CTX,
    CONST_PTR_TO_MAP,
    PTR_TO_MAP_VALUE,
    PTR_TO_MAP_VALUE_OR_NULL,
    FRAME_PTR,
    PTR_TO_STACK,
    CONST_IMM,
) = range(9)

REG_TYPE_TEXT = ("?", "inv", "ctx", "map_ptr", "map_value", "map_value_or_null", "fp", "fp", "imm")

NO_REG: Reg = (NOT_INIT, 0)
UNKNOWN: Reg = (UNKNOWN_VALUE, 0)

# enum bpf_stack_slot_type, two bits each
STACK_INVALID, STACK_SPILL, STACK_MISC = range(3)
MAX_BPF_STACK = uapi.MAX_BPF_STACK  # bytes
_LOW_BITS = int("01" * MAX_BPF_STACK, 2)


class State:
    """Registers, stack bytes, and the registers saved in stack slots (by offset from fp: -8, -16, ...)."""

    __slots__ = ("regs", "spilled", "stack")

    def __init__(self, regs: list[Reg], stack: int, spilled: dict[int, Reg]) -> None:
        self.regs = regs
        self.stack = stack
        self.spilled = spilled  # never changed in place

    def copy(self) -> State:
        """A state that can go its own way."""
        return State(self.regs.copy(), self.stack, self.spilled)

    def write_misc(self, off: int, size: int) -> None:
        """`size` bytes at fp+off become data; a register saved in that slot is forgotten."""
        shift = 2 * (-off - size)
        field = (1 << 2 * size) - 1
        self.stack = self.stack & ~(field << shift) | (field // 3 * STACK_MISC) << shift
        slot = off & ~7
        if slot in self.spilled:
            self.spilled = {key: reg for key, reg in self.spilled.items() if key != slot}

    def spill(self, off: int, reg: Reg) -> None:
        """A pointer is saved in the 8 bytes at fp+off."""
        shift = 2 * (-off - 8)
        self.stack = self.stack & ~(0xFFFF << shift) | 0x5555 << shift
        self.spilled = {**self.spilled, off: reg}

    def slot(self, off: int) -> int:
        """Type of the byte at fp+off."""
        return self.stack >> 2 * (-off - 1) & 3

    def first_not(self, kind: int, off: int, size: int) -> int | None:
        """Index of the first of `size` bytes at fp+off that is not of this kind."""
        shift = 2 * (-off - size)
        field = (1 << 2 * size) - 1
        if self.stack >> shift & field == field // 3 * kind:
            return None
        return next(i for i in range(size) if self.slot(off + i) != kind)


def start_state() -> State:
    """On entry R1 is the context and R10 the frame."""
    regs = [NO_REG] * 11
    regs[1] = (PTR_TO_CTX, 0)
    regs[10] = (FRAME_PTR, 0)
    return State(regs, 0, {})


class Immediates:
    """How `imm` lies within the union of struct reg_state: by byte order and pointer size of the kernel."""

    def __init__(self, byteorder: str, word: int) -> None:
        self.shift = 32 if byteorder == "big" and word == 8 else 0
        self.kept = 0 if word == 4 else 0xFFFFFFFF if self.shift else 0xFFFFFFFF << 32

    def store(self, union: int, imm: int) -> int:
        """The union after `reg->imm = imm`."""
        return union & self.kept | (imm & 0xFFFFFFFF) << self.shift

    def load(self, union: int) -> int:
        """`reg->imm`, signed."""
        return ((union >> self.shift & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000


def state_text(state: State, maps: dict[int, MapInfo], immediates: Immediates) -> str:
    """` R0=inv R10=fp` and a newline.  kernel/bpf/verifier.c:print_verifier_state()."""
    parts = []
    for number, (kind, union) in enumerate(state.regs):
        if kind == NOT_INIT:
            continue
        text = f" R{number}={REG_TYPE_TEXT[kind]}"
        if kind in (CONST_IMM, PTR_TO_STACK):
            text += str(immediates.load(union))
        elif CONST_PTR_TO_MAP <= kind <= PTR_TO_MAP_VALUE_OR_NULL:
            info = maps[union]
            text += f"(ks={info.key_size},vs={info.value_size})"
        parts.append(text)
    if state.stack & _LOW_BITS:
        for off in range(-MAX_BPF_STACK, 0, 8):
            if state.slot(off) == STACK_SPILL:
                parts.append(f" fp{off}={REG_TYPE_TEXT[state.spilled.get(off, NO_REG)[0]]}")
    return "".join(parts) + "\n"


class RememberedStates:
    """States seen at one pruning point.  kernel/bpf/verifier.c:is_state_visited() and states_equal().

    The kernel compares with one remembered state after the other; only whether any of them covers the current one
    matters, so they are kept as a tree instead: one level per register, then one per stack slot from fp-8 down.  At
    each level few branches can match, so thousands of states cost no more than a handful.
    """

    __slots__ = ("_exact", "_tree")

    def __init__(self) -> None:
        self._tree: dict[Any, Any] = {}
        self._exact: set[tuple[tuple[Reg, ...], int, frozenset[tuple[int, Reg]]]] = set()

    def seen(self, cur: State) -> bool:
        """Some remembered state allows at least all that this one does; if none, this one is remembered."""
        key = (tuple(cur.regs), cur.stack, frozenset(cur.spilled.items()))
        if key in self._exact or self._covered(cur):
            return True
        self._exact.add(key)
        self._remember(cur)
        return False

    def _covered(self, cur: State) -> bool:
        nodes = [self._tree]
        for reg in cur.regs:
            kind = reg[0]
            keys = (
                (NO_REG,)
                if kind == NOT_INIT
                else (NO_REG, UNKNOWN)
                if kind == UNKNOWN_VALUE
                else (NO_REG, UNKNOWN, reg)
            )
            nodes = [child for node in nodes for key in keys if (child := node.get(key)) is not None]
            if not nodes:
                return False
        stack = cur.stack
        while nodes:
            below = []
            slot = stack & 0xFFFF
            for node in nodes:
                for key, child in node.items():
                    if key is None:
                        if any(_same_spills(spilled, old_stack, cur.spilled) for old_stack, spilled in child):
                            return True
                    elif slot & _mask(key) == key:
                        below.append(child)
            nodes = below
            stack >>= 16
        return False

    def _remember(self, cur: State) -> None:
        node = self._tree
        for reg in cur.regs:
            key = NO_REG if reg[0] == NOT_INIT else UNKNOWN if reg[0] == UNKNOWN_VALUE else reg
            node = node.setdefault(key, {})
        stack = cur.stack
        while stack:
            node = node.setdefault(stack & 0xFFFF, {})
            stack >>= 16
        node.setdefault(None, []).append((cur.stack, cur.spilled))


@functools.cache
def _mask(slot: int) -> int:
    """Ones wherever a byte of this slot is in use."""
    return ((slot | slot >> 1) & 0x5555) * 3


def _same_spills(old: dict[int, Reg], old_stack: int, new: dict[int, Reg]) -> bool:
    """Saved registers agree wherever the first byte of the old slot is in use."""
    if old == new:
        return True
    for off in {*old, *new}:
        if old_stack >> 2 * (-off - 1) & 3 and old.get(off, NO_REG) != new.get(off, NO_REG):
            return False
    return True
