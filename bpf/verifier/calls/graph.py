"""Lists and trees of programs, since 6.2: what may be put into them, taken out and looked at, and who owns it then.

process_kf_arg_ptr_to_graph_root(), process_kf_arg_ptr_to_graph_node(), ref_convert_owning_non_owning(),
set_rbtree_add_callback_state() of kernel/bpf/verifier.c, Linux 6.12 and 7.2.
"""

from __future__ import annotations

from typing import Final

from arch.abi.errno import EACCES, EFAULT, EINVAL
from bpf.btf.codec import BtfType
from bpf.btf.record import LIST_HEAD, LIST_NODE, RB_NODE, RB_ROOT, Field, Record
from bpf.isa.insn import Insn
from bpf.verifier.access.regs import forget_reg, mark_not_init, release_reference
from bpf.verifier.calls.kfunc_meta import KfuncCall, arg_name
from bpf.verifier.context.btf_walk import btf_struct_ids_match
from bpf.verifier.domain.bounds import s32
from bpf.verifier.domain.state import FuncState, Value, known_zero
from bpf.verifier.domain.tnum import tnum_range
from bpf.verifier.domain.types import (
    MEM_ALLOC,
    MEM_RCU,
    NON_OWN_REF,
    PTR_TO_BTF_ID,
    PTR_TO_MAP_VALUE,
    is_non_owning_ref,
    is_ptr_alloc_obj,
)
from bpf.verifier.env import Env

ADDS: Final = frozenset({"bpf_list_push_front", "bpf_list_push_back", "bpf_list_add", "bpf_rbtree_add"})
LOOKS: Final = frozenset(
    {"bpf_list_front", "bpf_list_back", "bpf_rbtree_first", "bpf_rbtree_root", "bpf_rbtree_left", "bpf_rbtree_right"}
)
TAKES: Final = frozenset({"bpf_list_pop_front", "bpf_list_pop_back", "bpf_list_del", "bpf_rbtree_remove"})
_ASKS: Final = frozenset({"bpf_list_is_first", "bpf_list_is_last", "bpf_list_empty", "bpf_refcount_acquire"})
UNDER_LOCK: Final = ADDS | LOOKS | TAKES | _ASKS  # is_bpf_graph_api_kfunc()

_ITERATES: Final = frozenset({"bpf_iter_num_new", "bpf_iter_num_next", "bpf_iter_num_destroy"})

_ROOT_OF: Final = {RB_NODE: RB_ROOT, LIST_NODE: LIST_HEAD}


def record_of(env: Env, v: Value) -> Record | None:
    """Special members of what a register points to: reg_btf_record()."""
    if v.type == PTR_TO_MAP_VALUE:
        return v.map.record
    return env.struct_meta(v.raw1, v.raw2) if is_ptr_alloc_obj(v.type) else None


def owns_node(v: Value) -> bool:
    """An object that the program alone has."""
    return v.type == PTR_TO_BTF_ID | MEM_ALLOC and bool(v.ref_obj_id)


def in_order_callback(env: Env) -> bool:
    """In the function that says which of two nodes is less: in_rbtree_lock_required_cb()."""
    frame = env.frame
    if not env.cur.curframe or not frame.in_callback_fn:
        return False
    return env.kfunc_name(env.insns[frame.callsite]).removesuffix("_impl") == "bpf_rbtree_add"


_LOCKS: Final = frozenset(f"bpf_res_spin_{what}" for what in ("lock", "unlock", "lock_irqsave", "unlock_irqrestore"))


def callable_under_lock(env: Env, insn: Insn) -> bool:
    """A kernel function that may be called while a lock is held: kfunc_spin_allowed()."""
    plain = env.kfunc_name(insn).removesuffix("_impl")
    return plain in UNDER_LOCK or plain in _LOCKS or (plain in _ITERATES and env.rules.locks_among_references)


# ---- arguments ----


def root(env: Env, call: KfuncCall, i: int, ref: BtfType, v: Value) -> int:
    """The list or tree: in a map's value, or in an object, whose lock is held."""
    if v.type not in (PTR_TO_MAP_VALUE, PTR_TO_BTF_ID | MEM_ALLOC):
        env.reject(EINVAL, f"{arg_name(env, i)} expected pointer to map value or allocated object")
    if v.type != PTR_TO_MAP_VALUE and not v.ref_obj_id:
        env.reject(EINVAL, "allocated object must be referenced")
    found = _field_at(env, v, i, ref.name)
    record = record_of(env, v)
    assert record is not None
    if not _is_locked(env, v):
        lock = record.offset_of("bpf_spin_lock")
        env.reject(EINVAL, f"bpf_spin_lock at off={lock} must be held for {ref.name}")
    call.root = found
    return 1


def _field_at(env: Env, v: Value, i: int, kind: str) -> Field:
    if v.var_off[1]:
        env.reject(EINVAL, f"R{i + 1} doesn't have constant offset. {kind} has to be at the constant offset")
    off = (v.off + v.var_off[0]) & 0xFFFFFFFF
    record = record_of(env, v)
    found = record.at(off, (kind,)) if record is not None else None
    if found is None:
        env.reject(EINVAL, f"{kind} not found at offset={off}")
    return found


def _is_locked(env: Env, v: Value) -> bool:
    """check_reg_allocation_locked(): the lock that is held lies in the same object."""
    held = env.cur.held
    if held.lock is None:
        return False
    owner = v.map if v.type == PTR_TO_MAP_VALUE else v.raw1
    if any(one.lock is owner and one.lock_id == v.id for one in held.locks()):
        return True
    env.verbose("held lock and object are not in the same allocation\n")
    return False


