"""Calls of helpers: check_helper_call() of kernel/bpf/verifier.c."""

from __future__ import annotations

from typing import Final

from arch.abi.errno import EACCES, EFAULT, EINVAL, ENOTSUPP, MAX_ERRNO
from arch.abi.internal import WRITE
from arch.errors import KernelError
from bpf import uapi
from bpf.btf.codec import COMPOSITES, Kind
from bpf.format import conversions
from bpf.helpers.rows import FuncProto
from bpf.isa.insn import BPF_DW, BPF_REG_0, Insn
from bpf.maps.struct_ops import DUMMY
from bpf.uapi import HELPER_NAMES
from bpf.verifier.access import dynptr, dynptr_slots
from bpf.verifier.access.memory import check_mem_access
from bpf.verifier.access.precision import mark_chain_precision
from bpf.verifier.access.regs import clear_caller_saved_regs, mark_unknown, release_reference
from bpf.verifier.access.slot_objects import DYNPTR_SKB
from bpf.verifier.access.trust import in_rcu_section
from bpf.verifier.calls.args import BPF_PTR_POISON, check_func_arg
from bpf.verifier.calls.moved_packets import forget_packet_pointers
from bpf.verifier.calls.sections import check_sections_in, check_sleep_here
from bpf.verifier.calls.subprog import (
    SetCalleeState,
    call_subprog,
    prepare_func_exit,
    set_find_vma_callback_state,
    set_loop_callback_state,
    set_map_elem_callback_state,
    set_timer_callback_state,
    set_user_ringbuf_callback_state,
    verbose_range,
)
from bpf.verifier.context.btf_walk import resolve_size
from bpf.verifier.domain.bounds import reg_bounds_sync, s32
from bpf.verifier.domain.call_meta import CallMeta
from bpf.verifier.domain.state import (
    DEF_NOT_SUBREG,
    NOTHING_HELD,
    UNKNOWN,
    UNREADABLE,
    Reg,
    Value,
    known_scalar,
    known_zero,
)
from bpf.verifier.domain.types import (
    ARG_PTR_TO_DYNPTR,
    MEM_ALLOC,
    MEM_PERCPU,
    MEM_RCU,
    MEM_RDONLY,
    MEM_RINGBUF,
    PTR_MAYBE_NULL,
    PTR_TO_BTF_ID,
    PTR_TO_DYNPTR,
    PTR_TO_MAP_VALUE,
    PTR_TO_MEM,
    PTR_TO_PACKET,
    PTR_TO_PACKET_META,
    PTR_TO_SOCK_COMMON,
    PTR_TO_SOCKET,
    PTR_TO_TCP_SOCK,
    PTR_TRUSTED,
    RET_INTEGER,
    RET_PTR_TO_ALLOC_MEM,
    RET_PTR_TO_BTF_ID,
    RET_PTR_TO_MAP_VALUE,
    RET_PTR_TO_MEM_OR_BTF_ID,
    RET_PTR_TO_SOCK_COMMON,
    RET_PTR_TO_SOCKET,
    RET_PTR_TO_TCP_SOCK,
    RET_VOID,
    SCALAR_VALUE,
    base_type,
    type_flag,
)
from bpf.verifier.env import MAP_KEY_POISON, MAP_PTR_POISON, Env
from bpf.verifier.lines.insn_text import helper_name
from bpf.verifier.log.log import BPF_LOG_LEVEL2
from bpf.verifier.protos.choose import get_func_proto, helper_allowed
from bpf.verifier.protos.map_compat import check_map_func_compatibility
from bpf.versions.attach_groups import AROUND_FUNCTIONS

_NUMBER_OF: Final = {name: number for number, name in HELPER_NAMES.items()}


def _helpers(names: str) -> frozenset[int]:
    return frozenset(_NUMBER_OF[name] for name in names.split())


