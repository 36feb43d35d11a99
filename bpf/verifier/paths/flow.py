"""What is known of a program before any path is walked: constants in registers, branches that never run, registers that
will be read.  Since 6.18 and 7.1; kernel/bpf/const_fold.c, liveness.c and cfg.c of Linux 7.2.

Each analysis is a small data flow over the graph of instructions, repeated until nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from arch.abi.limits import U32_MAX, U64_MAX
from bpf.helpers.rows import FuncProto
from bpf.isa.insn import (
    BPF_ABS,
    BPF_ADD,
    BPF_ALU,
    BPF_ALU64,
    BPF_AND,
    BPF_ATOMIC,
    BPF_CALL,
    BPF_CMPXCHG,
    BPF_END,
    BPF_EXIT,
    BPF_FETCH,
    BPF_IMM,
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
    BPF_LOAD_ACQ,
    BPF_MEM,
    BPF_MOV,
    BPF_PSEUDO_FUNC,
    BPF_PSEUDO_KFUNC_CALL,
    BPF_PSEUDO_MAP_FD,
    BPF_PSEUDO_MAP_IDX,
    BPF_PSEUDO_MAP_IDX_VALUE,
    BPF_PSEUDO_MAP_VALUE,
    BPF_REG_0,
    BPF_ST,
    BPF_STORE_REL,
    BPF_STX,
    BPF_SUB,
    BPF_X,
    MAX_BPF_REG,
    SIZE_BYTES,
    Insn,
)
from bpf.verifier.access.map_access import map_is_rdonly
from bpf.verifier.env import Env
from bpf.verifier.protos.choose import get_func_proto

ALL_REGS: Final = 0xFFFF
_CALLER_SAVED: Final = 0x3F
_CALL: Final = BPF_JMP | BPF_CALL
_NO_EDGE: Final = (BPF_CALL, BPF_EXIT)


def helper_proto(env: Env, insn: Insn) -> FuncProto | None:
    """Of the helper that the instruction calls, if programs of this type may."""
    return get_func_proto(insn.imm, env) if insn.code == _CALL and insn.src_reg == 0 else None


def successors(insn: Insn, idx: int) -> tuple[int, ...]:
    """The instructions that may run next: bpf_insn_successors()."""
    if insn.cls not in (BPF_JMP, BPF_JMP32) or insn.op == BPF_CALL:
        return (idx + (2 if insn.code == BPF_LD_IMM64 else 1),)
    if insn.op == BPF_EXIT:
        return ()
    target = idx + 1 + (insn.imm if insn.code == BPF_JMP32 | BPF_JA else insn.off)
    return (target,) if insn.op == BPF_JA else (idx + 1, target)


def all_successors(insns: list[Insn]) -> list[tuple[int, ...]]:
    """Of each instruction: the analyses ask again and again."""
    return [successors(insn, idx) for idx, insn in enumerate(insns)]


def postorder(following: list[tuple[int, ...]], start: int) -> list[int]:
    """The instructions of one function that can be reached, each behind what was met first from it: bpf_compute_postorder()."""
    order: list[int] = []
    seen, explored, stack = {start}, set(), [start]
    while stack:
        here = stack[-1]
        if here in explored:
            order.append(here)
            stack.pop()
            continue
        explored.add(here)
        for there in following[here]:
            if there not in seen:
                stack.append(there)
                seen.add(there)
    return order


# ---- constants ----


class Known(NamedTuple):
    """What is in a register: a "number", a "map", a place in a map's "value", a "function"; or "unknown"."""

    kind: str
    number: int = 0
    map_index: int = 0


UNKNOWN: Final = Known("unknown")
Registers = list[Known]  # of one instruction; none where no path came


def _constants_after(env: Env, idx: int, regs: Registers) -> Registers:
    insn = env.insns[idx]
    class_ = insn.cls
    out = regs[:]
    if class_ in (BPF_ALU, BPF_ALU64):
        out[insn.dst_reg] = _alu_result(insn, regs[insn.dst_reg], regs[insn.src_reg])
    elif insn.code == BPF_LD_IMM64:
        out[insn.dst_reg] = _loaded(env, insn, idx)
    elif insn.code == _CALL or (class_ == BPF_LD and insn.mode in (BPF_ABS, BPF_IND)):
        out[:6] = [UNKNOWN] * 6
    elif class_ == BPF_LDX:
        out[insn.dst_reg] = _read_only_value(env, insn, regs[insn.src_reg])
    elif class_ == BPF_STX and insn.mode == BPF_ATOMIC and insn.imm & BPF_FETCH:
        out[BPF_REG_0 if insn.imm == BPF_CMPXCHG else insn.src_reg] = UNKNOWN
    return out


