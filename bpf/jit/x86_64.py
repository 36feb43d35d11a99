"""x86-64's compiler, as of 6.1.  arch/x86/net/bpf_jit_comp.c.

A function of a program is translated instruction by instruction, again and again until no jump gets shorter.  Addresses of
functions stand for 32-bit distances only, so lengths do not depend on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bpf.isa import insn as isa
from bpf.isa.insn import BPF_REG_0, BPF_REG_3, BPF_REG_4, BPF_REG_AX, Insn, is_ld_imm64

AUX_REG = BPF_REG_AX + 1  # r11, which no program sees
# reg2hex[]: the number of each register in an instruction, rax rdi rsi rdx rcx r8 rbx r13 r14 r15 rbp r10 r11
NUMBER = (0, 7, 6, 2, 1, 0, 3, 5, 6, 7, 5, 2, 3)
EXTENDED = frozenset((5, 7, 8, 9, BPF_REG_AX, AUX_REG))  # is_ereg(): r8 and up
CALLEE_SAVED = (6, 7, 8, 9)
PUSH = (b"\x53", b"\x41\x55", b"\x41\x56", b"\x41\x57")
POP = (b"\x5b", b"\x41\x5d", b"\x41\x5e", b"\x41\x5f")
NOP5 = b"\x0f\x1f\x44\x00\x00"
SIMPLE_ALU = {
    isa.BPF_ADD: 0x01, isa.BPF_SUB: 0x29, isa.BPF_AND: 0x21, isa.BPF_OR: 0x09, isa.BPF_XOR: 0x31,
    isa.BPF_LSH: 0xE0, isa.BPF_RSH: 0xE8, isa.BPF_ARSH: 0xF8,
}  # fmt: skip
# With a constant: the register's byte, and the short form for rax.
ALU_K = {
    isa.BPF_ADD: (0xC0, 0x05), isa.BPF_SUB: (0xE8, 0x2D), isa.BPF_AND: (0xE0, 0x25), isa.BPF_OR: (0xC8, 0x0D),
    isa.BPF_XOR: (0xF0, 0x35),
}  # fmt: skip
SHIFTS = (isa.BPF_LSH, isa.BPF_RSH, isa.BPF_ARSH)
CONDITION = {
    isa.BPF_JEQ: 0x74, isa.BPF_JSET: 0x75, isa.BPF_JNE: 0x75, isa.BPF_JGT: 0x77, isa.BPF_JLT: 0x72, isa.BPF_JGE: 0x73,
    isa.BPF_JLE: 0x76, isa.BPF_JSGT: 0x7F, isa.BPF_JSLT: 0x7C, isa.BPF_JSGE: 0x7D, isa.BPF_JSLE: 0x7E,
}  # fmt: skip
JBE, JAE, JE, JNE = 0x76, 0x73, 0x74, 0x75
KERNEL_FROM = (1 << 47) - 4096 + 4096  # TASK_SIZE_MAX + PAGE_SIZE: below, a load by a pointer of BTF gives 0
MAX_TAIL_CALL_CNT = 33
TAIL_CALL_OFFSET = 5 + 2 + 1 + 3  # X86_TAIL_CALL_OFFSET: a tail call skips the first instructions of the prologue
MAX_ENTRIES_AT, POINTERS_AT, BPF_FUNC_AT = 36, 272, 48  # in struct bpf_array, struct bpf_prog
MAX_PASSES = 20
ROOM = 64  # for an instruction, before anything is known


@dataclass(frozen=True)
class Function:
    """What the verifier knows of one function of a program."""

    insns: Sequence[Insn]
    stack_depth: int
    tail_call_reachable: bool  # by a function that it calls
    is_subprog: bool


@dataclass(frozen=True)
class Code:
    """Machine code; `starts`: where each instruction's begins, the end last.  In bytes."""

    text: bytes
    starts: tuple[int, ...]


def imm8(value: int) -> bool:
    """is_imm8()."""
    return -128 <= value <= 127


def near(distance: int) -> bool:
    """is_imm8_jmp_offset(): a little less than what fits, so that lengths settle (since 6.1.111)."""
    return -128 <= distance <= 123


def byte(value: int) -> bytes:
    return (value & 0xFF).to_bytes(1, "little")


def word(value: int) -> bytes:
    return (value & 0xFFFFFFFF).to_bytes(4, "little")


def mod1(base: int, reg: int) -> int:
    """add_1mod()."""
    return base | (reg in EXTENDED)


def mod2(base: int, rm: int, reg: int) -> int:
    """add_2mod()."""
    return base | (rm in EXTENDED) | (reg in EXTENDED) << 2


