"""Locks, timers and kernel pointers in values of maps and in objects of programs, as arguments of helpers.

process_spin_lock(), process_timer_func() and process_kptr_func() of kernel/bpf/verifier.c.
"""

from __future__ import annotations

from typing import NoReturn

from arch.abi.errno import EACCES, EFAULT, EINVAL
from bpf import uapi
from bpf.btf.record import KPTRS
from bpf.helpers.rows import FuncProto
from bpf.maps.info import kptr_field
from bpf.verifier.access.map_access import kptr_at
from bpf.verifier.calls import graph
from bpf.verifier.domain.bounds import s32, s64
from bpf.verifier.domain.call_meta import CallMeta
from bpf.verifier.domain.state import Value
from bpf.verifier.domain.types import is_ptr_alloc_obj
from bpf.verifier.env import Env


def _refuse(env: Env, words: str) -> NoReturn:
    """What is wrong with the argument was EACCES, whatever it was, before fields had records."""
    env.reject(EINVAL if env.rules.fields_recorded else EACCES, words)


def _place(env: Env, v: Value, regno: int, struct: str, off: int) -> int:
    """The register points exactly to the lock or timer of its map's value, which lies at `off`; there."""
    m = v.map
    if v.var_off[1]:
        _refuse(env, f"R{regno} doesn't have constant offset. {struct} has to be at the constant offset")
    if m.btf is None:
        _refuse(env, f"map '{m.name}' has to have BTF in order to use {struct}")
    if off < 0:
        if env.rules.fields_recorded:
            _refuse(env, f"map '{m.name}' has no valid {struct}")
        if off == -7:  # -E2BIG
            _refuse(env, f"map '{m.name}' has more than one 'struct {struct}'")
        if off == -2:  # -ENOENT
            _refuse(env, f"map '{m.name}' doesn't have 'struct {struct}'")
        _refuse(env, f"map '{m.name}' is not a struct type or {struct} is mangled")
    return s64(v.var_off[0] + v.off)


def _place_in_object(env: Env, v: Value, regno: int) -> tuple[int, int]:
    """The same of a lock in an object of the program's own: where the lock is, where the register points."""
    if v.var_off[1]:
        _refuse(env, f"R{regno} doesn't have constant offset. bpf_spin_lock has to be at the constant offset")
    record = env.struct_meta(v.raw1, v.raw2)
    if record is None or not record.has("bpf_spin_lock"):
        _refuse(env, "local 'kptr' has no valid bpf_spin_lock")
    return record.offset_of("bpf_spin_lock"), s64(v.var_off[0] + v.off)


def spin_lock(env: Env, v: Value, arg: int, arg_type: int, meta: CallMeta, fn: FuncProto) -> None:
    """process_spin_lock()."""
    if env.rules.fields_recorded and graph.in_order_callback(env):
        env.reject(EACCES, "can't spin_{lock,unlock} in rbtree cb")
    local = is_ptr_alloc_obj(v.type)
    owner = v.raw1 if local else v.map
    if local:
        lock_off, at = _place_in_object(env, v, arg + 1)
    else:
        lock_off = v.map.spin_lock_off
        at = _place(env, v, arg + 1, "bpf_spin_lock", lock_off)
    if lock_off != at:
        where = f" that is at {lock_off}" if env.rules.fields_recorded else ""
        _refuse(env, f"off {at} doesn't point to 'struct bpf_spin_lock'{where}")
    state = env.cur
    if meta.func_id == uapi.BPF_FUNC_spin_lock:
        if any(not one.kind for one in state.held.locks()):
            _refuse(env, "Locking two bpf_spin_locks are not allowed")
        state.held = state.held.with_lock(owner, v.id, tuple(ref[0] for ref in env.frame.refs))
        return
    if state.held.lock is None:
        _refuse(env, "bpf_spin_unlock without taking a lock")
    if state.held.lock_id != v.id or (env.rules.fields_recorded and state.held.lock is not owner):
        _refuse(env, "bpf_spin_unlock of different lock")
    if env.rules.fields_recorded:
        graph.forget_not_owned(env)
    state.held = state.held.without_lock()


def timer(env: Env, v: Value, arg: int, arg_type: int, meta: CallMeta, fn: FuncProto) -> None:
    """process_timer_func()."""
    timer_off = v.map.timer_off
    at = _place(env, v, arg + 1, "bpf_timer", timer_off)
    if timer_off != at:
        _refuse(env, f"off {at} doesn't point to 'struct bpf_timer' that is at {timer_off}")
    if meta.map_ptr is not None:
        env.reject(EFAULT if env.rules.fields_recorded else EACCES, "verifier bug. Two map pointers in a timer helper")
    meta.map_uid = v.raw2
    meta.map_ptr = v.map


def _kptr_in_object(env: Env, v: Value, regno: int, meta: CallMeta) -> None:
    if v.var_off[1]:
        _refuse(env, f"R{regno} doesn't have constant offset. kptr has to be at the constant offset")
    record = env.struct_meta(v.raw1, v.raw2)
    if record is None or not record.has(*KPTRS):
        _refuse(env, f"R{regno} has no valid kptr")
    at = s32(v.off + v.var_off[0])
    found = record.at(at & 0xFFFFFFFF, KPTRS)
    if found is None:
        env.reject(EACCES, f"off={at} doesn't point to kptr")
    field = kptr_field(found, v.raw1, env.vmlinux)
    if not field.referenced:
        env.reject(EACCES, f"off={at} kptr isn't referenced kptr")
    meta.kptr = field


def kptr(env: Env, v: Value, arg: int, arg_type: int, meta: CallMeta, fn: FuncProto) -> None:
    """process_kptr_func()."""
    if is_ptr_alloc_obj(v.type):
        _kptr_in_object(env, v, arg + 1, meta)
        return
    m = v.map
    btf_first = env.rules.kptrs_in_objects and m.btf is None
    if v.var_off[1] and not btf_first:
        _refuse(env, f"R{arg + 1} doesn't have constant offset. kptr has to be at the constant offset")
    if m.btf is None:
        _refuse(env, f"map '{m.name}' has to have BTF in order to use bpf_kptr_xchg")
    if not m.kptrs:
        _refuse(
            env, f"R{arg + 1} has no valid kptr" if env.rules.kptrs_in_objects else f"map '{m.name}' has no valid kptr"
        )
    meta.map_ptr = m
    at = s32(v.off + v.var_off[0])
    field = kptr_at(m, at & 0xFFFFFFFF)
    if field is None:
        env.reject(EACCES, f"off={at} doesn't point to kptr")
    if not field.referenced:
        env.reject(EACCES, f"off={at} kptr isn't referenced kptr")
    meta.kptr = field
