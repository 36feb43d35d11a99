"""Locks of programs that may not be got, since 6.15: bpf_res_spin_lock() and its like; process_spin_lock() of kernel/bpf/verifier.c.

Several may be held; the last one taken is given back first. Where one is not got the path goes on with an errno, and without it.
"""

from __future__ import annotations

from typing import Final

from arch.abi.errno import EINVAL, MAX_ERRNO
from bpf.btf.record import RES_SPIN_LOCK
from bpf.verifier.access.regs import mark_not_init
from bpf.verifier.calls import graph
from bpf.verifier.calls.kfunc_meta import KfuncCall, arg_name
from bpf.verifier.domain.bounds import reg_bounds_sync, s64
from bpf.verifier.domain.state import UNKNOWN, Value, known_scalar
from bpf.verifier.domain.types import MEM_ALLOC, PTR_TO_BTF_ID, PTR_TO_MAP_VALUE
from bpf.verifier.env import Env

_TAKES: Final = {"bpf_res_spin_lock": "res", "bpf_res_spin_lock_irqsave": "res irq"}
_GIVES: Final = {"bpf_res_spin_unlock": "res", "bpf_res_spin_unlock_irqrestore": "res irq"}


def may_fail(env: Env, call: KfuncCall) -> None:
    """The lock is not got: another path, which knows nothing of the arguments."""
    if call.name not in _TAKES:
        return
    regs = env.push_stack(env.insn_idx + 1, env.insn_idx, False).frame.regs
    for reg in regs[:6]:
        mark_not_init(env, reg)
    v = UNKNOWN.copy()
    v.smin, v.smax = v.s32_min, v.s32_max = -MAX_ERRNO, -1
    reg_bounds_sync(v)
    regs[0].value = v
    regs[0].subreg_def = env.insn_idx + 1


def succeeded(env: Env, call: KfuncCall) -> None:
    """On this path it is got."""
    if call.name in _TAKES:
        env.regs[0].value = known_scalar(0)


def process_argument(env: Env, call: KfuncCall, i: int, v: Value) -> None:
    """The lock: a member of a map's value or of an object of the program's own."""
    if v.type not in (PTR_TO_MAP_VALUE, PTR_TO_BTF_ID | MEM_ALLOC):
        env.reject(EINVAL, f"{arg_name(env, i)} doesn't point to map value or allocated object")
    in_map = v.type == PTR_TO_MAP_VALUE
    if v.var_off[1]:
        text = f"R{i + 1} doesn't have constant offset. bpf_res_spin_lock has to be at the constant offset"
        env.reject(EINVAL, text)
    if in_map and v.map.btf is None:
        env.reject(EINVAL, f"map '{v.map.name}' has to have BTF in order to use bpf_res_spin_lock")
    record = graph.record_of(env, v)
    if record is None or not record.has(RES_SPIN_LOCK):
        where = f"map '{v.map.name}'" if in_map else "local 'kptr'"
        env.reject(EINVAL, f"{where} has no valid bpf_res_spin_lock")
    place, at = record.offset_of(RES_SPIN_LOCK), s64(v.var_off[0] + v.off)
    if place != at:
        env.reject(EINVAL, f"off {at} doesn't point to 'struct bpf_res_spin_lock' that is at {place}")
    if call.name in _TAKES:
        _take(env, v, _TAKES[call.name])
    else:
        _give(env, v, _GIVES[call.name])


def _owner(v: Value) -> object:
    return v.map if v.type == PTR_TO_MAP_VALUE else v.raw1


def _take(env: Env, v: Value, kind: str) -> None:
    held, owner = env.cur.held, _owner(v)
    if any(one.lock is owner and one.lock_id == v.id and one.kind for one in held.locks()):
        env.reject(EINVAL, "Acquiring the same lock again, AA deadlock detected")
    env.cur.held = held.with_lock(owner, v.id, tuple(ref[0] for ref in env.frame.refs), kind)


def _give(env: Env, v: Value, kind: str) -> None:
    held, owner = env.cur.held, _owner(v)
    if held.lock is None:
        env.reject(EINVAL, "bpf_res_spin_unlock without taking a lock")
    if not any(one.lock is owner and one.lock_id == v.id and one.kind == kind for one in held.locks()):
        env.reject(EINVAL, "bpf_res_spin_unlock of different lock")
    if held.lock is not owner or held.lock_id != v.id:
        env.reject(EINVAL, "bpf_res_spin_unlock cannot be out of order")
    env.cur.held = held.without_lock()
    graph.forget_not_owned(env)
