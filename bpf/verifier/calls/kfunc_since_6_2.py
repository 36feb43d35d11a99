"""Calls of kernel functions since 6.2: check_kfunc_call() of kernel/bpf/verifier.c, Linux 6.12 and 7.2."""

from __future__ import annotations

from typing import Final

from arch.abi.errno import EACCES, EFAULT, EINVAL, ENOTSUPP
from arch.abi.internal import WRITE
from bpf import uapi
from bpf.btf.codec import COMPOSITES, BtfType, Kind
from bpf.helpers.kfunc_table import NOT_VERIFIED
from bpf.isa.insn import BPF_REG_0
from bpf.verifier.access import dynptr_slots, iters
from bpf.verifier.access.memory import may_access_direct_pkt_data
from bpf.verifier.access.regs import mark_not_init, mark_unknown, release_reference
from bpf.verifier.access.trust import in_rcu_section, in_sleepable, leave_rcu_section
from bpf.verifier.calls import graph, kfuncs, resilient_locks
from bpf.verifier.calls.arg_match import is_scalar_struct
from bpf.verifier.calls.kfunc_args import check_kfunc_args
from bpf.verifier.calls.kfunc_meta import KfuncCall
from bpf.verifier.calls.subprog import call_subprog, set_timer_callback_state
from bpf.verifier.context.btf_walk import is_scalar, resolve_size, type_by_id, type_text
from bpf.verifier.domain.state import Value, known_zero
from bpf.verifier.domain.types import (
    MEM_ALLOC,
    MEM_PERCPU,
    MEM_RCU,
    MEM_RDONLY,
    PTR_MAYBE_NULL,
    PTR_TO_BTF_ID,
    PTR_TO_MEM,
    PTR_TRUSTED,
    PTR_UNTRUSTED,
)
from bpf.verifier.env import Env, Rejected
from bpf.versions.program_types import types_where

_MAX_PERCPU_OBJECT: Final = 512  # BPF_GLOBAL_PERCPU_MA_MAX_SIZE
_OBJECT_MAKERS: Final = ("bpf_obj_new", "bpf_percpu_obj_new", "bpf_refcount_acquire")


def check_call(env: Env, call: KfuncCall) -> None:
    """One call on one path, all but the liveness of arguments."""
    if call.name in NOT_VERIFIED:
        env.reject(ENOTSUPP, f"{call.name}() is not simulated")
    if call.has(kfuncs.KF_DESTRUCTIVE) and "sys_boot" not in env.caps:
        env.reject(EACCES, "destructive kfunc calls require CAP_SYS_BOOT capability")
    if call.has(kfuncs.KF_SLEEPABLE) and not in_sleepable(env):
        env.reject(EACCES, f"program must be sleepable to call sleepable kfunc {call.name}")
    resilient_locks.may_fail(env, call)
    check_kfunc_args(env, call)
    _check_drop_in_nmi(env, call)
    _call_back(env, call)
    if call.has(kfuncs.KF_RCU_PROTECTED) and env.rules.protection_at_call and not in_rcu_section(env):
        env.reject(EACCES, f"kernel func {call.name} requires RCU critical section protection")
    _sections(env, call)
    if call.release_regno:
        number = env.regs[call.release_regno].value.ref_obj_id
        if not release_reference(env, number):
            env.reject(EINVAL, f"kfunc {call.name}#{call.func_id} reference has not been acquired before")
    if call.plain in graph.ADDS:
        graph.give_away(env, call)
    for reg in env.regs[:6]:
        mark_not_init(env, reg)


_CALLBACK_STATES: Final = {
    "bpf_rbtree_add": graph.set_add_callback_state,
    "bpf_wq_set_callback": set_timer_callback_state,
}


def _call_back(env: Env, call: KfuncCall) -> None:
    """A function of the program that the kernel function calls, now or later, is walked, too."""
    set_state = _CALLBACK_STATES.get(call.plain)
    if set_state is None:
        return
    try:
        call_subprog(env, env.insns[env.insn_idx], call.subprogno, set_state)
    except Rejected as refused:
        env.reject(refused.errno, f"kfunc {call.name}#{call.func_id} failed callback verification")


def finish_call(env: Env, call: KfuncCall) -> None:
    """What comes when arguments and result are marked: an iterator gave something, or nothing."""
    resilient_locks.succeeded(env, call)
    if call.has(kfuncs.KF_ITER_NEXT):
        iters.process_next(env, call.iterator)


_SAFE_IN_NMI: Final = frozenset(
    {"bpf_spin_lock", "bpf_res_spin_lock", "bpf_timer", "bpf_wq", "bpf_task_work", "kptr_untrusted", "bpf_refcount"}
)
_TRACING: Final = types_where(lambda row: "perf" in row.traits)  # is_tracing_prog_type()
_DROPS: Final = ("bpf_obj_drop", "bpf_obj_drop_impl", "bpf_percpu_obj_drop", "bpf_percpu_obj_drop_impl")