_ACQUIRES: Final = _helpers("sk_lookup_tcp sk_lookup_udp skc_lookup_tcp ringbuf_reserve kptr_xchg")
_RELEASES: Final = _helpers("sk_release ringbuf_submit ringbuf_discard")
_CASTS: Final = _helpers(
    "tcp_sock sk_fullsock skc_to_tcp_sock skc_to_tcp6_sock skc_to_udp6_sock skc_to_mptcp_sock "
    "skc_to_tcp_timewait_sock skc_to_tcp_request_sock"
)
_RECORDS_MAP: Final = _helpers(
    "tail_call map_lookup_elem map_update_elem map_delete_elem map_push_elem map_pop_elem map_peek_elem "
    "for_each_map_elem redirect_map map_lookup_percpu_elem"
)
_WRITES_MAP: Final = _helpers("map_delete_elem map_update_elem map_push_elem map_pop_elem")
_RETURNS_SIZE: Final = _helpers("get_stack get_task_stack probe_read_str probe_read_kernel_str probe_read_user_str")
_RETURNS_RANGE: Final = _RETURNS_SIZE | {uapi.BPF_FUNC_get_smp_processor_id, uapi.BPF_FUNC_get_retval}
_SOCKMAPS: Final = (uapi.BPF_MAP_TYPE_SOCKMAP, uapi.BPF_MAP_TYPE_SOCKHASH)
_ANY_PACKET: Final = (PTR_TO_PACKET, PTR_TO_PACKET_META)

_CALLBACKS: Final[dict[int, SetCalleeState]] = {
    uapi.BPF_FUNC_for_each_map_elem: set_map_elem_callback_state,
    uapi.BPF_FUNC_timer_set_callback: set_timer_callback_state,
    uapi.BPF_FUNC_find_vma: set_find_vma_callback_state,
    uapi.BPF_FUNC_loop: set_loop_callback_state,
    uapi.BPF_FUNC_user_ringbuf_drain: set_user_ringbuf_callback_state,
}


def func_id_name(env: Env, func_id: int) -> str:
    """The helper as the log names it."""
    return f"{helper_name(env, func_id) or 'unknown'}#{func_id}"


def _acquires(func_id: int, meta: CallMeta) -> bool:
    """The result must be released: is_acquire_function()."""
    if func_id in _ACQUIRES:
        return True
    m = meta.map_ptr
    return func_id == uapi.BPF_FUNC_map_lookup_elem and m is not None and m.map_type in _SOCKMAPS


def _find_proto(env: Env, func_id: int) -> FuncProto:
    if helper_name(env, func_id) is None:
        env.reject(EINVAL, f"invalid func {func_id_name(env, func_id)}")
    fn = get_func_proto(func_id, env) if env.struct_ops != DUMMY else None  # its programs may call nothing
    if fn is None:
        words = "program of this type cannot use helper" if env.rules.helper_refused_by_type else "unknown func"
        env.reject(EINVAL, f"{words} {func_id_name(env, func_id)}")
    if not env.request.gpl_compatible and fn.gpl_only:
        env.reject(EINVAL, "cannot call GPL-restricted function from non-GPL compatible program")
    if not helper_allowed(fn, env):
        env.reject(EINVAL, "helper call is not allowed in probe")
    if not env.sleepable and fn.might_sleep and env.rules.sleepable_helpers_named:
        named = f"sleepable helper {func_id_name(env, func_id)} in non-sleepable prog"
        env.reject(
            EINVAL, named if env.rules.sleeping_helper_named else "helper call might sleep in a non-sleepable prog"
        )
    return fn


