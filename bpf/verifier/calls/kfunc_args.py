"""Do the registers at a call of a kernel function fit its prototype?  Since 6.2; before: arg_match.py.

check_kfunc_args(), get_kfunc_ptr_arg_type() and process_kf_arg_ptr_to_btf_id() of kernel/bpf/verifier.c, Linux 6.12 and 7.2.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from arch.abi.errno import EACCES, EFAULT, EINVAL, ENOTSUPP
from bpf import uapi
from bpf.btf.codec import COMPOSITES, BtfType, Kind
from bpf.btf.record import LIST_HEAD, LIST_NODE, RB_NODE, RB_ROOT, RES_SPIN_LOCK, WORKQUEUE
from bpf.verifier.access import dynptr_slots, iters
from bpf.verifier.access.memory import check_kfunc_mem_size_reg, check_mem_reg
from bpf.verifier.access.precision import mark_chain_precision
from bpf.verifier.access.slot_objects import REFCOUNTED
from bpf.verifier.access.trust import in_sleepable, is_rcu, is_trusted, struct_of
from bpf.verifier.calls import graph, irq_flags, kfuncs, resilient_locks
from bpf.verifier.calls.arg_match import is_scalar_struct
from bpf.verifier.calls.args import check_const_str, check_func_arg_reg_off
from bpf.verifier.calls.kfunc_meta import KfuncCall, arg_name, plain_arg_name
from bpf.verifier.context.btf_walk import (
    CTX_CONVERT,
    btf_struct_ids_match,
    is_prog_ctx_type,
    is_scalar,
    resolve_size,
    type_text,
)
from bpf.verifier.domain.bounds import s64
from bpf.verifier.domain.state import Value
from bpf.verifier.domain.types import (
    ARG_DONTCARE,
    ARG_PTR_TO_DYNPTR,
    BPF_REG_TRUSTED_MODIFIERS,
    CONST_PTR_TO_MAP,
    DYNPTR_TYPE_FILE,
    DYNPTR_TYPE_SKB,
    DYNPTR_TYPE_SKB_META,
    DYNPTR_TYPE_XDP,
    MEM_ALLOC,
    MEM_PERCPU,
    MEM_RDONLY,
    MEM_UNINIT,
    OBJ_RELEASE,
    PTR_MAYBE_NULL,
    PTR_TO_BTF_ID,
    PTR_TO_CTX,
    PTR_TO_DYNPTR,
    PTR_TO_FUNC,
    PTR_TO_MAP_VALUE,
    SCALAR_VALUE,
    base_type,
    has_unsafe_modifiers,
    is_non_owning_ref,
    is_ptr_alloc_obj,
    type_flag,
)
from bpf.verifier.env import Env, Rejected
from bpf.versions.program_types import PROGRAM_TYPES

_DYNPTRS: Final = ("bpf_dynptr", "bpf_dynptr_kern")
# structs by which arguments are known that are not modelled
_NOT_MODELLED: Final = frozenset({"bpf_task_work"})
_MADE: Final = {
    "bpf_dynptr_from_skb": DYNPTR_TYPE_SKB,
    "bpf_dynptr_from_xdp": DYNPTR_TYPE_XDP,
    "bpf_dynptr_from_skb_meta": DYNPTR_TYPE_SKB_META,
    "bpf_dynptr_from_file": DYNPTR_TYPE_FILE,
}


def check_kfunc_args(env: Env, call: KfuncCall) -> None:
    """All arguments, in order."""
    i = 0
    while i < len(call.params):
        i += _check_arg(env, call, i)
    if call.has(kfuncs.KF_RELEASE) and not call.release_regno:
        env.reject(EINVAL, f"release kernel function {call.name} expects refcounted PTR_TO_BTF_ID")


def _suffix(call: KfuncCall, i: int, suffix: str) -> bool:
    return i < len(call.params) and call.params[i].name.endswith(suffix)


def _may_be_null(call: KfuncCall, i: int) -> bool:
    return _suffix(call, i, "__nullable") or _suffix(call, i, "__opt")


def _check_arg(env: Env, call: KfuncCall, i: int) -> int:
    """Check argument `i`; how many arguments that settled."""
    btf = env.vmlinux
    t = btf.resolved(call.params[i].type)
    v = env.regs[i + 1].value
    if _suffix(call, i, "__ign") or _suffix(call, i, "__prog"):
        return 1
    if is_scalar(t):
        _check_number(env, call, i, v)
        return 1
    if t.kind is not Kind.PTR:
        env.reject(EINVAL, f"Unrecognized {arg_name(env, i)} type {t.kind.name}")
    nullable = _suffix(call, i, "__nullable") or (_suffix(call, i, "__opt") and env.rules.arguments_by_register)
    if call.relies and (v.is_null or v.type & PTR_MAYBE_NULL) and not nullable:
        env.reject(EACCES, f"Possibly NULL pointer passed to trusted {plain_arg_name(env, i)}")
    if i == 0 and call.has(kfuncs.KF_RELEASE) and not v.ref_obj_id and env.rules.arguments_by_register:
        env.reject(EINVAL, f"release kfunc {call.name} expects referenced PTR_TO_BTF_ID passed to R1")
    if v.ref_obj_id:
        if call.has(kfuncs.KF_RELEASE) and call.ref_obj_id:
            both = f"R{i + 1} {v.ref_obj_id} {call.ref_obj_id}"
            env.reject(EFAULT, f"verifier internal error: more than one arg with ref_obj_id {both}")
        call.ref_obj_id = v.ref_obj_id
        if call.has(kfuncs.KF_RELEASE):
            call.release_regno = i + 1
    return _check_pointer(env, call, i, t, v)


def _check_number(env: Env, call: KfuncCall, i: int, v: Value) -> None:
    regno, name = i + 1, call.params[i].name
    if v.type != SCALAR_VALUE:
        env.reject(EINVAL, f"R{regno} is not a scalar")
    if name.endswith("__k"):
        _note_constant(env, call, regno, v)
        mark_chain_precision(env, regno)
    elif name in ("rdonly_buf_size", "rdwr_buf_size"):
        call.r0_rdonly |= name == "rdonly_buf_size"
        if call.r0_size:
            env.verbose("2 or more rdonly/rdwr_buf_size parameters for kfunc")
            env.reject(EINVAL)
        if v.var_off[1]:
            env.reject(EINVAL, f"R{regno} is not a const")
        call.r0_size = v.var_off[0]
        if call.r0_size > 0xFFFFFFFF:
            env.reject(EINVAL, f"R{regno} rdonly/rdwr_buf_size exceeds u32 max")
        mark_chain_precision(env, regno)


def _note_constant(env: Env, call: KfuncCall, regno: int, v: Value) -> None:
    if call.constant is not None:
        env.reject(EFAULT, "verifier internal error: only one constant argument permitted")
    if v.var_off[1]:
        env.reject(EINVAL, f"R{regno} must be a known constant")
    call.constant = v.var_off[0]


# ---- pointers ----

_Check = Callable[[Env, KfuncCall, int, BtfType, Value], int]


def _check_pointer(env: Env, call: KfuncCall, i: int, pointer: BtfType, v: Value) -> int:
    btf = env.vmlinux
    ref = btf[btf.skip(pointer.type)]
    check = _kind_of(env, call, i, pointer, ref, v)
    if check is None:
        return 1
    if check is _map and base_type(v.type) not in (CONST_PTR_TO_MAP, PTR_TO_BTF_ID):
        env.reject(EINVAL, f"pointer in R{i + 1} isn't map pointer")
    if check in (_allocated, _object, _map) and call.relies and not is_trusted(env, v):
        if not call.has(kfuncs.KF_RCU):
            env.reject(EINVAL, f"R{i + 1} must be referenced or trusted")
        if not is_rcu(v):
            env.reject(EINVAL, f"R{i + 1} must be a rcu pointer")
    release = call.has(kfuncs.KF_RELEASE) and v.ref_obj_id
    if check is not _dynptr or not release:
        check_func_arg_reg_off(env, v, i + 1, OBJ_RELEASE if release else ARG_DONTCARE)
    return check(env, call, i, ref, v)


_TAKE_ANY_CONTEXT: Final = ("bpf_cast_to_kern_ctx", "bpf_session_is_return", "bpf_session_cookie")


def _kind_of(env: Env, call: KfuncCall, i: int, pointer: BtfType, ref: BtfType, v: Value) -> _Check | None:
    """get_kfunc_ptr_arg_type(); None: NULL, where that is fine."""
    btf = env.vmlinux
    if call.name in _TAKE_ANY_CONTEXT or is_prog_ctx_type(env, btf, pointer, env.prog_type, i):
        return _context
    if _suffix(call, i, "__nullable") and v.is_null:
        return _sized_memory if env.rules.constant_size_of_null and _is_size(env, call, i + 1) else None
    if _suffix(call, i, "__alloc"):
        return _allocated
    if _suffix(call, i, "__refcounted_kptr"):
        return _refcounted
    if ref.kind is Kind.STRUCT and ref.name in _DYNPTRS:
        return _dynptr
    if call.flags & (kfuncs.KF_ITER_NEW | kfuncs.KF_ITER_NEXT | kfuncs.KF_ITER_DESTROY):
        if i == 0:
            return _iterator
    elif _suffix(call, i, "__iter"):
        return _iterator
    known = _BY_STRUCT.get(ref.name) if ref.kind is Kind.STRUCT else None
    if known is not None and ref.name != "bpf_wq":
        return known
    if ref.kind is Kind.STRUCT and ref.name in _NOT_MODELLED:
        return _not_modelled
    if ref.kind is Kind.STRUCT and ref.name == RES_SPIN_LOCK:
        return _resilient_lock
    if _suffix(call, i, "__irq_flag"):
        return _irq_flag
    if _suffix(call, i, "__str"):
        return _const_string
    if known is not None:
        return known
    if _suffix(call, i, "__map"):
        return _map
    if v.is_null and _suffix(call, i, "__opt") and env.rules.arguments_by_register:
        return None
    if base_type(v.type) == PTR_TO_BTF_ID or struct_of(env, v.type):
        if ref.kind not in COMPOSITES:
            what = arg_name(env, i) if env.rules.arguments_by_register else f"args#{i}"
            env.reject(EINVAL, f"kernel function {call.name} {what} pointer type {type_text(ref)} is not supported")
        return _object
    if ref.kind is Kind.FUNC_PROTO:
        return _callback
    sized = _is_size(env, call, i + 1)
    if not is_scalar(ref) and not is_scalar_struct(env, btf, ref, 0) and not (sized and ref.kind is Kind.VOID):
        void = "void, " if sized else ""
        what = f"{arg_name(env, i)} pointer type {type_text(ref)}"
        env.reject(EINVAL, f"{what} must point to {void}scalar, or struct with scalar")
    return _sized_memory if sized else _memory


def _is_size(env: Env, call: KfuncCall, i: int) -> bool:
    """A length that belongs to the pointer before it."""
    if i >= len(call.params) or not is_scalar(env.vmlinux.resolved(call.params[i].type)):
        return False
    if env.regs[i + 1].value.type != SCALAR_VALUE:
        return False
    return _suffix(call, i, "__sz") or _suffix(call, i, "__szk")


def _not_modelled(env: Env, call: KfuncCall, i: int, ref: BtfType, v: Value) -> int:
    env.reject(ENOTSUPP, f"{call.name}() is not simulated: {arg_name(env, i)} is a {type_text(ref)}")


def _resilient_lock(env: Env, call: KfuncCall, i: int, ref: BtfType, v: Value) -> int:
    resilient_locks.process_argument(env, call, i, v)
    return 1


def _irq_flag(env: Env, call: KfuncCall, i: int, ref: BtfType, v: Value) -> int:
    irq_flags.process_argument(env, call, i, v)
    return 1


def _context(env: Env, call: KfuncCall, i: int, ref: BtfType, v: Value) -> int:
    if v.type != PTR_TO_CTX:
        env.reject(EINVAL, f"{arg_name(env, i)} expected pointer to ctx, but got {env.type_name(v.type)}")
    if call.name == "bpf_cast_to_kern_ctx":
        converted = env.vmlinux.find("bpf_ctx_convert", Kind.STRUCT)
        wanted = f"BPF_PROG_TYPE_{PROGRAM_TYPES[env.prog_type].name}_kern"
        for member in env.vmlinux[converted].members if converted else ():
            if member.name == wanted and env.vmlinux[member.type].kind is not Kind.STRUCT:
                env.reject(EINVAL, f"kern ctx type id {member.type} is not a struct")
        _, name = CTX_CONVERT.get(env.prog_type, ((), ""))
        kind = next((k for k in (Kind.STRUCT, Kind.UNION, Kind.TYPEDEF) if name and env.vmlinux.find(name, k)), None)
        if kind is None:
            env.reject(EINVAL)
        call.ret_btf_id = env.vmlinux.find(name, kind)
    return 1


def _allocated(env: Env, call: KfuncCall, i: int, ref: BtfType, v: Value) -> int:
    impl = "" if env.rules.arguments_by_register else "_impl"
    if v.type == PTR_TO_BTF_ID | MEM_ALLOC:
        if call.plain != "bpf_obj_drop":
            env.reject(EINVAL, f"{arg_name(env, i)} expected for bpf_obj_drop{impl}()")
    elif v.type == PTR_TO_BTF_ID | MEM_ALLOC | MEM_PERCPU:
        if call.plain != "bpf_percpu_obj_drop":
            env.reject(EINVAL, f"{arg_name(env, i)} expected for bpf_percpu_obj_drop{impl}()")
    else:
        env.reject(EINVAL, f"{arg_name(env, i)} expected pointer to allocated object")
    if not v.ref_obj_id:
        env.reject(EINVAL, "allocated object must be referenced")
    call.arg_btf, call.arg_btf_id = v.raw1, v.raw2
    return 1


def _refcounted(env: Env, call: KfuncCall, i: int, ref: BtfType, v: Value) -> int:
    if not is_ptr_alloc_obj(v.type):
        env.reject(EINVAL, f"{arg_name(env, i)} is neither owning or non-owning ref")
    record = env.struct_meta(v.raw1, v.raw2)
    if record is None:
        env.bug("Couldn't find btf_record")
    if not record.has("bpf_refcount"):
        env.reject(EINVAL, f"{arg_name(env, i)} doesn't point to a type with bpf_refcount field")
    call.arg_btf, call.arg_btf_id = v.raw1, v.raw2
    call.owning = not is_non_owning_ref(v.type) and bool(v.ref_obj_id)
    return 1


def _callback(env: Env, call: KfuncCall, i: int, ref: BtfType, v: Value) -> int:
    if v.type != PTR_TO_FUNC:
        env.reject(EINVAL, f"{plain_arg_name(env, i)} expected pointer to func")
    call.subprogno = v.raw1
    return 1


def _const_string(env: Env, call: KfuncCall, i: int, ref: BtfType, v: Value) -> int:
    if v.type != PTR_TO_MAP_VALUE:
        env.reject(EINVAL, f"{arg_name(env, i)} doesn't point to a const string")
    check_const_str(env, v, i + 1)
    return 1


def _work_queue(env: Env, call: KfuncCall, i: int, ref: BtfType, v: Value) -> int:
    """process_wq_func()."""
    if v.type != PTR_TO_MAP_VALUE:
        env.reject(EINVAL, f"{arg_name(env, i)} doesn't point to a map value")
    m = v.map
    if env.rules.timers_in_tracing:
        if v.var_off[1]:
            env.reject(EINVAL, f"R{i + 1} doesn't have constant offset. bpf_wq has to be at the constant offset")
        if m.btf is None:
            env.reject(EINVAL, f"map '{m.name}' has to have BTF in order to use bpf_wq")
        if m.record is None or not m.record.has(WORKQUEUE):
            env.reject(EINVAL, f"map '{m.name}' has no valid bpf_wq")
    place = m.record.offset_of(WORKQUEUE) if m.record is not None else -EINVAL
    at = s64(v.var_off[0]) + v.off
    if place != at:
        env.reject(EINVAL, f"off {at} doesn't point to 'struct bpf_wq' that is at {place}")
    call.map, call.map_uid = m, v.raw2
    return 1


_BY_STRUCT: Final[dict[str, _Check]] = {
    LIST_HEAD: graph.root,
    RB_ROOT: graph.root,
    LIST_NODE: graph.node,
    RB_NODE: graph.node,
    WORKQUEUE: _work_queue,
}


def _dynptr(env: Env, call: KfuncCall, i: int, ref: BtfType, v: Value) -> int:
    word, clone_of = ARG_PTR_TO_DYNPTR, 0
    if v.type == PTR_TO_DYNPTR:
        word |= MEM_RDONLY
    if _suffix(call, i, "__uninit"):
        word |= MEM_UNINIT | _MADE.get(call.name, 0)
        if call.name == "bpf_dynptr_clone":
            if not call.dynptr_kind:
                env.reject(EFAULT, "verifier internal error: no dynptr type for parent of clone")
            word |= dynptr_slots.FLAG_OF[call.dynptr_kind]
            clone_of = call.dynptr_ref
            if call.dynptr_kind in REFCOUNTED and not clone_of:
                env.reject(EFAULT, "verifier internal error: missing ref obj id for parent of clone")
    dynptr_slots.process(env, i + 1, env.insn_idx, word, clone_of)
    if not word & MEM_UNINIT:
        known = dynptr_slots.dynptr_at(env, env.regs[i + 1].value)
        call.dynptr_id, call.dynptr_kind, call.dynptr_ref = known.id, known.raw1, known.ref_obj_id
    return 1


def _iterator(env: Env, call: KfuncCall, i: int, ref: BtfType, v: Value) -> int:
    if call.name == "bpf_iter_css_task_new":
        allowed = env.prog_type == uapi.BPF_PROG_TYPE_LSM or in_sleepable(env)
        if env.prog_type == uapi.BPF_PROG_TYPE_TRACING:
            allowed |= env.expected_attach_type == uapi.BPF_TRACE_ITER
        if not allowed:
            env.reject(EINVAL, "css_task_iter is only allowed in bpf_lsm, bpf_iter and sleepable progs")
    call.iterator, call.iterator_ref = iters.process_argument(
        env,
        i + 1,
        env.vmlinux,
        call.proto,
        new=call.has(kfuncs.KF_ITER_NEW),
        destroy=call.has(kfuncs.KF_ITER_DESTROY),
        protected=call.has(kfuncs.KF_RCU_PROTECTED),
        name=call.name,
    )
    call.ref_obj_id = call.iterator_ref or call.ref_obj_id
    return 1


def _map(env: Env, call: KfuncCall, i: int, ref: BtfType, v: Value) -> int:
    if base_type(v.type) == CONST_PTR_TO_MAP:
        m = v.map
        if call.map is not None and m.record is not None and m.record.has(WORKQUEUE):
            if call.map is not m or call.map_uid != v.raw2:
                uids = f"R1 map_uid={call.map_uid} doesn't match map pointer in R2 map_uid={v.raw2}"
                env.reject(EINVAL, f"workqueue pointer in {uids}")
        call.map, call.map_uid = m, v.raw2
    return _object(env, call, i, env.vmlinux[env.vmlinux.find("bpf_map", Kind.STRUCT)], v)


def _object(env: Env, call: KfuncCall, i: int, ref: BtfType, v: Value) -> int:
    """process_kf_arg_ptr_to_btf_id()."""
    other = struct_of(env, v.type)
    unsafe = base_type(v.type) != PTR_TO_BTF_ID or (has_unsafe_modifiers(v.type) and not is_rcu(v))
    if unsafe and not other:
        wanted = base_type(v.type) | (type_flag(v.type) & BPF_REG_TRUSTED_MODIFIERS)
        env.verbose(f"{arg_name(env, i)} is {env.type_name(v.type)} ")
        env.reject(EINVAL, f"expected {env.type_name(wanted)} or socket")
    if base_type(v.type) == PTR_TO_BTF_ID:
        reg_btf, reg_id = v.raw1, v.raw1.skip(v.raw2)
    else:
        assert other is not None
        reg_btf = env.vmlinux
        reg_id = reg_btf.find(other, Kind.STRUCT)
    has = reg_btf[reg_id]
    release = call.has(kfuncs.KF_RELEASE) and v.ref_obj_id
    acquire = call.has(kfuncs.KF_ACQUIRE) and env.rules.acquire_is_strict
    strict = acquire or bool(release) or _are_aliases(has.name, ref.name)
    if not btf_struct_ids_match(env, reg_btf, reg_id, v.off, env.vmlinux, ref.id, strict, not is_ptr_alloc_obj(v.type)):
        projected = (ref.name, has.name) in (("__sk_buff", "sk_buff"), ("xdp_md", "xdp_buff"))
        if not projected:
            where = "" if env.rules.arguments_by_register else f"args#{i}"
            env.reject(
                EINVAL,
                f"kernel function {call.name} {where or f'R{i + 1}'} expected pointer to {type_text(ref)} "
                f"but R{i + 1} has a pointer to {type_text(has)}",
            )
    return 1


def _are_aliases(a: str, b: str) -> bool:
    """btf_type_ids_nocast_alias(): one is the other before it is ready."""
    return a != b and (a == b + "___init" or b == a + "___init")


def _memory(env: Env, call: KfuncCall, i: int, ref: BtfType, v: Value) -> int:
    resolved = resolve_size(env.vmlinux, ref.id)
    if resolved is None:
        what = f"{arg_name(env, i)} reference type('{type_text(ref)}')"
        env.reject(EINVAL, f"{what} size cannot be determined: {-EINVAL}")
    check_mem_reg(env, i + 1, resolved.size)
    return 1


def _sized_memory(env: Env, call: KfuncCall, i: int, ref: BtfType, v: Value) -> int:
    size = env.regs[i + 2].value
    if not (v.is_null and _may_be_null(call, i)):
        try:
            check_kfunc_mem_size_reg(env, i + 2)
        except Rejected as refused:
            between = " and" if env.rules.arguments_by_register else ""
            pair = f"{arg_name(env, i)}{between} {arg_name(env, i + 1)}"
            env.reject(refused.errno, f"{pair} memory, len pair leads to invalid memory access")
    if _suffix(call, i + 1, "__szk"):
        _note_constant(env, call, i + 2, size)
    return 2
