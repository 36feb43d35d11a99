"""A function of a program as x86-64's machine code, as of 6.1.  arch/x86/net/bpf_jit_comp.c.

It is translated instruction by instruction, again and again until no jump gets shorter.  Addresses of functions stand for 32-bit
distances only, so lengths do not depend on them.
"""

from __future__ import annotations

from collections.abc import Sequence

from arch.records import dataclass
from bpf.isa import insn as isa
from bpf.isa.insn import Insn, is_ld_imm64
from bpf.jit.forms import (
    CONDITION,
    JAE,
    arithmetic,
    atomic,
    byte,
    compare,
    load,
    mov_imm64,
    near,
    probe_load,
    store,
    store_imm,
    word,
)
from bpf.uapi import MAX_TAIL_CALL_CNT
from bpf.verifier.rewrite.emit import BPF_NOSPEC

CALLEE_SAVED = (6, 7, 8, 9)
PUSH = (b"\x53", b"\x41\x55", b"\x41\x56", b"\x41\x57")
POP = (b"\x5b", b"\x41\x5d", b"\x41\x5e", b"\x41\x5f")
NOP5 = b"\x0f\x1f\x44\x00\x00"
TAIL_CALL_OFFSET = 5 + 2 + 1 + 3  # X86_TAIL_CALL_OFFSET: a tail call skips the first instructions of the prologue
MAX_PASSES = 20
ROOM = 64  # for an instruction, before anything is known
JBE, JE = 0x76, 0x74


@dataclass(frozen=True)
class Places:
    """Where a tail call looks: members of struct bpf_array and struct bpf_prog, in bytes."""

    max_entries: int
    pointers: int
    bpf_func: int


@dataclass(frozen=True)
class Function:
    """What the verifier knows of one function of a program."""

    insns: Sequence[Insn]
    stack_depth: int
    tail_call_reachable: bool  # by a function that it calls
    is_subprog: bool
    places: Places


@dataclass(frozen=True)
class Code:
    """Machine code; `starts`: where each instruction's begins, the end last.  In bytes."""

    text: bytes
    starts: tuple[int, ...]