def _check_drop_in_nmi(env: Env, call: KfuncCall) -> None:
    """Programs that may run in an NMI give back no object whose members could not be given back there."""
    if call.name not in _DROPS or not env.rules.drops_checked_in_nmi:
        return
    tracing = env.prog_type == uapi.BPF_PROG_TYPE_TRACING and env.expected_attach_type != uapi.BPF_TRACE_ITER
    if env.prog_type not in _TRACING and not (tracing and not env.sleepable):
        return
    record = env.struct_meta(call.arg_btf, call.arg_btf_id) if call.arg_btf is not None else None
    if record is not None and any(one.kind not in _SAFE_IN_NMI for one in record.fields):
        env.reject(EINVAL, f"{call.name} cannot be used in tracing programs on types with NMI unsafe fields")


# ---- read sections, preemption ----


def _sections(env: Env, call: KfuncCall) -> None:
    held = env.cur.held
    if held.rcu:
        graph.check_section_in_callback(env, call)
    rcu = (call.name == "bpf_rcu_read_lock") - (call.name == "bpf_rcu_read_unlock")
    preempt = (call.name == "bpf_preempt_disable") - (call.name == "bpf_preempt_enable")
    sleeps = call.has(kfuncs.KF_SLEEPABLE)
    if env.rules.sections_nest:
        if held.rcu + rcu < 0:
            env.reject(EINVAL, f"unmatched rcu read unlock (kernel function {call.name})")
    elif held.rcu and rcu > 0:
        env.reject(EINVAL, f"nested rcu read lock (kernel function {call.name})")
    elif not held.rcu and rcu < 0:
        env.reject(EINVAL, f"unmatched rcu read unlock (kernel function {call.name})")
    if sleeps and held.rcu:
        env.reject(EACCES, f"kernel func {call.name} is sleepable within rcu_read_lock region")
    if held.preempt + preempt < 0:
        env.reject(EINVAL, f"unmatched attempt to enable preemption (kernel function {call.name})")
    if sleeps and held.preempt:
        env.reject(EACCES, f"kernel func {call.name} is sleepable within non-preemptible region")
    if sleeps and held.irq:
        env.reject(EACCES, f"kernel func {call.name} is sleepable within IRQ-disabled region")
    if rcu < 0 and held.rcu == 1:
        leave_rcu_section(env)
    if rcu or preempt:
        env.cur.held = held._replace(rcu=held.rcu + rcu, preempt=held.preempt + preempt)


# ---- the result ----


def set_result(env: Env, call: KfuncCall) -> int:
    """Put what it returns into r0; how many bytes of it the caller may count on, 0 for none."""
    btf = env.vmlinux
    r0 = env.regs[BPF_REG_0]
    t = btf.resolved(call.proto.type)
    acquires = call.has(kfuncs.KF_ACQUIRE)
    plain = call.plain
    if (
        acquires
        and not (t.kind is Kind.PTR and btf.resolved(t.type).kind in COMPOSITES)
        and plain not in _OBJECT_MAKERS
    ):
        env.reject(EINVAL, "acquire kernel function does not return PTR_TO_BTF_ID")
    if is_scalar(t):
        mark_unknown(env, r0)
        size: int = t.size
        return size
    if t.kind is not Kind.PTR:
        return 0
    value = _pointer(env, call, t, plain)
    if value is None:
        mark_unknown(env, r0)
        value = r0.value.copy()
    if call.may_give_null:
        value.type |= PTR_MAYBE_NULL
        value.id = env.new_id()
    if acquires:
        value.ref_obj_id = env.acquire_reference(env.insn_idx)
        if call.may_give_null or env.rules.acquired_trusted:
            value.id = value.ref_obj_id
    elif call.plain in graph.LOOKS:
        value = graph.not_owned(env, value)
    if value.type & MEM_ALLOC and not value.id and _has_lock(env, value):
        value.id = env.new_id()
    r0.value = value
    return 8


def _has_lock(env: Env, v: Value) -> bool:
    record = env.struct_meta(v.raw1, v.raw2)
    return record is not None and record.has("bpf_spin_lock", "bpf_res_spin_lock")