def _alu_result(insn: Insn, dst: Known, src: Known) -> Known:
    op, by_number = insn.op, insn.src_kind == BPF_K
    imm = insn.imm & U64_MAX
    found = UNKNOWN
    if op == BPF_MOV:
        found = Known("number", imm) if by_number else UNKNOWN if insn.off else src
    elif op in (BPF_ADD, BPF_SUB) and by_number and dst.kind in ("number", "value"):
        found = dst._replace(number=(dst.number + (insn.imm if op == BPF_ADD else -insn.imm)) & U64_MAX)
    elif op == BPF_AND:
        other = Known("number", imm) if by_number else src
        zero = Known("number", 0)
        if zero in (dst, other):
            found = zero
        elif dst.kind == other.kind == "number":
            found = Known("number", dst.number & other.number)
    if insn.cls == BPF_ALU:
        return Known("number", found.number & U32_MAX) if found.kind == "number" else UNKNOWN
    return found


def _loaded(env: Env, insn: Insn, idx: int) -> Known:
    aux, kind = env.aux[idx], insn.src_reg
    if kind == BPF_PSEUDO_FUNC:
        subprog = env.find_subprog(idx + insn.imm + 1)
        return Known("function", subprog) if subprog >= 0 else UNKNOWN
    if kind in (BPF_PSEUDO_MAP_VALUE, BPF_PSEUDO_MAP_IDX_VALUE):
        return Known("value", aux.map_off, aux.map_index)
    if kind in (BPF_PSEUDO_MAP_FD, BPF_PSEUDO_MAP_IDX):
        return Known("map", 0, aux.map_index)
    if kind == 0:
        return Known("number", (env.insns[idx + 1].imm << 32 | insn.imm & U32_MAX) & U64_MAX)
    return UNKNOWN


def _read_only_value(env: Env, insn: Insn, base: Known) -> Known:
    """A load from a map that nobody changes any more."""
    if base.kind != "value" or insn.mode != BPF_MEM:
        return UNKNOWN
    m, at, size = env.used_maps[base.map_index], base.number + insn.off, SIZE_BYTES[insn.size]
    if not map_is_rdonly(m) or m.value_read is None or at < 0 or at + size > m.value_size:
        return UNKNOWN
    return Known("number", m.value_read(at, size))


def _join(old: Registers, new: Registers) -> bool:
    changed = False
    for r, (a, b) in enumerate(zip(old, new)):
        if a is not b and a is not UNKNOWN and a != b:
            old[r] = UNKNOWN
            changed = True
    return changed


def constants(env: Env, following: list[tuple[int, ...]], orders: list[list[int]]) -> list[Registers]:
    """For each instruction what its registers are on every path to it: bpf_compute_const_regs().

    `orders`: postorder() of each function.
    """
    insns = env.insns
    before: list[Registers] = [[] for _ in insns]
    order: list[int] = []
    news = bytearray(len(insns))  # what came to an instruction has changed since it was looked at
    for subprog, reached in zip(env.subprogs, orders):
        before[subprog.start] = [UNKNOWN] * MAX_BPF_REG
        news[subprog.start] = True
        order += reversed(reached)
    while any(news):
        for idx in order:
            if not news[idx]:
                continue
            news[idx] = False
            after = _constants_after(env, idx, before[idx])
            for there in following[idx]:
                if not before[there]:
                    before[there] = after if there == following[idx][-1] else after[:]
                    news[there] = True
                elif _join(before[there], after):
                    news[there] = True
    return before


# ---- branches that never run ----


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


_HOLDS: Final[dict[int, Callable[[int, int], bool]]] = {
    BPF_JEQ: lambda a, b: a == b,
    BPF_JNE: lambda a, b: a != b,
    BPF_JGT: lambda a, b: a > b,
    BPF_JGE: lambda a, b: a >= b,
    BPF_JLT: lambda a, b: a < b,
    BPF_JLE: lambda a, b: a <= b,
    BPF_JSGT: lambda a, b: _signed(a) > _signed(b),
    BPF_JSGE: lambda a, b: _signed(a) >= _signed(b),
    BPF_JSLT: lambda a, b: _signed(a) < _signed(b),
    BPF_JSLE: lambda a, b: _signed(a) <= _signed(b),
    BPF_JSET: lambda a, b: bool(a & b),
}


