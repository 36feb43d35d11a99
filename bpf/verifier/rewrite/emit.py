"""Short names for the instructions that rewriting writes.  include/linux/filter.h."""

from __future__ import annotations

from bpf.isa.insn import (
    BPF_ADD,
    BPF_ALU,
    BPF_ALU64,
    BPF_CALL,
    BPF_JA,
    BPF_JMP,
    BPF_JMP32,
    BPF_K,
    BPF_LD_IMM64,
    BPF_LDX,
    BPF_MEM,
    BPF_MOV,
    BPF_ST,
    BPF_STX,
    BPF_X,
    Insn,
)

BPF_NOSPEC = 0xC0
SIZE_CODE = {1: 0x10, 2: 0x08, 4: 0x00, 8: 0x18}
SIZE_BYTES = {code: size for size, code in SIZE_CODE.items()}


def s32(value: int) -> int:
    """The low 32 bits as a signed number."""
    value &= 0xFFFFFFFF
    return value - (1 << 32) if value & 0x80000000 else value


def s16(value: int) -> int:
    """The low 16 bits as a signed number."""
    value &= 0xFFFF
    return value - (1 << 16) if value & 0x8000 else value


def ldx(size: int, dst: int, src: int, off: int) -> Insn:
    """dst = *(size *)(src + off)"""
    return Insn(BPF_LDX | BPF_MEM | SIZE_CODE[size], dst, src, off, 0)


def stx(size: int, dst: int, src: int, off: int) -> Insn:
    """*(size *)(dst + off) = src"""
    return Insn(BPF_STX | BPF_MEM | SIZE_CODE[size], dst, src, off, 0)


def st(size: int, dst: int, off: int, imm: int) -> Insn:
    """*(size *)(dst + off) = imm"""
    return Insn(BPF_ST | BPF_MEM | SIZE_CODE[size], dst, 0, off, imm)


def mov64(dst: int, src: int) -> Insn:
    """dst = src"""
    return Insn(BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0)


def mov64_imm(dst: int, imm: int) -> Insn:
    """dst = imm"""
    return Insn(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, s32(imm))


def mov32(dst: int, src: int) -> Insn:
    """The low half: dst = (u32) src"""
    return Insn(BPF_ALU | BPF_MOV | BPF_X, dst, src, 0, 0)


def mov32_imm(dst: int, imm: int) -> Insn:
    """dst = (u32) imm"""
    return Insn(BPF_ALU | BPF_MOV | BPF_K, dst, 0, 0, s32(imm))


def alu64(op: int, dst: int, src: int) -> Insn:
    """dst op= src"""
    return Insn(BPF_ALU64 | op | BPF_X, dst, src, 0, 0)


def alu64_imm(op: int, dst: int, imm: int) -> Insn:
    """dst op= imm"""
    return Insn(BPF_ALU64 | op | BPF_K, dst, 0, 0, s32(imm))


def alu32(op: int, dst: int, src: int) -> Insn:
    """The low half: dst op= src"""
    return Insn(BPF_ALU | op | BPF_X, dst, src, 0, 0)


def alu32_imm(op: int, dst: int, imm: int) -> Insn:
    """The low half: dst op= imm"""
    return Insn(BPF_ALU | op | BPF_K, dst, 0, 0, s32(imm))


def jmp_imm(op: int, dst: int, imm: int, off: int) -> Insn:
    """if dst op imm goto off"""
    return Insn(BPF_JMP | op | BPF_K, dst, 0, off, s32(imm))


def jmp(op: int, dst: int, src: int, off: int) -> Insn:
    """if dst op src goto off"""
    return Insn(BPF_JMP | op | BPF_X, dst, src, off, 0)


def jmp32_imm(op: int, dst: int, imm: int, off: int) -> Insn:
    """if (u32) dst op imm goto off"""
    return Insn(BPF_JMP32 | op | BPF_K, dst, 0, off, s32(imm))


def jmp32(op: int, dst: int, src: int, off: int) -> Insn:
    """if (u32) dst op (u32) src goto off"""
    return Insn(BPF_JMP32 | op | BPF_X, dst, src, off, 0)


def ja(off: int) -> Insn:
    """goto off"""
    return Insn(BPF_JMP | BPF_JA, 0, 0, off, 0)


def call(number: int) -> Insn:
    """r0 = function(r1 ... r5)"""
    return Insn(BPF_JMP | BPF_CALL, 0, 0, 0, number)


def ld_imm64(dst: int, value: int) -> list[Insn]:
    """dst = value, in two slots"""
    return [Insn(BPF_LD_IMM64, dst, 0, 0, s32(value)), Insn(0, 0, 0, 0, s32(value >> 32))]


def add_imm(dst: int, imm: int) -> Insn:
    """dst += imm"""
    return alu64_imm(BPF_ADD, dst, imm)


NOSPEC = Insn(BPF_ST | BPF_NOSPEC, 0, 0, 0, 0)
NOP = ja(0)
TRAP = ja(-1)
EXIT = Insn(0x95, 0, 0, 0, 0)
