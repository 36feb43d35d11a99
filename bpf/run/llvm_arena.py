"""The text of a program with an arena for LLVM: what bpf/run/arena.py interprets.

A page that is there is found in the arena's table of words (bpf/maps/arena_pages.py), which no program can write; what lies on two
pages, or on none, is left to the interpreter, instruction by instruction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from arch.abi.limits import PAGE_SHIFT, PAGE_SIZE, U32_MAX
from bpf.isa.insn import (
    BPF_CMPXCHG,
    BPF_FETCH,
    BPF_LOAD_ACQ,
    BPF_PROBE_ATOMIC,
    BPF_PROBE_MEM32,
    BPF_PROBE_MEM32SX,
    BPF_STORE_REL,
    BPF_STX,
    SIZE_BYTES,
    Insn,
)
from bpf.maps.arena_pages import UPPER_HALF
from bpf.run.arena import is_user_cast
from bpf.run.llvm_text import Function, Source
from bpf.run.window import Window


class ArenaSource(Source, Protocol):
    """A program with an arena."""

    @property
    def arena_table(self) -> int:
        """Host address: ArenaPages.table."""


class ArenaFunction(Function):
    """One function of such a program."""

    def __init__(self, jit: ArenaSource, start: int, entries: dict[str, int], window: Window, host: int) -> None:
        super().__init__(jit, start, entries, window, host)
        self.table = f"inttoptr (i64 {jit.arena_table} to ptr)"
        self.there: str | None = None  # address in the machine's memory of what is read and written now

    def alu(self, insn: Insn) -> None:
        """A pointer into the arena as user space has it; NULL stays."""
        if not is_user_cast(insn):
            super().alu(insn)
            return
        low = self.let(f"and i64 {self.get(insn.src_reg)}, {U32_MAX}")
        upper = self.let(f"load i64, ptr {self.let(f'getelementptr i64, ptr {self.table}, i64 {UPPER_HALF}')}")
        null = self.let(f"icmp eq i64 {low}, 0")
        self.put(insn.dst_reg, self.let(f"select i1 {null}, i64 0, i64 {self.let(f'or i64 {upper}, {low}')}"))

    def load(self, i: int, insn: Insn) -> None:
        """dst = *(size *)(src + off)"""
        if insn.mode not in (BPF_PROBE_MEM32, BPF_PROBE_MEM32SX):
            super().load(i, insn)
            return
        size = SIZE_BYTES[insn.size]

        def body() -> None:
            value = self.read(i, "0", size)
            if insn.mode == BPF_PROBE_MEM32SX:
                value = self.let(f"sext i{8 * size} {self.let(f'trunc i64 {value} to i{8 * size}')} to i64")
            self.put(insn.dst_reg, value)

        self.on_a_page(i, insn, insn.src_reg, body, (insn.dst_reg,))

    def store(self, i: int, insn: Insn) -> None:
        """*(size *)(dst + off) = src or imm; atomics."""
        size = SIZE_BYTES[insn.size]
        if insn.mode == BPF_PROBE_MEM32:
            value = self.get(insn.src_reg) if insn.cls == BPF_STX else str(insn.imm)
            self.on_a_page(i, insn, insn.dst_reg, lambda: self.write(i, "0", size, value), ())
        elif insn.cls == BPF_STX and insn.mode == BPF_PROBE_ATOMIC:
            base = insn.src_reg if insn.imm == BPF_LOAD_ACQ else insn.dst_reg
            self.on_a_page(i, insn, base, lambda: self.atomic(i, insn, size), changed_by(insn))
        else:
            super().store(i, insn)

    def on_a_page(self, i: int, insn: Insn, base: int, body: Callable[[], None], changed: tuple[int, ...]) -> None:
        """The body where base + off lies on one page that is there; else the interpreter, which changes these registers."""
        look, fast, slow, after = (self.fresh(name) for name in ("look", "fast", "slow", "after"))
        at = self.address(base, insn.off)
        low = self.let(f"and i64 {at}, {PAGE_SIZE - 1}")
        within = self.let(f"icmp ule i64 {at}, {U32_MAX}")
        fits = self.let(f"icmp ule i64 {low}, {PAGE_SIZE - SIZE_BYTES[insn.size]}")
        self.do(f"br i1 {self.let(f'and i1 {within}, {fits}')}, label %{look}, label %{slow}")
        self.label(look)
        number = self.let(f"lshr i64 {at}, {PAGE_SHIFT}")
        page = self.let(f"load i64, ptr {self.let(f'getelementptr i64, ptr {self.table}, i64 {number}')}")
        self.do(f"br i1 {self.let(f'icmp eq i64 {page}, 0')}, label %{slow}, label %{fast}")
        self.label(fast)
        self.there = self.let(f"add i64 {page}, {low}")
        body()
        self.there = None
        self.do(f"br label %{after}")
        self.label(slow)
        self.share(*{0, insn.dst_reg, insn.src_reg})
        self.leave_unless_ok(self.let(f"call i32 {self.entry('step')}(ptr %state, i64 {i})"))
        for register in changed:
            self.put(register, self.let(f"load i64, ptr {self.word(register)}"))
        self.do(f"br label %{after}")
        self.label(after)

    def read(self, i: int, address: str, size: int, probe: bool = False) -> str:
        """Of the page that was found."""
        if self.there is None:
            return super().read(i, address, size, probe)
        return self.near(self.there, size)

    def write(self, i: int, address: str, size: int, value: str) -> None:
        """Of the page that was found."""
        if self.there is None:
            super().write(i, address, size, value)
            return
        self.put_near(self.there, size, value)


def changed_by(insn: Insn) -> tuple[int, ...]:
    """Registers that an atomic instruction may change."""
    if insn.imm == BPF_LOAD_ACQ:
        return (insn.dst_reg,)
    if insn.imm == BPF_STORE_REL:
        return ()
    if insn.imm == BPF_CMPXCHG:
        return (0,)
    return (insn.src_reg,) if insn.imm & BPF_FETCH else ()
