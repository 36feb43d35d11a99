"""What lies at an offset of a kernel struct, and what the arguments of a traced function are.

btf_struct_walk(), btf_struct_access(), btf_struct_ids_match(), btf_ctx_access() and btf_get_prog_ctx_type() of
kernel/bpf/btf.c.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from arch.abi.errno import EACCES, EFAULT, EINVAL
from arch.abi.limits import U32_MAX
from arch.records import dataclass
from bpf import uapi
from bpf.btf.codec import COMPOSITES, ENUMS, MODIFIERS, SIZED, Btf, BtfType, Kind
from bpf.verifier.context.ctx_rule import AccessInfo
from bpf.verifier.domain.types import (
    MEM_PERCPU,
    MEM_RCU,
    MEM_USER,
    PTR_MAYBE_NULL,
    PTR_TO_BTF_ID,
    PTR_TO_BUF,
    PTR_TRUSTED,
    PTR_UNTRUSTED,
    SCALAR_VALUE,
    base_type,
)
from bpf.verifier.env import Env, Rejected
from bpf.versions.program_types import program_types
from bpf.versions.raw_tp_arguments import MAY_BE_ERRNO, MAY_BE_NULL, raw_tp_arguments

WALK_SCALAR: Final = 0
WALK_PTR: Final = 1
WALK_STRUCT: Final = 2
WALK_PTR_UNTRUSTED: Final = 3  # to what is no struct

MAX_BPF_FUNC_REG_ARGS: Final = 5

# bpf_ctx_convert: program type -> names its context struct can have in a program, and its struct in the kernel.
# include/linux/bpf_types.h
CTX_CONVERT: Final[dict[int, tuple[tuple[str, ...], str]]] = {
    row.number: (row.context, row.kernel_context) for row in program_types() if row.context
}


def type_by_id(btf: Btf, type_id: int) -> BtfType | None:
    """btf_type_by_id(): None where the kernel has NULL."""
    if not 0 <= type_id < len(btf):
        return None
    return btf[type_id]


def shown_name(name: str) -> str:
    """__btf_name_by_offset()."""
    return name or "(anon)"


def kind_text(t: BtfType) -> str:
    """btf_type_str()."""
    return "UNKNOWN" if t.kind is Kind.VOID else t.kind.name


def type_text(t: BtfType) -> str:
    """Kind and name; void has none."""
    return f"{kind_text(t)} {'' if t.kind is Kind.VOID else t.name}"


def is_small_int(t: BtfType) -> bool:
    """btf_type_is_small_int()."""
    return t.kind is Kind.INT and t.size <= 8


def is_any_enum(t: BtfType) -> bool:
    """btf_is_any_enum()."""
    return t.kind in ENUMS


def is_scalar(t: BtfType) -> bool:
    """btf_type_is_scalar()."""
    return t.kind is Kind.INT or t.kind in ENUMS


@dataclass(slots=True)
class Resolved:
    """What __btf_resolve_size() finds out about a type."""

    type: BtfType  # the array itself, if it is one
    type_id: int  # without modifiers
    size: int  # bytes, of the whole
    elem: BtfType
    elem_id: int
    nelems: int


def resolve_size(btf: Btf, type_id: int) -> Resolved | None:
    """Size of a type, and of the elements of an array of arrays; None: it has no size."""
    array: BtfType | None = None
    found_id, nelems, elem_id = type_id, 1, 0
    for _ in range(32):
        t = btf[type_id]
        if t.kind in SIZED and t.kind is not Kind.DATASEC:
            size = t.size
        elif t.kind is Kind.PTR:
            size = btf.pointer_size
        elif t.kind in MODIFIERS:
            type_id = t.type
            if array is None:
                found_id = type_id
            continue
        elif t.kind is Kind.ARRAY:
            array = array or t
            nelems *= t.nelems
            type_id = elem_id = t.type
            continue
        else:
            return None
        if array is None:
            return Resolved(t, found_id, size, t, 0, 1)
        return Resolved(array, found_id, size * nelems, t, elem_id, nelems)
    return None


# ---- structs ----


@dataclass(slots=True)
class Step:
    """Where a walk into a struct arrived."""

    result: int
    type_id: int = 0
    flag: int = 0
    member: str = ""  # that holds the pointer found


def _flexible_array(btf: Btf, t: BtfType, off: int, numbers: bool) -> tuple[BtfType, int] | None:
    """Beyond the end of a struct whose last member is `x[0]`: (element type, offset in the element)."""
    if not t.members:
        return None
    member = t.members[-1]
    array = btf.resolved(member.type)
    if array.kind is not Kind.ARRAY or array.nelems:
        return None
    start = member.bit_offset // 8
    if off < start:
        return None
    elem = btf.resolved(array.type)
    if elem.kind is Kind.INT:
        return (elem, 0) if numbers else None
    if elem.kind not in COMPOSITES or not elem.size:
        return None
    return elem, (off - start) % elem.size


_TAGS: Final = {"user": MEM_USER, "percpu": MEM_PERCPU}
_TAGS_6_2: Final = _TAGS | {"rcu": MEM_RCU}


def _pointer_tag(btf: Btf, target: int, tags: Mapping[str, int] = _TAGS) -> int:
    """MEM_USER, MEM_PERCPU or (of members, since 6.2) MEM_RCU by the type tag of what a pointer points to."""
    t = btf[target]
    return tags.get(t.name, 0) if t.kind is Kind.TYPE_TAG else 0


def btf_struct_walk(
    env: Env, btf: Btf, type_id: int, off: int, size: int, flag: int = 0, flexible: bool = True
) -> Step:
    """Find the member at an offset; descends into structs that do not begin there."""
    t = btf.resolved(type_id) if env.rules.elements_resolved else btf[type_id]
    while True:
        if t.kind not in COMPOSITES:
            env.reject(EINVAL, f"Type '{shown_name(t.name)}' is not a struct")
        if t.kind is Kind.UNION and len(t.members) != 1 and env.rules.unions_untrusted:
            flag |= PTR_UNTRUSTED  # who knows which of the members it is
        if (off + size) & U32_MAX > t.size:  # compared unsigned: below zero is beyond
            where = off & U32_MAX
            beyond = _flexible_array(btf, t, where, env.rules.flexible_numbers) if flexible else None
            if beyond is None:
                env.reject(EACCES, f"access beyond struct {shown_name(t.name)} at off {where} size {size}")
            if beyond[0].kind is Kind.INT:
                return Step(WALK_SCALAR)
            t, off = beyond
            continue
        inner = _walk_members(env, btf, t, off, size, flag)
        if isinstance(inner, Step):
            return inner
        t, off = inner


def _walk_members(env: Env, btf: Btf, t: BtfType, off: int, size: int, flag: int) -> Step | tuple[BtfType, int]:
    for member in t.members:
        start = member.bit_offset // 8
        if off + size <= start:
            break
        if member.bit_size:
            end_byte = (member.bit_offset + member.bit_size + 7) // 8
            if off <= start and end_byte <= off + size:
                return Step(WALK_SCALAR)
            continue
        if off < start:
            break
        resolved = resolve_size(btf, member.type)
        if resolved is None:
            env.reject(EFAULT, f"field {shown_name(member.name)} doesn't have size")
        end = start + resolved.size
        if off >= end:
            continue
        mtype, mid, msize = resolved.type, resolved.type_id, resolved.size
        if mtype.kind is Kind.ARRAY:
            if start == end:
                continue
            msize //= resolved.nelems
            start += (off - start) // msize * msize
            mtype, mid = resolved.elem, resolved.elem_id
        if mtype.kind in COMPOSITES:
            if off == start:
                return Step(WALK_STRUCT, mid, flag)
            return mtype, off - start
        if mtype.kind is Kind.PTR:
            if msize != size or off != start:
                env.reject(
                    EACCES,
                    f"cannot access ptr member {shown_name(member.name)} with moff {start} in struct {shown_name(t.name)} "
                    f"with off {off} size {size}",
                )
            target = btf.skip(mtype.type)
            if btf[target].kind in COMPOSITES:
                tags = _TAGS_6_2 if env.rules.trusted_pointers else _TAGS
                return Step(WALK_PTR, target, flag | _pointer_tag(btf, mtype.type, tags), member.name)
            if env.rules.other_pointers_read:
                return Step(WALK_PTR_UNTRUSTED)
        if off + size > end and not flag & PTR_UNTRUSTED:
            env.reject(
                EACCES,
                f"access beyond the end of member {shown_name(member.name)} (mend:{end}) in struct {shown_name(t.name)} "
                f"with off {off} size {size}",
            )
        return Step(WALK_SCALAR)
    env.reject(EINVAL, f"struct {shown_name(t.name)} doesn't have field at offset {off}")


def btf_struct_access(env: Env, btf: Btf, type_id: int, off: int, size: int) -> tuple[int, int, int]:
    """A load from a kernel struct: (type of what is loaded, type id, flags)."""
    step = find_member(env, btf, type_id, off, size)
    return (PTR_TO_BTF_ID, step.type_id, step.flag) if step.result == WALK_PTR else (SCALAR_VALUE, 0, 0)


def find_member(env: Env, btf: Btf, type_id: int, off: int, size: int, flexible: bool = True) -> Step:
    """The number or pointer that a load from a struct gets."""
    flag = 0
    while True:
        step = btf_struct_walk(env, btf, type_id, off, size, flag, flexible)
        if step.result != WALK_STRUCT:
            return step
        type_id, off, flag = step.type_id, 0, step.flag


def same_types(btf: Btf, type_id: int, need_btf: Btf, need_id: int) -> bool:
    """btf_types_are_same()."""
    return type_id == need_id and btf is need_btf


def btf_struct_ids_match(
    env: Env, btf: Btf, type_id: int, off: int, need_btf: Btf, need_id: int, strict: bool, flexible: bool = True
) -> bool:
    """The struct at this offset is the wanted one, or begins with it."""
    if off == 0 and type_id == need_id and btf is need_btf:
        return True
    if strict:
        return False
    while type_by_id(btf, type_id) is not None:
        try:
            step = btf_struct_walk(env, btf, type_id, off, 1, 0, flexible)
        except Rejected:
            return False
        if step.result != WALK_STRUCT:
            return False
        type_id = step.type_id
        if type_id == need_id and btf is need_btf:
            return True
        off = 0
    return False


# ---- contexts ----


def is_prog_ctx_type(env: Env, btf: Btf, pointer: BtfType, prog_type: int, arg: int) -> bool:
    """A pointer to the context struct of this program type: btf_get_prog_ctx_type()."""
    t = btf.resolved(pointer.type)
    if t.kind not in COMPOSITES:
        if env.level and not env.rules.global_memory:
            env.verbose(f"arg#{arg} type is not a struct\n")
        return False
    if not t.name:
        if not env.rules.arguments_prepared:
            env.verbose(f"arg#{arg} struct doesn't have a name\n")
        return False
    names, _ = CTX_CONVERT.get(prog_type, ((), ""))
    return t.name in names


def _ctx_arg_idx(env: Env, btf: Btf, proto: BtfType | None, off: int) -> int:
    """Which argument lies at an offset; one more: the return value; get_ctx_arg_idx()."""
    if not env.rules.struct_arguments:
        return off // 8 & U32_MAX
    off &= U32_MAX  # compared unsigned: below zero is beyond the last argument
    if proto is None:
        return off // 8
    at = 0
    for i, param in enumerate(proto.params):
        at += _arg_bytes(btf, param.type)
        if off < at:
            return i
    at += _arg_bytes(btf, proto.type)
    return len(proto.params) + (off >= at)


def _arg_bytes(btf: Btf, type_id: int) -> int:
    t = btf.resolved(type_id)
    return 8 if t.kind is Kind.PTR else (t.size + 7) // 8 * 8


def btf_ctx_access(env: Env, off: int, size: int, info: AccessInfo) -> bool:
    """An argument of the function a tracing or LSM program is attached to."""
    facts = env.facts
    proto: BtfType | None = facts.attach_func_proto
    name = facts.attach_func_name
    btf: Btf = env.attach_btf
    if off % 8:
        env.verbose(f"func '{name}' offset {off} is not multiple of 8\n")
        return False
    arg = _ctx_arg_idx(env, btf, proto, off)
    params = list(proto.params) if proto is not None else []
    nr_args = len(params) if proto is not None else MAX_BPF_FUNC_REG_ARGS
    if facts.attach_btf_trace:
        params = params[1:]
        nr_args -= 1
    if arg > nr_args:
        env.verbose(f"func '{name}' doesn't have {(arg + 1) & U32_MAX}-th argument\n")
        return False
    if arg == nr_args:
        type_id = _return_value(env, btf, proto, arg)
        info.is_retval = env.rules.lsm_return_range and env.expected_attach_type == uapi.BPF_LSM_MAC
        if type_id is None or proto is None:
            return type_id is not None
    elif proto is None:
        return True
    else:
        type_id = params[arg].type
    t = btf[btf.skip(type_id)]
    if is_small_int(t) or is_any_enum(t) or (t.kind is Kind.STRUCT and env.rules.struct_arguments):
        return True
    if t.kind is Kind.UNION and env.rules.union_arguments:
        return True
    if t.kind is not Kind.PTR:
        env.verbose(
            f"func '{name}' arg{arg} '{shown_name('' if t.kind is Kind.VOID else t.name)}' has type {kind_text(t)}. Only pointer access is allowed\n"
        )
        return False
    if size != 8 and env.rules.pointer_arguments_whole:
        env.verbose(f"func '{name}' size {size} must be 8\n")
        return False
    return _pointer_argument(env, btf, t, off, arg, info)


def _return_value(env: Env, btf: Btf, proto: BtfType | None, arg: int) -> int | None:
    """Type of the return value, where the program may see it; 0 if there is no prototype; None: refused."""
    attach = env.expected_attach_type
    if attach in (uapi.BPF_LSM_CGROUP, uapi.BPF_LSM_MAC, uapi.BPF_TRACE_FEXIT, uapi.BPF_TRACE_FSESSION):
        return proto.type if proto is not None else 0
    if attach == uapi.BPF_MODIFY_RETURN:
        if proto is None:
            return None
        t = btf.resolved(proto.type)
        if not is_small_int(t):
            env.verbose(f"ret type {kind_text(t)} not allowed for fmod_ret\n")
            return None
        return proto.type
    env.verbose(f"func '{env.facts.attach_func_name}' doesn't have {arg + 1}-th argument\n")
    return None


def _pointer_argument(env: Env, btf: Btf, pointer: BtfType, off: int, arg: int, info: AccessInfo) -> bool:
    name = env.facts.attach_func_name
    for known in env.facts.ctx_arg_info:
        if known.offset == off and base_type(known.reg_type) == PTR_TO_BUF and known.reg_type & PTR_MAYBE_NULL:
            info.reg_type = known.reg_type
            return True
    target_type = btf.resolved(pointer.type)
    number = target_type.kind is Kind.INT if env.rules.int_pointer_arguments else _is_string(btf, pointer)
    number = number or (env.rules.other_pointer_arguments and target_type.kind not in COMPOSITES)
    if pointer.type == 0 or number:
        return True  # void *, strings and pointers to numbers are plain numbers here
    for known in env.facts.ctx_arg_info:
        if known.offset == off:
            if not known.btf_id:
                env.verbose(f"invalid btf_id for context argument offset {off}\n")
                return False
            info.reg_type, info.btf, info.btf_id = known.reg_type, env.vmlinux, known.btf_id
            return True
    info.reg_type = PTR_TO_BTF_ID
    odd = ""
    if env.rules.trusted_pointers:
        info.reg_type |= _trust_of_argument(env, arg)
        odd = _oddity(env, arg)
        info.reg_type |= PTR_MAYBE_NULL if odd == MAY_BE_NULL else 0
    target = env.request.attach_prog
    if target is not None:
        replaced = target.attach_prog if target.prog_type == uapi.BPF_PROG_TYPE_EXT else None
        return _translate_to_vmlinux(env, btf, pointer, (replaced or target).prog_type, arg, info)
    info.reg_type |= _pointer_tag(btf, pointer.type)
    info.btf = btf
    info.btf_id = btf.skip(pointer.type)
    t = btf[info.btf_id]
    if t.kind not in COMPOSITES:
        env.verbose(f"func '{name}' arg{arg} type {kind_text(t)} is not a struct\n")
        return False
    env.verbose(f"func '{name}' arg{arg} has btf_id {info.btf_id} type {kind_text(t)} '{shown_name(t.name)}'\n")
    if odd == MAY_BE_ERRNO:
        env.verbose(f"marking pointer arg{arg} as scalar as it may encode error")
        info.reg_type = SCALAR_VALUE
    return True


def _is_string(btf: Btf, pointer: BtfType) -> bool:
    """is_string_ptr(): to a char with or without sign, perhaps constant; not by another name."""
    t = btf[pointer.type]
    if t.kind is Kind.CONST:
        t = btf[t.type]
    return t.kind is Kind.INT and t.size == 1


def _trust_of_argument(env: Env, arg: int) -> int:
    """Whether an argument may be relied on, and may be NULL: prog_args_trusted()."""
    trusted = env.prog_type == uapi.BPF_PROG_TYPE_STRUCT_OPS
    if env.prog_type == uapi.BPF_PROG_TYPE_TRACING:
        trusted = env.expected_attach_type in (uapi.BPF_TRACE_RAW_TP, uapi.BPF_TRACE_ITER)
    elif env.prog_type == uapi.BPF_PROG_TYPE_LSM:
        hook = env.facts.attach_func_name
        trusted = hook not in _UNTRUSTED_HOOKS and not (hook in _UNTRUSTED_DEVICES and env.rules.untrusted_devices)
    flag = PTR_TRUSTED if trusted else 0
    proto = env.facts.attach_func_proto
    if proto is not None and env.rules.nullable_arguments:
        first = 1 if env.facts.attach_btf_trace else 0
        if proto.params[first + arg].name.endswith("__nullable"):
            flag |= PTR_MAYBE_NULL
    return flag


def _oddity(env: Env, arg: int) -> str:
    """Whether a tracepoint's argument may be something else than its type says."""
    if not env.facts.attach_btf_trace:
        return ""
    name = env.facts.attach_func_name.removeprefix("btf_trace_")
    return raw_tp_arguments(env.version).get((name, arg), "")


# untrusted_lsm_hooks: their objects are not whole, or not any more
_UNTRUSTED_HOOKS: Final = frozenset(
    f"bpf_lsm_{name}"
    for name in [
        "bpf_map_free",
        "bpf_prog_free",
        "file_alloc_security",
        "file_free_security",
        "sk_alloc_security",
        "sk_free_security",
        "task_free",
    ]
)
_UNTRUSTED_DEVICES: Final = ("bpf_lsm_bdev_alloc_security", "bpf_lsm_bdev_free_security")


def _translate_to_vmlinux(env: Env, btf: Btf, pointer: BtfType, prog_type: int, arg: int, info: AccessInfo) -> bool:
    """The context of another program, seen from a tracing program, is the kernel's struct."""
    if not is_prog_ctx_type(env, btf, pointer, prog_type, arg):
        return False
    kernel_name = CTX_CONVERT[prog_type][1]
    info.btf = env.vmlinux
    info.btf_id = env.vmlinux.find(kernel_name, Kind.STRUCT) or env.vmlinux.find(kernel_name, Kind.TYPEDEF)
    return bool(info.btf_id)
