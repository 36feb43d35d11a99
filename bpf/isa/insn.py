"""One eBPF instruction, its bytes, and the numbers it is made of.

include/uapi/linux/bpf.h, bpf_common.h and include/linux/filter.h.  An instruction is 8 bytes: opcode, two register
nibbles, a signed 16-bit offset, a signed 32-bit immediate.  `ld_imm64` stays what it is in memory: two slots, the
second with opcode 0.  On little-endian machines the destination register is the low nibble, on big-endian
machines the high one, because C bit fields are laid out that way there.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final

# Instruction classes: the low three bits of the opcode.
BPF_LD, BPF_LDX, BPF_ST, BPF_STX, BPF_ALU, BPF_JMP, BPF_JMP32, BPF_ALU64 = range(8)
BPF_RET = 0x06  # classic BPF; invalid in eBPF before JMP32 took the number (5.1)

# Sizes of loads and stores.
BPF_W, BPF_H, BPF_B, BPF_DW = 0x00, 0x08, 0x10, 0x18

# Modes of loads and stores.
BPF_IMM, BPF_ABS, BPF_IND, BPF_MEM = 0x00, 0x20, 0x40, 0x60
BPF_LEN, BPF_MSH = 0x80, 0xA0  # classic BPF only
BPF_ATOMIC = BPF_XADD = 0xC0
BPF_MEMSX = 0x80
# kernel-internal: accesses that may fault, and then give 0; of arenas the address is the low half of a register
BPF_PROBE_MEM, BPF_PROBE_MEMSX = 0x20, 0x40
BPF_PROBE_MEM32, BPF_PROBE_MEM32SX, BPF_PROBE_ATOMIC = 0xA0, 0xC0, 0xE0

# ALU and ALU64 operations.
BPF_ADD, BPF_SUB, BPF_MUL, BPF_DIV = 0x00, 0x10, 0x20, 0x30
BPF_OR, BPF_AND, BPF_LSH, BPF_RSH = 0x40, 0x50, 0x60, 0x70
BPF_NEG, BPF_MOD, BPF_XOR, BPF_MOV = 0x80, 0x90, 0xA0, 0xB0
BPF_ARSH, BPF_END = 0xC0, 0xD0
BPF_TO_LE, BPF_TO_BE = 0x00, 0x08

# Jump operations.
BPF_JA, BPF_JEQ, BPF_JGT, BPF_JGE = 0x00, 0x10, 0x20, 0x30
BPF_JSET, BPF_JNE, BPF_JSGT, BPF_JSGE = 0x40, 0x50, 0x60, 0x70
BPF_CALL, BPF_EXIT, BPF_JLT, BPF_JLE = 0x80, 0x90, 0xA0, 0xB0
BPF_JSLT, BPF_JSLE = 0xC0, 0xD0
BPF_JCOND = 0xE0
BPF_TAIL_CALL = 0xF0  # kernel-internal: the verifier turns a call of helper 12 into it

# Source of the second operand: immediate or register.
BPF_K, BPF_X = 0x00, 0x08

BPF_GOTOX = BPF_JMP | BPF_JA | BPF_X  # a jump to where a register leads

# Atomic operations, in the immediate.
BPF_FETCH = 0x01
BPF_XCHG = 0xE0 | BPF_FETCH
BPF_CMPXCHG = 0xF0 | BPF_FETCH
BPF_LOAD_ACQ = 0x100
BPF_STORE_REL = 0x110

# What else the offset of an ALU instruction says: signed division and remainder; kinds of 64-bit moves.
BPF_SIGNED = 1
BPF_ADDR_SPACE_CAST = 1  # between the arena's addresses of user space and those of the kernel
BPF_ADDR_PERCPU = -1  # kernel-internal: this CPU's copy of a per-CPU address

BPF_MAY_GOTO = 0  # source register of BPF_JCOND

# Registers.
BPF_REG_0, BPF_REG_1, BPF_REG_2, BPF_REG_3, BPF_REG_4, BPF_REG_5 = range(6)
BPF_REG_6, BPF_REG_7, BPF_REG_8, BPF_REG_9, BPF_REG_10 = range(6, 11)
BPF_REG_FP = BPF_REG_10
BPF_REG_AX = 11  # kernel-internal: used by rewritten programs
MAX_BPF_REG = 11

# src_reg of ld_imm64, and what its immediate then is.
BPF_PSEUDO_MAP_FD = 1
BPF_PSEUDO_MAP_VALUE = 2
BPF_PSEUDO_BTF_ID = 3
BPF_PSEUDO_FUNC = 4
BPF_PSEUDO_MAP_IDX = 5
BPF_PSEUDO_MAP_IDX_VALUE = 6

# src_reg of a call.
BPF_PSEUDO_CALL = 1
BPF_PSEUDO_KFUNC_CALL = 2

BPF_LD_IMM64 = BPF_LD | BPF_DW | BPF_IMM  # opcode 0x18

_LAYOUT = {"little": struct.Struct("<BBhi"), "big": struct.Struct(">BBhi")}


# What an opcode says, by opcode: BPF_CLASS(), BPF_SIZE(), BPF_MODE(), BPF_OP() and BPF_SRC() of it.
_PARTS: Final = tuple((code & 0x07, code & 0x18, code & 0xE0, code & 0xF0, code & 0x08) for code in range(256))


class Insn:
    """One slot of a program; `off` and `imm` are signed.  A value: equal where the five fields are, never changed.

    The parts of the opcode are worked out once, because every pass asks for them: `cls` always means something,
    `size` and `mode` with loads and stores, `op` and `src_kind` (BPF_K or BPF_X) with arithmetic and jumps.
    """

    __slots__ = ("cls", "code", "dst_reg", "imm", "mode", "off", "op", "size", "src_kind", "src_reg")

    def __init__(self, code: int, dst_reg: int = 0, src_reg: int = 0, off: int = 0, imm: int = 0) -> None:
        self.code: Final = code
        self.dst_reg: Final = dst_reg
        self.src_reg: Final = src_reg
        self.off: Final = off
        self.imm: Final = imm
        parts = _PARTS[code]
        self.cls: Final = parts[0]  # BPF_LD ... BPF_ALU64
        self.size: Final = parts[1]  # BPF_W ... BPF_DW; SIZE_BYTES says how many bytes
        self.mode: Final = parts[2]  # BPF_IMM ... BPF_ATOMIC
        self.op: Final = parts[3]  # BPF_ADD ... or BPF_JA ...
        self.src_kind: Final = parts[4]  # BPF_K or BPF_X; of BPF_END: BPF_TO_LE or BPF_TO_BE

    def replace(
        self,
        *,
        code: int | None = None,
        dst_reg: int | None = None,
        src_reg: int | None = None,
        off: int | None = None,
        imm: int | None = None,
    ) -> Insn:
        """The same instruction with other fields."""
        return Insn(
            self.code if code is None else code,
            self.dst_reg if dst_reg is None else dst_reg,
            self.src_reg if src_reg is None else src_reg,
            self.off if off is None else off,
            self.imm if imm is None else imm,
        )

    def fields(self) -> tuple[int, int, int, int, int]:
        """(code, dst_reg, src_reg, off, imm)."""
        return self.code, self.dst_reg, self.src_reg, self.off, self.imm

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Insn) and self.fields() == other.fields()

    def __hash__(self) -> int:
        return hash(self.fields())

    def __repr__(self) -> str:
        return "Insn(code=0x{:02x}, dst_reg={}, src_reg={}, off={}, imm={})".format(*self.fields())


SIZE_BYTES: Final = {BPF_W: 4, BPF_H: 2, BPF_B: 1, BPF_DW: 8}


def signed32(value: int) -> int:
    """The low 32 bits of `value` as a signed number."""
    return ((value & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000


def signed16(value: int) -> int:
    """The low 16 bits of `value` as a signed number."""
    return ((value & 0xFFFF) ^ 0x8000) - 0x8000


def is_ld_imm64(insn: Insn) -> bool:
    """The first slot of the only instruction that has two."""
    return insn.code == BPF_LD_IMM64


def imm64(low: Insn, high: Insn) -> int:
    """The unsigned constant in the two slots of an ld_imm64."""
    return (low.imm & 0xFFFFFFFF) | (high.imm & 0xFFFFFFFF) << 32


def ld_imm64(dst: int, value: int, src: int = 0) -> list[Insn]:
    """The two slots of `dst = value ll`."""
    return [
        Insn(BPF_LD_IMM64, dst, src, 0, signed32(value)),
        Insn(0, 0, 0, 0, signed32(value >> 32)),
    ]


def decode(data: bytes, byteorder: str = "little") -> list[Insn]:
    """Instructions of a program image; ValueError unless it is whole instructions."""
    if len(data) % 8:
        raise ValueError(f"{len(data)} bytes are not whole instructions of 8 bytes")
    rows = _LAYOUT[byteorder].iter_unpack(data)
    if byteorder == "little":
        return [Insn(code, regs & 15, regs >> 4, off, imm) for code, regs, off, imm in rows]
    return [Insn(code, regs >> 4, regs & 15, off, imm) for code, regs, off, imm in rows]


def encode(insns: Iterable[Insn], byteorder: str = "little") -> bytes:
    """The program image of instructions: the inverse of `decode`."""
    pack = _LAYOUT[byteorder].pack
    if byteorder == "little":
        return b"".join(pack(i.code, i.dst_reg | i.src_reg << 4, i.off, i.imm) for i in insns)
    return b"".join(pack(i.code, i.dst_reg << 4 | i.src_reg, i.off, i.imm) for i in insns)
