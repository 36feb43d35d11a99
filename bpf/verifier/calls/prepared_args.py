"""Arguments of the program's own functions since 6.8: from BTF and `arg:` tags, once, for calls and for the function itself.

btf_prepare_func_args() of kernel/bpf/btf.c, btf_check_func_arg_match() and do_check_common() of kernel/bpf/verifier.c.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from arch.abi.errno import EFAULT, EINVAL, ENOENT, EOPNOTSUPP, ESRCH
from bpf import uapi
from bpf.btf.codec import COMPOSITES, GLOBAL, MODIFIERS, Btf, BtfType, Kind, essential_name
from bpf.verifier.access import dynptr_slots
from bpf.verifier.access.memory import check_mem_reg
from bpf.verifier.access.regs import mark_unknown
from bpf.verifier.access.slot_objects import DYNPTR_LOCAL
from bpf.verifier.calls.args import check_func_arg_reg_off, check_reg_type
from bpf.verifier.context.btf_walk import (
    CTX_CONVERT,
    MAX_BPF_FUNC_REG_ARGS,
    is_any_enum,
    is_prog_ctx_type,
    kind_text,
    resolve_size,
    type_by_id,
    type_text,
)
from bpf.verifier.domain.call_meta import CallMeta
from bpf.verifier.domain.state import Reg, Value, known_zero
from bpf.verifier.domain.types import (
    ARG_ANYTHING,
    ARG_DONTCARE,
    ARG_PTR_TO_ARENA,
    ARG_PTR_TO_BTF_ID,
    ARG_PTR_TO_CTX,
    ARG_PTR_TO_DYNPTR,
    ARG_PTR_TO_MEM,
    MEM_RDONLY,
    PTR_MAYBE_NULL,
    PTR_TO_ARENA,
    PTR_TO_BTF_ID,
    PTR_TO_CTX,
    PTR_TO_DYNPTR,
    PTR_TO_MEM,
    PTR_TRUSTED,
    PTR_UNTRUSTED,
    SCALAR_VALUE,
    base_type,
)
from bpf.verifier.env import Env, FuncArg, Rejected
from bpf.versions.attach_groups import AROUND_FUNCTIONS

TAG_PREFIX: Final = "arg:"
TAG_CTX, TAG_NONNULL, TAG_TRUSTED, TAG_NULLABLE, TAG_UNTRUSTED = "ctx", "nonnull", "trusted", "nullable", "untrusted"
TAG_ARENA: Final = "arena"
_DYNPTR: Final = ARG_PTR_TO_DYNPTR | MEM_RDONLY
_WORDS_AS_CTX: Final = (uapi.BPF_TRACE_RAW_TP, *AROUND_FUNCTIONS, uapi.BPF_MODIFY_RETURN)


def func_type(env: Env, subprog: int) -> BtfType:
    """The BTF_KIND_FUNC that a subprogram has been given."""
    t = type_by_id(env.btf, env.subprogs[subprog].type_id)
    if t is None or t.kind is not Kind.FUNC:
        env.reject(EFAULT, f"BTF of func#{subprog} doesn't point to KIND_FUNC")
    return t


def reliable_proto(env: Env, subprog: int, func: BtfType) -> BtfType:
    """Its prototype, unless calls have shown already that it does not fit."""
    if env.subprogs[subprog].unreliable:
        env.reject(EFAULT, f"Verifier bug in function {func.name}()")
    proto = type_by_id(env.btf, func.type)
    if proto is None or proto.kind is not Kind.FUNC_PROTO:
        env.reject(EFAULT, f"Invalid type of function {func.name}()")
    return proto


def prepare(env: Env, subprog: int) -> Sequence[FuncArg]:
    """What each argument is: btf_prepare_func_args()."""
    info, btf = env.subprogs[subprog], env.btf
    if info.args is not None:
        return info.args
    is_global = info.linkage == GLOBAL
    if not env.has_func_info:
        env.reject(EFAULT, "Verifier bug")
    if not info.type_id:
        if not is_global:
            env.reject(EINVAL)
        env.reject(EFAULT, "Global functions need valid BTF")
    func = func_type(env, subprog)
    name, proto = func.name, reliable_proto(env, subprog, func)
    count = len(proto.params)
    if count > MAX_BPF_FUNC_REG_ARGS:
        _reject(
            env, is_global, f"Global function {name}() with {count} > {MAX_BPF_FUNC_REG_ARGS} args. Buggy compiler."
        )
    ret = btf.resolved(proto.type)
    if ret.kind is not Kind.INT and not is_any_enum(ret):
        _reject(env, is_global, f"Global function {name}() doesn't return scalar. Only those are supported.")
    tags = _tags(btf, info.type_id)
    found = []
    for i, param in enumerate(proto.params):
        words = _known_tags(env, tags.get(i, []), is_global, i)
        found.append(_argument(env, btf, btf.resolved(param.type), words, is_global, name, i))
    info.args = found
    return found


def _reject(env: Env, is_global: bool, text: str) -> None:
    """What is wrong with a global function is told; a static one has no types that can be relied on."""
    env.reject(EINVAL, text if is_global else "")


def _tags(btf: Btf, func_id: int) -> dict[int, list[str]]:
    """The tags of each argument, in the order of their ids."""
    found: dict[int, list[str]] = {}
    for t in btf.types:
        if t.kind is Kind.DECL_TAG and t.type == func_id and t.name.startswith(TAG_PREFIX):
            found.setdefault(t.component_idx, []).append(t.name.removeprefix(TAG_PREFIX))
    return found


def _known_tags(env: Env, words: list[str], is_global: bool, i: int) -> frozenset[str]:
    for word in words:
        if not is_global:
            env.reject(EOPNOTSUPP, f"arg#{i} type tag is not supported in static functions")
        known = word in (TAG_CTX, TAG_NONNULL, TAG_TRUSTED, TAG_NULLABLE, TAG_ARENA) or (
            word == TAG_UNTRUSTED and env.rules.untrusted_tag
        )
        if not known:
            env.reject(EOPNOTSUPP, f"arg#{i} has unsupported set of tags")
    return frozenset(words)


def _only(env: Env, tags: frozenset[str], allowed: frozenset[str], i: int) -> None:
    if tags - allowed:
        env.reject(EINVAL, f"arg#{i} has invalid combination of tags")


def _argument(env: Env, btf: Btf, t: BtfType, tags: frozenset[str], is_global: bool, name: str, i: int) -> FuncArg:
    if t.kind is not Kind.PTR:
        if tags:
            env.reject(EINVAL, f"arg#{i} has pointer tag, but is not a pointer type")
        if t.kind is Kind.INT or is_any_enum(t):
            return FuncArg(ARG_ANYTHING)
        _reject(env, is_global, f"Arg#{i} type {kind_text(t)} in {name}() is not supported yet.")
    if TAG_CTX in tags or is_prog_ctx_type(env, btf, t, env.prog_type, i):
        _only(env, tags, frozenset({TAG_CTX}), i)
        if tags:
            _check_tagged_ctx(env, btf, t, i)
        return FuncArg(ARG_PTR_TO_CTX)
    target = btf.resolved(t.type)
    if target.kind is Kind.STRUCT and target.name == "bpf_dynptr":
        _only(env, tags, frozenset(), i)
        return FuncArg(_DYNPTR)
    if TAG_TRUSTED in tags:
        _only(env, tags, frozenset({TAG_TRUSTED, TAG_NULLABLE, TAG_UNTRUSTED}), i)
        maybe = PTR_MAYBE_NULL if TAG_NULLABLE in tags else 0
        return FuncArg(ARG_PTR_TO_BTF_ID | PTR_TRUSTED | maybe, btf_id=_in_kernel(env, target, i))
    if TAG_UNTRUSTED in tags:
        _only(env, tags, frozenset({TAG_UNTRUSTED}), i)
        return _untrusted(env, target, i)
    if TAG_ARENA in tags:
        if len(tags) > 1:
            env.reject(EINVAL, f"arg#{i} arena cannot be combined with any other tags")
        return FuncArg(ARG_PTR_TO_ARENA)
    if not is_global:
        env.reject(EINVAL)
    _only(env, tags, frozenset({TAG_NONNULL}), i)
    resolved = resolve_size(btf, btf.skip(t.type))
    if resolved is None:
        text = type_text(btf[btf.skip(t.type)])
        env.reject(EINVAL, f"arg#{i} reference type('{text}') size cannot be determined: {-EINVAL}")
    return FuncArg(ARG_PTR_TO_MEM | (0 if TAG_NONNULL in tags else PTR_MAYBE_NULL), size=resolved.size)


def _untrusted(env: Env, target: BtfType, i: int) -> FuncArg:
    """Pointers that are read with a probe: to any struct of the kernel, or to memory."""
    if target.kind in (Kind.VOID, Kind.INT, Kind.FLOAT) or is_any_enum(target):
        return FuncArg(ARG_PTR_TO_MEM | MEM_RDONLY | PTR_UNTRUSTED)
    found = _in_kernel(env, target, i)
    there = env.vmlinux[found]
    if there.kind not in COMPOSITES:
        env.reject(EINVAL, f"arg#{i} has type {type_text(there)}, but only struct or primitive types are allowed")
    return FuncArg(ARG_PTR_TO_BTF_ID | PTR_UNTRUSTED, btf_id=found)


def _in_kernel(env: Env, target: BtfType, i: int) -> int:
    """The one type of the kernel with this name and kind: btf_get_ptr_to_btf_id()."""
    what = f"arg#{i} reference type('{type_text(target)}')"
    name = essential_name(target.name)
    if not name:
        env.reject(EINVAL, f"{what} candidate matching error: {-EINVAL}")
    found = [each for each in env.vmlinux.candidates(name) if env.vmlinux[each].kind is target.kind]
    if not found:
        env.reject(ENOENT, f"{what} has no matches")
    if len(found) > 1:
        env.reject(ESRCH, f"{what} is ambiguous")
    return int(found[0])


def _check_tagged_ctx(env: Env, btf: Btf, pointer: BtfType, i: int) -> None:
    """Does a pointer that is said to be the context look like one?  btf_validate_prog_ctx_type()"""
    kind = env.prog_type
    by_registers = kind in (uapi.BPF_PROG_TYPE_KPROBE, uapi.BPF_PROG_TYPE_PERF_EVENT)
    t = btf[pointer.type]
    while t.kind in MODIFIERS:
        if by_registers and t.kind is Kind.TYPEDEF and t.name == "bpf_user_pt_regs_t":
            return
        t = btf[t.type]
    if t.kind is Kind.VOID:
        return
    if not t.name:
        env.reject(EINVAL, f"arg#{i} type doesn't have a name")
    struct = t.name if t.kind is Kind.STRUCT else ""
    if by_registers and struct == "pt_regs":
        return
    is_word = t.kind is Kind.INT and t.size == 8
    raw = kind in (uapi.BPF_PROG_TYPE_RAW_TRACEPOINT, uapi.BPF_PROG_TYPE_RAW_TRACEPOINT_WRITABLE)
    if is_word and (raw or kind in (uapi.BPF_PROG_TYPE_LSM, uapi.BPF_PROG_TYPE_STRUCT_OPS)):
        return
    if kind == uapi.BPF_PROG_TYPE_TRACING:
        attached = env.expected_attach_type
        if is_word and attached in _WORDS_AS_CTX:
            return
        if attached == uapi.BPF_TRACE_RAW_TP and struct == "bpf_raw_tracepoint_args":
            return
        if attached == uapi.BPF_TRACE_ITER and struct.startswith("bpf_iter__"):
            return
    if kind in (uapi.BPF_PROG_TYPE_TRACEPOINT, uapi.BPF_PROG_TYPE_SYSCALL, uapi.BPF_PROG_TYPE_EXT):
        return
    wanted = CTX_CONVERT.get(kind, ((), ""))[0]
    if not wanted:
        env.reject(EINVAL, f"arg#{i} should be void pointer")
    if struct not in wanted:
        alias = env.vmlinux.find(wanted[0], Kind.TYPEDEF)
        name = env.vmlinux.resolved(alias).name if alias else wanted[0]
        env.reject(EINVAL, f"arg#{i} should be `struct {name} *`")


# ---- a call ----


def check_call(env: Env, subprog: int, regs: list[Reg]) -> None:
    """Do the registers fit?  btf_check_func_arg_match()"""
    for i, arg in enumerate(prepare(env, subprog)):
        _check_register(env, regs[i + 1].value, i, arg)


def _which(env: Env, i: int) -> str:
    return f"R{i + 1}" if env.rules.arguments_by_register else f"arg#{i}"


def _check_register(env: Env, v: Value, i: int, arg: FuncArg) -> None:
    regno, kind = i + 1, base_type(arg.arg_type)
    if kind == ARG_ANYTHING:
        if v.type != SCALAR_VALUE:
            env.reject(EINVAL, f"R{regno} is not a scalar")
    elif kind == ARG_PTR_TO_ARENA:
        if v.type not in (PTR_TO_ARENA, SCALAR_VALUE):
            env.reject(EINVAL, f"R{regno} is not a pointer to arena or scalar.")
    elif arg.arg_type & PTR_UNTRUSTED:
        return  # anything: what is read through it is probed
    elif kind == ARG_PTR_TO_CTX:
        check_func_arg_reg_off(env, v, regno, ARG_DONTCARE)
        if v.type != PTR_TO_CTX:
            env.reject(EINVAL, f"{_which(env, i)} expects pointer to ctx")
    elif kind == ARG_PTR_TO_MEM:
        check_func_arg_reg_off(env, v, regno, ARG_DONTCARE)
        try:
            check_mem_reg(env, regno, arg.size)
        except Rejected:
            env.reject(EINVAL)
        is_null = v.type & PTR_MAYBE_NULL or (v.is_null and env.rules.null_is_not_nonnull)
        if not arg.arg_type & PTR_MAYBE_NULL and is_null:
            env.reject(EINVAL, f"{_which(env, i)} is expected to be non-NULL")
    elif kind == ARG_PTR_TO_DYNPTR:
        check_func_arg_reg_off(env, v, regno, ARG_PTR_TO_DYNPTR)
        dynptr_slots.process(env, regno, -1, arg.arg_type)
    elif not (v.is_null and arg.arg_type & PTR_MAYBE_NULL):
        check_reg_type(env, regno, arg.arg_type, env.vmlinux[arg.btf_id].name, CallMeta())
        check_func_arg_reg_off(env, v, regno, arg.arg_type)


# ---- the function itself ----


def enter(env: Env, subprog: int, regs: list[Reg]) -> None:
    """Registers at the start of a global function: do_check_common()."""
    for i, arg in enumerate(prepare(env, subprog)):
        reg, kind, maybe = regs[i + 1], base_type(arg.arg_type), arg.arg_type & PTR_MAYBE_NULL
        if kind in (ARG_ANYTHING, ARG_PTR_TO_ARENA):
            reg.value = reg.value.with_type(SCALAR_VALUE)
            mark_unknown(env, reg)
        elif kind == ARG_PTR_TO_CTX:
            reg.value = known_zero(PTR_TO_CTX)
        elif kind == ARG_PTR_TO_DYNPTR:
            reg.value = known_zero(PTR_TO_DYNPTR, DYNPTR_LOCAL, 1, number=env.new_id())
        elif kind == ARG_PTR_TO_MEM:
            flags = arg.arg_type & (PTR_MAYBE_NULL | MEM_RDONLY | PTR_UNTRUSTED)
            reg.value = known_zero(
                PTR_TO_MEM | flags, arg.size, number=env.new_id() if maybe or env.rules.memory_arguments_numbered else 0
            )
        else:
            flags = arg.arg_type & (PTR_MAYBE_NULL | PTR_TRUSTED | PTR_UNTRUSTED)
            reg.value = known_zero(PTR_TO_BTF_ID | flags, env.vmlinux, arg.btf_id, number=env.new_id())


def check_main(env: Env) -> None:
    """The main function's types need not fit; then they are not relied on."""
    info = env.subprogs[0]
    if not env.has_func_info:
        return
    try:
        args = prepare(env, 0)
    except Rejected:
        info.unreliable = True
        return
    info.unreliable |= len(args) != 1 or args[0].arg_type != ARG_PTR_TO_CTX