def small_number(known: Known) -> int | None:
    """A constant of at most 32 bits: the others are not kept."""
    return known.number if known.kind == "number" and known.number <= U32_MAX else None


def prune_dead_branches(env: Env, before: list[Registers]) -> bool:
    """Conditions that always come out the same become jumps: bpf_prune_dead_branches().  Whether there was one."""
    pruned = False
    for idx, insn in enumerate(env.insns):
        if insn.cls not in (BPF_JMP, BPF_JMP32) or insn.op not in _HOLDS:
            continue
        regs = before[idx]
        if not regs:
            continue
        a = small_number(regs[insn.dst_reg])
        b = insn.imm & U64_MAX if insn.src_kind == BPF_K else small_number(regs[insn.src_reg])
        if a is None or b is None:
            continue
        if insn.cls == BPF_JMP32:
            a, b = ((number & U32_MAX ^ 1 << 31) - (1 << 31) & U64_MAX for number in (a, b))
        taken = _HOLDS[insn.op](a, b)
        env.insns[idx] = Insn(BPF_JMP | BPF_JA, 0, 0, insn.off if taken else 0, 0)
        pruned = True
    return pruned


# ---- registers that will be read ----


def _used_and_written(env: Env, insn: Insn) -> tuple[int, int]:
    """Which registers an instruction reads, and which it writes, as bits."""
    class_, dst, src = insn.cls, 1 << insn.dst_reg, 1 << insn.src_reg
    from_reg = insn.src_kind == BPF_X
    if class_ == BPF_LD:
        return (0, dst) if insn.mode == BPF_IMM else (ALL_REGS, 0)
    if class_ == BPF_LDX:
        return src, dst
    if class_ == BPF_ST:
        return dst, 0
    if class_ == BPF_STX:
        return _used_by_store(insn, dst, src)
    if class_ in (BPF_ALU, BPF_ALU64):
        if insn.op == BPF_MOV:
            return (src if from_reg else 0), dst
        return (dst | src if from_reg and insn.op != BPF_END else dst), dst
    if insn.op == BPF_JA:
        return (dst if from_reg else 0), 0
    if insn.op == BPF_JCOND:
        return 0, 0
    if insn.op == BPF_EXIT:
        return 1, 0
    if insn.op == BPF_CALL:
        return _used_by_call(env, insn), _CALLER_SAVED
    return (dst | src if from_reg else dst), 0


def _used_by_store(insn: Insn, dst: int, src: int) -> tuple[int, int]:
    if insn.mode == BPF_ATOMIC and insn.imm == BPF_LOAD_ACQ:
        return src, dst
    if insn.mode == BPF_ATOMIC and insn.imm == BPF_STORE_REL:
        return dst | src, 0
    if insn.mode == BPF_ATOMIC and insn.imm == BPF_CMPXCHG:
        return 1 | dst | src, 1
    return dst | src, src if insn.mode == BPF_ATOMIC and insn.imm & BPF_FETCH else 0


def _used_by_call(env: Env, insn: Insn) -> int:
    count = 5
    if insn.src_reg == 0:
        proto = helper_proto(env, insn)
        if proto is not None:
            count = next((i for i, arg in enumerate(proto.arg_types) if not arg), 5)
    elif insn.src_reg == BPF_PSEUDO_KFUNC_CALL:
        known = env.look_up_kfunc(insn)
        count = count if known is None else known.arguments
    return (1 << count + 1) - 2


def used_and_written(env: Env) -> list[tuple[int, int]]:
    """For each instruction the registers it reads and those it writes, as bits: compute_insn_live_regs()."""
    return [_used_and_written(env, insn) for insn in env.insns]


def live_registers(
    following: list[tuple[int, ...]], orders: list[list[int]], effects: list[tuple[int, int]]
) -> list[int]:
    """For each instruction the registers that may be read from there on: bpf_compute_live_registers()."""
    live = [0] * len(following)
    order = [idx for one in orders for idx in one]
    changed = True
    while changed:
        changed = False
        for idx in order:
            used, written = effects[idx]
            after = 0
            for there in following[idx]:
                after |= live[there]
            now = after & ~written | used
            if now != live[idx]:
                live[idx] = now
                changed = True
    return live
