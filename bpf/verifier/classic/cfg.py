"""Passes A and B of the classic verifier: map descriptors, then the control-flow graph.

kernel/bpf/verifier.c of 4.1: replace_map_fd_with_map_ptr() and check_cfg().
"""

from __future__ import annotations

from collections.abc import Callable

from arch.abi.errno import E2BIG, EFAULT, EINVAL
from arch.errors import KernelError
from bpf import uapi
from bpf.isa.insn import (
    BPF_CALL,
    BPF_EXIT,
    BPF_JA,
    BPF_JMP,
    BPF_LD_IMM64,
    BPF_LDX,
    BPF_MEM,
    BPF_PSEUDO_MAP_FD,
    BPF_X,
    Insn,
    signed32,
)
from bpf.verifier.api import BRANCH, DISCOVERED, EXPLORED, FALLTHROUGH, MapInfo

MAX_USED_MAPS = uapi.MAX_USED_MAPS

Reject = Callable[[int, str], Exception]


class Rejected(Exception):
    """The program is refused: errno and the last words of the log."""

    def __init__(self, errno: int, message: str = "") -> None:
        super().__init__(errno, message)
        self.errno = errno
        self.message = message


def resolve_maps(insns: list[Insn], resolve: Callable[[int], MapInfo] | None) -> list[MapInfo]:
    """Replace descriptors in ld_imm64 by the maps' kernel addresses; the distinct maps in order of appearance."""
    used: list[MapInfo] = []
    i = 0
    while i < len(insns):
        insn = insns[i]
        if insn.cls == BPF_LDX and (insn.mode != BPF_MEM or insn.imm):
            raise Rejected(EINVAL, "BPF_LDX uses reserved fields\n")
        if insn.code == BPF_LD_IMM64:
            if i + 1 == len(insns) or insns[i + 1].fields()[:4] != (0, 0, 0, 0):
                raise Rejected(EINVAL, "invalid bpf_ld_imm64 insn\n")
            if insn.src_reg:
                if insn.src_reg != BPF_PSEUDO_MAP_FD:
                    raise Rejected(EINVAL, "unrecognized bpf_ld_imm64 insn\n")
                _resolve_one(insns, i, resolve, used)
            i += 1
        i += 1
    return used


def _resolve_one(insns: list[Insn], i: int, resolve: Callable[[int], MapInfo] | None, used: list[MapInfo]) -> None:
    fd = insns[i].imm
    try:
        if resolve is None:
            raise KernelError(EINVAL, "no maps here")
        info = resolve(fd)
    except KernelError as error:
        raise Rejected(error.errno, f"fd {fd} is not pointing to valid bpf_map\n") from None
    insns[i] = insns[i].replace(imm=signed32(info.address))
    insns[i + 1] = insns[i + 1].replace(imm=signed32(info.address >> 32))
    if all(info.address != other.address for other in used):
        if len(used) >= MAX_USED_MAPS:
            raise Rejected(E2BIG)
        used.append(info)


class ControlFlow:
    """Depth-first search from the first instruction, fall-through edges first, with an explicit stack."""

    def __init__(self, insns: list[Insn]) -> None:
        self.insns = insns
        self.states = [0] * len(insns)
        self.stack: list[int] = []
        self.pruning_points: set[int] = set()

    def check(self) -> set[int]:
        """Where pruning is tried: targets of conditional jumps, and what follows an unconditional one."""
        self.states[0] = DISCOVERED
        self.stack.append(0)
        while self.stack:
            t = self.stack[-1]
            if not self._visit(t):
                self.states[t] = EXPLORED
                self.stack.pop()
        for i, state in enumerate(self.states):
            if state != EXPLORED:
                raise Rejected(EINVAL, f"unreachable insn {i}\n")
        return self.pruning_points

    def _visit(self, t: int) -> bool:
        """Follow the next edge out of t; False when none is left."""
        insn = self.insns[t]
        op = insn.op
        if insn.cls != BPF_JMP or op == BPF_CALL:
            return self._follow(t, t + 1, FALLTHROUGH)
        if op == BPF_EXIT:
            return False
        if op == BPF_JA:
            if insn.src_kind == BPF_X:
                raise Rejected(EINVAL)
            if self._follow(t, t + insn.off + 1, FALLTHROUGH):
                return True
            if t + 1 < len(self.insns):
                self.pruning_points.add(t + 1)
            return False
        return self._follow(t, t + 1, FALLTHROUGH) or self._follow(t, t + insn.off + 1, BRANCH)

    def _follow(self, t: int, w: int, edge: int) -> bool:
        """push_insn(): True if w is new and now on top of the stack."""
        if self.states[t] >= DISCOVERED | edge:
            return False
        if not 0 <= w < len(self.insns):
            raise Rejected(EINVAL, f"jump out of range from insn {t} to {w}\n")
        if edge == BRANCH:
            self.pruning_points.add(w)
        if self.states[w] == 0:
            self.states[t] = DISCOVERED | edge
            self.states[w] = DISCOVERED
            self.stack.append(w)
            return True
        if self.states[w] & 0xF0 == DISCOVERED:
            raise Rejected(EINVAL, f"back-edge from insn {t} to {w}\n")
        if self.states[w] != EXPLORED:
            raise Rejected(EFAULT, "insn state internal bug\n")
        self.states[t] = DISCOVERED | edge
        return False