def one(base: int, reg: int) -> int:
    """add_1reg()."""
    return base + NUMBER[reg]


def two(base: int, rm: int, reg: int) -> int:
    """add_2reg()."""
    return base + NUMBER[rm] + (NUMBER[reg] << 3)


def prefix1(reg: int, wide: bool) -> bytes:
    """maybe_emit_1mod()."""
    return byte(mod1(0x48, reg)) if wide else byte(mod1(0x40, reg)) if reg in EXTENDED else b""


def prefix2(rm: int, reg: int, wide: bool) -> bytes:
    """maybe_emit_mod()."""
    if wide:
        return byte(mod2(0x48, rm, reg))
    return byte(mod2(0x40, rm, reg)) if rm in EXTENDED or reg in EXTENDED else b""


def place(rm: int, reg: int, off: int) -> bytes:
    """emit_insn_suffix(): memory at a register and an offset."""
    return bytes((two(0x40, rm, reg),)) + byte(off) if imm8(off) else bytes((two(0x80, rm, reg),)) + word(off)


def mov(wide: bool, dst: int, src: int) -> bytes:
    """emit_mov_reg(): a whole register onto itself is nothing, the lower half clears the upper."""
    if wide and dst == src:
        return b""
    return prefix2(dst, src, wide) + bytes((0x89, two(0xC0, dst, src)))


def mov_imm32(sign: bool, dst: int, value: int) -> bytes:
    """emit_mov_imm32()."""
    if sign and value < 0:
        return bytes((mod1(0x48, dst), 0xC7, one(0xC0, dst))) + word(value)
    if not value:
        return prefix2(dst, dst, False) + bytes((0x31, two(0xC0, dst, dst)))
    return prefix1(dst, False) + bytes((one(0xB8, dst),)) + word(value)


def mov_imm64(dst: int, value: int) -> bytes:
    """emit_mov_imm64()."""
    if value >> 32 == 0:
        return mov_imm32(False, dst, isa.signed32(value))
    return bytes((mod1(0x48, dst), one(0xB8, dst))) + value.to_bytes(8, "little")


def load(size: int, dst: int, src: int, off: int) -> bytes:
    """emit_ldx()."""
    if size == isa.BPF_B:
        head = bytes((mod2(0x48, src, dst), 0x0F, 0xB6))
    elif size == isa.BPF_H:
        head = bytes((mod2(0x48, src, dst), 0x0F, 0xB7))
    else:
        head = prefix2(src, dst, size == isa.BPF_DW) + b"\x8b"
    return head + place(src, dst, off)


def store(size: int, dst: int, src: int, off: int) -> bytes:
    """emit_stx()."""
    if size == isa.BPF_B:
        low = src in EXTENDED or src in (1, 2, isa.BPF_REG_FP)  # dil, sil, bpl have a prefix of their own
        head = (byte(mod2(0x40, dst, src)) if dst in EXTENDED or low else b"") + b"\x88"
    else:
        head = (b"\x66" if size == isa.BPF_H else b"") + prefix2(dst, src, size == isa.BPF_DW) + b"\x89"
    return head + place(dst, src, off)


def store_imm(insn: Insn) -> bytes:
    """BPF_ST."""
    dst, width = insn.dst_reg, isa.SIZE_BYTES[insn.size]
    head = (b"\x66" if width == 2 else b"") + prefix1(dst, width == 8) + (b"\xc6" if width == 1 else b"\xc7")
    where = bytes((one(0x40, dst),)) + byte(insn.off) if imm8(insn.off) else bytes((one(0x80, dst),)) + word(insn.off)
    return head + where + word(insn.imm)[: min(width, 4)]


def divide(insn: Insn) -> bytes:
    """BPF_DIV and BPF_MOD, which need rax and rdx."""
    wide, dst, src = insn.cls == isa.BPF_ALU64, insn.dst_reg, insn.src_reg
    out = (b"\x50" if dst != BPF_REG_0 else b"") + (b"\x52" if dst != BPF_REG_3 else b"")
    if insn.src_kind != isa.BPF_X:
        out += bytes((0x49, 0xC7, one(0xC0, AUX_REG))) + word(insn.imm)
        src = AUX_REG
    elif src in (BPF_REG_0, BPF_REG_3):
        out += mov(True, AUX_REG, src)
        src = AUX_REG
    if dst != BPF_REG_0:
        out += mov(wide, BPF_REG_0, dst)
    out += b"\x31\xd2" + prefix1(src, wide) + bytes((0xF7, one(0xF0, src)))
    if insn.op == isa.BPF_MOD and dst != BPF_REG_3:
        out += mov(wide, dst, BPF_REG_3)
    elif insn.op == isa.BPF_DIV and dst != BPF_REG_0:
        out += mov(wide, dst, BPF_REG_0)
    return out + (b"\x5a" if dst != BPF_REG_3 else b"") + (b"\x58" if dst != BPF_REG_0 else b"")