class Pass:
    """One translation of a function, with the lengths that the pass before has found."""

    def __init__(self, function: Function, ends: Sequence[int], cleanup: int) -> None:
        self.function = function
        self.ends = list(ends)  # of each instruction's code; of the prologue first
        self.cleanup = cleanup  # where the program returns
        insns = function.insns
        self.depth = (function.stack_depth + 7) // 8 * 8
        used = {reg for insn in insns for reg in (insn.dst_reg, insn.src_reg)}
        self.saved = [n for n, reg in enumerate(CALLEE_SAVED) if reg in used]
        self.tail_calls = function.tail_call_reachable or any(is_tail_call(insn) for insn in insns)
        self.seen_exit = False

    def run(self) -> bytes:
        """All of it; `ends` and `cleanup` are those of now."""
        out = bytearray(self.prologue())
        self.ends[0] = len(out)
        insns = self.function.insns
        index = 0
        while index < len(insns):
            insn = insns[index]
            if is_ld_imm64(insn):
                self.ends[index + 1] = len(out)  # the second half has no code of its own
                value = isa.imm64(insn, insns[index + 1])
                if insn.src_reg == isa.BPF_PSEUDO_FUNC:
                    value = 1 << 63  # an address, whichever it is
                out += mov_imm64(insn.dst_reg, value)
                index += 1
                self.ends[index] = self.ends[index + 1] = len(out)
            else:
                piece = self.translate(index, insn, len(out))
                out += piece
                self.ends[index + 1] = len(out)
            index += 1
        return bytes(out)

    def prologue(self) -> bytes:
        """emit_prologue() and push_callee_regs()."""
        skipped = b"\x31\xc0" if self.tail_calls and not self.function.is_subprog else b"\x66\x90"
        out = NOP5 + skipped + b"\x55\x48\x89\xe5"
        if self.function.stack_depth:
            out += b"\x48\x81\xec" + word(self.depth)
        if self.tail_calls:
            out += b"\x50"
        return out + b"".join(PUSH[n] for n in self.saved)

    def restore(self) -> bytes:
        """pop_callee_regs()."""
        return b"".join(POP[n] for n in reversed(self.saved))

    def translate(self, index: int, insn: Insn, at: int) -> bytes:
        """One instruction that begins at byte `at`."""
        if insn.cls in (isa.BPF_ALU, isa.BPF_ALU64):
            return arithmetic(insn)
        if insn.cls == isa.BPF_LDX:
            if insn.mode == isa.BPF_PROBE_MEM:
                return probe_load(insn)
            return load(insn.size, insn.dst_reg, insn.src_reg, insn.off)
        if insn.cls == isa.BPF_STX:
            if insn.mode == isa.BPF_ATOMIC:
                return atomic(insn)
            return store(insn.size, insn.dst_reg, insn.src_reg, insn.off)
        if insn.cls == isa.BPF_ST:
            return b"\x0f\xae\xe8" if insn.mode == BPF_NOSPEC else store_imm(insn)
        if insn.op == isa.BPF_CALL and insn.cls == isa.BPF_JMP:
            return self.call(insn)
        if is_tail_call(insn):
            return self.tail_call_direct() if insn.imm else self.tail_call_indirect()
        if insn.op == isa.BPF_EXIT and insn.cls == isa.BPF_JMP:
            return self.leave(index, at)
        if insn.op == isa.BPF_JA:
            return self.jump(-2 if insn.off == -1 else self.distance(index, insn))
        return self.conditional(index, insn)

    def distance(self, index: int, insn: Insn) -> int:
        """From the end of a jump to where it goes, by the pass before."""
        return self.ends[index + 1 + insn.off] - self.ends[index + 1]

    def jump(self, distance: int) -> bytes:
        """A jump; one to the next instruction is none."""
        if not distance:
            return b""
        return b"\xeb" + byte(distance) if near(distance) else b"\xe9" + word(distance)

    def conditional(self, index: int, insn: Insn) -> bytes:
        """A comparison and its jump."""
        distance, condition = self.distance(index, insn), CONDITION[insn.op]
        if near(distance):
            return compare(insn) + bytes((condition,)) + byte(distance)
        return compare(insn) + bytes((0x0F, condition + 0x10)) + word(distance)

    def call(self, insn: Insn) -> bytes:
        """A helper, a kernel function, a function of the program."""
        count = b"\x48\x8b\x85" + word(-self.depth - 8) if self.function.tail_call_reachable else b""
        return count + b"\xe8" + word(0)

    def leave(self, index: int, at: int) -> bytes:
        """The first exit returns, the others jump there."""
        if self.seen_exit:
            distance = self.cleanup - self.ends[index + 1]
            return b"\xeb" + byte(distance) if near(distance) else b"\xe9" + word(distance)
        self.seen_exit, self.cleanup = True, at
        return self.restore() + b"\xc9\xc3\xcc"

    def count_tail_call(self, out: int) -> bytes:
        """One more, if there are not too many; `out` bytes later is where it fails to."""
        place_of = word(-4 - self.depth)
        return (
            b"\x8b\x85" + place_of + bytes((0x83, 0xF8, MAX_TAIL_CALL_CNT, JAE, out - 11 & 0xFF))
            + b"\x83\xc0\x01\x89\x85" + place_of
        )  # fmt: skip

    def unwind(self) -> bytes:
        """Before the other program begins."""
        return self.restore() + b"\x58" + (b"\x48\x81\xc4" + word(self.depth) if self.function.stack_depth else b"")

    def tail_call_indirect(self) -> bytes:
        """emit_bpf_tail_call_indirect()."""
        places = self.function.places
        bounds = b"\x89\xd2\x39\x56" + bytes((places.max_entries,))
        counting = self.count_tail_call(0)
        target = b"\x48\x8b\x8c\xd6" + word(places.pointers) + b"\x48\x85\xc9"
        leap = (
            self.unwind() + b"\x48\x8b\x49" + bytes((places.bpf_func,)) + b"\x48\x83\xc1" + bytes((TAIL_CALL_OFFSET,))
        )
        leap += b"\xff\xe1\xcc"
        after = len(leap)
        counting = self.count_tail_call(len(counting) + len(target) + 2 + after)
        first = len(counting) + len(target) + 2 + after
        return bounds + bytes((JBE, first & 0xFF)) + counting + target + bytes((JE, after)) + leap

    def tail_call_direct(self) -> bytes:
        """emit_bpf_tail_call_direct(): a jump that is patched when the map changes."""
        rest = b"\xe9" + word(0) + self.unwind() + NOP5
        length = len(self.count_tail_call(0))
        return self.count_tail_call(length + len(rest)) + rest


def is_tail_call(insn: Insn) -> bool:
    return insn.cls == isa.BPF_JMP and insn.op == isa.BPF_TAIL_CALL


def compile_function(function: Function) -> Code:
    """bpf_int_jit_compile(): passes until the length stays."""
    count = len(function.insns)
    ends = [ROOM * (number + 1) for number in range(count + 1)]
    cleanup, length, text = ends[-1], 0, b""
    for _ in range(MAX_PASSES + 1):
        step = Pass(function, ends, cleanup)
        text = step.run()
        ends, cleanup = step.ends, step.cleanup
        if len(text) == length:
            break
        length = len(text)
    return Code(text, (*ends,))
