"""The bytes of one instruction on x86-64, as of 6.1: all but jumps and calls.  arch/x86/net/bpf_jit_comp.c."""

from __future__ import annotations

from bpf.isa import insn as isa
from bpf.isa.insn import BPF_REG_0, BPF_REG_3, BPF_REG_4, BPF_REG_AX, Insn

AUX_REG = BPF_REG_AX + 1  # r11, which no program sees
# reg2hex[]: the number of each register in an instruction, rax rdi rsi rdx rcx r8 rbx r13 r14 r15 rbp r10 r11
NUMBER = (0, 7, 6, 2, 1, 0, 3, 5, 6, 7, 5, 2, 3)
EXTENDED = frozenset((5, 7, 8, 9, BPF_REG_AX, AUX_REG))  # is_ereg(): r8 and up
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
JB, JAE, JNE = 0x72, 0x73, 0x75
KERNEL_FROM = 1 << 47  # TASK_SIZE_MAX + PAGE_SIZE: below, a load by a pointer of BTF gives 0


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
    check = bytes((mod1(0x48, AUX_REG), one(0xB8, AUX_REG))) + (KERNEL_FROM + abs(off)).to_bytes(8, "little")
    check += prefix2(src, AUX_REG, True) + bytes((0x39, two(0xC0, src, AUX_REG)))
    total = mov(True, AUX_REG, src) + prefix1(AUX_REG, True) + bytes((0x81, one(0xC0, AUX_REG))) + word(off)
    zero, loaded = mov_imm32(False, dst, 0), load(insn.size, dst, src, off)
    out = check + bytes((JB, len(total) + 2)) + total + bytes((JAE, len(zero) + 2))
    return out + zero + bytes((0xEB, len(loaded))) + loaded