def check_helper_call(env: Env, insn: Insn) -> None:
    """One call of a helper on one path."""
    func_id = insn.imm
    here = env.insn_idx
    fn = env.protos.get(func_id)
    if fn is None:
        fn = env.protos[func_id] = _find_proto(env, func_id)
    if fn.might_sleep and env.cur.held != NOTHING_HELD:
        check_sleep_here(env, func_id_name(env, func_id))
    meta = CallMeta(func_id, fn.pkt_access)
    for arg in range(5):
        check_func_arg(env, arg, meta, fn)
    _record_map(env, meta, func_id)
    if func_id == uapi.BPF_FUNC_tail_call:
        _record_key(env, meta)
    _write_arguments(env, fn, meta)
    regs = env.regs
    if meta.release_regno or (func_id in _RELEASES and not env.rules.release_flag):
        _release(env, fn, meta)
    _check_special(env, insn, fn, meta)
    clear_caller_saved_regs(env, regs)
    r0 = regs[BPF_REG_0]
    r0.subreg_def = DEF_NOT_SUBREG
    value = _result(env, r0, fn, meta)
    if value.type & PTR_MAYBE_NULL:
        value.id = env.new_id()
    if func_id in _CASTS or func_id == uapi.BPF_FUNC_dynptr_data:
        value.ref_obj_id = meta.ref_obj_id
        if meta.dynptr_id:
            value.raw2 = meta.dynptr_id
        elif meta.ref_obj_id and env.rules.casts_keep_reference:
            _cast_or_null(env, value, meta.ref_obj_id)
    elif _acquires(func_id, meta):
        value.id = value.ref_obj_id = env.acquire_reference(here)
    sized = func_id in _RETURNS_SIZE and (func_id != uapi.BPF_FUNC_get_task_stack or env.rules.task_stack_size)
    if sized and fn.ret_type == RET_INTEGER:
        _refine_size(value, meta)
    if func_id == uapi.BPF_FUNC_get_retval and _result_is_errno(env):
        _refine_result(value)
    if func_id == uapi.BPF_FUNC_get_smp_processor_id and env.rules.processor_in_range:
        _refine_processor(value, env.request.nr_cpus - 1)
    check_map_func_compatibility(env, meta.map_ptr, func_id)
    if func_id in (uapi.BPF_FUNC_get_stackid, uapi.BPF_FUNC_get_stack):
        env.facts.call_get_stack = True
    if func_id == uapi.BPF_FUNC_get_func_ip:
        _check_get_func_ip(env, func_id)
    moved = func_id == uapi.BPF_FUNC_tail_call and env.rules.tail_calls_move_packets
    if moved and env.rules.tail_calls_return:
        moved = env.cur.curframe > 0  # one of the main function does not come back
        if moved:
            _return_by_tail_call(env)
    if fn.changes_pkt_data or moved or meta.changes_packet:
        forget_packet_pointers(env)


def _cast_or_null(env: Env, value: Value, number: int) -> None:
    """The same socket under another name, as good as the one that is held; on another path it was of another kind."""
    other = env.push_stack(env.insn_idx + 1, env.insn_idx, False)
    other.frame.regs[BPF_REG_0].value = known_scalar(0)
    value.type &= ~PTR_MAYBE_NULL
    value.id = number


def _return_by_tail_call(env: Env) -> None:
    """A program that was called into answers in the place of this function, whatever it likes; this walks on behind that function."""
    if env.frame.in_callback_fn:
        env.reject(EINVAL, "cannot tail call within callback")
    env.scratched_regs |= 1 << BPF_REG_0
    env.push_stack(env.insn_idx + 1, env.insn_idx, False)
    forget_packet_pointers(env)
    mark_unknown(env, env.frame.regs[BPF_REG_0])
    prepare_func_exit(env)
    env.insn_idx -= 1


# ---- arguments, once all are known ----


