"""Calls that keep registers, since 6.12: compilers store what such a call might spoil, and it need not have.

A call of a helper or kernel function with few arguments may stand between stores of registers into the stack and loads
back. Where nothing else uses these slots, the stores and loads go away, and so does the stack they took.
mark_fastcall_patterns(), check_fastcall_stack_contract(), remove_fastcall_spills_fills() of kernel/bpf/verifier.c.
"""

from __future__ import annotations

from typing import Final

from bpf import uapi
from bpf.btf.codec import Kind
from bpf.isa.insn import (
    BPF_CALL,
    BPF_DW,
    BPF_EXIT,
    BPF_JA,
    BPF_JMP,
    BPF_JMP32,
    BPF_LDX,
    BPF_MEM,
    BPF_PSEUDO_KFUNC_CALL,
    BPF_REG_FP,
    BPF_STX,
    Insn,
)
from bpf.verifier.domain.state import FuncState
from bpf.verifier.domain.types import ARG_DONTCARE, RET_VOID
from bpf.verifier.env import Env, SubprogInfo
from bpf.verifier.protos.choose import get_func_proto

_R0_TO_R5: Final = 0x3F  # r0 to r5, as bits
_BELOW_ALL: Final = -(1 << 15)  # below every offset
_STORE: Final = BPF_STX | BPF_MEM | BPF_DW
_LOAD: Final = BPF_LDX | BPF_MEM | BPF_DW
_INLINED: Final = frozenset({uapi.BPF_FUNC_get_smp_processor_id})  # and marked with allow_fastcall
_INLINED_KFUNCS: Final = frozenset({"bpf_cast_to_kern_ctx", "bpf_rdonly_cast"})
_NOP: Final = Insn(BPF_JMP | BPF_JA)


def mark_patterns(env: Env) -> None:
    """Find the calls with stores before and loads behind them."""
    if not any([insn.code == BPF_JMP | BPF_CALL for insn in env.insns]):
        return
    targets = _jump_targets(env.insns)
    for subprog, behind in zip(env.subprogs, env.subprogs[1:]):
        body = range(subprog.start, behind.start)
        lowest = min((env.insns[i].off for i in body if _is_store(env.insns[i])), default=0)
        for i in body:
            if env.insns[i].code == BPF_JMP | BPF_CALL:
                _mark_pattern(env, subprog, i, min(lowest, 0), targets)


def _is_store(insn: Insn) -> bool:
    return insn.code == _STORE and insn.dst_reg == BPF_REG_FP


def _jump_targets(insns: list[Insn]) -> set[int]:
    found = set()
    for i, insn in enumerate(insns):
        if insn.cls in (BPF_JMP, BPF_JMP32) and insn.op not in (BPF_CALL, BPF_EXIT):
            wide = insn.cls == BPF_JMP32 and insn.op == BPF_JA
            found.add(i + 1 + (insn.imm if wide else insn.off))
    return found


def _clobbered(env: Env, call: Insn) -> tuple[int, bool]:
    """(registers that the call may spoil, as bits; whether it is known not to spoil others)."""
    if call.src_reg == 0:
        fn = get_func_proto(call.imm, env)
        if fn is None:
            return _R0_TO_R5, False
        mask = int(fn.ret_type != RET_VOID)
        mask |= sum(2 << i for i, word in enumerate(fn.arg_types) if word != ARG_DONTCARE)
        return mask, call.imm in _INLINED and env.request.jit_requested
    desc = env.look_up_kfunc(call) if call.src_reg == BPF_PSEUDO_KFUNC_CALL else None
    if desc is None:
        return _R0_TO_R5, False
    mask = int(env.vmlinux[desc.proto.type].kind is not Kind.VOID)
    mask |= sum(2 << i for i in range(len(desc.proto.params)))
    return mask, desc.name in _INLINED_KFUNCS


def _mark_pattern(env: Env, subprog: SubprogInfo, here: int, lowest: int, targets: set[int]) -> None:
    clobbered, inlined = _clobbered(env, env.insns[here])
    kept = ~clobbered & _R0_TO_R5
    pairs, off = 0, lowest
    while kept and pairs < _R0_TO_R5.bit_length():
        before, after = here - pairs - 1, here + pairs + 1
        if before < 0 or after >= len(env.insns) or before + 1 in targets or after in targets:
            break
        store, load = env.insns[before], env.insns[after]
        if not _is_store(store) or load.code != _LOAD or load.src_reg != BPF_REG_FP:
            break
        bit = 1 << store.src_reg
        if store.src_reg != load.dst_reg or not kept & bit or store.off != off or load.off != off:
            break
        kept &= ~bit
        env.aux[before].fastcall = env.aux[after].fastcall = True
        pairs += 1
        off += 8
    if not pairs:
        return
    env.fastcalls = True
    if inlined:
        env.aux[here].fastcall_pairs = pairs
    else:
        subprog.keep_fastcall_stack = True
    subprog.fastcall_off = min(subprog.fastcall_off, off)


def check_contract(env: Env, frame: FuncState, here: int, off: int) -> None:
    """An access at `off` of the stack by something else: in this function stores and loads stay."""
    subprog = env.subprogs[frame.subprogno]
    if subprog.fastcall_off <= off or env.aux[here].fastcall:
        return
    subprog.fastcall_off = _BELOW_ALL
    for i in range(subprog.start, env.subprogs[frame.subprogno + 1].start):
        env.aux[i].fastcall, env.aux[i].fastcall_pairs = False, 0


def remove_pairs(env: Env) -> None:
    """What need not be stored is not; the function needs less stack."""
    for subprog, behind in zip(env.subprogs, env.subprogs[1:]):
        modified = False
        for here in range(subprog.start, behind.start):
            for i in range(1, env.aux[here].fastcall_pairs + 1):
                env.insns[here - i] = env.insns[here + i] = _NOP
                modified = True
        if modified and not subprog.keep_fastcall_stack:
            subprog.stack_depth = -subprog.fastcall_off