def shift(insn: Insn) -> bytes:
    """Shifts: by a register only by cl."""
    wide, dst, src = insn.cls == isa.BPF_ALU64, insn.dst_reg, insn.src_reg
    form = SIMPLE_ALU[insn.op]
    if insn.src_kind != isa.BPF_X:
        head = prefix1(dst, wide)
        if insn.imm == 1:
            return head + bytes((0xD1, one(form, dst)))
        return head + bytes((0xC1, one(form, dst))) + byte(insn.imm)
    out = b""
    if dst == BPF_REG_4:
        out += mov(True, AUX_REG, dst)
        dst = AUX_REG
    if src != BPF_REG_4:
        out += b"\x51" + mov(True, BPF_REG_4, src)
    out += prefix1(dst, wide) + bytes((0xD3, one(form, dst)))
    if src != BPF_REG_4:
        out += b"\x59"
    return out + (mov(True, insn.dst_reg, AUX_REG) if insn.dst_reg == BPF_REG_4 else b"")


def swap(insn: Insn) -> bytes:
    """BPF_END."""
    dst, big = insn.dst_reg, insn.src_kind == isa.BPF_TO_BE
    extended = dst in EXTENDED
    if insn.imm == 16:
        turned = b"\x66" + (b"\x41" if extended else b"") + bytes((0xC1, one(0xC8, dst), 8)) if big else b""
        return turned + (b"\x45" if extended else b"") + bytes((0x0F, 0xB7, two(0xC0, dst, dst)))
    if insn.imm == 32:
        if big:
            return (b"\x41" if extended else b"") + bytes((0x0F, one(0xC8, dst)))
        return (b"\x45" if extended else b"") + bytes((0x89, two(0xC0, dst, dst)))
    return bytes((mod1(0x48, dst), 0x0F, one(0xC8, dst))) if big else b""


def arithmetic(insn: Insn) -> bytes:
    """BPF_ALU and BPF_ALU64."""
    wide, dst, src, op = insn.cls == isa.BPF_ALU64, insn.dst_reg, insn.src_reg, insn.op
    by_register = insn.src_kind == isa.BPF_X
    if op == isa.BPF_END:
        return swap(insn)
    if op == isa.BPF_NEG:
        return prefix1(dst, wide) + bytes((0xF7, one(0xD8, dst)))
    if op == isa.BPF_MOV:
        return mov(wide, dst, src) if by_register else mov_imm32(wide, dst, insn.imm)
    if op in (isa.BPF_DIV, isa.BPF_MOD):
        return divide(insn)
    if op in SHIFTS:
        return shift(insn)
    if op == isa.BPF_MUL:
        if by_register:
            return prefix2(src, dst, wide) + bytes((0x0F, 0xAF, two(0xC0, src, dst)))
        head, tail = prefix2(dst, dst, wide), bytes((two(0xC0, dst, dst),))
        return head + b"\x6b" + tail + byte(insn.imm) if imm8(insn.imm) else head + b"\x69" + tail + word(insn.imm)
    if by_register:
        return prefix2(dst, src, wide) + bytes((SIMPLE_ALU[op], two(0xC0, dst, src)))
    form, short = ALU_K[op]
    if imm8(insn.imm):
        return prefix1(dst, wide) + bytes((0x83, one(form, dst))) + byte(insn.imm)
    if dst == BPF_REG_0:
        return prefix1(dst, wide) + bytes((short,)) + word(insn.imm)
    return prefix1(dst, wide) + bytes((0x81, one(form, dst))) + word(insn.imm)


def compare(insn: Insn) -> bytes:
    """What stands before a conditional jump."""
    wide, dst, src = insn.cls == isa.BPF_JMP, insn.dst_reg, insn.src_reg
    test = insn.op == isa.BPF_JSET
    if insn.src_kind == isa.BPF_X:
        return prefix2(dst, src, wide) + bytes((0x85 if test else 0x39, two(0xC0, dst, src)))
    if test:
        return prefix1(dst, wide) + bytes((0xF7, one(0xC0, dst))) + word(insn.imm)
    if not insn.imm:
        return prefix2(dst, dst, wide) + bytes((0x85, two(0xC0, dst, dst)))
    if imm8(insn.imm):
        return prefix1(dst, wide) + bytes((0x83, one(0xF8, dst))) + byte(insn.imm)
    return prefix1(dst, wide) + bytes((0x81, one(0xF8, dst))) + word(insn.imm)


