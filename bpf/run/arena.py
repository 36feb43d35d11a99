"""Programs with an arena: loads and stores by the low half of an address, which find no page or the arena's.

What the JIT of x86-64 does for BPF_PROBE_MEM32 and its like: a load from where no page is gives 0, a store does nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, Unpack

from arch.abi.limits import U32_MAX
from arch.memory import Memory
from bpf.isa.insn import (
    BPF_ADDR_SPACE_CAST,
    BPF_ALU64,
    BPF_CMPXCHG,
    BPF_FETCH,
    BPF_LDX,
    BPF_LOAD_ACQ,
    BPF_MOV,
    BPF_PROBE_ATOMIC,
    BPF_PROBE_MEM32,
    BPF_PROBE_MEM32SX,
    BPF_ST,
    BPF_STORE_REL,
    BPF_STX,
    BPF_X,
    BPF_XCHG,
    SIZE_BYTES,
    Insn,
)
from bpf.maps.arena_pages import ArenaPages
from bpf.run.interpreter import EngineOptions, Program, Translator
from bpf.run.meaning import ATOMIC_MEANING


class Arena(Protocol):
    """bpf.maps.arena.ArenaMap."""

    start: int
    pages: ArenaPages

    def load(self, at: int, size: int) -> int | None:
        """None: a page is missing."""

    def store(self, at: int, size: int, value: int) -> None:
        """Nothing happens where a page is missing."""


def is_user_cast(insn: Insn) -> bool:
    """The instruction makes a pointer into the arena one of user space."""
    moves = insn.cls == BPF_ALU64 and insn.op == BPF_MOV and insn.src_kind == BPF_X
    return moves and insn.off == BPF_ADDR_SPACE_CAST and insn.imm == 1 << 16


class ArenaTranslator(Translator):
    """The instructions that the verifier made for an arena."""

    clears_missing = True  # a read and write where no page is gives 0; else the register stays

    def lines(self, i: int) -> list[str]:
        """One of them, or as always."""
        insn = self.insns[i]
        size = SIZE_BYTES.get(insn.size, 8)
        dst, source = f"r[{insn.dst_reg}]", f"r[{insn.src_reg}]"
        if insn.cls == BPF_STX and insn.mode == BPF_PROBE_ATOMIC:
            return self._atomic_there(insn, size)
        if insn.mode in (BPF_PROBE_MEM32, BPF_PROBE_MEM32SX) and insn.cls in (BPF_LDX, BPF_ST, BPF_STX):
            if insn.cls == BPF_LDX:
                signed = insn.mode == BPF_PROBE_MEM32SX
                return [f"{dst} = arena_load({source}, {insn.off}, {size}, {signed})"]
            if insn.mode == BPF_PROBE_MEM32:
                value = source if insn.cls == BPF_STX else str(insn.imm & (1 << 64) - 1)
                return [f"arena_store({dst}, {insn.off}, {size}, {value})"]
        if is_user_cast(insn):
            return [f"{dst} = arena_user({source})"]
        return super().lines(i)

    def _atomic_there(self, insn: Insn, size: int) -> list[str]:
        dst, source = f"r[{insn.dst_reg}]", f"r[{insn.src_reg}]"
        if insn.imm == BPF_LOAD_ACQ:
            return [f"{dst} = arena_load({source}, {insn.off}, {size}, False)"]
        if insn.imm == BPF_STORE_REL:
            return [f"arena_store({dst}, {insn.off}, {size}, {source})"]
        operand = source if size == 8 else f"({source} & M32)"
        given = "r[0]" if insn.imm == BPF_CMPXCHG else source
        lines = [f"old = arena_old({dst}, {insn.off}, {size})", "if old is None:"]
        lines += [f" {given} = 0" if insn.imm & BPF_FETCH and self.clears_missing else " pass", "else:"]
        if insn.imm == BPF_CMPXCHG:
            expected = "r[0]" if size == 8 else "(r[0] & M32)"
            return [
                *lines,
                f" if old == {expected}: arena_store({dst}, {insn.off}, {size}, {operand})",
                f" {given} = old",
            ]
        new = "y" if insn.imm == BPF_XCHG else ATOMIC_MEANING[insn.imm & ~BPF_FETCH]
        lines.append(f" arena_store({dst}, {insn.off}, {size}, {new.replace('y', operand)})")
        return [*lines, f" {given} = old"] if insn.imm & BPF_FETCH else lines


class ArenaProgram(Program):
    """A program ready to run, and its arena."""

    def __init__(
        self,
        insns: Sequence[Insn],
        mem: Memory,
        *,
        arena: Arena,
        clears_missing: bool,
        **more: Unpack[EngineOptions],
    ) -> None:
        super().__init__(insns, mem, **more)
        made = ArenaTranslator(insns, classic=False, byteorder=mem.byteorder, fast=self.translator.fast)
        made.int_calls, made.clears_missing = self.translator.int_calls, clears_missing
        self.translator, self.arena = made, arena
        self._names |= {
            "arena_load": self._load,
            "arena_old": lambda reg, off, size: self.arena.load(reg + off, size),
            "arena_store": lambda reg, off, size, value: self.arena.store(reg + off, size, value),
            "arena_user": self._user,
        }

    def _load(self, reg: int, off: int, size: int, signed: bool) -> int:
        value = self.arena.load(reg + off, size) or 0
        sign = 1 << 8 * size - 1
        return (value ^ sign) - sign & (1 << 64) - 1 if signed else value

    def _user(self, reg: int) -> int:
        """An address of user space from its low half; NULL stays."""
        low = reg & U32_MAX
        return self.arena.start & ~U32_MAX | low if low else 0
