"""Arguments of helpers: do the registers hold what the prototype asks for?

check_func_arg(), check_reg_type() and check_func_arg_reg_off() of kernel/bpf/verifier.c; locks, timers and kernel pointers in
values are special_fields.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from arch.abi.errno import EACCES, EFAULT, EINVAL, ENOTSUPP
from arch.abi.internal import READ, WRITE
from bpf import uapi
from bpf.btf.codec import Kind
from bpf.helpers.rows import FuncProto
from bpf.verifier.access import ctx_place, dynptr, dynptr_slots
from bpf.verifier.access.map_access import (
    check_map_access,
    check_ptr_off_reg,
    map_is_rdonly,
    map_kptr_match_type,
)
from bpf.verifier.access.memory import (
    PACKETS,
    check_helper_mem_access,
    check_mem_size_reg,
    check_ptr_alignment,
    may_access_direct_pkt_data,
)
from bpf.verifier.access.precision import mark_chain_precision
from bpf.verifier.access.precision_by_frame import mark_slot
from bpf.verifier.access.regs import check_src, is_pointer_value
from bpf.verifier.calls import special_fields
from bpf.verifier.context.btf_walk import btf_struct_ids_match
from bpf.verifier.domain.bounds import s32, s64
from bpf.verifier.domain.call_meta import CallMeta
from bpf.verifier.domain.state import STACK_SPILL, STACK_ZERO, Value
from bpf.verifier.domain.types import (
    ARG_ANYTHING,
    ARG_CONST_ALLOC_SIZE_OR_ZERO,
    ARG_CONST_MAP_PTR,
    ARG_CONST_SIZE,
    ARG_CONST_SIZE_OR_ZERO,
    ARG_DONTCARE,
    ARG_PTR_TO_ALLOC_MEM,
    ARG_PTR_TO_BTF_ID,
    ARG_PTR_TO_BTF_ID_SOCK_COMMON,
    ARG_PTR_TO_CONST_STR,
    ARG_PTR_TO_CTX,
    ARG_PTR_TO_DYNPTR,
    ARG_PTR_TO_FUNC,
    ARG_PTR_TO_KPTR,
    ARG_PTR_TO_MAP_KEY,
    ARG_PTR_TO_MAP_VALUE,
    ARG_PTR_TO_MEM,
    ARG_PTR_TO_PERCPU_BTF_ID,
    ARG_PTR_TO_SOCK_COMMON,
    ARG_PTR_TO_SOCKET,
    ARG_PTR_TO_SPIN_LOCK,
    ARG_PTR_TO_STACK,
    ARG_PTR_TO_TIMER,
    CONST_PTR_TO_MAP,
    DYNPTR_TYPE_FLAG_MASK,
    DYNPTR_TYPE_LOCAL,
    DYNPTR_TYPE_RINGBUF,
    MEM_ALIGNED,
    MEM_ALLOC,
    MEM_FIXED_SIZE,
    MEM_PERCPU,
    MEM_RCU,
    MEM_RDONLY,
    MEM_RINGBUF,
    MEM_UNINIT,
    MEM_WRITE,
    NON_OWN_REF,
    OBJ_RELEASE,
    PTR_MAYBE_NULL,
    PTR_TO_ARENA,
    PTR_TO_BTF_ID,
    PTR_TO_BUF,
    PTR_TO_CTX,
    PTR_TO_DYNPTR,
    PTR_TO_FUNC,
    PTR_TO_MAP_KEY,
    PTR_TO_MAP_VALUE,
    PTR_TO_MEM,
    PTR_TO_PACKET,
    PTR_TO_PACKET_META,
    PTR_TO_SOCK_COMMON,
    PTR_TO_SOCKET,
    PTR_TO_STACK,
    PTR_TO_TCP_SOCK,
    PTR_TO_XDP_SOCK,
    PTR_TRUSTED,
    PTR_UNTRUSTED,
    SCALAR_VALUE,
    base_type,
)
from bpf.verifier.env import Env, Rejected
from bpf.verifier.lines.insn_text import helper_name
from bpf.versions.verifier_rules import Rules

BPF_PTR_POISON: Final = "BPF_PTR_POISON"  # a BTF id that the call itself decides

# fmt: off
_KEY_VALUE: Final = (PTR_TO_STACK, PTR_TO_PACKET, PTR_TO_PACKET_META, PTR_TO_MAP_KEY, PTR_TO_MAP_VALUE)
_SOCKS: Final = (PTR_TO_SOCK_COMMON, PTR_TO_SOCKET, PTR_TO_TCP_SOCK, PTR_TO_XDP_SOCK)
# argument type: register types that will do, in the order in which they are named when none does
_COMPATIBLE: Final[dict[int, tuple[int, ...]]] = {
    ARG_PTR_TO_MAP_KEY: _KEY_VALUE,
    ARG_PTR_TO_MAP_VALUE: _KEY_VALUE,
    ARG_CONST_SIZE: (SCALAR_VALUE,),
    ARG_CONST_SIZE_OR_ZERO: (SCALAR_VALUE,),
    ARG_CONST_ALLOC_SIZE_OR_ZERO: (SCALAR_VALUE,),
    ARG_CONST_MAP_PTR: (CONST_PTR_TO_MAP,),
    ARG_PTR_TO_CTX: (PTR_TO_CTX,),
    ARG_PTR_TO_SOCK_COMMON: _SOCKS,
    ARG_PTR_TO_BTF_ID_SOCK_COMMON: (*_SOCKS, PTR_TO_BTF_ID),
    ARG_PTR_TO_SOCKET: (PTR_TO_SOCKET,),
    ARG_PTR_TO_BTF_ID: (PTR_TO_BTF_ID,),
    ARG_PTR_TO_SPIN_LOCK: (PTR_TO_MAP_VALUE,),
    ARG_PTR_TO_MEM: (*_KEY_VALUE, PTR_TO_MEM, PTR_TO_MEM | MEM_RINGBUF, PTR_TO_BUF),
    ARG_PTR_TO_ALLOC_MEM: (PTR_TO_MEM | MEM_RINGBUF,),
    ARG_PTR_TO_PERCPU_BTF_ID: (PTR_TO_BTF_ID | MEM_PERCPU,),
    ARG_PTR_TO_FUNC: (PTR_TO_FUNC,),
    ARG_PTR_TO_STACK: (PTR_TO_STACK,),
    ARG_PTR_TO_CONST_STR: (PTR_TO_MAP_VALUE,),
    ARG_PTR_TO_TIMER: (PTR_TO_MAP_VALUE,),
    ARG_PTR_TO_KPTR: (PTR_TO_MAP_VALUE,),
    ARG_PTR_TO_DYNPTR: (PTR_TO_STACK, PTR_TO_DYNPTR | DYNPTR_TYPE_LOCAL),
}
_MEMORY_6_3: Final = (*_KEY_VALUE, PTR_TO_MEM, PTR_TO_MEM | MEM_RINGBUF, PTR_TO_BUF, PTR_TO_BTF_ID | PTR_TRUSTED)
_MORE_SINCE_6_3: Final[dict[tuple[int, ...], tuple[int, ...]]] = {
    _KEY_VALUE: _MEMORY_6_3,
    _COMPATIBLE[ARG_PTR_TO_MEM]: _MEMORY_6_3,
    _COMPATIBLE[ARG_PTR_TO_BTF_ID]: (PTR_TO_BTF_ID, PTR_TO_BTF_ID | PTR_TRUSTED, PTR_TO_BTF_ID | MEM_RCU),
    _COMPATIBLE[ARG_PTR_TO_BTF_ID_SOCK_COMMON]: (*_SOCKS, PTR_TO_BTF_ID, PTR_TO_BTF_ID | PTR_TRUSTED),
}
_LOCAL: Final = PTR_TO_BTF_ID | MEM_ALLOC
_PERCPU: Final = PTR_TO_BTF_ID | MEM_PERCPU
# arguments whose registers may be of more types by version (first those since 6.2); the newest row that holds counts
_LATER: Final[dict[int, tuple[tuple[Callable[[Rules], bool], tuple[int, ...]], ...]]] = {
    ARG_PTR_TO_SPIN_LOCK: ((lambda rules: rules.fields_recorded, (PTR_TO_MAP_VALUE, _LOCAL)),),
    ARG_PTR_TO_PERCPU_BTF_ID: ((lambda rules: rules.trust_may_differ, (_PERCPU, _PERCPU | MEM_RCU, _PERCPU | PTR_TRUSTED)),),
    ARG_PTR_TO_KPTR: (
        (lambda rules: rules.kptrs_in_objects, (PTR_TO_MAP_VALUE, _LOCAL)),
        (lambda rules: rules.kptrs_in_shared_objects,
         (PTR_TO_MAP_VALUE, _LOCAL, _LOCAL | NON_OWN_REF, _LOCAL | NON_OWN_REF | MEM_RCU)),
    ),
}
_STRUCTS: Final = frozenset(
    PTR_TO_BTF_ID | flags
    for flags in (0, PTR_TRUSTED, PTR_TRUSTED | PTR_MAYBE_NULL, MEM_RCU, PTR_MAYBE_NULL, PTR_MAYBE_NULL | MEM_RCU)
)
_TAKE_OBJECTS: Final = (uapi.BPF_FUNC_spin_lock, uapi.BPF_FUNC_spin_unlock, uapi.BPF_FUNC_kptr_xchg)
_ALWAYS_THERE: Final = (uapi.BPF_MAP_TYPE_ARRAY, uapi.BPF_MAP_TYPE_PERCPU_ARRAY)  # elements of these
_SOCKET_LOOKUPS: Final = (uapi.BPF_FUNC_sk_lookup_tcp, uapi.BPF_FUNC_sk_lookup_udp, uapi.BPF_FUNC_skc_lookup_tcp)
_ANY_OFFSET: Final = frozenset({
    PTR_TO_STACK, PTR_TO_PACKET, PTR_TO_PACKET_META, PTR_TO_MAP_KEY, PTR_TO_MAP_VALUE, PTR_TO_MEM,
    PTR_TO_MEM | MEM_RDONLY, PTR_TO_MEM | MEM_RINGBUF, PTR_TO_BUF, PTR_TO_BUF | MEM_RDONLY, SCALAR_VALUE,
})
# fmt: on


def check_func_arg_reg_off(env: Env, v: Value, regno: int, arg_type: int) -> None:
    """Pointers with an offset are only taken where the helper knows what to do with one."""
    if env.rules.trusted_pointers:
        _check_arg_off_6_2(env, v, regno, arg_type)
        return
    fixed_off_ok = False
    if v.type == PTR_TO_STACK and base_type(arg_type) == ARG_PTR_TO_DYNPTR and v.off % 8:
        env.reject(EINVAL, "cannot pass in dynptr at an offset")
    if v.type in _ANY_OFFSET:
        # memory from a ring buffer is given back by its very start
        if base_type(arg_type) != ARG_PTR_TO_ALLOC_MEM:
            return
    elif v.type == PTR_TO_BTF_ID:
        if arg_type & OBJ_RELEASE and v.off:
            env.reject(EINVAL, f"R{regno} must have zero offset when passed to release func")
        fixed_off_ok = True
    check_ptr_off_reg(env, v, regno, fixed_off_ok)


_ANY_OFFSET_6_2: Final = _ANY_OFFSET | {
    PTR_TO_MEM | MEM_RINGBUF | MEM_RDONLY,
    PTR_TO_MEM | PTR_UNTRUSTED | MEM_RDONLY,
    PTR_TO_DYNPTR,
    PTR_TO_ARENA,
}
_OBJECTS_6_2: Final = frozenset(
    PTR_TO_BTF_ID | flags
    for flags in (0, MEM_ALLOC, PTR_TRUSTED, MEM_RCU, MEM_ALLOC | NON_OWN_REF, MEM_ALLOC | NON_OWN_REF | MEM_RCU)
)  # fmt: skip


def _check_arg_off_6_2(env: Env, v: Value, regno: int, arg_type: int) -> None:
    """check_func_arg_reg_off() since 6.2: what is released has no offset."""
    if arg_type & OBJ_RELEASE:
        if base_type(arg_type) == ARG_PTR_TO_DYNPTR and v.type == PTR_TO_STACK:
            return
        if v.off:
            where = f"R{regno} must have zero offset when passed to release func or trusted arg to kfunc"
            env.reject(EINVAL, where)
        check_ptr_off_reg(env, v, regno)
        return
    if v.type == PTR_TO_CTX and arg_type != ARG_PTR_TO_CTX and ctx_place.offsets_vary(env):
        return
    if v.type not in _ANY_OFFSET_6_2:
        check_ptr_off_reg(env, v, regno, v.type in _OBJECTS_6_2)


def check_reg_type(env: Env, regno: int, arg_type: int, btf_name: str | None, meta: CallMeta) -> None:
    """Is the register's type one that this kind of argument takes?"""
    v = env.regs[regno].value
    compatible = _COMPATIBLE[base_type(arg_type)]
    word = v.type
    if env.rules.memory_for_keys and compatible in _MORE_SINCE_6_3:
        compatible = _MORE_SINCE_6_3[compatible]
        if compatible == _MEMORY_6_3 and env.rules.ctx_named_as_memory:
            compatible = (*compatible, PTR_TO_CTX)
    for holds, types in _LATER.get(base_type(arg_type), ()):
        if holds(env.rules):
            compatible = types
    if env.rules.slot_objects and compatible == _COMPATIBLE[ARG_PTR_TO_DYNPTR]:
        compatible = (PTR_TO_STACK, PTR_TO_DYNPTR)
    if not env.rules.composed_types:
        compatible = _compatible_before_5_17(env, arg_type, compatible)
    else:
        if arg_type & MEM_RDONLY:
            word &= ~MEM_RDONLY
        if arg_type & PTR_MAYBE_NULL:
            word &= ~PTR_MAYBE_NULL
    if regno == 2 and meta.func_id == uapi.BPF_FUNC_kptr_xchg and env.rules.fields_recorded and word & MEM_ALLOC:
        word &= ~(MEM_ALLOC | MEM_PERCPU)
    if word not in compatible:
        wanted = ", ".join(env.type_name(each) for each in compatible)
        env.reject(EACCES, f"R{regno} type={env.type_name(v.type)} expected={wanted}")
    if env.rules.trusted_pointers:
        _check_object(env, v, regno, arg_type, btf_name, meta, compatible)
    elif v.type == PTR_TO_BTF_ID:
        _check_btf_type(env, v, regno, arg_type, btf_name, meta)


