"""Classic BPF: instructions, the check and the machine that seccomp's and sockets' filters share.  net/core/filter.c.

A program reads through `load`, the only thing its two users have of their own: seccomp's reads struct seccomp_data
(seccomp_filter.py), a socket's reads a packet (simkernel/net/core/filter.py).
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from arch.abi.errno import EINVAL
from arch.abi.limits import U32_MAX
from arch.errors import KernelError
from arch.records import dataclass

# include/uapi/linux/bpf_common.h
BPF_LD, BPF_LDX, BPF_ST, BPF_STX, BPF_ALU, BPF_JMP, BPF_RET, BPF_MISC = range(8)
LD_W_LEN, LDX_W_LEN, LD_IMM, LDX_IMM, LD_MEM, LDX_MEM = 0x80, 0x81, 0x00, 0x01, 0x60, 0x61
LDX_B_MSH = 0xB1  # four times the low half of a byte: the length of an IP header
ABS, IND = 0x20, 0x40
LOADS = {size << 3 | way: (4, 2, 1)[size] for size in (0, 1, 2) for way in (ABS, IND)}  # code -> bytes
RET_K, RET_A, TAX, TXA, JA, ST, STX = 0x06, 0x16, 0x07, 0x87, 0x05, 0x02, 0x03
ALU: dict[int, Callable[[int, int], int]] = {
    0x00: lambda a, b: a + b, 0x10: lambda a, b: a - b, 0x20: lambda a, b: a * b, 0x30: lambda a, b: a // b,
    0x40: lambda a, b: a | b, 0x50: lambda a, b: a & b, 0x60: lambda a, b: a << (b & 31),
    0x70: lambda a, b: a >> (b & 31), 0x80: lambda a, b: -a, 0x90: lambda a, b: a % b, 0xA0: lambda a, b: a ^ b,
}  # fmt: skip
JUMPS: dict[int, Callable[[int, int], bool]] = {
    0x10: lambda a, b: a == b, 0x20: lambda a, b: a > b, 0x30: lambda a, b: a >= b, 0x40: lambda a, b: bool(a & b),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Insn:
    """struct sock_filter."""

    code: int
    jt: int
    jf: int
    k: int


# (code, k, A, X) -> what is there, or None: the program ends with 0.
Load = Callable[[int, int, int, int], "int | None"]


def run(insns: list[Insn], length: int, load: Load) -> int:
    """What a checked program says of `length` bytes: ___bpf_prog_run() over what bpf_convert_filter() makes of it."""
    a = x = pc = 0
    memory = [0] * 16
    while True:
        insn = insns[pc]
        code, k = insn.code, insn.k
        pc += 1
        kind = code & 7
        if kind == BPF_JMP:
            pc += k if code == JA else insn.jt if JUMPS[code & 0xF0](a, x if code & 8 else k) else insn.jf
        elif kind == BPF_RET:
            return a if code == RET_A else k
        elif code in LOADS or code == LDX_B_MSH:
            found = load(code, k, a, x)
            if found is None:
                return 0
            if code == LDX_B_MSH:
                x = (found & 15) << 2
            else:
                a = found
        elif kind == BPF_ALU:
            operand = x if code & 8 else k
            if code & 0xF0 in (0x30, 0x90) and not operand:
                return 0
            a = ALU[code & 0xF0](a, operand) & U32_MAX
        elif code in (LD_IMM, LD_MEM, LD_W_LEN):
            a = length if code == LD_W_LEN else memory[k] if code == LD_MEM else k
        elif code in (LDX_IMM, LDX_MEM, LDX_W_LEN):
            x = length if code == LDX_W_LEN else memory[k] if code == LDX_MEM else k
        elif code == TAX:
            x = a
        elif code == TXA:
            a = x
        else:
            memory[k] = a if code == ST else x


def known_arithmetic(insn: Insn) -> bool:
    """The rows of ALU and JUMPS, with operands that bpf_check_classic() lets through."""
    code, k = insn.code, insn.k
    if code & 7 == BPF_ALU:
        op = code & 0xF0
        refused = not code & 8 and ((op in (0x60, 0x70) and k >= 32) or (op in (0x30, 0x90) and not k))
        return op in ALU and not code & ~0xFF and (op != 0x80 or not code & 8) and not refused
    return code & 7 == BPF_JMP and code & 0xF0 in JUMPS and not code & ~0xFD


def read_program(raw: bytes, order: str) -> list[Insn]:
    """struct sock_filter[]."""
    return [Insn(*fields) for fields in struct.iter_unpack(("<" if order == "little" else ">") + "HBBI", raw)]


def check_classic(insns: list[Insn], known: Callable[[Insn], bool]) -> None:
    """bpf_check_classic() and check_load_and_stores().  EINVAL."""
    count = len(insns)
    written: list[int] = [0xFFFF] * (count + 1)  # slots of memory that every way to here has written
    valid = 0
    for pc, insn in enumerate(insns):
        valid &= written[pc]
        if not known(insn):
            raise KernelError(EINVAL)
        if insn.code in (ST, STX):
            valid |= 1 << insn.k
        elif insn.code in (LD_MEM, LDX_MEM) and not valid >> insn.k & 1:
            raise KernelError(EINVAL)
        elif insn.code & 7 == BPF_JMP:
            steps = (insn.k,) if insn.code == JA else (insn.jt, insn.jf)
            if any(step >= count - pc - 1 for step in steps):
                raise KernelError(EINVAL)
            for step in steps:
                written[pc + 1 + step] &= valid
            valid = 0xFFFF
    if insns[-1].code not in (RET_K, RET_A):
        raise KernelError(EINVAL)
