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
    BPF_MEMSX,
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
from bpf.verifier.domain.sign_extend import signed
from bpf.verifier.env import Env
from bpf.verifier.protos.choose import get_func_proto

ALL_REGS: Final = 0xFFFF
_CALLER_SAVED: Final = 0x3F
_CALL: Final = BPF_JMP | BPF_CALL
_JUMPS: Final = (BPF_JMP, BPF_JMP32)


def helper_proto(env: Env, insn: Insn) -> FuncProto | None:
    """Of the helper that the instruction calls, if programs of this type may."""
    return get_func_proto(insn.imm, env) if insn.code == _CALL and insn.src_reg == 0 else None


def successors(insn: Insn, idx: int) -> tuple[int, ...]:
    """The instructions that may run next: bpf_insn_successors()."""
    if insn.cls not in _JUMPS or insn.op == BPF_CALL:
        return (idx + (2 if insn.code == BPF_LD_IMM64 else 1),)
    if insn.op == BPF_EXIT:
        return ()
    target = idx + 1 + (insn.imm if insn.code == BPF_JMP32 | BPF_JA else insn.off)
    return (target,) if insn.op == BPF_JA else (idx + 1, target)


def postorder(following: list[tuple[int, ...]], start: int, found: bytearray) -> list[int]:
    """The instructions of one function that can be reached, each behind what was met first from it: bpf_compute_postorder().

    `found` has of each instruction 1 once it was met, 2 once what follows it was.
    """
    order: list[int] = []
    stack = [start]
    found[start] = 1
    while stack:
        here = stack[-1]
        if found[here] == 2:
            order.append(here)
            stack.pop()
            continue
        found[here] = 2
        for there in following[here]:
            if not found[there]:
                stack.append(there)
                found[there] = 1
    return order


class Graph:
    """What follows each instruction, and the instructions of each function, each behind what is reached from it."""

    def __init__(self, env: Env) -> None:
        self.following = [
            successors(insn, idx) if insn.cls in _JUMPS or insn.code == BPF_LD_IMM64 else (idx + 1,)
            for idx, insn in enumerate(env.insns)
        ]
        for idx, jumps in [(idx, aux.jumps) for idx, aux in enumerate(env.aux) if aux.jumps is not None]:
            self.following[idx] = jumps
        found = bytearray(len(env.insns))
        self.orders = [postorder(self.following, subprog.start, found) for subprog in env.subprogs[:-1]]
        # without a way back one look at each instruction, in such an order, tells all
        self.comes_back = any([there <= here for here, after in enumerate(self.following) for there in after])


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
    elif class_ == BPF_STX and insn.mode == BPF_ATOMIC and insn.imm == BPF_LOAD_ACQ:
        out[insn.dst_reg] = UNKNOWN
    elif class_ == BPF_STX and insn.mode == BPF_ATOMIC and insn.imm & BPF_FETCH and insn.imm != BPF_STORE_REL:
        out[BPF_REG_0 if insn.imm == BPF_CMPXCHG else insn.src_reg] = UNKNOWN
    return out


def _extended(known: Known, bits: int) -> Known:
    """The low bits, sign-extended."""
    if known.kind != "number" or bits not in (8, 16, 32):
        return UNKNOWN
    return Known("number", signed(known.number, bits) & U64_MAX)


def _alu_result(insn: Insn, dst: Known, src: Known) -> Known:
    op, by_number = insn.op, insn.src_kind == BPF_K
    imm = insn.imm & U64_MAX
    found = UNKNOWN
    if op == BPF_MOV:
        found = Known("number", imm) if by_number else _extended(src, insn.off) if insn.off else src
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
    if base.kind != "value":
        return UNKNOWN
    m, at, size = env.used_maps[base.map_index], base.number + insn.off, SIZE_BYTES[insn.size]
    if not map_is_rdonly(m) or m.value_read is None or m.jumps is not None or at < 0 or at + size > m.value_size:
        return UNKNOWN
    read = Known("number", m.value_read(at, size))
    return _extended(read, 8 * size) if insn.mode == BPF_MEMSX else read


def _join(old: Registers, new: Registers) -> bool:
    changed = False
    for r, (a, b) in enumerate(zip(old, new)):
        if a is not b and a is not UNKNOWN and a != b:
            old[r] = UNKNOWN
            changed = True
    return changed


class Constants:
    """For each instruction what its registers are on every path to it; found out when somebody asks, which is rare."""

    def __init__(self, env: Env, graph: Graph) -> None:
        self._env, self._graph = env, graph
        self._found: list[Registers] | None = None

    def before(self, idx: int) -> Registers:
        """Of one instruction; empty where no path comes."""
        if self._found is None:
            self._found = _constants(self._env, self._graph.following, self._graph.orders)
        return self._found[idx]


def _constants(env: Env, following: list[tuple[int, ...]], orders: list[list[int]]) -> list[Registers]:
    """bpf_compute_const_regs(); `orders`: postorder() of each function."""
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


