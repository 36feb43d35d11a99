"""What functions do that their callers must know: move the packet, which leaves packet pointers worthless, sleep, throw."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from bpf import uapi
from bpf.helpers.kfunc_rows import rows_of
from bpf.isa.insn import BPF_CALL, BPF_JMP, BPF_PSEUDO_CALL, BPF_PSEUDO_KFUNC_CALL, Insn
from bpf.verifier.access.regs import forget_reg
from bpf.verifier.calls.exceptions import THROW
from bpf.verifier.calls.kfuncs import kfunc_flags
from bpf.verifier.domain.types import (
    DYNPTR_TYPE_SKB,
    DYNPTR_TYPE_SKB_META,
    DYNPTR_TYPE_XDP,
    PTR_TO_MEM,
    PTR_TO_PACKET,
    PTR_TO_PACKET_END,
    PTR_TO_PACKET_META,
    base_type,
)
from bpf.verifier.env import Env
from bpf.verifier.protos.choose import get_func_proto

_ANY_PACKET: Final = (PTR_TO_PACKET, PTR_TO_PACKET_META)
_CALL: Final = BPF_JMP | BPF_CALL


def forget_packet_pointers(env: Env) -> None:
    """The packet may lie elsewhere now: clear_all_pkt_pointers()."""
    for reg in env.cur.each_reg():
        word = reg.value.type
        of_packet = base_type(word) == PTR_TO_MEM and word & (DYNPTR_TYPE_SKB | DYNPTR_TYPE_XDP | DYNPTR_TYPE_SKB_META)
        if word == PTR_TO_PACKET_END or base_type(word) in _ANY_PACKET or of_packet:
            forget_reg(env, reg)


def helper_moves_packet(env: Env, func_id: int) -> bool:
    """bpf_helper_changes_pkt_data(): what comes after a failed tail call may see another packet, too."""
    if func_id == uapi.BPF_FUNC_tail_call:
        return env.rules.tail_calls_move_packets
    proto = get_func_proto(func_id, env)
    return proto is not None and proto.changes_pkt_data


def function_moves_packet(env: Env, subprog: int) -> bool:
    """A function calls such a helper, itself or through others: mark_subprog_changes_pkt_data()."""
    return _function_calls(env, subprog, lambda insn: insn.src_reg == 0 and helper_moves_packet(env, insn.imm))


def function_may_sleep(env: Env, subprog: int) -> bool:
    """A function calls what may sleep, itself or through others: mark_subprog_might_sleep()."""

    def sleeps(insn: Insn) -> bool:
        if insn.src_reg == BPF_PSEUDO_KFUNC_CALL:
            rows = rows_of(env.vmlinux.name_of(insn.imm), env.version)
            return any("sleepable" in row.flags.split() for row in rows)
        proto = get_func_proto(insn.imm, env)
        return proto is not None and proto.might_sleep

    return _function_calls(env, subprog, sleeps)


def function_may_throw(env: Env, subprog: int) -> bool:
    """A function throws, itself or through others: mark_subprog_might_throw(). What may not be called there is not known to throw."""
    if kfunc_flags(THROW, env.prog_type, env.version, env.expected_attach_type) is None:
        return False
    return _function_calls(env, subprog, lambda insn: env.kfunc_name(insn) == THROW)


def _function_calls(env: Env, subprog: int, wanted: Callable[[Insn], bool]) -> bool:
    """There is such a call in a function, or in those that it calls."""
    seen: set[int] = set()
    waiting = [subprog]
    while waiting:
        number = waiting.pop()
        if number in seen:
            continue
        seen.add(number)
        for idx in range(env.subprogs[number].start, env.subprogs[number + 1].start):
            insn = env.insns[idx]
            if insn.code != _CALL:
                continue
            if insn.src_reg == BPF_PSEUDO_CALL:
                waiting.append(env.find_subprog(idx + insn.imm + 1))
            elif wanted(insn):
                return True
    return False
