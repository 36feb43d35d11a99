"""Which opcodes exist: public_insntable of kernel/bpf/core.c, BPF_INSN_MAP, as bpf_opcode_in_insntable() sees it."""

from __future__ import annotations

from functools import cache
from typing import Final

from arch.abi.version import KernelVersion
from bpf.isa.insn import (
    BPF_ABS,
    BPF_ADD,
    BPF_ALU,
    BPF_ALU64,
    BPF_AND,
    BPF_ARSH,
    BPF_ATOMIC,
    BPF_B,
    BPF_CALL,
    BPF_DIV,
    BPF_DW,
    BPF_END,
    BPF_EXIT,
    BPF_H,
    BPF_IND,
    BPF_JA,
    BPF_JCOND,
    BPF_JEQ,
    BPF_JGE,
    BPF_JGT,
    BPF_JLE,
    BPF_JLT,
    BPF_JMP,
    BPF_JMP32,
    BPF_JNE,
    BPF_JSET,
    BPF_JSGE,
    BPF_JSGT,
    BPF_JSLE,
    BPF_JSLT,
    BPF_K,
    BPF_LD,
    BPF_LD_IMM64,
    BPF_LDX,
    BPF_LSH,
    BPF_MEM,
    BPF_MEMSX,
    BPF_MOD,
    BPF_MOV,
    BPF_MUL,
    BPF_NEG,
    BPF_OR,
    BPF_RSH,
    BPF_ST,
    BPF_STX,
    BPF_SUB,
    BPF_TO_BE,
    BPF_TO_LE,
    BPF_W,
    BPF_X,
    BPF_XOR,
)

_ALU_OPS: Final = (
    BPF_ADD,
    BPF_SUB,
    BPF_AND,
    BPF_OR,
    BPF_LSH,
    BPF_RSH,
    BPF_XOR,
    BPF_MUL,
    BPF_MOV,
    BPF_ARSH,
    BPF_DIV,
    BPF_MOD,
)
_JUMPS: Final = (
    BPF_JEQ,
    BPF_JNE,
    BPF_JGT,
    BPF_JLT,
    BPF_JGE,
    BPF_JLE,
    BPF_JSGT,
    BPF_JSLT,
    BPF_JSGE,
    BPF_JSLE,
    BPF_JSET,
)
_SIZES: Final = (BPF_B, BPF_H, BPF_W, BPF_DW)

OPCODES: Final = frozenset(
    [class_ | op | src for class_ in (BPF_ALU, BPF_ALU64) for op in _ALU_OPS for src in (BPF_K, BPF_X)]
    + [BPF_ALU | BPF_NEG, BPF_ALU64 | BPF_NEG, BPF_ALU | BPF_END | BPF_TO_BE, BPF_ALU | BPF_END | BPF_TO_LE]
    + [class_ | op | src for class_ in (BPF_JMP, BPF_JMP32) for op in _JUMPS for src in (BPF_K, BPF_X)]
    + [BPF_JMP | BPF_CALL, BPF_JMP | BPF_EXIT, BPF_JMP | BPF_JA]
    + [class_ | BPF_MEM | size for class_ in (BPF_LDX, BPF_ST, BPF_STX) for size in _SIZES]
    + [BPF_STX | BPF_ATOMIC | size for size in (BPF_W, BPF_DW)]
    + [BPF_LD | mode | size for mode in (BPF_ABS, BPF_IND) for size in (BPF_B, BPF_H, BPF_W)]
    + [BPF_LD_IMM64]
)

# What versions added: (since, the kernel's change, opcodes).
MORE: Final[tuple[tuple[str, str, frozenset[int]], ...]] = (
    ("6.1", "4cd58e9af8b9", frozenset({BPF_JMP32 | BPF_JA})),  # of 6.6
    ("6.6", "1f9a1ea821ff", frozenset(BPF_LDX | BPF_MEMSX | size for size in (BPF_B, BPF_H, BPF_W))),
    ("6.6", "0845c3db7bf5", frozenset({BPF_ALU64 | BPF_END | BPF_TO_LE})),
    ("6.9", "011832b97b31", frozenset({BPF_JMP | BPF_JCOND})),
    ("6.15", "880442305a39", frozenset(BPF_STX | BPF_ATOMIC | size for size in (BPF_B, BPF_H))),
)


@cache
def opcodes(version: KernelVersion) -> frozenset[int]:
    """The opcodes of a version."""
    return OPCODES.union(*(added for since, _, added in MORE if version.at_least(since)))