def _check_object(
    env: Env, v: Value, regno: int, arg_type: int, btf_name: str | None, meta: CallMeta, compatible: tuple[int, ...]
) -> None:
    """The rest of check_reg_type() since 6.2: pointers to structs."""
    if base_type(v.type) != PTR_TO_BTF_ID or (v.type & MEM_PERCPU and not v.type & MEM_ALLOC):
        return
    if compatible[: len(_MEMORY_6_3)] == _MEMORY_6_3:
        if not arg_type & MEM_RDONLY:
            name = helper_name(env, meta.func_id)
            env.reject(EACCES, f"{name}() may write into memory pointed by R{regno} type={env.type_name(v.type)}")
        return
    if v.type in _STRUCTS:
        if v.type & PTR_MAYBE_NULL and (not arg_type & PTR_MAYBE_NULL or arg_type & OBJ_RELEASE):
            which = f"R{regno}" if env.rules.arguments_by_register else f"arg{regno}"
            env.reject(EACCES, f"Possibly NULL pointer passed to helper {which}")
        _check_btf_type(env, v, regno, arg_type, btf_name, meta)
    elif not v.type & MEM_ALLOC or v.type & PTR_MAYBE_NULL:
        env.bug("invalid PTR_TO_BTF_ID register for type match")
    elif meta.func_id not in _TAKE_OBJECTS:
        env.bug("unimplemented handling of MEM_ALLOC")
    elif meta.func_id == uapi.BPF_FUNC_kptr_xchg and regno == 2:
        _check_btf_type(env, v, regno, arg_type, btf_name, meta)