def _record_map(env: Env, meta: CallMeta, func_id: int) -> None:
    """Remember which map this call uses, so that it can be called directly: record_func_map()."""
    if func_id not in _RECORDS_MAP:
        return
    m = meta.map_ptr
    if m is None:
        env.reject(EINVAL, "kernel subsystem misconfigured verifier")
    if m.map_flags & uapi.BPF_F_RDONLY_PROG and func_id in _WRITES_MAP:
        env.reject(EACCES, "write into map forbidden")
    aux = env.aux[env.insn_idx]
    if aux.map_ptr is None:
        aux.map_ptr = m
        aux.map_unpriv |= not m.bypass_spec_v1
    elif aux.map_ptr is not m:
        aux.map_ptr = MAP_PTR_POISON
        aux.map_unpriv |= not m.bypass_spec_v1


def _record_key(env: Env, meta: CallMeta) -> None:
    """Remember the index of a tail call, if it is constant: record_func_key()."""
    m = meta.map_ptr
    if m is None or m.map_type != uapi.BPF_MAP_TYPE_PROG_ARRAY:
        env.reject(EINVAL, "kernel subsystem misconfigured verifier")
    aux = env.aux[env.insn_idx]
    v = env.regs[3].value
    if v.type != UNKNOWN.type or v.var_off[1] or v.var_off[0] >= m.max_entries:
        aux.map_key = MAP_KEY_POISON
        return
    mark_chain_precision(env, 3)
    if aux.map_key is None:
        aux.map_key = v.var_off[0]
    elif aux.map_key != v.var_off[0]:
        aux.map_key = MAP_KEY_POISON


def _write_arguments(env: Env, fn: FuncProto, meta: CallMeta) -> None:
    """What the helper fills in becomes initialised."""
    here = env.insn_idx
    for i in range(meta.access_size):
        check_mem_access(env, here, meta.regno, i, 0x10, WRITE, -1)
    if meta.uninit_dynptr_regno:
        regno = meta.uninit_dynptr_regno
        for i in range(0, dynptr.BPF_DYNPTR_SIZE, 8):
            check_mem_access(env, here, regno, i, BPF_DW, WRITE, -1)
        dynptr.mark_stack_slots_dynptr(env, env.regs[regno].value, fn.arg_types[regno - 1], here)


def _release(env: Env, fn: FuncProto, meta: CallMeta) -> None:
    v = env.regs[meta.release_regno].value
    is_dynptr = meta.release_regno and base_type(fn.arg_types[meta.release_regno - 1]) == ARG_PTR_TO_DYNPTR
    if is_dynptr and env.rules.slot_objects:
        released = dynptr_slots.release(env, v)
    elif is_dynptr:
        released = dynptr.unmark_stack_slots_dynptr(env, v)
    elif meta.ref_obj_id:
        if meta.func_id == uapi.BPF_FUNC_kptr_xchg and in_rcu_section(env):
            _keep_percpu(env, meta.ref_obj_id)
        released = release_reference(env, meta.ref_obj_id)
    else:
        released = env.rules.release_flag and v.is_null
    if not released:
        env.reject(EINVAL, f"func {func_id_name(env, meta.func_id)} reference has not been acquired before")


def _keep_percpu(env: Env, number: int) -> None:
    """What every processor has goes away after the read section only (5b221ecb3a18, 6.7)."""
    both = MEM_ALLOC | MEM_PERCPU
    for reg in env.cur.each_reg():
        if reg.value.ref_obj_id == number and reg.value.type & both == both:
            reg.value = reg.value.with_type(reg.value.type & ~MEM_ALLOC | MEM_RCU)
            reg.value.ref_obj_id = 0


# ---- helpers with rules of their own ----


def check_reference_leak(env: Env, throws: bool = False) -> bool:
    """Objects that this frame should have released by now, or any frame where something is thrown; they are named in the log."""
    frame = env.frame
    if frame.frameno and not frame.in_callback_fn and not throws:
        return False
    lingering = False
    flags = [number for number, _ in env.cur.held.irq]
    for number, insn_idx, callback_ref in frame.refs:
        if number in flags:
            continue  # check_sections_in() tells of these
        if frame.in_callback_fn and callback_ref != frame.frameno and not throws:
            continue
        env.verbose(f"Unreleased reference id={number} alloc_insn={insn_idx}\n")
        lingering = True
    return lingering


