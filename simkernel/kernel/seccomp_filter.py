"""Filters of seccomp: classic BPF over struct seccomp_data.  kernel/seccomp.c.

A filter is checked once and turned into rows of plain Python values (classic_bpf.py); running one costs about a microsecond
per ten instructions.
"""

from __future__ import annotations

import struct

from simkernel.kernel.classic_bpf import (
    BPF_ALU,
    JA,
    LD_IMM,
    LD_MEM,
    LD_W_LEN,
    LDX_IMM,
    LDX_MEM,
    LDX_W_LEN,
    RET_A,
    RET_K,
    ST,
    STX,
    TAX,
    TXA,
    Insn,
    known_arithmetic,
    run,
)

DATA_SIZE = 64  # struct seccomp_data
LD_W_ABS = 0x20


class Filter:
    """struct seccomp_filter: one program, and the one that was there before it."""

    def __init__(self, insns: list[Insn], prev: Filter | None, log: bool, wait_killable: bool = False) -> None:
        self.insns, self.prev, self.log, self.wait_killable = insns, prev, log, wait_killable
        self.listener: object = None  # simkernel/fs/seccomp_notify.py: Listener
        self.total: int = len(insns) + (prev.total + 4 if prev is not None else 0)

    def run(self, data: bytes, order: str) -> int:
        """What this program says to one call."""
        words = struct.unpack(order + "16I", data)
        return run(self.insns, DATA_SIZE, lambda code, k, a, x: words[k >> 2])


def known_to_seccomp(insn: Insn) -> bool:
    """seccomp_check_filter() of one instruction."""
    code, k = insn.code, insn.k
    if code == LD_W_ABS:
        return k < DATA_SIZE and not k & 3
    if code in (LD_W_LEN, LDX_W_LEN, LD_IMM, LDX_IMM, RET_K, RET_A, TAX, TXA, JA):
        return True
    if code in (LD_MEM, LDX_MEM, ST, STX):
        return k < 16
    return known_arithmetic(insn) and (code & 7 != BPF_ALU or code & 0xF0 != 0x90)  # no remainders