def _compatible_before_5_17(env: Env, arg_type: int, compatible: tuple[int, ...]) -> tuple[int, ...]:
    """Types without flags: a read-only buffer stands in the list, memory of a ring buffer is memory."""
    found: list[int] = []
    fixed = arg_type & MEM_FIXED_SIZE and not env.rules.fixed_size_memory
    for word in compatible:
        if word == PTR_TO_MAP_KEY and not env.rules.map_keys:
            continue
        if fixed and word not in _KEY_VALUE:
            continue
        if word == PTR_TO_MEM | MEM_RINGBUF and not env.rules.allocated_memory:
            word = PTR_TO_MEM
        if word == PTR_TO_BUF:
            found.append(PTR_TO_BUF | MEM_RDONLY)
        if word not in found:
            found.append(word)
    return tuple(found)


def _check_btf_type(env: Env, v: Value, regno: int, arg_type: int, btf_name: str | None, meta: CallMeta) -> None:
    strict = bool(arg_type & OBJ_RELEASE) and meta.func_id != uapi.BPF_FUNC_sk_release
    if btf_name is None:
        if base_type(arg_type) != ARG_PTR_TO_BTF_ID_SOCK_COMMON:
            env.reject(EFAULT, "verifier internal error: missing arg compatible BTF ID")
        btf_name = "sock_common"
    if meta.func_id == uapi.BPF_FUNC_kptr_xchg:
        assert meta.kptr is not None
        try:
            map_kptr_match_type(env, meta.kptr, v, regno)
        except Rejected:
            env.reject(EACCES)
        return
    if btf_name == BPF_PTR_POISON:
        env.verbose("verifier internal error:")
        env.reject(EACCES, f"R{regno} has non-overwritten BPF_PTR_POISON type")
    wanted = env.vmlinux.find(btf_name, Kind.STRUCT)
    if env.rules.offsets_in_bounds:
        check_ptr_off_reg(env, v, regno, True)
    if not btf_struct_ids_match(env, v.raw1, v.raw2, v.off, env.vmlinux, wanted, strict):
        name = v.raw1.name_of(v.raw2)
        env.reject(EACCES, f"R{regno} is of type {name} but {btf_name} is expected")