def one_atomic(operation: int, dst: int, src: int, off: int, wide: bool) -> bytes:
    """emit_atomic()."""
    head = b"\xf0" + prefix2(dst, src, wide)
    if operation == isa.BPF_CMPXCHG:
        middle = b"\x0f\xb1"
    elif operation == isa.BPF_XCHG:
        middle = b"\x87"
    elif operation == isa.BPF_ADD | isa.BPF_FETCH:
        middle = b"\x0f\xc1"
    else:
        middle = byte(SIMPLE_ALU[operation])
    return head + middle + place(dst, src, off)


FETCH_LOOPS = tuple(op | isa.BPF_FETCH for op in (isa.BPF_AND, isa.BPF_OR, isa.BPF_XOR))


def atomic(insn: Insn) -> bytes:
    """BPF_ATOMIC: one locked instruction, or a loop around cmpxchg."""
    wide = insn.size == isa.BPF_DW
    if insn.imm not in FETCH_LOOPS:
        return one_atomic(insn.imm, insn.dst_reg, insn.src_reg, insn.off, wide)
    src = BPF_REG_AX if insn.src_reg == BPF_REG_0 else insn.src_reg
    dst = BPF_REG_AX if insn.dst_reg == BPF_REG_0 else insn.dst_reg
    loop = load(insn.size, BPF_REG_0, dst, insn.off) + mov(wide, AUX_REG, BPF_REG_0)
    loop += prefix2(AUX_REG, src, wide) + bytes((SIMPLE_ALU[insn.imm & 0xF0], two(0xC0, AUX_REG, src)))
    loop += one_atomic(isa.BPF_CMPXCHG, dst, AUX_REG, insn.off, wide)
    loop += bytes((JNE,)) + byte(-len(loop) - 2)
    return mov(True, BPF_REG_AX, BPF_REG_0) + loop + mov(wide, src, BPF_REG_0) + mov(True, BPF_REG_0, BPF_REG_AX)


def probe_load(insn: Insn) -> bytes:
    """A load that gives 0 for what is no kernel address, or faults."""
    dst, src, off = insn.dst_reg, insn.src_reg, insn.off
    check = bytes((mod1(0x48, AUX_REG), one(0xB8, AUX_REG))) + KERNEL_FROM.to_bytes(8, "little")
    if off:
        check += prefix1(src, True) + bytes((0x81, one(0xC0, src))) + word(off)
    check += prefix2(src, AUX_REG, True) + bytes((0x39, two(0xC0, src, AUX_REG)))
    zero, loaded = mov_imm32(False, dst, 0), load(insn.size, dst, src, 0)
    out = check + bytes((JAE, len(zero) + 2)) + zero + bytes((0xEB, len(loaded))) + loaded
    if off and src != dst:
        out += prefix1(src, True) + bytes((0x81, one(0xE8, src))) + word(off)
    return out


class Pass:
    """One translation of a function, with the lengths that the pass before has found."""

    def __init__(self, function: Function, ends: Sequence[int], cleanup: int, padding: bool) -> None:
        self.function = function
        self.ends = list(ends)  # of each instruction's code; of the prologue first
        self.cleanup = cleanup  # where the program returns
        self.padding = padding
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
        bounds = b"\x89\xd2\x39\x56" + bytes((MAX_ENTRIES_AT,))
        counting = self.count_tail_call(0)
        target = b"\x48\x8b\x8c\xd6" + word(POINTERS_AT) + b"\x48\x85\xc9"
        leap = self.unwind() + b"\x48\x8b\x49" + bytes((BPF_FUNC_AT,)) + b"\x48\x83\xc1" + bytes((TAIL_CALL_OFFSET,))
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


BPF_NOSPEC = 0xC0


def is_tail_call(insn: Insn) -> bool:
    return insn.cls == isa.BPF_JMP and insn.op == isa.BPF_TAIL_CALL


def compile_function(function: Function) -> Code:
    """bpf_int_jit_compile(): passes until the length stays."""
    count = len(function.insns)
    ends = [ROOM * (number + 1) for number in range(count + 1)]
    cleanup, length, text = ends[-1], 0, b""
    for number in range(MAX_PASSES + 1):
        step = Pass(function, ends, cleanup, number >= 15)
        text = step.run()
        ends, cleanup = step.ends, step.cleanup
        if len(text) == length:
            break
        length = len(text)
    return Code(text, (*ends,))