def _check_special(env: Env, insn: Insn, fn: FuncProto, meta: CallMeta) -> None:
    func_id = meta.func_id
    callback = _CALLBACKS.get(func_id)
    if callback is not None:
        if func_id == uapi.BPF_FUNC_loop and not _goes_on(env, meta.subprogno):
            return
        call_subprog(env, insn, meta.subprogno, callback)
    elif func_id == uapi.BPF_FUNC_tail_call:
        if check_reference_leak(env):
            env.reject(EINVAL, "tail_call would lead to reference leak")
        check_sections_in(env, "tail_call")
    elif func_id == uapi.BPF_FUNC_get_local_storage:
        if not env.regs[2].value.is_null:
            env.reject(EINVAL, "get_local_storage() doesn't support non-zero flags")
        if env.rules.storage_flags_precise:
            mark_chain_precision(env, 2)
    elif func_id == uapi.BPF_FUNC_snprintf:
        _check_snprintf(env)
    elif func_id == uapi.BPF_FUNC_dynptr_from_mem:
        word = env.regs[1].value.type
        if word != PTR_TO_MAP_VALUE:
            env.reject(EACCES, f"Unsupported reg type {env.type_name(word)} for bpf_dynptr_from_mem data")
    elif func_id == uapi.BPF_FUNC_dynptr_write and env.rules.slot_objects:
        meta.changes_packet = dynptr_slots.dynptr_at(env, env.regs[1].value).raw1 == DYNPTR_SKB
    elif func_id == uapi.BPF_FUNC_set_retval:
        _check_set_retval(env)
    elif func_id == uapi.BPF_FUNC_dynptr_data:
        _check_dynptr_data(env, fn, meta)


def _goes_on(env: Env, subprogno: int) -> bool:
    """bpf_loop() calls its callback once more; r1 says how often, as far as is known."""
    _update_loop_inline_state(env, subprogno)
    if not env.rules.callbacks_are_loops:
        return True
    mark_chain_precision(env, 1)
    if env.frame.callback_depth < env.regs[1].value.umax:
        return True
    env.frame.callback_depth = 0
    if env.level & BPF_LOG_LEVEL2:
        env.verbose(f"frame{env.cur.curframe} bpf_loop iteration limit reached\n")
    return False


def _update_loop_inline_state(env: Env, subprogno: int) -> None:
    """bpf_loop() can be inlined if it always has the same callback and no flags."""
    aux = env.aux[env.insn_idx]
    if aux.loop_initialized and not aux.loop_fit_for_inline:
        return
    no_flags = env.regs[4].value.is_null
    if no_flags:
        mark_chain_precision(env, 4)
    if not aux.loop_initialized:
        aux.loop_initialized = True
        aux.loop_fit_for_inline = no_flags
        aux.loop_callback = subprogno
    else:
        aux.loop_fit_for_inline = no_flags and aux.loop_callback == subprogno