def _resolve_map_arg_type(env: Env, meta: CallMeta, arg_type: int) -> int:
    """Some maps have other things for values."""
    if meta.map_ptr is None:
        env.reject(EACCES, "invalid map_ptr to access map->type")
    kind = meta.map_ptr.map_type
    if kind in (uapi.BPF_MAP_TYPE_SOCKMAP, uapi.BPF_MAP_TYPE_SOCKHASH):
        if arg_type != ARG_PTR_TO_MAP_VALUE:
            env.reject(EINVAL, "invalid arg_type for sockmap/sockhash")
        return ARG_PTR_TO_BTF_ID_SOCK_COMMON
    if kind == uapi.BPF_MAP_TYPE_BLOOM_FILTER and meta.func_id == uapi.BPF_FUNC_map_peek_elem:
        return ARG_PTR_TO_MAP_VALUE  # what peek reads is the question, not the answer
    return arg_type


def check_func_arg(env: Env, arg: int, meta: CallMeta, fn: FuncProto) -> None:
    """Argument number `arg`, from 0."""
    arg_type = fn.arg_types[arg]
    if arg_type == ARG_DONTCARE:
        return
    regno = arg + 1
    check_src(env, regno)
    v = env.regs[regno].value
    if arg_type == ARG_ANYTHING:
        if meta.func_id == uapi.BPF_FUNC_loop and arg == 0 and env.rules.loop_count_is_number:
            check_reg_type(env, regno, ARG_CONST_SIZE, None, meta)
        if is_pointer_value(env, v):
            env.reject(EACCES, f"R{regno} leaks addr into helper function")
        return
    if base_type(v.type) in PACKETS and not may_access_direct_pkt_data(env, meta, READ):
        env.reject(EACCES, "helper access to the packet is not allowed")
    if base_type(arg_type) == ARG_PTR_TO_MAP_VALUE:
        arg_type = _resolve_map_arg_type(env, meta, arg_type)
    if v.is_null and arg_type & PTR_MAYBE_NULL:
        if env.rules.null_argument_precise:
            mark_chain_precision(env, regno)
    else:
        btf_name = fn.arg_btf_ids[arg] if base_type(arg_type) == ARG_PTR_TO_BTF_ID else None
        check_reg_type(env, regno, arg_type, btf_name, meta)
        if env.rules.argument_offsets:
            check_func_arg_reg_off(env, v, regno, arg_type)
        elif v.type == PTR_TO_CTX:
            check_ptr_off_reg(env, v, regno)
        elif v.type == PTR_TO_BTF_ID and v.var_off != (0, 0):
            env.reject(EACCES, f"R{regno} is a pointer to in-kernel struct with non-zero offset")
    if arg_type & OBJ_RELEASE and env.rules.release_flag:
        _note_release(env, v, regno, arg_type, meta)
    if v.ref_obj_id and (base_type(arg_type) != ARG_PTR_TO_KPTR or not env.rules.kptrs_in_objects):
        if meta.ref_obj_id:
            env.reject(
                EFAULT,
                f"verifier internal error: more than one arg with ref_obj_id R{regno} {v.ref_obj_id} {meta.ref_obj_id}",
            )
        meta.ref_obj_id = v.ref_obj_id
    check = _BY_TYPE.get(base_type(arg_type))
    if check is not None:
        check(env, v, arg, arg_type, meta, fn)