_HOLDS: Final[dict[int, Callable[[int, int], bool]]] = {
    BPF_JEQ: lambda a, b: a == b,
    BPF_JNE: lambda a, b: a != b,
    BPF_JGT: lambda a, b: a > b,
    BPF_JGE: lambda a, b: a >= b,
    BPF_JLT: lambda a, b: a < b,
    BPF_JLE: lambda a, b: a <= b,
    BPF_JSGT: lambda a, b: signed(a, 64) > signed(b, 64),
    BPF_JSGE: lambda a, b: signed(a, 64) >= signed(b, 64),
    BPF_JSLT: lambda a, b: signed(a, 64) < signed(b, 64),
    BPF_JSLE: lambda a, b: signed(a, 64) <= signed(b, 64),
    BPF_JSET: lambda a, b: bool(a & b),
}


def small_number(known: Known) -> int | None:
    """A constant of at most 32 bits: the others are not kept."""
    return known.number if known.kind == "number" and known.number <= U32_MAX else None


def _may_be_known(insns: list[Insn]) -> int:
    """The registers that can be constants anywhere, as bits: others need no look at the paths."""
    found, moves = 0, []
    for insn in insns:
        if insn.cls in (BPF_ALU, BPF_ALU64):
            if insn.src_kind == BPF_K:
                if insn.op == BPF_MOV or (insn.op == BPF_AND and not insn.imm):
                    found |= 1 << insn.dst_reg
            elif insn.op in (BPF_MOV, BPF_AND):
                moves.append(insn)
        elif insn.code == BPF_LD_IMM64:
            found |= 1 << insn.dst_reg
        elif insn.cls == BPF_LDX:
            moves.append(insn)
    before = -1
    while before != found:
        before = found
        for insn in moves:
            found |= (found >> insn.src_reg & 1) << insn.dst_reg
    return found


def prune_dead_branches(env: Env, known: Constants) -> bool:
    """Conditions that always come out the same become jumps: bpf_prune_dead_branches().  Whether there was one."""
    pruned = False
    may_be = _may_be_known(env.insns)
    for idx, insn in enumerate(env.insns):
        if insn.cls not in _JUMPS or insn.op not in _HOLDS:
            continue
        if not may_be >> insn.dst_reg & 1 or (insn.src_kind != BPF_K and not may_be >> insn.src_reg & 1):
            continue
        regs = known.before(idx)
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


class _Role(NamedTuple):
    """What an opcode does with registers: those it always reads, as bits, then 1 for its operands read and written."""

    always: int = 0
    reads_dst: int = 0
    reads_src: int = 0
    writes_dst: int = 0


def _role(insn: Insn) -> _Role | None:
    """None: more than the opcode tells."""
    class_, op, from_reg = insn.cls, insn.op, int(insn.src_kind == BPF_X)
    if class_ == BPF_LD:
        return _Role(writes_dst=1) if insn.mode == BPF_IMM else _Role(ALL_REGS)
    if class_ == BPF_LDX:
        return _Role(reads_src=1, writes_dst=1)
    if class_ == BPF_ST:
        return _Role(reads_dst=1)
    if class_ == BPF_STX:
        return None if insn.mode == BPF_ATOMIC else _Role(reads_dst=1, reads_src=1)
    if class_ in (BPF_ALU, BPF_ALU64):
        if op == BPF_MOV:
            return _Role(reads_src=from_reg, writes_dst=1)
        return _Role(reads_dst=1, reads_src=from_reg and int(op != BPF_END), writes_dst=1)
    if op in (BPF_JA, BPF_JCOND):
        return _Role(reads_dst=from_reg and int(op == BPF_JA))
    if op == BPF_EXIT:
        return _Role(1)
    return None if op == BPF_CALL else _Role(reads_dst=1, reads_src=from_reg)


_ROLES: Final = tuple(map(_role, map(Insn, range(256))))


def _used_by_atomic(insn: Insn) -> tuple[int, int]:
    dst, src = 1 << insn.dst_reg, 1 << insn.src_reg
    if insn.imm == BPF_LOAD_ACQ:
        return src, dst
    if insn.imm == BPF_STORE_REL:
        return dst | src, 0
    if insn.imm == BPF_CMPXCHG:
        return 1 | dst | src, 1
    return dst | src, src if insn.imm & BPF_FETCH else 0


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
    effects = []
    for insn in env.insns:
        role = _ROLES[insn.code]
        if role is not None:
            always, reads_dst, reads_src, writes_dst = role
            dst = insn.dst_reg
            effects.append((always | reads_dst << dst | reads_src << insn.src_reg, writes_dst << dst))
        elif insn.cls == BPF_STX:
            effects.append(_used_by_atomic(insn))
        else:
            effects.append((_used_by_call(env, insn), _CALLER_SAVED))
    return effects


def live_registers(graph: Graph, effects: list[tuple[int, int]]) -> list[int]:
    """For each instruction the registers that may be read from there on: bpf_compute_live_registers()."""
    following = graph.following
    live = [0] * len(following)
    order = [idx for one in graph.orders for idx in one]
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
                changed = graph.comes_back
    return live