def _check_snprintf(env: Env) -> None:
    """check_bpf_snprintf_call(): the format is constant, so it is checked here."""
    fmt, length = env.regs[3].value, env.regs[5].value.var_off[0]
    if length % 8:
        env.reject(EINVAL)
    m = fmt.map
    assert m.value_read is not None
    at = fmt.off + fmt.var_off[0]
    text = bytearray()
    while byte := m.value_read(at + len(text), 1):
        text.append(byte)
    try:
        conversions(bytes(text), length // 8)
    except KernelError as refused:
        env.reject(refused.errno, "Invalid format string")


def _check_set_retval(env: Env) -> None:
    result = env.regs[1].value
    if env.rules.results_are_errnos and result.type != SCALAR_VALUE:
        env.reject(EINVAL, "R1 is not a scalar")
    of_hook = env.prog_type == uapi.BPF_PROG_TYPE_LSM and env.expected_attach_type == uapi.BPF_LSM_CGROUP
    if of_hook and env.facts.attached_to_void:
        env.reject(EINVAL, "BPF_LSM_CGROUP that attach to void LSM hooks can't modify return value!")
    if not _result_is_errno(env):
        return
    mark_chain_precision(env, 1)
    if not -MAX_ERRNO <= result.s32_min <= result.s32_max <= 0:
        verbose_range(env, result, (-MAX_ERRNO, 0), "bpf_set_retval", "R1")
        env.reject(EINVAL)


def _check_dynptr_data(env: Env, fn: FuncProto, meta: CallMeta) -> None:
    for arg, arg_type in enumerate(fn.arg_types):
        if base_type(arg_type) == ARG_PTR_TO_DYNPTR:
            v = env.regs[arg + 1].value
            if meta.ref_obj_id:
                env.reject(EFAULT, "verifier internal error: meta.ref_obj_id already set")
            if env.rules.slot_objects:
                known = dynptr_slots.dynptr_at(env, v)
                meta.dynptr_id, meta.ref_obj_id = known.id, known.ref_obj_id
            elif base_type(v.type) != PTR_TO_DYNPTR:
                meta.ref_obj_id = dynptr.stack_slot_get_id(env, v)
            return
    env.reject(EFAULT, "verifier internal error: no dynptr in bpf_dynptr_data()")


def _check_get_func_ip(env: Env, func_id: int) -> None:
    name = func_id_name(env, func_id)
    if env.prog_type == uapi.BPF_PROG_TYPE_TRACING:
        trampoline = (*AROUND_FUNCTIONS, uapi.BPF_MODIFY_RETURN)
        if env.expected_attach_type not in trampoline:
            kinds = "fentry/fexit/fsession/fmod_ret" if env.rules.fsession else "fentry/fexit/fmod_ret"
            env.reject(ENOTSUPP, f"func {name} supported only for {kinds} programs")
    elif env.prog_type != uapi.BPF_PROG_TYPE_KPROBE:
        env.reject(ENOTSUPP, f"func {name} not supported for program type {env.prog_type}")
    env.facts.call_get_func_ip = True


# ---- results ----

_POINTERS: Final = {
    RET_PTR_TO_SOCKET: PTR_TO_SOCKET,
    RET_PTR_TO_SOCK_COMMON: PTR_TO_SOCK_COMMON,
    RET_PTR_TO_TCP_SOCK: PTR_TO_TCP_SOCK,
}


def _result(env: Env, r0: Reg, fn: FuncProto, meta: CallMeta) -> Value:
    """Put into r0 what the helper returns; the value may still be changed."""
    flag = type_flag(fn.ret_type)
    if not env.rules.allocated_memory:
        flag &= ~MEM_RINGBUF
    if not env.rules.trusted_pointers:
        flag &= ~PTR_TRUSTED
    if not env.rules.rdonly_memory:
        flag &= ~MEM_RDONLY
    base = base_type(fn.ret_type)
    if base == RET_INTEGER:
        mark_unknown(env, r0)
        if meta.func_id not in _RETURNS_RANGE:
            return UNKNOWN  # shared; nothing below changes it for these
        value = UNKNOWN.copy()
    elif base == RET_VOID:
        return UNREADABLE
    elif base == RET_PTR_TO_MAP_VALUE:
        value = _map_value_result(env, flag, meta)
    elif base in _POINTERS:
        value = known_zero(_POINTERS[base] | flag)
    elif base == RET_PTR_TO_ALLOC_MEM:
        value = known_zero(PTR_TO_MEM | flag, meta.mem_size & 0xFFFFFFFF)
    elif base == RET_PTR_TO_MEM_OR_BTF_ID:
        value = _mem_or_btf_result(env, flag, meta)
    elif base == RET_PTR_TO_BTF_ID:
        value = _btf_result(env, flag, fn, meta)
    else:
        env.reject(EINVAL, f"unknown return type {base} of func {func_id_name(env, meta.func_id)}")
    r0.value = value
    return value


def _map_value_result(env: Env, flag: int, meta: CallMeta) -> Value:
    m = meta.map_ptr
    if m is None:
        env.reject(EINVAL, "kernel subsystem misconfigured verifier")
    if meta.func_id == uapi.BPF_FUNC_map_lookup_elem and 0 <= meta.const_map_key < m.max_entries:
        flag &= ~PTR_MAYBE_NULL
    value = known_zero(PTR_TO_MAP_VALUE | flag, m, meta.map_uid)
    if not flag & PTR_MAYBE_NULL and m.spin_lock_off >= 0:
        value.id = env.new_id()
    return value


def _mem_or_btf_result(env: Env, flag: int, meta: CallMeta) -> Value:
    btf = meta.ret_btf
    assert btf is not None  # of the pointer among the arguments
    t = btf.resolved(meta.ret_btf_id)
    if t.kind in COMPOSITES:
        word = MEM_ALLOC | MEM_RCU if meta.own_percpu else flag & ~MEM_RDONLY
        return known_zero(PTR_TO_BTF_ID | word, btf, meta.ret_btf_id)
    resolved = resolve_size(btf, btf.skip(meta.ret_btf_id))
    if resolved is None:
        env.reject(EINVAL, f"unable to resolve the size of type '{t.name}': {-EINVAL}")
    return known_zero(PTR_TO_MEM | flag, resolved.size)


def _btf_result(env: Env, flag: int, fn: FuncProto, meta: CallMeta) -> Value:
    if meta.func_id == uapi.BPF_FUNC_kptr_xchg:
        assert meta.kptr is not None
        if meta.kptr.btf is not None:
            flag |= MEM_ALLOC | (MEM_PERCPU if meta.kptr.percpu else 0)
            return known_zero(PTR_TO_BTF_ID | flag, meta.kptr.btf, meta.kptr.btf_id)
        type_id = meta.kptr.btf_id
    else:
        name = fn.ret_btf_id
        if name is None or name == BPF_PTR_POISON:
            env.verbose("verifier internal error:")
            name = func_id_name(env, meta.func_id).partition("#")[0]
            env.reject(EINVAL, f"func {name} has non-overwritten BPF_PTR_POISON return type")
        type_id = env.vmlinux.find(name, Kind.STRUCT) if env.vmlinux is not None else 0
    if not type_id:
        base = base_type(fn.ret_type)
        env.reject(EINVAL, f"invalid return type {base} of func {func_id_name(env, meta.func_id)}")
    return known_zero(PTR_TO_BTF_ID | flag, env.vmlinux, type_id)


def _refine_size(value: Value, meta: CallMeta) -> None:
    """A negative errno, or at most the size of the buffer: do_refine_retval_range()."""
    value.smax = meta.msize_max_value
    value.s32_max = s32(meta.msize_max_value)
    value.smin = value.s32_min = -MAX_ERRNO
    reg_bounds_sync(value)


def _result_is_errno(env: Env) -> bool:
    """The call's result is 0 or an errno, but for getsockopt(), where it may be a size."""
    return env.rules.results_are_errnos and env.expected_attach_type != uapi.BPF_CGROUP_GETSOCKOPT


def _refine_result(value: Value) -> None:
    """0 or a negative errno."""
    value.smax = value.s32_max = 0
    value.smin = value.s32_min = -MAX_ERRNO
    reg_bounds_sync(value)


def _refine_processor(value: Value, last: int) -> None:
    """One of the processors that can be there."""
    value.umax = value.u32_max = value.smax = value.s32_max = last
    value.umin = value.u32_min = value.smin = value.s32_min = 0
    reg_bounds_sync(value)