def _note_release(env: Env, v: Value, regno: int, arg_type: int, meta: CallMeta) -> None:
    if base_type(arg_type) == ARG_PTR_TO_DYNPTR and env.rules.slot_objects:
        if v.type == PTR_TO_DYNPTR:
            env.reject(EINVAL, "cannot release unowned const bpf_dynptr")
        if not env.rules.dynptr_parents and not dynptr_slots.holds_reference(env, v):
            env.reject(EINVAL, f"arg {regno} is an unacquired reference")
    elif base_type(arg_type) == ARG_PTR_TO_DYNPTR:
        frame = env.cur.frames[v.frameno]
        spi = dynptr.get_spi(v.off)
        if not dynptr.spi_is_valid(frame, spi) or not frame.stack[spi].value.id:
            env.reject(EINVAL, f"arg {regno} is an unacquired reference")
    elif not v.ref_obj_id and not v.is_null:
        if env.rules.arguments_by_register:
            name = helper_name(env, meta.func_id)
            env.reject(EINVAL, f"release helper {name} expects referenced PTR_TO_BTF_ID passed to R{regno}")
        env.reject(EINVAL, f"R{regno} must be referenced when passed to release function")
    if meta.release_regno:
        env.reject(EFAULT, "verifier internal error: more than one release argument")
    meta.release_regno = regno