def node(env: Env, call: KfuncCall, i: int, ref: BtfType, v: Value) -> int:
    """What is put in, taken out or looked at."""
    plain = call.plain
    if plain in ADDS and i == 1:
        if v.type != PTR_TO_BTF_ID | MEM_ALLOC:
            env.reject(EINVAL, f"{arg_name(env, i)} expected pointer to allocated object")
        if not v.ref_obj_id:
            env.reject(EINVAL, "allocated object must be referenced")
    else:
        _check_shared(env, call, v, ref.name)
    found = _field_at(env, v, i, ref.name)
    wanted = call.root
    assert wanted is not None and wanted.btf is not None
    own = not is_ptr_alloc_obj(v.type)
    if not btf_struct_ids_match(env, v.raw1, v.raw2, 0, wanted.btf, wanted.btf_id, True, own):
        env.reject(
            EINVAL,
            f"operation on {_ROOT_OF[ref.name]} expects arg#1 {ref.name} at offset={wanted.node_offset} in struct "
            f"{wanted.btf.name_of(wanted.btf_id)}, but arg is at offset={found.offset} in struct {v.raw1.name_of(v.raw2)}",
        )
    call.arg_btf, call.arg_btf_id = v.raw1, v.raw2
    if found.offset != wanted.node_offset:
        env.reject(
            EINVAL,
            f"arg#1 offset={found.offset}, but expected {ref.name} at offset={wanted.node_offset} in struct "
            f"{wanted.btf.name_of(wanted.btf_id)}",
        )
    return 1


def _check_shared(env: Env, call: KfuncCall, v: Value, kind: str) -> None:
    name = call.name
    if env.rules.nodes_looked_at:
        if not is_non_owning_ref(v.type) and not v.ref_obj_id:
            env.reject(EINVAL, f"{name} can only take non-owning or refcounted {kind} pointer")
        if in_order_callback(env):
            env.reject(EINVAL, f"{name} not allowed in rbtree cb")
        return
    if not is_non_owning_ref(v.type) or v.ref_obj_id:
        env.reject(EINVAL, "rbtree_remove node input must be non-owning ref")
    if in_order_callback(env):
        env.reject(EINVAL, "rbtree_remove not allowed in rbtree cb")


# ---- what the call does ----


def give_away(env: Env, call: KfuncCall) -> None:
    """What was put in belongs to the list or tree; the program may look at it while the lock is held."""
    number = env.regs[2].value.ref_obj_id
    if not any(ref[0] == number for ref in env.frame.refs):
        env.verbose("verifier internal error: ref state missing for ref_obj_id\n")
        env.reject(EFAULT, f"kfunc {call.name}#{call.func_id} conversion of owning ref to non-owning failed")
    for reg in env.cur.each_reg():
        if reg.value.ref_obj_id == number:
            reg.value = not_owned(env, reg.value)
    if not release_reference(env, number):
        env.reject(EINVAL, f"kfunc {call.name}#{call.func_id} reference has not been acquired before")


def not_owned(env: Env, v: Value) -> Value:
    """The same as a pointer to what something else owns: ref_set_non_owning()."""
    if env.cur.held.lock is None:
        env.reject(EFAULT, "verifier internal error: ref_set_non_owning w/o active lock")
    record = env.struct_meta(v.raw1, v.raw2)
    counted = record is not None and record.has("bpf_refcount")
    new = v.with_type(v.type | NON_OWN_REF | (MEM_RCU if counted else 0))
    new.ref_obj_id = 0
    if env.rules.dynptr_parents and new.id == v.ref_obj_id:
        new.id = 0  # that is the reference, too
    return new


def forget_not_owned(env: Env) -> None:
    """The lock is given back: what the program does not own may go."""
    for reg in env.cur.each_reg():
        if is_non_owning_ref(reg.value.type):
            forget_reg(env, reg)


def contents(found: Field) -> Value:
    """A pointer to the node of what the list or tree holds: mark_reg_graph_node()."""
    return known_zero(PTR_TO_BTF_ID | MEM_ALLOC, found.btf, found.btf_id, off=found.node_offset)


def result(env: Env, call: KfuncCall) -> Value:
    """What is taken out, or found there."""
    assert call.root is not None
    return contents(call.root)


def set_add_callback_state(env: Env, caller: FuncState, callee: FuncState, insn_idx: int) -> None:
    """bpf_rbtree_add(root, node, less): less(a, b)."""
    v = caller.regs[1].value
    record = record_of(env, v)
    found = record.at(s32(v.off) & 0xFFFFFFFF, (RB_ROOT,)) if record is not None else None
    if found is None or not found.btf_id:
        env.reject(EFAULT)
    for regno in (1, 2):
        callee.regs[regno].value = not_owned(env, contents(found))
    for regno in (3, 4, 5):
        mark_not_init(env, callee.regs[regno])
    callee.in_callback_fn = True
    callee.callback_ret_range = tnum_range(0, 1)


def check_section_in_callback(env: Env, call: KfuncCall) -> None:
    """There a read section is entered and left by the kernel."""
    if call.name in ("bpf_rcu_read_lock", "bpf_rcu_read_unlock") and in_order_callback(env):
        env.reject(EACCES, "Calling bpf_rcu_read_{lock,unlock} in unnecessary rbtree callback")