def _pointer(env: Env, call: KfuncCall, t: BtfType, plain: str) -> Value | None:
    """The pointer returned; None: as good as a number."""
    btf = env.vmlinux
    special = _SPECIAL.get(plain)
    if special is not None:
        return special(env, call)
    target_id = btf.skip(t.type)
    target = btf[target_id]
    if target.kind is Kind.VOID:
        return None
    if target.kind in COMPOSITES:
        value = known_zero(PTR_TO_BTF_ID, btf, target_id)
        if call.has(kfuncs.KF_ITER_NEXT):
            known = iters.iter_at(env.cur, call.iterator)
            value.type |= MEM_RCU if known.type & MEM_RCU else PTR_TRUSTED
        elif call.name == "bpf_get_kmem_cache":
            value.type |= PTR_UNTRUSTED
        elif call.has(kfuncs.KF_ACQUIRE) and env.rules.acquired_trusted:
            value.type |= PTR_TRUSTED
        elif call.has(kfuncs.KF_RCU_PROTECTED) and env.rules.arguments_by_register:
            value.type |= MEM_RCU
        return value
    if not call.r0_size:
        resolved = resolve_size(btf, target_id)
        call.r0_size, call.r0_rdonly = (resolved.size, True) if resolved is not None else (0, False)
    if not call.r0_size:
        what = f"kernel function {call.name} returns pointer type {type_text(target)}"
        env.reject(EINVAL, f"{what} is not supported")
    value = known_zero(PTR_TO_MEM | (MEM_RDONLY if call.r0_rdonly else 0), call.r0_size)
    value.ref_obj_id = call.ref_obj_id
    return value


def _new_object(env: Env, call: KfuncCall) -> Value:
    assert call.constant is not None
    percpu = call.name.startswith("bpf_percpu")
    if call.constant > 0xFFFFFFFF:
        env.reject(EINVAL, "local type ID argument must be in range [0, U32_MAX]")
    if env.btf is None:
        env.reject(EINVAL, "bpf_obj_new/bpf_percpu_obj_new requires prog BTF")
    t = type_by_id(env.btf, call.constant)
    if t is None or t.kind is not Kind.STRUCT:
        env.reject(EINVAL, "bpf_obj_new/bpf_percpu_obj_new type ID argument must be of a struct")
    record = env.struct_meta(env.btf, t.id)
    if percpu:
        if t.size > _MAX_PERCPU_OBJECT:
            env.reject(EINVAL, f"bpf_percpu_obj_new type size ({t.size}) is greater than {_MAX_PERCPU_OBJECT}")
        if not is_scalar_struct(env, env.btf, t, 0):
            env.reject(EINVAL, "bpf_percpu_obj_new type ID argument must be of a struct of scalars")
        if record is not None:
            env.reject(EINVAL, "bpf_percpu_obj_new type ID argument must not contain special fields")
    return known_zero(PTR_TO_BTF_ID | MEM_ALLOC | (MEM_PERCPU if percpu else 0), env.btf, t.id)


def _another_reference(env: Env, call: KfuncCall) -> Value:
    return known_zero(PTR_TO_BTF_ID | MEM_ALLOC, call.arg_btf, call.arg_btf_id)


def _kernel_context(env: Env, call: KfuncCall) -> Value:
    return known_zero(PTR_TO_BTF_ID | PTR_TRUSTED, env.vmlinux, call.ret_btf_id)


def _cast(env: Env, call: KfuncCall) -> Value:
    assert call.constant is not None
    t = type_by_id(env.vmlinux, call.constant)
    if env.rules.casts_to_memory:
        if t is None:
            env.reject(EINVAL, f"Unknown type ID {call.constant} passed to kfunc bpf_rdonly_cast")
        if t.kind is Kind.VOID:
            return known_zero(PTR_TO_MEM | MEM_RDONLY | PTR_UNTRUSTED)
        if t.kind not in COMPOSITES:
            env.reject(EINVAL, "kfunc bpf_rdonly_cast type ID argument must be of a struct or void")
    elif t is None or t.kind not in COMPOSITES:
        env.reject(EINVAL, "kfunc bpf_rdonly_cast type ID argument must be of a struct")
    return known_zero(PTR_TO_BTF_ID | PTR_UNTRUSTED, env.vmlinux, t.id)


def _session_word(env: Env, call: KfuncCall) -> Value:
    return known_zero(PTR_TO_MEM, 8)


def _slice(env: Env, call: KfuncCall) -> Value:
    if call.constant is None:
        env.reject(EFAULT, "verifier internal error: bpf_dynptr_slice(_rdwr) no constant size")
    value = known_zero(PTR_TO_MEM | dynptr_slots.FLAG_OF.get(call.dynptr_kind, 0), call.constant & 0xFFFFFFFF)
    if call.name == "bpf_dynptr_slice":
        value.type |= MEM_RDONLY
    elif not may_access_direct_pkt_data(env, None, WRITE):
        env.reject(EINVAL, "the prog does not allow writes to packet data")
    if not call.dynptr_id:
        env.reject(EFAULT, "verifier internal error: no dynptr id")
    value.raw2 = call.dynptr_id
    return value


_SPECIAL: Final = {
    "bpf_obj_new": _new_object,
    "bpf_percpu_obj_new": _new_object,
    "bpf_refcount_acquire": _another_reference,
    "bpf_cast_to_kern_ctx": _kernel_context,
    "bpf_rdonly_cast": _cast,
    "bpf_session_cookie": _session_word,
    "bpf_dynptr_slice": _slice,
    "bpf_dynptr_slice_rdwr": _slice,
    **dict.fromkeys(graph.LOOKS | graph.TAKES, graph.result),
}