# ---- by argument type ----


def _map_ptr(env: Env, v: Value, arg: int, arg_type: int, meta: CallMeta, fn: FuncProto) -> None:
    if meta.map_ptr is not None and (meta.map_ptr is not v.raw1 or meta.map_uid != v.raw2):
        # bpf_timer_init(timer, map): a timer belongs to the map it lies in
        env.reject(
            EINVAL,
            f"timer pointer in R1 map_uid={meta.map_uid} doesn't match map pointer in R2 map_uid={v.raw2}",
        )
    meta.map_ptr = v.map
    meta.map_uid = v.raw2


def _map_key(env: Env, v: Value, arg: int, arg_type: int, meta: CallMeta, fn: FuncProto) -> None:
    if meta.map_ptr is None:
        env.reject(EACCES, "invalid map_ptr to access map->key")
    check_helper_mem_access(env, arg + 1, meta.map_ptr.key_size, READ, False, None)
    if env.rules.constant_keys:
        m = meta.map_ptr
        if m.map_type in _ALWAYS_THERE and not m.map_flags & uapi.BPF_F_INNER_MAP:
            meta.const_map_key = _constant_key(env, v, m.key_size)


def _constant_key(env: Env, v: Value, size: int) -> int:
    """The key on the stack, if it is known; -1: it is not.  get_constant_map_key()."""
    if not env.bpf_capable or v.type != PTR_TO_STACK or v.var_off[1]:
        return -1
    at = -s32(s64(v.var_off[0]) + v.off) - 1
    slot = env.cur.frames[v.frameno].stack[at // 8]
    kinds = slot.kinds[: at % 8 + 1][::-1]
    zeros = next((i for i, kind in enumerate(kinds) if kind != STACK_ZERO), len(kinds))
    if zeros >= size:
        return 0
    spilled = next((i for i, kind in enumerate(kinds) if kind != STACK_SPILL), len(kinds))
    if not slot.is_spilled_reg or slot.value.type != SCALAR_VALUE or spilled != size or slot.value.var_off[1]:
        return -1
    mark_slot(env, v.frameno, at // 8)
    return s64(slot.value.var_off[0])


def _access_of(arg_type: int) -> int:
    return WRITE if arg_type & MEM_WRITE else READ


def _map_value(env: Env, v: Value, arg: int, arg_type: int, meta: CallMeta, fn: FuncProto) -> None:
    if arg_type & PTR_MAYBE_NULL and v.is_null:
        return
    if meta.map_ptr is None:
        env.reject(EACCES, "invalid map_ptr to access map->value")
    meta.raw_mode = bool(arg_type & MEM_UNINIT)
    check_helper_mem_access(env, arg + 1, meta.map_ptr.value_size, _access_of(arg_type), False, meta)


def _percpu_btf(env: Env, v: Value, arg: int, arg_type: int, meta: CallMeta, fn: FuncProto) -> None:
    if not v.raw2:
        env.reject(EACCES, f"Helper has invalid btf_id in R{arg + 1}")
    meta.ret_btf = v.raw1
    meta.ret_btf_id = v.raw2
    meta.own_percpu = bool(v.type & MEM_RCU)


def _func(env: Env, v: Value, arg: int, arg_type: int, meta: CallMeta, fn: FuncProto) -> None:
    meta.subprogno = v.raw1


def _mem(env: Env, v: Value, arg: int, arg_type: int, meta: CallMeta, fn: FuncProto) -> None:
    meta.raw_mode = bool(arg_type & MEM_UNINIT)
    if arg_type & MEM_FIXED_SIZE and not env.rules.fixed_size_memory:
        meta.raw_mode = False  # a result by pointer had to be there before
    if arg_type & MEM_FIXED_SIZE:
        size = fn.arg_sizes[arg]
        check_helper_mem_access(env, arg + 1, size, _access_of(arg_type), False, meta)
        if arg_type & MEM_ALIGNED:
            check_ptr_alignment(env, v, 0, size, True)


def _size(env: Env, v: Value, arg: int, arg_type: int, meta: CallMeta, fn: FuncProto) -> None:
    zero_ok = base_type(arg_type) == ARG_CONST_SIZE_OR_ZERO
    if env.rules.lookup_size_may_be_zero and meta.func_id in _SOCKET_LOOKUPS:
        zero_ok = True
    check_mem_size_reg(env, arg + 1, _access_of(fn.arg_types[arg - 1]), zero_ok, meta)


def _alloc_size(env: Env, v: Value, arg: int, arg_type: int, meta: CallMeta, fn: FuncProto) -> None:
    if v.var_off[1]:
        if not env.rules.constant_allocation:
            env.reject(EACCES, f"R{arg + 1} unbounded size, use 'var &= const' or 'if (var < const)'")
        env.reject(EACCES, f"R{arg + 1} is not a known constant'")
    meta.mem_size = s32(v.var_off[0])
    if env.rules.constant_allocation:
        mark_chain_precision(env, arg + 1)


_DYNPTRS_READ: Final = (uapi.BPF_FUNC_dynptr_read, uapi.BPF_FUNC_dynptr_write, uapi.BPF_FUNC_dynptr_data)


def _dynptr(env: Env, v: Value, arg: int, arg_type: int, meta: CallMeta, fn: FuncProto) -> None:
    if env.rules.slot_objects:
        reads = meta.func_id in _DYNPTRS_READ
        dynptr_slots.process(env, arg + 1, env.insn_idx, arg_type | (MEM_RDONLY if reads else 0))
        return
    if base_type(v.type) == PTR_TO_DYNPTR:
        return
    if arg_type & MEM_UNINIT:
        if not dynptr.is_dynptr_uninit(env, v):
            env.reject(EINVAL, "Dynptr has to be an uninitialized dynptr")
        if meta.uninit_dynptr_regno:
            env.reject(EFAULT, "verifier internal error: multiple uninitialized dynptr args")
        meta.uninit_dynptr_regno = arg + 1
    elif not dynptr.is_dynptr_init(env, v):
        env.reject(EINVAL, f"Expected an initialized dynptr as arg #{arg + 1}")
    elif not dynptr.is_dynptr_type_expected(env, v, arg_type):
        names = {DYNPTR_TYPE_LOCAL: "local", DYNPTR_TYPE_RINGBUF: "ringbuf"}
        kind = names.get(arg_type & DYNPTR_TYPE_FLAG_MASK, "<unknown>")
        env.reject(EINVAL, f"Expected a dynptr of type {kind} as arg #{arg + 1}")


def _const_str(env: Env, v: Value, arg: int, arg_type: int, meta: CallMeta, fn: FuncProto) -> None:
    check_const_str(env, v, arg + 1)


def check_const_str(env: Env, v: Value, regno: int) -> None:
    """A string that nobody changes: check_reg_const_str()."""
    m = v.map
    if m.jumps is not None:
        env.reject(EACCES, f"R{regno} points to insn_array map which cannot be used as const string")
    if not map_is_rdonly(m):
        env.reject(EACCES, f"R{regno} does not point to a readonly map'")
    if v.var_off[1]:
        env.reject(EACCES, f"R{regno} is not a constant address'")
    if m.map_type != uapi.BPF_MAP_TYPE_ARRAY or m.value_read is None:
        env.reject(EACCES, "no direct value access support for this map type")
    check_map_access(env, regno, v.off, m.value_size - v.off, False, direct=False)
    if m.max_entries != 1:
        env.reject(ENOTSUPP, "direct value access on string failed")
    at = v.off + s64(v.var_off[0])
    if all(m.value_read(i, 1) for i in range(at, m.value_size)):
        env.reject(EINVAL, "string is not zero-terminated")


_Check = Callable[[Env, Value, int, int, CallMeta, FuncProto], None]
_BY_TYPE: Final[dict[int, _Check]] = {
    ARG_CONST_MAP_PTR: _map_ptr,
    ARG_PTR_TO_MAP_KEY: _map_key,
    ARG_PTR_TO_MAP_VALUE: _map_value,
    ARG_PTR_TO_PERCPU_BTF_ID: _percpu_btf,
    ARG_PTR_TO_SPIN_LOCK: special_fields.spin_lock,
    ARG_PTR_TO_TIMER: special_fields.timer,
    ARG_PTR_TO_FUNC: _func,
    ARG_PTR_TO_MEM: _mem,
    ARG_CONST_SIZE: _size,
    ARG_CONST_SIZE_OR_ZERO: _size,
    ARG_PTR_TO_DYNPTR: _dynptr,
    ARG_CONST_ALLOC_SIZE_OR_ZERO: _alloc_size,
    ARG_PTR_TO_CONST_STR: _const_str,
    ARG_PTR_TO_KPTR: special_fields.kptr,
}
